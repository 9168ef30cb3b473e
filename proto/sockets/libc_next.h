/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_LIBC_NEXT_H
#define IW_SOCKETS_LIBC_NEXT_H

/* The functions that the program would call without this library: libc's, or those of another
 * preloaded library. */

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>

#define IW_INTERPOSED __attribute__((visibility("default")))
/* Of a function that AddressSanitizer itself may call, before it has begun. */
#define IW_EARLY __attribute__((no_sanitize("address")))

/* X(result, name, parameters) */
#define IW_LIBC_FUNCTIONS(X)                                                                       \
    X(int, connect, (int, const struct sockaddr *, socklen_t))                                     \
    X(int, setrlimit, (__rlimit_resource_t, const struct rlimit *))                                \
    X(int, setrlimit64, (__rlimit_resource_t, const struct rlimit64 *))                            \
    X(int, sched_yield, (void))                                                                    \
    X(int, prctl, (int, ...))                                                                      \
    X(void, _exit, (int))                                                                          \
    X(int, eventfd, (unsigned, int))                                                               \
    X(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))       \
    X(int, thrd_create, (thrd_t *, thrd_start_t, void *))                                          \
    X(int, socketpair, (int, int, int, int[2]))                                                    \
    X(int, bind, (int, const struct sockaddr *, socklen_t))                                        \
    X(int, listen, (int, int))                                                                     \
    X(int, accept, (int, struct sockaddr *, socklen_t *))                                          \
    X(int, accept4, (int, struct sockaddr *, socklen_t *, int))                                    \
    X(int, shutdown, (int, int))                                                                   \
    X(int, getsockopt, (int, int, int, void *, socklen_t *))                                       \
    X(int, setsockopt, (int, int, int, const void *, socklen_t))                                   \
    X(int, getsockname, (int, struct sockaddr *, socklen_t *))                                     \
    X(int, getpeername, (int, struct sockaddr *, socklen_t *))                                     \
    X(ssize_t, read, (int, void *, size_t))                                                        \
    X(ssize_t, write, (int, const void *, size_t))                                                 \
    X(ssize_t, readv, (int, const struct iovec *, int))                                            \
    X(ssize_t, writev, (int, const struct iovec *, int))                                           \
    X(ssize_t, recv, (int, void *, size_t, int))                                                   \
    X(ssize_t, send, (int, const void *, size_t, int))                                             \
    X(ssize_t, recvfrom, (int, void *, size_t, int, struct sockaddr *, socklen_t *))               \
    X(ssize_t, sendto, (int, const void *, size_t, int, const struct sockaddr *, socklen_t))       \
    X(ssize_t, recvmsg, (int, struct msghdr *, int))                                               \
    X(ssize_t, sendmsg, (int, const struct msghdr *, int))                                         \
    X(int, recvmmsg, (int, struct mmsghdr *, unsigned, int, struct timespec *))                    \
    X(int, sendmmsg, (int, struct mmsghdr *, unsigned, int))                                       \
    X(ssize_t, sendfile, (int, int, off_t *, size_t))                                              \
    X(ssize_t, sendfile64, (int, int, off64_t *, size_t))                                          \
    X(ssize_t, __read_chk, (int, void *, size_t, size_t))                                          \
    X(ssize_t, __recv_chk, (int, void *, size_t, size_t, int))                                     \
    X(ssize_t, __recvfrom_chk, (int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *)) \
    X(int, poll, (struct pollfd *, nfds_t, int))                                                   \
    X(int, select, (int, fd_set *, fd_set *, fd_set *, struct timeval *))                          \
    X(int, pselect,                                                                                \
      (int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *))              \
    X(int, __poll_chk, (struct pollfd *, nfds_t, int, size_t))                                     \
    X(int, __ppoll_chk,                                                                            \
      (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t))                \
    X(int, ppoll, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))            \
    X(int, epoll_create, (int))                                                                    \
    X(int, epoll_create1, (int))                                                                   \
    X(int, epoll_ctl, (int, int, int, struct epoll_event *))                                       \
    X(int, epoll_wait, (int, struct epoll_event *, int, int))                                      \
    X(int, epoll_pwait, (int, struct epoll_event *, int, int, const sigset_t *))                   \
    X(int, epoll_pwait2,                                                                           \
      (int, struct epoll_event *, int, const struct timespec *, const sigset_t *))                 \
    X(int, close, (int))                                                                           \
    X(int, close_range, (unsigned, unsigned, int))                                                 \
    X(void, closefrom, (int))                                                                      \
    X(int, dup, (int))                                                                             \
    X(int, dup2, (int, int))                                                                       \
    X(int, dup3, (int, int, int))                                                                  \
    X(int, fcntl, (int, int, ...))                                                                 \
    X(int, fcntl64, (int, int, ...))                                                               \
    X(int, ioctl, (int, unsigned long, ...))

struct iw_libc {
#define IW_MEMBER(result, name, parameters) result(*name) parameters;
    IW_LIBC_FUNCTIONS(IW_MEMBER)
#undef IW_MEMBER
};

extern struct iw_libc iw_libc_functions;
extern atomic_bool iw_libc_found;
IW_EARLY void iw_libc_find(void);

/* Returns the functions. A member is NULL if the C library lacks that function. */
IW_EARLY static inline const struct iw_libc *iw_libc(void)
{
    if (!atomic_load_explicit(&iw_libc_found, memory_order_acquire))
        iw_libc_find();
    return &iw_libc_functions;
}

#endif
