/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the output and reports of a hunt, at a time that the test decides. */
#include "live_support.h"

#include <stdio.h>
#include <unistd.h>

#include "board.h"
#include "host/text.h"
#include "iwarp/transport.h"

static uint64_t now;
static bool terminal;

uint64_t __wrap_iw_transport_now(void);
int __wrap_isatty(int fd);
size_t __wrap_iw_hunt_world_resident(const struct iw_hunt_world *w);
uint64_t __wrap_iw_hunt_loop_lingered(const struct iw_hunt_loop *l);

uint64_t __wrap_iw_transport_now(void)
{
    return now;
}

int __wrap_isatty(int fd)
{
    assert_int_equal(fd, 2);
    return terminal;
}

size_t __wrap_iw_hunt_world_resident(const struct iw_hunt_world *w)
{
    (void)w;
    return 4242;
}

uint64_t __wrap_iw_hunt_loop_lingered(const struct iw_hunt_loop *l)
{
    (void)l;
    return 17;
}

static struct iw_hunt_options options;
static struct iw_target_spec spec;
static struct iw_hunt hunt;
static char target[] = "the target", key_one[] = "crash A", key_two[] = "hang B",
            known[] = "why not";
static struct iw_hunt_finding two, one;
static const char *folder;

static int begin(void **state)
{
    struct iw_hunt_row row = {.n = 0};

    (void)state;
    folder = support_folder();
    options = (struct iw_hunt_options){.seed = 99};
    spec = (struct iw_target_spec){.text = target};
    two = (struct iw_hunt_finding){.event = {.kind = IW_HUNT_HANG, .text = "B"}, .key = key_two};
    one = (struct iw_hunt_finding){.event = {.kind = IW_HUNT_CRASH, .text = "A"},
                                   .key = key_one,
                                   .suppressed = known,
                                   .next = &two};
    hunt = (struct iw_hunt){.o = &options,
                            .spec = &spec,
                            .lasting = -1,
                            .over = 1001,
                            .digest = 0x1234abcd,
                            .began = 1000000000,
                            .n_corpus = 5,
                            .seeds = {.n = 6},
                            .restarts = 8,
                            .session_counts = {21, 22, 23, 24},
                            .world = {.starts = 7},
                            .graph = iw_hunt_graph_new()};
    iw_hunt_row_add(&row, IW_ANSWER_FIN, 0, 3);
    iw_hunt_row_add(&row, IW_ANSWER_RESET, 0, 3);
    iw_hunt_graph_add(hunt.graph, &row);
    row.at[1].stimulus = 4;
    iw_hunt_graph_add(hunt.graph, &row);
    now = 3000000000;
    terminal = false;
    return 0;
}

static int finish(void **state)
{
    free(hunt.graph);
    return support_clean(state);
}

static void step(void *context)
{
    iw_hunt_progress(&hunt, *(bool *)context);
}

static void shows(bool end, const char *expected)
{
    char *text = support_printed(2, step, &end);

    assert_string_equal(text, expected);
    free(text);
}

static void a_line_every_five_seconds(void **state)
{
    (void)state;
    shows(false, ""); /* not at once */
    now = 7999999999;
    shows(false, "");
    now = 8000000000;
    hunt.findings = &one;
    shows(false, "7 s: 1001 sequences (143/s), 3 states, 3 edges, 2 findings\n");
    shows(false, "");
    now = 12999999999;
    shows(false, "");
    shows(true, "");
    now = 17999999999;
    options.coverage = true;
    hunt.outside = true;
    shows(false, "17 s: 1001 sequences (59/s), 21 states, 22 edges, 24 places, 2 findings\n");
}

/* Two hunters, of which each has an examiner at work. */
static void what_is_looked_into_is_counted(void **state)
{
    (void)state;
    options.targets = 2;
    hunt.board = iw_hunt_board_new();
    assert_non_null(hunt.board);
    *iw_hunt_board_examining(hunt.board, 0, 1) = (struct iw_hunt_examining){true, false, 30};
    *iw_hunt_board_examining(hunt.board, 1, 0) = (struct iw_hunt_examining){true, true, 12};
    shows(false, "");
    now = 8000000000;
    shows(false, "7 s: 1001 sequences (143/s), 3 states, 3 edges, 0 findings; looks into 2 "
                 "(minimises 1), 42 tries\n");
    iw_hunt_board_free(hunt.board);
}

static void before_any_time_has_passed(void **state)
{
    (void)state;
    now = hunt.began;
    hunt.next_line = 1;
    shows(false, "0 s: 1001 sequences (0/s), 3 states, 3 edges, 0 findings\n");
}

static void a_screen_every_half_second(void **state)
{
    (void)state;
    terminal = true;
    shows(false, "\033[K  target     the target\n"
                 "\033[K  sequences  1001, 500 a second, 2 s, seed 99\n"
                 "\033[K  states     3, 3 edges\n"
                 "\033[K  kept       5 sequences, 6 seeds\n"
                 "\033[K  target     started 7 times, 4242 KiB\n"
                 "\033[K  findings   0, 0 of them known\n");
    now += 499999999;
    shows(false, "");
    now += 1;
    hunt.findings = &one;
    options.coverage = hunt.outside = true;
    shows(false, "\033[6A"
                 "\033[K  target     the target\n"
                 "\033[K  sequences  1001, 400 a second, 2 s, seed 99\n"
                 "\033[K  states     21, 22 edges, 24 places in the peer\n"
                 "\033[K  kept       5 sequences, 6 seeds\n"
                 "\033[K  target     started 7 times, 4242 KiB\n"
                 "\033[K  findings   2, 1 of them known; last: hang B\n");
    two.key = (char[]){"123456789 123456789 123456789 123456789 123456789 123456789 1"};
    hunt.outside = options.coverage = false;
    shows(true, "\033[6A"
                "\033[K  target     the target\n"
                "\033[K  sequences  1001, 400 a second, 2 s, seed 99\n"
                "\033[K  states     3, 3 edges\n"
                "\033[K  kept       5 sequences, 6 seeds\n"
                "\033[K  target     started 7 times, 4242 KiB\n"
                "\033[K  findings   2, 1 of them known; last: 123456789 123456789 123456789 "
                "123456789 123456789 123456789 \n");
}

static bool saved(void)
{
    char *path = iw_text_format("%s/progress.json", folder);
    bool is = !unlink(path);

    free(path);
    return is;
}

static void progress_every_second(void **state)
{
    (void)state;
    options.resume = true;
    hunt.dir = folder;
    shows(false, "");
    assert_true(saved());
    now += 999999999;
    shows(false, "");
    assert_false(saved());
    now += 1;
    shows(false, "");
    assert_true(saved());
    shows(true, "");
    assert_true(saved());
}

static void print_finding(void *context)
{
    iw_hunt_tell(&hunt, context);
}

static void prints(const struct iw_hunt_finding *f, const char *expected)
{
    char *text = support_printed(1, print_finding, (void *)(uintptr_t)f);

    assert_string_equal(text, expected);
    free(text);
}

static void a_finding_is_printed(void **state)
{
    struct iw_hunt_input *inputs[] = {support_input("a01 t5 a02"), support_input("f01")};

    (void)state;
    two.number = 12;
    two.seconds = 3.25;
    hunt.next_line = 5;
    prints(&two, "FOUND hang\n"
                 "  what      B\n"
                 "  when      sequence 12, after 3.2 s\n"
                 "  how       not found: what was sent before does not do it again\n");
    assert_int_equal(hunt.next_line, 5);
    terminal = true;
    two.inputs = inputs;
    two.n_inputs = 1;
    prints(&two, "FOUND hang\n"
                 "  what      B\n"
                 "  when      sequence 12, after 3.2 s\n"
                 "  how       3 steps on 1 connection\n");
    assert_int_equal(hunt.next_line, 0);
    one.inputs = inputs;
    one.n_inputs = 2;
    one.file = target;
    one.pcap = key_one;
    one.verdict = key_two;
    hunt.dir = folder;
    prints(&one, "known crash\n"
                 "  what      A\n"
                 "  when      sequence 0, after 0.0 s\n"
                 "  how       4 steps on 2 connections\n"
                 "  case      the target\n"
                 "  capture   crash A\n"
                 "  verdict   hang B\n"
                 "  known     why not\n");
    {
        char *path = iw_text_format("%s/findings.jsonl", folder);

        assert_int_equal(access(path, R_OK), 0);
        free(path);
    }
    iw_hunt_input_free(inputs[0]);
    iw_hunt_input_free(inputs[1]);
}

struct report {
    bool good;
    int fd;
};

static void report(void *context)
{
    ((struct report *)context)->good = iw_hunt_report(&hunt);
}

static void reports(int fd, bool good, const char *expected)
{
    struct report r = {.good = !good};
    char *text = support_printed(fd, report, &r);

    assert_string_equal(text, expected);
    assert_int_equal(r.good, good);
    free(text);
}

static void the_last_line(void **state)
{
    (void)state;
    reports(1, true,
            "1001 sequences in 2.0 s (500 a second), 3 states, 3 edges, 0 findings; target the "
            "target, seed 99\n");
    hunt.findings = &two;
    reports(1, true,
            "1001 sequences in 2.0 s (500 a second), 3 states, 3 edges, 1 finding; target the "
            "target, seed 99\n");
    hunt.findings = &one;
    hunt.outside = true;
    reports(1, true,
            "1001 sequences in 2.0 s (500 a second), 21 states, 22 edges, 2 findings (1 of them "
            "known), started again 8 times; target the target, seed 99\n");
    options.resume = true;
    reports(1, true, "");
}

static char *dumped(void)
{
    char *path = iw_text_format("%s/report.json", folder), *text, *version;

    options.json = path;
    options.resume = true;
    reports(1, true, "");
    text = support_read(path);
    version = strstr(text, " \"version\": \"" IW_VERSION "\",\n"); /* is another one some day */
    assert_non_null(version);
    memmove(version, strchr(version, '\n') + 1, strlen(strchr(version, '\n')));
    free(path);
    options.json = NULL;
    return text;
}

static void as_json(void **state)
{
    char *text;

    (void)state;
    text = dumped();
    support_expects(text, "report-empty.txt");
    free(text);
    hunt.findings = &one;
    hunt.outside = true;
    options.coverage = true;
    two.before = true;
    two.told_inputs = 3;
    two.told_steps = 9;
    text = dumped();
    support_expects(text, "report-outside.txt");
    free(text);
}

static void as_a_graph(void **state)
{
    static const char *const names[] = {"graph", "graph.dot", "graph.json", "graph.jsons"};

    (void)state;
    options.resume = true;
    for (int i = 0; i < 4; i++) {
        char *path = iw_text_format("%s/%s", folder, names[i]), *text;

        options.graph = path;
        reports(1, true, "");
        text = support_read(path);
        assert_int_equal(*text, i == 2 ? '{' : 'd');
        free(text);
        unlink(path);
        hunt.outside = true; /* nothing to be shown from here */
        reports(1, true, "");
        assert_int_equal(access(path, F_OK), -1);
        hunt.outside = false;
        free(path);
    }
}

static void what_cannot_be_written(void **state)
{
    (void)state;
    options.resume = true;
    options.json = "/dev/null/j";
    reports(2, false, "iwarp-fuzz: cannot write /dev/null/j: Not a directory\n");
    options.json = NULL;
    options.graph = "/dev/null/g";
    reports(2, false, "iwarp-fuzz: cannot write /dev/null/g: Not a directory\n");
    options.graph = "/dev/full";
    reports(2, false, "iwarp-fuzz: cannot write /dev/full: No space left on device\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_every_five_seconds, begin, finish),
        cmocka_unit_test_setup_teardown(what_is_looked_into_is_counted, begin, finish),
        cmocka_unit_test_setup_teardown(before_any_time_has_passed, begin, finish),
        cmocka_unit_test_setup_teardown(a_screen_every_half_second, begin, finish),
        cmocka_unit_test_setup_teardown(progress_every_second, begin, finish),
        cmocka_unit_test_setup_teardown(a_finding_is_printed, begin, finish),
        cmocka_unit_test_setup_teardown(the_last_line, begin, finish),
        cmocka_unit_test_setup_teardown(as_json, begin, finish),
        cmocka_unit_test_setup_teardown(as_a_graph, begin, finish),
        cmocka_unit_test_setup_teardown(what_cannot_be_written, begin, finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
