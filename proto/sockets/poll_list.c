/* SPDX-License-Identifier: BSD-3-Clause */
#include "poll_list.h"

#include "descriptors.h"
#include "fork_claim.h"
#include "iwarp/transport.h"
#include "rsocket_wait.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 64, AGAIN = 2 /* ms */ };

bool iw_poll_list_has(struct pollfd *list, nfds_t count)
{
    for (nfds_t i = 0; i < count; i++)
        if ((unsigned)list[i].fd < IW_SOCKETS_NUMBERS &&
            atomic_load_explicit(&iw_socket_numbers[list[i].fd], memory_order_relaxed) != NULL)
            return true;
    return false;
}

/* Fills *waits. Returns how many are ready without a wait. */
static int prepare(struct pollfd *list, struct iw_socket **sockets, struct pollfd *waits,
                   nfds_t count)
{
    int ready = 0;
    for (nfds_t i = 0; i < count; i++) {
        struct iw_socket *s = sockets[i];
        list[i].revents = 0;
        if (s == NULL) {
            waits[i] = list[i];
            continue;
        }
        if (iw_claim(s)) {
            list[i].revents = s->ops->prepare(s, list[i].events, &waits[i]);
        } else {
            waits[i] = (struct pollfd){.fd = -1};
            list[i].revents = (short)((list[i].events & (POLLIN | POLLOUT)) | POLLERR | POLLHUP);
        }
        ready += list[i].revents != 0;
    }
    return ready;
}

/* Returns how many are ready. */
static int finish(struct pollfd *list, struct iw_socket **sockets, const struct pollfd *waits,
                  nfds_t count)
{
    int ready = 0;
    for (nfds_t i = 0; i < count; i++) {
        struct iw_socket *s = sockets[i];
        if (s == NULL)
            list[i].revents = waits[i].revents;
        else if (atomic_load(&s->hold) == IW_HOLD_OURS)
            list[i].revents |= s->ops->finish(s, list[i].events, &waits[i]);
        ready += list[i].revents != 0;
    }
    return ready;
}

static bool has_rsockets(struct iw_socket **sockets, nfds_t count)
{
    bool any = false;
    for (nfds_t i = 0; i < count; i++)
        any = any || (sockets[i] != NULL && sockets[i]->ops->rsocket);
    return any;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int wait_until_ready(struct pollfd *list, struct iw_socket **sockets, struct pollfd *waits,
                            nfds_t count, uint64_t until, const sigset_t *mask)
{
    const bool rsockets = has_rsockets(sockets, count);
    for (;;) {
        const bool at_once = prepare(list, sockets, waits, count) > 0;
        const int result = iw_wait(waits, count, at_once ? 0 : until, mask, rsockets);
        if (result < 0 && !at_once)
            return -1;
        const int ready = finish(list, sockets, waits, count);
        if (ready > 0 || iw_transport_now() >= until)
            return ready;
        /* What a descriptor says may concern nobody here and stay so (octets, for one who waits for
         * the end only). */
        if (result > 0 && iw_wait(NULL, 0, sooner(until, iw_wait_until_ms(AGAIN)), mask, false) < 0)
            return -1;
    }
}

static void take(const struct pollfd *list, struct iw_socket **sockets, nfds_t count)
{
    for (nfds_t i = 0; i < count; i++)
        sockets[i] = iw_socket_get(list[i].fd);
}

static void leave(struct iw_socket **sockets, nfds_t count)
{
    for (nfds_t i = 0; i < count; i++)
        if (sockets[i] != NULL)
            iw_socket_put(sockets[i]);
}

int iw_poll_list(struct pollfd *list, nfds_t count, uint64_t until, const sigset_t *mask)
{
    struct pollfd few[FEW], *waits = few;
    struct iw_socket *some[FEW], **sockets = some;
    if (count > FEW) {
        waits = count < (1 << 24) ? malloc(count * (sizeof(*waits) + sizeof(*sockets))) : NULL;
        sockets = (struct iw_socket **)(void *)(waits + count);
    }
    if (waits == NULL) {
        errno = ENOMEM;
        return -1;
    }
    take(list, sockets, count);
    const int result = wait_until_ready(list, sockets, waits, count, until, mask);
    leave(sockets, count);
    if (waits != few)
        free(waits);
    return result;
}
