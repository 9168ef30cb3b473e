/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUN_LIBRARY_H
#define IW_RUN_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iwarp/rules.h"

/* What the library is asked to do. */
struct run_settings {
    bool crc, markers, rtr, responder_first, verbose, judge;
    uint8_t revision;
    uint32_t mulpdu;   /* 0: from the EMSS */
    uint32_t spin;     /* us of polling before a wait sleeps */
    uint64_t capture;  /* octets, with `judge`; 0: none */
    const char *trace; /* file; NULL: no trace */
    struct iw_switches switches;
};

/* Has the library, which lies beside this program's folder, and with `sockets` that of sockets as
 * well, preloaded into what is executed from now on. Returns 0, or -1 with the reason in `error`.
 */
int run_preload(bool sockets, char *error, size_t room);
/* Passes the settings on, in IWARP_VERBS and IWARP_RUN_TRACE; empties the trace. Returns as above.
 */
int run_pass_settings(const struct run_settings *settings, char *error, size_t room);

#endif
