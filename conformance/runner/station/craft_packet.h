/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CRAFT_PACKET_H
#define IW_RUNNER_CRAFT_PACKET_H

/* IPv4 packets with a TCP segment, written by the station (RFC 791 §3.1, RFC 9293 §3.1). What
 * comes back is read by iw_packet_decode. */

#include <stddef.h>
#include <stdint.h>

enum {
    IW_CRAFT_HEADERS = 40, /* of IP and TCP */
    IW_CRAFT_OPTIONS = 4,  /* with an MSS */
    IW_CRAFT_PACKET = 1500 /* the longest */
};

struct iw_craft_header {
    uint8_t source[4], destination[4];
    uint16_t source_port, destination_port;
    uint32_t seq, ack;
    uint8_t flags; /* IW_TCP_* */
    uint16_t window;
    uint16_t mss; /* 0: no option */
    uint16_t id;  /* of the IP packet */
};

/* Writes headers, checksums and payload. Returns the packet's octets, 0 if `room` is too small. */
size_t iw_craft_packet_put(uint8_t *out, size_t room, const struct iw_craft_header *h,
                           const void *payload, size_t length);

#endif
