/* SPDX-License-Identifier: BSD-3-Clause */
/* Another process: the messages to it and from it, which outlive connections. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "messages/message_internal.h"

enum { RECONNECT_NS = 100 * 1000000 };

struct iw_peer *iw_peer_find(struct iw_messages *m, uint64_t instance)
{
    struct iw_peer *p = m->peers[instance % IW_TABLE];
    while (p != NULL && p->instance != instance)
        p = p->chain;
    return p;
}

static bool is_idle(const struct iw_peer *p)
{
    return p->link == NULL && p->attempt == NULL && p->arrived == 0 && TAILQ_EMPTY(&p->window) &&
           TAILQ_EMPTY(&p->waiting);
}

static void forget(struct iw_messages *m, struct iw_peer *p)
{
    struct iw_peer **at = &m->peers[p->instance % IW_TABLE];
    while (*at != p)
        at = &(*at)->chain;
    *at = p->chain;
    m->peers_known--;
    iw_route_drop(m, p);
    struct iw_link *link;
    TAILQ_FOREACH(link, &m->links, entry)
    if (link->peer == p)
        link->peer = NULL;
    free(p);
}

struct iw_peer *iw_peer_get(struct iw_messages *m, uint64_t instance)
{
    struct iw_peer *p = iw_peer_find(m, instance);
    if (p != NULL)
        return p;
    if (m->peers_known >= IW_PEERS_MOST || (p = calloc(1, sizeof(*p))) == NULL)
        return NULL;
    p->instance = instance;
    p->next = 1;
    p->used = iw_progress_now();
    TAILQ_INIT(&p->window);
    TAILQ_INIT(&p->waiting);
    TAILQ_INIT(&p->arrivals);
    p->chain = m->peers[instance % IW_TABLE];
    m->peers[instance % IW_TABLE] = p;
    m->peers_known++;
    return p;
}

/* ---- out ---- */

void iw_peer_queue(struct iw_messages *m, struct iw_peer *p, struct iw_outgoing *o)
{
    TAILQ_INSERT_TAIL(&p->waiting, o, entry);
    if (p->link == NULL)
        iw_progress_due(m); /* a tick connects, and who sleeps expects none */
}

/* Moves a waiting message into the window, if that has room. */
static bool admit(struct iw_peer *p)
{
    struct iw_outgoing *o = TAILQ_FIRST(&p->waiting);
    if (o == NULL || p->next > p->heard.base + IW_MESSAGES_WINDOW)
        return false;
    TAILQ_REMOVE(&p->waiting, o, entry);
    o->sequence = p->next++;
    o->transmitted = false;
    TAILQ_INSERT_TAIL(&p->window, o, entry);
    p->unsent = o;
    return true;
}

void iw_peer_pump(struct iw_messages *m, struct iw_peer *p)
{
    struct iw_link *link = p->link;
    if (link == NULL || link->state != IW_LINK_UP || !link->synced || link->ending || p->dead)
        return;
    while (p->unsent != NULL || admit(p)) {
        struct iw_outgoing *o = p->unsent;
        /* The octets of one that is sent again must not change while the first Send is under way.
         */
        if (o->posted > 0)
            return;
        const bool ask = (o->flags & IW_MESSAGES_NOTIFY) != 0 || o->count > 0 ||
                         o->sequence == p->heard.base + IW_MESSAGES_WINDOW;
        if (!iw_link_send(link, o, ask))
            return;
        o->transmitted = true;
        if (o->sequence > p->last)
            p->last = o->sequence;
        p->unsent = TAILQ_NEXT(o, entry);
        m->counts.sent++;
        m->counts.sent_octets += o->length;
        p->sent++;
        p->sent_octets += o->length;
    }
}

static void remove_from_window(struct iw_peer *p, struct iw_outgoing *o)
{
    if (p->unsent == o)
        p->unsent = TAILQ_NEXT(o, entry);
    TAILQ_REMOVE(&p->window, o, entry);
}

/* The process at the other end does not have this number. */
static void refused(struct iw_messages *m, struct iw_peer *p, struct iw_outgoing *o)
{
    struct iw_route *r = o->route;
    const uint64_t now = iw_progress_now();
    if (r->peer == p)
        r->peer = NULL;
    iw_route_forget(m, r, p->instance);
    if (r->retry < now)
        r->retry = now + RECONNECT_NS / 2;
    if (!o->refused && o->deadline < now + m->timeout)
        o->deadline = now + m->timeout;
    o->refused = true;
    iw_route_done(m, o);
    iw_route_queue(m, o);
}

static void hear(struct iw_messages *m, struct iw_peer *p)
{
    struct iw_outgoing *o = TAILQ_FIRST(&p->window);
    while (o != NULL) {
        struct iw_outgoing *next = TAILQ_NEXT(o, entry);
        if (o->sequence > p->heard.base && p->heard.ahead == 0)
            return;
        const enum iw_taken_fate fate = iw_taken_fate(&p->heard, o->sequence);
        if (fate != IW_TAKEN_OPEN) {
            remove_from_window(p, o);
            if (fate == IW_TAKEN_TAKEN) {
                iw_route_done(m, o);
                iw_service_fate(m, o, 0);
            } else {
                refused(m, p, o);
            }
        }
        o = next;
    }
}

/* Takes in what a header says of our messages. Returns NULL or what is wrong. */
static const char *update(struct iw_peer *p, const struct iw_message_header *h)
{
    const struct iw_message_state *s = &h->state;
    const bool sync = h->type == IW_MESSAGE_SYNC;
    if (sync && TAILQ_EMPTY(&p->window) && h->sequence >= p->next) {
        /* We have forgotten this peer meanwhile, and it has not forgotten us. */
        if (h->sequence >> 62 != 0)
            return "a sequence number without end";
        p->next = h->sequence + 1;
        p->last = h->sequence;
    }
    const unsigned ahead = s->ahead != 0 ? 64u - (unsigned)__builtin_clzll(s->ahead) : 0;
    if (s->base > p->last || ahead > p->last - s->base || (sync && h->sequence > p->last))
        return "done with what was never sent";
    if (s->base > p->heard.base)
        p->heard = *s;
    else if (s->base == p->heard.base) {
        p->heard.ahead |= s->ahead;
        p->heard.refused_after |= s->refused_after;
    }
    return NULL;
}

/* Sends all again that the peer does not have. */
static void rewind_to(struct iw_messages *m, struct iw_peer *p, uint64_t came)
{
    p->unsent = NULL;
    struct iw_outgoing *o;
    TAILQ_FOREACH(o, &p->window, entry)
    if (o->sequence > came) {
        p->unsent = o;
        break;
    }
    iw_peer_pump(m, p);
}

static void sync(struct iw_link *link, uint64_t came)
{
    struct iw_peer *p = link->peer;
    const bool first = !link->synced;
    link->synced = true;
    link->came = came;
    if (p->link == link || (!first && p->link != NULL && p->link->synced))
        rewind_to(link->m, p, came);
}

/* ---- in ---- */

void iw_peer_done(struct iw_messages *m, struct iw_incoming *in, bool was_refused)
{
    struct iw_peer *p = in->peer;
    iw_taken_done(&p->taken, in->sequence, was_refused);
    p->arrived--;
    p->owed++;
    p->used = iw_progress_now();
    struct iw_link *link = p->link;
    if (link != NULL && link->state == IW_LINK_UP && !link->ending) {
        const bool lent =
            in->length > IW_MESSAGES_SHORT && !was_refused && iw_long_lend_ahead(link, in->length);
        if (!lent && (in->ask || was_refused || p->owed >= IW_PEER_STATE))
            iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL);
        if (p->owed > 0)
            iw_progress_due(m);
    }
    free(in->pieces);
    free(in);
    iw_long_fetch(m, p);
}

void iw_peer_deliver(struct iw_messages *m, struct iw_peer *p)
{
    struct iw_incoming *in;
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is freed was taken out */
    while ((in = TAILQ_FIRST(&p->arrivals)) != NULL && in->complete) {
        TAILQ_REMOVE(&p->arrivals, in, entry);
        struct iw_service *s = iw_service_find(m, in->to);
        if (s != NULL) {
            iw_service_come(s, in);
        } else {
            iw_pool_put(&m->pool, in->buffer);
            iw_peer_done(m, in, true);
        }
    }
}

static struct iw_incoming *arrive(struct iw_link *link, const struct iw_message_header *h)
{
    struct iw_incoming *in = calloc(1, sizeof(*in));
    if (in == NULL)
        return NULL;
    *in = (struct iw_incoming){.peer = link->peer,
                               .link = link,
                               .sequence = h->sequence,
                               .from = h->from,
                               .to = h->to,
                               .length = h->length,
                               .ask = (h->flags & IW_MESSAGE_ASK) != 0};
    return in;
}

/* A message: short, announced, or written. Takes the buffer if it keeps it: then *b is NULL. */
static const char *message(struct iw_link *link, const struct iw_message_header *h,
                           struct iw_buffer **b)
{
    struct iw_messages *m = link->m;
    struct iw_peer *p = link->peer;
    struct iw_buffer *written = NULL;
    const enum iw_taken_verdict verdict = iw_taken_come(&p->taken, h->sequence);
    if (verdict == IW_TAKEN_WRONG)
        return "a sequence number outside the window";
    if (h->type == IW_MESSAGE_WRITTEN)
        written = iw_long_written(link, h);
    if (verdict == IW_TAKEN_AGAIN) {
        iw_pool_put(&m->pool, written);
        m->counts.repeated++;
        if ((h->flags & IW_MESSAGE_ASK) != 0)
            iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL);
        return NULL;
    }
    if (h->type == IW_MESSAGE_WRITTEN && written == NULL)
        return "written into no buffer that was lent";
    struct iw_incoming *in = arrive(link, h);
    if (in != NULL && h->type == IW_MESSAGE_ANNOUNCE) {
        in->count = h->count;
        in->pieces = calloc(h->count, sizeof(*in->pieces));
        for (unsigned i = 0; in->pieces != NULL && i < h->count; i++)
            iw_message_get_piece((*b)->data + i * IW_MESSAGE_PIECE, &in->pieces[i]);
    }
    if (in == NULL || (h->type == IW_MESSAGE_ANNOUNCE && in->pieces == NULL)) {
        free(in);
        iw_pool_put(&m->pool, written);
        iw_taken_back(&p->taken, h->sequence - 1); /* it will come again */
        return "no memory";
    }
    if (h->type == IW_MESSAGE_SHORT) {
        in->buffer = *b;
        *b = NULL;
        in->complete = true;
    } else if (h->type == IW_MESSAGE_WRITTEN) {
        in->buffer = written;
        in->complete = true;
        m->counts.written++;
    }
    p->arrived++;
    TAILQ_INSERT_TAIL(&p->arrivals, in, entry);
    if (in->complete)
        iw_peer_deliver(m, p);
    else
        iw_long_fetch(m, p);
    return NULL;
}

const char *iw_peer_receive(struct iw_link *link, struct iw_buffer *b, size_t length)
{
    struct iw_messages *m = link->m;
    struct iw_peer *p = link->peer;
    struct iw_message_header h;
    const char *wrong = iw_message_get_header(b->data - IW_POOL_HEADER, length, &h);
    if (wrong == NULL && !link->synced && h.type != IW_MESSAGE_SYNC)
        wrong = "it does not begin with SYNC";
    /* The window and the receives that are posted bound how far grants can run ahead. */
    if (wrong == NULL && h.grants - link->sent > 2 * IW_LINK_RECEIVES)
        wrong = "grants more than it has";
    if (wrong == NULL)
        wrong = update(p, &h);
    if (wrong == NULL) {
        if ((int32_t)(h.grants - link->may_send) > 0)
            link->may_send = h.grants;
        link->used = p->used = link->heard;
        hear(m, p);
        switch (h.type) {
        case IW_MESSAGE_SYNC:
            sync(link, h.sequence);
            break;
        case IW_MESSAGE_STATE:
            if ((h.flags & IW_MESSAGE_ASK) != 0)
                iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL);
            break;
        case IW_MESSAGE_LOAN:
            wrong = iw_long_loan(link, &h, b->data);
            break;
        default:
            wrong = message(link, &h, &b);
        }
    }
    iw_pool_put(&m->pool, b);
    if (wrong == NULL)
        iw_peer_pump(m, p);
    return wrong;
}

/* ---- connections come and go ---- */

void iw_peer_up(struct iw_messages *m, struct iw_link *link)
{
    struct iw_peer *p = link->peer;
    p->longest = link->greeting.longest;
    p->dead = false;
    p->attempt = p->attempt == link ? NULL : p->attempt;
    if (p->link == NULL) {
        p->link = link;
        p->unsent = NULL;
    }
    iw_link_control(link, IW_MESSAGE_SYNC, 0,
                    &(struct iw_message_header){.sequence = p->taken.came}, NULL);
    (void)m;
}

/* What was being fetched by a link that has ended must be announced again, and so all after it. */
static bool cut_arrivals(struct iw_messages *m, struct iw_peer *p, const struct iw_link *link)
{
    struct iw_incoming *first;
    TAILQ_FOREACH(first, &p->arrivals, entry)
    if (!first->complete && first->link == link)
        break;
    if (first == NULL)
        return false;
    iw_taken_back(&p->taken, first->sequence - 1);
    while (first != NULL) {
        struct iw_incoming *next = TAILQ_NEXT(first, entry);
        TAILQ_REMOVE(&p->arrivals, first, entry);
        p->arrived--;
        first->abandoned = true;
        if (first->reads == 0) {
            iw_pool_put(&m->pool, first->buffer);
            free(first->pieces);
            free(first);
        }
        first = next;
    }
    return true;
}

void iw_peer_down(struct iw_messages *m, struct iw_link *link)
{
    struct iw_peer *p = link->peer;
    const bool cut = cut_arrivals(m, p, link);
    if (p->link == link) {
        p->link = NULL;
        p->unsent = NULL;
        p->lost = iw_progress_now();
        p->retry = 0;
        struct iw_link *other;
        TAILQ_FOREACH(other, &m->links, entry)
        if (other != link && other->peer == p && other->state == IW_LINK_UP && !other->ending) {
            p->link = other;
            if (other->synced)
                rewind_to(m, p, other->came);
            break;
        }
    }
    if (cut && p->link != NULL)
        iw_link_control(p->link, IW_MESSAGE_SYNC, 0,
                        &(struct iw_message_header){.sequence = p->taken.came}, NULL);
}

/* The process is gone: what it was sent and has not answered is reported, the rest goes on to
 * whoever has the numbers now. */
static void die(struct iw_messages *m, struct iw_peer *p, bool surely)
{
    p->dead = true;
    p->gone = surely;
    iw_route_drop(m, p);
    struct iw_outgoing *o;
    while ((o = TAILQ_FIRST(&p->window)) != NULL) {
        remove_from_window(p, o);
        iw_route_done(m, o);
        if (o->transmitted)
            iw_service_fate(m, o, ECONNRESET);
        else
            iw_route_queue(m, o);
    }
    while ((o = TAILQ_FIRST(&p->waiting)) != NULL) {
        TAILQ_REMOVE(&p->waiting, o, entry);
        const uint64_t until = iw_progress_now() + m->timeout;
        if (o->deadline < until)
            o->deadline = until;
        iw_route_done(m, o);
        iw_route_queue(m, o);
    }
    iw_route_drop(m, p);
    if (m->waiting > 0)
        pthread_cond_broadcast(&m->changed);
}

void iw_peer_failed(struct iw_messages *m, struct iw_peer *p, bool was_refused)
{
    const uint64_t now = iw_progress_now();
    p->attempt = NULL;
    p->retry = now + RECONNECT_NS;
    if (p->link == NULL && !p->dead &&
        (was_refused || iw_progress_since(now, p->lost) > m->timeout))
        die(m, p, was_refused);
}

static void reconnect(struct iw_messages *m, struct iw_peer *p, uint64_t now)
{
    if (p->attempt != NULL || now < p->retry)
        return;
    if (p->address.ss_family == 0 || iw_progress_since(now, p->lost) > m->timeout) {
        die(m, p, false);
        return;
    }
    p->attempt = iw_link_connect(m, &p->address);
    if (p->attempt != NULL)
        p->attempt->peer = p;
    p->retry = now + RECONNECT_NS;
}

void iw_peer_tick(struct iw_messages *m, uint64_t now)
{
    for (unsigned i = 0; i < IW_TABLE; i++) {
        struct iw_peer *p = m->peers[i];
        while (p != NULL) {
            struct iw_peer *next = p->chain;
            if (p->link != NULL && p->owed > 0 && p->link->state == IW_LINK_UP && !p->link->ending)
                iw_link_control(p->link, IW_MESSAGE_STATE, 0, NULL, NULL);
            if (p->link != NULL) { /* memory to register may be there again */
                iw_long_fetch(m, p);
                iw_peer_pump(m, p);
            }
            if (p->link == NULL && !p->dead &&
                !(TAILQ_EMPTY(&p->window) && TAILQ_EMPTY(&p->waiting)))
                reconnect(m, p, now);
            /* One that only was silent may come back, and must find its sequence numbers; strangers
             * that only connect have none. */
            if (is_idle(p) &&
                (p->gone || (p->next == 1 && p->taken.came == 0) ||
                 iw_progress_since(now, p->used) > IW_PEER_KEEP_S * UINT64_C(1000000000)))
                forget(m, p);
            p = next;
        }
    }
}

void iw_peer_forget_all(struct iw_messages *m)
{
    for (unsigned i = 0; i < IW_TABLE; i++)
        for (struct iw_peer *p; (p = m->peers[i]) != NULL;) {
            m->peers[i] = p->chain;
            struct iw_incoming *in;
            while ((in = TAILQ_FIRST(&p->arrivals)) != NULL) {
                TAILQ_REMOVE(&p->arrivals, in, entry);
                free(in->pieces);
                free(in);
            }
            free(p);
        }
}
