/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/octets.h"
#include "iwarp/wire.h"

#include <string.h>

int iw_wire_get_ddp(const uint8_t *octets, size_t length, struct iw_ddp_header *out)
{
    if (length < 1)
        return IW_WIRE_SHORT;
    bool tagged = (octets[IW_AT_DDP_CONTROL] & IW_DDP_T) != 0;
    if (length < (tagged ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER))
        return IW_WIRE_SHORT;
    memset(out, 0, sizeof(*out));
    out->ddp_control = octets[IW_AT_DDP_CONTROL];
    out->rdmap_control = octets[IW_AT_RDMAP_CONTROL];
    if (tagged) {
        out->stag = iw_get32(octets + IW_AT_STAG);
        out->to = iw_get64(octets + IW_AT_TO);
        return IW_DDP_TAGGED_HEADER;
    }
    out->invalidate_stag = iw_get32(octets + IW_AT_INVALIDATE_STAG);
    out->qn = iw_get32(octets + IW_AT_QN);
    out->msn = iw_get32(octets + IW_AT_MSN);
    out->mo = iw_get32(octets + IW_AT_MO);
    return IW_DDP_UNTAGGED_HEADER;
}

int iw_wire_put_ddp(uint8_t *octets, size_t room, const struct iw_ddp_header *in)
{
    bool tagged = iw_ddp_tagged(in);
    if (room < (tagged ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER))
        return IW_WIRE_SHORT;
    octets[IW_AT_DDP_CONTROL] = in->ddp_control;
    octets[IW_AT_RDMAP_CONTROL] = in->rdmap_control;
    if (tagged) {
        iw_put32(octets + IW_AT_STAG, in->stag);
        iw_put64(octets + IW_AT_TO, in->to);
        return IW_DDP_TAGGED_HEADER;
    }
    iw_put32(octets + IW_AT_INVALIDATE_STAG, in->invalidate_stag);
    iw_put32(octets + IW_AT_QN, in->qn);
    iw_put32(octets + IW_AT_MSN, in->msn);
    iw_put32(octets + IW_AT_MO, in->mo);
    return IW_DDP_UNTAGGED_HEADER;
}
