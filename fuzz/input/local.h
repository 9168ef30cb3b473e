/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_LOCAL_H
#define IW_FUZZ_LOCAL_H

/*
 * The body of an IW_FUZZ_LOCAL step: operations of the consumer, 8 octets each, those that are
 * missing are zero.
 *
 *   operation(1) a(1) b(1) c(1) d(2, little endian) e(2, little endian)
 *
 * Of the operation IW_FUZZ_OPS is the modulus; the top bit asks side B of a pair to carry it out.
 */

#include "input.h"

enum iw_fuzz_op {
    IW_FUZZ_POST,       /* a: enum iw_work_opcode (modulo 10); b: bit 0 fence, bits 1-2 pieces less
                         one, bits 4-7 the region of a Read's sink; c: the region at the peer; d:
                         octets; e: offset in the peer's region */
    IW_FUZZ_RECV,       /* a: pieces (modulo 5); b: region it lies in, modulo 16, from 8 on plain
                         memory; d: octets; e: offset */
    IW_FUZZ_REGISTER,   /* a: rights; b: bit 0 this stream only, bit 1 another protection domain; d:
                         octets; e: offset in plain memory */
    IW_FUZZ_BIND,       /* a: rights; b: bit 0 this stream only, bit 1 bind that of index b >> 4
                         anew; c: region; d: octets; e: offset in it */
    IW_FUZZ_INVALIDATE, /* c: region */
    IW_FUZZ_DEREGISTER, /* c: region */
    IW_FUZZ_SHUTDOWN,
    IW_FUZZ_ABORT,  /* a: bit 0 with a Terminate; b: its code */
    IW_FUZZ_ANSWER, /* the Request. a: bit 0 reject; d: octets of private data */
    IW_FUZZ_EMSS,   /* d: octets */
    IW_FUZZ_OUTPUT, /* what is to be sent leaves: d octets, 0: all */
    IW_FUZZ_BEGIN,  /* iw_endpoint_begin */
    IW_FUZZ_OPS
};
enum { IW_FUZZ_OP = 8, IW_FUZZ_OP_B = 0x80 };

struct iw_fuzz_operation {
    enum iw_fuzz_op op;
    bool of_b;
    uint8_t a, b, c;
    uint16_t d, e;
};

/* Reads operation number `index` of a body. Returns false if there are fewer. */
static inline bool iw_fuzz_operation(const struct iw_fuzz_step *step, size_t index,
                                     struct iw_fuzz_operation *out)
{
    size_t at = index * IW_FUZZ_OP;

    if (at >= step->length && !(index == 0 && step->length == 0))
        return false;
    out->op = (enum iw_fuzz_op)((iw_fuzz_octet(step, at) & 0x7fu) % IW_FUZZ_OPS);
    out->of_b = (iw_fuzz_octet(step, at) & IW_FUZZ_OP_B) != 0;
    out->a = iw_fuzz_octet(step, at + 1);
    out->b = iw_fuzz_octet(step, at + 2);
    out->c = iw_fuzz_octet(step, at + 3);
    out->d = iw_fuzz_pair(step, at + 4);
    out->e = iw_fuzz_pair(step, at + 6);
    return true;
}

/*
 * The regions that every endpoint begins with; their STags are IW_FUZZ_STAG and on, and so are
 * those of what is registered and bound later, one higher each time.
 *
 *   0  all remote rights, 4096 octets at TO 0x1000     4  to bind windows to, 1024 at TO 0x2000
 *   1  to be read, 512 at TO 0                         5  to be invalidated by the peer, 512 at 0
 *   2  to be written, 512, to the end of all TOs       6  of another stream, 512 at TO 0x1000
 *   3  local only, 1024 at TO 0x2000                   7  of another protection domain, 512 at
 * 0x1000
 */
#define IW_FUZZ_STAG 0x11223344u
enum { IW_FUZZ_REGIONS = 8 };

#endif
