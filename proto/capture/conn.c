/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/capture.h"
#include "iwarp/stream.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* The latest connection of each pair of endpoints is also in a tree: glibc's is balanced, so no
 * choice of addresses makes the search slow. */
struct iw_connections {
    struct iw_connection **list;
    size_t count;
    size_t room;
    size_t limit;
    void *tree;
    iw_segment_fn *seen;
    void *context;
};

static int compare_endpoint(const struct iw_connection *a, unsigned i,
                            const struct iw_connection *b, unsigned j)
{
    if (a->port[i] != b->port[j])
        return a->port[i] < b->port[j] ? -1 : 1;
    if (a->address[i].family != b->address[j].family)
        return a->address[i].family < b->address[j].family ? -1 : 1;
    return memcmp(a->address[i].octets, b->address[j].octets, sizeof a->address[i].octets);
}

/* Compares without regard to which side is which. */
static int compare(const void *x, const void *y)
{
    const struct iw_connection *a = x, *b = y;
    unsigned low_a = compare_endpoint(a, 0, a, 1) <= 0 ? 0 : 1;
    unsigned low_b = compare_endpoint(b, 0, b, 1) <= 0 ? 0 : 1;
    int order = compare_endpoint(a, low_a, b, low_b);
    return order != 0 ? order : compare_endpoint(a, 1 - low_a, b, 1 - low_b);
}

struct iw_connections *iw_connections_new(size_t limit, iw_segment_fn *seen, void *context)
{
    struct iw_connections *t = calloc(1, sizeof *t);
    if (t != NULL) {
        t->limit = limit;
        t->seen = seen;
        t->context = context;
    }
    return t;
}

static void keep_node(void *node)
{
    (void)node; /* the list owns what the tree points to */
}

void iw_connections_free(struct iw_connections *t)
{
    if (t == NULL)
        return;
    tdestroy(t->tree, keep_node);
    for (size_t i = 0; i < t->count; i++)
        free(t->list[i]);
    free(t->list);
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

/* Adds a copy of `fresh`, which takes the place of an earlier one in the tree. */
static struct iw_connection *add(struct iw_connections *t, const struct iw_connection *fresh)
{
    if (t->count == t->limit)
        return NULL;
    if (t->count == t->room) {
        size_t room = t->room != 0 ? 2 * t->room : 16;
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): the list is one of pointers */
        struct iw_connection **list = realloc(t->list, room * sizeof *list);
        if (list == NULL)
            return NULL;
        t->list = list;
        t->room = room;
    }
    struct iw_connection *c = malloc(sizeof *c);
    if (c == NULL)
        return NULL;
    *c = *fresh;
    c->number = t->count;
    struct iw_connection **node = tsearch(c, &t->tree, compare);
    if (node == NULL) {
        free(c);
        return NULL;
    }
    *node = c;
    t->list[t->count++] = c;
    return c;
}

static bool is_new(const struct iw_connection *c, unsigned side, const struct iw_packet *packet)
{
    if ((packet->flags & (IW_TCP_SYN | IW_TCP_ACK)) != IW_TCP_SYN)
        return false;
    if (c->reset || (c->fin[0] && c->fin[1]))
        return true;
    return c->known[side] && c->base[side] != packet->seq + 1;
}

static struct iw_connection *find(struct iw_connections *t, const struct iw_packet *packet,
                                  unsigned *side)
{
    struct iw_connection key = {.address = {packet->source, packet->destination},
                                .port = {packet->source_port, packet->destination_port}};
    struct iw_connection **node = tfind(&key, &t->tree, compare);
    if (node != NULL) {
        *side = compare_endpoint(*node, 0, &key, 0) == 0 ? 0 : 1;
        if (!is_new(*node, *side, packet))
            return *node;
    }
    *side = 0;
    if ((packet->flags & IW_TCP_SYN) != 0 && (packet->flags & IW_TCP_ACK) != 0) {
        *side = 1;
        key.address[0] = packet->destination;
        key.address[1] = packet->source;
        key.port[0] = packet->destination_port;
        key.port[1] = packet->source_port;
    }
    return add(t, &key);
}

static void know(struct iw_connection *c, unsigned side, uint32_t base)
{
    if (c->known[side])
        return;
    c->known[side] = true;
    c->base[side] = base;
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
    }
    return t->seen(t->context, &segment);
}
