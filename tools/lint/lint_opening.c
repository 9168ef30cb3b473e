/* SPDX-License-Identifier: BSD-3-Clause */
/* The first octets of connections that cannot be recognised yet: a start-up frame may come in
 * pieces that are too short, or out of order. */
#include "lint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "host/text.h"

enum {
    OPENINGS = 64, /* at a time; the oldest is forgotten for another */
    COMMON = 9     /* octets that both keys have */
};

struct opening {
    bool used;
    uint64_t connection; /* its number */
    unsigned direction;
    uint8_t octets[IW_MPA_STARTUP_MAX];
    uint64_t frame[IW_MPA_STARTUP_MAX]; /* that brought it; 0: it has not come */
};

struct iw_lint_openings {
    size_t next; /* to be used */
    struct opening list[OPENINGS];
};

static struct opening *find(const struct iw_lint *lint, const struct iw_segment *s)
{
    for (size_t i = 0; lint->openings != NULL && i < OPENINGS; i++) {
        struct opening *o = &lint->openings->list[i];
        if (o->used && o->connection == s->connection->number && o->direction == s->direction)
            return o;
    }
    return NULL;
}

static struct opening *make(struct iw_lint *lint, const struct iw_segment *s)
{
    if (lint->openings == NULL)
        lint->openings = iw_got(calloc(1, sizeof(*lint->openings)));
    struct opening *o = &lint->openings->list[lint->openings->next++ % OPENINGS];
    *o = (struct opening){
        .used = true, .connection = s->connection->number, .direction = s->direction};
    return o;
}

/* Returns how many octets of the segment may belong to a start-up frame at position 0. */
static size_t usable(const struct iw_segment *s)
{
    return s->pos < IW_MPA_STARTUP_MAX ? MIN(s->length, (size_t)(IW_MPA_STARTUP_MAX - s->pos)) : 0;
}

static bool fits_key(const struct iw_segment *s)
{
    return s->pos >= COMMON || memcmp(s->data, iw_mpa_request_key + s->pos,
                                      MIN(s->length, (size_t)(COMMON - s->pos))) == 0;
}

struct iw_segment iw_lint_opening_join(const struct iw_lint *lint, const struct iw_segment *s,
                                       uint8_t key[IW_MPA_KEY_LENGTH])
{
    const struct opening *o = find(lint, s);
    struct iw_segment joined = *s;
    if (o == NULL || s->pos >= IW_MPA_KEY_LENGTH)
        return joined;
    joined.pos = 0;
    joined.data = key;
    joined.missing = 0;
    for (joined.length = 0; joined.length < IW_MPA_KEY_LENGTH; joined.length++) {
        const size_t at = joined.length;
        if (at >= s->pos && at - s->pos < s->length)
            key[at] = s->data[at - s->pos];
        else if (o->frame[at] != 0)
            key[at] = o->octets[at];
        else
            break;
    }
    return joined.length > 0 ? joined : *s;
}

void iw_lint_opening_keep(struct iw_lint *lint, const struct iw_segment *s)
{
    struct opening *o = find(lint, s);
    const size_t n = usable(s);
    if (n == 0 ||
        (o == NULL && (s->connection->begun[s->direction] || !s->connection->syn[s->direction])))
        return;
    if (!fits_key(s)) {
        if (o != NULL)
            o->used = false;
        return;
    }
    if (o == NULL)
        o = make(lint, s);
    for (size_t i = 0; i < n; i++)
        if (o->frame[s->pos + i] == 0) {
            o->frame[s->pos + i] = lint->frame;
            o->octets[s->pos + i] = s->data[i];
        }
}

/* Returns the first frame after `last` that brought octets, with the first and the last of them;
 * 0: none. */
static uint64_t next_frame(const struct opening *o, uint64_t last, size_t *from, size_t *to)
{
    uint64_t frame = 0;
    for (size_t i = 0; i < IW_MPA_STARTUP_MAX; i++) {
        if (o->frame[i] > last && (frame == 0 || o->frame[i] < frame)) {
            frame = o->frame[i];
            *from = i;
        }
        if (frame != 0 && o->frame[i] == frame)
            *to = i;
    }
    return frame;
}

void iw_lint_opening_give(struct iw_lint *lint, struct iw_lint_connection *c,
                          const struct iw_segment *s, enum iw_side side)
{
    struct opening *o = find(lint, s);
    const uint64_t now = lint->frame;
    size_t from, to;
    if (o == NULL)
        return;
    for (uint64_t frame = 0; (frame = next_frame(o, frame, &from, &to)) != 0;) {
        lint->frame = frame;
        iw_lint_remember(c, side, from, to + 1);
        for (size_t i = from, n; i <= to; i += n) {
            for (n = 1; i + n <= to && o->frame[i + n] == o->frame[i];)
                n++;
            if (o->frame[i] == frame)
                (void)iw_observer_input(c->observer, side, i, o->octets + i, n);
        }
    }
    lint->frame = now;
    o->used = false;
}
