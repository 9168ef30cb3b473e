/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames that are taken several at a time, and what is foretold of them. */
#include "iwarp/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 80, MANY = 40 };

/* Frames of raw IP, to be taken. */
static struct iw_frame frames[ROOM];
static uint8_t octets[ROOM][80];
static size_t count;
static uint64_t number;

/* Adds a segment between a host, port 1000, and the host 10.9.9.9, port 4711. */
static void add(uint8_t family, uint8_t host, bool back, uint8_t flags, const char *data)
{
    struct iw_address address[2] = {{.family = family, .octets = {10, 0, 0, host}},
                                    {.family = family, .octets = {10, 9, 9, 9}}};
    const uint16_t port[2] = {1000, 4711};
    const struct iw_packet packet = {.source = address[back],
                                     .destination = address[!back],
                                     .source_port = port[back],
                                     .destination_port = port[!back],
                                     .seq = (flags & IW_TCP_SYN) != 0 ? 1 : 2,
                                     .flags = flags,
                                     .window = 1,
                                     .payload = (const uint8_t *)data,
                                     .length = (uint32_t)strlen(data)};
    size_t size = iw_packet_size(&packet);
    assert_true(count < ROOM && size <= sizeof(octets[0]));
    (void)iw_packet_put(octets[count], size, &packet);
    frames[count] = (struct iw_frame){.number = ++number,
                                      .link = IW_LINK_RAW,
                                      .data = octets[count],
                                      .length = (uint32_t)size,
                                      .original = (uint32_t)size};
    count++;
}

static unsigned seen;

static int see(void *context, const struct iw_segment *s)
{
    (void)context;
    seen++;
    return s->length == 4 && memcmp(s->data, "stop", 4) == 0 ? 7 : 0;
}

/* What was foretold, one word for each: the host, direction, and whether octets come. */
static char foretold[200];

static void soon(const struct iw_capture_connection *c, unsigned direction, bool data)
{
    size_t length = strlen(foretold);
    snprintf(foretold + length, sizeof(foretold) - length, "%c%c%c ", 'a' + c->address[0].octets[3],
             direction == 0 ? '>' : '<', data ? '+' : '-');
}

struct table {
    struct iw_capture_connections *connections;
    struct iw_fragments *fragments;
    struct iw_capture_counts counts;
};

static struct table begin(size_t limit)
{
    struct table t = {.connections = iw_capture_connections_new(limit, see, NULL),
                      .fragments = iw_fragments_new()};
    assert_non_null(t.connections);
    assert_non_null(t.fragments);
    count = 0;
    number = seen = 0;
    foretold[0] = '\0';
    return t;
}

static int take(struct table *t)
{
    int result = 0;
    for (size_t at = 0; at < count && result == 0; at += IW_CAPTURE_BATCH)
        result = iw_capture_connections_take(
            t->connections, t->fragments, frames + at,
            count - at < IW_CAPTURE_BATCH ? count - at : IW_CAPTURE_BATCH, &t->counts);
    count = 0;
    return result;
}

static void end(struct table *t)
{
    iw_capture_connections_free(t->connections);
    iw_fragments_free(t->fragments);
}

static void segments_are_foretold(void **state)
{
    (void)state;
    int user;
    struct table t = begin(100);
    iw_capture_connections_foresee(t.connections, soon);
    for (uint8_t i = 0; i < 32; i++) {
        add(4, i, false, IW_TCP_SYN, "");
        assert_int_equal(take(&t), 0);
        iw_capture_connections_get(t.connections, i)->user = i % 2 == 0 ? &user : NULL;
    }
    add(4, 2, false, IW_TCP_ACK, "x");
    assert_int_equal(take(&t), 0);
    assert_string_equal(foretold, ""); /* so few are at hand anyway */
    for (unsigned i = 32; i < MANY; i++)
        add(4, (uint8_t)i, false, IW_TCP_SYN, "");
    assert_int_equal(take(&t), 0);
    assert_string_equal(foretold, "");
    add(4, 2, false, IW_TCP_ACK, "x");
    add(4, 3, false, IW_TCP_ACK, "x"); /* without a user */
    add(4, 2, true, IW_TCP_ACK, "");
    add(4, 99, false, IW_TCP_ACK, "x"); /* not known yet */
    add(4, 0, true, IW_TCP_ACK, "xy");
    frames[count - 1].length = 30; /* cut off in the TCP header */
    add(4, 30, true, IW_TCP_ACK, "xy");
    add(4, 8, false, IW_TCP_ACK, "");
    assert_int_equal(take(&t), 0);
    assert_string_equal(foretold, "c>+ c<- \x7f<+ i>- ");
    assert_int_equal(iw_capture_connections_count(t.connections), MANY + 1);
    for (uint8_t i = 0; i < 32; i += 2) {
        foretold[0] = '\0';
        add(4, i, true, IW_TCP_ACK, "z");
        assert_int_equal(take(&t), 0);
        assert_int_equal(foretold[0], 'a' + i);
        assert_string_equal(foretold + 1, "<+ ");
    }
    foretold[0] = '\0';
    iw_capture_connections_foresee(t.connections, NULL);
    add(4, 2, false, IW_TCP_ACK, "x");
    assert_int_equal(take(&t), 0);
    assert_string_equal(foretold, "");
    end(&t);
}

static void frames_are_counted(void **state)
{
    (void)state;
    struct table t = begin(1);
    add(4, 1, false, IW_TCP_SYN, "");
    add(4, 1, true, IW_TCP_SYN | IW_TCP_ACK, "");
    add(4, 2, false, IW_TCP_SYN, ""); /* one too many */
    add(4, 1, false, IW_TCP_ACK, "ab");
    frames[count - 1].link = IW_LINK_OTHER;
    add(4, 1, false, IW_TCP_ACK, "abc");
    assert_int_equal(take(&t), 0);
    assert_int_equal(t.counts.frames, 5);
    assert_int_equal(t.counts.ignored, 1);
    assert_int_equal(t.counts.decoded[IW_DECODE_TCP], 4);
    assert_int_equal(t.counts.decoded[IW_DECODE_NOT_IP], 1);
    assert_int_equal(seen, 3);
    /* What the call-back returns ends it. */
    add(4, 1, false, IW_TCP_ACK, "");
    add(4, 1, false, IW_TCP_ACK, "stop");
    add(4, 1, false, IW_TCP_ACK, "x");
    assert_int_equal(take(&t), 7);
    assert_int_equal(t.counts.frames, 7);
    end(&t);
}

/* Addresses of the two families with the same octets are not the same, whichever comes first. */
static void families_are_told_apart(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct table t = begin(10);
        add(first ? 6 : 4, 1, false, IW_TCP_SYN, "");
        add(first ? 4 : 6, 1, false, IW_TCP_SYN, "");
        add(first ? 6 : 4, 1, true, IW_TCP_SYN | IW_TCP_ACK, "");
        assert_int_equal(take(&t), 0);
        assert_int_equal(iw_capture_connections_count(t.connections), 2);
        assert_int_equal(iw_capture_connections_get(t.connections, 0)->address[0].family,
                         first ? 6 : 4);
        assert_int_equal(iw_capture_connections_get(t.connections, 1)->address[1].family,
                         first ? 4 : 6);
        assert_true(iw_capture_connections_get(t.connections, 0)->syn[1]);
        assert_false(iw_capture_connections_get(t.connections, 1)->syn[1]);
        end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_are_foretold),
        cmocka_unit_test(frames_are_counted),
        cmocka_unit_test(families_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
