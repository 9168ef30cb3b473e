/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rules a bent peer breaks: what the proof holds findings against. It shares no row with
 * run/causation.c, by which findings are merged, lest the proof judge itself. */
#include <fnmatch.h>
#include <string.h>

#include "diagnosis.h"

/* Rules beyond those of the check: `switches` is a glob over the names of switches, `rules` are
 * globs over ids, separated by blanks, `sentence` is where the RFC says so. */
struct consequence {
    const char *switches, *rules, *sentence;
};

#define WRONG_TERMINATE                                                                            \
    "RDMAP-4.8-01 RDMAP-4.8-02 RDMAP-4.8-03 RDMAP-4.8-0[4-6] RDMAP-4.8-09 RDMAP-4.8-1[0-4] "       \
    "RDMAP-7.1-03 RDMAP-7.1-04 DDP-7.1-1[5-8] DDP-7.2-01 EXT-8.1-02 EXT-8.2-07 EMPA-8-01"
#define NO_TERMINATE                                                                               \
    "RDMAP-6.2.1-01 RDMAP-7.1-0[3-6] RDMAP-5.1-09 DDP-7.1-1[7-9] DDP-7.2-01 DDP-6.2.2-01 "         \
    "MPA-8-09 MPA-8-1[0-3] "                                                                       \
    "EXT-8.1-02 EXT-8.2-07 EMPA-8-01"

static const struct consequence consequences[] = {
    /* The Terminate, where the reaction is wrong or the error is not detected. */
    {"botch=*=layer", WRONG_TERMINATE,
     "Figure 9, \"Terminate Control Field Values\", defines the valid values that MUST be used for "
     "this field (RFC 5040 §4.8)"},
    {"botch=*=type", WRONG_TERMINATE,
     "Figure 9, \"Terminate Control Field Values\", defines the valid values that MUST be used for "
     "this field (RFC 5040 §4.8)"},
    {"botch=*=code", WRONG_TERMINATE,
     "Figure 9, \"Terminate Control Field Values\", defines the valid values that MUST be used for "
     "this field (RFC 5040 §4.8)"},
    {"botch=*=again", "RDMAP-5.4-08 RDMAP-5.4-04 RDMAP-7-02",
     "After sending a Terminate Message on an RDMAP Stream, the Local Peer MUST NOT send any more "
     "Messages on that specific RDMAP Stream (RFC 5040 §5.4)"},
    {"botch=*=close", NO_TERMINATE,
     "the Terminate Message is sent at the earliest possible opportunity (RFC 5040 §7.1)"},
    {"botch=*=silent", NO_TERMINATE,
     "the Terminate Message is sent at the earliest possible opportunity (RFC 5040 §7.1)"},
    /* A TO beyond the buffer is beyond it with its length, too. */
    {"botch=ddp-to-base=place", "DDP-7.1-13",
     "The sum of the DDP Segment payload length and the TO falls in the range of legal offsets "
     "registered for the STag (RFC 5041 §7.1)"},
    {"botch=*=place",
     "DDP-7.1-1[79] MPA-8-11 MPA-7.1.2-15 RDMAP-5.2-01 RDMAP-5.2.2-07 EXT-5.2.2-0[19]",
     "it MUST cease placing the remainder of the DDP Segment and report the error(s) to the ULP "
     "(RFC 5041 §7.1)"},
    {"ignore=*", NO_TERMINATE,
     "the Terminate Message is sent at the earliest possible opportunity (RFC 5040 §7.1)"},
    /* It has not ended the stream: where that is not the only right reaction, what follows is due
     * an answer. */
    {"botch=*=silent", "RDMAP-5.2.1-12 EXT-5.2.1-19",
     "If the Data Source receives a valid RDMA Read Request Message, it MUST respond with a valid "
     "RDMA Read Response Message (RFC 5040 §5.2.1)"},
    /* It answers what it should not have taken. */
    {"ignore=*", "MPA-7.1.2-15 RDMAP-5.2-01 RDMAP-5.2.2-07 EXT-5.2.2-0[19]",
     "it MUST cease placing the remainder of the DDP Segment and report the error(s) to the ULP "
     "(RFC 5041 §7.1)"},
    {"*=rdmap-atomic-align*", "EXT-5.1.1-05 EXT-5.1.2-06",
     "Additionally, an error MUST be surfaced and a terminate message MUST be generated (RFC 7306 "
     "§5.1.1)"},
    {"ignore=rdmap-atomic-response-*", "EXT-5.2.2-08",
     "At the Requester, when an invalid Atomic Operation Response Message is delivered to the "
     "Remote Peer's RDMAP layer, an error is surfaced (RFC 7306 §5.2.2)"},
    {"ignore=mpa-rev", "EMPA-10-05 EMPA-10-0[1-7]",
     "S:  One, if the Private Data begins with the enhanced RDMA connection establishment data; 0 "
     "otherwise (RFC 6581 §6)"},
    {"ignore=mpa-pd-surplus", "MPA-7.1.2-10",
     "the Responder SHOULD prepare to interpret any data received as FPDUs and pass any received "
     "ULPDUs to DDP (RFC 5044 §7.1.2)"},
    {"ignore=rdmap-terminate-valid", "RDMAP-5.4-05",
     "At the Remote Peer, when an invalid Terminate Message is delivered to the Remote Peer's "
     "RDMAP "
     "layer, an error is surfaced (RFC 5040 §5.4)"},
    {"ignore=rdmap-response-past", "DDP-8.3.1-04",
     "An RNIC MUST ensure that a Remote Peer is not able to access memory outside the buffer "
     "specified when the STag was enabled for remote access (RFC 5041 §8.3.1)"},
    {"botch=rdmap-response-*=place", "RDMAP-5.2.2-04",
     "when an invalid RDMA Read Response Message is delivered to the Remote Peer's RDMAP layer, an "
     "error is surfaced (RFC 5040 §5.2.2)"},
    {"ignore=rdmap-response-to", "RDMAP-5.2.2-04",
     "when an invalid RDMA Read Response Message is delivered to the Remote Peer's RDMAP layer, an "
     "error is surfaced (RFC 5040 §5.2.2)"},
    {"ignore=mpa-marker-pointer", "MPA-8-05",
     "the check SHOULD be made when a gap creating an out-of-order sequence is closed (RFC 5044 "
     "§8)"},
    /* What it has begun too early ends where it refuses the Request. */
    {"violate=mpa-reply-early", "MPA-7.1.1-20",
     "When MPA is started in the Responder mode, the MPA implementation MUST wait until an MPA "
     "Request Frame is received and validated before entering Full MPA/DDP Operation (RFC 5044 "
     "§7.1.2)"},
    {"overstrict=mpa-pd-*", "MPA-7.1.1-23",
     "Otherwise, the MPA receiver should pass the PD_Length value and Private Data to the ULP (RFC "
     "5044 §7.1.1)"},
    {"overstrict=mpa-pd-none", "MPA-7.1.2-08",
     "A value of zero indicates that there is no Private Data field present at all (RFC 5044 "
     "§7.1.1)"},
    {"overstrict=mpa-mulpdu", "DDP-5.2-05",
     "At the Data Sink, the DDP layer MUST Place the ULP Payload contained in all valid incoming "
     "DDP Segments associated with a DDP Message into the ULP Buffer (RFC 5041 §5.2)"},
    {"overstrict=mpa-responder-early", "DDP-5.2-05",
     "At the Data Sink, the DDP layer MUST Place the ULP Payload contained in all valid incoming "
     "DDP Segments associated with a DDP Message into the ULP Buffer (RFC 5041 §5.2)"},
    {"overstrict=rdmap-read-*", "RDMAP-5.2.1-12",
     "If the Data Source receives a valid RDMA Read Request Message, it MUST respond with a valid "
     "RDMA Read Response Message (RFC 5040 §5.2.1)"},
    {"overstrict=rdmap-send-*", "RDMAP-7.2-02", "The RDMA OpCode MUST be valid (RFC 5040 §7.2)"},
    {"overstrict=rdmap-write-empty", "DDP-5.2-11",
     "A zero-length DDP Message is allowed and MUST consume exactly one DDP Segment. [...] The "
     "STag "
     "and TO fields MUST NOT be checked for a zero-length Tagged DDP Message (RFC 5041 §5.2)"},
    {"overstrict=mpa-marker-lone", "MPA-7.2-01",
     "A mechanism SHOULD be provided by MPA to DDP for DDP to be made aware that a graceful close "
     "of "
     "the TCP connection has been received by the TCP (RFC 5044 §7.2)"},
    {"overstrict=ddp-mo-zero", "DDP-5.3-09",
     "SHOULD transmit DDP Segments within a DDP Message in increasing MO order for Untagged DDP "
     "Messages (RFC 5041 §5.3)"},
    /* S where it must not be, or not where it must, in the other revision, too. */
    {"violate=mpa-rep-s*", "EMPA-6-05 EMPA-6-11",
     "S:  One, if the Private Data begins with the enhanced RDMA connection establishment data; 0 "
     "otherwise (RFC 6581 §6)"},
    {"violate=mpa-rev1-s", "EMPA-10-05 EMPA-10-01",
     "S:  One, if the Private Data begins with the enhanced RDMA connection establishment data; 0 "
     "otherwise (RFC 6581 §6)"},
    {"violate=mpa-enh-length", "EMPA-6-05 EMPA-10-05",
     "S:  One, if the Private Data begins with the enhanced RDMA connection establishment data; 0 "
     "otherwise (RFC 6581 §6)"},
    {"violate=mpa-ord-obey", "RDMAP-6.1-0[34]",
     "For outbound RDMA Read Requests, the RDMAP layer MUST NOT exceed the maximum number of "
     "outstanding, outbound RDMA Read Requests that were negotiated (RFC 5040 §6.1)"},
    {"violate=mpa-crc-demand", "MPA-4.4-11",
     "When this bit is '1' in either the MPA Request Frame or MPA Reply Frame, CRCs MUST be "
     "generated and checked by both endpoints (RFC 5044 §7.1.1)"},
    {"violate=mpa-marker-missing", "MPA-3-03 MPA-4.5-01",
     "The maximum ULPDU Length for a single ULPDU when Markers are present MUST be computed as: "
     "MULPDU = EMSS - (6 + 4 * Ceiling(EMSS / 512) + EMSS mod 4) (RFC 5044 §4.5)"},
    /* One Marker elsewhere is octets of another kind where it belongs; two prove more. */
    {"violate=mpa-marker-place", "MPA-4.3-03",
     "FPDUPTR MUST contain the number of octets in the TCP stream from the beginning of the ULPDU "
     "Length field to the first octet of the Marker (RFC 5044 §4.3)"},
    {"violate=mpa-marker-unasked", "MPA-4.5-05",
     "The maximum ULPDU Length for a single ULPDU when Markers are present MUST be computed as: "
     "MULPDU = EMSS - (6 + 4 * Ceiling(EMSS / 512) + EMSS mod 4) (RFC 5044 §4.5)"},
    {"violate=mpa-ulpdu-max", "MPA-3-03 MPA-4.5-0[12] DDP-5.2-02",
     "DDP SHOULD limit each record size to MULPDU (RFC 5044 §3)"},
    /* Of a Send or a Write without L nobody can see at the end of the stream whether there is more.
     */
    {"violate=ddp-last", "DDP-6.2.1-01",
     "If the Local Peer ULP indicates graceful teardown, the DDP layer on the Local Peer SHOULD "
     "ensure that all ULP data would be transferred before the underlying LLP Stream and "
     "Connection are torn down (RFC 5041 §6.2.1)"},
    /* An offset is wrong, whichever of its rules shows it. */
    {"violate=ddp-mo", "DDP-4.3-12",
     "the MO MUST be set to the octet offset from the first octet in the associated ULP Message "
     "(which "
     "is defined to be zero) to the first octet in the ULP Payload contained in the DDP Segment "
     "(RFC 5041 §5.2)"},
    {"violate=ddp-to-*", "DDP-5.2-08 DDP-5.3-04 RDMAP-5.2.1-12",
     "the TO MUST be set to the octet offset from the first octet in the associated ULP Message to "
     "the "
     "first octet in the ULP Payload contained in the DDP Segment, plus the TO assigned to the "
     "first "
     "octet in the associated ULP Message (RFC 5041 §5.2)"},
    {"violate=rdmap-atomic-done", "EXT-5.1.2-01",
     "If the two masked compare values are equal, the Responder is required to swap masked bits in "
     "the same ULP Buffer address with the masked Swap Data (RFC 7306 §5.1.2)"},
    {"violate=rdmap-terminate-headers", "RDMAP-7.1-02",
     "the Error Type and Error Code fields are included in the Terminate Message, but the "
     "Terminated DDP Header and Terminated RDMA Header fields are set to zero (RFC 5040 §7.1)"},
    {"violate=rdmap-read-*", "EXT-5.2.1-20",
     "The Atomic Operation Request Message carries an Atomic Operation Header that describes the "
     "ULP Buffer address in the Responder's memory (RFC 7306 §5.2.1)"},
    {"violate=rdmap-read-*", "EMPA-9.2-10",
     "RTR indications are optional and are carried by existing RDMA message types, specifically a "
     "zero-length FULPDU Send message, a zero-length RDMA Read message, or a zero-length RDMA "
     "write "
     "message (RFC 6581 §1.1)"},
    {"violate=rdmap-read-*", "RDMAP-4.4-01",
     "The RDMA Read Request Message carries an RDMA Read Request Header that describes the Data "
     "Sink "
     "and Data Source Buffers used by the RDMA Read operation (RFC 5040 §4.4)"},
    {"violate=rdmap-response-data", "RDMAP-5.2.1-12",
     "If the Data Source receives a valid RDMA Read Request Message, it MUST respond with a valid "
     "RDMA Read Response Message (RFC 5040 §5.2.1)"},
    /* Who waits for the next request to answer that first leaves one alone without an answer. */
    {"violate=rdmap-*response-order", "RDMAP-5.2.1-12 EXT-5.2.1-19",
     "If the Data Source receives a valid RDMA Read Request Message, it MUST respond with a valid "
     "RDMA Read Response Message (RFC 5040 §5.2.1)"},
    /* The switch changes the places of any two responses, those of two Reads as well. */
    {"violate=rdmap-atomic-response-order", "RDMAP-5.2.2-06",
     "The Data Source RDMAP layer MUST pass RDMA Read Response Messages to the DDP layer, in the "
     "order that the RDMA Read Request Messages were received (RFC 5040 §5.2.2)"},
    /* The second delivery takes the buffer of the next Send. */
    {"violate=ddp-deliver-once", "RDMAP-5.3-02 EXT-6.3-03 DDP-3-14",
     "MUST Deliver a DDP Message to the ULP at most once (RFC 5041 §5.3)"},
    /* RsvdULP is RDMAP's control octet, and the Invalidate STag after it. */
    {"violate=ddp-constant-untagged", "RDMAP-4.1-09 RDMAP-4.1-11",
     "The first octet reserved for ULP usage on all DDP Messages in the DDP Protocol (i.e., the "
     "RsvdULP "
     "Field) is used by RDMAP to carry the RDMA Message Opcode and the RDMAP version (RFC 5040 "
     "§4)"},
    {"violate=ddp-constant-tagged", "RDMAP-4.1-09",
     "The first octet reserved for ULP usage on all DDP Messages in the DDP Protocol (i.e., the "
     "RsvdULP "
     "Field) is used by RDMAP to carry the RDMA Message Opcode and the RDMAP version (RFC 5040 "
     "§4)"},
    {"overstrict=ddp-constant-tagged", "RDMAP-4.1-10",
     "The first octet reserved for ULP usage on all DDP Messages in the DDP Protocol (i.e., the "
     "RsvdULP "
     "Field) is used by RDMAP to carry the RDMA Message Opcode and the RDMAP version (RFC 5040 "
     "§4)"},
    {NULL, NULL, NULL},
};

/* A receiver keeps a sender's rule, and the reverse, whatever the check says besides. */
static bool of_check(const struct iw_probe *p, const struct iw_rule *rule)
{
    if (p->kind == IW_SWITCH_VIOLATE)
        return rule == iw_check_sender_rule(p->check) ||
               (iw_check_serves(p->check, rule) && rule->subject != IW_SUBJECT_RECEIVER);
    return rule == iw_check_rule(p->check) ||
           (iw_check_serves(p->check, rule) && rule->subject != IW_SUBJECT_SENDER);
}

/* Returns whether a word of `globs` fits. */
static bool fits(const char *globs, const char *id)
{
    char word[32];
    for (size_t length; *globs != '\0'; globs += length + strspn(globs + length, " ")) {
        length = strcspn(globs, " ");
        snprintf(word, sizeof(word), "%.*s", (int)length, globs);
        if (fnmatch(word, id, 0) == 0)
            return true;
    }
    return false;
}

const char *iw_probe_consequence(const struct iw_probe *p, const struct iw_rule *rule)
{
    for (const struct consequence *c = consequences; c->switches != NULL; c++)
        if (fnmatch(c->switches, p->option + 2, 0) == 0 && fits(c->rules, rule->id))
            return c->sentence;
    return NULL;
}

bool iw_probe_breaks(const struct iw_probe *p, const struct iw_rule *rule)
{
    return of_check(p, rule) || iw_probe_consequence(p, rule) != NULL;
}
