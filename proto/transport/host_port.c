/* SPDX-License-Identifier: BSD-3-Clause */
/* HOST:PORT as text and as socket addresses. */
#include "transport/internal.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static int parse_port(const char *text, uint16_t *port)
{
    unsigned value = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] != '\0')
        return -1;
    for (size_t i = 0; i < digits; i++)
        value = value * 10 + (unsigned)(text[i] - '0');
    if (value > 65535)
        return -1;
    *port = (uint16_t)value;
    return 0;
}

int iw_transport_parse(const char *text, struct iw_host_port *out, char *error, size_t room)
{
    const char *host = text, *end, *colon;
    if (text[0] == '[') {
        host = text + 1;
        end = strchr(host, ']');
        if (!end || end[1] != ':') {
            snprintf(error, room, "bad address \"%s\": expected [IPV6-ADDRESS]:PORT", text);
            return -1;
        }
        colon = end + 1;
    } else {
        colon = strrchr(text, ':');
        if (!colon) {
            snprintf(error, room, "bad address \"%s\": expected HOST:PORT", text);
            return -1;
        }
        if (memchr(text, ':', (size_t)(colon - text))) {
            snprintf(error, room,
                     "bad address \"%s\": expected HOST:PORT, an IPv6 address in brackets", text);
            return -1;
        }
        end = colon;
    }
    size_t length = (size_t)(end - host);
    if (length == 0 || length >= sizeof(out->host)) {
        snprintf(error, room, "bad address \"%.*s\": the host is %s", 300, text,
                 length == 0 ? "empty" : "longer than 255 characters");
        return -1;
    }
    if (parse_port(colon + 1, &out->port)) {
        snprintf(error, room, "bad port \"%.*s\" in \"%.*s\": expected 0 to 65535", 100, colon + 1,
                 300, text);
        return -1;
    }
    memcpy(out->host, host, length);
    out->host[length] = '\0';
    return 0;
}

void iw_sockaddr_print(const struct sockaddr *address, socklen_t length, char *text)
{
    char host[IW_TRANSPORT_TEXT - 10], port[8];
    /* An adopted socket may be of another family. */
    bool internet = address->sa_family == AF_INET || address->sa_family == AF_INET6;
    if (!internet || getnameinfo(address, length, host, sizeof(host), port, sizeof(port),
                                 NI_NUMERICHOST | NI_NUMERICSERV)) {
        snprintf(text, IW_TRANSPORT_TEXT, "-");
        return;
    }
    snprintf(text, IW_TRANSPORT_TEXT, address->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
             port);
}

void iw_transport_print_host_port(const struct iw_host_port *at, char *text, size_t room)
{
    snprintf(text, room, strchr(at->host, ':') ? "[%s]:%u" : "%s:%u", at->host, (unsigned)at->port);
}
