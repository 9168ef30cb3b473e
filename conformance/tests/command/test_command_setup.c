/* SPDX-License-Identifier: BSD-3-Clause */
/* What a command works on: the folders, the cases that are chosen, their order and shard; the
 * folder of its results, and what an interruption leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/command_setup.h"
#include "command/interrupt.h"
#include "conform_call.h"
#include "host/complain.h"
#include "host/text.h"
#include "host/text_tools.h"

static char *cases; /* the folder */

static int set_up(void **state)
{
    iw_complain_as("iwarp-conform");
    return conform_setup(state);
}

static int tear_down(void **state)
{
    free(cases);
    cases = NULL;
    return conform_teardown(state);
}

static void put_cases(void)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        conform_case(names[i], "", "");
    cases = iw_text_format("%s/cases", conform_folder.path);
}

/* Asserts the cases that a command has, and how many were chosen before a shard was taken. */
static void chosen(struct iw_command *c, const char *ids, size_t before)
{
    struct iw_setup s;
    char *text = NULL;

    c->program = "x";
    c->name = "run";
    c->head.cases = cases;
    assert_int_equal(iw_setup(&s, c, false), 0);
    const char **list = iw_setup_ids(&s);
    for (size_t i = 0; i < s.n_selected; i++)
        iw_text_join(&text, " ", list[i]);
    assert_null(list[s.n_selected]);
    assert_string_equal(text != NULL ? text : "", ids);
    assert_int_equal(s.n_chosen, before);
    assert_null(s.target);
    free(list);
    free(text);
    iw_setup_free(&s);
    assert_null(s.selected);
    assert_int_equal(s.n_selected, 0);
}

static void cases_are_chosen_shared_and_shuffled(void **state)
{
    char *some[] = {(char[]){"b"}, (char[]){"[d-e]"}};
    char *journal = (char[]){"x"}; /* only whether there is one is asked */

    (void)state;
    put_cases();
    chosen(&(struct iw_command){0}, "a b c d e", 5);
    chosen(&(struct iw_command){.select = some, .n_select = 2}, "b d e", 3);
    chosen(&(struct iw_command){.head.shard = "1/2", .shard = 1, .shards = 2}, "a c e", 5);
    chosen(&(struct iw_command){.head.shard = "2/2", .shard = 2, .shards = 2}, "b d", 5);
    chosen(&(struct iw_command){.head.shard = "5/6", .shard = 5, .shards = 6}, "e", 5);
    chosen(&(struct iw_command){.head.shard = "6/6", .shard = 6, .shards = 6}, "", 5);
    chosen(&(struct iw_command){.head.order = "random,1"}, "a d c b e", 5);
    chosen(&(struct iw_command){.head.order = "random,2"}, "c a e b d", 5);
    /* A run that goes on has the cases of its shard, and none if that was empty. */
    chosen(&(struct iw_command){.select = some,
                                .n_select = 2,
                                .head = {.shard = "1/2", .chosen = 9},
                                .shard = 1,
                                .shards = 2,
                                .journal = (struct iw_journal *)journal},
           "b d e", 9);
    chosen(&(struct iw_command){.head = {.shard = "6/6", .chosen = 5},
                                .journal = (struct iw_journal *)journal},
           "", 5);
    chosen(&(struct iw_command){.journal = (struct iw_journal *)journal}, "a b c d e", 5);
}

static void shards_take_equally_long(void **state)
{
    char *run = folder_file(&conform_folder, "run.json",
                            "{\"schema\":1,\"cases\":[{\"id\":\"a\",\"seconds\":9},"
                            "{\"id\":\"b\",\"seconds\":1},{\"id\":\"c\",\"seconds\":1},"
                            "{\"id\":\"d\",\"seconds\":1},{\"id\":\"e\",\"seconds\":1}]}");

    (void)state;
    put_cases();
    chosen(&(struct iw_command){.head.shard = "1/2", .shard = 1, .shards = 2, .durations = run},
           "a", 5);
    chosen(&(struct iw_command){.head.shard = "2/2", .shard = 2, .shards = 2, .durations = run},
           "b c d e", 5);
    /* Without a shard they are of no use, nor to a run that goes on. */
    chosen(&(struct iw_command){.durations = "/none"}, "a b c d e", 5);
    chosen(&(struct iw_command){.head = {.shard = "1/2", .chosen = 5},
                                .durations = "/none",
                                .select = (char *[]){(char[]){"a"}},
                                .n_select = 1,
                                .journal = (struct iw_journal *)(char[]){"x"}},
           "a", 5);
    free(run);
}

static void folders_are_those_of_the_suite_or_beside_the_cases(void **state)
{
    const struct iw_command own = {
        .program = "x", .name = "run", .head.agent = IW_BINARY_DIR "/bin/iwarp-agent"};
    struct iw_setup s;
    char *proof;

    (void)state;
    put_cases();
    struct iw_command c = {.program = "x", .name = "run", .head.cases = cases};
    c.head.time_scale = 2.5;
    c.head.no_quirks = true;
    assert_int_equal(iw_setup(&s, &c, false), 0);
    proof = iw_text_format("%s/../proof", cases);
    assert_string_equal(s.cases, cases);
    assert_string_equal(s.proof_folder, proof);
    free(proof);
    assert_ptr_equal(s.options.library, s.library);
    assert_ptr_equal(s.options.pcaps, s.pcaps);
    assert_null(s.options.replay);
    assert_true(s.options.time_scale > 2.4 && s.options.time_scale < 2.6);
    assert_true(s.options.no_quirks);
    iw_setup_free(&s);
    char *here = getcwd(NULL, 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(iw_setup(&s, &own, true), 0);
    assert_string_equal(s.library, IW_SOURCE_DIR "/conformance/lib");
    assert_string_equal(s.pcaps, IW_SOURCE_DIR "/conformance/../pcaps");
    assert_string_equal(s.report, IW_SOURCE_DIR "/conformance/report");
    assert_string_equal(s.proof_folder, IW_SOURCE_DIR "/conformance/proof");
    assert_string_equal(s.cases, IW_SOURCE_DIR "/conformance/cases");
    assert_true(s.target->embedded);
    assert_string_equal(s.target->program, IW_BINARY_DIR "/bin/iwarp-agent");
    assert_false(s.options.no_quirks);
    iw_setup_free(&s);
    char error[256] = "";
    struct iw_target_spec *target = iw_setup_target(&own, "tcp:h:7", error, sizeof(error));
    assert_int_equal(target->port, 7);
    iw_target_free(target);
    target = iw_setup_target(&own, NULL, error, sizeof(error));
    assert_string_equal(target->program, own.head.agent);
    iw_target_free(target);
    assert_int_equal(chdir(here), 0);
    free(here);
}

/* ---- results ---- */

static void results_have_a_folder(void **state)
{
    const struct iw_command said = {.results = "some/where"}, unsaid = {.results = NULL};
    char *here = getcwd(NULL, 0), link[256] = "";

    (void)state;
    assert_int_equal(chdir(conform_folder.path), 0);
    char *path = iw_results_create(&said, "peer");
    assert_string_equal(path, "some/where");
    assert_int_equal(access("some/where", F_OK), 0);
    assert_int_equal(access("iwarp-conform-results", F_OK), -1);
    free(path);
    for (int i = 0; i < 2; i++) { /* the link is that of the later one */
        path = iw_results_create(&unsaid, "peer");
        assert_memory_equal(path, "iwarp-conform-results/2", 23);
        assert_non_null(strstr(path, "peer"));
        assert_int_equal(access(path, F_OK), 0);
        ssize_t n = readlink("iwarp-conform-results/latest", link, sizeof(link) - 1);
        assert_true(n > 0);
        link[n] = '\0';
        assert_string_equal(link, path + strlen("iwarp-conform-results/"));
        free(path);
    }
    /* What is in the way of the link stays. */
    assert_int_equal(unlink("iwarp-conform-results/latest"), 0);
    free(folder_file(&conform_folder, "iwarp-conform-results/latest/x", ""));
    path = iw_results_create(&unsaid, "peer");
    assert_non_null(path);
    assert_int_equal(access("iwarp-conform-results/latest/x", F_OK), 0);
    free(path);
    assert_int_equal(chdir(here), 0);
    free(here);
}

/* ---- interruptions ---- */

/* Sends SIGINT to a child that has caught it. Returns how the child ended. */
static int interrupted(bool ignored, const char *doomed, const char *said)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
        signal(SIGINT, ignored ? SIG_IGN : SIG_DFL);
        iw_interrupt_catch();
        iw_interrupt_remove("/nonexistent");
        iw_interrupt_remove(doomed);
        raise(SIGINT);
        _exit(7);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void an_interruption_removes_what_is_not_whole(void **state)
{
    char *file = folder_file(&conform_folder, "half", "x");
    char *said = folder_file(&conform_folder, "said", "");

    (void)state;
    assert_int_equal(interrupted(true, file, said), 7); /* as under nohup */
    assert_string_equal(conform_file("said"), "");
    assert_int_equal(access(file, F_OK), 0);
    assert_int_equal(interrupted(false, NULL, said), 130);
    assert_string_equal(conform_file("said"), "iwarp-conform: interrupted\n");
    assert_int_equal(access(file, F_OK), 0);
    assert_int_equal(interrupted(false, file, said), 130);
    assert_string_equal(conform_file("said"), "iwarp-conform: interrupted\n");
    assert_int_equal(access(file, F_OK), -1);
    free(file);
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cases_are_chosen_shared_and_shuffled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shards_take_equally_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(folders_are_those_of_the_suite_or_beside_the_cases, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(results_have_a_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_interruption_removes_what_is_not_whole, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
