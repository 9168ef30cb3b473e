/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_COVERAGE_H
#define IW_HUNT_COVERAGE_H

/* What the fuzzer and the peer agree on: a file of that many octets, one for each place. */
#define IW_HUNT_COVERAGE_FILE "IWARP_FUZZ_COVERAGE"
#define IW_HUNT_COVERAGE_PLACES (1u << 16)

#endif
