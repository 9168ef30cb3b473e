/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_OBSERVER_INTERNAL_H
#define IW_OBSERVER_INTERNAL_H

#include "iwarp/crc32c.h"
#include "iwarp/observer.h"
#include "iwarp/stream.h"

enum {
    QUEUES = 4,   /* QN 0..3 */
    HEAD = 64,    /* octets kept of an untagged message: all headers of RDMAP fit */
    PENDING = 8,  /* faults of framing kept until their FPDU is whole: one of each kind */
    SUSPECTS = 3, /* FPDUs in a row that make no sense: framing is lost */
    GAPS = 4,     /* ranges known never to come, after others that may come */
    ALIGNED = 2   /* segments that are lists of whole FPDUs: framing found again is proven */
};

/* A finding that is due once the segment was shown. */
struct iw_observed_owed {
    enum iw_quirk quirk;
    size_t offset; /* in the ULPDU */
    uint64_t got, want;
};

enum { OWED = 3 /* fields of one header */ };

/* What all observers of a caller may share, as nothing of it outlives a call. */
struct iw_observer_scratch {
    struct iw_observation now; /* the observation being reported */
    struct iw_fault pending[PENDING];
    size_t n_pending;
    struct iw_observed_owed owed[OWED];
    size_t n_owed;
    uint8_t gather[65535];
    _Alignas(16) uint8_t room[IW_DEFRAMER_BUFFER];
};

/* Octets of a side that cannot be judged yet. Nothing is lent while `octets` is NULL. */
struct iw_hold {
    struct iw_stream *octets; /* at the head of the block that was lent; its buffer follows */
    uint32_t size;            /* of the block */
};

struct iw_observed_range {
    uint64_t from, to;
};

/* An untagged queue of one direction. */
struct iw_observed_queue {
    bool lost;         /* the place in the sequence is not known: the next segment will show it */
    bool open;         /* a message has begun and had no L=1 segment yet */
    bool whole;        /* open: its beginning was seen */
    bool known;        /* open: `head` is as it should be */
    bool misplaced;    /* open: an MO was found wrong */
    bool gap;          /* open: octets were left out ... */
    uint32_t gap_mo;   /* before this MO ... */
    uint32_t gap_want; /* from this one on */
    uint32_t msn;      /* open: of that message, else the one expected next */
    uint64_t mo;       /* open: expected next */
    uint64_t top;      /* open: no octet from here on has come */
    uint64_t octets;   /* open: that have come */
    uint8_t opcode;
    uint32_t invalidate_stag;
    uint32_t segments;
    uint64_t pos;
    bool used;        /* a message has begun */
    bool uncounted;   /* some were not seen */
    uint32_t begun;   /* messages */
    uint32_t ordinal; /* open: the MSN that is meant */
    uint8_t head[HEAD];
};

_Static_assert(HEAD >= IW_RDMAP_ATOMIC_REQUEST, "a header does not fit");

/* A Read Request, or an Atomic Request: the two share queue, IRD and order (RFC 7306 §5.2). */
struct iw_observed_read {
    bool atomic;
    bool late;          /* after an error for which the other side has to end the connection */
    uint32_t sink_stag; /* or Request Identifier */
    uint32_t size;
    uint64_t sink_to;
};

/* The first thing found about a side to which the other may answer with a Terminate. */
struct iw_observed_provocation {
    struct iw_fault fault;
    bool passed; /* the other side went on in spite of it, already reported */
    bool header; /* the two below are known */
    struct iw_ddp_header ddp;
    uint16_t length;
    uint64_t segment; /* its number */
    bool doubtful;    /* something that a receiver may see as another fault came, too */
};

/* Write or Read Response messages of one direction. */
struct iw_observed_tagged {
    bool open;
    bool matched; /* Read Response: `read` is what it answers; counts as outstanding while open */
    bool over;    /* Read Response: too long, already reported */
    bool lost;    /* not open: what comes next may lie inside a message */
    bool partial; /* open: its beginning may not have been seen */
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
    uint32_t size;                 /* entries in the ring, a power of two, or 0 */
    struct iw_observed_read *ring; /* lent; NULL if size is 0 */
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
    bool as_ulpdus;   /* the caller gives its ULPDUs (iw_observer_told_*), not its octets */
    bool quiet;       /* after a Terminate: nothing is found here */
    bool terminating; /* a segment of a Terminate was sent, whole or not */
    bool terminated;
    bool spoke;              /* a segment has come, or may have */
    bool first_done;         /* an FPDU that opens the responder's way has been sent */
    uint8_t rtr;             /* its form, if its message has not ended */
    bool reply_first;        /* the Reply came, and nothing before it */
    bool early_found;        /* early octets of start-up were found */
    bool early_fpdu;         /* the responder sent one before it could have received one */
    uint64_t early_fpdu_pos; /* where, if the finding has to wait */
    uint64_t early_fpdu_end;
    bool early_fpdu_waits;
    bool early_fpdu_short; /* it holds no whole DDP header */
    bool fin_known, fin_seen, fin_judged, reset;
    bool crc_failed;               /* the last FPDU's CRC was wrong */
    bool crc_right;                /* some FPDU's CRC was right */
    bool offload;                  /* an input was longer than the EMSS */
    uint64_t input_pos, input_end; /* of the input that came last */
    uint64_t fin_pos;
    unsigned suspects;
    bool too_short;    /* the FPDU before held no whole DDP header, and no CRC vouches for it */
    uint64_t segments; /* so far */
    uint16_t led, led_here; /* rows of cause.c whose cause was found; of this segment */
    struct iw_fault lost;   /* PHASE_LOST: why */

    size_t frame_length; /* 0 until there is one; the frame is the first of what is held */
    struct iw_mpa_startup_header startup; /* as it is meant */
    struct iw_mpa_enhanced enhanced;
    bool has_enhanced;
    iw_quirks startup_quirk; /* through which the frame is read */
    struct iw_observed_provocation provocation;

    bool sound; /* nothing in the frame keeps a receiver from answering it */

    uint64_t next;  /* all octets before it have been judged or given up */
    uint64_t top;   /* no octet from here on has come */
    uint64_t acked; /* the other side has all octets before it */
    struct iw_hold hold;
    struct iw_observed_range gap[GAPS]; /* ascending, after octets that may still come */
    uint8_t gaps;
    struct iw_deframer deframer;
    struct iw_deframer_sink sink;

    bool missed;             /* octets were given up: anything may have been in them */
    bool seeking;            /* for the start of an FPDU */
    bool cut;                /* the FPDU before was not here whole: only its length led here */
    bool unproven;           /* it was found by searching: nothing is found here yet */
    bool redo;               /* the FPDU just judged does not fit: seek from its position on */
    enum iw_resync found_by; /* unproven: how */
    uint8_t aligned;         /* unproven: segments in a row that were lists of FPDUs */
    uint64_t framed_until;   /* seeking: framing was in order until here */
    uint64_t found_at;       /* unproven: where it was found */
    uint64_t searched;       /* where the search has been */
    uint32_t credit;         /* octets of CRC that the search may still compute */
    uint8_t step;            /* FPDUs begin at multiples of this from deframer.start on */
    bool markers_known;      /* whether there are any, and where */
    bool markers_wanted;     /* not known where, but that there are */
    bool crc_known;          /* whether CRCs are in force */
    bool crc_seen;           /* not known, but they were right */

    iw_quirks crc_quirk;          /* what explains the CRC of the FPDU that is being taken */
    iw_quirks marker_quirk;       /* what explains the places of its Markers */
    struct iw_fault marker_fault; /* found with it; IW_CHECK_NONE: none */
    iw_quirks frame_quirk;        /* how it frames in another way than agreed */
    struct iw_fault frame_fault;  /* found with the next FPDU; IW_CHECK_NONE: none */
    bool whole_waited;            /* a whole FPDU has waited: how is it framed? */
    bool settled;                 /* the caller has waited in vain for more octets */
    bool ends;                    /* nothing comes after the octets being judged */
    bool retake;                  /* its Markers stand elsewhere: frame it once more */
    bool await;                   /* the same once there are more octets */
    uint64_t marker_retaken;      /* where the last such FPDU begins */
    uint64_t marker_elsewhere;    /* the last Marker seen where none belongs, unproven; 0: none */
    size_t marker_elsewhere_at;   /* its offset in its FPDU */
    uint64_t marker_first;        /* where the first one of all belongs */
    iw_quirks found;              /* quirks of this side: found once */
    uint32_t msn_start;           /* what its MSNs begin with */
    uint32_t untagged;            /* messages that have begun, of all queues */
    struct iw_observed_queue queue[QUEUES];
    struct iw_observed_tagged tagged[2]; /* Write, Read Response */
    struct iw_observed_reads reads;      /* requested by this side */
    uint32_t answered;                   /* responses of this side that are whole */
};

struct iw_observer {
    struct iw_observer_config config;
    struct iw_observation *now; /* in the scratch memory */
    struct iw_observer_scratch *scratch;
    uint8_t version; /* DV and RV in force: 0 after a Reply of revision 0, else 1 (OP-72) */
    bool version_known;
    bool joined;        /* no start-up frame was seen */
    const uint8_t *raw; /* octets from the FPDU on that is being taken, Markers included */
    size_t raw_length;
    struct iw_observed_side side[2];
};

/* hold.c */
/* Returns the octets from s->next on that are held without a gap. */
struct iw_iov iw_hold_peek(const struct iw_observed_side *s);
/* Returns the position after the octets that have come without a gap. */
uint64_t iw_hold_edge(const struct iw_observed_side *s);
/* Returns the first octet held after a gap; UINT64_MAX if there is none. */
uint64_t iw_hold_island(const struct iw_observed_side *s);
/* Keeps octets. Returns how many of them, the last ones, could not be kept. */
size_t iw_hold_put(struct iw_observed_side *s, uint64_t pos, const uint8_t *octets, size_t length);
/* Lets octets go that are before s->next, which has moved, and the block if none are left. */
void iw_hold_skip(struct iw_observed_side *s);
/* Lets all octets go, and the block. */
void iw_hold_drop(struct iw_observed_side *s);

/* Returns true if octets of this side are known to be missing: what the other side did may have a
 * reason that was not seen. */
static inline bool iw_observed_gap(const struct iw_observed_side *s)
{
    return !s->as_ulpdus && (s->seeking || iw_hold_island(s) != UINT64_MAX ||
                             s->top > iw_hold_edge(s) || s->acked > iw_hold_edge(s));
}

/* input.c: judges what is held of a side whose framing is known, and gives up gaps that are
 * known never to close. */
void iw_observer_judge_held(struct iw_observer *o, enum iw_side side);
/* Judges the octets held up to the first missing one, after which none will be seen. */
void iw_observer_judge_last(struct iw_observer *o, struct iw_observed_side *s);

/* seek.c: looks for the start of an FPDU among `length` octets from s->next on. `last`: no more
 * octets will join them. Returns how many octets can be dropped; s->seeking is false if the start
 * was found after them. */
size_t iw_observer_seek(struct iw_observer *o, struct iw_observed_side *s, const uint8_t *octets,
                        size_t length, bool last);
/* Returns true if the header has nothing wrong or strange. */
bool iw_observer_plausible(const struct iw_observer *o, const struct iw_ddp_header *h);
/* Returns whether an FPDU could begin with these octets: length and DDP header. Sets its size. */
enum iw_fpdu_probe iw_observer_probe_header(const struct iw_observer *o,
                                            const struct iw_deframer *d, uint64_t pos,
                                            const uint8_t *octets, size_t length, uint32_t *size);

/* Returns whether an FPDU may begin with these four octets: ULPDU_Length and two of the ULPDU. */
bool iw_observer_may_begin(const uint8_t *octets);

/* markers.c: looks whether Markers are there as agreed, from the first FPDU of a side on. Returns
 * false if more octets are needed. */
bool iw_observer_first_marker(struct iw_observer *o, struct iw_observed_side *s,
                              const uint8_t *octets, size_t length);
enum iw_marker_places {
    IW_MARKERS_IN_PLACE, /* or nothing is proven */
    IW_MARKERS_UNSURE,   /* nor is it certain what the header says */
    IW_MARKERS_CUT,      /* more octets are needed */
    IW_MARKERS_FOUND,    /* framing goes on by their places */
    IW_MARKERS_LOST      /* they stand elsewhere, and framing cannot follow them */
};
/* Looks for the Markers of the FPDU at s->next, which does not fit. */
enum iw_marker_places iw_observer_seek_markers(struct iw_observer *o, struct iw_observed_side *s,
                                               bool crc_failed);
/* Looks for the end of the FPDU at s->next, from which octets seem to be `missing`: it may lack a
 * Marker that belongs into it, or before it. `last`: no more octets come. Returns whether to frame
 * it once more; *waits: not before more octets are there. */
bool iw_observer_lacks_marker(struct iw_observer *o, struct iw_observed_side *s, bool missing,
                              bool last, bool *waits);
/* Returns whether the CRC field at the end of an FPDU is right: `size` octets, as they lie in the
 * stream. */
static inline bool iw_observer_crc_right(iw_crc32c_fn sum, const uint8_t *fpdu, size_t size)
{
    size_t covered = size - IW_MPA_CRC_FIELD;

    return iw_crc32c_finish(sum(IW_CRC32C_INIT, fpdu, covered)) == iw_crc32c_get(fpdu + covered);
}

/* first_fpdu.c: looks how the first FPDUs of a side are framed. `last`: no more octets will be seen
 * after these; `end`: none were sent. If it is OTHER, the deframer knows from now on. */
enum iw_framing {
    IW_FRAMING_AGREED, /* or nothing is proven */
    IW_FRAMING_OTHER,
    IW_FRAMING_WAITS /* more octets are needed */
};
enum iw_framing iw_observer_framing(struct iw_observer *o, struct iw_observed_side *s,
                                    struct iw_iov octets, bool last, bool end);
/* Framing is not known any more at s->next. */
void iw_observer_unframe(struct iw_observer *o, struct iw_observed_side *s);

/* observer.c: begins a new *o->now and shows it. */
void iw_observer_begin(struct iw_observer *o, enum iw_observed kind, enum iw_side side,
                       uint64_t pos, uint64_t end);
void iw_observer_show(struct iw_observer *o);
/* Notes that a quirk of this side explains what is about to be found. Returns whether it was found
 * before. */
bool iw_observer_quirk(struct iw_observer *o, struct iw_observed_side *s, enum iw_quirk quirk);
/* A finding about what *o->now describes, at stream position `pos`. */
void iw_observer_find(struct iw_observer *o, enum iw_check check, uint64_t pos, uint64_t got,
                      uint64_t want);
void iw_observer_lose(struct iw_observer *o, enum iw_side side, const struct iw_fault *fault);
/* Judges a FIN once everything before it is here. */
void iw_observer_judge_end(struct iw_observer *o, enum iw_side side);

/* segment.c: a segment whose content cannot be trusted may have been anything. */
void iw_observer_lose_place(struct iw_observer *o, struct iw_observed_side *s);

/* startup_frame.c: looks for the start-up frame among the octets held. `last`: no more octets are
 * waited for, and a PD_Length that they might yet explain is judged as it stands. */
void iw_observer_seek_startup(struct iw_observer *o, enum iw_side side, bool last);
/* Returns whether a side's PD_Length is above 512 and waits for the octets that show whether it is
 * in reversed octet order. */
bool iw_observer_startup_waits(const struct iw_observer *o, enum iw_side side);
void iw_observer_take_startup(struct iw_observer *o, enum iw_side side, const uint8_t *frame,
                              size_t length);
/* After every input before full operation: who spoke too early? */
void iw_observer_check_early(struct iw_observer *o, enum iw_side side);

/* context.c: a start-up frame without C, of a side that is configured as it was made */
bool iw_observer_wants_crc(const struct iw_observer *o, const struct iw_observed_side *s);
void iw_observer_note_input(struct iw_observer *o, enum iw_side side, uint64_t pos, size_t length);
/* The FPDU in o->now against the EMSS. */
void iw_observer_check_size(struct iw_observer *o);

/* segment.c */
/* Finds that Markers stand where framing cannot follow them: it ends. */
void iw_observer_lose_markers(struct iw_observer *o, struct iw_observed_side *s);
int iw_observer_fpdu(void *side, const struct iw_fpdu *as_it_is);
int iw_observer_framing_fault(void *side, const struct iw_fault *fault);
/* The FPDU at s->next, of which only the first `length` octets are here. */
void iw_observer_cut_fpdu(struct iw_observer *o, struct iw_observed_side *s, const uint8_t *octets,
                          size_t length);
/* `captured` octets of the ULPDU's `length` are here. */
void iw_observer_segment(struct iw_observer *o, enum iw_side side, const uint8_t *ulpdu,
                         size_t length, size_t captured, const struct iw_fpdu *fpdu, bool content);

/* observed_header.c: judges the header in *o->now. Returns whether the segment's place in a message
 * can be judged. */
bool iw_observer_judge_header(struct iw_observer *o);
/* Judges `length` octets of a ULPDU that hold no whole header. */
void iw_observer_judge_stub(struct iw_observer *o, const uint8_t *ulpdu, size_t length);

/* segment.c: a finding at octet `offset` of the ULPDU in *o->now. */
void iw_observer_find_at(struct iw_observer *o, enum iw_check check, size_t offset, uint64_t got,
                         uint64_t want);
/* cause.c: a fault of this check is found, or will be about the segment in *o->now. Returns
 * the check from whose finding it follows, or IW_CHECK_NONE. */
enum iw_check iw_observed_cause(struct iw_observed_side *s, enum iw_check check);
/* observed_header.c: notes what will be found in the header of the segment in *o->now, so that what
 * is found before may follow from it. */
void iw_observer_expect_header(struct iw_observer *o, const uint8_t *ulpdu, size_t length,
                               bool header);
/* Shows the message that the segment in *o->now completes. */
void iw_observer_message(struct iw_observer *o, uint64_t pos, uint64_t length, uint32_t segments);
/* Decodes into *o->now the header that follows the DDP header of a message with this opcode. */
void iw_observed_header(struct iw_observer *o, unsigned opcode, const uint8_t *octets,
                        size_t length);
/* Nothing is certain any more about the Read and Atomic Requests of either side. */
void iw_observer_doubt_reads(struct iw_observer *o);

/* octet_order.c: mends the fields of the DDP header in *o->now that are in reversed octet order;
 * finds those of them that are new. */
void iw_observer_mend_order(struct iw_observer *o);
void iw_observer_find_order(struct iw_observer *o);

/* untagged.c, tagged.c, reads.c, atomics.c, terminate_message.c: the segment in *o->now */
void iw_observer_untagged(struct iw_observer *o);
/* untagged.c: returns the MSN that the segment in *o->now is meant to have. */
uint32_t iw_observer_meant_msn(const struct iw_observer *o);
void iw_observer_tagged(struct iw_observer *o);
void iw_observer_read_request(struct iw_observer *o);
/* reads.c, for atomics.c: one more request of this side; the check of IRD. */
void iw_observer_ask(struct iw_observer *o, const struct iw_observed_read *request);
/* reads.c: the other side's requests, of which the response in *o->now answers one; `due`: it is
 * the oldest one's. NULL if nothing can be said. */
struct iw_observed_reads *iw_observer_asked(struct iw_observer *o, bool due);
struct iw_observed_read *iw_observer_request_at(struct iw_observed_reads *r, uint32_t k);
/* Takes request k out of the list. */
struct iw_observed_read iw_observer_answered(struct iw_observer *o, struct iw_observed_reads *r,
                                             uint32_t k);
/* Gives back the list of what this side asked for. */
void iw_observer_forget_reads(struct iw_observed_side *s);
void iw_observer_immediate(struct iw_observer *o);
void iw_observer_atomic_request(struct iw_observer *o);
void iw_observer_atomic_response(struct iw_observer *o);
void iw_observer_begin_response(struct iw_observer *o, struct iw_observed_tagged *t);
void iw_observer_continue_response(struct iw_observer *o, struct iw_observed_tagged *t);
void iw_observer_terminate(struct iw_observer *o);
/* terminate_message.c: decodes one into *o->now, through a quirk if it has one. */
void iw_observed_terminate(struct iw_observer *o, const uint8_t *octets, size_t length);

#endif
