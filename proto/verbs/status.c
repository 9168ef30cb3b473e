/* SPDX-License-Identifier: BSD-3-Clause */
/* From the end of a request to its status. */
#include "verbs/objects.h"

/* A check that failed at this end. */
static const struct {
    enum iw_check check;
    enum ibv_wc_status status;
} local[] = {
    {IW_CHECK_DDP_MO, IBV_WC_LOC_LEN_ERR},
    {IW_CHECK_DDP_TOO_LONG, IBV_WC_LOC_LEN_ERR},
    {IW_CHECK_RDMAP_IMMEDIATE_LENGTH, IBV_WC_LOC_LEN_ERR},
    {IW_CHECK_RDMAP_INVALIDATE_STAG, IBV_WC_LOC_ACCESS_ERR},
    {IW_CHECK_RDMAP_INVALIDATE_ASSOC, IBV_WC_LOC_ACCESS_ERR},
    {IW_CHECK_RDMAP_INVALIDATE_SHARED, IBV_WC_LOC_ACCESS_ERR},
    {IW_CHECK_RDMAP_IRD, IBV_WC_LOC_QP_OP_ERR}, /* a read, and the start-up left no ORD */
    {IW_CHECK_DDP_STAG, IBV_WC_LOC_PROT_ERR},   /* the sink of a read, from here on */
    {IW_CHECK_DDP_STAG_PD, IBV_WC_LOC_PROT_ERR},
    {IW_CHECK_DDP_STAG_STREAM, IBV_WC_LOC_PROT_ERR},
    {IW_CHECK_DDP_STAG_ACCESS, IBV_WC_LOC_PROT_ERR},
    {IW_CHECK_DDP_TO_BASE, IBV_WC_LOC_PROT_ERR},
    {IW_CHECK_DDP_TO_BOUNDS, IBV_WC_LOC_PROT_ERR},
    {IW_CHECK_DDP_TO_WRAP, IBV_WC_LOC_PROT_ERR},
    {IW_CHECK_NONE, IBV_WC_LOC_PROT_ERR}, /* local work that was refused */
};

/* The peer's Terminate about a read or an atomic (RFC 5040 §4.8, figure 10). */
enum { ANY = 256 };
static const struct {
    unsigned layer, etype, code;
    enum ibv_wc_status status;
} remote[] = {
    {IW_LAYER_RDMAP, 1, ANY, IBV_WC_REM_ACCESS_ERR}, /* remote protection */
    {IW_LAYER_RDMAP, 2, ANY, IBV_WC_REM_INV_REQ_ERR},
    {IW_LAYER_RDMAP, ANY, ANY, IBV_WC_REM_OP_ERR},
    {IW_LAYER_DDP, 1, ANY, IBV_WC_REM_ACCESS_ERR},  /* tagged */
    {IW_LAYER_DDP, 2, 2, IBV_WC_RNR_RETRY_EXC_ERR}, /* no buffer available */
    {IW_LAYER_DDP, 2, ANY, IBV_WC_REM_INV_REQ_ERR}, /* untagged */
    {ANY, ANY, ANY, IBV_WC_REM_ABORT_ERR},
};

enum ibv_wc_status iw_verbs_status(const struct iw_completion *done,
                                   const struct iw_rdmap_terminate *terminate, bool binds)
{
    if (done->status == IW_STATUS_OK)
        return IBV_WC_SUCCESS;
    if (done->status == IW_STATUS_LOCAL_FAULT && done->opcode == IW_WORK_LOCAL && binds)
        return IBV_WC_MW_BIND_ERR;
    if (done->status == IW_STATUS_LOCAL_FAULT) {
        for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
            if (local[i].check == done->check)
                return local[i].status;
        return IBV_WC_BAD_RESP_ERR;
    }
    if (done->status == IW_STATUS_REMOTE_FAULT && terminate != NULL)
        for (size_t i = 0; i < sizeof(remote) / sizeof(remote[0]); i++)
            if ((remote[i].layer == ANY || remote[i].layer == terminate->layer) &&
                (remote[i].etype == ANY || remote[i].etype == terminate->etype) &&
                (remote[i].code == ANY || remote[i].code == terminate->code))
                return remote[i].status;
    return IBV_WC_WR_FLUSH_ERR;
}
