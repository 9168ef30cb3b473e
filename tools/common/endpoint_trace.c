/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint_trace.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_ROOM = 400 };

static void add_octets(json_t *line, const struct iw_trace *t)
{
    static const char digits[] = "0123456789abcdef";
    char hex[2 * IW_MPA_STARTUP_MAX];
    size_t length = t->length < IW_MPA_STARTUP_MAX ? t->length : IW_MPA_STARTUP_MAX;
    for (size_t i = 0; i < length; i++) {
        hex[2 * i] = digits[t->octets[i] >> 4];
        hex[2 * i + 1] = digits[t->octets[i] & 15];
    }
    json_object_set_new(line, "octets", json_stringn(hex, 2 * length));
}

/* Adds a number of 64 bits as a text: JSON's readers do not promise to keep all of its bits. */
static void add_wide(json_t *object, const char *name, uint64_t value)
{
    char text[20];
    snprintf(text, sizeof(text), "0x%" PRIx64, value);
    json_object_set_new(object, name, json_string(text));
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
        iw_wire_get_enhanced(t->octets + used, t->length - (size_t)used, &e) > 0) {
        json_object_set_new(mpa, "peer_to_peer", json_boolean(e.peer_to_peer));
        json_object_set_new(mpa, "rtr", json_integer(e.rtr));
        json_object_set_new(mpa, "ird", json_integer(e.ird));
        json_object_set_new(mpa, "ord", json_integer(e.ord));
    }
    json_object_set_new(line, "mpa", mpa);
}

static void add_ddp(json_t *line, const struct iw_trace *t)
{
    struct iw_ddp_header h;
    if (iw_wire_get_ddp(t->octets, t->length, &h) < 0)
        return;
    json_t *ddp = json_pack("{s:i, s:b, s:b}", "opcode", iw_rdmap_op(&h), "tagged",
                            iw_ddp_tagged(&h), "last", iw_ddp_last(&h));
    if (iw_ddp_tagged(&h)) {
        json_object_set_new(ddp, "stag", json_integer(h.stag));
        add_wide(ddp, "to", h.to);
    } else {
        json_object_set_new(ddp, "qn", json_integer(h.qn));
        json_object_set_new(ddp, "msn", json_integer(h.msn));
        json_object_set_new(ddp, "mo", json_integer(h.mo));
        json_object_set_new(ddp, "invalidate_stag", json_integer(h.invalidate_stag));
    }
    json_object_set_new(line, "ddp", ddp);
}

static void add_startup(json_t *line, const struct iw_trace *t)
{
    char text[TEXT_ROOM];
    iw_wire_print_startup(text, sizeof(text), t->octets, t->length);
    json_object_set_new(line, "text", json_string(text));
    add_mpa(line, t);
    add_octets(line, t);
}

static void add_fpdu(json_t *line, const struct iw_trace *t)
{
    char text[TEXT_ROOM];
    iw_wire_print_segment(text, sizeof(text), t->octets, t->length);
    /* The text counts the octets that are here; the segment may be longer. */
    char *len = strstr(text, " len ");
    size_t used = len ? (size_t)(len - text) : 0;
    if (len && t->length < t->ulpdu_length) {
        size_t header = (t->octets[0] & IW_DDP_T) ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER;
        snprintf(len, sizeof(text) - used, " len %zu", t->ulpdu_length - header);
    }
    json_object_set_new(line, "pos", json_integer((json_int_t)t->pos));
    json_object_set_new(line, "length", json_integer(t->ulpdu_length));
    json_object_set_new(line, "text", json_string(text));
    add_ddp(line, t);
    add_octets(line, t);
}

static void add_fault(json_t *line, const struct iw_fault *f)
{
    const struct iw_rule *rule = iw_check_rule(f->check);
    json_object_set_new(line, "check", json_string(iw_check_info(f->check)->name));
    json_object_set_new(line, "rule", json_string(rule ? rule->id : ""));
    json_object_set_new(line, "pos", json_integer((json_int_t)f->pos));
    add_wide(line, "got", f->got);
    add_wide(line, "want", f->want);
    json_object_set_new(line, "text", json_string(iw_check_info(f->check)->text));
}

void iw_trace_json(void *context, const struct iw_trace *t)
{
    static const char *const kinds[] = {"startup-in", "startup-out", "fpdu-in",   "fpdu-out",
                                        "fault",      "state",       "fpdu-early"};
    const struct iw_tracer *tracer = context;
    json_t *line = json_object();
    json_object_set_new(line, "schema", json_integer(IW_TRACE_SCHEMA));
    json_object_set_new(line, "time", json_real((double)t->now / 1e9));
    json_object_set_new(line, "connection", json_integer(tracer->connection));
    json_object_set_new(line, "kind", json_string(kinds[t->kind]));
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
    fprintf(tracer->out, "%s\n", text ? text : "{}");
    fflush(tracer->out);
    free(text);
    json_decref(line);
}
