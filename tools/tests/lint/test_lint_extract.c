/* SPDX-License-Identifier: BSD-3-Clause */
/* The octets that iwarp-lint collects from a buffer, the file that it writes them to, and what it
 * says of them. */
#include "lint_bench.h"

#include <unistd.h>

#include "../caught.h"

enum { STAG = 0xab };
/* TOs may be so far apart, and no further. */
#define FAR (UINT64_C(1) << 40)

static char into[] = "/tmp/iw-extract-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(into);
    return fd < 0 || close(fd) != 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(into);
}

static struct bench *begin(enum iw_lint_format format)
{
    struct bench *b = bench_open(format);
    b->options.stag = STAG;
    b->options.into = into;
    assert_true(iw_lint_extract_begin(&b->lint));
    return b;
}

/* The responder sends these octets to the initiator's buffer, or the other way round. */
static void place(struct bench *b, enum iw_side owner, uint64_t to, const char *octets)
{
    const struct iw_observation o = {.side = iw_observed_other(owner),
                                     .ddp = {.stag = STAG, .to = to},
                                     .payload = (const uint8_t *)octets,
                                     .payload_length = 1000,
                                     .payload_captured = strlen(octets)};
    iw_lint_extract_segment(b->lint.extract, &b->c, &o);
}

/* Nothing is complained about. */
static void ends_well(struct bench *b)
{
    catch_from(STDERR_FILENO);
    int status = iw_lint_extract_end(&b->lint);
    assert_string_equal(caught(), "");
    assert_int_equal(status, 0);
    assert_null(b->lint.extract);
}

static void ends_badly(struct bench *b, int status, const char *why)
{
    catch_from(STDERR_FILENO);
    int got = iw_lint_extract_end(&b->lint);
    assert_string_equal(caught(), why);
    assert_int_equal(got, status);
    assert_null(b->lint.extract);
    bench_wrote(b, "");
    bench_close(b);
}

static void holds(const char *octets, size_t length)
{
    char got[4096];
    FILE *file = fopen(into, "r");
    assert_non_null(file);
    size_t n = fread(got, 1, sizeof(got), file);
    fclose(file);
    assert_int_equal(n, length);
    assert_memory_equal(got, octets, length);
}

/* After `from`, the line about connection 7's initiator. */
static void says(struct bench *b, unsigned octets, const char *from)
{
    char expected[4096];
    snprintf(expected, sizeof(expected),
             "%s: %u octets of STag 0xab, initiator 10.0.0.1:1001, connection 7, TO %s", into,
             octets, from);
    bench_wrote(b, expected);
    bench_close(b);
}

static void octets_in_any_order(void **state)
{
    struct bench *b = begin(IW_LINT_TEXT);
    (void)state;
    place(b, IW_SIDE_INITIATOR, 104, "ef");
    place(b, IW_SIDE_INITIATOR, 100, "abcd");
    place(b, IW_SIDE_INITIATOR, 106, "g");
    ends_well(b);
    holds("abcdefg", 7);
    says(b, 7, "0x64 to 0x6a\n");
    /* The latest copy of an octet counts. */
    b = begin(IW_LINT_TEXT);
    place(b, IW_SIDE_INITIATOR, 0, "abcdef");
    place(b, IW_SIDE_INITIATOR, 2, "XY");
    place(b, IW_SIDE_INITIATOR, 5, "Z1");
    place(b, IW_SIDE_INITIATOR, 7, "2");
    ends_well(b);
    holds("abXYeZ12", 8);
    says(b, 8, "0x0 to 0x7\n");
}

static void holes_are_listed(void **state)
{
    struct bench *b = begin(IW_LINT_TEXT);
    char expected[2000];
    (void)state;
    place(b, IW_SIDE_INITIATOR, 20, "c");
    place(b, IW_SIDE_INITIATOR, 10, "ab");
    place(b, IW_SIDE_INITIATOR, 13, "x");
    ends_well(b);
    holds("ab\0x\0\0\0\0\0\0c", 11);
    snprintf(expected, sizeof(expected),
             "0xa to 0x14\n%s: never written: TO 0xc to 0xc\n%s: never written: TO 0xe to 0x13\n",
             into, into);
    says(b, 4, expected);
}

/* Sixteen of them, the others are counted. */
static void many_holes_are_counted(void **state)
{
    (void)state;
    for (unsigned holes = 15; holes <= 18; holes++) {
        struct bench *b = begin(IW_LINT_TEXT);
        char expected[2000];
        for (unsigned i = 0; i <= holes; i++)
            place(b, IW_SIDE_INITIATOR, 2 * i, "a");
        ends_well(b);
        int n = snprintf(expected, sizeof(expected), "0x0 to 0x%x\n", 2 * holes);
        for (unsigned i = 1; i <= holes && i <= 16; i++)
            n += snprintf(expected + n, sizeof(expected) - (size_t)n,
                          "%s: never written: TO 0x%x to 0x%x\n", into, 2 * i - 1, 2 * i - 1);
        if (holes > 16)
            snprintf(expected + n, sizeof(expected) - (size_t)n,
                     "%s: never written: %u more places\n", into, holes - 16);
        says(b, holes + 1, expected);
    }
}

static void as_json(void **state)
{
    struct bench *b = begin(IW_LINT_JSON);
    char expected[400];
    (void)state;
    place(b, IW_SIDE_RESPONDER, 0x30, "abc");
    place(b, IW_SIDE_RESPONDER, 0x35, "d");
    place(b, IW_SIDE_RESPONDER, 0x40, "d");
    ends_well(b);
    snprintf(expected, sizeof(expected),
             "{\"type\":\"extract\",\"file\":\"%s\",\"octets\":5,\"connection\":7,\"side\":"
             "\"responder\",\"address\":\"10.0.0.2:2002\",\"from\":\"0x30\",\"to\":\"0x40\","
             "\"holes\":[{\"from\":\"0x33\",\"to\":\"0x34\"},{\"from\":\"0x36\",\"to\":\"0x3f\"}]}"
             "\n",
             into);
    bench_wrote(b, expected);
    bench_close(b);
    /* SARIF has no place for it. */
    b = begin(IW_LINT_SARIF);
    place(b, IW_SIDE_RESPONDER, 0x30, "xyz");
    ends_well(b);
    holds("xyz", 3);
    bench_wrote(b, "");
    bench_close(b);
}

/* ---- whose buffer ---- */

static const char none[] =
    "iwarp: --extract 0xab: no Write or Read Response to this STag was seen\n";

static void only_what_is_asked_for(void **state)
{
    (void)state;
    ends_badly(begin(IW_LINT_TEXT), 64, none);
    struct bench *b = begin(IW_LINT_TEXT);
    place(b, IW_SIDE_INITIATOR, 0, "");
    ends_badly(b, 64, none);
    b = begin(IW_LINT_TEXT);
    b->options.stag = STAG + 1;
    place(b, IW_SIDE_INITIATOR, 0, "a");
    b->options.stag = STAG;
    ends_badly(b, 64, none);
    for (int owner = 0; owner < 2; owner++) {
        b = begin(IW_LINT_TEXT);
        b->options.owner = owner;
        b->options.connection = 7;
        place(b, (enum iw_side) !owner, 0, "a");
        b->tcp.number = 8;
        place(b, (enum iw_side)owner, 0, "b");
        b->tcp.number = 7;
        place(b, (enum iw_side)owner, 0, "c");
        ends_well(b);
        holds("c", 1);
        bench_close(b);
    }
    /* Connection 0 is one, too. */
    b = begin(IW_LINT_TEXT);
    b->options.connection = 0;
    place(b, IW_SIDE_INITIATOR, 0, "a");
    ends_badly(b, 64, none);
}

static void two_buffers_are_one_too_many(void **state)
{
    struct bench *b = begin(IW_LINT_TEXT);
    (void)state;
    place(b, IW_SIDE_INITIATOR, 0, "a");
    place(b, IW_SIDE_RESPONDER, 0, "b");
    ends_badly(b, 64,
               "iwarp: --extract 0xab: a buffer of the initiator of connection 7, and of the "
               "responder of connection 7: expected --connection or --owner\n");
    b = begin(IW_LINT_TEXT);
    b->tcp.number = 3;
    place(b, IW_SIDE_RESPONDER, 0, "a");
    b->tcp.number = 9;
    place(b, IW_SIDE_RESPONDER, 0, "b");
    place(b, IW_SIDE_INITIATOR, 0, "b");
    ends_badly(b, 64,
               "iwarp: --extract 0xab: a buffer of the responder of connection 3, and of the "
               "initiator of connection 9: expected --connection or --owner\n");
}

/* ---- limits ---- */

static const char apart[] = "iwarp: --extract 0xab: its TOs lie more than 2^40 octets apart\n";

/* Two octets at these TOs. */
static void places_both(uint64_t first, uint64_t second, bool good)
{
    struct bench *b = begin(IW_LINT_TEXT);
    place(b, IW_SIDE_INITIATOR, first, "a");
    place(b, IW_SIDE_INITIATOR, second, "b");
    if (!good) {
        place(b, IW_SIDE_INITIATOR, first, "c"); /* too late */
        ends_badly(b, 70, apart);
        return;
    }
    ends_well(b);
    bench_close(b);
}

static void distances_are_bounded(void **state)
{
    (void)state;
    places_both(5, 5 + FAR, true);
    places_both(5, 6 + FAR, false);
    places_both(5 + FAR, 5, true);
    places_both(6 + FAR, 5, false);
    places_both(UINT64_MAX - 1, UINT64_MAX - 1, true);
    places_both(UINT64_MAX - 1, UINT64_MAX, false);
}

/* 65536 octets, each beside a hole: that many pieces and no more. */
static void pieces_are_bounded(void **state)
{
    (void)state;
    for (unsigned more = 0; more < 2; more++) {
        struct bench *b = begin(IW_LINT_TEXT);
        for (unsigned i = 0; i < 65536 + more; i++)
            place(b, IW_SIDE_INITIATOR, 2 * i, "a");
        if (more == 0) {
            ends_well(b);
            bench_close(b);
        } else {
            ends_badly(b, 70,
                       "iwarp: --extract 0xab: it is scattered over more pieces than can be "
                       "remembered\n");
        }
    }
    /* Pieces that come to touch are one: there is room for others. */
    struct bench *b = begin(IW_LINT_TEXT);
    for (unsigned i = 65535; i > 0; i--)
        place(b, IW_SIDE_INITIATOR, 2 * i, "a");
    for (unsigned i = 65536; i > 0; i--)
        place(b, IW_SIDE_INITIATOR, 2 * i - 1, "b");
    place(b, IW_SIDE_INITIATOR, 0, "c");
    place(b, IW_SIDE_INITIATOR, 131072, "d");
    ends_well(b);
    says(b, 131073, "0x0 to 0x20000\n");
}

static void files_that_cannot_be_written(void **state)
{
    struct bench *b = begin(IW_LINT_TEXT);
    (void)state;
    b->options.into = "/none/file";
    place(b, IW_SIDE_INITIATOR, 0, "a");
    ends_badly(b, 73, "iwarp: /none/file: cannot be written: No such file or directory\n");
    b = begin(IW_LINT_JSON);
    b->options.into = "/dev/full";
    place(b, IW_SIDE_INITIATOR, 0, "a");
    ends_badly(b, 73, "iwarp: /dev/full: cannot be written: No space left on device\n");
}

#define TEST(f) cmocka_unit_test_teardown(f, catch_no_more)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(octets_in_any_order),          TEST(holes_are_listed),
        TEST(many_holes_are_counted),       TEST(as_json),
        TEST(only_what_is_asked_for),       TEST(two_buffers_are_one_too_many),
        TEST(distances_are_bounded),        TEST(pieces_are_bounded),
        TEST(files_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
