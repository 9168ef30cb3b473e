/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef IWD_DISPLAY_FIELDS_H
#define IWD_DISPLAY_FIELDS_H

/*
 * The fields: X(name, label, filter, kind, description); display_fields.c has the kinds. A field
 * that the plugin worked out, rather than found in the octets, says so in its description.
 */

#define IWD_FIELDS                                                                                 \
    X(SIDE, "Sender", "side", NAMED(8, NONE, sides, 0),                                            \
      "Worked out: which end of the connection sent this")                                         \
    X(OCTET, "Stream octet", "octet", DEC(64),                                                     \
      "Worked out: position in this direction's stream, 0 is its first octet")                     \
    X(CONTINUES, "Completed in frame", "completed_in", FRAME,                                      \
      "Worked out: where the FPDU or start-up frame that begins or goes on here ends")             \
    X(BEGUN, "Began in frame", "began_in", FRAME,                                                  \
      "Worked out: where this FPDU or start-up frame began")                                       \
    X(PART, "Octets", "part", BYTES, "Octets of an FPDU or start-up frame that is not whole yet")  \
    X(REPEATED, "Octets that came before", "repeated", DEC(32),                                    \
      "Worked out: a retransmission that brings nothing new")                                      \
    X(REPEATED_OF, "They were understood in frame", "repeated_of", FRAME,                          \
      "Worked out: where the FPDU or start-up frame with the first of them was completed")         \
    X(GAP, "Octets that are not in the capture", "gap", DEC(64), "Worked out: their number")       \
    X(RESYNC, "Framing found again at octet", "resync", DEC(64), "Worked out")                     \
    X(LOST, "Framing lost", "lost", TEXT, "Worked out: why")                                       \
    X(UNFOLLOWED, "Not followed", "unfollowed", BYTES,                                             \
      "Octets whose place in the protocol is not known")                                           \
    X(STREAMING, "Streaming mode", "streaming", BYTES, "Octets outside of MPA")                    \
    X(KEY, "Key", "mpa.key", TEXT, "RFC 5044 section 7.1.1")                                       \
    X(REQUEST, "MPA Request", "mpa.request", FLAG, "Worked out: a Request frame")                  \
    X(REPLY, "MPA Reply", "mpa.reply", FLAG, "Worked out: a Reply frame")                          \
    X(STARTUP_FLAGS, "Flags", "mpa.flags", HEX(8), "M, C, R, S, reserved")                         \
    X(FLAG_M, "M (wants Markers in what it receives)", "mpa.flags.m", BIT(8, 0x80),                \
      "RFC 5044 section 7.1.1")                                                                    \
    X(FLAG_C, "C (demands CRCs)", "mpa.flags.c", BIT(8, 0x40), "RFC 5044 section 7.1.1")           \
    X(FLAG_R, "R (rejected)", "mpa.flags.r", BIT(8, 0x20), "RFC 5044 section 7.1.1, Reply only")   \
    X(FLAG_S, "S (enhanced, RFC 6581)", "mpa.flags.s", BIT(8, 0x10), "RFC 6581 section 6")         \
    X(FLAG_RES, "Reserved", "mpa.flags.reserved", HEX_PART(8, 0x0f), "Must be zero")               \
    X(REVISION, "Revision", "mpa.rev", NAMED(8, DEC, revisions, 0), NULL)                          \
    X(PD_LENGTH, "Private data length", "mpa.pd_length", DEC(16),                                  \
      "Octets that follow the header, the block of RFC 6581 included")                             \
    X(ENHANCED, "Enhanced connection data", "mpa.enhanced", TREE, "RFC 6581 section 9")            \
    X(PEER_TO_PEER, "A (peer-to-peer)", "mpa.enhanced.a", BIT(16, 0x8000),                         \
      "RFC 6581 section 9.2: the initiator sends an RTR indication first")                         \
    X(RTR_SEND, "B (RTR may be a Send)", "mpa.enhanced.b", BIT(16, 0x4000), NULL)                  \
    X(RTR_WRITE, "C (RTR may be an RDMA Write)", "mpa.enhanced.c", BIT(16, 0x8000), NULL)          \
    X(RTR_READ, "D (RTR may be an RDMA Read)", "mpa.enhanced.d", BIT(16, 0x4000), NULL)            \
    X(IRD, "IRD", "mpa.ird", DEC_PART(16, 0x3fff),                                                 \
      "Inbound RDMA Reads that the sender can take; 16383: left to the ULP")                       \
    X(ORD, "ORD", "mpa.ord", DEC_PART(16, 0x3fff),                                                 \
      "Outbound RDMA Reads that the sender wants; 16383: left to the ULP")                         \
    X(DEPTHS, "IRD/ORD Negotiate Header", "mpa.smbd", TREE,                                        \
      "Worked out: private data as [MS-SMBD] section 6.1 has it")                                  \
    X(DEPTHS_IRD, "IRD", "mpa.smbd.ird", DEC(32), NULL)                                            \
    X(DEPTHS_ORD, "ORD", "mpa.smbd.ord", DEC(32), NULL)                                            \
    X(DEPTHS_SWAPPED, "In little-endian order", "mpa.smbd.little_endian", FLAG,                    \
      "Worked out: a fault of the sender")                                                         \
    X(PRIVATE_DATA, "Private data", "mpa.private_data", BYTES,                                     \
      "The ULP's octets of a start-up frame")                                                      \
    X(REQUEST_IN, "Request in frame", "mpa.request_in", REQUEST_FRAME, "Worked out")               \
    X(REPLY_IN, "Reply in frame", "mpa.reply_in", RESPONSE_FRAME, "Worked out")                    \
    X(SETUP_TIME, "Time since the Request", "mpa.setup_time", TIME, "Worked out")                  \
    X(AGREED_CRC, "CRCs in force", "mpa.agreed.crc", FLAG, "Worked out from both frames")          \
    X(AGREED_MARKERS_I, "Markers from the initiator", "mpa.agreed.markers_initiator", FLAG,        \
      "Worked out from both frames")                                                               \
    X(AGREED_MARKERS_R, "Markers from the responder", "mpa.agreed.markers_responder", FLAG,        \
      "Worked out from both frames")                                                               \
    X(MPA, "MPA", "mpa", TREE, "The FPDU without its ULPDU")                                       \
    X(FPDU_SIZE, "FPDU size", "mpa.fpdu_size", DEC(32),                                            \
      "Worked out: octets on the stream, Markers included")                                        \
    X(ULPDU_LENGTH, "ULPDU length", "mpa.ulpdu_length", DEC(16), "Octets of the DDP segment")      \
    X(MARKER, "Marker", "mpa.marker", TREE,                                                        \
      "RFC 5044 section 4.2, removed from the DDP segment below")                                  \
    X(MARKER_RESERVED, "Reserved", "mpa.marker.reserved", HEX(16), "Must be zero")                 \
    X(FPDUPTR, "FPDUPTR", "mpa.marker.fpduptr", DEC(16),                                           \
      "Octets from the ULPDU length to this Marker")                                               \
    X(PAD, "Pad", "mpa.pad", BYTES, "Should be zero")                                              \
    X(CRC, "CRC", "mpa.crc", HEX(32), "CRC32c, RFC 5044 section 4.4")                              \
    X(CRC_STATUS, "CRC status", "mpa.crc.status", NAMED(8, NONE, crc_states, 0),                   \
      "Worked out: good, bad or unchecked")                                                        \
    X(CRC_COMPUTED, "Right CRC", "mpa.crc.computed", HEX(32), "Worked out")                        \
    X(DDP, "DDP", "ddp", TREE, "RFC 5041 section 4")                                               \
    X(DDP_CONTROL, "Control", "ddp.control", HEX(8), "T, L, reserved, DV")                         \
    X(TAGGED, "T (tagged)", "ddp.tagged", BIT(8, 0x80), "RFC 5041 section 4.1")                    \
    X(LAST, "L (last segment of the message)", "ddp.last", BIT(8, 0x40), "RFC 5041 section 4.1")   \
    X(DDP_RSVD, "Reserved", "ddp.rsvd", HEX_PART(8, 0x3c), "Must be zero")                         \
    X(DV, "DDP version", "ddp.dv", DEC_PART(8, 0x03), NULL)                                        \
    X(STAG, "STag", "ddp.stag", HEX(32), "Names the data sink's memory")                           \
    X(TO, "TO", "ddp.to", HEX(64), "Tagged Offset")                                                \
    X(TO_RELATIVE, "Relative TO", "ddp.to.relative", DEC(64),                                      \
      "Worked out: from the TO of the message's first segment")                                    \
    X(QN, "QN", "ddp.qn", NAMED(32, DEC, queues, 0), "Queue Number")                               \
    X(MSN, "MSN", "ddp.msn", DEC(32), "Message Sequence Number")                                   \
    X(MSN_EXPECTED, "MSN expected", "ddp.msn.expected", DEC(32),                                   \
      "Worked out, where another one was seen")                                                    \
    X(MO, "MO", "ddp.mo", DEC(32), "Message Offset")                                               \
    X(MO_EXPECTED, "MO expected", "ddp.mo.expected", DEC(32),                                      \
      "Worked out, where another one was seen")                                                    \
    X(RSVDULP, "RsvdULP", "ddp.rsvdulp", HEX(32), "Untagged, without invalidation: zero")          \
    X(STAG_USE, "Use of the STag", "stag", TREE,                                                   \
      "Worked out: what the capture shows of this region of the receiver's memory")                \
    X(STAG_FIRST, "STag first used in frame", "stag.first", FRAME, "Worked out")                   \
    X(STAG_LAST, "STag last used in frame", "stag.last", FRAME,                                    \
      "Worked out: before its invalidation, if there is one")                                      \
    X(STAG_INVALIDATED, "STag invalidated in frame", "stag.invalidated_in", FRAME,                 \
      "Worked out: the Send with Invalidate")                                                      \
    X(STAG_USES, "Segments and requests with it", "stag.uses", DEC(32),                            \
      "Worked out: before its invalidation, if there is one")                                      \
    X(STAG_LOW, "Lowest TO used", "stag.low", HEX(64), "Worked out")                               \
    X(STAG_HIGH, "Highest TO used", "stag.high", HEX(64), "Worked out")                            \
    X(PAYLOAD, "Payload", "payload", BYTES, "The ULP's octets")                                    \
    X(RDMAP, "RDMAP", "rdmap", TREE, "RFC 5040 section 4, RFC 7306")                               \
    X(RDMAP_CONTROL, "Control", "rdmap.control", HEX(8), "RV, reserved, opcode")                   \
    X(RV, "RDMAP version", "rdmap.rv", DEC_PART(8, 0xc0), NULL)                                    \
    X(RDMAP_RSV, "Reserved", "rdmap.rsv", HEX_PART(8, 0x30), "Must be zero")                       \
    X(OPCODE, "Opcode", "rdmap.opcode", NAMED(8, HEX, opcodes, 0x0f),                              \
      "RFC 5040 figure 4, RFC 7306 figure 2")                                                      \
    X(INVALIDATE, "Invalidate STag", "rdmap.invalidate", HEX(32),                                  \
      "The STag of the receiver that this Send invalidates")                                       \
    X(READ_REQUEST, "Read Request", "rdmap.read", TREE, "RFC 5040 section 4.4")                    \
    X(SINK_STAG, "Sink STag", "rdmap.read.sink_stag", HEX(32), NULL)                               \
    X(SINK_TO, "Sink TO", "rdmap.read.sink_to", HEX(64), NULL)                                     \
    X(READ_SIZE, "Size", "rdmap.read.size", DEC(32), "Octets to read")                             \
    X(SOURCE_STAG, "Source STag", "rdmap.read.source_stag", HEX(32), NULL)                         \
    X(SOURCE_TO, "Source TO", "rdmap.read.source_to", HEX(64), NULL)                               \
    X(IMMEDIATE, "Immediate Data", "rdmap.immediate", BYTES, "RFC 7306 section 6")                 \
    X(ATOMIC, "Atomic Request", "rdmap.atomic", TREE, "RFC 7306 section 5.2.1")                    \
    X(ATOMIC_RESERVED, "Reserved", "rdmap.atomic.reserved", HEX(32), "28 bits that must be zero")  \
    X(AOPCODE, "Operation", "rdmap.atomic.opcode", NAMED(32, DEC, atomics, 0), NULL)               \
    X(ATOMIC_ID, "Request identifier", "rdmap.atomic.id", HEX(32), NULL)                           \
    X(ATOMIC_STAG, "Remote STag", "rdmap.atomic.stag", HEX(32), NULL)                              \
    X(ATOMIC_TO, "Remote TO", "rdmap.atomic.to", HEX(64), NULL)                                    \
    X(ATOMIC_DATA, "Add or swap data", "rdmap.atomic.data", HEX(64), NULL)                         \
    X(ATOMIC_MASK, "Add or swap mask", "rdmap.atomic.mask", HEX(64), NULL)                         \
    X(COMPARE_DATA, "Compare data", "rdmap.atomic.compare_data", HEX(64), NULL)                    \
    X(COMPARE_MASK, "Compare mask", "rdmap.atomic.compare_mask", HEX(64), NULL)                    \
    X(ATOMIC_VALUE, "Original value", "rdmap.atomic.value", HEX(64), "RFC 7306 section 5.2.2")     \
    X(HEADER_ODD, "Header, cut short or too long", "rdmap.odd_header", BYTES,                      \
      "Octets that are too few or too many for this opcode's header")                              \
    X(TERMINATE, "Terminate", "rdmap.terminate", TREE, "RFC 5040 section 4.8")                     \
    X(TERM_LAYER, "Layer", "rdmap.terminate.layer", NAMED(8, DEC, layers, 0xf0), NULL)             \
    X(TERM_ETYPE, "Error type", "rdmap.terminate.etype", DEC_PART(8, 0x0f), NULL)                  \
    X(TERM_CODE, "Error code", "rdmap.terminate.code", HEX(8), NULL)                               \
    X(TERM_TEXT, "Error", "rdmap.terminate.text", TEXT,                                            \
      "The code in words: RFC 5040 figure 9, RFC 5041 section 7.2, RFC 5044 section 8, RFC 6581 "  \
      "section 8")                                                                                 \
    X(TERM_M, "M (the segment length is valid)", "rdmap.terminate.m", BIT(8, 0x80), NULL)          \
    X(TERM_D, "D (DDP header included)", "rdmap.terminate.d", BIT(8, 0x40), NULL)                  \
    X(TERM_R, "R (RDMAP header included)", "rdmap.terminate.r", BIT(8, 0x20), NULL)                \
    X(TERM_RESERVED, "Reserved", "rdmap.terminate.reserved", HEX_PART(16, 0x1fff), "Must be zero") \
    X(TERM_LENGTH, "DDP segment length", "rdmap.terminate.length", DEC(16),                        \
      "ULPDU length of the segment at fault")                                                      \
    X(TERM_HEADERS, "Headers of the segment at fault", "rdmap.terminate.headers", TREE, NULL)      \
    X(TERM_TRAILING, "After the headers", "rdmap.terminate.trailing", BYTES,                       \
      "Octets that no flag announces")                                                             \
    X(TERM_CAUSE, "Provoked by frame", "rdmap.terminate.cause", FRAME,                             \
      "Worked out: the segment that has these headers, else the last one with a finding")          \
    X(MESSAGE, "Message", "message", TREE, "Worked out")                                           \
    X(MESSAGE_LENGTH, "Octets", "message.length", DEC(64),                                         \
      "Worked out: payload of the whole message")                                                  \
    X(MESSAGE_SEGMENTS, "Segments", "message.segments", DEC(32),                                   \
      "Worked out: DDP segments of the whole message")                                             \
    X(MESSAGE_FIRST, "First segment in frame", "message.first", FRAME, "Worked out")               \
    X(MESSAGE_IN, "Reassembled in frame", "message.reassembled_in", FRAME,                         \
      "Worked out: the frame with the message's last segment")                                     \
    X(MESSAGE_TIME, "Duration", "message.time", TIME,                                              \
      "Worked out: from the first segment to the last")                                            \
    X(MESSAGE_DATA, "Payload of the message", "message.data", BYTES,                               \
      "The ULP's octets of all its segments")                                                      \
    X(MESSAGE_NO_DATA, "Not put together", "message.not_reassembled", TEXT,                        \
      "Worked out: why its octets are not shown")                                                  \
    X(RESPONSE_IN, "Response in frame", "response_in", RESPONSE_FRAME,                             \
      "Worked out: the response's last segment")                                                   \
    X(RESPONSE_TO, "Response to frame", "response_to", REQUEST_FRAME, "Worked out")                \
    X(RESPONSE_TIME, "Response time", "response_time", TIME,                                       \
      "Worked out: from the request to the last segment of its response")                          \
    X(OUTSTANDING, "Outstanding reads and atomics", "outstanding", DEC(32),                        \
      "Worked out: requests without a response, this one included")                                \
    X(OUTSTANDING_LIMIT, "Limit (IRD)", "outstanding.limit", DEC(32),                              \
      "Worked out: the IRD that the other end stated")                                             \
    X(OUTSTANDING_ORD, "Limit (ORD)", "outstanding.ord", DEC(32),                                  \
      "Worked out: the ORD that the sender stated")                                                \
    X(FINDING, "Finding", "finding", TREE, "Worked out: a broken rule")                            \
    X(RULE, "Rule", "rule", TEXT, "Id in the catalogue of requirements")                           \
    X(LEVEL, "Level", "rule.level", TEXT, "MUST, SHOULD ...")                                      \
    X(RULE_RFC, "RFC", "rule.rfc", DEC(16), NULL)                                                  \
    X(RULE_SECTION, "Section", "rule.section", TEXT, NULL)                                         \
    X(RULE_TEXT, "Requirement", "rule.text", TEXT, NULL)                                           \
    X(CHECK, "Check", "check", TEXT, "As iwarp-lint names it")                                     \
    X(FINDING_OCTET, "At stream octet", "finding.octet", DEC(64), NULL)                            \
    X(FINDING_FRAME, "That octet is in frame", "finding.frame", FRAME, NULL)                       \
    X(FINDING_SIDE, "Sender at fault", "finding.side", NAMED(8, NONE, sides, 0), NULL)             \
    X(FINDING_GOT, "Found", "finding.got", HEX(64), NULL)                                          \
    X(FINDING_WANT, "Expected", "finding.want", HEX(64), NULL)

struct iw_rule;

enum iwd_field {
#define X(name, label, filter, kind, description) F_##name,
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
/* Why octets cannot be judged; a refusal, and a Terminate. */
enum iwd_remark { R_LOST, R_GAP, R_RESYNC, R_REJECTED, R_TERMINATE, R_COUNT };
extern expert_field iwd_ei_remark[R_COUNT];

void iwd_register_fields(int proto);
/* Returns the severity of the expert infos about this rule: PI_ERROR, PI_WARN or PI_NOTE. */
int iwd_severity(const struct iw_rule *rule);

#endif
