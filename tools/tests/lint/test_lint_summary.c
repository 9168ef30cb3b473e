/* SPDX-License-Identifier: BSD-3-Clause */
/* What iwarp-lint says at the end of a connection, and of all of them. */
#include "lint_bench.h"

#include "../caught.h"

static void start(struct bench *b, enum iw_side side, uint8_t flags, uint8_t revision, uint16_t ird,
                  uint16_t ord, bool peer_to_peer)
{
    b->c.side[side].started = true;
    b->c.side[side].startup.flags = flags;
    b->c.side[side].startup.revision = revision;
    b->c.side[side].enhanced =
        (struct iw_mpa_enhanced){.peer_to_peer = peer_to_peer, .ird = ird, .ord = ord};
}

/* Both start-up frames, of one revision. */
static void start_both(struct bench *b, uint8_t request, uint8_t reply, uint8_t revision)
{
    start(b, IW_SIDE_INITIATOR, request, revision, 5, 9, false);
    start(b, IW_SIDE_RESPONDER, reply, revision, 6, 4, false);
}

/* The summary has this line, after its first one. */
static void wants(struct bench *b, const char *line)
{
    char expected[600];
    iw_lint_summary(&b->c);
    snprintf(expected, sizeof(expected), "connection 7, frames 3 to 44\n%s", line);
    assert_memory_equal(bench_text(b), expected, strlen(expected));
    bench_forget(b);
}

static void nothing_was_seen(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    iw_lint_summary(&b->c);
    bench_wrote(b, "connection 7, frames 3 to 44\n"
                   "  initiator 10.0.0.1:1001: no start-up frame, 0 findings\n"
                   "  responder 10.0.0.2:2002: no start-up frame, 0 findings\n");
    /* One frame of the two is no agreement. */
    start(b, IW_SIDE_INITIATOR, 0x40, 2, 0, 0, false);
    wants(b, "  initiator 10.0.0.1:1001: rev 2 C, 0 findings\n  responder ");
    b->c.side[IW_SIDE_INITIATOR].started = false;
    start(b, IW_SIDE_RESPONDER, 0x40, 2, 0, 0, false);
    wants(b, "  initiator 10.0.0.1:1001: no start-up frame, 0 findings\n  responder "
             "10.0.0.2:2002: rev 2 C, 0 findings\n");
    bench_close(b);
}

static void what_is_agreed(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    start_both(b, 0, 0, 1);
    wants(b, "  agreed: revision 1, CRC off, Markers none\n");
    start_both(b, 0x40, 0, 1);
    wants(b, "  agreed: revision 1, CRC on, Markers none\n");
    start_both(b, 0, 0x40, 1);
    wants(b, "  agreed: revision 1, CRC on, Markers none\n");
    /* Who asks for Markers gets them. */
    start_both(b, 0x80, 0, 1);
    wants(b, "  agreed: revision 1, CRC off, Markers from the responder\n");
    start_both(b, 0, 0x80, 1);
    wants(b, "  agreed: revision 1, CRC off, Markers from the initiator\n");
    start_both(b, 0x80, 0x80, 1);
    wants(b, "  agreed: revision 1, CRC off, Markers both ways\n");
    start_both(b, 0, 0x20, 2);
    wants(b, "  rejected: revision 2, CRC off, Markers none\n");
    start_both(b, 0x20, 0, 2);
    wants(b, "  agreed: revision 2, CRC off, Markers none\n");
    /* Revision 0 has both, always; the Reply's counts. */
    start_both(b, 0, 0, 0);
    wants(b, "  agreed: revision 0, CRC on, Markers both ways\n");
    b->c.side[IW_SIDE_RESPONDER].startup.revision = 1;
    wants(b, "  agreed: revision 1, CRC off, Markers none\n");
    /* Depths: the less of what one asks for and the other gives, if both frames have them. */
    start_both(b, 0x10, 0, 2);
    wants(b, "  agreed: revision 2, CRC off, Markers none\n");
    start_both(b, 0, 0x10, 2);
    wants(b, "  agreed: revision 2, CRC off, Markers none\n");
    start_both(b, 0x10, 0x10, 2);
    wants(b, "  agreed: revision 2, CRC off, Markers none, ORD of the initiator 6, ORD of the "
             "responder 4\n");
    b->c.side[IW_SIDE_INITIATOR].enhanced.ord = 3;
    b->c.side[IW_SIDE_INITIATOR].enhanced.ird = 2;
    wants(b, "  agreed: revision 2, CRC off, Markers none, ORD of the initiator 3, ORD of the "
             "responder 2\n");
    start(b, IW_SIDE_INITIATOR, 0x10, 2, 7, 0x3fff, true);
    start(b, IW_SIDE_RESPONDER, 0x10, 2, 0x3fff, 8, false);
    wants(b, "  agreed: revision 2, CRC off, Markers none, ORD of the initiator left to the ULP, "
             "ORD of the responder 7\n");
    start(b, IW_SIDE_RESPONDER, 0x10, 2, 0x3fff, 8, true);
    wants(b, "  agreed: revision 2, CRC off, Markers none, peer-to-peer, ORD of the initiator "
             "left to the ULP, ORD of the responder 7\n");
    b->c.side[IW_SIDE_INITIATOR].enhanced.peer_to_peer = false;
    wants(b, "  agreed: revision 2, CRC off, Markers none, ORD of the initiator left to the ULP");
    bench_close(b);
}

static void start_up_frames(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    start(b, IW_SIDE_INITIATOR, 0xf0, 2, 11, 12, false);
    wants(b, "  initiator 10.0.0.1:1001: rev 2 C M R S ird 11 ord 12, 0 findings\n");
    start(b, IW_SIDE_INITIATOR, 0x4f, 1, 11, 12, false);
    wants(b, "  initiator 10.0.0.1:1001: rev 1 C, 0 findings\n");
    start(b, IW_SIDE_INITIATOR, 0x80, 1, 11, 12, false);
    wants(b, "  initiator 10.0.0.1:1001: rev 1 M, 0 findings\n");
    start(b, IW_SIDE_INITIATOR, 0x20, 1, 11, 12, false);
    wants(b, "  initiator 10.0.0.1:1001: rev 1 R, 0 findings\n");
    bench_close(b);
}

/* Counts that differ, for every opcode; opcode 15 was not seen. */
static void count_all(struct iw_lint_side *s)
{
    for (uint32_t i = 0; i < 15; i++)
        s->count[i] = (struct iw_lint_count){
            .messages = i + 1, .octets = 100 * i, .least = i, .most = i % 2 ? 9000 : i};
    s->findings = 3;
}

static void messages_are_counted(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    struct iw_lint_side *s = &b->c.side[IW_SIDE_RESPONDER];
    (void)state;
    count_all(s);
    s->gaps = 2;
    s->missing = 77;
    s->lost = true;
    iw_lint_summary(&b->c);
    bench_wrote(
        b,
        "connection 7, frames 3 to 44\n"
        "  initiator 10.0.0.1:1001: no start-up frame, 0 findings\n"
        "  responder 10.0.0.2:2002: no start-up frame, 1 write (0 octets, 0 each), 2 read-request "
        "(100 octets, 1 to 9000), 3 read-response (200 octets, 2 each), 4 send (300 octets, 3 to "
        "9000), 5 send-inv (400 octets, 4 each), 6 send-se (500 octets, 5 to 9000), 7 send-se-inv "
        "(600 octets, 6 each), 8 terminate (700 octets, 7 to 9000), 9 immediate (800 octets, 8 "
        "each), 10 immediate-se (900 octets, 9 to 9000), 11 atomic-request (1000 octets, 10 each), "
        "12 atomic-response (1100 octets, 11 to 9000), 13 opcode-c (1200 octets, 12 each), 14 "
        "opcode-d (1300 octets, 13 to 9000), 15 opcode-e (1400 octets, 14 each), 77 octets missing "
        "in 2 gaps, 3 findings, not seen to its end\n");
    memset(s->count, 0, sizeof(s->count));
    s->count[15] = (struct iw_lint_count){.messages = 1, .octets = 8, .least = 8, .most = 8};
    s->gaps = 0;
    s->lost = false;
    iw_lint_summary(&b->c);
    bench_wrote(b, "connection 7, frames 3 to 44\n"
                   "  initiator 10.0.0.1:1001: no start-up frame, 0 findings\n"
                   "  responder 10.0.0.2:2002: no start-up frame, 1 opcode-f (8 octets, 8 each), 3 "
                   "findings\n");
    bench_close(b);
}

/* A Read that is answered after this time; 0: not at all. */
static void read_after(struct iw_lint_side *s, uint64_t after)
{
    const struct iw_observation request = {.ddp.rdmap_control = 0x41,
                                           .read_request = {.sink_stag = 1, .size = 1}};
    const struct iw_observation response = {.ddp = {.rdmap_control = 0x42, .stag = 1}};
    iw_lint_asked(s, 1000, &request);
    if (after > 0)
        iw_lint_answered(s, 1000 + after, &response);
}

/* The time of the only Read. */
static void takes(uint64_t ns, const char *text)
{
    char expected[400];
    struct bench *b = bench_open(IW_LINT_TEXT);
    read_after(&b->c.side[IW_SIDE_INITIATOR], ns);
    snprintf(expected, sizeof(expected),
             "  initiator 10.0.0.1:1001: no start-up frame, 0 findings\n"
             "    reads and atomics: at most 1 outstanding; 1 answered in (p50, p90, p99, most) "
             "%s, %s, %s, %s\n  responder",
             text, text, text, text);
    wants(b, expected);
    bench_close(b);
}

static void reads_and_their_times(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    read_after(&b->c.side[IW_SIDE_INITIATOR], 0);
    wants(b, "  initiator 10.0.0.1:1001: no start-up frame, 0 findings\n"
             "    reads and atomics: at most 1 outstanding\n  responder");
    bench_close(b);
    takes(1, "0.0 us");
    takes(99, "0.0 us");
    takes(100, "0.1 us");
    takes(999, "0.9 us");
    takes(1000, "1.0 us");
    takes(12399, "12.3 us");
    takes(999999, "999.9 us");
    takes(1000000, "1.0 ms");
    takes(999999999, "999.9 ms");
    takes(1000000000, "1.0 s");
    takes(UINT64_C(1234567890123), "1234.5 s");
    /* Each share has its own place. */
    b = bench_open(IW_LINT_TEXT);
    for (int i = 1; i <= 100; i++)
        read_after(&b->c.side[IW_SIDE_INITIATOR], i <= 60   ? 1023
                                                  : i <= 95 ? 2047
                                                  : i <= 99 ? 4095
                                                            : 8191);
    wants(b, "  initiator 10.0.0.1:1001: no start-up frame, 0 findings\n"
             "    reads and atomics: at most 1 outstanding; 100 answered in (p50, p90, p99, most) "
             "1.0 us, 2.0 us, 4.0 us, 8.1 us\n");
    bench_close(b);
}

static void summaries_as_json(void **state)
{
    struct bench *b = bench_open(IW_LINT_JSON);
    struct iw_lint_side *s = b->c.side;
    (void)state;
    iw_lint_summary(&b->c);
    bench_wrote(b,
                "{\"type\":\"connection\",\"connection\":7,\"initiator_address\":\"10.0.0.1:1001\","
                "\"responder_address\":\"10.0.0.2:2002\",\"agreed\":null,\"initiator\":{"
                "\"startup\":false,\"whole\":true,\"findings\":0,\"gaps\":0,\"missing\":0,"
                "\"messages\":{},\"reads\":{\"outstanding\":0,\"answered\":0}},\"responder\":{"
                "\"startup\":false,\"whole\":true,\"findings\":0,\"gaps\":0,\"missing\":0,"
                "\"messages\":{},\"reads\":{\"outstanding\":0,\"answered\":0}}}\n");
    start_both(b, 0x50, 0x90, 2);
    s[0].enhanced.peer_to_peer = s[1].enhanced.peer_to_peer = true;
    s[0].count[15] = (struct iw_lint_count){.messages = 1, .octets = 2, .least = 3, .most = 4};
    s[0].count[0] = (struct iw_lint_count){.messages = 5, .octets = 6, .least = 7, .most = 8};
    s[0].lost = true;
    s[0].findings = 5;
    s[0].gaps = 6;
    s[0].missing = 7;
    read_after(&s[0], 0);
    read_after(&s[1], 12);
    iw_lint_summary(&b->c);
    bench_wrote(
        b,
        "{\"type\":\"connection\",\"connection\":7,\"initiator_address\":\"10.0.0.1:1001\","
        "\"responder_address\":\"10.0.0.2:2002\",\"agreed\":{\"revision\":2,\"rejected\":false,"
        "\"crc\":true,\"initiator_markers\":true,\"responder_markers\":false,\"peer_to_peer\":true,"
        "\"initiator_ord\":6,\"responder_ord\":4},\"initiator\":{\"startup\":true,\"whole\":false,"
        "\"findings\":5,\"gaps\":6,\"missing\":7,\"revision\":2,\"crc\":true,\"markers\":false,"
        "\"rejected\":false,\"ird\":5,\"ord\":9,\"messages\":{\"write\":{\"messages\":5,"
        "\"octets\":6,\"least\":7,\"most\":8},\"opcode-f\":{\"messages\":1,"
        "\"octets\":2,\"least\":3,\"most\":4}},\"reads\":{\"outstanding\":1,\"answered\":0}},"
        "\"responder\":{\"startup\":true,\"whole\":true,\"findings\":0,\"gaps\":0,\"missing\":0,"
        "\"revision\":2,\"crc\":false,\"markers\":true,\"rejected\":false,\"ird\":6,\"ord\":4,"
        "\"messages\":{},\"reads\":{\"outstanding\":1,\"answered\":1,\"nanoseconds\":{\"p50\":12,"
        "\"p90\":12,\"p99\":12,\"most\":12}}}}\n");
    bench_close(b);
    b = bench_open(IW_LINT_JSON);
    start_both(b, 0, 0x20, 1);
    iw_lint_summary(&b->c);
    assert_non_null(strstr(bench_text(b),
                           "\"agreed\":{\"revision\":1,\"rejected\":true,\"crc\":false,"
                           "\"initiator_markers\":false,\"responder_markers\":false,"
                           "\"peer_to_peer\":false},\"initiator\":{\"startup\":true,"
                           "\"whole\":true,\"findings\":0,\"gaps\":0,\"missing\":0,"
                           "\"revision\":1,\"crc\":false,\"markers\":false,"
                           "\"rejected\":false,\"messages\":{}"));
    assert_non_null(strstr(b->text, "\"revision\":1,\"crc\":false,\"markers\":false,"
                                    "\"rejected\":true,\"messages\":{}"));
    bench_close(b);
}

static const struct iw_capture_counts counts = {
    .frames = 1000,
    .decoded = {[IW_DECODE_TCP] = 9, [IW_DECODE_CUT] = 2, [IW_DECODE_BAD] = 3},
    .incomplete = 4};

static void fill_total(struct bench *b)
{
    b->lint.followed = 5;
    b->lint.early = 7;
    b->lint.findings = 8;
}

static void totals(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    fill_total(b);
    catch_from(STDERR_FILENO);
    iw_lint_total(&b->lint, &counts);
    bench_wrote(b, "");
    b->options.summary = true;
    iw_lint_total(&b->lint, &counts);
    bench_wrote(b, "1000 frames (2 cut, 3 bad, 4 unfinished datagrams), 5 iWARP connections, 8 "
                   "findings\n");
    assert_string_equal(caught(), "");
    b->options.summary = false;
    b->lint.unfollowed = 1;
    catch_from(STDERR_FILENO);
    iw_lint_total(&b->lint, &counts);
    assert_string_equal(caught(), "iwarp: 1 more connection was not followed: no memory\n");
    bench_wrote(b, "");
    bench_close(b);

    b = bench_open(IW_LINT_JSON);
    fill_total(b);
    b->lint.unfollowed = 6;
    catch_from(STDERR_FILENO);
    iw_lint_total(&b->lint, &counts);
    assert_string_equal(caught(), "");
    bench_wrote(b, "{\"type\":\"total\",\"frames\":1000,\"cut\":2,\"bad\":3,"
                   "\"unfinished_datagrams\":4,\"connections\":5,\"not_followed\":6,"
                   "\"closed_early\":7,\"findings\":8}\n");
    bench_close(b);
}

#define TEST(f) cmocka_unit_test_teardown(f, catch_no_more)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_was_seen),
        TEST(what_is_agreed),
        TEST(start_up_frames),
        TEST(messages_are_counted),
        TEST(reads_and_their_times),
        TEST(summaries_as_json),
        TEST(totals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
