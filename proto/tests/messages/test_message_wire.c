/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/messages.h"
#include "messages/message_wire.h"

static const uint8_t greeting[] = {
    'i',  'w',  'm', 's', 1, 0,  0, 0,    0x11, 0x22, 0x33, 0x44, 0x55, 0x66,
    0x77, 0x88, 0,   0,   0, 96, 0, 0x10, 0,    0,    0x1d, 0x2f, 0,    0,
};

static const uint8_t short_message[] = {
    1,    3,   1, 0, 0, 0, 1, 2,                         /* version, type, flags, count, grants */
    0,    0,   0, 0, 0, 0, 0, 9,                         /* base */
    0,    0,   0, 0, 0, 0, 0, 6,                         /* ahead */
    0x80, 0,   0, 0, 0, 0, 0, 1,                         /* refused before */
    0,    0,   0, 0, 0, 0, 0, 4,                         /* refused after */
    0,    0,   0, 1, 0, 0, 0, 0,                         /* sequence */
    0,    0,   0, 7, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, /* from, to, length, loan */
    'h',  'i',
};

static const uint8_t announce[] = {
    1, 4, 0,    2, 0, 0, 0,    0, 0,    0,    0,    0,    0,    0,    0,    0,    0, 0, 0,    0,
    0, 0, 0,    0, 0, 0, 0,    0, 0,    0,    0,    0,    0,    0,    0,    0,    0, 0, 0,    0,
    0, 0, 0,    0, 0, 0, 0,    5, 0,    0,    0,    7,    0,    0,    0,    8,    0, 0, 0x30, 0,
    0, 0, 0,    0, 0, 0, 0x7f, 0, 0,    0,    0x10, 0,    0xaa, 0xbb, 0xcc, 0xdd, 0, 0, 0x20, 0,
    0, 0, 0x7f, 0, 0, 0, 0x80, 0, 0x01, 0x02, 0x03, 0x04, 0,    0,    0x10, 0,
};

static void greetings(void **unused)
{
    (void)unused;
    const struct iw_message_greeting g = {0x1122334455667788, 96, 1 << 20, 7471};
    uint8_t out[IW_MESSAGE_GREETING];
    iw_message_put_greeting(&g, out);
    assert_memory_equal(out, greeting, sizeof(greeting));

    struct iw_message_greeting got;
    assert_true(iw_message_get_greeting(greeting, sizeof(greeting), &got));
    assert_true(got.instance == g.instance && got.grants == 96 && got.longest == 1 << 20);
    assert_int_equal(got.port, 7471);
    for (size_t length = 0; length < sizeof(greeting); length++)
        assert_false(iw_message_get_greeting(greeting, length, &got));
    for (size_t i = 0; i < 5; i++) {
        uint8_t bad[sizeof(greeting)];
        memcpy(bad, greeting, sizeof(bad));
        bad[i]++;
        assert_false(iw_message_get_greeting(bad, sizeof(bad), &got));
    }
    uint8_t nobody[sizeof(greeting)];
    memcpy(nobody, greeting, sizeof(nobody));
    memset(nobody + 8, 0, 8);
    assert_false(iw_message_get_greeting(nobody, sizeof(nobody), &got));
}

static void short_messages(void **unused)
{
    (void)unused;
    struct iw_message_header h = {.type = IW_MESSAGE_SHORT,
                                  .flags = IW_MESSAGE_ASK,
                                  .grants = 258,
                                  .state = {9, 6, UINT64_C(1) << 63 | 1, 4},
                                  .sequence = UINT64_C(1) << 32,
                                  .from = 7,
                                  .to = 65536,
                                  .length = 2};
    uint8_t out[IW_MESSAGE_HEADER];
    iw_message_put_header(&h, out);
    assert_memory_equal(out, short_message, sizeof(out));

    struct iw_message_header got;
    assert_null(iw_message_get_header(short_message, sizeof(short_message), &got));
    assert_int_equal(got.type, IW_MESSAGE_SHORT);
    assert_int_equal(got.flags, IW_MESSAGE_ASK);
    assert_int_equal(got.grants, 258);
    assert_int_equal(got.state.base, 9);
    assert_int_equal(got.state.ahead, 6);
    assert_true(got.state.refused_before == (UINT64_C(1) << 63 | 1));
    assert_int_equal(got.state.refused_after, 4);
    assert_true(got.sequence == UINT64_C(1) << 32);
    assert_int_equal(got.from, 7);
    assert_int_equal(got.to, 65536);
    assert_int_equal(got.length, 2);
}

static void announcements(void **unused)
{
    (void)unused;
    struct iw_message_header got;
    struct iw_message_piece piece;
    assert_null(iw_message_get_header(announce, sizeof(announce), &got));
    assert_int_equal(got.count, 2);
    assert_int_equal(got.length, 0x3000);
    iw_message_get_piece(announce + 64, &piece);
    assert_true(piece.address == 0x7f0000001000 && piece.stag == 0xaabbccdd);
    assert_int_equal(piece.length, 0x2000);
    uint8_t out[IW_MESSAGE_PIECE];
    iw_message_put_piece(&piece, out);
    assert_memory_equal(out, announce + 64, sizeof(out));
}

struct edit {
    size_t at;
    uint8_t value;
    const char *says;
};

static void refuses(const uint8_t *right, size_t length, const struct edit *edits, size_t count)
{
    struct iw_message_header got;
    uint8_t octets[256];
    for (size_t i = 0; i < count; i++) {
        memcpy(octets, right, length);
        octets[edits[i].at] = edits[i].value;
        const char *says = iw_message_get_header(octets, length, &got);
        assert_non_null(says);
        assert_string_equal(says, edits[i].says);
    }
}

static void wrong_ones(void **unused)
{
    (void)unused;
    struct iw_message_header got;
    for (size_t length = 0; length < IW_MESSAGE_HEADER; length++)
        assert_string_equal(iw_message_get_header(short_message, length, &got),
                            "shorter than a header");
    assert_string_equal(iw_message_get_header(short_message, sizeof(short_message) - 1, &got),
                        "another length than the header says");
    assert_string_equal(iw_message_get_header(announce, sizeof(announce) - 1, &got),
                        "another length than the header says");
    static const struct edit of_short[] = {
        {0, 2, "another version"},
        {1, 0, "an unknown type"},
        {1, 7, "an unknown type"},
        {39, 8, "refused but not done with"},
        {58, 0x10, "longer than a message may be"},
        {59, 3, "another length than the header says"},
        {51, 0, "a message without sequence number, sender or receiver"},
        {53, 0, "a message without sequence number, sender or receiver"},
        {43, 0, "a message without sequence number, sender or receiver"},
    };
    refuses(short_message, sizeof(short_message), of_short, sizeof(of_short) / sizeof(of_short[0]));
    static const struct edit of_announce[] = {
        {56, 0x20, "the pieces are not as long as their message"},
        {56, 0x41, "longer than a message may be"},
        {3, 1, "another length than the header says"},
        {78, 0x21, "the pieces are not as long as their message"},
    };
    refuses(announce, sizeof(announce), of_announce, sizeof(of_announce) / sizeof(of_announce[0]));

    uint8_t none[IW_MESSAGE_HEADER];
    memcpy(none, announce, sizeof(none));
    none[3] = 0;
    assert_string_equal(iw_message_get_header(none, sizeof(none), &got),
                        "an announcement has 1 to 16 pieces");
    uint8_t empty[sizeof(announce)];
    memcpy(empty, announce, sizeof(empty));
    memset(empty + 64 + 12, 0, 4);
    assert_string_equal(iw_message_get_header(empty, sizeof(empty), &got), "a piece is empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greetings),
        cmocka_unit_test(short_messages),
        cmocka_unit_test(announcements),
        cmocka_unit_test(wrong_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
