/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf.h"

#include <stdlib.h>

#include "host/clock.h"
#include "host/number.h"
#include "host/proc_tables.h"

double perf_seconds(void)
{
    return (double)iw_clock_now() * 1e-9;
}

double perf_cpu_seconds(void)
{
    return (double)iw_clock_cpu() * 1e-9;
}

uint64_t perf_resident(void)
{
    const struct iw_proc_memory memory = iw_proc_memory(0);
    return (memory.resident - memory.shared) / 1024;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct perf_spread perf_spread(double *values, size_t count)
{
    if (count == 0)
        return (struct perf_spread){0, 0, 0};
    qsort(values, count, sizeof(*values), ascending);
    return (struct perf_spread){(values[(count - 1) / 2] + values[count / 2]) / 2, values[0],
                                values[count - 1]};
}

double perf_quantile(const double *sorted, size_t count, unsigned share)
{
    return count == 0 ? 0 : sorted[iw_number_place(count, share)];
}
