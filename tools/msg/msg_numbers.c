/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg_numbers.h"

#include "host/complain.h"
#include "host/number.h"
#include "host/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool read_range(const char *range, uint64_t *first, uint64_t *last)
{
    const char *dash = strchr(range, '-');
    if (dash == NULL) {
        const bool good = iw_number(range, 0, UINT32_MAX, first);
        *last = *first;
        return good;
    }
    char *begin = iw_got(strndup(range, (size_t)(dash - range)));
    const bool good =
        iw_number(begin, 0, UINT32_MAX, first) && iw_number(dash + 1, *first, UINT32_MAX, last);
    free(begin);
    return good;
}

int msg_numbers_read(char *const *ranges, size_t range_count, uint32_t **numbers, size_t *count)
{
    uint64_t first = 0, last = 0;
    *numbers = NULL;
    *count = 0;
    for (size_t i = 0; i < range_count; i++) {
        const bool good = read_range(ranges[i], &first, &last);
        if (!good || last - first >= MSG_NUMBERS_MOST - *count) {
            free(*numbers);
            *numbers = NULL;
            return good ? iw_complain_exit(IW_EXIT_USAGE, "%s: expected at most %d numbers",
                                           ranges[i], MSG_NUMBERS_MOST)
                        : iw_complain_exit(IW_EXIT_USAGE,
                                           "%s: expected the number of a service, 0 to 4294967295, "
                                           "or a range of them",
                                           ranges[i]);
        }
        *numbers =
            iw_got(realloc(*numbers, (*count + (size_t)(last - first) + 1) * sizeof(**numbers)));
        for (uint64_t n = first; n <= last; n++)
            (*numbers)[(*count)++] = (uint32_t)n;
    }
    return -1;
}
