/* SPDX-License-Identifier: BSD-3-Clause */
/* Several hunters: how they begin, share and end. */
#include "process_stage.h"

#include <signal.h>
#include <unistd.h>

enum { SECOND = 1000000000, MS = 1000000 };

static int goes; /* the status of this hunter */
static bool ended_first;

int __wrap_iw_hunt_go(struct iw_hunt *h);
void __wrap_iw_hunt_look_beside(struct iw_hunt *h);

int __wrap_iw_hunt_go(struct iw_hunt *h)
{
    process_note(" go%u", h->member);
    ended_first = iw_hunt_board_ended(h->board);
    return goes;
}

void __wrap_iw_hunt_look_beside(struct iw_hunt *h)
{
    assert_ptr_equal(h, &hunt);
    process_note(" beside");
}

static int begin(void **state)
{
    process_begin(state);
    goes = 0;
    options.targets = 3;
    hunt.graph = iw_hunt_graph_new();
    hunt.corpus = calloc(IW_HUNT_CORPUS, sizeof(*hunt.corpus));
    assert_non_null(hunt.corpus);
    return 0;
}

static int end(void **state)
{
    for (size_t i = 0; i < hunt.n_corpus; i++)
        iw_hunt_input_free(hunt.corpus[i].input);
    free(hunt.corpus);
    free(hunt.graph);
    return process_end(state);
}

static struct iw_hunt_row row_of(uint32_t detail)
{
    struct iw_hunt_row row = {0};
    iw_hunt_row_add(&row, IW_ANSWER_MESSAGE, detail, IW_SAID_NOTHING);
    return row;
}

/* Another hunter keeps a sequence. */
static void post(unsigned by, const char *text, uint32_t detail)
{
    struct iw_hunt_input *in = support_input(text);
    const struct iw_hunt_row row = row_of(detail);
    iw_hunt_board_post(hunt.board, by, in, &row);
    iw_hunt_input_free(in);
}

/* ---- counts ---- */

static void total(void **state)
{
    (void)state;
    hunt.over = 10;
    hunt.member = 1;
    *iw_hunt_board_share(hunt.board, 0) = (struct iw_hunt_share){.over = 3};
    *iw_hunt_board_share(hunt.board, 1) = (struct iw_hunt_share){.over = 7}; /* as it was */
    *iw_hunt_board_share(hunt.board, 2) = (struct iw_hunt_share){.over = 5};
    assert_int_equal(iw_hunt_total(&hunt), 18);
    struct iw_hunt_board *board = hunt.board;
    hunt.board = NULL;
    assert_int_equal(iw_hunt_total(&hunt), 10);
    hunt.board = board;
}

/* ---- sharing ---- */

static void shares(void **state)
{
    (void)state;
    hunt.member = 1;
    hunt.over = 10;
    hunt.started = 15;
    hunt.refused = 2;
    hunt.world.starts = 4;
    post(0, "aa1", 1);
    post(1, "aa2", 2); /* its own */
    post(2, "aa3", 1); /* what is known */
    post(2, "aa4", 3);
    iw_hunt_share(&hunt);
    process_noted(" beside");
    const struct iw_hunt_share *own = iw_hunt_board_share(hunt.board, 1);
    assert_int_equal(own->over, 10);
    assert_int_equal(own->started, 13);
    assert_int_equal(own->starts, 4);
    assert_int_equal(hunt.n_corpus, 2);
    support_is(hunt.corpus[0].input, "aa1");
    support_is(hunt.corpus[1].input, "aa4");
    assert_int_equal(hunt.corpus[1].row.n, 1);
    assert_int_equal(hunt.corpus[1].row.at[0].code, row_of(3).at[0].code);
    post(0, "aa5", 5);
    iw_hunt_board_line(hunt.board);
    hunt.over = 11;
    processes.now += 100 * MS - 1; /* its numbers are reported at once, the rest waits */
    iw_hunt_share(&hunt);
    process_noted("");
    assert_int_equal(own->over, 11);
    assert_int_equal(hunt.n_corpus, 2);
    processes.now += 1;
    iw_hunt_share(&hunt);
    process_noted(" load beside"); /* there is a line that it has not read */
    assert_int_equal(hunt.n_corpus, 3);
    hunt.lines = 1;
    processes.now += 100 * MS;
    iw_hunt_share(&hunt);
    process_noted(" beside");
    struct iw_hunt_board *board = hunt.board;
    hunt.board = NULL;
    processes.now += SECOND;
    iw_hunt_share(&hunt);
    process_noted("");
    hunt.board = board;
}

static void no_room(void **state)
{
    (void)state;
    hunt.n_corpus = IW_HUNT_CORPUS - 1;
    post(2, "aa1", 1);
    post(2, "aa2", 2);
    iw_hunt_share(&hunt);
    assert_int_equal(hunt.n_corpus, IW_HUNT_CORPUS);
    support_is(hunt.corpus[IW_HUNT_CORPUS - 1].input, "aa1");
    iw_hunt_input_free(hunt.corpus[IW_HUNT_CORPUS - 1].input);
    hunt.n_corpus = 0;
    process_noted(" beside");
}

/* ---- the crew ---- */

static void all_end(struct iw_hunt *h)
{
    (void)h;
    process_ends(1001, 0);
    process_ends(1002, 0);
    processes.looks = NULL;
    iw_hunt_board_share(hunt.board, 1)->over = 6; /* their last numbers */
    iw_hunt_board_share(hunt.board, 1)->starts = 2;
    iw_hunt_board_share(hunt.board, 15)->over = 4;
    iw_hunt_board_share(hunt.board, 0)->over = 1;
    iw_hunt_board_share(hunt.board, 0)->started = 9;
    post(1, "aa1", 1);
}

static void together(void **state)
{
    (void)state;
    processes.looks = all_end;
    assert_int_equal(iw_hunt_crew(&hunt), 0);
    process_noted(" fork1 fork2 go0 load");
    assert_false(ended_first);
    assert_true(iw_hunt_board_ended(hunt.board)); /* the others end as soon as this one does */
    assert_int_equal(hunt.over, 11);
    assert_int_equal(hunt.world.starts, 2);
    assert_int_equal(hunt.n_corpus, 1);
    const struct iw_hunt_share sum = iw_hunt_board_sum(hunt.board);
    assert_int_equal(sum.over, 11);
    assert_int_equal(sum.started, 0);
    assert_int_equal(sum.starts, 0);
    assert_int_equal(iw_hunt_board_share(hunt.board, 0)->over, 11);
    assert_int_equal(iw_hunt_board_share(hunt.board, 1)->over, 0);
    assert_int_equal(iw_hunt_board_share(hunt.board, 15)->over, 0);
    assert_int_equal(iw_hunt_total(&hunt), 11);
}

/* The gravest status counts: findings are what a hunt is for, but not a hunter that cannot. */
static void statuses(void **state)
{
    (void)state;
    static const struct {
        int own, first, second, expected;
    } list[] = {{0, 0, 0, 0},
                {1, 0, 0, 1},
                {0, 1 << 8, 1 << 8, 0},
                {0, 3 << 8, 0, 3},
                {0, 3 << 8, 70 << 8, 70},
                {0, 70 << 8, 3 << 8, 70},
                {3, 1 << 8, 2 << 8, 3},
                {1, 0, 2 << 8, 2},
                {0, SIGSEGV, 0, 70},
                {70, 3 << 8, 3 << 8, 70}};
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        processes.forks = 0;
        goes = list[i].own;
        process_ends(1001, list[i].first);
        process_ends(1002, list[i].second);
        assert_int_equal(iw_hunt_crew(&hunt), list[i].expected);
        *processes.noted = 0;
    }
}

static void complain_of_a_signal(void *context)
{
    (void)context;
    process_ends(1001, 0);
    process_ends(1002, SIGABRT);
    (void)iw_hunt_crew(&hunt);
    processes.forks_fail = true;
    assert_int_equal(iw_hunt_crew(&hunt), 70);
}

static void complaints(void **state)
{
    (void)state;
    char *text = support_printed(2, complain_of_a_signal, NULL);
    assert_non_null(strstr(text, "hunter 3 was killed by signal 6\n"));
    assert_null(strstr(text, "hunter 2 was killed"));
    assert_non_null(strstr(text, "cannot start hunter 2: Resource temporarily unavailable\n"));
    assert_non_null(strstr(text, "cannot start hunter 3: "));
    free(text);
    process_noted(" fork1 fork2 go0 load go0 load");
}

static unsigned looks;

static void stop_soon(struct iw_hunt *h)
{
    (void)h;
    if (++looks == 3)
        processes.stop = SIGINT;
    if (looks == 6) {
        process_ends(1001, 0);
        process_ends(1002, 0);
    }
}

/* A signal is passed on, once. */
static void interrupted(void **state)
{
    (void)state;
    looks = 0;
    processes.looks = stop_soon;
    assert_int_equal(iw_hunt_crew(&hunt), 0);
    process_noted(" fork1 fork2 go0 TERM1 TERM2 load");
    assert_int_equal(looks, 6);
}

/* They have two minutes (times the time scale) for what they look into. */
static void stubborn(void **state)
{
    (void)state;
    const uint64_t before = processes.now;
    assert_int_equal(iw_hunt_crew(&hunt), 70);
    process_noted(" fork1 fork2 go0 KILL1 KILL2 load");
    assert_int_equal((processes.now - before) / MS, 2 * 120 * 1000 + 20);
}

/* ---- a hunter ---- */

static void a_hunter(void **state)
{
    (void)state;
    processes.child_of = 2;
    goes = 3;
    if (setjmp(processes.exit) == 0)
        (void)iw_hunt_crew(&hunt);
    process_noted(" fork1 prctl go2");
    assert_int_equal(processes.status, 3);
    assert_int_equal(hunt.member, 2);
    assert_string_equal(hunt.world.log, "results/target-3.log");
    free((char *)(uintptr_t)hunt.world.log);
}

static void an_orphan(void **state)
{
    (void)state;
    processes.child_of = 1;
    processes.parent = 1;
    if (setjmp(processes.exit) == 0)
        (void)iw_hunt_crew(&hunt);
    process_noted(" prctl");
    assert_int_equal(processes.status, 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(total, begin, end),
        cmocka_unit_test_setup_teardown(shares, begin, end),
        cmocka_unit_test_setup_teardown(no_room, begin, end),
        cmocka_unit_test_setup_teardown(together, begin, end),
        cmocka_unit_test_setup_teardown(statuses, begin, end),
        cmocka_unit_test_setup_teardown(complaints, begin, end),
        cmocka_unit_test_setup_teardown(interrupted, begin, end),
        cmocka_unit_test_setup_teardown(stubborn, begin, end),
        cmocka_unit_test_setup_teardown(a_hunter, begin, end),
        cmocka_unit_test_setup_teardown(an_orphan, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
