/* SPDX-License-Identifier: BSD-3-Clause */
#include "fork_claim.h"

#include "descriptors.h"
#include "epoll_set.h"
#include "fork_relay.h"
#include "rsocket_made.h"
#include "rsocket_turns.h"
#include "rsocket_wait.h"
#include "verbs_extra.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* ---- what the processes share ---- */

enum { CLAIMS = 512, PAUSES = 100 /* of 200 us */ };

struct shared {
    _Atomic int owner;   /* a process; 0: nobody */
    _Atomic int holders; /* processes that have neither claimed nor closed it */
};

/* A page of claims, each used once: another process may still look at it. */
struct arena {
    struct shared *claims;
    unsigned used, references; /* of this process */
};

struct iw_claim {
    struct arena *arena;
    struct shared *shared;
};

static struct arena *newest;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool sandboxed;

static void release(struct arena *a)
{
    if (--a->references > 0)
        return;
    munmap(a->claims, CLAIMS * sizeof(*a->claims));
    free(a);
}

static bool make_arena(void)
{
    struct arena *a = calloc(1, sizeof(*a));
    void *claims = a != NULL ? mmap(NULL, CLAIMS * sizeof(*a->claims), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0)
                             : MAP_FAILED;
    if (claims == MAP_FAILED) {
        free(a);
        return false;
    }
    a->claims = claims;
    a->references = 1; /* as the newest */
    if (newest != NULL)
        release(newest);
    newest = a;
    return true;
}

/* A claim for two processes. */
static struct iw_claim *make_claim(void)
{
    struct iw_claim *claim = malloc(sizeof(*claim));
    if (claim == NULL || ((newest == NULL || newest->used == CLAIMS) && !make_arena())) {
        free(claim);
        return NULL;
    }
    claim->arena = newest;
    claim->shared = &newest->claims[newest->used++];
    atomic_store(&claim->shared->owner, 0);
    atomic_store(&claim->shared->holders, 2);
    newest->references++;
    return claim;
}

void iw_claim_drop(struct iw_socket *s)
{
    if (s->claim == NULL)
        return;
    pthread_mutex_lock(&mutex);
    release(s->claim->arena);
    pthread_mutex_unlock(&mutex);
    free(s->claim);
    s->claim = NULL;
}

/* ---- claiming ---- */

static bool win(const struct iw_socket *s)
{
    int nobody = 0;
    return s->fork == IW_FORK_BOTH ||
           atomic_compare_exchange_strong(&s->claim->shared->owner, &nobody, (int)getpid());
}

/* A parent that serves in children closes its copy at once: to wait for that spares the relay. With
 * a parent that is slow the socket works as well. */
static bool parent_leaves(const struct iw_socket *s)
{
    const struct timespec pause = {0, 200000};
    for (unsigned i = 0; i < PAUSES; i++) {
        if (atomic_load(&s->claim->shared->holders) <= 1)
            return true;
        if (atomic_load(&s->claim->shared->owner) != 0)
            return false;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* The child's first use. Returns whether it has the socket, itself or by way of its parent. */
static bool claim_in_child(struct iw_socket *s)
{
    const void *name = s->claim->shared;
    if (!sandboxed && parent_leaves(s) && win(s))
        return true;
    if (iw_relay_begin(s, name)) {
        atomic_fetch_sub(&s->claim->shared->holders, 1);
        s->relayed = true;
        return true;
    }
    return !sandboxed && win(s); /* the parent has closed it meanwhile */
}

static void settle(struct iw_socket *s, bool won)
{
    if (won && s->inherited && !s->relayed)
        iw_made_again();
    if (won && s->relayed)
        ;
    else if (won)
        s->ops->take(s);
    else if (s->ops->lose != NULL)
        s->ops->lose(s);
    atomic_store_explicit(&s->hold, won ? IW_HOLD_OURS : IW_HOLD_LOST, memory_order_release);
}

/* Once, when the child uses one. */
static void say_lost(void)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&said))
        fprintf(stderr,
                "iwarp-sockets: process %ld: the verbs of this host keep no connection over "
                "fork: sockets of the parent report ECONNRESET\n",
                (long)getpid());
}

bool iw_claim_now(struct iw_socket *s)
{
    pthread_mutex_lock(&mutex);
    if (atomic_load(&s->hold) == IW_HOLD_PARKED)
        settle(s, s->inherited && s->fork == IW_FORK_ONE ? claim_in_child(s) : win(s));
    const bool ours = atomic_load(&s->hold) == IW_HOLD_OURS;
    pthread_mutex_unlock(&mutex);
    if (!ours && s->ops->before_fork != NULL && iw_verbs_fork() == NULL)
        say_lost();
    if (!ours)
        errno = ECONNRESET;
    return ours;
}

void iw_claim_before_close(struct iw_socket *s)
{
    if (atomic_load(&s->hold) != IW_HOLD_PARKED)
        return;
    pthread_mutex_lock(&mutex);
    const bool last =
        s->fork == IW_FORK_ONE && atomic_fetch_sub(&s->claim->shared->holders, 1) == 1;
    if (atomic_load(&s->hold) == IW_HOLD_PARKED)
        settle(s, last && win(s));
    pthread_mutex_unlock(&mutex);
}

static const void *wanted_name;
static struct iw_socket *named;

static void match(struct iw_socket *s)
{
    if (s->claim != NULL && s->claim->shared == wanted_name)
        named = s;
}

struct iw_socket *iw_claim_named(const void *name)
{
    iw_sockets_lock();
    pthread_mutex_lock(&mutex);
    wanted_name = name;
    named = NULL;
    iw_sockets_each(match);
    struct iw_socket *s = named;
    const bool held = s != NULL && iw_socket_hold(s);
    if (held && atomic_load(&s->hold) == IW_HOLD_PARKED)
        settle(s, win(s));
    const bool ours = held && atomic_load(&s->hold) == IW_HOLD_OURS;
    pthread_mutex_unlock(&mutex);
    iw_sockets_unlock();
    if (held && !ours)
        iw_socket_put(s);
    return ours ? s : NULL;
}

static void claim_listener(struct iw_socket *s)
{
    if (atomic_load(&s->hold) == IW_HOLD_PARKED && s->fork == IW_FORK_BOTH && !s->inherited)
        settle(s, true);
}

void iw_claim_listeners(void)
{
    pthread_mutex_lock(&mutex);
    iw_sockets_each(claim_listener);
    pthread_mutex_unlock(&mutex);
}

/* A process that is about to forbid itself most system calls cannot go on with a connection by
 * itself. What it has inherited is relayed, as long as that can be arranged. */
static void relay_now(struct iw_socket *s)
{
    if (atomic_load(&s->hold) == IW_HOLD_PARKED && s->inherited && s->fork == IW_FORK_ONE)
        settle(s, claim_in_child(s));
}

void iw_claim_in_sandbox(void)
{
    pthread_mutex_lock(&mutex);
    sandboxed = true;
    iw_sockets_each(relay_now);
    pthread_mutex_unlock(&mutex);
}

/* ---- fork ---- */

static int *files;
static size_t files_room, files_count;
static bool relayable; /* there is a connection that the child may want to use */

static bool add_file(int file)
{
    if (files_count == files_room) {
        const size_t room = files_room > 0 ? 2 * files_room : 64;
        int *more = realloc(files, room * sizeof(*more));
        if (more == NULL)
            return false;
        files = more;
        files_room = room;
    }
    files[files_count++] = file;
    return true;
}

static void prepare(struct iw_socket *s)
{
    int file = -1;
    if (atomic_load(&s->hold) == IW_HOLD_LOST)
        return;
    s->fork = s->ops->before_fork != NULL && iw_verbs_fork() != NULL ? s->ops->before_fork(s, &file)
                                                                     : IW_FORK_PARENTS;
    const bool parked = atomic_load(&s->hold) == IW_HOLD_PARKED;
    if (s->fork == IW_FORK_ONE && !parked) {
        struct iw_claim *claim = make_claim();
        if (claim == NULL) {
            s->fork = IW_FORK_PARENTS;
            return;
        }
        if (s->claim != NULL) {
            release(s->claim->arena);
            free(s->claim);
        }
        s->claim = claim;
    } else if (s->fork == IW_FORK_ONE) {
        atomic_fetch_add(&s->claim->shared->holders, 1);
    }
    if (s->fork == IW_FORK_PARENTS || !add_file(file))
        s->fork = IW_FORK_PARENTS;
    else
        atomic_store(&s->hold, IW_HOLD_PARKED);
    relayable = relayable || s->fork == IW_FORK_ONE;
}

static void before(void)
{
    iw_wait_close_gate();
    iw_turns_before_fork();
    iw_epoll_lock();
    iw_sockets_lock();
    pthread_mutex_lock(&mutex);
    files_count = 0;
    relayable = false;
    iw_sockets_each(prepare);
    iw_relay_before_fork(relayable);
    if (iw_verbs_fork() != NULL)
        iw_verbs_fork()->keep(files, files_count);
}

/* A call that is under way uses the socket. */
static void take_what_is_used(struct iw_socket *s)
{
    if (atomic_load(&s->hold) == IW_HOLD_PARKED && atomic_load(&s->uses) > atomic_load(&s->numbers))
        settle(s, win(s));
}

static void after_in_parent(void)
{
    iw_relay_in_parent();
    iw_sockets_each(take_what_is_used);
    pthread_mutex_unlock(&mutex);
    iw_sockets_unlock();
    iw_epoll_unlock();
    iw_turns_after_fork(false);
    iw_wait_open_gate(false);
}

static void inherit(struct iw_socket *s)
{
    if (s->relayed) /* its relay is the parent's */
        s->fork = IW_FORK_PARENTS;
    s->inherited = true;
    /* Calls under way are those of threads that the child does not have. */
    atomic_store(&s->uses, atomic_load(&s->numbers));
    if (s->fork == IW_FORK_PARENTS)
        atomic_store(&s->hold, IW_HOLD_LOST);
    else if (s->ops->in_child != NULL)
        s->ops->in_child(s);
}

static void after_in_child(void)
{
    iw_made_in_child();
    iw_relay_in_child();
    iw_sockets_each(inherit);
    pthread_mutex_unlock(&mutex);
    iw_sockets_unlock();
    iw_epoll_in_child();
    iw_turns_after_fork(true);
    iw_wait_open_gate(true);
}

/* When the library is loaded: after that of the verbs, so that `before` comes before theirs. */
__attribute__((constructor)) static void handle_fork(void)
{
    (void)pthread_atfork(before, after_in_parent, after_in_child);
}
