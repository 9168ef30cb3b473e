/* SPDX-License-Identifier: BSD-3-Clause */
#include "lone_play.h"

/* --overstrict, one switch at a time: the legal thing that it names is refused, at its octet and
 * with its values, and what lies next to it is taken as without the switch. */

enum { NEAR = 6 };

struct row {
    struct play refused;
    struct {
        unsigned flags;
        const char *steps[PLAY_STEPS];
    } near[NEAR]; /* ends with one that has no step */
};

#define SINK "0000000000001000"
#define Z8 "0000000000000000"
#define Z64 Z8 Z8 Z8 Z8 Z8 Z8 Z8 Z8
#define PART(control, msn, mo) control " 00000000 00000000 " msn " " mo " "
#define NO_CRC " 00000000 "
#define FPDU_1 "0012" SEND(M(1)) NO_CRC
#define READ_FROM(size, stag, to)                                                                  \
    "4141 00000000 00000001 00000001 00000000 aabbccdd 0000000000002000 " size " " stag " " to
#define ATOMIC(opcode, to, compare, mask)                                                          \
    REQUEST_OF(M(1)) opcode " 00000001 SSSS " to " " ONES NIL compare mask
#define HEADER "0012 c140 11223344 " SINK

static const struct row startup[] = {
    {{IW_CHECK_MPA_REV_OLDER, REV_2, {"s " REQ "40010000"}, 17, 1, 2},
     {{REV_2, {"s " REQ "40020000"}},
      {REV_2, {"s " REQ "50020004 00100010"}},
      {0, {"s " REQ "40010000"}},
      {INITIATOR, {"s " REP "40010000"}}}},
    {{IW_CHECK_MPA_REV2_PLAIN, REV_2, {"s " REQ "40020000"}, 16, 0, 1},
     {{REV_2, {"s " REQ "50020004 00100010"}}, {REV_2, {"s " REQ "40010000"}}}},
    {{IW_CHECK_MPA_PD_FULL, 0, {"s " REQ "40010200"}, 18, 512, 0},
     {{0, {"s " REQ "400101ff" Z64 Z64 Z64 Z64 Z64 Z64 Z64 Z8 Z8 Z8 Z8 Z8 Z8 Z8 "00000000000000"}},
      {0, {"s " REQ "40010000"}},
      {REV_2, {"s " REQ "50020004 00100010"}}}},
    {{IW_CHECK_MPA_PD_NONE, 0, {"s " REQ "40010000"}, 18, 0, 1},
     {{0, {"s " REQ "40010001 ab"}},
      {0, {"s " REQ "40010004 00000000"}},
      {REV_2, {"s " REQ "50020005 00100010 ab"}},
      {INITIATOR | REV_2, {"s " REP "50020005 00100010 ab"}}}},
    {{IW_CHECK_MPA_PD_NONE, INITIATOR | REV_2, {"s " REP "50020004 00100010"}, 18, 4, 5},
     {{INITIATOR, {"s " REP "40010001 00"}}}},
    {{IW_CHECK_MPA_RES_BITS, 0, {"s " REQ "48010000"}, 16, 8, 0},
     {{0, {"s " REQ "60010000"}},
      {0, {"s " REQ "d0010000"}},
      {REV_2, {"s " REQ "d0020004 00100010"}},
      {INITIATOR, {"s " REP "60010000"}}}},
    {{IW_CHECK_MPA_RES_BITS, INITIATOR | REV_2, {"s " REP "51020004 00100010"}, 16, 1, 0},
     {{INITIATOR | REV_2, {"s " REP "50020004 00100010"}}}},
    {{IW_CHECK_MPA_REQ_R, 0, {"s " REQ "60010000"}, 16, 1, 0},
     {{0, {"s " REQ "d0010000"}}, {0, {"s " REQ "4f010000"}}, {INITIATOR, {"s " REP "60010000"}}}},
    {{IW_CHECK_MPA_REV1_S, REV_2, {"s " REQ "50010000"}, 16, 1, 0},
     {{REV_2, {"s " REQ "50020004 00100010"}}, {REV_2, {"s " REQ "4f010000"}}}},
    {{IW_CHECK_MPA_RTR_UNASKED, REV_2, {"s " REQ "50020004 40100010"}, 20, 1, 0},
     {{PEER_TO_PEER, {"s " REQ "50020004 c0100010"}},
      {PEER_TO_PEER, {"s " REQ "50020004 8010c010"}},
      {REV_2, {"s " REQ "50020004 3ffe3ffe"}}}},
    {{IW_CHECK_MPA_RTR_UNASKED, INITIATOR | REV_2, {"s " REP "50020004 00104010"}, 22, 4, 0},
     {{INITIATOR | REV_2, {"s " REP "50020004 00100010"}},
      {INITIATOR | PEER_TO_PEER, {"s " REP "50020004 c0104010"}}}},
    {{IW_CHECK_MPA_RTR_EXTRA, INITIATOR | PEER_TO_PEER, {"s " REP "50020004 c0108010"}, 20, 3, 1},
     {{INITIATOR | PEER_TO_PEER, {"s " REP "50020004 c0100010"}},
      {INITIATOR | PEER_TO_PEER, {"s " REP "70020004 c010c010"}},
      {INITIATOR | REV_2, {"s " REP "50020004 00100010"}}}},
    {{IW_CHECK_MPA_IRD_ABOVE, INITIATOR | REV_2, {"s " REP "50020004 00110010"}, 20, 17, 16},
     {{INITIATOR | REV_2, {"s " REP "50020004 00100010"}},
      {INITIATOR | REV_2, {"s " REP "50020004 000f0010"}},
      {INITIATOR | REV_2, {"s " REP "50020004 3fff0010"}},
      {INITIATOR | LEFT_TO_ULP | REV_2, {"s " REP "50020004 3fff3fff"}},
      {INITIATOR | REV_2, {"s " REP "70020004 00110010"}}}},
    {{IW_CHECK_MPA_IRD_BELOW, INITIATOR | REV_2, {"s " REP "50020004 000f0010"}, 20, 15, 16},
     {{INITIATOR | REV_2, {"s " REP "50020004 00100010"}},
      {INITIATOR | REV_2, {"s " REP "50020004 00110010"}},
      {INITIATOR | REV_2, {"s " REP "50020004 3fff0010"}},
      {INITIATOR | LEFT_TO_ULP | REV_2, {"s " REP "50020004 00103fff"}},
      {INITIATOR | REV_2, {"s " REP "70020004 000f0010"}}}},
    {{IW_CHECK_MPA_IRD_UNASKED, INITIATOR | REV_2, {"s " REP "50020004 3fff0010"}, 20, 0x3fff, 16},
     {{INITIATOR | REV_2, {"s " REP "50020004 3ffe0010"}},
      {INITIATOR | REV_2, {"s " REP "50020004 00103fff"}},
      {INITIATOR | LEFT_TO_ULP | REV_2, {"s " REP "50020004 3fff0010"}}}},
    {{IW_CHECK_MPA_ORD_UNASKED, INITIATOR | REV_2, {"s " REP "50020004 00103fff"}, 22, 0x3fff, 16},
     {{INITIATOR | REV_2, {"s " REP "50020004 00100010"}},
      {INITIATOR | REV_2, {"s " REP "50020004 00100000"}},
      {INITIATOR | REV_2, {"s " REP "50020004 3fff0010"}},
      {INITIATOR | LEFT_TO_ULP | REV_2, {"s " REP "50020004 00103fff"}}}},
    {{IW_CHECK_MPA_RESPONDER_EARLY, INITIATOR | RECV, {SEND(M(1)) "61"}, 2, 0, 0},
     {{INITIATOR | RECV | SENDS, {SEND(M(1)) "61"}},
      {INITIATOR | READ, {"c142 SSSS " SINK " 0102030405060708"}},
      {RECV, {SEND(M(1)) "61"}}}},
};

static const struct row framing[] = {
    {{IW_CHECK_MPA_CRC_OFF, RECV, {"x " FPDU_1}, 20, 0, 0xc4e87b58},
     {{RECV, {"x 0012" SEND(M(1)) "587be8c4"}}, {CRC | RECV, {"x " EMPTY_SEND}}}},
    {{IW_CHECK_MPA_MARKER_RSVD, MARKERS | RECV, {"x 00010000 " FPDU_1}, 0, 1, 0},
     {{MARKERS | RECV, {"x 00000000 " FPDU_1}}, {MARKERS | RECV, {"x 00000003 " FPDU_1}}}},
    {{IW_CHECK_MPA_MARKER_LOW, MARKERS | RECV, {"x 00000002 " FPDU_1}, 3, 2, 0},
     {{MARKERS | RECV, {"x 00000000 " FPDU_1}}, {MARKERS | RECV, {"x ffff0000 " FPDU_1}}}},
    {{IW_CHECK_MPA_MARKER_LONE, MARKERS | RECV, {"x 00000000", "F"}, 4, 0, 0},
     {{MARKERS | RECV, {"F"}}, {MARKERS | RECV, {"x 00000000 " FPDU_1, "F"}}, {RECV, {"F"}}}},
    {{IW_CHECK_MPA_PAD, RECV, {"x 0013" SEND(M(1)) "61 000100" NO_CRC}, 22, 1, 0},
     {{RECV, {"x 0013" SEND(M(1)) "61 000000" NO_CRC}},
      {RECV, {"x 0016" SEND(M(1)) "61626364" NO_CRC}},
      {RECV, {"x 0016" SEND(M(1)) "61626364 ffffffff"}}}},
    {{IW_CHECK_MPA_MULPDU, SHORT, {WRITE_TO(SINK) Z64 Z8 Z8 Z8 Z8 Z8 Z8 "000000"}, 2, 129, 128},
     {{SHORT, {WRITE_TO(SINK) Z64 Z8 Z8 Z8 Z8 Z8 Z8 "0000"}},
      {0, {WRITE_TO(SINK) Z64 Z8 Z8 Z8 Z8 Z8 Z8 "000000"}}}},
    {{IW_CHECK_MPA_FPDU_SPLIT, RECV, {"x 0012 4143 0000"}, 6, 0, 0},
     {{RECV, {"x " FPDU_1}},
      {RECV, {"x " FPDU_1 "0012" SEND(M(2)) NO_CRC}},
      {CRC | RECV, {"x " EMPTY_SEND}}}},
    {{IW_CHECK_MPA_FPDU_PACKED, RECV, {"x " FPDU_1 "0012" SEND(M(2)) NO_CRC}, 26, 2, 1},
     {{RECV, {SEND(M(1)), SEND(M(2))}},
      {RECV, {"x 0012 4143 0000", "x 0000 00000000 00000001 00000000 00000000"}},
      {RECV, {"x " FPDU_1 "0012", "x" SEND(M(2)) NO_CRC}}}},
};

static const struct row ddp[] = {
    {{IW_CHECK_DDP_RSVD, RECV, {PART("4543", M(1), M(0))}, 2, 4, 0},
     {{RECV, {PART("4143", M(1), M(0))}},
      {RECV, {PART("4153", M(1), M(0))}},
      {RECV, {"4143 00000001 00000000 00000001 00000000"}}}},
    {{IW_CHECK_DDP_RSVD, 0, {"e140 SSSS " SINK}, 2, 0x20, 0}, {{0, {"c170 SSSS " SINK}}}},
    {{IW_CHECK_DDP_TO_FIT, 0, {"c140 SSSS 0000000000001ffc 61626364"}, 8, 0x1ffc, 0},
     {{0, {"c140 SSSS 0000000000001ffc 616263"}},
      {0, {"c140 SSSS 0000000000001ffb 61626364"}},
      {0, {"c140 SSSS 0000000000002000"}},
      {0, {READ_FROM("00000004", "SSSS", "0000000000001ffc")}}}},
    {{IW_CHECK_DDP_ZERO_TAGGED, 0, {"c140 01020304 " SINK}, 4, 0x01020304, 0},
     {{0, {"c140 SSSS " SINK}},
      {0, {"c140 SSSS " SINK " 61"}},
      {0, {"c140 SSSS 0000000000001fff"}},
      {0, {READ_FROM("00000000", "01020304", SINK)}}}},
    {{IW_CHECK_DDP_ZERO_TAGGED, 0, {"c140 SSSS 0000000000002000"}, 4, OWN_STAG, 0}, {{0, {NULL}}}},
    {{IW_CHECK_DDP_FIT, RECV, {SEND(M(1)) Z8}, 16, 8, 0},
     {{RECV, {SEND(M(1)) "00000000000000"}},
      {RECV, {SEND(M(1))}},
      {RECV, {IMMEDIATE(M(1)) Z8}},
      {RECV, {PART("0143", M(1), M(0)) "61626364", PART("4143", M(1), M(4)) "656667"}}}},
    {{IW_CHECK_DDP_FIT,
      RECV,
      {PART("0143", M(1), M(0)) "61626364", PART("4143", M(1), M(4)) "65666768"},
      44,
      8,
      0},
     {{0, {NULL}}}},
    {{IW_CHECK_DDP_MO_ZERO, RECV, {PART("4143", M(1), M(4)) "61"}, 16, 4, 0},
     {{RECV, {SEND(M(1)) "61"}},
      {RECV, {PART("0143", M(1), M(0)) "61", PART("4143", M(1), M(1)) "62"}},
      {RECV, {PART("0143", M(1), M(0)) "61", PART("4143", M(1), M(5)) "62"}}}},
    {{IW_CHECK_DDP_MO_ORDER,
      RECV,
      {PART("0143", M(1), M(0)) "6162", PART("4143", M(1), M(4)) "63"},
      44,
      4,
      2},
     {{RECV, {PART("0143", M(1), M(0)) "6162", PART("4143", M(1), M(2)) "63"}},
      {RECV, {PART("4143", M(1), M(4)) "61"}},
      {RECV, {SEND(M(1)) "61", SEND(M(2)) "62"}}}},
    {{IW_CHECK_DDP_TO_ORDER,
      0,
      {"8140 SSSS " SINK " 6162", "c140 SSSS 0000000000001004 63"},
      32,
      0x1004,
      0x1002},
     {{0, {"8140 SSSS " SINK " 6162", "c140 SSSS 0000000000001002 63"}},
      {0, {"c140 SSSS " SINK " 6162", "c140 SSSS 0000000000001004 63"}},
      {INITIATOR | READ,
       {"8140 SSSS " SINK " 6162", "c142 SSSS " SINK Z8, "c140 SSSS 0000000000001002 63"}}}},
    {{IW_CHECK_DDP_CONSTANT_UNTAGGED,
      RECV,
      {PART("0143", M(1), M(0)) "6162", PART("4145", M(1), M(2)) "63"},
      31,
      0x45,
      0x43},
     {{RECV, {PART("0143", M(1), M(0)) "6162", PART("4143", M(1), M(2)) "63"}},
      {RECV, {SEND(M(1)) "61", PART("4145", M(2), M(0)) "62"}},
      {RECV,
       {PART("0143", M(1), M(0)) "6162", READ_FROM("00000004", "SSSS", SINK),
        PART("4143", M(1), M(2)) "63"}},
      {RECV, {PART("0143", M(1), M(0)) "6162", "c160 SSSS " SINK, PART("4143", M(1), M(2)) "63"}}}},
    {{IW_CHECK_DDP_CONSTANT_UNTAGGED,
      RECV,
      {"0144 01020304 00000000 00000001 00000000 6162", "4144 SSSS 00000000 00000001 00000002 63"},
      32,
      OWN_STAG,
      0x01020304},
     {{RECV,
       {"0144 SSSS 00000000 00000001 00000000 6162", "4144 SSSS 00000000 00000001 00000002 63"}}}},
    {{IW_CHECK_DDP_CONSTANT_TAGGED,
      0,
      {"8140 SSSS " SINK " 6162", "c160 SSSS 0000000000001002 63"},
      27,
      0x60,
      0x40},
     {{0, {"8140 SSSS " SINK " 6162", "c140 SSSS 0000000000001002 63"}},
      {0, {"c140 SSSS " SINK " 6162", "c160 SSSS 0000000000001002 63"}},
      {0, {"8140 SSSS " SINK " 6162", "c140 01020304 0000000000001002"}},
      {INITIATOR | READ,
       {"8140 SSSS " SINK " 6162", "8142 SSSS " SINK " 61626364", "c140 SSSS 0000000000001002 63",
        "c142 SSSS 0000000000001004 61626364"}}}},
    {{IW_CHECK_DDP_CONSTANT_STAG,
      0,
      {"8140 SSSS " SINK " 6162", "c140 01020304 0000000000001002"},
      28,
      0x01020304,
      OWN_STAG},
     {{0, {"8140 SSSS " SINK " 6162", "c160 SSSS 0000000000001002 63"}},
      {0, {"c140 SSSS " SINK " 6162", "c140 01020304 0000000000001002"}},
      {0, {"8140 SSSS " SINK " 6162", "c140 SSSS 0000000000001008 63"}},
      {INITIATOR | READ_0,
       {"8140 SSSS " SINK " 6162", "c142 01020304 " SINK, "c140 SSSS 0000000000001002 63"}}}},
    {{IW_CHECK_DDP_HALF_CLOSE, SENDS, {"F"}, 0, 0, 0},
     {{0, {"F"}}, {RECV | SENDS, {SEND(M(1)), "F"}}, {INITIATOR | SENDS, {"F"}}}},
};

static const struct row rdmap[] = {
    {{IW_CHECK_RDMAP_RSV, RECV, {PART("4153", M(1), M(0))}, 3, 0x10, 0},
     {{RECV, {PART("4143", M(1), M(0))}},
      {RECV, {PART("7d43", M(1), M(0))}},
      {RECV, {"4143 00000001 00000000 00000001 00000000"}}}},
    {{IW_CHECK_RDMAP_INVALIDATE_FIELD, RECV, {"4143 00000001 00000000 00000001 00000000"}, 4, 1, 0},
     {{RECV, {"4144 SSSS 00000000 00000001 00000000"}},
      {RECV, {SEND(M(1))}},
      {RECV, {PART("7d73", M(1), M(0))}},
      {0, {"c140 00000001 " SINK}}}},
    {{IW_CHECK_RDMAP_INVALIDATE_FIELD,
      0,
      {"4141 12345678 00000001 00000001 00000000 aabbccdd 0000000000002000 00000000 SSSS " SINK},
      4,
      0x12345678,
      0},
     {{0, {READ_FROM("00000000", "SSSS", SINK)}}}},
    {{IW_CHECK_RDMAP_SEND_SE, RECV, {PART("4145", M(1), M(0)) "61"}, 3, 5, 0},
     {{RECV, {SEND(M(1)) "61"}},
      {RECV, {"4144 SSSS 00000000 00000001 00000000 61"}},
      {RECV, {PART("4149", M(1), M(0)) Z8}}}},
    {{IW_CHECK_RDMAP_SEND_INVALIDATE, RECV, {"4146 SSSS 00000000 00000001 00000000 61"}, 3, 6, 0},
     {{RECV, {SEND(M(1)) "61"}}, {RECV, {PART("4145", M(1), M(0)) "61"}}}},
    {{IW_CHECK_RDMAP_SEND_EMPTY, RECV, {SEND(M(1))}, 2, 0, 0},
     {{RECV, {SEND(M(1)) "61"}},
      {RECV, {PART("0143", M(1), M(0)) "61", PART("4143", M(1), M(1))}},
      {RECV, {PART("0143", M(1), M(0)), PART("4143", M(1), M(0)) "61"}},
      {0, {"c140 SSSS " SINK}},
      {0, {READ_FROM("00000000", "SSSS", SINK)}},
      {RECV, {IMMEDIATE(M(1)) Z8}}}},
    {{IW_CHECK_RDMAP_WRITE_EMPTY, 0, {"c140 SSSS " SINK}, 2, 0, 0},
     {{0, {"c140 SSSS " SINK " 61"}},
      {0, {"8140 SSSS " SINK " 61", "c140 SSSS 0000000000001001"}},
      {0, {"8140 SSSS " SINK, "c140 SSSS " SINK " 61"}},
      {RECV, {SEND(M(1))}},
      {INITIATOR | READ_0, {"c142 SSSS " SINK}}}},
    {{IW_CHECK_RDMAP_READ_ZERO, 0, {READ_FROM("00000000", "01020304", SINK)}, 36, 0x01020304, 0},
     {{0, {READ_FROM("00000000", "SSSS", SINK)}},
      {0, {READ_FROM("00000001", "SSSS", SINK)}},
      {0, {"c140 01020304 " SINK}}}},
    {{IW_CHECK_RDMAP_READ_EMPTY, 0, {READ_FROM("00000000", "SSSS", SINK)}, 2, 0, 0},
     {{0, {READ_FROM("00000001", "SSSS", SINK)}}, {0, {"c140 SSSS " SINK}}}},
    {{IW_CHECK_RDMAP_READ_FIT, 0, {READ_FROM("00000010", "SSSS", "0000000000001ff0")}, 32, 16, 0},
     {{0, {READ_FROM("0000000f", "SSSS", "0000000000001ff0")}},
      {0, {READ_FROM("00000010", "SSSS", "0000000000001fef")}},
      {0, {"c140 SSSS 0000000000001ffc 61626364"}},
      {0, {ATOMIC("00000000", "0000000000001ff0", NIL, ONES)}}}},
    {{IW_CHECK_RDMAP_READ_FIT,
      0,
      {ATOMIC("00000002", "0000000000001ff8", NIL, ONES)},
      32,
      0x1ff8,
      0},
     {{0, {NULL}}}},
    {{IW_CHECK_RDMAP_IRD_FULL, REV_2 | DEPTH_1, {READ_FROM("00000004", "SSSS", SINK)}, 12, 1, 1},
     {{REV_2, {READ_FROM("00000004", "SSSS", SINK)}}, {REV_2 | DEPTH_1, {"c140 SSSS " SINK}}}},
    {{IW_CHECK_RDMAP_RESPONSE_EMPTY, INITIATOR | READ_0, {"c142 SSSS " SINK}, 2, 0, 0},
     {{INITIATOR | READ, {"c142 SSSS " SINK Z8}},
      {INITIATOR | READ, {"8142 SSSS " SINK Z8, "c142 SSSS 0000000000001008"}},
      {INITIATOR | READ, {"8142 SSSS " SINK, "c142 SSSS " SINK Z8}},
      {0, {"c140 SSSS " SINK}},
      {RECV, {SEND(M(1))}}}},
    {{IW_CHECK_RDMAP_ATOMIC_RSVD, 0, {ATOMIC("00000010", SINK, NIL, ONES)}, 20, 1, 0},
     {{0, {ATOMIC("00000000", SINK, NIL, ONES)}},
      {0, {ATOMIC("00000002", SINK, NIL, NIL)}},
      {0, {ATOMIC("00000000", SINK, ONES, NIL)}}}},
    {{IW_CHECK_RDMAP_ATOMIC_UNUSED,
      0,
      {ATOMIC("00000000", SINK, "0000000000000001", ONES)},
      56,
      1,
      0},
     {{0, {ATOMIC("00000000", SINK, NIL, ONES)}},
      {0, {ATOMIC("00000002", SINK, ONES, NIL)}},
      {0, {ATOMIC("00000010", SINK, NIL, ONES)}}}},
    {{IW_CHECK_RDMAP_ATOMIC_UNUSED,
      0,
      {ATOMIC("00000000", SINK, NIL, "fffffffffffffffd")},
      64,
      0xfffffffffffffffd,
      UINT64_MAX},
     {{0, {NULL}}}},
    {{IW_CHECK_RDMAP_TERMINATE_RSVD, 0, {TERMINATE "20020001"}, 22, 1, 0},
     {{0, {TERMINATE "20020000"}}, {0, {TERMINATE "1100c000 " HEADER}}}},
};

static const struct {
    const struct row *rows;
    size_t count;
} groups[] = {{startup, sizeof(startup) / sizeof(startup[0])},
              {framing, sizeof(framing) / sizeof(framing[0])},
              {ddp, sizeof(ddp) / sizeof(ddp[0])},
              {rdmap, sizeof(rdmap) / sizeof(rdmap[0])}};

static struct iw_fault play(struct lone *l, enum iw_check check, unsigned flags,
                            const char *const *steps)
{
    play_open(l, flags);
    if (check != IW_CHECK_NONE)
        set(l, IW_SWITCH_OVERSTRICT, iw_check_info(check)->name);
    return play_steps(l, flags, steps);
}

static void assert_taken(const char *name, const char *step, struct iw_fault fault)
{
    if (fault.check != IW_CHECK_NONE)
        fail_msg("%s: %s of %s", name, iw_check_info(fault.check)->name, step);
}

static void play_group(size_t group)
{
    for (size_t i = 0; i < groups[group].count; i++) {
        const struct row *row = &groups[group].rows[i];
        const struct play *r = &row->refused;
        const char *name = iw_check_info(r->check)->name;
        struct lone l;
        assert_taken(name, r->steps[0], play(&l, IW_CHECK_NONE, r->flags, r->steps));
        lone_close(&l);
        play_expect(&l, r, play(&l, r->check, r->flags, r->steps));
        lone_close(&l);
        for (size_t k = 0; k < NEAR && row->near[k].steps[0] != NULL; k++) {
            const char *const *steps = row->near[k].steps;
            assert_taken(name, steps[0], play(&l, r->check, row->near[k].flags, steps));
            lone_close(&l);
        }
    }
}

static void test_startup(void **state)
{
    (void)state;
    play_group(0);
}

static void test_framing(void **state)
{
    (void)state;
    play_group(1);
}

static void test_ddp(void **state)
{
    (void)state;
    play_group(2);
}

static void test_rdmap(void **state)
{
    (void)state;
    play_group(3);
}

/* As many requests as the IRD allows, and one less. */
static void test_ird_full(void **state)
{
    (void)state;
    enum { IRD = 3 };
    for (unsigned count = 1; count <= IRD; count++) {
        struct lone l;
        struct iw_event event;
        struct iw_endpoint_config config = lone_config(IW_MPA_RESPONDER, false);
        config.mpa.ird = IRD;
        open_with(&l, IW_MPA_RESPONDER, config);
        set(&l, IW_SWITCH_OVERSTRICT, "rdmap-ird-full");
        static const char *const reads[] = {READ_4(M(1), TO("000")), READ_4(M(2), TO("000")),
                                            READ_4(M(3), TO("000"))};
        const char *all[IRD + 1] = {NULL};
        for (unsigned i = 0; i < count; i++)
            all[i] = reads[i];
        take_in(&l, all);
        bool fault = iw_endpoint_event(l.ep, &event);
        assert_int_equal(fault, count == IRD);
        if (fault) {
            assert_int_equal(event.fault.check, IW_CHECK_RDMAP_IRD_FULL);
            assert_int_equal(event.fault.pos, 20 + 2 * 52 + 12);
            assert_int_equal(event.fault.got, IRD);
            assert_int_equal(event.fault.want, IRD);
        }
        lone_close(&l);
    }
}

static void test_every_switch_has_a_row(void **state)
{
    (void)state;
    bool seen[IW_CHECK_COUNT] = {false};
    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
        for (size_t i = 0; i < groups[g].count; i++)
            seen[groups[g].rows[i].refused.check] = true;
    for (int c = 1; c < IW_CHECK_COUNT; c++)
        if (!seen[c] && iw_switch_applies(IW_SWITCH_OVERSTRICT, (enum iw_check)c, IW_BOTCH_NONE))
            fail_msg("%s has no row", iw_check_info((enum iw_check)c)->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_startup),  cmocka_unit_test(test_framing),
        cmocka_unit_test(test_ddp),      cmocka_unit_test(test_rdmap),
        cmocka_unit_test(test_ird_full), cmocka_unit_test(test_every_switch_has_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
