/* SPDX-License-Identifier: BSD-3-Clause */
#include "range.h"

#include <stdlib.h>
#include <string.h>

static const struct range_bug_info bugs[RANGE_BUG_COUNT] = {
    [RANGE_BUG_PRIVATE_HEAP] = {"private-heap", "range_keep_private",
                                "heap overflow by more than 64 octets of private data"},
    [RANGE_BUG_REVISION_ASSERT] = {"revision-assert", "range_check_revision",
                                   "assertion about the revision of a Request"},
    [RANGE_BUG_IRD_DIVIDE] = {"ird-divide", "range_share_memory",
                              "division by the IRD of a Request of RFC 6581"},
    [RANGE_BUG_REPLY_STACK] = {"reply-stack", "range_read_reply",
                               "stack overflow by the private data of a Reply (as initiator)"},
    [RANGE_BUG_LENGTH_HANG] = {"length-hang", "range_fpdu_take",
                               "endless loop at an FPDU with ULPDU_Length 0"},
    [RANGE_BUG_FIN_NEGATIVE] = {"fin-negative", "range_fpdu_cut",
                                "copy of a negative size when the stream ends inside an FPDU"},
    [RANGE_BUG_MARKER_ROOM] = {"marker-room", "range_put_crc",
                               "heap overflow by an FPDU with a Marker"},
    [RANGE_BUG_SHORT_HEADER] = {"short-header", "range_read_header",
                                "reads the DDP header of a ULPDU that is too short for one"},
    [RANGE_BUG_OPCODE_INDEX] = {"opcode-index", "range_count_opcode",
                                "heap overflow, indexed by an opcode above Atomic Response"},
    [RANGE_BUG_QN_INDEX] = {"qn-index", "range_count_queue",
                            "heap overflow, indexed by QN modulo 8"},
    [RANGE_BUG_MSN_LOOP] = {"msn-loop", "range_note_gap",
                            "heap overflow by a loop up to an MSN far ahead"},
    [RANGE_BUG_MO_WRAP] = {"mo-wrap", "range_place_send",
                           "write before a receive: MO and length wrap around 2^32"},
    [RANGE_BUG_FREE_TWICE] = {"free-twice", "range_end_message",
                              "frees a message without a receive: the last segment of none"},
    [RANGE_BUG_COMPLETE_TWICE] = {"complete-twice", "range_complete",
                                  "an empty Send with Solicited Event completes twice"},
    [RANGE_BUG_MESSAGE_LEAK] = {"message-leak", "range_begin_message",
                                "the message under way is lost when its connection ends"},
    [RANGE_BUG_THREE_IN_ORDER] = {"three-in-order", "range_keep_send",
                                  "heap overflow by a Send, a Read Request and a longer Send"},
    [RANGE_BUG_IMMEDIATE_STACK] = {"immediate-stack", "range_read_immediate",
                                   "stack overflow by more than 8 octets of Immediate Data"},
    [RANGE_BUG_TERMINATE_COPY] = {"terminate-copy", "range_note_terminate",
                                  "heap overflow by a Terminate with more than one header"},
    [RANGE_BUG_RESPONSE_NULL] = {"response-null", "range_place_response",
                                 "null pointer at a Read Response that nobody asked for"},
    [RANGE_BUG_WRITE_BEYOND] = {"write-beyond", "range_place_write",
                                "Write beyond the end of a region"},
    [RANGE_BUG_USE_INVALIDATED] = {"use-invalidated", "range_place_write",
                                   "Write into a region after Send with Invalidate freed it"},
    [RANGE_BUG_TWO_CONNECTIONS] = {"two-connections", "range_compare_neighbour",
                                   "use of another connection that wrote before and has ended"},
    [RANGE_BUG_READ_WRAP] = {"read-wrap", "range_copy_source",
                             "Read before a region: source TO and length wrap around 2^64"},
    [RANGE_BUG_GATHER_STACK] = {"gather-stack", "range_gather",
                                "stack overflow by a Read of more than 64 octets"},
    [RANGE_BUG_ATOMIC_ALIGN] = {"atomic-align", "range_apply_atomic",
                                "Atomic at an address that is not a multiple of 8"},
};

static bool on[RANGE_BUG_COUNT];
static unsigned long every, connections;

const struct range_bug_info *range_bug_info(enum range_bug bug)
{
    return bug > RANGE_BUG_NONE && bug < RANGE_BUG_COUNT ? &bugs[bug] : NULL;
}

bool range_bug(enum range_bug bug)
{
    return on[bug];
}

void range_crash_every(unsigned long n)
{
    every = n;
}

void range_count_connection(void)
{
    uint8_t *one = malloc(1);

    connections++;
    if (one != NULL)
        one[every != 0 && connections % every == 0] = 0; /* beyond the block */
    free(one);
}

bool range_bugs_set(const char *list)
{
    const char *p = list;
    while (*p != '\0') {
        char *end;
        if (*p < '0' || *p > '9')
            return false;
        unsigned long number = strtoul(p, &end, 10);
        if (number >= RANGE_BUG_COUNT || (*end != ',' && *end != '\0') ||
            (*end == ',' && end[1] == '\0'))
            return false;
        on[number] = number != RANGE_BUG_NONE;
        p = *end == ',' ? end + 1 : end;
    }
    return true;
}
