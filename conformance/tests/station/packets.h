/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_PACKETS_H
#define IW_TESTS_PACKETS_H

#include <stdint.h>

/* The packets of a pcapng that an exchange was saved to (Ethernet, IPv4 without options), one after
 * the other with a blank between them: who sends it (1: the side that connects, 2: the other), its
 * flags of "SFR", its payload in quotes (a long one as its number of octets), and its comments in
 * braces: "1S 2S 1'abc'{why} 2F". One that only acknowledges is left out. The caller frees it. */
char *packets_read(const char *path);
/* Ports of the first packet's sender and receiver. */
void packets_ports(const char *path, uint16_t ports[2]);
/* The time of packet `number` (from 0) in ns. */
uint64_t packets_time(const char *path, unsigned number);

#endif
