/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/capture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/octets.h"

enum { ETHERNET = 14, IPV4 = 20, IPV6 = 40, TCP = 20 };
/* Every segment offers 65535 << 7 octets; with at most ACK_OCTETS in flight no window fills, not
 * even the unscaled one of a SYN. */
enum { WINDOW = 65535, WINDOW_SHIFT = 7, ACK_OCTETS = 32768, ACK_SEGMENTS = 2 };

struct frame {
    uint64_t time;
    size_t length;
    uint8_t *data;
    char **comments;
    size_t n_comments;
};

struct side {
    uint32_t next;     /* sequence number of its next octet */
    uint32_t acked;    /* the number up to which it has acknowledged the other side */
    uint16_t id;       /* IPv4 identification of its next frame */
    unsigned segments; /* sent and not yet acknowledged */
    bool ended;
};

struct connection {
    struct iw_synth_tcp tcp;
    struct side side[2];
};

struct iw_synth {
    struct frame *frames;
    size_t count;
    size_t room;
    struct connection *connections;
    size_t connection_count;
    size_t connection_room;
    size_t limit;
    size_t used;
    size_t comments;
    uint64_t time;
    bool full;
    /* Frames go straight into this file, if there is one, from `frame`. */
    struct iw_pcapng *stream;
    uint8_t *frame;
};

enum { FRAME_MAX = ETHERNET + IPV6 + 65535 };

struct iw_synth *iw_synth_new(size_t limit)
{
    struct iw_synth *s = calloc(1, sizeof(*s));
    if (s != NULL)
        s->limit = limit;
    return s;
}

struct iw_synth *iw_synth_stream(const char *path, const char *application, const char *comment,
                                 char error[IW_CAPTURE_ERROR])
{
    struct iw_synth *s = iw_synth_new(SIZE_MAX);
    if (s == NULL || (s->frame = malloc(FRAME_MAX)) == NULL) {
        snprintf(error, IW_CAPTURE_ERROR, "%s: out of memory", path);
        free(s);
        return NULL;
    }
    s->stream = iw_pcapng_create(path, IW_LINK_ETHERNET, application, comment, error);
    if (s->stream == NULL) {
        iw_synth_free(s);
        return NULL;
    }
    return s;
}

bool iw_synth_finish(struct iw_synth *s, char error[IW_CAPTURE_ERROR])
{
    bool good = iw_pcapng_close(s->stream, error);
    s->stream = NULL;
    s->full = true;
    return good;
}

void iw_synth_flush(struct iw_synth *s)
{
    if (s->stream != NULL)
        iw_pcapng_flush(s->stream);
}

void iw_synth_free(struct iw_synth *s)
{
    if (s == NULL)
        return;
    char error[IW_CAPTURE_ERROR];
    if (s->stream != NULL)
        (void)iw_pcapng_close(s->stream, error);
    free(s->frame);
    for (size_t i = 0; i < s->count && s->frames != NULL; i++) {
        free(s->frames[i].data);
        for (size_t k = 0; k < s->frames[i].n_comments; k++)
            free(s->frames[i].comments[k]);
        free(s->frames[i].comments);
    }
    free(s->frames);
    free(s->connections);
    free(s);
}

/* Returns a new frame of `length` octets, or NULL (and nothing more is recorded) if there is no
 * room. The caller fills it in and hands it to put_frame. */
static uint8_t *add_frame(struct iw_synth *s, uint64_t now, size_t length)
{
    size_t cost = length + sizeof(struct frame);
    if (s->full)
        return NULL;
    if (s->frame != NULL) {
        s->time = now > s->time ? now : s->time + 1;
        s->count++;
        return length <= FRAME_MAX ? s->frame : NULL;
    }
    if (cost > s->limit - s->used) {
        s->full = true;
        return NULL;
    }
    if (s->count == s->room) {
        size_t room = s->room != 0 ? 2 * s->room : 64;
        struct frame *frames = realloc(s->frames, room * sizeof(*frames));
        if (frames == NULL) {
            s->full = true;
            return NULL;
        }
        s->frames = frames;
        s->room = room;
    }
    uint8_t *data = malloc(length);
    if (data == NULL) {
        s->full = true;
        return NULL;
    }
    s->used += cost;
    s->time = now > s->time ? now : s->time + 1;
    s->frames[s->count++] = (struct frame){.time = s->time, .length = length, .data = data};
    return data;
}

static void put_frame(struct iw_synth *s, size_t length)
{
    struct iw_frame frame = {.time = s->time,
                             .data = s->frame,
                             .length = (uint32_t)length,
                             .original = (uint32_t)length};
    if (s->frame != NULL && !iw_pcapng_frame(s->stream, &frame, NULL, 0))
        s->full = true;
}

static uint8_t *put_ethernet(uint8_t *p, unsigned from, bool v4)
{
    static const uint8_t mac[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};

    memcpy(p, mac[1 - from], 6);
    memcpy(p + 6, mac[from], 6);
    return iw_put16(p + 12, v4 ? 0x0800 : 0x86dd);
}

/* Writes one frame of side `from` that begins at `seq`. Returns false if it is not recorded. */
static bool put_at(struct iw_synth *s, struct connection *c, unsigned from, uint64_t now,
                   uint8_t flags, uint32_t seq, const uint8_t *data, size_t length)
{
    struct side *own = &c->side[from];
    const struct side *other = &c->side[1 - from];
    bool ack = (flags & IW_TCP_ACK) != 0;
    const struct iw_packet packet = {
        .source = c->tcp.address[from],
        .destination = c->tcp.address[1 - from],
        .source_port = c->tcp.port[from],
        .destination_port = c->tcp.port[1 - from],
        .seq = seq,
        .ack = ack ? other->next : 0,
        .flags = flags,
        .scale = (flags & IW_TCP_SYN) != 0 ? WINDOW_SHIFT : 0,
        .window = (flags & IW_TCP_RST) != 0 ? 0 : WINDOW,
        .mss = (flags & IW_TCP_SYN) == 0 ? 0
               : c->tcp.told != 0        ? c->tcp.told
                                         : c->tcp.mss,
        .id = own->id,
        .payload = data,
        .length = (uint32_t)length,
    };
    size_t size = iw_packet_size(&packet);
    uint8_t *p = add_frame(s, now, ETHERNET + size);
    if (p == NULL)
        return false;
    p = put_ethernet(p, from, packet.source.family == 4);
    (void)iw_packet_put(p, size, &packet);
    put_frame(s, ETHERNET + size);
    own->id++;

    seq += (uint32_t)length + ((flags & (IW_TCP_SYN | IW_TCP_FIN)) != 0 ? 1u : 0u);
    if (seq - own->next < UINT32_C(0x80000000))
        own->next = seq;
    if (length != 0)
        own->segments++;
    if (ack) {
        own->acked = other->next;
        c->side[1 - from].segments = 0;
    }
    return true;
}

static bool put_segment(struct iw_synth *s, struct connection *c, unsigned from, uint64_t now,
                        uint8_t flags, const uint8_t *data, size_t length)
{
    return put_at(s, c, from, now, flags, c->side[from].next, data, length);
}

int iw_synth_connect(struct iw_synth *s, const struct iw_synth_tcp *tcp, uint64_t now,
                     struct iw_synth_span *span)
{
    bool v4 = tcp->address[0].family == 4;
    *span = (struct iw_synth_span){0, 0};
    if (tcp->address[0].family != tcp->address[1].family || s->connection_count == INT32_MAX)
        return -1;
    if (tcp->mss > UINT16_MAX - TCP - (v4 ? IPV4 : 0))
        return -1;
    if (s->full || sizeof(struct connection) > s->limit - s->used) {
        s->full = true;
        return -1;
    }
    size_t count = s->connection_count + 1;
    if (s->connection_count == s->connection_room) {
        size_t room = s->connection_room != 0 ? 2 * s->connection_room : 4;
        struct connection *connections = realloc(s->connections, room * sizeof(*connections));
        if (connections == NULL)
            return -1;
        s->connections = connections;
        s->connection_room = room;
    }
    struct connection *c = &s->connections[s->connection_count];
    memset(c, 0, sizeof(*c));
    c->tcp = *tcp;
    if (c->tcp.mss == 0)
        c->tcp.mss = v4 ? 1460 : 1440;
    for (unsigned i = 0; i < 2; i++) {
        c->side[i].next = tcp->isn[i];
        c->side[i].id = 1;
    }
    s->connection_count = count;
    s->used += sizeof(*c);
    if (put_segment(s, c, 0, now, IW_TCP_SYN, NULL, 0)) {
        span->first = span->last = s->count;
        if (put_segment(s, c, 1, now, IW_TCP_SYN | IW_TCP_ACK, NULL, 0))
            span->last = s->count;
        put_segment(s, c, 0, now, IW_TCP_ACK, NULL, 0);
    }
    return (int)(count - 1);
}

static struct connection *find(const struct iw_synth *s, int connection, unsigned side)
{
    if (connection < 0 || (size_t)connection >= s->connection_count || side > 1)
        return NULL;
    return &s->connections[connection];
}

/* Returns the connection if this side of it may still send octets. */
static struct connection *find_open(const struct iw_synth *s, int connection, unsigned side)
{
    struct connection *c = find(s, connection, side);
    return c != NULL && !c->side[side].ended ? c : NULL;
}

/* Returns the span of the frame written last, if it was. */
static struct iw_synth_span last_frame(const struct iw_synth *s, bool written)
{
    return written ? (struct iw_synth_span){s->count, s->count} : (struct iw_synth_span){0, 0};
}

/* Writes a pure ACK of `side`, only for octets not yet acknowledged: twice the same would be a
 * "duplicate ACK". */
static void acknowledge(struct iw_synth *s, struct connection *c, unsigned side, uint64_t now)
{
    put_segment(s, c, side, now, IW_TCP_ACK, NULL, 0);
}

struct iw_synth_span iw_synth_data(struct iw_synth *s, int connection, unsigned side, uint64_t now,
                                   const void *data, size_t length)
{
    struct iw_synth_span span = {0, 0};
    struct connection *c = find_open(s, connection, side);
    const uint8_t *from = data;
    while (c != NULL && length != 0) {
        size_t n = length < c->tcp.mss ? length : c->tcp.mss;
        uint8_t flags = IW_TCP_ACK | (n == length ? IW_TCP_PSH : 0);
        if (!put_segment(s, c, side, now, flags, from, n))
            break;
        if (span.first == 0)
            span.first = s->count;
        span.last = s->count;
        from += n;
        length -= n;
        uint32_t flying = c->side[side].next - c->side[1 - side].acked;
        if (flying > ACK_OCTETS || (length == 0 && c->side[side].segments >= ACK_SEGMENTS))
            acknowledge(s, c, 1 - side, now);
    }
    return span;
}

struct iw_synth_span iw_synth_segment(struct iw_synth *s, int connection, unsigned side,
                                      uint64_t now, uint64_t position, const void *data,
                                      size_t length)
{
    struct connection *c = find_open(s, connection, side);
    if (c == NULL || length == 0 || length > c->tcp.mss)
        return last_frame(s, false);
    uint32_t seq = c->tcp.isn[side] + 1 + (uint32_t)position;
    return last_frame(s, put_at(s, c, side, now, IW_TCP_ACK | IW_TCP_PSH, seq, data, length));
}

void iw_synth_unseen(struct iw_synth *s, int connection, unsigned side, uint64_t position)
{
    struct connection *c = find_open(s, connection, side);
    if (c == NULL)
        return;
    uint32_t seq = c->tcp.isn[side] + 1 + (uint32_t)position;
    if (seq - c->side[side].next < UINT32_C(0x80000000))
        c->side[side].next = seq;
}

static struct iw_synth_span end(struct iw_synth *s, int connection, unsigned side, uint64_t now,
                                uint8_t flags)
{
    struct connection *c = find(s, connection, side);
    bool reset = (flags & IW_TCP_RST) != 0;
    if (c == NULL || (c->side[side].ended && (!reset || c->side[1 - side].ended)) ||
        !put_segment(s, c, side, now, flags, NULL, 0))
        return last_frame(s, false);
    struct iw_synth_span span = last_frame(s, true);
    c->side[side].ended = true;
    if (reset)
        c->side[1 - side].ended = true;
    else
        acknowledge(s, c, 1 - side, now);
    return span;
}

struct iw_synth_span iw_synth_fin(struct iw_synth *s, int connection, unsigned side, uint64_t now)
{
    return end(s, connection, side, now, IW_TCP_FIN | IW_TCP_ACK);
}

struct iw_synth_span iw_synth_reset(struct iw_synth *s, int connection, unsigned side, uint64_t now)
{
    return end(s, connection, side, now, IW_TCP_RST | IW_TCP_ACK);
}

struct iw_synth_span iw_synth_packet(struct iw_synth *s, unsigned side, uint64_t now,
                                     const void *packet, size_t length)
{
    const uint8_t *from = packet;
    uint8_t *p = side > 1 || length == 0 ? NULL : add_frame(s, now, ETHERNET + length);
    if (p == NULL)
        return last_frame(s, false);
    memcpy(put_ethernet(p, side, from[0] >> 4 == 4), from, length);
    put_frame(s, ETHERNET + length);
    return last_frame(s, true);
}

bool iw_synth_comment(struct iw_synth *s, uint64_t frame, const char *comment)
{
    size_t size = strlen(comment) + 1;
    if (frame == 0 || frame > s->count || s->frames == NULL ||
        size > IW_SYNTH_COMMENTS - s->comments)
        return false;
    struct frame *f = &s->frames[frame - 1];
    char **comments = realloc(f->comments, (f->n_comments + 1) * sizeof(*comments));
    if (comments == NULL)
        return false;
    f->comments = comments;
    comments[f->n_comments] = strdup(comment);
    if (comments[f->n_comments] == NULL)
        return false;
    f->n_comments++;
    s->comments += size;
    return true;
}

uint64_t iw_synth_frames(const struct iw_synth *s)
{
    return s->count;
}

bool iw_synth_full(const struct iw_synth *s)
{
    return s->full;
}

static bool write_frame(struct iw_pcapng *w, const struct frame *f, size_t snap)
{
    struct iw_frame frame = {.time = f->time,
                             .data = f->data,
                             .length = (uint32_t)(f->length < snap ? f->length : snap),
                             .original = (uint32_t)f->length};
    return iw_pcapng_frame(w, &frame, (const char *const *)f->comments, f->n_comments);
}

bool iw_synth_write(const struct iw_synth *s, const char *path, const char *application,
                    const char *comment, char error[IW_CAPTURE_ERROR])
{
    return iw_synth_write_part(s, path, application, comment, 1, SIZE_MAX, error);
}

bool iw_synth_write_part(const struct iw_synth *s, const char *path, const char *application,
                         const char *comment, uint64_t first, size_t snap,
                         char error[IW_CAPTURE_ERROR])
{
    char *text = NULL;
    if (s->full &&
        asprintf(&text, "%s%sNot everything is here: recording stopped at its limit of %zu octets.",
                 comment != NULL ? comment : "", comment != NULL ? "\n" : "", s->limit) < 0)
        text = NULL;
    struct iw_pcapng *w =
        iw_pcapng_create(path, IW_LINK_ETHERNET, application, text != NULL ? text : comment, error);
    free(text);
    if (w == NULL)
        return false;
    bool whole = true;
    for (size_t i = first > 1 ? (size_t)first - 1 : 0; i < s->count && whole; i++)
        whole = write_frame(w, &s->frames[i], snap);
    return iw_pcapng_close(w, error);
}
