/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_RESOLVER_WIRE_H
#define IW_MESSAGES_RESOLVER_WIRE_H

/*
 * The resolver's datagrams, 56 octets in network order, 88 with a MAC:
 *
 *      0   4  0x69577273
 *      4   1  version, 1
 *      5   1  kind: 1 question, 2 answer, 3 claim
 *      6   1  flags: 1 a MAC follows, 2 relayed
 *      7   1  family of the address: 0 none, 4, 6
 *      8   4  number of the service
 *     12   2  port
 *     14   2  0
 *     16   8  instance: the answering process, or the one that claims
 *     24  16  nonce: of a question or a claim, repeated in its answer
 *     40  16  address; of IPv4 the first four octets, the others are 0
 *     56  32  HMAC-SHA-256 of the 56 octets before
 *
 * Address and port are those of the service in an answer, those of the asker in what was relayed,
 * else 0. A question is as long as its answer, so that nobody gains by a forged source address. A
 * datagram has one encoding: what would be another is malformed.
 */

#include "messages/resolver_place.h"

#include <nettle/hmac.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    IW_RESOLVER_QUESTION = 1,
    IW_RESOLVER_ANSWER = 2,
    IW_RESOLVER_CLAIM = 3,
    IW_RESOLVER_NONCE = 16,
    IW_RESOLVER_PLAIN = 56, /* octets */
    IW_RESOLVER_MAC = 32,
    IW_RESOLVER_DATAGRAM = IW_RESOLVER_PLAIN + IW_RESOLVER_MAC
};

struct iw_resolver_datagram {
    uint8_t kind;
    bool relayed; /* a question or a claim */
    uint32_t number;
    uint64_t instance; /* 0 in a question */
    uint8_t nonce[IW_RESOLVER_NONCE];
    struct iw_resolver_place place;
};

/* A key that hosts share, made ready. */
struct iw_resolver_key {
    bool shared; /* false: no MACs */
    struct hmac_sha256_ctx context;
};

/* What became of octets from the net. */
enum iw_resolver_verdict { IW_RESOLVER_GOOD, IW_RESOLVER_MALFORMED, IW_RESOLVER_REFUSED };

/* Makes a key ready; NULL: none is shared. */
void iw_resolver_key_set(struct iw_resolver_key *key, const void *octets, size_t length);

/* Writes a datagram, with a MAC if a key is shared. `out` has IW_RESOLVER_DATAGRAM octets. Returns
 * the length. */
size_t iw_resolver_encode(uint8_t *out, const struct iw_resolver_datagram *d,
                          const struct iw_resolver_key *key);
/* Reads `length` octets. Refused: the MAC is wrong or missing, or there is one and no key. */
enum iw_resolver_verdict iw_resolver_decode(const uint8_t *octets, size_t length,
                                            struct iw_resolver_datagram *d,
                                            const struct iw_resolver_key *key);

#endif
