/* SPDX-License-Identifier: BSD-3-Clause */
/* The octets that an application sends on TCP before MPA (RFC 5044 §7.1.2, §7.1.3). */
#include "transport/transport_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

size_t iw_connection_streamed(struct iw_connection *c, const uint8_t *octets, size_t length)
{
    size_t taken = c->ops.stream(c->context, c, octets, length);
    return c->streaming || taken > length ? length : taken;
}

int iw_connection_send_stream(struct iw_connection *c)
{
    while (c->stream_length > 0) {
        ssize_t n = send(c->fd, c->stream, c->stream_length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        iw_tap_octets(c, true, &(struct iw_iov){c->stream, (size_t)n}, 1, (size_t)n);
        c->stream_length -= (size_t)n;
        memmove(c->stream, c->stream + n, c->stream_length);
    }
    free(c->stream);
    c->stream = NULL;
    return 1;
}

int iw_connection_stream(struct iw_connection *c, const void *octets, size_t length)
{
    if (!c->streaming || length > SIZE_MAX - c->stream_length) {
        errno = EINVAL;
        return -1;
    }
    if (length == 0)
        return 0;
    uint8_t *grown = realloc(c->stream, c->stream_length + length);
    if (grown == NULL)
        return -1;
    memcpy(grown + c->stream_length, octets, length);
    c->stream = grown;
    c->stream_length += length;
    iw_pending_add(c->source.reactor, c);
    return 0;
}

void iw_connection_start(struct iw_connection *c)
{
    if (!c->streaming)
        return;
    c->streaming = false;
    iw_endpoint_begin(c->ep, iw_transport_now());
    iw_pending_add(c->source.reactor, c);
}
