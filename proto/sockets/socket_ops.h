/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_SOCKET_OPS_H
#define IW_SOCKETS_SOCKET_OPS_H

/* An iWARP socket of the program, whatever carries its data. */

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct iw_socket;

/*
 * What a socket does. Functions return what the libc function of that name returns, with errno set,
 * unless said otherwise. `fd` is the number that the program used: a real TCP socket, which holds
 * the options and flags that nothing else needs. The library calls them without a lock; several
 * threads may be in the same socket.
 */
struct iw_socket_ops {
    ssize_t (*receive)(struct iw_socket *s, struct msghdr *message, int flags);
    ssize_t (*send)(struct iw_socket *s, const struct msghdr *message, int flags);
    int (*connect)(struct iw_socket *s, int fd, const struct sockaddr *to, socklen_t length);
    int (*listen)(struct iw_socket *s, int fd, int backlog);
    /* `flags` are accept4's. Returns a new number of the program's. */
    int (*accept)(struct iw_socket *s, struct sockaddr *from, socklen_t *length, int flags);
    int (*shutdown)(struct iw_socket *s, int how);
    /* Called once, when the last number is closed and no call is under way. Frees the state. */
    void (*close)(struct iw_socket *s);
    int (*get_option)(struct iw_socket *s, int fd, int level, int name, void *value,
                      socklen_t *length);
    int (*set_option)(struct iw_socket *s, int fd, int level, int name, const void *value,
                      socklen_t length);
    int (*get_name)(struct iw_socket *s, int fd, bool peer, struct sockaddr *address,
                    socklen_t *length);
    /* FIONREAD. */
    int (*available)(struct iw_socket *s, int *octets);
    /* The program has changed O_NONBLOCK; s->nonblocking has the new value. */
    void (*set_nonblocking)(struct iw_socket *s);
    /*
     * Polling. Fills *wait with a descriptor and its events (poll's, or an rsocket and rpoll's)
     * that change when one of `events` may hold; a negative descriptor if there is none. Returns
     * which hold already: the wait is then not longer than a look at the others.
     */
    bool rsocket; /* prepare's descriptor is an rsocket */
    short (*prepare)(struct iw_socket *s, short events, struct pollfd *wait);
    /* Returns which of `events`, POLLERR and POLLHUP hold after the wait, which has set
     * wait->revents. 0 is allowed although the descriptor was ready: the wait goes on. */
    short (*finish)(struct iw_socket *s, short events, const struct pollfd *wait);
};

struct iw_socket {
    const struct iw_socket_ops *ops;
    void *state;             /* the operations' own */
    _Atomic unsigned uses;   /* numbers of the program's and calls under way; 0: free */
    atomic_bool nonblocking; /* O_NONBLOCK of the program's number */
    /* For edge-triggered waits: calls that received, and sends that took less than they got. */
    _Atomic unsigned received, held;
    atomic_bool edges; /* an edge-triggered wait knows the socket */
    int family;        /* AF_INET or AF_INET6 */
    struct iw_socket *next_free;
};

#endif
