/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of iwarp-lint leave in the order of their frames, or at once. */
#include "lint_bench.h"

static void line(struct bench *b, uint64_t frame, const char *text)
{
    assert_true(fputs(text, b->lint.out) >= 0);
    iw_lint_line(&b->lint, frame);
}

/* What has left without being asked for. */
static void left(struct bench *b, const char *expected)
{
    assert_int_equal(fflush(b->to), 0);
    assert_string_equal(b->text, expected);
}

static void lines_are_put_in_order(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    line(b, 5, "a\n");
    line(b, 7, "b\n");
    line(b, 5, "two\nlines\n");
    line(b, UINT64_MAX, "end\n");
    line(b, 1, "");
    line(b, 6, "c\n");
    line(b, 0, "d\n");
    line(b, 7, "e\n");
    left(b, "");
    iw_lint_lines_end(&b->lint);
    left(b, "d\na\ntwo\nlines\nc\nb\ne\nend\n");
    /* None is written twice. */
    iw_lint_lines_end(&b->lint);
    line(b, 3, "f\n");
    line(b, 2, "g\n");
    iw_lint_lines_end(&b->lint);
    left(b, "d\na\ntwo\nlines\nc\nb\ne\nend\ng\nf\n");
    /* What has not left is forgotten. */
    line(b, 1, "h\n");
    bench_close(b);
}

/* More than the room for them at first, and each before all others. */
static void many_lines(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    char text[2], expected[101] = "";
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        text[0] = expected[99 - i] = (char)('!' + i % 90);
        text[1] = '\0';
        line(b, 100 - i, text);
    }
    bench_wrote(b, expected);
    bench_close(b);
}

static int nothing_is_seen(void *context, const struct iw_segment *segment)
{
    (void)context;
    (void)segment;
    return 0;
}

/* Without a connection that has octets not judged, nothing has to wait. */
static void lines_settle(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    b->lint.table = iw_capture_connections_new(4, nothing_is_seen, NULL);
    assert_non_null(b->lint.table);
    iw_lint_lines_settle(&b->lint);
    left(b, "");
    line(b, 9, "a\n");
    line(b, 8, "b\n");
    left(b, "");
    iw_lint_lines_settle(&b->lint);
    left(b, "b\na\n");
    iw_capture_connections_free(b->lint.table);
    bench_close(b);
}

/* Nobody waits for a live capture's end, or for that of a pipe. */
static void lines_of_a_pipe_leave_at_once(void **state)
{
    static const char *const paths[] = {"-", "a.pcap", "-a"};
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct bench *b = bench_open(IW_LINT_TEXT);
        b->options.path = i == 3 ? NULL : paths[i];
        b->options.live = i == 3 ? "lo" : NULL;
        line(b, 9, "a\n");
        line(b, 8, "");
        line(b, 8, "b\n");
        left(b, i == 0 || i == 3 ? "a\nb\n" : "");
        bench_close(b);
    }
}

static void results_are_separated(void **state)
{
    static const char *const paths[] = {"-", "a.pcap"};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct bench *b = bench_open(IW_LINT_SARIF);
        b->options.path = paths[i];
        line(b, 1, "{}");
        line(b, 2, "[]");
        iw_lint_lines_end(&b->lint);
        line(b, 3, "0");
        iw_lint_lines_end(&b->lint);
        left(b, "\n{},\n[],\n0");
        bench_close(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_put_in_order), cmocka_unit_test(many_lines),
        cmocka_unit_test(lines_settle),           cmocka_unit_test(lines_of_a_pipe_leave_at_once),
        cmocka_unit_test(results_are_separated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
