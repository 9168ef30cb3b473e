/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/transport_internal.h"

void iw_tap_opened(struct iw_connection *c, bool active)
{
    struct sockaddr_storage local, remote;
    if (c->tap == NULL)
        return;
    iw_connection_addresses(c, &local, &remote);
    c->tapped = c->tap->opened(c->tap->context, &local, &remote, active);
}

bool iw_tap_in_place(const struct iw_tap *tap)
{
    return tap == NULL || tap->in_place;
}

void *iw_connection_tapped(const struct iw_connection *c)
{
    return c->tapped;
}

void iw_tap_octets(const struct iw_connection *c, bool sent, const struct iw_iov *pieces,
                   size_t count, size_t length)
{
    if (c->tapped != NULL && length > 0)
        c->tap->octets(c->tapped, sent, pieces, count, length);
}

void iw_tap_received(const struct iw_connection *c, const struct iovec *into, size_t count,
                     size_t length)
{
    struct iw_iov pieces[IW_TAP_PIECES];

    for (size_t i = 0; i < count; i++)
        pieces[i] = (struct iw_iov){into[i].iov_base, into[i].iov_len};
    iw_tap_octets(c, false, pieces, count, length);
}

void iw_tap_ended(const struct iw_connection *c, bool sent, bool reset)
{
    if (c->tapped != NULL)
        c->tap->ended(c->tapped, sent, reset);
}

void iw_tap_closed(struct iw_connection *c, bool reset)
{
    if (reset)
        iw_tap_ended(c, true, true);
    if (c->tapped != NULL)
        c->tap->closed(c->tapped);
    c->tapped = NULL;
}
