/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/mutex.h"

#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int cancel_state; /* of the holder, before it took the mutex */

/* A thread that keeps the mutex takes and releases it without touching it. A handler of a signal
 * that wants it in between waits for ever, as it would without this. */
static _Thread_local enum {
    NOT_KEPT,
    KEPT_FREE,
    KEPT_TAKEN
} kept __attribute__((tls_model("initial-exec")));

void iw_verbs_mutex_make(void)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    (void)pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    if (pthread_mutex_init(&mutex, &attr) != 0) /* of a kernel that cannot */
        pthread_mutex_init(&mutex, NULL);
    pthread_mutexattr_destroy(&attr);
    kept = NOT_KEPT;
}

void iw_verbs_mutex_take(void)
{
    int state;
    if (kept == KEPT_FREE) {
        kept = KEPT_TAKEN;
        return;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_mutex_lock(&mutex);
    cancel_state = state;
}

bool iw_verbs_mutex_try(void)
{
    struct timespec until;
    int state;
    if (kept == KEPT_FREE) {
        kept = KEPT_TAKEN;
        return true;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    if (pthread_mutex_timedlock(&mutex, &until) != 0) {
        pthread_setcancelstate(state, NULL);
        return false;
    }
    cancel_state = state;
    return true;
}

void iw_verbs_mutex_release(void)
{
    const int state = cancel_state;
    if (kept == KEPT_TAKEN) {
        kept = KEPT_FREE;
        return;
    }
    /* In the child of a fork the system knows the parent's thread as its holder, and this fails. */
    (void)pthread_mutex_unlock(&mutex);
    pthread_setcancelstate(state, NULL);
}

void iw_verbs_mutex_keep(bool keep)
{
    kept = keep ? KEPT_TAKEN : NOT_KEPT;
}

bool iw_verbs_mutex_kept(void)
{
    return kept != NOT_KEPT;
}
