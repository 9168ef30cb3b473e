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

/* Returns NULL if nothing was kept, or for octets that come after a start-up frame. */
static struct opening *find(const struct iw_lint *lint, const struct iw_segment *s)
{
    if (lint->openings == NULL || s->pos >= IW_MPA_STARTUP_MAX)
        return NULL;
    for (size_t i = 0; i < OPENINGS; i++) {
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

/* Returns how many of `length` octets at a position come before `end`. */
static size_t before(uint64_t end, uint64_t pos, size_t length)
{
    return pos < end ? MIN(length, (size_t)(end - pos)) : 0;
}

struct iw_segment iw_lint_opening_join(const struct iw_lint *lint, const struct iw_segment *s,
                                       uint8_t key[IW_MPA_KEY_LENGTH])
{
    const struct opening *o = find(lint, s);
    struct iw_segment joined = *s;
    if (o == NULL)
        return joined;
    memcpy(key, o->octets, IW_MPA_KEY_LENGTH);
    for (size_t i = 0; i < before(IW_MPA_KEY_LENGTH, s->pos, s->length); i++)
        key[s->pos + i] = s->data[i];
    joined.pos = 0;
    joined.data = key;
    joined.length = key[COMMON] != 0 ? IW_MPA_KEY_LENGTH : 0; /* that one shows the side */
    return joined;
}

void iw_lint_opening_keep(struct iw_lint *lint, const struct iw_segment *s)
{
    const size_t n = before(IW_MPA_STARTUP_MAX, s->pos, s->length);
    struct opening *o = find(lint, s);
    if (n == 0 || memcmp(s->data, iw_mpa_request_key + MIN(s->pos, COMMON),
                         before(COMMON, s->pos, s->length)) != 0)
        return;
    if (o == NULL && (s->connection->begun[s->direction] || !s->connection->syn[s->direction]))
        return;
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
    *from = *to = 0;
    for (size_t i = 0; i < IW_MPA_STARTUP_MAX; i++) {
        if (o->frame[i] > last && (frame == 0 || o->frame[i] < frame)) {
            frame = o->frame[i];
            *from = i;
        }
        if (o->frame[i] == frame)
            *to = i;
    }
    return frame;
}

void iw_lint_opening_give(struct iw_lint *lint, struct iw_lint_connection *c,
                          const struct iw_segment *s, enum iw_side side)
{
    const struct opening *o = find(lint, s);
    const uint64_t now = lint->frame;
    size_t from, to;
    if (o == NULL)
        return;
    for (uint64_t frame = 0; (frame = next_frame(o, frame, &from, &to)) != 0;) {
        lint->frame = frame;
        iw_lint_remember(c, side, from, to + 1);
        (void)iw_observer_input(c->observer, side, from, o->octets + from, to + 1 - from);
    }
    lint->frame = now;
}
