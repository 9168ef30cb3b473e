/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages/resolver_wire.h"

#include "iwarp/octets.h"

#include <nettle/memops.h>
#include <string.h>

enum {
    MAGIC = 0x69577273,
    VERSION = 1,
    FLAG_MAC = 1,
    FLAG_RELAYED = 2,
    AT_VERSION = 4,
    AT_KIND = 5,
    AT_FLAGS = 6,
    AT_FAMILY = 7,
    AT_NUMBER = 8,
    AT_PORT = 12,
    AT_ZERO = 14,
    AT_INSTANCE = 16,
    AT_NONCE = 24,
    AT_ADDRESS = 40
};

void iw_resolver_key_set(struct iw_resolver_key *key, const void *octets, size_t length)
{
    key->shared = octets != NULL;
    if (key->shared)
        hmac_sha256_set_key(&key->context, length, octets);
}

static void authenticate(const struct iw_resolver_key *key, const uint8_t *octets, uint8_t *mac)
{
    struct hmac_sha256_ctx context = key->context;
    hmac_sha256_update(&context, IW_RESOLVER_PLAIN, octets);
    hmac_sha256_digest(&context, IW_RESOLVER_MAC, mac);
}

size_t iw_resolver_encode(uint8_t *out, const struct iw_resolver_datagram *d,
                          const struct iw_resolver_key *key)
{
    iw_put32(out, MAGIC);
    out[AT_VERSION] = VERSION;
    out[AT_KIND] = d->kind;
    out[AT_FLAGS] = (uint8_t)((key->shared ? FLAG_MAC : 0) | (d->relayed ? FLAG_RELAYED : 0));
    out[AT_FAMILY] = d->place.family;
    iw_put32(out + AT_NUMBER, d->number);
    iw_put16(out + AT_PORT, d->place.port);
    iw_put16(out + AT_ZERO, 0);
    iw_put64(out + AT_INSTANCE, d->instance);
    memcpy(out + AT_NONCE, d->nonce, sizeof(d->nonce));
    memcpy(out + AT_ADDRESS, d->place.address, sizeof(d->place.address));
    if (!key->shared)
        return IW_RESOLVER_PLAIN;
    authenticate(key, out, out + IW_RESOLVER_PLAIN);
    return IW_RESOLVER_DATAGRAM;
}

static bool zero(const uint8_t *octets, size_t length)
{
    uint8_t any = 0;
    for (size_t i = 0; i < length; i++)
        any |= octets[i];
    return any == 0;
}

/* True if the fields are those of its kind. */
static bool consistent(const struct iw_resolver_datagram *d)
{
    const struct iw_resolver_place *p = &d->place;
    const bool placed = d->kind == IW_RESOLVER_ANSWER || d->relayed;
    if (d->kind < IW_RESOLVER_QUESTION || d->kind > IW_RESOLVER_CLAIM)
        return false;
    if (d->relayed && d->kind == IW_RESOLVER_ANSWER)
        return false;
    if ((d->kind == IW_RESOLVER_QUESTION) != (d->instance == 0))
        return false;
    if (!placed)
        return p->family == 0 && p->port == 0 && iw_resolver_place_is_any(p);
    if (p->family == IW_RESOLVER_IPV4 && !zero(p->address + 4, sizeof(p->address) - 4))
        return false;
    return (p->family == IW_RESOLVER_IPV4 || p->family == IW_RESOLVER_IPV6) &&
           iw_resolver_place_is_one(p);
}

enum iw_resolver_verdict iw_resolver_decode(const uint8_t *octets, size_t length,
                                            struct iw_resolver_datagram *d,
                                            const struct iw_resolver_key *key)
{
    if (length != IW_RESOLVER_PLAIN && length != IW_RESOLVER_DATAGRAM)
        return IW_RESOLVER_MALFORMED;
    const uint8_t flags = octets[AT_FLAGS];
    const bool sealed = length == IW_RESOLVER_DATAGRAM;
    if (iw_get32(octets) != MAGIC || octets[AT_VERSION] != VERSION ||
        (flags & ~(FLAG_MAC | FLAG_RELAYED)) != 0 || sealed != ((flags & FLAG_MAC) != 0) ||
        iw_get16(octets + AT_ZERO) != 0)
        return IW_RESOLVER_MALFORMED;
    *d = (struct iw_resolver_datagram){
        .kind = octets[AT_KIND],
        .relayed = (flags & FLAG_RELAYED) != 0,
        .number = iw_get32(octets + AT_NUMBER),
        .instance = iw_get64(octets + AT_INSTANCE),
        .place = {.family = octets[AT_FAMILY], .port = iw_get16(octets + AT_PORT)}};
    memcpy(d->nonce, octets + AT_NONCE, sizeof(d->nonce));
    memcpy(d->place.address, octets + AT_ADDRESS, sizeof(d->place.address));
    if (!consistent(d))
        return IW_RESOLVER_MALFORMED;
    if (sealed != key->shared)
        return IW_RESOLVER_REFUSED;
    if (sealed) {
        uint8_t mac[IW_RESOLVER_MAC];
        authenticate(key, octets, mac);
        if (!memeql_sec(mac, octets + IW_RESOLVER_PLAIN, sizeof(mac)))
            return IW_RESOLVER_REFUSED;
    }
    return IW_RESOLVER_GOOD;
}
