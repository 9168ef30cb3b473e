/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_SOCKETS_H
#define IWARP_SOCKETS_H

/*
 * sockets/: iWARP for programs of sockets, in libiwarp-sockets.so (iwarp-run --sockets). A stream
 * socket that is connected by TCP switches to iWARP in the middle of the connection:
 *
 *     int mode = IWARP_INITIATOR;
 *     setsockopt(fd, SOL_TCP, IWARP_MODE, &mode, sizeof(mode));
 *
 * From then on its octets travel in RDMA Sends, and the functions below move memory without copies
 * and without the peer's program. Without the library setsockopt fails as libc's does (ENOPROTOOPT)
 * and the functions are missing: link with the library, or define IWARP_SOCKETS_OPTIONAL before
 * this header and compare a function with NULL.
 *
 * The switch is the end of streaming mode (RFC 5044 §7.1). Both programs agree by octets of their
 * own where it ends and who is the MPA initiator; TCP's client need not be. The responder switches
 * first, or asks the initiator to go on only when it has nothing left to read: octets that the
 * peer sends after its last streamed octet belong to MPA. The other end may be any peer of MPA.
 *   - Octets written before the switch reach the peer before the MPA Request or Reply.
 *   - Octets of streaming mode that are still unread at the switch make it fail with EBUSY, and
 *     nothing has changed. (Those that come later end the connection, since they are no start-up
 *     frame: RFC 5044 §7.1.2.)
 *   - Octets that the program has read beyond the last streamed one go into iw_sockets_mode.ahead.
 *   - A peer that refuses (MPA Reply with R=1): ECONNREFUSED. MPA is left and TCP goes on as if
 *     nothing had happened, from the octet after the Reply (RFC 5044 §7.1.2). The peer's private
 *     data can be read.
 *   - A peer that speaks another protocol: EPROTO. One that closes: ECONNRESET. One that is silent:
 *     ETIMEDOUT. The TCP connection is then closed.
 * On a socket with O_NONBLOCK the call returns -1 with EINPROGRESS; the socket is writable when the
 * switch is over, and SO_ERROR says how it ended (0: switched), like connect(2).
 *
 * After the switch read, write, poll and their kin work as before. Each write leaves as one RDMA
 * Send or more of at most IW_SOCKETS_SEND octets; a read takes octets of the Sends that have come
 * and does not keep their limits. A Send of the peer's may have IW_SOCKETS_RECEIVE octets; a longer
 * one ends the connection. While more than IW_SOCKETS_UNREAD octets wait to be read nothing more is
 * taken from TCP, so the answers to Reads and atomics wait, too: a program that uses both reads. A
 * connection takes up to 1.3 MiB, most of which is touched only by a peer that sends a lot.
 * Numbers made by dup, dup2 or F_DUPFD after the switch are as good as the one that was switched;
 * one made before it still sees TCP, and must be closed unused.
 *
 * A program that is not the initiator may write at once: what it writes leaves after the first FPDU
 * of the initiator (RFC 5044 §7.1.2), which this library sends by itself (RFC 6581 §9.2). An
 * initiator of revision 1 has none to send before it writes: what the responder writes then leaves
 * after 10 ms, which breaks that rule (iwarp-run --responder-first off keeps it).
 *
 * Errors of the connection are errno of every call after it, read and write included: EPROTO (this
 * end found the peer at fault and sent a Terminate), EREMOTEIO (the peer sent a Terminate),
 * ECONNRESET, ETIMEDOUT. iw_sockets_terminate says which Terminate it was.
 *
 * Functions take the socket's descriptor, may be called by any thread, and return 0 if nothing else
 * is said. On failure they return -1 with errno set: EBADF, ENOTCONN for a descriptor that has not
 * been switched, and what is said at each. A child of fork must not use a switched socket: it
 * reports ECONNRESET there and goes on in the parent. Across exec it is gone.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef IWARP_SOCKETS_OPTIONAL
#define IW_SOCKETS_CALL __attribute__((weak))
#else
#define IW_SOCKETS_CALL
#endif

/* Option of SOL_TCP. setsockopt takes an int (the role) or a struct iw_sockets_mode. getsockopt
 * returns an int: the role, or IWARP_OFF for any other TCP socket. */
#define IWARP_MODE 0x4957

enum {
    IWARP_OFF,       /* getsockopt: the octets of this socket are plain TCP, or rsockets' */
    IWARP_INITIATOR, /* sends the MPA Request */
    IWARP_RESPONDER  /* waits for it */
};

enum {
    IW_SOCKETS_SEND = 64 * 1024,     /* octets of one Send that write makes, at most */
    IW_SOCKETS_RECEIVE = 256 * 1024, /* octets of one Send of the peer's, at most */
    IW_SOCKETS_UNREAD = 256 * 1024,  /* octets unread beyond which the peer waits */
    IW_SOCKETS_POSTS = 128,          /* requests posted and not yet polled, at most */
    IW_SOCKETS_PIECES = 16,          /* pieces of memory of one request, at most */
    IW_SOCKETS_READS = 16,           /* Reads and atomics under way at a time: IRD and ORD */
    IW_SOCKETS_PRIVATE = 508         /* octets of private data, at most */
};

/* flags of iw_sockets_mode */
#define IW_SOCKETS_ASK 0x1u     /* responder: wait for iw_sockets_accept or _reject */
#define IW_SOCKETS_NO_CRC 0x2u  /* do not ask for CRCs; they are used if the peer asks */
#define IW_SOCKETS_MARKERS 0x4u /* ask for Markers in what comes in (RFC 5044 §4.3) */
#define IW_SOCKETS_PLAIN 0x8u   /* initiator: a Request of revision 1 (RFC 5044), no RTR */

/* More than a role. Zero-initialise it and set what differs. */
struct iw_sockets_mode {
    int32_t role; /* IWARP_INITIATOR or IWARP_RESPONDER */
    uint32_t flags;
    const void *private_data; /* initiator: goes with the Request; borrowed for the call */
    size_t private_length;    /* octets, 0..IW_SOCKETS_PRIVATE */
    const void *ahead;        /* octets of MPA that the program has read already; borrowed */
    size_t ahead_length;
    uint32_t timeout_ms; /* of the start-up; 0: 60 s */
};

/* Answers the Request that ended setsockopt with IW_SOCKETS_ASK: the private data that came with it
 * can be read (iw_sockets_private), and nothing else has happened. Private data of 0..508 octets
 * goes with the Reply. After iw_sockets_reject TCP goes on as if nothing had happened, from the
 * octet after the Request (RFC 5044 §7.1.2).
 * Errors: EINVAL (nothing to answer, or too much private data), and those of the connection. */
IW_SOCKETS_CALL int iw_sockets_accept(int fd, const void *private_data, size_t length);
IW_SOCKETS_CALL int iw_sockets_reject(int fd, const void *private_data, size_t length);

/* Copies the private data that came with the peer's Request or Reply, at most `room` octets of it.
 * Returns its whole length. Also after a
 * refusal, for the 16 sockets that were refused last. */
IW_SOCKETS_CALL ssize_t iw_sockets_private(int fd, void *out, size_t room);

/* ---- memory that the peer uses ---- */

#define IW_SOCKETS_READABLE 0x1u /* by Reads of the peer */
#define IW_SOCKETS_WRITABLE 0x2u /* by Writes of the peer */
#define IW_SOCKETS_ATOMIC 0x4u   /* by atomics of the peer (RFC 7306 §5) */

/* Names memory to the peer: send it over the socket, for instance as iw_sockets_memory_put has it.
 */
struct iw_sockets_memory {
    uint32_t stag;
    uint64_t to;     /* Tagged Offset of the first octet */
    uint64_t length; /* octets */
};
enum { IW_SOCKETS_MEMORY = 20 };

/* Advertises `length` octets (1 or more) at `memory`: the peer of this connection, and no other,
 * may use them as `rights` say, until iw_sockets_withdraw or close. The memory is borrowed as long.
 * Errors: EINVAL (no octets, no or unknown rights), ENOMEM (65536 regions in the process). */
IW_SOCKETS_CALL int iw_sockets_advertise(int fd, void *memory, size_t length, unsigned rights,
                                         struct iw_sockets_memory *out);
/* Withdraws it: from the return on the peer touches no octet of it; a peer that tries is sent a
 * Terminate (RFC 5040 §8.1.1). Error: EINVAL (no such STag). */
IW_SOCKETS_CALL int iw_sockets_withdraw(int fd, uint32_t stag);

/* Write the name of memory as IW_SOCKETS_MEMORY octets in network order (STag, TO, length), and
 * read it. A convention between programs; MPA knows nothing of it. */
static inline void iw_sockets_memory_put(const struct iw_sockets_memory *memory, uint8_t *out)
{
    int i;
    for (i = 0; i < 4; i++)
        out[i] = (uint8_t)(memory->stag >> (24 - 8 * i));
    for (i = 0; i < 8; i++)
        out[4 + i] = (uint8_t)(memory->to >> (56 - 8 * i));
    for (i = 0; i < 8; i++)
        out[12 + i] = (uint8_t)(memory->length >> (56 - 8 * i));
}
static inline void iw_sockets_memory_get(const uint8_t *octets, struct iw_sockets_memory *out)
{
    int i;
    out->stag = 0;
    out->to = out->length = 0;
    for (i = 0; i < 4; i++)
        out->stag = out->stag << 8 | octets[i];
    for (i = 0; i < 8; i++)
        out->to = out->to << 8 | octets[4 + i];
    for (i = 0; i < 8; i++)
        out->length = out->length << 8 | octets[12 + i];
}

/* ---- requests ---- */

enum iw_sockets_operation {
    IW_SOCKETS_OP_SEND,          /* the octets come to the peer's read, without a copy here */
    IW_SOCKETS_OP_WRITE,         /* gathered, to memory of the peer's (RFC 5040 §5.1) */
    IW_SOCKETS_OP_READ,          /* from memory of the peer's, to one piece (RFC 5040 §5.2) */
    IW_SOCKETS_OP_FETCH_ADD,     /* RFC 7306 §5.1.1: 8 octets of the peer's, `add` */
    IW_SOCKETS_OP_CMP_SWAP,      /* RFC 7306 §5.1.2: `swap` if they are `compare` */
    IW_SOCKETS_OP_IMMEDIATE,     /* RFC 7306 §6: 8 octets to the peer's completions */
    IW_SOCKETS_OP_IMMEDIATE_CAME /* in completions: the peer's */
};

#define IW_SOCKETS_FENCE 0x1u /* begin after all Reads and atomics posted before have completed */

/* One request. Zero-initialise it. Memory named by `pieces` is borrowed until the request completes
 * and must not change before; the list itself is copied. */
struct iw_sockets_request {
    uint64_t id; /* comes back with the completion */
    enum iw_sockets_operation operation;
    uint32_t flags;
    const struct iovec *pieces; /* Send, Write: 0..IW_SOCKETS_PIECES; Read: one */
    size_t piece_count;
    uint32_t stag; /* of the peer's memory */
    uint64_t to;   /* atomics: a multiple of 8 */
    uint64_t add;  /* Fetch-and-Add; numbers, whatever the octet order of the machines */
    uint64_t compare, swap;
    uint8_t immediate[8];
};

struct iw_sockets_completion {
    uint64_t id;
    enum iw_sockets_operation operation;
    int error;       /* 0; ECANCELED: the connection ended first, and it is not known whether it was
                        carried out; EREMOTEIO: the peer's Terminate ended it; EPROTO: this end found
                        a fault in the answer */
    uint64_t length; /* octets */
    uint64_t original;    /* atomics: the value before */
    uint8_t immediate[8]; /* IW_SOCKETS_OP_IMMEDIATE_CAME, whose id is 0 */
};

/* Posts a request; what is written and posted reaches the peer in the order of the calls, so a
 * write after a Write says that its octets are there. Completions come in the order of the
 * requests. A Write or Send completes when TCP has its octets, a Read or an atomic when the answer
 * is here.
 * Errors: EAGAIN (IW_SOCKETS_POSTS of them are not polled yet), EINVAL (too many pieces or octets,
 * a Read without a piece, an unaligned atomic), EOPNOTSUPP (a Read or an atomic although the peer
 * allows none: its IRD is 0), EPIPE (after shutdown for writing), and those of the connection. */
IW_SOCKETS_CALL int iw_sockets_post(int fd, const struct iw_sockets_request *request);

/* Takes up to `room` completions, oldest first, and waits for the first one for `timeout_ms` at
 * most (0: not at all; -1: for ever). Returns their number, 0 after the time-out. After the end of
 * the connection it returns what is left, then -1 with the connection's error (ENOTCONN after an
 * orderly end). EINTR: a signal came while it waited. */
IW_SOCKETS_CALL int iw_sockets_poll(int fd, struct iw_sockets_completion *out, int room,
                                    int timeout_ms);

/* Returns a descriptor that is readable while completions wait: for poll, select and epoll only; it
 * goes with the socket. Each call returns the same one. */
IW_SOCKETS_CALL int iw_sockets_event(int fd);

/* ---- how it ended ---- */

struct iw_sockets_terminate {
    int by_peer;   /* 1: the peer sent it; 0: this end did */
    uint8_t layer; /* RFC 5040 §4.8: 0 RDMAP, 1 DDP, 2 MPA */
    uint8_t etype; /* error type and code of that layer */
    uint8_t code;
    const char *rule; /* this end's: the RFC's rule that the peer broke ("DDP-7.1-03"); else NULL */
    const char *text; /* one line for people; lives as long as the library */
};

/* Says which Terminate ended the connection. Returns 0, or -1 with errno ENODATA if there was
 * none. Works until close. */
IW_SOCKETS_CALL int iw_sockets_terminate(int fd, struct iw_sockets_terminate *out);

#ifdef __cplusplus
}
#endif

#endif
