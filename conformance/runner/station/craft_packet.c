/* SPDX-License-Identifier: BSD-3-Clause */
#include "craft_packet.h"

#include <string.h>

enum { IP = 20, TCP = 20, PROTOCOL = 6 };

static uint8_t *put16(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
    return p + 2;
}

static uint8_t *put32(uint8_t *p, uint32_t value)
{
    return put16(put16(p, value >> 16), value & 0xffff);
}

/* The Internet checksum (RFC 1071): a running sum of 16-bit words, of a packet at most. */
static uint32_t sum(uint32_t total, const uint8_t *octets, size_t length)
{
    for (size_t i = 0; i < length; i++)
        total += i % 2 ? octets[i] : (uint32_t)octets[i] << 8;
    return total;
}

static uint32_t folded(uint32_t total)
{
    while (total > 0xffff)
        total = (total & 0xffff) + (total >> 16);
    return ~total & 0xffff;
}

size_t iw_craft_packet_put(uint8_t *out, size_t room, const struct iw_craft_header *h,
                           const void *payload, size_t length)
{
    size_t header = TCP + (h->mss ? IW_CRAFT_OPTIONS : 0);
    size_t segment = header + length;
    uint8_t *tcp = out + IP, *p = out;

    if (length > IW_CRAFT_PACKET || IP + segment > IW_CRAFT_PACKET || IP + segment > room)
        return 0;
    p = put16(p, 0x4500);
    p = put16(p, (uint32_t)(IP + segment));
    p = put16(p, h->id);
    p = put16(p, 0x4000); /* do not fragment */
    p = put16(p, 64 << 8 | PROTOCOL);
    p = put16(p, 0);
    memcpy(p, h->source, 4);
    memcpy(p + 4, h->destination, 4);
    put16(out + 10, folded(sum(0, out, IP)));
    p = put16(tcp, h->source_port);
    p = put16(p, h->destination_port);
    p = put32(p, h->seq);
    p = put32(p, h->ack);
    p = put16(p, (uint32_t)(header / 4) << 12 | h->flags);
    p = put16(p, h->window);
    p = put32(p, 0); /* checksum, urgent pointer */
    if (h->mss)
        p = put32(p, UINT32_C(0x02040000) | h->mss);
    if (length)
        memcpy(p, payload, length);
    /* The pseudo-header: addresses, protocol and length. */
    put16(tcp + 16, folded(sum(sum((uint32_t)segment + PROTOCOL, out + 12, 8), tcp, segment)));
    return IP + segment;
}
