/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/rdmap.h"

static struct iw_ddp_header tagged(uint8_t ddp, uint8_t rdmap)
{
    struct iw_ddp_header h = {.ddp_control = ddp, .rdmap_control = rdmap};
    return h;
}

static struct iw_ddp_header untagged(uint8_t ddp, uint8_t rdmap, uint32_t qn)
{
    struct iw_ddp_header h = {.ddp_control = ddp, .rdmap_control = rdmap, .qn = qn};
    return h;
}

/* RFC 5040 figure 4 and RFC 7306 §4.1, written down a second time. */
static void test_message_table(void **state)
{
    (void)state;
    static const struct {
        unsigned opcode;
        bool base, extended, is_tagged, invalidates, solicits, send;
        uint32_t qn;
    } rows[16] = {
        {0x0, true, true, true, false, false, false, 0},
        {0x1, true, true, false, false, false, false, 1},
        {0x2, true, true, true, false, false, false, 0},
        {0x3, true, true, false, false, false, true, 0},
        {0x4, true, true, false, true, false, true, 0},
        {0x5, true, true, false, false, true, true, 0},
        {0x6, true, true, false, true, true, true, 0},
        {0x7, true, true, false, false, false, false, 2},
        {0x8, false, true, false, false, false, false, 0},
        {0x9, false, true, false, false, true, false, 0},
        {0xa, false, true, false, false, false, false, 1},
        {0xb, false, true, false, false, false, false, 3},
        {0xc, false, false, false, false, false, false, 0},
        {0xd, false, false, false, false, false, false, 0},
        {0xe, false, false, false, false, false, false, 0},
        {0xf, false, false, false, false, false, false, 0},
    };
    for (unsigned i = 0; i < 16; i++) {
        unsigned op = rows[i].opcode;
        assert_int_equal(iw_rdmap_assigned(op, false), rows[i].base);
        assert_int_equal(iw_rdmap_assigned(op, true), rows[i].extended);
        assert_int_equal(iw_rdmap_is_tagged(op), rows[i].is_tagged);
        assert_int_equal(iw_rdmap_invalidates(op), rows[i].invalidates);
        assert_int_equal(iw_rdmap_solicits(op), rows[i].solicits);
        assert_int_equal(iw_rdmap_is_send(op), rows[i].send);
        assert_int_equal(iw_rdmap_queue(op), rows[i].qn);
    }
}

static void test_good_headers(void **state)
{
    (void)state;
    static const struct {
        uint8_t ddp, rdmap;
        uint32_t qn;
    } good[] = {{0xc1, 0x40, 0}, {0x81, 0x40, 0}, {0x41, 0x41, 1}, {0xc1, 0x42, 0},
                {0x41, 0x43, 0}, {0x01, 0x43, 0}, {0x41, 0x44, 0}, {0x41, 0x45, 0},
                {0x41, 0x46, 0}, {0x41, 0x47, 2}};
    static const struct {
        uint8_t rdmap;
        uint32_t qn;
    } extended[] = {{0x48, 0}, {0x49, 0}, {0x4a, 1}, {0x4b, 3}};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct iw_ddp_header h = untagged(good[i].ddp, good[i].rdmap, good[i].qn);
        assert_int_equal(iw_rdmap_check_header(&h, 1, false, NULL), IW_CHECK_NONE);
        assert_int_equal(iw_rdmap_check_header(&h, 1, true, NULL), IW_CHECK_NONE);
    }
    for (size_t i = 0; i < sizeof(extended) / sizeof(extended[0]); i++) {
        struct iw_ddp_header h = untagged(0x41, extended[i].rdmap, extended[i].qn);
        assert_int_equal(iw_rdmap_check_header(&h, 1, true, NULL), IW_CHECK_NONE);
        assert_int_equal(iw_rdmap_check_header(&h, 1, false, NULL),
                         extended[i].qn == 3 ? IW_CHECK_DDP_QN : IW_CHECK_RDMAP_OPCODE);
    }
}

static void test_bad_headers(void **state)
{
    (void)state;
    static const struct {
        uint8_t ddp, rdmap;
        uint32_t qn;
        enum iw_check check;
    } bad[] = {
        {0xc0, 0x40, 0, IW_CHECK_DDP_VERSION_TAGGED},
        {0xc2, 0x40, 0, IW_CHECK_DDP_VERSION_TAGGED},
        {0xc3, 0x7f, 0, IW_CHECK_DDP_VERSION_TAGGED},
        {0x40, 0x43, 0, IW_CHECK_DDP_VERSION_UNTAGGED},
        {0x43, 0x0f, 9, IW_CHECK_DDP_VERSION_UNTAGGED},
        {0x41, 0x43, 4, IW_CHECK_DDP_QN},
        {0x41, 0x03, UINT32_MAX, IW_CHECK_DDP_QN},
        {0x41, 0x03, 0, IW_CHECK_RDMAP_VERSION},
        {0xc1, 0x80, 0, IW_CHECK_RDMAP_VERSION},
        {0xc1, 0xcf, 0, IW_CHECK_RDMAP_VERSION},
        {0x41, 0x4c, 0, IW_CHECK_RDMAP_OPCODE},
        {0xc1, 0x4f, 0, IW_CHECK_RDMAP_OPCODE},
        {0x41, 0x40, 0, IW_CHECK_RDMAP_OPCODE_TAGGED},
        {0x41, 0x42, 0, IW_CHECK_RDMAP_OPCODE_TAGGED},
        {0xc1, 0x43, 0, IW_CHECK_RDMAP_OPCODE_TAGGED},
        {0xc1, 0x47, 0, IW_CHECK_RDMAP_OPCODE_TAGGED},
        {0x41, 0x43, 1, IW_CHECK_RDMAP_OPCODE_QUEUE},
        {0x41, 0x41, 0, IW_CHECK_RDMAP_OPCODE_QUEUE},
        {0x41, 0x47, 0, IW_CHECK_RDMAP_OPCODE_QUEUE},
        {0x41, 0x4b, 1, IW_CHECK_RDMAP_OPCODE_QUEUE},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct iw_ddp_header h = untagged(bad[i].ddp, bad[i].rdmap, bad[i].qn);
        assert_int_equal(iw_rdmap_check_header(&h, 1, true, NULL), bad[i].check);
    }
}

/* Which version is right depends on the start-up (RFC 5044 Appendix C.1). */
static void test_versions(void **state)
{
    (void)state;
    static const struct {
        uint8_t ddp, rdmap;
        enum iw_check check[2]; /* by the version in force */
    } rows[] = {
        {0x41, 0x43, {IW_CHECK_DDP_VERSION_UNTAGGED, IW_CHECK_NONE}},
        {0x40, 0x03, {IW_CHECK_NONE, IW_CHECK_DDP_VERSION_UNTAGGED}},
        {0x40, 0x43, {IW_CHECK_RDMAP_VERSION, IW_CHECK_DDP_VERSION_UNTAGGED}},
        {0x41, 0x03, {IW_CHECK_DDP_VERSION_UNTAGGED, IW_CHECK_RDMAP_VERSION}},
        {0xc0, 0x00, {IW_CHECK_NONE, IW_CHECK_DDP_VERSION_TAGGED}},
        {0xc1, 0x40, {IW_CHECK_DDP_VERSION_TAGGED, IW_CHECK_NONE}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (unsigned version = 0; version < 2; version++) {
            struct iw_ddp_header h = untagged(rows[i].ddp, rows[i].rdmap, 0);
            assert_int_equal(iw_rdmap_check_header(&h, version, true, NULL),
                             rows[i].check[version]);
        }
}

static void test_ignored_checks(void **state)
{
    (void)state;
    struct iw_switches switches = {0};
    const char *error = NULL;
    struct iw_ddp_header h = untagged(0x42, 0x83, 7);

    static const struct {
        const char *name;
        enum iw_check next;
    } steps[] = {{"ddp-version-untagged", IW_CHECK_DDP_QN},
                 {"ddp-qn", IW_CHECK_RDMAP_VERSION},
                 {"rdmap-version", IW_CHECK_RDMAP_OPCODE_QUEUE},
                 {"rdmap-opcode-queue", IW_CHECK_NONE}};
    assert_int_equal(iw_rdmap_check_header(&h, 1, true, &switches), IW_CHECK_DDP_VERSION_UNTAGGED);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        assert_true(iw_switches_set(&switches, IW_SWITCH_IGNORE, steps[i].name, &error) > 0);
        assert_int_equal(iw_rdmap_check_header(&h, 1, true, &switches), steps[i].next);
    }

    h = tagged(0xc1, 0x43);
    assert_int_equal(iw_rdmap_check_header(&h, 1, true, &switches), IW_CHECK_RDMAP_OPCODE_TAGGED);
    assert_true(iw_switches_set(&switches, IW_SWITCH_IGNORE, "rdmap-opcode-tagged", &error) > 0);
    assert_int_equal(iw_rdmap_check_header(&h, 1, true, &switches), IW_CHECK_NONE);
    h = tagged(0xc1, 0x4d);
    assert_int_equal(iw_rdmap_check_header(&h, 1, true, &switches), IW_CHECK_RDMAP_OPCODE);
    assert_true(iw_switches_set(&switches, IW_SWITCH_IGNORE, "rdmap-opcode", &error) > 0);
    assert_int_equal(iw_rdmap_check_header(&h, 1, true, &switches), IW_CHECK_NONE);
}

static void test_reserved(void **state)
{
    (void)state;
    struct iw_ddp_header h = untagged(0x41 | 0x20, 0x43 | 0x10, 0);
    unsigned seen = 0;

    h.invalidate_stag = 1;
    assert_int_equal(iw_rdmap_check_reserved(&h, &seen), IW_CHECK_DDP_RSVD);
    assert_int_equal(iw_rdmap_check_reserved(&h, &seen), IW_CHECK_RDMAP_RSV);
    assert_int_equal(iw_rdmap_check_reserved(&h, &seen), IW_CHECK_RDMAP_INVALIDATE_FIELD);
    assert_int_equal(iw_rdmap_check_reserved(&h, &seen), IW_CHECK_NONE);

    seen = 0;
    h = untagged(0x41, 0x44, 0); /* Send with Invalidate uses the field */
    h.invalidate_stag = 0x11223344;
    assert_int_equal(iw_rdmap_check_reserved(&h, &seen), IW_CHECK_NONE);
    h = untagged(0x41, 0x4c, 0); /* nobody knows what an unassigned opcode uses */
    h.invalidate_stag = 0x11223344;
    assert_int_equal(iw_rdmap_check_reserved(&h, &seen), IW_CHECK_NONE);
    h = tagged(0xc1, 0x40);
    assert_int_equal(iw_rdmap_check_reserved(&h, &seen), IW_CHECK_NONE);
    h = tagged(0xc1 | 0x04, 0x40 | 0x20);
    assert_int_equal(iw_rdmap_check_reserved(&h, &seen), IW_CHECK_DDP_RSVD);
    assert_int_equal(iw_rdmap_check_reserved(&h, &seen), IW_CHECK_RDMAP_RSV);
    assert_int_equal(iw_rdmap_check_reserved(&h, &seen), IW_CHECK_NONE);
    for (unsigned i = 0; i < 5; i++) {
        static const uint8_t unused[] = {0x41, 0x45, 0x47, 0x48, 0x4a};
        seen = 0;
        h = untagged(0x41, unused[i], 0);
        h.invalidate_stag = 0x80000000;
        assert_int_equal(iw_rdmap_check_reserved(&h, &seen), IW_CHECK_RDMAP_INVALIDATE_FIELD);
    }
}

static void test_header_faults(void **state)
{
    (void)state;
    struct iw_ddp_header h = untagged(0x40 | 0x04, 0x80 | 0x10 | 0x03, 9);
    const struct iw_ulpdu_fault want[] = {
        {IW_CHECK_DDP_VERSION_UNTAGGED, 0, 0, 1},
        {IW_CHECK_DDP_RSVD, 0, 0x04, 0},
        {IW_CHECK_RDMAP_VERSION, 1, 2, 1},
        {IW_CHECK_RDMAP_RSV, 1, 0x10, 0},
        {IW_CHECK_RDMAP_OPCODE, 1, 3, 0},
        {IW_CHECK_RDMAP_OPCODE_TAGGED, 1, 3, 0},
        {IW_CHECK_DDP_QN, 6, 9, 0},
        {IW_CHECK_RDMAP_OPCODE_QUEUE, 6, 9, 0},
        {IW_CHECK_RDMAP_INVALIDATE_FIELD, 2, 7, 0},
    };

    h.invalidate_stag = 7;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        struct iw_ulpdu_fault got = iw_rdmap_header_fault(&h, want[i].check, 1);
        assert_int_equal(got.check, want[i].check);
        assert_int_equal(got.offset, want[i].offset);
        assert_int_equal(got.got, want[i].got);
        assert_int_equal(got.want, want[i].want);
    }
}

static void expect_terminate(const struct iw_rdmap_terminate *t, const uint8_t *want, size_t length)
{
    uint8_t octets[IW_TERM_MAX];
    int written = iw_wire_put_terminate(octets, sizeof(octets), t);
    assert_int_equal(written, length);
    assert_memory_equal(octets, want, length);
}

/* Vector V10: CRC mismatch, no headers. */
static void test_terminate_crc(void **state)
{
    (void)state;
    static const uint8_t want[] = {0x20, 0x02, 0x00, 0x00};
    struct iw_ddp_header h = tagged(0xc1, 0x40);
    struct iw_rdmap_terminate t;

    iw_rdmap_terminate_for(IW_CHECK_MPA_CRC, NULL, NULL, 0, &t);
    expect_terminate(&t, want, sizeof(want));
    iw_rdmap_terminate_for(IW_CHECK_MPA_CRC, &h, NULL, 18, &t);
    expect_terminate(&t, want, sizeof(want));
}

/* Vector V11: invalid STag for the Write of V7. */
static void test_terminate_stag(void **state)
{
    (void)state;
    static const uint8_t want[] = {0x11, 0x00, 0xc0, 0x00, 0x00, 0x12, 0xc1, 0x40, 0x11, 0x22,
                                   0x33, 0x44, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00};
    struct iw_ddp_header h = tagged(0xc1, 0x40);
    struct iw_rdmap_terminate t;

    h.stag = 0x11223344;
    h.to = 0x1000;
    iw_rdmap_terminate_for(IW_CHECK_DDP_STAG, &h, NULL, 18, &t);
    expect_terminate(&t, want, sizeof(want));
}

/* Vector V12: bounds violation for the Read Request of V9. */
static void test_terminate_read(void **state)
{
    (void)state;
    static const uint8_t want[] = {0x01, 0x01, 0xe0, 0x00, 0x00, 0x2e, 0x41, 0x41, 0x00, 0x00, 0x00,
                                   0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00,
                                   0x00, 0x00, 0xaa, 0xbb, 0xcc, 0xdd, 0x00, 0x00, 0x00, 0x00, 0x00,
                                   0x00, 0x20, 0x00, 0x00, 0x00, 0x00, 0x40, 0x11, 0x22, 0x33, 0x44,
                                   0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00};
    struct iw_ddp_header h = untagged(0x41, 0x41, 1);
    struct iw_rdmap_read_request r = {0xaabbccdd, 0x2000, 64, 0x11223344, 0x1000};
    struct iw_rdmap_terminate t;

    h.msn = 1;
    iw_rdmap_terminate_for(IW_CHECK_RDMAP_READ_BOUNDS, &h, &r, 46, &t);
    expect_terminate(&t, want, sizeof(want));

    /* A Read Request that is too short to have a header of its own to return. */
    iw_rdmap_terminate_for(IW_CHECK_RDMAP_READ_LENGTH, &h, NULL, 45, &t);
    assert_int_equal(t.layer, 0);
    assert_int_equal(t.etype, 2);
    assert_int_equal(t.code, 0xff);
    assert_int_equal(t.flags, IW_TERM_M | IW_TERM_D);
    assert_int_equal(t.segment_length, 45);
}

static void test_terminate_without_header(void **state)
{
    (void)state;
    static const uint8_t want[] = {0x10, 0x00, 0x00, 0x00};
    struct iw_rdmap_terminate t;

    iw_rdmap_terminate_for(IW_CHECK_DDP_HEADER_SHORT, NULL, NULL, 3, &t);
    expect_terminate(&t, want, sizeof(want));
}

/* RFC 5040 figure 10. */
static void test_terminate_flags(void **state)
{
    (void)state;
    const uint8_t md = IW_TERM_M | IW_TERM_D;

    for (unsigned op = 0; op < 16; op++) {
        assert_int_equal(iw_rdmap_terminate_flags(0, 0, op), 0);
        assert_int_equal(iw_rdmap_terminate_flags(0, 1, op), op == 1 ? md | IW_TERM_R : md);
        assert_int_equal(iw_rdmap_terminate_flags(0, 2, op), md);
        for (unsigned etype = 0; etype < 4; etype++) {
            assert_int_equal(iw_rdmap_terminate_flags(1, etype, op), md);
            assert_int_equal(iw_rdmap_terminate_flags(2, etype, op), 0);
        }
        assert_int_equal(iw_rdmap_terminate_flags(9, 1, op), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message_table),
        cmocka_unit_test(test_good_headers),
        cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_ignored_checks),
        cmocka_unit_test(test_reserved),
        cmocka_unit_test(test_header_faults),
        cmocka_unit_test(test_terminate_crc),
        cmocka_unit_test(test_terminate_stag),
        cmocka_unit_test(test_terminate_read),
        cmocka_unit_test(test_terminate_without_header),
        cmocka_unit_test(test_terminate_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
