/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages/resolver.h"
#include "host/clock.h"
#include "messages/resolver_core.h"
#include "messages/resolver_net.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

enum {
    BATCH = 64,     /* datagrams that are taken before the lock is let go */
    NOTICES = 64,   /* that wait for the thread; older ones give way */
    ALONE_MS = 2000 /* a question that nobody waits for goes on for so long */
};

struct notice {
    uint32_t number;
    enum iw_resolver_notice what;
};

struct iw_resolver {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* an answer, a claim that is decided, the end */
    pthread_t thread;
    int wake; /* an eventfd: something is due earlier, a socket more, the end */
    bool ending;
    unsigned waiting; /* threads in wait_change() */
    uint64_t sleeps_until;
    struct iw_resolver_core core;
    struct iw_resolver_net net;
    struct notice notices[NOTICES];
    size_t notice_count;
    unsigned claim_ms;
    void (*notice)(void *context, uint32_t number, enum iw_resolver_notice what);
    void *context;
};

/* ---- the core's means ---- */

static void ask_net(void *context, const uint8_t *octets, size_t length, unsigned tries)
{
    struct iw_resolver *r = context;
    iw_resolver_net_ask(&r->net, octets, length, tries);
}

static void send_net(void *context, const struct iw_resolver_place *to, const uint8_t *octets,
                     size_t length)
{
    struct iw_resolver *r = context;
    iw_resolver_net_send(&r->net, to, octets, length);
}

static void relay_net(void *context, const uint8_t *octets, size_t length)
{
    struct iw_resolver *r = context;
    iw_resolver_net_relay(&r->net, octets, length);
}

static bool local_net(void *context, const struct iw_resolver_place *to,
                      struct iw_resolver_place *own)
{
    struct iw_resolver *r = context;
    return iw_resolver_net_local(&r->net, to, own);
}

static bool get_random(void *context, void *out, size_t length)
{
    (void)context;
    ssize_t n;
    do
        n = getrandom(out, length, 0);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)length;
}

static void keep_notice(void *context, uint32_t number, enum iw_resolver_notice what)
{
    struct iw_resolver *r = context;
    pthread_cond_broadcast(&r->changed);
    if (r->notice == NULL)
        return;
    if (r->notice_count == NOTICES)
        memmove(r->notices, r->notices + 1, --r->notice_count * sizeof(r->notices[0]));
    r->notices[r->notice_count++] = (struct notice){number, what};
}

static void wake_claimants(void *context)
{
    struct iw_resolver *r = context;
    pthread_cond_broadcast(&r->changed);
}

static const struct iw_resolver_means means = {.ask = ask_net,
                                               .send = send_net,
                                               .relay = relay_net,
                                               .local = local_net,
                                               .random = get_random,
                                               .notice = keep_notice,
                                               .settled = wake_claimants};

/* ---- the thread ---- */

static void receive_from(struct iw_resolver *r, int fd)
{
    uint8_t octets[IW_RESOLVER_DATAGRAM + 1];
    struct iw_resolver_origin origin;
    for (unsigned i = 0; i < BATCH; i++) {
        const ssize_t n = iw_resolver_net_receive(&r->net, fd, octets, sizeof(octets), &origin);
        if (n < 0)
            return;
        iw_resolver_core_input(&r->core, octets, (size_t)n, &origin, iw_clock_now());
    }
}

/* Calls the user without the lock, which is held before and after. */
static void pass_notices(struct iw_resolver *r)
{
    while (r->notice_count > 0 && !r->ending) {
        const struct notice first = r->notices[0];
        memmove(r->notices, r->notices + 1, --r->notice_count * sizeof(r->notices[0]));
        pthread_mutex_unlock(&r->lock);
        r->notice(r->context, first.number, first.what);
        pthread_mutex_lock(&r->lock);
    }
}

/* Sleeps until a datagram, the time, or a wake. The lock is held before and after. */
static void sleep_until(struct iw_resolver *r, uint64_t until, uint64_t now)
{
    struct pollfd fds[IW_RESOLVER_SOCKETS + 2] = {{.fd = r->wake, .events = POLLIN},
                                                  {.fd = r->net.watch, .events = POLLIN}};
    const size_t count = 2 + iw_resolver_net_poll(&r->net, fds + 2);
    const uint64_t left = until > now ? until - now : 0;
    const struct timespec span = {.tv_sec = (time_t)(left / (1000 * MS)),
                                  .tv_nsec = (long)(left % (1000 * MS))};
    r->sleeps_until = until;
    pthread_mutex_unlock(&r->lock);
    const int ready = ppoll(fds, count, until == UINT64_MAX ? NULL : &span, NULL);
    pthread_mutex_lock(&r->lock);
    r->sleeps_until = 0;
    if (ready <= 0)
        return;
    uint64_t wakes;
    if (fds[0].revents != 0)
        (void)!read(r->wake, &wakes, sizeof(wakes));
    if (fds[1].revents != 0)
        iw_resolver_net_changed(&r->net);
    for (size_t i = 2; i < count; i++)
        if (fds[i].revents != 0)
            receive_from(r, fds[i].fd);
}

static void *run(void *argument)
{
    struct iw_resolver *r = argument;
    pthread_mutex_lock(&r->lock);
    while (!r->ending) {
        const uint64_t now = iw_clock_now();
        const uint64_t refreshed = r->net.refreshed;
        const uint64_t refresh = iw_resolver_net_refresh(&r->net, now);
        if (r->net.refreshed != refreshed)
            iw_resolver_net_filter(&r->net, &r->core.claims);
        uint64_t next = iw_resolver_core_tick(&r->core, now);
        if (refresh < next)
            next = refresh;
        if (r->notice_count > 0)
            pass_notices(r);
        else
            sleep_until(r, next, now);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* Makes sure that the thread looks again by `due`. */
static void wake_by(struct iw_resolver *r, uint64_t due)
{
    const uint64_t one = 1;
    if (r->sleeps_until > due)
        (void)!write(r->wake, &one, sizeof(one));
}

/* ---- opening and closing ---- */

static int check_config(const struct iw_resolver_config *config, char *error, size_t room)
{
    if (config->key != NULL &&
        (config->key_length < IW_RESOLVER_KEY_LEAST || config->key_length > IW_RESOLVER_KEY_MOST)) {
        snprintf(error, room, "a key of %zu octets: expected %d to %d", config->key_length,
                 IW_RESOLVER_KEY_LEAST, IW_RESOLVER_KEY_MOST);
        errno = EINVAL;
        return -1;
    }
    return 0;
}

static int make_lock(struct iw_resolver *r)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    const int status = pthread_cond_init(&r->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return status;
}

/* Begins the thread, which takes no signals of the program's. */
static int begin_thread(struct iw_resolver *r)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int status = pthread_create(&r->thread, NULL, run, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

static void destroy(struct iw_resolver *r)
{
    iw_resolver_core_close(&r->core);
    iw_resolver_net_close(&r->net);
    if (r->wake >= 0)
        close(r->wake);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    explicit_bzero(&r->core.key, sizeof(r->core.key));
    free(r);
}

int iw_resolver_open(const struct iw_resolver_config *config, struct iw_resolver **resolver,
                     char *error, size_t room)
{
    if (check_config(config, error, room) != 0)
        return -1;
    struct iw_resolver *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        snprintf(error, room, "no memory");
        return -1;
    }
    r->claim_ms = config->claim_ms > 0 ? (unsigned)config->claim_ms : IW_RESOLVER_CLAIM_MS;
    r->notice = config->notice;
    r->context = config->context;
    r->core.means = &means;
    r->core.context = r;
    r->core.expiry =
        (config->expiry_ms != 0 ? config->expiry_ms : (uint64_t)IW_RESOLVER_EXPIRY_MS) * MS;
    r->core.known_sets = IW_RESOLVER_SETS;
    r->core.claims_wait = config->claim_ms >= 0;
    r->core.claim_step = r->claim_ms * MS / 3;
    iw_resolver_key_set(&r->core.key, config->key, config->key_length);
    if (iw_resolver_net_open(&r->net, config, error, room) != 0) {
        const int saved = errno;
        free(r);
        errno = saved;
        return -1;
    }
    int status = make_lock(r);
    r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (status == 0 && (r->wake < 0 || iw_resolver_core_open(&r->core) != 0))
        status = errno;
    if (status == 0)
        status = begin_thread(r);
    if (status != 0) {
        snprintf(error, room, "cannot begin to resolve: %s", strerror(status));
        destroy(r);
        errno = status;
        return -1;
    }
    *resolver = r;
    return 0;
}

void iw_resolver_close(struct iw_resolver *r)
{
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    r->ending = true;
    pthread_cond_broadcast(&r->changed);
    wake_by(r, 0);
    while (r->waiting > 0) /* they leave at once */
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    destroy(r);
}

/* ---- waiting ---- */

/* Waits for a change, until `until` at the latest. Returns 0, ETIMEDOUT or ECANCELED. */
static int wait_change(struct iw_resolver *r, uint64_t until)
{
    int status = 0;
    r->waiting++;
    if (!r->ending && until == UINT64_MAX) {
        status = pthread_cond_wait(&r->changed, &r->lock);
    } else if (!r->ending) {
        const struct timespec t = {.tv_sec = (time_t)(until / (1000 * MS)),
                                   .tv_nsec = (long)(until % (1000 * MS))};
        status = pthread_cond_timedwait(&r->changed, &r->lock, &t);
    }
    r->waiting--;
    if (!r->ending)
        return status;
    pthread_cond_broadcast(&r->changed);
    return ECANCELED;
}

static uint64_t deadline(uint64_t now, int timeout_ms)
{
    return timeout_ms < 0 ? UINT64_MAX : now + (uint64_t)timeout_ms * MS;
}

static void give(const struct iw_resolver_answerer *a, struct sockaddr_storage *at,
                 uint64_t *instance)
{
    if (at != NULL)
        (void)iw_resolver_place_to(&a->place, at);
    if (instance != NULL)
        *instance = a->instance;
}

/* Ends a call: unlocks, and returns -1 with errno or 0. */
static int leave(struct iw_resolver *r, int status)
{
    pthread_mutex_unlock(&r->lock);
    if (status == 0)
        return 0;
    errno = status;
    return -1;
}

int iw_resolver_find(struct iw_resolver *r, uint32_t number, int timeout_ms,
                     struct sockaddr_storage *at, uint64_t *instance)
{
    int status = 0;
    pthread_mutex_lock(&r->lock);
    uint64_t now = iw_clock_now();
    const uint64_t until = deadline(now, timeout_ms);
    const uint64_t ask_until = timeout_ms == 0 ? now + ALONE_MS * MS : until;
    while (status == 0) {
        const struct iw_resolver_answerer *a =
            iw_resolver_core_look(&r->core, number, now, ask_until);
        if (a != NULL) {
            give(a, at, instance);
            break;
        }
        if (errno != EAGAIN) {
            status = errno;
            break;
        }
        wake_by(r, now);
        status = now >= until ? ETIMEDOUT : wait_change(r, until);
        now = iw_clock_now();
    }
    return leave(r, status);
}

void iw_resolver_forget(struct iw_resolver *r, uint32_t number, uint64_t instance)
{
    pthread_mutex_lock(&r->lock);
    iw_resolver_core_forget(&r->core, number, instance, iw_clock_now());
    pthread_mutex_unlock(&r->lock);
}

int iw_resolver_list(struct iw_resolver *r, uint32_t number, int wait_ms,
                     struct iw_resolver_claimant *list, size_t room)
{
    int status = 0;
    size_t count = 0;
    pthread_mutex_lock(&r->lock);
    const uint64_t now = iw_clock_now(), until = deadline(now, wait_ms < 0 ? 0 : wait_ms);
    if (iw_resolver_core_gather(&r->core, number, now, until) == NULL)
        return leave(r, errno);
    wake_by(r, now);
    while (status == 0 && iw_clock_now() < until)
        status = wait_change(r, until);
    const struct iw_resolver_known *e = iw_resolver_known_find(&r->core.known, number);
    if (status == ECANCELED)
        return leave(r, status);
    for (; e != NULL && count < e->count && count < room; count++)
        give(&e->answerers[count], &list[count].at, &list[count].instance);
    (void)leave(r, 0);
    return (int)count;
}

/* ---- claims ---- */

/* Returns 0 if all claims are held, EAGAIN if one is open; EADDRINUSE, *refused, if one is lost. */
static int look_at_claims(const struct iw_resolver *r, const uint32_t *numbers, size_t count,
                          uint32_t *refused)
{
    int status = 0;
    for (size_t i = 0; i < count; i++) {
        const struct iw_resolver_claim *c = iw_resolver_claims_find(&r->core.claims, numbers[i]);
        *refused = numbers[i];
        if (c == NULL)
            return ECANCELED; /* another thread has given it up */
        if (c->lost)
            return EADDRINUSE;
        if (!c->held)
            status = EAGAIN;
    }
    return status;
}

static int claim_and_wait(struct iw_resolver *r, const uint32_t *numbers, size_t count,
                          const struct iw_resolver_place *at, uint64_t instance, uint32_t *refused)
{
    int status = 0;
    size_t begun = 0;
    const uint64_t now = iw_clock_now();
    for (; status == 0 && begun < count; begun += status == 0) {
        *refused = numbers[begun];
        if (iw_resolver_core_claim(&r->core, numbers[begun], at, instance, now) != 0)
            status = errno;
    }
    iw_resolver_net_filter(&r->net, &r->core.claims);
    wake_by(r, 0); /* the port may be new */
    if (status == 0)
        while ((status = look_at_claims(r, numbers, count, refused)) == EAGAIN)
            if ((status = wait_change(r, UINT64_MAX)) != 0)
                break;
    for (size_t i = 0; status != 0 && i < begun; i++)
        if (iw_resolver_claims_find(&r->core.claims, numbers[i]) != NULL)
            iw_resolver_claims_remove(&r->core.claims, numbers[i]);
    if (status != 0)
        iw_resolver_net_filter(&r->net, &r->core.claims);
    return status;
}

int iw_resolver_claim_all(struct iw_resolver *r, const uint32_t *numbers, size_t count,
                          const struct sockaddr *at, uint64_t instance, uint32_t *refused)
{
    struct iw_resolver_place place;
    uint32_t unwanted;
    if (instance == 0 || !iw_resolver_place_from(&place, at) || place.port == 0) {
        errno = EINVAL;
        return -1;
    }
    pthread_mutex_lock(&r->lock);
    if (iw_resolver_net_serve(&r->net) != 0)
        return leave(r, errno == EADDRINUSE ? EBUSY : errno);
    return leave(r, claim_and_wait(r, numbers, count, &place, instance,
                                   refused != NULL ? refused : &unwanted));
}

int iw_resolver_claim(struct iw_resolver *r, uint32_t number, const struct sockaddr *at,
                      uint64_t instance)
{
    return iw_resolver_claim_all(r, &number, 1, at, instance, NULL);
}

int iw_resolver_disclaim(struct iw_resolver *r, uint32_t number)
{
    pthread_mutex_lock(&r->lock);
    const bool there = iw_resolver_claims_find(&r->core.claims, number) != NULL;
    if (there)
        iw_resolver_claims_remove(&r->core.claims, number);
    iw_resolver_net_filter(&r->net, &r->core.claims);
    pthread_cond_broadcast(&r->changed);
    return leave(r, there ? 0 : ENOENT);
}

bool iw_resolver_intruded(struct iw_resolver *r, uint32_t number)
{
    pthread_mutex_lock(&r->lock);
    const struct iw_resolver_claim *c = iw_resolver_claims_find(&r->core.claims, number);
    const bool intruded = c != NULL && c->intruded;
    pthread_mutex_unlock(&r->lock);
    return intruded;
}

void iw_resolver_count(struct iw_resolver *r, struct iw_resolver_counts *counts)
{
    pthread_mutex_lock(&r->lock);
    *counts = r->core.counts;
    pthread_mutex_unlock(&r->lock);
}
