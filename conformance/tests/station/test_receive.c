/* SPDX-License-Identifier: BSD-3-Clause */
/* What the station makes of what it receives, and how much it holds. */
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
#include <sys/socket.h>

#include "hex.h"
#include "iwarp/transport.h"
#include "station/station_internal.h"

#define REPLY "4d504120494420526570204672616d65 00010000"
#define SEND_1 "00124143 00000000 00000000 00000001 00000000 587be8c4"

static const uint64_t never = UINT64_MAX; /* what has to come comes */

static struct iw_exchange *x;
static struct iw_station *s;
static struct iw_conn *c;
static int peer;
static char *trace_text;
static size_t trace_size;
static FILE *trace;

/* A connection on which a start-up without CRCs was begun, if `request`. */
static int connected(const char *request)
{
    const struct iw_craft_options plain = {.mss = 0};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char error[256];

    x = iw_exchange_create();
    trace = open_memstream(&trace_text, &trace_size);
    s = iw_station_create(x, NULL, trace);
    if (bind(listener, (struct sockaddr *)&at, length) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&at, &length))
        return -1;
    c = iw_station_connect(s, "127.0.0.1", ntohs(at.sin_port), &plain, never, error, sizeof(error));
    peer = accept(listener, NULL, NULL);
    close(listener);
    if (c == NULL || peer < 0)
        return -1;
    if (request != NULL) {
        uint8_t octets[64];
        size_t n = hex_octets(request, octets, sizeof(octets));
        iw_conn_send_startup(c, octets, n, NULL, never);
        if (recv(peer, octets, n, MSG_WAITALL) != (ssize_t)n)
            return -1;
    }
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return connected("4d504120494420526571204672616d65 00010000");
}

static int set_up_silent(void **state)
{
    (void)state;
    return connected(NULL);
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

static void ends(void)
{
    close(peer);
    peer = -1;
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
    iw_conn_drop(c);
}

static void assert_trace_ends(const char *expected)
{
    fflush(trace);
    size_t n = strlen(trace_text), m = strlen(expected);
    assert_true(n >= m);
    assert_string_equal(trace_text + n - m, expected);
}

/* ---- items ---- */

static void messages_are_put_together(void **state)
{
    (void)state;
    gives(REPLY);
    comes("0..20 mpa reply rev 1 pd 0");
    gives("0014 0143 00000000 00000000 00000001 00000000 6162 0000 8cd7c2aa");
    gives("0016 4143 00000000 00000000 00000001 00000002 63646566 00000000");
    gives(SEND_1);
    const struct iw_item *item = iw_conn_next(c, never);
    assert_int_equal(item->kind, IW_ITEM_MESSAGE);
    assert_int_equal(item->n_segments, 2);
    assert_int_equal(item->length, 42);
    assert_memory_equal(item->octets + 18, "ab", 2);
    assert_memory_equal(item->octets + 38, "cdef", 4);
    assert_int_equal(item->segments[0].offset, 0);
    assert_int_equal(item->segments[0].length, 20);
    assert_int_equal(item->segments[0].position, 20);
    assert_int_equal(item->segments[1].offset, 20);
    assert_int_equal(item->segments[1].length, 22);
    assert_int_equal(item->segments[1].position, 48);
    assert_false(item->segments[1].crc_good);
    comes("20..76 send msn 1 mo 0 len 2 and 1 more segments, 42 octets of ULPDU in all");
    comes("76..100 send L msn 1 mo 0 len 0");
    assert_null(iw_conn_next(c, 0));
    iw_conn_drop(c); /* of nothing */
    ends();
    comes("100..100 fin");
    assert_null(iw_conn_next(c, never));
    assert_trace_ends("\n0 < fin\n");
    const struct iw_exchange_line *line = iw_exchange_lines(x)->next;
    assert_int_equal(line->kind, IW_LINE_STARTUP);
    assert_int_equal(line->next->kind, IW_LINE_FPDU);
    assert_true(line->next->from_peer);
    assert_int_equal(line->next->start, 20);
    assert_int_equal(line->next->position, 20);
    assert_int_equal(line->next->end, 76);
    assert_int_equal(line->next->next->next->kind, IW_LINE_END);
}

/* A message is cut off by a segment that cannot be its next one, and by the end. */
static void another_message_cuts_one_off(void **state)
{
    static const char *const others[][2] = {
        /* of another queue */
        {"00124147 00000000 00000002 00000001 00000000 00000000", "terminate"},
        {"00124141 00000000 00000001 00000001 00000000 00000000", "read-request"},
        /* tagged */
        {"000ec140 00000000 00000000 00000000 00000000", "write"},
    };

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        (void)state;
        gives(REPLY);
        comes("0..20 mpa reply rev 1 pd 0");
        gives("0014 0143 00000000 00000000 00000001 00000000 6162 0000 00000000");
        gives(others[i][0]);
        comes("20..48 send msn 1 mo 0 len 2");
        assert_int_equal(iw_conn_next(c, never)->position, 48);
        tear_down(NULL);
        assert_int_equal(set_up(NULL), 0);
    }
    gives(REPLY);
    comes("0..20 mpa reply rev 1 pd 0");
    /* Of a lower queue. */
    gives("0012 0141 00000000 00000001 00000001 00000000 00000000");
    gives("0012 0143 00000000 00000000 00000001 00000000 00000000");
    const struct iw_item *part = iw_conn_next(c, never);
    assert_int_equal(part->n_segments, 1);
    assert_int_equal(part->end, 44);
    iw_conn_drop(c);
    /* Two tagged ones of different kinds, then the end. */
    gives("000e8140 00000000 00000000 00000000 00000000");
    gives("000e8142 00000000 00000000 00000000 00000000");
    gives("000e8142 00000000 00000000 00000000 00000000");
    ends();
    comes("44..68 send msn 1 mo 0 len 0");
    comes("68..88 write stag 00000000 to 0 len 0");
    comes("88..128 read-response stag 00000000 to 0 len 0 and 1 more segments, 28 octets of ULPDU "
          "in all");
    comes("128..128 fin");
}

static void octets_that_are_no_frame_are_lost(void **state)
{
    (void)state;
    gives("4d504120494420526570204672616d66 00010000");
    const struct iw_item *item = iw_conn_next(c, never);
    assert_int_equal(item->kind, IW_ITEM_LOST);
    char text[64];
    assert_int_equal(iw_item_print(item, text, sizeof(text)), 23);
    assert_string_equal(text, "octets that are no FPDU");
    const struct iw_exchange_line *line = iw_exchange_lines(x)->next;
    assert_int_equal(line->kind, IW_LINE_OCTETS);
    assert_int_equal(iw_station_findings(s)->connection, 0);
    assert_true(iw_station_findings(s)->fault.pos >= 15);
}

/* The whole text is longer than the room. */
static void a_printed_item_fits_its_room(void **state)
{
    struct iw_item_segment segments[2] = {{.length = 18}, {.length = 18}};
    uint8_t octets[36] = {0x41, 0x43};
    const struct iw_item item = {.kind = IW_ITEM_MESSAGE,
                                 .octets = octets,
                                 .length = 36,
                                 .segments = segments,
                                 .n_segments = 2};
    static const char whole[] =
        "send L msn 0 mo 0 len 0 and 1 more segments, 36 octets of ULPDU in all";

    (void)state;
    for (size_t room = 1; room <= sizeof(whole) + 1; room++) {
        char text[sizeof(whole) + 2];

        memset(text, 'x', sizeof(text));
        assert_int_equal(iw_item_print(&item, text, room), strlen(whole));
        size_t kept = room > strlen(whole) ? strlen(whole) : room - 1;
        assert_memory_equal(text, whole, kept);
        assert_int_equal(text[kept], 0);
        assert_int_equal(text[room], 'x');
    }
}

/* ---- how much is held ---- */

static void seen(enum iw_observed kind, size_t captured, bool last)
{
    static uint8_t ulpdu[1 << 20];
    struct iw_observation o = {.kind = kind,
                               .side = iw_conn_peer_side(c),
                               .ulpdu = ulpdu,
                               .ulpdu_captured = captured,
                               .fault.check = IW_CHECK_MPA_CRC};

    memset(ulpdu, 0, 18);
    ulpdu[0] = last ? 0x41 : 0x01;
    ulpdu[1] = 0x43;
    iw_wire_get_ddp(ulpdu, 18, &o.ddp);
    iw_conn_seen(c, &o);
}

/* The ones that wait stay in order, whenever the first is taken. */
static void items_wait_in_order(void **state)
{
    (void)state;
    seen(IW_OBSERVED_LOST, 0, false);
    seen(IW_OBSERVED_SEGMENT, 18, true);
    iw_conn_drop(c);
    seen(IW_OBSERVED_LOST, 0, false);
    assert_non_null(c->items);
    assert_int_equal(c->items->kind, IW_ITEM_MESSAGE);
    iw_conn_drop(c);
    assert_non_null(c->items);
    assert_int_equal(c->items->kind, IW_ITEM_LOST);
    iw_conn_drop(c);
    assert_null(c->items);
    seen(IW_OBSERVED_LOST, 0, false);
    assert_non_null(c->items);
}

static void items_are_bounded(void **state)
{
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < IW_STATION_ITEMS; i++)
        seen(IW_OBSERVED_LOST, 0, false);
    assert_false(iw_station_flooded(s));
    seen(IW_OBSERVED_LOST, 0, false);
    assert_true(iw_station_flooded(s));
    for (; c->items != NULL; n++)
        iw_conn_drop(c);
    assert_int_equal(n, 65536);
    seen(IW_OBSERVED_LOST, 0, false); /* there is room again */
    assert_non_null(c->items);
}

/* What fails again is counted, so that nothing else is lost behind it. */
static void repeated_findings_are_counted(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++)
        seen(IW_OBSERVED_FINDING, 0, false);
    const struct iw_station_finding *f = iw_station_findings(s);
    assert_int_equal(f->fault.check, IW_CHECK_MPA_CRC);
    assert_int_equal(f->count, 100000);
    assert_null(f->next);
    fflush(trace);
    assert_non_null(strstr(trace_text, "\n0 < finding: mpa-crc: "));
    /* What the station itself did is none of them. */
    struct iw_observation own = {
        .kind = IW_OBSERVED_FINDING, .side = IW_SIDE_INITIATOR, .fault.check = IW_CHECK_DDP_STAG};
    iw_conn_seen(c, &own);
    own.side = IW_SIDE_RESPONDER;
    own.fault = (struct iw_fault){IW_CHECK_DDP_STAG, 5, 6, 7};
    c->peer_base = 100;
    iw_conn_seen(c, &own);
    const struct iw_station_finding *last = iw_station_findings(s);
    while (last->next != NULL)
        last = last->next;
    assert_int_equal(last->fault.check, IW_CHECK_DDP_STAG);
    assert_int_equal(last->fault.pos, 105);
    assert_int_equal(last->fault.got, 6);
    assert_int_equal(last->fault.want, 7);
    assert_int_equal(last->count, 1);
}

static void a_message_is_bounded_in_octets(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++)
        seen(IW_OBSERVED_SEGMENT, 1 << 20, false);
    assert_false(iw_station_flooded(s));
    assert_false(c->state.ended);
    seen(IW_OBSERVED_SEGMENT, 18, false);
    assert_true(iw_station_flooded(s));
    assert_true(c->state.ended);
    assert_null(c->partial);
    assert_null(c->items);
}

static void a_message_is_bounded_in_segments(void **state)
{
    (void)state;
    for (int i = 0; i < 8192; i++)
        seen(IW_OBSERVED_SEGMENT, 18, false);
    assert_false(iw_station_flooded(s));
    seen(IW_OBSERVED_SEGMENT, 18, false);
    assert_true(iw_station_flooded(s));
    assert_null(c->partial);
}

static void one_that_just_fits_comes_out(void **state)
{
    (void)state;
    for (int i = 0; i < 8191; i++)
        seen(IW_OBSERVED_SEGMENT, 18, false);
    seen(IW_OBSERVED_SEGMENT, 18, true);
    assert_false(iw_station_flooded(s));
    assert_null(c->partial);
    assert_int_equal(c->items->n_segments, 8192);
}

/* ---- streaming ---- */

static void streamed_octets_come_before_mpa(void **state)
{
    (void)state;
    iw_conn_streaming(c);
    gives("6162636465");
    assert_memory_equal(iw_conn_streamed(c, 5, never), "abcde", 5);
    assert_null(iw_conn_streamed(c, 6, 0));
    iw_conn_streamed_drop(c, 2);
    assert_memory_equal(iw_conn_streamed(c, 3, 0), "cde", 3);
    assert_null(iw_conn_streamed(c, 4, 0));
    gives("66" REPLY);
    assert_memory_equal(iw_conn_streamed(c, 24, never), "cdefMPA", 7);
    iw_conn_streamed_drop(c, 4);
    iw_conn_begin(c);
    assert_null(iw_conn_streamed(c, 1, never)); /* it is over */
    gives(SEND_1);
    comes("6..26 mpa reply rev 1 pd 0");
    comes("26..50 send L msn 1 mo 0 len 0");
    iw_conn_begin(c); /* once */
    ends();
    comes("50..50 fin");
}

static void an_end_waits_until_mpa_begins(void **state)
{
    (void)state;
    iw_conn_streaming(c);
    gives("6162 4d50");
    ends();
    assert_null(iw_conn_streamed(c, 5, never));
    assert_true(c->state.ended);
    assert_int_equal(c->items->kind, IW_ITEM_FIN);
    iw_conn_streamed_drop(c, 2);
    assert_null(iw_station_findings(s));
    iw_conn_begin(c);
    comes("4..4 fin");
    assert_null(c->items);
    assert_int_equal(iw_station_findings(s)->fault.pos, 4);
    assert_string_equal(iw_check_info(iw_station_findings(s)->fault.check)->name,
                        "mpa-startup-cut");
}

static void streamed_octets_are_bounded(void **state)
{
    static uint8_t octets[1 << 20];
    size_t given = 0;

    (void)state;
    iw_conn_streaming(c);
    while (given < sizeof(octets)) {
        size_t part = sizeof(octets) - given < 65536 ? sizeof(octets) - given : 65536;
        assert_int_equal(send(peer, octets, part, MSG_NOSIGNAL), part);
        given += part;
        assert_non_null(iw_conn_streamed(c, given, never));
    }
    assert_false(iw_station_flooded(s));
    assert_int_equal(send(peer, octets, 1, MSG_NOSIGNAL), 1);
    assert_null(iw_conn_streamed(c, given + 1, never));
    assert_true(iw_station_flooded(s));
    assert_true(c->state.ended);
}

/* ---- waiting ---- */

/* Connections are read until something else is there. */
static void waiting_for_another_reads_all_connections(void **state)
{
    int ends_of[2];

    (void)state;
    assert_int_equal(pipe(ends_of), 0);
    gives(REPLY);
    assert_false(iw_station_wait(s, ends_of[0], 0));
    while (c->items == NULL)
        assert_false(iw_station_wait(s, ends_of[0], iw_transport_now() + 1000000));
    assert_int_equal(c->items->kind, IW_ITEM_STARTUP);
    assert_int_equal(write(ends_of[1], "x", 1), 1);
    assert_true(iw_station_wait(s, ends_of[0], never));
    assert_true(iw_station_wait(s, ends_of[0], 0));
    ends();
    assert_true(iw_conn_drain(c, never));
    assert_true(iw_station_wait(s, ends_of[0], never)); /* it is not waited for any more */
    assert_true(iw_conn_drain(c, 0));
    close(ends_of[0]);
    close(ends_of[1]);
}

static void draining_ends_with_the_peer(void **state)
{
    (void)state;
    gives(REPLY);
    assert_false(iw_conn_drain(c, 0));
    gives(SEND_1);
    ends();
    assert_true(iw_conn_drain(c, never));
    comes("0..20 mpa reply rev 1 pd 0");
    comes("20..44 send L msn 1 mo 0 len 0");
    comes("44..44 fin");
}

/* What sockets cannot do. */
static void a_socket_is_not_crafted(void **state)
{
    (void)state;
    assert_false(iw_conn_segment(c, 0, "x", 1));
    assert_false(iw_conn_answered(c, never));
    assert_false(iw_conn_repeated(c, never));
    assert_false(iw_conn_acknowledge(c, false));
    assert_false(iw_conn_window(c, 7));
}

static void comments_stand_on_what_was_received(void **state)
{
    const struct iw_exchange_line line = {.from_peer = true, .position = 0, .end = 20};

    (void)state;
    gives(REPLY);
    iw_conn_next(c, never);
    iw_conn_comment_received(c, 7, "well");
    const struct iw_exchange_remark *r = iw_exchange_remark(x, &line, NULL);
    assert_string_equal(r->text, "well");
    assert_int_equal(r->position, 7);
    assert_null(iw_exchange_remark(x, &line, r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_are_put_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_message_cuts_one_off, set_up, tear_down),
        cmocka_unit_test_setup_teardown(octets_that_are_no_frame_are_lost, set_up, tear_down),
        cmocka_unit_test(a_printed_item_fits_its_room),
        cmocka_unit_test_setup_teardown(items_wait_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(items_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(repeated_findings_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_message_is_bounded_in_octets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_message_is_bounded_in_segments, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_just_fits_comes_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(streamed_octets_come_before_mpa, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_end_waits_until_mpa_begins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(streamed_octets_are_bounded, set_up_silent, tear_down),
        cmocka_unit_test_setup_teardown(waiting_for_another_reads_all_connections, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(draining_ends_with_the_peer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_socket_is_not_crafted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(comments_stand_on_what_was_received, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
