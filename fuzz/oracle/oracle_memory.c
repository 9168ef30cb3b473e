/* SPDX-License-Identifier: BSD-3-Clause */
#include "oracle_memory.h"

#include <string.h>

static uint8_t fresh[IW_FUZZ_MEMORY];

void iw_fuzz_memory_start(struct iw_fuzz_memory *m)
{
    uint64_t random = 1;

    for (size_t i = 0; i < sizeof(fresh); i++)
        fresh[i] = (uint8_t)iw_fuzz_next(&random);
    m->fresh = fresh;
    iw_fuzz_memory_reset(m);
}

void iw_fuzz_memory_reset(struct iw_fuzz_memory *m)
{
    memcpy(m->octets, m->fresh, sizeof(m->octets));
    memcpy(m->model, m->fresh, sizeof(m->model));
    memset(m->loose, 0, sizeof(m->loose));
}

static void check(const struct iw_fuzz_memory *m, size_t at, size_t length, const char *who)
{
    for (size_t i = at; i < at + length; i++)
        IW_FUZZ_CHECK(m->loose[i] != 0 || m->octets[i] == m->model[i],
                      "%s: octet %zu of its memory is 0x%02x and ought to be 0x%02x", who, i,
                      m->octets[i], m->model[i]);
}

void iw_fuzz_memory_loosen(struct iw_fuzz_memory *m, size_t at, size_t length)
{
    check(m, at, length, "a buffer being posted");
    iw_fuzz_memory_pardon(m, at, length);
}

void iw_fuzz_memory_fasten(struct iw_fuzz_memory *m, size_t at, size_t length)
{
    for (size_t i = at; i < at + length; i++)
        if (--m->loose[i] == 0)
            m->model[i] = m->octets[i];
}

void iw_fuzz_memory_pardon(struct iw_fuzz_memory *m, size_t at, size_t length)
{
    for (size_t i = at; i < at + length; i++)
        m->loose[i]++;
}

void iw_fuzz_memory_expect(struct iw_fuzz_memory *m, size_t at, size_t length)
{
    for (size_t i = at; i < at + length; i++)
        m->loose[i]--;
}

void iw_fuzz_memory_write(struct iw_fuzz_memory *m, size_t at, const uint8_t *octets, size_t length)
{
    if (length > 0)
        memcpy(m->model + at, octets, length);
}

void iw_fuzz_memory_check(const struct iw_fuzz_memory *m, const char *who)
{
    for (size_t i = 0; i < IW_FUZZ_MEMORY; i += 64)
        if (memcmp(m->octets + i, m->model + i, 64) != 0)
            check(m, i, 64, who);
}
