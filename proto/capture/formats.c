/* SPDX-License-Identifier: BSD-3-Clause */
/* The two formats of captures:
 * https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html
 * https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC_US UINT32_C(0xa1b2c3d4)
#define MAGIC_NS UINT32_C(0xa1b23c4d)
#define BLOCK_SECTION UINT32_C(0x0a0d0d0a)
#define BYTE_ORDER_MAGIC UINT32_C(0x1a2b3c4d)
enum { BLOCK_INTERFACE = 1, BLOCK_PACKET = 2, BLOCK_SIMPLE_PACKET = 3, BLOCK_ENHANCED_PACKET = 6 };
enum { OPTION_END = 0, OPTION_RESOLUTION = 9, OPTION_OFFSET = 14 };
enum { PCAP_HEADER = 24, PCAP_RECORD = 16, PCAP_CAPTURED_MAX = 262144, BLOCK_FRAME = 12 };
enum { SECTION = 28, MICROSECONDS = 6 };

static uint16_t get16(const struct iw_capture *c, const uint8_t *p)
{
    return (uint16_t)(c->swapped ? p[0] << 8 | p[1] : p[1] << 8 | p[0]);
}

static uint32_t get32(const struct iw_capture *c, const uint8_t *p)
{
    uint32_t first = get16(c, p), second = get16(c, p + 2);

    return c->swapped ? first << 16 | second : second << 16 | first;
}

/* Returns the result for a record of which n octets are not here: the file ended before it or
 * inside it, reading failed, or a signal came. */
static int not_whole(const struct iw_capture *c, size_t n, char error[IW_CAPTURE_ERROR])
{
    if (c->end && c->to == c->from)
        return 0;
    if (c->interrupted)
        return IW_CAPTURE_SIGNAL;
    if (c->failed != 0)
        return iw_capture_corrupt(c, error, "%s", strerror(c->failed));
    return iw_capture_corrupt(c, error, "it is truncated: only %zu of %zu octets", c->to - c->from,
                              n);
}

static void set_interface(const struct iw_capture *c, struct iw_frame *frame, size_t number)
{
    frame->interface = (uint32_t)number;
    frame->link = c->interfaces[number].link;
    frame->linktype = c->interfaces[number].linktype;
}

/* ---- pcap ---- */

static int next_pcap(struct iw_capture *c, struct iw_frame *frame, char error[IW_CAPTURE_ERROR])
{
    const uint8_t *p = iw_octets_need(c, PCAP_RECORD);

    if (p == NULL)
        return not_whole(c, PCAP_RECORD, error);
    uint32_t captured = get32(c, p + 8), original = get32(c, p + 12);
    if (captured > PCAP_CAPTURED_MAX)
        return iw_capture_corrupt(c, error,
                                  "invalid packet capture length %" PRIu32 ", expected at most %d",
                                  captured, PCAP_CAPTURED_MAX);
    p = iw_octets_need(c, PCAP_RECORD + captured);
    if (p == NULL)
        return not_whole(c, PCAP_RECORD + captured, error);
    frame->time = get32(c, p) * UINT64_C(1000000000) +
                  (c->resolution == MICROSECONDS ? 1000u : 1u) * (uint64_t)get32(c, p + 4);
    frame->data = p + PCAP_RECORD;
    frame->length = captured;
    frame->original = original > captured ? original : captured;
    set_interface(c, frame, 0);
    iw_octets_take(c, PCAP_RECORD + captured);
    return 1;
}

/* Begins a pcap file. Returns false if libpcap may know better, or, with an error line, without
 * memory. */
static bool begin_pcap(struct iw_capture *c, char error[IW_CAPTURE_ERROR])
{
    const uint8_t *p = iw_octets_need(c, PCAP_HEADER);

    if (p == NULL)
        return false;
    uint32_t magic = get32(c, p);
    c->swapped = magic != MAGIC_US && magic != MAGIC_NS;
    magic = get32(c, p);
    c->resolution = magic == MAGIC_NS ? 9 : MICROSECONDS;
    if ((magic != MAGIC_US && magic != MAGIC_NS) || get16(c, p + 4) != 2 || get16(c, p + 6) != 4)
        return false;
    /* Above these bits: whether frames end with a check sequence. */
    if (iw_capture_add_interface(c, get32(c, p + 20) & 0x03ffffff, error) == NULL)
        return false;
    iw_octets_take(c, PCAP_HEADER);
    return true;
}

/* ---- pcapng ---- */

static uint64_t to_ns(uint64_t ticks, uint8_t resolution)
{
    unsigned n = resolution & 0x7f;
    uint64_t scale = 1;

    if ((resolution & 0x80) == 0) {
        for (unsigned i = n < 9 ? n : 9; i < (n < 9 ? 9 : n) && i < 28; i++)
            scale *= 10;
        return n <= 9 ? ticks * scale : ticks / scale;
    }
    uint64_t seconds = n < 64 ? ticks >> n : 0;
    uint64_t part = n < 64 ? ticks & ((UINT64_C(1) << n) - 1) : ticks;
    /* As many bits as the product has room for. */
    unsigned drop = n > 32 ? n - 32 : 0;
    part = drop < 64 ? part >> drop : 0;
    return seconds * UINT64_C(1000000000) + (part * UINT64_C(1000000000) >> (n - drop));
}

static int new_section(struct iw_capture *c, const uint8_t *p, uint32_t size,
                       char error[IW_CAPTURE_ERROR])
{
    if (size < SECTION)
        return iw_capture_corrupt(c, error, "a section header of %" PRIu32 " octets", size);
    if (get16(c, p + 12) != 1)
        return iw_capture_corrupt(c, error, "pcapng version %u, expected 1", get16(c, p + 12));
    c->section = c->n_interfaces;
    return 0;
}

static int new_interface(struct iw_capture *c, const uint8_t *p, uint32_t size,
                         char error[IW_CAPTURE_ERROR])
{
    if (size < BLOCK_FRAME + 8)
        return iw_capture_corrupt(c, error, "an interface description of %" PRIu32 " octets", size);
    struct iw_interface *i = iw_capture_add_interface(c, get16(c, p + 8), error);
    if (i == NULL)
        return -1;
    i->snap = get32(c, p + 12);
    i->resolution = MICROSECONDS;
    /* Blocks and options are multiples of 4 octets: what holds an option has room for its pad. */
    for (uint32_t at = 16, end = size - 4; end - at >= 4;) {
        uint32_t option = get16(c, p + at), length = get16(c, p + at + 2);
        if (option == OPTION_END || length > end - at - 4)
            break;
        if (option == OPTION_RESOLUTION && length == 1)
            i->resolution = p[at + 4];
        if (option == OPTION_OFFSET && length == 8) {
            uint64_t first = get32(c, p + at + 4), second = get32(c, p + at + 8);
            i->offset =
                UINT64_C(1000000000) * (c->swapped ? first << 32 | second : second << 32 | first);
        }
        at += 4 + ((length + 3) & ~3u);
    }
    return 0;
}

/* Fills *frame with the packet of a block. */
static int put_packet(struct iw_capture *c, struct iw_frame *frame, const uint8_t *p, uint32_t size,
                      char error[IW_CAPTURE_ERROR])
{
    enum { SIMPLE_HEADER = 12, HEADER = 28 };
    bool simple = get32(c, p) == BLOCK_SIMPLE_PACKET;
    uint32_t at = simple ? SIMPLE_HEADER : HEADER, interface = 0;
    if (size < at + 4)
        return iw_capture_corrupt(c, error, "a packet block of %" PRIu32 " octets", size);
    if (!simple)
        interface = get32(c, p) == BLOCK_PACKET ? get16(c, p + 8) : get32(c, p + 8);
    if (interface >= c->n_interfaces - c->section)
        return iw_capture_corrupt(c, error, "interface %" PRIu32 " of %zu", interface,
                                  c->n_interfaces - c->section);
    const struct iw_interface *i = &c->interfaces[c->section + interface];
    uint32_t original = get32(c, p + at - 4);
    uint32_t captured = simple ? original : get32(c, p + at - 8);
    if (simple && i->snap != 0 && captured > i->snap)
        captured = i->snap;
    if (captured > size - 4 - at)
        return iw_capture_corrupt(
            c, error, "invalid packet capture length %" PRIu32 " in a block of %" PRIu32 " octets",
            captured, size);
    if (!simple) {
        uint64_t ticks = (uint64_t)get32(c, p + 12) << 32 | get32(c, p + 16);
        c->time = to_ns(ticks, i->resolution) + i->offset;
    }
    set_interface(c, frame, c->section + interface);
    frame->time = c->time;
    frame->data = p + at;
    frame->length = captured;
    frame->original = original > captured ? original : captured;
    return 1;
}

/* Finds the whole block at the current place. Returns 1; without one 0 (the end of the file), -1 or
 * IW_CAPTURE_SIGNAL, and leaves *block. */
static int next_block(struct iw_capture *c, const uint8_t **block, uint32_t *size,
                      char error[IW_CAPTURE_ERROR])
{
    const uint8_t *p = iw_octets_need(c, BLOCK_FRAME);

    if (p == NULL)
        return not_whole(c, BLOCK_FRAME, error);
    if (get32(c, p) == BLOCK_SECTION) { /* which reads the same in both orders */
        if (get32(c, p + 8) != BYTE_ORDER_MAGIC)
            c->swapped = !c->swapped;
        if (get32(c, p + 8) != BYTE_ORDER_MAGIC)
            return iw_capture_corrupt(c, error, "a section header without byte-order magic");
    }
    *size = get32(c, p + 4);
    if (*size < BLOCK_FRAME || *size % 4 != 0 || *size > IW_PCAPNG_BLOCK)
        return iw_capture_corrupt(c, error,
                                  "a block total length of %" PRIu32
                                  ", expected a multiple of 4 from %d to the maximum of %d",
                                  *size, BLOCK_FRAME, IW_PCAPNG_BLOCK);
    p = iw_octets_need(c, *size);
    if (p == NULL)
        return not_whole(c, *size, error);
    if (get32(c, p + *size - 4) != *size)
        return iw_capture_corrupt(
            c, error, "a block total length of %" PRIu32 " in front and %" PRIu32 " behind", *size,
            get32(c, p + *size - 4));
    *block = p;
    return 1;
}

/* Reads as far as the next packet; takes it only if there is a `frame` to fill. */
static int next_pcapng(struct iw_capture *c, struct iw_frame *frame, char error[IW_CAPTURE_ERROR])
{
    bool packet = false;
    while (!packet) {
        const uint8_t *p = NULL;
        uint32_t size = 0;
        int result = next_block(c, &p, &size, error);
        if (p == NULL)
            return result;
        switch (get32(c, p)) {
        case BLOCK_SECTION:
            result = new_section(c, p, size, error);
            break;
        case BLOCK_INTERFACE:
            result = new_interface(c, p, size, error);
            break;
        case BLOCK_PACKET:
        case BLOCK_ENHANCED_PACKET:
        case BLOCK_SIMPLE_PACKET:
            if (frame == NULL)
                return 1;
            packet = true;
            result = put_packet(c, frame, p, size, error);
            break;
        default:
            break;
        }
        if (result < 0)
            return -1;
        iw_octets_take(c, size);
    }
    return 1;
}

iw_next_fn *iw_formats_begin(struct iw_capture *c, char error[IW_CAPTURE_ERROR])
{
    const uint8_t *p;
    do
        p = iw_octets_need(c, SECTION - 4);
    while (p == NULL && c->interrupted);
    if (p == NULL)
        return NULL;
    if (get32(c, p) != BLOCK_SECTION)
        return begin_pcap(c, error) ? next_pcap : NULL;
    /* Look as far as the first packet for the interfaces. An error on the way is reported when the
     * reader gets there, unless it is the system's. */
    if (next_pcapng(c, NULL, error) < 0 && c->failed == 0)
        error[0] = '\0';
    return c->failed == 0 ? next_pcapng : NULL;
}
