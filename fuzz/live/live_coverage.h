/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_COVERAGE_H
#define IW_HUNT_COVERAGE_H

/* Shared by the fuzzer and the peer: the name of a file with one octet for each place. */
#define IW_HUNT_COVERAGE_FILE "IWARP_FUZZ_COVERAGE"
#define IW_HUNT_COVERAGE_PLACES (1u << 16)

#endif
