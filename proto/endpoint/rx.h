/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_ENDPOINT_RX_H
#define IW_ENDPOINT_RX_H

#include "endpoint_internal.h"

/* One segment on its way through the checks. */
struct segment {
    const struct iw_fpdu *fpdu;
    /* its beginning, followed by zeros */
    uint8_t head[IW_DDP_UNTAGGED_HEADER + IW_TERM_MAX];
    size_t head_length;
    struct iw_ddp_header header;
    bool header_known;
    struct iw_rdmap_read_request request;
    bool request_known;
    size_t header_length;
    uint32_t length; /* octets after the DDP header */
};

/* rx.c. Functions that return bool have checked something, and reported what is wrong with it; they
 * return true if the segment goes no further. */

/* Reports that a check failed `offset` octets into the ULPDU. */
bool iw_ep_refuse(struct iw_endpoint *ep, const struct segment *s, enum iw_check check,
                  uint32_t offset, uint64_t got, uint64_t want);
/* Does the same for a legal segment that only --overstrict refuses. */
bool iw_ep_refuse_legal(struct iw_endpoint *ep, const struct segment *s, enum iw_check check,
                        uint32_t offset, uint64_t got, uint64_t want);
/* Checks that the MSN is the next one of the segment's queue. */
bool iw_ep_rx_check_msn(struct iw_endpoint *ep, const struct segment *s);
/* Handles a segment of queue 0 for which no receive is posted: reports it, or counts the MSN of its
 * message if the check is ignored. */
void iw_ep_rx_drop(struct iw_endpoint *ep, const struct segment *s);
/* Delivers the message in the oldest buffer, which is whole. */
void iw_ep_rx_deliver(struct iw_endpoint *ep, struct iw_completion *completion);
bool iw_ep_rx_check_ird(struct iw_endpoint *ep, const struct segment *s);
/* Adds a request to answer, unless that is impossible; --violate `missing`: it is not answered. */
void iw_ep_rx_request(struct iw_endpoint *ep, const struct segment *s, struct iw_read_in read,
                      enum iw_check missing);
/* Checks that the response at hand answers the oldest request. */
bool iw_ep_rx_check_turn(struct iw_endpoint *ep, const struct segment *s,
                         const struct iw_read_out *answered);

/* extensions.c: the segments of RFC 7306 */
void iw_ep_rx_immediate(struct iw_endpoint *ep, struct segment *s);
void iw_ep_rx_atomic_request(struct iw_endpoint *ep, struct segment *s);
void iw_ep_rx_atomic_response(struct iw_endpoint *ep, struct segment *s);

#endif
