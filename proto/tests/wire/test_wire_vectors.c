/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole FPDUs as literal octets, one or more of every message. */
#include "iwarp/crc32c.h"
#include "wire_support.h"

/* Control octets: DDP version 1 with T and L, RDMAP version 1 with the opcode. */
enum { TAGGED_LAST = 0xc1, UNTAGGED_LAST = 0x41 };

static const struct vector {
    const char *name;
    const char *fpdu; /* with a leading Marker if `marker`; the last four octets are the CRC */
    bool marker;
    struct iw_ddp_header ddp;
    const char *header;  /* the DDP header's octets */
    const char *payload; /* the octets after it in the ULPDU */
} vectors[] = {
    {.name = "zero-length Send",
     .fpdu = "00124143 00000000 00000000 00000001 00000000 587be8c4",
     .ddp = {.ddp_control = UNTAGGED_LAST, .rdmap_control = 0x43, .msn = 1},
     .header = "4143 00000000 00000000 00000001 00000000",
     .payload = ""},
    {.name = "zero-length RDMA Write",
     .fpdu = "000ec140 00000000 00000000 00000000 a30572ab",
     .ddp = {.ddp_control = TAGGED_LAST, .rdmap_control = 0x40},
     .header = "c140 00000000 00000000 00000000",
     .payload = ""},
    {.name = "zero-length Read Request",
     .fpdu = "002e4141 00000000 00000001 00000001 00000000 00000000 00000000 00000000 00000000 "
             "00000000 00000000 00000000 f2c6dd3d",
     .ddp = {.ddp_control = UNTAGGED_LAST, .rdmap_control = 0x41, .qn = 1, .msn = 1},
     .header = "4141 00000000 00000001 00000001 00000000",
     .payload = "00000000 00000000 00000000 00000000 00000000 00000000 00000000"},
    {.name = "zero-length Read Response",
     .fpdu = "000ec142 00000000 00000000 00000000 6975d6ca",
     .ddp = {.ddp_control = TAGGED_LAST, .rdmap_control = 0x42},
     .header = "c142 00000000 00000000 00000000",
     .payload = ""},
    {.name = "Send of hello",
     .fpdu = "00174143 00000000 00000000 00000001 00000000 68656c6c 6f000000 b990b10c",
     .ddp = {.ddp_control = UNTAGGED_LAST, .rdmap_control = 0x43, .msn = 1},
     .header = "4143 00000000 00000000 00000001 00000000",
     .payload = "68656c6c 6f"},
    {.name = "zero-length Send behind a Marker",
     .fpdu = "00000000 00124143 00000000 00000000 00000001 00000000 88c1d6fc",
     .marker = true,
     .ddp = {.ddp_control = UNTAGGED_LAST, .rdmap_control = 0x43, .msn = 1},
     .header = "4143 00000000 00000000 00000001 00000000",
     .payload = ""},
    {.name = "RDMA Write of 4 octets",
     .fpdu = "0012c140 11223344 00000000 00001000 deadbeef b75a39ef",
     .ddp = {.ddp_control = TAGGED_LAST, .rdmap_control = 0x40, .stag = 0x11223344, .to = 0x1000},
     .header = "c140 11223344 00000000 00001000",
     .payload = "deadbeef"},
    {.name = "Send with Invalidate",
     .fpdu = "00124144 11223344 00000000 00000002 00000000 42dbd731",
     .ddp = {.ddp_control = UNTAGGED_LAST,
             .rdmap_control = 0x44,
             .invalidate_stag = 0x11223344,
             .msn = 2},
     .header = "4144 11223344 00000000 00000002 00000000",
     .payload = ""},
    {.name = "Read Request of 64 octets",
     .fpdu = "002e4141 00000000 00000001 00000001 00000000 aabbccdd 00000000 00002000 00000040 "
             "11223344 00000000 00001000 c453059c",
     .ddp = {.ddp_control = UNTAGGED_LAST, .rdmap_control = 0x41, .qn = 1, .msn = 1},
     .header = "4141 00000000 00000001 00000001 00000000",
     .payload = "aabbccdd 00000000 00002000 00000040 11223344 00000000 00001000"},
    {.name = "Terminate: CRC",
     .fpdu = "00164147 00000000 00000002 00000001 00000000 20020000 7fe42585",
     .ddp = {.ddp_control = UNTAGGED_LAST, .rdmap_control = 0x47, .qn = 2, .msn = 1},
     .header = "4147 00000000 00000002 00000001 00000000",
     .payload = "20020000"},
    {.name = "Terminate: invalid STag",
     .fpdu = "00264147 00000000 00000002 00000001 00000000 1100c000 0012c140 11223344 00000000 "
             "00001000 b5f74601",
     .ddp = {.ddp_control = UNTAGGED_LAST, .rdmap_control = 0x47, .qn = 2, .msn = 1},
     .header = "4147 00000000 00000002 00000001 00000000",
     .payload = "1100c000 0012c140 11223344 00000000 00001000"},
    {.name = "Terminate: bounds",
     .fpdu = "00464147 00000000 00000002 00000001 00000000 0101e000 002e4141 00000000 00000001 "
             "00000001 00000000 aabbccdd 00000000 00002000 00000040 11223344 00000000 00001000 "
             "bb78a0bc",
     .ddp = {.ddp_control = UNTAGGED_LAST, .rdmap_control = 0x47, .qn = 2, .msn = 1},
     .header = "4147 00000000 00000002 00000001 00000000",
     .payload = "0101e000 002e4141 00000000 00000001 00000001 00000000 aabbccdd 00000000 00002000 "
                "00000040 11223344 00000000 00001000"},
    {.name = "Immediate Data",
     .fpdu = "001a4148 00000000 00000000 00000001 00000000 01020304 05060708 06c22805",
     .ddp = {.ddp_control = UNTAGGED_LAST, .rdmap_control = 0x48, .msn = 1},
     .header = "4148 00000000 00000000 00000001 00000000",
     .payload = "01020304 05060708"},
    {.name = "Atomic FetchAdd",
     .fpdu = "0046414a 00000000 00000001 00000001 00000000 00000000 5a5a0001 11223344 00000000 "
             "00001000 00000000 00000001 00000000 00000000 00000000 00000000 ffffffff ffffffff "
             "4a325eaa",
     .ddp = {.ddp_control = UNTAGGED_LAST, .rdmap_control = 0x4a, .qn = 1, .msn = 1},
     .header = "414a 00000000 00000001 00000001 00000000",
     .payload = "00000000 5a5a0001 11223344 00000000 00001000 00000000 00000001 00000000 00000000 "
                "00000000 00000000 ffffffff ffffffff"},
    {.name = "Atomic CmpSwap",
     .fpdu = "0046414a 00000000 00000001 00000002 00000000 00000002 5a5a0002 11223344 00000000 "
             "00001000 00000000 00000002 ffffffff ffffffff 00000000 00000001 ffffffff ffffffff "
             "fae229a6",
     .ddp = {.ddp_control = UNTAGGED_LAST, .rdmap_control = 0x4a, .qn = 1, .msn = 2},
     .header = "414a 00000000 00000001 00000002 00000000",
     .payload = "00000002 5a5a0002 11223344 00000000 00001000 00000000 00000002 ffffffff ffffffff "
                "00000000 00000001 ffffffff ffffffff"},
    {.name = "Atomic Response",
     .fpdu = "001e414b 00000000 00000003 00000001 00000000 5a5a0001 00000000 00000001 37209549",
     .ddp = {.ddp_control = UNTAGGED_LAST, .rdmap_control = 0x4b, .qn = 3, .msn = 1},
     .header = "414b 00000000 00000003 00000001 00000000",
     .payload = "5a5a0001 00000000 00000001"},
    {.name = "first FPDU of RFC 5044 figure 5",
     .fpdu = "00000000 002a4143 00000000 00000000 00000001 00000000 00000000 00000000 00000000 "
             "00000000 00000000 00000000 52239983",
     .marker = true,
     .ddp = {.ddp_control = UNTAGGED_LAST, .rdmap_control = 0x43, .msn = 1},
     .header = "4143 00000000 00000000 00000001 00000000",
     .payload = "00000000 00000000 00000000 00000000 00000000 00000000"},
};

static void check(const struct vector *v)
{
    size_t n, marker = v->marker ? IW_MPA_MARKER : 0;
    uint8_t *fpdu = wire_hex(v->fpdu, &n);
    size_t ulpdu = (size_t)fpdu[marker] << 8 | fpdu[marker + 1];
    const uint8_t *segment = fpdu + marker + IW_MPA_LENGTH_FIELD;
    struct iw_ddp_header got;

    assert_int_equal(n, marker + iw_wire_fpdu_size((uint32_t)ulpdu));
    for (size_t i = marker + IW_MPA_LENGTH_FIELD + ulpdu; i < n - IW_MPA_CRC_FIELD; i++)
        assert_int_equal(fpdu[i], 0);
    uint8_t crc[4];
    iw_crc32c_put(crc, iw_crc32c_finish(iw_crc32c_portable(IW_CRC32C_INIT, fpdu, n - 4)));
    assert_memory_equal(crc, fpdu + n - 4, 4);

    uint8_t *exact = wire_copy(segment, ulpdu);
    int used = iw_wire_get_ddp(exact, ulpdu, &got);
    assert_int_equal(used, iw_ddp_tagged(&v->ddp) ? 14 : 18);
    wire_assert_ddp(&got, &v->ddp);
    assert_true(iw_ddp_last(&got));
    assert_int_equal(iw_ddp_version(&got), 1);
    assert_int_equal(iw_rdmap_version(&got), 1);
    assert_int_equal(iw_rdmap_op(&got), v->ddp.rdmap_control & 0x0f);
    wire_assert_hex(exact, (size_t)used, v->header);
    wire_assert_hex(exact + used, ulpdu - (size_t)used, v->payload);
    WIRE_ASSERT_CUT_IS_SHORT(iw_wire_get_ddp, struct iw_ddp_header, exact, (size_t)used);
    WIRE_ASSERT_PUTS(iw_wire_put_ddp, &v->ddp, v->header);
    wire_free(exact);
    wire_free(fpdu);
}

static void fpdus(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        print_message("%s\n", vectors[i].name);
        check(&vectors[i]);
    }
}

/* Every field at its own place, every bit of the two control octets. */
static void ddp_fields(void **state)
{
    static const struct {
        const char *hex;
        struct iw_ddp_header h;
        bool tagged, last;
        unsigned dv, rv, op;
    } rows[] = {
        {"ff ff fefdfcfb f1f2f3f4f5f6f7f8",
         {.ddp_control = 0xff,
          .rdmap_control = 0xff,
          .stag = 0xfefdfcfb,
          .to = UINT64_C(0xf1f2f3f4f5f6f7f8)},
         true,
         true,
         3,
         3,
         15},
        {"80 40 00000001 8000000000000000",
         {.ddp_control = 0x80,
          .rdmap_control = 0x40,
          .stag = 1,
          .to = UINT64_C(0x8000000000000000)},
         true,
         false,
         0,
         1,
         0},
        {"7e b3 81828384 91929394 a1a2a3a4 b1b2b3b4",
         {.ddp_control = 0x7e,
          .rdmap_control = 0xb3,
          .invalidate_stag = 0x81828384,
          .qn = 0x91929394,
          .msn = 0xa1a2a3a4,
          .mo = 0xb1b2b3b4},
         false,
         true,
         2,
         2,
         3},
        {"3d 0c 00000000 ffffffff ffffffff ffffffff",
         {.ddp_control = 0x3d,
          .rdmap_control = 0x0c,
          .qn = 0xffffffff,
          .msn = 0xffffffff,
          .mo = 0xffffffff},
         false,
         false,
         1,
         0,
         12},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct iw_ddp_header got;
        size_t n;
        uint8_t *octets = wire_hex(rows[i].hex, &n);
        assert_int_equal(iw_wire_get_ddp(octets, n, &got), n);
        wire_assert_ddp(&got, &rows[i].h);
        assert_int_equal(iw_ddp_tagged(&got), rows[i].tagged);
        assert_int_equal(iw_ddp_last(&got), rows[i].last);
        assert_int_equal(iw_ddp_version(&got), rows[i].dv);
        assert_int_equal(iw_rdmap_version(&got), rows[i].rv);
        assert_int_equal(iw_rdmap_op(&got), rows[i].op);
        WIRE_ASSERT_CUT_IS_SHORT(iw_wire_get_ddp, struct iw_ddp_header, octets, n);
        WIRE_ASSERT_PUTS(iw_wire_put_ddp, &rows[i].h, rows[i].hex);
        wire_free(octets);
    }
}

/* The encoder writes only the fields of the kind that T names. */
static void other_kind_is_ignored(void **state)
{
    struct iw_ddp_header h = {.ddp_control = TAGGED_LAST,
                              .rdmap_control = 0x40,
                              .stag = 1,
                              .to = 2,
                              .invalidate_stag = 3,
                              .qn = 4,
                              .msn = 5,
                              .mo = 6};

    (void)state;
    WIRE_ASSERT_PUTS(iw_wire_put_ddp, &h, "c140 00000001 00000000 00000002");
    h.ddp_control = UNTAGGED_LAST;
    WIRE_ASSERT_PUTS(iw_wire_put_ddp, &h, "4140 00000003 00000004 00000005 00000006");
}

static void read_requests(void **state)
{
    static const struct {
        const char *hex;
        struct iw_rdmap_read_request r;
    } rows[] = {
        {"00000000 00000000 00000000 00000000 00000000 00000000 00000000", {0}},
        {"aabbccdd 00000000 00002000 00000040 11223344 00000000 00001000",
         {0xaabbccdd, 0x2000, 64, 0x11223344, 0x1000}},
        {"f1f2f3f4 e1e2e3e4e5e6e7e8 d1d2d3d4 c1c2c3c4 b1b2b3b4b5b6b7b8",
         {0xf1f2f3f4, UINT64_C(0xe1e2e3e4e5e6e7e8), 0xd1d2d3d4, 0xc1c2c3c4,
          UINT64_C(0xb1b2b3b4b5b6b7b8)}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct iw_rdmap_read_request got;
        size_t n;
        uint8_t *octets = wire_hex(rows[i].hex, &n);
        assert_int_equal(iw_wire_get_read_request(octets, n, &got), 28);
        wire_assert_read_request(&got, &rows[i].r);
        WIRE_ASSERT_CUT_IS_SHORT(iw_wire_get_read_request, struct iw_rdmap_read_request, octets, n);
        WIRE_ASSERT_PUTS(iw_wire_put_read_request, &rows[i].r, rows[i].hex);
        wire_free(octets);
    }
}

static void atomic_requests(void **state)
{
    static const struct {
        const char *hex;
        struct iw_rdmap_atomic_request r;
    } rows[] = {
        {"00000000 5a5a0001 11223344 00000000 00001000 00000000 00000001 00000000 00000000 "
         "00000000 00000000 ffffffff ffffffff",
         {IW_ATOMIC_FETCH_ADD, 0x5a5a0001, 0x11223344, 0x1000, 1, 0, 0, UINT64_MAX}},
        {"00000002 5a5a0002 11223344 00000000 00001000 00000000 00000002 ffffffff ffffffff "
         "00000000 00000001 ffffffff ffffffff",
         {IW_ATOMIC_CMP_SWAP, 0x5a5a0002, 0x11223344, 0x1000, 2, UINT64_MAX, 1, UINT64_MAX}},
        /* reserved bits stay in the word */
        {"f1f2f3f4 e1e2e3e4 d1d2d3d4 c1c2c3c4c5c6c7c8 b1b2b3b4b5b6b7b8 a1a2a3a4a5a6a7a8 "
         "9192939495969798 8182838485868788",
         {0xf1f2f3f4, 0xe1e2e3e4, 0xd1d2d3d4, UINT64_C(0xc1c2c3c4c5c6c7c8),
          UINT64_C(0xb1b2b3b4b5b6b7b8), UINT64_C(0xa1a2a3a4a5a6a7a8), UINT64_C(0x9192939495969798),
          UINT64_C(0x8182838485868788)}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct iw_rdmap_atomic_request *want = &rows[i].r;
        struct iw_rdmap_atomic_request got;
        size_t n;
        uint8_t *octets = wire_hex(rows[i].hex, &n);
        assert_int_equal(iw_wire_get_atomic_request(octets, n, &got), 52);
        assert_int_equal(got.opcode, want->opcode);
        assert_int_equal(got.request_id, want->request_id);
        assert_int_equal(got.remote_stag, want->remote_stag);
        assert_true(got.remote_to == want->remote_to);
        assert_true(got.add_swap_data == want->add_swap_data);
        assert_true(got.add_swap_mask == want->add_swap_mask);
        assert_true(got.compare_data == want->compare_data);
        assert_true(got.compare_mask == want->compare_mask);
        WIRE_ASSERT_CUT_IS_SHORT(iw_wire_get_atomic_request, struct iw_rdmap_atomic_request, octets,
                                 n);
        WIRE_ASSERT_PUTS(iw_wire_put_atomic_request, want, rows[i].hex);
        wire_free(octets);
    }
}

static void atomic_responses(void **state)
{
    static const struct {
        const char *hex;
        struct iw_rdmap_atomic_response r;
    } rows[] = {
        {"5a5a0001 00000000 00000001", {0x5a5a0001, 1}},
        {"f1f2f3f4 e1e2e3e4e5e6e7e8", {0xf1f2f3f4, UINT64_C(0xe1e2e3e4e5e6e7e8)}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct iw_rdmap_atomic_response got;
        size_t n;
        uint8_t *octets = wire_hex(rows[i].hex, &n);
        assert_int_equal(iw_wire_get_atomic_response(octets, n, &got), 12);
        assert_int_equal(got.request_id, rows[i].r.request_id);
        assert_true(got.original_value == rows[i].r.original_value);
        WIRE_ASSERT_CUT_IS_SHORT(iw_wire_get_atomic_response, struct iw_rdmap_atomic_response,
                                 octets, n);
        WIRE_ASSERT_PUTS(iw_wire_put_atomic_response, &rows[i].r, rows[i].hex);
        wire_free(octets);
    }
}

/* Room or input beyond the structure changes nothing. */
static void longer_input(void **state)
{
    struct iw_rdmap_atomic_response response;
    struct iw_ddp_header h;
    size_t n;
    uint8_t *octets = wire_hex("c140 11223344 00000000 00001000 deadbeef 01", &n);
    uint8_t room[20];

    (void)state;
    assert_int_equal(iw_wire_get_ddp(octets, n, &h), 14);
    assert_int_equal(iw_wire_get_atomic_response(octets, n, &response), 12);
    memset(room, 0xa5, sizeof(room));
    assert_int_equal(iw_wire_put_ddp(room, sizeof(room), &h), 14);
    wire_assert_hex(room, sizeof(room), "c140 11223344 00000000 00001000 a5a5a5a5 a5a5");
    wire_free(octets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fpdus),
        cmocka_unit_test(ddp_fields),
        cmocka_unit_test(other_kind_is_ignored),
        cmocka_unit_test(read_requests),
        cmocka_unit_test(atomic_requests),
        cmocka_unit_test(atomic_responses),
        cmocka_unit_test(longer_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
