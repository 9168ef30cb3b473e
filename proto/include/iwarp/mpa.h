/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_MPA_H
#define IWARP_MPA_H

/*
 * mpa/: start-up negotiation, the framer and the only deframer (RFC 5044, RFC 6581).
 * Does no I/O and allocates nothing: octets in, octets out. The caller owns the struct that holds
 * the framing state of one half connection.
 */

#include "iwarp/crc32c.h"
#include "iwarp/rules.h"
#include "iwarp/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One piece of a scatter/gather list; same layout as POSIX struct iovec. */
struct iw_iov {
    void *base;
    size_t length;
};

/* ------------------------------------------------------------------ start-up */

enum iw_mpa_role { IW_MPA_INITIATOR, IW_MPA_RESPONDER };

/* The wishes of one side. Zero-initialised, it means revision 1, no CRC, no Markers;
 * iw_mpa_config_default() sets the safe default. */
struct iw_mpa_config {
    /* Highest revision offered or accepted: 1 or 2. 0 stands for 1 or, if permissive, for an end
     * that speaks only the protocols of the RDMA Consortium. */
    uint8_t revision;
    bool permissive;   /* also accept a peer of revision 0 (RFC 5044 Appendix C) */
    bool crc;          /* C: demand CRCs (RFC 5044 §4.4: the default) */
    bool markers;      /* M: ask for Markers in the octets that this end receives */
    bool enhanced;     /* initiator, revision 2: send the RFC 6581 block (S=1) */
    bool peer_to_peer; /* initiator: A=1, it will send an RTR indication */
    uint8_t rtr;       /* IW_MPA_RTR_* that this end supports */
    /* Initiator: the form (one IW_MPA_RTR_*) to send if the Reply allows it. Otherwise, or with 0,
     * it sends the first form that the Reply allows of Write, Read and Send. */
    uint8_t rtr_first;
    uint16_t ird; /* inbound reads that this end accepts, 0..0x3ffe, or 0x3fff */
    uint16_t ord; /* outbound reads that this end wants */
};

/* Sets the safe default: revision 2 enhanced, CRC on, Markers off, client-server, every RTR form,
 * IRD=ORD=16.
 * A config contradicts itself if revision is above 2; IRD or ORD is above 0x3fff; the initiator is
 * enhanced without revision 2, or peer-to-peer without being enhanced or without an RTR form; or a
 * responder of revision 2 has no RTR form (RFC 6581 §9.2). */
void iw_mpa_config_default(struct iw_mpa_config *config);

/* The result of the two frames, from this end's point of view. */
struct iw_mpa_agreed {
    uint8_t revision;  /* of the Reply */
    uint8_t version;   /* DV and RV in both directions: 0 after revision 0, else 1 (OP-72) */
    bool crc;          /* generated and checked in both directions: Request.C or Reply.C */
    bool tx_markers;   /* this end sends Markers: the peer's M */
    bool rx_markers;   /* this end receives Markers: its own M. All three hold in revision 0 */
    bool enhanced;     /* both frames had S=1 */
    bool peer_to_peer; /* both frames had A=1 */
    /* RTR forms that may be used: the set in the Reply; for the initiator, only those in its own
     * set, too, and without Read if the IRD of the Reply is 0 (OP-29). If none is left, check
     * mpa-rtr-match has failed, or that check is ignored. A responder with IRD 0 that offers Read
     * raises its IRD to 1; if the Request's ORD 0x3fff leaves IRD as it is (RFC 6581 §9.1), it
     * offers Read only if it has no other form. */
    uint8_t rtr;
    uint16_t ird;      /* in force at this end after negotiation (RFC 6581 §9.1); 0x3fff: */
    uint16_t ord;      /* left to the ULP. As configured if not enhanced or if rejected */
    uint16_t peer_ird; /* as the peer stated them; 0 if not enhanced */
    uint16_t peer_ord;
};

enum iw_mpa_state {
    IW_MPA_IDLE,       /* initiator: Request not yet taken by iw_mpa_startup_output */
    IW_MPA_WAIT_REPLY, /* initiator */
    IW_MPA_WAIT_REQUEST,
    IW_MPA_REQUESTED, /* responder: the whole Request is here, the ULP must accept or reject */
    IW_MPA_FULL,      /* both frames exchanged (a responder's Reply may still have to go out); FPDUs
                         follow */
    IW_MPA_REJECTED,  /* a Reply with R=1 was sent or received: MPA is left */
    IW_MPA_FAILED     /* see fault */
};

struct iw_mpa_startup {
    enum iw_mpa_role role;
    enum iw_mpa_state state;
    struct iw_mpa_config config;
    const struct iw_switches *switches;
    struct iw_mpa_agreed agreed; /* valid from REQUESTED (responder), FULL or REJECTED on */
    /* The reason for FAILED. IW_CHECK_MPA_RTR_MATCH and _IRD_SHORT are raised in FULL, because the
     * Terminate that they ask for is an FPDU. */
    struct iw_fault fault;
    bool sent_enhanced;  /* our frame, as sent, had revision 2 or higher and S=1 */
    uint32_t in_length;  /* octets of the peer's frame so far */
    uint16_t out_length; /* octets of our frame */
    uint16_t out_taken;
    struct iw_mpa_startup_header peer; /* valid once its 20 octets are here */
    struct iw_mpa_enhanced peer_enhanced;
    uint8_t in[IW_MPA_STARTUP_MAX];
    uint8_t out[IW_MPA_STARTUP_MAX];
};

enum iw_mpa_sniffed {
    IW_MPA_SNIFFED_MORE, /* they are the beginning of the key of a Request, or none */
    IW_MPA_SNIFFED_MPA,  /* the whole key (RFC 5044 §7.1.1) */
    IW_MPA_SNIFFED_OTHER
};
/* Returns what the first octets of a connection say about it, to one who listens for MPA and
 * others. */
enum iw_mpa_sniffed iw_mpa_sniff(const uint8_t *octets, size_t length);

/* Prepares one side. An initiator's Request is ready in `out` at once. `private_data` (at most 512
 * octets, or 508 if the enhanced block is sent) is that of the initiator's ULP and is copied; a
 * responder gives its own when it answers. `config` is copied. `switches` may be NULL and is
 * borrowed for the life of the start-up.
 * Returns 0, or -1 if the private data is too long or the config contradicts itself. */
int iw_mpa_startup_init(struct iw_mpa_startup *s, enum iw_mpa_role role,
                        const struct iw_mpa_config *config, const void *private_data,
                        size_t private_length, const struct iw_switches *switches);

/* Takes octets of the peer's direction, in order, in any segmentation. Returns the number of octets
 * taken: at most the rest of the peer's start-up frame, and none in a state that expects no frame.
 * The octets left over belong to FPDU mode (initiator) or are a fault of the peer (responder before
 * its Reply: IW_CHECK_MPA_PD_SURPLUS, OP-06). Look at s->state afterwards.
 * A failed check leads to IW_MPA_FAILED with s->fault set, pos counted from the frame's first
 * octet. A wrong key is found at its first wrong octet, everything else in the header once its 20
 * octets are here (RFC 5044 §7.1.1, RFC 6581 §6). */
size_t iw_mpa_startup_input(struct iw_mpa_startup *s, const uint8_t *data, size_t length);

/* Prepares the Reply of a responder in IW_MPA_REQUESTED (RFC 5044 §7.1.2, RFC 6581 §9, §10).
 * `private_data` is copied: at most 512 octets, or 508 if agreed.enhanced. The state becomes
 * IW_MPA_FULL or IW_MPA_REJECTED. A rejecting Reply states the configured ORD as the one needed.
 * Returns 0, or -1 in a wrong state or if the data is too long (then nothing has changed). */
int iw_mpa_startup_accept(struct iw_mpa_startup *s, const void *private_data, size_t length);
int iw_mpa_startup_reject(struct iw_mpa_startup *s, const void *private_data, size_t length);

/* Returns the number of octets still to be sent, 0 if none; *data points into s and is valid until
 * the next call on s. Report the octets that were sent with iw_mpa_startup_sent. Under --violate
 * mpa-reply-early a responder has the key of its Reply to send before it has received anything. */
size_t iw_mpa_startup_output(const struct iw_mpa_startup *s, const uint8_t **data);
void iw_mpa_startup_sent(struct iw_mpa_startup *s, size_t length);

/* Sets *data to the private data of the peer's ULP (without the enhanced block; borrowed from s)
 * and returns its length. Valid from IW_MPA_REQUESTED (responder) or after the Reply
 * (initiator). */
size_t iw_mpa_startup_private(const struct iw_mpa_startup *s, const uint8_t **data);

/* Returns the stream position of the octet that comes `octets` octets after the one at `pos`,
 * Markers not counted among them (RFC 5044 §4.3). A Marker begins at `start`, which may lie before
 * or after `pos`, and at every multiple of 512 octets from there in both directions; where one
 * begins at `pos`, the octets follow it. Positions may pass 2^64. */
uint64_t iw_mpa_position(uint64_t start, uint64_t pos, uint64_t octets);
/* Returns the same if Markers recur every `period` octets. */
uint64_t iw_mpa_position_every(uint32_t period, uint64_t start, uint64_t pos, uint64_t octets);
/* Returns the octets from `pos` to the next Marker, 0 if one is there. One is at `start`, which may
 * be after `pos`. */
static inline uint32_t iw_marker_after(uint32_t period, uint64_t start, uint64_t pos)
{
    if (start >= pos)
        return (uint32_t)((start - pos) % period);
    return (period - (uint32_t)((pos - start) % period)) % period;
}

/* -------------------------------------------------------------------- framer */

/* One direction's sending state. `pos` is the position in full operation, counted from
 * the first octet after this side's start-up frame (RFC 5044 §4.3: SeqStart). */
struct iw_framer {
    uint64_t pos;
    bool markers;
    bool crc;
    iw_crc32c_fn crc32c;
    const struct iw_switches *switches; /* may be NULL */
};

/* Prepares a framer at position 0. `crc32c` may be NULL if `crc` is false; without CRCs the field
 * is sent as zero. `switches` is borrowed, may be NULL, and may change between FPDUs. */
void iw_framer_init(struct iw_framer *f, bool markers, bool crc, iw_crc32c_fn crc32c,
                    const struct iw_switches *switches);

/* Octets that the framer writes itself for one FPDU: length field, pad, CRC, Markers. */
#define IW_FRAMER_SCRATCH (2u + 3u + 4u + 4u * 130u)
/* Pieces that an FPDU of `n` ULPDU pieces can become: every Marker splits a piece. */
#define IW_FRAMER_PIECES(n, ulpdu) (2u * (n) + 4u + 2u * ((ulpdu) / 508u + 2u))

/* Returns the size on the stream, Markers included, of the FPDU that a ULPDU of `ulpdu` octets
 * would become next. */
uint32_t iw_framer_size(const struct iw_framer *f, uint32_t ulpdu);

/* Frames one ULPDU given as pieces (RFC 5044 §4): 1..64768 octets in all; longer ones up to 65535
 * only under --violate mpa-ulpdu-max. The output is a list of pieces: parts of the ULPDU by
 * reference, and the framer's own octets in `scratch` (IW_FRAMER_SCRATCH octets, which must live as
 * long as the pieces). If there are no Markers, a first piece that lies at scratch + 2 directly
 * follows the length field there and becomes one piece with it; the rest of the scratch then
 * follows it. Advances f->pos by the FPDU's size.
 * Returns the number of pieces, or -1 if `room` pieces are not enough or the length is out of range
 * (then f has not changed, and the contents of out and scratch are undefined). IW_FRAMER_PIECES
 * pieces are always enough. */
int iw_framer_frame(struct iw_framer *f, const struct iw_iov *ulpdu, size_t pieces,
                    struct iw_iov *out, size_t room, uint8_t *scratch);

/* Frames the same FPDU as one piece, copied to `out` (iw_framer_size octets), ignoring the
 * switches. With Markers this is faster: no piece for each 508 octets, and one pass for the CRC.
 * The ULPDU has 1..64768 octets. It may lie in `out` if each of its octets lies at its final place
 * or after it; a ULPDU that ends where the FPDU will end, or before, fulfils this. Returns the size
 * of the FPDU. */
uint32_t iw_framer_copy(struct iw_framer *f, const struct iw_iov *ulpdu, size_t pieces,
                        uint8_t *out);

/* ------------------------------------------------------------------ deframer */

/* One FPDU as found. Pieces point into the caller's input or the deframer's buffer and are valid
 * only during the call-back. */
struct iw_fpdu {
    uint64_t pos;        /* position of its first octet (leading Marker or ULPDU_Length) */
    uint64_t header_pos; /* position of ULPDU_Length */
    uint32_t size;       /* octets on the stream, Markers included */
    uint16_t length;     /* ULPDU_Length */
    uint16_t markers;    /* Markers that belong to it */
    uint16_t period;     /* octets from one Marker's first octet to the next one's */
    bool crc_good;    /* the CRC field matches; false if CRCs are neither in force nor always_crc */
    bool crc_checked; /* CRCs are in force */
    bool placed_early; /* in its turn: `early` was given this FPDU before and returned true */
    uint32_t crc;      /* the CRC field as a 32-bit value (least significant octet first) */
    const struct iw_iov *ulpdu; /* the ULPDU without Markers; read-only for the callee */
    size_t pieces;
};

struct iw_deframer;

/* Neither call-back may call the deframer. */
struct iw_deframer_sink {
    void *context;
    /* Called for each FPDU, in order. Return 0 to go on; any other value stops the deframer for
     * good. */
    int (*fpdu)(void *context, const struct iw_fpdu *fpdu);
    /* Called when a check failed: any check of mpa/ that framing can see (mpa-crc, mpa-crc-off,
     * mpa-marker-pointer, mpa-marker-rsvd, mpa-marker-low, mpa-pad, mpa-ulpdu-max), also those that
     * only --overstrict enforces. mpa-ulpdu-max comes as soon as the length is known. The others
     * come before the FPDU is handed out: the CRC, each Marker in turn (pointer, reserved half, low
     * bits), the pad; mpa-crc-off only if always_crc. The octet at fault is the first octet of the
     * CRC field, of the pad or of ULPDU_Length; in a Marker it is the first one (reserved half),
     * the first one of FPDUPTR (pointer) or the last one (low bits). Return 0 to go on as if the
     * check had not failed; any other value stops the deframer for good, and the FPDU is not
     * delivered. */
    int (*check)(void *context, const struct iw_fault *fault);
    /* Called for an FPDU after a gap, which will come to `fpdu` in its turn; see below. Returns
     * true if it was placed. NULL: octets after a gap are not searched. */
    bool (*early)(void *context, const struct iw_fpdu *fpdu);
};

enum { IW_DEFRAMER_PIECES = 160 };

/* The receiving state of one direction. Octets may come in any order. */
struct iw_deframer {
    const struct iw_deframer_sink *sink;
    iw_crc32c_fn crc32c;
    bool markers;
    bool crc;
    bool stopped;
    /* Compute the CRC even if CRCs are off (overstrict, observers). iw_deframer_init clears it; the
     * caller may set it at any time afterwards. */
    bool always_crc;
    bool length_judged; /* mpa-ulpdu-max was applied to the FPDU at `next` */
    /* Each input call is one TCP segment, and the peer begins and ends segments with FPDUs; set in
     * the same way as always_crc. See "After a gap". */
    bool aligned;
    bool misled; /* a search was wrong: do not search again */
    /* FPDUs end after the pad: their sender leaves the CRC field out (a quirk). Set in the same way
     * as always_crc, with `crc` false. */
    bool bare;
    /* ULPDU_Length fields are in reversed octet order (a quirk). Set in the same way. */
    bool turned;
    /* Octets from one Marker's first octet to the next one's: iw_deframer_init sets what RFC 5044
     * §4.3 says. Another number is a quirk; then `start` is the position of some Marker. */
    uint16_t period;
    uint64_t start; /* position of the first octet of full operation */
    uint64_t next;  /* first octet not yet part of an FPDU handed out */
    uint64_t fpdus; /* handed out so far */
    void *room;     /* private to mpa/: held octets (a struct iw_stream lives in the buffer) */
    size_t room_size;
};

/* Prepares a deframer. `buffer` (aligned for any type, at least IW_DEFRAMER_BUFFER octets; a
 * smaller one is not used) holds the octets of an incomplete FPDU and those that came too early. It
 * is all the memory that a peer can fill. It is borrowed until the deframer is dropped, may be
 * exchanged with iw_deframer_lend and iw_deframer_return when idle, and may be NULL as long as
 * nothing is fed. `sink` is borrowed; its call-backs are required. `crc32c` may be NULL if `crc` is
 * false and always_crc stays false. `start` is the position of the first octet of full operation
 * (usually 0): Markers are counted from it. */
#define IW_DEFRAMER_BUFFER (IW_MPA_FPDU_MAX + 5120u)
void iw_deframer_init(struct iw_deframer *d, const struct iw_deframer_sink *sink, bool markers,
                      bool crc, iw_crc32c_fn crc32c, uint64_t start, void *buffer, size_t size);

/* Returns true if no octets are held: the buffer may be taken back (and another lent later). A
 * stopped deframer holds none. */
bool iw_deframer_idle(const struct iw_deframer *d);
/* Takes the buffer back. Returns NULL if octets are held (the buffer then stays) or none was lent.
 */
void *iw_deframer_return(struct iw_deframer *d);
/* Lends a buffer to a deframer that has none; as in iw_deframer_init. */
void iw_deframer_lend(struct iw_deframer *d, void *buffer, size_t size);

/* Takes octets at stream position `pos` (any order, repeats, overlaps; in-order input is the fast
 * path and is parsed in place, without a copy unless an FPDU straddles calls). Octets before `next`
 * are skipped; of octets held twice the first copy counts. Pieces are borrowed for the call.
 * Call-backs are made from inside.
 * Returns 0; -1 if stopped (now or before); or -2 if octets were refused because they are too far
 * ahead, would make one island more than IW_STREAM_RANGES, or no buffer is lent. Octets before the
 * refused ones may have been taken; give the same octets again once the gap is closed. In-order
 * octets are never refused. */
int iw_deframer_input(struct iw_deframer *d, uint64_t pos, const struct iw_iov *data,
                      size_t pieces);

/* After a gap (RFC 5044 §4.3, §5.2). With CRCs in force and the sink's `early` set, the deframer
 * searches the octets that an input call brings after a gap for whole FPDUs. It gives each of them
 * to `early` at most once, before and independently of its turn in `fpdu`, and only if its
 * ULPDU_Length is 1..64768 and its CRC and all its Markers are right. A search never reports a
 * fault; it changes neither the octets that come in order nor the faults found there: the in-order
 * pass judges everything anew.
 *
 * With Markers the start is certain. The places of Markers follow from the position alone, so no
 * payload can pass for one. The FPDU that a Marker points to must contain that Marker, so its CRC
 * covers the Marker; from there on each good FPDU gives the start of the next. The first
 * contradiction ends all searching on this connection (`misled`). A peer whose Markers lie can have
 * nothing placed that it could not have placed by sending the same FPDU openly, and the lie is
 * reported as mpa-marker-pointer as soon as the gap closes.
 *
 * Without Markers nothing in the octets makes a start certain: payload may hold the image of an
 * FPDU, good CRC included, and a TCP segment may begin at any octet (RFC 5044 §5.1 binds the
 * sender, but neither middleboxes nor TCP's retransmissions). So without Markers there is no search
 * unless `aligned` is set. With it the caller asserts that the peer aligns, that nothing cuts its
 * segments anew, and that each input call is one segment. The deframer then believes a segment that
 * is a list of whole, good FPDUs from its first octet to its last. If the assertion is wrong, and
 * payload carries such a list exactly where a segment begins and ends, octets are placed that the
 * peer's MPA never sent as an FPDU, but still only where the peer might have placed any. When the
 * in-order pass finds that FPDUs begin elsewhere, `misled` is set.
 *
 * Bounds: the deframer remembers 64 runs of FPDUs that it handed out early, and hands out none
 * beyond them. A search computes the CRC of no octet twice: good FPDUs are remembered, and a bad
 * one ends the search (or, with `aligned`, its octets are those of this very call). Besides that, a
 * call costs at most one step per Marker held and per run, and a few per FPDU handed out or, with
 * `aligned`, per FPDU in the call. */

/* For a caller that keeps the octets itself and feeds whole FPDUs: the deframer then never holds
 * any. */

/* Returns the size on the stream of the FPDU at `next`, of which `data` is the beginning; 0 if its
 * ULPDU_Length is not there. Reports mpa-ulpdu-max as iw_deframer_input would. */
uint32_t iw_deframer_measure(struct iw_deframer *d, const struct iw_iov *data, size_t pieces);
/* Moves to `pos`, before or after `next`: the next FPDU begins there. Nothing may be held. */
void iw_deframer_move(struct iw_deframer *d, uint64_t pos);

/* Sets *octets to the held octets of the FPDU at `next`, for a caller that takes it over while only
 * a part of it is here. Returns their number; 0 if other octets are held after a gap. */
size_t iw_deframer_held(struct iw_deframer *d, const uint8_t **octets);
/* Forgets the held octets of that FPDU. Feed no input until the caller has the whole FPDU; then
 * call iw_deframer_pass with its `size` on the stream. */
void iw_deframer_lift(struct iw_deframer *d);
void iw_deframer_pass(struct iw_deframer *d, uint32_t size);

/* To seek the start of an FPDU, or to look at an FPDU that is not here whole: `data` are the
 * `length` octets from `pos` on. Nothing is reported, and nothing changes. */
enum iw_fpdu_probe { IW_PROBE_GOOD, IW_PROBE_CUT, IW_PROBE_BAD };
/* Returns whether there is an FPDU at `pos`, judged by its length, its Markers and, if in force,
 * its CRC. CUT: not all of it is here. */
enum iw_fpdu_probe iw_deframer_probe(const struct iw_deframer *d, uint64_t pos, const uint8_t *data,
                                     size_t length);
/* Finds the first start of an FPDU that a Marker among these octets points to, and the position of
 * that Marker, on a stream that carries them. Returns false if there is none. */
bool iw_deframer_marked(const struct iw_deframer *d, uint64_t pos, const uint8_t *data,
                        size_t length, uint64_t *start, uint64_t *marker);
/* Describes the FPDU at `pos` (without a list of pieces) and copies those of its ULPDU's first
 * `room` octets that are here, without Markers. Returns their number; *fpdu has size 0 if the
 * ULPDU_Length is not here. */
size_t iw_deframer_peek(const struct iw_deframer *d, uint64_t pos, const uint8_t *data,
                        size_t length, struct iw_fpdu *fpdu, uint8_t *ulpdu, size_t room);

/* Returns the stream position of octet `offset` of the ULPDU of an FPDU that this deframer handed
 * out or described; Markers may lie before it (RFC 5044 §4.3). */
uint64_t iw_deframer_position(const struct iw_deframer *d, const struct iw_fpdu *fpdu,
                              uint64_t offset);

/* Returns the position after the octets that have come without a gap. */
uint64_t iw_deframer_edge(struct iw_deframer *d);

/* Reports that the stream ended (FIN) at position `pos`. Returns true if that is an FPDU boundary
 * (RFC 5044 §7.2), or comes after a lone Marker that was sent before the FPDU it belongs to
 * (OP-08). */
bool iw_deframer_end(const struct iw_deframer *d, uint64_t pos);

#ifdef __cplusplus
}
#endif

#endif
