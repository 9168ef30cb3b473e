/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the octets of a file in large pieces, borrowed from one buffer: no copy except the
 * kernel's. */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Small enough to stay in a second-level cache until it has been read. */
enum { BUFFER = 256 * 1024 };

bool iw_octets_open(struct iw_capture *c, const char *path, char error[IW_CAPTURE_ERROR])
{
    c->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (c->fd < 0) {
        snprintf(error, IW_CAPTURE_ERROR, "%s: cannot be opened: %s", c->name, strerror(errno));
        return false;
    }
    struct stat status = {0};
    if (fstat(c->fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        snprintf(error, IW_CAPTURE_ERROR, "%s: cannot be opened: %s", c->name, strerror(EISDIR));
        return false;
    }
    c->size = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
    c->room = BUFFER;
    c->buffer = malloc(BUFFER);
    if (c->buffer == NULL)
        snprintf(error, IW_CAPTURE_ERROR, "%s: out of memory", c->name);
    return c->buffer != NULL;
}

/* Makes room for n octets after `from`. */
static bool make_room(struct iw_capture *c, size_t n)
{
    if (c->room - c->from >= n)
        return true;
    memmove(c->buffer, c->buffer + c->from, c->to - c->from);
    c->to -= c->from;
    c->from = 0;
    if (c->room >= n)
        return true;
    uint8_t *larger = realloc(c->buffer, n);
    if (larger == NULL) {
        c->failed = ENOMEM;
        return false;
    }
    c->buffer = larger;
    c->room = n;
    return true;
}

const uint8_t *iw_octets_need(struct iw_capture *c, size_t n)
{
    c->interrupted = false;
    if (c->to - c->from >= n)
        return c->buffer + c->from;
    if (c->failed != 0 || c->end || c->ahead || !make_room(c, n))
        return NULL;
    while (c->to - c->from < n) {
        ssize_t got = read(c->fd, c->buffer + c->to, c->room - c->to);
        if (got <= 0) {
            c->interrupted = got < 0 && errno == EINTR;
            c->end = got == 0;
            c->failed = got < 0 && errno != EINTR ? errno : 0;
            return NULL;
        }
        c->to += (size_t)got;
    }
    return c->buffer + c->from;
}

void iw_octets_take(struct iw_capture *c, size_t n)
{
    c->from += n;
    c->offset += n;
    if (c->from == c->to)
        c->from = c->to = 0;
}

ssize_t iw_octets_read(void *capture, char *to, size_t n)
{
    struct iw_capture *c = capture;

    if (c->to - c->from == 0 && iw_octets_need(c, 1) == NULL) {
        errno = c->interrupted ? EINTR : c->failed;
        return errno != 0 ? -1 : 0;
    }
    if (n > c->to - c->from)
        n = c->to - c->from;
    memcpy(to, c->buffer + c->from, n);
    iw_octets_take(c, n);
    return (ssize_t)n;
}
