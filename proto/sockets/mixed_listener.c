/* SPDX-License-Identifier: BSD-3-Clause */
#include "mixed_listener.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "libc_next.h"
#include "verbs_extra.h"

int iw_mixed_begin(unsigned wait_ms)
{
    const struct iw_verbs_mixed *verbs = iw_verbs_mixed();
    if (verbs != NULL)
        return verbs->begin(wait_ms);
    errno = EOPNOTSUPP;
    return -1;
}

int iw_mixed_end(void)
{
    const int saved = errno, plain = iw_verbs_mixed()->end();
    if (plain >= 0)
        errno = saved;
    return plain;
}

int iw_mixed_wait(int queue, int plain, int over)
{
    struct epoll_event readable = {.events = EPOLLIN};
    const struct iw_libc *c = iw_libc();
    const int wait = c->epoll_create1(EPOLL_CLOEXEC), all[] = {queue, plain, over};
    bool good = wait >= 0;
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]) && good; i++)
        good = all[i] < 0 || c->epoll_ctl(wait, EPOLL_CTL_ADD, all[i], &readable) == 0;
    if (good || wait < 0)
        return wait;
    const int saved = errno;
    c->close(wait);
    errno = saved;
    return -1;
}

void iw_mixed_wait_again(int wait, int queue, int plain, int over)
{
    const int made = iw_mixed_wait(queue, plain, over);
    if (made < 0)
        return;
    (void)iw_libc()->dup3(made, wait, O_CLOEXEC);
    iw_libc()->close(made);
}

/* Takes the descriptor that one message carries. */
static int take(int plain, int flags)
{
    union {
        struct cmsghdr head;
        char octets[CMSG_SPACE(sizeof(int))];
    } control;
    char octet;
    struct iovec piece = {&octet, 1};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    const int close_on_exec = (flags & SOCK_CLOEXEC) != 0 ? MSG_CMSG_CLOEXEC : 0;
    const ssize_t n = iw_libc()->recvmsg(plain, &message, MSG_DONTWAIT | close_on_exec);
    const struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    int fd = -1;
    if (n == 0) /* the listener is gone */
        errno = EAGAIN;
    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(head), sizeof(fd));
    else if (n > 0) /* this process may have no more descriptors */
        errno = EMFILE;
    return fd;
}

int iw_mixed_accept(int plain, struct sockaddr *from, socklen_t *length, int flags)
{
    const struct iw_libc *c = iw_libc();
    const int fd = take(plain, flags);
    if (fd < 0)
        return -1;
    if ((flags & SOCK_NONBLOCK) != 0)
        (void)c->fcntl(fd, F_SETFL, c->fcntl(fd, F_GETFL) | O_NONBLOCK);
    /* As with accept, a peer that has gone by now is found out by the first call. */
    if (from != NULL && length != NULL && c->getpeername(fd, from, length) != 0)
        *length = 0;
    return fd;
}
