/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef IWD_DISPLAY_FIELDS_H
#define IWD_DISPLAY_FIELDS_H

/*
 * The fields: X(name, label, filter, type, display, strings, mask, description). A field that the
 * plugin worked out, rather than found in the octets, says so in its description.
 */

#define IWD_BIT(filter, name, label, mask, description)                                            \
    X(name, label, filter, FT_BOOLEAN, 8, NULL, mask, description)

#define IWD_FIELDS_CONNECTION                                                                      \
    X(SIDE, "Sender", "side", FT_UINT8, BASE_NONE, VALS(iwd_sides), 0,                             \
      "Worked out: which end of the connection sent this")                                         \
    X(OCTET, "Stream octet", "octet", FT_UINT64, BASE_DEC, NULL, 0,                                \
      "Worked out: position in this direction's stream, 0 is its first octet")                     \
    X(CONTINUES, "Completed in frame", "completed_in", FT_FRAMENUM, BASE_NONE, NULL, 0,            \
      "Worked out: where the FPDU or start-up frame that begins or goes on here ends")             \
    X(BEGUN, "Began in frame", "began_in", FT_FRAMENUM, BASE_NONE, NULL, 0,                        \
      "Worked out: where this FPDU or start-up frame began")                                       \
    X(PART, "Octets", "part", FT_BYTES, BASE_NONE, NULL, 0,                                        \
      "Octets of an FPDU or start-up frame that is not whole yet")                                 \
    X(REPEATED, "Octets that came before", "repeated", FT_UINT32, BASE_DEC, NULL, 0,               \
      "Worked out: a retransmission that brings nothing new")                                      \
    X(REPEATED_OF, "They were understood in frame", "repeated_of", FT_FRAMENUM, BASE_NONE, NULL,   \
      0, "Worked out: where the FPDU or start-up frame with the first of them was completed")      \
    X(GAP, "Octets that are not in the capture", "gap", FT_UINT64, BASE_DEC, NULL, 0,              \
      "Worked out: their number")                                                                  \
    X(RESYNC, "Framing found again at octet", "resync", FT_UINT64, BASE_DEC, NULL, 0,              \
      "Worked out")                                                                                \
    X(LOST, "Framing lost", "lost", FT_STRING, BASE_NONE, NULL, 0, "Worked out: why")              \
    X(UNFOLLOWED, "Not followed", "unfollowed", FT_BYTES, BASE_NONE, NULL, 0,                      \
      "Octets whose place in the protocol is not known")                                           \
    X(STREAMING, "Streaming mode", "streaming", FT_BYTES, BASE_NONE, NULL, 0,                      \
      "Octets outside of MPA")

#define IWD_FIELDS_STARTUP                                                                         \
    X(KEY, "Key", "mpa.key", FT_STRING, BASE_NONE, NULL, 0, "RFC 5044 section 7.1.1")              \
    X(REQUEST, "MPA Request", "mpa.request", FT_BOOLEAN, BASE_NONE, NULL, 0,                       \
      "Worked out: a Request frame")                                                               \
    X(REPLY, "MPA Reply", "mpa.reply", FT_BOOLEAN, BASE_NONE, NULL, 0,                             \
      "Worked out: a Reply frame")                                                                 \
    X(STARTUP_FLAGS, "Flags", "mpa.flags", FT_UINT8, BASE_HEX, NULL, 0, "M, C, R, S, reserved")    \
    IWD_BIT("mpa.flags.m", FLAG_M, "M (wants Markers in what it receives)", 0x80,                  \
            "RFC 5044 section 7.1.1")                                                              \
    IWD_BIT("mpa.flags.c", FLAG_C, "C (demands CRCs)", 0x40, "RFC 5044 section 7.1.1")             \
    IWD_BIT("mpa.flags.r", FLAG_R, "R (rejected)", 0x20, "RFC 5044 section 7.1.1, Reply only")     \
    IWD_BIT("mpa.flags.s", FLAG_S, "S (enhanced, RFC 6581)", 0x10, "RFC 6581 section 6")           \
    X(FLAG_RES, "Reserved", "mpa.flags.reserved", FT_UINT8, BASE_HEX, NULL, 0x0f, "Must be zero")  \
    X(REVISION, "Revision", "mpa.rev", FT_UINT8, BASE_DEC, VALS(iwd_revisions), 0, NULL)           \
    X(PD_LENGTH, "Private data length", "mpa.pd_length", FT_UINT16, BASE_DEC, NULL, 0,             \
      "Octets that follow the header, the block of RFC 6581 included")                             \
    X(ENHANCED, "Enhanced connection data", "mpa.enhanced", FT_NONE, BASE_NONE, NULL, 0,           \
      "RFC 6581 section 9")                                                                        \
    X(PEER_TO_PEER, "A (peer-to-peer)", "mpa.enhanced.a", FT_BOOLEAN, 16, NULL, 0x8000,            \
      "RFC 6581 section 9.2: the initiator sends an RTR indication first")                         \
    X(RTR_SEND, "B (RTR may be a Send)", "mpa.enhanced.b", FT_BOOLEAN, 16, NULL, 0x4000, NULL)     \
    X(RTR_WRITE, "C (RTR may be an RDMA Write)", "mpa.enhanced.c", FT_BOOLEAN, 16, NULL, 0x8000,   \
      NULL)                                                                                        \
    X(RTR_READ, "D (RTR may be an RDMA Read)", "mpa.enhanced.d", FT_BOOLEAN, 16, NULL, 0x4000,     \
      NULL)                                                                                        \
    X(IRD, "IRD", "mpa.ird", FT_UINT16, BASE_DEC, NULL, 0x3fff,                                    \
      "Inbound RDMA Reads that the sender can take; 16383: left to the ULP")                       \
    X(ORD, "ORD", "mpa.ord", FT_UINT16, BASE_DEC, NULL, 0x3fff,                                    \
      "Outbound RDMA Reads that the sender wants; 16383: left to the ULP")                         \
    X(DEPTHS, "IRD/ORD Negotiate Header", "mpa.smbd", FT_NONE, BASE_NONE, NULL, 0,                 \
      "Worked out: private data as [MS-SMBD] section 6.1 has it")                                  \
    X(DEPTHS_IRD, "IRD", "mpa.smbd.ird", FT_UINT32, BASE_DEC, NULL, 0, NULL)                       \
    X(DEPTHS_ORD, "ORD", "mpa.smbd.ord", FT_UINT32, BASE_DEC, NULL, 0, NULL)                       \
    X(DEPTHS_SWAPPED, "In little-endian order", "mpa.smbd.little_endian", FT_BOOLEAN, BASE_NONE,   \
      NULL, 0, "Worked out: a fault of the sender")                                                \
    X(PRIVATE_DATA, "Private data", "mpa.private_data", FT_BYTES, BASE_NONE, NULL, 0,              \
      "The ULP's octets of a start-up frame")                                                      \
    X(REQUEST_IN, "Request in frame", "mpa.request_in", FT_FRAMENUM, BASE_NONE,                    \
      FRAMENUM_TYPE(FT_FRAMENUM_REQUEST), 0, "Worked out")                                         \
    X(REPLY_IN, "Reply in frame", "mpa.reply_in", FT_FRAMENUM, BASE_NONE,                          \
      FRAMENUM_TYPE(FT_FRAMENUM_RESPONSE), 0, "Worked out")                                        \
    X(SETUP_TIME, "Time since the Request", "mpa.setup_time", FT_RELATIVE_TIME, BASE_NONE, NULL,   \
      0, "Worked out")                                                                             \
    X(AGREED_CRC, "CRCs in force", "mpa.agreed.crc", FT_BOOLEAN, BASE_NONE, NULL, 0,               \
      "Worked out from both frames")                                                               \
    X(AGREED_MARKERS_I, "Markers from the initiator", "mpa.agreed.markers_initiator", FT_BOOLEAN,  \
      BASE_NONE, NULL, 0, "Worked out from both frames")                                           \
    X(AGREED_MARKERS_R, "Markers from the responder", "mpa.agreed.markers_responder", FT_BOOLEAN,  \
      BASE_NONE, NULL, 0, "Worked out from both frames")

#define IWD_FIELDS_FPDU                                                                            \
    X(MPA, "MPA", "mpa", FT_NONE, BASE_NONE, NULL, 0, "The FPDU without its ULPDU")                \
    X(FPDU_SIZE, "FPDU size", "mpa.fpdu_size", FT_UINT32, BASE_DEC, NULL, 0,                       \
      "Worked out: octets on the stream, Markers included")                                        \
    X(ULPDU_LENGTH, "ULPDU length", "mpa.ulpdu_length", FT_UINT16, BASE_DEC, NULL, 0,              \
      "Octets of the DDP segment")                                                                 \
    X(MARKER, "Marker", "mpa.marker", FT_NONE, BASE_NONE, NULL, 0,                                 \
      "RFC 5044 section 4.2, removed from the DDP segment below")                                  \
    X(MARKER_RESERVED, "Reserved", "mpa.marker.reserved", FT_UINT16, BASE_HEX, NULL, 0,            \
      "Must be zero")                                                                              \
    X(FPDUPTR, "FPDUPTR", "mpa.marker.fpduptr", FT_UINT16, BASE_DEC, NULL, 0,                      \
      "Octets from the ULPDU length to this Marker")                                               \
    X(PAD, "Pad", "mpa.pad", FT_BYTES, BASE_NONE, NULL, 0, "Should be zero")                       \
    X(CRC, "CRC", "mpa.crc", FT_UINT32, BASE_HEX, NULL, 0, "CRC32c, RFC 5044 section 4.4")         \
    X(CRC_STATUS, "CRC status", "mpa.crc.status", FT_UINT8, BASE_NONE, VALS(iwd_crc_states), 0,    \
      "Worked out: good, bad or unchecked")                                                        \
    X(CRC_COMPUTED, "Right CRC", "mpa.crc.computed", FT_UINT32, BASE_HEX, NULL, 0, "Worked out")

#define IWD_FIELDS_DDP                                                                             \
    X(DDP, "DDP", "ddp", FT_NONE, BASE_NONE, NULL, 0, "RFC 5041 section 4")                        \
    X(DDP_CONTROL, "Control", "ddp.control", FT_UINT8, BASE_HEX, NULL, 0, "T, L, reserved, DV")    \
    IWD_BIT("ddp.tagged", TAGGED, "T (tagged)", 0x80, "RFC 5041 section 4.1")                      \
    IWD_BIT("ddp.last", LAST, "L (last segment of the message)", 0x40, "RFC 5041 section 4.1")     \
    X(DDP_RSVD, "Reserved", "ddp.rsvd", FT_UINT8, BASE_HEX, NULL, 0x3c, "Must be zero")            \
    X(DV, "DDP version", "ddp.dv", FT_UINT8, BASE_DEC, NULL, 0x03, NULL)                           \
    X(STAG, "STag", "ddp.stag", FT_UINT32, BASE_HEX, NULL, 0, "Names the data sink's memory")      \
    X(TO, "TO", "ddp.to", FT_UINT64, BASE_HEX, NULL, 0, "Tagged Offset")                           \
    X(TO_RELATIVE, "Relative TO", "ddp.to.relative", FT_UINT64, BASE_DEC, NULL, 0,                 \
      "Worked out: from the TO of the message's first segment")                                    \
    X(QN, "QN", "ddp.qn", FT_UINT32, BASE_DEC, VALS(iwd_queues), 0, "Queue Number")                \
    X(MSN, "MSN", "ddp.msn", FT_UINT32, BASE_DEC, NULL, 0, "Message Sequence Number")              \
    X(MSN_EXPECTED, "MSN expected", "ddp.msn.expected", FT_UINT32, BASE_DEC, NULL, 0,              \
      "Worked out, where another one was seen")                                                    \
    X(MO, "MO", "ddp.mo", FT_UINT32, BASE_DEC, NULL, 0, "Message Offset")                          \
    X(MO_EXPECTED, "MO expected", "ddp.mo.expected", FT_UINT32, BASE_DEC, NULL, 0,                 \
      "Worked out, where another one was seen")                                                    \
    X(RSVDULP, "RsvdULP", "ddp.rsvdulp", FT_UINT32, BASE_HEX, NULL, 0,                             \
      "Untagged, without invalidation: zero")                                                      \
    X(STAG_USE, "Use of the STag", "stag", FT_NONE, BASE_NONE, NULL, 0,                            \
      "Worked out: what the capture shows of this region of the receiver's memory")                \
    X(STAG_FIRST, "STag first used in frame", "stag.first", FT_FRAMENUM, BASE_NONE, NULL, 0,       \
      "Worked out")                                                                                \
    X(STAG_LAST, "STag last used in frame", "stag.last", FT_FRAMENUM, BASE_NONE, NULL, 0,          \
      "Worked out: before its invalidation, if there is one")                                      \
    X(STAG_INVALIDATED, "STag invalidated in frame", "stag.invalidated_in", FT_FRAMENUM,           \
      BASE_NONE, NULL, 0, "Worked out: the Send with Invalidate")                                  \
    X(STAG_USES, "Segments and requests with it", "stag.uses", FT_UINT32, BASE_DEC, NULL, 0,       \
      "Worked out: before its invalidation, if there is one")                                      \
    X(STAG_LOW, "Lowest TO used", "stag.low", FT_UINT64, BASE_HEX, NULL, 0, "Worked out")          \
    X(STAG_HIGH, "Highest TO used", "stag.high", FT_UINT64, BASE_HEX, NULL, 0, "Worked out")       \
    X(PAYLOAD, "Payload", "payload", FT_BYTES, BASE_NONE, NULL, 0, "The ULP's octets")

#define IWD_FIELDS_RDMAP                                                                           \
    X(RDMAP, "RDMAP", "rdmap", FT_NONE, BASE_NONE, NULL, 0, "RFC 5040 section 4, RFC 7306")        \
    X(RDMAP_CONTROL, "Control", "rdmap.control", FT_UINT8, BASE_HEX, NULL, 0,                      \
      "RV, reserved, opcode")                                                                      \
    X(RV, "RDMAP version", "rdmap.rv", FT_UINT8, BASE_DEC, NULL, 0xc0, NULL)                       \
    X(RDMAP_RSV, "Reserved", "rdmap.rsv", FT_UINT8, BASE_HEX, NULL, 0x30, "Must be zero")          \
    X(OPCODE, "Opcode", "rdmap.opcode", FT_UINT8, BASE_HEX, VALS(iwd_opcodes), 0x0f,               \
      "RFC 5040 figure 4, RFC 7306 figure 2")                                                      \
    X(INVALIDATE, "Invalidate STag", "rdmap.invalidate", FT_UINT32, BASE_HEX, NULL, 0,             \
      "The STag of the receiver that this Send invalidates")                                       \
    X(READ_REQUEST, "Read Request", "rdmap.read", FT_NONE, BASE_NONE, NULL, 0,                     \
      "RFC 5040 section 4.4")                                                                      \
    X(SINK_STAG, "Sink STag", "rdmap.read.sink_stag", FT_UINT32, BASE_HEX, NULL, 0, NULL)          \
    X(SINK_TO, "Sink TO", "rdmap.read.sink_to", FT_UINT64, BASE_HEX, NULL, 0, NULL)                \
    X(READ_SIZE, "Size", "rdmap.read.size", FT_UINT32, BASE_DEC, NULL, 0, "Octets to read")        \
    X(SOURCE_STAG, "Source STag", "rdmap.read.source_stag", FT_UINT32, BASE_HEX, NULL, 0, NULL)    \
    X(SOURCE_TO, "Source TO", "rdmap.read.source_to", FT_UINT64, BASE_HEX, NULL, 0, NULL)          \
    X(IMMEDIATE, "Immediate Data", "rdmap.immediate", FT_BYTES, BASE_NONE, NULL, 0,                \
      "RFC 7306 section 6")                                                                        \
    X(ATOMIC, "Atomic Request", "rdmap.atomic", FT_NONE, BASE_NONE, NULL, 0,                       \
      "RFC 7306 section 5.2.1")                                                                    \
    X(ATOMIC_RESERVED, "Reserved", "rdmap.atomic.reserved", FT_UINT32, BASE_HEX, NULL, 0,          \
      "28 bits that must be zero")                                                                 \
    X(AOPCODE, "Operation", "rdmap.atomic.opcode", FT_UINT32, BASE_DEC, VALS(iwd_atomics), 0,      \
      NULL)                                                                                        \
    X(ATOMIC_ID, "Request identifier", "rdmap.atomic.id", FT_UINT32, BASE_HEX, NULL, 0, NULL)      \
    X(ATOMIC_STAG, "Remote STag", "rdmap.atomic.stag", FT_UINT32, BASE_HEX, NULL, 0, NULL)         \
    X(ATOMIC_TO, "Remote TO", "rdmap.atomic.to", FT_UINT64, BASE_HEX, NULL, 0, NULL)               \
    X(ATOMIC_DATA, "Add or swap data", "rdmap.atomic.data", FT_UINT64, BASE_HEX, NULL, 0, NULL)    \
    X(ATOMIC_MASK, "Add or swap mask", "rdmap.atomic.mask", FT_UINT64, BASE_HEX, NULL, 0, NULL)    \
    X(COMPARE_DATA, "Compare data", "rdmap.atomic.compare_data", FT_UINT64, BASE_HEX, NULL, 0,     \
      NULL)                                                                                        \
    X(COMPARE_MASK, "Compare mask", "rdmap.atomic.compare_mask", FT_UINT64, BASE_HEX, NULL, 0,     \
      NULL)                                                                                        \
    X(ATOMIC_VALUE, "Original value", "rdmap.atomic.value", FT_UINT64, BASE_HEX, NULL, 0,          \
      "RFC 7306 section 5.2.2")                                                                    \
    X(HEADER_ODD, "Header, cut short or too long", "rdmap.odd_header", FT_BYTES, BASE_NONE, NULL,  \
      0, "Octets that are too few or too many for this opcode's header")

#define IWD_FIELDS_TERMINATE                                                                       \
    X(TERMINATE, "Terminate", "rdmap.terminate", FT_NONE, BASE_NONE, NULL, 0,                      \
      "RFC 5040 section 4.8")                                                                      \
    X(TERM_LAYER, "Layer", "rdmap.terminate.layer", FT_UINT8, BASE_DEC, VALS(iwd_layers), 0xf0,    \
      NULL)                                                                                        \
    X(TERM_ETYPE, "Error type", "rdmap.terminate.etype", FT_UINT8, BASE_DEC, NULL, 0x0f, NULL)     \
    X(TERM_CODE, "Error code", "rdmap.terminate.code", FT_UINT8, BASE_HEX, NULL, 0, NULL)          \
    X(TERM_TEXT, "Error", "rdmap.terminate.text", FT_STRING, BASE_NONE, NULL, 0,                   \
      "The code in words: RFC 5040 figure 9, RFC 5041 section 7.2, RFC 5044 section 8, RFC 6581 "  \
      "section 8")                                                                                 \
    IWD_BIT("rdmap.terminate.m", TERM_M, "M (the segment length is valid)", 0x80, NULL)            \
    IWD_BIT("rdmap.terminate.d", TERM_D, "D (DDP header included)", 0x40, NULL)                    \
    IWD_BIT("rdmap.terminate.r", TERM_R, "R (RDMAP header included)", 0x20, NULL)                  \
    X(TERM_RESERVED, "Reserved", "rdmap.terminate.reserved", FT_UINT16, BASE_HEX, NULL, 0x1fff,    \
      "Must be zero")                                                                              \
    X(TERM_LENGTH, "DDP segment length", "rdmap.terminate.length", FT_UINT16, BASE_DEC, NULL, 0,   \
      "ULPDU length of the segment at fault")                                                      \
    X(TERM_HEADERS, "Headers of the segment at fault", "rdmap.terminate.headers", FT_NONE,         \
      BASE_NONE, NULL, 0, NULL)                                                                    \
    X(TERM_TRAILING, "After the headers", "rdmap.terminate.trailing", FT_BYTES, BASE_NONE, NULL,   \
      0, "Octets that no flag announces")                                                          \
    X(TERM_CAUSE, "Provoked by frame", "rdmap.terminate.cause", FT_FRAMENUM, BASE_NONE, NULL, 0,   \
      "Worked out: the segment that has these headers, else the last one with a finding")

#define IWD_FIELDS_MESSAGE                                                                         \
    X(MESSAGE, "Message", "message", FT_NONE, BASE_NONE, NULL, 0, "Worked out")                    \
    X(MESSAGE_LENGTH, "Octets", "message.length", FT_UINT64, BASE_DEC, NULL, 0,                    \
      "Worked out: payload of the whole message")                                                  \
    X(MESSAGE_SEGMENTS, "Segments", "message.segments", FT_UINT32, BASE_DEC, NULL, 0,              \
      "Worked out: DDP segments of the whole message")                                             \
    X(MESSAGE_FIRST, "First segment in frame", "message.first", FT_FRAMENUM, BASE_NONE, NULL, 0,   \
      "Worked out")                                                                                \
    X(MESSAGE_IN, "Reassembled in frame", "message.reassembled_in", FT_FRAMENUM, BASE_NONE, NULL,  \
      0, "Worked out: the frame with the message's last segment")                                  \
    X(MESSAGE_TIME, "Duration", "message.time", FT_RELATIVE_TIME, BASE_NONE, NULL, 0,              \
      "Worked out: from the first segment to the last")                                            \
    X(MESSAGE_DATA, "Payload of the message", "message.data", FT_BYTES, BASE_NONE, NULL, 0,        \
      "The ULP's octets of all its segments")                                                      \
    X(MESSAGE_NO_DATA, "Not put together", "message.not_reassembled", FT_STRING, BASE_NONE, NULL,  \
      0, "Worked out: why its octets are not shown")                                               \
    X(RESPONSE_IN, "Response in frame", "response_in", FT_FRAMENUM, BASE_NONE,                     \
      FRAMENUM_TYPE(FT_FRAMENUM_RESPONSE), 0, "Worked out: the response's last segment")           \
    X(RESPONSE_TO, "Response to frame", "response_to", FT_FRAMENUM, BASE_NONE,                     \
      FRAMENUM_TYPE(FT_FRAMENUM_REQUEST), 0, "Worked out")                                         \
    X(RESPONSE_TIME, "Response time", "response_time", FT_RELATIVE_TIME, BASE_NONE, NULL, 0,       \
      "Worked out: from the request to the last segment of its response")                          \
    X(OUTSTANDING, "Outstanding reads and atomics", "outstanding", FT_UINT32, BASE_DEC, NULL, 0,   \
      "Worked out: requests without a response, this one included")                                \
    X(OUTSTANDING_LIMIT, "Limit (IRD)", "outstanding.limit", FT_UINT32, BASE_DEC, NULL, 0,         \
      "Worked out: the IRD that the other end stated")                                             \
    X(OUTSTANDING_ORD, "Limit (ORD)", "outstanding.ord", FT_UINT32, BASE_DEC, NULL, 0,             \
      "Worked out: the ORD that the sender stated")

#define IWD_FIELDS_FINDING                                                                         \
    X(FINDING, "Finding", "finding", FT_NONE, BASE_NONE, NULL, 0, "Worked out: a broken rule")     \
    X(RULE, "Rule", "rule", FT_STRING, BASE_NONE, NULL, 0, "Id in the catalogue of requirements")  \
    X(LEVEL, "Level", "rule.level", FT_STRING, BASE_NONE, NULL, 0, "MUST, SHOULD ...")             \
    X(RULE_RFC, "RFC", "rule.rfc", FT_UINT16, BASE_DEC, NULL, 0, NULL)                             \
    X(RULE_SECTION, "Section", "rule.section", FT_STRING, BASE_NONE, NULL, 0, NULL)                \
    X(RULE_TEXT, "Requirement", "rule.text", FT_STRING, BASE_NONE, NULL, 0, NULL)                  \
    X(CHECK, "Check", "check", FT_STRING, BASE_NONE, NULL, 0, "As iwarp-lint names it")            \
    X(FINDING_OCTET, "At stream octet", "finding.octet", FT_UINT64, BASE_DEC, NULL, 0, NULL)       \
    X(FINDING_FRAME, "That octet is in frame", "finding.frame", FT_FRAMENUM, BASE_NONE, NULL, 0,   \
      NULL)                                                                                        \
    X(FINDING_SIDE, "Sender at fault", "finding.side", FT_UINT8, BASE_NONE, VALS(iwd_sides), 0,    \
      NULL)                                                                                        \
    X(FINDING_GOT, "Found", "finding.got", FT_UINT64, BASE_HEX, NULL, 0, NULL)                     \
    X(FINDING_WANT, "Expected", "finding.want", FT_UINT64, BASE_HEX, NULL, 0, NULL)

#define IWD_FIELDS                                                                                 \
    IWD_FIELDS_CONNECTION                                                                          \
    IWD_FIELDS_STARTUP                                                                             \
    IWD_FIELDS_FPDU                                                                                \
    IWD_FIELDS_DDP                                                                                 \
    IWD_FIELDS_RDMAP                                                                               \
    IWD_FIELDS_TERMINATE                                                                           \
    IWD_FIELDS_MESSAGE                                                                             \
    IWD_FIELDS_FINDING

struct iw_rule;

enum iwd_field {
#define X(name, label, filter, type, display, strings, mask, description) F_##name,
    IWD_FIELDS
#undef X
        F_COUNT
};

/* Subtrees. */
enum iwd_tree {
    T_IWARP,
    T_FLAGS,
    T_MPA,
    T_MARKER,
    T_DDP,
    T_RDMAP,
    T_HEADER,
    T_TERMINATED,
    T_MESSAGE,
    T_FINDING,
    T_STAG,
    T_COUNT
};

extern int iwd_hf[F_COUNT];
extern int iwd_ett[T_COUNT];
/* By enum iw_check. */
extern expert_field *iwd_ei;
/* Why octets cannot be judged. */
extern expert_field iwd_ei_lost;
extern expert_field iwd_ei_gap;
extern expert_field iwd_ei_resync;
/* A refusal, and a Terminate. */
extern expert_field iwd_ei_rejected;
extern expert_field iwd_ei_terminate;

void iwd_register_fields(int proto);
/* Returns the severity of the expert infos about this rule: PI_ERROR, PI_WARN or PI_NOTE. */
int iwd_severity(const struct iw_rule *rule);

#endif
