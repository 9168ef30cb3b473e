/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform run` and `replay`: verdicts, files, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "conform_call.h"
#include "host/text.h"

#define NONE "0 NOTE, 0 FAIL, 0 INCONCLUSIVE, 0 SKIP, 0 ERROR, target embedded\n"

static int set_up(void **state)
{
    if (conform_setup(state))
        return -1;
    conform_case("good", "", "t:connect {}:sanity()");
    conform_case("bad", "", "t:fail(\"not good\")");
    return 0;
}

static void begins(const char *name, const char *expected)
{
    if (strncmp(conform_file(name), expected, strlen(expected)) != 0)
        fail_msg("%s: %s", name, conform_file(name));
}

static void verdicts_are_printed_and_written(void **state)
{
    (void)state;
    conform_says("run --cases cases --results r", 1,
                 "FAIL bad\n"
                 "  case      cases/bad.lua:1\n"
                 "  at        cases/bad.lua:4\n"
                 "  rule      MPA-4.1-02 (MUST): Pad octets are zero on transmit\n"
                 "  reason    not good\n"
                 "  capture   r/bad.pcapng\n"
                 "  again     iwarp-conform run --cases cases --select bad\n"
                 "finding 1: FAIL MPA-4.1-02 (MUST): Pad octets are zero on transmit\n"
                 "  by        the target as responder\n"
                 "  what      not good\n"
                 "  cases     1: bad\n"
                 "  again     iwarp-conform run --cases cases --select bad\n"
                 "1 PASS, 0 NOTE, 1 FAIL, 0 INCONCLUSIVE, 0 SKIP, 0 ERROR, target embedded\n"
                 "results: r\n",
                 "");
    begins("r/run.json", "{");
    begins("r/journal.jsonl", "{");
    begins("r/bad.pcapng", "\x0a\x0d\x0d\x0a");
    begins("r/good.pcapng", "no such file");
    begins("r/report.html", "<!doctype html>");
    conform_says("run --cases cases --keep all --results all good", 0, NULL, "");
    begins("all/good.pcapng", "\x0a\x0d\x0d\x0a");
    conform_says("run --cases cases -v good", 0, NULL, "");
    begins("iwarp-conform-results/latest/run.json", "{");
}

static void tap_is_printed_instead(void **state)
{
    struct said s;
    static const char begins[] = "TAP version 14\n1..2\n# target: embedded, suite ";
    (void)state;
    conform_call(&s, "run --cases cases --tap --results r");
    assert_int_equal(s.status, 1);
    assert_memory_equal(s.out, begins, sizeof(begins) - 1);
    assert_string_equal(strchr(s.out + sizeof(begins), '\n'),
                        "\nnot ok 1 - bad\n  ---\n  verdict: \"FAIL\"\n"
                        "  rule: \"MPA-4.1-02\"\n  text: \"Pad octets are zero on transmit\"\n"
                        "  reason: \"not good\"\n  at: \"cases/bad.lua:4\"\n"
                        "  capture: \"r/bad.pcapng\"\n  ...\nok 2 - good\n"
                        "# finding 1: FAIL MPA-4.1-02 in 1 case, shown by bad: not good\n");
}

static void a_run_with_a_trace_tells_each_message(void **state)
{
    struct said s;

    (void)state;
    conform_call(&s, "run --cases cases --trace --results r --pcap-dir some/pcaps good");
    conform_untimed(s.out);
    assert_string_equal(s.out, "1 PASS, " NONE "results: r\n");
    assert_non_null(strstr(s.err, "case good\n0 > mpa request rev 2 "));
    begins("some/pcaps/good.pcapng", "\x0a\x0d\x0d\x0a");
    begins("r/good.pcapng", "no such file");
}

static void every_report_has_its_file(void **state)
{
    (void)state;
    conform_says("run --cases cases --json j --html h --csv c --junit u --write-baseline b "
                 "--results r",
                 1, NULL, "");
    begins("u", "<?xml ");
    begins("j", "{");
    begins("h", "<!doctype html>");
    begins("c", "rule,");
    assert_non_null(strstr(conform_file("b"), "bad FAIL MPA-4.1-02 \"not good\" \"not good\"\n"));
    conform_says("run --cases cases --baseline b --results r", 0, NULL, "");
    assert_non_null(strstr(conform_file("r/run.json"), "\"baseline\":"));
    conform_says("run --cases cases --baseline b --tap --results r", 0, NULL, NULL);
}

static void what_cannot_be_written_ends_the_run_before_it_begins(void **state)
{
    (void)state;
    conform_says("run --cases cases --json no/j good", 73, "",
                 "iwarp-conform: cannot write no/j: No such file or directory\n");
    conform_says("run --cases cases --results /proc/x good", 73, "",
                 "iwarp-conform: cannot make the folder /proc/x: No such file or directory\n");
    conform_says("run --cases cases --pcap-dir /proc/x good", 73, "",
                 "iwarp-conform: cannot make the folder /proc/x\n");
    conform_says("run --cases cases --baseline none good", 64, "",
                 "iwarp-conform: cannot read none: No such file or directory\n");
    conform_says("run --cases cases --agent ./none good", 70, "",
                 "iwarp-conform: cannot start the embedded target ./none: No such file or "
                 "directory\n");
    conform_says("run --cases cases --target tcp:x good", 64, "",
                 "iwarp-conform: --target tcp:x: bad address \"x\": expected HOST:PORT\n");
    free(folder_file(&conform_folder, "ask.lua", "return { ask = 'do something' }"));
    conform_says("run --cases cases --target ./ask.lua good", 64, "",
                 "iwarp-conform: --target ./ask.lua: its file asks a person to make it connect "
                 "('ask'), and standard input is no terminal\n");
    free(folder_file(&conform_folder, "proof/claims.csv", "rule,reason\nonly one\n"));
    conform_says("run --cases cases --html h good", 70, "",
                 "iwarp-conform: cases/../proof/claims.csv:2: expected an id, a comma and a "
                 "text\n");
    conform_says("run --cases cases --csv c good", 70, "", NULL);
    conform_says("run --cases cases --results r good", 0, NULL, "");
}

/* Where a folder of that name cannot be made, none is. */
static void a_file_in_place_of_the_results_is_no_folder(void **state)
{
    (void)state;
    free(folder_file(&conform_folder, "iwarp-conform-results", ""));
    conform_says("run --cases cases good", 73, "",
                 "iwarp-conform: cannot make the folder iwarp-conform-results: Not a directory\n");
}

static void a_run_goes_on(void **state)
{
    (void)state;
    conform_says("run --cases cases --results r", 1, NULL, "");
    char *journal = iw_text_copy(conform_file("r/journal.jsonl"));
    char *second = strchr(strchr(journal, '\n') + 1, '\n') + 1;
    *second = 0;
    free(folder_file(&conform_folder, "r/journal.jsonl", journal));
    free(journal);
    conform_says("run --resume r -v", 1, NULL, "");
    assert_non_null(strstr(conform_file("said.out"), "FAIL bad\n"));
    assert_non_null(strstr(conform_file("said.out"), "PASS good\n"));
    assert_non_null(strstr(conform_file("said.out"), "results: r\n"));
}

static void runs_are_merged_into_one_report(void **state)
{
    (void)state;
    conform_says("run --cases cases --shard 1/2 --results s1", 1, NULL, "");
    conform_says("run --cases cases --shard 2/2 --results s2", 0, NULL, "");
    conform_says("merge --cases cases --results m s2 s1", 1, NULL, "");
    const char *out = conform_file("said.out");
    assert_non_null(strstr(out, "FAIL bad\n  case      cases/bad.lua:1\n"));
    assert_non_null(strstr(out, "  capture   m/bad.pcapng\n"));
    assert_non_null(strstr(out, "finding 1: FAIL MPA-4.1-02 (MUST)"));
    assert_non_null(strstr(out, "1 PASS, 0 NOTE, 1 FAIL, 0 INCONCLUSIVE, 0 SKIP, 0 ERROR"));
    assert_non_null(strstr(out, ", target embedded\nresults: m\n"));
    begins("m/run.json", "{");
    begins("m/journal.jsonl", "{");
    begins("m/bad.pcapng", "\x0a\x0d\x0d\x0a");
    begins("m/report.html", "<!doctype html>");
    conform_says("merge --cases cases --tap --results tap s1 s2", 1, NULL, NULL);
    out = conform_file("said.out");
    assert_memory_equal(out, "TAP version 14\n1..2\n# target: embedded, ", 40);
    assert_non_null(strstr(out, "\nnot ok 1 - bad\n"));
    assert_non_null(strstr(out, "\nok 2 - good\n"));
    assert_null(strstr(out, "Bail out!"));
    conform_says("merge --cases cases --results no s2", 64, "",
                 "iwarp-conform: shard 1/2 is missing, but s2 is shard 2/2\n");
    conform_says("run --cases cases --results alone good", 0, NULL, "");
    conform_says("merge --cases cases --results one alone", 0, NULL, "");
}

static void all_rounds_are_played(void **state)
{
    (void)state;
    conform_says("run --cases cases --repeat 2 --results r", 1, NULL, "");
    assert_non_null(
        strstr(conform_file("said.out"), "2 rounds: 0 of 2 cases gave more than one verdict"));
}

static void a_target_that_is_not_there_is_said_once(void **state)
{
    (void)state;
    conform_says("run --cases cases --target tcp:127.0.0.1:1 --results r", 3, NULL, "");
    assert_non_null(strstr(conform_file("said.out"),
                           "no connection with 127.0.0.1 port 1: Connection "
                           "refused"));
    assert_non_null(strstr(conform_file("said.out"), ", target tcp:127.0.0.1:1\n"));
}

static void a_hazard_is_played_if_it_is_allowed(void **state)
{
    (void)state;
    conform_case("wedge", " tags = { 'hazard' },", "t:fail('played')");
    conform_says("run --cases cases --results r wedge", 0,
                 "SKIP wedge: a hazard: it could wedge the target; see --allow-hazard\n"
                 "0 PASS, 0 NOTE, 0 FAIL, 0 INCONCLUSIVE, 1 SKIP, 0 ERROR, target embedded\n"
                 "results: r\n",
                 "");
    conform_says("run --cases cases --results r --allow-hazard wedge", 1, NULL, "");
}

/* What a sanitizer reports while the peer ends is no case's, and still no success. */
static void trouble_at_the_end_of_the_target_is_an_error(void **state)
{
    char *bent = folder_file(&conform_folder, "bent",
                             "#!/bin/sh\n\"$IWARP_AGENT\" \"$@\"\n"
                             "echo '==7==ERROR: LeakSanitizer: detected memory leaks' >&2\n");

    (void)state;
    assert_int_equal(chmod(bent, 0700), 0);
    free(bent);
    conform_says("run --cases cases --results r --agent ./bent good", 70, NULL,
                 "iwarp-conform: the target, at its end: LeakSanitizer: leak\n");
}

/* A line that is written over, unless something else is told there. */
static void progress_is_shown_at_a_terminal(void **state)
{
    struct said s;

    (void)state;
    conform_call_at_terminal(&s, "run --cases cases --results r -j 1");
    assert_int_equal(s.status, 1);
    assert_string_equal(s.err,
                        "\r\033[K\r\033[K\r\033[K[1/2] 1 FAIL  bad\r\033[K\r\033[K[2/2] 1 FAIL"
                        "  good\r\033[K\r\n");
    conform_call_at_terminal(&s, "run --cases cases --results r --tap good");
    assert_null(strstr(s.err, "\033[K"));
    conform_call_at_terminal(&s, "run --cases cases --results r --trace good");
    assert_null(strstr(s.err, "\033[K"));
}

/* Where that is permitted. */
static void the_real_packets_are_kept_too(void **state)
{
    struct said s;

    (void)state;
    conform_call(&s, "run --cases cases --capture no-such-interface --results r good");
    assert_int_equal(s.status, 70);
    assert_string_equal(s.out, "");
    assert_memory_equal(s.err, "iwarp-conform: --capture no-such-interface: ", 44);
    conform_call(&s, "run --cases cases --capture lo --results r good");
    if (s.status == 70 && strstr(s.err, "--capture lo: ") != NULL) {
        print_message("skipped: %s\n", s.err);
        skip();
    }
    assert_int_equal(s.status, 0);
    const char *packets = conform_file("r/packets.pcap");
    assert_true(memcmp(packets, "\xd4\xc3\xb2\xa1", 4) == 0 ||
                memcmp(packets, "\x4d\x3c\xb2\xa1", 4) == 0);
}

/* ---- replay ---- */

#define CAPTURE IW_SOURCE_DIR "/pcaps/siw/siw-rdma_server-crcon.pcap"
#define WRONG_AS "iwarp-conform: --as: expected the side to play, initiator or responder\n"
#define WRONG_NUMBERS                                                                              \
    ": expected the number of a connection, from 0, or several, separated by commas\n"
#define WRONG_TIME ": expected drop, keep or scale=X with X from 0 to 1000\n"
#define WRONG_PRIVATE ": expected hexadecimal digits, two for each of at most 512 octets\n"

static void wrong_words_of_a_replay_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"", WRONG_AS},
        {"--as client", "iwarp-conform: --as client: expected initiator or responder\n"},
        {"--list --as client", "iwarp-conform: --as client: expected initiator or responder\n"},
        {"--as initiator --stream 1,", "iwarp-conform: --stream 1," WRONG_NUMBERS},
        {"--as initiator --stream ,1", "iwarp-conform: --stream ,1" WRONG_NUMBERS},
        {"--as initiator --stream 1,,2", "iwarp-conform: --stream 1,,2" WRONG_NUMBERS},
        {"--as initiator --stream 1x", "iwarp-conform: --stream 1x" WRONG_NUMBERS},
        {"--as initiator --stream=", "iwarp-conform: --stream " WRONG_NUMBERS},
        {"--as initiator --time soon", "iwarp-conform: --time soon" WRONG_TIME},
        {"--as initiator --time scale=", "iwarp-conform: --time scale=" WRONG_TIME},
        {"--as initiator --time scale=2x", "iwarp-conform: --time scale=2x" WRONG_TIME},
        {"--as initiator --time scale=-1", "iwarp-conform: --time scale=-1" WRONG_TIME},
        {"--as initiator --time scale=1000.5", "iwarp-conform: --time scale=1000.5" WRONG_TIME},
        {"--as initiator --private 00f", "iwarp-conform: --private 00f" WRONG_PRIVATE},
        {"--as initiator --private 0g", "iwarp-conform: --private 0g" WRONG_PRIVATE},
        {"--as initiator --map ./none", "iwarp-conform: --map ./none: No such file or directory\n"},
        {"--as initiator --map none.lua",
         "iwarp-conform: --map none.lua: No such file or directory\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *words = iw_text_format("replay " CAPTURE " %s", rows[i][0]);

        conform_says(words, 64, "", rows[i][1]);
        free(words);
    }
    conform_says("replay none.pcap --as initiator", 64, "",
                 "iwarp-conform: none.pcap: No such file or directory\n");
}

/* `count` times `digit` after `words`. */
static char *repeated(const char *words, char digit, size_t count)
{
    char digits[1100] = "";

    memset(digits, digit, count);
    return iw_text_format("replay " CAPTURE " --as initiator %s%s", words, digits);
}

static void long_words_of_a_replay_are_refused(void **state)
{
    static const struct {
        const char *words;
        char digit;
        size_t good, bad;
        const char *error;
    } rows[] = {{"--map nobodys --stream ", '1', 63, 64, WRONG_NUMBERS},
                {"--map nobodys --private ", 'a', 1024, 1026, WRONG_PRIVATE}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *good = repeated(rows[i].words, rows[i].digit, rows[i].good);
        char *bad = repeated(rows[i].words, rows[i].digit, rows[i].bad);
        struct said s;

        conform_call(&s, good);
        assert_int_equal(s.status, 64);
        assert_null(strstr(s.err, rows[i].error));
        conform_call(&s, bad);
        assert_int_equal(s.status, 64);
        assert_non_null(strstr(s.err, rows[i].error));
        free(good);
        free(bad);
    }
}

static void the_conversations_of_a_capture_are_listed(void **state)
{
    (void)state;
    conform_says("replay --list " CAPTURE, 0, NULL, "");
    begins("said.out", "0  ");
    /* In the root folder, too. */
    conform_says("replay --list /dev/null", 64, "", NULL);
    conform_says("replay --list /vmlinuz-that-is-not-there", 64, "", NULL);
}

static void a_conversation_is_played_again(void **state)
{
    static const char *const times[] = {"keep", "drop", "scale=0", "scale=1000"};

    (void)state;
    conform_says("replay " CAPTURE " --as initiator --results r", 0, NULL, "");
    assert_non_null(strstr(conform_file("said.out"),
                           "the initiator's side is played, the responder's "
                           "compared\nPASS replay\n1 PASS, 0 NOTE, "));
    begins("r/replay.pcapng", "\x0a\x0d\x0d\x0a");
    conform_says("replay " CAPTURE " --as responder -v --results r", 0, NULL, NULL);
    assert_non_null(strstr(conform_file("said.err"), "mpa request"));
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        char *words = iw_text_format("replay --list --time %s " CAPTURE, times[i]);

        conform_says(words, 0, NULL, "");
        free(words);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) /* conform_call() begins this program again */
        return iw_conform(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(verdicts_are_printed_and_written, set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(tap_is_printed_instead, set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(a_run_with_a_trace_tells_each_message, set_up,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(every_report_has_its_file, set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_ends_the_run_before_it_begins,
                                        set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(a_file_in_place_of_the_results_is_no_folder, set_up,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(a_run_goes_on, set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(runs_are_merged_into_one_report, set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(all_rounds_are_played, set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(a_target_that_is_not_there_is_said_once, set_up,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(a_hazard_is_played_if_it_is_allowed, set_up,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(trouble_at_the_end_of_the_target_is_an_error, set_up,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(progress_is_shown_at_a_terminal, set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(the_real_packets_are_kept_too, set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(wrong_words_of_a_replay_are_refused, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(long_words_of_a_replay_are_refused, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(the_conversations_of_a_capture_are_listed, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(a_conversation_is_played_again, conform_setup,
                                        conform_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
