/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages/resolver_place.h"

#include <netinet/in.h>
#include <string.h>

bool iw_resolver_place_from(struct iw_resolver_place *place, const struct sockaddr *address)
{
    *place = (struct iw_resolver_place){0};
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof(v4));
        place->family = IW_RESOLVER_IPV4;
        place->port = ntohs(v4.sin_port);
        memcpy(place->address, &v4.sin_addr, sizeof(v4.sin_addr));
        return true;
    }
    if (address->sa_family != AF_INET6)
        return false;
    struct sockaddr_in6 v6;
    memcpy(&v6, address, sizeof(v6));
    place->port = ntohs(v6.sin6_port);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
        place->family = IW_RESOLVER_IPV4;
        memcpy(place->address, v6.sin6_addr.s6_addr + 12, 4);
        return true;
    }
    place->family = IW_RESOLVER_IPV6;
    memcpy(place->address, &v6.sin6_addr, sizeof(v6.sin6_addr));
    place->scope = v6.sin6_scope_id;
    return true;
}

socklen_t iw_resolver_place_to(const struct iw_resolver_place *place, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof(*out));
    if (place->family == IW_RESOLVER_IPV4) {
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(place->port)};
        memcpy(&v4.sin_addr, place->address, sizeof(v4.sin_addr));
        memcpy(out, &v4, sizeof(v4));
        return sizeof(v4);
    }
    if (place->family != IW_RESOLVER_IPV6)
        return 0;
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(place->port), .sin6_scope_id = place->scope};
    memcpy(&v6.sin6_addr, place->address, sizeof(v6.sin6_addr));
    memcpy(out, &v6, sizeof(v6));
    return sizeof(v6);
}

bool iw_resolver_place_is_any(const struct iw_resolver_place *place)
{
    static const uint8_t zeros[16];
    return memcmp(place->address, zeros, sizeof(zeros)) == 0;
}

bool iw_resolver_place_is_loopback(const struct iw_resolver_place *place)
{
    static const uint8_t one[16] = {[15] = 1};
    return place->family == IW_RESOLVER_IPV4 ? place->address[0] == 127
                                             : memcmp(place->address, one, sizeof(one)) == 0;
}

bool iw_resolver_place_is_link_local(const struct iw_resolver_place *place)
{
    return place->family == IW_RESOLVER_IPV6 && place->address[0] == 0xfe &&
           (place->address[1] & 0xc0) == 0x80;
}

bool iw_resolver_place_is_one(const struct iw_resolver_place *place)
{
    /* 224.0.0.0 and above: multicast, reserved, broadcast. */
    if (place->family == IW_RESOLVER_IPV4 ? place->address[0] >= 224 : place->address[0] == 0xff)
        return false;
    return place->family != 0 && place->port != 0 && !iw_resolver_place_is_any(place);
}

bool iw_resolver_place_same_host(const struct iw_resolver_place *a,
                                 const struct iw_resolver_place *b)
{
    return a->family == b->family && memcmp(a->address, b->address, sizeof(a->address)) == 0;
}
