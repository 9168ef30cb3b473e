/* SPDX-License-Identifier: BSD-3-Clause */
#include "text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"

void *iw_got(void *block)
{
    if (block == NULL)
        iw_complain_memory();
    return block;
}

char *iw_text_copy(const char *text)
{
    return text != NULL ? iw_got(strdup(text)) : NULL;
}

char *iw_text_format(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return iw_got(length < 0 ? NULL : text);
}

/* What an octet begins: below which octet, the length of its character, which of its bits belong to
 * the code, and the least code that is not longer than need be (RFC 3629) or a control character:
 * to a terminal those of C1 are commands as well. */
static const struct beginning {
    unsigned below;
    uint8_t length, mask;
    uint32_t least;
} beginnings[] = {
    {0x80, 1, 0x7f, 0x20},  {0xc2, 0, 0, 0},          {0xe0, 2, 0x1f, 0xa0},
    {0xf0, 3, 0x0f, 0x800}, {0xf5, 4, 0x07, 0x10000}, {0x100, 0, 0, 0},
};

/* The length of the UTF-8 character at `s`, 0 if it is not valid, not fit for XML, or a control
 * character. */
static size_t character(const unsigned char *s)
{
    const struct beginning *b = beginnings;
    while (*s >= b->below)
        b++;
    uint32_t code = *s & b->mask;
    for (size_t i = 1; i < b->length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3fu);
    }
    if ((code < b->least && *s != '\n') || code == 0x7f || code > 0x10ffff)
        return 0;
    return (code >= 0xd800 && code < 0xe000) || (code & 0xfffe) == 0xfffe ? 0 : b->length;
}

char *iw_text_clean(const char *text)
{
    char *out = NULL;
    size_t size = 0;
    if (text == NULL)
        return NULL;
    FILE *f = iw_got(open_memstream(&out, &size));
    while (*text) {
        size_t n = character((const unsigned char *)text);
        fwrite(n ? text : "\xef\xbf\xbd", 1, n ? n : 3, f);
        text += n ? n : 1;
    }
    fclose(f);
    return iw_got(out);
}

static bool plain(const char *text)
{
    for (const char *s = text; *s; s++)
        if (!isalnum((unsigned char)*s) && strchr("_-./:=,@%+", *s) == NULL)
            return false;
    return *text;
}

bool iw_text_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

char *iw_text_shell(const char *text)
{
    char *out = NULL;
    size_t size = 0;
    if (plain(text))
        return iw_text_copy(text);
    FILE *f = iw_got(open_memstream(&out, &size));
    fputc('\'', f);
    for (const char *s = text; *s; s++)
        if (*s == '\'')
            fputs("'\\''", f);
        else
            fputc(*s, f);
    fputc('\'', f);
    fclose(f);
    return iw_got(out);
}

char *iw_text_file_name(const char *text)
{
    char *out = iw_text_copy(text);

    for (char *s = out; *s; s++)
        if (!isalnum((unsigned char)*s) && strchr("._-", *s) == NULL)
            *s = '-';
    if (*out == '.')
        *out = '-';
    return out;
}

const char *iw_text_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

void iw_text_printable(char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

void iw_text_hex(char *out, const uint8_t *octets, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        *out++ = "0123456789abcdef"[octets[i] >> 4];
        *out++ = "0123456789abcdef"[octets[i] & 15];
    }
    *out = 0;
}

/* The replacement for what starts at `text` ("{host}..."), and how long the name with its braces
 * is; NULL if none of the pairs fits. */
static const char *replacement(const char *text, const char *const *pairs, size_t *length)
{
    for (; *pairs != NULL; pairs += 2) {
        *length = strlen(*pairs);
        if (strncmp(text + 1, *pairs, *length) == 0 && text[1 + *length] == '}') {
            *length += 2;
            return pairs[1];
        }
    }
    return NULL;
}

char *iw_text_fill(const char *text, const char *const *pairs)
{
    char *out = NULL;
    size_t size = 0;
    FILE *f = iw_got(open_memstream(&out, &size));

    while (*text) {
        size_t length = 0;
        const char *with = *text == '{' ? replacement(text, pairs, &length) : NULL;

        if (with != NULL) {
            fputs(with, f);
            text += length;
        } else {
            fputc(*text++, f);
        }
    }
    fclose(f);
    return iw_got(out);
}
