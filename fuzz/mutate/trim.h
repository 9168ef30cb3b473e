/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_MUTATE_TRIM_H
#define IW_FUZZ_MUTATE_TRIM_H

/*
 * Makes an input smaller. The caller judges the result: the engine (same coverage?), the minimiser
 * (still failing?), or iwarp-fuzz (does the peer do it again?).
 *
 *     iw_mutate_trim_begin(&t, data, size);
 *     while (iw_mutate_trim_try(&t, out, room, &length))
 *         iw_mutate_trim_verdict(&t, judge(out, length));
 *     length = iw_mutate_write(&t.best, out, room);
 *
 * It leaves out rows of parts, halves first, then single ones, with MSNs and MOs renumbered and
 * then without; joins steps; shortens payloads and private data; and leaves headers alone. An
 * attempt is never larger than the best so far.
 */

#include "mutate/mutate.h"

enum iw_mutate_trim_stage {
    IW_MUTATE_TRIM_DROP,   /* `width` parts from `at` on, renumbered */
    IW_MUTATE_TRIM_CUTS,   /* the cuts of part `at` */
    IW_MUTATE_TRIM_JOIN,   /* part `at` with the one before it */
    IW_MUTATE_TRIM_SHORT,  /* payload of part `at`: half of it, then less */
    IW_MUTATE_TRIM_REPAIR, /* all FPDUs right, then all start-up frames */
    IW_MUTATE_TRIM_DONE
};

struct iw_mutate_trim {
    struct iw_mutate_script best, tried;
    enum iw_mutate_trim_stage stage;
    size_t at, width;
    bool plain;   /* DROP: not renumbered */
    size_t most;  /* octets of what was begun with: no attempt has more */
    size_t tries; /* so far */
};

/* Returns false if the input is not a script. The caller sets t->best.single, as for
 * iw_mutate_read. */
bool iw_mutate_trim_begin(struct iw_mutate_trim *t, const uint8_t *data, size_t size);
/* Writes the next attempt to `out`. Returns false if there is none left. */
bool iw_mutate_trim_try(struct iw_mutate_trim *t, uint8_t *out, size_t room, size_t *length);
/* Reports whether the attempt was as good as the best: then it becomes the best. */
void iw_mutate_trim_verdict(struct iw_mutate_trim *t, bool good);

#endif
