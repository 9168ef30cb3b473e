/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC32c through iw_crc32c_best against ISA-L's own function, in turn: for tools/bench_perf.py,
 * which compiles it with perf_stats.c. Each line: octets, median ratio of the speeds, GB/s of ours.
 */
#include "iwarp/crc32c.h"

#include <isa-l/crc.h>
#include <stdio.h>

#include "perf/perf.h"

enum { ROUNDS = 41, OCTETS = 16 << 20 };

static uint8_t buffer[65536];
static volatile uint32_t sink;

/* ISA-L's, as an iw_crc32c_fn. */
static uint32_t isal(uint32_t crc, const void *octets, size_t length)
{
    return crc32_iscsi((unsigned char *)(uintptr_t)octets, (int)length, crc);
}

static double seconds(iw_crc32c_fn crc32c, size_t size)
{
    double began = perf_seconds();
    for (size_t done = 0; done < OCTETS; done += size)
        sink += crc32c(IW_CRC32C_INIT, buffer, size);
    return perf_seconds() - began;
}

int main(void)
{
    static const size_t sizes[] = {1460, 4096, 16384, 65536};
    iw_crc32c_fn best = iw_crc32c_best();
    for (size_t i = 0; i < sizeof(buffer); i++)
        buffer[i] = (uint8_t)(i * 31 + i / 257);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        double ratio[ROUNDS], time[ROUNDS];
        (void)seconds(best, sizes[i]);
        for (int round = 0; round < ROUNDS; round++) {
            double other = round % 2 ? seconds(isal, sizes[i]) : 0;
            time[round] = seconds(best, sizes[i]);
            ratio[round] = (round % 2 ? other : seconds(isal, sizes[i])) / time[round];
        }
        printf("%zu %.3f %.2f\n", sizes[i], perf_spread(ratio, ROUNDS).median,
               OCTETS / perf_spread(time, ROUNDS).median * 1e-9);
    }
    return 0;
}
