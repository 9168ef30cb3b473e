/* SPDX-License-Identifier: BSD-3-Clause */
#include "packets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/text.h"

enum { PACKET_BLOCK = 6, COMMENT = 1, HEADERS = 14 + 20, SHOWN = 20 };

static uint8_t *content;
static size_t length;

static void load(const char *path)
{
    FILE *f = fopen(path, "rb");

    free(content);
    assert_non_null(f);
    content = iw_got(malloc(1 << 25));
    length = fread(content, 1, 1 << 25, f);
    fclose(f);
}

static uint32_t word(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* The block of the next packet from *at on; NULL if there is none. */
static const uint8_t *next(size_t *at)
{
    while (*at + 12 <= length) {
        const uint8_t *block = content + *at;
        *at += word(block + 4);
        if (word(block) == PACKET_BLOCK)
            return block;
    }
    free(content);
    content = NULL;
    return NULL;
}

static void put_comments(FILE *out, const uint8_t *option, const uint8_t *end)
{
    while (option + 4 <= end && option[0]) {
        size_t n = (size_t)option[2] | (size_t)option[3] << 8;
        if (option[0] == COMMENT)
            fprintf(out, "{%.*s}", (int)n, (const char *)option + 4);
        option += 4 + (n + 3) / 4 * 4;
    }
}

/* One that only acknowledges is left out. */
static void put_packet(FILE *out, const uint8_t *block)
{
    const uint8_t *data = block + 28, *tcp = data + HEADERS;
    size_t captured = word(block + 20), head = HEADERS + (size_t)(tcp[12] >> 4) * 4;
    size_t payload = (size_t)(data[16] << 8 | data[17]) + 14 - head;

    if (!payload && !(tcp[13] & 7))
        return;
    fprintf(out, "%s%u%s%s%s", ftell(out) ? " " : "", data[11], tcp[13] & 2 ? "S" : "",
            tcp[13] & 1 ? "F" : "", tcp[13] & 4 ? "R" : "");
    if (payload > SHOWN)
        fprintf(out, "%zu", payload);
    else if (payload)
        fprintf(out, "'%.*s'", (int)payload, (const char *)data + head);
    put_comments(out, data + (captured + 3) / 4 * 4, block + word(block + 4) - 4);
}

char *packets_read(const char *path)
{
    char *text = NULL;
    size_t room = 0, at = 0;
    FILE *out = iw_got(open_memstream(&text, &room));

    load(path);
    for (const uint8_t *block; (block = next(&at));)
        put_packet(out, block);
    fclose(out);
    return text;
}

void packets_ports(const char *path, uint16_t ports[2])
{
    size_t at = 0;

    load(path);
    const uint8_t *block = next(&at);
    assert_non_null(block);
    const uint8_t *tcp = block + 28 + HEADERS;
    ports[0] = (uint16_t)(tcp[0] << 8 | tcp[1]);
    ports[1] = (uint16_t)(tcp[2] << 8 | tcp[3]);
}

uint64_t packets_time(const char *path, unsigned number)
{
    size_t at = 0;

    load(path);
    const uint8_t *block = next(&at);
    for (unsigned i = 0; i < number; i++)
        block = next(&at);
    assert_non_null(block);
    return (uint64_t)word(block + 12) << 32 | word(block + 16);
}
