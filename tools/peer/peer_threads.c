/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of a peer, their end, and the memory of their connections. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "host/files.h"
#include "host/proc_tables.h"
#include "peer_program.h"
#include "standard.h"

enum { OTHER_DESCRIPTORS = 16 }; /* beside connections, of each thread */

/* One thread. */
struct worker {
    struct peer peer;
    struct crew *crew;
    pthread_t thread;
    bool running;
    int stop; /* an eventfd */
};

struct crew {
    struct worker *workers;
    unsigned count;
    size_t resident; /* octets, before the first connection */
};

/* ---- memory ---- */

/* Returns the octets of this process that are in memory, without files. */
static size_t resident(void)
{
    const struct iw_proc_memory memory = iw_proc_memory(0);
    return (size_t)(memory.resident - memory.shared);
}

static void print_memory(const struct crew *crew)
{
    unsigned living = 0;
    for (unsigned i = 0; i < crew->count; i++)
        living += atomic_load(&crew->workers[i].peer.living);
    size_t now = resident(), more = now > crew->resident ? now - crew->resident : 0;
    printf("connections %u, octets in memory %zu, of each connection %zu\n", living, now,
           living > 0 ? more / living : 0);
    (void)fflush(stdout);
}

/* Raises the limit of descriptors, one for each connection, as far as the system allows. */
static void raise_descriptors(struct peer *p)
{
    const uint64_t each = p->listens && !p->once ? p->limit + OTHER_DESCRIPTORS : 1;
    const uint64_t wanted = each * p->threads, have = iw_descriptors_raise(wanted);
    if (have < wanted)
        iw_complain("--limit %llu: expected %llu descriptors (ulimit -n), there are %llu; more "
                    "connections wait",
                    (unsigned long long)p->limit, (unsigned long long)wanted,
                    (unsigned long long)have);
}

/* ---- signals ---- */

static void stop_others(const struct crew *crew)
{
    for (unsigned i = 1; i < crew->count; i++)
        if (crew->workers[i].running)
            (void)eventfd_write(crew->workers[i].stop, 1);
}

static void on_signal(void *context, uint32_t events)
{
    struct crew *crew = context;
    struct signalfd_siginfo info;
    (void)events;
    if (read(crew->workers[0].stop, &info, sizeof(info)) != sizeof(info))
        return;
    struct peer *first = &crew->workers[0].peer;
    if (info.ssi_signo == SIGUSR1) {
        print_memory(crew);
    } else {
        first->interrupted = info.ssi_signo == SIGINT;
        first->stopping = true;
    }
}

static void on_stop(void *context, uint32_t events)
{
    (void)events;
    ((struct peer *)context)->stopping = true;
}

/* ---- threads ---- */

static void turn(struct peer *p)
{
    while (p->status == IW_EXIT_GOOD && !p->stopping)
        if (iw_reactor_step(p->reactor, -1))
            p->status = IW_EXIT_TESTER;
}

/* Handles a signal that ends the work. */
static void interrupted(struct peer *p)
{
    struct peer_connection *pc = LIST_FIRST(&p->connections);
    if (!p->listens && pc != NULL && !pc->done && p->status == IW_EXIT_GOOD) {
        peer_fail(pc, "interrupted before everything was done");
        p->status = IW_EXIT_FAILURE;
    }
    if (p->interrupted)
        p->status = IW_EXIT_INTERRUPTED;
}

static void *work(void *context)
{
    struct worker *w = context;
    turn(&w->peer);
    if (w->peer.status != IW_EXIT_GOOD) /* without epoll: no thread goes on */
        (void)kill(getpid(), SIGTERM);
    return NULL;
}

/* Makes everything that a thread needs, and its listener. */
static int prepare(struct worker *w)
{
    struct peer *p = &w->peer;
    bool first = p->number == 0;
    uint32_t each = (uint32_t)(2 * p->limit);
    struct iw_domain_limits limits = {.regions = each, .buffers = each};
    iw_host_env_init(&p->host, false);
    w->stop = first ? iw_standard_signals(SIGUSR1) : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    p->reactor = iw_reactor_create();
    p->domain = iw_domain_create(&p->host.env, &limits);
    if (p->reactor != NULL && p->stream == NULL) /* which begins with MPA, then */
        iw_reactor_tap(p->reactor, &peer_beginnings);
    if (w->stop < 0 || p->reactor == NULL || p->domain == NULL ||
        iw_watch_create(p->reactor, w->stop, EPOLLIN, first ? on_signal : on_stop,
                        first ? (void *)w->crew : (void *)p) == NULL)
        return iw_complain_exit(IW_EXIT_TESTER, "no memory or descriptors to start with");
    p->options.endpoint.pd = iw_domain_pd(p->domain);
    return peer_start(p);
}

static void dismiss(struct worker *w)
{
    struct peer *p = &w->peer;
    iw_reactor_destroy(p->reactor);
    while (!LIST_EMPTY(&p->connections))
        peer_forget(LIST_FIRST(&p->connections));
    iw_domain_destroy(p->domain);
    iw_host_env_destroy(&p->host);
    if (w->stop >= 0)
        close(w->stop);
}

/* Starts the other threads. */
static int start_others(const struct crew *crew)
{
    for (unsigned i = 1; i < crew->count; i++) {
        struct worker *w = &crew->workers[i];
        w->running = pthread_create(&w->thread, NULL, work, w) == 0;
        if (!w->running)
            return iw_complain_exit(IW_EXIT_TESTER, "cannot start a thread");
    }
    return IW_EXIT_GOOD;
}

int peer_run(struct peer *p)
{
    struct crew crew = {.count = (unsigned)p->threads};
    int status = IW_EXIT_GOOD;
    crew.workers = calloc(crew.count, sizeof(*crew.workers));
    if (crew.workers == NULL)
        return iw_complain_exit(IW_EXIT_TESTER, "no memory or descriptors to start with");
    raise_descriptors(p);
    unsigned ready = 0;
    while (ready < crew.count && status == IW_EXIT_GOOD) {
        struct worker *w = &crew.workers[ready];
        w->peer = *p;
        w->peer.number = ready++;
        w->crew = &crew;
        status = prepare(w);
        p->address.port = w->peer.address.port; /* of the next ones, too */
    }
    crew.resident = resident();
    if (status == IW_EXIT_GOOD)
        status = start_others(&crew);
    if (status == IW_EXIT_GOOD) {
        turn(&crew.workers[0].peer);
        interrupted(&crew.workers[0].peer);
    }
    stop_others(&crew);
    for (unsigned i = 0; i < ready; i++) {
        struct worker *w = &crew.workers[i];
        if (w->running)
            pthread_join(w->thread, NULL);
        if (status == IW_EXIT_GOOD)
            status = w->peer.status;
        dismiss(w);
    }
    free(crew.workers);
    return status;
}
