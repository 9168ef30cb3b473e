/* SPDX-License-Identifier: BSD-3-Clause */
#include "lint.h"

#include "host/json_values.h"
#include "observer/hosted/finding.h"

#include <inttypes.h>

char *iw_lint_address(const struct iw_lint_connection *c, enum iw_side side, char *text)
{
    unsigned direction = side == IW_SIDE_INITIATOR ? c->initiator : !c->initiator;

    return iw_address_print(text, &c->tcp->address[direction], c->tcp->port[direction]);
}

char *iw_lint_hex(char text[IW_LINT_HEX], uint64_t value)
{
    snprintf(text, IW_LINT_HEX, "0x%" PRIx64, value);
    return text;
}

void iw_lint_put_json(const struct iw_lint *lint, json_t *object)
{
    if (object == NULL)
        return;
    if (lint->options->several)
        json_object_set_new(object, "capture", json_string(lint->options->path));
    if (lint->options->format == IW_LINT_JSON)
        (void)iw_json_line(json_incref(object), lint->out);
    if (lint->json_lines != NULL)
        (void)iw_json_line(json_incref(object), lint->json_lines); /* it may be read as it grows */
    json_decref(object);
}

bool iw_lint_wants_json(const struct iw_lint *lint)
{
    return lint->options->format == IW_LINT_JSON || lint->json_lines != NULL;
}

/* Writes a line about one side, which begins with what all of them have. */
static void put_line(const struct iw_lint_connection *c, const char *type, enum iw_side side,
                     uint64_t frame, json_t *more)
{
    char from[IW_ENDPOINT_TEXT];
    json_t *object = json_pack("{s:s, s:I, s:I, s:s, s:s}", "type", type, "frame",
                               (json_int_t)frame, "connection", (json_int_t)c->tcp->number, "side",
                               iw_side_name(side), "from", iw_lint_address(c, side, from));
    json_object_update_new(object, more);
    iw_lint_put_json(c->lint, object);
}

/* A finding that follows from another one is only listed for programs. */
static void put_consequence(struct iw_lint_connection *c, const struct iw_observation *o,
                            uint64_t frame)
{
    if (iw_lint_wants_json(c->lint))
        put_line(c, "consequence", o->side, frame,
                 json_pack("{s:I, s:s, s:s, s:s}", "octet", (json_int_t)o->fault.pos, "check",
                           iw_check_info(o->fault.check)->name, "cause",
                           iw_check_info(o->cause)->name, "by",
                           iw_observer_consequence(o->fault.check, o->cause)));
    iw_lint_line(c->lint, frame);
}

void iw_lint_finding(struct iw_lint_connection *c, const struct iw_observation *o)
{
    struct iw_lint *lint = c->lint;
    const struct iw_rule *rule = iw_check_sender_rule(o->fault.check);
    uint64_t frame = iw_lint_frame(c, o->side, o->fault.pos);
    if (o->cause != IW_CHECK_NONE) {
        put_consequence(c, o, frame);
        return;
    }
    if (lint->options->must && (rule->level < IW_LEVEL_MUST || rule->implied))
        return;
    lint->findings++;
    char text[IW_FINDING_TEXT], where[IW_FINDING_WHERE], from[IW_ENDPOINT_TEXT];
    iw_lint_note(lint, frame, "%s", iw_finding_print(text, o, NULL));
    if (lint->options->format == IW_LINT_TEXT)
        fprintf(lint->out, "%s:%" PRIu64 ": %s\n", lint->options->path, frame,
                iw_finding_print(text, o, iw_lint_address(c, o->side, from)));
    if (lint->options->format == IW_LINT_SARIF)
        iw_lint_sarif_finding(c, o, iw_finding_where(where, o));
    if (iw_lint_wants_json(lint))
        put_line(c, "finding", o->side, frame, iw_finding_json(o));
    iw_lint_line(lint, frame);
}

void iw_lint_message(const struct iw_lint_connection *c, const struct iw_observation *o)
{
    struct iw_lint *lint = c->lint;
    bool message = false;
    uint64_t frame = iw_lint_frame(c, o->side, o->pos);
    char text[512], segments[64] = "", from[IW_ENDPOINT_TEXT];

    switch (o->kind) {
    case IW_OBSERVED_MESSAGE:
        message = true;
        iw_quirk_print_segment(text, sizeof(text), o->ulpdu, o->ulpdu_captured, o->quirks);
        break;
    case IW_OBSERVED_STARTUP:
        iw_quirk_print_startup(text, sizeof(text), o->frame, o->frame_length, o->quirks);
        break;
    case IW_OBSERVED_FIN:
        snprintf(text, sizeof(text), "fin");
        break;
    default:
        snprintf(text, sizeof(text), "reset");
        break;
    }
    if (iw_lint_wants_json(lint)) {
        json_t *more = json_pack("{s:I, s:s}", "octet", (json_int_t)o->pos, "text", text);

        if (message)
            json_object_update_new(more,
                                   json_pack("{s:I, s:I}", "segments", (json_int_t)o->segments,
                                             "octets", (json_int_t)o->message_length));
        put_line(c, "message", o->side, frame, more);
    }
    if (message && o->segments > 1)
        snprintf(segments, sizeof(segments), " (last of %" PRIu32 " segments, %" PRIu64 " octets)",
                 o->segments, o->message_length);
    if (lint->options->format == IW_LINT_TEXT)
        fprintf(lint->out, "%s:%" PRIu64 ": %s %s: %s%s\n", lint->options->path, frame,
                iw_side_name(o->side), iw_lint_address(c, o->side, from), text, segments);
    iw_lint_line(lint, lint->frame);
}

void iw_lint_break(struct iw_lint_connection *c, const struct iw_observation *o)
{
    static const char *const types[] = {
        [IW_OBSERVED_LOST] = "unknown", [IW_OBSERVED_GAP] = "gap", [IW_OBSERVED_RESYNC] = "resync"};
    static const char *const found_by[] = {[IW_RESYNC_MARKER] = "by a Marker",
                                           [IW_RESYNC_CRC] = "by a CRC",
                                           [IW_RESYNC_CHAIN] = "by a chain of headers"};
    struct iw_lint *lint = c->lint;
    bool lost = false, found = false;
    const char *unknown = "";
    char from[IW_ENDPOINT_TEXT], text[512];
    switch (o->kind) {
    case IW_OBSERVED_LOST:
        lost = true;
        unknown = "unknown from here: ";
        snprintf(text, sizeof(text), "%s", iw_check_info(o->fault.check)->text);
        break;
    case IW_OBSERVED_GAP:
        snprintf(text, sizeof(text), "octets %" PRIu64 " to %" PRIu64 " %s", o->pos, o->end - 1,
                 o->pos == 0 && c->side[o->side].unread ? "came before MPA was recognised"
                                                        : "are not in the capture");
        break;
    default:
        found = true;
        snprintf(text, sizeof(text), "FPDUs found again at octet %" PRIu64 ", %s", o->end,
                 found_by[o->found_by]);
        break;
    }
    iw_lint_note(lint, lint->frame, "%s%s [%s]", unknown, text, iw_side_name(o->side));
    if (lint->options->format == IW_LINT_TEXT)
        fprintf(lint->out, "%s:%" PRIu64 ": %s%s [%s %s]\n", lint->options->path, lint->frame,
                unknown, text, iw_side_name(o->side), iw_lint_address(c, o->side, from));
    if (lint->options->format == IW_LINT_SARIF && !found)
        iw_lint_sarif_unknown(c, o->side, text);
    if (iw_lint_wants_json(lint))
        put_line(c, types[o->kind], o->side, lint->frame,
                 lost ? json_pack("{s:s}", "text", text)
                      : json_pack("{s:I, s:I, s:s}", "octet", (json_int_t)o->pos, "end",
                                  (json_int_t)o->end, "text", text));
    iw_lint_line(lint, lint->frame);
}
