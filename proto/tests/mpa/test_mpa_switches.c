/* SPDX-License-Identifier: BSD-3-Clause */
/* --ignore, --overstrict and --violate of start-up and framer. */
#include "mpa_support.h"

#define REQ "4d504120494420526571204672616d65"
#define REP "4d504120494420526570204672616d65"

static struct iw_mpa_config defaults(void)
{
    struct iw_mpa_config config;

    iw_mpa_config_default(&config);
    return config;
}

/* A start-up of either role with one switch; an initiator's Request is out. */
static struct iw_mpa_startup bent(struct iw_switches *switches, enum iw_switch kind,
                                  const char *spec, enum iw_mpa_role role,
                                  const struct iw_mpa_config *config)
{
    struct iw_mpa_startup s;
    const uint8_t *out;

    *switches = (struct iw_switches){0};
    mpa_switch(switches, kind, spec);
    assert_int_equal(iw_mpa_startup_init(&s, role, config, NULL, 0, switches), 0);
    if (role == IW_MPA_INITIATOR)
        iw_mpa_startup_sent(&s, iw_mpa_startup_output(&s, &out));
    return s;
}

static void assert_output(const struct iw_mpa_startup *s, const char *hex)
{
    const uint8_t *out;
    size_t n = iw_mpa_startup_output(s, &out);

    mpa_assert_hex(out, n, hex);
}

static void feed_hex(struct iw_mpa_startup *s, const char *hex)
{
    uint8_t frame[IW_MPA_STARTUP_MAX];
    size_t n = mpa_hex(frame, hex);

    iw_mpa_startup_input(s, frame, n);
}

/* The frame with one switch set. A responder first gets `request`. */
static void violated(const char *spec, const struct iw_mpa_config *config, const char *request,
                     const char *want)
{
    struct iw_switches switches = {0};
    struct iw_mpa_startup s;

    mpa_switch(&switches, IW_SWITCH_VIOLATE, spec);
    assert_int_equal(iw_mpa_startup_init(&s, request ? IW_MPA_RESPONDER : IW_MPA_INITIATOR, config,
                                         request ? NULL : "\xab", request ? 0 : 1, &switches),
                     0);
    if (request != NULL) {
        feed_hex(&s, request);
        assert_int_equal(s.state, IW_MPA_REQUESTED);
        assert_int_equal(iw_mpa_startup_accept(&s, "\xab", 1), 0);
    }
    assert_output(&s, want);
}

static void violated_requests(void **state)
{
    struct iw_mpa_config c = defaults();
    struct iw_mpa_config rev1 = {.revision = 1, .crc = true};
    struct iw_mpa_config peer = defaults();

    (void)state;
    peer.peer_to_peer = true;
    violated("mpa-req-key", &c, NULL, "4d504120494420526571204672616d45 50020005 00100010 ab");
    violated("mpa-rep-key", &c, NULL, REQ "50020005 00100010 ab"); /* not a Reply */
    violated("mpa-rev", &c, NULL, REQ "50030005 00100010 ab");
    violated("mpa-pd-length", &c, NULL, REQ "50020202 00100010 ab");
    violated("mpa-startup-cut", &c, NULL, REQ "50020009 00100010 ab");
    violated("mpa-enh-length", &c, NULL, REQ "50020002 0010");
    violated("mpa-enh-length", &rev1, NULL, REQ "50010002 ab00");
    violated("mpa-res-bits", &c, NULL, REQ "5f020005 00100010 ab");
    violated("mpa-req-r", &c, NULL, REQ "70020005 00100010 ab");
    violated("mpa-rev1-s", &c, NULL, REQ "50010005 00100010 ab");
    violated("mpa-rev1-s", &rev1, NULL, REQ "50010001 ab");
    violated("mpa-rtr-offer", &peer, NULL, REQ "50020005 80100010 ab");
    violated("mpa-rtr-offer", &c, NULL, REQ "50020005 00100010 ab");
    violated("mpa-rtr-choice", &peer, NULL, REQ "50020005 c010c010 ab"); /* not a Reply */
    violated("mpa-rtr-unasked", &c, NULL, REQ "50020005 4010c010 ab");
    violated("mpa-rtr-unasked", &peer, NULL, REQ "50020005 c010c010 ab");
    c.rtr = 0;
    violated("mpa-rtr-unasked", &c, NULL, REQ "50020005 40100010 ab");
}

static void violated_replies(void **state)
{
    const char *plain = REQ "50020004 00100010";
    const char *peer = REQ "50020004 c010c010";
    const char *rev1 = REQ "40010000";
    struct iw_mpa_config c = defaults();

    (void)state;
    violated("mpa-rep-key", &c, plain, "4d504120494420526570204672616d45 50020005 00100010 ab");
    violated("mpa-req-key", &c, plain, REP "50020005 00100010 ab");
    violated("mpa-rev", &c, plain, REP "50030005 00100010 ab");
    violated("mpa-pd-length", &c, plain, REP "50020202 00100010 ab");
    violated("mpa-startup-cut", &c, plain, REP "50020009 00100010 ab");
    violated("mpa-enh-length", &c, plain, REP "50020002 0010");
    violated("mpa-rep-s", &c, plain, REP "40020001 ab");
    violated("mpa-rep-s-unasked", &c, rev1, REP "50010005 00100010 ab");
    violated("mpa-res-bits", &c, plain, REP "5f020005 00100010 ab");
    violated("mpa-req-r", &c, plain, REP "50020005 00100010 ab");
    violated("mpa-rep-r", &c, plain, REP "70020005 00100010 ab");
    violated("mpa-rep-depths", &c, REQ "50020004 00080010", REP "50020005 00080010 ab");
    violated("mpa-rev1-s", &c, plain, REP "50010005 00100010 ab");
    violated("mpa-rep-a", &c, peer, REP "50020005 00100010 ab");
    violated("mpa-rep-a-unasked", &c, plain, REP "50020005 c010c010 ab");
    violated("mpa-rtr-choice", &c, peer, REP "50020005 80100010 ab");
    violated("mpa-rtr-unasked", &c, plain, REP "50020005 4010c010 ab");
    violated("mpa-ord-reply", &c, plain, REP "50020005 00100011 ab");
    violated("mpa-ord-reply", &c, REQ "50020004 3ffe0010", REP "50020005 00100010 ab");
    violated("mpa-ird-3fff", &c, REQ "50020004 00103fff", REP "50020005 00100010 ab");
    violated("mpa-ird-3fff", &c, plain, REP "50020005 00100010 ab");
    violated("mpa-ord-3fff", &c, REQ "50020004 3fff0010", REP "50020005 00100010 ab");
    c.ird = 0x3fff;
    c.ord = 0x3fff;
    violated("mpa-ird-3fff", &c, REQ "50020004 00103fff", REP "50020005 3ffe3fff ab");
    violated("mpa-ord-3fff", &c, REQ "50020004 3fff0010", REP "50020005 3fff3ffe ab");
}

/* With 512 octets of private data there is no room for a block that nobody asked for. */
static void violated_s_needs_room(void **state)
{
    struct iw_mpa_config c = defaults();
    struct iw_switches switches;
    struct iw_mpa_startup s =
        bent(&switches, IW_SWITCH_VIOLATE, "mpa-rep-s-unasked", IW_MPA_RESPONDER, &c);
    uint8_t data[512] = {0};
    const uint8_t *out;

    (void)state;
    feed_hex(&s, REQ "40010000");
    assert_int_equal(iw_mpa_startup_accept(&s, data, sizeof(data)), 0);
    assert_int_equal(iw_mpa_startup_output(&s, &out), 532);
    mpa_assert_hex(out, 20, REP "40010200");
}

/* A Request sent as revision 1 is answered without the block, and that is as it should be. */
static void violated_revision_one_goes_on(void **state)
{
    struct iw_mpa_config c = defaults();
    struct iw_switches switches;
    struct iw_mpa_startup s =
        bent(&switches, IW_SWITCH_VIOLATE, "mpa-rev1-s", IW_MPA_INITIATOR, &c);

    (void)state;
    feed_hex(&s, REP "40010000");
    assert_int_equal(s.state, IW_MPA_FULL);
    assert_false(s.agreed.enhanced);
}

static void violated_ord(void **state)
{
    struct iw_mpa_config c = defaults();
    struct iw_switches switches;
    struct iw_mpa_startup s =
        bent(&switches, IW_SWITCH_VIOLATE, "mpa-ord-obey", IW_MPA_INITIATOR, &c);

    (void)state;
    feed_hex(&s, REP "50020004 00010001");
    assert_int_equal(s.state, IW_MPA_FULL);
    assert_int_equal(s.agreed.ord, 16);
    assert_int_equal(s.agreed.peer_ird, 1);
}

static void overstrict(void **state)
{
    const struct {
        const char *spec;
        const char *frame;
        enum iw_check check;
        enum iw_mpa_role role;
        uint64_t pos, got, want;
    } row[] = {
        {"mpa-pd-full", REQ "40010200", IW_CHECK_MPA_PD_FULL, IW_MPA_RESPONDER, 18, 512, 0},
        {"mpa-pd-none", REQ "40010000", IW_CHECK_MPA_PD_NONE, IW_MPA_RESPONDER, 18, 0, 1},
        {"mpa-pd-none", REP "50020004 00100010", IW_CHECK_MPA_PD_NONE, IW_MPA_INITIATOR, 18, 4, 5},
        {"mpa-rev-older", REQ "40010000", IW_CHECK_MPA_REV_OLDER, IW_MPA_RESPONDER, 17, 1, 2},
        {"mpa-rev2-plain", REQ "40020000", IW_CHECK_MPA_REV2_PLAIN, IW_MPA_RESPONDER, 16, 0, 1},
        {"mpa-ird-above", REP "50020004 00110010", IW_CHECK_MPA_IRD_ABOVE, IW_MPA_INITIATOR, 20, 17,
         16},
        {"mpa-ird-below", REP "50020004 000f0010", IW_CHECK_MPA_IRD_BELOW, IW_MPA_INITIATOR, 20, 15,
         16},
        {"mpa-ird-unasked", REP "50020004 3fff0010", IW_CHECK_MPA_IRD_UNASKED, IW_MPA_INITIATOR, 20,
         0x3fff, 16},
        {"mpa-ord-unasked", REP "50020004 00103fff", IW_CHECK_MPA_ORD_UNASKED, IW_MPA_INITIATOR, 22,
         0x3fff, 16},
        {"mpa-res-bits", REQ "41010000", IW_CHECK_MPA_RES_BITS, IW_MPA_RESPONDER, 16, 1, 0},
        {"mpa-res-bits", REP "58020004 00100010", IW_CHECK_MPA_RES_BITS, IW_MPA_INITIATOR, 16, 8,
         0},
        {"mpa-req-r", REQ "60010000", IW_CHECK_MPA_REQ_R, IW_MPA_RESPONDER, 16, 1, 0},
        {"mpa-rev1-s", REQ "50010000", IW_CHECK_MPA_REV1_S, IW_MPA_RESPONDER, 16, 1, 0},
        {"mpa-rtr-unasked", REQ "50020004 40100010", IW_CHECK_MPA_RTR_UNASKED, IW_MPA_RESPONDER, 20,
         IW_MPA_RTR_SEND, 0},
        {"mpa-rtr-unasked", REP "50020004 0010c010", IW_CHECK_MPA_RTR_UNASKED, IW_MPA_INITIATOR, 22,
         IW_MPA_RTR_WRITE | IW_MPA_RTR_READ, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct iw_mpa_config c = defaults();
        struct iw_switches switches;
        struct iw_mpa_startup s =
            bent(&switches, IW_SWITCH_OVERSTRICT, row[i].spec, row[i].role, &c);

        feed_hex(&s, row[i].frame);
        assert_int_equal(s.state, IW_MPA_FAILED);
        assert_int_equal(s.fault.check, row[i].check);
        assert_int_equal(s.fault.pos, row[i].pos);
        assert_int_equal(s.fault.got, row[i].got);
        assert_int_equal(s.fault.want, row[i].want);

        s = bent(&switches, IW_SWITCH_OVERSTRICT, "mpa-pad", row[i].role, &c);
        feed_hex(&s, row[i].frame);
        assert_int_not_equal(s.state, IW_MPA_FAILED);
    }
}

/* The peer names all forms; this end has one. In a refusal nothing of it matters. */
static void overstrict_rtr(void **state)
{
    struct iw_mpa_config c = defaults();
    struct iw_switches switches;
    struct iw_mpa_startup s;

    (void)state;
    c.peer_to_peer = true;
    c.rtr = IW_MPA_RTR_WRITE;
    s = bent(&switches, IW_SWITCH_OVERSTRICT, "mpa-rtr-extra", IW_MPA_INITIATOR, &c);
    feed_hex(&s, REP "50020004 c010c010");
    assert_int_equal(s.state, IW_MPA_FAILED);
    assert_int_equal(s.fault.check, IW_CHECK_MPA_RTR_EXTRA);
    assert_int_equal(s.fault.pos, 20);
    assert_int_equal(s.fault.want, IW_MPA_RTR_WRITE);

    s = bent(&switches, IW_SWITCH_OVERSTRICT, "mpa-rtr-extra", IW_MPA_INITIATOR, &c);
    feed_hex(&s, REP "50020004 80108010");
    assert_int_equal(s.state, IW_MPA_FULL);

    s = bent(&switches, IW_SWITCH_OVERSTRICT, "mpa-rtr-extra", IW_MPA_INITIATOR, &c);
    feed_hex(&s, REP "70020004 c010c010");
    assert_int_equal(s.state, IW_MPA_REJECTED);
}

static void ignored(void **state)
{
    const struct {
        const char *spec;
        const char *frame;
        enum iw_mpa_role role;
        enum iw_mpa_state end;
    } row[] = {
        {"mpa-req-key", REP "50020004 00100010", IW_MPA_RESPONDER, IW_MPA_REQUESTED},
        {"mpa-rep-key", REQ "50020004 00100010", IW_MPA_INITIATOR, IW_MPA_FULL},
        {"mpa-rev", REQ "40000000", IW_MPA_RESPONDER, IW_MPA_REQUESTED},
        {"mpa-rev", REQ "50090004 00100010", IW_MPA_RESPONDER, IW_MPA_REQUESTED},
        {"mpa-rev", REP "50090004 00100010", IW_MPA_INITIATOR, IW_MPA_FULL},
        {"mpa-rep-s", REP "40020000", IW_MPA_INITIATOR, IW_MPA_FULL},
        {"mpa-enh-length", REQ "50020000", IW_MPA_RESPONDER, IW_MPA_REQUESTED},
        {"mpa-enh-length", REQ "50020003 c010ff", IW_MPA_RESPONDER, IW_MPA_REQUESTED},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct iw_mpa_config c = defaults();
        struct iw_switches switches;
        struct iw_mpa_startup s = bent(&switches, IW_SWITCH_IGNORE, row[i].spec, row[i].role, &c);
        const uint8_t *data;

        feed_hex(&s, row[i].frame);
        assert_int_equal(s.state, row[i].end);
        assert_int_equal(s.fault.check, IW_CHECK_NONE);
        assert_int_equal(iw_mpa_startup_private(&s, &data), 0);
    }
}

/* Without the flag S in the Reply, or in the Request, there is nothing to agree on but what
 * revision and flags say: IRD and ORD stay as they are configured (RFC 6581 §9). */
static void ignored_reply_without_s(void **state)
{
    static const struct {
        const char *frame;
        bool enhanced; /* the Request was */
        uint8_t revision;
        bool crc, markers;
    } row[] = {
        {REP "40020000", true, 2, true, false},
        {REP "80020000", true, 2, false, true},
        {REP "40010000", true, 1, true, false},
        {REP "50020004 c0018001", false, 2, true, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct iw_mpa_config c = defaults();
        struct iw_switches switches;
        struct iw_mpa_startup s;

        c.crc = false;
        c.enhanced = c.peer_to_peer = row[i].enhanced;
        c.rtr = IW_MPA_RTR_SEND;
        c.ird = 7;
        c.ord = 9;
        s = bent(&switches, IW_SWITCH_IGNORE, row[i].enhanced ? "mpa-rep-s" : "mpa-rep-s-unasked",
                 IW_MPA_INITIATOR, &c);
        feed_hex(&s, row[i].frame);
        assert_int_equal(s.state, IW_MPA_FULL);
        assert_int_equal(s.fault.check, IW_CHECK_NONE);
        assert_int_equal(s.agreed.revision, row[i].revision);
        assert_int_equal(s.agreed.version, 1);
        assert_int_equal(s.agreed.crc, row[i].crc);
        assert_int_equal(s.agreed.tx_markers, row[i].markers);
        assert_false(s.agreed.rx_markers);
        assert_false(s.agreed.enhanced);
        assert_false(s.agreed.peer_to_peer);
        assert_int_equal(s.agreed.rtr, 0);
        assert_int_equal(s.agreed.ird, 7);
        assert_int_equal(s.agreed.ord, 9);
        assert_int_equal(s.agreed.peer_ird, 0);
        assert_int_equal(s.agreed.peer_ord, 0);
    }
}

static void ignored_revisions(void **state)
{
    struct iw_mpa_config c = defaults();
    struct iw_switches switches;
    struct iw_mpa_startup s = bent(&switches, IW_SWITCH_IGNORE, "mpa-rev", IW_MPA_RESPONDER, &c);

    (void)state;
    feed_hex(&s, REQ "40000000");
    assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), 0);
    assert_output(&s, REP "40010000");

    s = bent(&switches, IW_SWITCH_IGNORE, "mpa-rev", IW_MPA_RESPONDER, &c);
    feed_hex(&s, REQ "50090004 00040004");
    assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), 0);
    assert_output(&s, REP "50020004 00100004");

    c.revision = 1; /* a responder of revision 1 reads no block */
    s = bent(&switches, IW_SWITCH_IGNORE, "mpa-rev", IW_MPA_RESPONDER, &c);
    feed_hex(&s, REQ "50020006 00040004 beef");
    assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), 0);
    assert_output(&s, REP "40010000");
}

/* A block cut short reads as zeros past its end. */
static void ignored_short_block(void **state)
{
    struct iw_mpa_config c = defaults();
    struct iw_switches switches;
    struct iw_mpa_startup s =
        bent(&switches, IW_SWITCH_IGNORE, "mpa-enh-length", IW_MPA_RESPONDER, &c);

    (void)state;
    feed_hex(&s, REQ "50020002 c005");
    assert_int_equal(s.state, IW_MPA_REQUESTED);
    assert_int_equal(s.agreed.peer_ird, 5);
    assert_int_equal(s.agreed.peer_ord, 0);
    assert_true(s.agreed.peer_to_peer);
    assert_int_equal(s.agreed.rtr, IW_MPA_RTR_SEND);
    assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), 0);
    assert_output(&s, REP "50020004 c0100005");
}

/* Every octet that PD_Length announces is passed over, 512 of them are kept. */
static void ignored_long_private_data(void **state)
{
    const size_t lengths[] = {513, 4096, 65535};
    uint8_t filler[1000];

    (void)state;
    memset(filler, 0x5a, sizeof(filler));
    for (size_t i = 0; i < 3; i++) {
        struct iw_mpa_config c = defaults();
        struct iw_switches switches;
        struct iw_mpa_startup s =
            bent(&switches, IW_SWITCH_IGNORE, "mpa-pd-length", IW_MPA_RESPONDER, &c);
        uint8_t header[20];
        const uint8_t *data;
        size_t left = lengths[i];

        mpa_hex(header, REQ "40010000");
        header[18] = (uint8_t)(left >> 8);
        header[19] = (uint8_t)left;
        assert_int_equal(iw_mpa_startup_input(&s, header, 20), 20);
        while (left > 0) {
            size_t want = left < sizeof(filler) ? left : sizeof(filler);
            assert_int_equal(s.state, IW_MPA_WAIT_REQUEST);
            assert_int_equal(iw_mpa_startup_input(&s, filler, sizeof(filler)), want);
            left -= want;
        }
        assert_int_equal(s.state, IW_MPA_REQUESTED);
        assert_int_equal(iw_mpa_startup_private(&s, &data), 512);
        assert_memory_equal(data, filler, 512);
    }
}

/* The Reply's key leaves at once, the rest of it when it is due. */
static void violated_early_reply(void **state)
{
    struct iw_mpa_config c = defaults();
    struct iw_switches switches;
    struct iw_mpa_startup s =
        bent(&switches, IW_SWITCH_VIOLATE, "mpa-reply-early", IW_MPA_RESPONDER, &c);

    (void)state;
    assert_output(&s, REP);
    iw_mpa_startup_sent(&s, 10);
    feed_hex(&s, REQ "50020004 00100010");
    assert_output(&s, "204672616d65");
    assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), 0);
    assert_output(&s, "204672616d65 50020004 00100010");
}

static void ignored_negotiation(void **state)
{
    struct iw_mpa_config c = defaults();
    struct iw_switches switches;
    struct iw_mpa_startup s =
        bent(&switches, IW_SWITCH_IGNORE, "mpa-ird-short", IW_MPA_INITIATOR, &c);

    (void)state;
    feed_hex(&s, REP "50020004 00103ffe");
    assert_int_equal(s.state, IW_MPA_FULL);
    assert_int_equal(s.fault.check, IW_CHECK_NONE);
    assert_int_equal(s.agreed.ird, 16);

    c.peer_to_peer = true;
    c.rtr = IW_MPA_RTR_SEND;
    s = bent(&switches, IW_SWITCH_IGNORE, "mpa-rtr-match", IW_MPA_INITIATOR, &c);
    feed_hex(&s, REP "50020004 80108010");
    assert_int_equal(s.state, IW_MPA_FULL);
    assert_int_equal(s.fault.check, IW_CHECK_NONE);
    assert_int_equal(s.agreed.rtr, 0);
}

/* ---- framer ---- */

static size_t framed(const char *spec, bool markers, bool crc, uint64_t pos, const char *ulpdu,
                     uint8_t *out)
{
    struct iw_switches switches = {0};
    struct iw_framer f;
    struct iw_iov pieces[16];
    uint8_t octets[1100];
    uint8_t scratch[IW_FRAMER_SCRATCH];
    struct iw_iov piece = {.base = octets, .length = mpa_hex(octets, ulpdu)};
    size_t n = 0;
    int count;

    mpa_switch(&switches, IW_SWITCH_VIOLATE, spec);
    iw_framer_init(&f, markers, crc, iw_crc32c_portable, &switches);
    f.pos = pos;
    count = iw_framer_frame(&f, &piece, 1, pieces, 16, scratch);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        memcpy(out + n, pieces[i].base, pieces[i].length);
        n += pieces[i].length;
    }
    assert_int_equal(f.pos, pos + n);
    return n;
}

static void assert_framed(const char *spec, bool markers, bool crc, uint64_t pos, const char *ulpdu,
                          const char *want)
{
    uint8_t out[128];
    size_t n = framed(spec, markers, crc, pos, ulpdu, out);

    mpa_assert_hex(out, n, want);
}

#define V5 "4143 00000000 00000000 00000001 00000000 68656c6c 6f"
#define V1 "4143 00000000 00000000 00000001 00000000"

static void violated_fpdus(void **state)
{

    (void)state;
    assert_framed("mpa-crc", false, true, 0, V5,
                  "0017" V5 "000000"
                  "b890b10c");
    assert_framed("mpa-crc", false, false, 0, V5,
                  "0017" V5 "000000"
                  "00000000");
    assert_framed("mpa-crc-demand", false, true, 0, V5,
                  "0017" V5 "000000"
                  "00000000");
    assert_framed("mpa-pad", false, false, 0, V5,
                  "0017" V5 "ffffff"
                  "00000000");
    assert_framed("mpa-marker-pointer", true, false, 0, V1, "00000004 0012" V1 "00000000");
    assert_framed("mpa-marker-rsvd", true, false, 0, V1, "00010000 0012" V1 "00000000");
    assert_framed("mpa-marker-low", true, false, 0, V1, "00000003 0012" V1 "00000000");
    assert_framed("mpa-marker-missing", true, true, 0, V1, "0012" V1 "587be8c4");
    assert_framed("mpa-marker-unasked", false, true, 0, V1, "00000000 0012" V1 "88c1d6fc");
    /* A Marker due at 512 comes at 516, and the one due at 516 is not yet due at 512. */
    assert_framed("mpa-marker-place", true, false, 508, V1,
                  "00124143 00000000 00000008 00000000 00000001 00000000 00000000");
    assert_framed("mpa-marker-place", true, false, 0, V1, "00000000 0012" V1 "00000000");
    assert_framed("mpa-marker-place", false, false, 516, V1, "0012" V1 "00000000");
}

/* Violations that the CRC covers carry a good CRC: only the intended rule is broken. */
static void violations_have_good_crcs(void **state)
{
    static const char *const specs[] = {"mpa-marker-pointer", "mpa-marker-rsvd", "mpa-marker-low",
                                        "mpa-pad"};
    const enum iw_check checks[] = {IW_CHECK_MPA_MARKER_POINTER, IW_CHECK_MPA_MARKER_RSVD,
                                    IW_CHECK_MPA_MARKER_LOW, IW_CHECK_MPA_PAD};
    const uint64_t pos[] = {2, 0, 3, 29};
    const uint64_t got[] = {4, 1, 3, 0xff};
    struct mpa_rig *rig = mpa_rig_new(true, true);

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        uint8_t out[128];
        size_t n = framed(specs[i], true, true, 0, V5, out);

        mpa_rig_reset(rig, true, true);
        assert_int_equal(mpa_rig_feed(rig, 0, out, n), 0);
        assert_int_equal(rig->seen.faults, 1);
        mpa_assert_fault(rig, 0, checks[i], pos[i], got[i], 0);
        assert_int_equal(rig->seen.fpdus, 1);
        assert_true(rig->seen.fpdu[0].crc_good);

        mpa_rig_reset(rig, true, true);
        rig->seen.strict = true;
        assert_int_equal(mpa_rig_feed(rig, 0, out, n), -1);
        assert_int_equal(rig->seen.fpdus, 0);
    }
    mpa_rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(violated_requests),
        cmocka_unit_test(violated_replies),
        cmocka_unit_test(violated_s_needs_room),
        cmocka_unit_test(violated_revision_one_goes_on),
        cmocka_unit_test(violated_ord),
        cmocka_unit_test(overstrict),
        cmocka_unit_test(overstrict_rtr),
        cmocka_unit_test(ignored),
        cmocka_unit_test(ignored_reply_without_s),
        cmocka_unit_test(ignored_revisions),
        cmocka_unit_test(ignored_short_block),
        cmocka_unit_test(ignored_long_private_data),
        cmocka_unit_test(violated_early_reply),
        cmocka_unit_test(ignored_negotiation),
        cmocka_unit_test(violated_fpdus),
        cmocka_unit_test(violations_have_good_crcs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
