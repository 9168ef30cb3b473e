/* SPDX-License-Identifier: BSD-3-Clause */
#include "lint.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const side_names[] = {"initiator", "responder"};

const char *iw_lint_side_name(enum iw_side side)
{
    return side_names[side];
}

char *iw_lint_address(const struct iw_lint_connection *c, enum iw_side side, char *text)
{
    unsigned direction = side == IW_SIDE_INITIATOR ? c->initiator : !c->initiator;

    return iw_address_print(text, &c->tcp->address[direction], c->tcp->port[direction]);
}

static void put_json(FILE *out, json_t *object)
{
    if (!object)
        return;
    json_dumpf(object, out, JSON_COMPACT);
    putc('\n', out);
    json_decref(object);
}

/* Makes the fields common to every line about one side. */
static json_t *line(const struct iw_lint_connection *c, const char *type, enum iw_side side,
                    uint64_t pos)
{
    char from[IW_ENDPOINT_TEXT];

    return json_pack("{s:s, s:I, s:I, s:s, s:s, s:I}", "type", type, "frame",
                     (json_int_t)iw_lint_frame(c, side, pos), "connection",
                     (json_int_t)c->tcp->number, "side", side_names[side], "from",
                     iw_lint_address(c, side, from), "octet", (json_int_t)pos);
}

/* "0x2a" : 64 bits do not fit into every reader's numbers. */
static void set_value(json_t *object, const char *name, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "0x%" PRIx64, value);
    json_object_set_new(object, name, json_string(text));
}

static bool counts(const struct iw_lint *lint, const struct iw_rule *rule)
{
    bool must = rule->level == IW_LEVEL_MUST || rule->level == IW_LEVEL_MUST_NOT;

    return !lint->options->must || (must && !rule->implied);
}

void iw_lint_finding(struct iw_lint_connection *c, const struct iw_observation *o)
{
    struct iw_lint *lint = c->lint;
    const struct iw_check_info *info = iw_check_info(o->fault.check);
    const struct iw_rule *rule = iw_rule_at(info->rule);
    char from[IW_ENDPOINT_TEXT];

    if (!counts(lint, rule))
        return;
    lint->findings++;
    if (lint->options->annotate)
        iw_lint_note(
            lint, iw_lint_frame(c, o->side, o->fault.pos),
            "%s (%s%s): %s [%s; %s, octet %" PRIu64 ": 0x%" PRIx64 ", expected 0x%" PRIx64 "]",
            rule->id, iw_level_name(rule->level), rule->implied ? ", implied" : "", info->text,
            info->name, side_names[o->side], o->fault.pos, o->fault.got, o->fault.want);
    if (lint->options->format == IW_LINT_SARIF) {
        iw_lint_sarif_finding(c, o);
        return;
    }
    if (lint->options->format == IW_LINT_JSON) {
        json_t *object = line(c, "finding", o->side, o->fault.pos);

        json_object_set_new(object, "check", json_string(info->name));
        json_object_set_new(object, "rule", json_string(rule->id));
        json_object_set_new(object, "level", json_string(iw_level_name(rule->level)));
        json_object_set_new(object, "implied", json_boolean(rule->implied));
        json_object_set_new(object, "text", json_string(info->text));
        set_value(object, "got", o->fault.got);
        set_value(object, "want", o->fault.want);
        put_json(lint->out, object);
        return;
    }
    fprintf(lint->out,
            "%s:%" PRIu64 ": %s (%s%s): %s [%s; %s %s, octet %" PRIu64 ": 0x%" PRIx64
            ", expected 0x%" PRIx64 "]\n",
            lint->options->path, iw_lint_frame(c, o->side, o->fault.pos), rule->id,
            iw_level_name(rule->level), rule->implied ? ", implied" : "", info->text, info->name,
            side_names[o->side], iw_lint_address(c, o->side, from), o->fault.pos, o->fault.got,
            o->fault.want);
}

void iw_lint_message(const struct iw_lint_connection *c, const struct iw_observation *o)
{
    const struct iw_lint *lint = c->lint;
    char text[512] = "", segments[64] = "", from[IW_ENDPOINT_TEXT];

    if (o->kind == IW_OBSERVED_STARTUP)
        iw_wire_print_startup(text, sizeof(text), o->frame, o->frame_length);
    else if (o->kind == IW_OBSERVED_MESSAGE)
        iw_wire_print_segment(text, sizeof(text), o->ulpdu, o->ulpdu_captured);
    else if (o->kind == IW_OBSERVED_FIN || o->kind == IW_OBSERVED_RESET)
        snprintf(text, sizeof(text), "%s", o->kind == IW_OBSERVED_FIN ? "fin" : "reset");
    else
        return;
    if (o->kind == IW_OBSERVED_MESSAGE && o->segments > 1)
        snprintf(segments, sizeof(segments), " (last of %" PRIu32 " segments, %" PRIu64 " octets)",
                 o->segments, o->message_length);
    if (lint->options->format == IW_LINT_JSON) {
        json_t *object = line(c, "message", o->side, o->pos);

        json_object_set_new(object, "text", json_string(text));
        if (o->kind == IW_OBSERVED_MESSAGE) {
            json_object_set_new(object, "segments", json_integer((json_int_t)o->segments));
            json_object_set_new(object, "octets", json_integer((json_int_t)o->message_length));
        }
        put_json(lint->out, object);
        return;
    }
    fprintf(lint->out, "%s:%" PRIu64 ": %s %s: %s%s\n", lint->options->path,
            iw_lint_frame(c, o->side, o->pos), side_names[o->side],
            iw_lint_address(c, o->side, from), text, segments);
}

void iw_lint_end(struct iw_lint_connection *c, enum iw_side side, const char *why)
{
    struct iw_lint *lint = c->lint;
    char from[IW_ENDPOINT_TEXT];

    if (lint->options->annotate)
        iw_lint_note(lint, lint->frame, "unknown from here: %s [%s]", why, side_names[side]);
    if (lint->options->format == IW_LINT_SARIF) {
        iw_lint_sarif_unknown(c, side, why);
        return;
    }
    if (lint->options->format == IW_LINT_JSON) {
        json_t *object = line(c, "unknown", side, 0);

        json_object_set_new(object, "frame", json_integer((json_int_t)lint->frame));
        json_object_del(object, "octet");
        json_object_set_new(object, "text", json_string(why));
        put_json(lint->out, object);
        return;
    }
    fprintf(lint->out, "%s:%" PRIu64 ": unknown from here: %s [%s %s]\n", lint->options->path,
            lint->frame, why, side_names[side], iw_lint_address(c, side, from));
}

static const char *found_by(enum iw_resync how)
{
    static const char *const names[] = {[IW_RESYNC_MARKER] = "by a Marker",
                                        [IW_RESYNC_CRC] = "by a CRC",
                                        [IW_RESYNC_CHAIN] = "by a chain of headers"};

    return names[how];
}

void iw_lint_gap(struct iw_lint_connection *c, const struct iw_observation *o)
{
    struct iw_lint *lint = c->lint;
    bool gap = o->kind == IW_OBSERVED_GAP;
    char from[IW_ENDPOINT_TEXT], text[128];

    if (gap)
        snprintf(text, sizeof(text), "octets %" PRIu64 " to %" PRIu64 " are not in the capture",
                 o->pos, o->end - 1);
    else
        snprintf(text, sizeof(text), "FPDUs found again at octet %" PRIu64 ", %s", o->end,
                 found_by(o->found_by));
    if (lint->options->annotate)
        iw_lint_note(lint, lint->frame, "%s [%s]", text, side_names[o->side]);
    if (lint->options->format == IW_LINT_SARIF) {
        if (gap)
            iw_lint_sarif_unknown(c, o->side, text);
        return;
    }
    if (lint->options->format == IW_LINT_JSON) {
        json_t *object = line(c, gap ? "gap" : "resync", o->side, o->pos);

        json_object_set_new(object, "frame", json_integer((json_int_t)lint->frame));
        json_object_set_new(object, "end", json_integer((json_int_t)o->end));
        json_object_set_new(object, "text", json_string(text));
        put_json(lint->out, object);
        return;
    }
    fprintf(lint->out, "%s:%" PRIu64 ": %s [%s %s]\n", lint->options->path, lint->frame, text,
            side_names[o->side], iw_lint_address(c, o->side, from));
}
