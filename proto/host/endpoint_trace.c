/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint_trace.h"

#include <stdlib.h>
#include <string.h>

#include "iwarp/quirk.h"
#include "json_values.h"

enum { TEXT_ROOM = 400 };

static json_t *octets_of(const struct iw_trace *t)
{
    return iw_json_hex(t->octets, t->length < IW_MPA_STARTUP_MAX ? t->length : IW_MPA_STARTUP_MAX);
}

static void add_mpa(json_t *line, const struct iw_trace *t)
{
    struct iw_mpa_startup_header h;
    struct iw_mpa_enhanced e;
    static const char *const keys[] = {"other", "request", "reply"};
    int used = iw_wire_get_startup(t->octets, t->length, &h);
    if (used < 0)
        return;
    json_t *mpa = json_pack(
        "{s:s, s:i, s:b, s:b, s:b, s:b, s:i}", "key", keys[iw_wire_mpa_key(h.key)], "revision",
        h.revision, "markers", h.flags & IW_MPA_FLAG_M, "crc", h.flags & IW_MPA_FLAG_C, "rejected",
        h.flags & IW_MPA_FLAG_R, "enhanced", h.flags & IW_MPA_FLAG_S, "private", h.pd_length);
    if ((h.flags & IW_MPA_FLAG_S) &&
        iw_wire_get_enhanced(t->octets + used, t->length - (size_t)used, &e) > 0)
        json_object_update_new(mpa,
                               json_pack("{s:b, s:i, s:i, s:i}", "peer_to_peer", e.peer_to_peer,
                                         "rtr", e.rtr, "ird", e.ird, "ord", e.ord));
    json_object_set_new(line, "mpa", mpa);
}

static void add_ddp(json_t *line, const struct iw_trace *t)
{
    struct iw_ddp_header h;
    if (iw_wire_get_ddp(t->octets, t->length, &h) < 0)
        return;
    json_t *ddp = json_pack("{s:i, s:b, s:b}", "opcode", iw_rdmap_op(&h), "tagged",
                            iw_ddp_tagged(&h), "last", iw_ddp_last(&h));
    json_object_update_new(
        ddp,
        iw_ddp_tagged(&h)
            ? json_pack("{s:I, s:o}", "stag", (json_int_t)h.stag, "to", iw_json_wide(h.to))
            : json_pack("{s:I, s:I, s:I, s:I}", "qn", (json_int_t)h.qn, "msn", (json_int_t)h.msn,
                        "mo", (json_int_t)h.mo, "invalidate_stag", (json_int_t)h.invalidate_stag));
    json_object_set_new(line, "ddp", ddp);
}

static void add_startup(json_t *line, const struct iw_trace *t)
{
    char text[TEXT_ROOM];
    iw_wire_print_startup(text, sizeof(text), t->octets, t->length);
    json_object_set_new(line, "text", json_string(text));
    add_mpa(line, t);
    json_object_set_new(line, "octets", octets_of(t));
}

static void add_fpdu(json_t *line, const struct iw_trace *t)
{
    char text[TEXT_ROOM];
    iw_quirk_print_segment(text, sizeof(text), t->octets, t->length,
                           iw_quirk_in_segment(t->octets, t->length));
    /* The text counts the octets that are here; the segment may be longer. */
    char *len = strstr(text, " len ");
    size_t used = len != NULL ? (size_t)(len - text) : 0;
    if (len != NULL && t->length < t->ulpdu_length) {
        size_t header = (t->octets[IW_AT_DDP_CONTROL] & IW_DDP_T) ? IW_DDP_TAGGED_HEADER
                                                                  : IW_DDP_UNTAGGED_HEADER;
        snprintf(len, sizeof(text) - used, " len %zu", t->ulpdu_length - header);
    }
    json_object_set_new(line, "pos", json_integer((json_int_t)t->pos));
    json_object_set_new(line, "length", json_integer(t->ulpdu_length));
    json_object_set_new(line, "text", json_string(text));
    add_ddp(line, t);
    json_object_set_new(line, "octets", octets_of(t));
}

static void add_fault(json_t *line, const struct iw_fault *f)
{
    const struct iw_rule *rule = iw_check_rule(f->check);
    const struct iw_check_info *info = iw_check_info(f->check);
    json_object_update_new(line, json_pack("{s:s, s:s, s:I, s:o, s:o, s:s}", "check", info->name,
                                           "rule", rule != NULL ? rule->id : "", "pos",
                                           (json_int_t)f->pos, "got", iw_json_wide(f->got), "want",
                                           iw_json_wide(f->want), "text", info->text));
}

void iw_trace_json(void *context, const struct iw_trace *t)
{
    static const char *const kinds[] = {"startup-in", "startup-out", "fpdu-in",   "fpdu-out",
                                        "fault",      "state",       "fpdu-early"};
    const struct iw_tracer *tracer = context;
    json_t *line =
        json_pack("{s:i, s:f, s:I, s:s}", "schema", IW_TRACE_SCHEMA, "time", (double)t->now / 1e9,
                  "connection", (json_int_t)tracer->connection, "kind", kinds[t->kind]);
    if (tracer->pid != 0)
        json_object_set_new(line, "pid", json_integer(tracer->pid));
    switch (t->kind) {
    case IW_TRACE_STARTUP_IN:
    case IW_TRACE_STARTUP_OUT:
        add_startup(line, t);
        break;
    case IW_TRACE_FPDU_IN:
    case IW_TRACE_FPDU_OUT:
    case IW_TRACE_FPDU_EARLY:
        add_fpdu(line, t);
        break;
    case IW_TRACE_FAULT:
        add_fault(line, t->fault);
        break;
    case IW_TRACE_STATE:
        json_object_set_new(line, "text", json_string(t->text));
        break;
    }
    char *text = json_dumps(line, JSON_COMPACT);
    fprintf(tracer->out, "%s\n", text != NULL ? text : "{}");
    fflush(tracer->out);
    free(text);
    json_decref(line);
}
