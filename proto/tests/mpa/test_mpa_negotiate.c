/* SPDX-License-Identifier: BSD-3-Clause */
/* Every row of the negotiation tables: two frames, and what both sides make of them. */
#include "mpa_frames.h"

/* RFC 5044 §7.1: flags of either side against what is in force. */
static void markers_and_crc(void **state)
{
    static const char *const flags[4] = {"00", "40", "80", "c0"};

    (void)state;
    for (unsigned mine = 0; mine < 4; mine++) {
        for (unsigned theirs = 0; theirs < 4; theirs++) {
            struct iw_mpa_config c = mpa_config_of(1, false);
            char hex[80];
            struct iw_mpa_startup s;

            c.crc = mine & 1;
            c.markers = mine & 2;
            s = mpa_responder(&c);
            mpa_feed_frame(&s, mpa_join(hex, REQ, flags[theirs], "010000"));
            assert_int_equal(s.state, IW_MPA_REQUESTED);
            assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), 0);
            assert_int_equal(s.state, IW_MPA_FULL);
            assert_int_equal(s.agreed.crc, (mine | theirs) & 1);
            assert_int_equal(s.agreed.tx_markers, theirs >> 1);
            assert_int_equal(s.agreed.rx_markers, mine >> 1);
            mpa_assert_output(&s, mpa_join(hex, REP, flags[mine], "010000"));

            s = mpa_waiting(&c);
            mpa_feed_frame(&s, mpa_join(hex, REP, flags[theirs], "010000"));
            assert_int_equal(s.state, IW_MPA_FULL);
            assert_int_equal(s.fault.check, IW_CHECK_NONE);
            assert_int_equal(s.agreed.crc, (mine | theirs) & 1);
            assert_int_equal(s.agreed.tx_markers, theirs >> 1);
            assert_int_equal(s.agreed.rx_markers, mine >> 1);
        }
    }
}

/* RFC 5044 §7.1.1, RFC 6581 §6. `reply` is NULL where the responder closes. */
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
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct iw_mpa_config c = mpa_config_of(row[i].own, false);
        struct iw_mpa_startup s = mpa_responder(&c);
        uint8_t octets[64];
        size_t n = mpa_hex(octets, row[i].request);

        if (row[i].reply == NULL) {
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
        mpa_feed_frame(&s, row[i].request);
        assert_int_equal(s.state, IW_MPA_REQUESTED);
        mpa_assert_private(&s, row[i].private_hex);
        assert_int_equal(s.agreed.enhanced, row[i].enhanced);
        assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), 0);
        assert_int_equal(s.agreed.revision, octets[17]);
        mpa_assert_output(&s, row[i].reply);
    }
}

/* RFC 5044 Appendix C as the responder: its Reply says M=1 and C=1 in revision 0, and both hold in
 * both directions whatever the Request and the own configuration say. */
static void consortium_requests(void **state)
{
    const struct {
        uint8_t own;
        bool markers;
        const char *request;
        const char *reply; /* NULL: it closes */
        uint8_t version;
        bool tx_markers, rx_markers;
        const char *private_hex;
    } row[] = {
        {1, false, REQ "c0000000", REP "c0000000", 0, true, true, ""},
        {2, true, REQ "c0000002 abcd", REP "c0000000", 0, true, true, "abcd"},
        {2, false, REQ "00000000", REP "c0000000", 0, true, true, ""},
        {2, false, REQ "df000004 00100010", REP "c0000000", 0, true, true, "00100010"},
        {2, false, REQ "80010000", REP "40010000", 1, true, false, ""},
        {2, true, REQ "50020004 00100010", REP "d0020004 00100010", 1, false, true, ""},
        {2, false, REQ "c0030000", NULL, 0, false, false, ""},
        /* an end of the Consortium's knows revision 0 only, and says so (C.2.2) */
        {0, false, REQ "40010000", REP "c0000000", 0, true, true, ""},
        {0, false, REQ "c0000000", REP "c0000000", 0, true, true, ""},
        {0, false, REQ "50020004 00100010", NULL, 0, false, false, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct iw_mpa_config c = mpa_config_of(row[i].own, false);
        c.permissive = true;
        c.markers = row[i].markers;
        struct iw_mpa_startup s = mpa_responder(&c);
        if (row[i].reply == NULL) {
            uint8_t octets[64];
            (void)iw_mpa_startup_input(&s, octets, mpa_hex(octets, row[i].request));
            assert_int_equal(s.state, IW_MPA_FAILED);
            assert_int_equal(s.fault.check, IW_CHECK_MPA_REV);
            continue;
        }
        mpa_feed_frame(&s, row[i].request);
        assert_int_equal(s.state, IW_MPA_REQUESTED);
        mpa_assert_private(&s, row[i].private_hex);
        assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), 0);
        mpa_assert_output(&s, row[i].reply);
        assert_int_equal(s.agreed.version, row[i].version);
        assert_int_equal(s.agreed.tx_markers, row[i].tx_markers);
        assert_int_equal(s.agreed.rx_markers, row[i].rx_markers);
        assert_true(s.agreed.crc);
    }
}

/* The same as the initiator, whose Request is of revision 1 (C.2.5) or itself of revision 0. */
static void consortium_replies(void **state)
{
    const struct {
        uint8_t own;
        bool permissive, enhanced;
        const char *request, *reply;
        enum iw_check check;
        uint8_t version;
    } row[] = {
        {1, true, false, REQ "40010000", REP "c0000000", IW_CHECK_NONE, 0},
        {1, true, false, REQ "40010000", REP "00000000", IW_CHECK_NONE, 0},
        {2, true, false, REQ "40020000", REP "c0000000", IW_CHECK_NONE, 0},
        {1, true, false, REQ "40010000", REP "40010000", IW_CHECK_NONE, 1},
        {0, true, false, REQ "c0000000", REP "c0000000", IW_CHECK_NONE, 0},
        {0, true, false, REQ "c0000000", REP "40010000", IW_CHECK_MPA_REV, 0},
        {1, false, false, REQ "40010000", REP "c0000000", IW_CHECK_MPA_REV, 0},
        {2, true, true, REQ "50020004 00100010", REP "c0000000", IW_CHECK_MPA_REP_S, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct iw_mpa_config c = mpa_config_of(row[i].own, row[i].enhanced);
        c.permissive = row[i].permissive;
        struct iw_mpa_startup s = mpa_initiator(&c, "");
        mpa_assert_output(&s, row[i].request);
        if (row[i].check != IW_CHECK_NONE) {
            uint8_t octets[64];
            (void)iw_mpa_startup_input(&s, octets, mpa_hex(octets, row[i].reply));
            assert_int_equal(s.state, IW_MPA_FAILED);
            assert_int_equal(s.fault.check, row[i].check);
            continue;
        }
        mpa_feed_frame(&s, row[i].reply);
        assert_int_equal(s.state, IW_MPA_FULL);
        assert_int_equal(s.agreed.version, row[i].version);
        assert_int_equal(s.agreed.rx_markers, row[i].version == 0);
        assert_int_equal(s.agreed.tx_markers, row[i].version == 0);
        assert_true(s.agreed.crc);
    }
}

/* C.1: CRCs are in force, also where neither end asks for them. */
static void consortium_crc(void **state)
{
    struct iw_mpa_config c = mpa_config_of(1, false);
    struct iw_mpa_startup s;

    (void)state;
    c.permissive = true;
    c.crc = false;
    s = mpa_responder(&c);
    mpa_feed_frame(&s, REQ "00000000");
    assert_int_equal(iw_mpa_startup_accept(&s, NULL, 0), 0);
    mpa_assert_output(&s, REP "c0000000");
    assert_true(s.agreed.crc);
    s = mpa_initiator(&c, "");
    mpa_assert_output(&s, REQ "00010000");
    mpa_feed_frame(&s, REP "00000000");
    assert_int_equal(s.state, IW_MPA_FULL);
    assert_true(s.agreed.crc);
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
        {2, false, REP "50020004 00100010", IW_CHECK_MPA_REP_S_UNASKED, 16},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct iw_mpa_config c = mpa_config_of(row[i].own, row[i].enhanced);
        struct iw_mpa_startup s = mpa_waiting(&c);
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

/* RFC 6581 §9, the responder's side: configured IRD/ORD and RTR forms, Request, Reply. */
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
        /* ... which 0x3fff leaves as it is: no Read is offered unless there is nothing else */
        {0, 16, B | D, "c0007fff", "ffff0000", true, B, 0, 0, 0, 0x3fff},
        {0, 16, D, "80007fff", "bfff4000", true, D, 0, 0, 0, 0x3fff},
        {1, 16, B | D, "c0007fff", "ffff4000", true, B | D, 1, 0, 0, 0x3fff},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct iw_mpa_config c = mpa_config_of(2, false);
        struct iw_mpa_startup s;
        char hex[80];

        c.ird = row[i].ird;
        c.ord = row[i].ord;
        c.rtr = row[i].rtr;
        s = mpa_responder(&c);
        mpa_feed_frame(&s, mpa_join(hex, REQ "50020004", row[i].block, ""));
        assert_int_equal(s.state, IW_MPA_REQUESTED);
        assert_int_equal(iw_mpa_startup_accept(&s, "\xab", 1), 0);
        mpa_assert_output(&s, mpa_join(hex, REP "50020005", row[i].reply, "ab"));
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
        /* an IRD of 0 has no room for a Read, not even as RTR (OP-29); one left to the ULP has */
        {16, 16, B | D, "c0004010", IW_CHECK_NONE, true, B, 16, 0},
        {16, 16, D, "80004010", IW_CHECK_MPA_RTR_MATCH, true, 0, 16, 0},
        {16, 0, D, "80014010", IW_CHECK_NONE, true, D, 16, 0},
        {16, 16, D, "bfff4010", IW_CHECK_NONE, true, D, 16, 16},
        /* A differs: client-server (OP-26) */
        {16, 16, B, "00100010", IW_CHECK_NONE, false, 0, 16, 16},
        {16, 16, B, "4010c010", IW_CHECK_NONE, false, 0, 16, 16},
        {16, 16, 0, "c010c010", IW_CHECK_NONE, false, 0, 16, 16},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct iw_mpa_config c = mpa_config_of(2, true);
        struct iw_mpa_startup s;
        char hex[80];

        c.ird = row[i].ird;
        c.ord = row[i].ord;
        c.rtr = row[i].rtr;
        c.peer_to_peer = row[i].rtr != 0;
        s = mpa_waiting(&c);
        mpa_feed_frame(&s, mpa_join(hex, REP "50020006", row[i].reply, "beef"));
        assert_int_equal(s.state, IW_MPA_FULL);
        mpa_assert_private(&s, "beef");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markers_and_crc),      cmocka_unit_test(revisions),
        cmocka_unit_test(reply_revisions),      cmocka_unit_test(consortium_requests),
        cmocka_unit_test(consortium_replies),   cmocka_unit_test(responder_negotiates),
        cmocka_unit_test(initiator_negotiates), cmocka_unit_test(consortium_crc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
