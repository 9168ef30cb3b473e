/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_extra.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static struct iw_verbs_fork fork_functions;
static struct iw_verbs_mixed mixed_functions;
static struct iw_verbs_series series_functions;
static bool found, found_mixed, found_series;
static pthread_once_t once = PTHREAD_ONCE_INIT;

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
    struct iw_verbs_mixed *m = &mixed_functions;
    found_mixed = find(&m->begin, sizeof(m->begin), "iwarp_mixed_begin") &&
                  find(&m->end, sizeof(m->end), "iwarp_mixed_end");
    struct iw_verbs_series *s = &series_functions;
    found_series = find(&s->begin, sizeof(s->begin), "iwarp_series_begin") &&
                   find(&s->end, sizeof(s->end), "iwarp_series_end");
}

const struct iw_verbs_fork *iw_verbs_fork(void)
{
    pthread_once(&once, find_all);
    return found ? &fork_functions : NULL;
}

const struct iw_verbs_mixed *iw_verbs_mixed(void)
{
    pthread_once(&once, find_all);
    return found_mixed ? &mixed_functions : NULL;
}

const struct iw_verbs_series *iw_verbs_series(void)
{
    pthread_once(&once, find_all);
    return found_series ? &series_functions : NULL;
}

void iw_verbs_be_gentle(void)
{
    void (*ask)(void);
    if (find(&ask, sizeof(ask), "iwarp_ports_release_at_once"))
        ask();
    if (find(&ask, sizeof(ask), "iwarp_receives_spare"))
        ask();
}
