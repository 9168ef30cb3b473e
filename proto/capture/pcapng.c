/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html; written little-endian. */
enum { BLOCK_INTERFACE = 1, BLOCK_ENHANCED_PACKET = 6 };
#define BLOCK_SECTION UINT32_C(0x0a0d0d0a)
#define BYTE_ORDER_MAGIC UINT32_C(0x1a2b3c4d)
enum { OPTION_END = 0, OPTION_COMMENT = 1, OPTION_SHB_USERAPPL = 4, OPTION_IF_TSRESOL = 9 };
enum { OPTION_MAX = 65535, BLOCK_FRAME = 12 };

struct iw_pcapng {
    FILE *file;
    char *path;
    int failed;           /* errno of the first failure */
    const char *too_long; /* the text that did not fit, if any */
    uint32_t *interface;  /* copies: our number, plus 1, of each interface of the other file */
    size_t n_interface;
    uint32_t interfaces; /* ours */
};

static void put(struct iw_pcapng *w, const void *data, size_t length)
{
    if (w->failed == 0 && length != 0 && fwrite(data, 1, length, w->file) != length)
        w->failed = errno != 0 ? errno : EIO;
}

static void put16(struct iw_pcapng *w, uint32_t value)
{
    const uint8_t octets[2] = {(uint8_t)value, (uint8_t)(value >> 8)};
    put(w, octets, sizeof(octets));
}

static void put32(struct iw_pcapng *w, uint32_t value)
{
    put16(w, value & 0xffff);
    put16(w, value >> 16);
}

static void put_padded(struct iw_pcapng *w, const void *data, size_t length)
{
    static const uint8_t zeros[3];
    put(w, data, length);
    put(w, zeros, (4 - length % 4) % 4);
}

static uint64_t padded(uint64_t length)
{
    return length + (4 - length % 4) % 4;
}

/* Returns the octets of a text that an option can hold, cut before a UTF-8 character that does not
 * fit. */
static size_t text_length(const char *text)
{
    size_t length = strnlen(text, OPTION_MAX + 1);
    if (length <= OPTION_MAX)
        return length;
    length = OPTION_MAX;
    while (length > OPTION_MAX - 3 && (text[length] & 0xc0) == 0x80)
        length--;
    return length;
}

static uint64_t option_size(const char *text)
{
    return text != NULL ? 4 + padded(text_length(text)) : 0;
}

static void put_text(struct iw_pcapng *w, uint32_t option, const char *text)
{
    if (text == NULL)
        return;
    size_t length = text_length(text);
    put16(w, option);
    put16(w, (uint32_t)length);
    put_padded(w, text, length);
}

static void put_section(struct iw_pcapng *w, const char *application, const char *comment)
{
    uint64_t options = option_size(comment) + option_size(application);
    uint32_t size = (uint32_t)(BLOCK_FRAME + 16 + options + (options != 0 ? 4 : 0));
    put32(w, BLOCK_SECTION);
    put32(w, size);
    put32(w, BYTE_ORDER_MAGIC);
    put16(w, 1);
    put16(w, 0);
    put32(w, UINT32_MAX); /* section length not given */
    put32(w, UINT32_MAX);
    put_text(w, OPTION_COMMENT, comment);
    put_text(w, OPTION_SHB_USERAPPL, application);
    if (options != 0)
        put32(w, OPTION_END);
    put32(w, size);
}

/* https://www.tcpdump.org/linktypes.html */
static const uint16_t linktypes[] = {
    [IW_LINK_ETHERNET] = 1, [IW_LINK_SLL] = 113,  [IW_LINK_SLL2] = 276,
    [IW_LINK_NULL] = 0,     [IW_LINK_LOOP] = 108, [IW_LINK_RAW] = 101,
};

static void put_interface(struct iw_pcapng *w, uint32_t linktype)
{
    static const uint8_t nanoseconds[1] = {9};
    uint32_t size = BLOCK_FRAME + 8 + 8 + 4;
    put32(w, BLOCK_INTERFACE);
    put32(w, size);
    put16(w, linktype);
    put16(w, 0);
    put32(w, 0); /* no snap length */
    put16(w, OPTION_IF_TSRESOL);
    put16(w, sizeof(nanoseconds));
    put_padded(w, nanoseconds, sizeof(nanoseconds));
    put32(w, OPTION_END);
    put32(w, size);
}

struct iw_pcapng *iw_pcapng_create(const char *path, enum iw_link link, const char *application,
                                   const char *comment, char error[IW_CAPTURE_ERROR])
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        snprintf(error, IW_CAPTURE_ERROR, "%s: cannot be created: %s", path, strerror(errno));
        return NULL;
    }
    struct iw_pcapng *w = calloc(1, sizeof(*w));
    char *copy = strdup(path);
    if (w == NULL || copy == NULL) {
        snprintf(error, IW_CAPTURE_ERROR, "%s: out of memory", path);
        free(w);
        free(copy);
        fclose(file);
        return NULL;
    }
    w->file = file;
    w->path = copy;
    put_section(w, application, comment);
    if (link != IW_LINK_OTHER) {
        put_interface(w, linktypes[link]);
        w->interfaces = 1;
    }
    return w;
}

static bool put_packet(struct iw_pcapng *w, const struct iw_frame *frame, uint32_t interface,
                       const char *const *comments, size_t count)
{
    uint64_t size = BLOCK_FRAME + 20 + padded(frame->length) + (count != 0 ? 4 : 0);
    for (size_t i = 0; i < count && size <= IW_PCAPNG_BLOCK; i++)
        size += option_size(comments[i]);
    if (size > IW_PCAPNG_BLOCK) {
        w->too_long = "a frame with its comments is longer than a block may be";
        return false;
    }
    put32(w, BLOCK_ENHANCED_PACKET);
    put32(w, (uint32_t)size);
    put32(w, interface);
    put32(w, (uint32_t)(frame->time >> 32));
    put32(w, (uint32_t)frame->time);
    put32(w, frame->length);
    put32(w, frame->original);
    put_padded(w, frame->data, frame->length);
    for (size_t i = 0; i < count; i++)
        put_text(w, OPTION_COMMENT, comments[i]);
    if (count != 0)
        put32(w, OPTION_END);
    put32(w, (uint32_t)size);
    return w->failed == 0;
}

bool iw_pcapng_frame(struct iw_pcapng *w, const struct iw_frame *frame, const char *const *comments,
                     size_t count)
{
    return put_packet(w, frame, 0, comments, count);
}

bool iw_pcapng_copy(struct iw_pcapng *w, const struct iw_frame *frame, const char *const *comments,
                    size_t count)
{
    if (frame->interface >= w->n_interface) {
        size_t room = 2 * (size_t)frame->interface + 1;
        uint32_t *larger = realloc(w->interface, room * sizeof(*larger));
        if (larger == NULL) {
            w->failed = ENOMEM;
            return false;
        }
        memset(larger + w->n_interface, 0, (room - w->n_interface) * sizeof(*larger));
        w->interface = larger;
        w->n_interface = room;
    }
    if (w->interface[frame->interface] == 0) {
        put_interface(w, frame->linktype);
        w->interface[frame->interface] = ++w->interfaces;
    }
    return put_packet(w, frame, w->interface[frame->interface] - 1, comments, count);
}

void iw_pcapng_flush(struct iw_pcapng *w)
{
    if (fflush(w->file) != 0 && w->failed == 0)
        w->failed = errno;
}

bool iw_pcapng_close(struct iw_pcapng *w, char error[IW_CAPTURE_ERROR])
{
    if (fclose(w->file) != 0 && w->failed == 0)
        w->failed = errno;
    bool good = w->failed == 0 && w->too_long == NULL;
    if (!good)
        snprintf(error, IW_CAPTURE_ERROR, "%s: cannot be written: %s", w->path,
                 w->failed != 0 ? strerror(w->failed) : w->too_long);
    free(w->interface);
    free(w->path);
    free(w);
    return good;
}
