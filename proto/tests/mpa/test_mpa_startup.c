/* SPDX-License-Identifier: BSD-3-Clause */
/* Start-up frames as literal octets: their form, limits and segmentation. */
#include "mpa_frames.h"

static void default_config(void **state)
{
    struct iw_mpa_config c;

    (void)state;
    iw_mpa_config_default(&c);
    assert_int_equal(c.revision, 2);
    assert_true(c.crc); /* RFC 5044 §4.4 */
    assert_false(c.markers);
    assert_true(c.enhanced);
    assert_false(c.peer_to_peer);
    assert_int_equal(c.rtr, IW_MPA_RTR_SEND | IW_MPA_RTR_WRITE | IW_MPA_RTR_READ);
    assert_int_equal(c.ird, 16);
    assert_int_equal(c.ord, 16);
}

static void contradicting_configs(void **state)
{
    const struct {
        enum iw_mpa_role role;
        struct iw_mpa_config config;
    } bad[] = {
        {IW_MPA_INITIATOR, {.revision = 3}},
        {IW_MPA_INITIATOR, {.revision = 1, .enhanced = true}},
        {IW_MPA_INITIATOR, {.revision = 0, .enhanced = true}},
        {IW_MPA_INITIATOR, {.revision = 2, .peer_to_peer = true, .rtr = IW_MPA_RTR_SEND}},
        {IW_MPA_INITIATOR, {.revision = 2, .enhanced = true, .peer_to_peer = true}},
        {IW_MPA_INITIATOR, {.revision = 1, .rtr = 8}},
        {IW_MPA_INITIATOR, {.revision = 1, .ird = 0x4000}},
        {IW_MPA_INITIATOR, {.revision = 1, .ord = 0x4000}},
        {IW_MPA_RESPONDER, {.revision = 2}},
        {IW_MPA_RESPONDER, {.revision = 3, .rtr = IW_MPA_RTR_SEND}},
    };
    struct iw_mpa_startup s;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(iw_mpa_startup_init(&s, bad[i].role, &bad[i].config, NULL, 0, NULL), -1);
    assert_int_equal(
        iw_mpa_startup_init(&s, IW_MPA_RESPONDER, &(struct iw_mpa_config){0}, NULL, 0, NULL), 0);
    assert_int_equal(s.config.revision, 1);
}

static void requests(void **state)
{
    struct iw_mpa_config c = mpa_config_of(1, false);
    struct iw_mpa_startup s = mpa_initiator(&c, "");

    (void)state;
    mpa_assert_output(&s, REQ "40010000");
    assert_int_equal(s.state, IW_MPA_WAIT_REPLY);
    c.crc = false;
    c.markers = true;
    s = mpa_initiator(&c, "c0ffee");
    mpa_assert_output(&s, REQ "80010003 c0ffee");
    c = mpa_config_of(2, false);
    s = mpa_initiator(&c, "");
    mpa_assert_output(&s, REQ "40020000");
    c = mpa_config_of(2, true);
    c.peer_to_peer = true;
    s = mpa_initiator(&c, ""); /* RFC 6581 §9 */
    mpa_assert_output(&s, REQ "50020004 c010c010");
    c.rtr = IW_MPA_RTR_WRITE;
    c.ird = 0x3fff;
    c.ord = 0x1234;
    s = mpa_initiator(&c, "0102");
    mpa_assert_output(&s, REQ "50020006 bfff 9234 0102");
    c.peer_to_peer = false; /* then B, C and D are zero */
    s = mpa_initiator(&c, "");
    mpa_assert_output(&s, REQ "50020004 3fff 1234");
}

/* The Request goes out in three parts. */
static void request_taken_in_parts(void **state)
{
    struct iw_mpa_config c = mpa_config_of(1, false);
    struct iw_mpa_startup s = mpa_initiator(&c, "");
    const uint8_t *out;

    (void)state;
    iw_mpa_startup_sent(&s, 0);
    assert_int_equal(iw_mpa_startup_output(&s, &out), 20);
    iw_mpa_startup_sent(&s, 16);
    assert_int_equal(s.state, IW_MPA_IDLE);
    assert_int_equal(iw_mpa_startup_output(&s, &out), 4);
    mpa_assert_hex(out, 4, "40010000");
    iw_mpa_startup_sent(&s, 100);
    assert_int_equal(s.state, IW_MPA_WAIT_REPLY);
    assert_int_equal(iw_mpa_startup_output(&s, &out), 0);
}

static void reject(void **state)
{
    struct iw_mpa_config c = mpa_config_of(2, true);
    struct iw_mpa_startup s = mpa_responder(&c);

    (void)state;
    c.ord = 20;
    s = mpa_responder(&c);
    mpa_feed_frame(&s, REQ "50020004 00040008");
    assert_int_equal(iw_mpa_startup_reject(&s, "no", 2), 0);
    assert_int_equal(s.state, IW_MPA_REJECTED);
    mpa_assert_output(&s, REP "70020006 00100014 6e6f"); /* the ORD that was needed */
    assert_int_equal(iw_mpa_startup_reject(&s, NULL, 0), -1);

    s = mpa_responder(&c);
    mpa_feed_frame(&s, REQ "40010000");
    assert_int_equal(iw_mpa_startup_reject(&s, NULL, 0), 0);
    mpa_assert_output(&s, REP "60010000");

    s = mpa_waiting(&c);
    mpa_feed_frame(&s, REP "70020006 00100014 6e6f");
    assert_int_equal(s.state, IW_MPA_REJECTED);
    assert_int_equal(s.fault.check, IW_CHECK_NONE); /* ORD 20 is no fault here */
    assert_int_equal(s.agreed.peer_ird, 16);
    assert_int_equal(s.agreed.peer_ord, 20);
    mpa_assert_private(&s, "6e6f");
    assert_int_equal(iw_mpa_startup_input(&s, (const uint8_t *)"x", 1), 0);
}

/* Private data of every size at a limit, both ways, with and without the block. */
static void private_data(void **state)
{
    static const size_t size[] = {0, 1, 507, 508, 509, 511, 512, 513};
    uint8_t data[600];

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 7 + 1);
    for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
        for (int enhanced = 0; enhanced < 2; enhanced++) {
            struct iw_mpa_config c = mpa_config_of(2, enhanced);
            size_t block = enhanced ? 4 : 0;
            bool fits = size[i] + block <= 512;
            struct iw_mpa_startup a, b;
            const uint8_t *out;
            size_t n;

            assert_int_equal(iw_mpa_startup_init(&a, IW_MPA_INITIATOR, &c, data, size[i], NULL),
                             fits ? 0 : -1);
            if (!fits)
                assert_int_equal(iw_mpa_startup_init(&a, IW_MPA_INITIATOR, &c, NULL, 0, NULL), 0);
            b = mpa_responder(&c);
            n = iw_mpa_startup_output(&a, &out);
            assert_int_equal(n, 20 + block + (fits ? size[i] : 0));
            assert_int_equal(out[18] << 8 | out[19], n - 20);
            assert_int_equal(iw_mpa_startup_input(&b, out, n), n);
            iw_mpa_startup_sent(&a, n);
            n = iw_mpa_startup_private(&b, &out);
            assert_int_equal(n, fits ? size[i] : 0);
            if (n)
                assert_memory_equal(out, data, n);

            assert_int_equal(iw_mpa_startup_accept(&b, data, size[i]), fits ? 0 : -1);
            assert_int_equal(b.state, fits ? IW_MPA_FULL : IW_MPA_REQUESTED);
            if (!fits)
                continue;
            n = iw_mpa_startup_output(&b, &out);
            assert_int_equal(n, 20 + block + size[i]);
            assert_int_equal(iw_mpa_startup_input(&a, out, n), n);
            assert_int_equal(a.state, IW_MPA_FULL);
            n = iw_mpa_startup_private(&a, &out);
            assert_int_equal(n, size[i]);
            if (n)
                assert_memory_equal(out, data, n);
        }
    }
}

/* PD_Length above 512 is judged from the header alone. */
static void long_private_data(void **state)
{
    static const char *const field[] = {"0201", "0400", "ffff"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct iw_mpa_config c = mpa_config_of(2, true);
        struct iw_mpa_startup s = mpa_responder(&c);
        char hex[80];

        mpa_feed_frame(&s, mpa_join(hex, REQ "4001", field[i], ""));
        assert_int_equal(s.state, IW_MPA_FAILED);
        assert_int_equal(s.fault.check, IW_CHECK_MPA_PD_LENGTH);
        assert_int_equal(s.fault.pos, 18);
        assert_int_equal(s.fault.got, s.peer.pd_length);
        assert_int_equal(s.fault.want, 512);
        s = mpa_waiting(&c);
        mpa_feed_frame(&s, mpa_join(hex, REP "5002", field[i], ""));
        assert_int_equal(s.state, IW_MPA_FAILED);
        assert_int_equal(s.fault.check, IW_CHECK_MPA_PD_LENGTH);
    }
}

static void short_block(void **state)
{
    static const char *const rest[] = {"0000", "000100", "00020000", "0003000000"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct iw_mpa_config c = mpa_config_of(2, true);
        struct iw_mpa_startup s = mpa_responder(&c);
        uint8_t octets[64];
        char hex[80];
        size_t n = mpa_hex(octets, mpa_join(hex, REQ "5002", rest[i], ""));

        assert_int_equal(iw_mpa_startup_input(&s, octets, n), 20);
        assert_int_equal(s.state, IW_MPA_FAILED);
        assert_int_equal(s.fault.check, IW_CHECK_MPA_ENH_LENGTH);
        assert_int_equal(s.fault.pos, 18);
        assert_int_equal(s.fault.got, i);
        assert_int_equal(s.fault.want, 4);
    }
}

/* A wrong key is seen at its first wrong octet, not a moment later. */
static void wrong_key(void **state)
{
    (void)state;
    for (int reply = 0; reply < 2; reply++) {
        for (size_t at = 0; at < 16; at++) {
            struct iw_mpa_config c = mpa_config_of(2, true);
            struct iw_mpa_startup s = reply ? mpa_waiting(&c) : mpa_responder(&c);
            uint8_t octets[32];
            size_t n = mpa_hex(octets, reply ? REP "50020004 00100010" : REQ "50020004 00100010");
            uint8_t good = octets[at];

            octets[at] ^= 0x20;
            assert_int_equal(iw_mpa_startup_input(&s, octets, at), at);
            assert_int_not_equal(s.state, IW_MPA_FAILED);
            assert_int_equal(iw_mpa_startup_input(&s, octets + at, n - at), 1);
            assert_int_equal(s.state, IW_MPA_FAILED);
            assert_int_equal(s.fault.check, reply ? IW_CHECK_MPA_REP_KEY : IW_CHECK_MPA_REQ_KEY);
            assert_int_equal(s.fault.pos, at);
            assert_int_equal(s.fault.got, good ^ 0x20);
            assert_int_equal(s.fault.want, good);
        }
    }
}

/* Two initiators: each sees the other's Request where its Reply should be (§1.1). */
static void two_initiators(void **state)
{
    struct iw_mpa_config c = mpa_config_of(2, true);
    struct iw_mpa_startup a = mpa_waiting(&c);
    uint8_t octets[32];
    size_t n = mpa_hex(octets, REQ "50020004 00100010");

    (void)state;
    assert_int_equal(iw_mpa_startup_input(&a, octets, n), 10);
    assert_int_equal(a.state, IW_MPA_FAILED);
    assert_int_equal(a.fault.check, IW_CHECK_MPA_REP_KEY);
    assert_int_equal(a.fault.pos, 9);
}

/* Every split point, and one octet at a time; what follows the frame is not touched. */
static void segments(void **state)
{
    struct iw_mpa_config c = mpa_config_of(2, true);
    uint8_t octets[64];
    size_t n = mpa_hex(octets, REP "50020007 00100010 abcdef");

    (void)state;
    memset(octets + n, 0x55, 10);
    for (size_t split = 0; split <= n; split++) {
        struct iw_mpa_startup s = mpa_waiting(&c);
        assert_int_equal(iw_mpa_startup_input(&s, octets, split), split);
        assert_int_equal(s.state, split < n ? IW_MPA_WAIT_REPLY : IW_MPA_FULL);
        assert_int_equal(iw_mpa_startup_input(&s, octets + split, n + 10 - split), n - split);
        assert_int_equal(s.state, IW_MPA_FULL);
        mpa_assert_private(&s, "abcdef");
        assert_int_equal(iw_mpa_startup_input(&s, octets + n, 10), 0);
    }
    struct iw_mpa_startup s = mpa_waiting(&c);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *data;
        assert_int_equal(s.state, IW_MPA_WAIT_REPLY);
        assert_int_equal(iw_mpa_startup_private(&s, &data), 0);
        assert_null(data);
        assert_int_equal(iw_mpa_startup_input(&s, octets + i, 1), 1);
        assert_int_equal(iw_mpa_startup_input(&s, octets + i, 0), 0);
    }
    assert_int_equal(s.state, IW_MPA_FULL);
    mpa_assert_private(&s, "abcdef");
}

/* The responder answers before it has seen the whole Request: nothing is lost (an observer's
 * finding, mpa-reply-early). */
static void early_reply(void **state)
{
    struct iw_mpa_config c = mpa_config_of(1, false);
    struct iw_mpa_startup s = mpa_initiator(&c, "");

    (void)state;
    assert_int_equal(iw_mpa_startup_input(&s, (const uint8_t *)"M", 0), 0);
    assert_int_equal(s.state, IW_MPA_IDLE);
    mpa_feed_frame(&s, REP "40010000");
    assert_int_equal(s.state, IW_MPA_FULL);
    mpa_assert_output(&s, REQ "40010000");
    assert_int_equal(s.state, IW_MPA_FULL);
}

/* Reserved bits, and R in a Request, change nothing. */
static void unchecked_bits(void **state)
{
    struct iw_mpa_config c = mpa_config_of(2, true);
    struct iw_mpa_startup s = mpa_responder(&c);

    (void)state;
    mpa_feed_frame(&s, REQ "7f020004 00100010");
    assert_int_equal(s.state, IW_MPA_REQUESTED);
    assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), 0);
    mpa_assert_output(&s, REP "50020004 00100010");
    s = mpa_waiting(&c);
    mpa_feed_frame(&s, REP "5f020004 00100010");
    assert_int_equal(s.state, IW_MPA_FULL);
}

static void answers_in_wrong_states(void **state)
{
    struct iw_mpa_config c = mpa_config_of(1, false);
    struct iw_mpa_startup s = mpa_responder(&c);

    (void)state;
    assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), -1);
    assert_int_equal(iw_mpa_startup_reject(&s, NULL, 0), -1);
    s = mpa_waiting(&c);
    assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_config),
        cmocka_unit_test(contradicting_configs),
        cmocka_unit_test(requests),
        cmocka_unit_test(request_taken_in_parts),
        cmocka_unit_test(reject),
        cmocka_unit_test(private_data),
        cmocka_unit_test(long_private_data),
        cmocka_unit_test(short_block),
        cmocka_unit_test(wrong_key),
        cmocka_unit_test(two_initiators),
        cmocka_unit_test(segments),
        cmocka_unit_test(early_reply),
        cmocka_unit_test(unchecked_bits),
        cmocka_unit_test(answers_in_wrong_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
