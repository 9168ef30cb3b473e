/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_RDMAP_H
#define IWARP_RDMAP_H

/*
 * rdmap/: the rules of RFC 5040 for messages: which opcode goes with which T bit and queue, which
 * Terminate answers which fault. Stateless; endpoint/ and observer/ keep the state.
 */

#include "iwarp/ddp.h"
#include "iwarp/rules.h"
#include "iwarp/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns true if `opcode` (0..15) is assigned by RFC 5040 (or RFC 7306, if `extensions`). The
 * other functions about an opcode return false, or queue 0, for one that is not assigned. */
bool iw_rdmap_assigned(unsigned opcode, bool extensions);
/* Returns true if messages of this opcode are tagged (RFC 5040 figure 4). */
bool iw_rdmap_is_tagged(unsigned opcode);
/* Returns the queue (QN) of an untagged opcode. */
uint32_t iw_rdmap_queue(unsigned opcode);
/* Returns true for the two Send with Invalidate opcodes. */
bool iw_rdmap_invalidates(unsigned opcode);
/* Returns true for the two Sends with Solicited Event and for Immediate Data with Solicited Event.
 */
bool iw_rdmap_solicits(unsigned opcode);
/* Returns true for the four kinds of Send, but not for Immediate Data. */
bool iw_rdmap_is_send(unsigned opcode);

/* Returns the first header check that a segment fails, regardless of any stream state, or
 * IW_CHECK_NONE: DDP version, QN, RDMAP version, opcode, opcode against T, opcode against QN
 * (RFC 5041 §7.1, RFC 5040 §7.2). Skips checks that `switches` (may be NULL) ignores. `version`
 * is the DV and RV in force (struct iw_mpa_agreed). `extensions` admits the RFC 7306 opcodes and
 * queue 3. */
enum iw_check iw_rdmap_check_header(const struct iw_ddp_header *h, unsigned version,
                                    bool extensions, const struct iw_switches *switches);
/* Checks the fields that are legal to receive but may be refused (reserved bits, Invalidate STag
 * field; RFC 5041 §4.1, RFC 5040 §4.1). Returns the first irregularity not yet in *seen (a bit set
 * that the caller zeroes) and adds it there, or returns IW_CHECK_NONE. */
enum iw_check iw_rdmap_check_reserved(const struct iw_ddp_header *h, unsigned *seen);
/* A failed check of one segment, whose place in the stream is not known. */
struct iw_ulpdu_fault {
    enum iw_check check; /* IW_CHECK_NONE: no fault */
    uint32_t offset;     /* of the octet at fault, in the ULPDU */
    uint64_t got, want;  /* as in struct iw_fault */
};

/* Returns the fault that one of these two functions found in a segment, as `check`. `version` is as
 * above. */
struct iw_ulpdu_fault iw_rdmap_header_fault(const struct iw_ddp_header *h, enum iw_check check,
                                            unsigned version);

/* Fills *out with the Terminate for a fault (RFC 5040 §4.8, figure 10; RFC 5041 §7.2; RFC 5044 §8).
 * `header` (the segment at fault) and `read_request` (its RDMAP header) may be NULL and are then
 * left out. `length` is its ULPDU_Length in octets (OP-48). A check whose reaction is not a
 * Terminate gives layer, type and code 0. */
void iw_rdmap_terminate_for(enum iw_check check, const struct iw_ddp_header *header,
                            const struct iw_rdmap_read_request *read_request, uint32_t length,
                            struct iw_rdmap_terminate *out);
/* Returns the M, D and R flags (IW_TERM_*) that figure 10 wants for a Terminate of this layer and
 * type about a segment with this opcode. The RDMAP header goes with Read Requests only (OP-61), and
 * only for remote protection errors (OP-62); DDP errors of any type take the DDP header (OP-51). */
uint8_t iw_rdmap_terminate_flags(unsigned layer, unsigned etype, unsigned opcode);

/* Returns whether the flags of this Terminate may go with its layer, type and segment. Figure 10
 * leaves out impossible combinations, so that an error which no segment caused has no headers. */
bool iw_rdmap_terminate_fits(const struct iw_rdmap_terminate *t);

/* Validates and, on success, carries out a remote invalidate (RFC 5040 §5.3). Returns
 * IW_CHECK_NONE, or the check that failed. */
enum iw_check iw_rdmap_invalidate(const struct iw_ddp_stream *s, uint32_t stag);

#ifdef __cplusplus
}
#endif

#endif
