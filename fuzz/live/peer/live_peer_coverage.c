/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Linked into a peer that is built with -fsanitize-coverage=trace-pc-guard (clang) or trace-pc
 * (gcc), it reports to iwarp-fuzz --coverage which places were reached: one octet each, in the file
 * that the environment variable IWARP_FUZZ_COVERAGE names. Without the variable it does nothing.
 * Build this file itself without coverage.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../live_coverage.h"

/* The compiler's names. NOLINTBEGIN(bugprone-reserved-identifier) */
void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
void __sanitizer_cov_trace_pc_guard(uint32_t *guard);
void __sanitizer_cov_trace_pc(void);
/* NOLINTEND(bugprone-reserved-identifier) */

static uint8_t *map;

__attribute__((constructor)) static void share(void)
{
    const char *path = getenv(IW_HUNT_COVERAGE_FILE);
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *memory =
        fd < 0 ? MAP_FAILED
               : mmap(NULL, IW_HUNT_COVERAGE_PLACES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd >= 0)
        close(fd);
    if (memory != MAP_FAILED)
        map = memory;
}

void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop)
{
    static uint32_t number;
    for (uint32_t *guard = start; guard < stop; guard++)
        if (!*guard)
            *guard = ++number;
}

void __sanitizer_cov_trace_pc_guard(uint32_t *guard)
{
    if (map != NULL)
        map[*guard % IW_HUNT_COVERAGE_PLACES] = 1;
}

void __sanitizer_cov_trace_pc(void)
{
    uintptr_t at = (uintptr_t)__builtin_return_address(0);

    if (map != NULL)
        map[(at ^ at >> 16) % IW_HUNT_COVERAGE_PLACES] = 1;
}
