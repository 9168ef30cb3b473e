/* SPDX-License-Identifier: BSD-3-Clause */
#include "exec_lost.h"

#include "descriptors.h"
#include "libc_next.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>

enum { MARK = 0x69574152 }; /* "iWAR"; as a time-out 20 days */

void iw_exec_mark(int fd)
{
    const int saved = errno;
    (void)iw_libc()->setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &(int){MARK}, sizeof(int));
    errno = saved;
}

void iw_exec_unmark(int fd, unsigned user_timeout)
{
    (void)iw_libc()->setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout,
                                sizeof(user_timeout));
}

static int lost(void)
{
    errno = ECONNRESET;
    return -1;
}

static ssize_t lost_receive(struct iw_socket *s, struct msghdr *m, int flags)
{
    (void)s, (void)m, (void)flags;
    return lost();
}

static ssize_t lost_send(struct iw_socket *s, const struct msghdr *m, int flags)
{
    (void)s, (void)m, (void)flags;
    return lost();
}

static int lost_connect(struct iw_socket *s, int fd, const struct sockaddr *to, socklen_t length)
{
    (void)s, (void)fd, (void)to, (void)length;
    return lost();
}

static int lost_number(struct iw_socket *s, int fd, int number)
{
    (void)s, (void)fd, (void)number;
    return lost();
}

static int lost_accept(struct iw_socket *s, int fd, struct sockaddr *from, socklen_t *length,
                       int flags)
{
    (void)s, (void)fd, (void)from, (void)length, (void)flags;
    return lost();
}

static int lost_shutdown(struct iw_socket *s, int how)
{
    (void)s, (void)how;
    return lost();
}

static void lost_close(struct iw_socket *s)
{
    (void)s;
}

static int lost_get_option(struct iw_socket *s, int fd, int level, int name, void *value,
                           socklen_t *length)
{
    (void)s;
    return iw_libc()->getsockopt(fd, level, name, value, length);
}

static int lost_set_option(struct iw_socket *s, int fd, int level, int name, const void *value,
                           socklen_t length)
{
    (void)s;
    return iw_libc()->setsockopt(fd, level, name, value, length);
}

static int lost_get_name(struct iw_socket *s, int fd, bool peer, struct sockaddr *address,
                         socklen_t *length)
{
    (void)s;
    return peer ? lost() : iw_libc()->getsockname(fd, address, length);
}

static int lost_available(struct iw_socket *s, int *octets)
{
    (void)s, (void)octets;
    return lost();
}

static void lost_set_nonblocking(struct iw_socket *s)
{
    (void)s;
}

static short lost_prepare(struct iw_socket *s, short events, struct pollfd *wait)
{
    (void)s;
    *wait = (struct pollfd){.fd = -1};
    return (short)((events & (POLLIN | POLLOUT)) | POLLERR | POLLHUP);
}

static short lost_finish(struct iw_socket *s, short events, const struct pollfd *wait)
{
    (void)s, (void)events, (void)wait;
    return 0;
}

static const struct iw_socket_ops lost_ops = {
    .receive = lost_receive,
    .send = lost_send,
    .connect = lost_connect,
    .listen = lost_number,
    .accept = lost_accept,
    .shutdown = lost_shutdown,
    .close = lost_close,
    .get_option = lost_get_option,
    .set_option = lost_set_option,
    .get_name = lost_get_name,
    .available = lost_available,
    .set_nonblocking = lost_set_nonblocking,
    .prepare = lost_prepare,
    .finish = lost_finish,
};

static void look_at(int fd)
{
    int value = 0;
    socklen_t length = sizeof(value);
    if (iw_libc()->getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, &length) != 0 ||
        value != MARK)
        return;
    struct iw_socket *s = iw_socket_create(&lost_ops, NULL, AF_INET);
    if (s == NULL)
        return;
    fprintf(stderr,
            "iwarp-sockets: descriptor %d was an iWARP socket before exec: it reports ECONNRESET\n",
            fd);
    (void)iw_socket_attach(fd, s);
    iw_socket_put(s);
}

__attribute__((constructor)) static void look_for_lost(void)
{
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return;
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder))
        if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(folder))
            look_at(atoi(e->d_name));
    closedir(folder);
}
