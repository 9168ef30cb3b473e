/* SPDX-License-Identifier: BSD-3-Clause */
/* Markers at other places than the start-up frames say: what proves that, and what does not. */
#include "observer_support.h"

/* Revision 1 with CRCs, each side wants Markers. */
#define REQUEST_BOTH "i " REQUEST_KEY "c0010000"
#define REPLY_BOTH "r " REPLY_KEY "c0010000"
#define SEND_5 "4143 00000000 00000000 00000005 00000000"
/* Octets of payload that look like no Marker. */
#define FILL_4 "aaaaaaaa"
#define FILL_16 FILL_4 FILL_4 FILL_4 FILL_4
#define FILL_64 FILL_16 FILL_16 FILL_16 FILL_16
#define FILL_256 FILL_64 FILL_64 FILL_64 FILL_64
/* The initiator's second FPDU, an MSN of 2. MARKER stands where its Marker belongs; a word of the
 * payload looks like one. */
#define SEND_MARKER(MARKER, CRC)                                                                   \
    "i 02064143 00000000 00000000 00000002 00000000 " FILL_16 FILL_4 "00000028 " FILL_256 FILL_64  \
        FILL_64 FILL_16 FILL_16 FILL_16 FILL_4 FILL_4 MARKER FILL_16 FILL_16 FILL_4 CRC
/* Its payload is of numbers, each of which is its own place, up to a wrong FPDUPTR. */
#define SEND_NUMBERS(CRC)                                                                          \
    "i 02064143 00000000 00000000 00000002 00000000 00000014 00000018 0000001c 00000020 00000024 " \
    "00000028 0000002c 00000030 00000034 00000038 0000003c 00000040 00000044 00000048 0000004c "   \
    "00000050 00000054 00000058 0000005c 00000060 00000064 00000068 0000006c 00000070 "            \
    "00000074 " FILL_256 FILL_64 FILL_16 FILL_16 FILL_4 FILL_4 FILL_4                              \
    "000001e8 " FILL_16 FILL_16 FILL_4 CRC
/* Its Marker is four octets late, as with a period of 516, or twelve. */
#define SEND_FOUR_LATE                                                                             \
    "i 02064143 00000000 00000000 00000002 00000000 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_16     \
        FILL_4 "000001e8 " FILL_16 FILL_16 "00000000"
#define SEND_ONE_LATE                                                                              \
    "i 02064143 00000000 00000000 00000002 00000000 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_16     \
        FILL_4 FILL_4 FILL_4 "000001f0 " FILL_16 FILL_4 FILL_4 "00000000"
/* Two Markers are. */
#define SEND_TWO_LATE(CRC)                                                                         \
    "i 04c24143 00000000 00000000 00000002 00000000 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_16     \
        FILL_4                                                                                     \
    "000001e8 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_16 FILL_16 FILL_16 FILL_4 FILL_4 FILL_4      \
    "000003e8 " FILL_64 FILL_64 FILL_64 FILL_16 FILL_16 CRC
/* The same as a first FPDU. */
#define FIRST_TWO_LATE                                                                             \
    "i 04c24143 00000000 00000000 00000001 00000000 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_16     \
        FILL_4                                                                                     \
    "000001e8 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_16 FILL_16 FILL_16 FILL_4 FILL_4 FILL_4      \
    "000003e8 " FILL_64 FILL_64 FILL_64 FILL_16 FILL_16 "00000000"
/* Markers of a sender whose period is 508, in three FPDUs: after the first one, nothing in them is
 * new. */
#define EARLY_FIRST(CRC)                                                                           \
    "i 04c24143 00000000 00000000 00000002 00000000 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_4      \
        FILL_4 FILL_4                                                                              \
    "000001e0 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_16 FILL_16 FILL_16 FILL_4 FILL_4             \
    "000003dc " FILL_64 FILL_64 FILL_64 FILL_16 FILL_16 FILL_4 FILL_4 FILL_4 CRC
#define EARLY_SECOND(CRC)                                                                          \
    "i 04c24143 00000000 00000000 00000003 00000000 " FILL_64 FILL_64 FILL_64 FILL_16 FILL_16      \
        FILL_16 FILL_4                                                                             \
    "00000108 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_16 FILL_16 FILL_16 FILL_4 FILL_4             \
    "00000304 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_4 CRC
#define EARLY_THIRD(CRC)                                                                           \
    "i 026a4143 00000000 00000000 00000004 00000000 " FILL_16 FILL_4 FILL_4 FILL_4                 \
    "00000030 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_16 FILL_16 FILL_16 FILL_4 FILL_4             \
    "0000022c " FILL_64 FILL_4 CRC
/* The same with a period of 516, after SEND_DRIFTING. */
#define LATE_SECOND(CRC)                                                                           \
    "i 04c24143 00000000 00000000 00000003 00000000 " FILL_256 FILL_4 FILL_4 FILL_4                \
    "00000120 " FILL_256 FILL_256 "00000324 " FILL_256 FILL_64 FILL_64 FILL_16 FILL_16 FILL_4 CRC
#define LATE_THIRD(CRC)                                                                            \
    "i 026a4143 00000000 00000000 00000004 00000000 " FILL_64 FILL_4 "00000058 " FILL_256 FILL_256 \
    "0000025c " FILL_16 FILL_4 CRC
/* One Marker of a period of 508; FILL_4, or other octets, are where it belongs. */
#define SEND_ONE_EARLY(THERE)                                                                      \
    "i 02064143 00000000 00000000 00000002 00000000 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_4      \
        FILL_4 FILL_4 "000001e0 " THERE FILL_16 FILL_16 FILL_4 "00000000"
/* The first is, the second eight octets. */
#define SEND_DRIFTING(CRC)                                                                         \
    "i 04c24143 00000000 00000000 00000002 00000000 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_16     \
        FILL_4 "000001e8 " FILL_256 FILL_256                                                       \
    "000003ec " FILL_64 FILL_64 FILL_64 FILL_16 FILL_4 FILL_4 FILL_4 CRC
/* The second Marker of a first FPDU is four octets late, and the third would be after its end. */
#define FIRST_DRIFTING                                                                             \
    "i 00000000 03f64143 00000000 00000000 00000001 00000000 " FILL_256 FILL_64 FILL_64 FILL_64    \
        FILL_16 FILL_16 FILL_4 FILL_4 FILL_4                                                       \
    "00000200" FILL_256 FILL_64 FILL_64 FILL_64 FILL_16 FILL_16 FILL_16 FILL_4 FILL_4 "daa65aa6"
/* Its Marker comes after it. */
#define SEND_BEFORE_MARKER                                                                         \
    "i 01e24143 00000000 00000000 00000002 00000000 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_16     \
    "465bb34e"

/* First FPDUs without the Marker that belongs before them: it stands in the middle, or nowhere. */
#define FIRST_INSIDE "i 00124143 00000000 00000000 00000001 00000000 00000014 e6c3854d"
#define FIRST_WITHOUT "i 00124143 00000000 00000000 00000001 00000000 587be8c4"
/* After the latter: with a Marker where the second one belongs, and four octets early. */
#define SEND_SECOND                                                                                \
    "i 01f64143 00000000 00000000 00000002 00000000 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_16     \
        FILL_4 "000001e8 " FILL_16 "63063bbc"
#define SEND_SECOND_EARLY                                                                          \
    "i 01f64143 00000000 00000000 00000002 00000000 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_16     \
    "000001e4 " FILL_16 FILL_4 "15b3a46b"
/* Its Marker is four octets after its beginning. */
#define SEND_WITHIN(MSN) "i 00124143 00000004 00000000 00000000 " MSN " 00000000 00000000"
/* The same amid its payload. */
#define SEND_AMID                                                                                  \
    "i 00324143 00000000 00000000 00000002 00000000 " FILL_4                                       \
    "00000018" FILL_16 FILL_4 FILL_4 FILL_4 "00000000"
/* No Marker in it. */
#define SEND_PLAIN "i 00124143 00000000 00000000 00000002 00000000 accbdb8c"

enum { STEPS = 10, EXPECTED = 3 };

/* After SEND_1 an FPDU begins at octet 28 of the initiator's, and a Marker belongs 484 octets after
 * its first one. */
static const struct row {
    const char *steps[STEPS];
    enum iw_check found[EXPECTED];
    unsigned lost, messages;
} rows[] = {
    /* One word of the payload looks like a Marker, and FPDUPTR is wrong. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1, SEND_MARKER("000001e8 ", "00000000")},
     {IW_CHECK_MPA_MARKER_POINTER},
     0,
     2},
    /* A payload of numbers, each of which is its own place: a wrong FPDUPTR */
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1, SEND_NUMBERS("00000000")},
     {IW_CHECK_MPA_MARKER_POINTER},
     0,
     2},
    /* One word of the payload looks like a Marker, and FPDUPTR is wrong, under a right CRC. */
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1, SEND_MARKER("000001e8 ", "c6c39e1f")},
     {IW_CHECK_MPA_MARKER_POINTER},
     0,
     2},
    /* A payload of numbers, each of which is its own place: a wrong FPDUPTR */
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1, SEND_NUMBERS("4404e458")},
     {IW_CHECK_MPA_MARKER_POINTER},
     0,
     2},
    /* The CRC is wrong where no Marker belongs. */
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1,
      "i 00764143 00000000 00000000 00000002 00000000 " FILL_16 FILL_4
      "00000028 " FILL_64 FILL_4 FILL_4 FILL_4 "189c2ebe",
      "F"},
     {IW_CHECK_MPA_CRC},
     0,
     1},
    /* A wrong CRC, and the Marker is right. */
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1, SEND_MARKER("000001e4 ", "9b53910e")},
     {IW_CHECK_MPA_CRC},
     0,
     1},
    /* Sent again, the same payload is no second Marker. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1,
      "i 01f64143 00000000 00000000 00000002 00000000 " FILL_16 FILL_4
      "00000028 " FILL_256 FILL_64 FILL_64 FILL_16 FILL_16 FILL_16 FILL_4 FILL_4
      "000001e8 " FILL_16 FILL_4 "00000000",
      "i 01f64143 00000000 00000000 00000003 00000000 " FILL_16 FILL_4
      "00000028 " FILL_256 FILL_64 FILL_64 FILL_16 FILL_16 FILL_16 FILL_4 FILL_4
      "000001e8 " FILL_16 FILL_4 "00000000"},
     {IW_CHECK_MPA_MARKER_POINTER, IW_CHECK_MPA_MARKER_POINTER},
     0,
     3},
    /* ULPDU_Length counts the Marker, whose FPDUPTR is right: the CRC matches as if there were
       none. */
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1,
      "i 01f64143 00000000 00000000 00000002 00000000 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_16
      "000001e4 " FILL_16 "bdb24f45",
      "I " SEND_3},
     {IW_CHECK_MPA_CRC},
     1,
     1},
    /* ULPDU_Length is too small. */
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1,
      "i 02024143 00000000 00000000 00000002 00000000 " FILL_16 FILL_4
      "00000028 " FILL_256 FILL_64 FILL_64 FILL_16 FILL_16 FILL_16 FILL_4 FILL_4
      "000001e4 " FILL_16 FILL_16 FILL_4 "c0ef31f7"},
     {IW_CHECK_MPA_CRC},
     0,
     1},
    /* Reserved bits of a Marker in its place, and a payload that looks like one. */
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1, SEND_MARKER("000101e4 ", "e4526f2e")},
     {IW_CHECK_MPA_MARKER_RSVD},
     0,
     2},
    /* Two Markers four octets late. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1, SEND_TWO_LATE("00000000"), "I " SEND_3},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     3},
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1, SEND_TWO_LATE("25ba1ba1"), "I " SEND_3},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     3},
    /* What comes after them is judged. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1, SEND_TWO_LATE("00000000"), "I " SEND_3,
      "I " SEND_5},
     {IW_CHECK_MPA_MARKER_PLACE, IW_CHECK_DDP_MSN},
     0,
     4},
    /* One in each of two FPDUs: not proven by the first. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1, SEND_ONE_LATE,
      "i 02064143 00000000 00000000 00000003 00000000 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_4
          FILL_4 FILL_4 "000001e0 " FILL_16 FILL_16 FILL_4 FILL_4 "00000000"},
     {IW_CHECK_MPA_MARKER_POINTER, IW_CHECK_MPA_MARKER_PLACE},
     0,
     3},
    /* At no period. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1, SEND_ONE_LATE,
      "i 02064143 00000000 00000000 00000003 00000000 " FILL_256 FILL_64 FILL_64 FILL_16 FILL_16
          FILL_16 FILL_4 FILL_4 FILL_4 "000001d0 " FILL_16 FILL_16 FILL_16 FILL_4 FILL_4
      "00000000"},
     {IW_CHECK_MPA_MARKER_POINTER, IW_CHECK_MPA_MARKER_POINTER},
     0,
     3},
    /* A CRC that is right without the Marker. */
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1,
      "i 01e24143 00000000 00000000 00000002 00000000 " FILL_256 FILL_64 FILL_64 FILL_64 FILL_16
      "465bb34e 00000000 00124143 00000000 00000000 00000003 00000000 d01ef48c"},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     3},
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1, SEND_BEFORE_MARKER,
      "i 00000000 00124143 00000000 00000000 00000003 00000000 d01ef48c"},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     3},
    /* Nothing comes after it. */
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1, SEND_BEFORE_MARKER},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     2},
    /* They stand at either of two places: framing cannot follow them. */
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1,
      "i 00764143 00000000 00000000 00000002 00000000 " FILL_4 FILL_4 FILL_4
      "00000020 " FILL_4 FILL_4 FILL_4 "00000030 " FILL_64 FILL_4 FILL_4 "de8f1e76",
      "I " SEND_3},
     {IW_CHECK_MPA_MARKER_PLACE},
     1,
     1},
    /* They drift, and framing follows them. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1, SEND_DRIFTING("00000000"), "I " SEND_3},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     3},
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1, SEND_DRIFTING("d5790107"), "I " SEND_3},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     3},
    {{REQUEST_BOTH, REPLY_BOTH,
      "i 00000000 04c24143 00000000 00000000 00000001 00000000 " FILL_256 FILL_64 FILL_64 FILL_64
          FILL_16 FILL_16 FILL_4 FILL_4 FILL_4 "00000200 " FILL_256 FILL_256
      "00000404 " FILL_64 FILL_64 FILL_64 FILL_4 "10733bfc"},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     1},
    /* One of them is no proof, unless it is where another period leads to. */
    {{REQUEST_BOTH, REPLY_BOTH,
      "i 00000000 026a4143 00000000 00000000 00000001 00000000 " FILL_256 FILL_64 FILL_64 FILL_64
          FILL_16 FILL_16 FILL_16 "00000204 " FILL_64 FILL_16 FILL_16 FILL_4 FILL_4 "661e829b"},
     {IW_CHECK_MPA_MARKER_POINTER},
     0,
     1},
    {{REQUEST_BOTH, REPLY_BOTH,
      "i 00000000 026a4143 00000000 00000000 00000001 00000000 " FILL_256 FILL_64 FILL_64 FILL_64
          FILL_16 FILL_16 FILL_4 FILL_4 FILL_4
      "00000200 " FILL_64 FILL_16 FILL_16 FILL_4 FILL_4 FILL_4 "65f68e41"},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     1},
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1, SEND_FOUR_LATE},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     2},
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1, SEND_ONE_EARLY(FILL_4)},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     2},
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1, SEND_ONE_EARLY("00000000 ")},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     2},
    /* Nor there, if a Marker was meant where one belongs. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1, SEND_ONE_EARLY("000001e0 ")},
     {IW_CHECK_MPA_MARKER_POINTER},
     0,
     2},
    /* A period of 508 and of 516: framing follows them, also where the first FPDU does not have a
       Marker as agreed and its end comes later; what else is wrong is found. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1, EARLY_FIRST("00000000"),
      EARLY_SECOND("00000000"), EARLY_THIRD("00000000")},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     4},
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1, EARLY_FIRST("1f7e3de9"), EARLY_SECOND("812186b3"),
      EARLY_THIRD("6ec8e050")},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     4},
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1, EARLY_FIRST("1f7e3de9"), EARLY_SECOND("00000000"),
      EARLY_THIRD("6ec8e050")},
     {IW_CHECK_MPA_MARKER_PLACE, IW_CHECK_MPA_CRC},
     0,
     3},
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1, SEND_DRIFTING("00000000"),
      LATE_SECOND("00000000"), LATE_THIRD("00000000")},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     4},
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1, SEND_DRIFTING("d5790107"), LATE_SECOND("f5954840"),
      LATE_THIRD("5edd2e78")},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     4},
    {{REQUEST_BOTH, REPLY_BOTH,
      "i 00000000 01f64143 00000000 00000000 00000001 00000000 " FILL_256 FILL_64 FILL_64 FILL_64
          FILL_16 FILL_16 FILL_4 "000001f8",
      "i 91c19c85"},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     1},
    /* Of such a sender no other Marker is found wrong, and where one is, nothing is certain; a CRC
       is. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1, SEND_TWO_LATE("00000000"),
      "i 02064143 00000000 00000000 00000003 00000000 " FILL_256 FILL_4
      "00000000 " FILL_64 FILL_64 FILL_64 FILL_16 FILL_16 FILL_16 "00000000",
      "I " SEND_5},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     3},
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1, SEND_TWO_LATE("25ba1ba1"),
      "i 02064143 00000000 00000000 00000003 00000000 " FILL_256 FILL_4
      "00000118 " FILL_64 FILL_64 FILL_64 FILL_16 FILL_16 FILL_16 "4e6f944a"},
     {IW_CHECK_MPA_MARKER_PLACE, IW_CHECK_MPA_CRC},
     0,
     2},
    /* What is taken for a Marker may be part of the header, which says nothing then. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "M " SEND_1,
      "i 01ca4143 00000000 00000000 00000002 00000000 " FILL_256 FILL_64 FILL_64 FILL_16 FILL_16
          FILL_16 FILL_4 FILL_4 "00000000",
      "i 004e4143 00000000 00000000 00000005 00000000 00000018 " FILL_16 FILL_16 FILL_16 FILL_4
          FILL_4 FILL_4 "00000000"},
     {IW_CHECK_MPA_MARKER_POINTER},
     0,
     2},
    /* The next one stands in the header of its FPDU. */
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1, SEND_BEFORE_MARKER,
      "i 00000000 01f64143 00000000 00000000 00000003 00000000 " FILL_256 FILL_64 FILL_64 FILL_64
          FILL_16 FILL_16 FILL_4 "0a2d1025",
      "i 00764143 00000004 00000000",
      "i 00000000 00000004 00000000 " FILL_64 FILL_16 FILL_16 FILL_4 "1b264e9d"},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     4},
    /* They drift from FPDU to FPDU. */
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1,
      "i 01a24143 00000000 00000000 00000002 00000000 " FILL_256 FILL_64 FILL_64 FILL_16 "5657a35d",
      "i 01a24143 00000000 00000000 00000003 00000000 " FILL_16 FILL_16 FILL_4 FILL_4 FILL_4
      "00000040 " FILL_256 FILL_64 FILL_16 FILL_16 FILL_4 "23817650",
      "i 01a24143 00000000 00000000 00000004 00000000 " FILL_64 FILL_64 FILL_4
      "00000098 " FILL_256 FILL_4 FILL_4 FILL_4 "b07068dd",
      "i 01a24143 00000000 00000000 00000005 00000000 " FILL_64 FILL_64 FILL_64 FILL_16 FILL_4
          FILL_4 FILL_4 "000000f0 " FILL_64 FILL_64 FILL_16 FILL_16 FILL_16 FILL_4 "ebd98d56",
      "i 01a24143 00000000 00000000 00000006 00000000 " FILL_256 FILL_16 FILL_16 FILL_16 FILL_4
      "00000148 " FILL_64 FILL_16 FILL_4 FILL_4 FILL_4 "550ce7e7",
      "i 01a24143 00000000 00000000 00000007 00000000 " FILL_256 FILL_64 FILL_64 FILL_4 FILL_4
          FILL_4 "000001a0 " FILL_4 "f31ae9ea"},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     7},
    /* The first FPDU: a Marker inside it, in whole segments and cut; Markers too late for it. */
    {{REQUEST_BOTH, REPLY_BOTH, FIRST_INSIDE, SEND_PLAIN}, {IW_CHECK_MPA_MARKER_PLACE}, 0, 2},
    {{REQUEST_BOTH, REPLY_BOTH, "i 00124143 0000", "i 0000 00000000 00000001 00000000 0000",
      "i 0014", "i e6c3854d", SEND_PLAIN},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     2},
    {{REQUEST_BOTH, REPLY_BOTH, FIRST_WITHOUT, SEND_PLAIN}, {IW_CHECK_MPA_MARKER_MISSING}, 0, 2},
    {{REQUEST_BOTH, REPLY_BOTH, FIRST_WITHOUT, SEND_SECOND}, {IW_CHECK_MPA_MARKER_MISSING}, 0, 2},
    {{REQUEST_BOTH, REPLY_BOTH, FIRST_WITHOUT, SEND_SECOND_EARLY},
     {IW_CHECK_MPA_MARKER_MISSING, IW_CHECK_MPA_MARKER_PLACE},
     0,
     2},
    /* Of a first FPDU, whose end as agreed is four octets later, too. */
    {{REQUEST_BOTH, REPLY_BOTH, FIRST_DRIFTING}, {IW_CHECK_MPA_MARKER_PLACE}, 0, 1},
    /* Without CRCs two of them prove it, also in the first FPDU; or one of them, and where the next
     * FPDU begins, or the last one ends. */
    {{REQUEST_MARKERS, REPLY_MARKERS, FIRST_TWO_LATE}, {IW_CHECK_MPA_MARKER_PLACE}, 0, 1},
    {{REQUEST_MARKERS, REPLY_MARKERS, SEND_WITHIN("00000001")}, {IW_CHECK_MPA_MARKER_PLACE}, 0, 1},
    {{REQUEST_MARKERS, REPLY_MARKERS, SEND_WITHIN("00000001") "0012", "i 4143"},
     {IW_CHECK_NONE},
     0,
     0},
    {{REQUEST_MARKERS, REPLY_MARKERS, SEND_WITHIN("00000001"), "I " SEND_2},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     2},
    {{REQUEST_MARKERS, REPLY_MARKERS, SEND_WITHIN("00000001"), "F"},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     1},
    /* The FPDU before was too short for one. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "I " SEND_1, SEND_WITHIN("00000002"), "I " SEND_3},
     {IW_CHECK_MPA_MARKER_MISSING, IW_CHECK_MPA_MARKER_PLACE},
     0,
     3},
    /* It stands in the payload, and the FPDU as agreed has a good header. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "I " SEND_1, SEND_AMID, "I " SEND_3},
     {IW_CHECK_MPA_MARKER_MISSING, IW_CHECK_MPA_MARKER_PLACE},
     0,
     3},
    {{REQUEST_MARKERS, REPLY_MARKERS, "I " SEND_1, SEND_AMID, "F"},
     {IW_CHECK_MPA_MARKER_MISSING, IW_CHECK_MPA_MARKER_PLACE},
     0,
     2},
    {{REQUEST_MARKERS, REPLY_MARKERS, "I " SEND_1, SEND_AMID},
     {IW_CHECK_MPA_MARKER_MISSING, IW_CHECK_MPA_MARKER_PLACE},
     0,
     2},
    {{REQUEST_MARKERS, REPLY_MARKERS, "I " SEND_1, SEND_AMID "0012"},
     {IW_CHECK_MPA_MARKER_MISSING},
     0,
     1},
    /* The end comes too early to decide. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "I " SEND_1, SEND_AMID "0012", "F"},
     {IW_CHECK_MPA_MARKER_MISSING, IW_CHECK_MPA_FIN_INSIDE},
     0,
     2},
    /* Where no Marker belongs one stands before the FPDU: as agreed, an empty FPDU of 8 octets. */
    {{REQUEST_BOTH, REPLY_BOTH, "M " SEND_1,
      "i 00000000 00124143 00000000 00000000 00000002 00000000 7c71e5b4"},
     {IW_CHECK_MPA_MARKER_PLACE},
     0,
     2},
    /* It is not known yet where the first ULPDU_Length is, so none is above the maximum. */
    {{REQUEST_BOTH, REPLY_BOTH, "i 49", "i 49", "i fefefe00fe010200fefe"}, {IW_CHECK_NONE}, 0, 0},
    /* An FPDU may begin at either place. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "I " SEND_1,
      "i 00264143 00000000 00000000 00000002 00000000 00000014 " FILL_16 "00000000",
      "i 00164144 0012c140 00000000 00000003 00000000 aaaaaaaa 00000000", "F"},
     {IW_CHECK_MPA_MARKER_MISSING},
     0,
     3},
    /* A payload that looks like a Marker where there are none. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "I " SEND_1,
      "i 00264143 00000000 00000000 00000002 00000000 00000014 " FILL_16 "00000000", "I " SEND_3},
     {IW_CHECK_MPA_MARKER_MISSING},
     0,
     3},
    {{REQUEST_MARKERS, REPLY_MARKERS, "I " SEND_1,
      "i 00264143 00000000 00000000 00000002 00000000 00000014 " FILL_16 "00000000", "F"},
     {IW_CHECK_MPA_MARKER_MISSING},
     0,
     2},
};

static void play(const struct row *row, struct rig *rig, size_t i)
{
    size_t steps = 0, findings = 0;

    while (steps < STEPS && row->steps[steps] != NULL)
        steps++;
    while (findings < EXPECTED && row->found[findings] != IW_CHECK_NONE)
        findings++;
    rig_play(rig, row->steps, steps);
    for (size_t k = 0; k < rig_count(rig, IW_OBSERVED_FINDING); k++) {
        enum iw_check check = rig_get(rig, IW_OBSERVED_FINDING, k)->fault.check;
        if (k >= findings || check != row->found[k])
            fail_msg("row %zu: finding %zu is %s", i, k, iw_check_info(check)->name);
    }
    if (rig_count(rig, IW_OBSERVED_FINDING) != findings ||
        rig_count(rig, IW_OBSERVED_LOST) != row->lost ||
        rig_count(rig, IW_OBSERVED_MESSAGE) != row->messages)
        fail_msg("row %zu: %zu findings, lost %zu times, %zu messages", i,
                 rig_count(rig, IW_OBSERVED_FINDING), rig_count(rig, IW_OBSERVED_LOST),
                 rig_count(rig, IW_OBSERVED_MESSAGE));
    rig_free(rig);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        play(&rows[i], rig_new(false, false), i);
        play(&rows[i], rig_new_intact(), i);
        /* Without CRCs a header decides, before the Markers after it are here. */
        if (strcmp(rows[i].steps[0], REQUEST_BOTH) != 0)
            continue;
        struct rig *rig = rig_new(false, false);
        rig->feeding = FEED_OCTETS;
        play(&rows[i], rig, i);
    }
}

/* Where no more octets come, a CRC that is wrong is not waited for; nor where none is right. */
static void test_nothing_follows(void **state)
{
    static const char wrong[] = "i 00764143 00000000 00000000 00000002 00000000 " FILL_16 FILL_4
                                "00000028 " FILL_64 FILL_4 FILL_4 FILL_4 "189c2ebe";
    struct rig *rig = rig_new(false, false);

    (void)state;
    PLAY(rig, REQUEST_BOTH, REPLY_BOTH, "M " SEND_1, wrong);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    assert_true(iw_observer_unsettled(rig->observer, IW_SIDE_INITIATOR));
    assert_false(iw_observer_unsettled(rig->observer, IW_SIDE_RESPONDER));
    iw_observer_settle(rig->observer, IW_SIDE_INITIATOR);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 1);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check, IW_CHECK_MPA_CRC);
    assert_false(iw_observer_unsettled(rig->observer, IW_SIDE_INITIATOR));
    rig_free(rig);

    rig = rig_new_intact();
    PLAY(rig, REQUEST_BOTH, REPLY_BOTH,
         "i 00000000 00124143 00000000 00000000 00000001 00000000 01020304", wrong);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 1);
    assert_int_equal(rig_count(rig, IW_OBSERVED_MESSAGE), 2);
    assert_false(iw_observer_unsettled(rig->observer, IW_SIDE_INITIATOR));
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_nothing_follows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
