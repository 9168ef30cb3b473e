/* SPDX-License-Identifier: BSD-3-Clause */
#include "hex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static unsigned digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = strchr(digits, c);

    assert_true(c && at);
    return (unsigned)(at - digits);
}

size_t hex_octets(const char *text, uint8_t *out, size_t room)
{
    size_t n = 0;

    while (*text) {
        if (*text == ' ') {
            text++;
            continue;
        }
        assert_true(n < room);
        out[n++] = (uint8_t)(digit(text[0]) << 4 | digit(text[1]));
        text += 2;
    }
    return n;
}
