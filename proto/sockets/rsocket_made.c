/* SPDX-License-Identifier: BSD-3-Clause */
#include "rsocket_made.h"

#include "libc_next.h"

#include <stdbool.h>

static _Thread_local bool inside;
static _Thread_local int first; /* -1: none yet */

void iw_made_begin(void)
{
    inside = true;
    first = -1;
}

int iw_made_end(void)
{
    inside = false;
    return first;
}

IW_INTERPOSED int socketpair(int domain, int type, int protocol, int pair[2])
{
    const int result = iw_libc()->socketpair(domain, type, protocol, pair);
    if (inside && result == 0 && first < 0)
        first = pair[0];
    return result;
}
