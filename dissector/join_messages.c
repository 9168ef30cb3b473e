/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs on the first pass: joins segments into messages, and requests with responses. */
#include "iwarp_dissector.h"

#define NO_LIMIT UINT32_MAX

/* ---- memory by STag ---- */

/* Records an access to [to, to + length) of the memory of `owner`. */
static struct iwd_stag *use_stag(struct iwd_connection *c, enum iw_side owner, uint32_t stag,
                                 uint64_t to, uint64_t length)
{
    struct iwd_side *s = &c->side[owner];
    uint64_t end = to + length < to ? UINT64_MAX : to + length;
    struct iwd_stag *known = wmem_map_lookup(s->stags, GUINT_TO_POINTER(stag));

    if (known == NULL) {
        known = wmem_new(wmem_file_scope(), struct iwd_stag);
        *known = (struct iwd_stag){.stag = stag, .first = c->pinfo->num, .low = to, .high = end};
        wmem_map_insert(s->stags, GUINT_TO_POINTER(stag), known);
    }
    known->last = c->pinfo->num;
    known->uses++;
    known->low = MIN(known->low, to);
    known->high = MAX(known->high, end);
    return known;
}

/* Returns what was known of the STag when it was invalidated; from then on it is a new one. */
static struct iwd_stag *invalidate(struct iwd_connection *c, enum iw_side owner, uint32_t stag)
{
    struct iwd_stag *known = wmem_map_remove(c->side[owner].stags, GUINT_TO_POINTER(stag));

    if (known != NULL)
        known->invalidated = c->pinfo->num;
    return known;
}

/* ---- requests and responses ---- */

/* Returns the depth that a start-up frame states, if both frames state one (RFC 6581 section 6). */
static uint32_t depth(const struct iwd_connection *c, uint16_t stated)
{
    return c->side[0].has_enhanced && c->side[1].has_enhanced && stated != IW_MPA_DEPTH_UNSPECIFIED
               ? stated
               : NO_LIMIT;
}

/* Adds a request. Like the observer, forgets requests that find no response after some time. */
static void ask(struct iwd_connection *c, enum iw_side side, struct iwd_message *m)
{
    const struct iwd_side *other = &c->side[iw_observed_other(side)];
    const struct iwd_message *answer = other->tagged[1];
    struct iwd_side *s = &c->side[side];

    if (wmem_list_count(s->requests) == IW_OBSERVER_READS) {
        wmem_list_remove_frame(s->requests, wmem_list_head(s->requests));
        s->passed -= s->passed > 0;
    }
    wmem_list_append(s->requests, m);
    m->outstanding = wmem_list_count(s->requests) - s->passed +
                     (answer != NULL && answer->request != NULL ? 1 : 0);
    m->ird = depth(c, other->enhanced.ird);
    m->ord = depth(c, s->enhanced.ord);
}

/* Removes and returns the request of `side` that is answered. Answers come in the order of the
 * requests (RFC 5040 section 5.5), so it is the oldest that fits; among those that are passed, the
 * latest that had come by then. */
static struct iwd_message *take_request(struct iwd_connection *c, enum iw_side side, uint8_t opcode,
                                        uint32_t stag, uint64_t to)
{
    struct iwd_side *s = &c->side[side];
    wmem_list_frame_t *found = NULL;
    uint32_t k = 0, place = 0;

    for (wmem_list_frame_t *at = wmem_list_head(s->requests); at != NULL;
         at = wmem_list_frame_next(at), k++) {
        const struct iwd_message *m = wmem_list_frame_data(at);

        if (m->opcode != opcode || m->stag != stag || m->to != to ||
            (k < s->passed && nstime_cmp(&m->ended, &c->arrived) > 0))
            continue;
        found = at;
        place = k;
        if (k >= s->passed)
            break;
    }
    if (found == NULL)
        return NULL;
    s->passed = place < s->passed ? s->passed - 1 : place;
    struct iwd_message *m = wmem_list_frame_data(found);
    wmem_list_remove_frame(s->requests, found);
    return m;
}

void iwd_missed(struct iwd_connection *c, enum iw_side side)
{
    struct iwd_side *other = &c->side[iw_observed_other(side)];

    other->passed = wmem_list_count(other->requests);
}

/* ---- Terminate ---- */

static void remember(struct iwd_side *s, struct iwd_thing *thing, const uint8_t *ulpdu,
                     size_t length)
{
    if (s->n_recent == s->room && s->room < IWD_RECENT) {
        s->room = s->room ? 2 * s->room : 4;
        s->recent = wmem_realloc(wmem_file_scope(), s->recent, s->room * sizeof(*s->recent));
    }
    struct iwd_recent *r = &s->recent[s->n_recent++ % s->room];
    *r = (struct iwd_recent){.thing = thing};
    memcpy(r->header, ulpdu, MIN(length, sizeof(r->header)));
}

/* Returns the frame of the segment that a Terminate refers to: the latest with that length and
 * header; without one, the latest with a fault. */
static uint32_t find_cause(const struct iwd_side *other, const struct iw_rdmap_terminate *t)
{
    uint8_t header[IW_DDP_UNTAGGED_HEADER];
    int size = t->flags & IW_TERM_D ? iw_wire_put_ddp(header, sizeof(header), &t->ddp) : 0;
    uint32_t kept = other->n_recent < other->room ? other->n_recent : other->room;
    for (uint32_t k = 1; k <= kept; k++) {
        const struct iwd_recent *r = &other->recent[(other->n_recent - k) % other->room];

        if (size ? r->thing->length == t->segment_length &&
                       memcmp(r->header, header, (size_t)size) == 0
                 : iwd_rare_of(r->thing)->findings != NULL)
            return r->thing->frame;
    }
    return 0;
}

/* ---- messages ---- */

static struct iwd_message *new_message(const struct iwd_connection *c,
                                       const struct iw_observation *seen)
{
    struct iwd_message *m = wmem_new(wmem_file_scope(), struct iwd_message);
    const struct iw_ddp_header *h = &seen->ddp;

    *m = (struct iwd_message){.opcode = (uint8_t)iw_rdmap_op(h),
                              .first = c->pinfo->num,
                              .begun = c->arrived,
                              .stag = h->stag,
                              .to = h->to,
                              .msn = h->msn,
                              .id = (uint32_t)seen->pos};
    return m;
}

static void add_segment(const struct iwd_connection *c, struct iwd_thing *thing,
                        struct iwd_message *m, const struct iw_observation *seen)
{
    thing->message = m;
    thing->message_pos = m->length;
    m->segments++;
    m->length += seen->payload_length;
    m->last = c->pinfo->num;
    if (nstime_cmp(&c->arrived, &m->begun) < 0)
        m->begun = c->arrived;
    if (nstime_cmp(&c->arrived, &m->ended) > 0)
        m->ended = c->arrived;
    m->whole = iw_ddp_last(&seen->ddp);
}

/* ---- payload ---- */

/* Sends, and the messages that a ULP will be shown, are kept as long as the file is open. Of all
 * other Writes and Read Responses only the first are kept: they can have as many octets as the
 * capture. */
unsigned iwd_keep = 1;

static size_t kept;

void iwd_forget_messages(void)
{
    kept = 0;
}

static void drop(struct iwd_message *m, enum iwd_octets why)
{
    if (m->bulk)
        kept -= m->room;
    if (m->data != NULL)
        iwd_return(m->data);
    m->data = NULL;
    m->room = 0;
    if (m->octets != IWD_OCTETS_MISSING)
        m->octets = (uint8_t)why;
}

static bool resize(struct iwd_message *m, size_t room)
{
    if (m->bulk && kept - m->room + room > (size_t)iwd_keep << 20)
        return false;
    if (m->bulk)
        kept = kept - m->room + room;
    m->data = m->data != NULL ? iwd_reborrow(m->data, room) : iwd_borrow(room);
    m->room = room;
    return true;
}

/* Collects the payload of the segment that was added last, at `offset` of the message according to
 * the segment itself. */
static void collect(const struct iwd_connection *c, struct iwd_message *m,
                    const struct iw_observation *seen, uint64_t offset)
{
    size_t need = (size_t)m->length, room = need > m->room ? MAX(need, 2 * m->room) : m->room;

    if (m->segments == 1) {
        m->bulk = !c->wants && iw_rdmap_is_tagged(m->opcode);
        if (m->whole)
            return;
    }
    if (seen->payload_captured < seen->payload_length || offset != need - seen->payload_length)
        drop(m, IWD_OCTETS_MISSING);
    if (m->octets != IWD_OCTETS_HERE || !need)
        return;
    if (m->whole)
        room = need;
    if (room != m->room && !resize(m, room) && !resize(m, need)) {
        drop(m, IWD_OCTETS_UNKEPT);
        return;
    }
    memcpy(m->data + need - seen->payload_length, seen->payload, seen->payload_length);
}

/* Returns the message that this segment continues, or NULL: then *current will never be whole. */
static struct iwd_message *go_on(struct iwd_message **current, bool fits)
{
    struct iwd_message *m = *current;

    if (m == NULL || fits)
        return m;
    drop(m, IWD_OCTETS_MISSING);
    *current = NULL;
    return NULL;
}

void iwd_whole(struct iwd_connection *c, const struct iw_observation *seen)
{
    struct iwd_thing *t = c->thing;

    if (!seen->partial || t == NULL || t->kind != IWD_FPDU || t->side != seen->side ||
        t->crc == IWD_CRC_BAD)
        return;
    if (t->message == NULL)
        add_segment(c, t, new_message(c, seen), seen);
    drop(t->message, IWD_OCTETS_MISSING);
}

static void see_tagged(struct iwd_connection *c, struct iwd_thing *thing,
                       const struct iw_observation *seen)
{
    const struct iw_ddp_header *h = &seen->ddp;
    struct iwd_side *s = &c->side[seen->side];
    enum iw_side owner = iw_observed_other(seen->side);
    unsigned opcode = iw_rdmap_op(h), k = opcode == IW_OP_READ_RESPONSE;
    struct iwd_message *request = NULL;

    thing->stag = use_stag(c, owner, h->stag, h->to, seen->payload_length);
    if (!iw_rdmap_is_tagged(opcode))
        return;
    struct iwd_message *m =
        go_on(&s->tagged[k],
              s->tagged[k] != NULL && s->tagged[k]->stag == h->stag && s->tagged_to[k] == h->to);
    if (m == NULL) {
        if (k)
            request = take_request(c, owner, IW_OP_READ_REQUEST, h->stag, h->to);
        if (iw_ddp_last(h) && request == NULL)
            return;
        m = new_message(c, seen);
        m->request = request;
    }
    add_segment(c, thing, m, seen);
    collect(c, m, seen, thing->message_pos);
    s->tagged[k] = m->whole ? NULL : m;
    s->tagged_to[k] = h->to + seen->payload_length;
    if (m->whole && m->request != NULL)
        m->request->response = m;
}

/* Links a Read or Atomic Request, or an Atomic Response, in one segment. */
static void link_message(struct iwd_connection *c, struct iwd_thing *thing,
                         const struct iw_observation *seen)
{
    struct iwd_message *m = thing->message;
    const struct iw_rdmap_read_request *r = &seen->read_request;
    const struct iw_rdmap_atomic_request *a = &seen->atomic_request;
    enum iw_side other = iw_observed_other(seen->side);
    size_t length = seen->payload_length;

    if (seen->payload_captured < length)
        return;
    if (m->opcode == IW_OP_READ_REQUEST && length == IW_RDMAP_READ_REQUEST) {
        m->stag = r->sink_stag;
        m->to = r->sink_to;
        thing->stag = use_stag(c, other, r->source_stag, r->source_to, r->size);
        ask(c, seen->side, m);
    } else if (m->opcode == IW_OP_ATOMIC_REQUEST && length == IW_RDMAP_ATOMIC_REQUEST) {
        m->stag = a->request_id;
        thing->stag = use_stag(c, other, a->remote_stag, a->remote_to, 8);
        ask(c, seen->side, m);
    } else if (m->opcode == IW_OP_ATOMIC_RESPONSE && length == IW_RDMAP_ATOMIC_RESPONSE) {
        m->request =
            take_request(c, other, IW_OP_ATOMIC_REQUEST, seen->atomic_response.request_id, 0);
        if (m->request != NULL)
            m->request->response = m;
    }
}

static bool is_linked(unsigned opcode)
{
    return opcode == IW_OP_READ_REQUEST || opcode == IW_OP_ATOMIC_REQUEST ||
           opcode == IW_OP_ATOMIC_RESPONSE;
}

static void see_untagged(struct iwd_connection *c, struct iwd_thing *thing,
                         const struct iw_observation *seen)
{
    const struct iw_ddp_header *h = &seen->ddp;
    struct iwd_side *s = &c->side[seen->side];
    unsigned opcode = iw_rdmap_op(h);

    if (h->qn >= IWD_QUEUES)
        return;
    if (iw_ddp_last(h) && iw_rdmap_invalidates(opcode))
        iwd_make_rare(thing)->invalidated =
            invalidate(c, iw_observed_other(seen->side), h->invalidate_stag);
    if (opcode == IW_OP_TERMINATE && seen->terminate_valid)
        iwd_make_rare(thing)->cause =
            find_cause(&c->side[iw_observed_other(seen->side)], &seen->terminate);
    struct iwd_message *m =
        go_on(&s->untagged[h->qn], s->untagged[h->qn] != NULL && s->untagged[h->qn]->msn == h->msn);
    if (m == NULL && iw_ddp_last(h) && h->mo == 0 && !is_linked(opcode))
        return;
    if (m == NULL)
        m = new_message(c, seen);
    add_segment(c, thing, m, seen);
    s->untagged[h->qn] = m->whole ? NULL : m;
    collect(c, m, seen, h->mo);
    if (m->whole && m->segments == 1)
        link_message(c, thing, seen);
}

void iwd_segment(struct iwd_connection *c, struct iwd_thing *thing,
                 const struct iw_observation *seen)
{
    remember(&c->side[seen->side], thing, seen->ulpdu, seen->ulpdu_captured);
    if (iw_ddp_tagged(&seen->ddp))
        see_tagged(c, thing, seen);
    else
        see_untagged(c, thing, seen);
}
