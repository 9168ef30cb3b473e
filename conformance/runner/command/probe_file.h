/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_PROBE_FILE_H
#define IW_RUNNER_PROBE_FILE_H

/* What a probe has found out about a peer, and the target file that says it. */

#include <stdio.h>
#include <time.h>

#include "target/target_spec.h"

/* Lines of the file, and what the peer can do or not. */
enum { IW_FOUND_LINES, IW_FOUND_CAN, IW_FOUND_CANNOT, IW_FOUND_LISTS };

/* Initialise with zeros. */
struct iw_probed {
    char **lists[IW_FOUND_LISTS]; /* each ends with NULL */
    bool ends;                    /* the program that was started ends after each connection */
};

/* Takes the notes of a case, in the words of lib/probe.lua; NULL: none. */
void iw_probed_take(struct iw_probed *f, const char *notes);
/* Writes the target file: what the user has said in `spec` stands before what was found. */
void iw_probed_write(FILE *out, const struct iw_target_spec *spec, const struct iw_probed *f,
                     time_t now);
void iw_probed_free(struct iw_probed *f);

#endif
