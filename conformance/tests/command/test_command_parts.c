/* SPDX-License-Identifier: BSD-3-Clause */
/* What the words of a command line come to, and the target file that a probe writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "command/probe_file.h"
#include "command/run_line.h"
#include "host/files.h"
#include "host/text.h"

/* ---- how many at a time ---- */

static unsigned jobs(const struct iw_target_spec *spec, unsigned said, bool trace, size_t cases)
{
    const struct iw_command c = {.jobs = said, .trace = trace};

    return iw_run_jobs(&c, spec, cases);
}

static void our_own_agents_are_more_than_there_are_cpus(void **state)
{
    const struct iw_target_spec embedded = {.embedded = true, .class = IW_TARGET_AGENT};

    (void)state;
    unsigned all = iw_run_embedded_jobs(&(const struct iw_command){0});
    assert_int_equal(all, 4 * iw_cpus() < 64 ? 4 * iw_cpus() : 64);
    assert_int_equal(iw_run_embedded_jobs(&(const struct iw_command){.jobs = 7}), 7);
    assert_int_equal(jobs(&embedded, 0, false, 100000), all);
    assert_int_equal(jobs(&embedded, 7, false, 100000), 7);
    assert_int_equal(jobs(&embedded, 7, false, 7), 7);
    assert_int_equal(jobs(&embedded, 7, false, 6), 6);
    assert_int_equal(jobs(&embedded, 7, false, 0), 1);
    assert_int_equal(jobs(&embedded, 7, true, 100000), 1);
}

static void another_peer_plays_as_many_cases_as_the_user_says(void **state)
{
    const struct iw_target_spec bare = {.class = IW_TARGET_BARE};
    struct iw_target_spec one_at_a_time[] = {{.class = IW_TARGET_AGENT},
                                             {.class = IW_TARGET_BARE, .start = (char[]){"x"}},
                                             {.class = IW_TARGET_RPING, .ask = (char[]){"x"}},
                                             {.class = IW_TARGET_BARE, .restart = (char[]){"x"}}};

    (void)state;
    assert_int_equal(jobs(&bare, 0, false, 100), 1);
    assert_int_equal(jobs(&bare, 7, false, 100), 7);
    assert_int_equal(jobs(&bare, 7, true, 100), 1);
    for (size_t i = 0; i < sizeof(one_at_a_time) / sizeof(*one_at_a_time); i++)
        assert_int_equal(jobs(&one_at_a_time[i], 7, false, 100), 1);
}

/* ---- what repeats a case ---- */

static void assert_again(const struct iw_command *c, const char *expected)
{
    char *text = iw_run_again(c);

    assert_string_equal(text, expected);
    free(text);
}

static void a_case_is_repeated_by_the_words_that_matter(void **state)
{
    struct iw_command c = {.program = "./the conform", .jobs = 3, .head.repeat = 2};

    (void)state;
    assert_again(&c, "'./the conform' run --select ");
    c.head.cases = "my cases";
    c.head.agent = "/bin/agent";
    c.head.target = "tcp:h:1";
    c.head.time_scale = 2.5;
    assert_again(&c, "'./the conform' run --cases 'my cases' --agent /bin/agent --target tcp:h:1 "
                     "--time-scale 2.5 --select ");
    c = (struct iw_command){.program = "conform", .head.no_quirks = true};
    assert_again(&c, "conform run --no-quirks --select ");
    c.head.time_scale = 1;
    assert_again(&c, "conform run --time-scale 1 --no-quirks --select ");
}

static void a_replay_is_repeated_into_a_folder(void **state)
{
    char *const words[] = {(char[]){"a b.pcap"}, NULL};
    const struct iw_command c = {.program = "conform",
                                 .operands = words,
                                 .replay = {.capture = "b.pcap",
                                            .as = "initiator",
                                            .stream = "1,2",
                                            .map = "rping",
                                            .time = "keep",
                                            .private = "00ff"}};

    (void)state;
    assert_again(&c,
                 "conform replay 'a b.pcap' --as initiator --stream 1,2 --map rping --time keep "
                 "--private 00ff --results ");
}

/* ---- what a probe has found ---- */

static void assert_file(const struct iw_target_spec *spec, const struct iw_probed *f,
                        const char *expected)
{
    static const char head[] = "-- What iwarp-conform probe found out about this peer (2001-09-09 "
                               "01:46 UTC). Above each value: what was seen.\n\nreturn {\n";
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    iw_probed_write(out, spec, f, 1000000000);
    fclose(out);
    assert_memory_equal(text, head, strlen(head));
    assert_string_equal(text + strlen(head), expected);
    free(text);
}

static void notes_are_taken_by_their_first_word(void **state)
{
    struct iw_probed f = {.ends = false};

    (void)state;
    iw_probed_take(&f, NULL);
    assert_null(f.lists[IW_FOUND_LINES]);
    iw_probed_take(&f, "file: -- seen this\nfile: crc = \"on\",\ncan: read\nother: x\n"
                       "cannot: send\nfile:x\ncan: ird.4\n");
    /* Of what the peer does in the other role only the remarks are kept. */
    iw_probed_take(&f, "file: -- and that\nfile: crc = \"off\",\ncan: send\ncannot: -read");
    assert_file(&(const struct iw_target_spec){0}, &f,
                "  -- seen this\n  crc = \"on\",\n  -- and that\n"
                "  can = { \"read\", \"ird.4\" },\n  cannot = { \"send\" },\n}\n");
    iw_probed_free(&f);
}

static void what_the_user_said_is_kept(void **state)
{
    struct iw_target_spec spec = {.host = (char[]){"10.0.0.1"},
                                  .port = 7471,
                                  .start = (char[]){"go \"x\\y\"\n\x7f."},
                                  .ready = (char[]){"up"},
                                  .connect = (char[]){"call"},
                                  .ask = (char[]){"press"},
                                  .connect_within = 0.5,
                                  .station_host = (char[]){"10.0.0.2"},
                                  .class = IW_TARGET_RPING};

    (void)state;
    assert_file(&spec, &(const struct iw_probed){.ends = false},
                "  address = \"10.0.0.1\",\n  port = 7471,\n"
                "  start = \"go \\\"x\\\\y\\\"\\010\\127.\",\n  ready = \"up\",\n"
                "  connect = \"call\",\n  ask = \"press\",\n  connect_within = 0.5,\n"
                "  station = \"10.0.0.2\",\n  class = \"rping\",\n}\n");
    spec = (struct iw_target_spec){.class = IW_TARGET_BARE};
    assert_file(&spec, &(const struct iw_probed){.ends = false}, "}\n");
    spec = (struct iw_target_spec){.ends_connection = true, .longest_timer = 7.5};
    assert_file(&spec, &(const struct iw_probed){.ends = false},
                "  ends = \"connection\",\n  longest_timer = 7.5,\n}\n");
    assert_file(&spec, &(const struct iw_probed){.ends = true},
                "  -- its program ended after a connection, twice, and was started again\n"
                "  ends = \"connection\",\n  longest_timer = 7.5,\n}\n");
}

/* A value that the user gave stands, and what was seen is a remark. */
static void what_was_seen_does_not_overrule_the_user(void **state)
{
    char *can[] = {(char[]){"crc.on"},
                   (char[]){"!crc.off"},
                   (char[]){"revision.1"},
                   (char[]){"!markers.on"},
                   (char[]){"rtr.send"},
                   (char[]){"ird.16"},
                   NULL};
    struct iw_target_spec spec = {.can = can};
    struct iw_probed f = {.ends = false};

    (void)state;
    iw_probed_take(&f, "file: crc = \"off\",\nfile: crcs = 1,\nfile: markers = \"on\",\n"
                       "file: revision = 2,\nfile: class = \"rping\",\nfile: -- crc = x\n"
                       "can: crc.off\ncan: rtr.send\ncan: rtr.read\ncan: ird.4\ncan: read\n"
                       "cannot: rtr.send\ncannot: rtr.write\ncannot: ird\ncannot: windows\n"
                       "cannot: markers\ncannot: rtr");
    assert_file(&spec, &f,
                "  -- seen: crc = \"off\",\n  crcs = 1,\n  -- seen: markers = \"on\",\n"
                "  -- seen: revision = 2,\n  class = \"rping\",\n  -- crc = x\n"
                "  can = { \"crc.on\", \"revision.1\", \"rtr.send\", \"ird.16\", "
                "\"rtr.read\", \"read\" },\n"
                "  cannot = { \"crc.off\", \"markers.on\", \"rtr.write\", \"windows\" },\n}\n");
    spec.class = IW_TARGET_RPING;
    spec.can = NULL;
    iw_probed_free(&f);
    f = (struct iw_probed){.ends = false};
    iw_probed_take(&f, "file: class = \"bare\",\nfile: classes = 1,\nfile: crc = \"on\",\n"
                       "can: ird.4\n");
    assert_file(&spec, &f,
                "  class = \"rping\",\n  -- seen: class = \"bare\",\n  classes = 1,\n"
                "  crc = \"on\",\n  can = { \"ird.4\" },\n}\n");
    iw_probed_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_agents_are_more_than_there_are_cpus),
        cmocka_unit_test(another_peer_plays_as_many_cases_as_the_user_says),
        cmocka_unit_test(a_case_is_repeated_by_the_words_that_matter),
        cmocka_unit_test(a_replay_is_repeated_into_a_folder),
        cmocka_unit_test(notes_are_taken_by_their_first_word),
        cmocka_unit_test(what_the_user_said_is_kept),
        cmocka_unit_test(what_was_seen_does_not_overrule_the_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
