/* SPDX-License-Identifier: BSD-3-Clause */
#include "mode_option.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#include "epoll_set.h"

/* ---- refusals: of numbers that are plain again ---- */

enum { REFUSALS = 16 };

static pthread_mutex_t refusals_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct refusal {
    uint64_t cookie; /* the system's number of the socket; 0: free */
    size_t length;
    uint8_t data[IW_MPA_PRIVATE_MAX];
} refusals[REFUSALS];
static unsigned refusals_next;

static uint64_t cookie_of(int fd)
{
    uint64_t cookie = 0;
    socklen_t length = sizeof(cookie);
    return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

static void remember_refusal(int fd, struct iw_switched *s)
{
    pthread_mutex_lock(&refusals_mutex);
    struct refusal *r = &refusals[refusals_next++ % REFUSALS];
    r->cookie = cookie_of(fd);
    r->length = (size_t)iw_switched_private(s, r->data, sizeof(r->data));
    pthread_mutex_unlock(&refusals_mutex);
}

ssize_t iw_mode_refusal(int fd, void *out, size_t room)
{
    const uint64_t cookie = cookie_of(fd);
    ssize_t length = -1;
    pthread_mutex_lock(&refusals_mutex);
    for (unsigned i = 0; i < REFUSALS && cookie != 0; i++) {
        /* The newest first: a socket may have been refused several times. */
        const struct refusal *r = &refusals[(refusals_next + REFUSALS - 1 - i) % REFUSALS];
        if (r->cookie != cookie)
            continue;
        length = (ssize_t)r->length;
        if (room > 0 && r->length > 0)
            memcpy(out, r->data, room < r->length ? room : r->length);
        break;
    }
    pthread_mutex_unlock(&refusals_mutex);
    errno = ENOTCONN;
    return length;
}

void iw_mode_undo(int fd, struct iw_switched *s)
{
    if (iw_switched_result(s) == ECONNREFUSED)
        remember_refusal(fd, s);
    iw_socket_make_plain(fd);
}

/* ---- the option ---- */

static int read_mode(const void *value, socklen_t length, struct iw_sockets_mode *mode)
{
    const unsigned known =
        IW_SOCKETS_ASK | IW_SOCKETS_NO_CRC | IW_SOCKETS_MARKERS | IW_SOCKETS_PLAIN;
    memset(mode, 0, sizeof(*mode));
    if (value == NULL)
        return EFAULT;
    if (length == sizeof(int))
        memcpy(&mode->role, value, sizeof(int));
    else if (length == sizeof(*mode))
        memcpy(mode, value, sizeof(*mode));
    else
        return EINVAL;
    if ((mode->private_length > 0 && mode->private_data == NULL) ||
        (mode->ahead_length > 0 && mode->ahead == NULL))
        return EFAULT;
    return (mode->flags & ~known) == 0 ? 0 : EINVAL;
}

/* Makes the number stand for the switched socket. */
static struct iw_socket *enter(int fd, struct iw_switched *s)
{
    struct sockaddr_storage name = {.ss_family = AF_INET};
    socklen_t length = sizeof(name);
    (void)getsockname(fd, (struct sockaddr *)&name, &length);
    struct iw_socket *socket = iw_socket_create(&iw_switched_ops, s, name.ss_family);
    if (socket == NULL)
        return NULL;
    atomic_store(&socket->nonblocking, (s->before.flags & O_NONBLOCK) != 0);
    if (iw_socket_attach(fd, socket) == 0) {
        iw_epoll_take(fd);
        return socket;
    }
    const int saved = errno;
    iw_socket_put(socket);
    errno = saved;
    return NULL;
}

int iw_mode_set(int fd, const void *value, socklen_t length)
{
    struct iw_sockets_mode mode;
    const int wrong = read_mode(value, length, &mode);
    if (wrong != 0) {
        errno = wrong;
        return -1;
    }
    struct iw_switched *s = iw_switched_begin(fd, &mode);
    if (s == NULL)
        return -1;
    struct iw_socket *socket = enter(fd, s);
    if (socket == NULL)
        return -1;
    int error;
    if (atomic_load(&socket->nonblocking))
        error = iw_switched_result(s);
    else
        error = iw_switched_wait(s) == 0 ? 0 : errno;
    if (error != 0 && error != EINPROGRESS && error != EINTR)
        iw_mode_undo(fd, s);
    iw_socket_put(socket);
    errno = error;
    return error == 0 ? 0 : -1;
}

int iw_mode_get(int mode, void *value, socklen_t *length)
{
    if (value == NULL || length == NULL) {
        errno = EFAULT;
        return -1;
    }
    const socklen_t room = *length < sizeof(mode) ? *length : (socklen_t)sizeof(mode);
    memcpy(value, &mode, room);
    *length = room;
    return 0;
}

int iw_mode_get_plain(int fd, void *value, socklen_t *length)
{
    int type;
    socklen_t room = sizeof(type);
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &room) != 0)
        return -1;
    if (type == SOCK_STREAM)
        return iw_mode_get(IWARP_OFF, value, length);
    errno = ENOPROTOOPT;
    return -1;
}
