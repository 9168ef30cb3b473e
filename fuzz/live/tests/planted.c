/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer with a fault of its own, for the tests of iwarp-fuzz only: linked around iwarp-peer with
 * --wrap. It lies behind a start-up of RFC 6581, three FPDUs, and a fourth of which only a part has
 * been read; what brings the rest of that one ends the process. What comes behind it does not
 * matter: how a loaded machine cuts it would. With IW_PLANTED=hang in the environment it does
 * nothing any more instead, with IW_PLANTED=refuse it lives on without its listeners.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "endpoint/internal.h"

/* The linker's names. NOLINTBEGIN(bugprone-reserved-identifier) */
void __real_iw_endpoint_input(struct iw_endpoint *ep, const struct iw_iov *data, size_t pieces,
                              uint64_t now);
void __wrap_iw_endpoint_input(struct iw_endpoint *ep, const struct iw_iov *data, size_t pieces,
                              uint64_t now);
/* NOLINTEND(bugprone-reserved-identifier) */

enum { DEEP = 3, SOME_FDS = 64 };

static void close_listeners(void)
{
    for (int fd = 0; fd < SOME_FDS; fd++) {
        int listens = 0;
        socklen_t size = sizeof(listens);

        if (!getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) && listens)
            close(fd);
    }
}

static void fail(void)
{
    const char *how = getenv("IW_PLANTED");

    if (!how)
        abort();
    while (!strcmp(how, "hang"))
        pause();
    close_listeners();
}

void __wrap_iw_endpoint_input(struct iw_endpoint *ep, const struct iw_iov *data, size_t pieces,
                              uint64_t now)
{
    bool deep = ep->phase == IW_PHASE_FULL && ep->startup.agreed.enhanced &&
                ep->deframer.fpdus >= DEEP && !iw_deframer_idle(&ep->deframer);
    uint64_t before = ep->deframer.fpdus;

    __real_iw_endpoint_input(ep, data, pieces, now);
    if (deep && ep->deframer.fpdus > before)
        fail();
}
