/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_VERBS_PORT_RELEASE_H
#define IW_VERBS_PORT_RELEASE_H

/*
 * For the preloaded library of sockets: a function of our libibverbs.so.1 with the version
 * IWARP_1.0, which it looks up with dlsym.
 */

/* From now on the port of a listener that is closed is free at once: it is not kept for the next
 * listener (ucma/kept.c). */
void iwarp_ports_release_at_once(void);

#endif
