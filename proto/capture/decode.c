/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads packets; packet.c writes them. */
#include "iwarp/capture.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "iwarp/octets.h"

/* The rest of the frame while headers are taken off it. `data` ends where the capture does; `whole`
 * counts the octets that the frame had on the link, cut at the length that a header gives. */
struct cursor {
    const uint8_t *data;
    uint32_t at;
    uint32_t end;
    uint32_t whole;
    struct iw_packet *packet;
};

static enum iw_decode stop(const struct cursor *c, enum iw_decode what, const char *reason)
{
    c->packet->reason = reason;
    c->packet->offset = c->at;
    return what;
}

/* Returns the next `length` octets, NULL if the capture ends before. */
static const uint8_t *look(const struct cursor *c, uint32_t length)
{
    return c->end - c->at >= length ? c->data + c->at : NULL;
}

/* Ends the frame `length` octets from here, if it is that long. */
static bool limit(struct cursor *c, uint32_t length)
{
    if (length > c->whole - c->at)
        return false;
    c->whole = c->at + length;
    if (c->end > c->whole)
        c->end = c->whole;
    return true;
}

/* Reads the options (RFC 9293 §3.1, RFC 7323 §2.2). The first of a kind that is not 0 counts. */
static void read_options(struct iw_packet *packet, const uint8_t *options, uint32_t length)
{
    enum { END = 0, NO_OPERATION = 1, MSS = 2, SCALE = 3 };
    uint32_t at = 0;
    while (at < length && options[at] != END) {
        if (options[at] == NO_OPERATION) {
            at++;
            continue;
        }
        if (length - at < 2 || options[at + 1] < 2 || options[at + 1] > length - at)
            break;
        if (options[at] == MSS && options[at + 1] == 4 && packet->mss == 0)
            packet->mss = iw_get16(options + at + 2);
        if (options[at] == SCALE && options[at + 1] == 3 && packet->scale == 0)
            packet->scale = options[at + 2];
        at += options[at + 1];
    }
}

/* RFC 9293 §3.1 */
static enum iw_decode decode_tcp(struct cursor *c)
{
    struct iw_packet *packet = c->packet;
    if (c->whole - c->at < 20)
        return stop(c, IW_DECODE_BAD, "the IP length leaves no room for a TCP header");
    const uint8_t *p = look(c, 20);
    if (p == NULL)
        return stop(c, IW_DECODE_CUT, "the captured octets end inside the TCP header");
    uint32_t header = (uint32_t)(p[12] >> 4) * 4;
    if (header < 20 || header > c->whole - c->at)
        return stop(c, IW_DECODE_BAD, "the TCP data offset is out of range");
    if (look(c, header) == NULL)
        return stop(c, IW_DECODE_CUT, "the captured octets end inside the TCP options");
    packet->source_port = iw_get16(p);
    packet->destination_port = iw_get16(p + 2);
    packet->seq = iw_get32(p + 4);
    packet->ack = iw_get32(p + 8);
    packet->flags = p[13] & 0x1f;
    packet->window = iw_get16(p + 14);
    read_options(packet, p + 20, header - 20);
    packet->payload = p + header;
    packet->length = c->end - c->at - header;
    packet->missing = c->whole - c->end;
    return IW_DECODE_TCP;
}

enum { HOP_BY_HOP = 0, TCP = 6, ROUTING = 43, FRAGMENT = 44, AUTHENTICATION = 51, OPTIONS = 60 };
enum { MOBILITY = 135 };

/* Stops at a fragment that follows a header of `size` octets. */
static enum iw_decode stop_at_fragment(struct cursor *c, uint32_t size, struct iw_fragment fragment,
                                       const char *reason)
{
    c->packet->fragment = fragment;
    c->packet->payload = c->data + c->at + size;
    c->packet->length = c->end - c->at - size;
    c->packet->missing = c->whole - c->end;
    return stop(c, IW_DECODE_FRAGMENT, reason);
}

/* RFC 791 §3.1 */
static enum iw_decode decode_ipv4(struct cursor *c)
{
    const uint8_t *p = look(c, 20);
    if (p == NULL)
        return stop(c, IW_DECODE_CUT, "the captured octets end inside the IPv4 header");
    uint32_t header = (uint32_t)(p[0] & 15) * 4;
    uint32_t total = iw_get16(p + 2);
    if (p[0] >> 4 != 4)
        return stop(c, IW_DECODE_BAD, "the IP version is not 4");
    /* Captures of a host that leaves segmentation to the interface have 0 here. */
    if (total == 0)
        total = c->whole - c->at;
    if (header < 20 || header > total)
        return stop(c, IW_DECODE_BAD, "the IPv4 header length is out of range");
    if (!limit(c, total))
        return stop(c, IW_DECODE_BAD, "the IPv4 total length runs past the frame");
    if (look(c, header) == NULL)
        return stop(c, IW_DECODE_CUT, "the captured octets end inside the IPv4 options");
    c->packet->source.family = c->packet->destination.family = 4;
    memcpy(c->packet->source.octets, p + 12, 4);
    memcpy(c->packet->destination.octets, p + 16, 4);
    c->packet->id = iw_get16(p + 4);
    if ((iw_get16(p + 6) & 0x3fff) != 0)
        return stop_at_fragment(c, header,
                                (struct iw_fragment){.id = c->packet->id,
                                                     .offset = (iw_get16(p + 6) & 0x1fffu) * 8,
                                                     .more = (p[6] & 0x20) != 0,
                                                     .next = p[9]},
                                "a fragment of an IPv4 datagram");
    if (p[9] != TCP)
        return stop(c, IW_DECODE_NOT_TCP, "the IPv4 protocol is not TCP");
    c->at += header;
    return decode_tcp(c);
}

/* Decodes the chain of extension headers that begins with one of type `next` (RFC 8200 §4). */
static enum iw_decode decode_extensions(struct cursor *c, uint8_t next)
{
    for (unsigned extensions = 0; next != TCP; extensions++) {
        if (next != HOP_BY_HOP && next != ROUTING && next != FRAGMENT && next != AUTHENTICATION &&
            next != OPTIONS && next != MOBILITY)
            return stop(c, IW_DECODE_NOT_TCP, "the IPv6 next header is not TCP");
        if (extensions == IW_DECODE_EXTENSIONS)
            return stop(c, IW_DECODE_BAD, "too many IPv6 extension headers");
        const uint8_t *p = look(c, 8);
        uint32_t size = 8;
        if (p != NULL && next != FRAGMENT)
            size += (uint32_t)p[1] * (next == AUTHENTICATION ? 4 : 8);
        if (size > c->whole - c->at)
            return stop(c, IW_DECODE_BAD, "the IPv6 payload ends inside an extension header");
        p = look(c, size);
        if (p == NULL)
            return stop(c, IW_DECODE_CUT,
                        "the captured octets end inside an IPv6 extension header");
        if (next == FRAGMENT && (iw_get16(p + 2) & 0xfff9) != 0)
            return stop_at_fragment(c, size,
                                    (struct iw_fragment){.id = iw_get32(p + 4),
                                                         .offset = iw_get16(p + 2) & 0xfff8u,
                                                         .more = (p[3] & 1) != 0,
                                                         .next = p[0]},
                                    "a fragment of an IPv6 datagram");
        c->at += size;
        next = p[0];
    }
    return decode_tcp(c);
}

/* RFC 8200 §3 */
static enum iw_decode decode_ipv6(struct cursor *c)
{
    const uint8_t *p = look(c, 40);
    if (p == NULL)
        return stop(c, IW_DECODE_CUT, "the captured octets end inside the IPv6 header");
    if (p[0] >> 4 != 6)
        return stop(c, IW_DECODE_BAD, "the IP version is not 6");
    uint32_t length = iw_get16(p + 4);
    uint8_t next = p[6];
    c->packet->source.family = c->packet->destination.family = 6;
    memcpy(c->packet->source.octets, p + 8, 16);
    memcpy(c->packet->destination.octets, p + 24, 16);
    /* 0: a jumbogram, or a host that leaves segmentation to the interface. */
    if (length != 0 && !limit(c, 40 + length))
        return stop(c, IW_DECODE_BAD, "the IPv6 payload length runs past the frame");
    c->at += 40;
    return decode_extensions(c, next);
}

static enum iw_decode decode_raw(struct cursor *c)
{
    const uint8_t *p = look(c, 1);
    if (p == NULL)
        return stop(c, IW_DECODE_CUT, "the captured octets end before the IP header");
    if (p[0] >> 4 == 4)
        return decode_ipv4(c);
    if (p[0] >> 4 == 6)
        return decode_ipv6(c);
    return stop(c, IW_DECODE_BAD, "the IP version is neither 4 nor 6");
}

static enum iw_decode decode_ethertype(struct cursor *c, uint16_t type)
{
    for (unsigned tags = 0; type == 0x8100 || type == 0x88a8 || type == 0x9100; tags++) {
        if (tags == IW_DECODE_TAGS)
            return stop(c, IW_DECODE_BAD, "too many VLAN tags");
        const uint8_t *p = look(c, 4);
        if (p == NULL)
            return stop(c, IW_DECODE_CUT, "the captured octets end inside a VLAN tag");
        type = iw_get16(p + 2);
        c->at += 4;
    }
    if (type == 0x0800)
        return decode_ipv4(c);
    if (type == 0x86dd)
        return decode_ipv6(c);
    return stop(c, IW_DECODE_NOT_IP, "the protocol on the link is not IP");
}

/* Decodes a link header of `size` octets with an EtherType at `at`. */
static enum iw_decode decode_typed(struct cursor *c, uint32_t size, uint32_t at)
{
    const uint8_t *p = look(c, size);
    if (p == NULL)
        return stop(c, IW_DECODE_CUT, "the captured octets end inside the link header");
    c->at += size;
    return decode_ethertype(c, iw_get16(p + at));
}

/* The address family is 2 for IPv4 everywhere; for IPv6 it depends on the system. */
static enum iw_decode decode_family(struct cursor *c, bool network_order)
{
    const uint8_t *p = look(c, 4);
    if (p == NULL)
        return stop(c, IW_DECODE_CUT, "the captured octets end inside the link header");
    uint32_t family = iw_get32(p);
    if (!network_order && p[0] != 0) /* the least octet comes first: families are small */
        family = (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
    c->at += 4;
    if (family == 2)
        return decode_ipv4(c);
    if (family == 10 || family == 24 || family == 28 || family == 30)
        return decode_ipv6(c);
    return stop(c, IW_DECODE_NOT_IP, "the protocol on the link is not IP");
}

enum iw_decode iw_packet_decode(const struct iw_frame *frame, struct iw_packet *packet)
{
    uint32_t whole = frame->original > frame->length ? frame->original : frame->length;
    struct cursor c = {frame->data, 0, frame->length, whole, packet};
    memset(packet, 0, sizeof(*packet));
    switch (frame->link) {
    case IW_LINK_ETHERNET:
        return decode_typed(&c, 14, 12);
    case IW_LINK_SLL:
        return decode_typed(&c, 16, 14);
    case IW_LINK_SLL2:
        return decode_typed(&c, 20, 0);
    case IW_LINK_NULL:
        return decode_family(&c, false);
    case IW_LINK_LOOP:
        return decode_family(&c, true);
    case IW_LINK_RAW:
        return decode_raw(&c);
    case IW_LINK_OTHER:
        break;
    }
    return stop(&c, IW_DECODE_NOT_IP, "the link type is unknown");
}

enum iw_decode iw_packet_decode_whole(struct iw_packet *packet, uint8_t next, const uint8_t *data,
                                      uint32_t length)
{
    struct cursor c = {data, 0, length, length, packet};

    packet->payload = NULL;
    packet->length = 0;
    packet->reason = NULL;
    if (packet->source.family == 6)
        return decode_extensions(&c, next);
    if (next != TCP)
        return stop(&c, IW_DECODE_NOT_TCP, "the IPv4 protocol is not TCP");
    return decode_tcp(&c);
}

char *iw_address_print(char *text, const struct iw_address *address, uint16_t port)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (address->family == 4) {
        inet_ntop(AF_INET, address->octets, host, sizeof(host));
        snprintf(text, IW_ENDPOINT_TEXT, "%s:%u", host, port);
    } else {
        inet_ntop(AF_INET6, address->octets, host, sizeof(host));
        snprintf(text, IW_ENDPOINT_TEXT, "[%s]:%u", host, port);
    }
    return text;
}
