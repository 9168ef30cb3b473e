/* SPDX-License-Identifier: BSD-3-Clause */
/* Long messages: written into a buffer that was lent for them, or announced and fetched. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "messages/message_internal.h"

/* How much of a piece one Write or Read takes: completions show that a slow network moves. */
static uint32_t chunk(uint32_t length)
{
    const uint32_t part = length / IW_CHUNKS_MOST + 1;
    return part > IW_CHUNK_LEAST ? part : IW_CHUNK_LEAST;
}

static unsigned chunks(uint32_t length)
{
    return (length + chunk(length) - 1) / chunk(length);
}

/* ---- out ---- */

static struct iw_loan *smallest_loan(struct iw_link *link, uint32_t length)
{
    struct iw_loan *best = NULL;
    for (unsigned i = 0; i < IW_LINK_LOANS; i++) {
        struct iw_loan *l = &link->borrowed[i];
        if (l->piece.length >= length && (best == NULL || l->piece.length < best->piece.length))
            best = l;
    }
    return best;
}

static bool write_pieces(struct iw_link *link, struct iw_outgoing *o, const struct iw_loan *loan)
{
    uint64_t to = loan->piece.address;
    for (unsigned i = 0; i < o->count; i++)
        for (uint32_t at = 0, step; at < o->lengths[i]; at += step) {
            step = chunk(o->lengths[i]);
            if (step > o->lengths[i] - at)
                step = o->lengths[i] - at;
            struct ibv_sge sge = {(uintptr_t)o->pieces[i]->data + at, step, o->pieces[i]->mr->lkey};
            struct ibv_send_wr wr = {.sg_list = &sge,
                                     .num_sge = 1,
                                     .opcode = IBV_WR_RDMA_WRITE,
                                     .wr.rdma = {to, loan->piece.stag}};
            if (!iw_link_post(link, IW_WORK_MESSAGE, o, &wr))
                return false;
            o->posted++;
            to += step;
        }
    return true;
}

/* Offers the pieces, all or none. */
static bool announce(struct iw_pool *pool, struct iw_outgoing *o)
{
    /* A message that is announced again, on another connection, may be being read. */
    if (o->pieces[0]->offered != NULL)
        return true;
    if (!iw_pool_has_share(pool, IW_POOL_ANNOUNCED, o->length))
        return false;
    for (unsigned i = 0; i < o->count; i++)
        if (iw_pool_offer(pool, o->pieces[i], o->lengths[i], IW_POOL_ANNOUNCED) != 0) {
            while (i-- > 0)
                iw_pool_withdraw(pool, o->pieces[i]);
            return false;
        }
    return true;
}

bool iw_long_send(struct iw_link *link, struct iw_outgoing *o, struct iw_message_header *h)
{
    unsigned needed = 1 + IW_LINK_RESERVE;
    for (unsigned i = 0; i < o->count; i++)
        needed += chunks(o->lengths[i]);
    struct iw_loan *loan = smallest_loan(link, o->length);
    if (loan != NULL) {
        if (link->sends + needed > IW_LINK_SENDS)
            return false;
        for (unsigned i = 0; i < o->count; i++)
            if (iw_pool_register(&link->m->pool, o->pieces[i]) != 0)
                return false;
        const struct iw_loan used = *loan;
        *loan = (struct iw_loan){0};
        h->type = IW_MESSAGE_WRITTEN;
        h->loan = used.id;
        return write_pieces(link, o, &used);
    }
    h->type = IW_MESSAGE_ANNOUNCE;
    h->count = (uint8_t)o->count;
    if (!announce(&link->m->pool, o))
        return false;
    for (unsigned i = 0; i < o->count; i++) {
        const struct iw_buffer *b = o->pieces[i];
        iw_message_put_piece(
            &(struct iw_message_piece){(uintptr_t)b->data, b->offered->rkey, o->lengths[i]},
            o->frame->data + i * IW_MESSAGE_PIECE);
    }
    return true;
}

const char *iw_long_loan(struct iw_link *link, const struct iw_message_header *h,
                         const uint8_t *octets)
{
    struct iw_loan loan = {.id = h->loan};
    iw_message_get_piece(octets, &loan.piece);
    if (loan.piece.length == 0)
        return "an empty buffer was lent";
    for (unsigned i = 0; i < IW_LINK_LOANS; i++)
        if (link->borrowed[i].piece.length == 0) {
            link->borrowed[i] = loan;
            return NULL;
        }
    return "too many buffers were lent";
}

/* ---- in ---- */

static bool fetch(struct iw_messages *m, struct iw_incoming *in)
{
    struct iw_link *link = in->link;
    unsigned needed = 1 + IW_LINK_RESERVE;
    for (unsigned i = 0; i < in->count; i++)
        needed += chunks(in->pieces[i].length);
    if (link->ending || link->state != IW_LINK_UP || link->fetches >= IW_LINK_FETCHES ||
        link->sends + needed > IW_LINK_SENDS)
        return false;
    struct iw_buffer *b =
        iw_pool_get(&m->pool, in->length > IW_POOL_SMALL ? in->length : IW_POOL_SMALL + 1);
    if (b == NULL || iw_pool_offer(&m->pool, b, in->length, IW_POOL_FETCHED) != 0) {
        iw_pool_put(&m->pool, b);
        return false;
    }
    in->buffer = b;
    link->fetches++;
    uint8_t *to = b->data;
    in->reads = 1; /* so that it is not complete before the last is posted */
    for (unsigned i = 0; i < in->count; i++)
        for (uint32_t at = 0, step; at < in->pieces[i].length; at += step) {
            step = chunk(in->pieces[i].length);
            if (step > in->pieces[i].length - at)
                step = in->pieces[i].length - at;
            struct ibv_sge sge = {(uintptr_t)to, step, b->offered->lkey};
            struct ibv_send_wr wr = {.sg_list = &sge,
                                     .num_sge = 1,
                                     .opcode = IBV_WR_RDMA_READ,
                                     .wr.rdma = {in->pieces[i].address + at, in->pieces[i].stag}};
            if (!iw_link_post(link, IW_WORK_READ, in, &wr)) {
                iw_long_read(in, false);
                return false;
            }
            in->reads++;
            to += step;
        }
    in->reads--;
    return true;
}

void iw_long_fetch(struct iw_messages *m, struct iw_peer *p)
{
    struct iw_incoming *in;
    TAILQ_FOREACH(in, &p->arrivals, entry)
    if (!in->complete && in->buffer == NULL && !fetch(m, in))
        return;
}

void iw_long_read(struct iw_incoming *in, bool ok)
{
    struct iw_link *link = in->link;
    struct iw_messages *m = link->m;
    in->failed |= !ok;
    if (--in->reads > 0)
        return;
    link->fetches--;
    if (in->abandoned) {
        iw_pool_put(&m->pool, in->buffer);
        free(in->pieces);
        free(in);
        return;
    }
    if (in->failed) /* the link ends, and takes it out */
        return;
    iw_pool_withdraw(&m->pool, in->buffer);
    in->complete = true;
    m->counts.fetched++;
    struct iw_peer *p = in->peer;
    iw_peer_deliver(m, p);
    iw_long_fetch(m, p);
}

struct iw_buffer *iw_long_written(struct iw_link *link, const struct iw_message_header *h)
{
    for (unsigned i = 0; i < IW_LINK_LOANS; i++) {
        struct iw_loan *l = &link->lent[i];
        if (l->buffer == NULL || l->id != h->loan || h->length > l->buffer->room)
            continue;
        struct iw_buffer *b = l->buffer;
        *l = (struct iw_loan){0};
        iw_pool_withdraw(&link->m->pool, b);
        return b;
    }
    return NULL;
}

/* Lends the buffer. Returns false, and leaves it to the caller, if that cannot be done now. */
static bool lend(struct iw_link *link, struct iw_buffer *b)
{
    struct iw_pool *pool = &link->m->pool;
    struct iw_loan *place = NULL;
    for (unsigned i = 0; i < IW_LINK_LOANS; i++)
        if (link->lent[i].buffer == NULL)
            place = &link->lent[i];
    if (place == NULL || !iw_pool_has_share(pool, IW_POOL_LENT, b->room) ||
        iw_pool_offer(pool, b, b->room, IW_POOL_LENT) != 0)
        return false;
    *place = (struct iw_loan){.buffer = b, .id = ++link->next_loan};
    if (iw_link_control(
            link, IW_MESSAGE_LOAN, 0, &(struct iw_message_header){.loan = place->id},
            &(struct iw_message_piece){(uintptr_t)b->data, b->offered->rkey, (uint32_t)b->room}))
        return true;
    *place = (struct iw_loan){0};
    return false;
}

void iw_long_lend(struct iw_messages *m, struct iw_buffer *b)
{
    struct iw_peer *p = iw_peer_find(m, b->origin);
    struct iw_link *link = p != NULL && !p->dead ? p->link : NULL;
    if (link == NULL || !lend(link, b))
        iw_pool_put(&m->pool, b);
}

/* Few sizes, so that four loans are enough for messages of every length. */
static size_t room_ahead(size_t length)
{
    size_t room = IW_AHEAD_LEAST;
    while (room < length)
        room *= 4;
    return room;
}

bool iw_long_lend_ahead(struct iw_link *link, size_t length)
{
    struct iw_pool *pool = &link->m->pool;
    if (length > IW_AHEAD_MOST ||
        iw_pool_offered(pool, IW_POOL_LENT) + room_ahead(length) > pool->most / IW_AHEAD_SHARE)
        return false;
    for (unsigned i = 0; i < IW_LINK_LOANS; i++)
        if (link->lent[i].buffer != NULL && link->lent[i].buffer->room >= length)
            return false;
    struct iw_buffer *b = iw_pool_get(pool, room_ahead(length));
    if (b != NULL && lend(link, b))
        return true;
    iw_pool_put(pool, b);
    return false;
}

void iw_long_end(struct iw_link *link)
{
    for (unsigned i = 0; i < IW_LINK_LOANS; i++) {
        iw_pool_put(&link->m->pool, link->lent[i].buffer);
        link->lent[i] = link->borrowed[i] = (struct iw_loan){0};
    }
}
