/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-perf's commands, and the options of loop. */
#include "perf.h"
#include "perf_loop.h"

#include <sys/resource.h>

#include "../caught.h"

int iw_perf_main(int argc, char **argv);

/* ---- doubles ---- */

static char called[256];
static struct iw_loop_options loop;
static int plan_status; /* what reading a plan returns */
static struct rlimit limit, raised;
static int no_limit;

static void note(const char *name)
{
    snprintf(called + strlen(called), sizeof(called) - strlen(called), "%s ", name);
}

int iw_loop_run(const struct iw_loop_options *options)
{
    loop = *options;
    note("loop");
    return 21;
}

int iw_record_run(const struct iw_loop_options *options)
{
    loop = *options;
    note("record");
    return 22;
}

static void note_words(const char *name, int argc, char **argv)
{
    note(name);
    for (int i = 0; i < argc; i++)
        note(argv[i]);
}

int perf_plan_client(struct perf_plan *plan, bool local, int argc, char **argv)
{
    note_words(local ? "plan-local" : "plan-client", argc, argv);
    plan->address = "at";
    plan->rounds = 17;
    return plan_status;
}

int perf_plan_server(struct perf_plan *plan, int argc, char **argv)
{
    note_words("plan-server", argc, argv);
    plan->rounds = 17;
    return plan_status;
}

int perf_server(const struct perf_plan *plan)
{
    assert_int_equal(plan->rounds, 17);
    note("server");
    return 23;
}

int perf_local(const struct perf_plan *plan)
{
    assert_int_equal(plan->rounds, 17);
    note("local");
    return 24;
}

int perf_client(const struct perf_plan *plan, const char *host_port)
{
    assert_int_equal(plan->rounds, 17);
    note("client");
    note(host_port);
    return 25;
}

void __wrap_iw_standard_open(void);
int __wrap_iw_standard_close(const char *program, int status);
int __real_getrlimit(int resource, struct rlimit *out);
int __wrap_getrlimit(int resource, struct rlimit *out);
int __real_setrlimit(int resource, const struct rlimit *wanted);
int __wrap_setrlimit(int resource, const struct rlimit *wanted);

void __wrap_iw_standard_open(void)
{
    note("open");
}

int __wrap_iw_standard_close(const char *program, int status)
{
    note("close");
    note(program);
    return status + 100;
}

int __wrap_getrlimit(int resource, struct rlimit *out)
{
    if (resource != RLIMIT_NOFILE) /* a sanitizer asks as well */
        return __real_getrlimit(resource, out);
    *out = limit;
    return no_limit;
}

int __wrap_setrlimit(int resource, const struct rlimit *wanted)
{
    if (resource != RLIMIT_NOFILE) /* a sanitizer asks as well */
        return __real_setrlimit(resource, wanted);
    raised = *wanted;
    return 0;
}

/* ---- commands ---- */

/* Runs words parted by spaces; what the program returns. */
static int run(const char *line)
{
    static char copy[1024], name[] = "perf";
    char *argv[32] = {name}, *rest = copy;
    int argc = 1;
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        if (word[0] != '\0')
            argv[argc++] = word;
    called[0] = '\0';
    optind = 0;
    return iw_perf_main(argc, argv) - 100;
}

static void test_commands(void **state)
{
    static const struct {
        const char *line;
        int plan_status, expected;
        const char *called;
    } cases[] = {
        {"local --x", -1, 24, "open plan-local local --x local close iwarp-perf "},
        {"local --x", 64, 64, "open plan-local local --x close iwarp-perf "},
        {"local", 0, 0, "open plan-local local close iwarp-perf "},
        {"client a --y", -1, 25, "open plan-client client a --y client at close iwarp-perf "},
        {"client", 64, 64, "open plan-client client close iwarp-perf "},
        {"client", 0, 0, "open plan-client client close iwarp-perf "},
        {"server b", -1, 23, "open plan-server server b server close iwarp-perf "},
        {"server", 64, 64, "open plan-server server close iwarp-perf "},
        {"server", 0, 0, "open plan-server server close iwarp-perf "},
        {"--help", 0, 0, "open plan-local perf --help close iwarp-perf "},
        {"--x", 64, 64, "open plan-local perf --x close iwarp-perf "},
        {"loop", 0, 21, "open loop close iwarp-perf "}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        plan_status = cases[i].plan_status;
        int status = run(cases[i].line);
        assert_string_equal(called, cases[i].called);
        assert_int_equal(status, cases[i].expected);
    }
}

static void offers(const char *line, const char *expected, const char *calls)
{
    plan_status = 31;
    assert_int_equal(setenv("IWARP_COMPLETE", "1", 1), 0);
    catch_from(1);
    int status = run(line);
    assert_int_equal(unsetenv("IWARP_COMPLETE"), 0);
    assert_string_equal(caught(), expected);
    assert_string_equal(called, calls);
    assert_int_equal(status, strstr(calls, "plan") != NULL ? 31 : 0);
}

/* What a shell gets that completes the last word; of options, from whoever reads them. */
static void test_offers(void **state)
{
    static const char nothing[] = "open close iwarp-perf ";
    (void)state;
    offers("",
           "local\tclient and server on this machine\n"
           "client\tmeasure against the server at HOST:PORT\n"
           "server\tserve clients at HOST:PORT\n"
           "loop\tno sockets: two endpoints beside a memcpy\n",
           nothing);
    offers("lo",
           "local\tclient and server on this machine\n"
           "loop\tno sockets: two endpoints beside a memcpy\n",
           nothing);
    offers("x", "", nothing);
    offers("loop --tr", "", nothing);
    offers("loop --pcap x --tr", "--traffic\t(mixed)\n", nothing);
    offers("loop --op s", "send\n", nothing);
    offers("server x", "", "open plan-server server x close iwarp-perf ");
    offers("local --c", "", "open plan-local local --c close iwarp-perf ");
    offers("--c", "", "open plan-local perf --c close iwarp-perf ");
}

static void refuse(const char *line, const char *text)
{
    char expected[256];
    snprintf(expected, sizeof(expected), "iwarp-perf: %s\n", text);
    plan_status = -1;
    catch_from(2);
    int status = run(line);
    assert_string_equal(caught(), expected);
    assert_int_equal(status, 64);
    assert_null(strstr(called, "loop"));
    assert_null(strstr(called, "record"));
}

static void test_unknown_commands(void **state)
{
    (void)state;
    refuse("", "no command: expected local, client, server or loop (see --help)");
    refuse("Local", "Local: expected local, client, server or loop (see --help)");
    refuse("clients x", "clients: expected local, client, server or loop (see --help)");
    refuse("--x", "--x: expected local, client, server or loop (see --help)");
}

static void test_descriptors(void **state)
{
    (void)state;
    limit = (struct rlimit){5, 9};
    raised = (struct rlimit){0, 0};
    run("loop");
    assert_int_equal(raised.rlim_cur, 9);
    assert_int_equal(raised.rlim_max, 9);
    limit = (struct rlimit){9, 9};
    raised = (struct rlimit){1, 1};
    run("loop");
    assert_int_equal(raised.rlim_cur, 1);
    limit = (struct rlimit){5, 9};
    no_limit = -1;
    run("loop");
    assert_int_equal(raised.rlim_cur, 1);
    no_limit = 0;
}

/* ---- loop ---- */

static void test_defaults(void **state)
{
    (void)state;
    assert_int_equal(run("loop"), 21);
    assert_int_equal(loop.size, 65536);
    assert_int_equal(loop.total, 1073741824);
    assert_true(loop.crc && !loop.markers && !loop.sends && !loop.portable_crc);
    assert_int_equal(loop.rounds, 16);
    assert_int_equal(loop.mulpdu, 64768);
    assert_int_equal(loop.window, 8);
    assert_true(loop.max_ratio <= 0 && loop.min_rate <= 0);
    assert_null(loop.path);
    assert_int_equal(run("loop --pcap there"), 22);
    assert_string_equal(loop.path, "there");
    assert_int_equal(loop.traffic, IW_LOOP_MIXED);
    assert_int_equal(loop.mss, 1460);
    assert_int_equal(loop.fpdu, 0);
    assert_int_equal(loop.connections, 1);
    assert_int_equal(loop.burst, 1);
    assert_int_equal(loop.port, 4420);
    assert_int_equal(run("loop --pcap=there --traffic writes"), 22);
    assert_int_equal(loop.traffic, IW_LOOP_WRITES);
    assert_int_equal(run("loop --traffic sends --pcap there --crc off --markers on"), 22);
    assert_int_equal(loop.traffic, IW_LOOP_SENDS);
    assert_true(!loop.crc && loop.markers);
    assert_int_equal(run("loop --traffic mixed --pcap there"), 22);
    assert_int_equal(loop.traffic, IW_LOOP_MIXED);
    assert_int_equal(run("loop --op send --portable-crc --max-ratio 1.5 --min-rate 2.5"), 21);
    assert_true(loop.sends && loop.portable_crc);
    assert_true(loop.max_ratio >= 1.5 && loop.max_ratio <= 1.5);
    assert_true(loop.min_rate >= 2.5 && loop.min_rate <= 2.5);
    assert_int_equal(run("loop --op write"), 21);
    assert_false(loop.sends);
}

static void test_numbers(void **state)
{
    static const struct {
        const char *name, *least, *below, *most, *above;
        bool record;
    } cases[] = {{"size", "1", "0", "67108864", "67108865", false},
                 {"window", "1", "0", "4096", "4097", false},
                 {"total", "1", "0", "1099511627776", "1099511627777", false},
                 {"rounds", "1", "0", "1000", "1001", false},
                 {"mulpdu", "128", "127", "64768", "64769", false},
                 {"mss", "140", "139", "65495", "65496", true},
                 {"connections", "1", "0", "1000000", "1000001", true},
                 {"burst", "1", "0", "4294967296", "4294967297", true},
                 {"fpdu", "140", "139", "65495", "65496", true},
                 {"port", "1", "0", "65535", "65536", true}};
    char line[128], text[128];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int most = 0; most < 2; most++) {
            const char *value = most ? cases[i].most : cases[i].least;
            const char *use = cases[i].record ? "--pcap x" : "";
            snprintf(line, sizeof(line), "loop %s --%s %s", use, cases[i].name, value);
            assert_int_equal(run(line), cases[i].record ? 22 : 21);
            const uint64_t got[] = {loop.size,   loop.window, loop.total,       loop.rounds,
                                    loop.mulpdu, loop.mss,    loop.connections, loop.burst,
                                    loop.fpdu,   loop.port};
            assert_int_equal(got[i], strtoull(value, NULL, 10));
            value = most ? cases[i].above : cases[i].below;
            snprintf(line, sizeof(line), "loop %s --%s %s", use, cases[i].name, value);
            snprintf(text, sizeof(text), "--%s %s: expected a number from %s to %s", cases[i].name,
                     value, cases[i].least, cases[i].most);
            refuse(line, text);
        }
}

static void test_refused_options(void **state)
{
    (void)state;
    refuse("loop --op read", "--op read: expected write or send");
    refuse("loop --pcap x --traffic reads", "--traffic reads: expected mixed, writes or sends");
    refuse("loop x", "x: unexpected argument; see --help");
    refuse("loop --pcap x --rounds 5", "--rounds: of no use with --pcap");
    refuse("loop --pcap=x --op send", "--op: of no use with --pcap");
    refuse("loop --pcap x --window 5", "--window: of no use with --pcap");
    refuse("loop --pcap x --mulpdu 500", "--mulpdu: of no use with --pcap");
    refuse("loop --pcap x --portable-crc", "--portable-crc: of no use with --pcap");
    refuse("loop --pcap x --max-ratio 1", "--max-ratio: of no use with --pcap");
    refuse("loop --pcap x --min-rate 1", "--min-rate: of no use with --pcap");
    refuse("loop --mss 500", "--mss: of no use with a measurement (see --pcap)");
    refuse("loop --connections 5", "--connections: of no use with a measurement (see --pcap)");
    refuse("loop --burst 5", "--burst: of no use with a measurement (see --pcap)");
    refuse("loop --fpdu 500", "--fpdu: of no use with a measurement (see --pcap)");
    refuse("loop --traffic sends", "--traffic: of no use with a measurement (see --pcap)");
    refuse("loop --port 5", "--port: of no use with a measurement (see --pcap)");
}

static void test_help(void **state)
{
    (void)state;
    catch_from(1);
    assert_int_equal(run("loop --help"), 0);
    const char *text = caught();
    assert_memory_equal(text, "usage: iwarp-perf loop [options]\n", 33);
    /* The options of both uses are there, whichever it is asked with. */
    assert_non_null(strstr(text, "--window"));
    assert_non_null(strstr(text, "--fpdu"));
    assert_non_null(strstr(text, "With --pcap nothing is measured"));
    catch_from(1);
    assert_int_equal(run("loop --pcap x --help"), 0);
    text = caught();
    assert_non_null(strstr(text, "--window"));
    assert_non_null(strstr(text, "--fpdu"));
    assert_string_equal(called, "open close iwarp-perf ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_offers, catch_no_more),
        cmocka_unit_test_teardown(test_commands, catch_no_more),
        cmocka_unit_test_teardown(test_unknown_commands, catch_no_more),
        cmocka_unit_test_teardown(test_descriptors, catch_no_more),
        cmocka_unit_test_teardown(test_defaults, catch_no_more),
        cmocka_unit_test_teardown(test_numbers, catch_no_more),
        cmocka_unit_test_teardown(test_refused_options, catch_no_more),
        cmocka_unit_test_teardown(test_help, catch_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
