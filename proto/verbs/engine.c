/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/engine.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "judge/judge.h"
#include "verbs/event_fd.h"
#include "verbs/mutex.h"

static struct engine {
    bool started;
    bool survives_fork; /* the handlers of fork are there */
    struct iw_verbs_settings settings;
    struct iw_host_env env;
    struct iw_domain *domain;
    struct iw_reactor *reactor;
    struct iw_watch *watch;
    struct iw_judge *judge; /* NULL: nobody looks on */
    FILE *trace;            /* NULL: no trace */
    char *folder;           /* of the launcher's, for what is judged; NULL: none */
    int wake_fd;            /* in the reactor: ends the wait of whoever drives */
    int kick_fd;            /* ends the sleep of the thread */
    bool leader;            /* somebody waits in iw_verbs_wait or poll() and drives */
    unsigned in_poll;       /* those in poll() */
    bool covering, asleep;
    bool polled;         /* somebody polls: the thread looks again after IW_VERBS_GRACE */
    bool cover_now;      /* the thread has been asked to drive at once */
    uint64_t activity;   /* counts polls, and POLLS for a leader that left */
    uint64_t handed;     /* counts signals that somebody else waits for */
    uint64_t wait_until; /* when the wait of whoever drives ends by itself */
    uint64_t spin;       /* ns that a wait polls before it sleeps */
} engine;

/* Fewer polls than this between two looks of the thread do not drive: a program that watches its
 * memory polls only now and then. */
enum { POLLS = 16, YIELD = 64 };

static void woken(void *context, uint32_t events)
{
    struct engine *e = context;
    (void)events;
    iw_verbs_event_read(e->wake_fd);
}

/* Returns the ms until a step is due, and notes when that is. */
static int due(struct engine *e)
{
    int ms = iw_reactor_timeout(e->reactor);
    e->wait_until = ms < 0 ? UINT64_MAX : iw_transport_now() + (uint64_t)ms * 1000000u;
    return ms;
}

static void step(struct engine *e, bool busy)
{
    iw_reactor_busy(e->reactor, busy);
    if (busy && iw_verbs_polled())
        iw_reactor_unwatched(e->reactor);
    (void)iw_reactor_step(e->reactor, 0);
}

/* ---- the thread ---- */

static void sleep_thread(struct engine *e, int ms)
{
    struct pollfd kick = {.fd = e->kick_fd, .events = POLLIN};
    iw_verbs_mutex_release();
    if (iw_verbs_real_poll(&kick, 1, ms) > 0)
        iw_verbs_event_read(e->kick_fd);
    iw_verbs_mutex_take();
}

static void cover(struct engine *e)
{
    struct pollfd fds[2] = {{.fd = iw_reactor_fd(e->reactor), .events = POLLIN},
                            {.fd = e->kick_fd, .events = POLLIN}};
    int ms = due(e);
    e->covering = true;
    iw_verbs_mutex_release();
    (void)iw_verbs_real_poll(fds, 2, ms);
    if (fds[1].revents != 0)
        iw_verbs_event_read(e->kick_fd);
    iw_verbs_mutex_take();
    e->covering = false;
    if (!e->leader) /* else what has come is the leader's, who knows the time-outs */
        step(e, false);
}

static void *run_thread(void *context)
{
    struct engine *e = context;
    uint64_t seen = 0;
    iw_verbs_mutex_take();
    for (;;) {
        if (e->activity - seen >= POLLS && !e->cover_now) {
            seen = e->activity;
            e->polled = true;
            sleep_thread(e, IW_VERBS_GRACE);
            e->polled = false;
        } else if (e->leader) {
            e->asleep = true;
            sleep_thread(e, -1);
            e->asleep = false;
        } else {
            seen = e->activity;
            e->cover_now = false;
            cover(e);
        }
    }
    return NULL;
}

static bool is_real_time(int policy)
{
    return policy == SCHED_FIFO || policy == SCHED_RR;
}

/* Has the thread come before one of a real-time policy that makes it: that one may watch its memory
 * and call nothing. */
static bool set_priority(pthread_attr_t *attr)
{
    struct sched_param param;
    const int policy = sched_getscheduler(0);
    if (!is_real_time(policy) || sched_getparam(0, &param) != 0)
        return false;
    if (param.sched_priority < sched_get_priority_max(policy))
        param.sched_priority++;
    return pthread_attr_setinheritsched(attr, PTHREAD_EXPLICIT_SCHED) == 0 &&
           pthread_attr_setschedpolicy(attr, policy) == 0 &&
           pthread_attr_setschedparam(attr, &param) == 0;
}

static int start_thread(struct engine *e)
{
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attr);
    int result = set_priority(&attr) ? pthread_create(&thread, &attr, run_thread, e) : EPERM;
    if (result == EPERM)
        result = pthread_create(&thread, NULL, run_thread, e);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result == 0)
        pthread_detach(thread);
    return result;
}

/* ---- fork ---- */

enum { LIST = 64, HOOKS = 4 };
static void (*hooks[HOOKS])(void);
static _Atomic(void (*)(void)) hook_before;

void iw_verbs_before_fork(void (*hook)(void))
{
    atomic_store(&hook_before, hook);
}

void iw_verbs_at_fork(void (*hook)(void))
{
    unsigned i = 0;
    while (i < HOOKS - 1 && hooks[i] != NULL && hooks[i] != hook)
        i++;
    hooks[i] = hook;
}

static void before_fork(void)
{
    void (*hook)(void) = atomic_load(&hook_before);
    iw_verbs_mutex_take();
    iw_verbs_keep_counts(false);
    if (hook != NULL && engine.started)
        hook();
    if (engine.judge != NULL)
        iw_judge_settle(engine.judge);
}

static void after_fork(void)
{
    iw_verbs_mutex_release();
}

/* The child has neither the thread nor the connections, which stay its parent's. */
static void part(struct engine *e)
{
    iw_reactor_forget(e->reactor);
    if (e->judge != NULL)
        iw_judge_leave(e->judge);
    e->judge = NULL;
    close(e->wake_fd);
    close(e->kick_fd);
    iw_verbs_event_part();
    for (unsigned i = 0; i < HOOKS && hooks[i] != NULL; i++)
        hooks[i]();
    e->reactor = NULL;
    e->watch = NULL;
    e->started = e->leader = e->covering = e->asleep = e->polled = e->cover_now = false;
    e->in_poll = 0;
}

/* Releasing the parent's lock fails (but ThreadSanitizer sees it), so make it anew. */
static void in_child(void)
{
    if (engine.started)
        part(&engine);
    iw_verbs_mutex_release();
    iw_verbs_mutex_make();
}

/* When the library is loaded, before the program has handlers of its own: then these use the
 * library while no lock is held, since the last ones to prepare a fork and the first ones after it
 * are ours. */
__attribute__((constructor)) static void handle_fork(void)
{
    iw_verbs_mutex_make();
    engine.survives_fork = pthread_atfork(before_fork, after_fork, in_child) == 0;
}

/* ---- start ---- */

/* What a child of fork has from its parent, too. */
static bool start_memory(struct engine *e)
{
    const struct iw_domain_limits limits = {IW_VERBS_REGIONS, IW_VERBS_BUFFERS};
    if (e->domain != NULL)
        return true;
    iw_verbs_read_settings(getenv("IWARP_VERBS"), &e->settings);
    const char *trace = getenv("IWARP_RUN_TRACE");
    if (trace != NULL && (e->trace = fopen(trace, "ae")) == NULL)
        fprintf(stderr, "iwarp-run: no trace: cannot write %s: %s\n", trace, strerror(errno));
    /* Kept for a child of fork, which may have changed its environment by then (nginx). */
    const char *folder = getenv("IWARP_RUN_FOLDER");
    e->folder = folder != NULL ? strdup(folder) : NULL;
    iw_host_env_init(&e->env, false);
    e->domain = iw_domain_create(&e->env.env, &limits);
    return e->domain != NULL && e->survives_fork;
}

static void begin_judging(struct engine *e)
{
    if (!e->settings.judge || e->folder == NULL)
        return;
    e->judge = iw_judge_create(e->folder, e->settings.capture);
    if (e->judge != NULL)
        iw_reactor_tap(e->reactor, iw_judge_tap(e->judge));
    else
        fprintf(stderr, "iwarp-run: process %ld is not judged: cannot write to %s: %s\n",
                (long)getpid(), e->folder, strerror(errno));
}

/* Without the lock if another thread does not let go of it: what it does is not judged any more. */
__attribute__((destructor)) static void end_judging(void)
{
    if (engine.judge == NULL || !iw_verbs_mutex_try())
        return;
    iw_judge_finish(engine.judge);
    iw_verbs_mutex_release();
}

/* On one processor polling would only keep the peer from sending. */
static uint64_t time_to_spin(const struct iw_verbs_settings *s)
{
    cpu_set_t processors;
    if (sched_getaffinity(0, sizeof(processors), &processors) == 0 && CPU_COUNT(&processors) == 1)
        return 0;
    return (uint64_t)s->spin * 1000;
}

static int start(struct engine *e)
{
    e->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->reactor = iw_reactor_create();
    if (e->reactor != NULL && e->wake_fd >= 0)
        e->watch = iw_watch_create(e->reactor, e->wake_fd, EPOLLIN, woken, e);
    if (start_memory(e) && e->watch != NULL && e->kick_fd >= 0 && start_thread(e) == 0) {
        e->started = true;
        e->spin = time_to_spin(&e->settings);
        begin_judging(e);
        return 0;
    }
    iw_reactor_destroy(e->reactor);
    if (e->wake_fd >= 0)
        close(e->wake_fd);
    if (e->kick_fd >= 0)
        close(e->kick_fd);
    e->reactor = NULL;
    e->watch = NULL;
    return ENOMEM;
}

bool iw_verbs_enter(void)
{
    iw_verbs_mutex_take();
    int error = engine.started ? 0 : start(&engine);
    if (error == 0)
        return true;
    iw_verbs_mutex_release();
    errno = error;
    return false;
}

void iw_verbs_lock(void)
{
    iw_verbs_mutex_take();
    if (engine.started || start(&engine) == 0)
        return;
    fprintf(stderr, "iwarp-run: no memory or descriptors to go on after fork\n");
    abort();
}

bool iw_verbs_lock_running(void)
{
    iw_verbs_mutex_take();
    if (engine.started)
        return true;
    iw_verbs_mutex_release();
    return false;
}

void iw_verbs_unlock(void)
{
    struct engine *e = &engine;
    if ((e->leader || e->covering) && !iw_verbs_mutex_kept()) {
        uint64_t known = e->wait_until;
        int ms = due(e);
        if (e->wait_until < known && (ms == 0 || known - e->wait_until > 1000000))
            iw_verbs_event_write(e->wake_fd);
        else
            e->wait_until = known;
    }
    iw_verbs_mutex_release();
}

struct iw_reactor *iw_verbs_reactor(void)
{
    return engine.reactor;
}

struct iw_domain *iw_verbs_domain(void)
{
    return engine.domain;
}

const struct iw_verbs_settings *iw_verbs_settings(void)
{
    return &engine.settings;
}

FILE *iw_verbs_trace(void)
{
    return engine.trace;
}

/* ---- driving ---- */

void iw_verbs_poll(void)
{
    engine.activity++;
    step(&engine, true);
}

/* Of a real-time policy, a thread that polls would keep those of its own priority from this
 * processor for ever, and with them the peer. */
void iw_verbs_found_nothing(void)
{
    static _Thread_local unsigned times;
    if (++times % YIELD != 0)
        return;
    if (is_real_time(sched_getscheduler(0)))
        (void)sched_yield();
}

void iw_verbs_poll_later(void)
{
    if (++engine.activity % POLLS == 0)
        iw_verbs_poll();
}

bool iw_verbs_polled(void)
{
    return engine.polled && !engine.leader && !engine.covering;
}

static void stop_leading(struct engine *e)
{
    e->leader = false;
    e->activity += POLLS;
    if (e->asleep)
        iw_verbs_event_write(e->kick_fd);
}

struct waiting {
    bool leads;
    int ms, result, error;
    unsigned *waiters;
    uint64_t deadline;
};

/* The thread that waits has been cancelled, without the lock. */
static void cancelled(void *context)
{
    struct waiting *w = context;
    iw_verbs_mutex_take();
    --*w->waiters;
    if (w->leads)
        stop_leading(&engine);
    iw_verbs_mutex_release();
}

static int ms_until(uint64_t deadline)
{
    const uint64_t now = deadline != UINT64_MAX ? iw_transport_now() : 0;
    if (deadline == UINT64_MAX)
        return -1;
    const uint64_t ms = deadline > now ? (deadline - now + 999999) / 1000000 : 0;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

/* Waits without the lock. Returns what poll returns. */
static int poll_unlocked(struct engine *e, int fd, struct waiting *w)
{
    struct pollfd fds[2] = {{.fd = fd, .events = POLLIN},
                            {.fd = iw_reactor_fd(e->reactor), .events = POLLIN}};
    const int left = ms_until(w->deadline);
    w->ms = w->leads ? due(e) : -1;
    if (left >= 0 && (w->ms < 0 || left < w->ms))
        w->ms = left;
    ++*w->waiters;
    pthread_cleanup_push(cancelled, w);
    iw_verbs_mutex_release();
    w->result = iw_verbs_real_poll(fds, w->leads ? 2 : 1, w->ms);
    w->error = errno;
    iw_verbs_mutex_take();
    pthread_cleanup_pop(0);
    --*w->waiters;
    errno = w->error;
    return w->result;
}

/* Polls for a while: to fall asleep and be woken takes longer than many answers do. */
static void spin(struct engine *e, bool (*done)(const void *context), const void *context)
{
    const uint64_t end = e->spin > 0 ? iw_transport_now() + e->spin : 0;
    while (!e->leader && !done(context) && iw_transport_now() < end) {
        iw_verbs_poll();
        iw_verbs_mutex_release();
        iw_verbs_mutex_take();
    }
}

int iw_verbs_wait(int fd, unsigned *waiters, bool (*done)(const void *context), const void *context)
{
    return iw_verbs_wait_until(fd, waiters, done, context, UINT64_MAX);
}

int iw_verbs_wait_until(int fd, unsigned *waiters, bool (*done)(const void *context),
                        const void *context, uint64_t deadline)
{
    struct engine *e = &engine;
    struct waiting w = {.waiters = waiters, .deadline = deadline};
    bool follow = false;
    int result = 0;
    spin(e, done, context);
    while (result == 0 && !done(context)) {
        uint64_t handed = e->handed, activity = e->activity;
        if (ms_until(deadline) == 0) {
            errno = ETIMEDOUT;
            return -1;
        }
        w.leads = !e->leader && !follow;
        iw_verbs_event_drive(&(struct pollfd){.fd = fd}, 1);
        e->leader = e->leader || w.leads;
        if (poll_unlocked(e, fd, &w) < 0 && errno == EINTR)
            result = -1;
        if (!w.leads)
            continue;
        step(e, false);
        /* What has come is for another who waits or polls: let it lead when it comes back, so that
         * what comes next needs one waking less. */
        follow = (e->handed != handed || e->activity != activity) && !done(context);
        stop_leading(e);
    }
    if (result != 0)
        errno = EINTR;
    return result;
}

/* ---- poll() ---- */

/* Waits once as the leader, for `ms` at most. Sets `others` if somebody else polled meanwhile. */
static int poll_and_step(struct engine *e, struct pollfd *list, nfds_t count, int ms, bool *others)
{
    struct pollfd all[LIST + 1];
    struct waiting w = {
        .leads = true, .ms = due(e), .waiters = &e->in_poll, .deadline = UINT64_MAX};
    memcpy(all, list, count * sizeof(*list));
    all[count] = (struct pollfd){.fd = iw_reactor_fd(e->reactor), .events = POLLIN};
    if (ms >= 0 && (w.ms < 0 || ms < w.ms))
        w.ms = ms;
    const uint64_t activity = e->activity;
    e->leader = true;
    e->in_poll++;
    pthread_cleanup_push(cancelled, &w);
    iw_verbs_mutex_release();
    w.result = iw_verbs_real_poll(all, count + 1, w.ms);
    w.error = errno;
    iw_verbs_mutex_take();
    pthread_cleanup_pop(0);
    e->in_poll--;
    step(e, false);
    *others = e->activity != activity;
    stop_leading(e);
    errno = w.error;
    return w.result;
}

static int poll_as_leader(struct engine *e, struct pollfd *list, nfds_t count, int ms)
{
    const uint64_t end = ms < 0 ? UINT64_MAX : iw_transport_now() + (uint64_t)ms * 1000000u;
    bool others = false; /* what comes is for them, so that leading would only be woken for it */
    for (;;) {
        const uint64_t now = iw_transport_now();
        const int left = ms < 0 ? -1 : now < end ? (int)((end - now + 999999) / 1000000) : 0;
        iw_verbs_mutex_take();
        const bool follow = e->leader || left == 0 || others;
        const int result = follow ? 0 : poll_and_step(e, list, count, left, &others);
        const int error = errno;
        iw_verbs_unlock();
        if (follow)
            return iw_verbs_real_poll(list, count, left);
        if (result < 0 && error == EINTR) {
            errno = EINTR;
            return -1;
        }
        const int ready = iw_verbs_real_poll(list, count, 0);
        if (ready != 0)
            return ready;
    }
}

bool iw_verbs_poll_list(struct pollfd *list, nfds_t count, int ms, int *result)
{
    struct engine *e = &engine;
    if (count > LIST || !iw_verbs_event_drive(list, count))
        return false;
    *result = iw_verbs_real_poll(list, count, 0);
    if (*result != 0)
        return true;
    iw_verbs_lock();
    iw_verbs_poll();
    iw_verbs_unlock();
    *result = iw_verbs_real_poll(list, count, 0);
    if (*result == 0 && ms != 0)
        *result = poll_as_leader(e, list, count, ms);
    else if (*result == 0)
        iw_verbs_found_nothing();
    return true;
}

void iw_verbs_signal(int fd, unsigned waiters)
{
    if (waiters > 0)
        engine.handed++;
    iw_verbs_event_add(fd);
}

void iw_verbs_cover(void)
{
    struct engine *e = &engine;
    if (e->leader || e->covering || e->cover_now)
        return;
    e->cover_now = true;
    iw_verbs_event_write(e->kick_fd);
}
