/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of iwarp-conform. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "command/cmd_compare.h"
#include "command/cmd_diff.h"
#include "command/cmd_list.h"
#include "command/cmd_probe.h"
#include "command/cmd_replay.h"
#include "command/cmd_requirements.h"
#include "command/cmd_run.h"
#include "command/cmd_self_check.h"
#include "command/command.h"
#include "conform_call.h"
#include "host/text.h"

/* ---- what is read ---- */

static char *argv_of[32];

static int parse(struct iw_command *c, const char *words)
{
    static char copy[256];
    int n = 0;

    snprintf(copy, sizeof(copy), "%s", words);
    memset(argv_of, 0, sizeof(argv_of));
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        argv_of[n++] = word;
    return iw_command_parse(c, n, argv_of);
}

static void a_run_is_read(void **state)
{
    struct iw_command c;

    (void)state;
    assert_int_equal(parse(&c, "/bin/conform run one -s two* --target tcp:h:1 -j 3 --repeat 100000 "
                               "--time-scale 0.5 three --junit j --resume d"),
                     64); /* --resume is at odds with the others */
    iw_command_free(&c);
    assert_int_equal(parse(&c, "/bin/conform run one -s two* --target tcp:h:1 -j 3 --repeat 100000 "
                               "--time-scale 0.5 three --junit j"),
                     -1);
    assert_string_equal(c.program, "/bin/conform");
    assert_string_equal(c.name, "run");
    assert_true(c.carry_out == iw_command_run);
    assert_int_equal(c.n_select, 3);
    assert_string_equal(c.select[0], "two*");
    assert_string_equal(c.select[1], "one");
    assert_string_equal(c.select[2], "three");
    assert_string_equal(c.head.target, "tcp:h:1");
    assert_int_equal(c.jobs, 3);
    assert_int_equal(c.head.repeat, 100000);
    assert_true(c.head.time_scale == 0.5);
    assert_string_equal(c.junit, "j");
    assert_null(c.journal);
    iw_command_free(&c);
}

static void shards_orders_and_parts_are_read(void **state)
{
    static const struct {
        const char *words;
        unsigned shard, shards, part, parts;
        const char *order;
    } rows[] = {
        {"conform run --shard 1/1", 1, 1, 0, 0, NULL},
        {"conform run --shard 9999/9999", 9999, 9999, 0, 0, NULL},
        {"conform list --shard 2/3 --order random,0", 2, 3, 0, 0, "random,0"},
        {"conform run --order random,4294967295", 0, 0, 0, 0, "random,4294967295"},
        {"conform run --order random,1 --order suite", 0, 0, 0, 0, NULL},
        {"conform self-check --part 2/2", 0, 0, 2, 2, NULL},
    };
    struct iw_command c;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(parse(&c, rows[i].words), -1);
        assert_int_equal(c.shard, rows[i].shard);
        assert_int_equal(c.shards, rows[i].shards);
        assert_int_equal(c.part, rows[i].part);
        assert_int_equal(c.parts, rows[i].parts);
        assert_int_equal(c.head.shard != NULL, rows[i].shard != 0);
        assert_string_equal(c.head.order != NULL ? c.head.order : "(none)",
                            rows[i].order != NULL ? rows[i].order : "(none)");
        iw_command_free(&c);
    }
    /* A seed is made up, and printed. */
    assert_int_equal(parse(&c, "conform run --order random"), -1);
    assert_memory_equal(c.head.order, "random,", 7);
    assert_true(c.head.order[7] >= '0' && c.head.order[7] <= '9');
    assert_true(strtoull(c.head.order + 7, NULL, 10) <= UINT32_MAX);
    iw_command_free(&c);
}

static void what_is_kept_and_coloured_is_read(void **state)
{
    struct iw_command c;

    (void)state;
    assert_int_equal(parse(&c, "conform run --keep all --color always --no-quirks --operator me"),
                     -1);
    assert_true(c.head.keep_all);
    assert_true(c.head.no_quirks);
    assert_string_equal(c.head.run_by, "me");
    assert_int_equal(c.colour, IW_HOST_COLOUR_ALWAYS);
    iw_command_free(&c);
    assert_int_equal(parse(&c, "conform run --keep all --keep failed"), -1);
    assert_false(c.head.keep_all);
    assert_false(c.head.no_quirks);
    assert_null(c.head.run_by);
    iw_command_free(&c);
}

static void without_a_command_it_is_a_run(void **state)
{
    struct iw_command c;

    (void)state;
    assert_int_equal(parse(&c, "conform"), -1);
    assert_string_equal(c.name, "run");
    assert_int_equal(c.n_operands, 0);
    assert_int_equal(c.n_select, 0);
    iw_command_free(&c);
    assert_int_equal(parse(&c, "conform --tap one"), -1);
    assert_string_equal(c.name, "run");
    assert_true(c.tap);
    assert_int_equal(c.n_select, 1);
    assert_string_equal(c.select[0], "one");
    iw_command_free(&c);
    assert_int_equal(parse(&c, ""), -1);
    assert_string_equal(c.program, "iwarp-conform");
    assert_string_equal(c.name, "run");
    assert_int_equal(c.n_operands, 0);
    iw_command_free(&c);
}

/* Words of `list` are patterns, those of other commands are not. */
static void each_command_has_its_words(void **state)
{
    static const struct {
        const char *words, *name;
        int (*carry_out)(const struct iw_command *c);
        size_t n_operands, n_select;
    } rows[] = {
        {"conform list", "list", iw_command_list, 0, 0},
        {"conform list a b", "list", iw_command_list, 2, 2},
        {"conform merge a b c", "merge", iw_command_merge, 3, 0},
        {"conform show a", "show", iw_command_show, 1, 0},
        {"conform requirements", "requirements", iw_command_requirements, 0, 0},
        {"conform requirements a b", "requirements", iw_command_requirements, 2, 0},
        {"conform self-check -s a", "self-check", iw_command_self_check, 0, 1},
        {"conform diff a b", "diff", iw_command_diff, 2, 0},
        {"conform compare a b c", "compare", iw_command_compare, 3, 0},
        {"conform probe a", "probe", iw_command_probe, 1, 0},
        {"conform replay --as initiator a", "replay", iw_command_replay, 1, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_command c;

        assert_int_equal(parse(&c, rows[i].words), -1);
        assert_string_equal(c.name, rows[i].name);
        assert_true(c.carry_out == rows[i].carry_out);
        assert_int_equal(c.n_operands, rows[i].n_operands);
        assert_int_equal(c.n_select, rows[i].n_select);
        if (c.n_operands)
            assert_string_equal(c.operands[0], "a");
        iw_command_free(&c);
    }
}

/* ---- what is refused ---- */

static void what_is_no_command_line_is_refused(void **state)
{
    static const char *const rows[][2] = {
        {"frobnicate", "unknown command 'frobnicate'; see --help. A case is run by `iwarp-conform "
                       "run frobnicate`"},
        {"rum", "unknown command 'rum' (did you mean 'run'?)"},
        {"lst", "unknown command 'lst' (did you mean 'list'?)"},
        {"requirement", "unknown command 'requirement' (did you mean 'requirements'?)"},
        {"replayed", "unknown command 'replayed' (did you mean 'replay'?)"},
        {"merge", "merge: expected folders of results"},
        {"show", "show: expected the id of a case or a rule"},
        {"show a b", "show: did not expect 'b'"},
        {"requirements x", "there is no rule 'x'; see `iwarp-conform requirements`"},
        {"requirements --summary MPA-8-02", "--summary: is of all rules"},
        {"run --junit a --csv b --write-baseline ./a",
         "--write-baseline ./a: is the file of --junit"},
        {"self-check x", "self-check: did not expect 'x'"},
        {"probe", "probe: expected a peer: tcp:HOST:PORT or a target file"},
        {"replay", "replay: expected a capture"},
        {"replay a b c", "replay: did not expect 'b'"},
        {"diff a", "diff: expected two runs: folders of results, or JSON reports"},
        {"compare a", "compare: expected two runs or more: folders of results, or JSON reports"},
        {"compare a b --junit x", "--junit: of no use with 'compare'"},
        {"list --junit x", "--junit: of no use with 'list'"},
        {"--foo", "--foo: unknown option; see --help"},
        {"run --foo", "--foo: unknown option; see --help"},
        {"run -j 0", "--jobs 0: expected a number from 1 to 256"},
        {"run -j 257", "--jobs 257: expected a number from 1 to 256"},
        {"self-check --switch nonsense*",
         "--switch nonsense*: fits no switch; expected KIND=CHECK, KIND one of ignore, overstrict, "
         "violate, botch"},
        {"self-check --matrix f", "--matrix: needs --full, and every switch"},
        {"self-check --full --matrix f --switch ignore=mpa-crc",
         "--matrix: needs --full, and every switch"},
        {"run --resume x a", "--resume goes on as the run was begun: did not expect a selection"},
        {"run --resume x -t y", "--resume goes on as the run was begun: did not expect --target"},
        {"run --resume x --cases y",
         "--resume goes on as the run was begun: did not expect --cases"},
        {"run --resume x --agent y",
         "--resume goes on as the run was begun: did not expect --agent"},
        {"run --resume x --results y",
         "--resume goes on as the run was begun: did not expect --results"},
        {"run --resume x --pcap-dir y",
         "--resume goes on as the run was begun: did not expect --pcap-dir"},
        {"run --resume x --time-scale 0.01",
         "--resume goes on as the run was begun: did not expect --time-scale"},
        {"run --resume x --repeat 1",
         "--resume goes on as the run was begun: did not expect --repeat"},
        {"run --resume x --shard 1/2",
         "--resume goes on as the run was begun: did not expect --shard"},
        {"run --resume x --order random,1",
         "--resume goes on as the run was begun: did not expect --order"},
        {"run --resume x --no-quirks",
         "--resume goes on as the run was begun: did not expect --no-quirks"},
        {"run --resume x --keep all",
         "--resume goes on as the run was begun: did not expect --keep"},
        {"run --resume x --operator me",
         "--resume goes on as the run was begun: did not expect --operator"},
        {"run --keep some", "--keep some: expected failed or all"},
        {"run --color red", "--color red: expected auto, always or never"},
        {"run --shard 1", "--shard 1: expected K/N, K from 1 to N"},
        {"run --shard /2", "--shard /2: expected K/N, K from 1 to N"},
        {"run --shard 1/", "--shard 1/: expected K/N, K from 1 to N"},
        {"run --shard 1/10000", "--shard 1/10000: expected K/N, K from 1 to N"},
        {"self-check --part 3/2", "--part 3/2: expected K/N, K from 1 to N"},
        {"run --shard 0/2", "--shard 0/2: expected K/N, K from 1 to N"},
        {"list --shard 3/2", "--shard 3/2: expected K/N, K from 1 to N"},
        {"run --order rand",
         "--order rand: expected suite, random or random,SEED, SEED up to 4294967295"},
        {"run --order random,4294967296",
         "--order random,4294967296: expected suite, random or random,SEED, SEED up to 4294967295"},
        {"run --durations x", "--durations: of use with --shard only"},
        {"run --shard 1/2 --durations x", "--durations: cannot read x: No such file or directory"},
        {"run --resume x --tap", "cannot read x/journal.jsonl: No such file or directory"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *error = iw_text_format("iwarp-conform: %s\n", rows[i][1]);

        conform_says(rows[i][0], 64, "", error);
        free(error);
    }
}

/* Inside the kernel of a target the words are those that the run was begun with. */
static void a_run_that_goes_on_inside_keeps_its_words(void **state)
{
    (void)state;
    setenv("IWARP_CONFORM_GOES_ON", "1", 1);
    conform_says("run --resume x a", 64, "",
                 "iwarp-conform: cannot read x/journal.jsonl: No such file or directory\n");
    unsetenv("IWARP_CONFORM_GOES_ON");
}

/* ---- help ---- */

static void help_is_about_the_command(void **state)
{
    static const char ending[] =
        "\nexit status: 0 good, 1 a case failed, 2 better than the baseline says,\n"
        "3 inconclusive or never reached, 64 usage, 70 error of the tester or of a script,\n"
        "73 an output cannot be written, 130 interrupted\n";
    struct said s;

    (void)state;
    conform_says(
        "list --help", 0,
        "usage: iwarp-conform list [OPTION...] [ID...]\n\nlist cases\n\noptions:\n"
        "  -s, --select CHOICE      an id or glob, rule:ID, tag:WORD, "
        "level:must|should|may, role:responder|initiator,\n"
        "                           joined by and, or, not and parentheses: 'tag:field and "
        "not role:responder';\n"
        "                           may be repeated: cases that fit any\n"
        "      --shard N/M          only the N-th of M shards of these cases; each "
        "case is in exactly one\n"
        "      --durations FILE     with --shard: a run (its JSON report or results), by "
        "whose times shards take equally long\n"
        "      --order ORDER        suite (default), random or random,SEED\n"
        "      --cases DIR          folder with the cases\n"
        "  -h, --help               print this\n"
        "  -V, --version            print the version\n"
        "\nexit status: 0 good, 1 a case failed, 2 better than the baseline says,\n"
        "3 inconclusive or never reached, 64 usage, 70 error of the tester or of a "
        "script,\n73 an output cannot be written, 130 interrupted\n",
        "");
    conform_says("run --resume d --version", 0, "iwarp-conform " IW_VERSION "\n", "");
    conform_call(&s, "--help");
    assert_int_equal(s.status, 0);
    assert_string_equal(s.err, "");
    assert_non_null(strstr(s.out, "usage: iwarp-conform [COMMAND] [OPTION...] [ID...]\n\nReports "
                                  "whether an iWARP peer obeys RFC 5040, 5041, 5044, 6581 and "
                                  "7306.\n\ncommands:\n  run                      run cases "
                                  "against a target (the default)\n  merge  "));
    assert_non_null(strstr(s.out, "\n  replay                   play one side of a recorded "
                                  "conversation and compare the other one\n\noptions:\n"));
    const char *hint = strstr(s.out, "\n`iwarp-conform COMMAND --help` has the options of one "
                                     "command.\n");
    assert_non_null(hint);
    assert_string_equal(strstr(hint, "\nexit status"), ending);
}

int main(int argc, char **argv)
{
    if (argc > 1) /* conform_call() begins this program again */
        return iw_conform(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_read),
        cmocka_unit_test(shards_orders_and_parts_are_read),
        cmocka_unit_test(what_is_kept_and_coloured_is_read),
        cmocka_unit_test(without_a_command_it_is_a_run),
        cmocka_unit_test(each_command_has_its_words),
        cmocka_unit_test_setup_teardown(what_is_no_command_line_is_refused, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(a_run_that_goes_on_inside_keeps_its_words, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(help_is_about_the_command, conform_setup, conform_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
