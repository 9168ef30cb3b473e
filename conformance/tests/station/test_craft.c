/* SPDX-License-Identifier: BSD-3-Clause */
/* The station's own TCP against a peer of literal packets; the sequence numbers of both sides wrap.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "hex.h"
#include "station/craft.h"

/* A pair of sockets is the device: one packet a read or write. */
struct link {
    struct iw_tun tun;
    int peer;
    struct iw_craft_host *host;
    char seen[256]; /* each packet: its direction, position and octets */
};

static const uint64_t ms = 1000000;

static void note(void *context, struct iw_craft *c, const struct iw_craft_packet *p)
{
    struct link *l = context;
    size_t n = strlen(l->seen);

    assert_non_null(c);
    snprintf(l->seen + n, sizeof(l->seen) - n, "%c%d+%zu ", p->from_peer ? '<' : '>',
             (int)p->position, p->octets);
}

static void begin(struct link *l)
{
    int pair[2];

    *l = (struct link){0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
    l->tun = (struct iw_tun){.fd = pair[0], .net_ns = -1, .user_ns = -1};
    l->peer = pair[1];
    l->host = iw_craft_host_new(&l->tun, note, l);
    assert_non_null(l->host);
}

static void end(struct link *l)
{
    iw_craft_host_free(l->host);
    iw_tun_close(&l->tun);
    close(l->peer);
}

static void came(const struct link *l, const char *text)
{
    uint8_t wanted[256], got[2048];
    size_t length = hex_octets(text, wanted, sizeof(wanted));
    ssize_t n = recv(l->peer, got, sizeof(got), 0);

    assert_int_equal(n, length);
    assert_memory_equal(got, wanted, length);
}

static void nothing_came(const struct link *l)
{
    uint8_t got[2048];

    assert_int_equal(recv(l->peer, got, sizeof(got), 0), -1);
}

static void comes(const struct link *l, const char *text, uint64_t now)
{
    uint8_t octets[256];
    size_t length = hex_octets(text, octets, sizeof(octets));

    assert_int_equal(send(l->peer, octets, length, 0), length);
    iw_craft_pump(l->host, now);
}

#define SYN                                                                                        \
    "4500002c000140004006b6c7c0000201c00002024e201d2ffffffffc00000000600210009c72000002040218"
#define SYN_AGAIN                                                                                  \
    "4500002c000240004006b6c6c0000201c00002024e201d2ffffffffc00000000600210009c72000002040218"
#define SYN_ACK                                                                                    \
    "4500002c000740004006b6c1c0000202c00002011d2f4e207ffffffffffffffd6012faf02dd50000020405b4"
#define ACK "45000028000240004006b6cac0000201c00002024e201d2ffffffffd800000005010100030830000"

static const struct iw_craft_options wrapping = {.isn = 0xfffffffc, .mss = 536, .window = 4096};

static struct iw_craft *connected(struct link *l)
{
    struct iw_craft *c = iw_craft_connect(l->host, IW_TUN_TARGET, 7471, &wrapping, 1 * ms);
    struct iw_craft_state state;

    assert_non_null(c);
    came(l, SYN);
    comes(l, SYN_ACK, 3 * ms);
    came(l, ACK);
    state = iw_craft_get_state(c);
    assert_true(state.established);
    assert_int_equal(state.mss, 1460);
    assert_int_equal(state.rtt, 2 * ms);
    return c;
}

static void a_connection_of_both_wraps(void **state)
{
    struct iw_craft_state s;
    struct iw_craft *c;
    struct link l;
    char text[16] = "";

    (void)state;
    begin(&l);
    c = connected(&l);
    /* Octets 4..6 first: the peer's acknowledgement stays where it is. */
    iw_craft_segment(c, 4, "efg", 3);
    came(&l,
         "4500002b000340004006b6c6c0000201c00002024e201d2f000000018000000050181000640e0000656667");
    comes(&l, "45000028000840004006b6c4c0000202c00002011d2f4e2080000000fffffffd5010faf045920000",
          4);
    s = iw_craft_get_state(c);
    assert_int_equal(s.acked, 0);
    assert_int_equal(s.sent, 7);
    assert_int_equal(s.heard, 2);
    assert_false(s.acked_all);
    /* Octets 0..4, one of which was sent before. */
    iw_craft_segment(c, 0, "abcde", 5);
    came(&l, "4500002d000440004006b6c3c0000201c00002024e201d2ffffffffd800000005018100006af0000"
             "6162636465");
    comes(&l, "45000028000940004006b6c3c0000202c00002011d2f4e2080000000000000045010faf0458c0000",
          5);
    s = iw_craft_get_state(c);
    assert_int_equal(s.acked, 7);
    assert_true(s.acked_all);
    /* The peer's octets 2..3 wait for 0..2, the last of which comes twice. */
    comes(&l,
          "4500002a000a40004006b6c0c0000202c00002011d2f4e2080000002000000045018faf0124c00003334",
          6);
    came(&l, "45000028000540004006b6c7c0000201c00002024e201d2f000000048000000050101000307d0000");
    assert_int_equal(iw_craft_receive(c, text, sizeof(text)), 0);
    comes(&l,
          "4500002b000b40004006b6bec0000202c00002011d2f4e2080000000000000045018faf0e14e0000313233",
          7);
    came(&l, "45000028000640004006b6c6c0000201c00002024e201d2f00000004800000045010100030790000");
    assert_int_equal(iw_craft_receive(c, text, 3), 3);
    assert_int_equal(iw_craft_receive(c, text + 3, sizeof(text) - 3), 1);
    assert_string_equal(text, "1234");
    /* Our FIN is lost and comes again 200 ms later. */
    iw_craft_fin(c, 7, 100 * ms);
    came(&l, "45000028000740004006b6c5c0000201c00002024e201d2f00000004800000045011100030780000");
    iw_craft_pump(l.host, 299 * ms);
    nothing_came(&l);
    iw_craft_pump(l.host, 300 * ms);
    came(&l, "45000028000840004006b6c4c0000201c00002024e201d2f00000004800000045011100030780000");
    comes(&l, "45000028000c40004006b6c0c0000202c00002011d2f4e2080000004000000055010faf045870000",
          301);
    comes(&l, "45000028000d40004006b6bfc0000202c00002011d2f4e2080000004000000055011faf045860000",
          302);
    came(&l, "45000028000940004006b6c3c0000201c00002024e201d2f00000005800000055010100030770000");
    s = iw_craft_get_state(c);
    assert_true(s.ended);
    assert_true(s.acked_all);
    assert_false(s.reset);
    assert_string_equal(l.seen, ">0+0 <0+0 >0+0 >4+3 <0+0 >0+5 <0+0 <2+2 >7+0 <0+3 >7+0 >7+0 >7+0 "
                                "<4+0 <4+0 >8+0 ");
    /* Nothing is left to be reset. */
    iw_craft_host_free(l.host);
    l.host = NULL;
    nothing_came(&l);
    end(&l);
}

static void a_syn_is_repeated_and_given_up(void **state)
{
    struct iw_craft_state s;
    struct iw_craft *c;
    struct link l;
    uint8_t got[2048];

    (void)state;
    begin(&l);
    c = iw_craft_connect(l.host, IW_TUN_TARGET, 7471, &wrapping, 1 * ms);
    came(&l, SYN);
    assert_int_equal(iw_craft_due(l.host), 201 * ms);
    iw_craft_pump(l.host, 201 * ms);
    came(&l, SYN_AGAIN);
    for (uint64_t i = 2; i <= IW_CRAFT_TRIES; i++) {
        iw_craft_pump(l.host, (1 + 200 * i) * ms);
        assert_int_equal(recv(l.peer, got, sizeof(got), 0), 44);
    }
    iw_craft_pump(l.host, 9999 * ms);
    nothing_came(&l);
    assert_int_equal(iw_craft_due(l.host), UINT64_MAX);
    s = iw_craft_get_state(c);
    assert_true(s.reset);
    assert_false(s.refused);
    end(&l);
}

static void a_syn_is_refused(void **state)
{
    const struct iw_craft_options options = {.isn = 1000, .mss = 1460, .window = 65535};
    struct iw_craft_state s;
    struct iw_craft *c;
    struct link l;

    (void)state;
    begin(&l);
    c = iw_craft_connect(l.host, IW_TUN_TARGET, 7471, &options, 1);
    comes(&l, "45000028000040004006b6ccc0000202c00002011d2f4e2000000000000003e950140000bc940000",
          2);
    s = iw_craft_get_state(c);
    assert_true(s.refused);
    assert_int_equal(iw_craft_due(l.host), UINT64_MAX);
    end(&l);
}

static void a_listener_takes_a_connection(void **state)
{
    struct iw_craft_options options = IW_CRAFT_DEFAULTS;
    struct iw_craft_listener *listener;
    struct iw_craft_state s;
    struct iw_craft *c;
    struct link l;

    (void)state;
    begin(&l);
    options.isn = 5000;
    listener = iw_craft_listen(l.host, &options);
    assert_int_equal(iw_craft_listener_port(listener), 20000);
    /* MSS, SACK permitted, timestamps, window scale: but for the MSS none is answered. */
    comes(&l,
          "4500003c000140004006b6b7c0000202c00002019c404e20ffffffff00000000a002faf0dea60000"
          "020405b40402080a00000001000000000103030a",
          1);
    came(&l, "4500002c000140004006b6c7c0000201c00002024e209c4000001388000000006012ffff162a0000"
             "020405b4");
    assert_null(iw_craft_accept(listener));
    comes(&l, "45000028000240004006b6cac0000202c00002019c404e2000000000000013895010faf032f60000",
          2);
    c = iw_craft_accept(listener);
    assert_non_null(c);
    assert_null(iw_craft_accept(listener));
    s = iw_craft_get_state(c);
    assert_true(s.established);
    assert_int_equal(iw_craft_due(l.host), UINT64_MAX);
    end(&l);
}

static void strangers_are_refused(void **state)
{
    struct link l;

    (void)state;
    begin(&l);
    comes(&l, "45000029000140004006b6cac0000202c0000201000a0009000000100000002050100001b38b000078",
          1);
    came(&l, "45000028000140004006b6cbc0000201c00002020009000a0000002000000000500400002baa0000");
    iw_craft_host_free(l.host);
    l.host = iw_craft_host_new(&l.tun, note, &l);
    comes(&l, "45000028000140004006b6cbc0000202c0000201000a00090000001000000000500200012bbb0000",
          1);
    came(&l, "45000028000140004006b6cbc0000201c00002020009000a0000000000000011501400002ba90000");
    /* Neither IPv6 nor a packet that is cut short is an answer's worth. */
    comes(&l, "600000000000113f", 2);
    comes(&l, "4500", 2);
    nothing_came(&l);
    assert_string_equal(l.seen, "");
    end(&l);
}

static void withheld_acknowledgements(void **state)
{
    struct iw_craft *c;
    struct link l;

    (void)state;
    begin(&l);
    c = connected(&l);
    iw_craft_segment(c, 4, "efg", 3);
    iw_craft_segment(c, 0, "abcde", 5);
    came(&l,
         "4500002b000340004006b6c6c0000201c00002024e201d2f000000018000000050181000640e0000656667");
    came(&l, "4500002d000440004006b6c3c0000201c00002024e201d2ffffffffd800000005018100006af0000"
             "6162636465");
    iw_craft_acknowledge(c, false);
    comes(&l,
          "4500002b000b40004006b6bec0000202c00002011d2f4e2080000000000000045018faf0e14e0000313233",
          7);
    comes(&l,
          "4500002a000a40004006b6c0c0000202c00002011d2f4e2080000002000000045018faf0124c00003334",
          8);
    nothing_came(&l);
    iw_craft_acknowledge(c, true);
    /* The packet of "our ack 4", with another number of the IP packet. */
    came(&l, "45000028000540004006b6c7c0000201c00002024e201d2f00000004800000045010100030790000");
    end(&l);
}

/* Repeated segments are counted and acknowledged again; segments after our RST are answered with
 * one that fits (RFC 5961 §3.2: a RST elsewhere in the window gets a challenge ACK). */
static void repeats_and_a_reset(void **state)
{
    static const char again[] =
        "4500002b000840004006b6c1c0000202c00002011d2f4e2080000000fffffffd5018faf0e1540000313233";
    struct iw_craft_state s;
    struct iw_craft *c;
    struct link l;

    (void)state;
    begin(&l);
    c = connected(&l);
    comes(&l, again, 4);
    came(&l, "45000028000340004006b6c9c0000201c00002024e201d2ffffffffd800000035010100030800000");
    comes(&l, again, 5);
    came(&l, "45000028000440004006b6c8c0000201c00002024e201d2ffffffffd800000035010100030800000");
    s = iw_craft_get_state(c);
    assert_int_equal(s.repeats, 1);
    assert_int_equal(s.waiting, 3);
    iw_craft_reset(c);
    came(&l, "45000028000540004006b6c7c0000201c00002024e201d2ffffffffd8000000350141000307c0000");
    comes(&l, "45000028000940004006b6c3c0000202c00002011d2f4e2080000003fffffff75010faf045950000",
          6);
    came(&l, "45000028000640004006b6c6c0000201c00002024e201d2ffffffff70000000050040000c0950000");
    end(&l);
}

/* The FIN has a sequence number of its own: without it a peer finds the RST outside of its window.
 */
static void a_reset_follows_the_fin(void **state)
{
    struct iw_craft *c;
    struct link l;

    (void)state;
    begin(&l);
    c = connected(&l);
    iw_craft_fin(c, 0, 4 * ms);
    came(&l, "45000028000340004006b6c9c0000201c00002024e201d2ffffffffd800000005011100030820000");
    iw_craft_reset(c);
    came(&l, "45000028000440004006b6c8c0000201c00002024e201d2ffffffffe8000000050141000307e0000");
    end(&l);
}

static void the_peers_window_is_kept(void **state)
{
    static const uint8_t octets[70000];
    struct iw_craft *c;
    struct link l;
    uint8_t got[2048];
    size_t sum = 0;
    ssize_t n;

    (void)state;
    begin(&l);
    c = connected(&l);
    assert_int_equal(iw_craft_send(c, 0, octets, 5000), 5000);
    while ((n = recv(l.peer, got, sizeof(got), 0)) > 0)
        sum += (size_t)n - IW_CRAFT_HEADERS;
    assert_int_equal(sum, 5000);
    /* The SYN/ACK offered 64240 octets. */
    assert_int_equal(iw_craft_send(c, 64000, octets, 5000), 240);
    assert_int_equal(iw_craft_send(c, 64240, octets, 5000), 0);
    end(&l);
}

static void no_more_than_the_host_holds(void **state)
{
    const struct iw_craft_options none = {.isn = 1, .mss = 0, .window = 1};
    struct iw_craft_options options = IW_CRAFT_DEFAULTS;
    struct link l;
    uint8_t got[2048];

    (void)state;
    begin(&l);
    assert_null(iw_craft_connect(l.host, "::1", 1, &options, 1));
    assert_null(iw_craft_connect(l.host, IW_TUN_TARGET, 1, &none, 1));
    for (int i = 0; i < IW_CRAFT_CONNECTIONS; i++) {
        assert_non_null(iw_craft_connect(l.host, IW_TUN_TARGET, 7471, &options, 1));
        recv(l.peer, got, sizeof(got), 0);
    }
    assert_null(iw_craft_connect(l.host, IW_TUN_TARGET, 7471, &options, 1));
    assert_null(iw_craft_listen(l.host, &options));
    end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_of_both_wraps),
        cmocka_unit_test(a_syn_is_repeated_and_given_up),
        cmocka_unit_test(a_syn_is_refused),
        cmocka_unit_test(a_listener_takes_a_connection),
        cmocka_unit_test(strangers_are_refused),
        cmocka_unit_test(withheld_acknowledgements),
        cmocka_unit_test(repeats_and_a_reset),
        cmocka_unit_test(a_reset_follows_the_fin),
        cmocka_unit_test(the_peers_window_is_kept),
        cmocka_unit_test(no_more_than_the_host_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
