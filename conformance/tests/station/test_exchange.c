/* SPDX-License-Identifier: BSD-3-Clause */
/* The log of what a case exchanged: what it keeps, and the capture that it becomes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "host/text.h"
#include "iwarp/transport.h"
#include "packets.h"
#include "station/exchange.h"

static struct folder folder;
static char *path, error[256];
static struct iw_exchange *x;

static int set_up(void **state)
{
    (void)state;
    if (folder_make(&folder))
        return -1;
    path = iw_text_format("%s/x.pcapng", folder.path);
    x = iw_exchange_create();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    iw_exchange_destroy(x);
    free(path);
    folder_remove(&folder);
    return 0;
}

static struct iw_synth_tcp endpoints(uint16_t mss)
{
    return (struct iw_synth_tcp){
        .address = {{.family = 4, .octets = {10, 0, 0, 1}}, {.family = 4, .octets = {10, 0, 0, 2}}},
        .port = {40000, 7471},
        .mss = mss};
}

static int connection(bool station_connects, uint16_t mss)
{
    const struct iw_synth_tcp tcp = endpoints(mss);

    return iw_exchange_open(x, station_connects, &tcp, 1000);
}

static void assert_packets(const char *expected)
{
    assert_int_equal(iw_exchange_save(x, path, "a title", error, sizeof(error)), 0);
    char *packets = packets_read(path);
    assert_string_equal(packets, expected);
    free(packets);
}

/* ---- captures ---- */

static void octets_become_packets_with_their_comments(void **state)
{
    int c = connection(true, 0);

    (void)state;
    assert_int_equal(c, 0);
    assert_true(iw_exchange_data(x, c, false, "abc", 3, 2000));
    iw_exchange_comment(x, c, false, 0, "first");
    iw_exchange_comment(x, c, false, 2, "last");
    /* Frames that were read together are packets of their own. */
    iw_exchange_cut(x, c, true, 2);
    iw_exchange_cut(x, c, true, 5);
    assert_true(iw_exchange_data(x, c, true, "defghij", 7, 3000));
    iw_exchange_comment(x, c, true, 1, "de");
    iw_exchange_comment(x, c, true, 2, "fgh");
    iw_exchange_comment(x, c, true, 6, "ij");
    assert_true(iw_exchange_data(x, c, false, "k", 1, 4000));
    iw_exchange_comment(x, c, false, 3, "k");
    iw_exchange_end(x, c, false, false, 5000);
    iw_exchange_comment(x, c, false, 4, "our end");
    iw_exchange_end(x, c, true, true, 6000);
    iw_exchange_comment(x, c, true, 7, "its end");
    iw_exchange_comment(x, c, true, 8, "nowhere");
    assert_packets("1S 2S 1'abc'{first}{last} 2'de'{de} 2'fgh'{fgh} 2'ij'{ij} 1'k'{k} "
                   "1F{our end} 2R{its end}");
    /* After the three of the handshake; every second packet is acknowledged by one more. */
    assert_int_equal(iw_exchange_frame(x, c, false, 0), 4);
    assert_int_equal(iw_exchange_frame(x, c, false, 2), 4);
    assert_int_equal(iw_exchange_frame(x, c, true, 1), 5);
    assert_int_equal(iw_exchange_frame(x, c, true, 2), 6);
    assert_int_equal(iw_exchange_frame(x, c, true, 6), 8);
    assert_int_equal(iw_exchange_frame(x, c, true, 0), 0); /* no remark is there */
    assert_int_equal(iw_exchange_frame(x, c + 1, true, 1), 0);
    uint16_t ports[2];
    packets_ports(path, ports);
    assert_int_equal(ports[0], 40000);
    assert_int_equal(ports[1], 7471);
    char *content = folder_read(path);
    assert_non_null(memmem(content, 300, "a title", 7));
    assert_non_null(memmem(content, 300, "iwarp-conform", 13));
    free(content);
}

/* A cut may lie in octets that were read before, or that are still to come. */
static void cuts_are_looked_for_in_their_direction(void **state)
{
    int c = connection(true, 0), other = connection(true, 0);

    (void)state;
    iw_exchange_cut(x, other, true, 1);
    iw_exchange_cut(x, c, false, 1);
    iw_exchange_data(x, c, true, "abc", 3, 2000);
    iw_exchange_cut(x, c, true, 3);
    iw_exchange_data(x, c, true, "def", 3, 2000);
    iw_exchange_cut(x, c, true, 7);
    iw_exchange_data(x, c, true, "ghi", 3, 2000);
    for (uint64_t i = 10; i < 40; i++) /* more than there is room for at first */
        iw_exchange_cut(x, c, true, i);
    iw_exchange_data(x, c, true, "0123456789012345678901234567890", 31, 2000);
    char *packets = NULL;
    assert_int_equal(iw_exchange_save(x, path, "t", error, sizeof(error)), 0);
    packets = packets_read(path);
    const char *begin = "1S 2S 1S 2S 2'abc' 2'def' 2'g' 2'hi' 2'0' 2'1' 2'2' ";
    assert_memory_equal(packets, begin, strlen(begin));
    const char *end = " 2'8' 2'9' 2'0'";
    assert_string_equal(packets + strlen(packets) - strlen(end), end);
    free(packets);
}

static void a_comment_stands_on_the_nearer_end_of_long_data(void **state)
{
    static const uint8_t octets[2800];
    int c = connection(true, 1000);

    (void)state;
    iw_exchange_data(x, c, false, octets, sizeof(octets), 2000);
    iw_exchange_comment(x, c, false, 0, "a");
    iw_exchange_comment(x, c, false, 1399, "b");
    iw_exchange_comment(x, c, false, 1400, "c");
    iw_exchange_comment(x, c, false, 2799, "d");
    assert_packets("1S 2S 11000{a}{b} 11000 1800{c}{d}");
}

static void the_peer_is_side_one_if_it_connects(void **state)
{
    int c = connection(false, 0);

    (void)state;
    iw_exchange_data(x, c, false, "own", 3, 2000);
    iw_exchange_data(x, c, true, "its", 3, 2000);
    iw_exchange_end(x, c, true, false, 2000);
    iw_exchange_end(x, c, false, true, 2000);
    assert_packets("1S 2S 2'own' 1'its' 1F 2R");
}

static void packets_are_at_the_time_of_day(void **state)
{
    struct timespec now;
    uint64_t at = iw_transport_now();

    (void)state;
    (void)iw_exchange_open(x, true, &(const struct iw_synth_tcp){.mss = 0}, at);
    int c = connection(true, 0);
    clock_gettime(CLOCK_REALTIME, &now);
    iw_exchange_data(x, c, false, "abc", 3, at + 5000);
    iw_exchange_data(x, c, false, "abc", 3, at + 8000);
    assert_int_equal(iw_exchange_save(x, path, "t", error, sizeof(error)), 0);
    uint64_t first = packets_time(path, 0), last = packets_time(path, 7);
    assert_int_equal(last - packets_time(path, 6), 3000);
    assert_int_equal(packets_time(path, 6) - first, 5000);
    uint64_t day = (uint64_t)now.tv_sec * 1000000000u;
    assert_in_range(first / 1000000000u, day / 1000000000u - 3600, day / 1000000000u + 3600);
}

/* A packet of IPv4 and TCP with these octets of payload, from 192.0.2.`from`. */
static void packet(int c, bool from_peer, uint64_t position, uint8_t flags, const char *payload)
{
    uint8_t data[128];
    struct iw_packet p = {.source = {.family = 4, .octets = {192, 0, 2, from_peer ? 2 : 1}},
                          .destination = {.family = 4, .octets = {192, 0, 2, from_peer ? 1 : 2}},
                          .source_port = 1,
                          .destination_port = 2,
                          .flags = flags,
                          .payload = (const uint8_t *)payload,
                          .length = (uint32_t)strlen(payload)};
    const struct iw_craft_packet shown = {.from_peer = from_peer,
                                          .data = data,
                                          .length = iw_packet_put(data, sizeof(data), &p),
                                          .position = position,
                                          .octets = strlen(payload),
                                          .flags = flags};
    assert_true(iw_exchange_packet(x, c, &shown, 2000));
}

static void a_crafted_connection_shows_its_packets_only(void **state)
{
    int c = connection(true, 0);

    (void)state;
    packet(c, false, 0, IW_TCP_SYN, "");
    packet(c, true, 0, IW_TCP_SYN | IW_TCP_ACK, "");
    iw_exchange_data(x, c, false, "abcdef", 6, 2000);
    packet(c, false, 3, IW_TCP_ACK, "def");
    packet(c, false, 0, IW_TCP_ACK, "abc");
    packet(c, true, 0, IW_TCP_ACK, "");
    packet(c, true, 0, IW_TCP_ACK | IW_TCP_FIN, "");
    packet(c, false, 6, IW_TCP_ACK | IW_TCP_RST, "");
    iw_exchange_end(x, c, true, false, 2000);
    iw_exchange_comment(x, c, false, 0, "first");
    iw_exchange_comment(x, c, false, 4, "second");
    iw_exchange_comment(x, c, false, 6, "reset");
    iw_exchange_comment(x, c, true, 0, "end");
    assert_packets("1S 2S 1'def'{second} 1'abc'{first} 2F{end} 1R{reset}");
}

static void what_cannot_be_written_is_named(void **state)
{
    (void)state;
    connection(true, 0);
    assert_int_equal(iw_exchange_save(x, "/no/such/file", "t", error, sizeof(error)), -1);
    assert_non_null(strstr(error, "/no/such/file"));
    assert_non_null(strstr(error, "No such file or directory"));
}

/* ---- what it holds ---- */

static void the_peer_was_heard_if_it_sent_something(void **state)
{
    int c = connection(true, 0);

    (void)state;
    assert_false(iw_exchange_heard(x));
    iw_exchange_data(x, c, false, "a", 1, 2000);
    iw_exchange_end(x, c, false, false, 2000);
    packet(c, true, 0, IW_TCP_SYN, "");
    assert_false(iw_exchange_heard(x));
    iw_exchange_end(x, c, true, true, 2000);
    assert_true(iw_exchange_heard(x));
}

static void octets_are_read_from_any_position(void **state)
{
    int c = connection(true, 0), other = connection(true, 0);
    uint8_t out[16] = {0};

    (void)state;
    iw_exchange_data(x, c, true, "abc", 3, 2000);
    iw_exchange_data(x, other, true, "XXXXXXXXX", 9, 2000);
    iw_exchange_data(x, c, false, "YYYYYYYYY", 9, 2000);
    packet(c, true, 0, IW_TCP_ACK, "ZZZZZZZZZ");
    iw_exchange_data(x, c, true, "defg", 4, 2000);
    iw_exchange_data(x, c, true, "h", 1, 2000);
    assert_int_equal(iw_exchange_read(x, c, true, 0, out, sizeof(out)), 8);
    assert_string_equal((char *)out, "abcdefgh");
    memset(out, 0, sizeof(out));
    assert_int_equal(iw_exchange_read(x, c, true, 2, out, 4), 4);
    assert_string_equal((char *)out, "cdef");
    memset(out, 0, sizeof(out));
    assert_int_equal(iw_exchange_read(x, c, true, 3, out, 3), 3);
    assert_string_equal((char *)out, "def");
    memset(out, 0, sizeof(out));
    assert_int_equal(iw_exchange_read(x, c, true, 7, out, 4), 1);
    assert_string_equal((char *)out, "h");
    assert_int_equal(iw_exchange_read(x, c, true, 8, out, 4), 0);
    assert_int_equal(iw_exchange_read(x, other, false, 0, out, 4), 0);
    assert_int_equal(iw_exchange_read(x, c, true, 0, out, 0), 0);
}

static void so_many_lines_are_kept(void **state)
{
    const struct iw_exchange_line line = {.kind = IW_LINE_FPDU,
                                          .connection = 3,
                                          .from_peer = true,
                                          .markers = true,
                                          .start = 20,
                                          .position = 40,
                                          .end = 60};
    uint64_t now = iw_transport_now();
    size_t n = 0;

    (void)state;
    assert_null(iw_exchange_lines(x));
    iw_exchange_tell(x, &line, "the first", now);
    iw_exchange_tell(x, &line, "the second", now + 700);
    const struct iw_exchange_line *first = iw_exchange_lines(x);
    assert_string_equal(first->text, "the first");
    assert_int_equal(first->kind, IW_LINE_FPDU);
    assert_int_equal(first->connection, 3);
    assert_true(first->from_peer);
    assert_true(first->markers);
    assert_int_equal(first->start, 20);
    assert_int_equal(first->position, 40);
    assert_int_equal(first->end, 60);
    assert_true(first->time < 3600 * UINT64_C(1000000000));
    assert_string_equal(first->next->text, "the second");
    assert_int_equal(first->next->time - first->time, 700);
    assert_null(first->next->next);
    for (int i = 0; i < 600; i++)
        iw_exchange_tell(x, &line, "more", now);
    for (const struct iw_exchange_line *l = iw_exchange_lines(x); l != NULL; l = l->next)
        n++;
    assert_int_equal(n, 500);
}

/* The remarks on one line, and on its end if it is empty. */
static void remarks_are_found_by_their_line(void **state)
{
    static const struct {
        int connection;
        bool from_peer;
        uint64_t position, end;
        const char *remarks;
    } rows[] = {{0, true, 10, 20, "at 10, at 19, "},
                {0, true, 20, 20, "at 20, "},
                {0, false, 0, 99, "own, "},
                {1, true, 0, 99, "other, "},
                {1, false, 0, 99, ""},
                {0, true, 11, 19, ""}};

    (void)state;
    connection(true, 0);
    iw_exchange_comment(x, 0, true, 10, "at 10");
    iw_exchange_comment(x, 0, false, 10, "own");
    iw_exchange_comment(x, 1, true, 10, "other");
    iw_exchange_comment(x, 0, true, 19, "at 19");
    iw_exchange_comment(x, 0, true, 20, "at 20");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct iw_exchange_line line = {.connection = rows[i].connection,
                                              .from_peer = rows[i].from_peer,
                                              .position = rows[i].position,
                                              .end = rows[i].end};
        const struct iw_exchange_remark *r = NULL;
        char found[64] = "";
        size_t length = 0;

        while (((r = iw_exchange_remark(x, &line, r)) != NULL)) {
            snprintf(found + length, sizeof(found) - length, "%s, ", r->text);
            length = strlen(found);
        }
        assert_string_equal(found, rows[i].remarks);
    }
}

/* ---- its bounds ---- */

static void a_full_log_says_so(void **state)
{
    uint8_t *octets = calloc(1, IW_EXCHANGE_MAX);
    int c = connection(true, 0);

    (void)state;
    assert_non_null(octets);
    assert_false(iw_exchange_data(x, c, true, octets, IW_EXCHANGE_MAX - 127, 2000));
    assert_false(iw_exchange_heard(x));
    assert_true(iw_exchange_data(x, c, true, octets, IW_EXCHANGE_MAX - 3 * 128 - 10, 2000));
    assert_true(iw_exchange_data(x, c, true, octets, 10, 2000));
    assert_true(iw_exchange_data(x, c, true, octets, 0, 2000));
    assert_false(iw_exchange_data(x, c, true, octets, 0, 2000));
    assert_int_equal(iw_exchange_read(x, c, true, IW_EXCHANGE_MAX - 3 * 128 - 1, octets, 10), 1);
    free(octets);
}

static void a_cut_takes_room(void **state)
{
    uint8_t *octets = calloc(1, IW_EXCHANGE_MAX);
    int c = connection(true, 0);

    (void)state;
    assert_non_null(octets);
    iw_exchange_cut(x, c, true, 1);
    assert_false(iw_exchange_data(x, c, true, octets, IW_EXCHANGE_MAX - 255, 2000));
    assert_true(iw_exchange_data(x, c, true, octets, IW_EXCHANGE_MAX - 256, 2000));
    free(octets);
}

static void packets_take_their_length(void **state)
{
    uint8_t *octets = calloc(1, IW_EXCHANGE_MAX);
    struct iw_craft_packet p = {.data = octets, .length = IW_EXCHANGE_MAX + 1};
    int c = connection(true, 0);

    (void)state;
    assert_non_null(octets);
    assert_false(iw_exchange_packet(x, c, &p, 2000));
    p.length = IW_EXCHANGE_MAX - 40;
    assert_true(iw_exchange_packet(x, c, &p, 2000));
    p.length = 41;
    assert_false(iw_exchange_packet(x, c, &p, 2000));
    p.length = 40;
    assert_true(iw_exchange_packet(x, c, &p, 2000));
    free(octets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(octets_become_packets_with_their_comments, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(cuts_are_looked_for_in_their_direction, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_comment_stands_on_the_nearer_end_of_long_data, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_peer_is_side_one_if_it_connects, set_up, tear_down),
        cmocka_unit_test_setup_teardown(packets_are_at_the_time_of_day, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_crafted_connection_shows_its_packets_only, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_peer_was_heard_if_it_sent_something, set_up, tear_down),
        cmocka_unit_test_setup_teardown(octets_are_read_from_any_position, set_up, tear_down),
        cmocka_unit_test_setup_teardown(so_many_lines_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(remarks_are_found_by_their_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_log_says_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cut_takes_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(packets_take_their_length, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
