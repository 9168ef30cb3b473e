/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_PERF_RECORD_H
#define IW_PERF_RECORD_H

#include <stdbool.h>
#include <stdint.h>

enum iw_record_traffic { IW_RECORD_MIXED, IW_RECORD_WRITES, IW_RECORD_SENDS };

struct iw_record_options {
    const char *path;
    uint64_t size;                  /* octets of a message */
    uint64_t total;                 /* octets of all messages */
    enum iw_record_traffic traffic; /* mixed: Writes and Reads take turns */
    uint64_t mss;                   /* octets of a segment, which is one FPDU if `fpdu` is 0 */
    uint64_t fpdu;                  /* octets of an FPDU; segments are cut from them as they fall */
    uint64_t connections;           /* they take turns, too, */
    uint64_t burst;                 /* each for this many FPDUs */
    uint64_t port;                  /* of the responder */
    bool crc, markers;
};

/* Writes the capture. Returns the program's exit status: 0, 70 (an error). */
int iw_record_run(const struct iw_record_options *options);

#endif
