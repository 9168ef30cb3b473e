/* SPDX-License-Identifier: BSD-3-Clause */
#include "causation.h"

#include <string.h>

#include "deviation_check.h"
#include "host/text.h"

enum { MOST_CHECKS = 5 };

/* A sort of deviation: what all members say that are not zero. */
struct sort {
    const char *did[3];               /* the case found one of these */
    enum iw_check found[MOST_CHECKS]; /* the observer found one of these; IW_CHECK_NONE ends them */
    const char *rule;                 /* accuses it */
    bool fault;                       /* is about a certain error */
    bool refuses;                     /* reports an error where there is none */
    bool error;    /* reports an error, or closes, in place of what it should do */
    bool unjoined; /* no check joins its rule with its error */
};

/* ---- what follows from something ---- */

static const struct sort misplaced = {.did = {"misplaced"}}; /* memory holds other octets */
static const struct sort other_payload = {.did = {"other payload"}};
static const struct sort other_value = {.did = {"another value"}};
static const struct sort completed = {.did = {"completed"}}; /* a receive that it should not have */
static const struct sort no_rtr = {.did = {"no RTR"}};
static const struct sort out_of_turn = {.found = {IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER}};
static const struct sort other_request = {
    .found = {IW_CHECK_RDMAP_RESPONSE_STAG, IW_CHECK_RDMAP_RESPONSE_TO,
              IW_CHECK_RDMAP_RESPONSE_SIZE, IW_CHECK_RDMAP_RESPONSE_PAST}};
static const struct sort above_ird = {.did = {"ORD above IRD"}};
static const struct sort odd_depths = {
    .found = {IW_CHECK_MPA_ORD_REPLY, IW_CHECK_MPA_IRD_3FFF, IW_CHECK_MPA_ORD_3FFF}};
static const struct sort no_markers = {.found = {IW_CHECK_MPA_MARKER_MISSING}};
static const struct sort second_terminate = {.found = {IW_CHECK_RDMAP_TERMINATE_ONCE}};
static const struct sort any_error = {.error = true};
static const struct sort another_error = {.did = {"another Terminate"}, .error = true};
static const struct sort unjoined = {.fault = true, .unjoined = true};

/* ---- from which it follows ---- */

static const struct sort refuses = {.refuses = true};
static const struct sort missed = {.did = {"missed"}};
static const struct sort joined = {.fault = true};
/* It does not place even what is valid. */
static const struct sort places_wrongly = {.did = {"misplaced"}, .rule = "DDP-5.2-05"};
static const struct sort delivers_twice = {.did = {"delivered twice"}};
static const struct sort misdoes_atomics = {.did = {"undone", "misdone", "wrong value"}};
static const struct sort unanswered = {.did = {"unanswered"}, .fault = true};
/* It sends no RTR after a Reply that has nothing else about it. */
static const struct sort never_rtr = {.did = {"no RTR"}, .rule = "EMPA-9.2-10"};
static const struct sort exchanges_depths = {.did = {"exchanged"}, .rule = "EMPA-9-01"};
static const struct sort displaces_markers = {.found = {IW_CHECK_MPA_MARKER_PLACE}};
static const struct sort goes_on = {.found = {IW_CHECK_RDMAP_TERMINATE_LAST}};
static const struct sort responds_too_often = {.found = {IW_CHECK_RDMAP_RESPONSE_UNSOLICITED}};

/* What holds besides between what follows and its cause. */
enum link {
    ALWAYS,
    SAME_TREATMENT, /* the same error is treated in the same wrong way; a check joins the cause's
                       rule with it */
    SAME_CODE,      /* the error that the one reports is that with which the other refuses */
    SAME_CHECK      /* both are about one error, and one check */
};

struct causation {
    const struct sort *effect, *cause;
    enum link link;
    const char *sentence; /* with its section; a comment says why, where it does not */
};

#define IN_READ_ORDER                                                                               \
    "RFC 5040 §5.2.2: \"The Data Source RDMAP layer MUST pass RDMA Read Response Messages to the " \
    "DDP layer, in the order that the RDMA Read Request Messages were received by the RDMAP layer"  \
    "\""
#define IN_ATOMIC_ORDER                                                                            \
    "RFC 7306 §5.2.2: \"the Responder RDMAP layer MUST pass Atomic Operation Response Messages "  \
    "to "                                                                                          \
    "the DDP layer, in the order that the Atomic Operation Request Messages were received by the " \
    "RDMAP layer\""
#define PLACES                                                                                     \
    "RFC 5041 §5.2: \"At the Data Sink, the DDP layer MUST Place the ULP Payload contained in "   \
    "all "                                                                                         \
    "valid incoming DDP Segments associated with a DDP Message into the ULP Buffer\""
#define DEPTHS                                                                                     \
    "RFC 6581 §9: \"IRD: Inbound RDMA Read Queue Depth. ORD: Outbound RDMA Read Queue Depth.\""
#define ONCE "RFC 5041 §5.3: \"MUST Deliver a DDP Message to the ULP at most once\""
#define CEASES                                                                                      \
    "RFC 5041 §7.1: \"If the DDP layer detects any of the receive errors listed in this section, " \
    "it MUST cease placing the remainder of the DDP Segment and report the error(s) to the ULP\""

static const struct causation causations[] = {
    /* The rule is about what comes of an error once it is detected. Who treats the error itself in
     * the same wrong way never gets there. */
    {&unjoined, &joined, SAME_TREATMENT,
     CEASES
     "; RFC 5040 §7.1: \"the Terminate Message is sent at the earliest possible opportunity\""},
    /* Who refuses what is right has ended the stream before it gets to what the case is about, be
     * it by a Terminate or by closing on a start-up frame. */
    {&any_error, &refuses, SAME_CODE,
     "RFC 5040 §5.4: \"After sending a Terminate Message on an RDMAP Stream, the Local Peer MUST "
     "NOT send any more Messages on that specific RDMAP Stream\"; RFC 5044 §7.1.2: \"the "
     "implementation MUST close the TCP connection and exit MPA\""},
    /* Who misses an error looks further, and reports another one that the same octets have. */
    {&another_error, &missed, SAME_CHECK, CEASES},
    /* No case that compares memory finds what it should; a Read and an atomic answer what was there
     * before. */
    {&misplaced, &places_wrongly, ALWAYS, PLACES},
    {&other_payload, &places_wrongly, ALWAYS, PLACES},
    {&other_value, &places_wrongly, ALWAYS, PLACES},
    /* An atomic that was not done, or done wrongly, leaves another value to the next one. */
    {&other_value, &misdoes_atomics, ALWAYS,
     "RFC 7306 §5.1.1: \"requests the Responder to read a 64-bit Original Remote Data Value at a "
     "64-bit aligned ULP Buffer address in the Responder's memory, perform the FetchAdd operation "
     "[...], and write the result back to the same ULP Buffer address\""},
    /* Who leaves a request without an answer sends the next response before its turn. */
    {&out_of_turn, &unanswered, ALWAYS, IN_ATOMIC_ORDER},
    {&no_rtr, &never_rtr, ALWAYS,
     "RFC 6581 §9.2: \"Upon receiving the MPA Accept Frame with Control Flag A set to 1, the "
     "initiator MUST generate one of the negotiated RTR indications\""},
    /* What ought to be no more than the Request's IRD stands in the place of the IRD. */
    {&above_ird, &exchanges_depths, ALWAYS, DEPTHS},
    {&odd_depths, &exchanges_depths, ALWAYS, DEPTHS},
    /* After a response that answers no request, the order says no more for which one the next is.
     */
    {&out_of_turn, &responds_too_often, ALWAYS, IN_ATOMIC_ORDER},
    {&other_request, &responds_too_often, ALWAYS, IN_READ_ORDER},
    /* Who goes on after a Terminate reports the next error, too. */
    {&second_terminate, &goes_on, ALWAYS,
     "RFC 5040 §5.4: \"After sending a Terminate Message on an RDMAP Stream, the Local Peer MUST "
     "NOT send any more Messages on that specific RDMAP Stream\""},
    /* Where Markers stand elsewhere, the first FPDU lacks the one before it. */
    {&no_markers, &displaces_markers, ALWAYS,
     "RFC 5044 §4.3: \"the MPA Markers MUST be inserted immediately preceding the first FPDU of "
     "Full Operation Phase, and at every 512th octet of the TCP octet stream thereafter\""},
    /* The second delivery takes the buffer of the next message. */
    {&completed, &delivers_twice, ALWAYS, ONCE},
    {&misplaced, &delivers_twice, ALWAYS, ONCE},
};

enum { COUNT = sizeof(causations) / sizeof(causations[0]) };

/* ---- sorts ---- */

static bool did_one(const struct iw_deviation *d, const struct sort *sort)
{
    bool found = false;
    for (size_t i = 0; i < sizeof(sort->did) / sizeof(sort->did[0]) && sort->did[i] != NULL; i++)
        found = found || iw_deviation_did(d, sort->did[i]);
    return found;
}

static bool found_one(const struct iw_deviation *d, const struct sort *sort)
{
    bool found = false;
    for (size_t i = 0; i < MOST_CHECKS && sort->found[i] != IW_CHECK_NONE; i++)
        found = found || strcmp(d->how, iw_check_info(sort->found[i])->name) == 0;
    return d->wire && found;
}

/* Returns whether the case found it, and it is unanswered or a refusal: no rule is needed to say
 * what that is. */
static bool says_all(const struct iw_deviation *d)
{
    return iw_deviation_refuses(d) || iw_deviation_did(d, "unanswered");
}

static bool is_of(const struct iw_deviation *d, const struct sort *sort)
{
    if (sort->found[0] != IW_CHECK_NONE)
        return found_one(d, sort);
    if (d->wire || (sort->did[0] != NULL && !did_one(d, sort)))
        return false;
    if (sort->rule != NULL && (d->rule == NULL || strcmp(d->rule->id, sort->rule) != 0))
        return false;
    if ((sort->fault && d->fault == NULL) || (sort->refuses && !iw_deviation_refuses(d)))
        return false;
    if (sort->error && (d->came == NULL || iw_deviation_refuses(d)))
        return false;
    return !sort->unjoined || (!says_all(d) && iw_deviation_check(d) == IW_CHECK_NONE);
}

/* ---- rows ---- */

static bool linked(const struct iw_deviation *d, const struct iw_deviation *cause, enum link link)
{
    switch (link) {
    case SAME_TREATMENT:
        return iw_text_same(d->fault, cause->fault) && strcmp(d->how, cause->how) == 0 &&
               iw_deviation_check(cause) != IW_CHECK_NONE;
    case SAME_CODE:
        return strcmp(d->came, cause->fault) == 0;
    case SAME_CHECK:
        return iw_text_same(d->fault, cause->fault) &&
               (iw_deviation_check(d) == iw_deviation_check(cause) ||
                iw_rules_share_check(d->rule, cause->rule, d->fault));
    case ALWAYS:
        return true;
    }
    return false;
}

const char *iw_deviation_due_to(const struct iw_deviation *d, const struct iw_deviation *cause)
{
    for (size_t i = 0; i < COUNT; i++) {
        const struct causation *row = &causations[i];
        if (is_of(d, row->effect) && is_of(cause, row->cause) && linked(d, cause, row->link))
            return row->sentence;
    }
    return NULL;
}

/* Returns whether others of its sort follow from such a deviation. */
static bool leads(const struct iw_deviation *d, const struct sort *sort)
{
    bool found = false;
    for (size_t i = 0; i < COUNT; i++)
        found = found || (causations[i].effect == sort && is_of(d, causations[i].cause));
    return found;
}

int iw_deviation_rank(const struct iw_deviation *d)
{
    int rank = 0;
    if (is_of(d, &unjoined))
        return IW_DEVIATION_LAST_RANK;
    for (size_t i = 0; i < COUNT; i++)
        if (is_of(d, causations[i].effect) && !leads(d, causations[i].effect))
            rank = 1;
    return rank;
}
