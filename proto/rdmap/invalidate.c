/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/rdmap.h"

/* RFC 5040 §5.3: on delivery the STag's association with the stream is verified, then it is
 * invalidated; an STag that several streams share is not the peer's to invalidate (§8.1.1). */
enum iw_check iw_rdmap_invalidate(const struct iw_ddp_stream *s, uint32_t stag)
{
    struct iw_region r;
    bool known = iw_domain_lookup(s->domain, stag, &r);
    if (!known || !r.valid)
        return iw_switch_ignored(s->switches, IW_CHECK_RDMAP_INVALIDATE_STAG)
                   ? IW_CHECK_NONE
                   : IW_CHECK_RDMAP_INVALIDATE_STAG;
    if ((r.pd != s->pd || (r.stream != 0 && r.stream != s->stream)) &&
        !iw_switch_ignored(s->switches, IW_CHECK_RDMAP_INVALIDATE_ASSOC))
        return IW_CHECK_RDMAP_INVALIDATE_ASSOC;
    if ((r.access & IW_ACCESS_REMOTE_INVALIDATE) == 0 &&
        !iw_switch_ignored(s->switches, IW_CHECK_RDMAP_INVALIDATE_SHARED))
        return IW_CHECK_RDMAP_INVALIDATE_SHARED;
    if (!iw_switch_violated(s->switches, IW_CHECK_RDMAP_INVALIDATE_DONE))
        (void)iw_domain_invalidate(s->domain, stag);
    return IW_CHECK_NONE;
}
