/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_OBSERVER_H
#define IWARP_OBSERVER_H

/*
 * observer/: judges a connection from outside. From the octets of both directions it rebuilds
 * start-up, FPDUs, messages, Terminate and close, and runs every check that a bystander can see
 * (IW_KIND_OBSERVER). Findings never stop it; it goes on as long as framing holds.
 *
 * Instead of feeding a side's octets, the caller can *tell* the observer what that side sent
 * (iw_observer_told_*). The suite does so for its own side: it knows what it sent, and a broken
 * stimulus must not make the observer lose its place.
 *
 * The observer takes the order of the calls for the order of events: octets given for one side
 * before octets of the other side did happen before them. Feed a capture in capture order. The
 * checks that compare the sides (early octets, outstanding reads and atomics, responses against
 * requests) depend on it; octets of one side among themselves may come in any order. While octets
 * of a side are known to be missing, the observer reports nothing that they could explain. A
 * bystander learns most reliably that octets are missing from what the other side acknowledges
 * (iw_observer_acked).
 *
 * One fault gives one finding as far as possible: after a wrong MSN, counting goes on from there; a
 * segment with a wrong CRC is not judged and changes nothing; state that a fault left uncertain is
 * not judged either. A finding does not say what the receiver did with the segment.
 *
 * A quirk (iwarp/quirk.h) is found by its check, once, and looked through.
 *
 * Memory: the observer itself is small (iw_observer_size). Octets that cannot be judged yet (the
 * beginning of an FPDU, octets after a gap) and the outstanding reads and atomics lie in blocks
 * that the caller lends: as few and as small as will do, and none while nothing is pending. An FPDU
 * that lies whole in one input is judged in place, without a copy. If the caller refuses a block,
 * octets are lost as if they were missing from the capture, or reads become unknown.
 *
 * Gaps: the observer gives up octets that the capture does not have (iw_observer_gap says so, or
 * the octets held after them exceed IW_OBSERVER_WINDOW, or iw_observer_flush) and reports them as
 * GAP. An FPDU whose ULPDU_Length is here keeps the framing, even if the rest of it is missing;
 * otherwise the observer seeks the next start of an FPDU, and RESYNC reports where it was found and
 * how. After a gap, sequence numbers, messages and outstanding reads are unknown until the octets
 * show them anew, and nothing is found that the missing octets could explain. Reads and atomics are
 * known again once the MSNs show that as many were requested as were answered, thus never if a
 * response was missed. Framing that was found again is on probation: until it has been proven
 * nothing at all is found on that side, and the first contradiction starts the search anew.
 */

#include "iwarp/mpa.h"
#include "iwarp/quirk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sender of a direction. */
enum iw_side { IW_SIDE_INITIATOR = 0, IW_SIDE_RESPONDER = 1 };

/* Returns the other end. */
static inline enum iw_side iw_observed_other(enum iw_side side)
{
    return side == IW_SIDE_INITIATOR ? IW_SIDE_RESPONDER : IW_SIDE_INITIATOR;
}

/* Returns "initiator" or "responder". */
static inline const char *iw_side_name(enum iw_side side)
{
    return side == IW_SIDE_INITIATOR ? "initiator" : "responder";
}

enum iw_observed {
    IW_OBSERVED_STARTUP, /* a whole start-up frame */
    IW_OBSERVED_SEGMENT, /* one FPDU with its DDP segment, also if its CRC is wrong */
    IW_OBSERVED_MESSAGE, /* the L=1 segment of a message came, so the message is whole */
    IW_OBSERVED_FIN,     /* reported once all octets before it have come */
    IW_OBSERVED_RESET,
    /* A check failed. Follows the STARTUP, SEGMENT or FIN that it is about, whose members are set
     * too, and comes before the MESSAGE. */
    IW_OBSERVED_FINDING,
    /* Framing of this side is lost for good; fault gives the reason: an invalid start-up frame, or
     * (RFC 5044 has no way back) two FPDUs in a row with wrong CRCs, or without CRCs three that
     * make no sense. */
    IW_OBSERVED_LOST,
    IW_OBSERVED_GAP,   /* the octets from pos to end are not in the capture */
    IW_OBSERVED_RESYNC /* framing goes on at end, for the first time since pos; see found_by */
};

/* How the start of an FPDU was found again (IW_OBSERVED_RESYNC), the surest first. */
enum iw_resync {
    /* A Marker, whose place follows from the stream position, pointed to it (RFC 5044 §4.3), and
     * the FPDU's CRC is right or not in force. */
    IW_RESYNC_MARKER,
    /* Searched: a ULPDU_Length and DDP header that make sense, and a right CRC. Wrong once in 2^32
     * such places, or where payload carries FPDUs. Proven once more octets than the longest FPDU
     * has, or two consecutive segments, are a list of FPDUs without a fault. */
    IW_RESYNC_CRC,
    /* Searched, no CRCs: IW_OBSERVER_CHAIN consecutive FPDUs whose headers make sense. Proven as
     * above. */
    IW_RESYNC_CHAIN
};
enum { IW_OBSERVER_CHAIN = 3 };

/* One observation. Pointers are valid during the call-back. Positions are stream octets of that
 * side; 0 is its first octet after the SYN (start-up frame included). Observations of a told side
 * have no position: pos and end are 0. */
struct iw_observation {
    enum iw_observed kind;
    enum iw_side side;
    uint64_t pos; /* first octet observed; fault.pos is more precise */
    uint64_t end; /* position after the last octet */
    /* STARTUP */
    const uint8_t *frame; /* the whole frame */
    size_t frame_length;
    struct iw_mpa_startup_header startup;
    struct iw_mpa_enhanced enhanced; /* if startup.flags has S and the data has 4 octets */
    /* SEGMENT, MESSAGE (the one with L=1; but pos is the message's first octet) */
    const struct iw_fpdu *fpdu; /* NULL for a told side */
    struct iw_ddp_header ddp;
    uint32_t meant_msn;     /* untagged: its MSN without the quirk that bends it, else ddp.msn */
    const uint8_t *ulpdu;   /* contiguous ULPDU */
    size_t ulpdu_length;    /* as ULPDU_Length says */
    size_t ulpdu_captured;  /* octets of it that are here; fewer than ulpdu_length if the capture
                               lacks the rest */
    const uint8_t *payload; /* octets after the DDP header; NULL if that is cut short or missing */
    size_t payload_length;
    size_t payload_captured;                         /* octets of it that are here */
    struct iw_rdmap_read_request read_request;       /* opcode Read Request with 28 octets */
    struct iw_rdmap_atomic_request atomic_request;   /* opcode Atomic Request with 52 octets */
    struct iw_rdmap_atomic_response atomic_response; /* opcode Atomic Response with 12 octets */
    struct iw_rdmap_terminate terminate;             /* opcode Terminate that decodes */
    bool terminate_valid;
    uint32_t terminate_word; /* opcode Terminate: its first four octets as they came */
    /* What was looked through: members above are as their sender meant them, `ulpdu` and `payload`
     * as they came. `proven`: those of them that the octets prove. */
    iw_quirks quirks, proven;
    /* MESSAGE, a Terminate: the first fault found about the other side that calls for a Terminate;
     * NULL if none was found. */
    const struct iw_fault *provoked_by;
    uint64_t message_length; /* MESSAGE: octets of ULP payload (MO or TO span) */
    uint32_t segments;       /* MESSAGE: segments it took */
    /* MESSAGE, untagged: its beginning was not seen; pos, message_length and segments count only
     * the part that was. A tagged message does not tell where it began. */
    bool partial;
    enum iw_resync found_by; /* RESYNC */
    /* FINDING, LOST */
    struct iw_fault fault; /* pos: the octet at fault (the first of the field) */
    /* FINDING: the check of another finding about this side, from which this one follows, so that
     * it is none of its own; IW_CHECK_NONE: none. Where one header shows both, that finding may
     * come after this one. */
    enum iw_check cause;
};

struct iw_observer_config {
    iw_crc32c_fn crc32c;
    void *context;
    /* Required. Must not call the observer. Pointers are valid during the call. */
    void (*seen)(void *context, const struct iw_observation *observation);
    /* Lends a block of `size` octets (at most IW_OBSERVER_BLOCK), aligned for any type, or returns
     * NULL; give_back returns it. Both get `context`. If the pointer is NULL, nothing is lent. */
    void *(*lend)(void *context, size_t size);
    void (*give_back)(void *context, void *block, size_t size);
    /* Required: iw_observer_scratch_size() octets, aligned for any type, borrowed until the
     * observer is dropped. They hold nothing between calls, so all observers that are not called at
     * the same time may share them. */
    void *scratch;
    bool told[2]; /* by enum iw_side: the caller tells what this side sent and does not feed its
                     octets */
    /* Context. Without it some rules are not judged. 0 and false: not known. */
    /* The most octets of TCP payload that one segment takes; each input is assumed to be one
     * segment. A longer input shows that a NIC cuts the segments: the sizes of that side are not
     * judged from there on. */
    uint32_t emss;
    bool default_config; /* nobody has configured the sides, so they must ask for CRCs */
    bool extensions;     /* RFC 7306 opcodes and queue 3 are known (sensible for bystanders) */
    bool no_quirks;      /* no quirk is looked for: everything is read as it is */
    bool intact; /* octets come as they were sent, so that a wrong CRC is the sender's: one with
                    framing and header in order is looked through */
    iw_quirks quirks[2]; /* those that the sides are said to have, by enum iw_side: octets that make
                            sense either way are read so */
};

/* The most that one observer borrows: the octets held of a side from the first missing one on, and
 * the outstanding reads and atomics per side. Beyond IW_OBSERVER_READS none are judged. */
#define IW_OBSERVER_WINDOW (256u * 1024u)
#define IW_OBSERVER_BLOCK (IW_OBSERVER_WINDOW + 2048u)
#define IW_OBSERVER_READS 1024

/* Returns the sentence by which a finding follows from another one about the same side, "RFC 5041
 * §4.1: ..."; NULL if it never does. */
const char *iw_observer_consequence(enum iw_check effect, enum iw_check cause);

struct iw_observer;
/* Return the octets to hand to iw_observer_init (about 2 KiB), and those of the scratch memory
 * (about 150 KiB). */
size_t iw_observer_size(void);
size_t iw_observer_scratch_size(void);
/* Builds an observer in `memory` (aligned for any type, iw_observer_size() octets, borrowed).
 * *config is copied. Returns NULL if size is too small. */
struct iw_observer *iw_observer_init(void *memory, size_t size,
                                     const struct iw_observer_config *config);
/* Gives back every block that was lent. Do not call the observer any more. */
void iw_observer_drop(struct iw_observer *o);

/* Creates an observer with memory of its own, and blocks from malloc; ignores config->lend,
 * give_back and scratch. Returns NULL without memory. Hosted (libiwarp_host). */
struct iw_observer *iw_observer_new(const struct iw_observer_config *config);
/* Drops it and frees its memory. NULL is ignored. */
void iw_observer_free(struct iw_observer *o);

/* Returns whether to follow a connection from these octets on, with which a TCP segment begins; if
 * so, *side is their sender. For the `first` segment of its direction the beginning of a key
 * suffices (four octets); the observer judges the rest. After streaming mode (RFC 5044 §7.1.2),
 * where any octets may stand, only the header of a Request with a known revision and a valid
 * PD_Length counts. The first octet that the responder sends after it is position 0 of its side. */
bool iw_observer_opens(const void *data, size_t length, bool first, enum iw_side *side);

/* Takes `length` octets of one fed side at stream position `pos`, in any order, repeats and
 * overlaps allowed; the first copy of an octet counts. Each call should be one TCP segment as far
 * as the caller knows.
 * Returns 0, or -1 if this side's framing is lost or the side is told. Octets after a FIN or RST,
 * and all octets after a rejecting Reply (RFC 5044 §7.1.2), are ignored and give 0. */
int iw_observer_input(struct iw_observer *o, enum iw_side side, uint64_t pos, const void *data,
                      size_t length);
/* Reports that the octets of `side` from `from` to `to` will never come (the end of a segment that
 * the capture has cut). Those that did come still count. */
void iw_observer_gap(struct iw_observer *o, enum iw_side side, uint64_t from, uint64_t to);
/* Reports that the other side has acknowledged every octet of `side` before `pos`: those of them
 * that have not come are missing from the capture, or late. Call it before giving the octets of the
 * segment that carries the acknowledgement. */
void iw_observer_acked(struct iw_observer *o, enum iw_side side, uint64_t pos);
/* Supplies the result of a start-up that was not captured, or not whole. Where a member is unknown
 * (or `assumption` is NULL), the octets decide; a start-up frame that was seen overrides both.
 * Position 0 may then be any octet of the stream. Call it before the first octet of a connection
 * that the capture has joined; the observer calls it itself when the start-up frames turn out to be
 * missing. Which side is the Initiator is then only a name (iw_observer_joined), and early octets,
 * RTR and IRD are not judged. Does nothing once both frames were seen. */
enum iw_assumed { IW_ASSUMED_UNKNOWN, IW_ASSUMED_NO, IW_ASSUMED_YES };
struct iw_observer_assumption {
    enum iw_assumed markers[2]; /* this side sends Markers */
    enum iw_assumed crc;
    enum iw_assumed consortium; /* revision 0 (RFC 5044 Appendix C) */
};
void iw_observer_assume(struct iw_observer *o, const struct iw_observer_assumption *assumption);
/* Reports that no more octets will come: gives up every gap and judges the octets after it. */
void iw_observer_flush(struct iw_observer *o);
/* Returns whether the first FPDUs of a side are held because it is not clear yet how they are
 * framed: without CRC fields, or with the ULPDU_Length in reversed octet order, they would end
 * where the octets end; or an FPDU is whole, but its CRC field could be the next one's beginning.
 * Or a later FPDU is, whose CRC is wrong, and right if a Marker stands at a place where it may yet
 * turn out to.
 * Or its start-up frame is, because its PD_Length is above 512 and may be in reversed octet order.
 * More octets may be on their way, or not. */
bool iw_observer_unsettled(const struct iw_observer *o, enum iw_side side);
/* Reports that the caller has waited in vain for more octets of such a side: the
 * FPDUs are whole, and are taken; the PD_Length is too large. */
void iw_observer_settle(struct iw_observer *o, enum iw_side side);
/* Reports a FIN at position `pos` (where the next octet would have come), or a RST. */
void iw_observer_end(struct iw_observer *o, enum iw_side side, uint64_t pos, bool reset);

/* Report that the told side sent this start-up frame (once, whole), or this DDP segment of `length`
 * octets, well-formed or not. They are observed like fed ones and update the state by which the
 * other side is judged, but nothing is found about them: what is wrong with them provokes the other
 * side as it does in a capture. Frames under 20 octets and calls for a side that is not told are
 * ignored. `broken`: the FPDU around the segment is wrong (CRC, length, Markers), so that no
 * correct receiver sees the segment; of Reads and Atomics nothing is certain from there on. */
void iw_observer_told_startup(struct iw_observer *o, enum iw_side side, const void *frame,
                              size_t length);
void iw_observer_told_segment(struct iw_observer *o, enum iw_side side, const void *ulpdu,
                              size_t length, bool broken);
/* Reports that the told side sent octets that may be anything. */
void iw_observer_told_octets(struct iw_observer *o, enum iw_side side);
/* Reports that the told side closed its direction (FIN), or reset the connection. */
void iw_observer_told_end(struct iw_observer *o, enum iw_side side, bool reset);

/* Returns true if framing of this side is known: both start-up frames were seen, it was not
 * rejected and is not lost (but may be sought after a gap). */
bool iw_observer_follows(const struct iw_observer *o, enum iw_side side);
/* Returns true if no start-up frame of either side was seen. */
bool iw_observer_joined(const struct iw_observer *o);
/* Returns true if the side's octets so far have no gap and end at the boundary of an FPDU or
 * start-up frame; always for a told side and after a rejecting Reply. */
bool iw_observer_boundary(const struct iw_observer *o, enum iw_side side);

#ifdef __cplusplus
}
#endif

#endif
