/* SPDX-License-Identifier: GPL-2.0 */
/* What mends.csv puts into siw: the deviations of conformance/baselines/siw.md, by number, each put
 * right if the kernel's command line says so (siw.mends=MASK; tools/siw up --mend).
 */
#ifndef _SIW_MEND_H
#define _SIW_MEND_H

#include <linux/fs.h>
#include <linux/types.h>

struct ib_pd;
struct iwarp_terminate;
struct kvec;
struct mpa_rr;
struct siw_cep;
struct siw_qp;
struct siw_rx_stream;
struct msghdr;
struct sk_buff;
struct sock;
struct socket;
struct iw_cm_event;
union iwarp_hdr;

#define SIW_MEND_PRIVATE 512 /* octets, RFC 5044 section 7.1.1 */
#define SIW_MEND_DEPTH 16    /* Read Requests, if the peer names no number */
#define SIW_MEND_SPLITS 72
#define SIW_MEND_MARKER_EACH 512 /* octets of the stream, RFC 5044 section 4.3 */

extern ulong iw_mends;

static inline bool iw_mended(unsigned int number)
{
    return iw_mends >> number & 1;
}

/* 33: a length that siw holds in an int. */
static inline u64 iw_mend_length(int length)
{
    return iw_mended(33) ? (u32)length : (u64)(s64)length;
}

/* Lies in the QP. */
struct siw_mend {
    /* 6, 26: the FPDU that is coming in, and where the TCP segments that brought it ended. */
    struct sk_buff *fpdu;
    u8 length[2];
    u32 have, size;
    u32 split[SIW_MEND_SPLITS];
    unsigned int splits;
    bool bad_crc;

    bool markers; /* 11: the peer wants them */
    u32 sent;     /* 11: octets of full operation that the peer has been sent */

    u32 ord;   /* 28 */
    bool hold; /* 32: nothing may be sent before the first FPDU has come */
};

int siw_mend_rx(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off, size_t len);
bool siw_mend_discards(struct siw_rx_stream *srx, int len);
int siw_mend_header(struct siw_rx_stream *srx);
u32 siw_mend_header_octets(const union iwarp_hdr *header, u8 opcode);
void siw_mend_terminate_bits(struct iwarp_terminate *term);
u32 siw_mend_terminate_crc(struct siw_qp *qp, const struct kvec *iov, int parts);
void siw_mend_unasked(struct siw_qp *qp);
int siw_mend_invalidate(struct ib_pd *pd, u32 stag);
int siw_mend_send(struct siw_qp *qp, struct socket *s, struct msghdr *msg, struct kvec *iov,
                  size_t parts, size_t len);
int siw_mend_resume(struct siw_qp *qp);
void siw_mend_take_up(struct sock *sk);

int siw_mend_startup_header(struct siw_cep *cep);
unsigned int siw_mend_private(void);
void siw_mend_private_event(struct siw_cep *cep, struct iw_cm_event *event);
__be16 siw_mend_reply_bits(struct siw_cep *cep);
void siw_mend_not_negotiated(struct siw_cep *cep);

#endif
