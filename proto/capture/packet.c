/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes packets; decode.c reads them. */
#include <string.h>

#include "iwarp/capture.h"
#include "iwarp/octets.h"

enum { IPV4 = 20, IPV6 = 40, TCP = 20, OPTION = 4, HOPS = 64, PROTOCOL = 6, LENGTH_MAX = 65535 };

/* Returns the Internet checksum (RFC 1071) of the octets, which may be of an odd number, and of
 * `total`, a sum of other 16-bit words. */
static uint16_t checksum(uint64_t total, const uint8_t *octets, size_t length)
{
    for (; length > 1; length -= 2, octets += 2)
        total += iw_get16(octets);
    if (length > 0)
        total += (uint32_t)octets[0] << 8;
    while (total > 0xffff)
        total = (total & 0xffff) + (total >> 16);
    return (uint16_t)~total;
}

/* Returns the sum of the pseudo-header's words (RFC 9293 §3.1). */
static uint64_t pseudo(const struct iw_packet *packet, size_t segment)
{
    uint64_t total = PROTOCOL + segment;

    for (size_t i = 0; i < sizeof(packet->source.octets); i += 2)
        total += (uint64_t)iw_get16(packet->source.octets + i) +
                 iw_get16(packet->destination.octets + i);
    return total;
}

static size_t tcp_header(const struct iw_packet *packet)
{
    size_t mss = packet->mss != 0 ? OPTION : 0, scale = packet->scale != 0 ? OPTION : 0;

    return TCP + mss + scale;
}

size_t iw_packet_size(const struct iw_packet *packet)
{
    bool v4 = packet->source.family == 4;
    size_t ip = v4 ? IPV4 : IPV6, most = LENGTH_MAX - tcp_header(packet) - (v4 ? IPV4 : 0);

    return packet->length <= most ? ip + tcp_header(packet) + packet->length : 0;
}

static uint8_t *put_ipv4(uint8_t *ip, const struct iw_packet *packet, size_t size)
{
    uint8_t *p = iw_put16(ip, 0x4500); /* version and header length */

    p = iw_put16(p, (uint16_t)size);
    p = iw_put16(p, packet->id);
    p = iw_put16(p, 0x4000); /* do not fragment */
    p = iw_put16(p, HOPS << 8 | PROTOCOL);
    p = iw_put16(p, 0); /* checksum */
    memcpy(p, packet->source.octets, 4);
    memcpy(p + 4, packet->destination.octets, 4);
    (void)iw_put16(ip + 10, checksum(0, ip, IPV4));
    return p + 8;
}

static uint8_t *put_ipv6(uint8_t *ip, const struct iw_packet *packet, size_t size)
{
    uint8_t *p = iw_put32(ip, UINT32_C(0x60000000)); /* version */

    p = iw_put16(p, (uint16_t)(size - IPV6));
    p = iw_put16(p, PROTOCOL << 8 | HOPS);
    memcpy(p, packet->source.octets, 16);
    memcpy(p + 16, packet->destination.octets, 16);
    return p + 32;
}

size_t iw_packet_put(uint8_t *octets, size_t room, const struct iw_packet *packet)
{
    size_t size = iw_packet_size(packet);
    if (size > room || size == 0)
        return 0;
    uint8_t *tcp = packet->source.family == 4 ? put_ipv4(octets, packet, size)
                                              : put_ipv6(octets, packet, size);
    uint8_t *p = iw_put16(tcp, packet->source_port);
    p = iw_put16(p, packet->destination_port);
    p = iw_put32(p, packet->seq);
    p = iw_put32(p, packet->ack);
    p = iw_put16(p, (uint16_t)(tcp_header(packet) / 4 << 12 | packet->flags));
    p = iw_put16(p, packet->window);
    p = iw_put32(p, 0); /* checksum, urgent pointer */
    if (packet->mss != 0)
        p = iw_put32(p, UINT32_C(0x02040000) | packet->mss);
    if (packet->scale != 0) /* after a no-operation */
        p = iw_put32(p, UINT32_C(0x01030300) | packet->scale);
    if (packet->length != 0)
        memcpy(p, packet->payload, packet->length);
    size_t segment = size - (size_t)(tcp - octets);
    (void)iw_put16(tcp + 16, checksum(pseudo(packet, segment), tcp, segment));
    return size;
}
