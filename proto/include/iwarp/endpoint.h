/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_ENDPOINT_H
#define IWARP_ENDPOINT_H

/*
 * endpoint/: one iWARP connection with a verbs-like face. Octets of the peer go in,
 * octets for the peer and completions come out; the caller owns the transport and the clock.
 * All calls on one endpoint come from one thread at a time. `now` is in nanoseconds of any
 * monotonic clock.
 *
 * Memory of one endpoint: about 2.3 KiB, 190 octets for each place of send_depth and 90 of
 * recv_depth, 16 octets more for each piece of max_sge, and 40 and 112 for each read or atomic of
 * ORD and IRD (with `switches`, of max_reads more), all taken at creation and not written before
 * it is used; while mid-FPDU or sending it borrows one or two buffers of its domain's pool.
 */

#include "iwarp/ddp.h"
#include "iwarp/mpa.h"
#include "iwarp/rdmap.h"

#ifdef __cplusplus
extern "C" {
#endif

struct iw_endpoint;

/* A piece of the trace: see iw_endpoint_config.trace. */
enum iw_trace_kind {
    IW_TRACE_STARTUP_IN, /* octets: the whole start-up frame */
    IW_TRACE_STARTUP_OUT,
    IW_TRACE_FPDU_IN, /* octets: the first 70 or fewer of the ULPDU */
    IW_TRACE_FPDU_OUT,
    IW_TRACE_FAULT,     /* fault is set */
    IW_TRACE_STATE,     /* text names what became of the connection: request, established, rejected,
                           terminated, peer-closed or closed */
    IW_TRACE_FPDU_EARLY /* as FPDU_IN: placed before its turn, in which it comes again */
};

struct iw_trace {
    enum iw_trace_kind kind;
    uint64_t now;
    const uint8_t *octets;
    size_t length;         /* valid octets */
    uint32_t ulpdu_length; /* FPDU: ULPDU_Length */
    uint64_t pos;          /* FPDU: position in full operation of that direction */
    const struct iw_fault *fault;
    const char *text;
};

struct iw_endpoint_config {
    enum iw_mpa_role role;
    struct iw_mpa_config mpa;
    const void *private_data; /* initiator: the Request's; copied */
    size_t private_length;
    uint32_t pd;
    uint32_t send_depth; /* work requests of each queue, 1..65535 */
    uint32_t recv_depth;
    uint32_t max_sge;         /* pieces of one work request, 1..32 */
    uint32_t max_reads;       /* bound on IRD and ORD when one is left to the ULP (0x3fff) */
    bool extensions;          /* RFC 7306: atomics and Immediate Data. Off: opcodes 0x8 to 0xb and
                                 queue 3 are refused as not assigned */
    uint32_t emss;            /* octets; see iw_endpoint_set_emss */
    uint32_t mulpdu;          /* octets, 0: from emss (RFC 5044 §4.5) */
    uint64_t startup_timeout; /* ns, RFC 5044 §7.1.2; 0 is refused */
    uint64_t linger_timeout;  /* ns without octets to wait for the peer's close after ours, then
                                 reset; after a fault no octets count */
    bool early_placement;     /* place what comes behind a gap at once where that is certain (with
                                 CRC and Markers in force); see iw_endpoint_input_at */
    bool aligned_peer;  /* without Markers, too: each input call is one TCP segment as the peer
                           cut it, and it aligns FPDUs with them (RFC 5044 §5.1); what that
                           trust can cost: iwarp/mpa.h, "Behind a gap" */
    bool in_place;      /* the caller promises: behind iw_endpoint_output or
                           iw_endpoint_output_lists nothing is done but to send what it lists, and
                           then iw_endpoint_sent is called, with 0 if nothing went. Without CRC and
                           Markers, in a domain without lock, Read Responses are then listed where
                           they lie instead of copied, and iw_endpoint_landing tells where payload of
                           the peer's may be received */
    bool receive_ahead; /* with in_place: the memory of a posted receive may change before it
                           completes, and behind the end of its message; iw_endpoint_guess */
    const struct iw_switches *switches; /* borrowed; may be NULL; may change between calls */
    void (*trace)(void *context, const struct iw_trace *trace); /* may be NULL */
    void *trace_context;
};

/* Safe values: CRC on, depths 64, 16 pieces, 32 reads, RFC 7306 on, EMSS 1460, 60 s start-up
 * (OP-15), 5 s linger, early placement, no trust in a peer's alignment. */
void iw_endpoint_config_default(struct iw_endpoint_config *config);

enum { IW_OK = 0, IW_ERR_MEMORY = -1, IW_ERR_ARGUMENT = -2, IW_ERR_STATE = -3, IW_ERR_FULL = -4 };

/* IW_OK, IW_ERR_MEMORY or IW_ERR_ARGUMENT. The endpoint takes its memory from the domain's
 * allocator and is freed with iw_endpoint_destroy (outstanding work vanishes silently). */
int iw_endpoint_create(struct iw_domain *domain, const struct iw_endpoint_config *config,
                       uint64_t now, struct iw_endpoint **out);
void iw_endpoint_destroy(struct iw_endpoint *ep);

/* The start-up begins only now: its time-out runs from here, not from creation. For a transport
 * whose application used TCP itself until now (RFC 5044 §7.1.2: streaming mode). Octets given to
 * the endpoint are those behind the last streamed one. Without effect once octets of MPA have
 * passed. */
void iw_endpoint_begin(struct iw_endpoint *ep, uint64_t now);

/* ---- the wire side ---- */

/* Octets from the peer in order of arrival. Everything is consumed. After a fault or the
 * end they are dropped; behind a FIN they abort the connection (RFC 5041 §6.2.1). Pieces are
 * borrowed for the call. */
void iw_endpoint_input(struct iw_endpoint *ep, const struct iw_iov *data, size_t pieces,
                       uint64_t now);
/* The peer's FIN (graceful) or the loss of the connection (RST, time-out). */
void iw_endpoint_input_end(struct iw_endpoint *ep, bool graceful, uint64_t now);

/* With in_place: where the octets that come next from the peer may be received at once, as they are
 * payload that belongs there, and how many at most; 0: nowhere, but to be given to
 * iw_endpoint_input. *at is valid until any other call on the endpoint or its domain. */
size_t iw_endpoint_landing(struct iw_endpoint *ep, void **at);
/* So many octets, not more than that and at least one, were received there. What follows them is
 * input again, or has another landing. */
void iw_endpoint_landed(struct iw_endpoint *ep, size_t octets, uint64_t now);

/* Octets of MPA's and DDP's headers in front of the payload of a Send. */
enum { IW_ENDPOINT_GUESS_HEAD = 20 };
/* With receive_ahead: where the payload of the peer's next FPDU belongs if that is a Send's, as the
 * ones before were, and how many octets it may have; 0: no guess. The next IW_ENDPOINT_GUESS_HEAD
 * octets may then be received elsewhere, and those behind them at *at, which is valid as with
 * iw_endpoint_landing. */
size_t iw_endpoint_guess(struct iw_endpoint *ep, void **at);
/* That was done: `head` has the IW_ENDPOINT_GUESS_HEAD octets, and so many (at least one) were
 * received at the place that iw_endpoint_guess told, without another call in between. Returns how
 * many of these belong there: they and `head` are taken in. What is behind them is input; after 0,
 * a wrong guess, so are `head` and all of them, and there is no other guess before the next Send
 * has come. The caller moves them away first, as the place is one where input may have to go. */
size_t iw_endpoint_guessed(struct iw_endpoint *ep, const void *head, size_t octets, uint64_t now);

/* TCP payload in any order, repeated or overlapping, for a caller that has TCP to itself. `pos` is
 * the position of its first octet, counted from the first octet that the peer sends to this
 * endpoint (its start-up frame included); of octets that come twice the first copy counts.
 * iw_endpoint_input may be mixed with it: its octets follow the last without a gap.
 * What lies behind a gap is held in the endpoint's receive buffer, and no message is delivered
 * and no fault found before the gap is closed. With early_placement the payload of whole FPDUs
 * behind the gap is placed at once: tagged Writes, Read Responses within the sink of an outstanding
 * read, Sends for which a receive is posted, and nothing that any check would refuse; not before
 * the first FPDU (and RTR) has come in order, and not while any switch is set. Every order of
 * arrival leaves the same memory and the same completions as arrival in order (RFC 5041 §5.3,
 * §5.4), as long as nobody else writes to that memory. Returns IW_OK; IW_ERR_ARGUMENT (pos and
 * length wrap); or IW_ERR_FULL: octets behind a gap cannot be held now, not even in part perhaps,
 * as they are more than about 80 KiB ahead, make more than IW_STREAM_RANGES islands, come before
 * the start-up is over, or no buffer is left in the pool. Offer the same octets again later, as TCP
 * does what is not acknowledged. Octets without a gap before them are always taken. */
int iw_endpoint_input_at(struct iw_endpoint *ep, uint64_t pos, const struct iw_iov *data,
                         size_t pieces, uint64_t now);
/* The peer's FIN stands at `pos`, counted in the same way. It takes effect as iw_endpoint_input_end
 * once all octets before it have come (at once if the connection is over and drops them); octets at
 * or behind it abort the connection. A repeat does nothing. */
void iw_endpoint_input_end_at(struct iw_endpoint *ep, uint64_t pos, uint64_t now);

/* What is to be sent now: *out is a list of pieces, valid until the next call on this
 * endpoint. Report progress, in octets, with iw_endpoint_sent; ask again until 0.
 * FPDU alignment (RFC 5044 §5.1): what one list holds, cut every EMSS octets from its beginning,
 * has an FPDU at the beginning of each cut, as long as MULPDU comes from the EMSS and that is 140
 * octets or more. A transport that begins a TCP segment with each list keeps that on the wire. */
size_t iw_endpoint_output(struct iw_endpoint *ep, const struct iw_iov **out, uint64_t now);

enum { IW_ENDPOINT_LISTS = 2 };
/* The same for a transport that sends several lists with one call: at most `room` of them, the
 * first at *out and each other behind the one before it; pieces[i] is the number of pieces of list
 * i. Each is to begin a TCP segment. Returns how many there are, at most IW_ENDPOINT_LISTS;
 * iw_endpoint_sent counts the octets of all, and a list of which not all octets went ends what was
 * sent. */
size_t iw_endpoint_output_lists(struct iw_endpoint *ep, const struct iw_iov **out, size_t *pieces,
                                size_t room, uint64_t now);
void iw_endpoint_sent(struct iw_endpoint *ep, size_t octets, uint64_t now);
/* There is no FPDU to be sent now, so that the EMSS (below) need not be looked up. */
bool iw_endpoint_idle(struct iw_endpoint *ep);

enum iw_want {
    IW_WANT_NOTHING,
    IW_WANT_FIN,   /* once output is empty: close the sending half */
    IW_WANT_RESET, /* drop the connection now (RST where possible) */
    IW_WANT_CLOSE  /* both halves are done: release the socket */
};
/* What the transport shall do with the TCP connection once iw_endpoint_output gives 0. Tell the
 * endpoint that a FIN went out with iw_endpoint_fin_sent. */
enum iw_want iw_endpoint_want(const struct iw_endpoint *ep);
void iw_endpoint_fin_sent(struct iw_endpoint *ep, uint64_t now);

/* The next time at which iw_endpoint_tick must be called, in ns; UINT64_MAX if none. */
uint64_t iw_endpoint_deadline(const struct iw_endpoint *ep);
void iw_endpoint_tick(struct iw_endpoint *ep, uint64_t now);

/* The effective maximum segment size now in force: the most TCP payload of one segment, options
 * taken into account (OP-18). FPDUs not yet framed obey it (RFC 5044 §4.5); MULPDU stays within
 * 128 and 64768. */
void iw_endpoint_set_emss(struct iw_endpoint *ep, uint32_t emss);

/* ---- the consumer's side ---- */

enum iw_event_kind {
    IW_EVENT_NONE,
    IW_EVENT_REQUEST, /* responder: answer with accept or reject */
    IW_EVENT_ESTABLISHED,
    IW_EVENT_REJECTED,    /* a Reply with R=1 came: private data is readable */
    IW_EVENT_FAULT,       /* this end found the peer at fault; fault and terminate are set */
    IW_EVENT_TERMINATED,  /* the peer sent a Terminate: terminate is set */
    IW_EVENT_PEER_CLOSED, /* the peer's FIN; outbound work goes on (RFC 5041 §6.2.1), but a Read or
                             an atomic ends the connection when its turn comes */
    IW_EVENT_CLOSED       /* last event: want is CLOSE or RESET, all work is flushed */
};

/* Why a connection ended: the first of these that happened. */
enum iw_cause {
    IW_CAUSE_NONE,       /* it has not ended */
    IW_CAUSE_GRACEFUL,   /* both halves were closed in order, or the start-up was rejected */
    IW_CAUSE_FAULT,      /* local: this end found a fault */
    IW_CAUSE_TERMINATED, /* remote: the peer sent a Terminate */
    IW_CAUSE_LOST,       /* LLP: TCP was reset or timed out (check mpa-lost) */
    IW_CAUSE_TIMEOUT,    /* the peer did not close in linger_timeout */
    IW_CAUSE_ABORTED     /* iw_endpoint_abort */
};
/* "none", "graceful", "fault", "terminated", "lost", "timeout", "aborted". */
const char *iw_cause_name(enum iw_cause cause);

struct iw_event {
    enum iw_event_kind kind;
    struct iw_fault fault; /* check IW_CHECK_NONE if there was none; iw_check_rule names the rule */
    struct iw_rdmap_terminate terminate;
    bool terminate_valid; /* FAULT: a Terminate is sent for it */
    enum iw_cause cause;  /* CLOSED */
    bool graceful;        /* CLOSED: cause is IW_CAUSE_GRACEFUL */
};

/* Takes the oldest event; false if there is none. Each kind happens at most once. */
bool iw_endpoint_event(struct iw_endpoint *ep, struct iw_event *out);

/* Responder after IW_EVENT_REQUEST. At most 512 octets (508 if the Request was enhanced). */
int iw_endpoint_accept(struct iw_endpoint *ep, const void *private_data, size_t length,
                       uint64_t now);
int iw_endpoint_reject(struct iw_endpoint *ep, const void *private_data, size_t length,
                       uint64_t now);
/* The peer's private data, from IW_EVENT_REQUEST / ESTABLISHED / REJECTED on. Borrowed. */
size_t iw_endpoint_private(const struct iw_endpoint *ep, const uint8_t **data);
/* The start-up's outcome; NULL before it is known. */
const struct iw_mpa_agreed *iw_endpoint_agreed(const struct iw_endpoint *ep);

enum iw_work_opcode {
    IW_WORK_SEND,
    IW_WORK_SEND_SE,
    IW_WORK_SEND_INVALIDATE,
    IW_WORK_SEND_SE_INVALIDATE,
    IW_WORK_WRITE,
    IW_WORK_READ,
    IW_WORK_IMMEDIATE, /* RFC 7306 §6, as the next */
    IW_WORK_IMMEDIATE_SE,
    IW_WORK_FETCH_ADD, /* RFC 7306 §5.1.1 */
    IW_WORK_CMP_SWAP,  /* RFC 7306 §5.1.2 */
    IW_WORK_RECV       /* in completions */
};

/* Start only after all reads and atomics posted before have completed. */
#define IW_WORK_FENCE 0x1u

/* One work request of the send queue. Memory named by `sge` stays untouched until the request
 * completes, by the caller and by Writes of peers: it is sent from where it lies, behind its
 * CRC. (What a peer reads is copied and may change at any time.) */
struct iw_work {
    uint64_t id;
    enum iw_work_opcode opcode;
    uint32_t flags;
    const struct iw_iov *sge; /* payload of Sends and Writes; copied list */
    size_t sge_count;
    uint32_t invalidate_stag;
    uint32_t remote_stag; /* Write: sink; Read: source; atomics: target, 64-bit aligned */
    uint64_t remote_to;
    uint32_t sink_stag; /* Read: a local region with IW_ACCESS_LOCAL_WRITE */
    uint64_t sink_to;
    uint32_t length;      /* Read: octets */
    uint8_t immediate[8]; /* Immediate Data; it has no other payload */
    /* Atomics, as in struct iw_rdmap_atomic_request. FetchAdd: what to add, and the top bit of each
     * field (0: one field of 64 bits); CmpSwap: what to swap in, and which bits. */
    uint64_t add_swap, add_swap_mask;
    uint64_t compare, compare_mask; /* CmpSwap */
};

/* IW_OK; IW_ERR_FULL (depth reached, completions not polled included); IW_ERR_ARGUMENT (too many
 * pieces, more than 2^32-1 octets, a Read or an atomic although ORD is 0, an operation of RFC 7306
 * without `extensions`); IW_ERR_STATE (connection over: the request is not taken). Posting before
 * the connection is established is allowed. Reads and atomics share ORD, IRD and one order
 * (RFC 7306 §5.2, §7; OP-83). */
int iw_endpoint_post(struct iw_endpoint *ep, const struct iw_work *work, uint64_t now);
int iw_endpoint_post_recv(struct iw_endpoint *ep, uint64_t id, const struct iw_iov *sge,
                          size_t sge_count);

enum iw_status {
    IW_STATUS_OK,
    IW_STATUS_FLUSHED,     /* not known to be carried out: the connection ended first */
    IW_STATUS_LOCAL_FAULT, /* this end found a fault in the answer to it or in its message; a
                              Read or atomic with rdmap-ird: the start-up left no ORD to it */
    IW_STATUS_REMOTE_FAULT /* the peer's Terminate ended it */
};

struct iw_completion {
    uint64_t id;
    enum iw_work_opcode opcode;
    enum iw_status status;
    uint32_t length;  /* octets received (RECV, READ) or sent; Immediate Data and atomics: 8 */
    bool solicited;   /* RECV: a Solicited Event message */
    bool invalidated; /* RECV: invalidate_stag was invalidated */
    uint32_t invalidate_stag;
    enum iw_check check; /* LOCAL_FAULT: what failed */
    /* RECV: it was Immediate Data, of which nothing is placed: the buffer is used up (RFC 7306
     * §6.3) and unchanged, and may have been empty. */
    bool immediate;
    uint8_t immediate_data[8];
    uint64_t original; /* atomics that are OK: what the memory held before (a number) */
};

/* Takes up to `room` completions, oldest first, each queue's in posting order. */
size_t iw_endpoint_poll(struct iw_endpoint *ep, struct iw_completion *out, size_t room);

/* Graceful close: FIN after everything posted so far is done (RFC 5041 §6.2.1). What is still to
 * leave behind the peer's own FIN, or waits for the first FPDU of an initiator (RFC 5044 §7.1.2),
 * has linger_timeout without progress, then the connection is reset. */
void iw_endpoint_shutdown(struct iw_endpoint *ep, uint64_t now);
/* Abortive close with a Terminate of the ULP's choice (local catastrophic 0/0/code), or, if
 * terminate is false, a reset at once; so it is for a responder that has received no FPDU yet, and
 * may send none (RFC 5044 §7.1.2). */
void iw_endpoint_abort(struct iw_endpoint *ep, bool terminate, uint8_t code, uint64_t now);

/* The stream number that a region is bound to (struct iw_region.stream). */
uint64_t iw_endpoint_stream(const struct iw_endpoint *ep);

#ifdef __cplusplus
}
#endif

#endif
