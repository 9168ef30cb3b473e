/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_RDMAP_H
#define IWARP_RDMAP_H

/*
 * rdmap/: what RFC 5040 says of messages: which opcode goes with which T bit and queue,
 * which Terminate answers which fault. Stateless; endpoint/ and observer/ keep the state.
 */

#include "iwarp/ddp.h"
#include "iwarp/rules.h"
#include "iwarp/wire.h"

/* True if `opcode` is assigned by RFC 5040 (or RFC 7306, if `extensions`). */
bool iw_rdmap_assigned(unsigned opcode, bool extensions);
/* True if messages of this opcode are tagged. */
bool iw_rdmap_is_tagged(unsigned opcode);
/* The queue of an untagged opcode. */
uint32_t iw_rdmap_queue(unsigned opcode);
/* True for the two Send with Invalidate opcodes / the two Solicited Event ones. */
bool iw_rdmap_invalidates(unsigned opcode);
bool iw_rdmap_solicits(unsigned opcode);
bool iw_rdmap_is_send(unsigned opcode);

/* The first header check that a segment fails, regardless of any stream state: DDP version,
 * QN, RDMAP version, opcode, opcode against T, opcode against QN (RFC 5041 §7.1,
 * RFC 5040 §7.2). Checks in `switches` that are ignored are passed over.
 * *extensions* admits the RFC 7306 opcodes and queue 3. */
enum iw_check iw_rdmap_check_header(const struct iw_ddp_header *h, bool extensions,
                                    const struct iw_switches *switches);
/* The same for what is legal to receive but may be refused (reserved bits, Invalidate STag
 * field): the first irregularity not yet in *seen (a bit set that the caller zeroes), or
 * IW_CHECK_NONE. */
enum iw_check iw_rdmap_check_reserved(const struct iw_ddp_header *h, unsigned *seen);

/* The Terminate for a fault (RFC 5040 §4.8, figure 10; RFC 5041 §7.2; RFC 5044 §8).
 * `header`/`read_request` describe the segment at fault and may be NULL. `length` is its
 * ULPDU_Length. Which headers go in follows from the layer, type and message
 * (spec OP-51, OP-61, OP-62). */
void iw_rdmap_terminate_for(enum iw_check check, const struct iw_ddp_header *header,
                            const struct iw_rdmap_read_request *read_request, uint32_t length,
                            struct iw_rdmap_terminate *out);
/* The M, D and R flags that figure 10 wants for a Terminate of this layer and type about a
 * segment with this opcode. */
uint8_t iw_rdmap_terminate_flags(unsigned layer, unsigned etype, unsigned code, unsigned opcode);

/* Validates and, on success, carries out a remote invalidate (RFC 5040 §5.3). */
enum iw_check iw_rdmap_invalidate(const struct iw_ddp_stream *s, uint32_t stag);

#endif
