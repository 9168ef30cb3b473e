/* SPDX-License-Identifier: BSD-3-Clause */
#include "judge/judge_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "observer/hosted/finding.h"

/* Writes the object as one line and drops it. What it says of the capture is there before it. */
static void put(struct iw_judge *j, json_t *object)
{
    char *text = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (text == NULL)
        return;
    if (j->capture != NULL)
        iw_synth_flush(j->capture);
    fprintf(j->lines, "%s\n", text);
    fflush(j->lines);
    free(text);
}

static json_t *of_connection(const struct iw_judged *c, const char *type)
{
    return json_pack("{s:s, s:i}", "type", type, "connection", (int)c->number);
}

static void put_with(const struct iw_judged *c, const char *type, json_t *more)
{
    json_t *object = of_connection(c, type);
    json_object_update_new(object, more);
    put(c->judge, object);
}

void iw_judge_line_process(struct iw_judge *j, const char *capture)
{
    put(j, json_pack("{s:s, s:i, s:s, s:s*}", "type", "process", "pid", (int)getpid(), "program",
                     program_invocation_short_name, "capture", capture));
}

void iw_judge_line_connection(const struct iw_judged *c)
{
    put_with(c, "connection",
             json_pack("{s:s, s:s, s:b}", "local", c->side[c->ours].address, "remote",
                       c->side[iw_observed_other(c->ours)].address, "active",
                       c->ours == IW_SIDE_INITIATOR));
}

static json_t *startup(const struct iw_judged_side *s)
{
    const struct iw_mpa_startup_header *h = &s->startup;
    json_t *object =
        json_pack("{s:i, s:b, s:b, s:b, s:i}", "revision", (int)h->revision, "crc",
                  (h->flags & IW_MPA_FLAG_C) != 0, "markers", (h->flags & IW_MPA_FLAG_M) != 0,
                  "rejected", (h->flags & IW_MPA_FLAG_R) != 0, "private", (int)h->pd_length);
    if (h->flags & IW_MPA_FLAG_S)
        json_object_update_new(
            object, json_pack("{s:b, s:i, s:i}", "peer_to_peer", (int)s->enhanced.peer_to_peer,
                              "ird", (int)s->enhanced.ird, "ord", (int)s->enhanced.ord));
    return object;
}

void iw_judge_line_agreed(const struct iw_judged *c)
{
    put_with(c, "agreed",
             json_pack("{s:o, s:o}", "request", startup(&c->side[IW_SIDE_INITIATOR]), "reply",
                       startup(&c->side[IW_SIDE_RESPONDER])));
}

static void add_frame(json_t *object, const struct iw_judged *c, const struct iw_observation *o)
{
    const uint64_t frame = iw_judge_frame(c, o->side, o->fault.pos);
    if (frame != 0)
        json_object_set_new(object, "frame", json_integer((json_int_t)frame));
}

void iw_judge_line_finding(const struct iw_judged *c, const struct iw_observation *o)
{
    struct iw_judge *j = c->judge;
    char text[IW_FINDING_TEXT];
    if (j->findings++ >= IW_JUDGE_FINDINGS) {
        j->unwritten++;
        return;
    }
    json_t *more = iw_finding_json(o);
    json_object_update_new(more, json_pack("{s:s, s:s, s:s, s:s}", "side", iw_side_name(o->side),
                                           "from", c->side[o->side].address, "by",
                                           o->side == c->ours ? "us" : "peer", "line",
                                           iw_finding_print(text, o, c->side[o->side].address)));
    add_frame(more, c, o);
    put_with(c, "finding", more);
}

void iw_judge_line_unknown(const struct iw_judged *c, const struct iw_observation *o)
{
    json_t *more = json_pack("{s:s, s:s, s:s}", "side", iw_side_name(o->side), "from",
                             c->side[o->side].address, "text", iw_check_info(o->fault.check)->text);
    add_frame(more, c, o);
    put_with(c, "unknown", more);
}

static json_t *totals(const struct iw_judged_side *s)
{
    return json_pack("{s:I, s:I}", "octets", (json_int_t)s->octets, "messages",
                     (json_int_t)s->messages);
}

void iw_judge_line_closed(const struct iw_judged *c)
{
    put_with(c, "closed",
             json_pack("{s:o, s:o}", "us", totals(&c->side[c->ours]), "peer",
                       totals(&c->side[iw_observed_other(c->ours)])));
}

void iw_judge_line_end(struct iw_judge *j)
{
    put(j, json_pack("{s:s, s:I, s:b}", "type", "end", "unwritten", (json_int_t)j->unwritten,
                     "capture_whole", (int)!j->cut));
}
