/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_TUN_H
#define IW_RUNNER_TUN_H

/*
 * A TUN device in a network namespace of its own. A target that runs in the namespace has the
 * kernel's TCP at one end of the device; what the station writes to the other end are IP packets of
 * its own making (craft.h). Namespace and device are gone when the last process in it has ended and
 * the descriptors are closed; the host's own namespace is not touched.
 */

#include <stddef.h>
#include <stdint.h>

/* The two ends (RFC 5737): the station's, which no kernel has, and that of the target's kernel. */
#define IW_TUN_STATION "192.0.2.1"
#define IW_TUN_TARGET "192.0.2.2"

struct iw_tun {
    int fd;             /* one IPv4 packet a read or write; does not block */
    int net_ns;         /* the namespace */
    int user_ns;        /* the user namespace that owns it; -1: ours */
    uint16_t last_port; /* of the station's end that was taken, for craft.h */
};

/* Makes a namespace and a device in it, as root or in a user namespace. Returns 0, or -1 with one
 * line in `error`: neither is permitted, or there are no TUN devices. */
int iw_tun_open(struct iw_tun *tun, char *error, size_t room);
void iw_tun_close(struct iw_tun *tun);
/* Moves the calling process, which has one thread, into the namespace. Returns 0, or -1 with errno
 * set. */
int iw_tun_enter(const struct iw_tun *tun);

#endif
