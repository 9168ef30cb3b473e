/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversations with and without faults: what must be found where, and nothing else. Each one is
 * played whole, octet by octet and in random pieces, and with one side told. */
#include "observer_support.h"

#define ZERO_16 "00000000000000000000000000000000"
#define ZERO_64 ZERO_16 ZERO_16 ZERO_16 ZERO_16
#define ZERO_256 ZERO_64 ZERO_64 ZERO_64 ZERO_64

#define RESPOND(block) "r " REPLY_KEY "50020004 " block
#define INITIATE(block) "i " REQUEST_KEY "50020004 " block
#define SEND(msn, mo) "43 00000000 00000000 " msn " " mo " "
#define P2P_REQUEST INITIATE("c0028002") /* forms B and C */
#define P2P_REPLY RESPOND("c0028002")
#define ONE "00000001"
#define TWO "00000002"
#define NONE "00000000"

enum { STEPS = 8, EXPECTED = 4 };

struct conversation {
    const char *steps[STEPS];
    struct {
        enum iw_check check;
        unsigned step;   /* of the octet at fault */
        unsigned offset; /* in that step's octets; a ULPDU begins at 2 */
    } expect[EXPECTED];
    enum iw_check near; /* nothing is found; this check has been close */
    unsigned lost;
};

#define FINDS(check, step, offset) .expect = {{check, step, offset}}
#define CLEAN(check) .near = check

static const struct conversation startup[] = {
    {{"i 4d50412049442052657a204672616d65 40010000"}, FINDS(IW_CHECK_MPA_REQ_KEY, 0, 9), .lost = 1},
    {{"i " REPLY_KEY "40010000", REPLY_PLAIN, "I " SEND_1}, FINDS(IW_CHECK_MPA_REQ_KEY, 0, 9)},
    {{"i " REQUEST_KEY "40010000"}, CLEAN(IW_CHECK_MPA_REQ_KEY)},
    {{REQUEST, "r 4d504120494420526570204672616d66 50020000"},
     FINDS(IW_CHECK_MPA_REP_KEY, 1, 15),
     .lost = 2},
    {{REQUEST, REPLY}, CLEAN(IW_CHECK_MPA_REP_KEY)},

    {{"i " REQUEST_KEY "40030000"}, FINDS(IW_CHECK_MPA_REV, 0, 17)},
    {{"i " REQUEST_KEY "c0000000", "r " REPLY_KEY "c0000000"}, CLEAN(IW_CHECK_MPA_REV)},
    {{"i " REQUEST_KEY "c0000000", "r " REPLY_KEY "40010000"}, CLEAN(IW_CHECK_MPA_REV)},
    {{REQUEST_PLAIN, "r " REPLY_KEY "c0000000"}, FINDS(IW_CHECK_MPA_REV, 1, 17)},
    {{REQUEST, "r " REPLY_KEY "50030004 00020002"}, FINDS(IW_CHECK_MPA_REV, 1, 17)},
    {{REQUEST_PLAIN, REPLY_PLAIN}, CLEAN(IW_CHECK_MPA_REV)},
    {{"i " REQUEST_KEY "40020000", "r " REPLY_KEY "40020000"}, CLEAN(IW_CHECK_MPA_REV)},

    {{"i " REQUEST_KEY "40010201"}, FINDS(IW_CHECK_MPA_PD_LENGTH, 0, 18), .lost = 1},
    {{"i " REQUEST_KEY "40010200" ZERO_256 ZERO_256, REPLY_PLAIN, "I " SEND_1},
     CLEAN(IW_CHECK_MPA_PD_LENGTH)},
    {{"i " REQUEST_KEY "50020003 000200"}, FINDS(IW_CHECK_MPA_ENH_LENGTH, 0, 18)},
    {{REQUEST, "r " REPLY_KEY "50020000"}, FINDS(IW_CHECK_MPA_ENH_LENGTH, 1, 18)},
    {{"i " REQUEST_KEY "50010003 000200"}, FINDS(IW_CHECK_MPA_REV1_S, 0, 16)},
    {{"i " REQUEST_KEY "50020005 00020002 ff"}, CLEAN(IW_CHECK_MPA_ENH_LENGTH)},

    {{REQUEST, "r " REPLY_KEY "40020000"}, FINDS(IW_CHECK_MPA_REP_S, 1, 16)},
    {{REQUEST_PLAIN, "r " REPLY_KEY "10020004 00020002"}, FINDS(IW_CHECK_MPA_REP_S, 1, 16)},
    {{"i " REQUEST_KEY "40020000", "r " REPLY_KEY "40010000"}, CLEAN(IW_CHECK_MPA_REP_S)},
    {{"i " REQUEST_KEY "51020004 00020002"}, FINDS(IW_CHECK_MPA_RES_BITS, 0, 16)},
    {{REQUEST, "r " REPLY_KEY "58020004 00020002"}, FINDS(IW_CHECK_MPA_RES_BITS, 1, 16)},
    {{"i " REQUEST_KEY "d0020004 00020002", "r " REPLY_KEY "d0020004 00020002"},
     CLEAN(IW_CHECK_MPA_RES_BITS)},
    {{"i " REQUEST_KEY "60010000"}, FINDS(IW_CHECK_MPA_REQ_R, 0, 16)},
    {{REQUEST_PLAIN, "r " REPLY_KEY "20010000", "r 48454c4c4f", "F", "G"},
     CLEAN(IW_CHECK_MPA_REQ_R)},
    {{REQUEST_PLAIN, "r " REPLY_KEY "10010000"}, FINDS(IW_CHECK_MPA_REV1_S, 1, 16)},
    {{REQUEST}, CLEAN(IW_CHECK_MPA_REV1_S)},

    {{P2P_REQUEST, REPLY}, FINDS(IW_CHECK_MPA_REP_A, 1, 20)},
    {{REQUEST, P2P_REPLY}, FINDS(IW_CHECK_MPA_REP_A, 1, 20)},
    {{P2P_REQUEST, P2P_REPLY}, CLEAN(IW_CHECK_MPA_REP_A)},
    {{INITIATE("80020002"), P2P_REPLY}, FINDS(IW_CHECK_MPA_RTR_OFFER, 0, 20)},
    {{P2P_REQUEST, RESPOND("80020002")}, FINDS(IW_CHECK_MPA_RTR_OFFER, 1, 20)},
    {{P2P_REQUEST, "r " REPLY_KEY "70020004 80020002"}, CLEAN(IW_CHECK_MPA_RTR_OFFER)},
    {{INITIATE("40020002")}, FINDS(IW_CHECK_MPA_RTR_UNASKED, 0, 20)},
    {{REQUEST, RESPOND("00024002")}, FINDS(IW_CHECK_MPA_RTR_UNASKED, 1, 22)},
    {{INITIATE("8002c002"), RESPOND("80024002")}, CLEAN(IW_CHECK_MPA_RTR_UNASKED)},

    {{P2P_REQUEST, P2P_REPLY, "I " WRITE}, FINDS(IW_CHECK_MPA_RTR_FIRST, 2, 3)},
    {{P2P_REQUEST, P2P_REPLY, "I 4143 00000000 00000000 00000001 00000000 ff", "I " SEND_2},
     FINDS(IW_CHECK_MPA_RTR_FIRST, 2, 3)},
    {{P2P_REQUEST, RESPOND("80024002"),
      "I " READ_HEADER(ONE) "00000000 0000000000000000 00000000 00000000 0000000000000000"},
     FINDS(IW_CHECK_MPA_RTR_FIRST, 2, 3)}, /* offered but not asked for */
    {{P2P_REQUEST, P2P_REPLY, "I 0143 00000000 00000000 00000001 00000000"},
     FINDS(IW_CHECK_MPA_RTR_FIRST, 2, 3)}, /* nothing, but not whole */
    {{P2P_REQUEST, P2P_REPLY, "I " SEND_1, "I " WRITE}, CLEAN(IW_CHECK_MPA_RTR_FIRST)},
    {{P2P_REQUEST, P2P_REPLY, "I c140 00000000 0000000000000000"}, CLEAN(IW_CHECK_MPA_RTR_FIRST)},
    {{INITIATE("80024002"), RESPOND("80024002"),
      "I " READ_HEADER(ONE) "00000000 0000000000000000 00000000 00000000 0000000000000000",
      "R c142 00000000 0000000000000000"},
     CLEAN(IW_CHECK_MPA_RTR_FIRST)},
    {{INITIATE("80024002"), RESPOND("c0020002"), "I " TERMINATE "20070000"},
     CLEAN(IW_CHECK_MPA_RTR_FIRST)},

    {{REQUEST, RESPOND("00020003")}, FINDS(IW_CHECK_MPA_ORD_REPLY, 1, 22)},
    {{REQUEST, RESPOND("00020002")}, CLEAN(IW_CHECK_MPA_ORD_REPLY)},
    {{REQUEST, RESPOND("00023fff")}, CLEAN(IW_CHECK_MPA_ORD_REPLY)},
    {{REQUEST, "r " REPLY_KEY "70020004 00020003"}, CLEAN(IW_CHECK_MPA_ORD_REPLY)},
    {{INITIATE("00023fff"), RESPOND("00020002")}, FINDS(IW_CHECK_MPA_IRD_3FFF, 1, 20)},
    {{INITIATE("00023fff"), RESPOND("3fff0002")}, CLEAN(IW_CHECK_MPA_IRD_3FFF)},
    {{INITIATE("3fff0002"), RESPOND("00020002")}, FINDS(IW_CHECK_MPA_ORD_3FFF, 1, 22)},
    {{INITIATE("3fff0002"), RESPOND("00023fff")}, CLEAN(IW_CHECK_MPA_ORD_3FFF)},

    {{REPLY, REQUEST}, FINDS(IW_CHECK_MPA_REPLY_EARLY, 0, 0)},
    {{"r 485454502f312e310d0a0d0a", REQUEST}, CLEAN(IW_CHECK_MPA_REPLY_EARLY)},
    {{REQUEST, "I " SEND_1, "I " SEND_2, REPLY}, FINDS(IW_CHECK_MPA_INITIATOR_EARLY, 1, 0)},
    {{REQUEST, REPLY, "I " SEND_1}, CLEAN(IW_CHECK_MPA_INITIATOR_EARLY)},
    {{REQUEST, REPLY, "R " SEND_1, "R " SEND_2}, FINDS(IW_CHECK_MPA_RESPONDER_EARLY, 2, 0)},
    {{REQUEST, REPLY, "i 0012 4143", "R " SEND_1, "i 00000000 00000000 00000001 00000000 587be8c4",
      "R " SEND_2},
     FINDS(IW_CHECK_MPA_RESPONDER_EARLY, 3, 0)},
    {{REQUEST, REPLY, "i 0013 4143", "R " SEND_1, /* a wrong length: it may have come */
      "i 00000000 00000000 00000001 00000000 587be8c4 00000000"},
     FINDS(IW_CHECK_MPA_CRC, 2, 24)},
    {{REQUEST, REPLY, "R " TERMINATE "20050000"}, CLEAN(IW_CHECK_MPA_RESPONDER_EARLY)},
    {{REQUEST, REPLY, "I " SEND_1, "R " SEND_1}, CLEAN(IW_CHECK_MPA_RESPONDER_EARLY)},
    {{"i 4d50412049442052", "F"}, FINDS(IW_CHECK_MPA_STARTUP_CUT, 1, 0)},
    {{REQUEST, "r " REPLY_KEY "50020004 0002", "G"}, FINDS(IW_CHECK_MPA_STARTUP_CUT, 2, 0)},
    {{"i 474554202f20", "F"}, CLEAN(IW_CHECK_MPA_STARTUP_CUT)},
    {{REQUEST, "F", "G"}, CLEAN(IW_CHECK_MPA_STARTUP_CUT)},
};

#define BEGIN REQUEST, REPLY
#define PLAIN REQUEST_PLAIN, REPLY_PLAIN
#define MARKERS REQUEST_MARKERS, REPLY_MARKERS

static const struct conversation framing[] = {
    {{BEGIN, "X " SEND_1}, FINDS(IW_CHECK_MPA_CRC, 2, 20)},
    {{BEGIN, "X " SEND_1, "I " SEND_3}, FINDS(IW_CHECK_MPA_CRC, 2, 20)},
    {{BEGIN, "X " SEND_1, "X " SEND_2, "I " SEND_3}, FINDS(IW_CHECK_MPA_CRC, 2, 20), .lost = 1},
    {{BEGIN, "I " SEND_1, "Y " SEND_1}, FINDS(IW_CHECK_MPA_CRC, 3, 20)},
    {{BEGIN, "I " SEND_1, "R " SEND_1}, CLEAN(IW_CHECK_MPA_CRC)},
    {{PLAIN, "X " SEND_1}, CLEAN(IW_CHECK_MPA_CRC)},
    /* A wrong CRC explains the pad, too. */
    {{BEGIN, "i 0017" SEND_1 "68656c6c6f 010000 00000000"}, FINDS(IW_CHECK_MPA_CRC, 2, 28)},
    {{MARKERS, "i 00000004 0012" SEND_1 "00000000"}, FINDS(IW_CHECK_MPA_MARKER_POINTER, 2, 2)},
    {{MARKERS, "i 00010000 0012" SEND_1 "00000000"}, FINDS(IW_CHECK_MPA_MARKER_RSVD, 2, 0)},
    {{MARKERS, "i 00000002 0012" SEND_1 "00000000"}, FINDS(IW_CHECK_MPA_MARKER_LOW, 2, 3)},
    {{MARKERS, "i 00000000 0012" SEND_1 "00000000"}, CLEAN(IW_CHECK_MPA_MARKER_POINTER)},
    {{MARKERS, "i 00000000 0012" SEND_1 "00000000"}, CLEAN(IW_CHECK_MPA_MARKER_RSVD)},
    {{MARKERS, "i 00000000 0012" SEND_1 "00000000", "i 0012" SEND_2 "00000000"},
     CLEAN(IW_CHECK_MPA_MARKER_LOW)},
    {{PLAIN, "i 0017" SEND_1 "68656c6c6f 000100 00000000"}, FINDS(IW_CHECK_MPA_PAD, 2, 26)},
    {{PLAIN, "i 0017" SEND_1 "68656c6c6f 000000 00000000"}, CLEAN(IW_CHECK_MPA_PAD)},
    {{PLAIN, "i fd01"}, FINDS(IW_CHECK_MPA_ULPDU_MAX, 2, 0)},
    {{PLAIN, "i fd00"}, CLEAN(IW_CHECK_MPA_ULPDU_MAX)},
    {{PLAIN, "i 0012" SEND_1 "0000", "F"}, FINDS(IW_CHECK_MPA_FIN_INSIDE, 3, 0)},
    {{BEGIN, "I " SEND_1, "r 00", "G"}, FINDS(IW_CHECK_MPA_FIN_INSIDE, 4, 0)},
    {{REQUEST, "i 0012", "F", REPLY},
     .expect = {{IW_CHECK_MPA_INITIATOR_EARLY, 1, 0}, {IW_CHECK_MPA_FIN_INSIDE, 2, 0}}},
    {{PLAIN, "I " SEND_1, "F"}, CLEAN(IW_CHECK_MPA_FIN_INSIDE)},
    {{PLAIN, "F"}, CLEAN(IW_CHECK_MPA_FIN_INSIDE)},
    {{PLAIN, "i 0012", "K"}, CLEAN(IW_CHECK_MPA_FIN_INSIDE)},
    /* Without CRCs, octets out of step show as nonsense. */
    {{PLAIN, "i 0000 0000 00000000", "i 0000 0000 00000000", "i 0000 0000 00000000", "I " SEND_1},
     .expect = {{IW_CHECK_DDP_HEADER_SHORT, 2, 2}, {IW_CHECK_DDP_HEADER_SHORT, 3, 2}},
     .lost = 1},
};

static const struct conversation ddp[] = {
    {{PLAIN, "I c240 11223344 0000000000001000 deadbeef", "I 40" SEND(ONE, NONE),
      "I c240 11223344 0000000000001000 deadbeef"},
     .expect = {{IW_CHECK_DDP_VERSION_TAGGED, 2, 2}, {IW_CHECK_DDP_VERSION_UNTAGGED, 3, 2}},
     .lost = 1},
    {{BEGIN, "I 4143"}, FINDS(IW_CHECK_DDP_HEADER_SHORT, 2, 2)},
    {{BEGIN, "I ", "I " SEND_2}, FINDS(IW_CHECK_DDP_HEADER_SHORT, 2, 2)},
    {{BEGIN, "I c140 00000000 00000000000000"}, FINDS(IW_CHECK_DDP_HEADER_SHORT, 2, 2)},
    {{BEGIN, "I c140 00000000 0000000000000000"}, CLEAN(IW_CHECK_DDP_HEADER_SHORT)},
    {{BEGIN, "I c240 11223344 0000000000001000 deadbeef", "I " SEND_1},
     FINDS(IW_CHECK_DDP_VERSION_TAGGED, 2, 2)},
    {{BEGIN, "I " WRITE}, CLEAN(IW_CHECK_DDP_VERSION_TAGGED)},
    {{BEGIN, "I 40" SEND(ONE, NONE), "I " SEND_2}, FINDS(IW_CHECK_DDP_VERSION_UNTAGGED, 2, 2)},
    {{BEGIN, "I 40" SEND(ONE, NONE), "I 40" SEND(TWO, NONE), "I 40" SEND("00000003", NONE)},
     .expect = {{IW_CHECK_DDP_VERSION_UNTAGGED, 2, 2},
                {IW_CHECK_DDP_VERSION_UNTAGGED, 3, 2},
                {IW_CHECK_DDP_VERSION_UNTAGGED, 4, 2}}},
    {{BEGIN, "I " SEND_1}, CLEAN(IW_CHECK_DDP_VERSION_UNTAGGED)},
    /* Versions 0 go with revision 0 and no other (RFC 5044 Appendix C.1). */
    {{CONSORTIUM, "M 4003 00000000 00000000 00000001 00000000"},
     CLEAN(IW_CHECK_DDP_VERSION_UNTAGGED)},
    {{CONSORTIUM, "M 4103 00000000 00000000 00000001 00000000"},
     FINDS(IW_CHECK_DDP_VERSION_UNTAGGED, 2, 6)},
    {{CONSORTIUM, "M 4043 00000000 00000000 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_VERSION, 2, 7)},
    {{CONSORTIUM, "M c100 00000001 0000000000001000"}, FINDS(IW_CHECK_DDP_VERSION_TAGGED, 2, 6)},
    {{BEGIN, "I 45" SEND(ONE, NONE)}, FINDS(IW_CHECK_DDP_RSVD, 2, 2)},
    {{BEGIN, "I 41" SEND(ONE, NONE)}, CLEAN(IW_CHECK_DDP_RSVD)},
    {{BEGIN, "I 4143 00000000 00000004 00000001 00000000", "I " SEND_1},
     FINDS(IW_CHECK_DDP_QN, 2, 8)},
    {{BEGIN,
      "I 414a 00000000 00000001 00000001 00000000 00000002 5a5a0001 11223344 0000000000001000 "
      "0000000000000002 ffffffffffffffff 0000000000000001 ffffffffffffffff",
      "R 414b 00000000 00000003 00000001 00000000 5a5a0001 0000000000000001"},
     CLEAN(IW_CHECK_DDP_QN)},

    {{BEGIN, "I " SEND_2, "I " SEND_3}, FINDS(IW_CHECK_DDP_MSN, 2, 12)},
    {{BEGIN, "I " SEND_1, "I " SEND_1, "I " SEND_2}, FINDS(IW_CHECK_DDP_MSN, 3, 12)},
    {{BEGIN, "I 01" SEND(ONE, NONE) "01020304", "I 41" SEND(TWO, "00000004"), "I " SEND_3},
     FINDS(IW_CHECK_DDP_MSN, 3, 12)},
    {{BEGIN, "I " SEND_1, "I " READ_1, "I " SEND_2}, CLEAN(IW_CHECK_DDP_MSN)},
    {{BEGIN, "I 41" SEND(ONE, "00000004") "01020304", "I " SEND_2},
     FINDS(IW_CHECK_DDP_MO_ZERO, 2, 16)},
    {{BEGIN, "I 01" SEND(ONE, NONE) "01", "I 41" SEND(ONE, ONE) "02"}, CLEAN(IW_CHECK_DDP_MO_ZERO)},
    {{BEGIN, "I 01" SEND(ONE, NONE) "01020304", "I 01" SEND(ONE, "00000008") "01",
      "I 41" SEND(ONE, "00000009"), "I " SEND_2},
     FINDS(IW_CHECK_DDP_MO_ORDER, 3, 16)},
    {{BEGIN, "I 01" SEND(ONE, NONE) "01020304", "I 41" SEND(ONE, "00000004") "01"},
     CLEAN(IW_CHECK_DDP_MO_ORDER)},
    {{BEGIN, "I 8140 11223344 0000000000001000 deadbeef",
      "I c140 11223344 0000000000001008 deadbeef", "I " WRITE},
     FINDS(IW_CHECK_DDP_TO_ORDER, 3, 8)},
    {{BEGIN, "I 8140 11223344 0000000000001000 deadbeef",
      "I c140 11223344 0000000000001004 deadbeef", "I " WRITE},
     CLEAN(IW_CHECK_DDP_TO_ORDER)},
    {{BEGIN, "I 01" SEND(ONE, NONE) "01020304", "I 4145 00000000 00000000 00000001 00000004"},
     FINDS(IW_CHECK_DDP_CONSTANT_UNTAGGED, 3, 3)},
    {{BEGIN, "I 0144 11223344 00000000 00000001 00000000 01020304",
      "I 4144 11223345 00000000 00000001 00000004 05"},
     FINDS(IW_CHECK_DDP_CONSTANT_UNTAGGED, 3, 4)},
    {{BEGIN, "I 0144 11223344 00000000 00000001 00000000 01020304",
      "I 4144 11223344 00000000 00000001 00000004 05"},
     CLEAN(IW_CHECK_DDP_CONSTANT_UNTAGGED)},
    {{BEGIN, "I 8140 11223344 0000000000001000 deadbeef",
      "I c140 11223345 0000000000001004 deadbeef"},
     FINDS(IW_CHECK_DDP_CONSTANT_STAG, 3, 4)},
    {{BEGIN, "I 8140 11223344 0000000000001000 deadbeef",
      "I c142 11223344 0000000000001004 deadbeef", "I " WRITE},
     FINDS(IW_CHECK_DDP_CONSTANT_TAGGED, 3, 3)},
    {{BEGIN, "I c140 11223344 0000000000001000 deadbeef",
      "I c140 11223345 0000000000001004 deadbeef"},
     CLEAN(IW_CHECK_DDP_CONSTANT_STAG)},
    {{BEGIN, "I 8140 11223344 0000000000001000 deadbeef",
      "I c140 11223344 0000000000001004 deadbeef"},
     CLEAN(IW_CHECK_DDP_CONSTANT_TAGGED)},
    {{BEGIN, "I 01" SEND(ONE, NONE) "01020304", "I " SEND_2, "I " SEND_3},
     FINDS(IW_CHECK_DDP_LAST, 3, 0)},
    {{BEGIN, "I 01" SEND(ONE, NONE) "01020304", "I " SEND_3},
     .expect = {{IW_CHECK_DDP_LAST, 3, 0}, {IW_CHECK_DDP_MSN, 3, 12}}},
    {{BEGIN, "I 8140 11223344 0000000000001000 deadbeef",
      "I c140 55667788 0000000000005000 deadbeef"},
     FINDS(IW_CHECK_DDP_LAST, 3, 0)},
    {{BEGIN, "I 01" SEND(ONE, NONE) "01020304", "I " READ_1, "I " WRITE,
      "I 41" SEND(ONE, "00000004")},
     CLEAN(IW_CHECK_DDP_LAST)},
    {{BEGIN, "I 01" SEND(ONE, NONE), "I 41" SEND(ONE, NONE), "I " SEND_2},
     FINDS(IW_CHECK_DDP_ZERO_SEGMENTS, 3, 0)},
    {{BEGIN, "I 8140 11223344 0000000000001000", "I 8140 11223344 0000000000001000",
      "I c140 11223344 0000000000001000"},
     FINDS(IW_CHECK_DDP_ZERO_SEGMENTS, 4, 0)},
    {{BEGIN, "I 01" SEND(ONE, NONE), "I 41" SEND(ONE, NONE) "01", "I " SEND_2,
      "I c140 11223344 0000000000001000"},
     CLEAN(IW_CHECK_DDP_ZERO_SEGMENTS)},
    {{BEGIN, "I 01" SEND(ONE, NONE) "01020304", "F"}, FINDS(IW_CHECK_DDP_FIN_OPEN, 3, 0)},
    {{BEGIN, "I " SEND_1, "R 8140 11223344 0000000000001000 deadbeef", "G"},
     FINDS(IW_CHECK_DDP_FIN_OPEN, 4, 0)},
    {{BEGIN, "I " SEND_1, "R 8140 11223344 0000000000001000 deadbeef", "F", "G"},
     CLEAN(IW_CHECK_DDP_FIN_OPEN)},
    {{BEGIN, "I 01" SEND(ONE, NONE) "01020304", "R " TERMINATE "20050000", "F"},
     CLEAN(IW_CHECK_DDP_FIN_OPEN)},
    {{BEGIN, "I 01" SEND(ONE, NONE) "01020304", "K"}, CLEAN(IW_CHECK_DDP_FIN_OPEN)},
    {{BEGIN, "I 01" SEND(ONE, NONE) "01020304", "I 41" SEND(ONE, "00000004"), "F"},
     CLEAN(IW_CHECK_DDP_FIN_OPEN)},
};

static const struct conversation rdmap[] = {
    {{BEGIN, "I 4103 00000000 00000000 00000001 00000000", "I " SEND_2},
     FINDS(IW_CHECK_RDMAP_VERSION, 2, 3)},
    {{BEGIN, "I c140 00000000 0000000000000000"}, CLEAN(IW_CHECK_RDMAP_VERSION)},
    {{BEGIN, "I 4153 00000000 00000000 00000001 00000000"}, FINDS(IW_CHECK_RDMAP_RSV, 2, 3)},
    {{BEGIN, "I 4143 00000000 00000000 00000001 00000000"}, CLEAN(IW_CHECK_RDMAP_RSV)},
    {{BEGIN, "I 4183 00000001 00000000 00000001 00000000"},
     .expect = {{IW_CHECK_RDMAP_INVALIDATE_FIELD, 2, 4}, {IW_CHECK_RDMAP_VERSION, 2, 3}}},
    {{BEGIN, "I 414c 00000000 00000000 00000001 00000000", "I " SEND_2},
     FINDS(IW_CHECK_RDMAP_OPCODE, 2, 3)},
    {{BEGIN, "I c14f 00000000 0000000000000000"}, FINDS(IW_CHECK_RDMAP_OPCODE, 2, 3)},
    {{BEGIN, "I 4148 00000000 00000000 00000001 00000000 0102030405060708"},
     CLEAN(IW_CHECK_RDMAP_OPCODE)},
    {{BEGIN, "I c143 00000000 0000000000000000", "I " SEND_2},
     FINDS(IW_CHECK_RDMAP_OPCODE_TAGGED, 2, 3)},
    {{BEGIN, "I 4142 00000000 00000000 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_OPCODE_TAGGED, 2, 3)},
    {{BEGIN, "I " SEND_1, "R " WRITE}, CLEAN(IW_CHECK_RDMAP_OPCODE_TAGGED)},
    {{BEGIN, "I 4143 00000000 00000001 00000001 00000000", "I " SEND_2, "I " READ_1},
     FINDS(IW_CHECK_RDMAP_OPCODE_QUEUE, 2, 8)},
    {{BEGIN, "I " READ_1, "I " SEND_1}, CLEAN(IW_CHECK_RDMAP_OPCODE_QUEUE)},
    {{BEGIN, "I 4145 00000001 00000000 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_INVALIDATE_FIELD, 2, 4)},
    {{BEGIN, "I 4144 00000001 00000000 00000001 00000000"}, CLEAN(IW_CHECK_RDMAP_INVALIDATE_FIELD)},

    {{BEGIN, "I " READ_HEADER(ONE) "aabbccdd 0000000000002000 00000040 11223344 00000000",
      "R " RESPONSE_1},
     FINDS(IW_CHECK_RDMAP_READ_LENGTH, 2, 20)},
    {{BEGIN, "I " READ_1 "00"}, FINDS(IW_CHECK_RDMAP_READ_LENGTH, 2, 20)},
    {{BEGIN, "I " READ_1}, CLEAN(IW_CHECK_RDMAP_READ_LENGTH)},
    {{BEGIN, "I 0141 00000000 00000001 00000001 00000000 aabbccdd 0000000000002000 00000040",
      "I 4141 00000000 00000001 00000001 00000010 11223344 0000000000001000", "R " RESPONSE_1},
     CLEAN(IW_CHECK_RDMAP_READ_LENGTH)}, /* OP-67 */
    {{BEGIN, "I " READ_1, "I " READ_2, "I " READ_3}, FINDS(IW_CHECK_RDMAP_IRD, 4, 0)},
    {{BEGIN, "I " SEND_1, "R " READ_1, "R " READ_2, "I 8142 aabbccdd 0000000000002000 " OCTETS_16,
      "R " READ_3},
     FINDS(IW_CHECK_RDMAP_IRD, 6, 0)}, /* half answered is not answered */
    {{BEGIN, "I " READ_1, "I " READ_2, "R " RESPONSE_1, "I " READ_3}, CLEAN(IW_CHECK_RDMAP_IRD)},
    {{PLAIN, "I " READ_1, "I " READ_2, "I " READ_3}, CLEAN(IW_CHECK_RDMAP_IRD)},
    {{REQUEST, RESPOND("3fff0002"), "I " READ_1, "I " READ_2, "I " READ_3},
     CLEAN(IW_CHECK_RDMAP_IRD)},
    {{BEGIN, "I " SEND_1, "R " RESPONSE_1}, FINDS(IW_CHECK_RDMAP_RESPONSE_UNSOLICITED, 3, 0)},
    {{BEGIN, "I " READ_1, "R " RESPONSE_1, "R " RESPONSE_1},
     FINDS(IW_CHECK_RDMAP_RESPONSE_UNSOLICITED, 4, 0)},
    {{BEGIN, "I " READ_1, "R " RESPONSE_1}, CLEAN(IW_CHECK_RDMAP_RESPONSE_UNSOLICITED)},
    {{BEGIN, "I " READ_1, "R c142 aabbcc00 0000000000002000 " OCTETS_64, "I " READ_2,
      "R " RESPONSE_2},
     FINDS(IW_CHECK_RDMAP_RESPONSE_STAG, 3, 4)},
    {{BEGIN, "I " READ_1, "I " READ_2, "R " RESPONSE_2, "R " RESPONSE_1},
     FINDS(IW_CHECK_RDMAP_RESPONSE_STAG, 4, 4)}, /* in the wrong order */
    {{BEGIN, "I " READ_1, "I " READ_2, "R " RESPONSE_1, "R " RESPONSE_2},
     CLEAN(IW_CHECK_RDMAP_RESPONSE_STAG)},
    {{BEGIN, "I " READ_1, "R c142 aabbccdd 0000000000002001 " OCTETS_64},
     FINDS(IW_CHECK_RDMAP_RESPONSE_TO, 3, 8)},
    {{BEGIN, "I " READ_1, "R 8142 aabbccdd 0000000000002000 " OCTETS_16,
      "R c142 aabbccdd 0000000000002020 " OCTETS_16 OCTETS_16 OCTETS_16},
     FINDS(IW_CHECK_RDMAP_RESPONSE_TO, 4, 8)},
    {{BEGIN, "I " READ_1, "R 8142 aabbccdd 0000000000002000 " OCTETS_16,
      "R c142 aabbccdd 0000000000002010 " OCTETS_16 OCTETS_16 OCTETS_16},
     CLEAN(IW_CHECK_RDMAP_RESPONSE_TO)},
    {{BEGIN, "I " READ_1, "R c142 aabbccdd 0000000000002000 " OCTETS_16},
     FINDS(IW_CHECK_RDMAP_RESPONSE_SIZE, 3, 16)},
    {{BEGIN, "I " SEND_1, "I " READ_1, "I " READ_2, "R " RESPONSE_1,
      "R 8142 aabbccde 0000000000003000 0102030405", "R c142 aabbccde 0000000000003005 06"},
     FINDS(IW_CHECK_RDMAP_RESPONSE_PAST, 6, 16)},
    {{BEGIN, "I " READ_1, "R " RESPONSE_1, "I " READ_2, "I " READ_3, "R " RESPONSE_2,
      "R " RESPONSE_3},
     CLEAN(IW_CHECK_RDMAP_RESPONSE_SIZE)},
    {{BEGIN, "I " READ_1, "R " RESPONSE_1}, CLEAN(IW_CHECK_RDMAP_RESPONSE_PAST)},
};

/* ---- RFC 7306 ---- */

#define IMMEDIATE(msn) "4148 00000000 00000000 " msn " 00000000 0102030405060708"
#define ATOMIC_HEADER(msn) "414a 00000000 00000001 " msn " 00000000 "
#define FETCH_ADD(msn, id)                                                                         \
    ATOMIC_HEADER(msn)                                                                             \
    "00000000 " id " 11223344 0000000000001000 0000000000000001 0000000000000000 "                 \
    "0000000000000000 ffffffffffffffff"
#define CMP_SWAP(msn, id)                                                                          \
    ATOMIC_HEADER(msn)                                                                             \
    "00000002 " id " 11223344 0000000000001000 0000000000000002 ffffffffffffffff "                 \
    "0000000000000001 ff00ffffffffffff"
#define ATOMIC_RESPONSE(msn, id) "414b 00000000 00000003 " msn " 00000000 " id " 00000000000000ff"
#define A_1 "5a5a0001"
#define A_2 "5a5a0002"
#define THREE "00000003"

static const struct conversation extensions[] = {
    {{BEGIN, "I 4148 00000000 00000000 00000001 00000000 01020304050607", "I " SEND_2},
     FINDS(IW_CHECK_RDMAP_IMMEDIATE_LENGTH, 2, 20)},
    {{BEGIN, "I 4149 00000000 00000000 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_IMMEDIATE_LENGTH, 2, 20)},
    {{BEGIN, "I " IMMEDIATE(ONE) "09"}, FINDS(IW_CHECK_RDMAP_IMMEDIATE_LENGTH, 2, 20)},
    /* Sends and Immediates share the MSNs of queue 0. */
    {{BEGIN, "I " IMMEDIATE(ONE), "I " SEND_2,
      "I 4149 00000000 00000000 00000003 00000000 0000000000000000", "R " IMMEDIATE(ONE)},
     CLEAN(IW_CHECK_RDMAP_IMMEDIATE_LENGTH)},
    {{BEGIN, "I " SEND_1, "I " IMMEDIATE(ONE)}, FINDS(IW_CHECK_DDP_MSN, 3, 12)},
    {{BEGIN, "I 4148 11223344 00000000 00000001 00000000 0102030405060708"},
     FINDS(IW_CHECK_RDMAP_INVALIDATE_FIELD, 2, 4)},
    {{BEGIN, "I 4148 00000000 00000001 00000001 00000000 0102030405060708"},
     FINDS(IW_CHECK_RDMAP_OPCODE_QUEUE, 2, 8)},
    {{BEGIN, "I c149 00000000 0000000000000000"}, FINDS(IW_CHECK_RDMAP_OPCODE_TAGGED, 2, 3)},

    {{BEGIN, "I " FETCH_ADD(ONE, A_1) "00", "R " ATOMIC_RESPONSE(ONE, A_1)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_LENGTH, 2, 20)},
    {{BEGIN, "I " ATOMIC_HEADER(ONE) "00000000 5a5a0001", "I " FETCH_ADD(TWO, A_2)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_LENGTH, 2, 20)},
    {{BEGIN,
      "I 014a 00000000 00000001 00000001 00000000 00000002 5a5a0001 11223344 0000000000001000",
      "I 414a 00000000 00000001 00000001 00000014 0000000000000002 ffffffffffffffff "
      "0000000000000001 ff00ffffffffffff",
      "R " ATOMIC_RESPONSE(ONE, A_1)},
     CLEAN(IW_CHECK_RDMAP_ATOMIC_LENGTH)},
    {{BEGIN, "I " ATOMIC_HEADER(
                 ONE) "00000001 5a5a0001 11223344 0000000000001000 "
                      "0000000000000001 ffffffffffffffff 0000000000000000 ffffffffffffffff"},
     FINDS(IW_CHECK_RDMAP_ATOMIC_OPCODE, 2, 20)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "I " CMP_SWAP(TWO, A_2)},
     CLEAN(IW_CHECK_RDMAP_ATOMIC_OPCODE)},
    {{BEGIN, "I " ATOMIC_HEADER(
                 ONE) "00000012 5a5a0001 11223344 0000000000001000 "
                      "0000000000000001 ffffffffffffffff 0000000000000001 ffffffffffffffff"},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RSVD, 2, 20)},
    {{BEGIN, "I " CMP_SWAP(ONE, A_1)}, CLEAN(IW_CHECK_RDMAP_ATOMIC_RSVD)},
    {{BEGIN, "I " ATOMIC_HEADER(
                 ONE) "00000000 5a5a0001 11223344 0000000000001000 "
                      "0000000000000001 0000000000000000 0000000000000001 ffffffffffffffff"},
     FINDS(IW_CHECK_RDMAP_ATOMIC_UNUSED, 2, 56)},
    {{BEGIN, "I " ATOMIC_HEADER(
                 ONE) "00000000 5a5a0001 11223344 0000000000001000 "
                      "0000000000000001 0000000000000000 0000000000000000 0000000000000000"},
     FINDS(IW_CHECK_RDMAP_ATOMIC_UNUSED, 2, 64)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1)}, CLEAN(IW_CHECK_RDMAP_ATOMIC_UNUSED)},

    /* Queue 1 and the IRD are shared with Read Requests. */
    {{BEGIN, "I " READ_1, "I " FETCH_ADD(TWO, A_1), "I " CMP_SWAP(THREE, A_2)},
     FINDS(IW_CHECK_RDMAP_IRD, 4, 0)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "I " READ_2, "I " READ_3}, FINDS(IW_CHECK_RDMAP_IRD, 4, 0)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "I " READ_2, "R " ATOMIC_RESPONSE(ONE, A_1),
      "I " CMP_SWAP(THREE, A_2)},
     CLEAN(IW_CHECK_RDMAP_IRD)},
    {{BEGIN, "I " READ_1, "I " FETCH_ADD(ONE, A_1)}, FINDS(IW_CHECK_DDP_MSN, 3, 12)},

    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "R 414b 00000000 00000003 00000001 00000000 5a5a0001",
      "R " ATOMIC_RESPONSE(TWO, A_1)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH, 3, 20)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "R " ATOMIC_RESPONSE(ONE, A_1)},
     CLEAN(IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH)},
    {{BEGIN, "I " SEND_1, "R " ATOMIC_RESPONSE(ONE, A_1)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED, 3, 0)},
    {{BEGIN, "I " READ_1, "R " ATOMIC_RESPONSE(ONE, A_1), "R " RESPONSE_1},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED, 3, 0)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "R " ATOMIC_RESPONSE(ONE, A_1),
      "R " ATOMIC_RESPONSE(TWO, A_1)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED, 4, 0)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "R " ATOMIC_RESPONSE(ONE, A_1), "I " FETCH_ADD(TWO, A_1),
      "R " ATOMIC_RESPONSE(TWO, A_1)},
     CLEAN(IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "R " RESPONSE_1, "R " ATOMIC_RESPONSE(ONE, A_1)},
     FINDS(IW_CHECK_RDMAP_RESPONSE_UNSOLICITED, 3, 0)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "R " ATOMIC_RESPONSE(TWO, A_1)},
     FINDS(IW_CHECK_DDP_MSN, 3, 12)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "R " ATOMIC_RESPONSE(ONE, A_2), "I " FETCH_ADD(TWO, A_2),
      "R " ATOMIC_RESPONSE(TWO, A_2)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_ID, 3, 20)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "I " FETCH_ADD(TWO, A_1), "R " ATOMIC_RESPONSE(ONE, A_1),
      "R " ATOMIC_RESPONSE(TWO, A_1)},
     CLEAN(IW_CHECK_RDMAP_ATOMIC_RESPONSE_ID)},
    /* In the order of the requests, those to reads included. */
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "I " CMP_SWAP(TWO, A_2), "R " ATOMIC_RESPONSE(ONE, A_2),
      "R " ATOMIC_RESPONSE(TWO, A_1)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER, 4, 0)},
    {{BEGIN, "I " READ_1, "I " FETCH_ADD(TWO, A_1), "R " ATOMIC_RESPONSE(ONE, A_1),
      "R " RESPONSE_1},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER, 4, 0)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "I " READ_2, "R " RESPONSE_2,
      "R " ATOMIC_RESPONSE(ONE, A_1)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER, 4, 0)},
    {{BEGIN, "I " READ_1, "I " FETCH_ADD(TWO, A_1), "R 8142 aabbccdd 0000000000002000 " OCTETS_16,
      "R " ATOMIC_RESPONSE(ONE, A_1),
      "R c142 aabbccdd 0000000000002010 " OCTETS_16 OCTETS_16 OCTETS_16},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER, 5, 0)},
    {{BEGIN, "I " READ_1, "I " FETCH_ADD(TWO, A_1), "R " RESPONSE_1, "R " ATOMIC_RESPONSE(ONE, A_1),
      "I " READ_3, "R " RESPONSE_3},
     CLEAN(IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER)},
};

#define DDP_HEADER "0012 c140 11223344 0000000000001000"
#define READ_COPY                                                                                  \
    "002e 4141 00000000 00000001 00000001 00000000 aabbccdd 0000000000002000 00000040 11223344 "   \
    "0000000000001000"

static const struct conversation terminate[] = {
    {{BEGIN, "I " TERMINATE "1100c000 0012 c140"}, FINDS(IW_CHECK_RDMAP_TERMINATE_VALID, 2, 20)},
    {{BEGIN, "I " TERMINATE "200200"}, FINDS(IW_CHECK_RDMAP_TERMINATE_VALID, 2, 20)},
    {{BEGIN, "I " TERMINATE "20080000"}, FINDS(IW_CHECK_RDMAP_TERMINATE_VALID, 2, 21)},
    {{BEGIN, "I " TERMINATE "0105e000" READ_COPY}, FINDS(IW_CHECK_RDMAP_TERMINATE_VALID, 2, 21)},
    {{BEGIN, "I " TERMINATE "1305c000" DDP_HEADER}, CLEAN(IW_CHECK_RDMAP_TERMINATE_VALID)},
    {{BEGIN, "I " TERMINATE "00770000"}, CLEAN(IW_CHECK_RDMAP_TERMINATE_VALID)},
    {{BEGIN, "I " TERMINATE "20020001"}, FINDS(IW_CHECK_RDMAP_TERMINATE_RSVD, 2, 22)},
    {{BEGIN, "I " TERMINATE "20020000"}, CLEAN(IW_CHECK_RDMAP_TERMINATE_RSVD)},
    {{BEGIN, "I " TERMINATE "11000000"}, FINDS(IW_CHECK_RDMAP_TERMINATE_HEADERS, 2, 22)},
    {{BEGIN, "I " TERMINATE "2002c000" DDP_HEADER}, FINDS(IW_CHECK_RDMAP_TERMINATE_HEADERS, 2, 22)},
    {{BEGIN, "I " TERMINATE "0000c000" DDP_HEADER}, FINDS(IW_CHECK_RDMAP_TERMINATE_HEADERS, 2, 22)},
    {{BEGIN, "I " TERMINATE "11004000" DDP_HEADER}, FINDS(IW_CHECK_RDMAP_TERMINATE_HEADERS, 2, 22)},
    {{BEGIN, "I " TERMINATE "0101c000 002e 4141 00000000 00000001 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_TERMINATE_HEADERS, 2, 22)},
    {{BEGIN, "I " TERMINATE "1100c000" DDP_HEADER}, CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)},
    {{BEGIN, "I " TERMINATE "0101e000" READ_COPY}, CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)},
    {{BEGIN, "I " TERMINATE "0206e000" READ_COPY}, CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)},
    {{BEGIN, "I " TERMINATE "0206c000" DDP_HEADER}, CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)},
    {{BEGIN, "I " TERMINATE "02060000"}, CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)},
    {{BEGIN, "I " TERMINATE "10000000"}, CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)},
    {{BEGIN, "I " TERMINATE "0109c000 0012 4144 11223344 00000000 00000002 00000000"},
     CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)}, /* OP-61 */
    {{BEGIN, "I " TERMINATE "02074000 0046 414a 00000000 00000001 00000001 00000000"},
     CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)}, /* OP-84 */
    /* An untagged buffer's error in a tagged segment, and the other way round. */
    {{BEGIN, "I " TERMINATE "1203c000" DDP_HEADER}, FINDS(IW_CHECK_RDMAP_TERMINATE_REASON, 2, 21)},
    {{BEGIN, "I " TERMINATE "1100c000 0012 4143 00000000 00000000 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_TERMINATE_REASON, 2, 21)},
    /* Versions and a QN that the segment has right. */
    {{BEGIN, "I " TERMINATE "1104c000" DDP_HEADER}, FINDS(IW_CHECK_RDMAP_TERMINATE_REASON, 2, 21)},
    {{BEGIN, "I " TERMINATE "1206c000 0012 4143 00000000 00000000 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_TERMINATE_REASON, 2, 21)},
    {{BEGIN, "I " TERMINATE "1201c000 0012 4143 00000000 00000000 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_TERMINATE_REASON, 2, 21)},
    {{BEGIN, "I " TERMINATE "0205c000" DDP_HEADER}, FINDS(IW_CHECK_RDMAP_TERMINATE_REASON, 2, 21)},
    {{BEGIN, "I " TERMINATE "1201c000 0012 4143 00000000 00000001 00000001 00000000"},
     CLEAN(IW_CHECK_RDMAP_TERMINATE_REASON)},
    {{BEGIN, "I " TERMINATE "0205c000 0012 c180 11223344 0000000000001000"},
     CLEAN(IW_CHECK_RDMAP_TERMINATE_REASON)},
    {{BEGIN, "I " TERMINATE "1104c000 0012 c240 11223344 0000000000001000"},
     CLEAN(IW_CHECK_RDMAP_TERMINATE_REASON)},
    /* The wrong MSN is that of the second Send. */
    {{BEGIN, "I " SEND_1, "I " SEND_3,
      "R " TERMINATE "1203c000 0012 4143 00000000 00000000 00000001 00000000"},
     .expect = {{IW_CHECK_DDP_MSN, 3, 12}, {IW_CHECK_RDMAP_TERMINATE_SEGMENT, 4, 24}}},
    {{BEGIN, "I " SEND_1, "I " SEND_3,
      "R " TERMINATE "1203c000 0013 4143 00000000 00000000 00000003 00000000"},
     .expect = {{IW_CHECK_DDP_MSN, 3, 12}, {IW_CHECK_RDMAP_TERMINATE_SEGMENT, 4, 24}}},
    {{BEGIN, "I " SEND_1, "I " SEND_3,
      "R " TERMINATE "1203c000 0012 4143 00000000 00000000 00000003 00000000"},
     FINDS(IW_CHECK_DDP_MSN, 3, 12),
     .near = IW_CHECK_RDMAP_TERMINATE_SEGMENT},
    /* What was legal to receive is not what it is for. */
    {{BEGIN, "I 0143 00000000 00000000 00000001 00000000 aa",
      "I 0143 00000000 00000000 00000001 00000005 bb",
      "I 4143 00000000 00000000 00000001 7f000000 cc",
      "R " TERMINATE "1204c000 0013 4143 00000000 00000000 00000001 7f000000"},
     .expect = {{IW_CHECK_DDP_MO_ORDER, 3, 16}, {IW_CHECK_DDP_MO_ORDER, 4, 16}},
     .near = IW_CHECK_RDMAP_TERMINATE_SEGMENT},
    /* A Read Request in two segments: its receiver may refuse it at the first. */
    {{BEGIN, "I 0141 00000000 00000001 00000001 00000000 aabbccdd",
      "I 4141 00000000 00000001 00000001 00000004 00000000",
      "R " TERMINATE "02ffc000 0016 0141 00000000 00000001 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_READ_LENGTH, 3, 20),
     .near = IW_CHECK_RDMAP_TERMINATE_SEGMENT},
    /* Whoever answers what was asked behind an error has not ended at the error. */
    {{BEGIN, "I " SEND_1, "I " SEND_3, "I " READ_1, "I " READ_2, "R " RESPONSE_1, "R " RESPONSE_2},
     .expect = {{IW_CHECK_DDP_MSN, 3, 12}, {IW_CHECK_RDMAP_TERMINATE_STOP, 6, 0}}},
    {{BEGIN, "I " SEND_1, "I " SEND_3, "I " FETCH_ADD(ONE, A_1), "R " ATOMIC_RESPONSE(ONE, A_1)},
     .expect = {{IW_CHECK_DDP_MSN, 3, 12}, {IW_CHECK_RDMAP_TERMINATE_STOP, 5, 0}}},
    {{BEGIN, "I " SEND_1, "I " READ_1, "I " SEND_3, "R " RESPONSE_1},
     FINDS(IW_CHECK_DDP_MSN, 4, 12),
     .near = IW_CHECK_RDMAP_TERMINATE_STOP},
    {{REQUEST, RESPOND("00010002"), "I " READ_1, "I " READ_2, "I " READ_3, "R " RESPONSE_1,
      "R " RESPONSE_2, "R " RESPONSE_3},
     FINDS(IW_CHECK_RDMAP_IRD, 3, 0),
     .near = IW_CHECK_RDMAP_TERMINATE_STOP},
    {{BEGIN, "I " TERMINATE "20020000", "I " SEND_1, "I " SEND_1, "X " SEND_1},
     FINDS(IW_CHECK_RDMAP_TERMINATE_LAST, 3, 0)},
    {{BEGIN, "I " SEND_1, "I " TERMINATE "20020000", "R " SEND_1, "F", "G"},
     CLEAN(IW_CHECK_RDMAP_TERMINATE_LAST)},
    {{BEGIN, "I " TERMINATE "20020000", "I 4147 00000000 00000002 00000002 00000000 20020000",
      "I " SEND_1},
     FINDS(IW_CHECK_RDMAP_TERMINATE_ONCE, 3, 0)},
    {{BEGIN, "I " TERMINATE "20020000", "R " TERMINATE "20020000", "F", "G"},
     CLEAN(IW_CHECK_RDMAP_TERMINATE_ONCE)},
};

static const struct {
    const struct conversation *rows;
    size_t count;
} groups[] = {{startup, sizeof startup / sizeof startup[0]},
              {framing, sizeof framing / sizeof framing[0]},
              {ddp, sizeof ddp / sizeof ddp[0]},
              {rdmap, sizeof rdmap / sizeof rdmap[0]},
              {terminate, sizeof terminate / sizeof terminate[0]},
              {extensions, sizeof extensions / sizeof extensions[0]}};

static bool of_responder(const char *step)
{
    return strchr("rRYGL", step[0]) != NULL;
}

static void play(const struct conversation *c, struct rig *rig, uint64_t *starts)
{
    for (unsigned i = 0; i < STEPS && c->steps[i]; i++) {
        rig_step(rig, c->steps[i]);
        starts[i] = rig->start[of_responder(c->steps[i])];
    }
}

static void check_findings(const struct conversation *c, const struct rig *rig,
                           const uint64_t *starts)
{
    size_t found = rig_count(rig, IW_OBSERVED_FINDING);

    for (size_t i = 0; i < EXPECTED; i++) {
        if (c->expect[i].check == IW_CHECK_NONE || i >= found) {
            if (c->expect[i].check == IW_CHECK_NONE && i >= found)
                break;
            print_error("step %s: finding %zu of %zu: %s instead of %s\n", c->steps[2], i, found,
                        i < found
                            ? iw_check_info(rig_get(rig, IW_OBSERVED_FINDING, i)->fault.check)->name
                            : "nothing",
                        iw_check_info(c->expect[i].check)->name);
            fail();
        }
        const struct seen *s = rig_get(rig, IW_OBSERVED_FINDING, i);
        assert_string_equal(iw_check_info(s->fault.check)->name,
                            iw_check_info(c->expect[i].check)->name);
        assert_int_equal(s->fault.pos, starts[c->expect[i].step] + c->expect[i].offset);
        assert_int_equal(s->side, of_responder(c->steps[c->expect[i].step]));
    }
    assert_int_equal(rig_count(rig, IW_OBSERVED_LOST), c->lost);
}

static void check_same(const struct rig *a, const struct rig *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        assert_memory_equal(&a->seen[i], &b->seen[i], sizeof a->seen[i]);
}

static void play_group(size_t group)
{
    for (size_t k = 0; k < groups[group].count; k++) {
        const struct conversation *c = &groups[group].rows[k];
        uint64_t starts[STEPS] = {0};
        struct rig *whole = rig_new(false, false);

        play(c, whole, starts);
        check_findings(c, whole, starts);
        for (uint32_t round = 0; round < 5; round++) {
            struct rig *parts = rig_new(false, false);
            parts->feeding = round == 0 ? FEED_OCTETS : FEED_SHUFFLED;
            parts->random = round;
            play(c, parts, starts);
            check_same(whole, parts);
            rig_free(parts);
        }
        rig_free(whole);
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

static void test_terminate(void **state)
{
    (void)state;
    play_group(4);
}

static void test_extensions(void **state)
{
    (void)state;
    play_group(5);
}

/* What a side is told to have sent is never held against it. */
static void test_told(void **state)
{
    (void)state;
    for (size_t group = 0; group < sizeof groups / sizeof groups[0]; group++) {
        for (size_t k = 0; k < groups[group].count; k++) {
            for (int told = 0; told < 2; told++) {
                uint64_t starts[STEPS] = {0};
                struct rig *rig = rig_new(told == 0, told == 1);
                play(&groups[group].rows[k], rig, starts);
                for (size_t i = 0; i < rig->n; i++)
                    assert_false(rig->seen[i].kind == IW_OBSERVED_FINDING &&
                                 rig->seen[i].side == (enum iw_side)told);
                rig_free(rig);
            }
        }
    }
}

/* These need context: test_observer_context.c. */
static bool needs_context(enum iw_check check)
{
    return check == IW_CHECK_MPA_CRC_DEFAULT || check == IW_CHECK_MPA_MULPDU_OVER ||
           check == IW_CHECK_MPA_MULPDU_UNDER || check == IW_CHECK_MPA_FPDU_CUT;
}

/* Each check that the observer can find has a row in which it fails and one in which it nearly
 * does. */
static void test_all_checks(void **state)
{
    (void)state;
    bool found[IW_CHECK_COUNT] = {false}, near[IW_CHECK_COUNT] = {false};

    for (size_t group = 0; group < sizeof groups / sizeof groups[0]; group++) {
        for (size_t k = 0; k < groups[group].count; k++) {
            for (size_t i = 0; i < EXPECTED; i++)
                found[groups[group].rows[k].expect[i].check] = true;
            near[groups[group].rows[k].near] = true;
        }
    }
    for (int check = IW_CHECK_NONE + 1; check < IW_CHECK_COUNT; check++) {
        bool can = (iw_check_info((enum iw_check)check)->kinds & IW_KIND_OBSERVER) != 0 &&
                   !needs_context((enum iw_check)check);
        if (found[check] != can || near[check] != can)
            print_error("%s\n", iw_check_info((enum iw_check)check)->name);
        assert_int_equal(found[check], can);
        assert_int_equal(near[check], can);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_startup),   cmocka_unit_test(test_framing),
        cmocka_unit_test(test_ddp),       cmocka_unit_test(test_rdmap),
        cmocka_unit_test(test_terminate), cmocka_unit_test(test_extensions),
        cmocka_unit_test(test_told),      cmocka_unit_test(test_all_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
