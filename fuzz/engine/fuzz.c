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

void *iw_fuzz_allocate(size_t size)
{
    void *memory = malloc(size);

    IW_FUZZ_CHECK(memory != NULL, "no memory");
    return memory;
}

static volatile uint8_t touched;

void iw_fuzz_touch(const uint8_t *octets, size_t length)
{
    for (size_t i = 0; i < length; i++)
        touched ^= octets[i];
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define WATCHED
#endif

const uint8_t *iw_fuzz_fenced(const uint8_t *octets, size_t length)
{
#ifdef WATCHED
    static uint8_t box[IW_FUZZ_FENCED];
    uint8_t *at = box + sizeof(box) - length;

    if (length > 0)
        memcpy(at, octets, length);
    return at;
#else
    (void)length;
    return octets;
#endif
}
