/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-msg ping and get, whose other end is the test. */
#include "message_said.h"
#include "message_stage.h"

#include <errno.h>
#include <signal.h>

enum { MIB = 1 << 20 };

static char path[] = "exchange.XXXXXX";

static int begin(void **state)
{
    stage_begin(state);
    stage.signal = SIGINT;
    settings = (struct msg_settings){.exchange = {.size = 50, .count = 3, .warm_up = 2}};
    strcpy(path, "exchange.XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    return 0;
}

static int end(void **state)
{
    unlink(path);
    return catch_no_more(state) | stage_end(state);
}

/* ---- ping ---- */

static struct {
    unsigned from; /* the answer that is wrong, from 0 */
    size_t at;     /* the octet of it */
    int longer;
} wrong;

static void echo(const struct stage_sent *sent)
{
    uint8_t octets[100] = {0};
    memcpy(octets, sent->octets, sent->length);
    const bool bad = stage.sent_count > wrong.from;
    if (bad && wrong.longer == 0)
        octets[wrong.at] ^= 1;
    stage_message(7, octets, sent->length + (size_t)(bad ? wrong.longer : 0));
}

static void good_pings(void **state)
{
    (void)state;
    stage.on_send = echo;
    wrong.from = UINT32_MAX;
    static const size_t sizes[] = {50, 2, 1};
    for (unsigned k = 0; k < 3; k++) {
        settings.exchange.size = sizes[k];
        const unsigned sent = stage.sent_count;
        assert_int_equal(RUN(msg_ping_run, "7"), 0);
        assert_string_equal(complaints, "");
        char line[40];
        snprintf(line, sizeof(line), "7: 3 round trips of %zu octets: ", sizes[k]);
        assert_memory_equal(said, line, strlen(line));
        assert_null(strstr(said, "at the other end")); /* it is asked only with --tcp */
        assert_int_equal(stage.sent_count - sent, 5);
        for (unsigned i = 0; i < 5; i++) {
            const struct stage_sent *s = &stage.sent[sent + i];
            assert_int_equal(s->to, 7);
            assert_int_equal(s->flags, IW_MESSAGES_GIVE);
            assert_int_equal(s->length, sizes[k]);
            assert_int_equal(s->octets[0], 'p');
            if (sizes[k] > 1) /* of the warm-up, and then of what counts */
                assert_int_equal(s->octets[sizes[k] - 1], i < 2 ? i : i - 2);
        }
        assert_int_equal(stage.got_length, sizes[k]);
    }
    assert_int_equal(stage.returned, 15);
    assert_int_equal(stage.left, 3); /* the next question's of each run */
    assert_int_equal(stage.catches_interrupt, 3);
    for (unsigned i = 1; i + 1 < 50; i++) /* nothing of this process's memory */
        assert_int_equal(stage.sent[0].octets[i], 0);
    settings.exchange.json = true;
    assert_int_equal(RUN(msg_ping_run, "7"), 0);
    assert_non_null(strstr(said, "\"type\":\"ping\",\"number\":7,\"octets\":1,\"round_trips\":3,"));
    assert_null(strstr(said, "far_cpu_us"));
}

static void bad_pings(void **state)
{
    (void)state;
    stage.on_send = echo;
    static const struct {
        size_t size, at;
        int longer;
    } list[] = {{50, 0, 0}, {50, 49, 0}, {50, 0, 1}, {50, 0, -1}, {1, 0, 0}, {2, 1, 0}, {2, 0, 0}};
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        settings.exchange.size = list[i].size;
        wrong.from = stage.sent_count + 3; /* the second that counts */
        wrong.at = list[i].at;
        wrong.longer = list[i].longer;
        assert_int_equal(RUN(msg_ping_run, "7"), 1);
        complains("7: answers with something else\n");
        assert_non_null(strstr(said, ": 1 round trip of "));
        assert_int_equal(stage.sent_count, wrong.from + 1);
    }
}

static void no_pings(void **state)
{
    (void)state;
    stage.gets_left = 0;
    assert_int_equal(RUN(msg_ping_run, "7"), 70);
    complains("no memory of the pool\n");
    assert_int_equal(stage.sent_count, 0);
    assert_int_equal(RUN(msg_ping_run, "7-8"), 64);
    complains("7-8: expected one number\n");
    assert_int_equal(RUN(msg_ping_run, "x"), 64);
    stage.open_errno = ENOENT;
    assert_int_equal(RUN(msg_ping_run, "7"), 69);
    complains("it does not open (without one: iwarp-run iwarp-msg ...)\n");
}

/* ---- get ---- */

static const char *in_file(void)
{
    return text_of(path);
}

static void a_file(void **state)
{
    (void)state;
    stage_message(7, "f\0\0\0\0\0\0\0\5", 9);
    stage_message(7, "hello", 5);
    assert_int_equal(RUN(msg_get_run, "7", "some/file"), 0);
    assert_string_equal(said, "hello");
    assert_string_equal(complaints, "");
    assert_int_equal(stage.sent_count, 1);
    stage_check_sent(0, 7, 0, 0, "gsome/file", 10);
    assert_int_equal(stage.returned, 1);
    assert_int_equal(stage.freed, 1);
    settings.exchange.output = path;
    stage_message(7, "f\0\0\0\0\0\0\0\0", 9);
    assert_int_equal(RUN(msg_get_run, "7", "empty"), 0);
    assert_string_equal(in_file(), "");
    assert_int_equal(stage.catches_interrupt, 2);
}

/* Two whole parts and a bit. */
static void parts(void **state)
{
    (void)state;
    static uint8_t octets[2 * MIB + 2], back[2 * MIB + 3];
    memset(octets, 'a', MIB);
    memset(octets + MIB, 'b', MIB);
    octets[2 * MIB] = 'c';
    octets[2 * MIB + 1] = 'd';
    settings.exchange.output = path;
    stage_message(7, "f\0\0\0\0\0\x20\0\2", 9);
    stage_message(7, octets, MIB);
    stage_message(7, octets + MIB, MIB);
    stage_message(7, octets + 2 * MIB, 2);
    assert_int_equal(RUN(msg_get_run, "7", "x"), 0);
    const int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, back, sizeof(back)), sizeof(octets));
    close(fd);
    assert_memory_equal(back, octets, sizeof(octets));
    stage_message(7, "f\0\0\0\0\0\x20\0\0", 9);
    stage_message(7, octets, MIB);
    stage_message(7, octets + MIB, MIB);
    assert_int_equal(RUN(msg_get_run, "7", "x"), 0);
}

static void refusals(void **state)
{
    (void)state;
    char longest[MSG_TEXT + 40];
    stage_message(7, "ea: No such\nfile", 16);
    assert_int_equal(RUN(msg_get_run, "7", "a"), 1);
    assert_string_equal(strchr(complaints, '\n'), "\n"); /* it is one line */
    complains("7: a: No such");
    memset(longest, 'y', sizeof(longest));
    longest[0] = 'e';
    stage_message(7, longest, sizeof(longest));
    assert_int_equal(RUN(msg_get_run, "7", "a"), 1);
    assert_int_equal(strspn(strchr(complaints, 'y'), "y"), MSG_TEXT - 1);
    stage_message(7, "e", 1);
    assert_int_equal(RUN(msg_get_run, "7", "a"), 1);
    complains("7: \n");
    static const struct {
        const char *octets;
        size_t length;
    } other[] = {
        {"", 0}, {"f\0\0\0\0\0\0\0\1", 8}, {"f\0\0\0\0\0\0\0\1", 10}, {"p\0\0\0\0\0\0\0\1", 9}};
    for (unsigned i = 0; i < 4; i++) {
        stage_message(7, other[i].octets, other[i].length);
        assert_int_equal(RUN(msg_get_run, "7", "a"), 1);
        complains("7: answers with something else\n");
    }
    assert_int_equal(stage.left, 0);
}

static void bad_parts(void **state)
{
    (void)state;
    static const struct {
        const char *octets;
        size_t length;
        const char *line;
    } list[] = {{"eread", 5, "7: read\n"},
                {"", 0, "7: a part is missing\n"},
                {"abc", 3, "7: a part is missing\n"},
                {"abcde", 5, "7: a part is missing\n"}};
    for (unsigned i = 0; i < 4; i++) {
        stage_message(7, "f\0\0\0\0\0\0\0\4", 9);
        stage_message(7, list[i].octets, list[i].length);
        assert_int_equal(RUN(msg_get_run, "7", "a"), 1);
        complains(list[i].line);
        assert_string_equal(said, "");
    }
    stage_message(7, "f\0\0\0\0\0\0\0\4", 9);
    stage_message(7, "eeee", 4); /* as long as it has to be: a part */
    assert_int_equal(RUN(msg_get_run, "7", "a"), 0);
    assert_string_equal(said, "eeee");
    stage_message(7, "f\0\0\0\0\0\0\0\4", 9);
    assert_int_equal(RUN(msg_get_run, "7", "a"), 130); /* nothing comes, and then an interrupt */
    assert_string_equal(complaints, "");
    assert_int_equal(stage.left, 0);
}

static void outputs(void **state)
{
    (void)state;
    settings.exchange.output = "/dev/full";
    stage_message(7, "f\0\0\0\0\0\0\0\4", 9);
    stage_message(7, "abcd", 4);
    assert_int_equal(RUN(msg_get_run, "7", "a"), 73);
    complains("/dev/full: No space left on device\n");
    settings.exchange.output = "/nowhere/at/all";
    assert_int_equal(RUN(msg_get_run, "7", "a"), 73);
    complains("/nowhere/at/all: No such file or directory\n");
    assert_int_equal(stage.sent_count, 1);
    settings.exchange.output = path;
    stage_message(7, "f\0\0\0\0\0\0\0\4", 9);
    stage_message(7, "abcd", 4);
    assert_int_equal(RUN(msg_get_run, "7", "a"), 0);
    stage_message(7, "f\0\0\0\0\0\0\0\1", 9);
    stage_message(7, "x", 1);
    assert_int_equal(RUN(msg_get_run, "7", "a"), 0);
    assert_string_equal(in_file(), "x"); /* what was there is gone */
}

static void usage(void **state)
{
    (void)state;
    char longest[MSG_PATH];
    memset(longest, 'a', sizeof(longest));
    longest[MSG_PATH - 1] = '\0';
    assert_int_equal(RUN(msg_get_run, "7", longest), 64);
    complains("PATH: expected at most 1022 octets\n");
    longest[MSG_PATH - 2] = '\0';
    stage_message(7, "e", 1);
    assert_int_equal(RUN(msg_get_run, "7", longest), 1);
    assert_int_equal(stage.sent[0].length, 1023);
    assert_int_equal(RUN(msg_get_run, "7-8", "a"), 64);
    complains("7-8: expected one number\n");
    assert_int_equal(RUN(msg_get_run, "x", "a"), 64);
    settings.exchange.json = true;
    assert_int_equal(RUN(msg_get_run, "7", "a"), 64);
    complains("--json: expected --count, too\n");
    settings.exchange.tcp = "localhost:1";
    assert_int_equal(RUN(msg_get_run, "7", "a"), 64);
    complains("--tcp: expected --count, too\n");
    settings.exchange.fetches = 1;
    assert_int_equal(RUN(msg_get_run, "7", "a"), 64);
    complains("--count: expected --output, too\n");
    assert_int_equal(stage.opened, 1);
}

/* Answers a file, and the question for processor time. */
static void serve(const struct stage_sent *sent)
{
    static unsigned turn;
    if (sent->octets[0] == 'c') {
        stage_message(7, "c\0\0\0\0\0\0\0\0", 9);
        return;
    }
    char text[4];
    snprintf(text, sizeof(text), "ab%u", turn++ % 10);
    stage_message(7, "f\0\0\0\0\0\0\0\3", 9);
    stage_message(7, text, 3);
}

static void fetches(void **state)
{
    (void)state;
    stage.on_send = serve;
    settings.exchange.fetches = 3;
    settings.exchange.output = path;
    assert_int_equal(RUN(msg_get_run, "7", "a"), 0);
    assert_non_null(strstr(said, "7: 3 fetches of 3 octets: least "));
    assert_non_null(strstr(said, ", at the other end 0.00\n"));
    assert_int_equal(stage.sent_count, 5); /* no warm-up */
    assert_string_equal(in_file(), "ab2"); /* the last one, once */
    settings.exchange.fetches = 1;
    settings.exchange.json = true;
    assert_int_equal(RUN(msg_get_run, "7", "a"), 0);
    assert_non_null(strstr(said, "{\"type\":\"get\",\"number\":7,\"octets\":3,\"round_trips\":1,"));
    assert_non_null(strstr(said, "\"far_cpu_us\":0.0"));
    assert_string_equal(in_file(), "ab3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(good_pings, begin, end),
        cmocka_unit_test_setup_teardown(bad_pings, begin, end),
        cmocka_unit_test_setup_teardown(no_pings, begin, end),
        cmocka_unit_test_setup_teardown(a_file, begin, end),
        cmocka_unit_test_setup_teardown(parts, begin, end),
        cmocka_unit_test_setup_teardown(refusals, begin, end),
        cmocka_unit_test_setup_teardown(bad_parts, begin, end),
        cmocka_unit_test_setup_teardown(outputs, begin, end),
        cmocka_unit_test_setup_teardown(usage, begin, end),
        cmocka_unit_test_setup_teardown(fetches, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
