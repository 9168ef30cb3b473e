/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_VERBS_ENGINE_H
#define IW_VERBS_ENGINE_H

/*
 * The engine: one reactor, one domain and one lock for the process, and who drives them.
 *
 * Whoever waits in this library drives the reactor itself: the first to wait is the leader, others
 * wait for their own descriptor only. A thread covers the time when nobody drives; it sleeps while
 * there is a leader, and for IW_VERBS_GRACE at a time while somebody polls.
 */

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "iwarp/transport.h"
#include "verbs/event_fd.h"
#include "verbs/settings.h"

enum {
    IW_VERBS_REGIONS = 1 << 16, /* of the process: memory regions */
    IW_VERBS_BUFFERS = 1024,    /* of the process: two for each connection that is busy */
    IW_VERBS_GRACE = 2          /* ms without a poll after which the thread takes over */
};

/* Takes the lock; starts the engine at its first use. Returns false with errno set, and without the
 * lock, if the engine cannot be started. */
bool iw_verbs_enter(void);
/* Takes the lock of an engine that was started. */
void iw_verbs_lock(void);
/* Takes the lock if the engine runs in this process, and starts nothing. */
bool iw_verbs_lock_running(void);
/* Releases the lock, and wakes whoever drives if there is work sooner than it knows. */
void iw_verbs_unlock(void);

/* Calls `hook` in a child of fork, before it uses anything. A few hooks at most. */
void iw_verbs_at_fork(void (*hook)(void));

/* Calls `hook` with the lock before each fork, if the engine runs; NULL: no longer. Needs no lock.
 */
void iw_verbs_before_fork(void (*hook)(void));

/* Prints that `name`, which lives for ever, is not supported: once, and only if the launcher was
 * asked for it (-v). Needs no lock. */
void iw_verbs_refused(const char *name);

/* The functions below need the lock. */

struct iw_reactor *iw_verbs_reactor(void);
struct iw_domain *iw_verbs_domain(void);
const struct iw_verbs_settings *iw_verbs_settings(void);
/* Returns where each endpoint's trace goes; NULL: nowhere. */
FILE *iw_verbs_trace(void);
/* Looks at the sockets without waiting, for a caller that polls. */
void iw_verbs_poll(void);
/* The same for one that has enough to take: looks only now and then. */
void iw_verbs_poll_later(void);
/* Returns whether the program polls, so that what is posted now is sent by the next poll, or by the
 * thread after IW_VERBS_GRACE. */
bool iw_verbs_polled(void);
/* Has found nothing by polling. Needs no lock. */
void iw_verbs_found_nothing(void);
/* Waits until done(context) is true. `fd` becomes readable when that may be so; it is in
 * iw_verbs_signal's hands. Returns 0, or -1 with errno EINTR. A cancellation point. */
int iw_verbs_wait(int fd, unsigned *waiters, bool (*done)(const void *context),
                  const void *context);
/* The same up to a time of iw_transport_now (UINT64_MAX: for ever). Returns -1 with errno ETIMEDOUT
 * after it. */
int iw_verbs_wait_until(int fd, unsigned *waiters, bool (*done)(const void *context),
                        const void *context, uint64_t deadline);
/* Makes `fd`, an eventfd, readable. `waiters` is the number of iw_verbs_wait calls on it. */
void iw_verbs_signal(int fd, unsigned waiters);
/* poll() for lists with one of our descriptors. Returns false, with nothing done, if there is none.
 * Takes the lock itself. */
bool iw_verbs_poll_list(struct pollfd *list, nfds_t count, int ms, int *result);
/* An event will be waited for by other means than iw_verbs_wait: the thread drives from now on. */
void iw_verbs_cover(void);

#endif
