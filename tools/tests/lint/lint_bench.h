/* SPDX-License-Identifier: BSD-3-Clause */
/* For the tests of iwarp-lint's reports: a connection that no capture has, and the text that is
 * written about it. Include from one source of a test. */
#ifndef IW_TESTS_LINT_BENCH_H
#define IW_TESTS_LINT_BENCH_H

#include "lint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
    struct iw_lint_options options;
    struct iw_lint lint;
    struct iw_lint_sarif sarif;
    struct iw_capture_connection tcp;
    struct iw_lint_connection c;
    FILE *to;
    char *text; /* what was written to it */
    size_t size;
};

/* Connection 7, from 10.0.0.1:1001, the initiator, to 10.0.0.2:2002; frame 30 is being read. */
static inline struct bench *bench_open(enum iw_lint_format format)
{
    struct bench *b = calloc(1, sizeof(*b));
    assert_non_null(b);
    b->options = (struct iw_lint_options){
        .path = "a.pcap", .format = format, .stag = -1, .connection = -1, .owner = -1};
    b->tcp = (struct iw_capture_connection){.number = 7,
                                            .address = {{4, {10, 0, 0, 1}}, {4, {10, 0, 0, 2}}},
                                            .port = {1001, 2002},
                                            .first_frame = 3,
                                            .last_frame = 44};
    b->lint = (struct iw_lint){.options = &b->options, .frame = 30, .sarif = &b->sarif};
    b->to = open_memstream(&b->text, &b->size);
    assert_non_null(b->to);
    iw_lint_lines_begin(&b->lint, b->to);
    b->c = (struct iw_lint_connection){.lint = &b->lint, .tcp = &b->tcp};
    for (int i = 0; i < 2; i++)
        iw_lint_no_ranges(&b->c.side[i].ranges);
    return b;
}

/* Returns what was written since the last bench_forget(): lines in the order of their frames. What
 * is in no line yet, as a summary, comes last. */
static inline const char *bench_text(struct bench *b)
{
    iw_lint_line(&b->lint, UINT64_MAX);
    iw_lint_lines_end(&b->lint);
    assert_int_equal(fflush(b->to), 0);
    return b->text;
}

static inline void bench_forget(struct bench *b)
{
    size_t length = strlen(bench_text(b));
    memset(b->text, 0, length);
    rewind(b->to);
    assert_int_equal(fflush(b->to), 0);
}

/* What was written since the last call. */
static inline void bench_wrote(struct bench *b, const char *expected)
{
    assert_string_equal(bench_text(b), expected);
    bench_forget(b);
}

static inline void bench_close(struct bench *b)
{
    iw_lint_lines_free(&b->lint);
    fclose(b->to);
    free(b->text);
    iw_lint_free_notes(&b->lint);
    for (int i = 0; i < 2; i++) {
        iw_lint_free_ranges(&b->c.side[i].ranges);
        iw_lint_free_reads(&b->c.side[i]);
    }
    free(b);
}

/* Keeps notes from now on. */
static inline void bench_keep_notes(struct bench *b)
{
    b->lint.notes = calloc(IW_LINT_NOTES, sizeof(*b->lint.notes));
    assert_non_null(b->lint.notes);
}

#endif
