/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_SERIES_FOUND_H
#define IW_TESTS_SERIES_FOUND_H

/* The functions of a series of calls (verbs/call_series.h), looked up in the library by their
 * version, as sockets/ does. Include from one source of a test. */

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static void (*begin_series)(void), (*end_series)(void);

/* As a test's group set-up. */
static inline int find_functions(void **state)
{
    void *begin = dlvsym(RTLD_DEFAULT, "iwarp_series_begin", "IWARP_1.0");
    void *end = dlvsym(RTLD_DEFAULT, "iwarp_series_end", "IWARP_1.0");
    (void)state;
    memcpy(&begin_series, &begin, sizeof(begin));
    memcpy(&end_series, &end, sizeof(end));
    return begin != NULL && end != NULL ? 0 : -1;
}

#endif
