/* SPDX-License-Identifier: BSD-3-Clause */
#include "witness.h"

#include "blocks.h"
#include "mpa/startup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns true where an endpoint may find this check broken of which the observer says nothing. */
static bool excepted(const struct iw_witness *w, enum iw_side side, enum iw_check endpoint)
{
    switch (endpoint) {
    case IW_CHECK_MPA_REV: /* no bystander knows which revisions an end supports */
        return true;
    case IW_CHECK_RDMAP_IRD: /* it is the endpoint's own if its frame states none */
        return !w->ird_stated[1 - side];
    case IW_CHECK_MPA_RTR_FIRST:
    case IW_CHECK_RDMAP_READ_LENGTH:
    case IW_CHECK_RDMAP_TERMINATE_VALID:
    case IW_CHECK_RDMAP_IMMEDIATE_LENGTH:
    case IW_CHECK_RDMAP_ATOMIC_LENGTH:
    case IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED:
    case IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER:
    case IW_CHECK_RDMAP_ATOMIC_RESPONSE_ID:
    case IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH:
        /* An endpoint requires these messages, and an RTR, in one segment (OP-67), an observer
         * judges them when they are whole. */
        return w->unfinished[side];
    default:
        return false;
    }
}

static const char *name(enum iw_check check)
{
    return iw_check_info(check)->name;
}

/* Returns true if an endpoint enforces the check and a bystander can see it. */
static bool common(enum iw_check check)
{
    unsigned kinds = iw_check_info(check)->kinds;

    return (kinds & IW_KIND_ENDPOINT) != 0 && (kinds & IW_KIND_OBSERVER) != 0;
}

/* Returns true if the rule binds only the sender. The receiver compares nothing in an empty Read
 * Response (RFC 5041 §5.2), and neither answers nor counts Read Requests that come after its FIN.
 * It is also free to choose the revisions that it accepts. */
static bool only_sender(const struct iw_witness *w, const struct iw_observation *o)
{
    const struct iw_station *receiver = w->station[1 - o->side];

    switch (o->fault.check) {
    case IW_CHECK_RDMAP_RESPONSE_STAG:
    case IW_CHECK_RDMAP_RESPONSE_TO:
        return o->payload_length == 0;
    case IW_CHECK_MPA_REV:
        return receiver != NULL && (receiver->settings[1] & IW_STATION_OLD) != 0;
    case IW_CHECK_RDMAP_IRD:
        return receiver != NULL && receiver->fin_sent;
    default:
        return false;
    }
}

static void note(struct iw_witness *w, const struct iw_observation *o)
{
    /* After a finding, the observer can only guess who asked and who answered. */
    if (w->irregular && o->fault.check >= IW_CHECK_RDMAP_IRD)
        return;
    if (w->found[o->side] || !common(o->fault.check) || only_sender(w, o))
        return;
    w->found[o->side] = true;
    w->fault[o->side] = o->fault;
    w->found_from[o->side] = o->pos;
    w->found_end[o->side] = o->end;
}

/* With IW_FUZZ_TRACE in the environment: print a line on stderr for each thing seen. */
static bool tracing;

static void trace(const struct iw_observation *o)
{
    static const char *const kinds[] = {"start-up", "segment", "message", "fin",   "reset",
                                        "finding",  "lost",    "gap",     "resync"};
    char text[400] = "";

    if (o->kind == IW_OBSERVED_MESSAGE)
        return;
    if (o->kind == IW_OBSERVED_STARTUP)
        (void)iw_wire_print_startup(text, sizeof(text), o->frame, o->frame_length);
    if (o->kind == IW_OBSERVED_SEGMENT)
        (void)iw_wire_print_segment(text, sizeof(text), o->ulpdu, o->ulpdu_length);
    fprintf(stderr, "%s %llu..%llu %s %s%s\n", o->side == IW_SIDE_INITIATOR ? ">" : "<",
            (unsigned long long)o->pos, (unsigned long long)o->end, kinds[o->kind],
            o->kind == IW_OBSERVED_FINDING || o->kind == IW_OBSERVED_LOST ? name(o->fault.check)
                                                                          : "",
            text);
}

/* Returns true if no part of an FPDU of this side has been seen without the rest; a Marker before
 * it is a part. */
static bool complete(const struct iw_witness *w, enum iw_side side)
{
    return iw_observer_boundary(w->observer, side) && w->pos[side] <= w->whole[side];
}

static bool asks_or_answers(const struct iw_ddp_header *h)
{
    return iw_ddp_tagged(h) ? iw_rdmap_op(h) == IW_OP_READ_RESPONSE
                            : h->qn == IW_QN_READ_REQUEST || h->qn == IW_QN_ATOMIC_RESPONSE;
}

/* Returns true if the station finds the fault in what the observer has seen here. */
static bool at_fault(const struct iw_station *s, const struct iw_observation *o)
{
    uint64_t pos = s->fault.fault.pos;

    return o->pos <= pos && pos < o->end;
}

static void seen(void *context, const struct iw_observation *o)
{
    struct iw_witness *w = context;
    struct iw_station *receiver = w->station[1 - o->side];

    if (tracing)
        trace(o);
    if (o->kind == IW_OBSERVED_STARTUP || o->kind == IW_OBSERVED_SEGMENT)
        w->whole[o->side] = o->end;
    switch (o->kind) {
    case IW_OBSERVED_STARTUP:
        w->framed[o->side] = true;
        w->ird_stated[o->side] =
            iw_mpa_frame_enhanced(&o->startup) && o->enhanced.ird != IW_MPA_DEPTH_UNSPECIFIED;
        if (receiver != NULL)
            receiver->framed_from = o->end;
        break;
    case IW_OBSERVED_SEGMENT:
        if (asks_or_answers(&o->ddp) && !complete(w, 1 - o->side))
            w->guessed = true;
        if (receiver != NULL) {
            if (at_fault(receiver, o))
                w->unfinished[o->side] = !iw_ddp_last(&o->ddp);
            iw_station_saw(receiver, o);
        }
        break;
    case IW_OBSERVED_LOST: /* of a start-up frame that is none there is no other finding */
        note(w, o);
        break;
    case IW_OBSERVED_FINDING:
        IW_FUZZ_CHECK(w->station[o->side] == NULL || w->forged[o->side] || w->diverged,
                      "%s sends what breaks %s, at octet %llu", w->station[o->side]->who,
                      name(o->fault.check), (unsigned long long)o->fault.pos);
        if (receiver != NULL && at_fault(receiver, o))
            w->noticed[o->side] = true;
        note(w, o);
        w->irregular = true;
        break;
    default:
        break;
    }
}

void iw_witness_open(struct iw_witness *w, struct iw_station *initiator,
                     struct iw_station *responder)
{
    static void *memory, *scratch;
    struct iw_observer_config config = {
        .crc32c = iw_crc32c_portable,
        .context = w,
        .seen = seen,
        .lend = iw_fuzz_lend,
        .give_back = iw_fuzz_give_back,
        .extensions = (initiator != NULL ? initiator : responder)->config.extensions,
        .no_quirks = true, /* the station reads octets as they are */
    };

    tracing = getenv("IW_FUZZ_TRACE") != NULL;
    if (memory == NULL) {
        memory = iw_fuzz_allocate(iw_observer_size());
        scratch = iw_fuzz_allocate(iw_observer_scratch_size());
    }
    config.scratch = scratch;
    memset(w, 0, sizeof(*w));
    w->station[IW_SIDE_INITIATOR] = initiator;
    w->station[IW_SIDE_RESPONDER] = responder;
    w->observer = iw_observer_init(memory, iw_observer_size(), &config);
    IW_FUZZ_CHECK(w->observer != NULL, "no observer");
}

void iw_witness_close(struct iw_witness *w)
{
    iw_observer_drop(w->observer);
    iw_fuzz_blocks_check();
}

void iw_witness_input(struct iw_witness *w, enum iw_side side, const uint8_t *octets, size_t length)
{
    (void)iw_observer_input(w->observer, side, w->pos[side], iw_fuzz_fenced(octets, length),
                            length);
    w->pos[side] += length;
}

void iw_witness_input_at(struct iw_witness *w, enum iw_side side, uint64_t pos,
                         const uint8_t *octets, size_t length)
{
    (void)iw_observer_input(w->observer, side, pos, iw_fuzz_fenced(octets, length), length);
}

void iw_witness_end(struct iw_witness *w, enum iw_side side, bool reset)
{
    if (w->ended[side])
        return;
    w->ended[side] = true;
    iw_observer_end(w->observer, side, w->pos[side], reset);
}

void iw_witness_agree(struct iw_witness *w, enum iw_side side)
{
    struct iw_station *s = w->station[1 - side];
    bool faulted = (s->events & 1u << IW_EVENT_FAULT) != 0;
    enum iw_check check = faulted ? s->fault.fault.check : IW_CHECK_NONE;
    enum iw_check found = w->found[side] ? w->fault[side].check : IW_CHECK_NONE;
    uint64_t pos = s->fault.fault.pos;

    if (s->over || w->diverged)
        return;
    if (faulted && w->found_from[side] > pos)
        found = IW_CHECK_NONE; /* it is after the fault */
    /* The endpoint sees the first wrong octet of a key, the observer needs the whole frame. */
    if (faulted && s->framed_from == 0 && found == IW_CHECK_NONE)
        return;
    /* A Reply to a Request that has not even left. */
    if (side == IW_SIDE_RESPONDER && !w->framed[1 - side]) {
        w->diverged = s->blind = true;
        return;
    }
    /* The observer does not judge who asked and who answered while octets are missing, after a
     * finding, or while an FPDU has left in part that may be the request, or the answer. */
    if (found == IW_CHECK_NONE && check >= IW_CHECK_RDMAP_IRD &&
        (s->blind || w->irregular || w->guessed))
        return;
    /* If a frame has several faults, each may name another. */
    if (faulted && found != IW_CHECK_NONE && s->fault.fault.check <= IW_CHECK_MPA_REP_S_UNASKED &&
        found <= IW_CHECK_MPA_REP_S_UNASKED)
        return;
    /* Without a frame at the beginning, the observer assumes a capture that began later. */
    if (iw_observer_joined(w->observer))
        return;
    /* A fault that only an endpoint can see, or that is none of the octets, and nothing before it.
     */
    if (faulted && !common(check) && (found == IW_CHECK_NONE || w->found_end[side] > pos))
        return;
    if (faulted && common(check) && (found == check || w->noticed[side]))
        return;
    /* If an FPDU has several faults, each may name another. */
    if (faulted && w->found_from[side] <= pos && pos < w->found_end[side])
        return;
    /* Neither finds anything, or the peer's Terminate ends the connection. */
    if (!faulted &&
        (found == IW_CHECK_NONE || s->deaf || (s->events & 1u << IW_EVENT_TERMINATED) != 0))
        return;
    IW_FUZZ_CHECK(found == IW_CHECK_NONE && excepted(w, side, check),
                  "%s finds %s at octet %llu, and the observer %s at octet %llu", s->who,
                  name(check), (unsigned long long)pos, name(found),
                  (unsigned long long)w->fault[side].pos);
}
