// SPDX-License-Identifier: GPL-2.0
/* What mends.csv calls; the numbers are those of conformance/baselines/siw.md. */
#include <linux/bits.h>
#include <linux/module.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "siw.h"
#include "siw_cm.h"
#include "siw_mem.h"
#include "siw_verbs.h"

ulong iw_mends;
module_param_named(mends, iw_mends, ulong, 0644);
MODULE_PARM_DESC(mends, "deviations to put right: bit N is number N");

/* ---- receiving ---- */

/* 6, 26: hands the FPDU on in the parts in which TCP brought it, so that all else (5) stays as it
 * was. */
static void hand_on(read_descriptor_t *desc, struct siw_qp *qp)
{
    struct siw_mend *mend = &qp->mend;
    struct sk_buff *fpdu = mend->fpdu;
    unsigned int i, from = 0;

    for (i = 0; i <= mend->splits && !qp->rx_stream.rx_suspend; i++) {
        unsigned int to = i < mend->splits ? mend->split[i] : mend->size;

        __skb_set_length(fpdu, to);
        siw_tcp_rx_data(desc, fpdu, from, to - from);
        from = to;
    }
}

static void whole_fpdu(read_descriptor_t *desc, struct siw_qp *qp)
{
    struct siw_mend *mend = &qp->mend;
    const u8 *octets = mend->fpdu->data;
    unsigned int covered = mend->size - MPA_CRC_SIZE;

    if (qp->rx_stream.mpa_crc_hd) {
        __le32 crc = cpu_to_le32(~crc32c(~0, octets, covered));

        mend->bad_crc = memcmp(&crc, octets + covered, sizeof(crc)) != 0;
    }
    if (mend->bad_crc && iw_mended(6) && iw_mended(26)) {
        siw_init_terminate(qp, TERM_ERROR_LAYER_LLP, LLP_ETYPE_MPA, LLP_ECODE_RECEIVED_CRC, 0);
        siw_qp_cm_drop(qp, 1);
    } else {
        hand_on(desc, qp);
    }
    kfree_skb(mend->fpdu);
    mend->fpdu = NULL;
    mend->have = 0;
    mend->splits = 0;
    mend->bad_crc = false;
}

/* Of many segments, forgets those in the middle of the payload. */
static void remember_split(struct siw_mend *mend)
{
    const unsigned int header = sizeof(union iwarp_hdr);

    if (mend->splits == SIW_MEND_SPLITS) {
        memmove(mend->split + header, mend->split + header + 1,
                (SIW_MEND_SPLITS - header - 1) * sizeof(*mend->split));
        mend->splits--;
    }
    mend->split[mend->splits++] = mend->have;
}

/* 6, 26: an FPDU is looked at once it is there with its CRC (RFC 5044 section 4.4). */
int siw_mend_rx(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off, size_t len)
{
    struct siw_qp *qp = desc->arg.data;
    struct siw_mend *mend = &qp->mend;
    size_t used = 0;

    if (!iw_mended(6) && !iw_mended(26))
        return siw_tcp_rx_data(desc, skb, off, len);

    while (used < len && !qp->rx_stream.rx_suspend) {
        unsigned int n;

        if (mend->have < MPA_HDR_SIZE) {
            skb_copy_bits(skb, off + used, mend->length + mend->have, 1);
            mend->have++;
            used++;
            if (mend->have == MPA_HDR_SIZE) {
                mend->size = ALIGN(MPA_HDR_SIZE + (mend->length[0] << 8 | mend->length[1]), 4) +
                             MPA_CRC_SIZE;
                mend->fpdu = alloc_skb(mend->size, GFP_ATOMIC);
                if (!mend->fpdu) {
                    siw_qp_cm_drop(qp, 1);
                    break;
                }
                skb_put(mend->fpdu, mend->size);
                memcpy(mend->fpdu->data, mend->length, MPA_HDR_SIZE);
            }
            if (used == len)
                remember_split(mend);
            continue;
        }
        n = min_t(size_t, len - used, mend->size - mend->have);
        skb_copy_bits(skb, off + used, mend->fpdu->data + mend->have, n);
        mend->have += n;
        used += n;
        if (mend->have == mend->size)
            whole_fpdu(desc, qp);
        else
            remember_split(mend);
    }
    return len;
}

/* 26: steps over octets of an FPDU whose CRC is wrong. */
bool siw_mend_discards(struct siw_rx_stream *srx, int len)
{
    if (!iw_mended(26) || !rx_qp(srx)->mend.bad_crc)
        return false;
    siw_crc_skb(srx, len);
    srx->skb_offset += len;
    srx->skb_copied += len;
    srx->skb_new -= len;
    return true;
}

static bool tagged(const struct iwarp_ctrl *ctrl)
{
    return (ctrl->ddp_rdmap_ctrl & DDP_FLAG_TAGGED) != 0;
}

static int octets_by_t(const struct iwarp_ctrl *ctrl)
{
    return tagged(ctrl) ? sizeof(struct iwarp_ctrl_tagged) : sizeof(struct iwarp_ctrl_untagged);
}

/* The error of a header as far as it is there, by the first two octets after the length. */
static int judge(struct siw_rx_stream *srx, bool report)
{
    struct iwarp_ctrl *ctrl = &srx->hdr.ctrl;
    u8 opcode = __rdmap_get_opcode(ctrl);
    enum term_elayer layer = TERM_ERROR_LAYER_RDMAP;
    u8 etype = RDMAP_ETYPE_REMOTE_OPERATION, ecode = RDMAP_ECODE_OPCODE;

    if (__ddp_get_version(ctrl) != DDP_VERSION) {
        layer = TERM_ERROR_LAYER_DDP;
        etype = tagged(ctrl) ? DDP_ETYPE_TAGGED_BUF : DDP_ETYPE_UNTAGGED_BUF;
        ecode = tagged(ctrl) ? DDP_ECODE_T_VERSION : DDP_ECODE_UT_VERSION;
    } else if (__rdmap_get_version(ctrl) != RDMAP_VERSION) {
        ecode = RDMAP_ECODE_VERSION;
    } else if (opcode <= RDMAP_TERMINATE &&
               (!iw_mended(16) ||
                tagged(ctrl) == (opcode == RDMAP_RDMA_WRITE || opcode == RDMAP_RDMA_READ_RESP))) {
        return 0;
    }
    if (report)
        siw_init_terminate(rx_qp(srx), layer, etype, ecode, 0);
    return -EINVAL;
}

/* How many octets of a header there have to be, by those that are there. */
static int octets_due(struct siw_rx_stream *srx)
{
    struct iwarp_ctrl *ctrl = &srx->hdr.ctrl;
    int due = sizeof(*ctrl);

    if (srx->fpdu_part_rcvd >= due) {
        u8 opcode = __rdmap_get_opcode(ctrl);

        if (!judge(srx, false))
            due = iwarp_pktinfo[opcode].hdr_len;
        else if (iw_mended(3) || iw_mended(16))
            due = octets_by_t(ctrl);
        else
            due = sizeof(struct iwarp_ctrl_tagged);
    }
    return due;
}

/* 3: so that the Terminate can have the header. 4: no longer than its ULPDU. 16: by T (RFC 5040
 * section 4.1). Returns 0: go on; -EAGAIN: there has to be more; another one: the stream ends.
 */
int siw_mend_header(struct siw_rx_stream *srx)
{
    struct iwarp_ctrl *ctrl = &srx->hdr.ctrl;

    if (!iw_mended(3) && !iw_mended(4) && !iw_mended(16))
        return 0;
    for (;;) {
        int due = octets_due(srx), n;

        if (iw_mended(4)) {
            if (srx->fpdu_part_rcvd < MPA_HDR_SIZE)
                due = MPA_HDR_SIZE;
            else if (be16_to_cpu(ctrl->mpa_len) + MPA_HDR_SIZE < due) {
                siw_init_terminate(rx_qp(srx), TERM_ERROR_LAYER_LLP, LLP_ETYPE_MPA,
                                   LLP_ECODE_FPDU_START, 0);
                return -EINVAL;
            }
        }
        if (srx->fpdu_part_rcvd >= due && due >= (int)sizeof(struct iwarp_ctrl_tagged))
            break;
        n = min(srx->skb_new, due - srx->fpdu_part_rcvd);
        if (n <= 0 && srx->fpdu_part_rcvd < due)
            return -EAGAIN;
        skb_copy_bits(srx->skb, srx->skb_offset, (char *)ctrl + srx->fpdu_part_rcvd, n);
        srx->fpdu_part_rcvd += n;
        srx->skb_new -= n;
        srx->skb_offset += n;
        srx->skb_copied += n;
    }
    return judge(srx, true);
}

/* 35: why a Read Response that nobody asked for is refused (RFC 5041 section 7.1, RFC 5040
 * section 7.2). */
void siw_mend_unasked(struct siw_qp *qp)
{
    struct siw_rx_stream *srx = &qp->rx_stream;
    u32 stag = be32_to_cpu(srx->hdr.rresp.sink_stag);
    u64 to = be64_to_cpu(srx->hdr.rresp.sink_to);
    struct siw_mem *mem;
    int rv = -E_STAG_INVALID;

    if (srx->fpdu_part_rem) {
        mem = siw_mem_id2obj(qp->sdev, stag >> 8);
        if (mem) {
            if (mem->stag == stag)
                rv = siw_check_mem(qp->pd, mem, to, 0, srx->fpdu_part_rem);
            siw_mem_put(mem);
        }
        if (rv) {
            siw_init_terminate(qp, TERM_ERROR_LAYER_DDP, DDP_ETYPE_TAGGED_BUF,
                               siw_tagged_error(-rv), 0);
            return;
        }
    }
    siw_init_terminate(qp, TERM_ERROR_LAYER_RDMAP, RDMAP_ETYPE_REMOTE_OPERATION, RDMAP_ECODE_OPCODE,
                       0);
}

/* 30: a region that was registered once for all streams is not the peer's to invalidate. */
int siw_mend_invalidate(struct ib_pd *pd, u32 stag)
{
    if (iw_mended(30)) {
        struct siw_mem *mem = siw_mem_id2obj(to_siw_dev(pd->device), stag >> 8);
        bool shared = mem && mem->pd == pd && mem->mem_obj && !mem->is_pbl;

        if (mem)
            siw_mem_put(mem);
        if (shared)
            return -EACCES;
    }
    return siw_invalidate_stag(pd, stag);
}

/* ---- sending ---- */

/* 27, 32: looks at the send queue again, after what held it back. */
int siw_mend_resume(struct siw_qp *qp)
{
    unsigned long flags;
    int rv = 0;

    spin_lock_irqsave(&qp->sq_lock, flags);
    if (tx_wqe(qp)->wr_status == SIW_WR_IDLE)
        rv = siw_activate_tx(qp);
    spin_unlock_irqrestore(&qp->sq_lock, flags);
    return rv > 0 ? siw_sq_start(qp) : rv;
}

/* 11: puts Markers into an FPDU at each 512th octet of the stream, and the CRC of it all (RFC 5044
 * sections 4.3, 4.4). Returns its length with them; `out` has room for it.
 */
static size_t put_markers(struct siw_qp *qp, const u8 *fpdu, size_t len, u8 *out)
{
    size_t from, n = 0, begin = 0;
    bool started = false;

    for (from = 0; from < len; from += 4) {
        if ((qp->mend.sent + n) % SIW_MEND_MARKER_EACH == 0) {
            u16 back = started ? n - begin : 0;

            out[n] = out[n + 1] = 0;
            out[n + 2] = back >> 8;
            out[n + 3] = back & 0xff;
            n += 4;
        }
        if (!started) {
            started = true;
            begin = n;
        }
        memcpy(out + n, fpdu + from, 4);
        n += 4;
    }
    if (qp->tx_ctx.mpa_crc_hd) {
        __le32 crc = cpu_to_le32(~crc32c(~0, out, n - MPA_CRC_SIZE));

        memcpy(out + n - MPA_CRC_SIZE, &crc, sizeof(crc));
    }
    return n;
}

/* 11: sends one FPDU, with Markers if the peer has asked for them: whole, or not at all for now
 * (-EAGAIN). */
int siw_mend_send(struct siw_qp *qp, struct socket *s, struct msghdr *msg, struct kvec *iov,
                  size_t parts, size_t len)
{
    size_t most = len + 4 * (len / (SIW_MEND_MARKER_EACH - 4) + 2), n = 0, i;
    struct kvec marked;
    u8 *octets;
    int rv;

    if (!qp->mend.markers)
        return kernel_sendmsg(s, msg, iov, parts, len);
    if (sk_stream_wspace(s->sk) < (int)most) {
        set_bit(SOCK_NOSPACE, &s->flags);
        return -EAGAIN;
    }
    octets = kvmalloc(len + most, GFP_KERNEL);
    if (!octets)
        return -ENOMEM;
    for (i = 0; i < parts; i++) {
        memcpy(octets + n, iov[i].iov_base, iov[i].iov_len);
        n += iov[i].iov_len;
    }
    marked.iov_base = octets + len;
    marked.iov_len = put_markers(qp, octets, len, marked.iov_base);
    msg->msg_flags &= ~MSG_DONTWAIT;
    rv = kernel_sendmsg(s, msg, &marked, 1, marked.iov_len);
    if (rv == (int)marked.iov_len) {
        qp->mend.sent = (qp->mend.sent + rv) % SIW_MEND_MARKER_EACH;
        rv = len;
    } else if (rv >= 0) {
        rv = -EPIPE;
    }
    kvfree(octets);
    return rv;
}

/* 1: turns the control word from C's order of bits into that of RFC 5040 figure 9, and back. */
void siw_mend_terminate_bits(struct iwarp_terminate *term)
{
    u8 *word = (u8 *)term + sizeof(struct iwarp_send);
    u8 flags = word[2];
    int i;

    word[0] = word[0] << 4 | word[0] >> 4;
    word[2] = 0;
    for (i = 0; i < 8; i++)
        if (flags & BIT(i))
            word[2] |= BIT(7 - i);
}

/* 39: DDP Segment Length with the header. 3, 42: no opcode is looked up beyond the table. */
u32 siw_mend_header_octets(const union iwarp_hdr *header, u8 opcode)
{
    if (iw_mended(39))
        return 0;
    if (opcode > RDMAP_TERMINATE && (iw_mended(3) || iw_mended(42)))
        return octets_by_t(&header->ctrl) - MPA_HDR_SIZE;
    return iwarp_pktinfo[opcode].hdr_len - MPA_HDR_SIZE;
}

/* 19: the CRC of a Terminate from the start-up, if CRCs have been agreed on. */
u32 siw_mend_terminate_crc(struct siw_qp *qp, const struct kvec *iov, int parts)
{
    u32 crc = ~0;
    int i;

    if (!iw_mended(19) || qp->tx_ctx.mpa_crc_hd || !qp->cep ||
        !(qp->cep->mpa.hdr.params.bits & MPA_RR_FLAG_CRC))
        return 0;
    for (i = 0; i < parts; i++)
        crc = crc32c(crc, iov[i].iov_base, iov[i].iov_len);
    return (__force u32)cpu_to_le32(~crc);
}

/* ---- start-up ---- */

/* 10: what a Request or Reply may hold. */
unsigned int siw_mend_private(void)
{
    return iw_mended(10) ? SIW_MEND_PRIVATE : MPA_MAX_PRIVDATA;
}

/* 13: the key is looked at before the private data. 23: what has not been taken is not handed on.
 */
int siw_mend_startup_header(struct siw_cep *cep)
{
    struct mpa_rr *header = &cep->mpa.hdr;
    bool reply = cep->state == SIW_EPSTATE_AWAIT_MPAREP;

    if ((iw_mended(13) &&
         memcmp(header->key, reply ? MPA_KEY_REP : MPA_KEY_REQ, sizeof(header->key))) ||
        (iw_mended(23) && be16_to_cpu(header->params.pd_len) > siw_mend_private())) {
        header->params.pd_len = 0;
        return -EPROTO;
    }
    return 0;
}

/* 10: the interface to the ULP has an octet for the length. */
void siw_mend_private_event(struct siw_cep *cep, struct iw_cm_event *event)
{
    unsigned int hidden = cep->enhanced_rdma_conn_est ? sizeof(struct mpa_v2_data) : 0;
    unsigned int length = be16_to_cpu(cep->mpa.hdr.params.pd_len);

    if (iw_mended(10) && length > hidden)
        event->private_data_len = min_t(unsigned int, length - hidden, 255);
}

/* 8: of the Request's flags only C, and S under revision 2, mean something in the Reply (RFC 5044
 * section 7.1.1, RFC 6581 section 6).
 */
__be16 siw_mend_reply_bits(struct siw_cep *cep)
{
    __be16 bits = cep->mpa.hdr.params.bits;
    __be16 kept = MPA_RR_MASK_REVISION | MPA_RR_FLAG_CRC;

    if (!iw_mended(8))
        return bits;
    if (__mpa_rr_revision(bits) == MPA_REVISION_2)
        kept |= MPA_RR_FLAG_ENHANCED;
    return bits & kept;
}

/* 9: 0x3FFF is no number (RFC 6581 section 9.1). */
void siw_mend_not_negotiated(struct siw_cep *cep)
{
    struct mpa_v2_data *v2 = (struct mpa_v2_data *)cep->mpa.pdata;

    if (!iw_mended(9))
        return;
    cep->mend_free_ord = (v2->ird & MPA_V2_MASK_IRD_ORD) == MPA_V2_MASK_IRD_ORD;
    cep->mend_free_ird = (v2->ord & MPA_V2_MASK_IRD_ORD) == MPA_V2_MASK_IRD_ORD;
    if (cep->mend_free_ord)
        cep->ord = SIW_MEND_DEPTH;
    if (cep->mend_free_ird)
        cep->ird = SIW_MEND_DEPTH;
}

/* 22: what came before the socket was the QP's. */
void siw_mend_take_up(struct sock *sk)
{
    lock_sock(sk);
    if (!skb_queue_empty(&sk->sk_receive_queue))
        sk->sk_data_ready(sk);
    release_sock(sk);
}
