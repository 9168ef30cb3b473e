/* SPDX-License-Identifier: BSD-3-Clause */
/* One connection: what is posted on its queue pair, and what completes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "messages/message_internal.h"

static struct iw_work_item *new_work(struct iw_messages *m)
{
    if (m->free_work == NULL) {
        struct iw_work_chunk *chunk = calloc(1, sizeof(*chunk));
        if (chunk == NULL)
            return NULL;
        chunk->next = m->work;
        m->work = chunk;
        for (unsigned i = 0; i < IW_WORK_CHUNK; i++) {
            chunk->items[i].of.free = m->free_work;
            m->free_work = &chunk->items[i];
        }
    }
    struct iw_work_item *w = m->free_work;
    m->free_work = w->of.free;
    return w;
}

static void free_work(struct iw_messages *m, struct iw_work_item *w)
{
    w->of.free = m->free_work;
    m->free_work = w;
}

/* Posts a receive. Returns false if there is no memory now. */
static bool post_receive(struct iw_link *link)
{
    struct iw_messages *m = link->m;
    struct iw_buffer *b = iw_pool_get(&m->pool, IW_POOL_SMALL);
    struct iw_work_item *w = b != NULL ? new_work(m) : NULL;
    if (w == NULL) {
        iw_pool_put(&m->pool, b);
        return false;
    }
    *w = (struct iw_work_item){IW_WORK_RECEIVE, link, {.buffer = b}};
    struct ibv_sge sge = {(uintptr_t)(b->data - IW_POOL_HEADER), IW_POOL_HEADER + IW_POOL_SMALL,
                          b->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = (uintptr_t)w, .sg_list = &sge, .num_sge = 1}, *bad;
    if (ibv_post_recv(link->id->qp, &wr, &bad) != 0) {
        iw_pool_put(&m->pool, b);
        free_work(m, w);
        return false;
    }
    link->receives++;
    link->granted++;
    return true;
}

static void fill_receives(struct iw_link *link)
{
    while (link->receives < IW_LINK_RECEIVES && !link->ending && post_receive(link))
        ;
}

bool iw_link_prepare(struct iw_link *link)
{
    struct iw_messages *m = link->m;
    struct ibv_qp_init_attr attr = {.send_cq = m->cq,
                                    .recv_cq = m->cq,
                                    .cap = {.max_send_wr = IW_LINK_SENDS,
                                            .max_recv_wr = IW_LINK_RECEIVES,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_RC,
                                    .sq_sig_all = 1};
    /* All devices of a host have their own domains; this end has one. */
    if (link->id->verbs != m->pd->context || rdma_create_qp(link->id, m->pd, &attr) != 0)
        return false;
    link->qp = true;
    fill_receives(link);
    return link->receives == IW_LINK_RECEIVES;
}

bool iw_link_post(struct iw_link *link, enum iw_work_kind kind, void *object,
                  struct ibv_send_wr *wr)
{
    struct iw_work_item *w = new_work(link->m);
    struct ibv_send_wr *bad;
    if (w == NULL)
        return false;
    *w = (struct iw_work_item){.kind = kind, .link = link};
    if (kind == IW_WORK_MESSAGE)
        w->of.outgoing = object;
    else if (kind == IW_WORK_READ)
        w->of.incoming = object;
    else
        w->of.buffer = object;
    wr->wr_id = (uintptr_t)w;
    if (ibv_post_send(link->id->qp, wr, &bad) != 0) {
        free_work(link->m, w);
        iw_link_end(link);
        return false;
    }
    link->sends++;
    return true;
}

static uint32_t credits(const struct iw_link *link)
{
    return link->may_send - link->sent;
}

static void fill_header(struct iw_link *link, struct iw_message_header *h)
{
    h->grants = link->stated = link->granted;
    h->state = link->peer->taken.state;
    link->peer->owed = 0;
}

static bool post_frame(struct iw_link *link, enum iw_work_kind kind, void *object,
                       const struct iw_buffer *frame, size_t length)
{
    struct ibv_sge sge = {(uintptr_t)(frame->data - IW_POOL_HEADER), (uint32_t)length,
                          frame->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
    if (!iw_link_post(link, kind, object, &wr))
        return false;
    link->sent++;
    link->used = iw_progress_now();
    return true;
}

bool iw_link_control(struct iw_link *link, enum iw_message_type type, unsigned flags,
                     const struct iw_message_header *extra, const struct iw_message_piece *piece)
{
    struct iw_messages *m = link->m;
    const bool due = link->granted - link->stated >= IW_LINK_STATE;
    const uint32_t needed = type == IW_MESSAGE_SYNC || due ? 1
                            : type == IW_MESSAGE_LOAN      ? IW_LINK_RESERVE + 1
                                                           : 2;
    if (link->state != IW_LINK_UP || link->ending || credits(link) < needed ||
        link->sends >= IW_LINK_SENDS)
        return false;
    struct iw_buffer *b = iw_pool_get(&m->pool, IW_POOL_SMALL);
    if (b == NULL)
        return false;
    struct iw_message_header h = {0};
    if (extra != NULL)
        h = *extra;
    h.type = type;
    h.flags = (uint8_t)flags;
    fill_header(link, &h);
    iw_message_put_header(&h, b->data - IW_POOL_HEADER);
    if (piece != NULL)
        iw_message_put_piece(piece, b->data);
    if (post_frame(link, IW_WORK_CONTROL, b, b,
                   IW_MESSAGE_HEADER + (piece != NULL ? IW_MESSAGE_PIECE : 0u)))
        return true;
    iw_pool_put(&m->pool, b);
    return false;
}

bool iw_link_send(struct iw_link *link, struct iw_outgoing *o, bool ask)
{
    if (credits(link) <= IW_LINK_RESERVE || link->sends + 1 > IW_LINK_SENDS - IW_LINK_RESERVE)
        return false;
    struct iw_message_header h = {.type = IW_MESSAGE_SHORT,
                                  .flags = ask ? IW_MESSAGE_ASK : 0,
                                  .sequence = o->sequence,
                                  .from = o->from,
                                  .to = o->to,
                                  .length = o->length};
    if (o->count > 0 && !iw_long_send(link, o, &h))
        return false;
    fill_header(link, &h);
    iw_message_put_header(&h, o->frame->data - IW_POOL_HEADER);
    const size_t more = h.type == IW_MESSAGE_SHORT      ? o->length
                        : h.type == IW_MESSAGE_ANNOUNCE ? (size_t)h.count * IW_MESSAGE_PIECE
                                                        : 0;
    if (!post_frame(link, IW_WORK_MESSAGE, o, o->frame, IW_MESSAGE_HEADER + more))
        return false;
    o->posted++;
    return true;
}

static void received(struct iw_link *link, struct iw_buffer *b, size_t length)
{
    fill_receives(link);
    link->wrong = iw_peer_receive(link, b, length) != NULL;
    if (link->wrong)
        iw_link_end(link);
    else if (link->granted - link->stated >= IW_LINK_STATE)
        iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL);
}

void iw_link_complete(struct iw_messages *m, const struct ibv_wc *wc)
{
    struct iw_work_item *w = (struct iw_work_item *)(uintptr_t)wc->wr_id, item = *w;
    struct iw_link *link = item.link;
    const bool ok = wc->status == IBV_WC_SUCCESS;
    free_work(m, w);
    if (ok)
        link->heard = iw_progress_now();
    else if (link->state != IW_LINK_BEGUN) /* there an event of rdma_cm will say why */
        iw_link_end(link);
    if (item.kind == IW_WORK_RECEIVE)
        link->receives--;
    else
        link->sends--;
    switch (item.kind) {
    case IW_WORK_RECEIVE:
        if (ok && link->state == IW_LINK_ACCEPTED)
            iw_link_up(link); /* the event of rdma_cm is still on its way */
        /* What came before the end counts: above all which of our messages were taken. */
        if (ok && link->state == IW_LINK_UP && link->peer != NULL && !link->wrong) {
            received(link, item.of.buffer, wc->byte_len);
            return;
        }
        if (ok && link->state == IW_LINK_BEGUN && !link->ending) {
            /* The peer sends no more before it has our SYNC. */
            if (link->early == NULL) {
                link->early = item.of.buffer;
                link->early->length = wc->byte_len;
                return;
            }
            iw_link_end(link);
        }
        iw_pool_put(&m->pool, item.of.buffer);
        return;
    case IW_WORK_CONTROL:
        iw_pool_put(&m->pool, item.of.buffer);
        break;
    case IW_WORK_MESSAGE: {
        struct iw_peer *elsewhere =
            item.of.outgoing->finished ? NULL : item.of.outgoing->route->peer;
        item.of.outgoing->posted--;
        iw_outgoing_free(m, item.of.outgoing);
        if (elsewhere != NULL && elsewhere != link->peer)
            iw_peer_pump(m, elsewhere);
        break;
    }
    case IW_WORK_READ:
        iw_long_read(item.of.incoming, ok);
        break;
    }
    if (link->peer != NULL && link->peer->unsent != NULL)
        iw_peer_pump(m, link->peer);
}

void iw_link_end(struct iw_link *link)
{
    if (link->ending)
        return;
    link->ending = link->m->ending = true;
    iw_progress_due(link->m);
    if (link->qp && rdma_disconnect(link->id) != 0)
        ibv_modify_qp(link->id->qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_ERR}, IBV_QP_STATE);
}

bool iw_link_reap(struct iw_messages *m, bool all)
{
    struct iw_link *link = TAILQ_FIRST(&m->links);
    m->ending = false;
    while (link != NULL) {
        struct iw_link *next = TAILQ_NEXT(link, entry);
        if (link->ending && link->state != IW_LINK_ENDED) {
            const enum iw_link_state was = link->state;
            link->state = IW_LINK_ENDED;
            if (was == IW_LINK_UP) {
                m->links_up--;
                iw_long_end(link);
                if (link->peer != NULL)
                    iw_peer_down(m, link);
            } else if (was == IW_LINK_BEGUN) {
                iw_route_attempted(m, link, NULL);
                if (link->peer != NULL && link->peer->attempt == link)
                    iw_peer_failed(m, link->peer, link->refused);
            }
            link->peer = NULL;
        }
        if (link->ending && (all || (link->receives == 0 && link->sends == 0))) {
            if (link->qp)
                rdma_destroy_qp(link->id);
            rdma_destroy_id(link->id);
            iw_pool_put(&m->pool, link->early);
            TAILQ_REMOVE(&m->links, link, entry);
            m->links_all--;
            free(link);
        }
        link = next;
    }
    return TAILQ_EMPTY(&m->links);
}

/* Drops the least recently used connection that nothing is under way on, else the oldest one. */
static void drop_one(struct iw_messages *m)
{
    struct iw_link *link, *best = NULL;
    bool best_idle = false;
    TAILQ_FOREACH(link, &m->links, entry)
    {
        if (link->state != IW_LINK_UP || link->ending || link->peer == NULL)
            continue;
        const struct iw_peer *p = link->peer;
        const bool idle = p->link != link || (TAILQ_EMPTY(&p->window) && TAILQ_EMPTY(&p->waiting) &&
                                              TAILQ_EMPTY(&p->arrivals) && p->owed == 0);
        if (best == NULL || (idle && !best_idle) ||
            (idle == best_idle && link->used < best->used)) {
            best = link;
            best_idle = idle;
        }
    }
    if (best == NULL)
        return;
    m->counts.dropped++;
    iw_link_end(best);
}

void iw_link_up(struct iw_link *link)
{
    struct iw_messages *m = link->m;
    struct iw_peer *before = link->peer, *p = iw_peer_get(m, link->greeting.instance);
    link->may_send = link->greeting.grants;
    link->heard = link->used = link->asked = iw_progress_now();
    if (p == NULL) {
        iw_link_end(link);
        return;
    }
    /* Somebody else listens where that process did. */
    if (before != NULL && before != p) {
        before->attempt = NULL;
        iw_peer_failed(m, before, true);
    }
    const bool begun = link->state == IW_LINK_BEGUN;
    link->peer = p;
    link->state = IW_LINK_UP;
    m->links_up++;
    m->counts.connected++;
    p->address = link->to;
    iw_peer_up(m, link);
    if (begun)
        iw_route_attempted(m, link, p);
    if (m->links_up > (unsigned)m->connections)
        drop_one(m);
    struct iw_buffer *early = link->early;
    link->early = NULL;
    if (early != NULL)
        received(link, early, early->length);
}

void iw_link_tick(struct iw_messages *m, uint64_t now)
{
    struct iw_link *link;
    TAILQ_FOREACH(link, &m->links, entry)
    {
        if (link->ending)
            continue;
        if (link->state != IW_LINK_UP) {
            if (iw_progress_since(now, link->begun) > m->timeout)
                iw_link_end(link);
            continue;
        }
        const struct iw_peer *p = link->peer;
        fill_receives(link);
        if (link->granted - link->stated >= IW_LINK_STATE)
            iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL);
        const bool waits =
            link->fetches > 0 || !link->synced || (p->link == link && !TAILQ_EMPTY(&p->window));
        if (!waits || iw_progress_since(now, link->heard) < m->timeout / 4)
            continue;
        if (iw_progress_since(now, link->heard) > m->timeout)
            iw_link_end(link);
        else if (iw_progress_since(now, link->asked) > m->timeout / 4 &&
                 iw_link_control(link, IW_MESSAGE_STATE, IW_MESSAGE_ASK, NULL, NULL))
            link->asked = now;
    }
}
