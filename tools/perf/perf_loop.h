/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_PERF_LOOP_H
#define IW_PERF_LOOP_H

#include "iwarp/endpoint_transport.h"

enum { IW_LOOP_ROUNDS_MAX = 1000 };

struct iw_loop_options {
    uint64_t size, total, rounds, mulpdu, window;
    bool sends, crc, markers, portable_crc;
    double max_ratio, min_rate; /* 0: no limit */
};

/* Measures and prints. Returns the program's exit status: 0, 1 (a limit was missed), 70 (an error).
 */
int iw_loop_run(const struct iw_loop_options *options);

#endif
