/* SPDX-License-Identifier: BSD-3-Clause */
#include "lone_play.h"

/* Every check that the endpoint enforces: the octet at fault, what stands there, and what should.
 * An FPDU begins two octets before its ULPDU; the first of full operation stands at 0. */

#define ZERO_9 "000000000000000000"
#define WRITE_1(to) "c140 SSSS " to " aa"
#define READ_OF(msn, size, stag, to)                                                               \
    "4141 00000000 00000001 " msn " 00000000 aabbccdd 0000000000002000 " size " " stag " " to
#define ATOMIC(opcode, stag, to)                                                                   \
    REQUEST_OF(M(1)) opcode " 00000001 " stag " " to " " ONES NIL NIL ONES
#define CUT_51 "00000000 00000001 SSSS 0000000000001008 " NIL NIL NIL "ffffffffffffff"
#define RESPONSE(stag, to) "c142 " stag " " to " "
#define SINK "0000000000001000"
#define MO_9 "4143 00000000 00000000 00000001 00000009 aa"

static const struct play startup[] = {
    {IW_CHECK_MPA_REQ_KEY, 0, {"s 4d50412049442052657a"}, 9, 'z', 'q'},
    {IW_CHECK_MPA_REQ_KEY, 0, {"s 47"}, 0, 'G', 'M'},
    {IW_CHECK_MPA_REP_KEY, INITIATOR, {"s " REQ}, 9, 'q', 'p'},
    {IW_CHECK_MPA_REV, 0, {"s " REQ "40090000"}, 17, 9, 1},
    {IW_CHECK_MPA_REV, REV_2, {"s " REQ "50030000"}, 17, 3, 2},
    {IW_CHECK_MPA_REV, INITIATOR, {"s " REP "40020000"}, 17, 2, 1},
    {IW_CHECK_MPA_PD_LENGTH, 0, {"s " REQ "40010201"}, 18, 513, 512},
    {IW_CHECK_MPA_PD_SURPLUS, 0, {"s " REQ "40010000 5a"}, 20, 0x5a, 0},
    {IW_CHECK_MPA_PD_SURPLUS, REV_2, {"s " REQ "50020006 00100010 abcd 5a"}, 26, 0x5a, 0},
    {IW_CHECK_MPA_ENH_LENGTH, REV_2, {"s " REQ "50020003"}, 18, 3, 4},
    {IW_CHECK_MPA_REP_S, INITIATOR | REV_2, {"s " REP "40020000"}, 16, 0, 1},
    {IW_CHECK_MPA_REP_S_UNASKED, INITIATOR | REV_2_PLAIN, {"s " REP "50020004 00100010"}, 16, 1, 0},
    {IW_CHECK_MPA_STARTUP_TIMEOUT, 0, {"s 4d50", "T"}, 2, 0, 0},
    {IW_CHECK_MPA_STARTUP_TIMEOUT, 0, {"s", "T"}, 0, 0, 0},
    {IW_CHECK_MPA_STARTUP_CUT, 0, {"s 4d504120", "F"}, 4, 0, 0},
    {IW_CHECK_MPA_STARTUP_CUT, INITIATOR | REV_2, {"s " REP "50020004 00", "F"}, 21, 0, 0},
    /* It has Send alone (1); the Reply names Write (2), or Read (4). */
    {IW_CHECK_MPA_RTR_MATCH, INITIATOR | PEER_TO_PEER, {"s " REP "50020004 80108010"}, 20, 2, 1},
    {IW_CHECK_MPA_RTR_MATCH, INITIATOR | PEER_TO_PEER, {"s " REP "50020004 80104010"}, 20, 4, 1},
    /* No form, Send, for which forms (Send) are agreed. */
    {IW_CHECK_MPA_RTR_FIRST, PEER_TO_PEER, {WRITE_1(SINK)}, 3, 0, 1},
    {IW_CHECK_MPA_RTR_FIRST, PEER_TO_PEER, {"c140 SSSS " SINK}, 3, 2, 1},
    {IW_CHECK_MPA_RTR_FIRST, PEER_TO_PEER | RECV, {SEND(M(1)) "aa"}, 3, 0, 1},
    {IW_CHECK_MPA_IRD_SHORT, INITIATOR | REV_2 | DEPTH_1, {"s " REP "50020004 00010005"}, 22, 5, 1},
};

static const struct play framing[] = {
    {IW_CHECK_MPA_CRC,
     CRC,
     {"x 00124143 00000000 00000000 00000001 00000000 587be8c5"},
     20,
     0xc5e87b58,
     0xc4e87b58},
    {IW_CHECK_MPA_CRC,
     CRC | RECV,
     {"x " EMPTY_SEND, "x 00124143 00000000 00000000 00000001 00000000 00000000"},
     44,
     0,
     0xc4e87b58},
    {IW_CHECK_MPA_MARKER_POINTER, MARKERS, {"x 00010004 0012" SEND(M(1)) "00000000"}, 2, 4, 0},
    {IW_CHECK_MPA_ULPDU_MAX, 0, {"x fd01"}, 0, 0xfd01, 0xfd00},
    {IW_CHECK_MPA_ULPDU_MAX, RECV, {SEND(M(1)), "x ffff"}, 24, 0xffff, 0xfd00},
    {IW_CHECK_MPA_LOCAL, NO_POOL, {SEND(M(1))}, 0, 0, 0},
    {IW_CHECK_MPA_LOST, RECV, {SEND(M(1)), "L"}, 24, 0, 0},
    {IW_CHECK_MPA_FIN_INSIDE, 0, {"x 0012414300", "F"}, 5, 0, 0},
    {IW_CHECK_DDP_AFTER_CLOSE, RECV, {SEND(M(1)), "F", "x 5b"}, 24, 0x5b, 0},
};

static const struct play ddp[] = {
    {IW_CHECK_DDP_HEADER_SHORT, 0, {""}, 2, 0, 18},
    {IW_CHECK_DDP_HEADER_SHORT, 0, {"c140 00000000 00000000000000"}, 2, 13, 14},
    {IW_CHECK_DDP_HEADER_SHORT, 0, {"4143 00000000 00000000 00000000 000000"}, 2, 17, 18},
    {IW_CHECK_DDP_VERSION_TAGGED, 0, {"c240 SSSS " SINK}, 2, 2, 1},
    {IW_CHECK_DDP_VERSION_UNTAGGED, 0, {"4343 00000000 00000000 00000001 00000000"}, 2, 3, 1},
    {IW_CHECK_DDP_STAG, 0, {"c140 01020304 " SINK " aa"}, 4, 0x01020304, 0},
    {IW_CHECK_DDP_STAG, RECV, {SEND(M(1)), "c140 01020304 " SINK " aa"}, 28, 0x01020304, 0},
    {IW_CHECK_DDP_STAG_PD, ODD_PD, {WRITE_1(SINK)}, 4, OWN_STAG, 0},
    {IW_CHECK_DDP_STAG_STREAM, ODD_STREAM, {WRITE_1(SINK)}, 4, OWN_STAG, 0},
    {IW_CHECK_DDP_STAG_ACCESS, NO_ACCESS, {WRITE_1(SINK)}, 4, OWN_STAG, 0},
    {IW_CHECK_DDP_TO_BASE, 0, {WRITE_1("0000000000000fff")}, 8, 0xfff, 0},
    {IW_CHECK_DDP_TO_BOUNDS, 0, {WRITE_1("0000000000001fff") "bb"}, 8, 0x1fff, 0},
    {IW_CHECK_DDP_TO_WRAP, 0, {WRITE_1(ONES)}, 8, UINT64_MAX, 0},
    {IW_CHECK_DDP_QN, 0, {"4143 00000000 00000004 00000001 00000000"}, 8, 4, 0},
    {IW_CHECK_DDP_QN, 0, {"4141 00000000 12345678 00000001 00000000"}, 8, 0x12345678, 1},
    {IW_CHECK_DDP_NO_BUFFER, 0, {SEND(M(1))}, 12, 1, 0},
    {IW_CHECK_DDP_NO_BUFFER, 0, {IMMEDIATE(M(1)) NIL}, 12, 1, 0},
    {IW_CHECK_DDP_MSN, RECV, {SEND(M(3))}, 12, 3, 1},
    {IW_CHECK_DDP_MSN, RECV, {SEND(M(1)), SEND(M(1))}, 36, 1, 2},
    {IW_CHECK_DDP_MSN, RECV, {IMMEDIATE(M(2)) NIL}, 12, 2, 1},
    {IW_CHECK_DDP_MSN, 0, {READ_OF(M(7), "00000004", "SSSS", SINK)}, 12, 7, 1},
    {IW_CHECK_DDP_MSN, 0, {ADD(M(2), M(1), TO("008"), NIL)}, 12, 2, 1},
    {IW_CHECK_DDP_MSN, INITIATOR | ADD_1, {ANSWER(M(2), M(1), NIL)}, 12, 2, 1},
    {IW_CHECK_DDP_MSN, 0, {"4147 00000000 00000002 00000002 00000000 20020000"}, 12, 2, 1},
    {IW_CHECK_DDP_MO, RECV, {MO_9}, 16, 9, 8},
    {IW_CHECK_DDP_MO, RECV, {"4149 00000000 00000000 00000001 00000008" NIL}, 16, 8, 0},
    {IW_CHECK_DDP_MO,
     0,
     {"4141 00000000 00000001 00000001 0000001c" NIL NIL NIL "00000000"},
     16,
     28,
     0},
    {IW_CHECK_DDP_MO, 0, {"4141 00000000 00000001 00000001 00000004" NIL NIL NIL}, 16, 4, 0},
    {IW_CHECK_DDP_TOO_LONG, RECV, {SEND(M(1)) ZERO_9}, 16, 9, 8},
    {IW_CHECK_DDP_TOO_LONG, RECV, {"4143 00000000 00000000 00000001 00000008 aa"}, 16, 9, 8},
};

static const struct play rdmap[] = {
    {IW_CHECK_RDMAP_VERSION, 0, {"4183 00000000 00000000 00000001 00000000"}, 3, 2, 1},
    {IW_CHECK_RDMAP_OPCODE, 0, {"414c 00000000 00000000 00000001 00000000"}, 3, 12, 0},
    {IW_CHECK_RDMAP_OPCODE_TAGGED, 0, {"c143 SSSS " SINK}, 3, 3, 0},
    {IW_CHECK_RDMAP_OPCODE_QUEUE, 0, {"4143 00000000 00000001 00000001 00000000"}, 8, 1, 0},
    {IW_CHECK_RDMAP_OPCODE_QUEUE, 0, {"4147 00000000 00000001 00000001 00000000"}, 8, 1, 2},
    {IW_CHECK_RDMAP_INVALIDATE_STAG,
     RECV,
     {"4144 0badf00d 00000000 00000001 00000000"},
     4,
     0x0badf00d,
     0},
    {IW_CHECK_RDMAP_INVALIDATE_ASSOC,
     RECV | ODD_PD,
     {"4144 SSSS 00000000 00000001 00000000"},
     4,
     OWN_STAG,
     0},
    {IW_CHECK_RDMAP_INVALIDATE_SHARED,
     RECV | NO_INVALIDATE,
     {"4146 SSSS 00000000 00000001 00000000"},
     4,
     OWN_STAG,
     0},
    {IW_CHECK_RDMAP_READ_LENGTH, 0, {READ_OF(M(1), "00000004", "SSSS", "000000")}, 20, 23, 28},
    {IW_CHECK_RDMAP_READ_LENGTH, 0, {READ_OF(M(1), "00000004", "SSSS", SINK "ff")}, 20, 29, 28},
    {IW_CHECK_RDMAP_READ_STAG, 0, {READ_OF(M(1), "00000004", "0badf00d", SINK)}, 36, 0x0badf00d, 0},
    {IW_CHECK_RDMAP_READ_ASSOC, ODD_PD, {READ_OF(M(1), "00000004", "SSSS", SINK)}, 36, OWN_STAG, 0},
    {IW_CHECK_RDMAP_READ_ASSOC,
     ODD_STREAM,
     {READ_OF(M(1), "00000004", "SSSS", SINK)},
     36,
     OWN_STAG,
     0},
    {IW_CHECK_RDMAP_READ_ACCESS,
     NO_ACCESS,
     {READ_OF(M(1), "00000004", "SSSS", SINK)},
     36,
     OWN_STAG,
     0},
    {IW_CHECK_RDMAP_READ_BASE,
     0,
     {READ_OF(M(1), "00000004", "SSSS", "0000000000002000")},
     40,
     0x2000,
     0},
    {IW_CHECK_RDMAP_READ_BOUNDS, 0, {READ_OF(M(1), "00001001", "SSSS", SINK)}, 32, 0x1001, 0},
    {IW_CHECK_RDMAP_READ_WRAP, 0, {READ_OF(M(1), "00000005", "SSSS", ONES)}, 32, 5, 0},
    /* Two requests at once; the second begins at 52. */
    {IW_CHECK_RDMAP_IRD,
     REV_2 | DEPTH_1,
     {"x 002e" READ_OF(M(1), "00000004", "SSSS",
                       SINK) "00000000 002e" READ_OF(M(2), "00000004", "SSSS", SINK) "00000000"},
     64,
     2,
     1},
    {IW_CHECK_RDMAP_RESPONSE_UNSOLICITED, 0, {RESPONSE("SSSS", SINK)}, 3, 0x42, 0},
    {IW_CHECK_RDMAP_RESPONSE_STAG,
     INITIATOR | READ,
     {RESPONSE("0badf00d", SINK) NIL},
     4,
     0x0badf00d,
     OWN_STAG},
    {IW_CHECK_RDMAP_RESPONSE_TO,
     INITIATOR | READ,
     {RESPONSE("SSSS", "0000000000001004") NIL},
     8,
     0x1004,
     0x1000},
    {IW_CHECK_RDMAP_RESPONSE_SIZE, INITIATOR | READ, {RESPONSE("SSSS", SINK) "aabbcc"}, 16, 3, 8},
    {IW_CHECK_RDMAP_RESPONSE_PAST, INITIATOR | READ, {RESPONSE("SSSS", SINK) ZERO_9}, 16, 9, 8},
    {IW_CHECK_RDMAP_TERMINATE_VALID, 0, {TERMINATE "1100c000"}, 20, 4, 0},
};

static const struct play extensions[] = {
    {IW_CHECK_RDMAP_IMMEDIATE_LENGTH, RECV, {IMMEDIATE(M(1)) "00000000000000"}, 20, 7, 8},
    {IW_CHECK_RDMAP_IMMEDIATE_LENGTH,
     RECV,
     {"0143 00000000 00000000 00000001 00000000 61626364", IMMEDIATE(M(1)) NIL},
     48,
     12,
     8},
    {IW_CHECK_RDMAP_ATOMIC_LENGTH, 0, {REQUEST_OF(M(1)) CUT_51}, 20, 51, 52},
    {IW_CHECK_RDMAP_ATOMIC_OPCODE, 0, {ATOMIC("00000005", "SSSS", SINK)}, 20, 5, 0},
    {IW_CHECK_RDMAP_ATOMIC_ALIGN,
     0,
     {ATOMIC("00000000", "SSSS", "0000000000001001")},
     32,
     0x1001,
     0},
    {IW_CHECK_RDMAP_READ_STAG, 0, {ATOMIC("00000000", "0badf00d", SINK)}, 28, 0x0badf00d, 0},
    {IW_CHECK_RDMAP_READ_ASSOC, ODD_PD, {ATOMIC("00000002", "SSSS", SINK)}, 28, OWN_STAG, 0},
    {IW_CHECK_RDMAP_READ_ACCESS, NO_ACCESS, {ATOMIC("00000000", "SSSS", SINK)}, 28, OWN_STAG, 0},
    {IW_CHECK_RDMAP_READ_BASE, 0, {ATOMIC("00000000", "SSSS", "0000000000002000")}, 32, 0x2000, 0},
    {IW_CHECK_RDMAP_READ_BOUNDS,
     0,
     {ATOMIC("00000000", "SSSS", "0000000000001ff9")},
     32,
     0x1ff9,
     0},
    {IW_CHECK_RDMAP_READ_WRAP,
     0,
     {ATOMIC("00000000", "SSSS", "fffffffffffffff8")},
     32,
     0xfffffffffffffff8,
     0},
    {IW_CHECK_RDMAP_IRD,
     REV_2 | DEPTH_1,
     {"x 002e" READ_OF(M(1), "00000004", "SSSS", SINK) "00000000 0046" REQUEST_OF(M(2))
          ADD_TO(M(1), TO("008"), NIL) "00000000"},
     64,
     2,
     1},
    {IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH,
     INITIATOR | ADD_1,
     {"414b 00000000 00000003 00000001 00000000 00000001 000000"},
     20,
     7,
     12},
    {IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED, INITIATOR, {ANSWER(M(1), M(1), NIL)}, 12, 1, 0},
    {IW_CHECK_RDMAP_ATOMIC_RESPONSE_ID, INITIATOR | ADD_1, {ANSWER(M(1), M(9), NIL)}, 20, 9, 1},
    {IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER,
     INITIATOR | READ | ADD_1,
     {ANSWER(M(1), M(1), NIL)},
     3,
     0x4b,
     0},
};

static void play(const struct play *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct lone l;
        play_open(&l, rows[i].flags);
        play_expect(&l, &rows[i], play_steps(&l, rows[i].flags, rows[i].steps));
        lone_close(&l);
    }
}

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

static void test_startup(void **state)
{
    (void)state;
    play(startup, COUNT(startup));
}

static void test_framing(void **state)
{
    (void)state;
    play(framing, COUNT(framing));
}

static void test_ddp(void **state)
{
    (void)state;
    play(ddp, COUNT(ddp));
}

static void test_rdmap(void **state)
{
    (void)state;
    play(rdmap, COUNT(rdmap));
}

static void test_extensions(void **state)
{
    (void)state;
    play(extensions, COUNT(extensions));
}

/* A source that is gone when its turn comes: the fault stands where the octets in order end. */
static void test_a_source_that_is_gone(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        uint64_t pos;
    } rows[] = {{READ_OF(M(1), "00000004", "SSSS", SINK), 20 + 52},
                {ATOMIC("00000000", "SSSS", SINK), 20 + 76}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lone l;
        struct iw_event event;
        open_lone(&l, IW_MPA_RESPONDER);
        TAKE_IN(&l, rows[i].request);
        assert_int_equal(iw_domain_invalidate(l.domain, l.stag), 0);
        drain(&l);
        assert_true(iw_endpoint_event(l.ep, &event));
        assert_int_equal(event.kind, IW_EVENT_FAULT);
        assert_int_equal(event.fault.check, IW_CHECK_RDMAP_READ_STAG);
        assert_int_equal(event.fault.pos, rows[i].pos);
        assert_int_equal(event.fault.got, l.stag);
        assert_int_equal(event.fault.want, 0);
        lone_close(&l);
    }
}

/* With Markers the position counts them: the FPDU at fault begins after one, or one stands before
 * or between its fields. Markers stand at 0, 512 and 1024. */
static void test_positions_count_markers(void **state)
{
    (void)state;
    static const struct {
        size_t fill; /* octets of the Write before the Send at fault */
        uint64_t pos;
        const char *send;
        enum iw_check check;
    } rows[] = {
        /* With `fill` octets of payload, a multiple of 4, the Write has no pad and takes
         * 4 + 2 + 14 + fill + 4 octets, and 4 more for a Marker at 512. */
        {456, 480 + 12, SEND(M(5)), IW_CHECK_DDP_MSN},
        {464, 488 + 12, SEND(M(5)), IW_CHECK_DDP_MSN},
        {472, 496 + 12, SEND(M(5)), IW_CHECK_DDP_MSN},     /* MSN at 508..511 */
        {476, 500 + 12 + 4, SEND(M(5)), IW_CHECK_DDP_MSN}, /* the Marker at 512 is before MSN */
        {484, 508 + 12 + 4, SEND(M(5)), IW_CHECK_DDP_MSN},
        {488, 512 + 4 + 12, SEND(M(5)), IW_CHECK_DDP_MSN}, /* the FPDU begins after the Marker */
        {492, 520 + 12, SEND(M(5)), IW_CHECK_DDP_MSN},
        {976, 1004 + 12, SEND(M(5)), IW_CHECK_DDP_MSN},
        {976, 1004 + 16, MO_9, IW_CHECK_DDP_MO}, /* MO at 1020..1023 */
        {980, 1008 + 12, SEND(M(5)), IW_CHECK_DDP_MSN},
        {980, 1008 + 16 + 4, MO_9, IW_CHECK_DDP_MO}, /* the Marker at 1024 parts MSN and MO */
        {984, 1012 + 12 + 4, SEND(M(5)), IW_CHECK_DDP_MSN},
        {984, 1012 + 16 + 4, MO_9, IW_CHECK_DDP_MO},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lone l;
        uint8_t octets[1100] = {0};
        play_open(&l, MARKERS | RECV);
        const char *const none[PLAY_STEPS] = {NULL};
        (void)play_steps(&l, MARKERS | RECV, none);
        /* The ULPDU as it is cut by Markers, octet by octet. */
        size_t n = 0, header = 0;
        uint8_t fpdus[2][1100] = {{0}};
        size_t lengths[2] = {0};
        lengths[0] = unhex(&l, "c140 SSSS 0000000000001000", fpdus[0] + 2, 1098) + rows[i].fill;
        lengths[1] = unhex(&l, rows[i].send, fpdus[1] + 2, 1098);
        for (unsigned k = 0; k < 2; k++) {
            fpdus[k][0] = (uint8_t)(lengths[k] >> 8);
            fpdus[k][1] = (uint8_t)lengths[k];
            size_t size = (2 + lengths[k] + 3) / 4 * 4 + 4;
            header = n % 512 == 0 ? n + 4 : n;
            for (size_t j = 0; j < size; j++) {
                if (n % 512 == 0) {
                    size_t back = n < header ? 0 : n - header;
                    octets[n + 2] = (uint8_t)(back >> 8);
                    octets[n + 3] = (uint8_t)back;
                    n += 4;
                }
                octets[n++] = fpdus[k][j];
            }
        }
        struct iw_iov in = {octets, n};
        iw_endpoint_input(l.ep, &in, 1, 0);
        expect_fault(&l, rows[i].check, rows[i].pos);
        lone_close(&l);
    }
}

/* Every check that is enforced has a row, but for the one that is no fault of its own: what is
 * dropped after another. */
static void test_every_check_has_a_row(void **state)
{
    (void)state;
    static const struct {
        const struct play *rows;
        size_t count;
    } groups[] = {{startup, COUNT(startup)},
                  {framing, COUNT(framing)},
                  {ddp, COUNT(ddp)},
                  {rdmap, COUNT(rdmap)},
                  {extensions, COUNT(extensions)}};
    bool seen[IW_CHECK_COUNT] = {false};
    seen[IW_CHECK_RDMAP_TERMINATE_STOP] = true;
    for (size_t g = 0; g < COUNT(groups); g++)
        for (size_t i = 0; i < groups[g].count; i++)
            seen[groups[g].rows[i].check] = true;
    for (int c = 1; c < IW_CHECK_COUNT; c++)
        if (!seen[c] && (iw_check_info((enum iw_check)c)->kinds & IW_KIND_ENDPOINT) != 0)
            fail_msg("%s has no row", iw_check_info((enum iw_check)c)->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_startup),
        cmocka_unit_test(test_framing),
        cmocka_unit_test(test_ddp),
        cmocka_unit_test(test_rdmap),
        cmocka_unit_test(test_extensions),
        cmocka_unit_test(test_a_source_that_is_gone),
        cmocka_unit_test(test_positions_count_markers),
        cmocka_unit_test(test_every_check_has_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
