/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "observer/internal.h"

static void remove_islands(struct iw_cover *c, size_t at, size_t n)
{
    memmove(&c->island[at], &c->island[at + n], (c->count - at - n) * sizeof c->island[0]);
    c->count -= n;
}

/* Puts [from, to), which lies behind c->end, among the islands and joins those it touches. */
static void add_island(struct iw_cover *c, uint64_t from, uint64_t to)
{
    size_t at = 0, n = 0;

    while (at < c->count && c->island[at].to < from)
        at++;
    while (at + n < c->count && c->island[at + n].from <= to) {
        struct iw_cover_island *i = &c->island[at + n++];
        from = i->from < from ? i->from : from;
        to = i->to > to ? i->to : to;
    }
    if (n == 0) {
        if (c->count == ISLANDS) {
            c->lossy = true;
            return;
        }
        memmove(&c->island[at + 1], &c->island[at], (c->count - at) * sizeof c->island[0]);
        c->count++;
    } else {
        remove_islands(c, at, n - 1);
    }
    c->island[at].from = from;
    c->island[at].to = to;
}

void iw_cover_add(struct iw_cover *c, uint64_t pos, uint64_t length)
{
    uint64_t to = pos + length;
    size_t joined = 0;

    if (length == 0 || to < pos)
        return;
    c->top = to > c->top ? to : c->top;
    if (pos > c->end) {
        add_island(c, pos, to);
        return;
    }
    c->end = to > c->end ? to : c->end;
    for (; joined < c->count && c->island[joined].from <= c->end; joined++)
        if (c->island[joined].to > c->end)
            c->end = c->island[joined].to;
    remove_islands(c, 0, joined);
}

bool iw_cover_gap(const struct iw_cover *c)
{
    return c->count > 0 || c->lossy;
}
