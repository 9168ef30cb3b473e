/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer with a planted fault, for the tests of iwarp-fuzz only: linked around iwarp-peer with
 * --wrap. The fault lies after a start-up of RFC 6581 and three good FPDUs: the segment that
 * continues a Send's message ends the process. Only the octets decide, never how TCP or a busy
 * machine cuts them. With IW_PLANTED=hang in the environment the peer hangs instead, with
 * IW_PLANTED=refuse it lives on without its listeners. With IW_PLANTED_EVERY=N every Nth connection
 * ends it at once.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "endpoint/endpoint_internal.h"

int __real_accept4(int fd, struct sockaddr *from, socklen_t *length, int flags);
int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *length, int flags);
int __real_iw_ep_rx_fpdu(void *context, const struct iw_fpdu *fpdu);
int __wrap_iw_ep_rx_fpdu(void *context, const struct iw_fpdu *fpdu);

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

    if (how == NULL)
        abort();
    while (strcmp(how, "hang") == 0)
        pause();
    close_listeners();
}

/* Returns true for a segment of a Send after the first. */
static bool goes_on(const struct iw_fpdu *fpdu)
{
    uint8_t head[IW_DDP_UNTAGGED_HEADER];
    struct iw_ddp_header h;
    size_t n = fpdu->length < sizeof(head) ? fpdu->length : sizeof(head);

    n = iw_ddp_gather(head, fpdu->ulpdu, fpdu->pieces, 0, n);
    return iw_wire_get_ddp(head, n, &h) > 0 && !iw_ddp_tagged(&h) && h.qn == IW_QN_SEND && h.mo > 0;
}

int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *length, int flags)
{
    static unsigned long connections;
    const char *every = getenv("IW_PLANTED_EVERY");
    int accepted = __real_accept4(fd, from, length, flags);

    if (accepted >= 0 && every != NULL && ++connections % strtoul(every, NULL, 10) == 0)
        abort();
    return accepted;
}

int __wrap_iw_ep_rx_fpdu(void *context, const struct iw_fpdu *fpdu)
{
    struct iw_endpoint *ep = context;
    bool deep = ep->startup.agreed.enhanced && ep->deframer.fpdus > DEEP && goes_on(fpdu);
    int status = __real_iw_ep_rx_fpdu(context, fpdu);

    if (deep && ep->phase == IW_PHASE_FULL)
        fail();
    return status;
}
