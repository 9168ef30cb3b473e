/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_ENDPOINT_INTERNAL_H
#define IW_ENDPOINT_INTERNAL_H

#include "iwarp/endpoint_transport.h"

#include <string.h>

/*
 * setup.c   create, start-up frames, first FPDUs        queues.c  post, poll, completions, flush
 * rx.c      segments in: headers, tagged, untagged      tx.c      which message next, segments out
 * early.c   octets and segments in out of order         batch.c   segments framed, octets sent
 * header.c  headers out, and how --violate bends them   close.c   faults, Terminate, FIN, time
 * legal.c   what --overstrict refuses of a legal segment
 * landing.c  payload that the transport receives in its place
 * extensions.c  RFC 7306: Immediate Data and atomics
 */

/* The most pieces and octets of a batch, which is the amount framed at a time: one list or more.
 * The pieces and the endpoint's own octets share one pool buffer. */
enum { IW_TX_PIECES = 1024, IW_TX_BATCH = 256 * 1024, IW_TX_RETRY = 1000000 };
enum { IW_TX_LARGE = 16384 /* EMSS from which a TCP segment counts as large */ };

/* The smallest EMSS that can hold an FPDU of the smallest MULPDU: 128 octets, length, pad, CRC and
 * a Marker. */
enum { IW_SEGMENT_MIN = IW_MPA_MULPDU_MIN + 12 };

#define IW_NO_ENTRY UINT64_MAX

enum iw_phase {
    IW_PHASE_STARTUP,
    IW_PHASE_FULL,
    IW_PHASE_DONE /* faulted, terminated, rejected or closed: input is dropped, nothing new leaves
                   */
};

struct iw_send_entry {
    uint64_t id;
    enum iw_work_opcode opcode;
    uint32_t flags;
    struct iw_iov *sge;
    uint32_t sge_count;
    uint32_t length;
    uint32_t invalidate_stag, remote_stag, sink_stag;
    uint64_t remote_to, sink_to;
    uint8_t immediate[IW_RDMAP_IMMEDIATE];
    uint64_t add_swap, add_swap_mask, compare, compare_mask;
    uint64_t original; /* an atomic that is done */
    uint64_t end;      /* position after its last FPDU, once `framed` */
    bool framed;       /* all of it has been framed */
    bool done;         /* ready to complete when its turn comes */
    enum iw_status status;
    enum iw_check check;
};

struct iw_recv_entry {
    uint64_t id;
    struct iw_iov *sge;
    uint32_t sge_count;
    uint64_t capacity;
};

/* A read or an atomic that this end has requested. */
struct iw_read_out {
    uint64_t entry; /* position in the send queue, IW_NO_ENTRY for an RTR */
    uint64_t end;   /* position after the request's FPDU */
    bool atomic;
    uint32_t request_id; /* atomics */
    uint32_t sink_stag;
    uint64_t sink_to;
    uint32_t size;
    uint32_t received;
};

/* A read or an atomic that the peer has requested. An atomic is carried out when its response
 * leaves: by RFC 7306 §7 none may begin before the response to the one before it. */
struct iw_read_in {
    struct iw_ddp_header header; /* of the request, for a Terminate about it */
    bool is_atomic;
    bool late; /* the endpoint's `late` is reported after the response */
    union {
        struct iw_rdmap_read_request request;
        struct iw_rdmap_atomic_request atomic;
    };
    uint32_t sent, total; /* octets of the response; total is known once it has begun */
    uint64_t end;         /* position after its last FPDU, once framed */
};

/* An FPDU whose payload goes straight to its place. */
struct iw_landing {
    bool active;
    uint8_t header[IW_DDP_UNTAGGED_HEADER];
    uint32_t header_length;
    uint8_t *at;     /* the place of its payload; NULL once there is none any more */
    uint32_t length; /* ULPDU_Length */
    uint32_t done;   /* octets of payload that are here */
    uint32_t behind; /* octets of pad and CRC field that are here */
};

/* One system call costs about as much as copying this number of octets. */
enum { IW_LANDING_MIN = 16384 };

/* The message being segmented. */
enum iw_sending { IW_SENDING_NOTHING, IW_SENDING_WORK, IW_SENDING_RESPONSE };

struct iw_endpoint {
    struct iw_domain *domain;
    const struct iw_env *env;
    struct iw_endpoint_config config;
    struct iw_ddp_stream stream;
    enum iw_phase phase;
    uint64_t now; /* of the call under way */
    bool paused;  /* responder: nothing leaves before the first FPDU has come (RFC 5044 §7.1.2), or
                   * tx_retry if it may speak first */
    bool rtr_due; /* initiator, peer-to-peer: the RTR must leave first (RFC 6581 §9.2) */
    bool rtr_expected;
    uint32_t mulpdu;
    uint32_t segment; /* EMSS that FPDUs are aligned to; 0: they do not fit one */
    struct iw_mpa_startup startup;
    uint64_t deadline;
    uint8_t early[4]; /* octets that --violate sends when nothing is due */
    uint32_t early_left;

    /* receiving */
    struct iw_deframer deframer;
    struct iw_deframer_sink sink;
    uint64_t rx_pos; /* octets from the peer, without a gap, its start-up frame included */
    void *rx_buffer;
    uint32_t rx_msn[4]; /* expected */
    uint64_t rx_mo;     /* the offset at which its next segment should go on */
    bool rx_open;       /* such a message is in progress */
    uint32_t rx_likely; /* payload of the last segment that began a Send; 0 after a wrong guess */
    bool write_open;    /* a tagged Write message is in progress */
    uint64_t write_to;
    struct iw_landing landing;
    uint32_t landing_min; /* the least octets that are worth a landing: IW_LANDING_MIN, less in a
                             fuzzer */
    uint32_t rx_together; /* FPDUs of the octets being taken in */
    struct iw_rx_last {   /* overstrict only: the last segment of each kind */
        bool open;        /* its message goes on */
        uint8_t rdmap_control;
        uint32_t stag;        /* Sends: the Invalidate STag field */
    } rx_last[4];             /* Sends, Writes, Read Responses, none */
    struct iw_fault deferred; /* a fault whose botched reaction comes after the placement */
    struct iw_fault late;     /* one whose botched reaction comes after a response */
    uint32_t late_length;     /* of its ULPDU */

    /* sending */
    struct iw_framer framer;
    void *tx_buffer;             /* struct iw_iov[IW_TX_PIECES], then octets */
    struct iw_iov tx_startup[2]; /* a frame, and `early` */
    size_t tx_pieces, tx_first;
    uint8_t tx_ends[IW_TX_PIECES / 8];       /* bit per piece: it is the last of its FPDU */
    uint16_t tx_cuts[IW_ENDPOINT_LISTS - 1]; /* pieces before each other list than the first */
    size_t tx_lists;                         /* such lists */
    uint32_t lists_min; /* EMSS of which several go together: IW_TX_LARGE, less in a test */
    uint8_t tx_lent[IW_TX_PIECES / 8]; /* bit per piece: it is the source of a Read Response */
    uint8_t *tx_spare;                 /* room for those; NULL: there are none */
    bool tx_inside;                    /* the octets sent so far end inside an FPDU */
    uint64_t tx_retry;                 /* the pool was empty: when to try again */
    uint64_t tx_sent;                  /* position: octets of full operation that have been sent */
    uint32_t tx_msn[4];
    enum iw_sending sending;
    uint32_t send_offset; /* octets of the current message that have been framed */
    bool response_next;   /* whose turn it is: Read Responses and own work alternate */

    /* queues: rings indexed by ever-growing counters modulo their depth; a counter that wraps
     * would jump to another place unless the depth were a power of two */
    struct iw_send_entry *sends;
    uint64_t send_head, send_next, send_tail;
    uint32_t send_unpolled;
    struct iw_recv_entry *recvs;
    uint64_t recv_head, recv_tail;
    uint32_t recv_unpolled;
    struct iw_completion *completions;
    uint32_t completion_room;
    uint64_t completion_head, completion_tail;
    struct iw_iov *sges;
    struct iw_read_out *reads_out;
    uint32_t reads_out_room;
    uint64_t reads_out_head, reads_out_tail;
    struct iw_read_in *reads_in;
    uint32_t reads_in_room;
    uint64_t reads_in_head, reads_in_next, reads_in_tail;

    /* ending */
    uint32_t events;        /* bit per enum iw_event_kind: happened */
    uint8_t event_order[8]; /* of those that happened */
    uint8_t event_count, events_taken;
    struct iw_fault fault;
    bool fault_in_response;  /* it was found in a Read or Atomic Response */
    bool fault_in_message;   /* it was found in a message of queue 0 */
    bool terminate_made;     /* one was made for our fault */
    uint32_t terminates_due; /* how often it is still to be sent */
    struct iw_rdmap_terminate terminate_out;
    struct iw_rdmap_terminate terminate_in;
    struct iw_rdmap_terminate terminate_meant; /* if it is reversed */
    bool terminate_reversed;
    bool fin_known; /* the peer's FIN has come, perhaps before octets that precede it */
    uint64_t fin_at;
    bool shutdown, fin_due, fin_out, fin_in, reset, lost;
    bool close_waits;    /* our FIN waits for the peer, with a deadline */
    uint64_t close_sent; /* tx_sent when that deadline was last set */
    enum iw_cause cause;
};

/* setup.c */
/* Takes received octets in the start-up, and after it those that are left. */
void iw_ep_startup_input(struct iw_endpoint *ep, const struct iw_iov *data, size_t pieces);
/* Judges octets of the peer that have come before they may, from `first` on. Returns true if that
 * was a fault. */
bool iw_ep_surplus(struct iw_endpoint *ep, uint8_t first);
/* Lists in ep->tx_startup what the start-up has to send. Returns the number of pieces. */
size_t iw_ep_startup_output(struct iw_endpoint *ep);
/* Notes that so many octets of these pieces were sent. */
void iw_ep_startup_sent(struct iw_endpoint *ep, size_t octets);
/* Returns the RTR form that opens a peer-to-peer connection, as an opcode. */
unsigned iw_ep_rtr_opcode(const struct iw_endpoint *ep);

/* rx.c */
/* Receives an FPDU, for struct iw_deframer_sink. Returns 0 to go on, else the deframer stops. */
int iw_ep_rx_fpdu(void *context, const struct iw_fpdu *fpdu);
/* Takes a check of the deframer that has failed, for struct iw_deframer_sink. Returns 0 to go on as
 * if it had not, else the deframer stops. */
int iw_ep_rx_check(void *context, const struct iw_fault *fault);
/* Returns whether segments are received still: not after an error, unless that is switched off. */
bool iw_ep_receiving(const struct iw_endpoint *ep);
/* Asks the consumer for a receive if none is posted. Returns whether one is there for the next
 * message. */
bool iw_ep_rx_ask_receive(struct iw_endpoint *ep);
/* Lends the deframer a buffer of the pool unless it has one. Returns false if the pool is empty. */
bool iw_ep_rx_buffer(struct iw_endpoint *ep);
/* Ends the stream by a reset, since octets have come after the peer's FIN; `first` is the first. */
void iw_ep_after_close(struct iw_endpoint *ep, uint8_t first);

/* landing.c: takes octets of the FPDU that is landing. Returns how many. */
size_t iw_ep_landing_input(struct iw_endpoint *ep, const uint8_t *octets, size_t length);

/* early.c */
/* Places the payload of an FPDU that has come after a gap, if it may, for struct iw_deframer_sink.
 * Returns whether it has. The FPDU comes to iw_ep_rx_fpdu in its turn. */
bool iw_ep_rx_early(void *context, const struct iw_fpdu *fpdu);
/* With fin_known: ends the stream if everything before the FIN has come. */
void iw_ep_fin_reached(struct iw_endpoint *ep);

/* legal.c */
/* Returns the fault that --overstrict finds in a correct segment. `octets` is the length after the
 * DDP header, `payload` its beginning. */
struct iw_ulpdu_fault iw_ep_refused(struct iw_endpoint *ep, const struct iw_fpdu *fpdu,
                                    const struct iw_ddp_header *h, uint32_t octets,
                                    const uint8_t *payload);

/* tx.c */
/* Fills a batch of at most `lists` lists. */
void iw_ep_tx_fill(struct iw_endpoint *ep, size_t lists);
/* batch.c */
void iw_ep_tx_release(struct iw_endpoint *ep);
/* Takes back framed FPDUs of which no octet was sent: something more urgent is due. */
void iw_ep_tx_cut(struct iw_endpoint *ep);
static inline bool iw_ep_tx_idle(const struct iw_endpoint *ep)
{
    return ep->tx_first == ep->tx_pieces;
}
/* Returns whether the transport itself may touch registered memory: nobody else could take it away
 * at that moment, and no CRC is made or checked that a change of the memory would spoil. */
static inline bool iw_ep_in_place(const struct iw_endpoint *ep, bool crc, bool markers)
{
    return ep->config.in_place && ep->env->lock == NULL && !crc && !markers &&
           !iw_switch_any(ep->config.switches);
}
/* Returns the number of reads that may be outstanding, once the start-up is over. */
uint32_t iw_ep_read_limit(const struct iw_endpoint *ep);

/* header.c: writes the DDP header (and a Read Request's) that opens a segment, bent as the
 * switches ask. `first`/`last`: of its message. Returns its octets. */
size_t iw_ep_put_header(const struct iw_endpoint *ep, uint8_t *out, struct iw_ddp_header h,
                        bool first);
size_t iw_ep_put_read_request(const struct iw_endpoint *ep, uint8_t *out,
                              struct iw_rdmap_read_request request);

/* extensions.c: writes the RDMAP header of a message, bent as the switches ask. Returns its
 * octets. */
size_t iw_ep_put_immediate(const struct iw_endpoint *ep, uint8_t *out,
                           const struct iw_send_entry *entry);
size_t iw_ep_put_atomic_request(const struct iw_endpoint *ep, uint8_t *out,
                                const struct iw_send_entry *entry, uint32_t request_id);
size_t iw_ep_put_atomic_response(const struct iw_endpoint *ep, uint8_t *out, uint32_t request_id,
                                 uint64_t original);

/* queues.c */
static inline struct iw_send_entry *iw_ep_send_at(struct iw_endpoint *ep, uint64_t position)
{
    return &ep->sends[position % ep->config.send_depth];
}
void iw_ep_complete_sends(struct iw_endpoint *ep);
void iw_ep_complete_recv(struct iw_endpoint *ep, const struct iw_completion *completion);
void iw_ep_flush(struct iw_endpoint *ep, enum iw_status first_read, enum iw_status first_recv,
                 enum iw_check check);
/* Returns the oldest read, or the oldest atomic, that has been sent and not been answered; NULL if
 * there is none. */
struct iw_read_out *iw_ep_read_out(struct iw_endpoint *ep, bool atomic);
/* Marks a read as answered: its work request is done. */
void iw_ep_answered(struct iw_endpoint *ep, struct iw_read_out *read);
/* Returns whether work completes when it is answered (reads and atomics) instead of when it has
 * been sent. */
static inline bool iw_ep_is_read(enum iw_work_opcode opcode)
{
    return opcode == IW_WORK_READ || opcode == IW_WORK_FETCH_ADD || opcode == IW_WORK_CMP_SWAP;
}

/* Returns whether a responder may send before it has received an FPDU: its config says so, and no
 * RTR indication will come, which it would wait for (RFC 6581 §4.2). */
static inline bool iw_ep_speaks_first(const struct iw_endpoint *ep)
{
    return ep->config.responder_first > 0 && !ep->startup.agreed.peer_to_peer;
}

/* close.c */
void iw_ep_event(struct iw_endpoint *ep, enum iw_event_kind kind);
void iw_ep_trace(const struct iw_endpoint *ep, enum iw_trace_kind kind, const uint8_t *octets,
                 size_t length, uint32_t ulpdu_length, uint64_t pos);
/* Reacts to a failed check as its table row says, or in its botched form. `header` and `request`
 * describe the segment at fault and may be NULL. */
void iw_ep_fault(struct iw_endpoint *ep, struct iw_fault fault, const struct iw_ddp_header *header,
                 const struct iw_rdmap_read_request *request, uint32_t length);
/* Sets the cause of the end; the first one counts. */
void iw_ep_ends_by(struct iw_endpoint *ep, enum iw_cause cause);
void iw_ep_finish(struct iw_endpoint *ep);
/* Ends the connection as iw_endpoint_abort does. */
void iw_ep_abort(struct iw_endpoint *ep, bool terminate, uint8_t code);
/* Returns `timeout` after now, but never UINT64_MAX, which means no deadline. */
uint64_t iw_ep_after(const struct iw_endpoint *ep, uint64_t timeout);
bool iw_ep_happened(const struct iw_endpoint *ep, enum iw_event_kind kind);
void iw_ep_peer_terminated(struct iw_endpoint *ep, const struct iw_rdmap_terminate *terminate);
/* Reconsiders whether the connection is over; gives buffers back. */
void iw_ep_settle(struct iw_endpoint *ep);

#endif
