/* SPDX-License-Identifier: BSD-3-Clause */
#include "rsocket_lock.h"

#include "libc_next.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool in_rpoll; /* and with the lock */

void iw_rsocket_lock(bool for_rpoll)
{
    pthread_mutex_lock(&mutex);
    in_rpoll = for_rpoll;
}

void iw_rsocket_unlock(void)
{
    const int saved = errno;
    in_rpoll = false;
    pthread_mutex_unlock(&mutex);
    errno = saved;
}

bool iw_rsocket_pause(void)
{
    if (!in_rpoll)
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
        iw_rsocket_lock(true);
    errno = saved;
}
