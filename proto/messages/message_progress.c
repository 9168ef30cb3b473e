/* SPDX-License-Identifier: BSD-3-Clause */
/* Who drives: a thread of the program that waits, else the library's own one. It polls the queue of
 * completions for a while, then sleeps until a descriptor is readable. The library's thread steps
 * back when a thread of the program comes, and returns 2 ms after the last one has left. */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "host/clock.h"
#include "messages/message_internal.h"

enum { BATCH = 32, LOOK_ROUNDS = 256, BACK_NS = 2000000 };

uint64_t iw_progress_now(void)
{
    return iw_clock_now();
}

bool iw_progress_poll(struct iw_messages *m)
{
    struct ibv_wc wc[BATCH];
    bool any = false;
    for (int count; (count = ibv_poll_cq(m->cq, BATCH, wc)) > 0; any = true)
        for (int i = 0; i < count; i++)
            iw_link_complete(m, &wc[i]);
    return any;
}

bool iw_progress_step(struct iw_messages *m)
{
    bool any = atomic_exchange(&m->resolved, false);
    if (any) {
        struct iw_route *r;
        TAILQ_FOREACH(r, &m->unrouted, entry)
        r->retry = 0;
        iw_route_tick(m, iw_progress_now());
    }
    any |= iw_progress_poll(m);
    if (m->ending) { /* which may give messages their fate: who waits must look */
        iw_link_reap(m, false);
        any = true;
    }
    return any;
}

/* Takes what the descriptors have; without blocking. */
static void look(struct iw_messages *m, int timeout_ms, bool unlocked)
{
    struct pollfd fds[] = {
        {m->completions->fd, POLLIN, 0},
        {m->channel->fd, POLLIN, 0},
        {m->kick, POLLIN, 0},
        {m->status_due == 0 || iw_progress_now() >= m->status_due ? m->status : -1, POLLIN, 0}};
    if (unlocked)
        pthread_mutex_unlock(&m->mutex);
    const int ready = poll(fds, 4, timeout_ms);
    if (unlocked)
        pthread_mutex_lock(&m->mutex);
    if (ready <= 0)
        return;
    if ((fds[0].revents & POLLIN) != 0) {
        struct ibv_cq *cq;
        void *context;
        if (ibv_get_cq_event(m->completions, &cq, &context) == 0)
            ibv_ack_cq_events(cq, 1);
    }
    if ((fds[1].revents & POLLIN) != 0)
        while (iw_link_event(m))
            ;
    if ((fds[3].revents & POLLIN) != 0)
        iw_status_answer(m);
    uint64_t count;
    if ((fds[2].revents & POLLIN) != 0 && read(m->kick, &count, sizeof(count)) < 0)
        return;
}

static void tick(struct iw_messages *m)
{
    uint64_t now = iw_progress_now();
    if (now - m->ticked < IW_TICK_MS * UINT64_C(1000000))
        return;
    m->ticked = now;
    look(m, 0, false); /* one that always finds completions would not hear of connections */
    now = iw_progress_now();
    iw_route_tick(m, now);
    iw_peer_tick(m, now);
    iw_link_tick(m, now);
    iw_link_reap(m, false);
}

void iw_progress_kick(struct iw_messages *m)
{
    const uint64_t one = 1;
    if (write(m->kick, &one, sizeof(one)) < 0)
        return; /* it is full, and so readable */
}

void iw_progress_due(struct iw_messages *m)
{
    if (m->driving && m->sleeps > iw_progress_now() + 2 * IW_TICK_MS * UINT64_C(1000000)) {
        m->sleeps = 0;
        iw_progress_kick(m);
    }
}

/* Until when a sleep may last: what is owed or tried again is looked after in ticks. */
static uint64_t next_tick(struct iw_messages *m, uint64_t now)
{
    const uint64_t soon = now + IW_TICK_MS * UINT64_C(1000000);
    uint64_t at = UINT64_MAX;
    if (!TAILQ_EMPTY(&m->unrouted) || m->status_due > now)
        return soon;
    const struct iw_link *link;
    TAILQ_FOREACH(link, &m->links, entry)
    {
        if (link->state != IW_LINK_UP || link->peer == NULL || link->peer->owed > 0)
            return soon;
        if (!TAILQ_EMPTY(&link->peer->window) || link->fetches > 0 ||
            !TAILQ_EMPTY(&link->peer->arrivals) || link->receives < IW_LINK_RECEIVES)
            at = now + m->timeout / 16;
    }
    for (unsigned i = 0; i < IW_TABLE && m->links_up < m->peers_known; i++)
        for (const struct iw_peer *p = m->peers[i]; p != NULL; p = p->chain)
            if (p->link == NULL && !(TAILQ_EMPTY(&p->window) && TAILQ_EMPTY(&p->waiting)))
                return soon;
    return at;
}

static void drive(struct iw_messages *m, uint64_t deadline, bool spins)
{
    const uint64_t begun = iw_progress_now();
    uint64_t now = begun;
    for (unsigned round = 1; spins && now - begun < m->spin && now < deadline; round++) {
        if (iw_progress_step(m)) {
            tick(m);
            return;
        }
        if (round % LOOK_ROUNDS == 0) {
            look(m, 0, false);
            tick(m);
            return; /* what has happened, the caller sees */
        }
        /* Others send and free meanwhile. */
        pthread_mutex_unlock(&m->mutex);
        pthread_mutex_lock(&m->mutex);
        now = iw_progress_now();
    }
    if (now >= deadline)
        return;
    ibv_req_notify_cq(m->cq, 0);
    if (iw_progress_step(m)) {
        tick(m);
        return;
    }
    const uint64_t tick_at = next_tick(m, now);
    const uint64_t until = deadline < tick_at ? deadline : tick_at;
    int timeout = -1;
    if (until != UINT64_MAX) {
        const uint64_t ms = (until - now + 999999) / 1000000;
        timeout = ms > 1000000 ? 1000000 : (int)ms;
    }
    m->sleeps = until;
    look(m, timeout, true);
    m->sleeps = 0;
    iw_progress_step(m);
    tick(m);
}

static void sleep_until(struct iw_messages *m, pthread_cond_t *condition, uint64_t deadline)
{
    if (deadline == UINT64_MAX) {
        pthread_cond_wait(condition, &m->mutex);
        return;
    }
    const struct timespec at = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
    pthread_cond_timedwait(condition, &m->mutex, &at);
}

void iw_progress_wait(struct iw_messages *m, uint64_t deadline)
{
    m->waiting++;
    m->waits++;
    if (m->driving) {
        if (m->thread_drives)
            iw_progress_kick(m);
        sleep_until(m, &m->changed, deadline);
    } else {
        m->driving = true;
        drive(m, deadline, true);
        m->driving = false;
    }
    m->waiting--;
    if (m->waiting > 0)
        pthread_cond_broadcast(&m->changed);
    if (m->deep)
        pthread_cond_signal(&m->background);
}

void *iw_progress_thread(void *messages)
{
    struct iw_messages *m = messages;
    pthread_mutex_lock(&m->mutex);
    uint64_t seen = m->waits - 1;
    while (!m->closing) {
        if (m->waiting > 0 || m->driving || seen != m->waits) {
            const bool stays = seen == m->waits; /* one wait has lasted since the last look */
            seen = m->waits;
            m->deep = stays;
            sleep_until(m, &m->background, stays ? UINT64_MAX : iw_progress_now() + BACK_NS);
            m->deep = false;
            continue;
        }
        m->driving = m->thread_drives = true;
        drive(m, UINT64_MAX, false);
        m->driving = m->thread_drives = false;
        if (m->waiting > 0)
            pthread_cond_broadcast(&m->changed);
    }
    pthread_mutex_unlock(&m->mutex);
    return NULL;
}
