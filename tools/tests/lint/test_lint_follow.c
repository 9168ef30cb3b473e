/* SPDX-License-Identifier: BSD-3-Clause */
/* Which connections iwarp-lint follows, from which octet on, and to which end. */
#include "lint_film.h"

static void a_whole_connection(void **state)
{
    struct iw_lint_options o = plain;
    (void)state;
    int c = open_tcp();
    start(c);
    say_send(c, 0, 1, 4);
    say_send(c, 1, 1, 0);
    say_send(c, 0, 3, 1);
    say_fins(c);
    o.summary = true;
    lints(&o, 1,
          "a:4: initiator 10.0.0.1:1001: mpa request rev 1 pd 0\n"
          "a:5: responder 10.0.0.2:2002: mpa reply rev 1 pd 0\n"
          "a:6: initiator 10.0.0.1:1001: send L msn 1 mo 0 len 4\n"
          "a:7: responder 10.0.0.2:2002: send L msn 1 mo 0 len 0\n"
          "a:8: DDP-4.3-08 (MUST): the MSN is not the one expected on its queue [ddp-msn; "
          "initiator 10.0.0.1:1001, octet 60: 0x3, expected 0x2]\n"
          "a:8: initiator 10.0.0.1:1001: send L msn 3 mo 0 len 1\n"
          "a:9: initiator 10.0.0.1:1001: fin\n"
          "a:11: responder 10.0.0.2:2002: fin\n"
          "connection 0, frames 1 to 11\n"
          "  agreed: revision 1, CRC off, Markers none\n"
          "  initiator 10.0.0.1:1001: rev 1, 2 send (5 octets, 1 to 4), 1 finding\n"
          "  responder 10.0.0.2:2002: rev 1, 1 send (0 octets, 0 each), 0 findings\n"
          "12 frames (0 cut, 0 bad, 0 unfinished datagrams), 1 iWARP connection, 1 finding\n");
}

/* Two after one another: the first is summed up when both sides have ended it. */
static void connections_end(void **state)
{
    struct iw_lint_options o = plain;
    (void)state;
    o.summary = true;
    o.messages = false;
    int c = open_tcp();
    start(c);
    assert_true(iw_synth_fin(synth, c, 0, ++now).first > 0);
    int d = open_tcp();
    start(d);
    assert_true(iw_synth_fin(synth, c, 1, ++now).first > 0);
    say_send(d, 0, 2, 0);
    lints(&o, 1,
          "connection 0, frames 1 to 13\n"
          "  agreed: revision 1, CRC off, Markers none\n"
          "  initiator 10.0.0.1:1001: rev 1, 0 findings\n"
          "  responder 10.0.0.2:2002: rev 1, 0 findings\n"
          "a:15: DDP-4.3-08 (MUST): the MSN is not the one expected on its queue: MSNs begin with "
          "another "
          "number than 1 [ddp-msn; "
          "initiator 10.0.0.1:1002, octet 32: 0x2, expected 0x1]\n"
          "connection 1, frames 8 to 15\n"
          "  agreed: revision 1, CRC off, Markers none\n"
          "  initiator 10.0.0.1:1002: rev 1, 1 send (0 octets, 0 each), 1 finding\n"
          "  responder 10.0.0.2:2002: rev 1, 0 findings\n"
          "15 frames (0 cut, 0 bad, 0 unfinished datagrams), 2 iWARP connections, 1 finding\n");
}

/* One that is reset, or whose end cuts an FPDU, is summed up at the end of the capture. */
static void connections_end_badly(void **state)
{
    struct iw_lint_options o = plain;
    uint8_t octets[600];
    (void)state;
    o.summary = true;
    o.messages = false;
    for (unsigned side = 0; side < 2; side++) {
        int c = open_tcp();
        start(c);
        say_send(c, 0, 1, 0);
        say(c, side, octets, fpdu(octets, IW_OP_SEND, 0, (uint8_t)(2 - side), 40) - 20);
        say_fins(c);
    }
    int c = open_tcp();
    start(c);
    say_send(c, 0, 1, 0);
    assert_true(iw_synth_fin(synth, c, 0, ++now).first > 0);
    assert_true(iw_synth_reset(synth, c, 1, ++now).first > 0);
    c = open_tcp();
    start(c);
    say_send(c, 0, 2, 0);
    lints(&o, 1,
          "a:9: MPA-4.1-01 (MUST): the stream ended inside an FPDU [mpa-fin-inside; "
          "initiator 10.0.0.1:1001, octet 88: 0x58, expected 0x2c]\n"
          "a:22: MPA-4.1-01 (MUST): the stream ended inside an FPDU [mpa-fin-inside; "
          "responder 10.0.0.2:2002, octet 64: 0x40, expected 0x14]\n"
          "a:38: DDP-4.3-08 (MUST): the MSN is not the one expected on its queue: MSNs begin with "
          "another "
          "number than 1 [ddp-msn; "
          "initiator 10.0.0.1:1004, octet 32: 0x2, expected 0x1]\n"
          "connection 0, frames 1 to 12\n"
          "  agreed: revision 1, CRC off, Markers none\n"
          "  initiator 10.0.0.1:1001: rev 1, 1 send (0 octets, 0 each), 1 finding\n"
          "  responder 10.0.0.2:2002: rev 1, 0 findings\n"
          "connection 1, frames 13 to 23\n"
          "  agreed: revision 1, CRC off, Markers none\n"
          "  initiator 10.0.0.1:1002: rev 1, 1 send (0 octets, 0 each), 0 findings\n"
          "  responder 10.0.0.2:2002: rev 1, 1 finding\n"
          "connection 2, frames 24 to 32\n"
          "  agreed: revision 1, CRC off, Markers none\n"
          "  initiator 10.0.0.1:1003: rev 1, 1 send (0 octets, 0 each), 0 findings\n"
          "  responder 10.0.0.2:2002: rev 1, 0 findings\n"
          "connection 3, frames 33 to 38\n"
          "  agreed: revision 1, CRC off, Markers none\n"
          "  initiator 10.0.0.1:1004: rev 1, 1 send (0 octets, 0 each), 1 finding\n"
          "  responder 10.0.0.2:2002: rev 1, 0 findings\n"
          "38 frames (0 cut, 0 bad, 0 unfinished datagrams), 4 iWARP connections, 3 findings\n");
}

/* What is no iWARP is not followed, unless its port says that it is: either of the two. */
static void ports_that_are_iwarp(void **state)
{
    struct iw_lint_options o = plain;
    (void)state;
    int c = open_tcp();
    for (uint8_t msn = 1; msn <= 5; msn++)
        say_send(c, 0, msn, 4);
    say_send(c, 1, 1, 4);
    finds_nothing(1, &o, 11);
    o.require = true;
    finds_nothing(1, &o, 11);
    o.n_ports = 1;
    o.ports[0] = 7;
    finds_nothing(1, &o, 11);
    o.n_ports = 3;
    o.ports[2] = PEER_PORT;
    lints(&o, 1,
          "a:4: MPA-7.1.1-01 (MUST): the key of the Request frame is not \"MPA ID Req Frame\" "
          "[mpa-req-key; initiator 10.0.0.1:1001, octet 0: 0x0, expected 0x4d]\n"
          "a:4: unknown from here: the key of the Request frame is not \"MPA ID Req Frame\" "
          "[initiator 10.0.0.1:1001]\n"
          "a:11: MPA-7.1.1-03 (MUST): the key of the Reply frame is not \"MPA ID Rep Frame\" "
          "[mpa-rep-key; responder 10.0.0.2:2002, octet 0: 0x0, expected 0x4d]\n"
          "a:11: unknown from here: the key of the Reply frame is not \"MPA ID Rep Frame\" "
          "[responder 10.0.0.2:2002]\n");
    o.ports[2] = 0;
    o.ports[1] = FIRST_PORT;
    lints(&o, 1,
          "a:4: MPA-7.1.1-01 (MUST): the key of the Request frame is not \"MPA ID Req Frame\" "
          "[mpa-req-key; initiator 10.0.0.1:1001, octet 0: 0x0, expected 0x4d]\n"
          "a:4: unknown from here: the key of the Request frame is not \"MPA ID Req Frame\" "
          "[initiator 10.0.0.1:1001]\n"
          "a:11: MPA-7.1.1-03 (MUST): the key of the Reply frame is not \"MPA ID Rep Frame\" "
          "[mpa-rep-key; responder 10.0.0.2:2002, octet 0: 0x0, expected 0x4d]\n"
          "a:11: unknown from here: the key of the Reply frame is not \"MPA ID Rep Frame\" "
          "[responder 10.0.0.2:2002]\n");
    /* They do not have to begin in the capture. */
    lints_from(
        4, &o, 0,
        "a:4: FPDUs found again at octet 0, by a chain of headers [initiator 10.0.0.1:1001]\n"
        "a:1: initiator 10.0.0.1:1001: send L msn 1 mo 0 len 4\n"
        "a:2: initiator 10.0.0.1:1001: send L msn 2 mo 0 len 4\n"
        "a:4: initiator 10.0.0.1:1001: send L msn 3 mo 0 len 4\n"
        "a:5: initiator 10.0.0.1:1001: send L msn 4 mo 0 len 4\n"
        "a:7: initiator 10.0.0.1:1001: send L msn 5 mo 0 len 4\n",
        "");
}

/* A capture that begins after the SYNs, with the Request or without it. */
static void connections_that_have_begun(void **state)
{
    struct iw_lint_options o = plain;
    (void)state;
    int c = open_tcp();
    start(c);
    for (uint8_t msn = 1; msn <= 5; msn++)
        say_send(c, 0, msn, 4);
    say_send(c, 1, 1, 4);
    lints_from(3, &o, 0,
               "a:2: initiator 10.0.0.1:1001: mpa request rev 1 pd 0\n"
               "a:3: responder 10.0.0.2:2002: mpa reply rev 1 pd 0\n"
               "a:4: initiator 10.0.0.1:1001: send L msn 1 mo 0 len 4\n"
               "a:5: initiator 10.0.0.1:1001: send L msn 2 mo 0 len 4\n"
               "a:7: initiator 10.0.0.1:1001: send L msn 3 mo 0 len 4\n"
               "a:8: initiator 10.0.0.1:1001: send L msn 4 mo 0 len 4\n"
               "a:10: initiator 10.0.0.1:1001: send L msn 5 mo 0 len 4\n"
               "a:11: responder 10.0.0.2:2002: send L msn 1 mo 0 len 4\n",
               "");
    lints_from(
        5, &o, 0,
        "a:5: FPDUs found again at octet 0, by a chain of headers [initiator 10.0.0.1:1001]\n"
        "a:2: initiator 10.0.0.1:1001: send L msn 1 mo 0 len 4\n"
        "a:3: initiator 10.0.0.1:1001: send L msn 2 mo 0 len 4\n"
        "a:5: initiator 10.0.0.1:1001: send L msn 3 mo 0 len 4\n"
        "a:6: initiator 10.0.0.1:1001: send L msn 4 mo 0 len 4\n"
        "a:8: initiator 10.0.0.1:1001: send L msn 5 mo 0 len 4\n",
        "");
    finds_nothing(6, &o, 8);
}

/* The one that was called may send the Request. */
static void the_other_side_is_the_initiator(void **state)
{
    struct iw_lint_options o = plain;
    (void)state;
    int c = open_tcp();
    say(c, 1, request, 20);
    say(c, 0, reply, 20);
    say_send(c, 1, 1, 4);
    say_send(c, 0, 1, 8);
    o.summary = true;
    lints(&o, 0,
          "a:4: initiator 10.0.0.2:2002: mpa request rev 1 pd 0\n"
          "a:5: responder 10.0.0.1:1001: mpa reply rev 1 pd 0\n"
          "a:6: initiator 10.0.0.2:2002: send L msn 1 mo 0 len 4\n"
          "a:7: responder 10.0.0.1:1001: send L msn 1 mo 0 len 8\n"
          "connection 0, frames 1 to 7\n"
          "  agreed: revision 1, CRC off, Markers none\n"
          "  initiator 10.0.0.2:2002: rev 1, 1 send (4 octets, 4 each), 0 findings\n"
          "  responder 10.0.0.1:1001: rev 1, 1 send (8 octets, 8 each), 0 findings\n"
          "7 frames (0 cut, 0 bad, 0 unfinished datagrams), 1 iWARP connection, 0 findings\n");
}

/* Octets of the ULP before the start-up (RFC 5044 7.1.2) do not count. */
static void streaming_comes_first(void **state)
{
    struct iw_lint_options o = plain;
    uint8_t octets[600];
    (void)state;
    int c = open_tcp();
    say(c, 0, "hello", 5);
    say(c, 1, "220", 3);
    start(c);
    size_t length = fpdu(octets, IW_OP_SEND, 0, 2, 4);
    say(c, 0, octets, length);
    /* The octets before come again, alone, up to the Request's middle, and after them. */
    assert_true(iw_synth_segment(synth, c, 0, ++now, 0, "hello", 5).first > 0);
    assert_true(iw_synth_segment(synth, c, 0, ++now, 2, "lloMPA ID", 9).first > 0);
    say_send(c, 1, 1, 4);
    say_send(c, 0, 5, 4);
    say_fins(c);
    o.summary = true;
    lints(&o, 1,
          "a:6: initiator 10.0.0.1:1001: mpa request rev 1 pd 0\n"
          "a:7: responder 10.0.0.2:2002: mpa reply rev 1 pd 0\n"
          "a:8: DDP-4.3-08 (MUST): the MSN is not the one expected on its queue: MSNs begin with "
          "another "
          "number than 1 [ddp-msn; "
          "initiator 10.0.0.1:1001, octet 32: 0x2, expected 0x1]\n"
          "a:8: initiator 10.0.0.1:1001: send L msn 2 mo 0 len 4\n"
          "a:11: responder 10.0.0.2:2002: send L msn 1 mo 0 len 4\n"
          "a:12: DDP-4.3-08 (MUST): the MSN is not the one expected on its queue [ddp-msn; "
          "initiator 10.0.0.1:1001, octet 60: 0x5, expected 0x3]\n"
          "a:12: initiator 10.0.0.1:1001: send L msn 5 mo 0 len 4\n"
          "a:13: initiator 10.0.0.1:1001: fin\n"
          "a:15: responder 10.0.0.2:2002: fin\n"
          "connection 0, frames 1 to 15\n"
          "  agreed: revision 1, CRC off, Markers none\n"
          "  initiator 10.0.0.1:1001: rev 1, 2 send (8 octets, 4 each), 2 findings\n"
          "  responder 10.0.0.2:2002: rev 1, 1 send (4 octets, 4 each), 0 findings\n"
          "16 frames (0 cut, 0 bad, 0 unfinished datagrams), 1 iWARP connection, 2 findings\n");
}

/* Octets that were not captured. */
static void gaps(void **state)
{
    struct iw_lint_options o = plain;
    (void)state;
    int c = open_tcp();
    start(c);
    say_send(c, 0, 1, 4);
    say_send(c, 1, 1, 0);
    iw_synth_unseen(synth, c, 0, 48 + 28);
    say_send(c, 0, 3, 4);
    say_send(c, 1, 2, 0);
    say_send(c, 0, 4, 4);
    say_send(c, 0, 5, 4);
    say_send(c, 1, 3, 0);
    o.summary = true;
    lints(&o, 0,
          "a:4: initiator 10.0.0.1:1001: mpa request rev 1 pd 0\n"
          "a:5: responder 10.0.0.2:2002: mpa reply rev 1 pd 0\n"
          "a:6: initiator 10.0.0.1:1001: send L msn 1 mo 0 len 4\n"
          "a:7: responder 10.0.0.2:2002: send L msn 1 mo 0 len 0\n"
          "a:9: responder 10.0.0.2:2002: send L msn 2 mo 0 len 0\n"
          "a:13: responder 10.0.0.2:2002: send L msn 3 mo 0 len 0\n"
          "a:13: octets 48 to 75 are not in the capture [initiator 10.0.0.1:1001]\n"
          "a:13: FPDUs found again at octet 76, by a chain of headers [initiator 10.0.0.1:1001]\n"
          "a:8: initiator 10.0.0.1:1001: send L msn 3 mo 0 len 4\n"
          "a:10: initiator 10.0.0.1:1001: send L msn 4 mo 0 len 4\n"
          "a:11: initiator 10.0.0.1:1001: send L msn 5 mo 0 len 4\n"
          "connection 0, frames 1 to 13\n"
          "  agreed: revision 1, CRC off, Markers none\n"
          "  initiator 10.0.0.1:1001: rev 1, 4 send (16 octets, 4 each), 28 octets missing in 1 "
          "gap, 0 findings\n"
          "  responder 10.0.0.2:2002: rev 1, 3 send (0 octets, 0 each), 0 findings\n"
          "13 frames (0 cut, 0 bad, 0 unfinished datagrams), 1 iWARP connection, 0 findings\n");
}

/* A snap length cuts each segment. */
static void segments_that_are_cut(void **state)
{
    struct iw_lint_options o = plain;
    char error[IW_CAPTURE_ERROR];
    (void)state;
    int c = open_tcp();
    start(c);
    say_send(c, 0, 1, 200);
    say_send(c, 1, 1, 100);
    say_send(c, 0, 2, 4);
    o.summary = true;
    assert_true(iw_synth_write_part(synth, "a", NULL, NULL, 1, 54 + 60, error));
    runs(&o, 0,
         "a:4: initiator 10.0.0.1:1001: mpa request rev 1 pd 0\n"
         "a:5: responder 10.0.0.2:2002: mpa reply rev 1 pd 0\n"
         "a:6: initiator 10.0.0.1:1001: send L msn 1 mo 0 len 40\n"
         "a:6: octets 80 to 243 are not in the capture [initiator 10.0.0.1:1001]\n"
         "a:7: responder 10.0.0.2:2002: send L msn 1 mo 0 len 40\n"
         "a:7: octets 80 to 143 are not in the capture [responder 10.0.0.2:2002]\n"
         "a:8: initiator 10.0.0.1:1001: send L msn 2 mo 0 len 4\n"
         "connection 0, frames 1 to 8\n"
         "  agreed: revision 1, CRC off, Markers none\n"
         "  initiator 10.0.0.1:1001: rev 1, 2 send (204 octets, 4 to 200), 164 octets missing in 1 "
         "gap, 0 findings\n"
         "  responder 10.0.0.2:2002: rev 1, 1 send (100 octets, 100 each), 64 octets missing in 1 "
         "gap, 0 findings\n"
         "8 frames (0 cut, 0 bad, 0 unfinished datagrams), 1 iWARP connection, 0 findings\n",
         "");
}

/* Settings that the observer needs: without them it says nothing. */
static void what_is_known_of_the_sides(void **state)
{
    struct iw_lint_options o = plain;
    uint8_t octets[600];
    (void)state;
    int c = open_tcp();
    start(c);
    size_t size = fpdu(octets, IW_OP_SEND, 0, 1, 200);
    say(c, 0, octets, 100);
    say(c, 0, octets + 100, size - 100);
    o.messages = false;
    lints(&o, 0, "");
    o.default_config = true;
    lints(&o, 1,
          "a:4: MPA-4.4-03 (MUST): a start-up frame does without CRCs though nobody has configured "
          "that [mpa-crc-default; initiator 10.0.0.1:1001, octet 16: 0x0, expected 0x1]\n"
          "a:5: MPA-4.4-03 (MUST): a start-up frame does without CRCs though nobody has configured "
          "that [mpa-crc-default; responder 10.0.0.2:2002, octet 16: 0x0, expected 0x1]\n");
    o.default_config = false;
    o.mss = 1460;
    lints(&o, 1,
          "a:7: MPA-5.1-03 (SHOULD): an FPDU that fits into a TCP segment lies in two "
          "[mpa-fpdu-cut; initiator 10.0.0.1:1001, octet 120: 0x64, expected 0x0]\n");
}

/* No CRC of the initiator is right: octets that were damaged, or that it sent so. */
static void whose_octets_are_wrong(void **state)
{
    static const uint8_t with_crcs[] = "MPA ID Req Frame\x40\1\0\0";
    struct iw_lint_options o = plain;
    (void)state;
    int c = open_tcp();
    say(c, 0, with_crcs, 20);
    say(c, 1, reply, 20);
    say_send(c, 0, 1, 0);
    say_send(c, 0, 3, 0);
    o.messages = false;
    lints(&o, 1,
          "a:6: MPA-4.4-11 (MUST): the CRC of an FPDU does not match its octets "
          "[mpa-crc; initiator 10.0.0.1:1001, octet 40: 0x0, expected 0xc4e87b58]\n"
          "a:7: unknown from here: the CRC of an FPDU does not match its octets "
          "[initiator 10.0.0.1:1001]\n");
    o.intact = true;
    lints(&o, 1,
          "a:6: MPA-4.4-11 (MUST): the CRC of an FPDU does not match its octets: no CRC is right, "
          "and framing is in order without it "
          "[mpa-crc; initiator 10.0.0.1:1001, octet 40: 0x0, expected 0xc4e87b58]\n"
          "a:7: DDP-4.3-08 (MUST): the MSN is not the one expected on its queue [ddp-msn; "
          "initiator 10.0.0.1:1001, octet 56: 0x3, expected 0x2]\n");
}

/* The least recently used connection makes room, which is said once. */
static void only_so_many_at_a_time(void **state)
{
    struct iw_lint_options o = plain;
    int c[4];
    (void)state;
    start(c[0] = open_tcp());
    start(c[1] = open_tcp());
    say_send(c[0], 0, 1, 4);
    start(c[2] = open_tcp());
    say_send(c[2], 0, 7, 4);
    say_send(c[0], 0, 8, 4);
    say_send(c[1], 0, 9, 4);
    start(c[3] = open_tcp());
    say_send(c[3], 0, 6, 4);
    o.format = IW_LINT_JSON;
    o.messages = false;
    o.connections = 4;
    lints(&o, 1,
          "{\"type\":\"finding\",\"frame\":17,\"connection\":2,\"side\":\"initiator\",\"from\":"
          "\"10.0.0.1:1003\",\"octet\":32,\"check\":\"ddp-msn\",\"rule\":\"DDP-4.3-08\",\"level\":"
          "\"MUST\",\"implied\":false,\"text\":\"the MSN is not the one expected on its "
          "queue\",\"got\":\"0x7\",\"want\":\"0x1\",\"quirk\":\"msn-start\"}\n"
          "{\"type\":\"finding\",\"frame\":18,\"connection\":0,\"side\":\"initiator\",\"from\":"
          "\"10.0.0.1:1001\",\"octet\":60,\"check\":\"ddp-msn\",\"rule\":\"DDP-4.3-08\",\"level\":"
          "\"MUST\",\"implied\":false,\"text\":\"the MSN is not the one expected on its "
          "queue\",\"got\":\"0x8\",\"want\":\"0x2\"}\n"
          "{\"type\":\"finding\",\"frame\":20,\"connection\":1,\"side\":\"initiator\",\"from\":"
          "\"10.0.0.1:1002\",\"octet\":32,\"check\":\"ddp-msn\",\"rule\":\"DDP-4.3-08\",\"level\":"
          "\"MUST\",\"implied\":false,\"text\":\"the MSN is not the one expected on its "
          "queue\",\"got\":\"0x9\",\"want\":\"0x1\",\"quirk\":\"msn-start\"}\n"
          "{\"type\":\"finding\",\"frame\":26,\"connection\":3,\"side\":\"initiator\",\"from\":"
          "\"10.0.0.1:1004\",\"octet\":32,\"check\":\"ddp-msn\",\"rule\":\"DDP-4.3-08\",\"level\":"
          "\"MUST\",\"implied\":false,\"text\":\"the MSN is not the one expected on its "
          "queue\",\"got\":\"0x6\",\"want\":\"0x1\",\"quirk\":\"msn-start\"}\n"
          "{\"type\":\"total\",\"frames\":26,\"cut\":0,\"bad\":0,\"unfinished_datagrams\":0,"
          "\"connections\":4,\"not_followed\":0,\"closed_early\":0,\"findings\":4}\n");
    o.connections = 2;
    lints_from(
        1, &o, 1,
        "{\"type\":\"finding\",\"frame\":17,\"connection\":2,\"side\":\"initiator\",\"from\":\"10."
        "0.0.1:1003\",\"octet\":32,\"check\":\"ddp-msn\",\"rule\":\"DDP-4.3-08\",\"level\":"
        "\"MUST\",\"implied\":false,\"text\":\"the MSN is not the one expected on its "
        "queue\",\"got\":\"0x7\",\"want\":\"0x1\",\"quirk\":\"msn-start\"}\n"
        "{\"type\":\"finding\",\"frame\":18,\"connection\":0,\"side\":\"initiator\",\"from\":\"10."
        "0.0.1:1001\",\"octet\":60,\"check\":\"ddp-msn\",\"rule\":\"DDP-4.3-08\",\"level\":"
        "\"MUST\",\"implied\":false,\"text\":\"the MSN is not the one expected on its "
        "queue\",\"got\":\"0x8\",\"want\":\"0x2\"}\n"
        "{\"type\":\"finding\",\"frame\":26,\"connection\":3,\"side\":\"initiator\",\"from\":\"10."
        "0.0.1:1004\",\"octet\":32,\"check\":\"ddp-msn\",\"rule\":\"DDP-4.3-08\",\"level\":"
        "\"MUST\",\"implied\":false,\"text\":\"the MSN is not the one expected on its "
        "queue\",\"got\":\"0x6\",\"want\":\"0x1\",\"quirk\":\"msn-start\"}\n"
        "{\"type\":\"total\",\"frames\":26,\"cut\":0,\"bad\":0,\"unfinished_datagrams\":0,"
        "\"connections\":4,\"not_followed\":0,\"closed_early\":2,\"findings\":3}\n",
        "iwarp: more than 2 connections at a time: from here on the one used least recently is "
        "closed for each new one (--connections)\n");
    /* Only one too many. */
    o.format = IW_LINT_TEXT;
    o.connections = 3;
    lints_from(1, &o, 1,
               "a:17: DDP-4.3-08 (MUST): the MSN is not the one expected on its queue: MSNs begin "
               "with another "
               "number than 1 [ddp-msn; "
               "initiator 10.0.0.1:1003, octet 32: 0x7, expected 0x1]\n"
               "a:18: DDP-4.3-08 (MUST): the MSN is not the one expected on its queue [ddp-msn; "
               "initiator 10.0.0.1:1001, octet 60: 0x8, expected 0x2]\n"
               "a:20: DDP-4.3-08 (MUST): the MSN is not the one expected on its queue: MSNs begin "
               "with another "
               "number than 1 [ddp-msn; "
               "initiator 10.0.0.1:1002, octet 32: 0x9, expected 0x1]\n"
               "a:26: DDP-4.3-08 (MUST): the MSN is not the one expected on its queue: MSNs begin "
               "with another "
               "number than 1 [ddp-msn; "
               "initiator 10.0.0.1:1004, octet 32: 0x6, expected 0x1]\n",
               "iwarp: more than 3 connections at a time: from here on the one used least recently "
               "is closed for each new one (--connections)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_whole_connection),          TEST(connections_end),
        TEST(connections_end_badly),       TEST(ports_that_are_iwarp),
        TEST(connections_that_have_begun), TEST(the_other_side_is_the_initiator),
        TEST(streaming_comes_first),       TEST(gaps),
        TEST(segments_that_are_cut),       TEST(what_is_known_of_the_sides),
        TEST(whose_octets_are_wrong),      TEST(only_so_many_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
