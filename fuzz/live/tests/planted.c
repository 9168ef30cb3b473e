/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer with a fault of its own, for the tests of iwarp-fuzz only: linked around iwarp-peer with
 * --wrap. It lies behind a start-up of RFC 6581, three FPDUs, and a fourth of which only a part has
 * been read; what brings the rest of that one ends the process. What comes behind it does not
 * matter: how a loaded machine cuts it would.
 */
#include <stdlib.h>

#include "endpoint/internal.h"

void __real_iw_endpoint_input(struct iw_endpoint *ep, const struct iw_iov *data, size_t pieces,
                              uint64_t now);
void __wrap_iw_endpoint_input(struct iw_endpoint *ep, const struct iw_iov *data, size_t pieces,
                              uint64_t now);

enum { DEEP = 3 };

void __wrap_iw_endpoint_input(struct iw_endpoint *ep, const struct iw_iov *data, size_t pieces,
                              uint64_t now)
{
    bool deep = ep->phase == IW_PHASE_FULL && ep->startup.agreed.enhanced &&
                ep->deframer.fpdus >= DEEP && !iw_deframer_idle(&ep->deframer);
    uint64_t before = ep->deframer.fpdus;

    __real_iw_endpoint_input(ep, data, pieces, now);
    if (deep && ep->deframer.fpdus > before)
        abort();
}
