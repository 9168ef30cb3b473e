/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_ENDPOINT_BATCH_H
#define IW_ENDPOINT_BATCH_H

#include "endpoint_internal.h"

enum {
    /* The endpoint's own octets of one segment: a DDP header and the longest RDMAP header. */
    IW_TX_HEADER = IW_DDP_UNTAGGED_HEADER + IW_TERM_MAX,
    IW_TX_SHORT = 256, /* a ULPDU of up to this length is better copied than listed */
    IW_TX_SOON = 16384 /* of one that may begin a list after another under a CRC */
};

/* The batch being filled; pieces and octets share the pool buffer. */
struct batch {
    struct iw_endpoint *ep;
    struct iw_iov *pieces;
    size_t count;
    uint8_t *octets, *end; /* IW_MPA_LENGTH_FIELD free octets lie before `octets` */
    size_t size;           /* octets on the stream */
    size_t fill;           /* of these in a TCP segment that has room left */
    size_t lists;          /* lists that may still be begun */
    size_t lent;           /* room kept at `end` for sources that are listed, not copied */
};

/* Begins a batch of at most `lists` lists in ep->tx_buffer, to be handed to
 * iw_endpoint_output_lists. */
struct batch iw_ep_batch_begin(struct iw_endpoint *ep, size_t lists);
void iw_ep_batch_end(const struct batch *b);
/* Returns the octets of a segment's DDP header. */
uint32_t iw_ep_batch_header(const struct iw_endpoint *ep, bool tagged);
/* Returns the most payload that the next segment may carry of a message of which `left` octets are
 * left. */
uint32_t iw_ep_batch_limit(const struct batch *b, uint32_t left, bool tagged);
/* Returns whether FPDUs of any size are copied into the batch instead of listed. */
bool iw_ep_batch_copies(const struct iw_endpoint *ep);
/* Returns whether a segment has room. `copied`: payload that goes into the batch's own octets. */
bool iw_ep_batch_room(const struct batch *b, size_t slices, size_t ulpdu, size_t copied);
/* Frames one segment. Slice 0 is its beginning: headers, and payload if that was copied; it lies at
 * b->octets already. */
void iw_ep_batch_add(struct batch *b, struct iw_iov *slices, size_t count);

#endif
