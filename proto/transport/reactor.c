/* SPDX-License-Identifier: BSD-3-Clause */
/* The epoll set, the deadlines, and the work of one step. */
#include "transport/transport_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    EVENTS_PER_STEP = 64,
    UNASKED_PENDING = 4, /* steps for pending connections alone, between two looks at epoll */
    UNASKED_BUSY = 64,   /* busy polling: the same */
    BUSY_SOURCES = 16    /* more are not asked one by one */
};

/* The kernel's copy to a place a few octets further into its page than the source is takes three
 * times as long on some processors (string moves of AMD's Zen), and what malloc gives lies 16
 * octets into a page. Linux begins the octets of a message at the beginning of a page. */
enum { PAGE = 4096 };

struct iw_reactor *iw_reactor_create(void)
{
    struct iw_reactor *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    TAILQ_INIT(&r->pending);
    r->buffer = aligned_alloc(PAGE, IW_TRANSPORT_READ);
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (r->buffer == NULL || r->epoll < 0) {
        int saved = errno;
        iw_reactor_destroy(r);
        errno = saved;
        return NULL;
    }
    return r;
}

static void free_dead(struct iw_reactor *r)
{
    while (!LIST_EMPTY(&r->dead)) {
        struct iw_source *s = LIST_FIRST(&r->dead);
        LIST_REMOVE(s, entry);
        free(s);
    }
}

void iw_reactor_destroy(struct iw_reactor *r)
{
    if (r == NULL)
        return;
    while (!LIST_EMPTY(&r->live))
        LIST_FIRST(&r->live)->release(LIST_FIRST(&r->live));
    free_dead(r);
    if (r->epoll >= 0)
        close(r->epoll);
    free(r->heap);
    free(r->buffer);
    free(r);
}

void iw_reactor_tap(struct iw_reactor *r, const struct iw_tap *tap)
{
    r->tap = tap;
}

void iw_reactor_forget(struct iw_reactor *r)
{
    close(r->epoll);
    r->epoll = -1;
    for (struct iw_source *s = LIST_FIRST(&r->live); s != NULL; s = LIST_NEXT(s, entry))
        if (s->own != NULL && *s->own >= 0) {
            close(*s->own);
            *s->own = -1;
        }
}

uint64_t iw_reactor_calls(const struct iw_reactor *r)
{
    return r->calls;
}

static void set_aside(struct iw_reactor *r, bool aside)
{
    r->aside = aside;
    for (struct iw_source *s = LIST_FIRST(&r->live); s != NULL; s = LIST_NEXT(s, entry))
        if (s->set_aside != NULL)
            s->set_aside(s, aside);
}

void iw_reactor_unwatched(struct iw_reactor *r)
{
    r->unwatched = true;
}

int iw_reactor_fd(struct iw_reactor *r)
{
    r->unwatched = false;
    if (r->aside)
        set_aside(r, false);
    return r->epoll;
}

/* ---- sources ---- */

int iw_source_add(struct iw_reactor *r, struct iw_source *s, int fd, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = s};
    if (fd >= 0 && epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &e))
        return -1;
    s->reactor = r;
    LIST_INSERT_HEAD(&r->live, s, entry);
    r->live_count++;
    return 0;
}

void iw_source_remove(struct iw_source *s)
{
    s->reactor->live_count--;
    LIST_REMOVE(s, entry);
}

void iw_source_kill(struct iw_source *s)
{
    struct iw_reactor *r = s->reactor;
    s->dead = true;
    r->live_count--;
    LIST_REMOVE(s, entry);
    LIST_INSERT_HEAD(&r->dead, s, entry);
    if (!r->stepping)
        free_dead(r);
}

/* ---- deadlines: a binary heap ---- */

static void heap_place(struct iw_reactor *r, size_t i, struct iw_connection *c)
{
    r->heap[i] = c;
    c->heap_index = i;
}

static void heap_settle(struct iw_reactor *r, size_t i)
{
    struct iw_connection *c = r->heap[i];
    while (i > 1 && r->heap[i / 2]->deadline > c->deadline) {
        heap_place(r, i, r->heap[i / 2]);
        i /= 2;
    }
    for (;;) {
        size_t child = 2 * i;
        if (child < r->heap_count && r->heap[child + 1]->deadline < r->heap[child]->deadline)
            child++;
        if (child > r->heap_count || r->heap[child]->deadline >= c->deadline)
            break;
        heap_place(r, i, r->heap[child]);
        i = child;
    }
    heap_place(r, i, c);
}

/* Makes room for one more connection, so that setting a deadline cannot fail. */
int iw_heap_reserve(struct iw_reactor *r)
{
    if (r->heap_count + 1 < r->heap_room)
        return 0;
    size_t room = r->heap_room ? 2 * r->heap_room : 16;
    struct iw_connection **heap = realloc(r->heap, room * sizeof(struct iw_connection *));
    if (heap == NULL)
        return -1;
    r->heap = heap;
    r->heap_room = room;
    return 0;
}

void iw_heap_set(struct iw_reactor *r, struct iw_connection *c, uint64_t deadline)
{
    if (c->heap_index == 0)
        heap_place(r, ++r->heap_count, c);
    else if (c->deadline == deadline)
        return;
    c->deadline = deadline;
    heap_settle(r, c->heap_index);
}

void iw_heap_remove(struct iw_reactor *r, struct iw_connection *c)
{
    size_t i = c->heap_index;
    if (i == 0)
        return;
    struct iw_connection *last = r->heap[r->heap_count--];
    c->heap_index = 0;
    if (last != c) {
        heap_place(r, i, last);
        heap_settle(r, i);
    }
}

static uint64_t next_deadline(const struct iw_reactor *r)
{
    uint64_t next = r->heap_count > 0 ? r->heap[1]->deadline : UINT64_MAX;
    for (const struct iw_listener *l = LIST_FIRST(&r->listeners); l != NULL;
         l = LIST_NEXT(l, entry))
        if (l->paused && l->resume_at < next)
            next = l->resume_at;
    for (const struct iw_sniff *s = LIST_FIRST(&r->sniffs); s != NULL; s = LIST_NEXT(s, entry))
        if (s->deadline < next)
            next = s->deadline;
    return next;
}

int iw_reactor_wait(uint64_t deadline, uint64_t now)
{
    if (deadline == UINT64_MAX)
        return -1;
    uint64_t left = deadline > now ? deadline - now : 0;
    uint64_t ms = left / 1000000 + (left % 1000000 != 0);
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

int iw_reactor_timeout(const struct iw_reactor *r)
{
    if (!TAILQ_EMPTY(&r->pending))
        return 0;
    return iw_reactor_wait(next_deadline(r), iw_transport_now());
}

/* ---- connections to serve without an event of theirs ---- */

void iw_pending_add(struct iw_reactor *r, struct iw_connection *c)
{
    if (c->pending)
        return;
    c->pending = true;
    r->pending_count++;
    TAILQ_INSERT_TAIL(&r->pending, c, pending_entry);
}

void iw_pending_remove(struct iw_reactor *r, struct iw_connection *c)
{
    if (!c->pending)
        return;
    c->pending = false;
    r->pending_count--;
    TAILQ_REMOVE(&r->pending, c, pending_entry);
}

/* ---- a step ---- */

static void serve_pending(struct iw_reactor *r)
{
    /* Only those that are here now: connections that they cause to be served wait for the next
     * step. */
    for (size_t n = r->pending_count; n > 0 && !TAILQ_EMPTY(&r->pending); n--) {
        struct iw_connection *c = TAILQ_FIRST(&r->pending);
        iw_pending_remove(r, c);
        iw_connection_serve(c, false);
    }
}

static void serve_deadlines(struct iw_reactor *r)
{
    if (next_deadline(r) == UINT64_MAX)
        return;
    uint64_t now = iw_transport_now();
    for (size_t i = r->heap_count; i > 0 && r->heap_count > 0; i--) {
        if (r->heap[1]->deadline > now)
            break;
        iw_connection_serve(r->heap[1], true);
    }
    for (struct iw_listener *l = LIST_FIRST(&r->listeners); l != NULL; l = LIST_NEXT(l, entry))
        if (l->paused && l->resume_at <= now)
            iw_listener_resume(l);
    iw_sniff_tick(r, now);
}

static void ask_busily(struct iw_reactor *r)
{
    for (struct iw_source *s = LIST_FIRST(&r->live), *next; s != NULL && !s->dead; s = next) {
        next = LIST_NEXT(s, entry);
        if (s->ask != NULL)
            s->ask(s);
    }
}

/* Does what it can without asking epoll. Returns true if that was all of this step: epoll has its
 * turn soon enough, and in between asking it would cost more than the work itself. */
static bool step_unasked(struct iw_reactor *r, bool busy)
{
    if (TAILQ_EMPTY(&r->pending) && !busy)
        return false;
    serve_pending(r);
    if (busy)
        ask_busily(r);
    return r->unasked++ < (busy ? UNASKED_BUSY : UNASKED_PENDING);
}

/* Returns the longest that a step may wait. */
static int wait_time(const struct iw_reactor *r, int timeout_ms)
{
    int due = timeout_ms == 0 ? 0 : iw_reactor_timeout(r);
    return timeout_ms < 0 || (due >= 0 && due < timeout_ms) ? due : timeout_ms;
}

static int ask_epoll(struct iw_reactor *r, int timeout_ms)
{
    struct epoll_event events[EVENTS_PER_STEP];
    r->calls++;
    int n = epoll_wait(r->epoll, events, EVENTS_PER_STEP, timeout_ms);
    if (n < 0 && errno != EINTR)
        return -1;
    for (int i = 0; i < n; i++) {
        struct iw_source *s = events[i].data.ptr;
        if (!s->dead)
            s->handle(s, events[i].events);
    }
    return 0;
}

/* With a single connection, block in its receive instead of epoll_wait(): one system call less. */
static bool ask_alone(struct iw_reactor *r, int timeout_ms)
{
    struct iw_source *s = LIST_FIRST(&r->live);
    return r->live_count == 1 && s->wait_alone != NULL && s->wait_alone(s, timeout_ms);
}

void iw_reactor_stepped(struct iw_reactor *r)
{
    r->stepping = false;
    free_dead(r);
}

int iw_reactor_step(struct iw_reactor *r, int timeout_ms)
{
    bool busy = r->busy && timeout_ms == 0 && r->live_count <= BUSY_SOURCES;
    bool had_pending = !TAILQ_EMPTY(&r->pending);
    int result = 0;
    r->stepping = true;
    if (r->aside && !busy)
        set_aside(r, false);
    if (!step_unasked(r, busy)) {
        r->unasked = 0;
        timeout_ms = wait_time(r, had_pending ? 0 : timeout_ms);
        if (!ask_alone(r, timeout_ms))
            result = ask_epoll(r, timeout_ms);
        serve_deadlines(r);
        if (busy && r->unwatched)
            set_aside(r, true);
    }
    iw_reactor_stepped(r);
    return result;
}

void iw_reactor_busy(struct iw_reactor *r, bool busy)
{
    r->busy = busy;
}

/* ---- the caller's own descriptors ---- */

static void watch_handle(struct iw_source *s, uint32_t events)
{
    struct iw_watch *w = (struct iw_watch *)s;
    w->ready(w->context, events);
}

static void watch_release(struct iw_source *s)
{
    iw_watch_destroy((struct iw_watch *)s);
}

struct iw_watch *iw_watch_create(struct iw_reactor *r, int fd, uint32_t events, iw_watch_fn ready,
                                 void *context)
{
    struct iw_watch *w = calloc(1, sizeof(*w));
    if (w == NULL || iw_source_add(r, &w->source, fd, events)) {
        int saved = errno;
        free(w);
        errno = saved;
        return NULL;
    }
    w->source.handle = watch_handle;
    w->source.release = watch_release;
    w->fd = fd;
    w->ready = ready;
    w->context = context;
    return w;
}

int iw_watch_set(struct iw_watch *w, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = &w->source};
    return epoll_ctl(w->source.reactor->epoll, EPOLL_CTL_MOD, w->fd, &e);
}

void iw_watch_destroy(struct iw_watch *w)
{
    if (w == NULL)
        return;
    epoll_ctl(w->source.reactor->epoll, EPOLL_CTL_DEL, w->fd, NULL);
    iw_source_kill(&w->source);
}
