/* SPDX-License-Identifier: BSD-3-Clause */
/* Records a peer's answers, as the observer sees them. */
#include "base/verdict.h"
#include "host/text.h"
#include "iwarp/transport.h"
#include "slot.h"

void iw_hunt_slot_add(struct iw_hunt_slot *s, enum iw_hunt_answer answer, uint32_t detail)
{
    iw_hunt_row_add(&s->done.row, answer, detail, s->said);
}

static void seen_startup(struct iw_hunt_slot *s, const struct iw_observation *o)
{
    uint32_t detail = (uint32_t)o->startup.flags << 16 | (uint32_t)o->startup.revision << 8;

    if (iw_hunt_called(s->own))
        detail |= 0x10;
    if (o->startup.flags & IW_MPA_FLAG_S)
        detail |= (o->enhanced.peer_to_peer ? 8u : 0u) | o->enhanced.rtr;
    s->known.markers = (o->startup.flags & IW_MPA_FLAG_M) != 0;
    if (s->asked) { /* else it answers half a frame: the pause in that is our own */
        uint64_t took = iw_transport_now() - s->asked;

        s->loop->answer_time = (s->loop->answer_time * 15 + took) / 16;
        s->loop->answered = true;
    }
    iw_hunt_slot_add(s, IW_ANSWER_STARTUP, detail);
}

static void seen_message(struct iw_hunt_slot *s, const struct iw_observation *o)
{
    unsigned opcode = iw_rdmap_op(&o->ddp);

    if (opcode == IW_OP_READ_REQUEST && o->payload_captured == IW_RDMAP_READ_REQUEST) {
        size_t k = s->known.asked++ % 8;

        s->known.asked_stag[k] = o->read_request.sink_stag;
        s->known.asked_to[k] = o->read_request.sink_to;
    }
    if (opcode == IW_OP_TERMINATE && o->terminate_valid)
        iw_hunt_slot_add(s, IW_ANSWER_TERMINATE,
                         (uint32_t)o->terminate.layer << 16 | (uint32_t)o->terminate.etype << 8 |
                             o->terminate.code);
    else
        iw_hunt_slot_add(s, IW_ANSWER_MESSAGE, opcode);
}

static void seen_finding(struct iw_hunt_slot *s, enum iw_check check)
{
    const struct iw_rule *rule = iw_check_sender_rule(check);

    if (rule == NULL || iw_rule_verdict(rule) != IW_VERDICT_FAIL)
        return;
    for (size_t i = 0; i < s->done.n_findings; i++)
        if (s->done.findings[i] == check)
            return;
    if (s->done.n_findings < IW_HUNT_FINDINGS)
        s->done.findings[s->done.n_findings++] = check;
}

static void seen(void *context, const struct iw_observation *o)
{
    struct iw_hunt_slot *s = context;

    if (o->side != s->peer)
        return;
    if (o->kind == IW_OBSERVED_STARTUP)
        seen_startup(s, o);
    else if (o->kind == IW_OBSERVED_MESSAGE)
        seen_message(s, o);
    else if (o->kind == IW_OBSERVED_FINDING)
        seen_finding(s, o->fault.check);
    else if (o->kind == IW_OBSERVED_LOST)
        iw_hunt_slot_add(s, IW_ANSWER_LOST, 0);
}

void iw_hunt_slot_observe(struct iw_hunt_slot *s)
{
    struct iw_observer_config config = {
        .crc32c = iw_crc32c_best(), .context = s, .seen = seen, .extensions = true};

    s->observer = iw_got(iw_observer_new(&config));
}
