/* SPDX-License-Identifier: BSD-3-Clause */
/* For libFuzzer, and for every engine that calls LLVMFuzzerTestOneInput. */
#include "fuzz.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t length);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
#ifdef __GLIBC__
    /* Do not fetch large blocks from the kernel anew for each input. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
    if (iw_fuzz_harness.start != NULL)
        iw_fuzz_harness.start();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t length)
{
    iw_fuzz_harness.run(octets, length < iw_fuzz_harness.most ? length : iw_fuzz_harness.most);
    return 0;
}
