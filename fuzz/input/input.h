/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_INPUT_H
#define IW_FUZZ_INPUT_H

/*
 * The form of the inputs of all stateful harnesses:
 *
 *   settings[4], then steps of: kind (1 octet), length (2, little endian), body[length]
 *
 * Every list of octets is an input: settings that are missing are zero, a body that the input ends
 * in is as long as what is there, a step without a whole length has an empty body, and of the kind
 * the low three bits count. The octets of start-up frames and FPDUs lie in the bodies of IW_FUZZ_A
 * and IW_FUZZ_B as they are on the wire.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IW_FUZZ_SETTINGS = 4, IW_FUZZ_STEP = 3 };

/* settings[0], the same for all of them. The other three are each harness's own. */
enum {
    IW_FUZZ_CRC = 0x01,          /* CRCs are in force (if the start-up is real: asked for) */
    IW_FUZZ_MARKERS_A = 0x02,    /* the octets of IW_FUZZ_A have Markers */
    IW_FUZZ_MARKERS_B = 0x04,    /* those of IW_FUZZ_B, or what the endpoint sends */
    IW_FUZZ_ENHANCED = 0x08,     /* revision 2 with the block of RFC 6581, else revision 1 */
    IW_FUZZ_PEER_TO_PEER = 0x10, /* with IW_FUZZ_ENHANCED: the A bit and an RTR */
    IW_FUZZ_STARTED = 0x20,      /* the harness does the start-up by itself as these bits say: the
                                    first octets of IW_FUZZ_A and _B are those of FPDUs */
    IW_FUZZ_LAZY = 0x40,         /* what the endpoint wants to send leaves on IW_FUZZ_LOCAL only,
                                    else after each step */
    IW_FUZZ_OTHER = 0x80         /* a harness's own */
};

enum iw_fuzz_kind {
    IW_FUZZ_A,     /* octets of the peer, or of side A, the initiator: they follow those before */
    IW_FUZZ_B,     /* octets of side B, the responder; harnesses with one peer: as IW_FUZZ_A, octet
                      by octet */
    IW_FUZZ_LOCAL, /* local operations: see local.h */
    IW_FUZZ_TIME,  /* milliseconds that pass: 2 octets, little endian */
    IW_FUZZ_AT,  /* a segment out of order: 2 octets, little endian, how far ahead of the octets so
                    far (the top bit: back from them), then octets. Of side A; of side B if the
                    kind's bit IW_FUZZ_OF_B is set */
    IW_FUZZ_FIN, /* of the peer; body: first octet odd: side B */
    IW_FUZZ_RST, /* the same */
    IW_FUZZ_NONE /* nothing happens */
};
enum { IW_FUZZ_KIND = 0x07, IW_FUZZ_OF_B = 0x80 };

struct iw_fuzz_input {
    uint8_t settings[IW_FUZZ_SETTINGS];
    const uint8_t *next, *end;
};

struct iw_fuzz_step {
    enum iw_fuzz_kind kind;
    bool of_b; /* IW_FUZZ_OF_B */
    const uint8_t *body;
    size_t length;
};

/* Returns the input with its settings read, before its first step. `octets` are borrowed. */
static inline struct iw_fuzz_input iw_fuzz_open(const uint8_t *octets, size_t length)
{
    struct iw_fuzz_input in = {.next = octets, .end = octets + length};

    for (size_t i = 0; i < IW_FUZZ_SETTINGS && in.next < in.end; i++)
        in.settings[i] = *in.next++;
    return in;
}

/* Reads the next step. Returns false at the end. */
static inline bool iw_fuzz_step(struct iw_fuzz_input *in, struct iw_fuzz_step *step)
{
    size_t there = (size_t)(in->end - in->next);

    if (there == 0)
        return false;
    step->kind = (enum iw_fuzz_kind)(in->next[0] & IW_FUZZ_KIND);
    step->of_b = (in->next[0] & IW_FUZZ_OF_B) != 0;
    if (there < IW_FUZZ_STEP) {
        step->body = in->next = in->end;
        step->length = 0;
        return true;
    }
    step->length = (size_t)(in->next[1] | in->next[2] << 8);
    step->body = in->next + IW_FUZZ_STEP;
    if (step->length > there - IW_FUZZ_STEP)
        step->length = there - IW_FUZZ_STEP;
    in->next = step->body + step->length;
    return true;
}

/* Returns octet `at` of a body, zero past its end; and two of them, little endian. */
static inline uint8_t iw_fuzz_octet(const struct iw_fuzz_step *step, size_t at)
{
    return at < step->length ? step->body[at] : 0;
}

static inline uint16_t iw_fuzz_pair(const struct iw_fuzz_step *step, size_t at)
{
    return (uint16_t)(iw_fuzz_octet(step, at) | iw_fuzz_octet(step, at + 1) << 8);
}

/* Reads an IW_FUZZ_AT body: returns the position relative to `edge`, and leaves its octets. */
static inline uint64_t iw_fuzz_at(struct iw_fuzz_step *step, uint64_t edge)
{
    uint16_t ahead = iw_fuzz_pair(step, 0);
    size_t skip = step->length < 2 ? step->length : 2;

    step->body += skip;
    step->length -= skip;
    if ((ahead & 0x8000u) == 0)
        return edge + ahead;
    ahead &= 0x7fffu;
    return edge > ahead ? edge - ahead : 0;
}

#endif
