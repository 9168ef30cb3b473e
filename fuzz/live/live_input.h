/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_INPUT_H
#define IW_HUNT_INPUT_H

/*
 * One test sequence: what the fuzzer says on one connection, as steps. On disk it has the form of
 * ../input/input.h; this is the form for editing. These kinds of steps have a meaning on a socket:
 *
 *   IW_FUZZ_A, IW_FUZZ_AT  octets, in one write with those of the steps around it; but where a step
 *                          begins inside a frame, after a short pause
 *   IW_FUZZ_B              octets, each in a write of its own
 *   IW_FUZZ_TIME           until the peer has said something, or for this many milliseconds at most
 *   IW_FUZZ_FIN, _RST      the fuzzer ends its direction, or the connection
 *
 * After the last step the fuzzer ends its direction. The first octets are a Request, or a Reply to
 * a peer that connects; the rest is split into FPDUs wherever steps begin and end.
 * An FPDU whose length, pad and CRC are right is *regular*: it follows the peer's wish for Markers,
 * and stands for what only the peer knows by the placeholders below; its CRC stays right.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../input/input.h"

enum {
    IW_HUNT_STEPS = 96,     /* of one sequence */
    IW_HUNT_OCTETS = 65536, /* of one sequence, all steps together */
    IW_HUNT_MEMORIES = 3    /* buffers of a target with an agent */
};

/* Placeholders: the STag of memory k, whose first octet has the TO k << 20 (STags are random, and
 * so may TOs be); and the sink of the peer's oldest Read Request that is not answered yet. */
#define IW_HUNT_STAG 0x1f5a0000u
#define IW_HUNT_STAG_ASKED 0x1f5a00ffu
#define IW_HUNT_TO(k) ((uint64_t)(k) << 20)

struct iw_hunt_step {
    uint8_t kind; /* enum iw_fuzz_kind */
    uint32_t length;
    uint8_t *octets; /* owned; TIME: two octets */
};

struct iw_hunt_input {
    uint8_t settings[IW_FUZZ_SETTINGS];
    uint64_t began, ended; /* ns, iw_transport_now(): of its run; 0: it had none */
    uint64_t answered;     /* ... when the peer said the last thing in it; 0: nothing */
    size_t n;
    struct iw_hunt_step steps[IW_HUNT_STEPS];
};

/* Each of these returns a new input; free it with iw_hunt_input_free. */
struct iw_hunt_input *iw_hunt_input_new(void);
struct iw_hunt_input *iw_hunt_input_read(const uint8_t *octets, size_t length);
struct iw_hunt_input *iw_hunt_input_copy(const struct iw_hunt_input *in);
void iw_hunt_input_free(struct iw_hunt_input *in);
void iw_hunt_inputs_free(struct iw_hunt_input **inputs, size_t n);
/* Writes the form of ../input/input.h; leaves out what does not fit into `room`. Returns the octets
 * written. */
size_t iw_hunt_input_write(const struct iw_hunt_input *in, uint8_t *octets, size_t room);
/* Returns whether both have the same steps. */
bool iw_hunt_input_same(const struct iw_hunt_input *a, const struct iw_hunt_input *b);
/* Returns the FNV-1a of all steps, continuing `digest`; start with IW_HUNT_DIGEST. */
#define IW_HUNT_DIGEST 0xcbf29ce484222325u
uint64_t iw_hunt_input_digest(uint64_t digest, const struct iw_hunt_input *in);
/* Returns the octets of all steps. */
size_t iw_hunt_input_size(const struct iw_hunt_input *in);

/* Each of these leaves the input unchanged if it would get too long. */
void iw_hunt_insert(struct iw_hunt_input *in, size_t at, uint8_t kind, const void *octets,
                    size_t length);
void iw_hunt_add(struct iw_hunt_input *in, uint8_t kind, const void *octets, size_t length);
void iw_hunt_add_time(struct iw_hunt_input *in, unsigned ms);
void iw_hunt_insert_time(struct iw_hunt_input *in, size_t at, unsigned ms);
void iw_hunt_drop(struct iw_hunt_input *in, size_t at, size_t count);
/* Splits step `at` after its first `length` octets. */
void iw_hunt_split(struct iw_hunt_input *in, size_t at, size_t length);

/* Returns whether a step sends octets. */
static inline bool iw_hunt_sends(const struct iw_hunt_step *step)
{
    return step->kind == IW_FUZZ_A || step->kind == IW_FUZZ_B || step->kind == IW_FUZZ_AT;
}

/* Returns true if these octets are one whole regular FPDU without Markers. */
bool iw_hunt_regular(const uint8_t *octets, size_t length);
/* Writes a regular FPDU of this ULPDU to `out`, which has room for iw_wire_fpdu_size. Returns its
 * octets. */
size_t iw_hunt_fpdu(const uint8_t *ulpdu, size_t length, uint8_t *out);
/* Returns the octets of the Request or Reply with which the input begins; 0 if its header is not
 * whole or is none. */
size_t iw_hunt_startup_size(const uint8_t *octets, size_t length);

#endif
