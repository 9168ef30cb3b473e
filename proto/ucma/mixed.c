/* SPDX-License-Identifier: BSD-3-Clause */
/* Listeners that take plain TCP, too. Its connections go through a pair of sockets, which processes
 * that share the listener after a fork share as well. */
#include "ucma/ucma.h"

#include "verbs/mixed_listen.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static _Thread_local struct {
    unsigned wait_ms;
    int out, in; /* the two ends, while wait_ms is not 0 */
    bool used;
} next;

IW_VERBS_EXPORT int iwarp_mixed_begin(unsigned wait_ms)
{
    int ends[2];
    if (wait_ms == 0 || next.wait_ms != 0) {
        errno = EINVAL;
        return -1;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        return -1;
    next.wait_ms = wait_ms;
    next.in = ends[0];
    next.out = ends[1];
    next.used = false;
    return 0;
}

IW_VERBS_EXPORT int iwarp_mixed_end(void)
{
    if (next.wait_ms == 0) {
        errno = EINVAL;
        return -1;
    }
    next.wait_ms = 0;
    if (next.used)
        return next.out;
    iw_ucma_real_close(next.in);
    iw_ucma_real_close(next.out);
    errno = EINVAL;
    return -1;
}

unsigned iw_ucma_mixed(int *plain)
{
    if (next.wait_ms == 0 || next.used)
        return 0;
    next.used = true;
    *plain = next.in;
    return next.wait_ms;
}

bool iw_ucma_mixed_pass(int plain, int fd)
{
    union {
        struct cmsghdr head;
        char octets[CMSG_SPACE(sizeof(int))];
    } control;
    char octet = 0;
    struct iovec piece = {&octet, 1};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    memset(&control, 0, sizeof(control));
    control.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    /* Nobody is there to take it if the program has closed its end. */
    if (sendmsg(plain, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EPIPE)
        return false;
    iw_ucma_real_close(fd);
    return true;
}
