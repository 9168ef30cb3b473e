/* SPDX-License-Identifier: BSD-3-Clause */
/* Interposed: sendfile. */
#include "descriptors.h"
#include "epoll_set.h"
#include "fork_claim.h"
#include "libc_next.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <unistd.h>

enum { PIECE = 1 << 17 };

/* Sends once what could be read at `at`. Returns how much, 0 at the end of the file; *more: all of
 * it, and there may be more. */
static ssize_t send_piece(struct iw_socket *s, int file, off64_t at, void *piece, size_t length,
                          bool *more)
{
    const size_t wanted = length < PIECE ? length : PIECE;
    const ssize_t got = pread64(file, piece, wanted, at);
    *more = false;
    if (got <= 0)
        return got;
    struct iovec octets = {piece, (size_t)got};
    const struct msghdr message = {.msg_iov = &octets, .msg_iovlen = 1};
    const ssize_t sent = s->ops->send(s, &message, 0);
    *more = sent == got && (size_t)got == wanted;
    return sent;
}

static ssize_t send_pieces(struct iw_socket *s, int file, off64_t at, size_t length)
{
    ssize_t done = 0;
    bool more = true;
    char *piece = malloc(length < PIECE ? length : PIECE);
    if (piece == NULL && length > 0) {
        errno = ENOMEM;
        return -1;
    }
    while (more && (size_t)done < length) {
        const ssize_t sent = send_piece(s, file, at + done, piece, length - (size_t)done, &more);
        if (sent < 0 && done == 0)
            done = -1;
        else if (sent > 0)
            done += sent;
    }
    free(piece);
    return done;
}

/* Without *offset from where the file is, which moves. */
static ssize_t send_file(struct iw_socket *s, int file, off64_t *offset, size_t length)
{
    const off64_t at = offset != NULL ? *offset : lseek64(file, 0, SEEK_CUR);
    if (at < 0) { /* a socket or a pipe */
        errno = EINVAL;
        return -1;
    }
    if (length > 0x7ffff000)
        length = 0x7ffff000;
    const ssize_t sent = iw_claim(s) ? send_pieces(s, file, at, length) : -1;
    const int saved = errno;
    if (sent > 0 && offset != NULL)
        *offset = at + sent;
    else if (sent > 0)
        (void)lseek64(file, at + sent, SEEK_SET);
    if (sent < 0 || (size_t)sent < length) {
        atomic_fetch_add(&s->held, 1);
        if (atomic_load(&s->edges))
            iw_epoll_stir(s);
    }
    errno = saved;
    return sent;
}

IW_INTERPOSED ssize_t sendfile64(int to, int file, off64_t *offset, size_t length)
{
    struct iw_socket *s = iw_socket_get(to);
    if (s == NULL)
        return iw_libc()->sendfile64(to, file, offset, length);
    const ssize_t sent = send_file(s, file, offset, length);
    iw_socket_put(s);
    return sent;
}

IW_INTERPOSED ssize_t sendfile(int to, int file, off_t *offset, size_t length)
{
    struct iw_socket *s = iw_socket_get(to);
    if (s == NULL)
        return iw_libc()->sendfile(to, file, offset, length);
    off64_t at = offset != NULL ? *offset : 0;
    const ssize_t sent = send_file(s, file, offset != NULL ? &at : NULL, length);
    if (sent > 0 && offset != NULL)
        *offset = (off_t)at;
    iw_socket_put(s);
    return sent;
}
