/* SPDX-License-Identifier: BSD-3-Clause */
/* The edges of the station's own TCP: what is put into a segment, and what is made of odd ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "station/craft_internal.h"

enum { S = IW_TCP_SYN, A = IW_TCP_ACK, P = IW_TCP_PSH, F = IW_TCP_FIN, R = IW_TCP_RST };

/* A pair of sockets is the device. Sequence numbers begin at 1000 (the station's) and 7000. */
static struct iw_tun tun;
static int peer;
static struct iw_craft_host *host;
static struct iw_craft_options options;

static const uint64_t ms = 1000000;

static int set_up(void **state)
{
    int pair[2];

    (void)state;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair))
        return -1;
    tun = (struct iw_tun){.fd = pair[0], .net_ns = -1, .user_ns = -1};
    peer = pair[1];
    host = iw_craft_host_new(&tun, NULL, NULL);
    options = IW_CRAFT_DEFAULTS;
    return host != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    iw_craft_host_free(host);
    iw_tun_close(&tun);
    close(peer);
    return 0;
}

/* The next packet from the station: "PORT SA 1000 7001 w 65535 mss 1460 len 0". */
static void sent(const char *expected)
{
    uint8_t octets[2048];
    char text[128] = "none";
    ssize_t n = recv(peer, octets, sizeof(octets), 0);

    if (n > 0) {
        const struct iw_frame frame = {
            .link = IW_LINK_RAW, .data = octets, .length = (uint32_t)n, .original = (uint32_t)n};
        struct iw_packet p;
        assert_int_equal(iw_packet_decode(&frame, &p), IW_DECODE_TCP);
        snprintf(text, sizeof(text), "%u %s%s%s%s%s %u %u w %u mss %u len %u", p.destination_port,
                 p.flags & S ? "S" : "", p.flags & A ? "A" : "", p.flags & P ? "P" : "",
                 p.flags & F ? "F" : "", p.flags & R ? "R" : "", p.seq, p.ack, p.window, p.mss,
                 p.length);
    }
    assert_string_equal(text, expected);
}

static struct iw_packet from_peer(uint16_t source, uint16_t destination, uint8_t flags,
                                  uint32_t seq, uint32_t ack)
{
    struct iw_packet p = {.source = {.family = 4},
                          .destination = {.family = 4},
                          .source_port = source,
                          .destination_port = destination,
                          .flags = flags,
                          .seq = seq,
                          .ack = ack,
                          .window = 5000};

    inet_pton(AF_INET, IW_TUN_TARGET, p.source.octets);
    inet_pton(AF_INET, IW_TUN_STATION, p.destination.octets);
    return p;
}

static void give(struct iw_packet *p)
{
    uint8_t octets[2048];
    size_t n = iw_packet_put(octets, sizeof(octets), p);

    assert_int_equal(send(peer, octets, n, 0), n);
    iw_craft_pump(host, 10 * ms);
}

/* From port 7471 to the station's first port. */
static void gives(uint8_t flags, uint32_t seq, uint32_t ack, const char *payload)
{
    struct iw_packet p = from_peer(7471, 20000, flags, seq, ack);

    p.payload = (const uint8_t *)payload;
    p.length = (uint32_t)strlen(payload);
    give(&p);
}

static struct iw_craft *connected(void)
{
    struct iw_craft *c = iw_craft_connect(host, IW_TUN_TARGET, 7471, &options, 4 * ms);

    assert_non_null(c);
    sent("7471 S 1000 0 w 65535 mss 1460 len 0");
    assert_false(iw_craft_get_state(c).established);
    gives(S | A, 7000, 1001, "");
    sent("7471 A 1001 7001 w 65535 mss 0 len 0");
    assert_true(iw_craft_get_state(c).established);
    assert_int_equal(iw_craft_get_state(c).rtt, 6 * ms);
    return c;
}

/* ---- the handshake ---- */

static void a_peer_says_how_much_it_takes(void **state)
{
    static const struct {
        uint16_t said, taken;
    } rows[] = {{0, 536}, {1, 1}, {1459, 1459}, {1460, 1460}, {1461, 1460}, {65535, 1460}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_craft *c = iw_craft_connect(host, IW_TUN_TARGET, 7471, &options, 4 * ms);
        struct iw_packet p = from_peer(7471, (uint16_t)(20000 + i), S | A, 7000, 1001);

        sent("7471 S 1000 0 w 65535 mss 1460 len 0");
        p.mss = rows[i].said;
        give(&p);
        sent("7471 A 1001 7001 w 65535 mss 0 len 0");
        assert_int_equal(iw_craft_get_state(c).mss, rows[i].taken);
    }
}

/* A SYN without an acknowledgement: both have opened at once. */
static void only_what_acknowledges_the_syn_establishes(void **state)
{
    struct iw_craft *c = iw_craft_connect(host, IW_TUN_TARGET, 7471, &options, 4 * ms);

    (void)state;
    sent("7471 S 1000 0 w 65535 mss 1460 len 0");
    gives(A, 7000, 1001, "x"); /* before its SYN nothing counts */
    assert_false(iw_craft_get_state(c).established);
    gives(S, 7000, 1001, "");
    sent("7471 A 1001 7001 w 65535 mss 0 len 0");
    assert_false(iw_craft_get_state(c).established);
    gives(A, 7001, 1000, ""); /* not ours */
    assert_false(iw_craft_get_state(c).established);
    gives(0, 7001, 1001, "x"); /* without an acknowledgement */
    assert_false(iw_craft_get_state(c).established);
    gives(A, 7001, 1002, ""); /* of what was never sent */
    assert_false(iw_craft_get_state(c).established);
    gives(A, 7001, 1001, "");
    assert_true(iw_craft_get_state(c).established);
    assert_int_equal(iw_craft_due(host), UINT64_MAX);
    assert_int_equal(iw_craft_get_state(c).heard, 6);
    sent("none");
}

/* Of a packet whose end is missing nothing is taken. */
static void what_is_cut_is_nothing(void **state)
{
    struct iw_craft *c = connected();
    struct iw_packet p = from_peer(7471, 20000, A | P, 7001, 1001);
    uint8_t octets[2048];

    (void)state;
    p.payload = (const uint8_t *)"abc";
    p.length = 3;
    size_t n = iw_packet_put(octets, sizeof(octets), &p);
    assert_int_equal(send(peer, octets, n - 1, 0), n - 1);
    iw_craft_pump(host, 10 * ms);
    sent("none");
    assert_int_equal(iw_craft_get_state(c).waiting, 0);
    give(&p);
    sent("7471 A 1001 7004 w 65533 mss 0 len 0");
    assert_int_equal(iw_craft_get_state(c).waiting, 3);
}

static void a_listener_answers_a_syn_again(void **state)
{
    options.mss = 700;
    options.window = 900;
    options.isn = 5000;
    struct iw_craft_listener *l = iw_craft_listen(host, &options);

    (void)state;
    assert_int_equal(iw_craft_listener_port(l), 20000);
    gives(S, 7000, 0, "");
    sent("7471 SA 5000 7001 w 900 mss 700 len 0");
    gives(S, 7000, 0, "");
    sent("7471 SA 5000 7001 w 900 mss 700 len 0");
    assert_null(iw_craft_accept(l));
    assert_int_equal(iw_craft_due(host), 210 * ms);
    iw_craft_pump(host, 210 * ms);
    sent("7471 SA 5000 7001 w 900 mss 700 len 0");
    gives(A, 7001, 5001, "");
    struct iw_craft *c = iw_craft_accept(l);
    assert_non_null(c);
    assert_int_equal(iw_craft_get_state(c).rtt, 0); /* it came at the time of the first SYN */
    assert_null(iw_craft_accept(l));
    /* A RST or an acknowledgement begins nothing. */
    struct iw_packet p = from_peer(7472, 20000, S | R, 7000, 0);
    give(&p);
    sent("none");
    p = from_peer(7472, 20000, S | A, 7000, 9);
    give(&p);
    sent("7472 R 9 0 w 0 mss 0 len 0");
    p = from_peer(7472, 20001, S, 7000, 0);
    give(&p);
    sent("7472 AR 0 7001 w 0 mss 0 len 0");
    p = from_peer(7472, 20001, F, 7000, 0);
    p.payload = (const uint8_t *)"abc";
    p.length = 3;
    give(&p);
    sent("7472 AR 0 7004 w 0 mss 0 len 0");
}

static void the_oldest_connection_is_accepted_first(void **state)
{
    struct iw_craft_listener *l = iw_craft_listen(host, &options);

    (void)state;
    for (uint16_t i = 0; i < 3; i++) {
        struct iw_packet p = from_peer((uint16_t)(100 + i), 20000, S, 7000, 0);
        uint8_t got[64];

        give(&p);
        assert_int_equal(recv(peer, got, sizeof(got), 0), 44);
        p = from_peer((uint16_t)(100 + i), 20000, A, 7001, 1001);
        if (i != 1)
            give(&p);
    }
    struct iw_synth_tcp where = {.mss = 0};
    struct iw_craft *c = iw_craft_accept(l);
    iw_craft_addresses(c, 0, &where);
    assert_int_equal(where.port[0], 20000);
    assert_int_equal(where.port[1], 100);
    assert_int_equal(where.address[0].octets[3], 1);
    assert_int_equal(where.address[1].octets[3], 2);
    c = iw_craft_accept(l);
    iw_craft_addresses(c, 1, &where);
    assert_int_equal(where.port[1], 20000);
    assert_int_equal(where.port[0], 102);
    assert_null(iw_craft_accept(l));
    assert_int_equal(*iw_craft_label(c), -1);
    assert_ptr_equal(iw_craft_host_of(c), host);
    assert_int_equal(iw_craft_fd(host), tun.fd);
}

static void ports_go_round(void **state)
{
    static const struct {
        uint16_t last, next;
    } rows[] = {{0, 20000},     {19999, 20000}, {20000, 20001},
                {59999, 60000}, {60000, 20000}, {65535, 20000}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        tun.last_port = rows[i].last;
        struct iw_craft_listener *l = iw_craft_listen(host, &options);
        assert_int_equal(iw_craft_listener_port(l), rows[i].next);
    }
}

/* ---- resets ---- */

static void a_reset_counts_if_it_fits(void **state)
{
    static const struct {
        uint32_t seq;
        bool fits;
    } rows[] = {
        {7000, false}, {7001, true}, {7002, true}, {7001 + 65536, true}, {7001 + 65537, false}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_craft *c = connected();

        gives(R, rows[i].seq, 0, "");
        assert_int_equal(iw_craft_get_state(c).reset, rows[i].fits);
        assert_false(iw_craft_get_state(c).refused);
        sent("none");
        tear_down(NULL);
        set_up(NULL);
    }
}

static void a_syn_is_refused_by_what_acknowledges_it(void **state)
{
    struct iw_craft *c = iw_craft_connect(host, IW_TUN_TARGET, 7471, &options, 4 * ms);

    (void)state;
    sent("7471 S 1000 0 w 65535 mss 1460 len 0");
    gives(R, 0, 1001, "");
    gives(R | A, 0, 1000, "");
    gives(R | A, 0, 1002, "");
    assert_false(iw_craft_get_state(c).reset);
    assert_int_equal(iw_craft_due(host), 204 * ms);
    gives(R | A, 0, 1001, "");
    assert_true(iw_craft_get_state(c).reset);
    assert_true(iw_craft_get_state(c).refused);
    assert_int_equal(iw_craft_due(host), UINT64_MAX);
    iw_craft_pump(host, 9999 * ms);
    sent("none");
}

static void one_that_was_reset_sends_no_more(void **state)
{
    struct iw_craft *c = connected();

    (void)state;
    iw_craft_segment(c, 0, "abc", 3);
    sent("7471 AP 1001 7001 w 65535 mss 0 len 3");
    iw_craft_reset(c);
    sent("7471 AR 1004 7001 w 65535 mss 0 len 0");
    iw_craft_reset(c);
    iw_craft_segment(c, 3, "d", 1);
    assert_int_equal(iw_craft_send(c, 3, "d", 1), 0);
    iw_craft_fin(c, 3, 20 * ms);
    iw_craft_window(c, 7);
    iw_craft_acknowledge(c, false);
    iw_craft_acknowledge(c, true);
    sent("none");
    gives(A, 7001, 1004, "x");
    sent("7471 R 1004 0 w 0 mss 0 len 0");
    gives(R, 7001, 0, "");
    sent("none");
}

static void what_is_open_is_reset_at_the_end(void **state)
{
    struct iw_craft *half = iw_craft_connect(host, IW_TUN_TARGET, 7471, &options, 4 * ms);
    struct iw_craft_listener *l = iw_craft_listen(host, &options);

    (void)state;
    assert_non_null(half);
    assert_non_null(l);
    sent("7471 S 1000 0 w 65535 mss 1460 len 0");
    struct iw_packet p = from_peer(100, 20001, S, 7000, 0);
    give(&p);
    sent("100 SA 1000 7001 w 65535 mss 1460 len 0");
    iw_craft_host_free(host);
    host = NULL;
    sent("100 AR 1001 7001 w 65535 mss 0 len 0");
    sent("none");
}

/* ---- ends ---- */

static void an_end_behind_a_gap_waits(void **state)
{
    struct iw_craft *c = connected();

    (void)state;
    gives(A | F, 7004, 1001, "de");
    sent("7471 A 1001 7001 w 65535 mss 0 len 0");
    assert_false(iw_craft_get_state(c).ended);
    gives(A, 7001, 1001, "abc");
    sent("7471 A 1001 7007 w 65531 mss 0 len 0");
    assert_true(iw_craft_get_state(c).ended);
    assert_int_equal(iw_craft_get_state(c).waiting, 5);
    char text[8] = "";
    assert_int_equal(iw_craft_receive(c, text, 2), 2);
    assert_int_equal(iw_craft_receive(c, text + 2, 6), 3);
    assert_string_equal(text, "abcde");
    assert_int_equal(iw_craft_receive(c, text, 6), 0);
    /* Another end elsewhere is none. */
    gives(A | F, 7009, 1001, "");
    sent("7471 A 1001 7007 w 65535 mss 0 len 0");
    assert_true(iw_craft_get_state(c).ended);
}

/* It is repeated unless it is not the FIN that was lost, and given up without a reset. */
static void our_end_is_repeated(void **state)
{
    struct iw_craft *c = connected();

    (void)state;
    iw_craft_segment(c, 0, "abc", 3);
    sent("7471 AP 1001 7001 w 65535 mss 0 len 3");
    iw_craft_fin(c, 3, 20 * ms);
    iw_craft_fin(c, 3, 20 * ms);
    sent("7471 AF 1004 7001 w 65535 mss 0 len 0");
    iw_craft_pump(host, 220 * ms);
    sent("none");
    assert_int_equal(iw_craft_due(host), 420 * ms);
    gives(A, 7001, 1004, "");
    assert_false(iw_craft_get_state(c).acked_all);
    for (uint64_t i = 2; i <= IW_CRAFT_TRIES; i++) {
        iw_craft_pump(host, (20 + 200 * i) * ms);
        sent("7471 AF 1004 7001 w 65535 mss 0 len 0");
    }
    iw_craft_pump(host, 9999 * ms);
    sent("none");
    assert_false(iw_craft_get_state(c).reset);
    assert_int_equal(iw_craft_due(host), UINT64_MAX);
    gives(A, 7001, 1005, "");
    assert_true(iw_craft_get_state(c).acked_all);
    assert_int_equal(iw_craft_get_state(c).acked, 3);
    sent("none");
}

/* ---- octets ---- */

static void the_window_shrinks_by_what_waits(void **state)
{
    struct iw_craft *c = connected();
    char payload[1401];
    uint8_t taken[1400];

    (void)state;
    memset(payload, 'x', 1400);
    payload[1400] = 0;
    gives(A, 7001, 1001, payload);
    sent("7471 A 1001 8401 w 64136 mss 0 len 0");
    iw_craft_window(c, 64136);
    sent("7471 A 1001 8401 w 64136 mss 0 len 0");
    iw_craft_window(c, 300);
    sent("7471 A 1001 8401 w 300 mss 0 len 0");
    assert_int_equal(iw_craft_receive(c, taken, sizeof(taken)), 1400);
    iw_craft_window(c, 65535);
    sent("7471 A 1001 8401 w 65535 mss 0 len 0");
}

static void a_probe_is_answered_and_an_acknowledgement_is_not(void **state)
{
    struct iw_craft *c = connected();

    (void)state;
    gives(A, 7001, 1001, "");
    sent("none");
    gives(A, 7000, 1001, ""); /* before the window */
    sent("7471 A 1001 7001 w 65535 mss 0 len 0");
    gives(A, 7001, 1001, "a");
    sent("7471 A 1001 7002 w 65535 mss 0 len 0");
    assert_int_equal(iw_craft_get_state(c).repeats, 0);
    gives(A, 7001, 1001, "a");
    sent("7471 A 1001 7002 w 65535 mss 0 len 0");
    assert_int_equal(iw_craft_get_state(c).repeats, 1);
    gives(A, 7001, 1001, "ab"); /* one of them is new */
    sent("7471 A 1001 7003 w 65534 mss 0 len 0");
    assert_int_equal(iw_craft_get_state(c).repeats, 1);
    gives(A, 7001, 1001, "");
    assert_int_equal(iw_craft_get_state(c).repeats, 1);
}

static void acknowledgements_are_withheld(void **state)
{
    struct iw_craft *c = connected();

    (void)state;
    iw_craft_acknowledge(c, true); /* it is so already */
    sent("none");
    iw_craft_acknowledge(c, false);
    gives(A, 7001, 1001, "abc");
    sent("none");
    iw_craft_segment(c, 0, "x", 1);
    sent("7471 AP 1001 7001 w 65533 mss 0 len 1");
    iw_craft_acknowledge(c, true);
    sent("7471 A 1002 7004 w 65533 mss 0 len 0");
}

static void segments_leave_whatever_the_window_is(void **state)
{
    static const uint8_t octets[1461];
    struct iw_craft *c = iw_craft_connect(host, IW_TUN_TARGET, 7471, &options, 4 * ms);

    (void)state;
    sent("7471 S 1000 0 w 65535 mss 1460 len 0");
    iw_craft_segment(c, 0, octets, 1); /* there is no connection */
    sent("none");
    struct iw_packet p = from_peer(7471, 20000, S | A, 7000, 1001);
    p.window = 100;
    p.mss = 60;
    give(&p);
    sent("7471 A 1001 7001 w 65535 mss 0 len 0");
    iw_craft_segment(c, 5000, octets, 1460);
    sent("7471 AP 6001 7001 w 65535 mss 0 len 1460");
    assert_int_equal(iw_craft_get_state(c).sent, 6460);
    iw_craft_segment(c, 5000, octets, 1461);
    sent("none");
    iw_craft_segment(c, 6400, octets, 60);
    sent("7471 AP 7401 7001 w 65535 mss 0 len 60");
    assert_int_equal(iw_craft_get_state(c).sent, 6460);
    /* What is sent in the ordinary way keeps to it. */
    assert_int_equal(iw_craft_send(c, 0, octets, 1000), 100);
    sent("7471 AP 1001 7001 w 65535 mss 0 len 60");
    sent("7471 AP 1061 7001 w 65535 mss 0 len 40");
    assert_int_equal(iw_craft_send(c, 100, octets, 1), 0);
    assert_int_equal(iw_craft_send(c, 99, octets, 1), 1);
    sent("7471 AP 1100 7001 w 65535 mss 0 len 1");
    /* It moves on with what is acknowledged. */
    p = from_peer(7471, 20000, A, 7001, 1051);
    p.window = 60;
    give(&p);
    assert_int_equal(iw_craft_get_state(c).acked, 50);
    assert_int_equal(iw_craft_send(c, 100, octets, 100), 10);
    sent("7471 AP 1101 7001 w 65535 mss 0 len 10");
    /* An old acknowledgement does not move it back, one of the future not on. */
    p = from_peer(7471, 20000, A, 7001, 1050);
    p.window = 1000;
    give(&p);
    assert_int_equal(iw_craft_send(c, 110, octets, 100), 0);
    p = from_peer(7471, 20000, A, 7001, 1001 + 6461);
    p.window = 1000;
    give(&p);
    assert_int_equal(iw_craft_get_state(c).acked, 50);
    assert_int_equal(iw_craft_send(c, 110, octets, 100), 0);
    p = from_peer(7471, 20000, A, 7001, 1001 + 6460);
    give(&p);
    assert_int_equal(iw_craft_get_state(c).acked, 6460);
    assert_true(iw_craft_get_state(c).acked_all);
    sent("none");
}

/* ---- the host ---- */

static void packets_for_others_are_let_be(void **state)
{
    struct iw_packet p = from_peer(1, 2, A, 5, 6);

    (void)state;
    inet_pton(AF_INET, "192.0.2.99", p.destination.octets);
    give(&p);
    sent("none");
    assert_int_equal(iw_craft_due(host), UINT64_MAX);
    /* What is no packet keeps none from being read. */
    struct iw_craft *c = iw_craft_connect(host, IW_TUN_TARGET, 7471, &options, 4 * ms);
    sent("7471 S 1000 0 w 65535 mss 1460 len 0");
    assert_int_equal(send(peer, "E", 1, 0), 1);
    gives(S | A, 7000, 1001, "");
    assert_true(iw_craft_get_state(c).established);
    sent("7471 A 1001 7001 w 65535 mss 0 len 0");
    /* One connection is told from another by each port and by the address. */
    p = from_peer(7472, 20000, A, 7001, 55);
    give(&p);
    sent("7472 R 55 0 w 0 mss 0 len 0");
    p = from_peer(7471, 20001, A, 7001, 56);
    give(&p);
    sent("7471 R 56 0 w 0 mss 0 len 0");
    p = from_peer(7471, 20000, A, 7001, 57);
    inet_pton(AF_INET, "192.0.2.98", p.source.octets);
    give(&p);
    sent("7471 R 57 0 w 0 mss 0 len 0");
}

static void what_is_due_first_counts(void **state)
{
    (void)state;
    iw_craft_connect(host, IW_TUN_TARGET, 7471, &options, 50 * ms);
    iw_craft_connect(host, IW_TUN_TARGET, 7471, &options, 40 * ms);
    iw_craft_connect(host, IW_TUN_TARGET, 7471, &options, 60 * ms);
    assert_int_equal(iw_craft_due(host), 240 * ms);
}

static void options_of_nothing_are_refused(void **state)
{
    const struct iw_craft_options no_mss = {.isn = 1, .mss = 0, .window = 1};
    const struct iw_craft_options no_window = {.isn = 1, .mss = 1, .window = 0};
    const struct iw_craft_options least = {.isn = 1, .mss = 1, .window = 1};

    (void)state;
    assert_null(iw_craft_connect(host, IW_TUN_TARGET, 1, &no_mss, 1));
    assert_null(iw_craft_connect(host, IW_TUN_TARGET, 1, &no_window, 1));
    assert_null(iw_craft_connect(host, "192.0.2", 1, &least, 1));
    assert_null(iw_craft_connect(host, "name", 1, &least, 1));
    sent("none");
    assert_non_null(iw_craft_connect(host, IW_TUN_TARGET, 1, &least, 1));
    sent("1 S 1 0 w 1 mss 1 len 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_peer_says_how_much_it_takes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_what_acknowledges_the_syn_establishes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_cut_is_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_listener_answers_a_syn_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_connection_is_accepted_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ports_go_round, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reset_counts_if_it_fits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_syn_is_refused_by_what_acknowledges_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_that_was_reset_sends_no_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_open_is_reset_at_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_end_behind_a_gap_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(our_end_is_repeated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_window_shrinks_by_what_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_probe_is_answered_and_an_acknowledgement_is_not, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(acknowledgements_are_withheld, set_up, tear_down),
        cmocka_unit_test_setup_teardown(segments_leave_whatever_the_window_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(packets_for_others_are_let_be, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_due_first_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(options_of_nothing_are_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
