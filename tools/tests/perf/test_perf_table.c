/* SPDX-License-Identifier: BSD-3-Clause */
/* What iwarp-perf prints and writes of its results: each text, table and file as a whole. */
#include "perf.h"

#include <sys/stat.h>

#include "../caught.h"
#include "host/complain.h"

/* What the system would say. */
void perf_lane_congestion(const struct perf_setup *setup, char name[PERF_CONGESTION])
{
    snprintf(name, PERF_CONGESTION, "reno%u", (unsigned)setup->connections);
}

int perf_lane_socket(const struct perf_setup *setup, int fd, char *error)
{
    (void)setup;
    (void)fd;
    (void)error;
    return 0;
}

static struct perf_plan plan_of(bool baseline)
{
    struct perf_plan plan = {.rounds = 7, .baseline = baseline};
    const struct perf_setup setup = {.connections = 1, .window = 128, .threads = 1};
    for (unsigned i = 0; i < 5; i++) {
        if (i == 0 && !baseline)
            continue;
        struct perf_setup *s = &plan.lanes[plan.lane_count++];
        *s = setup;
        s->tcp = i == 0;
        s->crc = i == 2 || i == 4;
        s->markers = i >= 3;
    }
    return plan;
}

static const struct perf_result latency = {.test = PERF_READ_LAT,
                                           .size = 1500,
                                           .count = 12345,
                                           .lane = 4,
                                           .value = {12.3456, 11.5, 23.25},
                                           .rate = {80000.4, 70000, 90000.5},
                                           .p99 = 30.126,
                                           .p999 = 45.5,
                                           .ratio = {1.25, 1.125, 1.5},
                                           .cpu_gib = {0.5, 0.25},
                                           .cpu_message = {1.125, 2.375},
                                           .calls = {3.5, 0.125},
                                           .cpu_ratio = 2.625};
static const struct perf_result bandwidth = {.test = PERF_SEND_BW,
                                             .size = 65536,
                                             .count = 777,
                                             .lane = 0,
                                             .value = {4.5, 4.25, 5.75},
                                             .rate = {68664.6, 60000, 70000},
                                             .p99 = 1,
                                             .p999 = 2,
                                             .ratio = {1, 1, 1},
                                             .cpu_gib = {0.125, 0.5},
                                             .cpu_message = {8.5, 9.25},
                                             .calls = {0.5, 0.0625},
                                             .cpu_ratio = 1};

static void test_lane_names(void **state)
{
    static const char *const names[] = {"tcp", "iwarp", "iwarp crc", "iwarp markers",
                                        "iwarp crc markers"};
    struct perf_plan plan = plan_of(true);
    (void)state;
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(perf_lane_name(&plan.lanes[i]), names[i]);
}

static void test_test_kinds(void **state)
{
    /* latency, read, atomic, ping-pong */
    static const char *const kinds[PERF_TESTS] = {"l--p", "l--p", "lr--", "lra-",
                                                  "----", "----", "-r--", "-ra-"};
    (void)state;
    for (int i = 0; i < PERF_TESTS; i++) {
        enum perf_test test = (enum perf_test)i;
        char kind[] = {perf_is_latency(test) ? 'l' : '-', perf_is_read(test) ? 'r' : '-',
                       perf_is_atomic(test) ? 'a' : '-', perf_is_ping_pong(test) ? 'p' : '-', '\0'};
        assert_string_equal(kind, kinds[i]);
    }
}

static void test_windows(void **state)
{
    static const struct {
        enum perf_test test;
        uint32_t window, expected;
    } cases[] = {{PERF_SEND_LAT, 7, 1},       {PERF_ATOMIC_LAT, 7, 1},  {PERF_SEND_BW, 7, 7},
                 {PERF_WRITE_BW, 4096, 4096}, {PERF_READ_BW, 128, 128}, {PERF_READ_BW, 129, 128},
                 {PERF_ATOMIC_BW, 4096, 128}, {PERF_ATOMIC_BW, 3, 3}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct perf_setup setup = {.window = cases[i].window};
        struct perf_run run = {.test = cases[i].test};
        assert_int_equal(perf_window(&setup, &run), cases[i].expected);
    }
}

static void test_head(void **state)
{
    struct perf_plan plan = plan_of(false);
    (void)state;
    catch_from(1);
    perf_table_head(&plan);
    assert_string_equal(
        caught(),
        "iwarp-perf: 7 rounds, medians (least .. most of the rounds); blocking, 1 connection, "
        "window 128, TCP with reno1\n"
        "test         octets lane              us or GB/s                    p99, p99.9 or msg/s"
        "      CPU us/msg     s/GiB     calls/msg\n");
    plan = plan_of(true);
    plan.both = plan.verify = true;
    plan.lanes[0].poll = true;
    plan.lanes[0].connections = 2;
    plan.lanes[0].mss = 1;
    plan.json = "-";
    catch_from(2);
    perf_table_head(&plan);
    assert_string_equal(
        caught(),
        "iwarp-perf: 7 rounds, medians (least .. most of the rounds); polling, 2 connections, "
        "window 128, both directions, segments of 1, TCP with reno2, verified\n"
        "test         octets lane              us or GB/s                    p99, p99.9 or msg/s"
        "      CPU us/msg     s/GiB     calls/msg ratio to TCP               CPU\n");
}

static void test_rows(void **state)
{
    struct perf_plan plan = plan_of(true);
    (void)state;
    plan.json = "figures";
    catch_from(1);
    perf_table_row(&plan, &latency);
    perf_table_row(&plan, &bandwidth);
    struct perf_result next = bandwidth;
    next.lane = 1;
    perf_table_row(&plan, &next);
    assert_string_equal(
        caught(),
        "read-lat       1500 iwarp crc markers 12.346 (11.500 .. 23.250)        30.13,     45.50"
        "     1.12 + 2.38     0.750   3.5 + 0.125 1.250 (1.125 .. 1.500)     2.62\n"
        "send-bw       65536 tcp               4.500 (4.250 .. 5.750)                      68665"
        "     8.50 + 9.25     0.625  0.5 + 0.0625\n"
        "send-bw       65536 iwarp             4.500 (4.250 .. 5.750)                      68665"
        "     8.50 + 9.25     0.625  0.5 + 0.0625 1.000 (1.000 .. 1.000)     1.00\n");
    /* The two ratios contradict each other: on both sides of 1, or apart. */
    static const struct {
        double ratio, medians;
        bool explained;
    } ratios[] = {{0.99, 1.01, true}, {1.01, 0.99, true}, {2, 2.125, true}, {2.125, 2, true},
                  {2, 2.09, false},   {0.5, 0.51, false}, {1, 1, false},    {0.5, 0, false}};
    for (size_t i = 0; i < sizeof(ratios) / sizeof(ratios[0]); i++) {
        char expected[256];
        next.ratio.median = ratios[i].ratio;
        next.ratio_of_medians = ratios[i].medians;
        snprintf(expected, sizeof(expected), "  (of the medians: %.3f)\n", ratios[i].medians);
        catch_from(1);
        perf_table_row(&plan, &next);
        assert_int_equal(strstr(caught(), expected) != NULL, ratios[i].explained);
    }
    plan.baseline = false;
    catch_from(1);
    perf_table_row(&plan, &latency);
    assert_string_equal(
        caught(),
        "read-lat       1500 iwarp crc markers 12.346 (11.500 .. 23.250)        30.13,     45.50"
        "     1.12 + 2.38     0.750   3.5 + 0.125\n");
}

/* A row is there as soon as it is printed, not when the program ends. */
static void test_row_is_flushed(void **state)
{
    struct perf_plan plan = plan_of(true);
    char text[256];
    int ends[2], saved;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    saved = dup(1);
    assert_int_equal(dup2(ends[1], 1), 1);
    perf_table_row(&plan, &bandwidth);
    assert_int_equal(dup2(saved, 1), 1);
    close(saved);
    close(ends[1]);
    assert_true(read(ends[0], text, sizeof(text)) > 0);
    close(ends[0]);
}

static void test_json(void **state)
{
    struct perf_plan plan = plan_of(true);
    struct perf_result list[] = {bandwidth, latency};
    struct perf_results results = {.list = list, .count = 2};
    char path[] = "perf-XXXXXX";
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    plan.lanes[0] = (struct perf_setup){.tcp = true,
                                        .connections = 3,
                                        .window = 17,
                                        .mss = 1400,
                                        .mulpdu = 900,
                                        .threads = 2,
                                        .socket_buffer = 65537,
                                        .poll = true};
    plan.verify = true;
    plan.lanes[1] = plan.lanes[4];
    list[1].lane = 1;
    assert_int_equal(perf_report_json(&plan, &results), 0); /* nothing is asked for */
    plan.json = path;
    assert_int_equal(perf_report_json(&plan, &results), 0);
    static const char expected[] =
        "{\n \"tool\": \"iwarp-perf\",\n \"schema\": 1,\n \"rounds\": 7,\n \"connections\": 3,\n"
        " \"window\": 17,\n \"mss\": 1400,\n \"mulpdu\": 900,\n \"threads\": 2,\n"
        " \"socket_buffer\": 65537,\n \"congestion\": \"reno3\",\n \"polling\": true,\n"
        " \"both_ways\": false,\n \"verified\": true,\n \"interrupted\": false,\n \"results\": [\n"
        "  {\n   \"test\": \"send-bw\",\n   \"size\": 65536,\n   \"messages\": 777,\n"
        "   \"lane\": {\n    \"name\": \"tcp\",\n    \"transport\": \"tcp\",\n"
        "    \"crc\": false,\n    \"markers\": false\n   },\n"
        "   \"gigabytes_per_second\": {\n    \"median\": 4.5,\n    \"min\": 4.25,\n"
        "    \"max\": 5.75\n   },\n"
        "   \"messages_per_second\": {\n    \"median\": 68664.6,\n    \"min\": 60000.0,\n"
        "    \"max\": 70000.0\n   },\n"
        "   \"cpu\": {\n    \"client_us_per_message\": 8.5,\n"
        "    \"server_us_per_message\": 9.25,\n    \"client_s_per_gib\": 0.125,\n"
        "    \"server_s_per_gib\": 0.5\n   },\n"
        "   \"system_calls_per_message\": {\n    \"client\": 0.5,\n    \"server\": 0.0625\n"
        "   }\n  },\n"
        "  {\n   \"test\": \"read-lat\",\n   \"size\": 1500,\n   \"messages\": 12345,\n"
        "   \"lane\": {\n    \"name\": \"iwarp crc markers\",\n    \"transport\": \"iwarp\",\n"
        "    \"crc\": true,\n    \"markers\": true\n   },\n"
        "   \"microseconds\": {\n    \"median\": 12.3456,\n    \"min\": 11.5,\n"
        "    \"max\": 23.25\n   },\n"
        "   \"messages_per_second\": {\n    \"median\": 80000.4,\n    \"min\": 70000.0,\n"
        "    \"max\": 90000.5\n   },\n"
        "   \"cpu\": {\n    \"client_us_per_message\": 1.125,\n"
        "    \"server_us_per_message\": 2.375,\n    \"client_s_per_gib\": 0.5,\n"
        "    \"server_s_per_gib\": 0.25\n   },\n"
        "   \"system_calls_per_message\": {\n    \"client\": 3.5,\n    \"server\": 0.125\n"
        "   },\n   \"p99\": 30.126,\n   \"p99_9\": 45.5,\n"
        "   \"ratio_to_tcp\": {\n    \"median\": 1.25,\n    \"min\": 1.125,\n"
        "    \"max\": 1.5\n   },\n   \"cpu_ratio_to_tcp\": 2.625\n  }\n ]\n}\n";
    assert_string_equal(text_of(path), expected);
    unlink(path);
    plan.json = "-";
    catch_from(1);
    assert_int_equal(perf_report_json(&plan, &results), 0);
    assert_string_equal(caught(), expected);
    plan = plan_of(false);
    plan.json = "-";
    plan.both = true;
    results.count = 0;
    results.interrupted = true;
    static const struct perf_context context = {.host = "lab",
                                                .cpu = "R",
                                                .cpus = 4,
                                                .kernel = "Linux",
                                                .began = "then",
                                                .command = "iwarp-perf local"};
    results.context = &context;
    catch_from(1);
    assert_int_equal(perf_report_json(&plan, &results), 0);
    assert_string_equal(caught(),
                        "{\n \"tool\": \"iwarp-perf\",\n \"schema\": 1,\n \"rounds\": 7,\n"
                        " \"connections\": 1,\n \"window\": 128,\n \"mss\": 0,\n \"mulpdu\": 0,\n"
                        " \"threads\": 1,\n \"socket_buffer\": 0,\n \"congestion\": \"reno1\",\n"
                        " \"polling\": false,\n \"both_ways\": true,\n \"verified\": false,\n "
                        "\"interrupted\": true,\n"
                        " \"results\": [],\n \"context\": {\n  \"host\": \"lab\",\n"
                        "  \"cpu\": \"R\",\n  \"cpus\": 4,\n  \"kernel\": \"Linux\",\n"
                        "  \"version\": \"" IW_VERSION "\",\n  \"began\": \"then\",\n"
                        "  \"command\": \"iwarp-perf local\"\n }\n}\n");
}

/* Standard output that takes nothing is what main sees, and says. */
static void test_json_into_full(void **state)
{
    struct perf_plan plan = plan_of(false);
    struct perf_results none = {0};
    int full = open("/dev/full", O_WRONLY), saved, status;
    bool failed;
    (void)state;
    assert_true(full >= 0);
    plan.json = "-";
    catch_from(2);
    fflush(stdout);
    saved = dup(1);
    assert_int_equal(dup2(full, 1), 1);
    setvbuf(stdout, NULL, _IONBF, 0);
    status = perf_report_json(&plan, &none);
    failed = ferror(stdout) != 0;
    clearerr(stdout);
    assert_int_equal(dup2(saved, 1), 1);
    close(saved);
    close(full);
    assert_string_equal(caught(), "");
    assert_int_equal(status, 0);
    assert_true(failed);
}

static void test_not_written(void **state)
{
    struct perf_plan plan = plan_of(true);
    struct perf_results none = {.interrupted = true};
    (void)state;
    plan.json = plan.html = "/dev/full";
    catch_from(2);
    assert_int_equal(perf_report_json(&plan, &none), -1);
    assert_int_equal(perf_report_html(&plan, &none), -1);
    plan.json = plan.html = "no/file";
    assert_int_equal(perf_report_json(&plan, &none), -1);
    assert_int_equal(perf_report_html(&plan, &none), -1);
    assert_string_equal(caught(),
                        "iwarp-perf: /dev/full: cannot be written: No space left on device\n"
                        "iwarp-perf: /dev/full: cannot be written: No space left on device\n"
                        "iwarp-perf: no/file: cannot be written: No such file or directory\n"
                        "iwarp-perf: no/file: cannot be written: No such file or directory\n");
}

/* What is asked before anything is measured: nothing is opened that is there, nothing stays that
 * was not. */
static void test_possible(void **state)
{
    struct perf_plan plan = {0};
    char folder[] = "perf-XXXXXX";
    struct stat there;
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(perf_report_possible(&plan), 0);
    plan.json = "-";
    assert_int_equal(mkdir("-", 0700), 0); /* no file of that name is meant */
    assert_int_equal(perf_report_possible(&plan), 0);
    rmdir("-");
    unsigned before = descriptors();
    plan.json = "new";
    plan.html = "page";
    assert_int_equal(perf_report_possible(&plan), 0);
    assert_int_equal(stat("new", &there), -1);
    assert_int_equal(stat("page", &there), -1);
    assert_int_equal(descriptors(), before);
    assert_int_equal(mkfifo("pipe", 0600), 0); /* who opens it waits for a reader */
    assert_int_equal(symlink("later", "link"), 0);
    plan.json = "pipe";
    plan.html = "link";
    assert_int_equal(perf_report_possible(&plan), 0);
    assert_int_equal(lstat("link", &there), 0);
    assert_int_equal(stat("later", &there), -1);
    catch_from(2);
    plan.json = ".";
    assert_int_equal(perf_report_possible(&plan), -1);
    plan.json = NULL;
    plan.html = ".";
    assert_int_equal(perf_report_possible(&plan), -1);
    plan.html = "no/page";
    assert_int_equal(perf_report_possible(&plan), -1);
    assert_string_equal(caught(),
                        "iwarp-perf: .: cannot be written: Is a directory\n"
                        "iwarp-perf: .: cannot be written: Is a directory\n"
                        "iwarp-perf: no/page: cannot be written: No such file or directory\n");
    unlink("pipe");
    unlink("link");
    assert_int_equal(chdir(".."), 0);
    rmdir(folder);
}

/* ---- the page ---- */

static void compare_page(struct perf_plan *plan, const struct perf_results *results,
                         const char *expected)
{
    char made[] = "perf-XXXXXX", path[512];
    static char page[65536];
    int fd = mkstemp(made);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(perf_report_html(plan, results), 0); /* nothing is asked for */
    plan->html = made;
    assert_int_equal(perf_report_html(plan, results), 0);
    plan->html = NULL;
    snprintf(page, sizeof(page), "%s", text_of(made));
    unlink(made);
    snprintf(path, sizeof(path), "%s/%s", PAGES, expected);
    /* For who changes the pages: look at them in a browser before they are committed. */
    if (getenv("IW_PAGES_WRITE") != NULL) {
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fputs(page, out);
        fclose(out);
    }
    assert_string_equal(page, text_of(path));
}

static struct perf_result row(enum perf_test test, uint64_t size, size_t lane, double value,
                              double ratio)
{
    return (struct perf_result){.test = test,
                                .size = size,
                                .lane = lane,
                                .value = {value, value * 0.5, value * 1.5},
                                .rate = {value * 1000, 1, 2},
                                .p99 = value * 1.75,
                                .p999 = value * 40,
                                .ratio = {ratio, ratio - 0.25, ratio + 0.5},
                                .cpu_gib = {value / 4, value / 2},
                                .cpu_message = {value, value * 2},
                                .calls = {value / 8, value / 16},
                                .cpu_ratio = ratio * 3};
}

static void test_page(void **state)
{
    struct perf_plan plan = plan_of(true);
    struct perf_result list[32];
    struct perf_results results = {.list = list};
    (void)state;
    plan.lanes[0].poll = true;
    plan.lanes[0].connections = 3;
    plan.lanes[0].mss = 1400;
    plan.lanes[0].socket_buffer = 1;
    plan.both = true;
    /* Latencies over many sizes and decades, ratios near 1; a bandwidth over few. */
    for (size_t lane = 0; lane < 2; lane++) {
        list[results.count++] = row(PERF_WRITE_LAT, 1, lane, 7 + (double)lane, 1.0);
        list[results.count++] = row(PERF_WRITE_LAT, 8192, lane, 900 + (double)lane, 1.125);
        list[results.count++] = row(PERF_WRITE_LAT, 8388608, lane, 12000, 1.0625);
    }
    for (size_t lane = 0; lane < 5; lane++) {
        list[results.count++] = row(PERF_READ_BW, 1024, lane, 2 + (double)lane, 1.5 + (double)lane);
        list[results.count++] = row(PERF_READ_BW, 3072, lane, 3 + (double)lane, 1.75);
    }
    static const struct perf_context context = {.host = "lab<7>",
                                                .cpu = "R & D",
                                                .cpus = 4,
                                                .kernel = "Linux 6.1, x86_64",
                                                .began = "2026-01-02T03:04:05Z",
                                                .command = "iwarp-perf local --html all.html"};
    results.context = &context;
    results.interrupted = true;
    list[results.count - 1].ratio_of_medians = 0.75;
    list[results.count - 3].ratio_of_medians = 1.75; /* near enough */
    compare_page(&plan, &results, "all.html");
}

static void test_small_page(void **state)
{
    struct perf_plan plan = plan_of(false);
    struct perf_result list[] = {row(PERF_SEND_LAT, 64, 0, 3, 0), row(PERF_SEND_BW, 512, 1, 0, 0)};
    struct perf_results results = {.list = list, .count = 2};
    (void)state;
    list[0].p999 = 5000; /* more than three decades above the median is beyond the plot */
    compare_page(&plan, &results, "few.html");
}

/* Ratios of 2, between 2 and 4, and beyond all that is shown: other steps. */
static void test_steps_of_ratios(void **state)
{
    static const double ratios[] = {1.8, 3, 4, 40};
    static const char *const pages[] = {"ratio-2.html", "ratio-3.html", "ratio-4.html",
                                        "ratio-40.html"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct perf_plan plan = plan_of(true);
        struct perf_result list[] = {row(PERF_WRITE_BW, 256, 0, 1, 9),
                                     row(PERF_WRITE_BW, 256, 1, 2, ratios[i])};
        struct perf_results results = {.list = list, .count = 2};
        compare_page(&plan, &results, pages[i]);
    }
}

int main(void)
{
    iw_complain_as("iwarp-perf");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_lane_names, catch_no_more),
        cmocka_unit_test_teardown(test_test_kinds, catch_no_more),
        cmocka_unit_test_teardown(test_windows, catch_no_more),
        cmocka_unit_test_teardown(test_head, catch_no_more),
        cmocka_unit_test_teardown(test_rows, catch_no_more),
        cmocka_unit_test_teardown(test_row_is_flushed, catch_no_more),
        cmocka_unit_test_teardown(test_json, catch_no_more),
        cmocka_unit_test_teardown(test_not_written, catch_no_more),
        cmocka_unit_test_teardown(test_possible, catch_no_more),
        cmocka_unit_test_teardown(test_page, catch_no_more),
        cmocka_unit_test_teardown(test_small_page, catch_no_more),
        cmocka_unit_test_teardown(test_steps_of_ratios, catch_no_more),
        cmocka_unit_test_teardown(test_json_into_full, catch_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
