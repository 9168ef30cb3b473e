/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_MESSAGES_H
#define IWARP_MESSAGES_H

/*
 * messages/: services that are known by a number and send each other messages, in
 * libiwarp-messages. Connections, registered memory and addresses are the library's own affair. It
 * uses the public interfaces of libibverbs and librdmacm alone: the same program runs under
 * iwarp-run, on Linux's siw and on an RNIC.
 *
 * A process opens its end once (iw_messages_open), and services at it, each by a number of 1 or
 * more. A message goes from a service to a number. Up to IW_MESSAGES_SHORT octets travel in one
 * RDMA Send (RFC 5040 §5.3). A longer message is written (RDMA Write, §5.1) into a buffer that the
 * receiver has lent, if there is a fitting one, and else announced by a Send and fetched by RDMA
 * Read (§5.2). Whoever takes a long message lends its sender a buffer for another one as long, of
 * up to 4 MiB, while such buffers take no more than an eighth of the pool.
 *
 * Delivery. A message is delivered when the program at the other end has taken it by
 * iw_messages_receive(). Messages from one process to one service come in the order in which they
 * were sent, and none comes twice, also when a connection breaks and another is made. A message
 * that was not delivered is reported to its sender as IW_MESSAGES_UNDELIVERED. After the other
 * process has died the library cannot know what it had taken just before: what it had been sent and
 * had not acknowledged is reported, too, with ECONNRESET, and may have been delivered. Every
 * other error says that the message was not delivered.
 *
 * Flow. At most IW_MESSAGES_WINDOW messages from one process to another are sent and not yet taken;
 * others wait at the sender, IW_MESSAGES_QUEUE of one service together with its reports that have
 * not been received. The window is shared by all services of the receiving process: one of them
 * that takes nothing holds up what the same sender has for the others.
 *
 * Memory. iw_messages_get() gives buffers of registered memory, and received messages lie in such
 * buffers. Another process may touch a buffer only while it has been offered to it, as the source
 * of a long message or as a returned buffer: the library registers it for that time.
 *
 * Threads. Every function may be called by several threads at once, except that
 * iw_messages_close() and iw_messages_shut() must be the last call for what they close. A child of
 * fork must not use the parent's end. Functions of type int return 0 if nothing else is said. On
 * failure functions return -1 or NULL with errno set.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    IW_MESSAGES_SHORT = 4096,      /* octets of the longest short message */
    IW_MESSAGES_LONG = 1 << 30,    /* octets of the longest message */
    IW_MESSAGES_PIECES = 16,       /* pieces of one message */
    IW_MESSAGES_WINDOW = 64,       /* sent to one process and not yet taken */
    IW_MESSAGES_QUEUE = 1024,      /* of one service: not yet delivered, or not yet reported */
    IW_MESSAGES_CONNECTIONS = 64,  /* by default */
    IW_MESSAGES_TIMEOUT_MS = 5000, /* by default */
    IW_MESSAGES_SPIN_US = 20,      /* by default */
    IW_MESSAGES_POLL = -1          /* spin_us: never sleep */
};

struct iw_messages; /* one end: the connections and buffers of a process */
struct iw_service;  /* a number of it */

/* Where a number is, for programs that know. */
struct iw_messages_place {
    uint32_t number;
    struct sockaddr_storage at;
};

/* How to find numbers that are in no table: see iwarp-msg(1). All are borrowed for the call. */
struct iw_messages_resolver {
    const char *const *hosts; /* asked by unicast: "HOST", "HOST:PORT" */
    size_t host_count;
    uint16_t port; /* UDP; 0: 7470 */
    int multicast; /* true: ask on the local net */
    int broadcast;
    const char *interface; /* NULL: every one that is up */
    const void *key;       /* shared; NULL: none */
    size_t key_length;     /* octets */
};

/* What the resolver notices: two processes with one number, a mistake that somebody has to put
 * right. */
enum iw_messages_notice {
    IW_MESSAGES_CONTESTED = 1, /* two have answered for a number that was asked for */
    IW_MESSAGES_INTRUDER       /* another process answers for a number of this one */
};

/* Zero-initialise it and set what differs. */
struct iw_messages_config {
    const struct sockaddr *listen; /* where other processes connect; NULL: every IPv4 address */
    const struct iw_messages_place *places; /* copied */
    size_t place_count;
    const struct iw_messages_resolver *resolver; /* NULL: the table alone */
    size_t pool_octets; /* memory of buffers, at most; 0: 1 GiB, and what this machine allows */
    int connections;    /* at most; the least recently used one is dropped. 0: 64 */
    int timeout_ms;     /* a number that is not found, a process that is silent; 0: 5 s */
    int spin_us; /* a wait polls before it sleeps; 0: 20 us, IW_MESSAGES_POLL: it never sleeps. Not
                    on a single processor, but with IW_MESSAGES_POLL */
    int hidden;  /* true: `iwarp-msg top` does not see this end */
    /* Called by the resolver's thread, which holds no lock; it must not close the end. NULL: nobody
     * is notified. */
    void (*notice)(void *context, uint32_t number, enum iw_messages_notice what);
    void *context;
};

/* Opens this process's end: listens, and starts a thread that serves connections while no thread of
 * the program waits. On failure returns -1 with errno and one line about it in `error` (`room`
 * octets, NULL is allowed). Errors: ENODEV (no RDMA device), EINVAL, ENOMEM, those of bind(2). */
int iw_messages_open(const struct iw_messages_config *config, struct iw_messages **out, char *error,
                     size_t room);

/* Closes it, with its services and connections. What was not delivered is lost: wait for
 * iw_messages_flush() before. Buffers of its pool are gone, whoever has them. NULL is allowed. */
void iw_messages_close(struct iw_messages *m);

/* Copies the address at which it listens. Returns the length of the address. */
socklen_t iw_messages_address(struct iw_messages *m, struct sockaddr_storage *out);

/* Says where a number is from now on, in place of what was known; `at` NULL forgets it. Messages
 * that have been sent are not affected. Errors: EINVAL, ENOMEM. */
int iw_messages_place(struct iw_messages *m, uint32_t number, const struct sockaddr *at);

/* Opens the service with this number; 0: one that is free in this process and random. Others can
 * find it as soon as the call returns. Errors: EADDRINUSE (this process has it, or another one that
 * lives), EMFILE (65,536 services), ENOMEM. */
int iw_messages_service(struct iw_messages *m, uint32_t number, struct iw_service **out);

/* Opens `count` services (1 or more), all or none; waits for objections once, while
 * iw_messages_service() does so for each (60 ms with a resolver). `out` has room for them all; on
 * failure *refused (may be NULL) is a number that could not be opened. Errors: EINVAL (no number),
 * and those of iw_messages_service(). */
int iw_messages_services(struct iw_messages *m, const uint32_t *numbers, size_t count,
                         struct iw_service **out, uint32_t *refused);

/* Closes a service. Messages that it has not taken are reported to their senders. */
void iw_messages_shut(struct iw_service *s);

/* Returns its number. */
uint32_t iw_messages_number(const struct iw_service *s);

/* ---- buffers ---- */

/* Returns a buffer of at least `length` octets (1 to IW_MESSAGES_LONG) of registered memory, whose
 * content is undefined. It belongs to the caller until iw_messages_free() or a send with
 * IW_MESSAGES_GIVE. Errors: EINVAL, ENOMEM (the pool is used up). */
void *iw_messages_get(struct iw_messages *m, size_t length);

/* Puts a buffer back into the pool: one from iw_messages_get(), or the data of a message. NULL is
 * allowed. */
void iw_messages_free(struct iw_messages *m, void *buffer);

/* Puts a buffer back as iw_messages_free() does, but lends that of a long message to the process
 * from which it came, so that its next long message is written there. The library keeps at most
 * four buffers lent to one process, and takes them back when its connection ends. */
void iw_messages_return(struct iw_messages *m, void *buffer);

/* ---- send and receive ---- */

#define IW_MESSAGES_NOWAIT 0x1u /* fail with EAGAIN where the call would wait */
#define IW_MESSAGES_GIVE 0x2u   /* the pieces begin at buffers of the pool, which this call takes */
#define IW_MESSAGES_NOTIFY 0x4u /* report the delivery, too, as IW_MESSAGES_DELIVERED */

/* Sends the octets of `count` pieces (0 to IW_MESSAGES_PIECES), gathered, as one message to the
 * service `to`. `tag` is what a report of it will carry. The message is copied, so that the pieces
 * are free when the call returns; with IW_MESSAGES_GIVE a long one is not: each piece begins at the
 * start of a buffer of its own, and the buffers belong to the library if the call succeeds. The
 * call returns when the message is queued, and waits only while IW_MESSAGES_QUEUE others are, or
 * for memory.
 * Errors: EINVAL (number 0, too many pieces, a piece of IW_MESSAGES_GIVE that is no buffer of the
 * pool), EMSGSIZE (also: longer than an eighth of what may be locked), ENOMEM, EAGAIN. */
int iw_messages_send(struct iw_service *from, uint32_t to, const struct iovec *pieces, size_t count,
                     unsigned flags, uint64_t tag);

enum iw_messages_kind {
    IW_MESSAGES_MESSAGE = 1, /* `data` belongs to the caller: free it or return it */
    IW_MESSAGES_DELIVERED,   /* a report: the message with `tag` was taken */
    IW_MESSAGES_UNDELIVERED  /* a report: it was not, as `error` says */
};

struct iw_message {
    enum iw_messages_kind kind;
    uint32_t number; /* of the service that sent the message; in reports that to which it went */
    void *data;      /* message: NULL if it has no octets */
    size_t length;   /* octets; in reports those of the message */
    uint64_t tag;    /* reports */
    int error;       /* IW_MESSAGES_UNDELIVERED: EHOSTUNREACH (nobody was found who has the number),
                        ECONNRESET (the process that had been sent it is gone: perhaps it was
                        taken), EMSGSIZE (longer than the receiver takes) */
};

/* Takes the oldest message or report of a service; waits for one for `timeout_ms` at most (0: not
 * at all; -1: for ever). Errors: ETIMEDOUT, ESHUTDOWN (the end is being closed). */
int iw_messages_receive(struct iw_service *s, struct iw_message *out, int timeout_ms);

/* Returns a descriptor that is readable while iw_messages_receive() would not wait, or -1. For
 * poll, select and epoll only; it goes with the service, and each call returns the same one. */
int iw_messages_descriptor(struct iw_service *s);

/* Waits until every message of a service is delivered or has its report, `timeout_ms` at most.
 * Returns 0, or -1 with errno ETIMEDOUT. */
int iw_messages_flush(struct iw_service *s, int timeout_ms);

/* ---- counts ---- */

struct iw_messages_counts {
    uint64_t sent, sent_octets;         /* handed to a connection; again after one that broke */
    uint64_t delivered, undelivered;    /* reports, whether asked for or not */
    uint64_t received, received_octets; /* taken by the program */
    uint64_t written, fetched;          /* long ones sent by Write; received by Read */
    uint64_t repeated;                  /* dropped here, because they had come before */
    uint64_t connected, dropped;        /* connections made; dropped as the least recently used */
    uint64_t connections, services, pool_octets; /* now */
};

/* Copies the counts of an end. */
void iw_messages_count(struct iw_messages *m, struct iw_messages_counts *out);

#ifdef __cplusplus
}
#endif

#endif
