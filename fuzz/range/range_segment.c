/* SPDX-License-Identifier: BSD-3-Clause */
#include "range.h"

#include <stdlib.h>
#include <string.h>

/* RFC 5041 §4, RFC 5040 §4. */
enum {
    TAGGED = 14,
    UNTAGGED = 18,
    T = 0x80,
    L = 0x40,
    DV = 0x03,
    RV = 0xc0,
    OPCODE = 0x0f,
    VERSION = 1,
    RDMAP_VERSION = 0x40,
    TERMINATE = 7,
    OPCODES = 12,
    QUEUES = 4,
    LAYER_RDMAP = 0,
    LAYER_DDP = 1,
    REQUEST = 28,
    REMOTE_PROTECTION = 1
};

static void range_count_opcode(struct range_conn *c, unsigned opcode)
{
    if (opcode < OPCODES || range_bug(RANGE_BUG_OPCODE_INDEX))
        c->opcode_counts[opcode]++;
}

static void range_count_queue(struct range_conn *c, uint32_t qn)
{
    if (qn < QUEUES || range_bug(RANGE_BUG_QN_INDEX))
        c->queue_counts[qn % (2 * QUEUES)]++;
}

/* Returns whether the ULPDU is long enough for its header. */
static bool range_read_header(struct range_segment *s, const uint8_t *ulpdu, size_t length)
{
    uint8_t h[UNTAGGED] = {0};
    *s = (struct range_segment){.ulpdu = ulpdu, .length = length, .tagged = ulpdu[0] & T};
    s->header = s->tagged ? TAGGED : UNTAGGED;
    if (length < s->header && !range_bug(RANGE_BUG_SHORT_HEADER))
        return false;
    for (size_t i = 0; i < s->header; i++)
        h[i] = ulpdu[i];
    s->last = h[0] & L;
    s->control = h[1];
    s->opcode = h[1] & OPCODE;
    s->stag = s->invalidate = range_get32(h + 2);
    if (s->tagged) {
        s->to = range_get64(h + 6);
    } else {
        s->qn = range_get32(h + 6);
        s->msn = range_get32(h + 10);
        s->mo = range_get32(h + 14);
    }
    s->payload = ulpdu + s->header;
    s->payload_length = length - s->header;
    return true;
}

/* ---- Terminate, RFC 5040 §4.8 ---- */

void range_terminate(struct range_conn *c, const struct range_segment *s,
                     const struct range_error *error)
{
    enum { CONTROL = 4, SIZE = 2, M = 0x80, D = 0x40, R = 0x20 };
    uint8_t out[UNTAGGED + CONTROL + SIZE + UNTAGGED + REQUEST] = {0};
    size_t length = UNTAGGED + CONTROL;
    out[0] = L | VERSION;
    out[1] = RDMAP_VERSION | TERMINATE;
    range_put32(out + 6, 2);
    range_put32(out + 10, 1);
    uint8_t *control = out + UNTAGGED;
    control[0] = (uint8_t)(error->layer << 4 | error->type);
    control[1] = error->code;
    if (s != NULL && error->layer != 2) {
        control[2] = M | D;
        range_put16(out + length, (unsigned)s->length);
        memcpy(out + length + SIZE, s->ulpdu, s->header);
        length += SIZE + s->header;
        if (error->request && s->payload_length >= REQUEST) {
            control[2] |= R;
            memcpy(out + length, s->payload, REQUEST);
            length += REQUEST;
        }
    }
    range_fpdu_queue(c, out, length);
}

/* ---- one segment ---- */

/* After A=1 the first FPDU is one of the agreed forms, or a Terminate, RFC 6581 §9.2. */
static bool may_be_first(const struct range_conn *c, const struct range_segment *s)
{
    enum { SEND = 1, WRITE = 2, READ = 4 };
    if (!s->tagged && s->qn == 2 && s->opcode == TERMINATE)
        return true; /* no form matched */
    if (!s->last)
        return false;
    if (s->tagged)
        return c->rtr & WRITE && s->opcode == 0 && s->payload_length == 0;
    if (s->qn == 0)
        return c->rtr & SEND && s->opcode == 3 && s->payload_length == 0;
    return c->rtr & READ && s->opcode == 1 && s->payload_length == REQUEST &&
           range_get32(s->payload + 12) == 0;
}

static bool version_right(const struct range_segment *s, struct range_error *error)
{
    if ((s->ulpdu[0] & DV) == VERSION)
        return true;
    *error = s->tagged ? (struct range_error){LAYER_DDP, 1, 4, false}
                       : (struct range_error){LAYER_DDP, 2, 6, false};
    return false;
}

bool range_segment_take(struct range_conn *c, const uint8_t *ulpdu, size_t length)
{
    struct range_segment s;
    struct range_error error = {0};
    bool over = false;
    if (!range_read_header(&s, ulpdu, length)) {
        range_terminate(c, NULL, &(struct range_error){.layer = LAYER_DDP});
        return false;
    }
    range_count_opcode(c, s.opcode);
    if (c->first && c->rtr != 0 && version_right(&s, &error) && !may_be_first(c, &s)) {
        range_terminate(c, NULL, &(struct range_error){.layer = 2, .code = 7});
        return false;
    }
    if (!s.tagged)
        range_count_queue(c, s.qn);
    bool right =
        version_right(&s, &error) &&
        (s.tagged ? range_tagged_take(c, &s, &error) : range_untagged_take(c, &s, &error, &over));
    if (!right)
        range_terminate(c, &s, &error);
    return right && !over;
}
