/* SPDX-License-Identifier: BSD-3-Clause */
#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool iw_number(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hex ? text + 2 : text;
    /* strtoull would take blanks and signs as well. */
    if (!(hex ? isxdigit((unsigned char)*digits) : isdigit((unsigned char)*digits)))
        return false;
    errno = 0;
    char *end;
    unsigned long long value = strtoull(digits, &end, hex ? 16 : 10);
    if (*end || errno || value < low || value > high)
        return false;
    *out = value;
    return true;
}

void iw_number_store(void *out, size_t size, uint64_t number)
{
    uint8_t n8 = (uint8_t)number;
    uint16_t n16 = (uint16_t)number;
    uint32_t n32 = (uint32_t)number;

    memcpy(out,
           size == sizeof(n8)    ? (const void *)&n8
           : size == sizeof(n16) ? (const void *)&n16
           : size == sizeof(n32) ? (const void *)&n32
                                 : (const void *)&number,
           size);
}

bool iw_number_real(const char *text, double low, double high, double *out)
{
    if (*text < '0' || *text > '9')
        return false;
    char *end;
    double value = strtod(text, &end);
    if (*end || !(value > 0) || value < low || value > high)
        return false;
    *out = value;
    return true;
}

uint64_t iw_number_place(uint64_t count, unsigned share)
{
    enum { ALL = 1000 };
    uint64_t part = share < ALL ? share : ALL;
    /* count * part, rounded up, without passing 64 bits. */
    uint64_t rank = count / ALL * part + (count % ALL * part + ALL - 1) / ALL;

    return rank == 0 ? 0 : rank - 1;
}
