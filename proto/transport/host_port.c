/* SPDX-License-Identifier: BSD-3-Clause */
/* HOST:PORT as text. */
#include "transport/transport_internal.h"

#include "host/address.h"

#include <stdio.h>
#include <string.h>

int iw_transport_parse(const char *text, struct iw_host_port *out, char *error, size_t room)
{
    struct iw_address_parts parts;
    const bool cut = iw_address_cut(text, &parts);
    if (text[0] == '[' && (!cut || parts.port == NULL)) {
        snprintf(error, room, "bad address \"%s\": expected [IPV6-ADDRESS]:PORT", text);
        return -1;
    }
    if (parts.port == NULL) {
        snprintf(error, room, "bad address \"%s\": expected HOST:PORT%s", text,
                 strchr(text, ':') != NULL ? ", an IPv6 address in brackets" : "");
        return -1;
    }
    if (parts.length == 0 || parts.length >= sizeof(out->host)) {
        snprintf(error, room, "bad address \"%.*s\": the host is %s", 300, text,
                 parts.length == 0 ? "empty" : "longer than 255 characters");
        return -1;
    }
    if (!iw_address_read_port(parts.port, 0, &out->port)) {
        snprintf(error, room, "bad port \"%.*s\" in \"%.*s\": expected 0 to 65535", 100, parts.port,
                 300, text);
        return -1;
    }
    memcpy(out->host, parts.host, parts.length);
    out->host[parts.length] = '\0';
    return 0;
}

void iw_transport_print_host_port(const struct iw_host_port *at, char *text, size_t room)
{
    snprintf(text, room, strchr(at->host, ':') != NULL ? "[%s]:%u" : "%s:%u", at->host,
             (unsigned)at->port);
}
