/* SPDX-License-Identifier: BSD-3-Clause */
/* HOST:PORT as text. */
#include "transport/transport_internal.h"

#include "host/number.h"

#include <stdio.h>
#include <string.h>

int iw_transport_parse(const char *text, struct iw_host_port *out, char *error, size_t room)
{
    const char *host = text, *colon = strrchr(text, ':'), *end = colon;
    if (text[0] == '[') {
        host = text + 1;
        end = strchr(host, ']');
        if (end == NULL || end[1] != ':') {
            snprintf(error, room, "bad address \"%s\": expected [IPV6-ADDRESS]:PORT", text);
            return -1;
        }
        colon = end + 1;
    } else if (colon == NULL || memchr(text, ':', (size_t)(colon - text)) != NULL) {
        snprintf(error, room, "bad address \"%s\": expected HOST:PORT%s", text,
                 colon != NULL ? ", an IPv6 address in brackets" : "");
        return -1;
    }
    size_t length = (size_t)(end - host);
    if (length == 0 || length >= sizeof(out->host)) {
        snprintf(error, room, "bad address \"%.*s\": the host is %s", 300, text,
                 length == 0 ? "empty" : "longer than 255 characters");
        return -1;
    }
    uint64_t port;
    size_t digits = strspn(colon + 1, "0123456789");
    if (digits > 5 || colon[1 + digits] != '\0' || !iw_number(colon + 1, 0, 65535, &port)) {
        snprintf(error, room, "bad port \"%.*s\" in \"%.*s\": expected 0 to 65535", 100, colon + 1,
                 300, text);
        return -1;
    }
    out->port = (uint16_t)port;
    memcpy(out->host, host, length);
    out->host[length] = '\0';
    return 0;
}

void iw_transport_print_host_port(const struct iw_host_port *at, char *text, size_t room)
{
    snprintf(text, room, strchr(at->host, ':') != NULL ? "[%s]:%u" : "%s:%u", at->host,
             (unsigned)at->port);
}
