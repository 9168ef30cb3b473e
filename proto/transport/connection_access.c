/* SPDX-License-Identifier: BSD-3-Clause */
/* What the owner of a connection asks and sets. */
#include "transport/transport_internal.h"

#include "host/address.h"

#include <stdio.h>
#include <string.h>

void iw_connection_keep(struct iw_connection *c)
{
    c->keep = true;
}

struct iw_endpoint *iw_connection_endpoint(const struct iw_connection *c)
{
    return c->ep;
}

void *iw_connection_context(const struct iw_connection *c)
{
    return c->context;
}

void iw_connection_set_context(struct iw_connection *c, void *context)
{
    c->context = context;
}

void iw_connection_kick(struct iw_connection *c)
{
    if (c->parked)
        return;
    iw_pending_add(c->source.reactor, c);
}

int iw_connection_remake(struct iw_connection *c, const struct iw_endpoint_config *endpoint)
{
    struct iw_endpoint_config config = *endpoint;
    config.in_place = iw_tap_in_place(c->tap);
    return iw_endpoint_remake(&c->ep, &config, iw_transport_now());
}

int iw_connection_error(const struct iw_connection *c)
{
    return c->error;
}

void iw_connection_local(const struct iw_connection *c, char *text)
{
    iw_address_numeric(&c->local.any, sizeof(c->local), text, IW_TRANSPORT_TEXT);
}

void iw_connection_remote(const struct iw_connection *c, char *text)
{
    if (c->name != NULL)
        snprintf(text, IW_TRANSPORT_TEXT, "%s", c->name);
    else
        iw_address_numeric(&c->remote.any, sizeof(c->remote), text, IW_TRANSPORT_TEXT);
}

void iw_connection_addresses(const struct iw_connection *c, struct sockaddr_storage *local,
                             struct sockaddr_storage *remote)
{
    if (local != NULL) {
        memset(local, 0, sizeof(*local));
        memcpy(local, &c->local, sizeof(c->local));
    }
    if (remote != NULL) {
        memset(remote, 0, sizeof(*remote));
        memcpy(remote, &c->remote, sizeof(c->remote));
    }
}
