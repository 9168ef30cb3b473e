/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/crc32c.h"

#ifdef IW_HAVE_ISAL

#include <isa-l/crc.h>

/* ISA-L counts in int and takes its input without const. */
#define ISAL_STEP_MAX ((size_t)1 << 30)

static uint32_t isal(uint32_t state, const void *data, size_t length)
{
    unsigned char *octets = (unsigned char *)data;

    while (length > 0) {
        size_t step = length < ISAL_STEP_MAX ? length : ISAL_STEP_MAX;

        state = crc32_iscsi(octets, (int)step, state);
        octets += step;
        length -= step;
    }
    return state;
}

iw_crc32c_fn iw_crc32c_best(void)
{
    return isal;
}

#else

iw_crc32c_fn iw_crc32c_best(void)
{
    return iw_crc32c_portable;
}

#endif
