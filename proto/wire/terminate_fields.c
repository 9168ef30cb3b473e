/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/octets.h"
#include "iwarp/wire.h"

#include <string.h>

/* Layer and type in one octet (RFC 5040 §4.8). */
enum { LAYER_SHIFT = 4, TYPE_SHIFT = 0 };

int iw_wire_get_terminate(const uint8_t *octets, size_t length, struct iw_rdmap_terminate *out)
{
    if (length < 4)
        return IW_WIRE_SHORT;
    memset(out, 0, sizeof(*out));
    out->layer = octets[IW_AT_TERM_LAYER] >> LAYER_SHIFT & 0x0f;
    out->etype = octets[IW_AT_TERM_LAYER] >> TYPE_SHIFT & 0x0f;
    out->code = octets[IW_AT_TERM_CODE];
    out->flags = octets[IW_AT_TERM_FLAGS] & (IW_TERM_M | IW_TERM_D | IW_TERM_R);
    out->reserved =
        (uint16_t)((octets[IW_AT_TERM_FLAGS] & 0x1f) << 8 | octets[IW_AT_TERM_RESERVED]);
    size_t used = 4;
    if ((out->flags & IW_TERM_D) != 0) {
        if (length - used < 2)
            return IW_WIRE_SHORT;
        out->segment_length = iw_get16(octets + used);
        used += 2;
        int got = iw_wire_get_ddp(octets + used, length - used, &out->ddp);
        if (got < 0)
            return got;
        used += (size_t)got;
    }
    if ((out->flags & IW_TERM_R) != 0) {
        int got = iw_wire_get_read_request(octets + used, length - used, &out->read_request);
        if (got < 0)
            return got;
        used += (size_t)got;
    }
    out->trailing = (uint32_t)(length - used);
    return (int)used;
}

int iw_wire_put_terminate(uint8_t *octets, size_t room, const struct iw_rdmap_terminate *in)
{
    size_t need = 4;
    if ((in->flags & IW_TERM_D) != 0)
        need += 2 + (iw_ddp_tagged(&in->ddp) ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER);
    if ((in->flags & IW_TERM_R) != 0)
        need += IW_RDMAP_READ_REQUEST;
    if (room < need)
        return IW_WIRE_SHORT;
    octets[IW_AT_TERM_LAYER] =
        (uint8_t)((in->layer & 0x0f) << LAYER_SHIFT | (in->etype & 0x0f) << TYPE_SHIFT);
    octets[IW_AT_TERM_CODE] = in->code;
    octets[IW_AT_TERM_FLAGS] = (uint8_t)((in->flags & 0xe0) | (in->reserved >> 8 & 0x1f));
    octets[IW_AT_TERM_RESERVED] = (uint8_t)in->reserved;
    uint8_t *p = octets + 4, *end = octets + need;
    if ((in->flags & IW_TERM_D) != 0) {
        p = iw_put16(p, in->segment_length);
        p += iw_wire_put_ddp(p, (size_t)(end - p), &in->ddp);
    }
    if ((in->flags & IW_TERM_R) != 0)
        iw_wire_put_read_request(p, (size_t)(end - p), &in->read_request);
    return (int)need;
}
