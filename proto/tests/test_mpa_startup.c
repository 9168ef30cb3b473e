/* SPDX-License-Identifier: BSD-3-Clause */
/* Start-up frames as literal octets, and what the two sides make of them. */
#include <stdio.h>

#include "mpa_support.h"

#define REQ "4d504120494420526571204672616d65"
#define REP "4d504120494420526570204672616d65"

static struct iw_mpa_config config_of(uint8_t revision, bool enhanced)
{
    struct iw_mpa_config config;

    iw_mpa_config_default(&config);
    config.revision = revision;
    config.enhanced = enhanced;
    return config;
}

static const char *join(char out[80], const char *a, const char *b, const char *c)
{
    assert_in_range(snprintf(out, 80, "%s%s%s", a, b, c), 1, 79);
    return out;
}

static void feed_hex(struct iw_mpa_startup *s, const char *hex)
{
    uint8_t frame[IW_MPA_STARTUP_MAX];
    size_t n = mpa_hex(frame, hex);

    assert_int_equal(iw_mpa_startup_input(s, frame, n), n);
}

static void assert_output(struct iw_mpa_startup *s, const char *hex)
{
    const uint8_t *out;
    size_t n = iw_mpa_startup_output(s, &out);

    mpa_assert_hex(out, n, hex);
    iw_mpa_startup_sent(s, n);
    assert_int_equal(iw_mpa_startup_output(s, &out), 0);
}

static void assert_private(const struct iw_mpa_startup *s, const char *hex)
{
    const uint8_t *data;
    size_t n = iw_mpa_startup_private(s, &data);

    mpa_assert_hex(data ? data : (const uint8_t *)"", n, hex);
}

static struct iw_mpa_startup initiator(const struct iw_mpa_config *config, const char *private_hex)
{
    struct iw_mpa_startup s;
    uint8_t data[IW_MPA_PRIVATE_MAX];
    size_t n = mpa_hex(data, private_hex);

    assert_int_equal(iw_mpa_startup_init(&s, IW_MPA_INITIATOR, config, data, n, NULL), 0);
    assert_int_equal(s.state, IW_MPA_IDLE);
    return s;
}

static struct iw_mpa_startup responder(const struct iw_mpa_config *config)
{
    struct iw_mpa_startup s;

    assert_int_equal(iw_mpa_startup_init(&s, IW_MPA_RESPONDER, config, NULL, 0, NULL), 0);
    assert_int_equal(s.state, IW_MPA_WAIT_REQUEST);
    return s;
}

/* An initiator whose Request is out. */
static struct iw_mpa_startup waiting(const struct iw_mpa_config *config)
{
    struct iw_mpa_startup s = initiator(config, "");
    const uint8_t *out;

    iw_mpa_startup_sent(&s, iw_mpa_startup_output(&s, &out));
    assert_int_equal(s.state, IW_MPA_WAIT_REPLY);
    return s;
}

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
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(iw_mpa_startup_init(&s, bad[i].role, &bad[i].config, NULL, 0, NULL), -1);
    assert_int_equal(
        iw_mpa_startup_init(&s, IW_MPA_RESPONDER, &(struct iw_mpa_config){0}, NULL, 0, NULL), 0);
    assert_int_equal(s.config.revision, 1);
}

static void requests(void **state)
{
    struct iw_mpa_config c = config_of(1, false);
    struct iw_mpa_startup s = initiator(&c, "");

    (void)state;
    assert_output(&s, REQ "40010000");
    assert_int_equal(s.state, IW_MPA_WAIT_REPLY);
    c.crc = false;
    c.markers = true;
    s = initiator(&c, "c0ffee");
    assert_output(&s, REQ "80010003 c0ffee");
    c = config_of(2, false);
    s = initiator(&c, "");
    assert_output(&s, REQ "40020000");
    c = config_of(2, true);
    c.peer_to_peer = true;
    s = initiator(&c, ""); /* wire-formats §1.1 */
    assert_output(&s, REQ "50020004 c010c010");
    c.rtr = IW_MPA_RTR_WRITE;
    c.ird = 0x3fff;
    c.ord = 0x1234;
    s = initiator(&c, "0102");
    assert_output(&s, REQ "50020006 bfff 9234 0102");
    c.peer_to_peer = false; /* then B, C and D are zero */
    s = initiator(&c, "");
    assert_output(&s, REQ "50020004 3fff 1234");
}

/* The Request goes out in three parts. */
static void request_taken_in_parts(void **state)
{
    struct iw_mpa_config c = config_of(1, false);
    struct iw_mpa_startup s = initiator(&c, "");
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

/* state-and-rules §1.6 and §1.7: flags of either side against what is in force. */
static void markers_and_crc(void **state)
{
    static const char *const flags[4] = {"00", "40", "80", "c0"};

    (void)state;
    for (unsigned mine = 0; mine < 4; mine++) {
        for (unsigned theirs = 0; theirs < 4; theirs++) {
            struct iw_mpa_config c = config_of(1, false);
            char hex[80];
            struct iw_mpa_startup s;

            c.crc = mine & 1;
            c.markers = mine & 2;
            s = responder(&c);
            feed_hex(&s, join(hex, REQ, flags[theirs], "010000"));
            assert_int_equal(s.state, IW_MPA_REQUESTED);
            assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), 0);
            assert_int_equal(s.state, IW_MPA_FULL);
            assert_int_equal(s.agreed.crc, (mine | theirs) & 1);
            assert_int_equal(s.agreed.tx_markers, theirs >> 1);
            assert_int_equal(s.agreed.rx_markers, mine >> 1);
            assert_output(&s, join(hex, REP, flags[mine], "010000"));

            s = waiting(&c);
            feed_hex(&s, join(hex, REP, flags[theirs], "010000"));
            assert_int_equal(s.state, IW_MPA_FULL);
            assert_int_equal(s.fault.check, IW_CHECK_NONE);
            assert_int_equal(s.agreed.crc, (mine | theirs) & 1);
            assert_int_equal(s.agreed.tx_markers, theirs >> 1);
            assert_int_equal(s.agreed.rx_markers, mine >> 1);
        }
    }
}

/* state-and-rules §1.8. `reply` is NULL where the responder closes. */
static void revisions(void **state)
{
    const struct {
        uint8_t own;
        const char *request;
        const char *reply;
        bool enhanced;
        const char *private_hex;
    } row[] = {
        {1, REQ "40010000", REP "40010000", false, ""},
        {2, REQ "40010000", REP "40010000", false, ""},
        {2, REQ "50020004 00100010", REP "50020004 00100010", true, ""},
        {2, REQ "50020006 00100010 abcd", REP "50020004 00100010", true, "abcd"},
        {1, REQ "50020004 00100010", NULL, false, ""},
        {1, REQ "40020000", NULL, false, ""},
        {2, REQ "40020002 abcd", REP "40020000", false, "abcd"},
        /* OP-03: S does not count */
        {1, REQ "50010002 abcd", REP "40010000", false, "abcd"},
        {2, REQ "50010006 00100010 abcd", REP "40010000", false, "00100010abcd"},
        {2, REQ "40000000", NULL, false, ""},
        {2, REQ "40030000", NULL, false, ""},
        {2, REQ "40ff0000", NULL, false, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct iw_mpa_config c = config_of(row[i].own, false);
        struct iw_mpa_startup s = responder(&c);
        uint8_t octets[64];
        size_t n = mpa_hex(octets, row[i].request);

        if (!row[i].reply) {
            assert_int_equal(iw_mpa_startup_input(&s, octets, n), 20);
            assert_int_equal(s.state, IW_MPA_FAILED);
            assert_int_equal(s.fault.check, IW_CHECK_MPA_REV);
            assert_int_equal(s.fault.pos, 17);
            assert_int_equal(s.fault.got, octets[17]);
            assert_int_equal(s.fault.want, row[i].own);
            assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), -1);
            assert_int_equal(iw_mpa_startup_input(&s, octets, n), 0);
            continue;
        }
        feed_hex(&s, row[i].request);
        assert_int_equal(s.state, IW_MPA_REQUESTED);
        assert_private(&s, row[i].private_hex);
        assert_int_equal(s.agreed.enhanced, row[i].enhanced);
        assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), 0);
        assert_int_equal(s.agreed.revision, octets[17]);
        assert_output(&s, row[i].reply);
    }
}

/* The Reply's revision and S as the initiator sees them. */
static void reply_revisions(void **state)
{
    const struct {
        uint8_t own;
        bool enhanced;
        const char *reply;
        enum iw_check check; /* IW_CHECK_NONE: full operation */
        uint64_t pos;
    } row[] = {
        {1, false, REP "40010000", IW_CHECK_NONE, 0},
        {1, false, REP "50010000", IW_CHECK_NONE, 0}, /* S does not count in revision 1 */
        {1, false, REP "40020000", IW_CHECK_MPA_REV, 17},
        {1, false, REP "40000000", IW_CHECK_MPA_REV, 17},
        {2, true, REP "50020004 00100010", IW_CHECK_NONE, 0},
        {2, true, REP "50030004 00100010", IW_CHECK_MPA_REV, 17},
        {2, true, REP "40020000", IW_CHECK_MPA_REP_S, 16},
        {2, true, REP "40010000", IW_CHECK_MPA_REP_S, 16},
        {2, true, REP "50010004 00100010", IW_CHECK_MPA_REP_S, 16},
        {2, false, REP "40020000", IW_CHECK_NONE, 0},
        {2, false, REP "40010000", IW_CHECK_NONE, 0}, /* OP-04 */
        {2, false, REP "50020004 00100010", IW_CHECK_MPA_REP_S, 16},
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct iw_mpa_config c = config_of(row[i].own, row[i].enhanced);
        struct iw_mpa_startup s = waiting(&c);
        uint8_t octets[64];
        size_t n = mpa_hex(octets, row[i].reply);
        bool good = row[i].check == IW_CHECK_NONE;

        assert_int_equal(iw_mpa_startup_input(&s, octets, n), good ? n : 20);
        assert_int_equal(s.state, good ? IW_MPA_FULL : IW_MPA_FAILED);
        assert_int_equal(s.fault.check, row[i].check);
        assert_int_equal(s.fault.pos, row[i].pos);
        if (good) {
            assert_int_equal(s.agreed.revision, octets[17]);
            assert_int_equal(s.agreed.enhanced, row[i].enhanced);
        }
    }
}

/* state-and-rules §1.9, the responder's side: configured IRD/ORD and RTR forms, Request, Reply. */
static void responder_negotiates(void **state)
{
    enum { B = IW_MPA_RTR_SEND, C = IW_MPA_RTR_WRITE, D = IW_MPA_RTR_READ };
    const struct {
        uint16_t ird, ord;
        uint8_t rtr;
        const char *block; /* of the Request */
        const char *reply;
        bool peer_to_peer;
        uint8_t agreed_rtr;
        uint16_t agreed_ird, agreed_ord;
        uint16_t peer_ird, peer_ord;
    } row[] = {
        /* ORD is cut to the initiator's IRD, IRD is this end's own (OP-21) */
        {16, 16, B, "00040008", "00100004", false, 0, 16, 4, 4, 8},
        {16, 16, B, "00200020", "00100010", false, 0, 16, 16, 32, 32},
        {4, 16, B, "00000020", "00040000", false, 0, 4, 0, 0, 32},
        /* 0x3fff in either, both independent */
        {5, 6, B, "00043fff", "3fff0004", false, 0, 5, 4, 4, 0x3fff},
        {5, 6, B, "3fff0004", "00053fff", false, 0, 5, 6, 0x3fff, 4},
        {5, 6, B, "3fff3fff", "3fff3fff", false, 0, 5, 6, 0x3fff, 0x3fff},
        /* this end leaves its own to its ULP (OP-30) */
        {0x3fff, 0x3fff, B, "00040004", "3fff3fff", false, 0, 0x3fff, 0x3fff, 4, 4},
        /* A=0: B, C and D are ignored */
        {16, 16, B, "4010c010", "00100010", false, 0, 16, 16, 16, 16},
        /* A=1 with every set of forms against all, then against one */
        {16, 16, B | C | D, "c0100010", "c0100010", true, B, 16, 16, 16, 16},
        {16, 16, B | C | D, "80108010", "80108010", true, C, 16, 16, 16, 16},
        {16, 16, B | C | D, "80104010", "80104010", true, D, 16, 16, 16, 16},
        {16, 16, B | C | D, "c0108010", "c0108010", true, B | C, 16, 16, 16, 16},
        {16, 16, B | C | D, "c0104010", "c0104010", true, B | D, 16, 16, 16, 16},
        {16, 16, B | C | D, "8010c010", "8010c010", true, C | D, 16, 16, 16, 16},
        {16, 16, B | C | D, "c010c010", "c010c010", true, B | C | D, 16, 16, 16, 16},
        {16, 16, C, "c010c010", "80108010", true, C, 16, 16, 16, 16},
        /* none matches, or none was offered (OP-25): this end names its own */
        {16, 16, C, "c0104010", "80108010", true, C, 16, 16, 16, 16},
        {16, 16, B | D, "80100010", "c0104010", true, B | D, 16, 16, 16, 16},
        /* a Read as RTR needs an IRD of one (OP-29) */
        {0, 16, D, "80004000", "80014000", true, D, 1, 0, 0, 0},
        {0, 16, B | D, "c0000000", "c0000000", true, B, 0, 0, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct iw_mpa_config c = config_of(2, false);
        struct iw_mpa_startup s;
        char hex[80];

        c.ird = row[i].ird;
        c.ord = row[i].ord;
        c.rtr = row[i].rtr;
        s = responder(&c);
        feed_hex(&s, join(hex, REQ "50020004", row[i].block, ""));
        assert_int_equal(s.state, IW_MPA_REQUESTED);
        assert_int_equal(iw_mpa_startup_accept(&s, "\xab", 1), 0);
        assert_output(&s, join(hex, REP "50020005", row[i].reply, "ab"));
        assert_int_equal(s.agreed.peer_to_peer, row[i].peer_to_peer);
        assert_int_equal(s.agreed.rtr, row[i].agreed_rtr);
        assert_int_equal(s.agreed.ird, row[i].agreed_ird);
        assert_int_equal(s.agreed.ord, row[i].agreed_ord);
        assert_int_equal(s.agreed.peer_ird, row[i].peer_ird);
        assert_int_equal(s.agreed.peer_ord, row[i].peer_ord);
    }
}

/* The initiator's side: what it was configured with, the Reply's block, what follows. */
static void initiator_negotiates(void **state)
{
    enum { B = IW_MPA_RTR_SEND, C = IW_MPA_RTR_WRITE, D = IW_MPA_RTR_READ };
    const struct {
        uint16_t ird, ord;
        uint8_t rtr; /* 0: client-server */
        const char *reply;
        enum iw_check check;
        bool peer_to_peer;
        uint8_t agreed_rtr;
        uint16_t agreed_ird, agreed_ord;
    } row[] = {
        {16, 16, 0, "00100010", IW_CHECK_NONE, false, 0, 16, 16},
        {16, 16, 0, "00040004", IW_CHECK_NONE, false, 0, 16, 4},
        {16, 16, 0, "00200010", IW_CHECK_NONE, false, 0, 16, 16},
        {16, 16, 0, "3fff0010", IW_CHECK_NONE, false, 0, 16, 16},
        {16, 16, 0, "00043fff", IW_CHECK_NONE, false, 0, 16, 4},
        {0x3fff, 0x3fff, 0, "3fff3fff", IW_CHECK_NONE, false, 0, 0x3fff, 0x3fff},
        {0x3fff, 0x3fff, 0, "00080010", IW_CHECK_NONE, false, 0, 0x3fff, 8},
        {16, 16, 0, "00100011", IW_CHECK_MPA_IRD_SHORT, false, 0, 16, 16},
        {16, 16, 0, "00103ffe", IW_CHECK_MPA_IRD_SHORT, false, 0, 16, 16},
        {16, 16, B | C | D, "c010c010", IW_CHECK_NONE, true, B | C | D, 16, 16},
        {16, 16, B | C, "80108010", IW_CHECK_NONE, true, C, 16, 16},
        {16, 16, B, "80108010", IW_CHECK_MPA_RTR_MATCH, true, 0, 16, 16},
        {16, 16, B | C | D, "80100010", IW_CHECK_MPA_RTR_MATCH, true, 0, 16, 16},
        {16, 16, B, "80108011", IW_CHECK_MPA_RTR_MATCH, true, 0, 16, 16},
        {16, 16, B, "c0108011", IW_CHECK_MPA_IRD_SHORT, true, B, 16, 16},
        /* A differs: client-server (OP-26) */
        {16, 16, B, "00100010", IW_CHECK_NONE, false, 0, 16, 16},
        {16, 16, B, "4010c010", IW_CHECK_NONE, false, 0, 16, 16},
        {16, 16, 0, "c010c010", IW_CHECK_NONE, false, 0, 16, 16},
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct iw_mpa_config c = config_of(2, true);
        struct iw_mpa_startup s;
        char hex[80];

        c.ird = row[i].ird;
        c.ord = row[i].ord;
        c.rtr = row[i].rtr;
        c.peer_to_peer = row[i].rtr != 0;
        s = waiting(&c);
        feed_hex(&s, join(hex, REP "50020006", row[i].reply, "beef"));
        assert_int_equal(s.state, IW_MPA_FULL);
        assert_private(&s, "beef");
        assert_int_equal(s.fault.check, row[i].check);
        assert_int_equal(s.agreed.peer_to_peer, row[i].peer_to_peer);
        assert_int_equal(s.agreed.rtr, row[i].agreed_rtr);
        assert_int_equal(s.agreed.ird, row[i].agreed_ird);
        assert_int_equal(s.agreed.ord, row[i].agreed_ord);
        assert_int_equal(s.agreed.peer_ird, s.peer_enhanced.ird);
        assert_int_equal(s.agreed.peer_ord, s.peer_enhanced.ord);
        if (row[i].check == IW_CHECK_MPA_IRD_SHORT) {
            assert_int_equal(s.fault.pos, 22);
            assert_int_equal(s.fault.got, s.peer_enhanced.ord);
            assert_int_equal(s.fault.want, row[i].ird);
        } else if (row[i].check == IW_CHECK_MPA_RTR_MATCH) {
            assert_int_equal(s.fault.pos, 20);
            assert_int_equal(s.fault.got, s.peer_enhanced.rtr);
            assert_int_equal(s.fault.want, row[i].rtr);
        }
    }
}

static void reject(void **state)
{
    struct iw_mpa_config c = config_of(2, true);
    struct iw_mpa_startup s = responder(&c);

    (void)state;
    c.ord = 20;
    s = responder(&c);
    feed_hex(&s, REQ "50020004 00040008");
    assert_int_equal(iw_mpa_startup_reject(&s, "no", 2), 0);
    assert_int_equal(s.state, IW_MPA_REJECTED);
    assert_output(&s, REP "70020006 00100014 6e6f"); /* the ORD that was needed */
    assert_int_equal(iw_mpa_startup_reject(&s, NULL, 0), -1);

    s = responder(&c);
    feed_hex(&s, REQ "40010000");
    assert_int_equal(iw_mpa_startup_reject(&s, NULL, 0), 0);
    assert_output(&s, REP "60010000");

    s = waiting(&c);
    feed_hex(&s, REP "70020006 00100014 6e6f");
    assert_int_equal(s.state, IW_MPA_REJECTED);
    assert_int_equal(s.fault.check, IW_CHECK_NONE); /* ORD 20 is no fault here */
    assert_int_equal(s.agreed.peer_ird, 16);
    assert_int_equal(s.agreed.peer_ord, 20);
    assert_private(&s, "6e6f");
    assert_int_equal(iw_mpa_startup_input(&s, (const uint8_t *)"x", 1), 0);
}

/* Private data of every size at a limit, both ways, with and without the block. */
static void private_data(void **state)
{
    static const size_t size[] = {0, 1, 507, 508, 509, 511, 512, 513};
    uint8_t data[600];

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + 1);
    for (size_t i = 0; i < sizeof size / sizeof size[0]; i++) {
        for (int enhanced = 0; enhanced < 2; enhanced++) {
            struct iw_mpa_config c = config_of(2, enhanced);
            size_t block = enhanced ? 4 : 0;
            bool fits = size[i] + block <= 512;
            struct iw_mpa_startup a, b;
            const uint8_t *out;
            size_t n;

            assert_int_equal(iw_mpa_startup_init(&a, IW_MPA_INITIATOR, &c, data, size[i], NULL),
                             fits ? 0 : -1);
            if (!fits)
                assert_int_equal(iw_mpa_startup_init(&a, IW_MPA_INITIATOR, &c, NULL, 0, NULL), 0);
            b = responder(&c);
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
        struct iw_mpa_config c = config_of(2, true);
        struct iw_mpa_startup s = responder(&c);
        char hex[80];

        feed_hex(&s, join(hex, REQ "4001", field[i], ""));
        assert_int_equal(s.state, IW_MPA_FAILED);
        assert_int_equal(s.fault.check, IW_CHECK_MPA_PD_LENGTH);
        assert_int_equal(s.fault.pos, 18);
        assert_int_equal(s.fault.got, s.peer.pd_length);
        assert_int_equal(s.fault.want, 512);
        s = waiting(&c);
        feed_hex(&s, join(hex, REP "5002", field[i], ""));
        assert_int_equal(s.state, IW_MPA_FAILED);
        assert_int_equal(s.fault.check, IW_CHECK_MPA_PD_LENGTH);
    }
}

static void short_block(void **state)
{
    static const char *const rest[] = {"0000", "000100", "00020000", "0003000000"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct iw_mpa_config c = config_of(2, true);
        struct iw_mpa_startup s = responder(&c);
        uint8_t octets[64];
        char hex[80];
        size_t n = mpa_hex(octets, join(hex, REQ "5002", rest[i], ""));

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
            struct iw_mpa_config c = config_of(2, true);
            struct iw_mpa_startup s = reply ? waiting(&c) : responder(&c);
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
    struct iw_mpa_config c = config_of(2, true);
    struct iw_mpa_startup a = waiting(&c);
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
    struct iw_mpa_config c = config_of(2, true);
    uint8_t octets[64];
    size_t n = mpa_hex(octets, REP "50020007 00100010 abcdef");

    (void)state;
    memset(octets + n, 0x55, 10);
    for (size_t split = 0; split <= n; split++) {
        struct iw_mpa_startup s = waiting(&c);
        assert_int_equal(iw_mpa_startup_input(&s, octets, split), split);
        assert_int_equal(s.state, split < n ? IW_MPA_WAIT_REPLY : IW_MPA_FULL);
        assert_int_equal(iw_mpa_startup_input(&s, octets + split, n + 10 - split), n - split);
        assert_int_equal(s.state, IW_MPA_FULL);
        assert_private(&s, "abcdef");
        assert_int_equal(iw_mpa_startup_input(&s, octets + n, 10), 0);
    }
    struct iw_mpa_startup s = waiting(&c);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *data;
        assert_int_equal(s.state, IW_MPA_WAIT_REPLY);
        assert_int_equal(iw_mpa_startup_private(&s, &data), 0);
        assert_null(data);
        assert_int_equal(iw_mpa_startup_input(&s, octets + i, 1), 1);
        assert_int_equal(iw_mpa_startup_input(&s, octets + i, 0), 0);
    }
    assert_int_equal(s.state, IW_MPA_FULL);
    assert_private(&s, "abcdef");
}

/* The responder answers before it has seen the whole Request: nothing is lost (an observer's
 * finding, mpa-reply-early). */
static void early_reply(void **state)
{
    struct iw_mpa_config c = config_of(1, false);
    struct iw_mpa_startup s = initiator(&c, "");

    (void)state;
    assert_int_equal(iw_mpa_startup_input(&s, (const uint8_t *)"M", 0), 0);
    assert_int_equal(s.state, IW_MPA_IDLE);
    feed_hex(&s, REP "40010000");
    assert_int_equal(s.state, IW_MPA_FULL);
    assert_output(&s, REQ "40010000");
    assert_int_equal(s.state, IW_MPA_FULL);
}

/* Reserved bits, and R in a Request, change nothing. */
static void unchecked_bits(void **state)
{
    struct iw_mpa_config c = config_of(2, true);
    struct iw_mpa_startup s = responder(&c);

    (void)state;
    feed_hex(&s, REQ "7f020004 00100010");
    assert_int_equal(s.state, IW_MPA_REQUESTED);
    assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), 0);
    assert_output(&s, REP "50020004 00100010");
    s = waiting(&c);
    feed_hex(&s, REP "5f020004 00100010");
    assert_int_equal(s.state, IW_MPA_FULL);
}

static void answers_in_wrong_states(void **state)
{
    struct iw_mpa_config c = config_of(1, false);
    struct iw_mpa_startup s = responder(&c);

    (void)state;
    assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), -1);
    assert_int_equal(iw_mpa_startup_reject(&s, NULL, 0), -1);
    s = waiting(&c);
    assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_config),
        cmocka_unit_test(contradicting_configs),
        cmocka_unit_test(requests),
        cmocka_unit_test(request_taken_in_parts),
        cmocka_unit_test(markers_and_crc),
        cmocka_unit_test(revisions),
        cmocka_unit_test(reply_revisions),
        cmocka_unit_test(responder_negotiates),
        cmocka_unit_test(initiator_negotiates),
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
