/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_extra.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static struct iw_verbs_fork fork_functions;
static bool found;

static bool find(void *function, size_t size, const char *name)
{
    void *symbol = dlvsym(RTLD_DEFAULT, name, "IWARP_1.0");
    memcpy(function, &symbol, size);
    return symbol != NULL;
}

static void find_all(void)
{
    struct iw_verbs_fork *f = &fork_functions;
    found = find(&f->keep, sizeof(f->keep), "iwarp_fork_keep") &&
            find(&f->take, sizeof(f->take), "iwarp_fork_take") &&
            find(&f->leave, sizeof(f->leave), "iwarp_fork_leave");
}

const struct iw_verbs_fork *iw_verbs_fork(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_all);
    return found ? &fork_functions : NULL;
}
