/* SPDX-License-Identifier: BSD-3-Clause */
/* The Terminate header (RFC 5040 §4.8): its word, its optional fields, its sizes. */
#include "wire_support.h"

#define WRITE_HEADER "c140 11223344 00000000 00001000"
#define READ_DDP "4141 00000000 00000001 00000001 00000000"
#define READ_HEADER "aabbccdd 00000000 00002000 00000040 11223344 00000000 00001000"

static const struct iw_ddp_header write_header = {
    .ddp_control = 0xc1, .rdmap_control = 0x40, .stag = 0x11223344, .to = 0x1000};
static const struct iw_ddp_header read_ddp = {
    .ddp_control = 0x41, .rdmap_control = 0x41, .qn = 1, .msn = 1};
static const struct iw_rdmap_read_request read_header = {0xaabbccdd, 0x2000, 64, 0x11223344,
                                                         0x1000};
static const struct iw_ddp_header no_ddp;
static const struct iw_rdmap_read_request no_read;

/* All eight values of HdrCt. D alone with either kind of header. */
static const struct {
    const char *hex;
    int size;
    uint8_t layer, etype, code, flags;
    uint16_t reserved, segment_length;
    const struct iw_ddp_header *ddp;
    const struct iw_rdmap_read_request *read;
} rows[] = {
    /* MPA CRC error, nothing included */
    {"20020000", 4, 2, 0, 0x02, 0, 0, 0, &no_ddp, &no_read},
    /* DDP invalid STag of a Write: M and D, tagged */
    {"1100c000 0012" WRITE_HEADER, 20, 1, 1, 0x00, IW_TERM_M | IW_TERM_D, 0, 18, &write_header,
     &no_read},
    /* DDP invalid QN: M and D, untagged */
    {"1201c000 002e" READ_DDP, 24, 1, 2, 0x01, IW_TERM_M | IW_TERM_D, 0, 46, &read_ddp, &no_read},
    /* RDMAP bounds violation of a Read Request: M, D and R */
    {"0101e000 002e" READ_DDP READ_HEADER, 52, 0, 1, 0x01, IW_TERM_M | IW_TERM_D | IW_TERM_R, 0, 46,
     &read_ddp, &read_header},
    /* M alone: a length is announced and absent */
    {"12018000", 4, 1, 2, 0x01, IW_TERM_M, 0, 0, &no_ddp, &no_read},
    /* D alone: the length field is there, though not valid */
    {"11004000 0000" WRITE_HEADER, 20, 1, 1, 0x00, IW_TERM_D, 0, 0, &write_header, &no_read},
    /* R alone, M and R, D and R */
    {"01012000" READ_HEADER, 32, 0, 1, 0x01, IW_TERM_R, 0, 0, &no_ddp, &read_header},
    {"0101a000" READ_HEADER, 32, 0, 1, 0x01, IW_TERM_M | IW_TERM_R, 0, 0, &no_ddp, &read_header},
    {"01016000 002e" READ_DDP READ_HEADER, 52, 0, 1, 0x01, IW_TERM_D | IW_TERM_R, 0, 46, &read_ddp,
     &read_header},
    /* a tagged header with R: 48 octets */
    {"0101e000 ffff" WRITE_HEADER READ_HEADER, 48, 0, 1, 0x01, IW_TERM_M | IW_TERM_D | IW_TERM_R, 0,
     65535, &write_header, &read_header},
    /* reserved bits, unknown layer, type and code */
    {"fffe1fff", 4, 15, 15, 0xfe, 0, 0x1fff, 0, &no_ddp, &no_read},
    {"30ff1001", 4, 3, 0, 0xff, 0, 0x1001, 0, &no_ddp, &no_read},
    {"0f000080", 4, 0, 15, 0x00, 0, 0x0080, 0, &no_ddp, &no_read},
};

static void headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct iw_rdmap_terminate got;
        size_t n;
        uint8_t *octets = wire_hex(rows[i].hex, &n);
        assert_int_equal(n, rows[i].size);
        assert_int_equal(iw_wire_get_terminate(octets, n, &got), rows[i].size);
        assert_int_equal(got.layer, rows[i].layer);
        assert_int_equal(got.etype, rows[i].etype);
        assert_int_equal(got.code, rows[i].code);
        assert_int_equal(got.flags, rows[i].flags);
        assert_int_equal(got.reserved, rows[i].reserved);
        assert_int_equal(got.segment_length, rows[i].segment_length);
        wire_assert_ddp(&got.ddp, rows[i].ddp);
        wire_assert_read_request(&got.read_request, rows[i].read);
        assert_int_equal(got.trailing, 0);
        WIRE_ASSERT_CUT_IS_SHORT(iw_wire_get_terminate, struct iw_rdmap_terminate, octets, n);

        struct iw_rdmap_terminate in = {.layer = rows[i].layer,
                                        .etype = rows[i].etype,
                                        .code = rows[i].code,
                                        .flags = rows[i].flags,
                                        .reserved = rows[i].reserved,
                                        .segment_length = rows[i].segment_length,
                                        .ddp = *rows[i].ddp,
                                        .read_request = *rows[i].read};
        WIRE_ASSERT_PUTS(iw_wire_put_terminate, &in, rows[i].hex);
        wire_free(octets);
    }
    assert_int_equal(IW_TERM_MAX, 52);
}

/* Fields that the flags do not announce are not written, whatever they hold. */
static void unflagged_fields_are_left_out(void **state)
{
    struct iw_rdmap_terminate in = {.layer = 1,
                                    .etype = 1,
                                    .flags = IW_TERM_M,
                                    .segment_length = 18,
                                    .ddp = write_header,
                                    .read_request = read_header,
                                    .trailing = 9};

    (void)state;
    WIRE_ASSERT_PUTS(iw_wire_put_terminate, &in, "11008000");
}

/* Values wider than their fields do not spill into the neighbours. */
static void wide_values_are_cut(void **state)
{
    struct iw_rdmap_terminate in = {
        .layer = 0xf2, .etype = 0x31, .flags = 0x1f, .reserved = 0xe000};

    (void)state;
    WIRE_ASSERT_PUTS(iw_wire_put_terminate, &in, "21000000");
}

/* Absent fields sent as zeros (one reading of RFC 5040 §7.1): counted, not consumed. */
static void zero_filled_fields_are_trailing(void **state)
{
    static const struct {
        const char *hex;
        int used;
        uint32_t trailing;
    } cases[] = {
        {"20020000 00", 4, 1},
        {"20020000 0000 000000000000000000000000000000000000", 4, 20},
        {"1100c000 0012" WRITE_HEADER "00000000", 20, 4},
        {"0101e000 002e" READ_DDP READ_HEADER "ff", 52, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct iw_rdmap_terminate got;
        size_t n;
        uint8_t *octets = wire_hex(cases[i].hex, &n);
        assert_int_equal(iw_wire_get_terminate(octets, n, &got), cases[i].used);
        assert_int_equal(got.trailing, cases[i].trailing);
        wire_free(octets);
    }
}

/* The first word of every assigned error, layer<<28 | etype<<24 | code<<16 | HdrCt. */
static void words(void **state)
{
    static const struct {
        const char *word;
        uint8_t layer, etype, code, flags;
        const char *name;
    } errors[] = {
        {"00000000", 0, 0, 0x00, 0, "local catastrophic"},
        {"00ff0000", 0, 0, 0xff, 0, "local catastrophic"},
        {"01000000", 0, 1, 0x00, 0, "invalid STag"},
        {"01010000", 0, 1, 0x01, 0, "base or bounds violation"},
        {"01020000", 0, 1, 0x02, 0, "access rights violation"},
        {"01030000", 0, 1, 0x03, 0, "STag not associated with RDMAP stream"},
        {"01040000", 0, 1, 0x04, 0, "TO wrap"},
        {"01050000", 0, 1, 0x05, 0, "unknown"},
        {"01090000", 0, 1, 0x09, 0, "STag cannot be invalidated"},
        {"01ff0000", 0, 1, 0xff, 0, "unspecified remote protection error"},
        {"02040000", 0, 2, 0x04, 0, "unknown"},
        {"02050000", 0, 2, 0x05, 0, "invalid RDMAP version"},
        {"02060000", 0, 2, 0x06, 0, "unexpected opcode"},
        {"02070000", 0, 2, 0x07, 0, "catastrophic error, localized to RDMAP stream"},
        {"02080000", 0, 2, 0x08, 0, "catastrophic error, global"},
        {"02090000", 0, 2, 0x09, 0, "STag cannot be invalidated"},
        {"02ff0000", 0, 2, 0xff, 0, "unspecified remote operation error"},
        {"03000000", 0, 3, 0x00, 0, "unknown"},
        {"10000000", 1, 0, 0x00, 0, "local catastrophic"},
        {"10010000", 1, 0, 0x01, 0, "unknown"},
        {"11000000", 1, 1, 0x00, 0, "invalid STag"},
        {"11010000", 1, 1, 0x01, 0, "base or bounds violation"},
        {"11020000", 1, 1, 0x02, 0, "STag not associated with DDP stream"},
        {"11030000", 1, 1, 0x03, 0, "TO wrap"},
        {"11040000", 1, 1, 0x04, 0, "invalid DDP version"},
        {"12000000", 1, 2, 0x00, 0, "unknown"},
        {"12010000", 1, 2, 0x01, 0, "invalid QN"},
        {"12020000", 1, 2, 0x02, 0, "invalid MSN: no buffer available"},
        {"12030000", 1, 2, 0x03, 0, "invalid MSN: range not valid"},
        {"12040000", 1, 2, 0x04, 0, "invalid MO"},
        {"12050000", 1, 2, 0x05, 0, "message too long for available buffer"},
        {"12060000", 1, 2, 0x06, 0, "invalid DDP version"},
        {"13000000", 1, 3, 0x00, 0, "unknown"},
        {"20000000", 2, 0, 0x00, 0, "unknown"},
        {"20010000", 2, 0, 0x01, 0, "TCP connection closed, terminated or lost"},
        {"20020000", 2, 0, 0x02, 0, "MPA CRC mismatch"},
        {"20030000", 2, 0, 0x03, 0, "Marker and ULPDU_Length disagree"},
        {"20040000", 2, 0, 0x04, 0, "invalid MPA Request or Reply frame"},
        {"20050000", 2, 0, 0x05, 0, "local catastrophic"},
        {"20060000", 2, 0, 0x06, 0, "insufficient IRD resources"},
        {"20070000", 2, 0, 0x07, 0, "no matching RTR option"},
        {"21020000", 2, 1, 0x02, 0, "unknown"},
        {"30000000", 3, 0, 0x00, 0, "unknown"},
        {"12018000", 1, 2, 0x01, IW_TERM_M, "invalid QN"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        struct iw_rdmap_terminate in = {.layer = errors[i].layer,
                                        .etype = errors[i].etype,
                                        .code = errors[i].code,
                                        .flags = errors[i].flags};
        WIRE_ASSERT_PUTS(iw_wire_put_terminate, &in, errors[i].word);
        assert_string_equal(iw_wire_term_name(in.layer, in.etype, in.code), errors[i].name);
    }
    assert_string_equal(iw_wire_term_name(0, 1, 0x109), "unknown");
    assert_string_equal(iw_wire_term_name(256, 1, 0), "unknown");
    assert_true(iw_wire_term_assigned(1, 2, 6));
    assert_false(iw_wire_term_assigned(1, 2, 7));
    assert_true(iw_wire_term_assigned(0, 0, 0xfe));
    assert_true(iw_wire_term_assigned(1, 3, 0xfe));
    assert_false(iw_wire_term_assigned(0, 3, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers),
        cmocka_unit_test(unflagged_fields_are_left_out),
        cmocka_unit_test(wide_values_are_cut),
        cmocka_unit_test(zero_filled_fields_are_trailing),
        cmocka_unit_test(words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
