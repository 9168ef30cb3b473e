/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/capture.h"
#include "iwarp/stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define WINDOW_MAX (UINT64_C(1) << 30) /* RFC 7323 §2.3 */

/* A connection that was in use long ago, unless it has been used again. */
struct entry {
    size_t index;
    uint64_t number, frame;
};

/* The connections used least recently, the oldest first. Those not in it are younger. */
struct queue {
    struct entry *entries;
    size_t room, count, next;
};

enum { CHUNK = 256, LINE = 64 /* octets of a processor's cache line */ };
/* Up to this number, connections stay in the caches without prefetching. */
enum { FEW = 32 };

/* A place of the hash table. The members read first for each packet are small: with thousands of
 * connections the number of cache lines counts. */
struct spot {
    uint32_t hash;
    uint32_t place; /* plus 1; 0: empty */
};

/* Connections that lie side by side. */
struct chunk {
    void *memory;
    struct iw_capture_connection *first; /* at the beginning of a cache line of it */
};

/* Connections lie in chunks that never move. The latest one of each pair of endpoints is also in a
 * hash table (linear probing, half of it empty). Its key is random, so that nobody can choose
 * addresses that make the search slow. */
struct iw_capture_connections {
    struct chunk *chunk;
    size_t chunks;
    size_t count; /* places in use, or left by connections that were dropped */
    size_t held;
    size_t hole; /* the place that was left last */
    size_t limit;
    uint64_t added;
    struct spot *spot;
    size_t spots; /* a power of two */
    size_t spots_used;
    uint64_t key[3];
    struct iw_capture_connection *last;
    struct queue queue[2]; /* all, and those with a user */
    iw_segment_fn *seen;
    iw_dropped_fn *dropped;
    iw_soon_fn *soon;
    bool acks;
    void *context;
};

#define SPREAD UINT64_C(0xd6e8feb86659fd93)
enum { HALF = 32 };

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> HALF) * SPREAD;
    x = (x ^ x >> HALF) * SPREAD;
    return x ^ x >> HALF;
}

static uint64_t hash_endpoint(const struct iw_capture_connections *t,
                              const struct iw_address *address, uint16_t port)
{
    uint64_t low, high;
    memcpy(&low, address->octets, sizeof(low));
    memcpy(&high, address->octets + 8, sizeof(high));
    return mix(mix(low ^ t->key[0]) ^ mix(high ^ t->key[1]) ^
               ((uint64_t)port << 8 | address->family) ^ t->key[2]);
}

/* Hashes both endpoints, regardless of their order. */
static uint32_t hash(const struct iw_capture_connections *t, const struct iw_address *a,
                     uint16_t a_port, const struct iw_address *b, uint16_t b_port)
{
    return (uint32_t)mix(hash_endpoint(t, a, a_port) + hash_endpoint(t, b, b_port));
}

static bool is_endpoint(const struct iw_capture_connection *c, unsigned i,
                        const struct iw_address *address, uint16_t port)
{
    return c->port[i] == port && c->address[i].family == address->family &&
           memcmp(c->address[i].octets, address->octets, sizeof(address->octets)) == 0;
}

static bool is_between(const struct iw_capture_connection *c, const struct iw_packet *p,
                       unsigned *side)
{
    for (*side = 0; *side < 2; (*side)++)
        if (is_endpoint(c, *side, &p->source, p->source_port) &&
            is_endpoint(c, 1 - *side, &p->destination, p->destination_port))
            return true;
    return false;
}

struct iw_capture_connections *iw_capture_connections_new(size_t limit, iw_segment_fn *seen,
                                                          void *context)
{
    enum { SPOTS = 16 };
    struct iw_capture_connections *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return NULL;
    t->limit = limit;
    t->seen = seen;
    t->context = context;
    t->spots = SPOTS;
    t->spot = calloc(SPOTS, sizeof(*t->spot));
    if (t->spot == NULL || getrandom(t->key, sizeof(t->key), 0) != (ssize_t)sizeof(t->key)) {
        iw_capture_connections_free(t);
        return NULL;
    }
    return t;
}

void iw_capture_connections_recycle(struct iw_capture_connections *t, iw_dropped_fn *dropped)
{
    t->dropped = dropped;
}

void iw_capture_connections_tell_acks(struct iw_capture_connections *t)
{
    t->acks = true;
}

void iw_capture_connections_free(struct iw_capture_connections *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->chunks; i++)
        free(t->chunk[i].memory);
    free(t->chunk);
    free(t->queue[0].entries);
    free(t->queue[1].entries);
    free(t->spot);
    free(t);
}

size_t iw_capture_connections_count(const struct iw_capture_connections *t)
{
    return t->count;
}

static struct iw_capture_connection *at(const struct iw_capture_connections *t, size_t place)
{
    return &t->chunk[place / CHUNK].first[place % CHUNK];
}

struct iw_capture_connection *iw_capture_connections_get(const struct iw_capture_connections *t,
                                                         size_t number)
{
    return number < t->count && at(t, number)->used ? at(t, number) : NULL;
}

/* ---- the least recently used ---- */

static int older(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;

    return (a->frame > b->frame) - (a->frame < b->frame);
}

static bool fill(struct iw_capture_connections *t, struct queue *q)
{
    if (q->room < t->count) {
        struct entry *entries = realloc(q->entries, t->count * sizeof(*entries));
        if (entries == NULL)
            return false;
        q->entries = entries;
        q->room = t->count;
    }
    q->count = q->next = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct iw_capture_connection *c = at(t, i);
        if (c->used && (q == &t->queue[0] || c->user != NULL))
            q->entries[q->count++] = (struct entry){i, c->number, c->last_frame};
    }
    if (q->count > 0)
        qsort(q->entries, q->count, sizeof(*q->entries), older);
    /* Connections outside the older half may well be used before their turn comes. */
    q->count = (q->count + 1) / 2;
    return true;
}

static struct iw_capture_connection *take_oldest(struct iw_capture_connections *t, struct queue *q)
{
    for (unsigned filled = 0;;) {
        for (; q->next < q->count; q->next++) {
            const struct entry *e = &q->entries[q->next];
            struct iw_capture_connection *c = at(t, e->index);
            if (c->used && c->number == e->number && c->last_frame == e->frame &&
                (q == &t->queue[0] || c->user != NULL))
                return c;
        }
        if (filled++ != 0 || !fill(t, q))
            return NULL;
    }
}

struct iw_capture_connection *iw_capture_connections_oldest_used(struct iw_capture_connections *t)
{
    return take_oldest(t, &t->queue[1]);
}

/* ---- adding and dropping ---- */

static uint32_t hash_of(const struct iw_capture_connections *t,
                        const struct iw_capture_connection *c)
{
    return hash(t, &c->address[0], c->port[0], &c->address[1], c->port[1]);
}

static void put_spot(struct iw_capture_connections *t, struct spot fresh)
{
    size_t i = fresh.hash & (t->spots - 1);

    while (t->spot[i].place != 0)
        i = (i + 1) & (t->spots - 1);
    t->spot[i] = fresh;
}

/* Takes the connection out of the hash table, if it is there. Entries that it had pushed further
 * move nearer. */
static void unlink_connection(struct iw_capture_connections *t,
                              const struct iw_capture_connection *c)
{
    size_t mask = t->spots - 1, i = hash_of(t, c) & mask;

    while (t->spot[i].place != 0 && at(t, t->spot[i].place - 1) != c)
        i = (i + 1) & mask;
    if (t->last == c)
        t->last = NULL;
    if (t->spot[i].place == 0)
        return;
    for (size_t k = (i + 1) & mask; t->spot[k].place != 0; k = (k + 1) & mask)
        if (((k - t->spot[k].hash) & mask) >= ((k - i) & mask)) {
            t->spot[i] = t->spot[k];
            i = k;
        }
    t->spot[i].place = 0;
    t->spots_used--;
}

/* At least half of the spots stay empty. */
static bool widen(struct iw_capture_connections *t)
{
    size_t spots = t->spots;
    if (2 * (t->spots_used + 1) <= spots)
        return true;
    struct spot *wider = calloc(2 * spots, sizeof(*wider));
    if (wider == NULL)
        return false;
    struct spot *old = t->spot;
    t->spot = wider;
    t->spots = 2 * spots;
    for (size_t i = 0; i < spots; i++)
        if (old[i].place != 0)
            put_spot(t, old[i]);
    free(old);
    return true;
}

static bool drop_oldest(struct iw_capture_connections *t)
{
    struct iw_capture_connection *c = t->dropped != NULL ? take_oldest(t, &t->queue[0]) : NULL;

    if (c == NULL)
        return false;
    t->dropped(t->context, c);
    unlink_connection(t, c);
    c->used = false;
    t->hole = t->queue[0].entries[t->queue[0].next].index;
    t->held--;
    return true;
}

static bool add_chunk(struct iw_capture_connections *t)
{
    struct chunk *chunk = realloc(t->chunk, (t->chunks + 1) * sizeof(*chunk));

    if (chunk == NULL)
        return false;
    t->chunk = chunk;
    chunk += t->chunks;
    chunk->memory = malloc(CHUNK * sizeof(struct iw_capture_connection) + LINE);
    if (chunk->memory == NULL)
        return false;
    uintptr_t first = ((uintptr_t)chunk->memory + LINE - 1) & ~(uintptr_t)(LINE - 1);
    chunk->first = (struct iw_capture_connection *)first;
    t->chunks++;
    return true;
}

/* Finds the place of the next connection. */
static bool make_place(struct iw_capture_connections *t, size_t *place)
{
    if (t->held == t->limit && !drop_oldest(t))
        return false;
    *place = t->held < t->count ? t->hole : t->count;
    return *place / CHUNK < t->chunks || add_chunk(t);
}

/* Adds a copy of `fresh`, which takes the place of `old` (may be NULL) in the hash table. */
static struct iw_capture_connection *add(struct iw_capture_connections *t,
                                         const struct iw_capture_connection *fresh,
                                         const struct iw_capture_connection *old)
{
    size_t place;
    if (!widen(t) || !make_place(t, &place))
        return NULL;
    if (old != NULL && old->used)
        unlink_connection(t, old);
    struct iw_capture_connection *c = at(t, place);
    *c = *fresh;
    c->used = true;
    c->number = t->added++;
    t->count += place == t->count;
    t->held++;
    t->spots_used++;
    put_spot(t, (struct spot){hash_of(t, c), (uint32_t)place + 1});
    return c;
}

/* A SYN on a connection that is over, or of another connection between the same endpoints. */
static bool is_new(const struct iw_capture_connection *c, unsigned side,
                   const struct iw_packet *packet)
{
    if ((packet->flags & IW_TCP_SYN) == 0)
        return false;
    if ((packet->flags & IW_TCP_ACK) == 0 && (c->reset || (c->fin[0] && c->fin[1])))
        return true;
    return c->known[side] && c->base[side] != packet->seq + 1;
}

static struct iw_capture_connection *look_up(const struct iw_capture_connections *t, uint32_t h,
                                             const struct iw_packet *packet, unsigned *side)
{
    size_t mask = t->spots - 1;

    for (size_t i = h & mask; t->spot[i].place != 0; i = (i + 1) & mask)
        if (t->spot[i].hash == h) {
            struct iw_capture_connection *c = at(t, t->spot[i].place - 1);
            if (is_between(c, packet, side))
                return c;
        }
    return NULL;
}

static struct iw_capture_connection *find(struct iw_capture_connections *t,
                                          const struct iw_packet *packet, unsigned *side)
{
    struct iw_capture_connection *c = t->last;

    if (c == NULL || !is_between(c, packet, side))
        c = look_up(t,
                    hash(t, &packet->source, packet->source_port, &packet->destination,
                         packet->destination_port),
                    packet, side);
    if (c == NULL || is_new(c, *side, packet)) {
        unsigned from = (packet->flags & IW_TCP_SYN) != 0 && (packet->flags & IW_TCP_ACK) != 0;
        struct iw_capture_connection fresh = {0};
        fresh.address[from] = packet->source;
        fresh.address[1 - from] = packet->destination;
        fresh.port[from] = packet->source_port;
        fresh.port[1 - from] = packet->destination_port;
        *side = from;
        c = add(t, &fresh, c);
    }
    t->last = c;
    return c;
}

static void know(struct iw_capture_connection *c, unsigned side, uint32_t base)
{
    if (c->known[side])
        return;
    c->known[side] = true;
    c->base[side] = base;
}

/* The handshake's third segment: if the SYN/ACK is missing or comes later, this segment holds the
 * same information. */
static bool opens(const struct iw_capture_connection *c, unsigned side,
                  const struct iw_packet *packet)
{
    return c->syn[side] && packet->seq == c->base[side] && c->ahead[side] == 0 &&
           (packet->flags & (IW_TCP_SYN | IW_TCP_RST)) == 0;
}

/* Finds which of this side's octets an acknowledgement covers; returns false if none, or if the
 * number is impossible. */
static bool acknowledged(const struct iw_capture_connection *c, unsigned side, uint32_t ack,
                         uint64_t *pos)
{
    if (!c->known[side])
        return false;
    *pos = iw_stream_unwrap(c->ahead[side], ack - c->base[side]);
    if (c->fin[side] && *pos == c->end[side] + 1)
        *pos = c->end[side];
    return *pos != 0 && *pos <= c->ahead[side] + WINDOW_MAX;
}

int iw_capture_connections_add(struct iw_capture_connections *t, const struct iw_frame *frame,
                               const struct iw_packet *packet)
{
    unsigned side;
    struct iw_capture_connection *c = find(t, packet, &side);
    if (c == NULL)
        return -1;
    if (c->first_frame == 0)
        c->first_frame = frame->number;
    c->last_frame = frame->number;

    bool syn = (packet->flags & IW_TCP_SYN) != 0;
    uint32_t seq = packet->seq + (syn ? 1u : 0u);
    know(c, side, seq);
    if ((packet->flags & IW_TCP_ACK) != 0 && (syn || opens(c, side, packet)))
        know(c, 1 - side, packet->ack);

    struct iw_segment segment = {.kind = IW_SEGMENT_SYN,
                                 .connection = c,
                                 .direction = side,
                                 .frame = frame,
                                 .packet = packet};
    int result = 0;
    if (syn && c->base[side] == seq) {
        c->syn[side] = true;
        result = t->seen(t->context, &segment);
        if (result != 0)
            return result;
    }

    if (t->acks && (packet->flags & (IW_TCP_ACK | IW_TCP_RST)) == IW_TCP_ACK) {
        segment.kind = IW_SEGMENT_ACK;
        if (acknowledged(c, 1 - side, packet->ack, &segment.pos))
            result = t->seen(t->context, &segment);
        if (result != 0)
            return result;
    }

    uint64_t pos = iw_stream_unwrap(c->ahead[side], seq - c->base[side]);
    uint64_t size = (uint64_t)packet->length + packet->missing;
    uint64_t end = pos + size;
    /* Positions before 0 are those of the upper half. */
    uint64_t early = pos > UINT64_MAX / 2 ? 0 - pos : 0;
    if (size > early) {
        size_t cut = early < packet->length ? (size_t)early : packet->length;
        segment.kind = IW_SEGMENT_DATA;
        segment.pos = pos + early;
        segment.data = packet->payload + cut;
        segment.length = packet->length - cut;
        segment.missing = (uint32_t)(size - early - segment.length);
        if (end > c->ahead[side])
            c->ahead[side] = end;
        result = t->seen(t->context, &segment);
        c->begun[side] |= segment.pos == 0 && segment.length > 0;
        if (result != 0)
            return result;
    }

    if ((packet->flags & (IW_TCP_FIN | IW_TCP_RST)) == 0)
        return 0;
    segment.pos = end;
    segment.data = NULL;
    segment.length = 0;
    segment.missing = 0;
    if ((packet->flags & IW_TCP_RST) != 0) {
        segment.kind = IW_SEGMENT_RST;
        c->reset = true;
    } else {
        segment.kind = IW_SEGMENT_FIN;
        c->fin[side] = true;
        c->end[side] = end;
    }
    return t->seen(t->context, &segment);
}

/* ---- batches ---- */

/* Prefetches step by step for all of them, so that the waits for memory overlap. */
static void foresee(const struct iw_capture_connections *t, const struct iw_packet *packets,
                    const enum iw_decode *decoded, size_t count)
{
    uint32_t h[IW_CAPTURE_BATCH];
    size_t mask = t->spots - 1;
    for (size_t i = 0; i < count; i++) {
        const struct iw_packet *p = &packets[i];
        if (decoded[i] != IW_DECODE_TCP)
            continue;
        h[i] = hash(t, &p->source, p->source_port, &p->destination, p->destination_port);
        __builtin_prefetch(&t->spot[h[i] & mask]);
    }
    const struct iw_capture_connection *c[IW_CAPTURE_BATCH];
    for (size_t i = 0; i < count; i++) {
        c[i] = NULL;
        if (decoded[i] != IW_DECODE_TCP)
            continue;
        for (size_t k = h[i] & mask; t->spot[k].place != 0 && c[i] == NULL; k = (k + 1) & mask)
            if (t->spot[k].hash == h[i])
                c[i] = at(t, t->spot[k].place - 1);
        if (c[i] == NULL)
            continue;
        __builtin_prefetch(c[i], 1);
        __builtin_prefetch((const char *)c[i] + LINE, 1);
    }
    for (size_t i = 0; i < count && t->soon != NULL; i++)
        if (c[i] != NULL && c[i]->user != NULL)
            t->soon(c[i], is_endpoint(c[i], 0, &packets[i].source, packets[i].source_port) ? 0 : 1,
                    packets[i].length != 0);
}

void iw_capture_connections_foresee(struct iw_capture_connections *t, iw_soon_fn *soon)
{
    t->soon = soon;
}

int iw_capture_connections_take(struct iw_capture_connections *t, struct iw_fragments *f,
                                const struct iw_frame *frames, size_t count,
                                struct iw_capture_counts *counts)
{
    struct iw_packet packets[IW_CAPTURE_BATCH];
    enum iw_decode decoded[IW_CAPTURE_BATCH];
    for (size_t i = 0; i < count; i++)
        decoded[i] = iw_packet_decode(&frames[i], &packets[i]);
    if (t->held > FEW)
        foresee(t, packets, decoded, count);
    for (size_t i = 0; i < count; i++) {
        if (decoded[i] == IW_DECODE_FRAGMENT)
            decoded[i] = iw_fragments_add(f, &frames[i], &packets[i]);
        counts->frames++;
        counts->decoded[decoded[i]]++;
        int result = decoded[i] == IW_DECODE_TCP
                         ? iw_capture_connections_add(t, &frames[i], &packets[i])
                         : 0;
        counts->ignored += result == -1;
        if (result > 0)
            return result;
    }
    return 0;
}
