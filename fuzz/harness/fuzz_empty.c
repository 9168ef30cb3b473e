/* SPDX-License-Identifier: BSD-3-Clause */
/* Does nothing: measures the cost of the engine itself, for fuzz/bench.py to compare with. */
#include "engine/fuzz.h"

static void run(const uint8_t *octets, size_t length)
{
    (void)octets;
    (void)length;
}

const struct iw_fuzz_harness iw_fuzz_harness = {.name = "empty", .most = 4096, .run = run};
