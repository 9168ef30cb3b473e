/* SPDX-License-Identifier: BSD-3-Clause */
#include "rsocket_made.h"

#include "libc_next.h"
#include "rsocket_turns.h"
#include "rules_given.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rdma/rdma_user_cm.h>

enum { SERVICES = 8 /* librdmacm 44 has four */, ROOM = 65536 };

struct service {
    void *(*run)(void *);
    void *argument; /* distinguishes them */
    int pair[2];    /* by which it is given its work */
    pthread_t thread;
    bool runs, stopped; /* `stopped`: by a fork */
};

static _Thread_local bool inside, in_rpoll;
static _Thread_local int first[2], last[2]; /* pairs; -1: none yet */
static struct service services[SERVICES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int signal_fd = -1;

void iw_made_begin(void)
{
    inside = true;
    first[0] = first[1] = last[0] = last[1] = -1;
}

_Atomic int iw_made_connects;
static _Thread_local bool early;

void iw_made_begin_connect(void)
{
    iw_made_begin();
    early = true;
    atomic_fetch_add(&iw_made_connects, 1);
}

bool iw_made_is_early(const void *octets, size_t length)
{
    struct rdma_ucm_cmd_hdr head;
    if (!early || length < sizeof(head))
        return false;
    memcpy(&head, octets, sizeof(head));
    if (head.cmd != RDMA_USER_CM_CMD_GET_EVENT)
        return false;
    early = false;
    atomic_fetch_sub(&iw_made_connects, 1);
    return true;
}

void iw_made_end(int pair[2])
{
    inside = false;
    if (early)
        atomic_fetch_sub(&iw_made_connects, 1);
    early = false;
    memcpy(pair, first, sizeof(first));
}

void iw_made_in_rpoll(int on)
{
    in_rpoll = on != 0;
}

IW_INTERPOSED int socketpair(int domain, int type, int protocol, int pair[2])
{
    const int result = iw_libc()->socketpair(domain, type, protocol, pair);
    if (!inside || result != 0)
        return result;
    if (first[0] < 0)
        memcpy(first, pair, sizeof(first));
    memcpy(last, pair, sizeof(last));
    return result;
}

IW_INTERPOSED int eventfd(unsigned count, int flags)
{
    const int fd = iw_libc()->eventfd(count, flags);
    if (in_rpoll && signal_fd < 0 && flags == (EFD_NONBLOCK | EFD_SEMAPHORE))
        signal_fd = fd;
    return fd;
}

/* ---- threads ---- */

/* How librdmacm 44 keeps a service. */
struct kept_service {
    pthread_t id;
    int pair[2];
    int count, size; /* of its rsockets, and of the room for them */
    int each;        /* octets */
    void *(*run)(void *);
    void **rsockets;
    void *contexts;
};

/* Its thread uses its list of descriptors on after having moved it, as soon as a fourth rsocket
 * comes. So there is room for as many as there can be from the beginning; it never becomes less. A
 * service that does not look as expected is left alone. */
static void give_room(const struct service *s)
{
    struct kept_service kept;
    memcpy(&kept, s->argument, sizeof(kept));
    if (kept.run != s->run || memcmp(kept.pair, s->pair, sizeof(kept.pair)) != 0 ||
        kept.count != 0 || kept.size < 0 || kept.size >= ROOM ||
        kept.each != (int)sizeof(struct pollfd))
        return;
    kept.size = ROOM;
    memcpy((char *)s->argument + offsetof(struct kept_service, size), &kept.size,
           sizeof(kept.size));
}

static void *run_service(void *context)
{
    struct service *s = context;
    give_room(s);
    void *result = s->run(s->argument);
    pthread_mutex_lock(&mutex);
    s->runs = false;
    pthread_mutex_unlock(&mutex);
    return result;
}

/* The program's signals are not for them: a wait of the program has to end by one. */
static int create_quietly(pthread_t *thread, const pthread_attr_t *attr, struct service *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int result = iw_libc()->pthread_create(thread, attr, run_service, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

static struct service *find_service(void *argument)
{
    struct service *found = NULL;
    for (unsigned i = 0; i < SERVICES; i++) {
        struct service *s = &services[i];
        if (s->run != NULL && s->argument == argument)
            return s;
        if (s->run == NULL && found == NULL)
            found = s;
    }
    return found;
}

IW_INTERPOSED int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                                 void *(*run)(void *), void *argument)
{
    struct service *s = NULL;
    if (inside && last[0] >= 0) {
        pthread_mutex_lock(&mutex);
        s = find_service(argument);
        if (s != NULL)
            *s = (struct service){run, argument, {last[0], last[1]}, 0, true, false};
        pthread_mutex_unlock(&mutex);
    }
    if (s == NULL) {
        if (!iw_is_of_stack(__builtin_return_address(0)))
            iw_turns_begin();
        return iw_libc()->pthread_create(thread, attr, run, argument);
    }
    const int result = create_quietly(thread, attr, s);
    s->runs = result == 0;
    s->thread = *thread;
    return result;
}

IW_INTERPOSED int thrd_create(thrd_t *thread, thrd_start_t run, void *argument)
{
    iw_turns_begin();
    return iw_libc()->thrd_create(thread, run, argument);
}

/* ---- fork ---- */

static void put_in_place(int made, int number)
{
    const int flags = iw_libc()->fcntl(number, F_GETFD), status = iw_libc()->fcntl(number, F_GETFL);
    if (flags >= 0 && status >= 0) {
        (void)iw_libc()->dup3(made, number, (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
        (void)iw_libc()->fcntl(number, F_SETFL, status);
    }
    (void)iw_libc()->close(made);
}

void iw_made_own_pair(const int pair[2])
{
    int made[2];
    if (pair[0] < 0 || iw_libc()->socketpair(AF_UNIX, SOCK_STREAM, 0, made) != 0)
        return;
    put_in_place(made[0], pair[0]);
    put_in_place(made[1], pair[1]);
}

void iw_made_in_child(void)
{
    pthread_mutex_init(&mutex, NULL);
    for (unsigned i = 0; i < SERVICES; i++) {
        struct service *s = &services[i];
        if (s->run == NULL || !s->runs)
            continue;
        s->stopped = true;
        iw_made_own_pair(s->pair);
    }
    const int made = signal_fd >= 0 ? iw_libc()->eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE) : -1;
    if (made >= 0)
        put_in_place(made, signal_fd);
}

void iw_made_again(void)
{
    pthread_mutex_lock(&mutex);
    for (unsigned i = 0; i < SERVICES; i++) {
        struct service *s = &services[i];
        pthread_t thread;
        if (!s->stopped || create_quietly(&thread, NULL, s) != 0)
            continue;
        /* The thread that librdmacm will join: its id is what a service begins with. */
        if (memcmp(s->argument, &s->thread, sizeof(s->thread)) == 0)
            memcpy(s->argument, &thread, sizeof(thread));
        s->thread = thread;
        s->stopped = false;
    }
    pthread_mutex_unlock(&mutex);
}
