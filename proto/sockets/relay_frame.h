/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_RELAY_FRAME_H
#define IW_SOCKETS_RELAY_FRAME_H

/* What the two ends of a relay say to each other: a head, and for RELAY_DATA octets after it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum relay_kind {
    RELAY_DATA,  /* `value` octets follow */
    RELAY_WANT,  /* child: up to `value` octets */
    RELAY_SHUT,  /* child: shutdown(value) */
    RELAY_ERROR, /* parent: the receive failed with this errno */
    RELAY_END    /* parent: no more octets will come */
};

enum {
    RELAY_MOST = 32768
}; /* octets of a frame: as many as a writable local socket takes at once */

struct relay_head {
    uint32_t kind, value;
};

/* Write and read a whole frame's head, or octets. Return false at the end, or on an error. Only
 * read, write and poll are used: a child may have forbidden itself everything else. */
bool iw_relay_write(int fd, const void *octets, size_t length);
bool iw_relay_read(int fd, void *octets, size_t length);
bool iw_relay_say(int fd, enum relay_kind kind, uint32_t value);

/* Serves a relay over `fd`, which it takes over, with threads of its own; `s` with a use that it
 * takes over. Returns false if it cannot: the use has ended, the descriptor is still the caller's.
 * (relay_pump.c) */
struct iw_socket;
bool iw_relay_serve(int fd, struct iw_socket *s);
/* In a child: those that are served are its parent's. */
void iw_relay_none(void);

#endif
