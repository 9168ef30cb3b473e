/* SPDX-License-Identifier: BSD-3-Clause */
/* The station's end of connections over sockets, against octets that the test itself sends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/socket.h>

#include "folder.h"
#include "hex.h"
#include "host/text.h"
#include "iwarp/transport.h"
#include "packets.h"
#include "station/station_internal.h"

#define REQUEST "4d504120494420526571204672616d65"
#define REPLY "4d504120494420526570204672616d65"
#define SEND_1 "00124143 00000000 00000000 00000001 00000000 587be8c4"
#define ULPDU "4143 00000000 00000000 00000001 00000000"
#define FIRST_OF_TWO "00140143 00000000 00000000 00000001 00000000 6162 0000 "

static const uint64_t never = UINT64_MAX; /* what has to come comes */
static const struct iw_craft_options plain = {.mss = 0};

/* A station, its connection, and the peer's socket of that. */
static struct iw_exchange *x;
static struct iw_station *s;
static struct iw_conn *c;
static int peer;
static char *trace_text;
static size_t trace_size;
static FILE *trace;
static char error[256];

static void begin(void)
{
    x = iw_exchange_create();
    trace = open_memstream(&trace_text, &trace_size);
    s = iw_station_create(x, NULL, trace);
}

static int set_up(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    begin();
    if (bind(listener, (struct sockaddr *)&at, length) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&at, &length))
        return -1;
    c = iw_station_connect(s, "127.0.0.1", ntohs(at.sin_port), &plain, never, error, sizeof(error));
    peer = accept(listener, NULL, NULL);
    close(listener);
    return c != NULL && peer >= 0 ? 0 : -1;
}

/* The station listens. */
static int set_up_listening(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    (void)state;
    begin();
    struct iw_station_listener *l = iw_station_listen(s, "127.0.0.1", &plain, error, sizeof(error));
    if (l == NULL || iw_station_listener_accept(l, 0) != NULL)
        return -1;
    at.sin_port = htons(iw_station_listener_port(l));
    peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(peer, (struct sockaddr *)&at, sizeof(at)))
        return -1;
    c = iw_station_listener_accept(l, never);
    return c != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    iw_station_destroy(s);
    iw_exchange_destroy(x);
    fclose(trace);
    free(trace_text);
    if (peer >= 0)
        close(peer);
    return 0;
}

static void gives(const char *hex)
{
    uint8_t octets[1024];
    size_t length = hex_octets(hex, octets, sizeof(octets));

    assert_int_equal(send(peer, octets, length, MSG_NOSIGNAL), length);
}

static void peer_gets(const char *hex)
{
    uint8_t wanted[1024], got[1024];
    size_t length = hex_octets(hex, wanted, sizeof(wanted));

    assert_int_equal(recv(peer, got, length, MSG_WAITALL), length);
    assert_memory_equal(got, wanted, length);
}

static void sends_startup(const char *hex)
{
    uint8_t octets[64];
    size_t length = hex_octets(hex, octets, sizeof(octets));

    iw_conn_send_startup(c, octets, length, NULL, never);
}

static void sends_ulpdu(const char *hex, const struct iw_frame_bend *bend)
{
    uint8_t octets[64];
    size_t length = hex_octets(hex, octets, sizeof(octets));

    iw_conn_send_ulpdu(c, octets, length, bend, NULL, never);
}

/* The next item, in its one-line syntax, with its positions. */
static void comes(const char *expected)
{
    const struct iw_item *item = iw_conn_next(c, never);
    char text[256], whole[300];

    assert_non_null(item);
    iw_item_print(item, text, sizeof(text));
    snprintf(whole, sizeof(whole), "%d..%d %s", (int)item->position, (int)item->end, text);
    assert_string_equal(whole, expected);
    assert_true(item->time > 0);
    iw_conn_drop(c);
}

static void nothing_comes(void)
{
    assert_null(iw_conn_next(c, 0));
}

static void assert_trace(const char *expected)
{
    fflush(trace);
    assert_string_equal(trace_text, expected);
}

static char *packets_now(void)
{
    struct folder folder;

    assert_int_equal(folder_make(&folder), 0);
    char *path = iw_text_format("%s/x", folder.path);
    assert_int_equal(iw_exchange_save(x, path, "t", error, sizeof(error)), 0);
    char *packets = packets_read(path);
    free(path);
    folder_remove(&folder);
    return packets;
}

static void assert_packets(const char *expected)
{
    char *packets = packets_now();

    assert_string_equal(packets, expected);
    free(packets);
}

static struct iw_conn_state state_now(void)
{
    struct iw_conn_state now;

    iw_conn_get_state(c, &now);
    return now;
}

/* ---- opening ---- */

/* The capture has the true ports. */
static void assert_ports(const struct sockaddr_in *first, const struct sockaddr_in *second)
{
    struct folder folder;
    uint16_t ports[2] = {0};

    assert_int_equal(folder_make(&folder), 0);
    char *path = iw_text_format("%s/x", folder.path);
    assert_int_equal(iw_exchange_save(x, path, "t", error, sizeof(error)), 0);
    packets_ports(path, ports);
    assert_int_equal(ports[0], ntohs(first->sin_port));
    assert_int_equal(ports[1], ntohs(second->sin_port));
    free(path);
    folder_remove(&folder);
}

static void the_side_that_connects_is_the_initiator(void **state)
{
    struct sockaddr_in own = {0}, other = {0};
    socklen_t length = sizeof(own);

    (void)state;
    assert_int_equal(getsockname(peer, (struct sockaddr *)&other, &length), 0);
    assert_int_equal(getpeername(peer, (struct sockaddr *)&own, &length), 0);
    struct iw_conn_state now = state_now();
    assert_true(now.initiator);
    assert_int_equal(now.number, 0);
    assert_int_equal(iw_conn_peer_side(c), IW_SIDE_RESPONDER);
    assert_true(now.mss > 0);
    assert_false(now.ended || now.shut || now.reset || now.sent_startup || now.got_startup);
    assert_ports(&own, &other);
}

static void the_side_that_is_connected_to_is_the_responder(void **state)
{
    struct sockaddr_in own = {0}, other = {0};
    socklen_t length = sizeof(own);

    (void)state;
    assert_int_equal(getsockname(peer, (struct sockaddr *)&other, &length), 0);
    assert_int_equal(getpeername(peer, (struct sockaddr *)&own, &length), 0);
    assert_false(state_now().initiator);
    assert_int_equal(iw_conn_peer_side(c), IW_SIDE_INITIATOR);
    assert_ports(&other, &own);
    gives(REQUEST "40010000");
    comes("0..20 mpa request rev 1 C pd 0");
    sends_startup(REPLY "40010000");
    peer_gets(REPLY "40010000");
    gives(SEND_1);
    assert_true(iw_conn_next(c, never)->segments[0].crc_good);
    comes("20..44 send L msn 1 mo 0 len 0");
    assert_trace("0 < mpa request rev 1 C pd 0\n0 > mpa reply rev 1 C pd 0\n"
                 "0 < send L msn 1 mo 0 len 0\n");
    assert_packets("1S 2S 1'MPA ID Req Frame@\x01' 2'MPA ID Rep Frame@\x01' 124");
}

static void what_cannot_be_opened_is_named(void **state)
{
    struct iw_craft_options small = {.mss = 600};

    (void)state;
    assert_null(iw_station_connect(s, "127.0.0.1", 1, &plain, never, error, sizeof(error)));
    assert_string_equal(error, "connect to 127.0.0.1 port 1: Connection refused");
    assert_null(iw_station_connect(s, "127.0.0.1", 1, &(struct iw_craft_options){.mss = 1}, never,
                                   error, sizeof(error)));
    assert_string_equal(error, "connect to 127.0.0.1 port 1: Invalid argument");
    assert_null(iw_station_connect(s, "no..name", 1, &plain, never, error, sizeof(error)));
    assert_non_null(strstr(error, "no..name"));
    assert_null(iw_station_listen(s, "192.0.2.1", &plain, error, sizeof(error)));
    assert_string_equal(error, "listen on 192.0.2.1: Cannot assign requested address");
    assert_null(iw_station_listen(s, "no-address", &plain, error, sizeof(error)));
    assert_string_equal(error, "cannot resolve host \"no-address\": Name or service not known");
    assert_null(iw_station_listen(s, "127.0.0.1", &(struct iw_craft_options){.mss = 1}, error,
                                  sizeof(error)));
    assert_string_equal(error, "listen on 127.0.0.1: Invalid argument");
    /* Its segments are no larger than is said. */
    struct iw_station_listener *l = iw_station_listen(s, "127.0.0.1", &small, error, sizeof(error));
    struct iw_conn *near = iw_station_connect(s, "127.0.0.1", iw_station_listener_port(l), &small,
                                              never, error, sizeof(error));
    assert_non_null(near);
    struct iw_conn *far = iw_station_listener_accept(l, never);
    assert_non_null(far);
    struct iw_conn_state now;
    iw_conn_get_state(near, &now);
    assert_in_range(now.mss, 500, 600);
    assert_int_equal(now.number, 1);
    static const uint8_t octets[700];
    iw_conn_write(near, octets, sizeof(octets), NULL, never);
    char *packets = packets_now();
    assert_memory_equal(packets, "1S 2S 1S 2S 1S 2S 1", 19);
    assert_null(strstr(packets, "1700")); /* nor are they in the capture */
    free(packets);
    iw_conn_get_state(far, &now);
    assert_in_range(now.mss, 500, 600);
    assert_int_equal(now.number, 2);
}

/* ---- sending ---- */

static void octets_are_written_in_pieces(void **state)
{
    const size_t sizes[] = {1, 3};
    const struct iw_writes first = {.sizes = sizes, .count = 2}, each = {.each = 2};
    const struct iw_writes both = {.sizes = sizes, .count = 2, .each = 2};

    (void)state;
    iw_conn_write(c, "abcdefg", 7, &first, never);
    iw_conn_write(c, "hijkl", 5, &each, never);
    iw_conn_write(c, "mn", 2, NULL, never);
    iw_conn_write(c, "opq", 3, &first, never);
    iw_conn_write(c, "rstuv", 5, &both, never);
    peer_gets("6162636465666768696a6b6c6d6e6f70717273747576");
    assert_packets("1S 2S 1'a' 1'bcd' 1'efg' 1'hi' 1'jk' 1'l' 1'mn' 1'o' 1'pq' 1'r' 1'st' 1'uv'");
    assert_int_equal(state_now().sent, 22);
    assert_trace("0 > 7 octets as they are\n0 > 5 octets as they are\n0 > 2 octets as they are\n"
                 "0 > 3 octets as they are\n0 > 5 octets as they are\n");
    const struct iw_exchange_line *line = iw_exchange_lines(x);
    assert_int_equal(line->kind, IW_LINE_OCTETS);
    assert_false(line->from_peer);
    assert_int_equal(line->position, 0);
    assert_int_equal(line->end, 7);
    assert_int_equal(line->next->position, 7);
}

static void corked_octets_wait(void **state)
{
    const struct iw_writes each = {.each = 3};

    (void)state;
    iw_conn_cork(c);
    iw_conn_write(c, "ab", 2, NULL, never);
    iw_conn_write(c, "cdefgh", 6, NULL, never);
    iw_conn_comment_sent(c, "in the rest");
    assert_int_equal(recv(peer, error, 1, MSG_DONTWAIT), -1);
    iw_conn_release(c, 3, never);
    peer_gets("616263");
    iw_conn_write(c, "ij", 2, NULL, never);
    iw_conn_release(c, 1, never);
    iw_conn_uncork(c, &each, never);
    iw_conn_write(c, "k", 1, NULL, never);
    iw_conn_comment_sent(c, "the last");
    iw_conn_cork(c);
    iw_conn_write(c, "l", 1, NULL, never);
    iw_conn_release(c, 9, never);
    iw_conn_release(c, 9, never);
    peer_gets("6465666768696a6b6c");
    assert_packets("1S 2S 1'abc'{in the rest} 1'd' 1'efg' 1'hij' 1'k'{the last} 1'l'");
}

/* Positions of FPDUs count from behind the start-up frame. */
static void frames_are_built_as_it_was_agreed(void **state)
{
    struct iw_frame_bend bend = IW_FRAME_STRAIGHT;

    (void)state;
    sends_startup(REQUEST "40010000");
    gives(REPLY "c0010000");
    comes("0..20 mpa reply rev 1 M C pd 0");
    sends_ulpdu(ULPDU, NULL);
    bend.crc = IW_FRAME_CRC_ABSENT;
    sends_ulpdu(ULPDU, &bend);
    peer_gets(REQUEST "40010000");
    peer_gets("00000000 00124143 00000000 00000000 00000001 00000000 88c1d6fc");
    peer_gets("00124143 00000000 00000000 00000001 00000000");
    const struct iw_exchange_line *line = iw_exchange_lines(x);
    assert_int_equal(line->kind, IW_LINE_STARTUP);
    assert_int_equal(line->end, 20);
    assert_int_equal(line->next->kind, IW_LINE_STARTUP);
    assert_true(line->next->from_peer);
    line = line->next->next;
    assert_int_equal(line->kind, IW_LINE_FPDU);
    assert_true(line->markers);
    assert_int_equal(line->start, 20);
    assert_int_equal(line->position, 20);
    assert_int_equal(line->end, 48);
    assert_string_equal(line->text, "send L msn 1 mo 0 len 0");
    struct iw_conn_state now = state_now();
    assert_true(now.sent_startup && now.got_startup);
    assert_int_equal(now.own.revision, 1);
    assert_int_equal(now.own.flags, 0x40);
    assert_int_equal(now.peer.flags, 0xc0);
    assert_true(now.rtt > 0);
    assert_true(iw_conn_markers(&now));
    assert_false(iw_conn_peer_markers(&now));
}

static void the_enhanced_block_is_remembered(void **state)
{
    (void)state;
    sends_startup(REQUEST "50020004 00100020");
    gives(REPLY "50020004 00030004");
    comes("0..24 mpa reply rev 2 C S pd 4 ird 3 ord 4");
    struct iw_conn_state now = state_now();
    assert_int_equal(now.own_enhanced.ird, 16);
    assert_int_equal(now.own_enhanced.ord, 32);
    assert_int_equal(now.peer_enhanced.ird, 3);
    /* What is no frame changes nothing. */
    sends_startup("4d504120");
    now = state_now();
    assert_int_equal(now.own_enhanced.ird, 16);
    /* One without the block does not have one. */
    sends_startup(REQUEST "40020004 00010002");
    now = state_now();
    assert_int_equal(now.own_enhanced.ird, 16);
    assert_int_equal(now.own.flags, 0x40);
}

static void markers_are_as_the_other_side_asked(void **state)
{
    static const struct {
        bool initiator, sent, got;
        uint8_t own_revision, own_flags, peer_revision, peer_flags;
        bool markers, peer_markers;
    } rows[] = {
        {true, true, true, 1, 0x80, 1, 0, false, true},
        {true, true, true, 1, 0, 1, 0x80, true, false},
        {true, true, true, 2, 0x7f, 2, 0x7f, false, false},
        {true, true, true, 1, 0, 0, 0, true, true}, /* a Reply of revision 0 */
        {true, true, false, 1, 0, 0, 0x80, false, false},
        {true, true, true, 0, 0, 1, 0, false, false},
        {false, true, true, 0, 0, 1, 0, true, true},
        {false, false, true, 0, 0x80, 1, 0, false, false},
        {false, true, true, 1, 0, 0, 0, false, false},
        {false, false, false, 1, 0x80, 1, 0x80, false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct iw_conn_state now = {
            .initiator = rows[i].initiator,
            .sent_startup = rows[i].sent,
            .got_startup = rows[i].got,
            .own = {.revision = rows[i].own_revision, .flags = rows[i].own_flags},
            .peer = {.revision = rows[i].peer_revision, .flags = rows[i].peer_flags}};

        assert_int_equal(iw_conn_markers(&now), rows[i].markers);
        assert_int_equal(iw_conn_peer_markers(&now), rows[i].peer_markers);
    }
}

/* An FPDU that no receiver takes is no reason for the observer to expect an answer: told as broken,
 * its Send is none, and the next one is number 1, too. */
static void what_is_sent_broken_is_told_so(void **state)
{
    struct iw_frame_bend bend = IW_FRAME_STRAIGHT;

    (void)state;
    sends_startup(REQUEST "40010000");
    gives(REPLY "40010000");
    comes("0..20 mpa reply rev 1 C pd 0");
    bend.crc = IW_FRAME_CRC_WRONG;
    sends_ulpdu("4141 00000000 00000001 00000001 00000000 00000007 00000000 00000001 00000000"
                " 00000000 00000000 00000000",
                &bend);
    gives("000ec142 00000007 00000000 00000001 1c543876");
    iw_conn_next(c, never);
    assert_non_null(iw_station_findings(s));
}

/* Without CRCs a receiver takes any: the Read Request counts, and its response has another Sink
 * STag. */
static void a_crc_that_nobody_checks_breaks_nothing(void **state)
{
    struct iw_frame_bend bend = IW_FRAME_STRAIGHT;

    (void)state;
    sends_startup(REQUEST "00010000");
    gives(REPLY "00010000");
    comes("0..20 mpa reply rev 1 pd 0");
    bend.crc = IW_FRAME_CRC_WRONG;
    sends_ulpdu("4141 00000000 00000001 00000001 00000000 00000007 00000000 00000001 00000000"
                " 00000000 00000000 00000000",
                &bend);
    gives("000ec142 00000008 00000000 00000001 1c543876");
    iw_conn_next(c, never);
    assert_non_null(iw_station_findings(s));
    assert_int_equal(iw_station_findings(s)->fault.check, IW_CHECK_RDMAP_RESPONSE_STAG);
}

/* ---- ends ---- */

static void the_end_of_a_direction_is_told_once(void **state)
{
    (void)state;
    iw_conn_write(c, "ab", 2, NULL, never);
    iw_conn_shutdown(c);
    iw_conn_shutdown(c);
    peer_gets("6162");
    assert_int_equal(recv(peer, error, 1, 0), 0);
    assert_true(state_now().shut);
    close(peer);
    peer = -1;
    comes("0..0 fin");
    nothing_comes();
    assert_true(state_now().ended);
    assert_false(state_now().reset);
    assert_packets("1S 2S 1'ab' 1F 2F");
    assert_trace("0 > 2 octets as they are\n0 > fin\n0 < fin\n");
}

static void a_reset_closes_the_connection(void **state)
{
    (void)state;
    iw_conn_write(c, "ab", 2, NULL, never);
    iw_conn_reset(c);
    iw_conn_reset(c);
    iw_conn_shutdown(c);
    peer_gets("6162");
    assert_int_equal(recv(peer, error, 1, 0), -1);
    assert_int_equal(errno, ECONNRESET);
    struct iw_conn_state now = state_now();
    assert_true(now.shut && now.ended);
    assert_packets("1S 2S 1'ab' 1R");
    assert_trace("0 > 2 octets as they are\n0 > reset\n");
    nothing_comes();
    iw_conn_write(c, "cd", 2, NULL, never);
    assert_int_equal(state_now().sent, 4);
}

static void reset_by_the_peer(void)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};

    setsockopt(peer, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(peer);
    peer = -1;
}

static void a_reset_of_the_peers_is_an_end(void **state)
{
    (void)state;
    gives("0102");
    iw_conn_next(c, 0);
    reset_by_the_peer();
    assert_true(iw_conn_drain(c, never));
    assert_true(state_now().reset);
    assert_packets("1S 2S 2'\x01\x02' 2R");
}

/* A write that meets the reset ends; what is read then is a reset, too. */
static void a_write_to_a_peer_that_is_gone_ends(void **state)
{
    static const uint8_t octets[1 << 16];

    (void)state;
    reset_by_the_peer();
    while (!c->write_failed)
        iw_conn_write(c, octets, sizeof(octets), NULL, never);
    iw_conn_write(c, octets, 7, NULL, never);
    iw_conn_shutdown(c); /* which is not told as done */
    assert_true(iw_conn_drain(c, never));
    assert_true(state_now().reset);
}

/* What the peer says meanwhile is taken; it takes nothing. */
static void a_write_that_blocks_reads_and_gives_up(void **state)
{
    static uint8_t octets[64 << 20];

    (void)state;
    gives(REPLY "40010000");
    iw_conn_write(c, octets, sizeof(octets), NULL, iw_transport_now() + 1000000);
    assert_true(c->write_failed);
    assert_non_null(c->items);
    assert_int_equal(c->items->kind, IW_ITEM_STARTUP);
    assert_int_equal(state_now().sent, sizeof(octets));
    iw_conn_write(c, octets, 1, NULL, never); /* and again it does not wait */
    assert_int_equal(c->written, sizeof(octets) + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_side_that_connects_is_the_initiator, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_side_that_is_connected_to_is_the_responder,
                                        set_up_listening, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_opened_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(octets_are_written_in_pieces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(corked_octets_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(frames_are_built_as_it_was_agreed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_enhanced_block_is_remembered, set_up, tear_down),
        cmocka_unit_test(markers_are_as_the_other_side_asked),
        cmocka_unit_test_setup_teardown(what_is_sent_broken_is_told_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_crc_that_nobody_checks_breaks_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_of_a_direction_is_told_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reset_closes_the_connection, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reset_of_the_peers_is_an_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_write_to_a_peer_that_is_gone_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_write_that_blocks_reads_and_gives_up, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
