/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of thousands of cases repeats itself: deflated it takes a tenth. Base64 has no '<', so
 * what peers sent cannot end the element that it stands in; the page's script puts it into text
 * nodes. */
#include "page.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "host/text.h"
#include "host/text_tools.h"

/* RFC 4648 §4. */
static void put_base64(FILE *out, const uint8_t *octets, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        size_t n = length - i < 3 ? length - i : 3;
        uint32_t bits = (uint32_t)octets[i] << 16;
        bits |= n > 1 ? (uint32_t)octets[i + 1] << 8 : 0;
        bits |= n > 2 ? octets[i + 2] : 0;
        for (size_t k = 0; k < 4; k++)
            putc(k <= n ? digits[bits >> (18 - 6 * k) & 63] : '=', out);
    }
}

static void put_data(FILE *out, const json_t *data)
{
    char *text = iw_got(json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(9)));
    uLong length = (uLong)strlen(text);
    uLongf packed = compressBound(length);
    uint8_t *octets = iw_got(malloc(packed));
    /* With all of that room it fails for want of memory only. */
    if (compress2(octets, &packed, (const Bytef *)text, length, Z_DEFAULT_COMPRESSION) == Z_OK)
        put_base64(out, octets, packed);
    free(octets);
    free(text);
}

/* Writes the file that a "@FILE x@" names. */
static bool put_file(FILE *out, const char *folder, const char *name, size_t length, char *error,
                     size_t room)
{
    char *path = iw_text_format("%s/%.*s", folder, (int)length, name);
    char *text = iw_text_read_file(path);
    if (text != NULL)
        fputs(text, out);
    else
        snprintf(error, room, "%s: %s", path, strerror(errno));
    bool good = text != NULL;
    free(path);
    free(text);
    return good;
}

static bool fill(FILE *out, const char *folder, const char *name, const char *frame,
                 const json_t *data, char *error, size_t room)
{
    static const char file[] = "@FILE ", place[] = "@DATA@";
    bool placed = false;
    const char *at, *end;
    for (; (at = strchr(frame, '@')) != NULL; frame = end) {
        fwrite(frame, 1, (size_t)(at - frame), out);
        if (strncmp(at, place, sizeof(place) - 1) == 0) {
            put_data(out, data);
            placed = true;
            end = at + sizeof(place) - 1;
        } else if (strncmp(at, file, sizeof(file) - 1) == 0 && strchr(at + 1, '@') != NULL) {
            const char *wanted = at + sizeof(file) - 1;
            end = strchr(wanted, '@') + 1;
            if (!put_file(out, folder, wanted, (size_t)(end - 1 - wanted), error, room))
                return false;
        } else {
            putc('@', out);
            end = at + 1;
        }
    }
    fputs(frame, out);
    if (!placed)
        snprintf(error, room, "%s/%s: the frame of the page has no place for the data", folder,
                 name);
    return placed;
}

bool iw_page_write(FILE *out, const char *folder, const char *name, const json_t *data, char *error,
                   size_t room)
{
    char *path = iw_text_format("%s/%s", folder, name);
    char *frame = iw_text_read_file(path);
    bool good = frame != NULL && fill(out, folder, name, frame, data, error, room);
    if (frame == NULL)
        snprintf(error, room, "%s: %s", path, strerror(errno));
    free(path);
    free(frame);
    return good;
}
