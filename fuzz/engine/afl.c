/* SPDX-License-Identifier: BSD-3-Clause */
/* For AFL++: persistent mode, test cases in shared memory. */
#include "fuzz.h"

#include <unistd.h>

enum { INPUTS = 100000 }; /* of one process, before the fork server makes a fresh one */

__AFL_FUZZ_INIT();

int main(void)
{
    if (iw_fuzz_harness.start != NULL)
        iw_fuzz_harness.start();
    __AFL_INIT();
    const uint8_t *octets = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(INPUTS)) {
        size_t length = (size_t)(__AFL_FUZZ_TESTCASE_LEN);
        iw_fuzz_harness.run(octets, length < iw_fuzz_harness.most ? length : iw_fuzz_harness.most);
    }
    return 0;
}
