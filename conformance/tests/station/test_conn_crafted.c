/* SPDX-License-Identifier: BSD-3-Clause */
/* The station's end of crafted connections, against a TCP of the same making in the same thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>

#include "folder.h"
#include "hex.h"
#include "host/text.h"
#include "iwarp/transport.h"
#include "packets.h"
#include "station/craft_internal.h"
#include "station/station_internal.h"

#define REQUEST "4d504120494420526571204672616d65 00010000"

static const uint64_t never = UINT64_MAX; /* what has to come comes */

static struct iw_tun near, far;
static struct iw_craft_host *host; /* the peer's */
static struct iw_craft *peer;
static struct iw_exchange *x;
static struct iw_station *s;
static struct iw_conn *c;
static char error[256];

static void pump(void)
{
    iw_craft_pump(host, iw_transport_now());
}

static int set_up(void **state)
{
    struct iw_craft_options options = IW_CRAFT_DEFAULTS;
    int pair[2];

    (void)state;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair))
        return -1;
    near = (struct iw_tun){.fd = pair[0], .net_ns = -1, .user_ns = -1};
    far = (struct iw_tun){.fd = pair[1], .net_ns = -1, .user_ns = -1};
    host = iw_craft_host_new(&far, NULL, NULL);
    inet_pton(AF_INET, IW_TUN_TARGET, host->address.octets);
    x = iw_exchange_create();
    s = iw_station_create(x, &near, NULL);
    options.mss = 100;
    struct iw_station_listener *l =
        iw_station_listen(s, IW_TUN_STATION, &options, error, sizeof(error));
    if (l == NULL || iw_station_listener_port(l) != 20000 ||
        iw_station_listener_accept(l, 0) != NULL)
        return -1;
    peer = iw_craft_connect(host, IW_TUN_STATION, 20000, &options, iw_transport_now());
    for (c = NULL; peer != NULL && c == NULL; c = iw_station_listener_accept(l, 0))
        pump();
    return c != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    iw_station_destroy(s);
    iw_exchange_destroy(x);
    iw_craft_host_free(host);
    iw_tun_close(&near);
    iw_tun_close(&far);
    return 0;
}

static void peer_sends(const char *hex, uint64_t position)
{
    uint8_t octets[128];
    size_t length = hex_octets(hex, octets, sizeof(octets));

    iw_craft_segment(peer, position, octets, length);
}

static void peer_has(const char *expected)
{
    char text[512] = "";

    pump();
    text[iw_craft_receive(peer, text, sizeof(text) - 1)] = 0;
    assert_string_equal(text, expected);
}

static struct iw_conn_state state_now(void)
{
    struct iw_conn_state now;

    iw_station_take(s);
    iw_conn_get_state(c, &now);
    return now;
}

static void a_crafted_connection_has_a_state(void **state)
{
    struct iw_conn_state now = state_now();

    (void)state;
    assert_false(now.initiator);
    assert_int_equal(now.number, 0);
    assert_int_equal(now.mss, 100);
    assert_int_equal(now.unacked, 0);
    assert_int_equal(now.acked, 0);
    assert_true(now.rtt > 0);
    uint64_t rtt = now.rtt;
    iw_conn_write(c, "abc", 3, NULL, never);
    now = state_now();
    assert_int_equal(now.unacked, 1);
    assert_int_equal(now.rtt, rtt);
    peer_has("abc");
    now = state_now();
    assert_int_equal(now.unacked, 0);
    assert_int_equal(now.acked, 3);
}

static void octets_come_and_go(void **state)
{
    (void)state;
    peer_sends(REQUEST, 0);
    const struct iw_item *item = iw_conn_next(c, never);
    assert_int_equal(item->kind, IW_ITEM_STARTUP);
    assert_int_equal(item->end, 20);
    iw_conn_drop(c);
    assert_null(iw_conn_next(c, 0));
    iw_conn_write(c, "abcdef", 6, NULL, never);
    peer_has("abcdef");
    iw_craft_fin(peer, 20, iw_transport_now());
    assert_int_equal(iw_conn_next(c, never)->kind, IW_ITEM_FIN);
    assert_true(state_now().ended);
    iw_conn_shutdown(c);
    pump();
    assert_true(iw_craft_get_state(peer).ended);
    iw_station_take(s);
    struct folder folder;
    assert_int_equal(folder_make(&folder), 0);
    char *path = iw_text_format("%s/x", folder.path);
    assert_int_equal(iw_exchange_save(x, path, "t", error, sizeof(error)), 0);
    char *packets = packets_read(path);
    assert_string_equal(packets, "1S 2S 1'MPA ID Req Frame' 2'abcdef' 1F 2F");
    free(packets);
    free(path);
    folder_remove(&folder);
}

static void a_reset_of_the_peers_is_seen(void **state)
{
    (void)state;
    iw_craft_reset(peer);
    assert_int_equal(iw_conn_next(c, never)->kind, IW_ITEM_RESET);
    assert_true(state_now().reset);
    iw_conn_write(c, "abc", 3, NULL, never);
    assert_true(c->write_failed);
    assert_true(c->write_reset);
}

static void a_reset_of_ours_ends_it(void **state)
{
    (void)state;
    iw_conn_reset(c);
    pump();
    assert_true(iw_craft_get_state(peer).reset);
    assert_false(iw_conn_segment(c, 0, "x", 1));
    struct iw_conn_state now = {0};
    iw_conn_get_state(c, &now);
    assert_true(now.shut && now.ended);
}

/* The window opens once the peer has taken something. */
static void a_write_waits_for_the_window(void **state)
{
    static const uint8_t octets[300];

    (void)state;
    iw_craft_window(peer, 200);
    iw_station_take(s);
    iw_conn_write(c, octets, 300, NULL, 0);
    assert_true(c->write_failed);
    assert_int_equal(state_now().sent, 300);
    assert_int_equal(c->written, 300);
    pump();
    assert_int_equal(iw_craft_get_state(peer).waiting, 200);
    assert_int_equal(state_now().acked, 200);
}

static void segments_are_taken_and_sent_in_any_order(void **state)
{
    uint64_t position = 7;
    size_t length = 7;

    (void)state;
    iw_conn_write(c, "abc", 3, NULL, never);
    iw_conn_cork(c);
    iw_conn_write(c, "defghi", 6, NULL, never);
    const uint8_t *octets = iw_conn_take(c, &position, &length);
    assert_int_equal(position, 3);
    assert_int_equal(length, 6);
    assert_memory_equal(octets, "defghi", 6);
    peer_has("abc");
    assert_true(iw_conn_segment(c, 6, "ghi", 3));
    peer_has("");
    assert_true(iw_conn_answered(c, never));
    assert_true(iw_conn_segment(c, 3, "def", 3));
    assert_false(iw_conn_answered(c, 0));
    peer_has("defghi");
    assert_true(iw_conn_answered(c, never));
    iw_conn_write(c, "jk", 2, NULL, never); /* it is corked no more */
    peer_has("jk");
    static const uint8_t most[1461];
    assert_true(iw_conn_segment(c, 11, most, 1460));
    assert_false(iw_conn_segment(c, 11, most, 1461));
    pump();
    assert_int_equal(iw_craft_get_state(peer).waiting, 1460);
    uint8_t read[6];
    assert_int_equal(iw_exchange_read(x, 0, false, 3, read, 6), 6);
    assert_memory_equal(read, "defghi", 6);
}

static void what_comes_again_is_counted(void **state)
{
    (void)state;
    assert_true(iw_conn_acknowledge(c, false));
    assert_false(iw_conn_repeated(c, 0));
    peer_sends("4d50", 0);
    assert_false(iw_conn_repeated(c, 0));
    peer_sends("4d50", 0);
    assert_true(iw_conn_repeated(c, never));
    pump();
    assert_int_equal(iw_craft_get_state(peer).acked, 0);
    assert_true(iw_conn_acknowledge(c, true));
    pump();
    assert_int_equal(iw_craft_get_state(peer).acked, 2);
    assert_false(iw_conn_repeated(c, 0));
    assert_true(iw_conn_window(c, 77));
    pump();
    assert_int_equal(iw_craft_send(peer, 2,
                                   "0123456789012345678901234567890123456789"
                                   "0123456789012345678901234567890123456789",
                                   80),
                     77);
}

/* One that never answers is given up when its SYNs are, one that refuses at once. */
static void connecting_may_fail(void **state)
{
    struct iw_craft_options options = IW_CRAFT_DEFAULTS;

    (void)state;
    assert_null(iw_station_connect(s, IW_TUN_TARGET, 9, &options, 0, error, sizeof(error)));
    assert_string_equal(error, "connect to 192.0.2.2 port 9: Connection timed out");
    pump(); /* which refuses what is no listener's */
    assert_null(iw_station_connect(s, "::1", 9, &options, never, error, sizeof(error)));
    assert_string_equal(error, "connect to ::1 port 9: no IPv4 address, or too many connections");
    /* Its answer lies there when it is looked for. */
    near.last_port = 29999;
    struct iw_packet p = {.source = {.family = 4},
                          .destination = {.family = 4},
                          .source_port = 9,
                          .destination_port = 30000,
                          .flags = IW_TCP_RST | IW_TCP_ACK,
                          .ack = 1001};
    uint8_t octets[64];
    inet_pton(AF_INET, IW_TUN_TARGET, p.source.octets);
    inet_pton(AF_INET, IW_TUN_STATION, p.destination.octets);
    size_t n = iw_packet_put(octets, sizeof(octets), &p);
    assert_int_equal(send(far.fd, octets, n, 0), n);
    assert_null(iw_station_connect(s, IW_TUN_TARGET, 9, &options, never, error, sizeof(error)));
    assert_string_equal(error, "connect to 192.0.2.2 port 9: Connection refused");
    for (int i = 0; i < 2 * IW_CRAFT_CONNECTIONS; i++)
        iw_station_listen(s, IW_TUN_STATION, &options, error, sizeof(error));
    assert_null(iw_station_listen(s, IW_TUN_STATION, &options, error, sizeof(error)));
    assert_string_equal(error, "listen on 192.0.2.1: too many connections");
}

static void crafted_connections_are_read_while_we_wait(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    peer_sends(REQUEST, 0);
    assert_false(iw_station_wait(s, ends[0], 0));
    assert_non_null(c->items);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_true(iw_station_wait(s, ends[0], never));
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(iw_tcp_fd(&c->tcp), near.fd);
    assert_true(iw_tcp_open(&c->tcp));
    assert_false(iw_tcp_waiting(&c->tcp));
    assert_int_equal(iw_tcp_wait(&c->tcp, POLLIN, 0), 0);
    peer_sends("00", 20);
    assert_int_equal(iw_tcp_wait(&c->tcp, POLLIN | POLLOUT, never), POLLIN);
    assert_true(iw_tcp_waiting(&c->tcp));
    uint8_t octet;
    assert_int_equal(iw_tcp_receive(&c->tcp, &octet, 1), 1);
    assert_int_equal(iw_tcp_receive(&c->tcp, &octet, 1), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(iw_tcp_wait(&c->tcp, POLLOUT, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_crafted_connection_has_a_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(octets_come_and_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reset_of_the_peers_is_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reset_of_ours_ends_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_write_waits_for_the_window, set_up, tear_down),
        cmocka_unit_test_setup_teardown(segments_are_taken_and_sent_in_any_order, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_comes_again_is_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(connecting_may_fail, set_up, tear_down),
        cmocka_unit_test_setup_teardown(crafted_connections_are_read_while_we_wait, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
