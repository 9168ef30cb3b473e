/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/capture.h"
#include "iwarp/stream.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t noon = UINT64_C(1700000000000000000);

static struct iw_synth_tcp endpoints(uint8_t family, uint16_t mss)
{
    struct iw_synth_tcp tcp = {.port = {40000, 4420}, .isn = {0xfffffff0, 7}, .mss = mss};
    for (unsigned i = 0; i < 2; i++) {
        tcp.address[i].family = family;
        tcp.address[i].octets[0] = family == 4 ? 10 : 0xfd;
        tcp.address[i].octets[family == 4 ? 3 : 15] = (uint8_t)(i + 1);
    }
    return tcp;
}

static struct iw_synth *start(size_t limit)
{
    struct iw_synth *s = iw_synth_new(limit);
    assert_non_null(s);
    return s;
}

static int connect_at(struct iw_synth *s, struct iw_synth_tcp tcp, uint64_t now)
{
    struct iw_synth_span span;
    int c = iw_synth_connect(s, &tcp, now, &span);
    assert_true(c >= 0);
    return c;
}

static const char *write_out(const struct iw_synth *s, const char *comment)
{
    char error[IW_CAPTURE_ERROR] = "";
    const char *path = scratch_path("synth.pcapng");
    if (!iw_synth_write(s, path, "test", comment, error))
        fail_msg("%s", error);
    return path;
}

static void expect_span(struct iw_synth_span span, uint64_t first, uint64_t last)
{
    assert_int_equal(span.first, first);
    assert_int_equal(span.last, last);
}

/* The frames of a small exchange, octet for octet; checksums reckoned by hand. */
static void literal_frames(void **state)
{
    (void)state;
    static const uint8_t syn[] = {2,    0,    0,    0,    0,    2,    2,    0,
                                  0,    0,    0,    1,    0x08, 0x00, /* Ethernet */
                                  0x45, 0,    0,    48,   0,    1,    0x40, 0,
                                  64,   6,    0x26, 0xc5, 10,   0,    0,    1, /* IPv4 */
                                  10,   0,    0,    2,    0x9c, 0x40, 0x11, 0x44,
                                  0xff, 0xff, 0xff, 0xf0, /* TCP */
                                  0,    0,    0,    0,    0x70, 0x02, 0xff, 0xff,
                                  0xc2, 0xa0, 0,    0, /**/
                                  2,    4,    0x05, 0xb4, 1,    3,    3,    7};
    static const uint8_t data[] = {2,    0,    0,    0,    0,    1,    2,    0,
                                   0,    0,    0,    2,    0x08, 0x00, /* Ethernet */
                                   0x45, 0,    0,    43,   0,    2,    0x40, 0,
                                   64,   6,    0x26, 0xc9, 10,   0,    0,    2, /* IPv4 */
                                   10,   0,    0,    1,    0x11, 0x44, 0x9c, 0x40,
                                   0,    0,    0,    8, /* TCP */
                                   0xff, 0xff, 0xff, 0xf1, 0x50, 0x18, 0xff, 0xff,
                                   0x29, 0xe6, 0,    0,    'a',  'b',  'c'};
    struct iw_synth *s = start(10000);
    int c = connect_at(s, endpoints(4, 0), noon);
    expect_span(iw_synth_data(s, c, 1, noon + 5000, "abc", 3), 4, 4);
    size_t length;
    char *file = scratch_read(write_out(s, NULL), &length);
    /* Section with application "test", interface, then packets of 62, 62, 54 and 57 octets. */
    const char *first = file + 40 + 32 + 28, *last = first + 96 + 96 + 88;
    assert_int_equal(length, 72 + 96 + 96 + 88 + 92);
    assert_memory_equal(first, syn, sizeof(syn));
    assert_memory_equal(last, data, sizeof(data));
    free(file);
    iw_synth_free(s);
}

/* The running one's complement sum of RFC 1071, written apart from the synthesiser's. */
static unsigned fold(const uint8_t *data, size_t length, unsigned total)
{
    for (size_t i = 0; i < length; i++) {
        total += i % 2 == 0 ? (unsigned)data[i] << 8 : data[i];
        total = (total & 0xffff) + (total >> 16);
    }
    return total;
}

static void check_sums(const struct iw_frame *f)
{
    bool v4 = f->data[12] == 8;
    const uint8_t *ip = f->data + 14;
    const uint8_t *tcp = ip + (v4 ? 20 : 40);
    unsigned length = (unsigned)(f->data + f->length - tcp);
    if (v4)
        assert_int_equal(fold(ip, 20, 0), 0xffff);
    unsigned total = fold(v4 ? ip + 12 : ip + 8, v4 ? 8 : 32, 6 + length);
    assert_int_equal(fold(tcp, length, total), 0xffff);
}

/* Frames and connections of a written file, as the reader and the table see them. */
struct replay {
    char listed[2000];
    struct iw_stream stream[2];
    uint8_t window[2][4096];
    size_t octets[2];
    uint32_t largest;
};

static uint8_t octet_at(unsigned direction, size_t pos)
{
    return (uint8_t)(pos * 7 + pos / 256 + direction * 100);
}

static int replay_segment(void *context, const struct iw_segment *s)
{
    struct replay *r = context;
    if (s->kind != IW_SEGMENT_DATA) {
        size_t at = strlen(r->listed);
        snprintf(r->listed + at, sizeof(r->listed) - at, "%u%c%u ", (unsigned)s->frame->number,
                 "SDFR"[s->kind], s -> direction);
        return 0;
    }
    assert_int_equal(iw_stream_put(&r->stream[s->direction], s->pos, s->data, s->length), 0);
    const uint8_t *data;
    size_t held = iw_stream_peek(&r->stream[s->direction], &data);
    assert_int_equal(held, s->length);
    for (size_t i = 0; i < held; i++)
        assert_int_equal(data[i], octet_at(s->direction, r->octets[s->direction] + i));
    r->octets[s->direction] += held;
    iw_stream_consume(&r->stream[s->direction], held);
    if (held > r->largest)
        r->largest = (uint32_t)held;
    return 0;
}

static struct replay *replay(const char *path, uint64_t frames)
{
    char error[IW_CAPTURE_ERROR] = "";
    struct replay *r = calloc(1, sizeof(*r));
    assert_non_null(r);
    for (unsigned i = 0; i < 2; i++)
        iw_stream_init(&r->stream[i], r->window[i], sizeof(r->window[i]), 0);
    struct iw_capture_connections *t = iw_capture_connections_new(10, replay_segment, r);
    struct iw_capture *c = iw_capture_open(path, error);
    assert_non_null(c);
    struct iw_frame frame;
    struct iw_packet packet;
    uint64_t last = 0;
    while (iw_capture_next(c, &frame, error) > 0) {
        assert_true(frame.time > last);
        last = frame.time;
        check_sums(&frame);
        assert_int_equal(iw_packet_decode(&frame, &packet), IW_DECODE_TCP);
        assert_int_equal(iw_capture_connections_add(t, &frame, &packet), 0);
        frames--;
    }
    assert_string_equal(error, "");
    assert_int_equal(frames, 0);
    iw_capture_close(c);
    iw_capture_connections_free(t);
    return r;
}

static struct iw_synth_span send_some(struct iw_synth *s, int c, unsigned side, uint64_t now,
                                      size_t *sent, size_t length)
{
    uint8_t *octets = malloc(length + 1);
    assert_non_null(octets);
    for (size_t i = 0; i < length; i++)
        octets[i] = octet_at(side, sent[side] + i);
    struct iw_synth_span span = iw_synth_data(s, c, side, now, octets, length);
    sent[side] += length;
    free(octets);
    return span;
}

/* Writes stay apart, long ones are split at the MSS, and every octet comes back. */
static void conversation(void **state)
{
    (void)state;
    for (uint8_t family = 4; family <= 6; family = (uint8_t)(family + 2)) {
        struct iw_synth *s = start(10000000);
        size_t sent[2] = {0, 0};
        int c = connect_at(s, endpoints(family, 1000), noon);
        expect_span(send_some(s, c, 0, noon + 1, sent, 20), 4, 4);
        expect_span(send_some(s, c, 0, noon + 2, sent, 1), 5, 5);
        /* Frame 6 acknowledges both. */
        expect_span(send_some(s, c, 1, noon + 3, sent, 2500), 7, 9);
        expect_span(send_some(s, c, 1, noon + 4, sent, 0), 0, 0);
        expect_span(send_some(s, c, 0, noon + 5, sent, 1000), 11, 11);
        /* 100 segments, acknowledged in between: at most 32 KiB and a segment are under way. */
        expect_span(send_some(s, c, 0, noon + 6, sent, 100000), 12, 114);
        expect_span(iw_synth_fin(s, c, 0, noon + 7), 116, 116);
        expect_span(send_some(s, c, 0, noon + 8, (size_t[2]){0, 0}, 5), 0, 0);
        expect_span(iw_synth_fin(s, c, 0, noon + 8), 0, 0);
        expect_span(send_some(s, c, 1, noon + 9, sent, 3), 118, 118);
        expect_span(iw_synth_fin(s, c, 1, noon + 9), 119, 119);
        assert_int_equal(iw_synth_frames(s), 120);
        struct replay *r = replay(write_out(s, NULL), iw_synth_frames(s));
        assert_string_equal(r->listed, "1S0 2S1 116F0 119F1 ");
        assert_int_equal(r->octets[0], sent[0]);
        assert_int_equal(r->octets[1], sent[1]);
        assert_int_equal(r->largest, 1000);
        free(r);
        iw_synth_free(s);
    }
}

static void several_connections(void **state)
{
    (void)state;
    struct iw_synth *s = start(100000);
    struct iw_synth_tcp tcp = endpoints(6, 0);
    struct iw_synth_span span;
    assert_int_equal(iw_synth_connect(s, &tcp, noon, &span), 0);
    expect_span(span, 1, 2);
    tcp.port[0]++;
    assert_int_equal(iw_synth_connect(s, &tcp, noon, &span), 1);
    expect_span(span, 4, 5);
    expect_span(iw_synth_reset(s, 0, 1, noon), 7, 7);
    expect_span(iw_synth_reset(s, 0, 0, noon), 0, 0);
    expect_span(iw_synth_data(s, 0, 0, noon, "x", 1), 0, 0);
    expect_span(iw_synth_data(s, 0, 1, noon, "x", 1), 0, 0);
    expect_span(iw_synth_fin(s, 1, 1, noon), 8, 8);
    expect_span(iw_synth_reset(s, 1, 0, noon), 10, 10);
    struct replay *r = replay(write_out(s, NULL), 10);
    assert_string_equal(r->listed, "1S0 2S1 4S0 5S1 7R1 8F1 10R0 ");
    free(r);
    iw_synth_free(s);
}

static void refused(void **state)
{
    (void)state;
    struct iw_synth *s = start(100000);
    struct iw_synth_span span;
    struct iw_synth_tcp tcp = endpoints(4, 65496);
    assert_int_equal(iw_synth_connect(s, &tcp, noon, &span), -1);
    tcp = endpoints(6, 65516);
    assert_int_equal(iw_synth_connect(s, &tcp, noon, &span), -1);
    tcp = endpoints(6, 65515);
    tcp.address[1].family = 4;
    assert_int_equal(iw_synth_connect(s, &tcp, noon, &span), -1);
    expect_span(span, 0, 0);
    tcp.address[1].family = 6;
    assert_int_equal(iw_synth_connect(s, &tcp, noon, &span), 0);
    for (int c = -1; c <= 1; c += 2) {
        expect_span(iw_synth_data(s, c, 0, noon, "x", 1), 0, 0);
        expect_span(iw_synth_fin(s, c, 0, noon), 0, 0);
    }
    expect_span(iw_synth_data(s, 0, 2, noon, "x", 1), 0, 0);
    expect_span(iw_synth_reset(s, 0, 2, noon), 0, 0);
    assert_false(iw_synth_comment(s, 0, "none"));
    assert_false(iw_synth_comment(s, 4, "none"));
    assert_true(iw_synth_comment(s, 3, "the last frame"));
    assert_int_equal(iw_synth_frames(s), 3);
    char error[IW_CAPTURE_ERROR] = "";
    assert_false(iw_synth_write(s, "/nowhere/at/all", NULL, NULL, error));
    assert_string_equal(error, "/nowhere/at/all: cannot be created: No such file or directory");
    assert_false(iw_synth_write(s, "/dev/full", NULL, NULL, error));
    assert_string_equal(error, "/dev/full: cannot be written: No space left on device");
    iw_synth_free(s);
    iw_synth_free(NULL);
}

/* Segments at chosen places: the packets of the file from the given frame on, decoded,
 * "side:place+octets". */
static void placed_segments(void **state)
{
    (void)state;
    struct iw_synth *s = start(100000);
    struct iw_synth_tcp tcp = endpoints(4, 1000);
    char error[IW_CAPTURE_ERROR] = "", listed[200] = "";
    const char *path = scratch_path("part.pcapng");

    tcp.told = 500;
    int c = connect_at(s, tcp, noon);
    expect_span(iw_synth_segment(s, c, 0, noon, 30, "behind a gap", 12), 4, 4);
    expect_span(iw_synth_segment(s, c, 0, noon, 0, "first", 5), 5, 5);
    expect_span(iw_synth_segment(s, c, 0, noon, 0, "first", 5), 6, 6);
    expect_span(iw_synth_segment(s, c, 0, noon, 0, "", 0), 0, 0);
    expect_span(iw_synth_segment(s, c, 2, noon, 0, "x", 1), 0, 0);
    expect_span(iw_synth_segment(s, c + 1, 0, noon, 0, "x", 1), 0, 0);
    expect_span(iw_synth_segment(s, c, 0, noon, 0, listed, 1001), 0, 0);
    expect_span(iw_synth_data(s, c, 0, noon, "next", 4), 7, 7); /* and its acknowledgement */
    iw_synth_unseen(s, c, 0, 60);
    iw_synth_unseen(s, c, 0, 50);      /* before that */
    iw_synth_unseen(s, c, 2, 100);     /* no side */
    iw_synth_unseen(s, c + 1, 0, 100); /* no connection */
    expect_span(iw_synth_fin(s, c, 0, noon), 9, 9);
    expect_span(iw_synth_segment(s, c, 0, noon, 99, "x", 1), 0, 0);
    iw_synth_unseen(s, c, 0, 100); /* after the end */
    if (!iw_synth_write_part(s, path, "test", NULL, 2, 60, error))
        fail_msg("%s", error);
    struct iw_capture *in = iw_capture_open(path, error);
    assert_non_null(in);
    struct iw_frame frame;
    struct iw_packet packet;
    while (iw_capture_next(in, &frame, error) > 0) {
        size_t at = strlen(listed);
        assert_true(frame.length <= 60);
        if (iw_packet_decode(&frame, &packet) == IW_DECODE_CUT) /* the SYN's options */
            snprintf(listed + at, sizeof(listed) - at, "cut ");
        else
            snprintf(listed + at, sizeof(listed) - at, "%u:%d+%u/%u ", packet.source_port,
                     (int)(packet.seq - tcp.isn[packet.source_port == 4420] - 1), packet.length,
                     packet.missing);
    }
    assert_string_equal(error, "");
    assert_string_equal(listed, "cut 40000:0+0/0 40000:30+6/6 40000:0+5/0 40000:0+5/0 40000:42+4/0 "
                                "4420:0+0/0 40000:60+0/0 4420:0+0/0 ");
    iw_capture_close(in);
    size_t length;
    char *file = scratch_read(write_out(s, NULL), &length);
    const uint8_t *syn = (const uint8_t *)file + 40 + 32 + 28; /* the MSS option */
    assert_memory_equal(syn + 54, "\2\4\x01\xf4", 4);
    free(file);
    iw_synth_free(s);
}

/* At its limit the recording stops, whole so far, and the file says so. */
static void bounded(void **state)
{
    (void)state;
    struct iw_synth *s = start(20000);
    int c = connect_at(s, endpoints(4, 0), noon);
    size_t sent[2] = {0, 0};
    struct iw_synth_span span = {0, 0};
    unsigned pieces = 0;
    while (!iw_synth_full(s)) {
        assert_true(pieces++ < 100);
        span = send_some(s, c, 0, noon, sent, 1000);
    }
    uint64_t frames = iw_synth_frames(s);
    assert_true(frames > 10 && frames < 40);
    expect_span(iw_synth_data(s, c, 1, noon, "x", 1), 0, 0);
    expect_span(iw_synth_fin(s, c, 1, noon), 0, 0);
    struct iw_synth_tcp again = endpoints(4, 0);
    assert_int_equal(iw_synth_connect(s, &again, noon, &span), -1);
    assert_int_equal(iw_synth_frames(s), frames);
    const char *path = write_out(s, "A case.");
    free(replay(path, frames));
    size_t length;
    char *file = scratch_read(path, &length);
    assert_string_equal(file + 28, "A case.\n"
                                   "Not everything is here: recording stopped at its limit of "
                                   "20000 octets.");
    free(file);

    char *comment = malloc(IW_SYNTH_COMMENTS / 4);
    assert_non_null(comment);
    memset(comment, 'c', IW_SYNTH_COMMENTS / 4 - 1);
    comment[IW_SYNTH_COMMENTS / 4 - 1] = '\0';
    for (unsigned i = 0; i < 4; i++)
        assert_true(iw_synth_comment(s, 1, comment));
    assert_false(iw_synth_comment(s, 1, ""));
    free(comment);
    iw_synth_free(s);
}

/* Runs tshark over the file with every checksum looked at; what it prints. */
static char *tshark(const char *path, const char *arguments)
{
    char command[600];
    char *out = calloc(1, 20000);
    assert_non_null(out);
    snprintf(
        command, sizeof(command),
        "tshark -n -o tcp.check_checksum:TRUE -o ip.check_checksum:TRUE -r '%s' %s 2>/dev/null",
        path, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_true(fread(out, 1, 19999, pipe) < 19999);
    assert_int_equal(pclose(pipe), 0);
    return out;
}

static void expect_tshark(const char *path, const char *arguments, const char *expected)
{
    char *out = tshark(path, arguments);
    assert_string_equal(out, expected);
    free(out);
}

static void tshark_is_silent(void **state)
{
    (void)state;
    if (system("command -v tshark >/dev/null 2>&1") != 0) {
        print_message("tshark is not installed\n");
        skip();
    }
    for (uint8_t family = 4; family <= 6; family = (uint8_t)(family + 2)) {
        struct iw_synth *s = start(100000000);
        size_t sent[2] = {0, 0};
        struct iw_synth_tcp tcp = endpoints(family, 0);
        int c = connect_at(s, tcp, noon);
        for (unsigned i = 0; i < 40; i++)
            send_some(s, c, i % 7 < 4, noon + i, sent, 1 + i * i * 3);
        /* More than any window, from each side. */
        send_some(s, c, 0, noon, sent, 9000000);
        send_some(s, c, 1, noon, sent, 9000000);
        iw_synth_fin(s, c, 1, noon + 100);
        send_some(s, c, 0, noon + 101, sent, 10);
        iw_synth_fin(s, c, 0, noon + 102);
        tcp.port[0]++;
        tcp.mss = family == 4 ? 65495 : 65515;
        c = connect_at(s, tcp, noon + 200);
        send_some(s, c, 1, noon, sent, 200000);
        send_some(s, c, 0, noon, sent, 1);
        iw_synth_reset(s, c, 1, noon + 201);
        iw_synth_comment(s, 4, "first");
        iw_synth_comment(s, 4, "stimulus \xe2\x86\x92 second");
        const char *path = write_out(s, "A section.");
        /* One run of tshark for all: it takes seconds. Each frame is a nanosecond after another. */
        const unsigned frames = (unsigned)iw_synth_frames(s);
        char expected[200];
        snprintf(expected, sizeof(expected),
                 "1\t1700000000.000000000\t%s\t0\t\n"
                 "4\t1700000000.000000003\t\t0\tfirst,stimulus \xe2\x86\x92 second\n"
                 "%u\t1700000000.%09u\t\t1\t\n",
                 family == 4 ? "1460" : "1440", frames, frames - 1);
        expect_tshark(path,
                      "-Y 'tcp.analysis.flags || _ws.malformed || _ws.short || "
                      "tcp.checksum.status != 1 || ip.checksum.status != 1 || "
                      "tcp.flags.reset == 1 || frame.comment || frame.number == 1' -T fields "
                      "-e frame.number -e frame.time_epoch -e tcp.options.mss_val "
                      "-e tcp.flags.reset -e frame.comment",
                      expected);
        iw_synth_free(s);
    }
}

/* A packet is framed and nothing else is done to it, whatever it is. */
static void packets_as_they_are(void **state)
{
    (void)state;
    static const uint8_t four[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0xff, 0xff, 0};
    static const uint8_t six[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60, 1};
    struct iw_synth *s = start(10000);
    expect_span(iw_synth_packet(s, 0, noon, four + 14, 4), 1, 1);
    expect_span(iw_synth_packet(s, 1, noon, six + 14, 2), 2, 2);
    expect_span(iw_synth_packet(s, 1, noon, six + 14, 0), 0, 0);
    expect_span(iw_synth_packet(s, 2, noon, six + 14, 2), 0, 0);
    assert_true(iw_synth_comment(s, 2, "second"));
    size_t length;
    char *file = scratch_read(write_out(s, NULL), &length);
    const char *first = file + 40 + 32 + 28, *last = first + 32 + 20;
    assert_memory_equal(first, four, sizeof(four));
    assert_memory_equal(last, six, sizeof(six));
    free(file);
    iw_synth_free(s);
    s = start(60);
    expect_span(iw_synth_packet(s, 0, noon, four, sizeof(four)), 0, 0);
    assert_true(iw_synth_full(s));
    iw_synth_free(s);
}

static void small_exchange(struct iw_synth *s)
{
    static const uint8_t packet[24] = {0x45};
    for (uint8_t family = 4; family <= 6; family += 2) {
        int c = connect_at(s, endpoints(family, 100), noon);
        (void)iw_synth_data(s, c, 1, noon + 5000, packet, 24);
        uint8_t many[1000] = {1, 2, 3};
        (void)iw_synth_data(s, c, 0, noon + 6000, many, sizeof(many));
        (void)iw_synth_packet(s, 0, noon + 7000, packet, sizeof(packet));
        (void)iw_synth_fin(s, c, 0, noon + 8000);
        (void)iw_synth_reset(s, c, 1, noon + 9000);
    }
}

static void streamed(void **state)
{
    (void)state;
    char error[IW_CAPTURE_ERROR] = "";
    size_t kept_length, length;
    struct iw_synth *s = start(100000);
    small_exchange(s);
    char *kept = scratch_read(write_out(s, "why"), &kept_length);
    uint64_t frames = iw_synth_frames(s);
    iw_synth_free(s);

    const char *path = scratch_path("streamed.pcapng");
    s = iw_synth_stream(path, "test", "why", error);
    assert_non_null(s);
    small_exchange(s);
    assert_int_equal(iw_synth_frames(s), frames);
    assert_false(iw_synth_comment(s, 1, "there is no way back"));
    assert_true(iw_synth_finish(s, error));
    expect_span(iw_synth_data(s, 0, 0, noon, "late", 4), 0, 0);
    iw_synth_free(s);
    char *file = scratch_read(path, &length);
    assert_int_equal(length, kept_length);
    assert_memory_equal(file, kept, length);
    free(file);
    free(kept);

    assert_null(iw_synth_stream("/nonexistent/x", NULL, NULL, error));
    assert_non_null(strstr(error, "/nonexistent/x: cannot be created"));
    iw_synth_free(iw_synth_stream(path, NULL, NULL, error)); /* closes the file */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literal_frames),
        cmocka_unit_test(packets_as_they_are),
        cmocka_unit_test(conversation),
        cmocka_unit_test(placed_segments),
        cmocka_unit_test(several_connections),
        cmocka_unit_test(refused),
        cmocka_unit_test(bounded),
        cmocka_unit_test(tshark_is_silent),
        cmocka_unit_test(streamed),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
