/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_PERF_RECORD_H
#define IW_PERF_RECORD_H

#include <stdbool.h>
#include <stdint.h>

struct iw_record_options {
    const char *path;
    uint64_t size;        /* octets of a message */
    uint64_t total;       /* octets of all messages: Writes and Reads take turns */
    uint64_t mss;         /* octets of a segment, which is one FPDU */
    uint64_t connections; /* they take turns, too, */
    uint64_t burst;       /* each for so many segments */
    bool crc, markers;
};

/* Writes the capture; the program's exit status: 0, 70 (it went wrong). */
int iw_record_run(const struct iw_record_options *options);

#endif
