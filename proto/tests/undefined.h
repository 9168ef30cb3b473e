/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_UNDEFINED_H
#define IW_TESTS_UNDEFINED_H

/*
 * Buffers that are used again still hold octets of before: one that is sent though nobody wrote it,
 * or looked at though it was not received, has a value then, and valgrind takes it for a good one.
 * Linked with --wrap for the functions below, a program has the reactor's buffer and those of the
 * pool made undefined each time before they are used, and filled with `undefined_fill`. Include
 * from one file of a program.
 */

#include "iwarp/ddp.h"
#include "iwarp/transport.h"

#include <string.h>
#include <sys/socket.h>

#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif
#ifndef VALGRIND_MAKE_MEM_UNDEFINED
#define VALGRIND_MAKE_MEM_UNDEFINED(at, length) ((void)0)
#endif

static uint8_t undefined_fill = 0xdb;
static size_t undefined_most; /* octets of one receive; 0: any */
enum { UNDEFINED_BEHIND = 4096 /* octets made undefined after that, if there are as many */ };

static void make_undefined(void *at, size_t length)
{
    memset(at, undefined_fill, length);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(at, length);
}

void *__real_iw_domain_borrow(struct iw_domain *d);
void *__wrap_iw_domain_borrow(struct iw_domain *d);
void *__wrap_iw_domain_borrow(struct iw_domain *d)
{
    void *buffer = __real_iw_domain_borrow(d);
    if (buffer != NULL)
        make_undefined(buffer, IW_DOMAIN_BUFFER);
    return buffer;
}

/* Of other lengths are receives that are not the reactor's. */
ssize_t __real_recv(int fd, void *to, size_t length, int flags);
ssize_t __wrap_recv(int fd, void *to, size_t length, int flags);
ssize_t __wrap_recv(int fd, void *to, size_t length, int flags)
{
    if (length != IW_TRANSPORT_READ)
        return __real_recv(fd, to, length, flags);
    size_t most = undefined_most > 0 ? undefined_most : length;
    make_undefined(to, most < length ? most + UNDEFINED_BEHIND : length);
    return __real_recv(fd, to, most, flags);
}

/* Where payload is received in place, the octets before and after it are received into the
 * reactor's buffer. */
ssize_t __real_recvmsg(int fd, struct msghdr *m, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags)
{
    size_t left = undefined_most > 0 ? undefined_most : SIZE_MAX;
    for (size_t i = 0; i < m->msg_iovlen; i++) {
        struct iovec *piece = &m->msg_iov[i];
        if (m->msg_iovlen > 1 && (i + 1 == m->msg_iovlen || (i == 0 && m->msg_iovlen == 3)))
            make_undefined(piece->iov_base, piece->iov_len);
        piece->iov_len = piece->iov_len < left ? piece->iov_len : left;
        left -= piece->iov_len;
    }
    return __real_recvmsg(fd, m, flags);
}

#endif
