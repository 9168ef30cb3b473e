/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "iwarp/rdmap.h"

enum { LOCAL_CATASTROPHIC = 0, REMOTE_PROTECTION = 1, TO_LLP = 3 };

uint8_t iw_rdmap_terminate_flags(unsigned layer, unsigned etype, unsigned opcode)
{
    if (layer == IW_LAYER_DDP)
        return IW_TERM_M | IW_TERM_D;
    if (layer != IW_LAYER_RDMAP || etype == 0)
        return 0;
    if (etype == REMOTE_PROTECTION && opcode == IW_OP_READ_REQUEST)
        return IW_TERM_M | IW_TERM_D | IW_TERM_R;
    return IW_TERM_M | IW_TERM_D;
}

bool iw_rdmap_terminate_fits(const struct iw_rdmap_terminate *t)
{
    const unsigned md = IW_TERM_M | IW_TERM_D;
    unsigned headers = t->flags & md;
    unsigned opcode = t->flags & IW_TERM_D ? iw_rdmap_op(&t->ddp) : 0;
    bool read = (t->flags & IW_TERM_D) && opcode == IW_OP_READ_REQUEST;
    bool returns = (t->flags & IW_TERM_R) != 0;

    if (t->flags == 0)
        return t->layer != IW_LAYER_DDP || t->etype == LOCAL_CATASTROPHIC || t->etype == TO_LLP;
    if (t->layer == IW_LAYER_LLP || (t->layer == IW_LAYER_RDMAP && t->etype == LOCAL_CATASTROPHIC))
        return false;
    if (headers != md && opcode < IW_OP_IMMEDIATE) /* OP-84; without D the opcode is 0 */
        return false;
    if (t->layer == IW_LAYER_RDMAP && t->etype == REMOTE_PROTECTION) {
        bool invalidates = iw_rdmap_invalidates(opcode);
        return read ? returns : invalidates || !returns; /* OP-61 */
    }
    return read || !returns; /* OP-62; §7.1 wants it back for every error on a Read Request */
}

void iw_rdmap_terminate_for(enum iw_check check, const struct iw_ddp_header *header,
                            const struct iw_rdmap_read_request *read_request, uint32_t length,
                            struct iw_rdmap_terminate *out)
{
    const struct iw_check_info *info = iw_check_info(check);

    memset(out, 0, sizeof(*out));
    out->layer = info->layer;
    out->etype = info->etype;
    out->code = info->code;
    if (header == NULL)
        return;
    out->flags = iw_rdmap_terminate_flags(info->layer, info->etype, iw_rdmap_op(header));
    if (read_request == NULL)
        out->flags &= (uint8_t)~IW_TERM_R;
    if (out->flags & IW_TERM_D) {
        out->ddp = *header;
        out->segment_length = length > UINT16_MAX ? UINT16_MAX : (uint16_t)length;
    }
    if (out->flags & IW_TERM_R)
        out->read_request = *read_request;
}
