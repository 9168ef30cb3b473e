/* SPDX-License-Identifier: BSD-3-Clause */
#include "range_scene.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 1 << 17 };

struct range_conn *scene;
static int peer = -1;

void scene_open(bool initiator)
{
    int pair[2];
    scene_tear_down(NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    peer = pair[1];
    scene = range_conn_new(pair[0], initiator, SCENE_NOW);
}

int scene_set_up(void **state)
{
    (void)state;
    scene_open(false);
    return 0;
}

int scene_tear_down(void **state)
{
    (void)state;
    if (scene != NULL)
        range_conn_free(scene);
    scene = NULL;
    if (peer >= 0)
        close(peer);
    peer = -1;
    return 0;
}

static size_t octets_of(uint8_t *out, const char *hex, size_t digits)
{
    size_t length = 0, high = 0, n = 0;
    for (size_t i = 0; i < digits; i++) {
        if (hex[i] == ' ')
            continue;
        const char digit[] = {hex[i], '\0'};
        const size_t value = strtoul(digit, NULL, 16);
        if (n++ % 2 == 0)
            high = value << 4;
        else
            out[length++] = (uint8_t)(high | value);
    }
    assert_int_equal(n % 2, 0);
    return length;
}

void scene_take(const char *hex)
{
    static uint8_t octets[ROOM];
    const size_t length = octets_of(octets, hex, strlen(hex));
    range_conn_take(scene, octets, length, SCENE_NOW);
}

/* Bit by bit, RFC 3385's way: not the table that the range has. */
static uint32_t crc_of(const uint8_t *octets, size_t length)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < length; i++) {
        crc ^= octets[i];
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
    return ~crc;
}

void scene_segments(const char *ulpdus)
{
    static uint8_t fpdu[ROOM];
    for (const char *end; *ulpdus != '\0'; ulpdus = *end == '/' ? end + 1 : end) {
        end = ulpdus + strcspn(ulpdus, "/");
        memset(fpdu, 0, sizeof(fpdu));
        size_t length = octets_of(fpdu + 2, ulpdus, (size_t)(end - ulpdus));
        fpdu[0] = (uint8_t)(length >> 8);
        fpdu[1] = (uint8_t)length;
        length = (length + 2 + 3) / 4 * 4;
        const uint32_t crc = crc_of(fpdu, length);
        for (unsigned i = 0; i < 4; i++)
            fpdu[length++] = (uint8_t)(crc >> (8 * i));
        range_conn_take(scene, fpdu, length, SCENE_NOW);
    }
}

static size_t put_hex(char *out, const uint8_t *octets, size_t length)
{
    for (size_t i = 0; i < length; i++)
        sprintf(out + 2 * i, "%02x", octets[i]);
    out[2 * length] = '\0';
    return 2 * length;
}

const char *scene_hex(const uint8_t *octets, size_t length)
{
    static char digits[2 * ROOM + 1];
    assert_true(length <= ROOM);
    put_hex(digits, octets, length);
    return digits;
}

const char *scene_sent(void)
{
    const size_t length = scene->out_length;
    scene->out_length = 0;
    return length > 0 ? scene_hex(scene->out, length) : "";
}

const char *scene_sent_segments(void)
{
    static char digits[2 * ROOM + 1];
    size_t n = 0;
    digits[0] = '\0';
    for (size_t at = 0; at < scene->out_length;) {
        const uint8_t *fpdu = scene->out + at;
        const size_t ulpdu = (size_t)(fpdu[0] << 8 | fpdu[1]), covered = (ulpdu + 2 + 3) / 4 * 4;
        assert_true(at + covered + 4 <= scene->out_length);
        for (size_t i = ulpdu + 2; i < covered; i++)
            assert_int_equal(fpdu[i], 0);
        const uint32_t crc = crc_of(fpdu, covered);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(fpdu[covered + i], crc >> (8 * i) & 0xff);
        if (at > 0)
            digits[n++] = '/';
        n += put_hex(digits + n, fpdu + 2, ulpdu);
        at += covered + 4;
    }
    scene->out_length = 0;
    return digits;
}

void scene_started(const char *block)
{
    scene_open(false);
    char request[100];
    snprintf(request, sizeof(request), "4d504120494420526571204672616d65 %s %s",
             block == NULL ? "4001 0000" : "5002 0004", block == NULL ? "" : block);
    scene_take(request);
    assert_int_equal(scene->state, RANGE_FULL);
    scene_sent();
}
