/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_REPORTS_H
#define IW_HUNT_REPORTS_H

/* What a peer's log says of faults in it: all reports of sanitizers and the like, distinguished by
 * their cause. */

#include <stddef.h>

#include "target/crash.h"

enum {
    IW_HUNT_REPORTS = 8 /* of one life of the peer, with different causes */,
    IW_HUNT_CAUSE = 256
};

struct iw_hunt_report {
    char cause[IW_HUNT_CAUSE]; /* "AddressSanitizer: heap-buffer-overflow in parse" */
    char text[IW_CRASH_TEXT];  /* the same with the place in the source */
};

struct iw_hunt_reports {
    struct iw_hunt_report list[IW_HUNT_REPORTS]; /* in the order in which each came first */
    size_t n;
    size_t last; /* which of them came last; valid if n is not 0 */
    long at;     /* octets of the log that were read */
};

/* Forgets all reports, and what the log (NULL: none) has so far. */
void iw_hunt_reports_begin(struct iw_hunt_reports *r, const char *log);
/* Reads on. What a peer is still writing may be cut off: read on once it has ended, or has answered
 * since. */
void iw_hunt_reports_read(struct iw_hunt_reports *r, const char *log);
/* Returns the report with this cause, or NULL. */
const struct iw_hunt_report *iw_hunt_reports_find(const struct iw_hunt_reports *r,
                                                  const char *cause);

#endif
