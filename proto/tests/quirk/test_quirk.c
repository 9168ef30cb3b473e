/* SPDX-License-Identifier: BSD-3-Clause */
/* A Terminate whose control word is in reversed bit order, in literal octets: those of siw (Linux
 * 6.1) as it sent them, and others that must not be taken for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/quirk.h"

enum { ROOM = 128 };

#define SEND_QN_4 "001a 4143 00000000 00000004 00000001 00000000"
#define WRITE "0012 c140 5bad57a6 123456789abcdef0"
#define READ                                                                                       \
    "002e 4141 00000000 00000001 00000001 00000000 51a70001 0000000000001000 00000001 5bad57a6 "   \
    "0000000000001000"

static size_t unhex(const char *text, uint8_t *out)
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        unsigned octet = 0;
        if (*text == ' ')
            continue;
        assert_true(n < ROOM && sscanf(text++, "%2x", &octet) == 1);
        out[n++] = (uint8_t)octet;
    }
    return n;
}

/* In blocks of their own size: a sanitizer sees what reads beyond. */
static enum iw_evidence judge(const char *hex, const struct iw_quirk_context *context)
{
    uint8_t octets[ROOM];
    size_t length = unhex(hex, octets);
    uint8_t *own = test_malloc(length > 0 ? length : 1);
    memcpy(own, octets, length);
    enum iw_evidence evidence = iw_quirk_terminate(own, length, context);
    test_free(own);
    return evidence;
}

static void test_proven(void **state)
{
    (void)state;
    static const struct {
        const char *octets;
        uint8_t layer, etype, code, flags;
    } rows[] = {
        {"21010300 " SEND_QN_4, 1, 2, 0x01, 0xc0},
        {"11000300 " WRITE, 1, 1, 0x00, 0xc0},
        {"10000700 " READ, 0, 1, 0x00, 0xe0},
        {"10ff0700 " READ, 0, 1, 0xff, 0xe0},
        {"20070300 " SEND_QN_4, 0, 2, 0x07, 0xc0},
        {"01000300 " WRITE, 1, 0, 0x00,
         0xc0}, /* catastrophic, with headers that it should not have */
        {"11100300 " WRITE, 1, 1, 0x10, 0xc0}, /* no code of these */
        {"02020000", 2, 0, 0x02, 0},           /* CRC mismatch */
        {"02040000", 2, 0, 0x04, 0},
    };
    const struct iw_quirk_context unknown = {0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t octets[ROOM];
        size_t length = unhex(rows[i].octets, octets);
        struct iw_rdmap_terminate t;
        assert_int_equal(judge(rows[i].octets, &unknown), IW_EVIDENCE_PROVEN);
        assert_int_equal(iw_quirk_get_terminate(octets, length, &t), length);
        assert_int_equal(t.layer, rows[i].layer);
        assert_int_equal(t.etype, rows[i].etype);
        assert_int_equal(t.code, rows[i].code);
        assert_int_equal(t.flags, rows[i].flags);
        assert_int_equal(t.reserved, 0);
        assert_int_equal(t.trailing, 0);
    }
}

/* What peers send that have another fault, or none. */
static void test_not_proven(void **state)
{
    (void)state;
    static const char *const rows[] = {
        /* as they should be */
        "1201c000 " SEND_QN_4,
        "1100c000 " WRITE,
        "0100e000 " READ,
        "20020000",
        "00000000",
        "10000000",
        /* reserved bits, one and all */
        "1100c001 " WRITE,
        "1100dfff " WRITE,
        "20020001",
        "20020300",
        "20021f00",
        /* another layer, type or code, with and without headers */
        "2201c000 " SEND_QN_4,
        "2101c000 " SEND_QN_4,
        "1211c000 " SEND_QN_4,
        "10020000",
        "21020000",
        "20120000",
        "00020000",
        "10010000",
        /* headers left out, or too many */
        "12010000",
        "11000000",
        "01020000",
        "2002c000 " WRITE,
        /* a reversed word that announces headers which do not follow, or more that does */
        "11000300 0012 c140 5bad57a6",
        "11000300",
        "11000300 " WRITE " 00",
        "11000700 " WRITE,
        /* sense either way */
        "02060000",
        "02050000",
        "02070000",
        "20050000",
        "01000000",
        /* cut short */
        "",
        "21",
        "2101",
        "210103",
    };
    const struct iw_quirk_context unknown = {0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (judge(rows[i], &unknown) != IW_EVIDENCE_NONE)
            fail_msg("%s was taken for one in reversed order", rows[i]);
}

static void test_what_is_due(void **state)
{
    (void)state;
    const struct iw_quirk_context qn = {.due = iw_check_info(IW_CHECK_DDP_QN)};
    const struct iw_quirk_context msn = {.due = iw_check_info(IW_CHECK_DDP_MSN)};
    const struct iw_quirk_context key = {.due = iw_check_info(IW_CHECK_MPA_REQ_KEY)};

    /* Without headers, which figure 10 calls for: a wrong type of LLP's could be meant. */
    assert_int_equal(judge("21010000", &qn), IW_EVIDENCE_PROVEN);
    assert_int_equal(judge("21010000", &msn), IW_EVIDENCE_NONE);
    assert_int_equal(judge("21010000", &key), IW_EVIDENCE_NONE);
    /* An announced header is cut off. */
    assert_int_equal(judge("21010300 001a 4143", &qn), IW_EVIDENCE_PROVEN);
    assert_int_equal(judge("21010300 001a 4143", &msn), IW_EVIDENCE_NONE);
    assert_int_equal(judge("21010400", &msn), IW_EVIDENCE_NONE);
}

/* "Unexpected opcode" before any segment came is "insufficient IRD". */
static void test_unprovoked(void **state)
{
    (void)state;
    const struct iw_quirk_context early = {.unprovoked = true};

    assert_int_equal(judge("02060000", &early), IW_EVIDENCE_PROVEN);
    assert_int_equal(judge("02050000", &early), IW_EVIDENCE_PROVEN);
    assert_int_equal(judge("02070000", &early), IW_EVIDENCE_NONE); /* catastrophic: can be */
    assert_int_equal(judge("02080000", &early), IW_EVIDENCE_NONE);
    assert_int_equal(judge("20060000", &early), IW_EVIDENCE_NONE);
    assert_int_equal(judge("01000000", &early), IW_EVIDENCE_NONE); /* OP-51: or without headers */
    assert_int_equal(judge("10000000", &early), IW_EVIDENCE_NONE);
    assert_int_equal(judge("00000000", &early), IW_EVIDENCE_NONE);
}

static void test_assumed(void **state)
{
    (void)state;
    const struct iw_quirk_context said = {.assumed = true};

    assert_int_equal(judge("02060000", &said), IW_EVIDENCE_ASSUMED);
    assert_int_equal(judge("02070000", &said), IW_EVIDENCE_ASSUMED);
    assert_int_equal(judge("20050000", &said), IW_EVIDENCE_ASSUMED);
    assert_int_equal(judge("21060000", &said), IW_EVIDENCE_ASSUMED);
    assert_int_equal(judge("21010300 " SEND_QN_4, &said), IW_EVIDENCE_PROVEN);
    /* A peer that has been mended. */
    assert_int_equal(judge("1201c000 " SEND_QN_4, &said), IW_EVIDENCE_NONE);
    assert_int_equal(judge("20020000", &said), IW_EVIDENCE_NONE);
    assert_int_equal(judge("12010000", &said), IW_EVIDENCE_NONE);
    assert_int_equal(judge("20020001", &said), IW_EVIDENCE_NONE);
}

static void test_turn(void **state)
{
    (void)state;
    uint8_t word[IW_TERM_WORD] = {0x12, 0x05, 0xc0, 0x00};

    iw_quirk_turn_terminate(word);
    assert_memory_equal(word, "\x21\x05\x03\x00", 4);
    iw_quirk_turn_terminate(word);
    assert_memory_equal(word, "\x12\x05\xc0\x00", 4);
    memcpy(word, "\x01\x80\x61\x0d", 4);
    iw_quirk_turn_terminate(word);
    assert_memory_equal(word, "\x10\x80\x86\xb0", 4);
}

/* Octets that nothing announces are counted however many they are. */
static void test_trailing(void **state)
{
    (void)state;
    uint8_t octets[ROOM];
    size_t length = unhex("02020000", octets);
    struct iw_rdmap_terminate t;

    memset(octets + length, 0, ROOM - length);
    assert_int_equal(iw_quirk_get_terminate(octets, ROOM, &t), 4);
    assert_int_equal(t.trailing, ROOM - 4);
    assert_int_equal(iw_quirk_get_terminate(octets, 3, &t), IW_WIRE_SHORT);
}

#define HEADER "4147 00000000 00000002 00000001 00000000 "

static void check_print(const char *hex, iw_quirks quirks, const char *expected)
{
    uint8_t octets[ROOM];
    size_t length = unhex(hex, octets);
    char text[440], cut[16];

    assert_int_equal(iw_quirk_print_segment(text, sizeof(text), octets, length, quirks),
                     strlen(expected));
    assert_string_equal(text, expected);
    assert_int_equal(iw_quirk_print_segment(cut, sizeof(cut), octets, length, quirks),
                     strlen(expected));
    assert_int_equal(strlen(cut), sizeof(cut) - 1);
    assert_memory_equal(cut, expected, sizeof(cut) - 1);
    assert_int_equal(iw_quirk_print_segment(NULL, 0, octets, length, quirks), strlen(expected));
}

static void test_print(void **state)
{
    (void)state;
    const iw_quirks reversed = iw_quirk_bit(IW_QUIRK_TERMINATE_REVERSED);

    check_print(HEADER "11000300 " WRITE, reversed,
                "terminate 1/1/00 \"DDP: invalid STag\" mdr M D len 18 [write L stag 5bad57a6 to "
                "123456789abcdef0] (terminate-reversed)");
    check_print(HEADER "11000300 " WRITE, 0,
                "terminate 1/1/00 \"DDP: invalid STag\" reserved 0300 trailing 16");
    check_print(HEADER "020200", reversed, "terminate len 3");
    check_print("4143 00000000 00000000 00000001 00000000 21010300", reversed,
                "send L msn 1 mo 0 len 4");
}

static void test_in_segment(void **state)
{
    (void)state;
    static const struct {
        const char *octets;
        iw_quirks quirks;
    } rows[] = {
        {HEADER "11000300 " WRITE, 1u << IW_QUIRK_TERMINATE_REVERSED},
        {HEADER "1100c000 " WRITE, 0},
        {HEADER "0202", 0},
        {"4143 00000000 00000000 00000001 00000000 02020000", 0},
        {"c147 00000000 0000000000000000 02020000", 0},
        {"41", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t octets[ROOM];
        size_t length = unhex(rows[i].octets, octets);
        assert_int_equal(iw_quirk_in_segment(octets, length), rows[i].quirks);
    }
}

/* "123456789": its CRC-32 is cbf43926, its CRC32c e3069283. */
static void test_crc(void **state)
{
    (void)state;
    const uint8_t *octets = (const uint8_t *)"123456789";
    const uint32_t good = 0xe3069283;

    assert_int_equal(iw_quirk_crc(octets, 9, good, good), 0);
    assert_int_equal(iw_quirk_crc(octets, 9, 0x839206e3, good), 1u << IW_QUIRK_CRC_ORDER);
    assert_int_equal(iw_quirk_crc(octets, 9, 0xcbf43926, good), 1u << IW_QUIRK_CRC_POLYNOMIAL);
    assert_int_equal(iw_quirk_crc(octets, 9, 0x2639f4cb, good), 1u << IW_QUIRK_CRC_POLYNOMIAL);
    assert_int_equal(iw_quirk_crc(octets, 9, 0, good), 0);
    assert_int_equal(iw_quirk_crc(octets, 9, ~good, good), 0);
    assert_int_equal(iw_quirk_crc(octets, 8, 0xcbf43926, good), 0);
}

static void test_order(void **state)
{
    (void)state;

    assert_int_equal(iw_quirk_turn32(0x01020304), 0x04030201);
    assert_true(iw_quirk_turn64(0x0102030405060708) == 0x0807060504030201);
    assert_true(iw_quirk_turned32(0x01000000, 1));
    assert_true(iw_quirk_turned32(0x78563412, 0x12345678));
    assert_false(iw_quirk_turned32(1, 1));
    assert_false(iw_quirk_turned32(0, 0));
    assert_false(iw_quirk_turned32(0x12344321, 0x12344321));
    assert_false(iw_quirk_turned32(0x02000000, 1));
    assert_true(iw_quirk_turned64(0x0010000000000000, 0x1000));
    assert_false(iw_quirk_turned64(0x1000, 0x1000));
    assert_false(iw_quirk_turned64(0x0010000000000001, 0x1000));
}

static void test_pd_length(void **state)
{
    (void)state;
    static const struct {
        struct iw_mpa_startup_header header;
        enum iw_evidence evidence, if_said;
    } rows[] = {
        {{.revision = 1, .pd_length = 0x0400}, IW_EVIDENCE_PROVEN, IW_EVIDENCE_PROVEN},
        {{.revision = 1, .pd_length = 0xff01}, IW_EVIDENCE_PROVEN, IW_EVIDENCE_PROVEN},
        {{.revision = 2, .flags = IW_MPA_FLAG_S, .pd_length = 0x0400},
         IW_EVIDENCE_PROVEN,
         IW_EVIDENCE_PROVEN},
        /* S has a meaning from revision 2 on. */
        {{.revision = 1, .flags = IW_MPA_FLAG_S, .pd_length = 0x0300},
         IW_EVIDENCE_PROVEN,
         IW_EVIDENCE_PROVEN},
        {{.revision = 2, .flags = IW_MPA_FLAG_S, .pd_length = 0x0300},
         IW_EVIDENCE_NONE,
         IW_EVIDENCE_NONE},
        /* Above 512 either way; the same either way. */
        {{.revision = 1, .pd_length = 0x0402}, IW_EVIDENCE_NONE, IW_EVIDENCE_NONE},
        {{.revision = 1, .pd_length = 0x0101}, IW_EVIDENCE_NONE, IW_EVIDENCE_NONE},
        {{.revision = 1, .pd_length = 0}, IW_EVIDENCE_NONE, IW_EVIDENCE_NONE},
        /* Valid as it stands. */
        {{.revision = 1, .pd_length = 0x0100}, IW_EVIDENCE_NONE, IW_EVIDENCE_ASSUMED},
        {{.revision = 1, .pd_length = 0x0200}, IW_EVIDENCE_NONE, IW_EVIDENCE_ASSUMED},
        {{.revision = 1, .pd_length = 0x0002}, IW_EVIDENCE_NONE, IW_EVIDENCE_ASSUMED},
        {{.revision = 1, .pd_length = 0x0004}, IW_EVIDENCE_NONE, IW_EVIDENCE_NONE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(iw_quirk_pd_length(&rows[i].header, false), rows[i].evidence);
        assert_int_equal(iw_quirk_pd_length(&rows[i].header, true), rows[i].if_said);
    }
}

static void test_print_startup(void **state)
{
    (void)state;
    static const uint8_t frame[] = "MPA ID Rep Frame\x50\x02\x04\x00\x00\x10\x00\x10";
    char text[512];
    iw_quirks quirk = iw_quirk_bit(IW_QUIRK_PD_ORDER);

    size_t n = iw_quirk_print_startup(text, sizeof(text), frame, 24, quirk);
    assert_string_equal(text, "mpa reply rev 2 C S pd 4 ird 16 ord 16 (pd-order)");
    assert_int_equal(n, strlen(text));
    (void)iw_quirk_print_startup(text, sizeof(text), frame, 24, 0);
    assert_string_equal(text, "mpa reply rev 2 C S pd 1024 ird 16 ord 16 cut");
    (void)iw_quirk_print_startup(text, sizeof(text), frame, 3, quirk);
    assert_string_equal(text, "short mpa frame of 3 octets");
    (void)iw_quirk_print_startup(text, 4, frame, 24, quirk);
    assert_string_equal(text, "mpa");
}

static void test_in_fault(void **state)
{
    (void)state;
    static const struct {
        struct iw_fault fault;
        enum iw_quirk quirk;
    } rows[] = {
        {{IW_CHECK_MPA_CRC, 0, 0x839206e3, 0xe3069283}, IW_QUIRK_CRC_ORDER},
        {{IW_CHECK_MPA_CRC, 0, 0x839206e4, 0xe3069283}, IW_QUIRK_COUNT},
        {{IW_CHECK_DDP_QN, 0, 0x02000000, 0}, IW_QUIRK_QN_ORDER},
        {{IW_CHECK_DDP_QN, 0, 0x04000000, 0}, IW_QUIRK_COUNT},
        {{IW_CHECK_DDP_QN, 0, 9, 0}, IW_QUIRK_COUNT},
        {{IW_CHECK_DDP_MSN, 0, 0x01000000, 1}, IW_QUIRK_MSN_ORDER},
        {{IW_CHECK_DDP_MSN, 0, 2, 1}, IW_QUIRK_COUNT},
        {{IW_CHECK_DDP_MO_PLACE, 0, 0x04000000, 4}, IW_QUIRK_MO_ORDER},
        {{IW_CHECK_RDMAP_RESPONSE_STAG, 0, 0xddccbbaa, 0xaabbccdd}, IW_QUIRK_STAG_ORDER},
        {{IW_CHECK_RDMAP_RESPONSE_TO, 0, 0x0010000000000000, 0x1000}, IW_QUIRK_TO_ORDER},
        {{IW_CHECK_RDMAP_RESPONSE_TO, 0, 0x1008, 0x1000}, IW_QUIRK_COUNT},
        {{IW_CHECK_MPA_PAD, 0, 0x01000000, 1}, IW_QUIRK_COUNT},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(iw_quirk_in_fault(&rows[i].fault), rows[i].quirk);
}

static void test_names(void **state)
{
    (void)state;
    enum iw_quirk quirk = IW_QUIRK_TERMINATE_REVERSED;

    for (int i = 0; i < IW_QUIRK_COUNT; i++) {
        const struct iw_check_info *info = iw_check_info(iw_quirk_check((enum iw_quirk)i));
        assert_true(iw_quirk_find(iw_quirk_name((enum iw_quirk)i), &quirk) && (int)quirk == i);
        assert_int_equal(
            iw_quirk_shown(iw_quirk_bit((enum iw_quirk)i), iw_quirk_check((enum iw_quirk)i)), i);
        assert_int_equal(iw_quirk_shown(iw_quirk_bit((enum iw_quirk)i), IW_CHECK_MPA_PAD),
                         IW_QUIRK_COUNT);
        assert_true((info->kinds & IW_KIND_OBSERVER) != 0);
        assert_true(strlen(iw_quirk_text((enum iw_quirk)i)) > 0);
    }
    assert_string_equal(iw_quirk_name(IW_QUIRK_TERMINATE_REVERSED), "terminate-reversed");
    assert_false(iw_quirk_find("terminate-reverse", &quirk));
    assert_int_equal(iw_quirk_shown(0, IW_CHECK_MPA_CRC), IW_QUIRK_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proven),        cmocka_unit_test(test_not_proven),
        cmocka_unit_test(test_what_is_due),   cmocka_unit_test(test_unprovoked),
        cmocka_unit_test(test_assumed),       cmocka_unit_test(test_turn),
        cmocka_unit_test(test_trailing),      cmocka_unit_test(test_print),
        cmocka_unit_test(test_in_segment),    cmocka_unit_test(test_names),
        cmocka_unit_test(test_crc),           cmocka_unit_test(test_order),
        cmocka_unit_test(test_in_fault),      cmocka_unit_test(test_pd_length),
        cmocka_unit_test(test_print_startup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
