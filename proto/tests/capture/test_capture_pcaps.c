/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/capture.h"
#include "iwarp/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef IW_PCAPS_DIR
#define IW_PCAPS_DIR IW_SOURCE_DIR "/pcaps/siw"
#endif

/* Captures of another stack. The numbers come from tshark: frames, and of each connection the
 * highest tcp.seq + tcp.len - 1 of each direction. */
struct sample {
    const char *file;
    uint64_t frames;
    size_t connections;
    uint64_t octets[2][2]; /* connection, direction */
    bool aborted;
};

static const struct sample samples[] = {
    {"siw-rping-64B-crcoff", 60, 1, {{844, 1104}}, false},
    {"siw-rping-64B-crcon", 60, 1, {{844, 1104}}, false},
    {"siw-rping-16K-crcon", 167, 1, {{50136, 50292}}, false},
    {"siw-rping-p2p-crcon", 42, 1, {{536, 672}}, false},
    {"siw-rdma_server-crcoff", 13, 1, {{64, 64}}, false},
    {"siw-rdma_server-crcon", 13, 1, {{64, 64}}, false},
    {"siw-ib_send_lat-64B-crcon", 151, 2, {{708, 708}, {4424, 4424}}, false},
    {"siw-ib_write_bw-32K-crcon", 751, 2, {{868, 868}, {664584, 24}}, false},
    {"siw-ib_read_bw-32K-crcon", 854, 2, {{868, 868}, {1064, 664584}}, false},
    {"siw-ucmatose-responder-first-crcon", 28, 1, {{24, 1264}}, true},
};

enum { WINDOW = 65536, START = 16 };

/* One direction put together: its first octets and how many there are. */
struct direction {
    struct iw_stream stream;
    uint8_t window[WINDOW];
    uint8_t start[START];
    uint64_t octets;
    uint64_t fin;
};

struct rebuilt {
    struct direction direction[2][2];
};

static int rebuild(void *context, const struct iw_segment *s)
{
    struct rebuilt *r = context;
    assert_true(s->connection->number < 2);
    struct direction *d = &r->direction[s->connection->number][s->direction];
    if (s->kind == IW_SEGMENT_SYN)
        iw_stream_init(&d->stream, d->window, sizeof(d->window), 0);
    if (s->kind == IW_SEGMENT_FIN)
        d->fin = s->pos;
    if (s->kind != IW_SEGMENT_DATA)
        return 0;
    assert_int_equal(s->missing, 0);
    assert_int_equal(iw_stream_put(&d->stream, s->pos, s->data, s->length), 0);
    const uint8_t *data;
    size_t held = iw_stream_peek(&d->stream, &data);
    for (size_t i = 0; i < held && d->octets + i < START; i++)
        d->start[d->octets + i] = data[i];
    d->octets += held;
    iw_stream_consume(&d->stream, held);
    return 0;
}

static void check_sample(const struct sample *sample)
{
    char path[500], error[IW_CAPTURE_ERROR] = "";
    struct iw_capture_counts counts;
    struct rebuilt *r = calloc(1, sizeof(*r));
    assert_non_null(r);
    struct iw_capture_connections *t = iw_capture_connections_new(2, rebuild, r);
    assert_non_null(t);
    snprintf(path, sizeof(path), "%s/%s.pcap", IW_PCAPS_DIR, sample->file);
    int result = iw_capture_walk(path, t, &counts, error);
    assert_string_equal(error, "");
    assert_int_equal(result, 0);
    assert_int_equal(counts.frames, sample->frames);
    assert_int_equal(counts.decoded[IW_DECODE_TCP], sample->frames);
    assert_int_equal(counts.ignored, 0);
    assert_int_equal(iw_capture_connections_count(t), sample->connections);
    for (size_t i = 0; i < sample->connections; i++) {
        const struct iw_capture_connection *c = iw_capture_connections_get(t, i);
        const uint8_t initiator[4] = {10, 9, 0, 2};
        assert_memory_equal(c->address[0].octets, initiator, 4);
        assert_true(c->syn[0] && c->syn[1]);
        assert_int_equal(c->reset, sample->aborted);
        for (unsigned side = 0; side < 2; side++) {
            const struct direction *d = &r->direction[i][side];
            assert_int_equal(d->octets, sample->octets[i][side]);
            assert_false(iw_stream_gap(&d->stream));
            assert_int_equal(d->stream.conflicts, 0);
            if (!sample->aborted)
                assert_int_equal(d->fin, d->octets);
            /* The keys of RFC 5044 §7.1.1. */
            assert_memory_equal(d->start, side == 0 ? "MPA ID Req Frame" : "MPA ID Rep Frame",
                                START);
        }
    }
    iw_capture_connections_free(t);
    free(r);
}

static void captures_of_another_stack(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        check_sample(&samples[i]);
}

static int stop_at_data(void *context, const struct iw_segment *s)
{
    unsigned *segments = context;
    ++*segments;
    return s->kind == IW_SEGMENT_DATA ? 7 : 0;
}

static int pass(void *context, const struct iw_segment *s)
{
    (void)context;
    (void)s;
    return 0;
}

static void walk_ignores_and_stops(void **state)
{
    (void)state;
    const char *path = IW_PCAPS_DIR "/siw-ib_send_lat-64B-crcon.pcap";
    char error[IW_CAPTURE_ERROR] = "";
    struct iw_capture_counts counts;
    struct iw_capture_connections *t = iw_capture_connections_new(1, pass, NULL);
    assert_int_equal(iw_capture_walk(path, t, &counts, error), 0);
    assert_int_equal(counts.frames, 151);
    assert_int_equal(counts.ignored, 113);
    iw_capture_connections_free(t);

    unsigned segments = 0;
    t = iw_capture_connections_new(2, stop_at_data, &segments);
    assert_int_equal(iw_capture_walk(path, t, &counts, error), 7);
    assert_int_equal(segments, 3);
    assert_int_equal(counts.frames, 4);
    assert_string_equal(error, "");
    iw_capture_connections_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captures_of_another_stack),
        cmocka_unit_test(walk_ignores_and_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
