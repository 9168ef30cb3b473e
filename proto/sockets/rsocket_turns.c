/* SPDX-License-Identifier: BSD-3-Clause */
#include "rsocket_turns.h"

#include "rsockets.h"
#include "verbs_extra.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

/* A turn is that of all rsockets whose numbers are equal modulo TURNS; those who need several take
 * them in order. */
enum { TURNS = 64, PATIENCE = 2 /* s */ };

atomic_bool iw_turns_are_needed;

static pthread_mutex_t turns[TURNS];
static uint64_t taken_for_fork;

static void make_turns(void)
{
    for (unsigned i = 0; i < TURNS; i++)
        pthread_mutex_init(&turns[i], NULL);
}

__attribute__((constructor)) static void begin(void)
{
    make_turns();
}

void iw_turns_begin(void)
{
    atomic_store_explicit(&iw_turns_are_needed, true, memory_order_release);
}

static uint64_t turn_of(int rs)
{
    return UINT64_C(1) << ((unsigned)rs % TURNS);
}

void iw_turns_take_again(uint64_t wanted)
{
    for (; wanted != 0; wanted &= wanted - 1)
        pthread_mutex_lock(&turns[__builtin_ctzll(wanted)]);
}

void iw_turns_give(uint64_t taken)
{
    const int saved = errno;
    for (; taken != 0; taken &= taken - 1)
        pthread_mutex_unlock(&turns[__builtin_ctzll(taken)]);
    errno = saved;
}

uint64_t iw_turns_take(const struct pollfd *list, nfds_t count)
{
    uint64_t wanted = 0;
    if (!iw_turns_needed())
        return 0;
    for (nfds_t i = 0; i < count; i++)
        wanted |= list[i].fd >= 0 ? turn_of(list[i].fd) : 0;
    iw_turns_take_again(wanted);
    return wanted;
}

static uint64_t take_one(int rs)
{
    if (!iw_turns_needed())
        return 0;
    pthread_mutex_lock(&turns[(unsigned)rs % TURNS]);
    return turn_of(rs);
}

/* In a call that does not wait, and of the only thread that is in rsockets, those of verbs are a
 * series. With more threads one might hold a lock of librdmacm's and wait for that of the verbs,
 * while another has that and waits for the former. */
static const struct iw_verbs_series *begin_series(int flags)
{
    const struct iw_verbs_series *series =
        (flags & MSG_DONTWAIT) != 0 && !iw_turns_needed() ? iw_verbs_series() : NULL;
    if (series != NULL)
        series->begin();
    return series;
}

static void end_series(const struct iw_verbs_series *series)
{
    const int saved = errno;
    if (series != NULL)
        series->end();
    errno = saved;
}

ssize_t iw_turn_receive(int rs, void *octets, size_t length, int flags)
{
    const uint64_t turn = take_one(rs);
    const struct iw_verbs_series *series = begin_series(flags);
    const ssize_t result = iw_rsockets()->rrecv(rs, octets, length, flags);
    end_series(series);
    iw_turns_give(turn);
    return result;
}

ssize_t iw_turn_send(int rs, const void *octets, size_t length, int flags)
{
    const uint64_t turn = take_one(rs);
    const struct iw_verbs_series *series = begin_series(flags);
    const ssize_t result = iw_rsockets()->rsend(rs, octets, length, flags);
    end_series(series);
    iw_turns_give(turn);
    return result;
}

int iw_turn_shutdown(int rs, int how)
{
    const uint64_t turn = take_one(rs);
    const int result = iw_rsockets()->rshutdown(rs, how);
    iw_turns_give(turn);
    return result;
}

void iw_turns_before_fork(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    taken_for_fork = 0;
    for (unsigned i = 0; i < TURNS && iw_turns_needed(); i++)
        if (pthread_mutex_timedlock(&turns[i], &until) == 0)
            taken_for_fork |= UINT64_C(1) << i;
}

void iw_turns_after_fork(bool in_child)
{
    if (in_child)
        make_turns();
    else
        iw_turns_give(taken_for_fork);
}
