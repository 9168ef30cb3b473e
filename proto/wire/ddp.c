/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/octets.h"
#include "iwarp/wire.h"

#include <string.h>

/* Offsets in the tagged (RFC 5041 §4.2) and the untagged header (§4.3), with RDMAP's part of
 * RsvdULP (RFC 5040 §4.1). */
enum {
    DDP_CONTROL = 0,
    RDMAP_CONTROL = 1,
    TAGGED_STAG = 2,
    TAGGED_TO = 6,
    INVALIDATE_STAG = 2,
    QN = 6,
    MSN = 10,
    MO = 14,
};

int iw_wire_get_ddp(const uint8_t *octets, size_t length, struct iw_ddp_header *out)
{
    if (length < 1)
        return IW_WIRE_SHORT;
    bool tagged = (octets[DDP_CONTROL] & IW_DDP_T) != 0;
    if (length < (tagged ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER))
        return IW_WIRE_SHORT;
    memset(out, 0, sizeof *out);
    out->ddp_control = octets[DDP_CONTROL];
    out->rdmap_control = octets[RDMAP_CONTROL];
    if (tagged) {
        out->stag = iw_get32(octets + TAGGED_STAG);
        out->to = iw_get64(octets + TAGGED_TO);
        return IW_DDP_TAGGED_HEADER;
    }
    out->invalidate_stag = iw_get32(octets + INVALIDATE_STAG);
    out->qn = iw_get32(octets + QN);
    out->msn = iw_get32(octets + MSN);
    out->mo = iw_get32(octets + MO);
    return IW_DDP_UNTAGGED_HEADER;
}

int iw_wire_put_ddp(uint8_t *octets, size_t room, const struct iw_ddp_header *in)
{
    bool tagged = iw_ddp_tagged(in);
    if (room < (tagged ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER))
        return IW_WIRE_SHORT;
    octets[DDP_CONTROL] = in->ddp_control;
    octets[RDMAP_CONTROL] = in->rdmap_control;
    if (tagged) {
        iw_put32(octets + TAGGED_STAG, in->stag);
        iw_put64(octets + TAGGED_TO, in->to);
        return IW_DDP_TAGGED_HEADER;
    }
    iw_put32(octets + INVALIDATE_STAG, in->invalidate_stag);
    iw_put32(octets + QN, in->qn);
    iw_put32(octets + MSN, in->msn);
    iw_put32(octets + MO, in->mo);
    return IW_DDP_UNTAGGED_HEADER;
}
