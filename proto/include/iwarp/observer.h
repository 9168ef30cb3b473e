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
 * octets of a side are known to be missing nothing is found that they could explain.
 *
 * One fault gives one finding as far as possible: behind a wrong MSN counting goes on from
 * there, a segment with a wrong CRC is not judged and changes nothing, and what a fault left
 * uncertain is not judged either. A finding that was made says nothing about what the
 * receiver did with the segment.
 */

#include "iwarp/mpa.h"
#include "iwarp/rdmap.h"

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
    IW_OBSERVED_LOST     /* framing of this side is lost for good; fault says why: a start-up
                            frame that is none, or (RFC 5044 has no way back) two FPDUs in a row
                            with wrong CRCs, or without CRCs three that make no sense */
};

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
    const uint8_t *ulpdu; /* contiguous ULPDU */
    size_t ulpdu_length;
    const uint8_t *payload; /* behind the DDP header; NULL if that is cut short */
    size_t payload_length;
    struct iw_rdmap_read_request read_request;       /* opcode Read Request with 28 octets */
    struct iw_rdmap_atomic_request atomic_request;   /* opcode Atomic Request with 52 octets */
    struct iw_rdmap_atomic_response atomic_response; /* opcode Atomic Response with 12 octets */
    struct iw_rdmap_terminate terminate;             /* opcode Terminate that decodes */
    bool terminate_valid;
    uint64_t message_length; /* MESSAGE: octets of ULP payload (MO or TO span) */
    uint32_t segments;       /* MESSAGE: segments it took */
    /* FINDING, LOST */
    struct iw_fault fault; /* pos: the octet at fault (the first of the field) */
};

struct iw_observer_config {
    iw_crc32c_fn crc32c;
    void *context;
    /* Required. Must not call the observer. Pointers are valid during the call. */
    void (*seen)(void *context, const struct iw_observation *observation);
    bool told[2];    /* by enum iw_side: this side is told, its octets are not fed */
    bool extensions; /* RFC 7306 opcodes and queue 3 are known (sensible for bystanders) */
};

/* What one observer remembers at most; all of it lies in the memory handed in. */
#define IW_OBSERVER_BUFFER IW_DEFRAMER_BUFFER /* per side: the FPDU that is not whole yet */
#define IW_OBSERVER_READS                                                                          \
    1024 /* per side: outstanding reads and atomics; beyond that none are judged */

struct iw_observer;
/* Octets to hand to iw_observer_init (about 300 KiB). */
size_t iw_observer_size(void);
/* Builds an observer in `memory` (aligned for any type, iw_observer_size() octets, borrowed).
 * *config is copied. NULL if size is too small. Nothing to free. */
struct iw_observer *iw_observer_init(void *memory, size_t size,
                                     const struct iw_observer_config *config);

/* `length` octets of one fed side at stream position `pos`, in any order, repeats and overlaps
 * allowed. Until both start-up frames are known 16 KiB of each side are held.
 * 0; or -2 if octets too far ahead were refused (as iw_deframer_input: give them again later);
 * or -1 if this side's framing is lost or the side is told. Octets behind a FIN or RST, and all
 * octets after a rejecting Reply (RFC 5044 §7.1.2), are passed over with 0. */
int iw_observer_input(struct iw_observer *o, enum iw_side side, uint64_t pos, const void *data,
                      size_t length);
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

/* True if framing of this side is known: both start-up frames seen, not rejected, nothing lost. */
bool iw_observer_follows(const struct iw_observer *o, enum iw_side side);
/* True if the side's octets so far have no gap and end at an FPDU (or start-up frame) boundary;
 * always for a told side and after a rejecting Reply. */
bool iw_observer_boundary(const struct iw_observer *o, enum iw_side side);

#endif
