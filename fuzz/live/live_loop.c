/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "host/text.h"
#include "iwarp/transport.h"
#include "slot.h"

enum {
    MS = 1000000,            /* in ns */
    CALL_MS = 10,            /* between two looks at what is to connect */
    WAIT_LEAST = 1000000,    /* ns that a step waits at least if it says so ... */
    WAIT_MOST = 50000000,    /* ... and at most */
    REPLY_MOST = 1000000000, /* for the Reply, without which all that follows is early */
    LINGER = 250000000,      /* ns for the peer's end after ours, as usual */
    HEARD_MOST = 4 << 20,    /* octets that one connection takes */
    CONNECT = 2000000000
};

/* ---- slots ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void arm(struct iw_hunt_slot *s, uint64_t ns)
{
    s->deadline = iw_transport_now() + ns;
}

static void watch(struct iw_hunt_slot *s, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = s};

    epoll_ctl(s->loop->epoll, EPOLL_CTL_MOD, s->fd, &e);
}

static void finish(struct iw_hunt_slot *s)
{
    struct iw_hunt_done done = s->done;

    done.input->ended = iw_transport_now();
    done.input->answered = s->answered;

    if (s->fd >= 0)
        close(s->fd); /* takes it out of the epoll set */
    s->fd = -1;
    free(s->piece);
    s->piece = NULL;
    iw_observer_free(s->observer);
    s->observer = NULL;
    s->phase = FREE;
    iw_hunt_world_left(s->loop->world);
    s->loop->busy--;
    s->loop->call(s->loop->context, &done);
}

static void ended(struct iw_hunt_slot *s, bool reset)
{
    iw_observer_end(s->observer, s->peer, s->received, reset);
    iw_hunt_slot_add(s, reset ? IW_ANSWER_RESET : IW_ANSWER_FIN, 0);
    finish(s);
}

static void refused(struct iw_hunt_slot *s)
{
    iw_hunt_slot_add(s, IW_ANSWER_REFUSED, 0);
    finish(s);
}

static void leave(struct iw_hunt_slot *s)
{
    struct linger at_once = {.l_onoff = 1};

    if (s->phase != CALLED) {
        setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        iw_observer_end(s->observer, s->own, s->sent, true);
    }
    finish(s);
}

/* Waits for the peer's end. */
static void linger(struct iw_hunt_slot *s, uint64_t ns)
{
    s->phase = LINGERING;
    arm(s, ns);
}

/* Sends the rendered octets. Returns false if not all could be sent now, or the slot is over. */
static bool flush(struct iw_hunt_slot *s)
{
    while (s->out_sent < s->out_length) {
        ssize_t n = send(s->fd, s->out + s->out_sent, s->out_length - s->out_sent, MSG_NOSIGNAL);

        if (n > 0) {
            s->done.connected = true;
            iw_observer_input(s->observer, s->own, s->sent, s->out + s->out_sent, (size_t)n);
            s->sent += (size_t)n;
            s->out_sent += (size_t)n;
        } else if (errno == EAGAIN) {
            s->blocked = true;
            watch(s, EPOLLIN | EPOLLOUT);
            return false;
        } else if (errno != EINTR) {
            if (!s->done.connected)
                refused(s);
            else /* what the peer said last is still to be read */
                linger(s, LINGER);
            return false;
        }
    }
    s->out_length = s->out_sent = 0;
    if (s->asking && !s->asked)
        s->asked = iw_transport_now();
    s->asking = false;
    return true;
}

static void append(struct iw_hunt_slot *s, const uint8_t *octets, size_t length)
{
    s->out = iw_got(realloc(s->out, s->out_length + length + 1)); /* never of no octets */
    /* There is a piece: NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
    memcpy(s->out + s->out_length, octets, length);
    s->out_length += length;
}

/* Renders the plan's octets before `until`: whole units, and part of the one that lies across. */
static void render_until(struct iw_hunt_slot *s, size_t until)
{
    while (s->at < until) {
        const struct iw_hunt_unit *u = &s->plan.units[s->unit];

        if (s->unit == s->plan.n_units) { /* more units than a plan holds */
            s->at = s->plan.length;
            return;
        }
        if (s->piece == NULL) {
            s->said = iw_hunt_said(&s->plan, u);
            s->piece_length = iw_hunt_render(&s->plan, u, &s->known, &s->piece);
            s->piece_sent = 0;
        }
        size_t end = (size_t)u->at + u->length, goal = until - u->at;
        if (until >= end || goal > s->piece_length)
            goal = s->piece_length;
        append(s, s->piece + s->piece_sent, goal - s->piece_sent);
        s->piece_sent = goal;
        s->at = until < end ? until : end;
        if (until >= end) {
            s->asking = s->asking || u->kind == IW_UNIT_STARTUP;
            free(s->piece);
            s->piece = NULL;
            s->unit++;
        }
    }
}

static void shut(struct iw_hunt_slot *s)
{
    if (!s->shut) {
        shutdown(s->fd, SHUT_WR);
        iw_observer_end(s->observer, s->own, s->sent, false);
        s->said = IW_SAID_FIN;
    }
    s->shut = true;
    /* A peer that has not even answered a Request gets less time to end the connection. */
    linger(s, s->loop->linger && s->received ? s->loop->linger : LINGER);
}

/* Returns how long to wait. For a Reply, without which everything after it is early, wait longer
 * than for an answer that may not come: as long as this peer takes on this machine. */
static uint64_t wait_of(const struct iw_hunt_loop *l, uint16_t ms, bool replied)
{
    uint64_t scaled = most(WAIT_LEAST, (replied ? 3 : 10) * l->answer_time);
    uint64_t asked = (uint64_t)ms * MS;

    if (!replied && asked >= WAIT_MOST)
        return most(l->patience, least(REPLY_MOST, scaled));
    if (l->patience) /* something is looked into: no haste, and what is cut is read in pieces */
        return least(l->patience, most(asked, WAIT_MOST));
    return least(asked, least(scaled, WAIT_MOST));
}

/* Advances until it has to wait for something. */
static void advance(struct iw_hunt_slot *s)
{
    s->phase = STEPS;
    for (;;) {
        const struct iw_hunt_mark *m = &s->plan.marks[s->mark];
        bool last = s->mark == s->plan.n_marks;

        render_until(s, last ? s->plan.length : m->at);
        if (!flush(s))
            return;
        if (last || m->kind == IW_FUZZ_FIN) {
            shut(s);
            return;
        }
        s->mark++;
        if (m->kind == IW_FUZZ_RST) {
            leave(s);
            return;
        }
        if (m->kind == IW_FUZZ_TIME) {
            s->phase = WAITING;
            arm(s, wait_of(s->loop, m->ms, s->received > 0));
            return;
        }
    }
}

static void readable(struct iw_hunt_slot *s)
{
    ssize_t n = recv(s->fd, s->loop->answers, IW_HUNT_ANSWERS, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n >= 0)
        s->answered = iw_transport_now();
    if (n <= 0) {
        if (n < 0 && !s->done.connected)
            refused(s);
        else
            ended(s, n < 0);
        return;
    }
    iw_observer_input(s->observer, s->peer, s->received, s->loop->answers, (size_t)n);
    s->received += (uint64_t)n;
    if (s->received > HEARD_MOST)
        leave(s);
    else if (s->phase == WAITING)
        advance(s);
}

static void handle(struct iw_hunt_slot *s, uint32_t events)
{
    if (events & EPOLLOUT && s->blocked) {
        s->blocked = false;
        watch(s, EPOLLIN);
        if (s->phase == STEPS)
            advance(s);
    }
    if (s->phase != FREE && events & (EPOLLIN | EPOLLERR | EPOLLHUP))
        readable(s);
}

/* Gives up if nothing has connected and there is nobody to wait for any more, or `late`. */
static void give_up_call(struct iw_hunt_slot *s, bool late)
{
    struct iw_hunt_world *w = s->loop->world;
    const char *why = w->target->not_called(w->target, late);

    if (why == NULL)
        return;
    snprintf(w->why, sizeof(w->why), "%s", why);
    refused(s);
}

static void late(struct iw_hunt_slot *s)
{
    if (s->phase == CALLED) {
        give_up_call(s, true);
    } else if (s->phase == WAITING) {
        advance(s);
    } else {
        s->loop->lingered++;
        iw_hunt_slot_add(s, IW_ANSWER_SILENCE, 0);
        leave(s);
    }
}

/* ---- the loop ---- */

struct iw_hunt_loop *iw_hunt_loop_new(struct iw_hunt_world *world,
                                      void (*done)(void *context, struct iw_hunt_done *d),
                                      void *context)
{
    struct iw_hunt_loop *l = iw_got(calloc(1, sizeof(*l)));

    l->world = world;
    l->call = done;
    l->context = context;
    l->control = -1;
    l->answer_time = MS;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < IW_HUNT_SLOTS; i++) {
        l->slots[i].loop = l;
        l->slots[i].fd = -1;
    }
    return l;
}

void iw_hunt_loop_free(struct iw_hunt_loop *l)
{
    if (l == NULL)
        return;
    iw_hunt_loop_abort(l);
    for (unsigned i = 0; i < IW_HUNT_SLOTS; i++) {
        iw_hunt_plan_free(&l->slots[i].plan);
        free(l->slots[i].out);
    }
    close(l->epoll);
    free(l);
}

void iw_hunt_loop_attach(struct iw_hunt_loop *l)
{
    struct epoll_event e = {.events = EPOLLIN};
    int fd = iw_hunt_world_fd(l->world);

    /* A descriptor that was closed has left the set by itself. */
    l->control = fd;
    if (fd >= 0)
        epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e);
    e.data.ptr = l;
    if (iw_hunt_called(l->world->side))
        epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->world->listener, &e);
}

/* ---- connections ---- */

static bool reach(struct iw_hunt_slot *s, const struct sockaddr_storage *to)
{
    s->fd = socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd < 0)
        return false;
    if (!connect(s->fd, (const struct sockaddr *)to, s->loop->world->to_length) ||
        errno == EINPROGRESS || errno == ECONNREFUSED)
        return true;
    close(s->fd); /* no port is free: later */
    s->fd = -1;
    return false;
}

/* Starts a slot whose connection is established, or about to be. */
static void go(struct iw_hunt_slot *s)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = s};
    int on = 1;

    setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    epoll_ctl(s->loop->epoll, EPOLL_CTL_ADD, s->fd, &e);
    advance(s);
}

/* Accepts the peer's connection; closes one that comes again, or without having been asked for. */
static void take_call(struct iw_hunt_loop *l)
{
    int fd = accept4(l->world->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0)
        return;
    for (unsigned i = 0; i < IW_HUNT_SLOTS; i++) {
        struct iw_hunt_slot *s = &l->slots[i];

        if (s->phase != CALLED)
            continue;
        s->fd = fd;
        s->done.connected = true;
        s->asked = iw_transport_now();
        go(s);
        return;
    }
    close(fd);
}

bool iw_hunt_loop_start(struct iw_hunt_loop *l, struct iw_hunt_input *input, uint64_t number)
{
    bool calls = iw_hunt_called(l->world->side);
    unsigned i = 0;

    while (i < l->world->slots && l->slots[i].phase != FREE)
        i++;
    struct iw_hunt_slot *s = &l->slots[i];
    if (i == l->world->slots || (calls && !iw_hunt_world_prepare_call(l->world)) ||
        (!calls && !reach(s, &l->world->to[i])))
        return false;
    s->done = (struct iw_hunt_done){.input = input, .number = number};
    input->began = iw_transport_now();
    s->known = (struct iw_hunt_known){.world = l->world};
    s->own = l->world->side;
    s->peer = (enum iw_side)(1 - s->own);
    s->at = s->mark = s->unit = s->out_length = s->out_sent = 0;
    s->said = IW_SAID_NOTHING;
    s->shut = s->blocked = s->asking = false;
    s->sent = s->received = s->asked = s->answered = 0;
    arm(s, CONNECT);
    l->busy++;
    iw_hunt_plan_make(&s->plan, input);
    iw_hunt_slot_observe(s);
    if (!calls) {
        go(s);
        return true;
    }
    s->phase = CALLED;
    arm(s, (uint64_t)(l->world->target->connect_within * l->world->scale * 1e9));
    if (!iw_hunt_world_call(l->world))
        refused(s);
    return true;
}

unsigned iw_hunt_loop_busy(const struct iw_hunt_loop *l)
{
    return l->busy;
}

uint64_t iw_hunt_loop_oldest(const struct iw_hunt_loop *l)
{
    uint64_t oldest = 0;

    for (unsigned i = 0; i < IW_HUNT_SLOTS; i++)
        if (l->slots[i].phase != FREE && (!oldest || l->slots[i].done.number < oldest))
            oldest = l->slots[i].done.number;
    return oldest;
}

static void requested(void *context, unsigned slot)
{
    struct iw_hunt_loop *l = context;

    l->slots[slot].done.requested = true;
}

void iw_hunt_loop_step(struct iw_hunt_loop *l, int ms)
{
    uint64_t now = iw_transport_now(), next = now + (uint64_t)ms * MS;

    for (const struct iw_hunt_slot *s = l->slots; s < l->slots + IW_HUNT_SLOTS; s++) {
        if (s->phase == CALLED)
            next = least(next, now + CALL_MS * MS);
        if (s->phase != FREE)
            next = least(next, s->deadline);
    }
    struct epoll_event events[IW_HUNT_SLOTS + 2];
    int n = epoll_wait(l->epoll, events, IW_HUNT_SLOTS + 2,
                       next > now ? (int)((next - now + MS - 1) / MS) : 0);
    for (int i = 0; i < n; i++) {
        struct iw_hunt_slot *s = events[i].data.ptr;

        if (s == NULL)
            iw_hunt_world_serve(l->world, requested, l);
        else if (events[i].data.ptr == l)
            take_call(l);
        else if (s->phase != FREE)
            handle(s, events[i].events);
    }
    now = iw_transport_now();
    for (struct iw_hunt_slot *s = l->slots; s < l->slots + IW_HUNT_SLOTS; s++) {
        if (s->phase == CALLED)
            give_up_call(s, false);
        if (s->phase != FREE && s->deadline <= now)
            late(s);
    }
}

void iw_hunt_loop_abort(struct iw_hunt_loop *l)
{
    for (unsigned i = 0; i < IW_HUNT_SLOTS; i++)
        if (l->slots[i].phase != FREE)
            leave(&l->slots[i]);
}

void iw_hunt_loop_patience(struct iw_hunt_loop *l, double seconds, double linger)
{
    l->patience = (uint64_t)(seconds * 1e9);
    l->linger = (uint64_t)(linger * 1e9);
}

uint64_t iw_hunt_loop_lingered(const struct iw_hunt_loop *l)
{
    return l->lingered;
}

uint64_t iw_hunt_loop_answer_time(const struct iw_hunt_loop *l)
{
    return l->answered ? l->answer_time : 0;
}
