/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBSERVER_TALK_H
#define OBSERVER_TALK_H

/* Conversations of which octets are missing. */

#include "observer_support.h"

#include <stdlib.h>

#include "iwarp/mpa.h"

enum { PARTS = 40, PART_MAX = 4096, FOUND_MAX = 16 };

/* One TCP segment of a conversation. */
struct part {
    enum iw_side side;
    uint64_t pos;
    size_t length;
    uint8_t octets[PART_MAX];
};

struct talk {
    struct part part[PARTS];
    size_t parts;
    uint64_t end[2];
    struct iw_framer framer[2];
    bool framed;
    /* The findings of the whole capture. */
    struct seen found[FOUND_MAX];
    size_t n_found, messages;
};

/* ---- conversations ---- */

static inline void append(struct talk *t, enum iw_side side, const uint8_t *octets, size_t length)
{
    struct part *p = &t->part[t->parts++];

    assert_true(t->parts <= PARTS && length <= PART_MAX);
    *p = (struct part){.side = side, .pos = t->end[side], .length = length};
    memcpy(p->octets, octets, length);
    t->end[side] += length;
}

/* A step as rig_step's: i r octets, I R an FPDU, X Y one with a wrong CRC, + before either joins it
 * to the segment before. `blank` octets follow the digits. */
static inline void say(struct talk *t, const char *step, size_t blank)
{
    static uint8_t octets[PART_MAX], fpdu[PART_MAX], scratch[IW_FRAMER_SCRATCH];
    bool join = step[0] == '+';
    const char letter = step[join];
    enum iw_side side = strchr("iIX", letter) != NULL ? IW_SIDE_INITIATOR : IW_SIDE_RESPONDER;
    size_t length = hex_octets(octets, step + join + 1);
    const uint8_t *from = octets;

    for (size_t i = 0; i < blank; i++)
        octets[length++] = (uint8_t)(i * 7);
    if (letter != 'i' && letter != 'r') {
        struct iw_iov ulpdu = {.base = octets, .length = length}, pieces[16];
        int n = iw_framer_frame(&t->framer[side], &ulpdu, 1, pieces, 16, scratch);
        assert_true(n > 0);
        length = 0;
        for (int i = 0; i < n; i++) {
            memcpy(fpdu + length, pieces[i].base, pieces[i].length);
            length += pieces[i].length;
        }
        if (letter == 'X' || letter == 'Y')
            fpdu[length - 1] ^= 1;
        from = fpdu;
    }
    if (join) {
        struct part *p = &t->part[t->parts - 1];
        assert_true(p->side == side && p->length + length <= PART_MAX);
        memcpy(p->octets + p->length, from, length);
        p->length += length;
        t->end[side] += length;
    } else {
        append(t, side, from, length);
    }
}

enum talk_kind { TALK_CRC, TALK_PLAIN, TALK_MARKERS, TALK_KINDS };

static inline struct talk *begin(enum talk_kind kind)
{
    static const char *const startup[][2] = {
        {REQUEST, REPLY},
        {REQUEST_PLAIN, REPLY_PLAIN},
        {"i " REQUEST_KEY "c0010000", "r " REPLY_KEY "c0010000"},
    };
    struct talk *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    for (int i = 0; i < 2; i++) {
        say(t, startup[kind][i], 0);
        iw_framer_init(&t->framer[i], kind == TALK_MARKERS, kind != TALK_PLAIN, iw_crc32c_portable,
                       NULL);
    }
    return t;
}

/* Every kind of message, some in several segments, and nothing wrong. */
static inline struct talk *clean(enum talk_kind kind)
{
    struct talk *t = begin(kind);

    say(t, "I " SEND_1, 8);
    say(t, "R " SEND_1, 8);
    say(t, "I " READ_1, 0);
    say(t, "+I " READ_2, 0);
    say(t, "R " RESPONSE_1, 0);
    say(t, "I 8140 11223344 0000000000001000", 300);
    say(t, "I c140 11223344 000000000000112c", 700);
    say(t, "R " RESPONSE_2, 0);
    say(t, "+R 4143 00000000 00000000 00000002 00000000", 30);
    say(t, "I 0143 00000000 00000000 00000002 00000000", 500);
    say(t, "I 4143 00000000 00000000 00000002 000001f4", 40);
    say(t, "R " READ_1, 0);
    say(t, "R 4144 11223344 00000000 00000003 00000000", 3);
    say(t, "I " RESPONSE_1, 0);
    say(t, "I c140 11223344 0000000000001000", 900);
    say(t, "I " READ_3, 0);
    say(t, "R " RESPONSE_3, 0);
    say(t, "I c140 11223344 0000000000001000", 17);
    say(t, "R c140 11223344 0000000000001000", 600);
    say(t, "I 4143 00000000 00000000 00000003 00000000", 5);
    say(t, "R 4143 00000000 00000000 00000004 00000000", 600);
    say(t, "I 4147 00000000 00000002 00000001 00000000 20020000", 0);
    return t;
}

/* Faults of several sorts. */
static inline struct talk *faulty(enum talk_kind kind)
{
    struct talk *t = begin(kind);

    say(t, "I " SEND_1, 8);
    say(t, "R " SEND_2, 8);
    say(t, "I " READ_1, 0);
    say(t, "R c142 aabbccdd 0000000000002000", 63);
    say(t, "I 4141 00000000 00000001 00000003 00000000", 28);
    say(t, "R " RESPONSE_3, 0);
    say(t, "I 8140 11223344 0000000000001000", 30);
    say(t, "I c140 11223344 0000000000001020", 30);
    say(t, "R " RESPONSE_3, 0);
    if (kind != TALK_PLAIN)
        say(t, "X 4143 00000000 00000000 00000002 00000000", 20);
    say(t, "I 4143 00000000 00000000 00000003 00000000", 20);
    say(t, "I 4143 00000000 00000000 00000004 00000000", 20);
    say(t, "R 4143 00000000 00000000 00000003 00000000", 20);
    say(t, "R 4147 00000000 00000002 00000001 00000000 f0ff0000", 0);
    return t;
}

/* ---- playing them with octets missing ---- */

/* The missing octets: of each side those from `from` to `to`, all of a segment after its first
 * `snap`, and everything before segment `first` with its octet `octet`. */
struct lack {
    uint64_t from[2], to[2];
    size_t snap;
    size_t first, octet;
    size_t limit; /* of memory */
    size_t piece; /* segments are cut anew into pieces of this; 0: are not */
    bool report;  /* iw_observer_gap says what is missing */
    /* What is assumed if the beginning is missing; NULL: nothing. */
    const struct iw_observer_assumption *assume;
};

#define WHOLE ((struct lack){.snap = SIZE_MAX, .limit = SIZE_MAX})

static inline void give(struct rig *rig, const struct lack *lack, const struct part *p,
                        uint64_t base, size_t from, size_t to)
{
    size_t piece = lack->piece ? lack->piece : to - from;

    for (size_t at = from, n; at < to; at += n) {
        n = piece < to - at ? piece : to - at;
        uint8_t *copy = malloc(n);
        assert_non_null(copy);
        memcpy(copy, p->octets + at, n);
        (void)iw_observer_input(rig->observer, p->side, p->pos + at - base, copy, n);
        free(copy);
    }
}

static inline struct rig *play(const struct talk *t, const struct lack *lack)
{
    struct rig *rig = rig_new(false, false);
    uint64_t base[2] = {UINT64_MAX, UINT64_MAX}, sent[2] = {0};

    rig->limit = lack->limit;
    if (lack->first > 0 || lack->octet > 0)
        iw_observer_assume(rig->observer, lack->assume);
    else
        base[0] = base[1] = 0;
    for (size_t k = 0; k < t->parts; k++) {
        const struct part *p = &t->part[k];
        enum iw_side other = p->side == IW_SIDE_INITIATOR ? IW_SIDE_RESPONDER : IW_SIDE_INITIATOR;
        size_t skip = k == lack->first && lack->octet < p->length ? lack->octet : 0;
        size_t end = p->length < lack->snap ? p->length : lack->snap;
        uint64_t from = lack->from[p->side], to = lack->to[p->side];

        sent[p->side] = p->pos + p->length;
        if (k < lack->first)
            continue;
        if (base[p->side] == UINT64_MAX)
            base[p->side] = p->pos + skip;
        if (base[other] != UINT64_MAX)
            iw_observer_acked(rig->observer, other, sent[other] - base[other]);
        size_t gap = from < p->pos ? 0 : from - p->pos < end ? (size_t)(from - p->pos) : end;
        size_t back = to < p->pos ? 0 : to - p->pos < end ? (size_t)(to - p->pos) : end;
        if (gap >= back)
            gap = back = end;
        if (skip < gap)
            give(rig, lack, p, base[p->side], skip, gap);
        if (lack->report && gap < back)
            iw_observer_gap(rig->observer, p->side, p->pos + gap - base[p->side],
                            p->pos + back - base[p->side]);
        if (back < end)
            give(rig, lack, p, base[p->side], back > skip ? back : skip, end);
        if (end < p->length)
            iw_observer_gap(rig->observer, p->side, p->pos + end - base[p->side],
                            p->pos + p->length - base[p->side]);
    }
    for (int i = 0; i < 2; i++)
        if (base[i] != UINT64_MAX)
            iw_observer_end(rig->observer, (enum iw_side)i, t->end[i] - base[i], false);
    iw_observer_flush(rig->observer);
    return rig;
}

#endif
