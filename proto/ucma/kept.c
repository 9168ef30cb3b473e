/* SPDX-License-Identifier: BSD-3-Clause */
/* A port that has just been given up. Some programs (perftest) end a listener and make another one
 * for the same port while their peer connects already; over InfiniBand and in a kernel that takes
 * longer to connect nobody notices. So the socket listens on for KEEP ms, for the next identifier
 * that is bound to the same address. If none is, those who have connected are reset. Programs of
 * sockets expect the port to be free at once. */
#include "ucma/ucma.h"

#include "verbs/port_release.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

enum { KEEP = 3000 };

static struct {
    union iw_ucma_address address;
    int fd; /* 0: none */
    int timer;
    struct iw_watch *watch;
} kept;

static atomic_bool at_once;

IW_VERBS_EXPORT void iwarp_ports_release_at_once(void)
{
    atomic_store(&at_once, true);
}

void iw_ucma_kept_drop(void)
{
    if (kept.fd == 0)
        return;
    iw_watch_destroy(kept.watch);
    iw_ucma_real_close(kept.timer);
    iw_ucma_real_close(kept.fd);
    memset(&kept, 0, sizeof(kept));
}

void iw_ucma_kept_forget(void)
{
    if (kept.fd != 0) {
        iw_ucma_real_close(kept.timer);
        iw_ucma_real_close(kept.fd);
    }
    memset(&kept, 0, sizeof(kept));
}

static void expired(void *context, uint32_t events)
{
    (void)context, (void)events;
    iw_ucma_kept_drop();
}

void iw_ucma_keep(int fd, const union iw_ucma_address *address)
{
    const struct itimerspec when = {.it_value = {KEEP / 1000, KEEP % 1000 * 1000000L}};
    iw_ucma_kept_drop();
    if (atomic_load(&at_once)) {
        iw_ucma_real_close(fd);
        return;
    }
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct iw_watch *watch = NULL;
    if (timer >= 0 && timerfd_settime(timer, 0, &when, NULL) == 0)
        watch = iw_watch_create(iw_verbs_reactor(), timer, EPOLLIN, expired, NULL);
    if (watch == NULL) {
        if (timer >= 0)
            iw_ucma_real_close(timer);
        iw_ucma_real_close(fd);
        return;
    }
    kept.address = *address;
    kept.fd = fd;
    kept.timer = timer;
    kept.watch = watch;
}

int iw_ucma_kept_take(const union iw_ucma_address *address)
{
    int fd = -1;
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): it is a copy of the same octets */
    if (kept.fd != 0 && memcmp(&kept.address, address, sizeof(*address)) == 0) {
        fd = kept.fd;
        kept.fd = 0;
        iw_watch_destroy(kept.watch);
        iw_ucma_real_close(kept.timer);
        memset(&kept, 0, sizeof(kept));
    }
    iw_ucma_kept_drop();
    return fd;
}
