/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/capture.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SYN = IW_TCP_SYN, ACK = IW_TCP_ACK, FIN = IW_TCP_FIN, RST = IW_TCP_RST };

/* The segments that the table reports, one word per segment: connection, direction, kind, position,
 * octets. */
static char listed[1000];
static uint64_t frames;

static int note(void *context, const struct iw_segment *s)
{
    (void)context;
    static const char kinds[] = {'S', 'D', 'F', 'R', 'A'};
    size_t at = strlen(listed);
    snprintf(listed + at, sizeof(listed) - at, "%" PRIu64 "%c%c%" PRIu64 ":%.*s",
             s->connection->number, s->direction == 0 ? '>' : '<', kinds[s->kind], s->pos,
             (int)s->length, s->length != 0 ? (const char *)s->data : "");
    at = strlen(listed);
    if (s->missing != 0)
        snprintf(listed + at, sizeof(listed) - at, "+%" PRIu32 " ", s->missing);
    else
        snprintf(listed + at, sizeof(listed) - at, " ");
    assert_int_equal(s->frame->number, frames);
    return s->length == 4 && memcmp(s->data, "stop", 4) == 0 ? 7 : 0;
}

static struct iw_address host(uint8_t family, uint8_t number)
{
    return (struct iw_address){.family = family, .octets = {10, 0, 0, number}};
}

/* One frame of host `from` (port 1000 + from) to host `to`. */
static int add(struct iw_capture_connections *t, uint8_t from, uint8_t to, uint8_t flags,
               uint32_t seq, uint32_t ack, const char *data, uint32_t missing)
{
    const struct iw_frame frame = {.number = ++frames};
    const struct iw_packet packet = {.source = host(4, from),
                                     .destination = host(4, to),
                                     .source_port = (uint16_t)(1000 + from),
                                     .destination_port = (uint16_t)(1000 + to),
                                     .seq = seq,
                                     .ack = ack,
                                     .flags = flags,
                                     .payload = (const uint8_t *)data,
                                     .length = (uint32_t)strlen(data),
                                     .missing = missing};
    return iw_capture_connections_add(t, &frame, &packet);
}

static struct iw_capture_connections *start(size_t limit)
{
    listed[0] = '\0';
    frames = 0;
    struct iw_capture_connections *t = iw_capture_connections_new(limit, note, NULL);
    assert_non_null(t);
    return t;
}

static void whole_connection(void **state)
{
    (void)state;
    struct iw_capture_connections *t = start(1);
    add(t, 1, 2, SYN, 0xfffffffe, 0, "", 0);
    add(t, 2, 1, SYN | ACK, 500, 0xffffffff, "", 0);
    add(t, 1, 2, ACK, 0xffffffff, 501, "", 0);
    add(t, 1, 2, ACK, 0xffffffff, 501, "abcd", 0);
    add(t, 2, 1, ACK, 501, 3, "xy", 0);
    add(t, 1, 2, ACK | FIN, 3, 503, "ef", 0);
    add(t, 2, 1, ACK | FIN, 503, 6, "", 0);
    add(t, 1, 2, ACK, 6, 504, "", 0);
    assert_string_equal(listed, "0>S0: 0<S0: 0>D0:abcd 0<D0:xy 0>D4:ef 0>F6: 0<F2: ");
    assert_int_equal(iw_capture_connections_count(t), 1);
    const struct iw_capture_connection *c = iw_capture_connections_get(t, 0);
    assert_int_equal(c->port[0], 1001);
    assert_int_equal(c->port[1], 1002);
    assert_int_equal(c->address[1].octets[3], 2);
    assert_true(c->syn[0] && c->syn[1] && c->fin[0] && c->fin[1] && !c->reset);
    assert_int_equal(c->first_frame, 1);
    assert_int_equal(c->last_frame, 8);
    assert_null(iw_capture_connections_get(t, 1));
    iw_capture_connections_free(t);
    iw_capture_connections_free(NULL);
}

static void any_order_and_missing_octets(void **state)
{
    (void)state;
    struct iw_capture_connections *t = start(1);
    add(t, 1, 2, SYN, 99, 0, "", 0);
    add(t, 1, 2, ACK, 104, 0, "ef", 0);
    add(t, 1, 2, ACK, 100, 0, "abcd", 0);
    add(t, 1, 2, SYN, 99, 0, "", 0);
    add(t, 1, 2, ACK, 100, 0, "abcdef", 0);
    add(t, 1, 2, ACK, 106, 0, "g", 3);
    add(t, 1, 2, ACK, 110, 0, "", 2);
    assert_string_equal(listed, "0>S0: 0>D4:ef 0>D0:abcd 0>S0: 0>D0:abcdef 0>D6:g+3 0>D10:+2 ");
    iw_capture_connections_free(t);
}

/* Keep-alives and what was sent before the first frame lie before position 0. */
static void before_position_0(void **state)
{
    (void)state;
    struct iw_capture_connections *t = start(1);
    add(t, 1, 2, SYN, 0xffffffff, 0, "", 0);
    add(t, 1, 2, ACK, 0xffffffff, 0, "", 0);
    add(t, 1, 2, ACK, 0xffffffff, 0, "?", 0);
    add(t, 1, 2, ACK, 0xfffffffd, 0, "???abc", 0);
    add(t, 1, 2, ACK, 0xfffffffe, 0, "?", 4);
    assert_string_equal(listed, "0>S0: 0>D0:abc 0>D0:+3 ");
    iw_capture_connections_free(t);
}

static void without_syn(void **state)
{
    (void)state;
    struct iw_capture_connections *t = start(3);
    /* First sender. */
    add(t, 1, 2, ACK, 70, 80, "ab", 0);
    add(t, 2, 1, ACK, 80, 72, "cd", 0);
    add(t, 1, 2, ACK | RST, 72, 82, "", 0);
    /* SYN/ACK: the other side opened, and its numbers are known from the acknowledgment. */
    add(t, 4, 3, SYN | ACK, 500, 71, "", 0);
    add(t, 3, 4, ACK, 73, 501, "cd", 0);
    add(t, 3, 4, ACK, 71, 501, "ab", 0);
    assert_string_equal(listed, "0>D0:ab 0<D0:cd 0>R2: 1<S0: 1>D2:cd 1>D0:ab ");
    assert_int_equal(iw_capture_connections_get(t, 1)->port[0], 1003);
    assert_true(iw_capture_connections_get(t, 0)->reset);
    assert_false(iw_capture_connections_get(t, 0)->syn[0]);
    iw_capture_connections_free(t);
}

static void port_reuse(void **state)
{
    (void)state;
    struct iw_capture_connections *t = start(4);
    add(t, 1, 2, SYN, 10, 0, "", 0);
    add(t, 2, 1, ACK | RST, 0, 11, "", 0);
    /* Closed: even the same number makes a new one. The other side may open it. */
    add(t, 1, 2, SYN, 10, 0, "", 0);
    add(t, 2, 1, SYN | ACK, 20, 11, "", 0);
    add(t, 1, 2, ACK | FIN, 11, 21, "", 0);
    add(t, 2, 1, ACK | FIN, 21, 12, "", 0);
    add(t, 2, 1, SYN, 30, 0, "", 0);
    /* Not closed, but another number. */
    add(t, 2, 1, SYN, 40, 0, "", 0);
    add(t, 1, 2, SYN | ACK, 50, 41, "", 0);
    add(t, 2, 1, ACK, 41, 51, "x", 0);
    assert_string_equal(listed, "0>S0: 0<R0: 1>S0: 1<S0: 1>F0: 1<F0: 2>S0: 3>S0: 3<S0: 3>D0:x ");
    iw_capture_connections_free(t);
}

static void bounded_and_stopped(void **state)
{
    (void)state;
    struct iw_capture_connections *t = start(2);
    assert_int_equal(add(t, 1, 2, SYN, 10, 0, "", 0), 0);
    assert_int_equal(add(t, 1, 3, SYN, 10, 0, "", 0), 0);
    assert_int_equal(add(t, 1, 4, SYN, 10, 0, "", 0), -1);
    assert_int_equal(add(t, 1, 2, SYN, 11, 0, "", 0), -1);
    assert_int_equal(add(t, 3, 1, SYN | ACK, 20, 11, "stop", 0), 7);
    assert_string_equal(listed, "0>S0: 1>S0: 1<S0: 1<D0:stop ");
    assert_int_equal(iw_capture_connections_count(t), 2);
    iw_capture_connections_free(t);
}

/* Every member of the two endpoints distinguishes connections; the sides' order does not. */
static void endpoints(void **state)
{
    (void)state;
    struct iw_capture_connections *t = start(300);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 256; i++) {
            const struct iw_frame frame = {.number = ++frames};
            struct iw_packet p = {.source = host(i & 1 ? 6 : 4, (uint8_t)(i & 2)),
                                  .destination = host(i & 1 ? 6 : 4, (uint8_t)(i & 12)),
                                  .source_port = (uint16_t)(i & 48),
                                  .destination_port = (uint16_t)(i & 192)};
            if (round == 1) {
                struct iw_packet q = p;
                p.source = q.destination;
                p.destination = q.source;
                p.source_port = q.destination_port;
                p.destination_port = q.source_port;
            }
            p.flags = ACK;
            assert_int_equal(iw_capture_connections_add(t, &frame, &p), 0);
        }
    }
    /* No two of them are the same with the sides exchanged. */
    assert_int_equal(iw_capture_connections_count(t), 256);
    iw_capture_connections_free(t);
}

static void drop(void *context, struct iw_capture_connection *c)
{
    (void)context;
    size_t at = strlen(listed);
    snprintf(listed + at, sizeof(listed) - at, "-%" PRIu64 " ", c->number);
}

static void recycled(void **state)
{
    (void)state;
    struct iw_capture_connections *t = start(3);
    iw_capture_connections_recycle(t, drop);
    for (uint8_t i = 1; i <= 3; i++)
        add(t, i, 9, SYN, 1, 0, "", 0);
    add(t, 1, 9, ACK, 2, 0, "a", 0);
    add(t, 4, 9, SYN, 1, 0, "", 0); /* in the place of 2 (number 1), then of 3 */
    add(t, 1, 9, ACK, 3, 0, "b", 0);
    add(t, 5, 9, SYN, 1, 0, "", 0);
    assert_string_equal(listed, "0>S0: 1>S0: 2>S0: 0>D0:a -1 3>S0: 0>D1:b -2 4>S0: ");
    assert_int_equal(iw_capture_connections_count(t), 3);
    /* One of the dropped comes again, as another one; the least used has a user. */
    assert_null(iw_capture_connections_oldest_used(t));
    iw_capture_connections_get(t, 0)->user = listed;
    assert_ptr_equal(iw_capture_connections_oldest_used(t), iw_capture_connections_get(t, 0));
    listed[0] = '\0';
    add(t, 2, 9, ACK, 7, 0, "c", 0);
    assert_string_equal(listed, "-3 5>D0:c ");
    assert_ptr_equal(iw_capture_connections_oldest_used(t), iw_capture_connections_get(t, 0));
    iw_capture_connections_free(t);
}

/* The one dropped may be the earlier one between the same endpoints. */
static void recycled_by_its_successor(void **state)
{
    (void)state;
    struct iw_capture_connections *t = start(1);
    iw_capture_connections_recycle(t, drop);
    for (uint32_t i = 0; i < 3; i++)
        add(t, 1, 2, SYN, i, 0, "", 0);
    add(t, 2, 1, SYN | ACK, 7, 3, "", 0);
    assert_string_equal(listed, "0>S0: -0 1>S0: -1 2>S0: 2<S0: ");
    iw_capture_connections_free(t);
}

/* Many, whatever their hashes are: each is found again, the oldest are dropped in order. */
static void thousands(void **state)
{
    (void)state;
    enum { MANY = 5000, HELD = 2000 };
    struct iw_capture_connections *t = start(HELD);
    iw_capture_connections_recycle(t, drop);
    for (unsigned i = 0; i < MANY; i++) {
        listed[0] = '\0';
        char expected[40];
        const struct iw_frame frame = {.number = ++frames};
        struct iw_packet packet = {.source = host(6, 1),
                                   .destination = host(6, 2),
                                   .source_port = (uint16_t)i,
                                   .flags = ACK,
                                   .payload = (const uint8_t *)"x",
                                   .length = 1};
        assert_int_equal(iw_capture_connections_add(t, &frame, &packet), 0);
        if (i >= HELD)
            snprintf(expected, sizeof(expected), "-%u %u>D0:x ", i - HELD, i);
        else
            snprintf(expected, sizeof(expected), "%u>D0:x ", i);
        assert_string_equal(listed, expected);
    }
    iw_capture_connections_free(t);
}

static void acknowledgements(void **state)
{
    (void)state;
    struct iw_capture_connections *t = start(1);
    iw_capture_connections_tell_acks(t);
    add(t, 1, 2, SYN, 0xfffffffe, 0, "", 0);
    add(t, 2, 1, SYN | ACK, 500, 0xffffffff, "", 0);
    add(t, 1, 2, ACK, 0xffffffff, 501, "abcd", 0);
    add(t, 2, 1, ACK, 501, 3, "xy", 0);      /* the acknowledgement comes first */
    add(t, 1, 2, ACK, 3, 510, "", 0);        /* of octets that are not here */
    add(t, 1, 2, ACK, 3, 501 - 7, "", 0);    /* of nothing */
    add(t, 1, 2, ACK, 3, 0x70000000, "", 0); /* beyond any window */
    add(t, 1, 2, 0, 3, 502, "", 0);          /* without the flag it is none */
    add(t, 2, 1, ACK | FIN, 503, 3, "", 0);
    add(t, 1, 2, ACK, 3, 504, "", 0); /* a FIN is no octet */
    add(t, 1, 2, ACK | RST, 3, 504, "", 0);
    assert_string_equal(listed,
                        "0>S0: 0<S0: 0>D0:abcd 0<A4: 0<D0:xy 0>A9: 0<A4: 0<F2: 0>A2: 0>R4: ");
    iw_capture_connections_free(t);
}

/* All of one side comes first: its handshake's end says where the other one begins. */
static void acknowledgements_first(void **state)
{
    (void)state;
    struct iw_capture_connections *t = start(2);
    iw_capture_connections_tell_acks(t);
    add(t, 1, 2, SYN, 10, 0, "", 0);
    add(t, 1, 2, ACK, 11, 51, "", 0);
    add(t, 1, 2, ACK, 11, 51, "a", 0);
    add(t, 1, 2, ACK, 12, 54, "b", 0);
    add(t, 2, 1, SYN | ACK, 50, 11, "", 0);
    add(t, 2, 1, ACK, 51, 12, "xyz", 0);
    assert_string_equal(listed, "0>S0: 0>D0:a 0>A3: 0>D1:b 0<S0: 0<A1: 0<D0:xyz ");
    assert_int_equal(iw_capture_connections_count(t), 1);
    iw_capture_connections_free(t);
    /* An acknowledgement that follows octets of its own is no evidence. */
    t = start(2);
    iw_capture_connections_tell_acks(t);
    add(t, 1, 2, SYN, 10, 0, "", 0);
    add(t, 1, 2, ACK, 12, 54, "b", 0);
    add(t, 1, 2, ACK, 11, 51, "a", 0);
    add(t, 2, 1, ACK, 51, 12, "xyz", 0);
    assert_string_equal(listed, "0>S0: 0>D1:b 0>D0:a 0<A1: 0<D0:xyz ");
    iw_capture_connections_free(t);
}

/* Both sides send a SYN at the same time (RFC 9293 §3.5). */
static void simultaneous_open(void **state)
{
    (void)state;
    struct iw_capture_connections *t = start(2);
    add(t, 1, 2, SYN, 10, 0, "", 0);
    add(t, 2, 1, SYN, 50, 0, "", 0);
    add(t, 1, 2, SYN | ACK, 10, 51, "", 0);
    add(t, 2, 1, SYN | ACK, 50, 11, "", 0);
    add(t, 1, 2, ACK, 11, 51, "a", 0);
    add(t, 2, 1, ACK, 51, 12, "b", 0);
    assert_string_equal(listed, "0>S0: 0<S0: 0>S0: 0<S0: 0>D0:a 0<D0:b ");
    assert_int_equal(iw_capture_connections_count(t), 1);
    iw_capture_connections_free(t);
}

/* The SYN of a new connection between the same endpoints was not captured, its answer was. */
static void reuse_without_syn(void **state)
{
    (void)state;
    struct iw_capture_connections *t = start(2);
    add(t, 1, 2, SYN, 10, 0, "", 0);
    add(t, 2, 1, SYN | ACK, 50, 11, "", 0);
    add(t, 2, 1, SYN | ACK, 90, 31, "", 0);
    add(t, 1, 2, ACK, 31, 91, "a", 0);
    assert_string_equal(listed, "0>S0: 0<S0: 1<S0: 1>D0:a ");
    iw_capture_connections_free(t);
}

/* Keep-alives repeat an octet, or make one up; a probe of a closed window has the next one. */
static void probes(void **state)
{
    (void)state;
    struct iw_capture_connections *t = start(1);
    add(t, 1, 2, SYN, 10, 0, "", 0);
    add(t, 1, 2, ACK, 10, 0, "?", 0);
    add(t, 1, 2, ACK, 11, 0, "ab", 0);
    add(t, 1, 2, ACK, 12, 0, "?", 0);
    add(t, 1, 2, ACK, 12, 0, "", 0);
    add(t, 1, 2, ACK, 13, 0, "c", 0);
    add(t, 1, 2, ACK | 0x20, 13, 0, "cd", 0); /* URG: octets like any others */
    assert_string_equal(listed, "0>S0: 0>D0:ab 0>D1:? 0>D2:c 0>D2:cd ");
    iw_capture_connections_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_connection),
        cmocka_unit_test(any_order_and_missing_octets),
        cmocka_unit_test(before_position_0),
        cmocka_unit_test(without_syn),
        cmocka_unit_test(port_reuse),
        cmocka_unit_test(bounded_and_stopped),
        cmocka_unit_test(endpoints),
        cmocka_unit_test(recycled),
        cmocka_unit_test(recycled_by_its_successor),
        cmocka_unit_test(thousands),
        cmocka_unit_test(acknowledgements),
        cmocka_unit_test(acknowledgements_first),
        cmocka_unit_test(simultaneous_open),
        cmocka_unit_test(reuse_without_syn),
        cmocka_unit_test(probes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
