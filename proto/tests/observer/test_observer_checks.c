/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversations with and without faults: the findings that must be made, and where, and no others.
 * Each one is played whole, octet by octet and in random pieces, and with one side told. */
#include "observer_conversations.h"

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
     FINDS(IW_CHECK_RDMAP_IMMEDIATE_LENGTH, 2, 20, 7, 8)},
    {{BEGIN, "I 4149 00000000 00000000 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_IMMEDIATE_LENGTH, 2, 20, 0, 8)},
    {{BEGIN, "I " IMMEDIATE(ONE) "09"}, FINDS(IW_CHECK_RDMAP_IMMEDIATE_LENGTH, 2, 20, 9, 8)},
    /* Sends and Immediates share the MSNs of queue 0. */
    {{BEGIN, "I " IMMEDIATE(ONE), "I " SEND_2,
      "I 4149 00000000 00000000 00000003 00000000 0000000000000000", "R " IMMEDIATE(ONE)},
     CLEAN(IW_CHECK_RDMAP_IMMEDIATE_LENGTH)},
    {{BEGIN, "I " SEND_1, "I " IMMEDIATE(ONE)}, FINDS(IW_CHECK_DDP_MSN, 3, 12, 1, 2)},
    {{BEGIN, "I 4148 11223344 00000000 00000001 00000000 0102030405060708"},
     FINDS(IW_CHECK_RDMAP_INVALIDATE_FIELD, 2, 4, 0x11223344, 0)},
    {{BEGIN, "I 4148 00000000 00000001 00000001 00000000 0102030405060708"},
     FINDS(IW_CHECK_RDMAP_OPCODE_QUEUE, 2, 8, 1, 0)},
    {{BEGIN, "I c149 00000000 0000000000000000"}, FINDS(IW_CHECK_RDMAP_OPCODE_TAGGED, 2, 3, 9, 0)},

    {{BEGIN, "I " FETCH_ADD(ONE, A_1) "00", "R " ATOMIC_RESPONSE(ONE, A_1)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_LENGTH, 2, 20, 53, 52)},
    {{BEGIN, "I " ATOMIC_HEADER(ONE) "00000000 5a5a0001", "I " FETCH_ADD(TWO, A_2)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_LENGTH, 2, 20, 8, 52)},
    {{BEGIN,
      "I 014a 00000000 00000001 00000001 00000000 00000002 5a5a0001 11223344 0000000000001000",
      "I 414a 00000000 00000001 00000001 00000014 0000000000000002 ffffffffffffffff "
      "0000000000000001 ff00ffffffffffff",
      "R " ATOMIC_RESPONSE(ONE, A_1)},
     CLEAN(IW_CHECK_RDMAP_ATOMIC_LENGTH)},
    {{BEGIN, "I " ATOMIC_HEADER(
                 ONE) "00000001 5a5a0001 11223344 0000000000001000 "
                      "0000000000000001 ffffffffffffffff 0000000000000000 ffffffffffffffff"},
     FINDS(IW_CHECK_RDMAP_ATOMIC_OPCODE, 2, 20, 1, 0)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "I " CMP_SWAP(TWO, A_2)},
     CLEAN(IW_CHECK_RDMAP_ATOMIC_OPCODE)},
    {{BEGIN, "I " ATOMIC_HEADER(
                 ONE) "00000012 5a5a0001 11223344 0000000000001000 "
                      "0000000000000001 ffffffffffffffff 0000000000000001 ffffffffffffffff"},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RSVD, 2, 20, 1, 0)},
    {{BEGIN, "I " CMP_SWAP(ONE, A_1)}, CLEAN(IW_CHECK_RDMAP_ATOMIC_RSVD)},
    {{BEGIN, "I " ATOMIC_HEADER(
                 ONE) "00000000 5a5a0001 11223344 0000000000001000 "
                      "0000000000000001 0000000000000000 0000000000000001 ffffffffffffffff"},
     FINDS(IW_CHECK_RDMAP_ATOMIC_UNUSED, 2, 56, 1, 0)},
    {{BEGIN, "I " ATOMIC_HEADER(
                 ONE) "00000000 5a5a0001 11223344 0000000000001000 "
                      "0000000000000001 0000000000000000 0000000000000000 0000000000000000"},
     FINDS(IW_CHECK_RDMAP_ATOMIC_UNUSED, 2, 64, 0, UINT64_MAX)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1)}, CLEAN(IW_CHECK_RDMAP_ATOMIC_UNUSED)},

    /* Queue 1 and the IRD are shared with Read Requests. */
    {{BEGIN, "I " READ_1, "I " FETCH_ADD(TWO, A_1), "I " CMP_SWAP(THREE, A_2)},
     FINDS(IW_CHECK_RDMAP_IRD, 4, 0, 3, 2)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "I " READ_2, "I " READ_3},
     FINDS(IW_CHECK_RDMAP_IRD, 4, 0, 3, 2)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "I " READ_2, "R " ATOMIC_RESPONSE(ONE, A_1),
      "I " CMP_SWAP(THREE, A_2)},
     CLEAN(IW_CHECK_RDMAP_IRD)},
    {{BEGIN, "I " READ_1, "I " FETCH_ADD(ONE, A_1)}, FINDS(IW_CHECK_DDP_MSN, 3, 12, 1, 2)},

    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "R 414b 00000000 00000003 00000001 00000000 5a5a0001",
      "R " ATOMIC_RESPONSE(TWO, A_1)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH, 3, 20, 4, 12)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "R " ATOMIC_RESPONSE(ONE, A_1)},
     CLEAN(IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1),
      "R 014b 00000000 00000003 00000001 00000000 5a5a0001 00000000000000ff", "G"},
     FINDS(IW_CHECK_DDP_LAST, 4, 0, 0, 0)},
    {{BEGIN,
      "I 014a 00000000 00000001 00000001 00000000 00000000 5a5a0001 11223344 0000000000001000 "
      "0000000000000001 0000000000000000 0000000000000000 ffffffffffffffff",
      "F"},
     FINDS(IW_CHECK_DDP_LAST, 3, 0, 0, 0)},
    {{BEGIN, "I " SEND_1, "R " ATOMIC_RESPONSE(ONE, A_1)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED, 3, 0, 0x5a5a0001, 0)},
    {{BEGIN, "I " READ_1, "R " ATOMIC_RESPONSE(ONE, A_1), "R " RESPONSE_1},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED, 3, 0, 0x5a5a0001, 0)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "R " ATOMIC_RESPONSE(ONE, A_1),
      "R " ATOMIC_RESPONSE(TWO, A_1)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED, 4, 0, 0x5a5a0001, 0)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "R " ATOMIC_RESPONSE(ONE, A_1), "I " FETCH_ADD(TWO, A_1),
      "R " ATOMIC_RESPONSE(TWO, A_1)},
     CLEAN(IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "R " RESPONSE_1, "R " ATOMIC_RESPONSE(ONE, A_1)},
     FINDS(IW_CHECK_RDMAP_RESPONSE_UNSOLICITED, 3, 0, 0, 0)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "R " ATOMIC_RESPONSE(TWO, A_1)},
     FINDS(IW_CHECK_DDP_MSN, 3, 12, 2, 1)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "R " ATOMIC_RESPONSE(ONE, A_2), "I " FETCH_ADD(TWO, A_2),
      "R " ATOMIC_RESPONSE(TWO, A_2)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_ID, 3, 20, 0x5a5a0002, 0x5a5a0001)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "I " FETCH_ADD(TWO, A_1), "R " ATOMIC_RESPONSE(ONE, A_1),
      "R " ATOMIC_RESPONSE(TWO, A_1)},
     CLEAN(IW_CHECK_RDMAP_ATOMIC_RESPONSE_ID)},
    /* In the order of the requests, those to reads included. */
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "I " CMP_SWAP(TWO, A_2), "R " ATOMIC_RESPONSE(ONE, A_2),
      "R " ATOMIC_RESPONSE(TWO, A_1)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER, 4, 0, 1, 0)},
    {{BEGIN, "I " READ_1, "I " FETCH_ADD(TWO, A_1), "R " ATOMIC_RESPONSE(ONE, A_1),
      "R " RESPONSE_1},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER, 4, 0, 1, 0)},
    {{BEGIN, "I " FETCH_ADD(ONE, A_1), "I " READ_2, "R " RESPONSE_2,
      "R " ATOMIC_RESPONSE(ONE, A_1)},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER, 4, 0, 1, 0)},
    {{BEGIN, "I " READ_1, "I " FETCH_ADD(TWO, A_1), "R 8142 aabbccdd 0000000000002000 " OCTETS_16,
      "R " ATOMIC_RESPONSE(ONE, A_1),
      "R c142 aabbccdd 0000000000002010 " OCTETS_16 OCTETS_16 OCTETS_16},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER, 5, 0, 0, 0)},
    {{BEGIN, "I " READ_1, "I " FETCH_ADD(TWO, A_1), "R " RESPONSE_1, "R " ATOMIC_RESPONSE(ONE, A_1),
      "I " READ_3, "R " RESPONSE_3},
     CLEAN(IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER)},
};

#define DDP_HEADER "0012 c140 11223344 0000000000001000"
#define READ_COPY                                                                                  \
    "002e 4141 00000000 00000001 00000001 00000000 aabbccdd 0000000000002000 00000040 11223344 "   \
    "0000000000001000"

static const struct conversation terminate[] = {
    {{BEGIN, "I " TERMINATE "1100c000 0012 c140"},
     FINDS(IW_CHECK_RDMAP_TERMINATE_VALID, 2, 20, 8, 0)},
    {{BEGIN, "I " TERMINATE "200200"}, FINDS(IW_CHECK_RDMAP_TERMINATE_VALID, 2, 20, 3, 0)},
    {{BEGIN, "I " TERMINATE "20080000"}, FINDS(IW_CHECK_RDMAP_TERMINATE_VALID, 2, 21, 0x2008, 0)},
    {{BEGIN, "I " TERMINATE "0105e000" READ_COPY},
     FINDS(IW_CHECK_RDMAP_TERMINATE_VALID, 2, 21, 0x0105, 0)},
    {{BEGIN, "I " TERMINATE "1305c000" DDP_HEADER}, CLEAN(IW_CHECK_RDMAP_TERMINATE_VALID)},
    {{BEGIN, "I " TERMINATE "00770000"}, CLEAN(IW_CHECK_RDMAP_TERMINATE_VALID)},
    {{BEGIN, "I " TERMINATE "20020001"}, FINDS(IW_CHECK_RDMAP_TERMINATE_RSVD, 2, 22, 1, 0)},
    {{BEGIN, "I " TERMINATE "20020000"}, CLEAN(IW_CHECK_RDMAP_TERMINATE_RSVD)},
    {{BEGIN, "I " TERMINATE "11000300" DDP_HEADER},
     FINDS(IW_CHECK_RDMAP_TERMINATE_REVERSED, 2, 20, 0x11000300, 0x1100c000)},
    {{BEGIN, "I " TERMINATE "1100c000" DDP_HEADER}, CLEAN(IW_CHECK_RDMAP_TERMINATE_REVERSED)},
    /* The rest is judged as it was meant. */
    {{BEGIN, "I " TERMINATE "40400300" DDP_HEADER},
     .expect = {{IW_CHECK_RDMAP_TERMINATE_REVERSED, 2, 20, 0x40400300, 0x0440c000},
                {IW_CHECK_RDMAP_TERMINATE_VALID, 2, 21, 0x0440, 0}}},
    {{BEGIN, "I " TERMINATE "40400300 0012 c140"},
     .expect = {{IW_CHECK_RDMAP_TERMINATE_VALID, 2, 21, 0x4040, 0},
                {IW_CHECK_RDMAP_TERMINATE_RSVD, 2, 22, 0x300, 0}}},
    {{BEGIN, "I " TERMINATE "21030300" DDP_HEADER},
     .expect = {{IW_CHECK_RDMAP_TERMINATE_REVERSED, 2, 20, 0x21030300, 0x1203c000},
                {IW_CHECK_RDMAP_TERMINATE_REASON, 2, 21, 0x1203, 0}}},
    {{BEGIN, "I " SEND_1, "I " SEND_3,
      "R " TERMINATE "21030300 0012 4143 00000000 00000000 00000001 00000000"},
     .expect = {{IW_CHECK_DDP_MSN, 3, 12, 3, 2},
                {IW_CHECK_RDMAP_TERMINATE_REVERSED, 4, 20, 0x21030300, 0x1203c000},
                {IW_CHECK_RDMAP_TERMINATE_SEGMENT, 4, 24, 18, 18}}},
    /* What is due proves it without headers. */
    {{BEGIN, "I " SEND_1, "I " SEND_3, "R " TERMINATE "21030000"},
     .expect = {{IW_CHECK_DDP_MSN, 3, 12, 3, 2},
                {IW_CHECK_RDMAP_TERMINATE_REVERSED, 4, 20, 0x21030000, 0x12030000},
                {IW_CHECK_RDMAP_TERMINATE_HEADERS, 4, 22, 0, 0xc0}}},
    /* An error that only a segment can have, before there was one and after. */
    {{BEGIN, "I " TERMINATE "02060000"},
     FINDS(IW_CHECK_RDMAP_TERMINATE_REVERSED, 2, 20, 0x02060000, 0x20060000)},
    {{BEGIN, "I " SEND_1, "R " SEND_1, "I " TERMINATE "02060000"},
     CLEAN(IW_CHECK_RDMAP_TERMINATE_REVERSED)},
    {{BEGIN, "I " TERMINATE "11000000"}, FINDS(IW_CHECK_RDMAP_TERMINATE_HEADERS, 2, 22, 0, 0xc0)},
    {{BEGIN, "I " TERMINATE "2002c000" DDP_HEADER},
     FINDS(IW_CHECK_RDMAP_TERMINATE_HEADERS, 2, 22, 0xc0, 0)},
    {{BEGIN, "I " TERMINATE "0000c000" DDP_HEADER},
     FINDS(IW_CHECK_RDMAP_TERMINATE_HEADERS, 2, 22, 0xc0, 0)},
    {{BEGIN, "I " TERMINATE "11004000" DDP_HEADER},
     FINDS(IW_CHECK_RDMAP_TERMINATE_HEADERS, 2, 22, 0x40, 0xc0)},
    {{BEGIN, "I " TERMINATE "0101c000 002e 4141 00000000 00000001 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_TERMINATE_HEADERS, 2, 22, 0xc0, 0xe0)},
    {{BEGIN, "I " TERMINATE "1100c000" DDP_HEADER}, CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)},
    {{BEGIN, "I " TERMINATE "0101e000" READ_COPY}, CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)},
    {{BEGIN, "I " TERMINATE "0206e000" READ_COPY}, CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)},
    {{BEGIN, "I " TERMINATE "0206c000" DDP_HEADER}, CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)},
    {{BEGIN, "I " SEND_1, "R " TERMINATE "02060000"}, CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)},
    {{BEGIN, "I " TERMINATE "10000000"}, CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)},
    {{BEGIN, "I " TERMINATE "0109c000 0012 4144 11223344 00000000 00000002 00000000"},
     CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)}, /* OP-61 */
    {{BEGIN, "I " TERMINATE "02074000 0046 414a 00000000 00000001 00000001 00000000"},
     CLEAN(IW_CHECK_RDMAP_TERMINATE_HEADERS)}, /* OP-84 */
    /* An untagged buffer's error in a tagged segment, and the other way round. */
    {{BEGIN, "I " TERMINATE "1203c000" DDP_HEADER},
     FINDS(IW_CHECK_RDMAP_TERMINATE_REASON, 2, 21, 0x1203, 0)},
    {{BEGIN, "I " TERMINATE "1100c000 0012 4143 00000000 00000000 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_TERMINATE_REASON, 2, 21, 0x1100, 0)},
    /* Versions and a QN that the segment has right. */
    {{BEGIN, "I " TERMINATE "1104c000" DDP_HEADER},
     FINDS(IW_CHECK_RDMAP_TERMINATE_REASON, 2, 21, 0x1104, 0)},
    {{BEGIN, "I " TERMINATE "1206c000 0012 4143 00000000 00000000 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_TERMINATE_REASON, 2, 21, 0x1206, 0)},
    {{BEGIN, "I " TERMINATE "1201c000 0012 4143 00000000 00000000 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_TERMINATE_REASON, 2, 21, 0x1201, 0)},
    {{BEGIN, "I " TERMINATE "0205c000" DDP_HEADER},
     FINDS(IW_CHECK_RDMAP_TERMINATE_REASON, 2, 21, 0x0205, 0)},
    {{BEGIN, "I " TERMINATE "1201c000 0012 4143 00000000 00000001 00000001 00000000"},
     CLEAN(IW_CHECK_RDMAP_TERMINATE_REASON)},
    {{BEGIN, "I " TERMINATE "0205c000 0012 c180 11223344 0000000000001000"},
     CLEAN(IW_CHECK_RDMAP_TERMINATE_REASON)},
    {{BEGIN, "I " TERMINATE "1104c000 0012 c240 11223344 0000000000001000"},
     CLEAN(IW_CHECK_RDMAP_TERMINATE_REASON)},
    /* The wrong MSN is that of the second Send. */
    {{BEGIN, "I " SEND_1, "I " SEND_3,
      "R " TERMINATE "1203c000 0012 4143 00000000 00000000 00000001 00000000"},
     .expect = {{IW_CHECK_DDP_MSN, 3, 12, 3, 2},
                {IW_CHECK_RDMAP_TERMINATE_SEGMENT, 4, 24, 18, 18}}},
    {{BEGIN, "I " SEND_1, "I " SEND_3,
      "R " TERMINATE "1203c000 0013 4143 00000000 00000000 00000003 00000000"},
     .expect = {{IW_CHECK_DDP_MSN, 3, 12, 3, 2},
                {IW_CHECK_RDMAP_TERMINATE_SEGMENT, 4, 24, 19, 18}}},
    {{BEGIN, "I " SEND_1, "I " SEND_3,
      "R " TERMINATE "1203c000 0012 4143 00000000 00000000 00000003 00000000"},
     FINDS(IW_CHECK_DDP_MSN, 3, 12, 3, 2),
     .near = IW_CHECK_RDMAP_TERMINATE_SEGMENT},
    /* OP-48: the length of the payload, not of the segment. */
    {{BEGIN, "I " SEND_1, "I 4143 00000000 00000000 00000003 00000000 aabbcc",
      "R " TERMINATE "1203c000 0003 4143 00000000 00000000 00000003 00000000"},
     FINDS(IW_CHECK_DDP_MSN, 3, 12, 3, 2),
     .near = IW_CHECK_RDMAP_TERMINATE_SEGMENT},
    /* A Terminate is not for a finding that was legal to receive. */
    {{BEGIN, "I 0143 00000000 00000000 00000001 00000000 aa",
      "I 0143 00000000 00000000 00000001 00000005 bb",
      "I 4143 00000000 00000000 00000001 7f000000 cc",
      "R " TERMINATE "1204c000 0013 4143 00000000 00000000 00000001 7f000000"},
     FINDS(IW_CHECK_DDP_MO_PLACE, 2, 0, 5, 1),
     .near = IW_CHECK_RDMAP_TERMINATE_SEGMENT},
    {{BEGIN, "I " SEND_1, "I " READ_HEADER("00000001") "00000000",
      "R " TERMINATE "02ffc000 0012 4143 00000000 00000000 00000001 00000000"},
     .expect = {{IW_CHECK_RDMAP_READ_LENGTH, 3, 20, 4, 28},
                {IW_CHECK_RDMAP_TERMINATE_SEGMENT, 4, 24, 18, 22}}},
    /* A Read Request in two segments: its receiver may refuse it at the first. */
    {{BEGIN, "I 0141 00000000 00000001 00000001 00000000 aabbccdd",
      "I 4141 00000000 00000001 00000001 00000004 00000000",
      "R " TERMINATE "02ffc000 0016 0141 00000000 00000001 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_READ_LENGTH, 3, 20, 8, 28),
     .near = IW_CHECK_RDMAP_TERMINATE_SEGMENT},
    /* A receiver need not end the stream at the first: which of the two it was is its choice. */
    {{BEGIN, "I 4143 00000001 00000000 00000001 00000000", "I " READ_HEADER("00000001") "00000000",
      "R " TERMINATE "02ffc000 0016 " READ_HEADER("00000001")},
     .expect = {{IW_CHECK_RDMAP_INVALIDATE_FIELD, 2, 4, 1, 0},
                {IW_CHECK_RDMAP_READ_LENGTH, 3, 20, 4, 28}},
     .near = IW_CHECK_RDMAP_TERMINATE_SEGMENT},
    /* A request that was to take more than one segment may be refused at its first (OP-67). */
    {{BEGIN, "I 4143 00000001 00000000 00000001 00000000",
      "I 0141 00000000 00000001 00000001 00000000",
      "R " TERMINATE "02ffc000 0012 0141 00000000 00000001 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_INVALIDATE_FIELD, 2, 4, 1, 0),
     .near = IW_CHECK_RDMAP_TERMINATE_SEGMENT},
    /* Which Send found no buffer is the receiver's to know. */
    {{BEGIN, "I " SEND_1, "I 414b 00000000 00000003 00000001 00000000 00000000 0000000000000000",
      "R " TERMINATE "1202c000 0012 4143 00000000 00000000 00000001 00000000"},
     FINDS(IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED, 3, 0, 0, 0),
     .near = IW_CHECK_RDMAP_TERMINATE_SEGMENT},
    /* A side that answers a request after an error has not ended at the error. */
    {{BEGIN, "I " SEND_1, "I " SEND_3, "I " READ_1, "I " READ_2, "R " RESPONSE_1, "R " RESPONSE_2},
     .expect = {{IW_CHECK_DDP_MSN, 3, 12, 3, 2}, {IW_CHECK_RDMAP_TERMINATE_STOP, 6, 0, 0, 0}}},
    {{BEGIN, "I " SEND_1, "I " SEND_3, "I " FETCH_ADD(ONE, A_1), "R " ATOMIC_RESPONSE(ONE, A_1)},
     .expect = {{IW_CHECK_DDP_MSN, 3, 12, 3, 2}, {IW_CHECK_RDMAP_TERMINATE_STOP, 5, 0, 0, 0}}},
    /* Nor need a receiver compare a response with its request (OP-66): here it is too short. */
    {{BEGIN, "I " READ_1, "R c142 aabbccdd 0000000000002000 " OCTETS_16, "R " READ_1,
      "I c142 aabbccdd 0000000000002000 " OCTETS_64},
     FINDS(IW_CHECK_RDMAP_RESPONSE_SIZE, 3, 16, 16, 64),
     .near = IW_CHECK_RDMAP_TERMINATE_STOP},
    /* Nor need a responder look whether the first FPDU is an RTR. */
    {{P2P_REQUEST, P2P_REPLY, "I " WRITE, "I " READ_1, "R " RESPONSE_1},
     FINDS(IW_CHECK_MPA_RTR_FIRST, 2, 3, 0, 3),
     .near = IW_CHECK_RDMAP_TERMINATE_STOP},
    /* Nor is the STag of an empty Read Response one that its receiver must compare. */
    {{BEGIN,
      "I " READ_HEADER("00000001") "aabbccdf 0000000000004000 00000000 11223344 0000000000001000",
      "R c142 00000100 0000000000004000", "R " READ_1,
      "I c142 aabbccdd 0000000000002000 " OCTETS_64},
     FINDS(IW_CHECK_RDMAP_RESPONSE_STAG, 3, 4, 0x100, 0xaabbccdf),
     .near = IW_CHECK_RDMAP_TERMINATE_STOP},
    /* Nor does an empty segment with another one begin another response. */
    {{BEGIN,
      "I " READ_HEADER("00000001") "aabbccdf 0000000000004000 00000000 11223344 0000000000001000",
      "R 8142 aabbccdf 0000000000004000", "R c142 00000100 0000000000000000", "R " READ_1,
      "I c142 aabbccdd 0000000000002000 " OCTETS_64},
     .expect = {{IW_CHECK_DDP_LAST, 4, 0, 0x100, 0xaabbccdf},
                {IW_CHECK_DDP_ZERO_SEGMENTS, 4, 0, 2, 1}},
     .near = IW_CHECK_RDMAP_TERMINATE_STOP},
    {{BEGIN, "I " SEND_1, "I " READ_1, "I " SEND_3, "R " RESPONSE_1},
     FINDS(IW_CHECK_DDP_MSN, 4, 12, 3, 2),
     .near = IW_CHECK_RDMAP_TERMINATE_STOP},
    {{REQUEST, RESPOND("00010002"), "I " READ_1, "I " READ_2, "I " READ_3, "R " RESPONSE_1,
      "R " RESPONSE_2, "R " RESPONSE_3},
     FINDS(IW_CHECK_RDMAP_IRD, 3, 0, 2, 1),
     .near = IW_CHECK_RDMAP_TERMINATE_STOP},
    {{BEGIN, "I " TERMINATE "20020000", "I " SEND_1, "I " SEND_1, "X " SEND_1},
     FINDS(IW_CHECK_RDMAP_TERMINATE_LAST, 3, 0, 0, 0)},
    {{BEGIN, "I " SEND_1, "I " TERMINATE "20020000", "R " SEND_1, "F", "G"},
     CLEAN(IW_CHECK_RDMAP_TERMINATE_LAST)},
    {{BEGIN, "I " TERMINATE "20020000", "I 4147 00000000 00000002 00000002 00000000 20020000",
      "I " SEND_1},
     FINDS(IW_CHECK_RDMAP_TERMINATE_ONCE, 3, 0, 0, 0)},
    {{BEGIN, "I " TERMINATE "20020000", "R " TERMINATE "20020000", "F", "G"},
     CLEAN(IW_CHECK_RDMAP_TERMINATE_ONCE)},
};

static const struct {
    const struct conversation *rows;
    size_t count;
} groups[] = {{startup, sizeof(startup) / sizeof(startup[0])},
              {framing, sizeof(framing) / sizeof(framing[0])},
              {ddp, sizeof(ddp) / sizeof(ddp[0])},
              {rdmap, sizeof(rdmap) / sizeof(rdmap[0])},
              {terminate, sizeof(terminate) / sizeof(terminate[0])},
              {extensions, sizeof(extensions) / sizeof(extensions[0])}};

static bool of_responder(const char *step)
{
    return strchr("rRYGL", step[0]) != NULL;
}

static void play(const struct conversation *c, struct rig *rig, uint64_t *starts)
{
    for (unsigned i = 0; i < STEPS && c->steps[i] != NULL; i++) {
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
        assert_int_equal(s->fault.got, c->expect[i].got);
        assert_int_equal(s->fault.want, c->expect[i].want);
        assert_int_equal(s->side, of_responder(c->steps[c->expect[i].step]));
    }
    assert_int_equal(rig_count(rig, IW_OBSERVED_LOST), c->lost);
}

static void check_same(const struct rig *a, const struct rig *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const struct seen *one = &a->seen[i], *other = &b->seen[i];

        assert_int_equal(one->kind, other->kind);
        assert_int_equal(one->side, other->side);
        assert_int_equal(one->pos, other->pos);
        assert_int_equal(one->end, other->end);
        assert_int_equal(one->fault.check, other->fault.check);
        assert_int_equal(one->fault.pos, other->fault.pos);
        assert_int_equal(one->fault.got, other->fault.got);
        assert_int_equal(one->fault.want, other->fault.want);
        assert_int_equal(one->opcode, other->opcode);
        assert_int_equal(one->tagged, other->tagged);
        assert_int_equal(one->payload_length, other->payload_length);
        assert_int_equal(one->message_length, other->message_length);
        assert_int_equal(one->segments, other->segments);
        assert_int_equal(one->found_by, other->found_by);
    }
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

/* Nothing is found about a side whose segments the caller reports. */
static void test_told(void **state)
{
    (void)state;
    for (size_t group = 0; group < sizeof(groups) / sizeof(groups[0]); group++) {
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

    for (size_t group = 0; group < sizeof(groups) / sizeof(groups[0]); group++) {
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
