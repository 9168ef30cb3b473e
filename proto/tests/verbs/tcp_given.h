/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_TCP_GIVEN_H
#define IW_TESTS_TCP_GIVEN_H

/* Counts what TCP has got from this process. Include from one test program. */

#include <linux/sockios.h>
#include <linux/tcp.h> /* whose struct tcp_info has the octets */
#include <netinet/in.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { FDS = 200 };

/* Returns the octets that a connection of TCP has got to send, or 0 if it is none. When TCP sends
 * them is its own affair. */
static inline uint64_t octets_of(int fd)
{
    struct tcp_info first = {.tcpi_bytes_acked = 0}, last = first;
    unsigned unacked = 0;
    do { /* an acknowledgement between the calls would be counted twice, or not at all */
        socklen_t length = sizeof(first), same = sizeof(last);
        if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &first, &length) != 0 ||
            ioctl(fd, SIOCOUTQ, &unacked) != 0 ||
            getsockopt(fd, IPPROTO_TCP, TCP_INFO, &last, &same) != 0)
            return 0;
    } while (first.tcpi_bytes_acked != last.tcpi_bytes_acked);
    return last.tcpi_bytes_acked + unacked;
}

/* Returns the octets that TCP has got from this process. */
static inline uint64_t given(void)
{
    uint64_t octets = 0;
    for (int fd = 3; fd < FDS; fd++)
        octets += octets_of(fd);
    return octets;
}

#endif
