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

/* The latest connection of each pair of endpoints is also in a hash table. Its key is random, so
 * that nobody can choose addresses that make the search slow. */
struct iw_connections {
    struct iw_connection **list; /* has holes where connections were dropped */
    size_t count;                /* of the list */
    size_t room;
    size_t held;
    size_t hole; /* there is none below */
    size_t limit;
    uint64_t added;
    struct iw_connection **bucket;
    size_t buckets; /* a power of two */
    uint64_t key[3];
    struct iw_connection *last;
    struct queue queue[2]; /* all, and those with a user */
    iw_segment_fn *seen;
    iw_dropped_fn *dropped;
    bool acks;
    void *context;
};

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

static uint64_t hash_endpoint(const struct iw_connections *t, const struct iw_address *address,
                              uint16_t port)
{
    uint64_t low, high;

    memcpy(&low, address->octets, sizeof low);
    memcpy(&high, address->octets + 8, sizeof high);
    return mix(mix(low ^ t->key[0]) ^ mix(high ^ t->key[1]) ^
               ((uint64_t)port << 8 | address->family) ^ t->key[2]);
}

/* Of both endpoints, without regard to which is which. */
static uint64_t hash(const struct iw_connections *t, const struct iw_address *a, uint16_t a_port,
                     const struct iw_address *b, uint16_t b_port)
{
    return mix(hash_endpoint(t, a, a_port) + hash_endpoint(t, b, b_port));
}

static bool is_endpoint(const struct iw_connection *c, unsigned i, const struct iw_address *address,
                        uint16_t port)
{
    return c->port[i] == port && c->address[i].family == address->family &&
           memcmp(c->address[i].octets, address->octets, sizeof address->octets) == 0;
}

static bool is_between(const struct iw_connection *c, const struct iw_packet *p, unsigned *side)
{
    for (*side = 0; *side < 2; (*side)++)
        if (is_endpoint(c, *side, &p->source, p->source_port) &&
            is_endpoint(c, 1 - *side, &p->destination, p->destination_port))
            return true;
    return false;
}

struct iw_connections *iw_connections_new(size_t limit, iw_segment_fn *seen, void *context)
{
    enum { BUCKETS = 16 };
    struct iw_connections *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->limit = limit;
    t->seen = seen;
    t->context = context;
    t->buckets = BUCKETS;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): the buckets are pointers */
    t->bucket = calloc(BUCKETS, sizeof *t->bucket);
    if (t->bucket == NULL || getrandom(t->key, sizeof t->key, 0) != (ssize_t)sizeof t->key) {
        iw_connections_free(t);
        return NULL;
    }
    return t;
}

void iw_connections_recycle(struct iw_connections *t, iw_dropped_fn *dropped)
{
    t->dropped = dropped;
}

void iw_connections_tell_acks(struct iw_connections *t)
{
    t->acks = true;
}

void iw_connections_free(struct iw_connections *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->count; i++)
        free(t->list[i]);
    free(t->queue[0].entries);
    free(t->queue[1].entries);
    free(t->list);
    free(t->bucket);
    free(t);
}

size_t iw_connections_count(const struct iw_connections *t)
{
    return t->count;
}

struct iw_connection *iw_connections_get(const struct iw_connections *t, size_t number)
{
    return number < t->count ? t->list[number] : NULL;
}

/* ---- the least recently used ---- */

static int older(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;

    return (a->frame > b->frame) - (a->frame < b->frame);
}

static bool fill(struct iw_connections *t, struct queue *q)
{
    if (q->room < t->count) {
        struct entry *entries = realloc(q->entries, t->count * sizeof *entries);
        if (entries == NULL)
            return false;
        q->entries = entries;
        q->room = t->count;
    }
    q->count = q->next = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct iw_connection *c = t->list[i];
        if (c != NULL && (q == &t->queue[0] || c->user != NULL))
            q->entries[q->count++] = (struct entry){i, c->number, c->last_frame};
    }
    if (q->count > 0)
        qsort(q->entries, q->count, sizeof *q->entries, older);
    /* What is not among the older half may well be used before its turn comes. */
    q->count = (q->count + 1) / 2;
    return true;
}

static struct iw_connection *take_oldest(struct iw_connections *t, struct queue *q)
{
    for (unsigned filled = 0;;) {
        for (; q->next < q->count; q->next++) {
            const struct entry *e = &q->entries[q->next];
            struct iw_connection *c = t->list[e->index];
            if (c != NULL && c->number == e->number && c->last_frame == e->frame &&
                (q == &t->queue[0] || c->user != NULL))
                return c;
        }
        if (filled++ != 0 || !fill(t, q))
            return NULL;
    }
}

struct iw_connection *iw_connections_oldest_used(struct iw_connections *t)
{
    return take_oldest(t, &t->queue[1]);
}

/* ---- adding and dropping ---- */

static struct iw_connection **bucket_of(const struct iw_connections *t,
                                        const struct iw_connection *c)
{
    return &t->bucket[hash(t, &c->address[0], c->port[0], &c->address[1], c->port[1]) &
                      (t->buckets - 1)];
}

/* Takes the connection out of the hash table, if it is there. */
static void unlink_connection(struct iw_connections *t, struct iw_connection *c)
{
    for (struct iw_connection **at = bucket_of(t, c); *at != NULL; at = &(*at)->chain)
        if (*at == c) {
            *at = c->chain;
            break;
        }
    c->chain = NULL;
    if (t->last == c)
        t->last = NULL;
}

static void link_connection(struct iw_connections *t, struct iw_connection *c)
{
    struct iw_connection **at = bucket_of(t, c);

    c->chain = *at;
    *at = c;
}

/* As many buckets as connections. Without memory it stays slower. */
static void widen(struct iw_connections *t)
{
    size_t buckets = t->buckets, wider = 2 * buckets;
    struct iw_connection **old = t->bucket;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): the buckets are pointers */
    struct iw_connection **bucket = calloc(wider, sizeof *bucket);

    if (bucket == NULL)
        return;
    t->bucket = bucket;
    t->buckets = wider;
    for (size_t i = 0; i < buckets; i++)
        while (old[i] != NULL) {
            struct iw_connection *c = old[i];
            old[i] = c->chain;
            link_connection(t, c);
        }
    free(old);
}

static bool drop_oldest(struct iw_connections *t)
{
    struct iw_connection *c = t->dropped != NULL ? take_oldest(t, &t->queue[0]) : NULL;

    if (c == NULL)
        return false;
    t->dropped(t->context, c);
    unlink_connection(t, c);
    t->hole = t->queue[0].entries[t->queue[0].next].index;
    t->list[t->hole] = NULL;
    t->held--;
    free(c);
    return true;
}

/* Where the next connection goes. */
static bool make_place(struct iw_connections *t, size_t *place)
{
    if (t->held == t->limit && !drop_oldest(t))
        return false;
    if (t->held < t->count) { /* the one just dropped left a hole */
        *place = t->hole;
        return true;
    }
    if (t->count == t->room) {
        size_t room = t->room != 0 ? 2 * t->room : 16;
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): the list is one of pointers */
        struct iw_connection **list = realloc(t->list, room * sizeof *list);
        if (list == NULL)
            return false;
        t->list = list;
        t->room = room;
    }
    *place = t->count;
    return true;
}

/* Adds a copy of `fresh`, which takes the place of `old` (may be NULL) in the hash table. */
static struct iw_connection *add(struct iw_connections *t, const struct iw_connection *fresh,
                                 struct iw_connection *old)
{
    struct iw_connection *c = malloc(sizeof *c);
    size_t place;

    if (c == NULL)
        return NULL;
    *c = *fresh;
    if (old != NULL)
        unlink_connection(t, old);
    if (!make_place(t, &place)) {
        if (old != NULL)
            link_connection(t, old);
        free(c);
        return NULL;
    }
    if (t->held >= t->buckets)
        widen(t);
    c->number = t->added++;
    t->list[place] = c;
    t->count += place == t->count;
    t->held++;
    link_connection(t, c);
    return c;
}

/* A SYN on a connection that is over, or of another connection between the same endpoints. */
static bool is_new(const struct iw_connection *c, unsigned side, const struct iw_packet *packet)
{
    if ((packet->flags & IW_TCP_SYN) == 0)
        return false;
    if ((packet->flags & IW_TCP_ACK) == 0 && (c->reset || (c->fin[0] && c->fin[1])))
        return true;
    return c->known[side] && c->base[side] != packet->seq + 1;
}

static struct iw_connection *find(struct iw_connections *t, const struct iw_packet *packet,
                                  unsigned *side)
{
    struct iw_connection *c = t->last;

    if (c == NULL || !is_between(c, packet, side)) {
        uint64_t h = hash(t, &packet->source, packet->source_port, &packet->destination,
                          packet->destination_port);
        c = t->bucket[h & (t->buckets - 1)];
        while (c != NULL && !is_between(c, packet, side))
            c = c->chain;
    }
    if (c == NULL || is_new(c, *side, packet)) {
        unsigned from = (packet->flags & IW_TCP_SYN) != 0 && (packet->flags & IW_TCP_ACK) != 0;
        struct iw_connection fresh = {0};
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

static void know(struct iw_connection *c, unsigned side, uint32_t base)
{
    if (c->known[side])
        return;
    c->known[side] = true;
    c->base[side] = base;
}

/* What an acknowledgement says of this side's octets; false if nothing, or nothing that can be. */
static bool acknowledged(const struct iw_connection *c, unsigned side, uint32_t ack, uint64_t *pos)
{
    if (!c->known[side])
        return false;
    *pos = iw_stream_unwrap(c->ahead[side], ack - c->base[side]);
    if (c->fin[side] && *pos == c->end[side] + 1)
        *pos = c->end[side];
    return *pos != 0 && *pos <= c->ahead[side] + WINDOW_MAX;
}

int iw_connections_add(struct iw_connections *t, const struct iw_frame *frame,
                       const struct iw_packet *packet)
{
    unsigned side;
    struct iw_connection *c = find(t, packet, &side);
    if (c == NULL)
        return -1;
    if (c->first_frame == 0)
        c->first_frame = frame->number;
    c->last_frame = frame->number;

    bool syn = (packet->flags & IW_TCP_SYN) != 0;
    uint32_t seq = packet->seq + (syn ? 1u : 0u);
    know(c, side, seq);
    if (syn && (packet->flags & IW_TCP_ACK) != 0)
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

int iw_connections_take(struct iw_connections *t, struct iw_fragments *f,
                        const struct iw_frame *frame, struct iw_capture_counts *counts)
{
    struct iw_packet packet;
    enum iw_decode decode = iw_packet_decode(frame, &packet);

    if (decode == IW_DECODE_FRAGMENT)
        decode = iw_fragments_add(f, frame, &packet);
    counts->frames++;
    counts->decoded[decode]++;
    int result = decode == IW_DECODE_TCP ? iw_connections_add(t, frame, &packet) : 0;
    counts->ignored += result == -1;
    return result == -1 ? 0 : result;
}
