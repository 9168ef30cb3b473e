/* SPDX-License-Identifier: BSD-3-Clause */
/* For libFuzzer, and for every engine that calls LLVMFuzzerTestOneInput. */
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t length);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    if (iw_fuzz_harness.start != NULL)
        iw_fuzz_harness.start();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t length)
{
    iw_fuzz_harness.run(octets, length < iw_fuzz_harness.most ? length : iw_fuzz_harness.most);
    return 0;
}
