/* SPDX-License-Identifier: BSD-3-Clause */
/* What a connection's first octets say of its other side, when something is wrong with it. */
#include <stdlib.h>
#include <string.h>

#include "iwarp/observer.h"
#include "peer_program.h"

/* What came or went at once. */
struct part {
    bool sent, end, reset;
    size_t length;
};

struct beginning {
    enum iw_side ours;
    bool over; /* it went beyond the bound, or there was no memory */
    struct part *parts;
    size_t n_parts;
    uint8_t *octets; /* of all parts, one after the other */
    size_t length;
};

static void forget(struct beginning *b)
{
    free(b->parts);
    free(b->octets);
    *b = (struct beginning){.ours = b->ours, .over = true};
}

/* Returns a part for so many octets, NULL if nothing is kept. */
static struct part *add(struct beginning *b, size_t length)
{
    if (b->over)
        return NULL;
    size_t used = b->length + (b->n_parts + 1) * sizeof(struct part);
    if (used > PEER_BEGINNING || length > PEER_BEGINNING - used) {
        forget(b);
        return NULL;
    }
    struct part *parts = reallocarray(b->parts, b->n_parts + 1, sizeof(*parts));
    if (parts != NULL)
        b->parts = parts;
    uint8_t *octets = length > 0 ? realloc(b->octets, b->length + length) : b->octets;
    if (octets != NULL)
        b->octets = octets;
    if (parts == NULL || (length > 0 && octets == NULL)) {
        forget(b);
        return NULL;
    }
    parts[b->n_parts] = (struct part){.length = length};
    return &parts[b->n_parts++];
}

/* ---- the tap ---- */

static void *opened(void *context, const struct sockaddr_storage *local,
                    const struct sockaddr_storage *remote, bool active)
{
    struct beginning *b = calloc(1, sizeof(*b));
    (void)context;
    (void)local;
    (void)remote;
    if (b != NULL)
        b->ours = active ? IW_SIDE_INITIATOR : IW_SIDE_RESPONDER;
    return b;
}

static void octets(void *tapped, bool sent, const struct iw_iov *pieces, size_t count,
                   size_t length)
{
    struct beginning *b = tapped;
    struct part *part = add(b, length);

    if (part == NULL)
        return;
    part->sent = sent;
    for (size_t i = 0; i < count && length > 0; i++) {
        size_t n = pieces[i].length < length ? pieces[i].length : length;
        memcpy(b->octets + b->length, pieces[i].base, n);
        b->length += n;
        length -= n;
    }
}

static void ended(void *tapped, bool sent, bool reset)
{
    struct part *part = add(tapped, 0);

    if (part == NULL)
        return;
    part->sent = sent;
    part->end = true;
    part->reset = reset;
}

static void closed(void *tapped)
{
    forget(tapped);
    free(tapped);
}

const struct iw_tap peer_beginnings = {
    .opened = opened, .octets = octets, .ended = ended, .closed = closed, .in_place = true};

/* ---- what they say ---- */

struct looking {
    enum iw_side ours;
    enum iw_quirk quirk;
};

static void seen(void *context, const struct iw_observation *o)
{
    struct looking *l = context;

    if (o->kind == IW_OBSERVED_FINDING && o->side != l->ours && l->quirk == IW_QUIRK_COUNT)
        l->quirk = iw_quirk_shown(o->quirks, o->fault.check);
}

static void play(const struct beginning *b, struct iw_observer *o)
{
    const uint8_t *next = b->octets;
    uint64_t pos[2] = {0};

    for (size_t i = 0; i < b->n_parts; i++) {
        const struct part *p = &b->parts[i];
        enum iw_side side = p->sent ? b->ours : iw_observed_other(b->ours);
        if (p->end) {
            iw_observer_end(o, side, pos[side], p->reset);
            continue;
        }
        (void)iw_observer_input(o, side, pos[side], next, p->length);
        pos[side] += p->length;
        next += p->length;
    }
    iw_observer_flush(o);
}

enum iw_quirk peer_beginning_quirk(const void *tapped)
{
    const struct beginning *b = tapped;

    if (b == NULL)
        return IW_QUIRK_COUNT;
    struct looking looking = {.ours = b->ours, .quirk = IW_QUIRK_COUNT};
    const struct iw_observer_config config = {.crc32c = iw_crc32c_best(),
                                              .context = &looking,
                                              .seen = seen,
                                              .extensions = true,
                                              .intact = true};
    struct iw_observer *o = iw_observer_new(&config);
    if (o == NULL)
        return IW_QUIRK_COUNT;
    play(b, o);
    iw_observer_free(o);
    return looking.quirk;
}
