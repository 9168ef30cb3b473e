/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_OBSERVER_INTERNAL_H
#define IW_OBSERVER_INTERNAL_H

#include "iwarp/observer.h"
#include "iwarp/stream.h"

enum {
    HOLD = 16384, /* octets of a side that are kept until both start-up frames are known */
    ISLANDS = 64, /* ranges behind a gap, as in stream/ */
    QUEUES = 4,   /* QN 0..3 */
    HEAD = 64,    /* octets kept of an untagged message: all headers of RDMAP fit */
    PENDING = 8,  /* faults of framing kept until their FPDU is whole: one of each kind */
    SUSPECTS = 3  /* FPDUs in a row that make no sense: framing is lost */
};

/* Which octets of a side have come. */
struct iw_cover {
    uint64_t end; /* all octets before it have come */
    uint64_t top; /* no octet from here on has come */
    size_t count;
    struct iw_cover_island {
        uint64_t from, to;
    } island[ISLANDS]; /* ascending, behind `end` */
    bool lossy;        /* an island was forgotten: `end` may stay too low for good */
};

void iw_cover_add(struct iw_cover *c, uint64_t pos, uint64_t length);
bool iw_cover_gap(const struct iw_cover *c);

/* An untagged queue of one direction. */
struct iw_observed_queue {
    bool lost;    /* the place in the sequence is not known: the next segment tells */
    bool open;    /* a message has begun and had no L=1 segment yet */
    bool whole;   /* open: its beginning was seen */
    uint32_t msn; /* open: of that message, else the one expected next */
    uint64_t mo;  /* open: expected next */
    uint8_t opcode;
    uint32_t invalidate_stag;
    uint32_t segments;
    uint64_t pos;
    uint8_t head[HEAD];
};

/* A Read Request, or an Atomic Request: the two share queue, IRD and order (RFC 7306 §5.2). */
struct iw_observed_read {
    bool atomic;
    uint32_t sink_stag; /* or Request Identifier */
    uint32_t size;
    uint64_t sink_to;
};

/* Write or Read Response messages of one direction. */
struct iw_observed_tagged {
    bool open;
    bool matched; /* Read Response: `read` is what it answers; counts as outstanding while open */
    bool over;    /* Read Response: too long, already reported */
    uint32_t stag;
    uint64_t to; /* expected next */
    uint64_t length;
    uint32_t segments;
    uint64_t pos;
    struct iw_observed_read read;
};

/* Read and Atomic Requests of one direction that have no response yet. */
struct iw_observed_reads {
    bool uncertain; /* something was missed: nothing can be said of responses any more */
    bool over;      /* more than the peer's IRD, already reported */
    uint32_t first, count;
    struct iw_observed_read ring[IW_OBSERVER_READS];
};

enum iw_phase {
    PHASE_STARTUP, /* the start-up frame is not complete */
    PHASE_FRAMED,  /* it is, but not the other side's */
    PHASE_FULL,
    PHASE_LEFT, /* refused: what follows is not MPA's */
    PHASE_LOST
};

struct iw_observed_side {
    enum iw_phase phase;
    enum iw_side self;
    struct iw_observer *observer;
    bool told;
    bool quiet; /* told, or behind a Terminate: nothing is found here */
    bool terminated;
    bool first_done;         /* an FPDU that opens the responder's way has been sent */
    bool early_found;        /* early octets of start-up were found */
    bool early_fpdu;         /* the responder sent one before it could have received one */
    uint64_t early_fpdu_pos; /* where, if the finding has to wait */
    uint64_t early_fpdu_end;
    bool early_fpdu_waits;
    bool fin_known, fin_seen, fin_judged, reset;
    bool crc_failed; /* the last FPDU's CRC was wrong */
    uint64_t fin_pos;
    unsigned suspects;
    struct iw_fault lost; /* PHASE_LOST: why */

    uint8_t frame[IW_MPA_STARTUP_MAX];
    size_t frame_length;
    struct iw_mpa_startup_header startup;
    struct iw_mpa_enhanced enhanced;
    bool has_enhanced;
    bool sound; /* nothing in the frame keeps a receiver from answering it */

    struct iw_cover cover;
    struct iw_deframer deframer;
    struct iw_deframer_sink sink;
    struct iw_fault pending[PENDING];
    size_t n_pending;

    struct iw_observed_queue queue[QUEUES];
    struct iw_observed_tagged tagged[2]; /* Write, Read Response */
    struct iw_observed_reads reads;      /* requested by this side */

    struct iw_stream hold;
    uint8_t hold_buffer[HOLD];
    _Alignas(16) uint8_t buffer[IW_OBSERVER_BUFFER];
};

struct iw_observer {
    struct iw_observer_config config;
    struct iw_observation now; /* what is being told to the caller */
    struct iw_observed_side side[2];
    uint8_t gather[65535];
};

static inline enum iw_side iw_observed_other(enum iw_side side)
{
    return side == IW_SIDE_INITIATOR ? IW_SIDE_RESPONDER : IW_SIDE_INITIATOR;
}

/* DV and RV in force: 0 behind a Reply of revision 0, else 1 (OP-72). */
static inline unsigned iw_observed_version(const struct iw_observer *o)
{
    return o->side[IW_SIDE_RESPONDER].startup.revision == 0 ? 0 : 1;
}

/* True if octets of this side are known to be missing: what the other side did may have a
 * reason that was not seen. */
static inline bool iw_observed_gap(const struct iw_observed_side *s)
{
    return !s->told && iw_cover_gap(&s->cover);
}

/* observer.c: begins a new o->now and shows it. */
void iw_observer_begin(struct iw_observer *o, enum iw_observed kind, enum iw_side side,
                       uint64_t pos, uint64_t end);
void iw_observer_show(struct iw_observer *o);
/* A finding about what o->now describes, at stream position `pos`. */
void iw_observer_find(struct iw_observer *o, enum iw_check check, uint64_t pos, uint64_t got,
                      uint64_t want);
void iw_observer_lose(struct iw_observer *o, enum iw_side side, const struct iw_fault *fault);
/* Judges a FIN once everything before it is here. */
void iw_observer_judge_end(struct iw_observer *o, enum iw_side side);

/* startup.c: looks for the start-up frame among the octets held. */
void iw_observer_seek_startup(struct iw_observer *o, enum iw_side side);
void iw_observer_take_startup(struct iw_observer *o, enum iw_side side, const uint8_t *frame,
                              size_t length);
/* After every input before full operation: who spoke too early? */
void iw_observer_check_early(struct iw_observer *o, enum iw_side side);

/* segment.c */
int iw_observer_fpdu(void *side, const struct iw_fpdu *fpdu);
int iw_observer_framing_fault(void *side, const struct iw_fault *fault);
void iw_observer_segment(struct iw_observer *o, enum iw_side side, const uint8_t *ulpdu,
                         size_t length, const struct iw_fpdu *fpdu, bool content);
/* A finding at octet `offset` of the ULPDU in o->now. */
void iw_observer_find_at(struct iw_observer *o, enum iw_check check, size_t offset, uint64_t got,
                         uint64_t want);
/* Shows the message that the segment in o->now completes. */
void iw_observer_message(struct iw_observer *o, uint64_t pos, uint64_t length, uint32_t segments);
/* Decodes the header that stands behind the DDP header of a message with this opcode. */
void iw_observed_header(struct iw_observation *now, unsigned opcode, const uint8_t *octets,
                        size_t length);
/* Nothing is certain any more about the Read and Atomic Requests of either side. */
void iw_observer_doubt_reads(struct iw_observer *o);

/* untagged.c, tagged.c, reads.c, atomics.c, terminate.c: the segment in o->now */
void iw_observer_untagged(struct iw_observer *o);
void iw_observer_tagged(struct iw_observer *o);
void iw_observer_read_request(struct iw_observer *o);
/* reads.c, for atomics.c: one more request of this side; the check of IRD. */
void iw_observer_ask(struct iw_observer *o, const struct iw_observed_read *request);
/* reads.c: the other side's requests, of which the response in o->now answers one; `due`: it is the
 * oldest one's. NULL if nothing can be said. */
struct iw_observed_reads *iw_observer_asked(struct iw_observer *o, bool due);
struct iw_observed_read *iw_observer_request_at(struct iw_observed_reads *r, uint32_t k);
/* Takes request k out of the list. */
struct iw_observed_read iw_observer_answered(struct iw_observed_reads *r, uint32_t k);
void iw_observer_immediate(struct iw_observer *o);
void iw_observer_atomic_request(struct iw_observer *o);
void iw_observer_atomic_response(struct iw_observer *o);
void iw_observer_begin_response(struct iw_observer *o, struct iw_observed_tagged *t);
void iw_observer_continue_response(struct iw_observer *o, struct iw_observed_tagged *t);
void iw_observer_terminate(struct iw_observer *o);

#endif
