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
    int (*accept)(struct iw_socket *s, int fd, struct sockaddr *from, socklen_t *length, int flags);
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
    /*
     * Fork; all may be NULL: then the socket stays the parent's. Before a fork, says what becomes
     * of the socket, and for IW_FORK_ONE and IW_FORK_BOTH the descriptor of /dev/infiniband/rdma_cm
     * that our verbs are to park in both processes.
     */
    enum iw_fork (*before_fork)(struct iw_socket *s, int *file);
    /* In the child, at once: gives it copies of its own of what must not be shared. */
    void (*in_child)(struct iw_socket *s);
    /* This process goes on with it; gives it up. s->inherited says whether it is the child. */
    void (*take)(struct iw_socket *s);
    void (*lose)(struct iw_socket *s);
    /* The process ends: sends what is to be sent. */
    void (*end)(struct iw_socket *s);
};

/* What becomes of a socket at a fork. */
enum iw_fork {
    IW_FORK_PARENTS, /* it stays the parent's; in the child it is lost */
    IW_FORK_ONE,     /* the first of the two processes that uses it goes on with it */
    IW_FORK_BOTH     /* a listener: both can */
};

/* Whose it is since the last fork. */
enum iw_hold {
    IW_HOLD_OURS,
    IW_HOLD_PARKED, /* nobody's yet */
    IW_HOLD_LOST    /* another process's: calls fail with ECONNRESET */
};

struct iw_claim;

struct iw_socket {
    const struct iw_socket_ops *ops;
    void *state;             /* the operations' own */
    _Atomic unsigned uses;   /* numbers of the program's and calls under way; 0: free */
    atomic_bool nonblocking; /* O_NONBLOCK of the program's number */
    /* For edge-triggered waits: calls that received, and sends that took less than they got. */
    _Atomic unsigned received, held;
    atomic_bool edges;        /* an edge-triggered wait knows the socket */
    _Atomic unsigned numbers; /* of the program's, of `uses` */
    _Atomic int hold;         /* enum iw_hold */
    enum iw_fork fork;        /* at the last fork */
    struct iw_claim *claim;   /* shared by the processes; NULL: never forked */
    bool relayed;             /* the parent has the connection */
    bool inherited;           /* made by a parent of this process */
    unsigned user_timeout;    /* TCP_USER_TIMEOUT, which marks the TCP socket (exec_lost.h) */
    _Atomic unsigned visited; /* by which walk over all sockets */
    int family;               /* AF_INET or AF_INET6 */
    struct iw_socket *next_free;
};

#endif
