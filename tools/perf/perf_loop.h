/* SPDX-License-Identifier: BSD-3-Clause */
/* The two uses of iwarp-perf loop, neither of which needs a socket: to measure two endpoints, and
 * to make up a capture. */
#ifndef IW_PERF_LOOP_H
#define IW_PERF_LOOP_H

#include <stdbool.h>
#include <stdint.h>

enum { IW_LOOP_ROUNDS_MAX = 1000 };

enum iw_loop_traffic { IW_LOOP_MIXED, IW_LOOP_WRITES, IW_LOOP_SENDS };

struct iw_loop_options {
    uint64_t size;  /* octets of a message */
    uint64_t total; /* octets of all messages */
    bool crc, markers;

    /* of a measurement */
    uint64_t rounds, mulpdu, window;
    bool sends, portable_crc;
    double max_ratio, min_rate; /* 0: no limit */

    /* of a capture */
    const char *path;             /* NULL: measure */
    enum iw_loop_traffic traffic; /* mixed: Writes and Reads take turns */
    uint64_t mss;                 /* octets of a segment, which is one FPDU if `fpdu` is 0 */
    uint64_t fpdu;                /* octets of an FPDU; segments are cut from them as they fall */
    uint64_t connections;         /* they take turns, too, */
    uint64_t burst;               /* each for this many FPDUs */
    uint64_t port;                /* of the responder */
};

/* Measures and prints. Returns the program's exit status: 0, 1 (a limit was missed), 70 (an error).
 */
int iw_loop_run(const struct iw_loop_options *options);
/* Writes the capture. Returns the program's exit status: 0, 70 (an error). */
int iw_record_run(const struct iw_loop_options *options);

#endif
