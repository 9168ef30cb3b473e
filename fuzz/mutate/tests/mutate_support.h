/* SPDX-License-Identifier: BSD-3-Clause */
/* Inputs in hexadecimal. */
#ifndef MUTATE_TESTS_SUPPORT_H
#define MUTATE_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mutate/mutate.h"

/* Sends of one segment on queue 0 with MSNs 1, 2 and 3, payload "abc", "de" and "f", as FPDUs with
 * CRCs. */
#define SEND_1 "001541430000000000000000000000010000000061626300447065aa"
#define SEND_2 "001441430000000000000000000000020000000064650000e8fef5a0"
#define SEND_3 "001341430000000000000000000000030000000066000000d1e0c5ba"
/* A Request of revision 1 with C and two octets of private data. */
#define REQUEST "4d504120494420526571204672616d65400100025044"

/* Spaces are passed over. The octets written. */
static inline size_t from_hex(uint8_t *out, const char *hex)
{
    size_t n = 0;
    char digits[3] = "";

    while (*hex != '\0') {
        if (*hex == ' ') {
            hex++;
            continue;
        }
        digits[0] = hex[0];
        digits[1] = hex[1];
        out[n++] = (uint8_t)strtoul(digits, NULL, 16);
        hex += 2;
    }
    return n;
}

static inline void read_hex(struct iw_mutate_script *s, const char *hex)
{
    static uint8_t octets[8192];

    assert_true(iw_mutate_read(s, octets, from_hex(octets, hex)));
}

static inline void assert_octets(const uint8_t *got, size_t length, const char *hex)
{
    static uint8_t want[8192];
    size_t wanted = from_hex(want, hex);

    assert_int_equal(length, wanted);
    assert_memory_equal(got, want, wanted);
}

static inline void assert_writes(const struct iw_mutate_script *s, const char *hex)
{
    static uint8_t got[8192];

    assert_octets(got, iw_mutate_write(s, got, sizeof(got)), hex);
}

/* Gives part `at` `length` octets: the first ones stay, new ones are zero. Returns false, and
 * nothing changes, if there is no room. */
static inline bool resize(struct iw_mutate_script *s, size_t at, size_t length)
{
    struct iw_mutate_part *p = &s->part[at];

    if (length > p->length) {
        if (length > UINT16_MAX || length > IW_MUTATE_ARENA - s->used)
            return false;
        memcpy(s->octets + s->used, s->octets + p->at, p->length);
        memset(s->octets + s->used + p->length, 0, length - p->length);
        p->at = (uint32_t)s->used;
        s->used += length;
    }
    p->length = (uint32_t)length;
    return true;
}

#endif
