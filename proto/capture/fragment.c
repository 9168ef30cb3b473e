/* SPDX-License-Identifier: BSD-3-Clause */
/* Reassembles IP fragments (RFC 791 §3.2, RFC 8200 §4.5). */
#include "iwarp/capture.h"

#include <stdlib.h>
#include <string.h>

enum { DATAGRAM = 65535, UNIT = 8, UNITS = (DATAGRAM + UNIT) / UNIT, SLOTS = IW_FRAGMENTS };
#define LIFETIME (UINT64_C(60) * 1000000000) /* RFC 8200 §4.5 */

/* A datagram of which some fragments are here. */
struct slot {
    uint8_t *data; /* DATAGRAM octets, allocated at its first use */
    struct iw_address source, destination;
    struct iw_fragment first; /* id and next distinguish it from others */
    uint64_t time;            /* of its first fragment */
    uint64_t used;            /* a running number: the least is the oldest */
    uint32_t end;             /* octets in all; 0 until the last fragment is here */
    uint32_t top;             /* after the last octet that is here */
    uint32_t here;            /* units */
    bool bad;                 /* its fragments contradict each other */
    uint8_t map[(UNITS + 7) / 8];
};

struct iw_fragments {
    struct slot slot[SLOTS];
    uint64_t uses;
    uint64_t incomplete;
};

struct iw_fragments *iw_fragments_new(void)
{
    return calloc(1, sizeof(struct iw_fragments));
}

void iw_fragments_free(struct iw_fragments *f)
{
    if (f == NULL)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        free(f->slot[i].data);
    free(f);
}

static bool same(const struct slot *s, const struct iw_packet *p)
{
    return s->first.id == p->fragment.id &&
           (p->source.family == 6 || s->first.next == p->fragment.next) &&
           memcmp(&s->source, &p->source, sizeof(s->source)) == 0 &&
           memcmp(&s->destination, &p->destination, sizeof(s->destination)) == 0;
}

static void give_up(struct iw_fragments *f, struct slot *s)
{
    if (s->used != 0)
        f->incomplete++;
    s->used = 0;
}

/* gcc 12's analyser does not see that a slot of the array keeps its memory; LeakSanitizer does. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

/* Returns the datagram's slot: its own, a free one, or the oldest one's. NULL without memory. */
static struct slot *find(struct iw_fragments *f, const struct iw_frame *frame,
                         const struct iw_packet *packet)
{
    struct slot *oldest = &f->slot[0];

    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *s = &f->slot[i];
        if (s->used != 0 && frame->time > s->time && frame->time - s->time > LIFETIME)
            give_up(f, s);
        if (s->used != 0 && same(s, packet))
            return s;
        if (s->used < oldest->used)
            oldest = s;
    }
    give_up(f, oldest);
    if (oldest->data == NULL && (oldest->data = malloc(DATAGRAM)) == NULL)
        return NULL;
    uint8_t *data = oldest->data;
    memset(oldest, 0, sizeof(*oldest));
    oldest->data = data;
    oldest->source = packet->source;
    oldest->destination = packet->destination;
    oldest->first = packet->fragment;
    oldest->time = frame->time;
    oldest->used = ++f->uses;
    return oldest;
}

/* Puts the fragment in its place. Returns false if it contradicts the octets there: octets that
 * differ, or, in IPv6, any that come twice but in an exact repeat (RFC 8200 §4.5). */
static bool place(struct slot *s, const struct iw_packet *p)
{
    uint32_t from = p->fragment.offset, to = from + p->length;
    uint32_t fresh = 0, first = from / UNIT, units = (p->length + UNIT - 1) / UNIT;

    if ((s->end != 0 && to > s->end) || (!p->fragment.more && s->top > to))
        return false;
    for (uint32_t i = first; i < first + units; i++) {
        uint32_t at = i * UNIT, n = to - at < UNIT ? to - at : UNIT;
        if ((s->map[i / 8] >> i % 8 & 1) == 0) {
            s->map[i / 8] |= (uint8_t)(1u << i % 8);
            memcpy(s->data + at, p->payload + (at - from), n);
            fresh++;
        } else if (memcmp(s->data + at, p->payload + (at - from), n) != 0) {
            return false;
        }
    }
    s->here += fresh;
    if (to > s->top)
        s->top = to;
    if (!p->fragment.more)
        s->end = to;
    return s->source.family == 4 || fresh == 0 || fresh == units;
}

enum iw_decode iw_fragments_add(struct iw_fragments *f, const struct iw_frame *frame,
                                struct iw_packet *packet)
{
    const struct iw_fragment *part = &packet->fragment;

    if (packet->missing != 0)
        return IW_DECODE_FRAGMENT;
    if (packet->length == 0 || (part->more && packet->length % UNIT != 0) ||
        packet->length > DATAGRAM - part->offset) {
        packet->reason = "a fragment whose length cannot be";
        return IW_DECODE_BAD;
    }
    struct slot *s = find(f, frame, packet);
    if (s == NULL)
        return IW_DECODE_FRAGMENT;
    if (s->bad || !place(s, packet)) {
        s->bad = true;
        packet->reason = "fragments that contradict each other";
        return IW_DECODE_BAD;
    }
    if (part->offset == 0)
        s->first = *part;
    if (s->end == 0 || s->here < (s->end + UNIT - 1) / UNIT)
        return IW_DECODE_FRAGMENT;
    s->used = 0;
    return iw_packet_decode_whole(packet, s->first.next, s->data, s->end);
}

uint64_t iw_fragments_incomplete(const struct iw_fragments *f)
{
    uint64_t n = f->incomplete;

    for (size_t i = 0; i < SLOTS; i++)
        n += f->slot[i].used != 0;
    return n;
}
