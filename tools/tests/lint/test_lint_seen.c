/* SPDX-License-Identifier: BSD-3-Clause */
/* What iwarp-lint makes of the observations of a connection, and the memory that it lends. */
#include "lint_bench.h"

enum { TAGGED = 0xc1, UNTAGGED = 0x41 };

static const uint8_t octets[18 + 4] = {0x41, 0x43, [13] = 1};

/* An observation of the responder about octets that frame 12 has; after it frame 30 is read. */
static void see(struct bench *b, struct iw_observation o)
{
    struct iw_lint_side *s = &b->c.side[IW_SIDE_RESPONDER];
    iw_lint_forget(&s->ranges, UINT64_MAX);
    b->lint.frame = 12;
    iw_lint_remember(&b->c, IW_SIDE_RESPONDER, o.pos, o.pos + 10);
    b->lint.frame = 30;
    o.side = IW_SIDE_RESPONDER;
    o.ulpdu = octets;
    o.ulpdu_captured = sizeof(octets);
    iw_lint_seen(&b->c, &o);
}

static void see_message(struct bench *b, uint8_t opcode, uint64_t length)
{
    see(b, (struct iw_observation){.kind = IW_OBSERVED_MESSAGE,
                                   .ddp.rdmap_control = 0x40 | opcode,
                                   .message_length = length});
}

static void counts(struct bench *b, unsigned opcode, struct iw_lint_count n)
{
    const struct iw_lint_count *got = &b->c.side[IW_SIDE_RESPONDER].count[opcode];
    assert_int_equal(got->messages, n.messages);
    assert_int_equal(got->octets, n.octets);
    assert_int_equal(got->least, n.least);
    assert_int_equal(got->most, n.most);
}

static void messages_are_counted(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    see_message(b, IW_OP_SEND, 20);
    counts(b, IW_OP_SEND, (struct iw_lint_count){1, 20, 20, 20});
    see_message(b, IW_OP_SEND, 7);
    counts(b, IW_OP_SEND, (struct iw_lint_count){2, 27, 7, 20});
    see_message(b, IW_OP_SEND, 30);
    see_message(b, IW_OP_SEND, 10);
    counts(b, IW_OP_SEND, (struct iw_lint_count){4, 67, 7, 30});
    see_message(b, IW_OP_WRITE, 7);
    see_message(b, IW_OP_WRITE, 20);
    counts(b, IW_OP_WRITE, (struct iw_lint_count){2, 27, 7, 20});
    see_message(b, 15, UINT32_MAX);
    counts(b, 15, (struct iw_lint_count){1, UINT32_MAX, UINT32_MAX, UINT32_MAX});
    see_message(b, 15, UINT64_C(1) + UINT32_MAX);
    counts(b, 15, (struct iw_lint_count){2, UINT64_C(2) * UINT32_MAX + 1, UINT32_MAX, UINT32_MAX});
    see_message(b, 15, 0);
    counts(b, 15, (struct iw_lint_count){3, UINT64_C(2) * UINT32_MAX + 1, 0, UINT32_MAX});
    bench_wrote(b, "");
    bench_close(b);
}

/* Reads and atomics take the time from the request to its answer of the other side. */
static void reads_are_timed(void **state)
{
    static const struct {
        uint8_t request, response;
    } kinds[] = {{IW_OP_READ_REQUEST, IW_OP_READ_RESPONSE},
                 {IW_OP_ATOMIC_REQUEST, IW_OP_ATOMIC_RESPONSE}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct bench *b = bench_open(IW_LINT_TEXT);
        const struct iw_lint_side *s = &b->c.side[IW_SIDE_RESPONDER];
        const struct iw_observation answer = {.kind = IW_OBSERVED_MESSAGE,
                                              .side = IW_SIDE_INITIATOR,
                                              .ddp.rdmap_control = kinds[i].response};
        /* Only for the summary. */
        see_message(b, kinds[i].request, 0);
        assert_null(s->reads);
        b->options.summary = true;
        see_message(b, IW_OP_SEND, 0);
        see_message(b, IW_OP_WRITE, 0);
        see_message(b, IW_OP_IMMEDIATE, 0);
        assert_null(s->reads);
        b->lint.time = 1000;
        see_message(b, kinds[i].request, 0);
        assert_int_equal(iw_lint_times(s).outstanding, 1);
        assert_null(b->c.side[IW_SIDE_INITIATOR].reads);
        b->lint.time = 1009;
        see_message(b, kinds[i].response, 0);
        assert_int_equal(iw_lint_times(s).answered, 0);
        iw_lint_seen(&b->c, &answer);
        assert_int_equal(iw_lint_times(s).answered, 1);
        assert_int_equal(iw_lint_times(s).most, 9);
        bench_close(b);
    }
}

/* ---- the start-up ---- */

static void the_start_up_is_kept(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    const struct iw_lint_side *s = &b->c.side[IW_SIDE_RESPONDER];
    (void)state;
    assert_false(s->started);
    see(b, (struct iw_observation){.kind = IW_OBSERVED_STARTUP,
                                   .startup = {.flags = 0x50, .revision = 2},
                                   .enhanced = {.ird = 3, .ord = 4}});
    assert_true(s->started);
    assert_int_equal(s->startup.flags, 0x50);
    assert_int_equal(s->startup.revision, 2);
    assert_int_equal(s->enhanced.ird, 3);
    assert_int_equal(s->enhanced.ord, 4);
    assert_false(b->c.side[IW_SIDE_INITIATOR].started);
    bench_wrote(b, "");
    bench_close(b);
}

static void what_is_listed(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    b->options.messages = true;
    see(b, (struct iw_observation){.kind = IW_OBSERVED_STARTUP,
                                   .frame = (const uint8_t *)"MPA ID Req Frame\0\1\0\0",
                                   .frame_length = 20});
    bench_wrote(b, "a.pcap:12: responder 10.0.0.2:2002: mpa request rev 1 pd 0\n");
    see_message(b, IW_OP_SEND, 4);
    bench_wrote(b, "a.pcap:12: responder 10.0.0.2:2002: send L msn 1 mo 0 len 4\n");
    see(b, (struct iw_observation){.kind = IW_OBSERVED_FIN});
    bench_wrote(b, "a.pcap:12: responder 10.0.0.2:2002: fin\n");
    see(b, (struct iw_observation){.kind = IW_OBSERVED_RESET});
    bench_wrote(b, "a.pcap:12: responder 10.0.0.2:2002: reset\n");
    see(b, (struct iw_observation){.kind = IW_OBSERVED_SEGMENT, .payload = octets});
    bench_wrote(b, "");
    bench_close(b);
}

/* ---- segments ---- */

/* A segment of a message that begins in frame 12, at octet 100; its frame is known later, too. */
static void begins(bool listed, const struct iw_observation *o, bool remembered)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    struct iw_observation segment = *o;
    b->options.messages = listed;
    segment.kind = IW_OBSERVED_SEGMENT;
    segment.pos = 100;
    see(b, segment);
    iw_lint_forget(&b->c.side[IW_SIDE_RESPONDER].ranges, UINT64_MAX);
    assert_int_equal(iw_lint_frame(&b->c, IW_SIDE_RESPONDER, 100), remembered ? 12 : 30);
    bench_close(b);
}

static void good_segments_begin_messages(void **state)
{
    const struct iw_fpdu good = {.crc_checked = true, .crc_good = true},
                         bad = {.crc_checked = true, .crc_good = false},
                         open = {.crc_checked = false, .crc_good = false};
    (void)state;
    begins(true, &(struct iw_observation){.payload = octets}, true);
    begins(false, &(struct iw_observation){.payload = octets}, true);
    begins(false, &(struct iw_observation){.payload = octets, .ddp.ddp_control = IW_DDP_L}, false);
    begins(true, &(struct iw_observation){.payload = octets, .ddp.ddp_control = IW_DDP_L}, true);
    begins(true, &(struct iw_observation){.payload = NULL}, false);
    begins(true, &(struct iw_observation){.payload = octets, .fpdu = &good}, true);
    begins(true, &(struct iw_observation){.payload = octets, .fpdu = &bad}, false);
    begins(true, &(struct iw_observation){.payload = octets, .fpdu = &open}, true);
    begins(true, &(struct iw_observation){.payload = NULL, .fpdu = &good}, false);
}

/* The message ends with its MESSAGE, whether that is listed or not. */
static void messages_end(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    struct iw_lint_begun *first = &b->c.side[IW_SIDE_RESPONDER].begun[0];
    (void)state;
    b->options.messages = true;
    see(b, (struct iw_observation){.kind = IW_OBSERVED_SEGMENT, .payload = octets, .pos = 100});
    assert_true(first->open);
    see(b, (struct iw_observation){.kind = IW_OBSERVED_FIN});
    assert_true(first->open);
    see(b, (struct iw_observation){.kind = IW_OBSERVED_STARTUP, .frame = octets});
    assert_true(first->open);
    see_message(b, IW_OP_SEND, 4);
    assert_false(first->open);
    b->options.messages = false;
    see(b, (struct iw_observation){.kind = IW_OBSERVED_SEGMENT, .payload = octets, .pos = 100});
    assert_true(first->open);
    see_message(b, IW_OP_SEND, 4);
    assert_false(first->open);
    bench_close(b);
}

static void octets_that_are_judged_are_forgotten(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    struct iw_lint_side *s = &b->c.side[IW_SIDE_RESPONDER];
    const struct iw_observation segment = {
        .kind = IW_OBSERVED_SEGMENT, .side = IW_SIDE_RESPONDER, .pos = 20};
    (void)state;
    iw_lint_remember(&b->c, IW_SIDE_RESPONDER, 0, 20);
    iw_lint_remember(&b->c, IW_SIDE_RESPONDER, 20, 40);
    iw_lint_seen(&b->c, &segment);
    assert_int_equal(s->ranges.count, 1);
    assert_int_equal(s->ranges.all[0].pos, 20);
    bench_close(b);
}

/* What tagged segments place is collected, if their CRC is good. */
static void tagged_segments_are_extracted(void **state)
{
    static const struct iw_fpdu bad = {.crc_checked = true};
    char path[] = "/tmp/iw-seen-XXXXXX", got[8] = "";
    int fd = mkstemp(path);
    struct bench *b = bench_open(IW_LINT_SARIF);
    struct iw_observation o = {.kind = IW_OBSERVED_SEGMENT,
                               .ddp = {.ddp_control = TAGGED, .rdmap_control = 0x40, .stag = 5},
                               .payload = (const uint8_t *)"abc",
                               .payload_captured = 3};
    (void)state;
    assert_true(fd >= 0);
    b->options.stag = 5;
    b->options.into = path;
    assert_true(iw_lint_extract_begin(&b->lint));
    see(b, o);
    o.payload = (const uint8_t *)"XYZ";
    o.fpdu = &bad;
    see(b, o);
    o.fpdu = NULL;
    o.ddp.ddp_control = UNTAGGED;
    see(b, o);
    assert_int_equal(iw_lint_extract_end(&b->lint), 0);
    assert_int_equal(read(fd, got, sizeof(got)), 3);
    assert_string_equal(got, "abc");
    close(fd);
    unlink(path);
    bench_close(b);
}

/* ---- faults and gaps ---- */

static void findings_are_counted(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    b->options.messages = true;
    see(b, (struct iw_observation){.kind = IW_OBSERVED_FINDING,
                                   .fault = {.check = IW_CHECK_MPA_PAD, .got = 1}});
    bench_wrote(b, "a.pcap:12: MPA-4.1-02 (MUST): pad octets are not zero [mpa-pad; responder "
                   "10.0.0.2:2002, octet 0: 0x1, expected 0x0]\n");
    assert_int_equal(b->c.side[IW_SIDE_RESPONDER].findings, 1);
    assert_int_equal(b->c.side[IW_SIDE_INITIATOR].findings, 0);
    bench_close(b);
}

static void what_is_lost(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    b->options.messages = true;
    see(b, (struct iw_observation){.kind = IW_OBSERVED_LOST, .fault.check = IW_CHECK_MPA_CRC});
    bench_wrote(b, "a.pcap:30: unknown from here: the CRC of an FPDU does not match its octets "
                   "[responder 10.0.0.2:2002]\n");
    assert_true(b->c.side[IW_SIDE_RESPONDER].lost);
    assert_false(b->c.side[IW_SIDE_INITIATOR].lost);
    assert_int_equal(b->c.side[IW_SIDE_RESPONDER].gaps, 0);
    bench_close(b);
}

/* After a gap nobody knows which Reads are outstanding, or where messages began. */
static void gaps_are_counted(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    struct iw_lint_side *s = &b->c.side[IW_SIDE_RESPONDER];
    const struct iw_observation request = {.kind = IW_OBSERVED_MESSAGE,
                                           .side = IW_SIDE_INITIATOR,
                                           .ddp.rdmap_control = IW_OP_READ_REQUEST};
    (void)state;
    b->options.messages = b->options.summary = true;
    for (unsigned gaps = 0; gaps < 3; gaps++) {
        iw_lint_seen(&b->c, &request);
        s->begun[5] = (struct iw_lint_begun){.open = true, .pos = 100, .frame = 9};
        bench_forget(b);
        see(b, (struct iw_observation){.kind = IW_OBSERVED_GAP, .pos = 100, .end = 100 + 5 * gaps});
        assert_int_equal(s->gaps, gaps);
        assert_int_equal(s->missing, gaps == 0 ? 0 : gaps == 1 ? 5 : 15);
        assert_int_equal(iw_lint_frame(&b->c, IW_SIDE_RESPONDER, 2000), 30);
        assert_false(s->begun[5].open);
        see_message(b, IW_OP_READ_RESPONSE, 0);
        assert_int_equal(iw_lint_times(&b->c.side[IW_SIDE_INITIATOR]).answered, 0);
    }
    bench_close(b);
    b = bench_open(IW_LINT_TEXT);
    see(b, (struct iw_observation){.kind = IW_OBSERVED_GAP, .pos = 100, .end = 100});
    bench_wrote(b, "");
    see(b, (struct iw_observation){.kind = IW_OBSERVED_GAP, .pos = 100, .end = 102});
    bench_wrote(b, "a.pcap:30: octets 100 to 101 are not in the capture [responder "
                   "10.0.0.2:2002]\n");
    /* Found again: the gap before was counted. */
    see(b, (struct iw_observation){.kind = IW_OBSERVED_RESYNC, .pos = 102, .end = 102});
    bench_wrote(b, "a.pcap:30: FPDUs found again at octet 102, by a Marker [responder "
                   "10.0.0.2:2002]\n");
    assert_int_equal(b->c.side[IW_SIDE_RESPONDER].gaps, 1);
    bench_close(b);
}

/* ---- memory ---- */

static void memory_is_lent_up_to_a_limit(void **state)
{
    enum { ALL = 12 * 1024 * 1024, PART = ALL / 2 };
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    void *first = iw_lint_lend(&b->c, PART), *second = iw_lint_lend(&b->c, PART);
    assert_non_null(first);
    assert_non_null(second);
    assert_int_equal(b->lint.lent, ALL);
    assert_null(iw_lint_lend(&b->c, 1));
    assert_int_equal(b->lint.lent, ALL);
    iw_lint_give_back(&b->c, first, PART);
    assert_int_equal(b->lint.lent, PART);
    assert_null(iw_lint_lend(&b->c, PART + 1));
    first = iw_lint_lend(&b->c, PART);
    assert_non_null(first);
    iw_lint_give_back(&b->c, first, PART);
    iw_lint_give_back(&b->c, second, PART);
    assert_int_equal(b->lint.lent, 0);
    bench_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_counted),
        cmocka_unit_test(reads_are_timed),
        cmocka_unit_test(the_start_up_is_kept),
        cmocka_unit_test(what_is_listed),
        cmocka_unit_test(good_segments_begin_messages),
        cmocka_unit_test(messages_end),
        cmocka_unit_test(octets_that_are_judged_are_forgotten),
        cmocka_unit_test(tagged_segments_are_extracted),
        cmocka_unit_test(findings_are_counted),
        cmocka_unit_test(what_is_lost),
        cmocka_unit_test(gaps_are_counted),
        cmocka_unit_test(memory_is_lent_up_to_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
