/* SPDX-License-Identifier: BSD-3-Clause */
#include "range.h"

#include <stdlib.h>
#include <string.h>

enum {
    RV = 0xc0,
    VERSION = 0x40,
    QUEUE_SEND = 0,
    QUEUE_REQUEST,
    QUEUE_TERMINATE,
    QUEUES = 4,
    READ_REQUEST = 1,
    SEND = 3,
    SEND_INVALIDATE,
    SEND_SOLICITED,
    SEND_SOLICITED_INVALIDATE,
    TERMINATE,
    IMMEDIATE,
    IMMEDIATE_SOLICITED,
    ATOMIC_REQUEST,
    ATOMIC_SIZE = 52
};

static bool wrong(struct range_error *error, unsigned layer, unsigned type, unsigned code)
{
    *error = (struct range_error){(uint8_t)layer, (uint8_t)type, (uint8_t)code, false};
    return false;
}

/* ---- what DDP asks, RFC 5041 §7.1 ---- */

static void range_note_gap(struct range_conn *c, uint32_t from, uint32_t to)
{
    if (!range_bug(RANGE_BUG_MSN_LOOP) || to - from > INT32_MAX)
        return;
    for (unsigned n = 0; from != to; n++)
        c->gaps[n] = from++;
}

static bool queue_right(struct range_conn *c, const struct range_segment *s,
                        struct range_error *error)
{
    const uint32_t expected[] = {c->send_msn, c->request_msn, 1};
    if (s->qn >= QUEUES)
        return wrong(error, 1, 2, 1);
    if (s->qn > QUEUE_TERMINATE) /* Atomic Responses: nothing asked for any */
        return wrong(error, 1, 2, 2);
    if (s->msn == expected[s->qn])
        return true;
    range_note_gap(c, expected[s->qn], s->msn);
    return wrong(error, 1, 2, 3);
}

static bool room_right(const struct range_segment *s, struct range_error *error)
{
    static const uint32_t room[] = {RANGE_RECEIVE, ATOMIC_SIZE, RANGE_RECEIVE};
    uint64_t end = (uint64_t)s->mo + s->payload_length;
    if (s->qn == QUEUE_SEND && range_bug(RANGE_BUG_MO_WRAP))
        end = (uint32_t)end;
    else if (s->mo > room[s->qn])
        return wrong(error, 1, 2, 4);
    return end <= room[s->qn] || wrong(error, 1, 2, 5);
}

/* ---- what RDMAP asks, RFC 5040 §7.2 ---- */

static bool is_send(unsigned opcode)
{
    return opcode >= SEND && opcode <= SEND_SOLICITED_INVALIDATE;
}

static bool invalidates(unsigned opcode)
{
    return opcode == SEND_INVALIDATE || opcode == SEND_SOLICITED_INVALIDATE;
}

static bool is_immediate(unsigned opcode)
{
    return opcode == IMMEDIATE || opcode == IMMEDIATE_SOLICITED;
}

static bool opcode_right(const struct range_segment *s, struct range_error *error)
{
    if ((s->control & RV) != VERSION)
        return wrong(error, 0, 2, 5);
    bool right = s->qn == QUEUE_SEND      ? is_send(s->opcode) || is_immediate(s->opcode)
                 : s->qn == QUEUE_REQUEST ? s->opcode == READ_REQUEST || s->opcode == ATOMIC_REQUEST
                                          : s->opcode == TERMINATE;
    return right || wrong(error, 0, 2, 6);
}

/* ---- Sends ---- */

static void range_begin_message(struct range_conn *c, const struct range_segment *s)
{
    c->message = calloc(1, sizeof(*c->message));
    if (c->message == NULL)
        abort();
    *c->message = (struct range_message){.invalidate = s->invalidate, .opcode = s->opcode};
}

static void range_end_message(struct range_conn *c, const struct range_segment *s, bool begun)
{
    void *volatile again = c->message;
    free(c->message);
    c->message = NULL;
    if (begun && s->mo != 0 && range_bug(RANGE_BUG_FREE_TWICE))
        free(again);
}

static void range_place_send(struct range_conn *c, const struct range_segment *s)
{
    struct range_receive *r = c->receives[c->next_receive];
    memcpy(r->data + (int32_t)s->mo, s->payload, s->payload_length);
    if (s->last)
        r->length = s->mo + (uint32_t)s->payload_length;
}

/* Keeps a copy of the newest Send. */
static void range_keep_send(struct range_conn *c, const struct range_receive *r)
{
    enum { SEND_AND_READ = 2 };
    bool reuses = range_bug(RANGE_BUG_THREE_IN_ORDER) && c->order == SEND_AND_READ;
    if (!reuses) {
        free(c->kept);
        c->kept = malloc(r->length > 0 ? r->length : 1);
    }
    if (c->kept != NULL)
        memcpy(c->kept, r->data, r->length);
    c->order = 1;
}

/* The receive is complete: its octets are gone, and it is posted again. */
static void range_complete(struct range_conn *c, const struct range_segment *s)
{
    struct range_receive *r = c->receives[c->next_receive];
    void *volatile again = r->data;
    free(r->data);
    if (s->opcode == SEND_SOLICITED && r->length == 0 && range_bug(RANGE_BUG_COMPLETE_TWICE))
        free(again);
    r->data = malloc(RANGE_RECEIVE);
    if (r->data == NULL)
        abort();
    r->length = 0;
    c->next_receive = (c->next_receive + 1) % RANGE_RECEIVES;
    c->send_msn++;
}

/* Each segment of a message has the opcode and the STag of the first, RFC 5041 §4.3. */
static bool constant(const struct range_conn *c, const struct range_segment *s)
{
    return c->message->opcode == s->opcode &&
           (!invalidates(s->opcode) || c->message->invalidate == s->invalidate);
}

static bool take_send(struct range_conn *c, const struct range_segment *s,
                      struct range_error *error)
{
    bool begun = c->message == NULL;
    if (begun)
        range_begin_message(c, s);
    if (!constant(c, s))
        return wrong(error, 0, 2, 6);
    range_place_send(c, s);
    if (!s->last)
        return true;
    if (invalidates(s->opcode)) {
        struct range_region *r = range_region_find(c, s->invalidate);
        if (r == NULL || r->freed)
            return wrong(error, 0, 1, 9);
        range_region_invalidate(r);
    }
    range_keep_send(c, c->receives[c->next_receive]);
    range_complete(c, s);
    range_end_message(c, s, begun);
    return true;
}

static void range_read_immediate(const struct range_segment *s)
{
    enum { SIZE = 8 };
    uint8_t data[SIZE];
    volatile uint8_t first = 0;
    memcpy(data, s->payload, s->payload_length);
    first = data[0];
    (void)first;
}

static bool take_immediate(struct range_conn *c, const struct range_segment *s,
                           struct range_error *error)
{
    enum { SIZE = 8 };
    if (s->payload_length > SIZE && range_bug(RANGE_BUG_IMMEDIATE_STACK))
        range_read_immediate(s);
    if (s->payload_length != SIZE || !s->last || s->mo != 0 || c->message != NULL)
        return wrong(error, 0, 2, 6);
    range_read_immediate(s);
    range_complete(c, s);
    return true;
}

/* ---- Terminate ---- */

static void range_note_terminate(struct range_conn *c, const struct range_segment *s)
{
    enum { ONE_HEADER = 24, ALL_HEADERS = 52 };
    size_t room = range_bug(RANGE_BUG_TERMINATE_COPY) ? ONE_HEADER : ALL_HEADERS;
    size_t length = s->payload_length;
    if (!range_bug(RANGE_BUG_TERMINATE_COPY) && length > room)
        length = room;
    c->terminate = malloc(room);
    if (c->terminate != NULL)
        memcpy(c->terminate, s->payload, length);
}

bool range_untagged_take(struct range_conn *c, const struct range_segment *s,
                         struct range_error *error, bool *over)
{
    if (!queue_right(c, s, error) || !room_right(s, error) || !opcode_right(s, error))
        return false;
    if (s->qn == QUEUE_TERMINATE) {
        range_note_terminate(c, s);
        *over = true;
        return true;
    }
    if (s->qn == QUEUE_REQUEST) {
        if (c->order == 1)
            c->order++;
        return s->opcode == READ_REQUEST ? range_read_take(c, s, error)
                                         : range_atomic_take(c, s, error);
    }
    return is_immediate(s->opcode) ? take_immediate(c, s, error) : take_send(c, s, error);
}
