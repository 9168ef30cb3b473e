/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void iw_fuzz_fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("fuzz: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FENCED
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define FENCED
#endif

const uint8_t *iw_fuzz_fenced(const uint8_t *octets, size_t length)
{
#ifdef FENCED
    static uint8_t box[IW_FUZZ_FENCED];
    uint8_t *at = box + sizeof box - length;

    if (length > 0)
        memcpy(at, octets, length);
    return at;
#else
    (void)length;
    return octets;
#endif
}
