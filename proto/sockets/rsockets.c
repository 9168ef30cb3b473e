/* SPDX-License-Identifier: BSD-3-Clause */
#include "rsockets.h"

#include "verbs_extra.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct iw_rsockets functions;
static bool found;

static bool find(void *library)
{
    const char *missing = NULL;
#define IW_FIND(result, name, parameters)                                                          \
    {                                                                                              \
        void *symbol = dlsym(library, #name);                                                      \
        if (symbol == NULL)                                                                        \
            missing = #name;                                                                       \
        memcpy(&functions.name, &symbol, sizeof(symbol));                                          \
    }
    IW_RSOCKETS_FUNCTIONS(IW_FIND)
#undef IW_FIND
    if (missing != NULL)
        fprintf(stderr, "iwarp-sockets: librdmacm.so.1 has no %s\n", missing);
    return missing == NULL;
}

static void load(void)
{
    void *library = dlopen("librdmacm.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        fprintf(stderr, "iwarp-sockets: %s\n", dlerror());
    else
        found = find(library);
    if (found)
        iw_verbs_be_gentle();
}

const struct iw_rsockets *iw_rsockets(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (found)
        return &functions;
    errno = ENOSYS;
    return NULL;
}
