/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC32c through iw_crc32c_best against ISA-L's own function, in turn: for tools/bench_perf.py,
 * which compiles it. Each line: octets, median ratio of the speeds, GB/s of ours. */
#include "iwarp/crc32c.h"

#include <isa-l/crc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 41, OCTETS = 16 << 20 };

static uint8_t buffer[65536];
static volatile uint32_t sink;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double ours(iw_crc32c_fn crc32c, size_t size)
{
    double began = seconds();
    for (size_t done = 0; done < OCTETS; done += size)
        sink += crc32c(IW_CRC32C_INIT, buffer, size);
    return seconds() - began;
}

static double theirs(size_t size)
{
    double began = seconds();
    for (size_t done = 0; done < OCTETS; done += size)
        sink += crc32_iscsi(buffer, (int)size, IW_CRC32C_INIT);
    return seconds() - began;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    static const size_t sizes[] = {1460, 4096, 16384, 65536};
    iw_crc32c_fn crc32c = iw_crc32c_best();
    for (size_t i = 0; i < sizeof buffer; i++)
        buffer[i] = (uint8_t)(i * 31 + i / 257);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double ratio[ROUNDS], time[ROUNDS];
        (void)ours(crc32c, sizes[i]);
        for (int round = 0; round < ROUNDS; round++) {
            double other = round % 2 ? theirs(sizes[i]) : 0;
            time[round] = ours(crc32c, sizes[i]);
            ratio[round] = (round % 2 ? other : theirs(sizes[i])) / time[round];
        }
        qsort(ratio, ROUNDS, sizeof *ratio, ascending);
        qsort(time, ROUNDS, sizeof *time, ascending);
        printf("%zu %.3f %.2f\n", sizes[i], ratio[ROUNDS / 2], OCTETS / time[ROUNDS / 2] * 1e-9);
    }
    return 0;
}
