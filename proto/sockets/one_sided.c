/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of iwarp/sockets.h: which socket a number stands for, and what it does then. */
#pragma GCC visibility push(default)
#include "iwarp/sockets.h"
#pragma GCC visibility pop

#include "mode_option.h"

#include <errno.h>
#include <fcntl.h>

/* Returns the socket with a use, or NULL with errno. */
static struct iw_socket *find(int fd)
{
    struct iw_socket *s = iw_socket_get(fd);
    if (s != NULL && iw_switched_of(s) != NULL)
        return s;
    if (s != NULL)
        iw_socket_put(s);
    errno = fcntl(fd, F_GETFD) < 0 ? EBADF : ENOTCONN;
    return NULL;
}

static int finish(struct iw_socket *s, int result)
{
    const int saved = errno;
    iw_socket_put(s);
    errno = saved;
    return result;
}

int iw_sockets_accept(int fd, const void *private_data, size_t length)
{
    struct iw_socket *s = find(fd);
    return s == NULL ? -1 : finish(s, iw_switched_accept(s->state, false, private_data, length));
}

int iw_sockets_reject(int fd, const void *private_data, size_t length)
{
    struct iw_socket *s = find(fd);
    if (s == NULL)
        return -1;
    const int result = iw_switched_accept(s->state, true, private_data, length);
    if (result == 0) /* TCP from now on */
        iw_mode_undo(fd, s->state);
    return finish(s, result);
}

ssize_t iw_sockets_private(int fd, void *out, size_t room)
{
    struct iw_socket *s = find(fd);
    if (s == NULL)
        return errno == EBADF ? -1 : iw_mode_refusal(fd, out, room);
    const ssize_t length = iw_switched_private(s->state, out, room);
    (void)finish(s, 0);
    return length;
}

int iw_sockets_advertise(int fd, void *memory, size_t length, unsigned rights,
                         struct iw_sockets_memory *out)
{
    struct iw_socket *s = find(fd);
    return s == NULL ? -1 : finish(s, iw_switched_advertise(s->state, memory, length, rights, out));
}

int iw_sockets_withdraw(int fd, uint32_t stag)
{
    struct iw_socket *s = find(fd);
    return s == NULL ? -1 : finish(s, iw_switched_withdraw(s->state, stag));
}

int iw_sockets_post(int fd, const struct iw_sockets_request *request)
{
    struct iw_socket *s = find(fd);
    return s == NULL ? -1 : finish(s, iw_switched_post(s->state, request));
}

int iw_sockets_poll(int fd, struct iw_sockets_completion *out, int room, int timeout_ms)
{
    struct iw_socket *s = find(fd);
    return s == NULL ? -1 : finish(s, iw_switched_poll(s->state, out, room, timeout_ms));
}

int iw_sockets_event(int fd)
{
    struct iw_socket *s = find(fd);
    return s == NULL ? -1 : finish(s, iw_switched_work_event(s->state));
}

int iw_sockets_terminate(int fd, struct iw_sockets_terminate *out)
{
    struct iw_socket *s = find(fd);
    return s == NULL ? -1 : finish(s, iw_switched_terminate(s->state, out));
}
