/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/octets.h"
#include "iwarp/wire.h"

#include <string.h>

int iw_wire_get_ddp(const uint8_t *octets, size_t length, struct iw_ddp_header *out)
{
    if (length < 1)
        return IW_WIRE_SHORT;
    bool tagged = (octets[0] & IW_DDP_T) != 0;
    if (length < (tagged ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER))
        return IW_WIRE_SHORT;
    memset(out, 0, sizeof *out);
    out->ddp_control = octets[0];
    out->rdmap_control = octets[1];
    if (tagged) {
        out->stag = iw_get32(octets + 2);
        out->to = iw_get64(octets + 6);
        return IW_DDP_TAGGED_HEADER;
    }
    out->invalidate_stag = iw_get32(octets + 2);
    out->qn = iw_get32(octets + 6);
    out->msn = iw_get32(octets + 10);
    out->mo = iw_get32(octets + 14);
    return IW_DDP_UNTAGGED_HEADER;
}

int iw_wire_put_ddp(uint8_t *octets, size_t room, const struct iw_ddp_header *in)
{
    bool tagged = iw_ddp_tagged(in);
    if (room < (tagged ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER))
        return IW_WIRE_SHORT;
    octets[0] = in->ddp_control;
    octets[1] = in->rdmap_control;
    if (tagged) {
        iw_put64(iw_put32(octets + 2, in->stag), in->to);
        return IW_DDP_TAGGED_HEADER;
    }
    uint8_t *p = iw_put32(octets + 2, in->invalidate_stag);
    p = iw_put32(iw_put32(p, in->qn), in->msn);
    iw_put32(p, in->mo);
    return IW_DDP_UNTAGGED_HEADER;
}
