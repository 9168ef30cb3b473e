/* SPDX-License-Identifier: BSD-3-Clause */
/* Which findings about a side follow from another one about it. Each row cites the sentence from
 * which they follow. */
#include "observer/observer_internal.h"

enum { MOST = 14 };

struct row {
    enum iw_check cause;
    bool here; /* follows only about the same FPDU: one header shows both */
    const char *sentence;
    enum iw_check effects[MOST]; /* IW_CHECK_NONE ends them */
};

#define FRAMING                                                                                    \
    {                                                                                              \
        IW_CHECK_MPA_STARTUP_CUT, IW_CHECK_MPA_CRC, IW_CHECK_MPA_MARKER_MISSING,                   \
            IW_CHECK_MPA_MARKER_UNASKED, IW_CHECK_MPA_MARKER_POINTER, IW_CHECK_MPA_MARKER_RSVD,    \
            IW_CHECK_MPA_MARKER_LOW, IW_CHECK_MPA_PAD, IW_CHECK_MPA_ULPDU_MAX,                     \
            IW_CHECK_MPA_FIN_INSIDE, IW_CHECK_MPA_RTR_FIRST, IW_CHECK_MPA_RESPONDER_EARLY,         \
            IW_CHECK_DDP_HEADER_SHORT                                                              \
    }
#define BEFORE_START                                                                               \
    "RFC 5044 §7.1.2: \"Since the receiver's ability to deal with Markers is unknown until the "  \
    "Request and Reply Frames have been received, sending FPDUs before this occurs is not "        \
    "possible\""
#define RTR_TYPES                                                                                  \
    "RFC 6581 §1.1: \"RTR indications are optional and are carried by existing RDMA message "     \
    "types\""

static const struct row rows[] = {
    /* With octets too many nobody knows where FPDUs begin, nor with what. */
    {IW_CHECK_MPA_INITIATOR_EARLY, false, BEFORE_START, FRAMING},
    {IW_CHECK_MPA_REPLY_EARLY, false, BEFORE_START, FRAMING},
    /* Where the private data ends the first FPDU begins. */
    {IW_CHECK_MPA_PD_LENGTH, false,
     "RFC 5044 §7.1.1: \"This field MUST contain the length in octets of the Private Data field\"",
     FRAMING},
    /* Nobody knows which request the next response answers. */
    {IW_CHECK_RDMAP_RESPONSE_UNSOLICITED,
     false,
     "RFC 5040 §5.2.2: \"The Data Source RDMAP layer MUST pass RDMA Read Response Messages to the "
     "DDP layer, in the order that the RDMA Read Request Messages were received\"",
     {IW_CHECK_RDMAP_RESPONSE_STAG, IW_CHECK_RDMAP_RESPONSE_TO, IW_CHECK_RDMAP_RESPONSE_SIZE,
      IW_CHECK_RDMAP_RESPONSE_PAST}},
    /* The next message looks like more of the one without an end, at another place in its buffer.
     */
    {IW_CHECK_DDP_LAST,
     false,
     "RFC 5041 §4.1: \"If the Last flag is set to zero, the DDP Segment is an intermediate DDP "
     "Segment\"",
     {IW_CHECK_DDP_TO_ORDER, IW_CHECK_DDP_MO_PLACE, IW_CHECK_DDP_MO_ORDER, IW_CHECK_DDP_FIN_OPEN}},
    /* What is no message at all is no RTR either. */
    {IW_CHECK_RDMAP_OPCODE, true, RTR_TYPES, {IW_CHECK_MPA_RTR_FIRST}},
    {IW_CHECK_RDMAP_OPCODE_TAGGED, true, RTR_TYPES, {IW_CHECK_MPA_RTR_FIRST}},
    {IW_CHECK_RDMAP_OPCODE_QUEUE, true, RTR_TYPES, {IW_CHECK_MPA_RTR_FIRST}},
    {IW_CHECK_RDMAP_VERSION, true, RTR_TYPES, {IW_CHECK_MPA_RTR_FIRST}},
    {IW_CHECK_DDP_QN, true, RTR_TYPES, {IW_CHECK_MPA_RTR_FIRST}},
    /* Nobody sees whether a ULPDU without a header was the Terminate that a responder may send
     * first. */
    {IW_CHECK_DDP_HEADER_SHORT,
     true,
     "RFC 5040 §4: \"The first octet reserved for ULP usage on all DDP Messages in the DDP "
     "Protocol (i.e., the RsvdULP Field) is used by RDMAP to carry the RDMA Message Opcode and the "
     "RDMAP version\"",
     {IW_CHECK_MPA_RESPONDER_EARLY}},
    /* A Read Request that must not be the RTR is one too many where no Read is allowed. */
    {IW_CHECK_MPA_RTR_FIRST,
     true,
     "RFC 6581 §9.2: \"the initiator MUST generate one of the negotiated RTR indications\"",
     {IW_CHECK_RDMAP_IRD}},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

_Static_assert(ROWS <= 16, "a side remembers as many");

static bool leads_to(const struct row *row, enum iw_check effect)
{
    for (size_t i = 0; i < MOST && row->effects[i] != IW_CHECK_NONE; i++)
        if (row->effects[i] == effect)
            return true;
    return false;
}

const char *iw_observer_consequence(enum iw_check effect, enum iw_check cause)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].cause == cause && leads_to(&rows[i], effect))
            return rows[i].sentence;
    return NULL;
}

enum iw_check iw_observed_cause(struct iw_observed_side *s, enum iw_check check)
{
    enum iw_check cause = IW_CHECK_NONE;

    for (size_t i = 0; i < ROWS; i++) {
        uint16_t *led = rows[i].here ? &s->led_here : &s->led;
        if (rows[i].cause == check)
            *led |= (uint16_t)(1u << i);
        else if (cause == IW_CHECK_NONE && (*led >> i & 1u) != 0 && leads_to(&rows[i], check))
            cause = rows[i].cause;
    }
    return cause;
}
