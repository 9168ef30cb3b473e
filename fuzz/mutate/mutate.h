/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_MUTATE_H
#define IW_FUZZ_MUTATE_H

/*
 * mutate/: mutates inputs of the fuzzers with knowledge of MPA, DDP and RDMAP. No I/O, no
 * allocation, no state except what the caller passes: the same octets and the same seed give the
 * same result everywhere. The engines' glue (mutate_libfuzzer.c, mutate_afl.c), the minimiser and
 * iwarp-fuzz all use it.
 *
 * An input of a stateful harness (fuzz/input/input.h: settings, then steps) is read into parts:
 * start-up frames, FPDUs, octets that are neither, and steps without octets of a stream. A part
 * has its octets and its deviations from correct ones: CRC, ULPDU_Length, a Marker. Writing
 * computes all of them anew, so that they are correct wherever no deviation is wanted.
 */

#include "input/local.h"
#include "mutate/random.h"

/* Bounds of one script. Reading reports what does not fit; a change that finds no room does
 * nothing. */
enum { IW_MUTATE_PARTS = 1024, IW_MUTATE_CUTS = 14 };
#define IW_MUTATE_ARENA (1024u * 1024u)
#define IW_MUTATE_INPUT_MAX (256u * 1024u) /* octets of an input that iw_mutate_read takes */

enum { IW_MUTATE_STEP_MAX = 65535 };

enum iw_mutate_kind {
    IW_MUTATE_STARTUP, /* octets: the frame with its private data */
    IW_MUTATE_FPDU,    /* octets: the ULPDU */
    IW_MUTATE_OCTETS,  /* of a stream, but none of the above */
    IW_MUTATE_OTHER    /* octets: the body of a step of any other kind */
};

struct iw_mutate_part {
    uint8_t kind; /* enum iw_mutate_kind */
    uint8_t
        step; /* the octet that says its kind of step; IW_FUZZ_A or IW_FUZZ_B if it is no OTHER */
    bool joined; /* its first octet lies in the step of the part before it, if that has the same
                    kind */
    uint8_t
        cuts; /* a new step begins at each of these offsets, which ascend, into what is written */
    uint16_t cut[IW_MUTATE_CUTS]; /* 0 is none */
    uint32_t at, length;          /* its octets: script->octets + at */
    /* FPDU: */
    uint8_t pad[3];
    uint16_t stated; /* added to ULPDU_Length, modulo 2^16 */
    uint32_t crc;    /* the CRC field is xored with it */
    uint16_t marker; /* this Marker of the FPDU, counted from 0, ... */
    uint32_t bend;   /* ... is xored with this */
};

/* Memory of whoever reads the input: its STag and the edges that its TOs have are worth a try. */
struct iw_mutate_region {
    uint32_t stag;
    uint64_t to;
    uint32_t length;
};

struct iw_mutate_script {
    /* As struct iw_fuzz_harness says; these are the caller's, before reading. */
    bool single;                            /* steps of IW_FUZZ_A and IW_FUZZ_B are of one stream */
    bool commands;                          /* they are of none: all parts are OTHER */
    const struct iw_mutate_region *regions; /* NULL: those of the harnesses (input/local.h) */
    size_t n_regions;
    uint8_t settings[IW_FUZZ_SETTINGS];
    bool markers[2]; /* the FPDUs of this side have Markers; this and the next as it reads best,
                        free to be changed */
    bool crc;        /* there are CRCs, else the field's right value is zero */
    size_t count;
    size_t used; /* octets in use; those of parts that were dropped are not reclaimed */
    struct iw_mutate_part part[IW_MUTATE_PARTS];
    uint8_t octets[IW_MUTATE_ARENA];
};

/* Returns the stream that a part of octets belongs to. */
static inline unsigned iw_mutate_side(const struct iw_mutate_script *s,
                                      const struct iw_mutate_part *p)
{
    return s->single ? 0 : p->step & 1u;
}

/* Reads `size` octets; anything is an input (a step that is cut short has the octets that are
 * there). Returns false if there are more octets or parts than fit; *s is void then. */
bool iw_mutate_read(struct iw_mutate_script *s, const uint8_t *data, size_t size);

/* Writes the input to `out`: whole parts as long as they fit into `room` octets. Returns the octets
 * written. An unchanged script comes out as it was read if no other step lay inside an FPDU or
 * start-up frame, none had more than IW_MUTATE_CUTS cuts or more than one bent Marker. */
size_t iw_mutate_write(const struct iw_mutate_script *s, uint8_t *out, size_t room);

/* Writes the octets of one part as on its stream, `pos` octets after the side's last start-up
 * frame, without headers of steps. Returns their number, 0 if `room` is too small. */
size_t iw_mutate_frame(const struct iw_mutate_script *s, const struct iw_mutate_part *p,
                       uint64_t pos, uint8_t *out, size_t room);

/* ---- building ---- */

/* Makes *to a copy of *from. */
void iw_mutate_duplicate(struct iw_mutate_script *to, const struct iw_mutate_script *from);
/* Puts a part with a copy of `length` octets before part `at` (at most s->count), all else zero.
 * Returns false, and changes nothing, if there is no room. */
bool iw_mutate_insert(struct iw_mutate_script *s, size_t at, enum iw_mutate_kind kind,
                      unsigned step, const void *octets, size_t length);
/* Puts a copy of part `from` before part `to`. Returns as above. */
bool iw_mutate_copy(struct iw_mutate_script *s, size_t from, size_t to);
void iw_mutate_drop(struct iw_mutate_script *s, size_t at, size_t count);
void iw_mutate_swap(struct iw_mutate_script *s, size_t a, size_t b);

/* ---- changing ---- */

/* Someone else's mutator of plain octets (LLVMFuzzerMutate): changes data, at most `most` octets,
 * in place and returns the new size. */
typedef size_t (*iw_mutate_octets_fn)(uint8_t *data, size_t size, size_t most);

/* Changes a few of `size` octets in place. Returns the new size, at most `most`. */
size_t iw_mutate_havoc(struct iw_mutate_random *r, uint8_t *data, size_t size, size_t most);

/* Makes one to a few changes, then repairs each of CRC, ULPDU_Length, Markers, start-up frames and
 * MSNs most of the time. `octets` (may be NULL) now and then changes the octets of a part. */
void iw_mutate_change(struct iw_mutate_script *s, struct iw_mutate_random *r,
                      iw_mutate_octets_fn octets);
/* Takes some parts of `other` into `s`; the same repairs. */
void iw_mutate_cross(struct iw_mutate_script *s, const struct iw_mutate_script *other,
                     struct iw_mutate_random *r);

/* Changes one field of a ULPDU of *size octets in place (room for `most`). Numbers that `s` (may be
 * NULL) has elsewhere are likely values. */
void iw_mutate_ulpdu(struct iw_mutate_random *r, const struct iw_mutate_script *s, uint8_t *ulpdu,
                     size_t *size, size_t most);
/* Changes one field of a start-up frame in the same way. */
void iw_mutate_startup(struct iw_mutate_random *r, uint8_t *frame, size_t *size, size_t most);
/* Writes a well-formed ULPDU of any opcode. Returns its octets, 0 if `room` is under 128. Numbers
 * as above. */
size_t iw_mutate_make(struct iw_mutate_random *r, const struct iw_mutate_script *s, uint8_t *ulpdu,
                      size_t room);

/* ---- repairing ---- */

/* Numbers the untagged messages of each side and queue from 1 on (RFC 5041 §5.3), a message ending
 * with L. */
void iw_mutate_renumber(struct iw_mutate_script *s);
/* Makes the MO of each segment the octets of its message before it. */
void iw_mutate_reoffset(struct iw_mutate_script *s);
/* Gives every start-up frame a correct PD_Length. */
void iw_mutate_repair_startups(struct iw_mutate_script *s);
/* Repairs CRCs, lengths and Markers everywhere. */
void iw_mutate_repair_fpdus(struct iw_mutate_script *s);

#endif
