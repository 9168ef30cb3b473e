/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processes of a hunt share. */
#include "live_support.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "board.h"

static struct iw_hunt_board *board;

static int begin(void **state)
{
    (void)state;
    board = iw_hunt_board_new();
    assert_non_null(board);
    return 0;
}

static int end(void **state)
{
    (void)state;
    iw_hunt_board_free(board);
    return 0;
}

/* Runs it in another process. Returns its status. */
static int in_child(int (*what)(void))
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(what());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int claims_it(void)
{
    return iw_hunt_board_claim(board, "a", 3);
}

static void one_looks_into_a_cause(void **state)
{
    (void)state;
    assert_int_equal(iw_hunt_board_times(board, "a"), 0);
    assert_int_equal(in_child(claims_it), 1);
    assert_false(iw_hunt_board_claim(board, "a", 3));
    assert_true(iw_hunt_board_claim(board, "b", 3));
    iw_hunt_board_release(board, "a", false); /* nothing came of it */
    assert_true(iw_hunt_board_claim(board, "a", 3));
    iw_hunt_board_release(board, "a", false);
    assert_true(iw_hunt_board_claim(board, "a", 3));
    iw_hunt_board_release(board, "a", false);
    assert_false(iw_hunt_board_claim(board, "a", 3)); /* often enough */
    iw_hunt_board_release(board, "b", true);
    assert_false(iw_hunt_board_claim(board, "b", 3));
    iw_hunt_board_settle(board, "c");
    assert_int_equal(iw_hunt_board_times(board, "c"), 0);
    assert_false(iw_hunt_board_claim(board, "c", 3));
    iw_hunt_board_count(board, "c");
    iw_hunt_board_count(board, "d");
    assert_int_equal(iw_hunt_board_times(board, "a"), 5);
    assert_int_equal(iw_hunt_board_times(board, "b"), 2);
    assert_int_equal(iw_hunt_board_times(board, "c"), 2);
    assert_int_equal(iw_hunt_board_times(board, "d"), 0);
}

static void no_more_causes_than_there_is_room_for(void **state)
{
    char key[16];

    (void)state;
    for (int i = 0; i < IW_HUNT_CLAIMS; i++) {
        snprintf(key, sizeof(key), "%d", i);
        assert_true(iw_hunt_board_claim(board, key, 1));
    }
    assert_false(iw_hunt_board_claim(board, "one more", 1));
    iw_hunt_board_settle(board, "one more");
    assert_int_equal(iw_hunt_board_times(board, "one more"), 0);
    iw_hunt_board_release(board, "one more", true);
    assert_int_equal(iw_hunt_board_times(board, "255"), 1);
}

static int dies_with_it(void)
{
    iw_hunt_board_lock(board);
    kill(getpid(), SIGKILL);
    return 0;
}

static int numbers(void)
{
    return (int)iw_hunt_board_number(board);
}

/* Who dies while it excludes all others leaves nothing locked. */
static void a_death(void **state)
{
    (void)state;
    assert_int_equal(in_child(dies_with_it), -SIGKILL);
    assert_int_equal(iw_hunt_board_number(board), 1);
    assert_int_equal(in_child(numbers), 2);
    assert_int_equal(iw_hunt_board_number(board), 3);
}

static int posts(void)
{
    struct iw_hunt_input *in = support_input("a0102 t5 f");
    struct iw_hunt_row row = {.n = 1};

    row.at[0].code = 7;
    iw_hunt_board_post(board, 1, in, &row);
    iw_hunt_input_free(in);
    iw_hunt_board_share(board, 1)->over = 40;
    iw_hunt_board_share(board, 1)->starts = 2;
    iw_hunt_board_line(board);
    iw_hunt_board_end(board);
    return 0;
}

static void what_others_give(void **state)
{
    struct iw_hunt_row row;
    unsigned at = 0, own = 0;

    (void)state;
    assert_null(iw_hunt_board_take(board, 0, &at, &row));
    assert_false(iw_hunt_board_ended(board));
    assert_int_equal(in_child(posts), 0);
    struct iw_hunt_input *in = iw_hunt_board_take(board, 0, &at, &row);
    assert_non_null(in);
    support_is(in, "a0102 t5 f");
    assert_int_equal(row.n, 1);
    assert_int_equal(row.at[0].code, 7);
    iw_hunt_input_free(in);
    assert_null(iw_hunt_board_take(board, 0, &at, &row));
    assert_null(iw_hunt_board_take(board, 1, &own, &row)); /* it is its own */
    iw_hunt_board_share(board, 0)->over = 2;
    assert_int_equal(iw_hunt_board_sum(board).over, 42);
    assert_int_equal(iw_hunt_board_sum(board).starts, 2);
    assert_int_equal(iw_hunt_board_lines(board), 1);
    assert_true(iw_hunt_board_ended(board));
}

/* A child keeps what it needs, and none of the descriptors of its parent. */
static int inherits(void)
{
    int ends[2];

    if (pipe(ends) || dup2(ends[1], 50) != 50)
        return 1;
    iw_hunt_board_inherit(board);
    return write(50, "x", 1) == 1 || write(ends[1], "x", 1) == 1
               ? 2
               : !iw_hunt_board_claim(board, "a", 3);
}

static void a_child_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(in_child(inherits), 0);
    assert_false(iw_hunt_board_claim(board, "a", 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_looks_into_a_cause, begin, end),
        cmocka_unit_test_setup_teardown(no_more_causes_than_there_is_room_for, begin, end),
        cmocka_unit_test_setup_teardown(a_death, begin, end),
        cmocka_unit_test_setup_teardown(what_others_give, begin, end),
        cmocka_unit_test_setup_teardown(a_child_of_its_own, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
