/* SPDX-License-Identifier: BSD-3-Clause */
#include "rsocket_lock.h"

#include "libc_next.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

_Atomic int iw_rsocket_holders;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool held;

void iw_rsocket_lock(void)
{
    pthread_mutex_lock(&mutex);
    held = true;
    atomic_fetch_add_explicit(&iw_rsocket_holders, 1, memory_order_relaxed);
}

void iw_rsocket_unlock(void)
{
    const int saved = errno;
    atomic_fetch_sub_explicit(&iw_rsocket_holders, 1, memory_order_relaxed);
    held = false;
    pthread_mutex_unlock(&mutex);
    errno = saved;
}

bool iw_rsocket_free_lock(void)
{
    if (!held)
        return false;
    iw_rsocket_unlock();
    return true;
}

/* rpoll asks in a loop whether all others have left it. They need the lock for that. */
IW_INTERPOSED int sched_yield(void)
{
    const struct timespec moment = {0, 20000};
    if (!iw_rsocket_pause())
        return iw_libc()->sched_yield();
    nanosleep(&moment, NULL);
    iw_rsocket_resume(true);
    return 0;
}

void iw_rsocket_resume(bool paused)
{
    const int saved = errno;
    if (paused)
        iw_rsocket_lock();
    errno = saved;
}
