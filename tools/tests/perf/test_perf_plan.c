/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-perf's command lines: every option with its limits from both sides, and every field of the
 * plan. */
#include "perf.h"

#include <errno.h>
#include <sched.h>

#include "../caught.h"
#include "host/complain.h"

/* What a socket was asked to take; it refuses "bad" with an error. */
static struct perf_setup asked;
static unsigned questions;
static int refusal;

int perf_lane_socket(const struct perf_setup *setup, int fd, char *error)
{
    assert_true(fd >= 0);
    asked = *setup;
    questions++;
    if (strcmp(setup->congestion, "bad") != 0 && setup->mss != 666)
        return 0;
    errno = refusal;
    snprintf(error, PERF_TEXT, "refused");
    return -1;
}

/* What sched_setaffinity was asked for, and which CPU there is none of. */
static cpu_set_t pinned;
static unsigned pins;
static int failing_pin; /* its number, from 1 */

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    assert_int_equal(pid, 0);
    assert_int_equal(size, sizeof(*set));
    CPU_ZERO(set);
    CPU_SET(5, set);
    return 0;
}

int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    assert_int_equal(pid, 0);
    assert_int_equal(size, sizeof(*set));
    /* First the one that is wanted, then the one of before. */
    assert_int_equal(CPU_COUNT(set), 1);
    if (pins++ % 2 != 0)
        assert_true(CPU_ISSET(5, set));
    else
        pinned = *set;
    return (int)pins == failing_pin ? -1 : 0;
}

static struct perf_plan plan;

/* Reads a command line of words parted by spaces; its status. What it prints to `fd` is caught. */
static int read_line(bool local, bool server, const char *line)
{
    static char copy[4096], name[] = "iwarp-perf";
    char *argv[64] = {name}, *rest = copy;
    int argc = 1;
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        if (word[0] != '\0')
            argv[argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
    memset(&plan, 0x55, sizeof(plan));
    optind = 0;
    return server ? perf_plan_server(&plan, argc, argv)
                  : perf_plan_client(&plan, local, argc, argv);
}

static void accept_line(const char *line)
{
    assert_int_equal(read_line(true, false, line), -1);
}

/* The one line that it says of what it refuses. */
static void refuse(bool local, const char *line, const char *expected)
{
    char text[1024];
    snprintf(text, sizeof(text), "iwarp-perf: %s\n", expected);
    catch_from(2);
    int status = read_line(local, false, line);
    assert_string_equal(caught(), text);
    assert_int_equal(status, 64);
}

static void expect_tests(const char *expected)
{
    char text[PERF_TESTS + 1] = "";
    for (int i = 0; i < PERF_TESTS; i++)
        text[i] = plan.tests[i] ? '1' : '0';
    assert_string_equal(text, expected);
}

/* Member by member: there are octets between them. */
static void expect_lane(const struct perf_setup *got, const struct perf_setup *expected)
{
    assert_int_equal(got->tcp, expected->tcp);
    assert_int_equal(got->crc, expected->crc);
    assert_int_equal(got->markers, expected->markers);
    assert_int_equal(got->poll, expected->poll);
    assert_int_equal(got->ahead, expected->ahead);
    assert_int_equal(got->connections, expected->connections);
    assert_int_equal(got->mss, expected->mss);
    assert_int_equal(got->mulpdu, expected->mulpdu);
    assert_int_equal(got->window, expected->window);
    assert_int_equal(got->threads, expected->threads);
    assert_int_equal(got->socket_buffer, expected->socket_buffer);
    assert_string_equal(got->congestion, expected->congestion);
    assert_int_equal(got->size_max, expected->size_max);
}

static void test_defaults(void **state)
{
    struct perf_setup lane = {.crc = true,
                              .ahead = true,
                              .connections = 1,
                              .window = 128,
                              .threads = 1,
                              .size_max = 65536};
    (void)state;
    accept_line("");
    expect_tests("00000100");
    assert_int_equal(plan.size_count, 1);
    assert_int_equal(plan.sizes[0], 65536);
    assert_int_equal(plan.lane_count, 1);
    expect_lane(&plan.lanes[0], &lane);
    assert_false(plan.baseline || plan.both || plan.verify || plan.one_client);
    assert_int_equal(plan.rounds, 9);
    assert_int_equal(plan.count, 0);
    assert_int_equal(plan.slice_ms, 50);
    assert_int_equal(plan.soak, 0);
    assert_true(plan.min_ratio >= 0 && plan.min_ratio <= 0);
    assert_true(plan.max_ratio >= 0 && plan.max_ratio <= 0);
    assert_int_equal(plan.cpu[0], -1);
    assert_int_equal(plan.cpu[1], -1);
    assert_null(plan.json);
    assert_null(plan.html);
    assert_null(plan.address);
}

static void test_everything(void **state)
{
    (void)state;
    pins = 0;
    assert_int_equal(
        read_line(
            false, false,
            "--test send-lat,read-bw --size 1,300,20 --baseline tcp --crc both --markers both "
            "--connections 10 --window 33 --both-ways --poll --mss 1400 --mulpdu 900 "
            "--socket-buffer 8192 --congestion cubic --rounds 3 --count 40 --slice 70 "
            "--verify --cpu 3 --json j --html h --min-ratio 0.5 --max-ratio 2.5 --threads 10 "
            "host:1"),
        -1);
    expect_tests("10000010");
    assert_int_equal(plan.size_count, 3);
    assert_int_equal(plan.sizes[0], 1);
    assert_int_equal(plan.sizes[1], 300);
    assert_int_equal(plan.sizes[2], 20);
    assert_true(plan.baseline && plan.both && plan.verify && !plan.one_client);
    assert_int_equal(plan.rounds, 3);
    assert_int_equal(plan.count, 40);
    assert_int_equal(plan.slice_ms, 70);
    assert_int_equal(plan.soak, 0);
    assert_true(plan.min_ratio >= 0.5 && plan.min_ratio <= 0.5);
    assert_true(plan.max_ratio >= 2.5 && plan.max_ratio <= 2.5);
    assert_int_equal(plan.cpu[0], 3);
    assert_int_equal(plan.cpu[1], -1);
    assert_true(CPU_ISSET(3, &pinned));
    assert_int_equal(pins, 2);
    assert_string_equal(plan.json, "j");
    assert_string_equal(plan.html, "h");
    assert_string_equal(plan.address, "host:1");
    /* The baseline is plain TCP; then every combination. */
    assert_int_equal(plan.lane_count, 5);
    for (size_t i = 0; i < 5; i++) {
        const struct perf_setup lane = {.tcp = i == 0,
                                        .crc = i == 2 || i == 4,
                                        .markers = i == 3 || i == 4,
                                        .poll = true,
                                        .connections = 10,
                                        .mss = 1400,
                                        .mulpdu = 900,
                                        .window = 33,
                                        .threads = 10,
                                        .socket_buffer = 8192,
                                        .congestion = "cubic",
                                        .size_max = 300};
        expect_lane(&plan.lanes[i], &lane);
    }
    /* The system was asked for all of it. */
    assert_string_equal(asked.congestion, "cubic");
    assert_int_equal(asked.mss, 1400);
    assert_int_equal(asked.socket_buffer, 8192);
}

#define TESTS                                                                                      \
    "send-lat, write-lat, read-lat, atomic-lat, send-bw, write-bw, read-bw, atomic-bw, lat, bw "   \
    "and all"

static void test_lists_of_tests(void **state)
{
    static const struct {
        const char *list, *expected;
    } cases[] = {{"send-lat", "10000000"},
                 {"write-lat", "01000000"},
                 {"read-lat", "00100000"},
                 {"atomic-lat", "00010000"},
                 {"send-bw", "00001000"},
                 {"write-bw", "00000100"},
                 {"read-bw", "00000010"},
                 {"atomic-bw", "00000001"},
                 {"lat", "11110000"},
                 {"bw", "00001111"},
                 {"all", "11111111"},
                 {"lat,read-bw", "11110010"},
                 {"send-bw,send-lat", "10001000"}};
    char line[64];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(line, sizeof(line), "--test %s", cases[i].list);
        accept_line(line);
        expect_tests(cases[i].expected);
    }
    refuse(true, "--test ''", "--test \"\": expected a list of " TESTS);
    refuse(true, "--test send-lat,ping", "--test send-lat,ping: expected a list of " TESTS);
    refuse(true, "--test send-lat,,bw", "--test send-lat,,bw: expected a list of " TESTS);
    refuse(true, "--test send-latsend-latsend-latsend-lat",
           "--test send-latsend-latsend-latsend-lat: expected a list of " TESTS);
}

static void test_sizes(void **state)
{
    char line[1024] = "--size 1";
    (void)state;
    int length = (int)strlen(line);
    for (int i = 2; i <= 32; i++)
        length += snprintf(line + length, sizeof(line) - (size_t)length, ",%d", i);
    accept_line(line);
    assert_int_equal(plan.size_count, 32);
    assert_int_equal(plan.sizes[31], 32);
    assert_int_equal(plan.lanes[0].size_max, 32);
    snprintf(line + length, sizeof(line) - (size_t)length, ",33");
    catch_from(2);
    assert_int_equal(read_line(true, false, line), 64);
    assert_non_null(strstr(caught(), "32,33: expected 1..8388608, or a list\n"));
    accept_line("--size 8388608");
    assert_int_equal(plan.lanes[0].size_max, 8388608);
    refuse(true, "--size 8388609", "--size 8388609: expected 1..8388608, or a list");
    refuse(true, "--size 0", "--size 0: expected 1..8388608, or a list");
    refuse(true, "--size ''", "--size \"\": expected 1..8388608, or a list");
    refuse(true, "--size 5,,6", "--size 5,,6: expected 1..8388608, or a list");
    /* Words of 31 digits are the longest that are read. */
    accept_line("--size 0000000000000000000000000000641");
    assert_int_equal(plan.sizes[0], 641);
    refuse(true, "--size 00000000000000000000000000000641",
           "--size 00000000000000000000000000000641: expected 1..8388608, or a list");
}

static void test_all_sizes(void **state)
{
    (void)state;
    for (int spelled = 0; spelled < 2; spelled++) {
        accept_line(spelled ? "--size 5,6,7 -a" : "--all-sizes");
        assert_int_equal(plan.size_count, 24);
        for (size_t i = 0; i < 24; i++)
            assert_int_equal(plan.sizes[i], 1 << i);
        assert_int_equal(plan.lanes[0].size_max, 8388608);
    }
    /* No lane is made for less than an atomic. */
    accept_line("--size 1");
    assert_int_equal(plan.lanes[0].size_max, 8);
    accept_line("--size 9,7");
    assert_int_equal(plan.lanes[0].size_max, 9);
}

static void test_lanes(void **state)
{
    /* Digits of what is made: 1 CRC, 2 Markers. */
    static const struct {
        const char *line, *expected;
    } cases[] = {{"--crc off", "0"},
                 {"--crc on", "1"},
                 {"--crc both", "01"},
                 {"--markers on", "3"},
                 {"--markers off", "1"},
                 {"--markers both", "13"},
                 {"--crc off --markers on", "2"},
                 {"--crc off --markers both", "02"},
                 {"--crc both --markers on", "23"},
                 {"--crc both --markers both", "0123"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char made[8] = "";
        accept_line(cases[i].line);
        for (size_t k = 0; k < plan.lane_count; k++)
            made[k] = (char)('0' + plan.lanes[k].crc + 2 * plan.lanes[k].markers);
        assert_string_equal(made, cases[i].expected);
    }
    refuse(true, "--crc maybe", "--crc maybe: expected on, off or both");
    refuse(true, "--crc all", "--crc all: expected on, off or both");
    refuse(true, "--markers maybe", "--markers maybe: expected on, off or both");
    refuse(true, "--baseline udp", "--baseline udp: expected tcp");
}

/* Each number at its limits, and one beyond. */
static void test_numbers(void **state)
{
    static const struct {
        const char *name, *least, *below, *most, *above, *range, *with;
    } cases[] = {
        {"connections", "1", "0", "10000", "10001", "a number from 1 to 10000", "--window 1"},
        {"window", "1", "0", "4096", "4097", "a number from 1 to 4096", ""},
        {"mss", "140", "139", "32767", "32768", "a number from 140 to 32767", ""},
        {"mulpdu", "128", "127", "64768", "64769", "a number from 128 to 64768", ""},
        {"socket-buffer", "4096", "4095", "1073741824", "1073741825",
         "a number from 4096 to 1073741824", ""},
        {"rounds", "1", "0", "1000", "1001", "a number from 1 to 1000", ""},
        {"count", "1", "0", "1000000000", "1000000001", "a number from 1 to 1000000000", ""},
        {"slice", "1", "0", "60000", "60001", "a number from 1 to 60000", ""},
        {"soak", "1", "0", "1000000", "1000001", "a number from 1 to 1000000", ""},
        {"threads", "1", "0", "64", "65", "a number from 1 to 64", "--connections 64"}};
    char line[256], text[256];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int most = 0; most < 2; most++) {
            const char *value = most ? cases[i].most : cases[i].least;
            snprintf(line, sizeof(line), "--size 8 --%s %s %s", cases[i].name, value,
                     cases[i].with);
            accept_line(line);
            const uint64_t got[] = {plan.lanes[0].connections,
                                    plan.lanes[0].window,
                                    plan.lanes[0].mss,
                                    plan.lanes[0].mulpdu,
                                    plan.lanes[0].socket_buffer,
                                    plan.rounds,
                                    plan.count,
                                    plan.slice_ms,
                                    plan.soak,
                                    plan.lanes[0].threads};
            assert_int_equal(got[i], strtoull(value, NULL, 10));
            value = most ? cases[i].above : cases[i].below;
            snprintf(line, sizeof(line), "--%s %s", cases[i].name, value);
            snprintf(text, sizeof(text), "--%s %s: expected %s", cases[i].name, value,
                     cases[i].range);
            refuse(true, line, text);
        }
    }
}

static void test_ratios(void **state)
{
    static const char *const bad[] = {"0", "-1", "x", "2x", "''"};
    char line[64], text[128];
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        for (int most = 0; most < 2; most++) {
            const char *name = most ? "max-ratio" : "min-ratio";
            snprintf(line, sizeof(line), "--baseline tcp --%s %s", name, bad[i]);
            snprintf(text, sizeof(text), "--%s %s: expected a number above 0", name,
                     strcmp(bad[i], "''") == 0 ? "\"\"" : bad[i]);
            refuse(true, line, text);
        }
    accept_line("--baseline tcp --min-ratio 0.25");
    assert_true(plan.min_ratio >= 0.25 && plan.min_ratio <= 0.25);
    accept_line("--baseline tcp --test lat --max-ratio 0.25");
    assert_true(plan.max_ratio >= 0.25 && plan.max_ratio <= 0.25);
}

static void test_cpus(void **state)
{
    (void)state;
    pins = 0;
    accept_line("--cpu 0,1023");
    assert_int_equal(plan.cpu[0], 0);
    assert_int_equal(plan.cpu[1], 1023);
    assert_true(CPU_ISSET(1023, &pinned));
    assert_int_equal(pins, 4);
    refuse(true, "--cpu 1,2,3", "--cpu 1,2,3: expected the number of a CPU here, or two");
    refuse(true, "--cpu ''", "--cpu \"\": expected the number of a CPU here, or two");
    refuse(true, "--cpu 1024", "--cpu 1024: expected the number of a CPU here, or two");
    refuse(true, "--cpu 1,x", "--cpu 1,x: expected the number of a CPU here, or two");
    for (failing_pin = 1; failing_pin <= 2; failing_pin++) {
        pins = 0;
        refuse(true, "--cpu 7", "--cpu 7: expected the number of a CPU here, or two");
    }
    failing_pin = 0;
    refuse(false, "--cpu 0,0 host:1",
           "--cpu: expected one number, as the server is not started here");
}

/* The list that the system has, as the text says it. */
static void congestion_text(char *text, size_t room, const char *name, const char *list)
{
    char path[128], names[128] = "";
    snprintf(path, sizeof(path), "/proc/sys/net/ipv4/tcp_%s_congestion_control", list);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(names, sizeof(names), file) == NULL)
        snprintf(text, room, "--congestion %s: expected one that TCP has here", name);
    else
        snprintf(text, room, "--congestion %s: expected what TCP has here: %.*s", name,
                 (int)strcspn(names, "\n"), names);
    if (file != NULL)
        fclose(file);
}

static void test_congestion(void **state)
{
    char text[512];
    (void)state;
    accept_line("--congestion fifteen-letters");
    assert_string_equal(plan.lanes[0].congestion, "fifteen-letters");
    congestion_text(text, sizeof(text), "sixteen--letters", "available");
    refuse(true, "--congestion sixteen--letters", text);
    congestion_text(text, sizeof(text), "\"\"", "available");
    refuse(true, "--congestion ''", text);
    refusal = ENOENT;
    congestion_text(text, sizeof(text), "bad", "available");
    refuse(true, "--congestion bad", text);
    refusal = EPERM;
    congestion_text(text, sizeof(text), "bad", "allowed");
    refuse(true, "--congestion bad", text);
    /* What the system has none of when all options are there. */
    refuse(true, "--mss 666", "refused");
}

static void test_limits_together(void **state)
{
    (void)state;
    accept_line("--connections 3 --threads 3");
    refuse(true, "--connections 3 --threads 4",
           "--threads 4: expected at most one for each connection");
    accept_line("--connections 128 --size 8388608");
    refuse(true, "--connections 129 --size 8388608",
           "129 connections of 8388608 octets: expected at most 1 GiB in all");
    accept_line("--connections 512 --window 4096");
    refuse(true, "--connections 513 --window 4096",
           "513 connections with a window of 4096: expected at most 2097152 in all");
    /* 20,000,000 latencies of a lane in all. */
    accept_line("--test lat --count 1000000 --rounds 10 --connections 2");
    refuse(true, "--test lat --count 1000001 --rounds 10 --connections 2",
           "--count 1000001: expected at most 1000000 latencies of a connection in each of 10 "
           "rounds");
    accept_line("--test bw --count 1000001 --rounds 10 --connections 2");
    accept_line("--test lat --count 1000000000 --soak 5");
}

/* Each does one thing. */
static void test_flags(void **state)
{
    (void)state;
    accept_line("--both-ways");
    assert_true(plan.both && !plan.lanes[0].poll && !plan.verify);
    accept_line("--poll");
    assert_true(!plan.both && plan.lanes[0].poll && !plan.verify);
    accept_line("--verify");
    assert_true(!plan.both && !plan.lanes[0].poll && plan.verify);
    accept_line("--json 1");
    assert_string_equal(plan.json, "1");
    assert_null(plan.html);
    accept_line("--html 1");
    assert_string_equal(plan.html, "1");
    assert_null(plan.json);
    assert_true(plan.min_ratio <= 0);
    accept_line("--soak 1");
    assert_true(plan.verify);
}

static void test_sense(void **state)
{
    static const char soak[] =
        "--soak: did not expect --json, --html, --rounds, --slice or a ratio with it";
    (void)state;
    accept_line("--soak 5 --count 7");
    assert_true(plan.verify);
    assert_int_equal(plan.soak, 5);
    assert_false(plan.lanes[0].ahead);
    refuse(true, "--soak 1 --json x", soak);
    refuse(true, "--soak 5 --html x", soak);
    refuse(true, "--soak 5 --rounds 9", soak);
    refuse(true, "--soak 5 --slice 50", soak);
    refuse(true, "--soak 5 --min-ratio 1", soak);
    refuse(true, "--soak 5 --max-ratio 1", soak);
    refuse(true, "--min-ratio 1", "--min-ratio and --max-ratio: expected --baseline tcp, too");
    refuse(true, "--test lat --max-ratio 1",
           "--min-ratio and --max-ratio: expected --baseline tcp, too");
    refuse(true, "--baseline tcp --test lat --min-ratio 1",
           "--min-ratio: expected a test of bandwidth, too");
    refuse(true, "--baseline tcp --test bw --max-ratio 1",
           "--max-ratio: expected a test of latency, too");
    accept_line("--baseline tcp --test lat,bw --max-ratio 1 --min-ratio 1");
    accept_line("--json a --html b");
    refuse(true, "--json a --html a", "--html a: is the file of --json");
}

static void test_words(void **state)
{
    (void)state;
    refuse(true, "x", "x: unexpected argument; see --help");
    assert_int_equal(read_line(false, false, "here:1 --verify"), -1);
    assert_string_equal(plan.address, "here:1");
    assert_true(plan.verify);
    refuse(false, "a:1 b:2", "b:2: unexpected argument; see --help");
    refuse(false, "--verify", "expected HOST:PORT");
    catch_from(2);
    assert_int_equal(read_line(true, false, "--once"), 64);
    assert_string_equal(caught(), "iwarp-perf: --once: unknown option; see --help\n");
    catch_from(1);
    assert_int_equal(read_line(true, false, "--help --once"), 0);
    assert_memory_equal(caught(), "usage: iwarp-perf local", 23);
}

static void test_server(void **state)
{
    (void)state;
    assert_int_equal(read_line(false, true, "h:1"), -1);
    assert_string_equal(plan.address, "h:1");
    assert_false(plan.one_client);
    assert_int_equal(plan.cpu[0], -1);
    assert_int_equal(plan.cpu[1], -1);
    assert_int_equal(plan.lane_count, 0);
    assert_int_equal(read_line(false, true, "--once h:1"), -1);
    assert_true(plan.one_client);
    catch_from(1);
    assert_int_equal(read_line(false, true, "--help"), 0);
    assert_memory_equal(caught(), "usage: iwarp-perf local", 23);
    catch_from(2);
    assert_int_equal(read_line(false, true, "--verify"), 64);
    assert_string_equal(caught(), "iwarp-perf: --verify: unknown option; see --help\n");
    catch_from(2);
    assert_int_equal(read_line(false, true, ""), 64);
    assert_string_equal(caught(), "iwarp-perf: expected HOST:PORT\n");
}

/* No socket of the questions stays open. */
static void test_sockets_are_closed(void **state)
{
    (void)state;
    unsigned before = descriptors();
    questions = 0;
    accept_line("--congestion cubic");
    assert_int_equal(questions, 2);
    refusal = ENOENT;
    catch_from(2);
    assert_int_equal(read_line(true, false, "--congestion bad"), 64);
    (void)caught();
    assert_int_equal(descriptors(), before);
}

int main(void)
{
    iw_complain_as("iwarp-perf");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_defaults, catch_no_more),
        cmocka_unit_test_teardown(test_everything, catch_no_more),
        cmocka_unit_test_teardown(test_lists_of_tests, catch_no_more),
        cmocka_unit_test_teardown(test_sizes, catch_no_more),
        cmocka_unit_test_teardown(test_all_sizes, catch_no_more),
        cmocka_unit_test_teardown(test_lanes, catch_no_more),
        cmocka_unit_test_teardown(test_numbers, catch_no_more),
        cmocka_unit_test_teardown(test_ratios, catch_no_more),
        cmocka_unit_test_teardown(test_cpus, catch_no_more),
        cmocka_unit_test_teardown(test_congestion, catch_no_more),
        cmocka_unit_test_teardown(test_limits_together, catch_no_more),
        cmocka_unit_test_teardown(test_flags, catch_no_more),
        cmocka_unit_test_teardown(test_sense, catch_no_more),
        cmocka_unit_test_teardown(test_words, catch_no_more),
        cmocka_unit_test_teardown(test_server, catch_no_more),
        cmocka_unit_test_teardown(test_sockets_are_closed, catch_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
