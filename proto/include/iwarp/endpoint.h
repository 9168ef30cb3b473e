/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_ENDPOINT_H
#define IWARP_ENDPOINT_H

/*
 * endpoint/, for consumers: one iWARP connection with a verbs-like interface. Work requests go in,
 * events and completions come out. What moves its octets uses iwarp/endpoint_transport.h; who
 * drives an endpoint through transport/ needs only this header and iwarp/transport.h.
 * All calls on one endpoint must come from one thread at a time. `now` is in nanoseconds of any
 * monotonic clock.
 *
 * An endpoint takes about 2.3 KiB, plus 190 octets per entry of send_depth, 90 per entry of
 * recv_depth, 16 per element of max_sge, and 40 and 112 for each read or atomic of ORD and IRD
 * (with `switches`, for max_reads more of them). It takes all of this at creation and writes none
 * of it before it is used. While it is mid-FPDU or sending, it also borrows one or two buffers from
 * its domain's pool.
 */

#include "iwarp/ddp.h"
#include "iwarp/mpa.h"
#include "iwarp/rdmap.h"

#ifdef __cplusplus
extern "C" {
#endif

struct iw_endpoint;

/* One entry of the trace: see iw_endpoint_config.trace. */
enum iw_trace_kind {
    IW_TRACE_STARTUP_IN, /* octets: the whole start-up frame */
    IW_TRACE_STARTUP_OUT,
    IW_TRACE_FPDU_IN, /* octets: the first 70 or fewer of the ULPDU */
    IW_TRACE_FPDU_OUT,
    IW_TRACE_FAULT, /* fault is set */
    IW_TRACE_STATE, /* text names the new state of the connection: request, established, rejected,
                       terminated, peer-closed or closed */
    IW_TRACE_FPDU_EARLY /* as FPDU_IN: placed before its turn; it is traced again in its turn */
};

struct iw_trace {
    enum iw_trace_kind kind;
    uint64_t now;
    const uint8_t *octets;
    size_t length;         /* valid octets */
    uint32_t ulpdu_length; /* FPDU: ULPDU_Length */
    uint64_t pos;          /* FPDU: its first octet, counted from the first of that direction */
    const struct iw_fault *fault;
    const char *text;
};

struct iw_endpoint_config {
    enum iw_mpa_role role;
    struct iw_mpa_config mpa;
    const void *private_data; /* initiator: the Request's; copied */
    size_t private_length;
    uint32_t pd;
    uint32_t withheld;   /* see iw_endpoint_withhold */
    uint32_t send_depth; /* work requests of each queue, 1..65535 */
    uint32_t recv_depth;
    uint32_t max_sge;         /* pieces of one work request, 1..32 */
    uint32_t max_reads;       /* bound on IRD and ORD when one is left to the ULP (0x3fff) */
    bool extensions;          /* RFC 7306: atomics and Immediate Data. Off: opcodes 0x8 to 0xb and
                                 queue 3 are refused as not assigned */
    uint32_t emss;            /* octets; see iw_endpoint_set_emss */
    uint32_t mulpdu;          /* octets, 0: from emss (RFC 5044 §4.5) */
    uint64_t startup_timeout; /* ns, RFC 5044 §7.1.2; 0 is refused */
    /* Time in ns to wait without receiving octets for the peer's close after ours; then the
     * connection is reset. After a fault, octets do not extend the wait */
    uint64_t linger_timeout;
    /* Place payload that arrives after a gap at once where its position is certain (CRC and Markers
     * in force); see iw_endpoint_input_at */
    bool early_placement;
    /* Also without Markers: each input call is one TCP segment as the peer cut it, and the peer
     * aligns FPDUs with segments (RFC 5044 §5.1). For the risk see iwarp/mpa.h, "After a gap" */
    bool aligned_peer;
    /* The caller promises to do nothing between iw_endpoint_output or iw_endpoint_output_lists and
     * iw_endpoint_sent but to send what was listed, and to call iw_endpoint_sent even if nothing
     * was sent (with 0). Without CRC and Markers, in a domain without lock, Read Responses are then
     * listed in place instead of copied, and iw_endpoint_landing returns the place where the peer's
     * payload may be received */
    bool in_place;
    /* With in_place: the memory of a posted receive may change before the receive completes, and
     * past the end of its message; see iw_endpoint_guess */
    bool receive_ahead;
    /* Responder: the time (ns) after which it sends though the initiator's first FPDU has not come;
     * 0: never. RFC 5044 §7.1.2 forbids it, but applications in which the responder speaks first
     * need it with an initiator that sends no RTR (RFC 6581 §4.2), and RNICs do so at once. Some
     * initiators (Linux's siw) take FPDUs that come with the Reply for a fault. */
    uint64_t responder_first;
    /* Called when a message needs a receive and none is posted, before its first segment is judged:
     * a shared receive queue posts one with iw_endpoint_post_recv. May be NULL. */
    void (*want_recv)(void *context);
    /* Carries out IW_WORK_LOCAL when its turn in the send queue has come. Returns false if it
     * failed: the request completes with IW_STATUS_LOCAL_FAULT and the connection is aborted with a
     * Terminate. May be NULL if no such work is posted. Must not call the endpoint. */
    bool (*local)(void *context, uint64_t id);
    void *context;                      /* of want_recv and local */
    const struct iw_switches *switches; /* borrowed; may be NULL; may change between calls */
    void (*trace)(void *context, const struct iw_trace *trace); /* may be NULL */
    void *trace_context;
};

/* Sets safe values: CRC on, depths 64, 16 pieces, 32 reads, RFC 7306 on, EMSS 1460, 60 s start-up
 * (OP-15), 5 s linger, early placement, no trust in the peer's alignment. */
void iw_endpoint_config_default(struct iw_endpoint_config *config);

enum { IW_OK = 0, IW_ERR_MEMORY = -1, IW_ERR_ARGUMENT = -2, IW_ERR_STATE = -3, IW_ERR_FULL = -4 };

/* Creates an endpoint in memory from the domain's allocator. Returns IW_OK, IW_ERR_MEMORY or
 * IW_ERR_ARGUMENT. Free it with iw_endpoint_destroy, which discards outstanding work without
 * completions. */
int iw_endpoint_create(struct iw_domain *domain, const struct iw_endpoint_config *config,
                       uint64_t now, struct iw_endpoint **out);
void iw_endpoint_destroy(struct iw_endpoint *ep);

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
/* Returns "none", "graceful", "fault", "terminated", "lost", "timeout" or "aborted". */
const char *iw_cause_name(enum iw_cause cause);

struct iw_event {
    enum iw_event_kind kind;
    struct iw_fault fault; /* check IW_CHECK_NONE if there was none; iw_check_rule names the rule */
    struct iw_rdmap_terminate terminate;
    bool terminate_valid; /* FAULT: a Terminate is sent for it */
    /* TERMINATED: its control word is in reversed bit order (iwarp/quirk.h). `terminate` is what
     * the octets say, `meant` what they say turned round. */
    bool terminate_reversed;
    struct iw_rdmap_terminate meant;
    enum iw_cause cause; /* CLOSED */
    bool graceful;       /* CLOSED: cause is IW_CAUSE_GRACEFUL */
};

/* Takes the oldest event. Returns false if there is none. Each kind happens at most once. */
bool iw_endpoint_event(struct iw_endpoint *ep, struct iw_event *out);

/* Answers the peer's Request: for a responder after IW_EVENT_REQUEST. Private data is at most 512
 * octets (508 if the Request was enhanced). Returns IW_OK; IW_ERR_STATE if no Request waits;
 * IW_ERR_ARGUMENT if the private data is too long. */
int iw_endpoint_accept(struct iw_endpoint *ep, const void *private_data, size_t length,
                       uint64_t now);
int iw_endpoint_reject(struct iw_endpoint *ep, const void *private_data, size_t length,
                       uint64_t now);
/* Sets *data to the peer's private data (borrowed) and returns its length. Available from
 * IW_EVENT_REQUEST, ESTABLISHED or REJECTED on. */
size_t iw_endpoint_private(const struct iw_endpoint *ep, const uint8_t **data);
/* Returns what the peer's Request asks for (enhanced, peer_ird, peer_ord, as after the start-up),
 * or NULL before IW_EVENT_REQUEST. */
const struct iw_mpa_agreed *iw_endpoint_requested(const struct iw_endpoint *ep);
/* Returns the outcome of the start-up, or NULL before it is known. */
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
    IW_WORK_RECV,      /* in completions */
    IW_WORK_LOCAL      /* nothing is sent: iw_endpoint_config.local does it */
};

/* Start this request only after all reads and atomics posted before it have completed. */
#define IW_WORK_FENCE 0x1u

/* One work request of the send queue. Neither the caller nor Writes of peers may touch the memory
 * named by `sge` until the request completes: it is sent in place, after its CRC has been computed.
 * (Memory that a peer reads is copied and may change at any time.) */
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
    /* Atomics, as in struct iw_rdmap_atomic_request. FetchAdd: the value to add, and a mask with
     * the top bit of each field (0: one field of 64 bits). CmpSwap: the value to swap in, and a
     * mask of the bits to swap. */
    uint64_t add_swap, add_swap_mask;
    uint64_t compare, compare_mask; /* CmpSwap */
};

/* Posts a work request. Returns IW_OK; IW_ERR_FULL if the queue is full (completions not yet polled
 * count); IW_ERR_ARGUMENT for too many pieces, more than 2^32-1 octets, a Read or an atomic
 * although ORD is 0, or an operation of RFC 7306 without `extensions`; IW_ERR_STATE if the
 * connection is over (the request is not taken). Posting before the connection is established is
 * allowed. Reads and atomics share ORD, IRD and one order (RFC 7306 §5.2, §7; OP-83). */
int iw_endpoint_post(struct iw_endpoint *ep, const struct iw_work *work, uint64_t now);
/* Posts a receive of `sge_count` pieces; the list is copied, the memory borrowed until it
 * completes. Returns as iw_endpoint_post. */
int iw_endpoint_post_recv(struct iw_endpoint *ep, uint64_t id, const struct iw_iov *sge,
                          size_t sge_count);

enum iw_status {
    IW_STATUS_OK,
    IW_STATUS_FLUSHED,     /* the connection ended before the request was known to be carried out */
    IW_STATUS_LOCAL_FAULT, /* this end found a fault in the answer to the request or in its message;
                              for a Read or atomic with rdmap-ird: the start-up left it no ORD */
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
    enum iw_check check; /* LOCAL_FAULT: the check that failed */
    /* RECV: the message was Immediate Data, of which nothing is placed: the buffer is used up (RFC
     * 7306 §6.3) but unchanged, and may have been empty. */
    bool immediate;
    uint8_t immediate_data[8];
    /* Successful atomics: the value of the memory before the operation (a number) */
    uint64_t original;
};

/* Takes up to `room` completions, oldest first; those of one queue come in posting order. Returns
 * their number. */
size_t iw_endpoint_poll(struct iw_endpoint *ep, struct iw_completion *out, size_t room);

/* Closes gracefully: sends FIN after everything posted so far is done (RFC 5041 §6.2.1). Work that
 * is still to be sent after the peer's own FIN, or that waits for the first FPDU of an initiator
 * (RFC 5044 §7.1.2), may go linger_timeout without progress; then the connection is reset. */
void iw_endpoint_shutdown(struct iw_endpoint *ep, uint64_t now);
/* Aborts the connection: with a Terminate of the ULP's choice (local catastrophic 0/0/code), or
 * with an immediate reset if `terminate` is false. A responder that has not yet received an FPDU
 * may send none (RFC 5044 §7.1.2), so it always resets. */
void iw_endpoint_abort(struct iw_endpoint *ep, bool terminate, uint8_t code, uint64_t now);

/* Leaves the connection to the transport: no memory of the consumer's is touched from the return
 * on, outstanding work is flushed, and what the peer still sends is dropped. Closes gracefully if
 * no FPDU is half sent or half received in place, by a reset otherwise. */
void iw_endpoint_leave(struct iw_endpoint *ep, uint64_t now);

/* Replaces a responder whose Request waits for an answer (IW_EVENT_REQUEST) by one that is made as
 * `config` says, for consumers that learn only from the Request which protection domain, depths,
 * IRD and ORD the connection has. The new endpoint takes over the Request and its time-out; events
 * are not repeated, and receives posted before are lost. Returns IW_OK with *ep replaced, or
 * IW_ERR_STATE, IW_ERR_ARGUMENT or IW_ERR_MEMORY with *ep as it was. */
int iw_endpoint_remake(struct iw_endpoint **ep, const struct iw_endpoint_config *config,
                       uint64_t now);

/* Sets the rights (of IW_ACCESS_REMOTE_READ, _WRITE and _ATOMIC) that the peer has through no
 * region from now on, whatever the region's own say (RFC 5042 §2.2.2: rights on a per Stream
 * basis). The check of the region's rights then refuses the access. Does not bear on this end's own
 * Reads. */
void iw_endpoint_withhold(struct iw_endpoint *ep, uint32_t rights);

/* Returns the stream number that a region is bound to (struct iw_region.stream). */
uint64_t iw_endpoint_stream(const struct iw_endpoint *ep);

#ifdef __cplusplus
}
#endif

#endif
