/* SPDX-License-Identifier: BSD-3-Clause */
#include "lone_play.h"

#include <stdio.h>

/* A second segment that is wrong after a first one that was right: the fault, the octets that were
 * placed (those of the first segment alone) and the Terminate with the second segment's header. */

#define FIRST "01020304"
#define WRITE_FIRST "8140 SSSS 0000000000001010 " FIRST
#define WRITE_EMPTY "8140 SSSS 0000000000001010"
#define WRITE_HEAD(stag, to) "c140 " stag " " to " "
#define SEND_FIRST "0143 00000000 00000000 00000001 00000000 " FIRST
#define SEND_HEAD(qn, msn, mo) "4143 00000000 " qn " " msn " " mo " "
#define RESPONSE_FIRST "8142 SSSS 0000000000001000 " FIRST
#define RESPONSE_HEAD(stag, to) "c142 " stag " " to " "
#define OUTSIDE "0000000000000fff"
#define END "0000000000001fff"
#define INSIDE "0000000000001014"
#define REST "0000000000001004"

struct later {
    struct play play;
    size_t at; /* where the first segment went; PLAIN: nowhere */
    const char *terminate;
};

enum { PLAIN = 4096 };

static const struct later writes[] = {
    {{IW_CHECK_DDP_TO_BOUNDS, 0, {WRITE_FIRST, WRITE_HEAD("SSSS", END) "aabb"}, 32, 0x1fff, 0},
     0x10,
     "1101c000 0010 " WRITE_HEAD("SSSS", END)},
    {{IW_CHECK_DDP_TO_BASE, 0, {WRITE_FIRST, WRITE_HEAD("SSSS", OUTSIDE) "aa"}, 32, 0xfff, 0},
     0x10,
     "1101c000 000f " WRITE_HEAD("SSSS", OUTSIDE)},
    {{IW_CHECK_DDP_TO_WRAP, 0, {WRITE_FIRST, WRITE_HEAD("SSSS", ONES) "aa"}, 32, UINT64_MAX, 0},
     0x10,
     "1103c000 000f " WRITE_HEAD("SSSS", ONES)},
    {{IW_CHECK_DDP_STAG, 0, {WRITE_FIRST, WRITE_HEAD("01020304", INSIDE) "aa"}, 28, 0x01020304, 0},
     0x10,
     "1100c000 000f " WRITE_HEAD("01020304", INSIDE)},
    /* No octet, no access (RFC 5041 §5.1). */
    {{IW_CHECK_DDP_STAG_ACCESS,
      NO_ACCESS,
      {WRITE_EMPTY, WRITE_HEAD("SSSS", INSIDE) "aa"},
      24,
      OWN_STAG,
      0},
     PLAIN,
     "1100c000 000f " WRITE_HEAD("SSSS", INSIDE)},
};

static const struct later sends[] = {
    {{IW_CHECK_DDP_MO, RECV, {SEND_FIRST, SEND_HEAD(M(0), M(1), M(9)) "aa"}, 44, 9, 8},
     0,
     "1204c000 0013 " SEND_HEAD(M(0), M(1), M(9))},
    {{IW_CHECK_DDP_TOO_LONG,
      RECV,
      {SEND_FIRST, SEND_HEAD(M(0), M(1), M(4)) "aabbccddee"},
      44,
      9,
      8},
     0,
     "1205c000 0017 " SEND_HEAD(M(0), M(1), M(4))},
    {{IW_CHECK_DDP_MSN, RECV, {SEND_FIRST, SEND_HEAD(M(0), M(2), M(4)) "aa"}, 40, 2, 1},
     0,
     "1203c000 0013 " SEND_HEAD(M(0), M(2), M(4))},
    {{IW_CHECK_DDP_QN, RECV, {SEND_FIRST, SEND_HEAD(M(4), M(1), M(4)) "aa"}, 36, 4, 0},
     0,
     "1201c000 0013 " SEND_HEAD(M(4), M(1), M(4))},
};

static const struct later responses[] = {
    {{IW_CHECK_RDMAP_RESPONSE_STAG,
      INITIATOR | READ,
      {RESPONSE_FIRST, RESPONSE_HEAD("01020304", REST) "aabbccdd"},
      28,
      0x01020304,
      OWN_STAG},
     0,
     "0100c000 0012 " RESPONSE_HEAD("01020304", REST)},
    {{IW_CHECK_RDMAP_RESPONSE_TO,
      INITIATOR | READ,
      {RESPONSE_FIRST, RESPONSE_HEAD("SSSS", "0000000000001005") "aabbccdd"},
      32,
      0x1005,
      0x1004},
     0,
     "0101c000 0012 " RESPONSE_HEAD("SSSS", "0000000000001005")},
    {{IW_CHECK_RDMAP_RESPONSE_PAST,
      INITIATOR | READ,
      {RESPONSE_FIRST, RESPONSE_HEAD("SSSS", REST) "aabbccddee"},
      40,
      9,
      8},
     0,
     "0101c000 0013 " RESPONSE_HEAD("SSSS", REST)},
    {{IW_CHECK_RDMAP_RESPONSE_SIZE,
      INITIATOR | READ,
      {RESPONSE_FIRST, RESPONSE_HEAD("SSSS", REST) "aabbcc"},
      40,
      7,
      8},
     0,
     "0101c000 0011 " RESPONSE_HEAD("SSSS", REST)},
};

/* The last that was sent. */
static void expect_terminate(struct lone *l, const char *row, const char *rest)
{
    char hex[256];
    uint8_t want[256];
    snprintf(hex, sizeof(hex), TERMINATE "%s", rest);
    size_t length = frame(l, hex, want, sizeof(want));
    assert_true(l->out_length >= length);
    if (memcmp(l->out + l->out_length - length, want, length) != 0)
        fail_msg("%s: expected a Terminate %s", row, rest);
}

static void check(const struct later *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t want[sizeof((struct lone *)0)->memory];
        struct lone l;
        play_open(&l, rows[i].play.flags);
        memset(l.memory, 0xa5, sizeof(l.memory));
        memset(want, 0xa5, sizeof(want));
        if (rows[i].at != PLAIN)
            (void)unhex(&l, FIRST, want + rows[i].at, 4);
        play_expect(&l, &rows[i].play, play_steps(&l, rows[i].play.flags, rows[i].play.steps));
        assert_memory_equal(l.memory, want, sizeof(want));
        expect_terminate(&l, iw_check_info(rows[i].play.check)->name, rows[i].terminate);
        lone_close(&l);
    }
}

static void test_writes(void **state)
{
    (void)state;
    check(writes, sizeof(writes) / sizeof(writes[0]));
}

static void test_sends(void **state)
{
    (void)state;
    check(sends, sizeof(sends) / sizeof(sends[0]));
}

static void test_responses(void **state)
{
    (void)state;
    check(responses, sizeof(responses) / sizeof(responses[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_sends),
        cmocka_unit_test(test_responses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
