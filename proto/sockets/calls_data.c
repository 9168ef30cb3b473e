/* SPDX-License-Identifier: BSD-3-Clause */
/* Interposed: reading and writing. */
#include "descriptors.h"
#include "epoll_set.h"
#include "fork_claim.h"
#include "libc_next.h"
#include "rsocket_made.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

static ssize_t receive_by(struct iw_socket *s, struct msghdr *message, int flags)
{
    return iw_claim(s) ? s->ops->receive(s, message, flags) : -1;
}

static ssize_t send_by(struct iw_socket *s, const struct msghdr *message, int flags)
{
    return iw_claim(s) ? s->ops->send(s, message, flags) : -1;
}

/* What a call did, for those who wait for edges. */
static ssize_t received(struct iw_socket *s, ssize_t got)
{
    atomic_fetch_add(&s->received, 1);
    if (atomic_load_explicit(&s->edges, memory_order_relaxed))
        iw_epoll_stir(s);
    iw_socket_put(s);
    return got;
}

static ssize_t sent(struct iw_socket *s, ssize_t sent_octets, size_t length)
{
    if (sent_octets < 0 || (size_t)sent_octets < length) {
        atomic_fetch_add(&s->held, 1);
        if (atomic_load_explicit(&s->edges, memory_order_relaxed))
            iw_epoll_stir(s);
    }
    iw_socket_put(s);
    return sent_octets;
}

static size_t length_of(const struct iovec *pieces, size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += pieces[i].iov_len;
    return length;
}

static ssize_t receive(struct iw_socket *s, void *octets, size_t length, int flags)
{
    struct iovec piece = {octets, length};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    return received(s, receive_by(s, &message, flags));
}

static ssize_t send_octets(struct iw_socket *s, const void *octets, size_t length, int flags)
{
    struct iovec piece = {.iov_len = length};
    memcpy(&piece.iov_base, &octets, sizeof(octets)); /* an iovec cannot say const */
    const struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    return sent(s, send_by(s, &message, flags), length);
}

static ssize_t receive_pieces(struct iw_socket *s, const struct iovec *pieces, int count)
{
    struct msghdr message = {.msg_iovlen = (size_t)count};
    ssize_t got = -1;
    memcpy(&message.msg_iov, &pieces, sizeof(pieces));
    if (count < 0 || count > IOV_MAX)
        errno = EINVAL;
    else
        got = receive_by(s, &message, 0);
    return received(s, got);
}

static ssize_t send_pieces(struct iw_socket *s, const struct iovec *pieces, int count)
{
    struct msghdr message = {.msg_iovlen = (size_t)count};
    ssize_t done = -1;
    memcpy(&message.msg_iov, &pieces, sizeof(pieces));
    if (count < 0 || count > IOV_MAX)
        errno = EINVAL;
    else
        done = send_by(s, &message, 0);
    return sent(s, done, done < 0 ? 0 : length_of(pieces, (size_t)count));
}

IW_INTERPOSED ssize_t read(int fd, void *octets, size_t length)
{
    struct iw_socket *s = iw_socket_get(fd);
    return s == NULL ? iw_libc()->read(fd, octets, length) : receive(s, octets, length, 0);
}

IW_INTERPOSED ssize_t write(int fd, const void *octets, size_t length)
{
    struct iw_socket *s = iw_socket_get(fd);
    if (s != NULL)
        return send_octets(s, octets, length, 0);
    if (atomic_load_explicit(&iw_made_connects, memory_order_relaxed) > 0 &&
        iw_made_is_early(octets, length)) {
        errno = EAGAIN;
        return -1;
    }
    return iw_libc()->write(fd, octets, length);
}

IW_INTERPOSED ssize_t readv(int fd, const struct iovec *pieces, int count)
{
    struct iw_socket *s = iw_socket_get(fd);
    return s == NULL ? iw_libc()->readv(fd, pieces, count) : receive_pieces(s, pieces, count);
}

IW_INTERPOSED ssize_t writev(int fd, const struct iovec *pieces, int count)
{
    struct iw_socket *s = iw_socket_get(fd);
    return s == NULL ? iw_libc()->writev(fd, pieces, count) : send_pieces(s, pieces, count);
}

IW_INTERPOSED ssize_t recv(int fd, void *octets, size_t length, int flags)
{
    struct iw_socket *s = iw_socket_get(fd);
    return s == NULL ? iw_libc()->recv(fd, octets, length, flags)
                     : receive(s, octets, length, flags);
}

IW_INTERPOSED ssize_t send(int fd, const void *octets, size_t length, int flags)
{
    struct iw_socket *s = iw_socket_get(fd);
    return s == NULL ? iw_libc()->send(fd, octets, length, flags)
                     : send_octets(s, octets, length, flags);
}

/* As TCP does: no address is reported, and one that is given is ignored. */
IW_INTERPOSED ssize_t recvfrom(int fd, void *octets, size_t length, int flags,
                               struct sockaddr *from, socklen_t *from_length)
{
    struct iw_socket *s = iw_socket_get(fd);
    if (s == NULL)
        return iw_libc()->recvfrom(fd, octets, length, flags, from, from_length);
    if (from != NULL && from_length != NULL)
        *from_length = 0;
    return receive(s, octets, length, flags);
}

IW_INTERPOSED ssize_t sendto(int fd, const void *octets, size_t length, int flags,
                             const struct sockaddr *to, socklen_t to_length)
{
    struct iw_socket *s = iw_socket_get(fd);
    return s == NULL ? iw_libc()->sendto(fd, octets, length, flags, to, to_length)
                     : send_octets(s, octets, length, flags);
}

/* A stream has no addresses and no ancillary data. */
static void clear(struct msghdr *message)
{
    message->msg_namelen = 0;
    message->msg_controllen = 0;
    message->msg_flags = 0;
}

IW_INTERPOSED ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    struct iw_socket *s = iw_socket_get(fd);
    if (s == NULL)
        return iw_libc()->recvmsg(fd, message, flags);
    const ssize_t got = receive_by(s, message, flags);
    if (got >= 0)
        clear(message);
    return received(s, got);
}

IW_INTERPOSED ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct iw_socket *s = iw_socket_get(fd);
    if (s == NULL)
        return iw_libc()->sendmsg(fd, message, flags);
    const ssize_t done = send_by(s, message, flags);
    return sent(s, done, done < 0 ? 0 : length_of(message->msg_iov, message->msg_iovlen));
}

IW_INTERPOSED int recvmmsg(int fd, struct mmsghdr *list, unsigned count, int flags,
                           struct timespec *timeout)
{
    struct iw_socket *s = iw_socket_get(fd);
    unsigned done = 0;
    if (s == NULL)
        return iw_libc()->recvmmsg(fd, list, count, flags, timeout);
    for (; done < count; done++) {
        const bool wait = done == 0 || (flags & MSG_WAITFORONE) == 0;
        const ssize_t got = receive_by(s, &list[done].msg_hdr,
                                       (flags & ~MSG_WAITFORONE) | (wait ? 0 : MSG_DONTWAIT));
        if (got < 0)
            break;
        clear(&list[done].msg_hdr);
        list[done].msg_len = (unsigned)got;
    }
    (void)received(s, 0);
    return done > 0 || count == 0 ? (int)done : -1;
}

IW_INTERPOSED int sendmmsg(int fd, struct mmsghdr *list, unsigned count, int flags)
{
    struct iw_socket *s = iw_socket_get(fd);
    unsigned done = 0;
    if (s == NULL)
        return iw_libc()->sendmmsg(fd, list, count, flags);
    for (; done < count; done++) {
        const ssize_t octets = send_by(s, &list[done].msg_hdr, flags);
        if (octets < 0)
            break;
        list[done].msg_len = (unsigned)octets;
    }
    (void)sent(s, -1, 0);
    return done > 0 || count == 0 ? (int)done : -1;
}

/* ---- of programs that were compiled with _FORTIFY_SOURCE ---- */

IW_INTERPOSED ssize_t __read_chk(int fd, void *octets, size_t length, size_t room);
ssize_t __read_chk(int fd, void *octets, size_t length, size_t room)
{
    struct iw_socket *s = length <= room ? iw_socket_get(fd) : NULL;
    return s == NULL ? iw_libc()->__read_chk(fd, octets, length, room)
                     : receive(s, octets, length, 0);
}

IW_INTERPOSED ssize_t __recv_chk(int fd, void *octets, size_t length, size_t room, int flags);
ssize_t __recv_chk(int fd, void *octets, size_t length, size_t room, int flags)
{
    struct iw_socket *s = length <= room ? iw_socket_get(fd) : NULL;
    return s == NULL ? iw_libc()->__recv_chk(fd, octets, length, room, flags)
                     : receive(s, octets, length, flags);
}

IW_INTERPOSED ssize_t __recvfrom_chk(int fd, void *octets, size_t length, size_t room, int flags,
                                     struct sockaddr *from, socklen_t *from_length);
ssize_t __recvfrom_chk(int fd, void *octets, size_t length, size_t room, int flags,
                       struct sockaddr *from, socklen_t *from_length)
{
    struct iw_socket *s = length <= room ? iw_socket_get(fd) : NULL;
    if (s == NULL)
        return iw_libc()->__recvfrom_chk(fd, octets, length, room, flags, from, from_length);
    if (from != NULL && from_length != NULL)
        *from_length = 0;
    return receive(s, octets, length, flags);
}
