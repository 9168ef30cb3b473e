/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_OBSERVER_H
#define IWARP_OBSERVER_H

/*
 * observer/: somebody else's connection. Given the octets of both directions it rebuilds
 * start-up, FPDUs, messages, Terminate and close, and runs every check that a bystander can
 * see (IW_KIND_OBSERVER). Findings never stop it; it goes on as long as framing holds.
 *
 * A side can instead be *told* (iw_observer_told_*): the station knows what it sent, and a
 * broken stimulus must not cost the observer its place.
 *
 * The order of the calls is taken as the order of events: what was given for one side before
 * something was given for the other did happen before it. Feed a capture in capture order.
 * The checks that compare the sides (early octets, outstanding reads and atomics, responses
 * against requests) depend on it; octets of one side among themselves may come in any order. While
 * octets of a side are known to be missing nothing is found that they could explain; a bystander
 * learns most surely that they are from what the other side acknowledges (iw_observer_acked).
 *
 * One fault gives one finding as far as possible: behind a wrong MSN counting goes on from
 * there, a segment with a wrong CRC is not judged and changes nothing, and what a fault left
 * uncertain is not judged either. A finding that was made says nothing about what the
 * receiver did with the segment.
 *
 * Memory: the observer itself is small (iw_observer_size). Octets that cannot be judged yet (the
 * beginning of an FPDU, what came behind a gap) and the reads and atomics outstanding lie in blocks
 * that the caller lends, as few and as small as will do, and none while nothing is pending. An FPDU
 * that lies in one input whole is judged in place, without a copy. Should the caller refuse a
 * block, octets are lost just as if the capture did not have them, or reads become unknown.
 *
 * Gaps: octets that the capture does not have (iw_observer_gap says so, or what has to be held
 * behind them exceeds IW_OBSERVER_WINDOW, or iw_observer_flush) are given up. GAP tells which. An
 * FPDU whose ULPDU_Length is here keeps the framing, even if the rest of it is not; otherwise the
 * next start of an FPDU is sought, and RESYNC tells where it was found and how. Behind a gap
 * sequence numbers, messages and outstanding reads are unknown until the octets tell them anew, and
 * nothing is found that the missing octets could explain. Reads and atomics are known again once
 * the MSNs show that as many were requested as were answered, thus never if a response was missed.
 * Framing that was found again is on probation: until it has been proven nothing at all is found on
 * that side, and the first thing that does not fit starts the search anew.
 */

#include "iwarp/mpa.h"
#include "iwarp/rdmap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sender of a direction. */
enum iw_side { IW_SIDE_INITIATOR = 0, IW_SIDE_RESPONDER = 1 };

enum iw_observed {
    IW_OBSERVED_STARTUP, /* a whole start-up frame */
    IW_OBSERVED_SEGMENT, /* one FPDU with its DDP segment, also if its CRC is wrong */
    IW_OBSERVED_MESSAGE, /* the L=1 segment of a message came: the message is whole */
    IW_OBSERVED_FIN,     /* shown once all octets before it have come */
    IW_OBSERVED_RESET,
    IW_OBSERVED_FINDING, /* a check failed; follows the STARTUP, SEGMENT or FIN that it is about,
                            whose members are set too, and comes before the MESSAGE */
    IW_OBSERVED_LOST,    /* framing of this side is lost for good; fault says why: a start-up
                            frame that is none, or (RFC 5044 has no way back) two FPDUs in a row
                            with wrong CRCs, or without CRCs three that make no sense */
    IW_OBSERVED_GAP,     /* the octets from pos to end are not in the capture */
    IW_OBSERVED_RESYNC   /* framing goes on at end, for the first time since pos; see found_by */
};

/* How the start of an FPDU was found again (IW_OBSERVED_RESYNC), the surest first. */
enum iw_resync {
    IW_RESYNC_MARKER, /* a Marker, whose place follows from the stream position, pointed to it
                         (RFC 5044 §4.3), and the FPDU's CRC is right or not in force */
    IW_RESYNC_CRC,    /* searched: a ULPDU_Length and DDP header that make sense, and a right CRC:
                         wrong once in 2^32 such places, or where payload carries FPDUs. Proven once
                         more octets than the longest FPDU has, or two segments on end, are a list of
                         FPDUs without a fault */
    IW_RESYNC_CHAIN   /* searched, no CRCs: IW_OBSERVER_CHAIN FPDUs on end whose headers make sense;
                         proven as above */
};
enum { IW_OBSERVER_CHAIN = 3 };

/* One thing seen. Pointers are valid during the call-back. Positions are stream octets of
 * that side, 0 = its first octet after the SYN (start-up frame included). What is told has
 * no position: pos and end are 0. */
struct iw_observation {
    enum iw_observed kind;
    enum iw_side side;
    uint64_t pos; /* first octet of the thing; fault.pos is more precise */
    uint64_t end; /* behind its last octet */
    /* STARTUP */
    const uint8_t *frame; /* the whole frame */
    size_t frame_length;
    struct iw_mpa_startup_header startup;
    struct iw_mpa_enhanced enhanced; /* if startup.flags has S and the data has 4 octets */
    /* SEGMENT, MESSAGE (the one with L=1; but pos is the message's first octet) */
    const struct iw_fpdu *fpdu; /* NULL if told */
    struct iw_ddp_header ddp;
    const uint8_t *ulpdu;   /* contiguous ULPDU */
    size_t ulpdu_length;    /* as ULPDU_Length says */
    size_t ulpdu_captured;  /* octets of it that are here, fewer if the capture lacks the rest */
    const uint8_t *payload; /* behind the DDP header; NULL if that is cut short or missing */
    size_t payload_length;
    size_t payload_captured;                         /* octets of it that are here */
    struct iw_rdmap_read_request read_request;       /* opcode Read Request with 28 octets */
    struct iw_rdmap_atomic_request atomic_request;   /* opcode Atomic Request with 52 octets */
    struct iw_rdmap_atomic_response atomic_response; /* opcode Atomic Response with 12 octets */
    struct iw_rdmap_terminate terminate;             /* opcode Terminate that decodes */
    bool terminate_valid;
    const struct iw_fault *provoked_by; /* MESSAGE, a Terminate: the first thing found about the
                                           other side that calls for one; NULL: nothing was */
    uint64_t message_length;            /* MESSAGE: octets of ULP payload (MO or TO span) */
    uint32_t segments;                  /* MESSAGE: segments it took */
    bool partial; /* MESSAGE: its beginning was not seen: pos, message_length and segments
                     count what was */
    enum iw_resync found_by; /* RESYNC */
    /* FINDING, LOST */
    struct iw_fault fault; /* pos: the octet at fault (the first of the field) */
};

struct iw_observer_config {
    iw_crc32c_fn crc32c;
    void *context;
    /* Required. Must not call the observer. Pointers are valid during the call. */
    void (*seen)(void *context, const struct iw_observation *observation);
    /* A block of `size` octets (at most IW_OBSERVER_BLOCK), aligned for any type, or NULL; and
     * back. Both get `context`. NULL: nothing is lent. */
    void *(*lend)(void *context, size_t size);
    void (*give_back)(void *context, void *block, size_t size);
    /* Required: iw_observer_scratch_size() octets, aligned for any type, borrowed until the
     * observer is dropped. They carry nothing from call to call: all observers that are not called
     * at the same time may share them. */
    void *scratch;
    bool told[2]; /* by enum iw_side: this side is told, its octets are not fed */
    /* Context, without which some rules are not judged. 0 and false: not known. */
    uint32_t emss; /* octets of TCP payload that one segment takes at most; each input is taken
                      to be one segment. An input that is longer shows that a NIC cuts: that
                      side's sizes are not judged from there on */
    bool default_config; /* nobody has configured the sides: CRCs are asked for */
    bool extensions;     /* RFC 7306 opcodes and queue 3 are known (sensible for bystanders) */
};

/* What one observer borrows at most. */
#define IW_OBSERVER_WINDOW                                                                         \
    (256u * 1024u) /* octets held of a side, from the first missing one on                         \
                    */
#define IW_OBSERVER_BLOCK (IW_OBSERVER_WINDOW + 2048u)
#define IW_OBSERVER_READS                                                                          \
    1024 /* per side: outstanding reads and atomics; beyond that none are judged */

struct iw_observer;
/* Octets to hand to iw_observer_init (about 2 KiB), and for the scratch memory (about 150 KiB). */
size_t iw_observer_size(void);
size_t iw_observer_scratch_size(void);
/* Builds an observer in `memory` (aligned for any type, iw_observer_size() octets, borrowed).
 * *config is copied. NULL if size is too small. */
struct iw_observer *iw_observer_init(void *memory, size_t size,
                                     const struct iw_observer_config *config);
/* Gives back every block that was lent. The observer is not to be called any more. */
void iw_observer_drop(struct iw_observer *o);

/* Hosted (libiwarp_host): an observer with memory of its own, blocks from malloc; config->lend,
 * give_back and scratch are not looked at. NULL without memory. iw_observer_free drops it. */
struct iw_observer *iw_observer_new(const struct iw_observer_config *config);
void iw_observer_free(struct iw_observer *o);

/* Whether a connection is to be followed from these octets on, with which a TCP segment begins:
 * *side, if so, is their sender. Of the `first` segment of its direction the beginning of a key
 * suffices (four octets): what follows is the observer's to judge. Behind streaming mode (RFC 5044
 * §7.1.2), where any octets may stand, only the header of a Request whose revision is known and
 * whose PD_Length is one counts; what the responder sends next is position 0 of its side. */
bool iw_observer_opens(const void *data, size_t length, bool first, enum iw_side *side);

/* `length` octets of one fed side at stream position `pos`, in any order, repeats and overlaps
 * allowed; the first copy of an octet counts. One call is one TCP segment as far as the caller can
 * tell.
 * 0, or -1 if this side's framing is lost or the side is told. Octets behind a FIN or RST, and all
 * octets after a rejecting Reply (RFC 5044 §7.1.2), are passed over with 0. */
int iw_observer_input(struct iw_observer *o, enum iw_side side, uint64_t pos, const void *data,
                      size_t length);
/* The octets of `side` from `from` to `to` will never come (the end of a segment that the capture
 * has cut). Those that did come all the same count. */
void iw_observer_gap(struct iw_observer *o, enum iw_side side, uint64_t from, uint64_t to);
/* The other side has acknowledged every octet of `side` before `pos`: those of them that have not
 * come are missing from the capture, or late. To be called before the octets of the segment that
 * carries the acknowledgement are given. */
void iw_observer_acked(struct iw_observer *o, enum iw_side side, uint64_t pos);
/* The start-up was not captured, or not whole: it was agreed on what is stated here, or, where that
 * is unknown (or `assumption` NULL), on what the octets show; a start-up frame that was seen goes
 * before both. Position 0 is then any octet of the stream. Call it before the first octet of a
 * connection that the capture has joined; the observer does so itself when the start-up frames turn
 * out to be missing. Which side is the Initiator is then only a name (iw_observer_joined), and
 * early octets, RTR and IRD are not judged. Nothing happens once both frames were seen. */
enum iw_assumed { IW_ASSUMED_UNKNOWN, IW_ASSUMED_NO, IW_ASSUMED_YES };
struct iw_observer_assumption {
    enum iw_assumed markers[2]; /* this side sends them */
    enum iw_assumed crc;
    enum iw_assumed consortium; /* revision 0 (RFC 5044 Appendix C) */
};
void iw_observer_assume(struct iw_observer *o, const struct iw_observer_assumption *assumption);
/* No more octets will come: gives up every gap and judges what lies behind. */
void iw_observer_flush(struct iw_observer *o);
/* FIN behind position `pos` (that of the octet that would come next), or RST. */
void iw_observer_end(struct iw_observer *o, enum iw_side side, uint64_t pos, bool reset);

/* The told side sent this start-up frame (once, whole) / this DDP segment of `length` octets,
 * well-formed or not. They are shown like fed ones and bring what the other side is judged by
 * up to date, but nothing is found about them. Frames under 20 octets and calls for a side that
 * is not told are passed over. `broken`: no correct receiver takes the segment (bad CRC, bad
 * length ...): it changes no state. */
void iw_observer_told_startup(struct iw_observer *o, enum iw_side side, const void *frame,
                              size_t length);
void iw_observer_told_segment(struct iw_observer *o, enum iw_side side, const void *ulpdu,
                              size_t length, bool broken);
/* The told side closed its direction (FIN), or reset the connection. */
void iw_observer_told_end(struct iw_observer *o, enum iw_side side, bool reset);

/* True if framing of this side is known: both start-up frames seen, not rejected, not lost (but
 * possibly being sought behind a gap). */
bool iw_observer_follows(const struct iw_observer *o, enum iw_side side);
/* True if no start-up frame was seen of either side. */
bool iw_observer_joined(const struct iw_observer *o);
/* True if the side's octets so far have no gap and end at an FPDU (or start-up frame) boundary;
 * always for a told side and after a rejecting Reply. */
bool iw_observer_boundary(const struct iw_observer *o, enum iw_side side);

#ifdef __cplusplus
}
#endif

#endif
