/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_VERBS_SPARE_RECEIVES_H
#define IW_VERBS_SPARE_RECEIVES_H

/*
 * For the preloaded library of sockets: a function of our libibverbs.so.1 with the version
 * IWARP_1.0, which it looks up with dlsym.
 */

/* Queue pairs that are made from now on, without a shared receive queue, keep up to 16 messages of
 * up to 64 octets for which no receive is posted, until there is one. rsockets offers its peer as
 * many messages as it has receives, and sends others beside them: over InfiniBand those wait,
 * iWARP would end the connection (RFC 5041 §8.2: no buffer). */
void iwarp_receives_spare(void);

#endif
