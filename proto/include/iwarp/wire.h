/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_WIRE_H
#define IWARP_WIRE_H

/*
 * wire/: header structs <-> octets. Stateless. Nothing here judges a header; it only converts it.
 * Encoders write every field as given, reserved bits included, so that a caller can send what no
 * correct stack would.
 *
 * Common to all decoders (iw_wire_get_*): `octets` is borrowed for the call and holds `length`
 * octets, of which none past the end is read (NULL is allowed with length 0); `out` is the
 * caller's. They return the number of octets consumed (> 0), or IW_WIRE_SHORT if the input ends
 * inside the structure; `out` is then undefined. Any content of sufficient length can be decoded:
 * judging it is up to the caller.
 *
 * Common to all offsets (IW_AT_*): octets before a field, from the first octet of the header that
 * the comment names; where fields share an octet, of the octet that they share.
 *
 * Common to all encoders (iw_wire_put_*): `octets` has room for `room` octets; `in` is borrowed for
 * the call. They return the number of octets written (> 0), or IW_WIRE_SHORT if `room` is too
 * small; then nothing is written.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { IW_WIRE_SHORT = -1 };

/* ---- MPA start-up frames (RFC 5044 §7.1.1, RFC 6581 §6) ---- */

#define IW_MPA_STARTUP_HEADER 20u /* octets before the private data */
#define IW_MPA_PRIVATE_MAX 512u   /* octets of private data, the enhanced block included */
#define IW_MPA_STARTUP_MAX (IW_MPA_STARTUP_HEADER + IW_MPA_PRIVATE_MAX)
#define IW_MPA_KEY_LENGTH 16u
#define IW_MPA_ENHANCED_LENGTH 4u

#define IW_MPA_FLAG_M 0x80u /* the sender of this frame wants Markers in what it receives */
#define IW_MPA_FLAG_C 0x40u
#define IW_MPA_FLAG_R 0x20u /* Reply only: rejected */
#define IW_MPA_FLAG_S 0x10u /* RFC 6581: private data begins with the enhanced block */
#define IW_MPA_FLAG_RES 0x0fu

/* In a Request or Reply (RFC 5044 §7.1.1), with the enhanced block at the beginning of its private
 * data (RFC 6581 §9). */
enum {
    IW_AT_MPA_FLAGS = 16,
    IW_AT_MPA_REVISION = 17,
    IW_AT_MPA_PD_LENGTH = 18,
    IW_AT_MPA_IRD = 20, /* with A and B */
    IW_AT_MPA_ORD = 22  /* with C and D */
};

/* "MPA ID Req Frame" and "MPA ID Rep Frame", without a terminating zero. */
extern const uint8_t iw_mpa_request_key[IW_MPA_KEY_LENGTH];
extern const uint8_t iw_mpa_reply_key[IW_MPA_KEY_LENGTH];

enum iw_mpa_key { IW_MPA_KEY_OTHER, IW_MPA_KEY_REQUEST, IW_MPA_KEY_REPLY };

/* One MPA Request or Reply without its private data. */
struct iw_mpa_startup_header {
    uint8_t key[IW_MPA_KEY_LENGTH];
    uint8_t flags; /* IW_MPA_FLAG_*, reserved bits as on the wire */
    uint8_t revision;
    uint16_t pd_length; /* octets of private data that follow, 0..65535 as on the wire */
};

/* Returns which of the two keys the 16 octets at `key` are; IW_MPA_KEY_OTHER if neither (RFC 5044
 * §7.1.1). */
enum iw_mpa_key iw_wire_mpa_key(const uint8_t key[IW_MPA_KEY_LENGTH]);

/* Convert the first 20 octets of a Request or Reply (RFC 5044 §7.1.1, RFC 6581 §6). The private
 * data is not touched and need not be there yet. */
int iw_wire_get_startup(const uint8_t *octets, size_t length, struct iw_mpa_startup_header *out);
int iw_wire_put_startup(uint8_t *octets, size_t room, const struct iw_mpa_startup_header *in);

#define IW_MPA_RTR_SEND 0x1u  /* B: zero-length Send */
#define IW_MPA_RTR_WRITE 0x2u /* C: zero-length RDMA Write */
#define IW_MPA_RTR_READ 0x4u  /* D: zero-length RDMA Read Request */
#define IW_MPA_DEPTH_MAX 0x3ffeu
#define IW_MPA_DEPTH_UNSPECIFIED 0x3fffu /* left to the ULP (RFC 6581 §9.1) */

/* The enhanced connection data block, RFC 6581 §9. */
struct iw_mpa_enhanced {
    bool peer_to_peer; /* A */
    uint8_t rtr;       /* set of IW_MPA_RTR_* (B, C, D) */
    uint16_t ird;      /* 14 bits */
    uint16_t ord;      /* 14 bits */
};

/* Convert the enhanced block: 4 octets at the start of the private data of a frame with S=1 (RFC
 * 6581 §9). The encoder takes the low 14 bits of ird and ord. */
int iw_wire_get_enhanced(const uint8_t *octets, size_t length, struct iw_mpa_enhanced *out);
int iw_wire_put_enhanced(uint8_t *octets, size_t room, const struct iw_mpa_enhanced *in);

/* ---- FPDU and Markers (RFC 5044 §4) ---- */

#define IW_MPA_ULPDU_MAX 64768u /* octets (RFC 5044 §3) */
#define IW_MPA_MULPDU_MIN 128u
#define IW_MPA_LENGTH_FIELD 2u
#define IW_MPA_CRC_FIELD 4u
#define IW_MPA_MARKER 4u
#define IW_MPA_MARKER_PERIOD 512u
/* The longest FPDU on the stream, with every Marker that can fall into it. A receiver must be able
 * to hold it, because ULPDU_Length can express 65535. */
#define IW_MPA_FPDU_MAX (2u + 65535u + 3u + 4u + 4u * 130u)

/* In a Marker (RFC 5044 §4.2). */
enum { IW_AT_MARKER_RESERVED = 0, IW_AT_MARKER_FPDUPTR = 2 };

/* Returns the number of pad octets after a ULPDU of `ulpdu` octets, 0..3. */
static inline unsigned iw_wire_pad(uint32_t ulpdu)
{
    return (unsigned)((2u - ulpdu) & 3u);
}

/* Returns the octets of an FPDU without Markers: 6 + ulpdu + pad. */
static inline uint32_t iw_wire_fpdu_size(uint32_t ulpdu)
{
    return 6u + ulpdu + iw_wire_pad(ulpdu);
}

/* Returns MULPDU in octets for an effective maximum segment size of `emss` octets; `markers`: this
 * direction carries Markers (RFC 5044 §4.5, clamped as §3 says: 128..64768). */
uint32_t iw_wire_mulpdu(uint32_t emss, bool markers);

/* RFC 5044 §4.2. */
struct iw_mpa_marker {
    uint16_t reserved;
    uint16_t fpduptr; /* as on the wire, low two bits included (erratum 1427) */
};

/* Convert a Marker, 4 octets (RFC 5044 §4.2). */
int iw_wire_get_marker(const uint8_t *octets, size_t length, struct iw_mpa_marker *out);
int iw_wire_put_marker(uint8_t *octets, size_t room, const struct iw_mpa_marker *in);

/* ---- DDP (RFC 5041 §4) with the RDMAP control octet (RFC 5040 §4.1) ---- */

#define IW_DDP_TAGGED_HEADER 14u
#define IW_DDP_UNTAGGED_HEADER 18u

/* In the tagged (RFC 5041 §4.2) and the untagged header (§4.3), with RDMAP's part of RsvdULP (RFC
 * 5040 §4.1), and so in every ULPDU. */
enum {
    IW_AT_DDP_CONTROL = 0,
    IW_AT_RDMAP_CONTROL = 1,
    IW_AT_STAG = 2, /* tagged */
    IW_AT_TO = 6,
    IW_AT_INVALIDATE_STAG = 2, /* untagged */
    IW_AT_QN = 6,
    IW_AT_MSN = 10,
    IW_AT_MO = 14
};

#define IW_DDP_T 0x80u
#define IW_DDP_L 0x40u
#define IW_DDP_RSVD 0x3cu
#define IW_DDP_DV 0x03u
#define IW_RDMAP_RV 0xc0u
#define IW_RDMAP_RSV 0x30u
#define IW_RDMAP_OPCODE 0x0fu

/* RFC 5040 figure 4, RFC 7306 figure 2. */
enum iw_rdmap_opcode {
    IW_OP_WRITE = 0x0,
    IW_OP_READ_REQUEST = 0x1,
    IW_OP_READ_RESPONSE = 0x2,
    IW_OP_SEND = 0x3,
    IW_OP_SEND_INVALIDATE = 0x4,
    IW_OP_SEND_SE = 0x5,
    IW_OP_SEND_SE_INVALIDATE = 0x6,
    IW_OP_TERMINATE = 0x7,
    IW_OP_IMMEDIATE = 0x8, /* 0x8 to 0xb: RFC 7306 §4.1 */
    IW_OP_IMMEDIATE_SE = 0x9,
    IW_OP_ATOMIC_REQUEST = 0xa,
    IW_OP_ATOMIC_RESPONSE = 0xb
};

/* RFC 5040 §4.1, RFC 7306 §4.1. */
enum iw_ddp_queue_number {
    IW_QN_SEND = 0,
    IW_QN_READ_REQUEST = 1,
    IW_QN_TERMINATE = 2,
    IW_QN_ATOMIC_RESPONSE = 3
};

/* One DDP header, tagged (RFC 5041 §4.2) or untagged (§4.3). The fields of the other kind are zero
 * after decoding and ignored by the encoder. */
struct iw_ddp_header {
    uint8_t ddp_control;      /* T, L, Rsvd, DV as on the wire */
    uint8_t rdmap_control;    /* RV, Rsv, opcode as on the wire */
    uint32_t stag;            /* tagged */
    uint64_t to;              /* tagged */
    uint32_t invalidate_stag; /* untagged: RsvdULP octets 2-5, Invalidate STag or zero */
    uint32_t qn;              /* untagged, as are the next two */
    uint32_t msn;
    uint32_t mo;
};

/* Return the parts of the two control octets, right-aligned (RFC 5041 §4.1, RFC 5040 §4.1). */
static inline bool iw_ddp_tagged(const struct iw_ddp_header *h)
{
    return (h->ddp_control & IW_DDP_T) != 0;
}
static inline bool iw_ddp_last(const struct iw_ddp_header *h)
{
    return (h->ddp_control & IW_DDP_L) != 0;
}
static inline unsigned iw_ddp_version(const struct iw_ddp_header *h)
{
    return h->ddp_control & IW_DDP_DV;
}
static inline unsigned iw_rdmap_version(const struct iw_ddp_header *h)
{
    return (unsigned)(h->rdmap_control & IW_RDMAP_RV) >> 6;
}
static inline unsigned iw_rdmap_op(const struct iw_ddp_header *h)
{
    return h->rdmap_control & IW_RDMAP_OPCODE;
}

/* Convert a DDP header with the RDMAP control octet: 14 octets if tagged, 18 if untagged (RFC
 * 5041 §4.2, §4.3). The T bit of the first octet (decode) or of in->ddp_control (encode) decides
 * which. */
int iw_wire_get_ddp(const uint8_t *octets, size_t length, struct iw_ddp_header *out);
int iw_wire_put_ddp(uint8_t *octets, size_t room, const struct iw_ddp_header *in);

/* ---- RDMAP headers after the DDP header ---- */

/* The offset in a ULPDU of a field of the RDMAP header, which follows an untagged DDP header. */
#define IW_IN_ULPDU(at) (IW_DDP_UNTAGGED_HEADER + (at))

/* In a Read Request header (RFC 5040 §4.4). */
enum {
    IW_AT_READ_SINK_STAG = 0,
    IW_AT_READ_SINK_TO = 4,
    IW_AT_READ_SIZE = 12,
    IW_AT_READ_SOURCE_STAG = 16,
    IW_AT_READ_SOURCE_TO = 20
};

/* In an Atomic Request (RFC 7306 §5.2.1) and in an Atomic Response header (§5.2.2). */
enum {
    IW_AT_ATOMIC_OPCODE = 0,
    IW_AT_ATOMIC_ID = 4,
    IW_AT_ATOMIC_STAG = 8,
    IW_AT_ATOMIC_TO = 12,
    IW_AT_ATOMIC_DATA = 20, /* Add Data or Swap Data, and its mask */
    IW_AT_ATOMIC_MASK = 28,
    IW_AT_ATOMIC_COMPARE = 36,
    IW_AT_ATOMIC_COMPARE_MASK = 44,
    IW_AT_RESPONSE_ID = 0,
    IW_AT_RESPONSE_VALUE = 4
};

#define IW_RDMAP_READ_REQUEST 28u
#define IW_RDMAP_ATOMIC_REQUEST 52u
#define IW_RDMAP_ATOMIC_RESPONSE 12u
#define IW_RDMAP_IMMEDIATE 8u

struct iw_rdmap_read_request { /* RFC 5040 §4.4 */
    uint32_t sink_stag;
    uint64_t sink_to;
    uint32_t size; /* octets to read */
    uint32_t source_stag;
    uint64_t source_to;
};

/* Convert a Read Request header, 28 octets (RFC 5040 §4.4). */
int iw_wire_get_read_request(const uint8_t *octets, size_t length,
                             struct iw_rdmap_read_request *out);
int iw_wire_put_read_request(uint8_t *octets, size_t room, const struct iw_rdmap_read_request *in);

/* RFC 7306 §5.2.1. */
enum iw_atomic_opcode { IW_ATOMIC_FETCH_ADD = 0, IW_ATOMIC_CMP_SWAP = 2 };

struct iw_rdmap_atomic_request { /* RFC 7306 §5.2.1 */
    uint32_t opcode; /* the whole first word: 28 reserved bits and AOpCode in the low 4 */
    uint32_t request_id;
    uint32_t remote_stag;
    uint64_t remote_to;
    uint64_t add_swap_data; /* FetchAdd: Add Data and Add Mask; CmpSwap: Swap Data and Swap Mask */
    uint64_t add_swap_mask;
    uint64_t compare_data; /* FetchAdd: zero, ignored */
    uint64_t compare_mask; /* FetchAdd: all ones, ignored */
};

/* Convert an Atomic Request header, 52 octets (RFC 7306 §5.2.1). */
int iw_wire_get_atomic_request(const uint8_t *octets, size_t length,
                               struct iw_rdmap_atomic_request *out);
int iw_wire_put_atomic_request(uint8_t *octets, size_t room,
                               const struct iw_rdmap_atomic_request *in);

struct iw_rdmap_atomic_response { /* RFC 7306 §5.2.2; 12 octets, OP-80 */
    uint32_t request_id;
    uint64_t original_value;
};

/* Convert an Atomic Response header, 12 octets (RFC 7306 §5.2.2). */
int iw_wire_get_atomic_response(const uint8_t *octets, size_t length,
                                struct iw_rdmap_atomic_response *out);
int iw_wire_put_atomic_response(uint8_t *octets, size_t room,
                                const struct iw_rdmap_atomic_response *in);

/* ---- Terminate (RFC 5040 §4.8) ---- */

enum iw_term_layer { IW_LAYER_RDMAP = 0, IW_LAYER_DDP = 1, IW_LAYER_LLP = 2 };

/* In a Terminate header (RFC 5040 §4.8). */
enum {
    IW_AT_TERM_LAYER = 0, /* with the error type */
    IW_AT_TERM_CODE = 1,
    IW_AT_TERM_FLAGS = 2, /* M, D and R, with reserved bits */
    IW_AT_TERM_RESERVED = 3,
    IW_AT_TERM_LENGTH = 4, /* D: of the segment */
    IW_AT_TERM_DDP = 6     /* D: the segment's DDP header */
};

#define IW_TERM_M 0x80u /* segment length is valid */
#define IW_TERM_D 0x40u /* DDP header included */
#define IW_TERM_R 0x20u /* RDMAP header included */
#define IW_TERM_MAX (4u + 2u + IW_DDP_UNTAGGED_HEADER + IW_RDMAP_READ_REQUEST)

/* A Terminate's payload after its own 18-octet DDP header. Fields whose flag is off are left out by
 * the encoder and zero after decoding. Octets after the announced fields (zero-filled absent
 * fields, which RFC 5040 §7.1 can be read to ask for) are counted in `trailing`, not consumed. */
struct iw_rdmap_terminate {
    uint8_t layer; /* 4 bits */
    uint8_t etype; /* 4 bits */
    uint8_t code;
    uint8_t flags;            /* IW_TERM_M | IW_TERM_D | IW_TERM_R */
    uint16_t reserved;        /* the 13 reserved bits, right-aligned */
    uint16_t segment_length;  /* present if D: ULPDU_Length of the segment at fault */
    struct iw_ddp_header ddp; /* present if D */
    struct iw_rdmap_read_request read_request; /* present if R */
    uint32_t trailing; /* decoder: octets after the fields that the flags announce */
};

/* Convert a Terminate header, 4 to IW_TERM_MAX octets by its flags (RFC 5040 §4.8). The decoder
 * returns IW_WIRE_SHORT if an announced field is cut off. R without D can be decoded: the Read
 * Request header then directly follows the control word. */
int iw_wire_get_terminate(const uint8_t *octets, size_t length, struct iw_rdmap_terminate *out);
int iw_wire_put_terminate(uint8_t *octets, size_t room, const struct iw_rdmap_terminate *in);

/* Names for reports, traces and scripts: static strings, never NULL. */

/* Returns the message's name in the RFCs: "Send", "RDMA Write", ...; "reserved" above 0xb (RFC 5040
 * figure 4, RFC 7306 figure 2). */
const char *iw_wire_opcode_name(unsigned opcode);

/* Returns its name in scripts and the one-line syntax: "send", "write", "read-request", ... */
const char *iw_wire_opcode_token(unsigned opcode);

/* Returns "RDMAP", "DDP" or "LLP"; "unknown" above 2 (RFC 5040 §4.8). */
const char *iw_wire_term_layer_name(unsigned layer);

/* Returns the error's name without its layer: "invalid STag"; "unknown" if the code is not assigned
 * (RFC 5040 figure 9, RFC 5041 §7.2, RFC 5044 §8, RFC 6581 §8). */
const char *iw_wire_term_name(unsigned layer, unsigned etype, unsigned code);
/* Returns whether these RFCs assign the code. DDP leaves the codes of its type 3 to the LLP: any is
 * assigned. */
bool iw_wire_term_assigned(unsigned layer, unsigned etype, unsigned code);

/* ---- one-line syntax ---- */

/* Writes the one-line form of a DDP segment (the `length` octets at `ulpdu`) into `text`, which has
 * room for `room` characters (NULL is allowed with room 0). The text is always terminated, and cut
 * to fit. Returns the length of the whole text without the terminating zero, less than 400.
 *
 *   send L msn 1 mo 0 len 5               send msn 1 mo 0 len 1442 (not the last segment)
 *   send-invalidate L msn 2 mo 0 invalidate 11223344 len 0
 *   write L stag 11223344 to 1000 len 4
 *   read-request msn 1 sink aabbccdd/2000 size 64 source 11223344/1000
 *   immediate msn 1 data 0102030405060708
 *   atomic-request msn 1 fetch-add id 5a5a0001 at 11223344/1000 add 1/0
 *   atomic-request msn 2 cmp-swap id 5a5a0002 at 11223344/1000 swap 2/ff compare 1/ff
 *   atomic-response msn 1 id 5a5a0001 value 1
 *   terminate 1/1/00 "DDP: invalid STag" mdr M D len 18 [write L stag 11223344 to 1000]
 *
 * STags, addresses, data and masks are hexadecimal, counts are decimal. Messages of one segment
 * leave out L and MO, all leave out the usual QN, Terminate its MSN 1. Deviations are named:
 * not-last, tagged, untagged, qn N, mo N, dv N, rv N, rsvd X, rsv X (reserved bits), rsvdulp X,
 * opcode-X; a header of a wrong size is shown as len N. A segment too short for a DDP header gives
 * "short segment of 3 octets". */
size_t iw_wire_print_segment(char *text, size_t room, const uint8_t *ulpdu, size_t length);

/* Does the same for a start-up frame; private data in hexadecimal, cut at 32 octets:
 *
 *   mpa request rev 2 C S pd 8 A B C D ird 16 ord 16 data 01020304
 *   mpa reply rev 1 M C R pd 0
 *
 * Deviations are named: mpa wrong-key, res X (reserved bits), cut (the frame has fewer octets of
 * private data than pd). A frame too short for its header gives "short mpa frame of 19 octets".
 * Returns as above. */
size_t iw_wire_print_startup(char *text, size_t room, const uint8_t *frame, size_t length);

#ifdef __cplusplus
}
#endif

#endif
