/* SPDX-License-Identifier: BSD-3-Clause */
/* MPA Request and Reply frames (RFC 5044 §7.1.1, RFC 6581 §6 and §9). */
#include "wire_support.h"

#define REQUEST_KEY "4d504120 49442052 65712046 72616d65"
#define REPLY_KEY "4d504120 49442052 65702046 72616d65"

static const struct {
    const char *hex;
    enum iw_mpa_key key;
    uint8_t flags, revision;
    uint16_t pd_length;
} frames[] = {
    /* Rev 1 Request, C, no private data */
    {REQUEST_KEY "40010000", IW_MPA_KEY_REQUEST, IW_MPA_FLAG_C, 1, 0},
    /* Rev 2 Request, C and S, the enhanced block only */
    {REQUEST_KEY "50020004", IW_MPA_KEY_REQUEST, IW_MPA_FLAG_C | IW_MPA_FLAG_S, 2, 4},
    {REPLY_KEY "80010200", IW_MPA_KEY_REPLY, IW_MPA_FLAG_M, 1, IW_MPA_PRIVATE_MAX},
    {REPLY_KEY "20010000", IW_MPA_KEY_REPLY, IW_MPA_FLAG_R, 1, 0},
    {REPLY_KEY "00000000", IW_MPA_KEY_REPLY, 0, 0, 0},
    /* a frame that no correct stack sends comes out as it is */
    {REQUEST_KEY "ffffffff", IW_MPA_KEY_REQUEST, 0xff, 255, 65535},
    {REQUEST_KEY "0f800201", IW_MPA_KEY_REQUEST, IW_MPA_FLAG_RES, 128, 513},
    {"4d504120 49442052 65722046 72616d65 40010000", IW_MPA_KEY_OTHER, IW_MPA_FLAG_C, 1, 0},
    {"4d504120 49442052 65712046 72616d66 40010000", IW_MPA_KEY_OTHER, IW_MPA_FLAG_C, 1, 0},
    {"4e504120 49442052 65702046 72616d65 40010000", IW_MPA_KEY_OTHER, IW_MPA_FLAG_C, 1, 0},
};

static void headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        struct iw_mpa_startup_header h;
        size_t n;
        uint8_t *octets = wire_hex(frames[i].hex, &n);
        assert_int_equal(n, IW_MPA_STARTUP_HEADER);
        assert_int_equal(iw_wire_get_startup(octets, n, &h), 20);
        assert_memory_equal(h.key, octets, IW_MPA_KEY_LENGTH);
        assert_int_equal(iw_wire_mpa_key(h.key), frames[i].key);
        assert_int_equal(h.flags, frames[i].flags);
        assert_int_equal(h.revision, frames[i].revision);
        assert_int_equal(h.pd_length, frames[i].pd_length);
        WIRE_ASSERT_CUT_IS_SHORT(iw_wire_get_startup, struct iw_mpa_startup_header, octets, n);

        struct iw_mpa_startup_header in = {.flags = frames[i].flags,
                                           .revision = frames[i].revision,
                                           .pd_length = frames[i].pd_length};
        memcpy(in.key, octets, IW_MPA_KEY_LENGTH);
        WIRE_ASSERT_PUTS(iw_wire_put_startup, &in, frames[i].hex);
        wire_free(octets);
    }
    assert_int_equal(IW_MPA_STARTUP_MAX, 532);
}

static void keys(void **state)
{
    (void)state;
    assert_memory_equal(iw_mpa_request_key, "MPA ID Req Frame", 16);
    assert_memory_equal(iw_mpa_reply_key, "MPA ID Rep Frame", 16);
    wire_assert_hex(iw_mpa_request_key, 16, REQUEST_KEY);
    wire_assert_hex(iw_mpa_reply_key, 16, REPLY_KEY);
}

/* A frame longer than its header: the private data is left to the caller. */
static void private_data_is_not_consumed(void **state)
{
    struct iw_mpa_startup_header h;
    struct iw_mpa_enhanced e;
    size_t n;
    uint8_t *octets = wire_hex(REQUEST_KEY "50020008 c010c010 01020304", &n);
    int used = iw_wire_get_startup(octets, n, &h);

    (void)state;
    assert_int_equal(used, 20);
    assert_int_equal(h.pd_length, n - 20);
    assert_int_equal(iw_wire_get_enhanced(octets + used, n - 20, &e), 4);
    assert_true(e.peer_to_peer);
    assert_int_equal(e.rtr, IW_MPA_RTR_SEND | IW_MPA_RTR_WRITE | IW_MPA_RTR_READ);
    assert_int_equal(e.ird, 16);
    assert_int_equal(e.ord, 16);
    wire_free(octets);
}

static const struct {
    const char *hex;
    bool peer_to_peer;
    uint8_t rtr;
    uint16_t ird, ord;
} blocks[] = {
    {"c010c010", true, IW_MPA_RTR_SEND | IW_MPA_RTR_WRITE | IW_MPA_RTR_READ, 16, 16},
    {"00000000", false, 0, 0, 0},
    {"80000000", true, 0, 0, 0},
    {"40000000", false, IW_MPA_RTR_SEND, 0, 0},
    {"00008000", false, IW_MPA_RTR_WRITE, 0, 0},
    {"00004000", false, IW_MPA_RTR_READ, 0, 0},
    {"3fff0000", false, 0, IW_MPA_DEPTH_UNSPECIFIED, 0},
    {"00003fff", false, 0, 0, IW_MPA_DEPTH_UNSPECIFIED},
    {"20012002", false, 0, 0x2001, 0x2002},
    {"bffe7ffe", true, IW_MPA_RTR_READ, IW_MPA_DEPTH_MAX, IW_MPA_DEPTH_MAX},
    {"ffffffff", true, IW_MPA_RTR_SEND | IW_MPA_RTR_WRITE | IW_MPA_RTR_READ, 0x3fff, 0x3fff},
};

static void enhanced_blocks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        struct iw_mpa_enhanced e;
        size_t n;
        uint8_t *octets = wire_hex(blocks[i].hex, &n);
        assert_int_equal(iw_wire_get_enhanced(octets, n, &e), 4);
        assert_int_equal(e.peer_to_peer, blocks[i].peer_to_peer);
        assert_int_equal(e.rtr, blocks[i].rtr);
        assert_int_equal(e.ird, blocks[i].ird);
        assert_int_equal(e.ord, blocks[i].ord);
        WIRE_ASSERT_CUT_IS_SHORT(iw_wire_get_enhanced, struct iw_mpa_enhanced, octets, n);

        struct iw_mpa_enhanced in = {blocks[i].peer_to_peer, blocks[i].rtr, blocks[i].ird,
                                     blocks[i].ord};
        WIRE_ASSERT_PUTS(iw_wire_put_enhanced, &in, blocks[i].hex);
        wire_free(octets);
    }
}

/* A depth that needs more than 14 bits must not spill into the control flags. */
static void enhanced_depth_is_cut_to_14_bits(void **state)
{
    struct iw_mpa_enhanced in = {.ird = 0xffff, .ord = 0xc001, .rtr = 0xf8};

    (void)state;
    WIRE_ASSERT_PUTS(iw_wire_put_enhanced, &in, "3fff0001");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers),
        cmocka_unit_test(keys),
        cmocka_unit_test(private_data_is_not_consumed),
        cmocka_unit_test(enhanced_blocks),
        cmocka_unit_test(enhanced_depth_is_cut_to_14_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
