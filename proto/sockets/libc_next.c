/* SPDX-License-Identifier: BSD-3-Clause */
#include "libc_next.h"

#include <dlfcn.h>
#include <string.h>

struct iw_libc iw_libc_functions;
atomic_bool iw_libc_found;

/* Threads that come here at the same time write the same values. */
void iw_libc_find(void)
{
#define IW_FIND(result, name, parameters)                                                          \
    {                                                                                              \
        void *found = dlsym(RTLD_NEXT, #name);                                                     \
        memcpy(&iw_libc_functions.name, &found, sizeof(found));                                    \
    }
    IW_LIBC_FUNCTIONS(IW_FIND)
#undef IW_FIND
    atomic_store_explicit(&iw_libc_found, true, memory_order_release);
}
