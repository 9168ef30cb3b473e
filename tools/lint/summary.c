/* SPDX-License-Identifier: BSD-3-Clause */
#include "lint.h"

#include <inttypes.h>
#include <sys/param.h>

#include "host/complain.h"
#include "host/text.h"

/* By opcode. */
static const char *const opcodes[16] = {
    "write",     "read-request", "read-response",  "send",
    "send-inv",  "send-se",      "send-se-inv",    "terminate",
    "immediate", "immediate-se", "atomic-request", "atomic-response",
    "opcode-c",  "opcode-d",     "opcode-e",       "opcode-f"};

/* The agreement of the two start-up frames (RFC 5044 §7.1.1, RFC 6581 §9.1). */
struct agreed {
    unsigned revision;
    bool rejected, crc, markers[2] /* this side sends them */, peer_to_peer;
    bool depths; /* ord is known */
    unsigned ord[2];
};

static bool agree(const struct iw_lint_connection *c, struct agreed *a)
{
    const struct iw_lint_side *i = &c->side[IW_SIDE_INITIATOR], *r = &c->side[IW_SIDE_RESPONDER];

    if (!i->started || !r->started)
        return false;
    bool old = r->startup.revision == 0; /* RFC 5044 Appendix C */
    unsigned request = i->startup.flags, reply = r->startup.flags;
    *a = (struct agreed){
        .revision = r->startup.revision,
        .rejected = (reply & IW_MPA_FLAG_R) != 0,
        .crc = old || ((request | reply) & IW_MPA_FLAG_C),
        .markers = {old || (reply & IW_MPA_FLAG_M), old || (request & IW_MPA_FLAG_M)},
        .peer_to_peer = i->enhanced.peer_to_peer && r->enhanced.peer_to_peer,
        .depths = (request & reply & IW_MPA_FLAG_S) != 0,
        .ord = {MIN(i->enhanced.ord, r->enhanced.ird), MIN(r->enhanced.ord, i->enhanced.ird)}};
    return true;
}

static const char *markers_text(const struct agreed *a)
{
    if (a->markers[0])
        return a->markers[1] ? "both ways" : "from the initiator";
    return a->markers[1] ? "from the responder" : "none";
}

static void print_agreed(const struct iw_lint_connection *c)
{
    FILE *out = c->lint->out;
    struct agreed a;
    if (!agree(c, &a))
        return;
    fprintf(out, "  %s: revision %u, CRC %s, Markers %s%s", a.rejected ? "rejected" : "agreed",
            a.revision, a.crc ? "on" : "off", markers_text(&a),
            a.peer_to_peer ? ", peer-to-peer" : "");
    for (int i = 0; i < 2; i++) {
        if (a.depths && a.ord[i] == IW_MPA_DEPTH_UNSPECIFIED)
            fprintf(out, ", ORD of the %s left to the ULP", iw_side_name((enum iw_side)i));
        else if (a.depths)
            fprintf(out, ", ORD of the %s %u", iw_side_name((enum iw_side)i), a.ord[i]);
    }
    putc('\n', out);
}

static void print_startup(const struct iw_lint_connection *c, enum iw_side side)
{
    const struct iw_lint_side *s = &c->side[side];
    FILE *out = c->lint->out;
    char from[IW_ENDPOINT_TEXT];
    fprintf(out, "  %s %s:", iw_side_name(side), iw_lint_address(c, side, from));
    if (!s->started) {
        fprintf(out, " no start-up frame");
        return;
    }
    fprintf(
        out, " rev %u%s%s%s%s", s->startup.revision, s->startup.flags & IW_MPA_FLAG_C ? " C" : "",
        s->startup.flags & IW_MPA_FLAG_M ? " M" : "", s->startup.flags & IW_MPA_FLAG_R ? " R" : "",
        s->startup.flags & IW_MPA_FLAG_S ? " S" : "");
    if (s->startup.flags & IW_MPA_FLAG_S)
        fprintf(out, " ird %u ord %u", s->enhanced.ird, s->enhanced.ord);
}

static void print_counts(const struct iw_lint_side *s, FILE *out)
{
    for (size_t i = 0; i < 16; i++) {
        const struct iw_lint_count *n = &s->count[i];

        if (n->messages && n->least == n->most)
            fprintf(out, ", %" PRIu64 " %s (%" PRIu64 " octets, %" PRIu32 " each)", n->messages,
                    opcodes[i], n->octets, n->least);
        else if (n->messages)
            fprintf(out, ", %" PRIu64 " %s (%" PRIu64 " octets, %" PRIu32 " to %" PRIu32 ")",
                    n->messages, opcodes[i], n->octets, n->least, n->most);
    }
}

enum { DURATION = 32 }; /* octets for a time in words */

/* "12.3 us" into `text`. */
static const char *duration(char text[DURATION], uint64_t ns)
{
    static const char *const units[] = {"us", "ms", "s"};
    uint64_t unit = 1000;
    unsigned i = 0;

    for (; i < 2 && ns >= 1000 * unit; i++)
        unit *= 1000;
    snprintf(text, DURATION, "%" PRIu64 ".%" PRIu64 " %s", ns / unit, ns % unit * 10 / unit,
             units[i]);
    return text;
}

static void print_reads(const struct iw_lint_side *s, FILE *out)
{
    struct iw_lint_times t = iw_lint_times(s);
    if (t.outstanding)
        fprintf(out, "    reads and atomics: at most %" PRIu32 " outstanding", t.outstanding);
    char p50[DURATION], p90[DURATION], p99[DURATION], most[DURATION];
    if (t.answered)
        fprintf(out, "; %" PRIu64 " answered in (p50, p90, p99, most) %s, %s, %s, %s", t.answered,
                duration(p50, t.p50), duration(p90, t.p90), duration(p99, t.p99),
                duration(most, t.most));
    if (t.outstanding)
        putc('\n', out);
}

static void print_side(const struct iw_lint_connection *c, enum iw_side side)
{
    const struct iw_lint_side *s = &c->side[side];
    FILE *out = c->lint->out;

    print_startup(c, side);
    print_counts(s, out);
    if (s->gaps)
        fprintf(out, ", %" PRIu64 " octet%s missing in %" PRIu64 " gap%s", s->missing,
                iw_text_plural(s->missing), s->gaps, iw_text_plural(s->gaps));
    fprintf(out, ", %" PRIu64 " finding%s%s\n", s->findings, iw_text_plural(s->findings),
            s->lost ? ", not seen to its end" : "");
    print_reads(s, out);
}

static json_t *counts_json(const struct iw_lint_side *s)
{
    json_t *messages = json_object();

    for (size_t i = 0; i < 16; i++) {
        const struct iw_lint_count *n = &s->count[i];

        if (n->messages)
            json_object_set_new(messages, opcodes[i],
                                json_pack("{s:I, s:I, s:I, s:I}", "messages",
                                          (json_int_t)n->messages, "octets", (json_int_t)n->octets,
                                          "least", (json_int_t)n->least, "most",
                                          (json_int_t)n->most));
    }
    return messages;
}

static json_t *reads_json(const struct iw_lint_side *s)
{
    struct iw_lint_times t = iw_lint_times(s);
    json_t *times = t.answered == 0 ? NULL
                                    : json_pack("{s:I, s:I, s:I, s:I}", "p50", (json_int_t)t.p50,
                                                "p90", (json_int_t)t.p90, "p99", (json_int_t)t.p99,
                                                "most", (json_int_t)t.most);

    return json_pack("{s:I, s:I, s:o*}", "outstanding", (json_int_t)t.outstanding, "answered",
                     (json_int_t)t.answered, "nanoseconds", times);
}

static json_t *side_json(const struct iw_lint_side *s)
{
    json_t *object = json_pack("{s:b, s:b, s:I, s:I, s:I}", "startup", (int)s->started, "whole",
                               (int)!s->lost, "findings", (json_int_t)s->findings, "gaps",
                               (json_int_t)s->gaps, "missing", (json_int_t)s->missing);

    if (s->started)
        json_object_update_new(object, json_pack("{s:i, s:b, s:b, s:b}", "revision",
                                                 (int)s->startup.revision, "crc",
                                                 s->startup.flags & IW_MPA_FLAG_C, "markers",
                                                 s->startup.flags & IW_MPA_FLAG_M, "rejected",
                                                 s->startup.flags & IW_MPA_FLAG_R));
    if (s->started && (s->startup.flags & IW_MPA_FLAG_S))
        json_object_update_new(object, json_pack("{s:i, s:i}", "ird", (int)s->enhanced.ird, "ord",
                                                 (int)s->enhanced.ord));
    json_object_update_new(
        object, json_pack("{s:o, s:o}", "messages", counts_json(s), "reads", reads_json(s)));
    return object;
}

static json_t *agreed_json(const struct iw_lint_connection *c)
{
    struct agreed a;
    if (!agree(c, &a))
        return json_null();
    json_t *object =
        json_pack("{s:i, s:b, s:b, s:b, s:b, s:b}", "revision", (int)a.revision, "rejected",
                  (int)a.rejected, "crc", (int)a.crc, "initiator_markers", (int)a.markers[0],
                  "responder_markers", (int)a.markers[1], "peer_to_peer", (int)a.peer_to_peer);
    if (a.depths)
        json_object_update_new(object, json_pack("{s:i, s:i}", "initiator_ord", (int)a.ord[0],
                                                 "responder_ord", (int)a.ord[1]));
    return object;
}

void iw_lint_summary(const struct iw_lint_connection *c)
{
    FILE *out = c->lint->out;
    if (iw_lint_wants_json(c->lint)) {
        char from[IW_ENDPOINT_TEXT], to[IW_ENDPOINT_TEXT];
        iw_lint_put_json(
            c->lint, json_pack("{s:s, s:I, s:s, s:s, s:o, s:o, s:o}", "type", "connection",
                               "connection", (json_int_t)c->tcp->number, "initiator_address",
                               iw_lint_address(c, IW_SIDE_INITIATOR, from), "responder_address",
                               iw_lint_address(c, IW_SIDE_RESPONDER, to), "agreed", agreed_json(c),
                               "initiator", side_json(&c->side[IW_SIDE_INITIATOR]), "responder",
                               side_json(&c->side[IW_SIDE_RESPONDER])));
    }
    if (c->lint->options->format != IW_LINT_TEXT)
        return;
    fprintf(out, "connection %" PRIu64 ", frames %" PRIu64 " to %" PRIu64 "\n", c->tcp->number,
            c->tcp->first_frame, c->tcp->last_frame);
    print_agreed(c);
    print_side(c, IW_SIDE_INITIATOR);
    print_side(c, IW_SIDE_RESPONDER);
}

void iw_lint_total(const struct iw_lint *lint, const struct iw_capture_counts *n)
{
    if (iw_lint_wants_json(lint))
        iw_lint_put_json(
            lint,
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "type", "total", "frames",
                      (json_int_t)n->frames, "cut", (json_int_t)n->decoded[IW_DECODE_CUT], "bad",
                      (json_int_t)n->decoded[IW_DECODE_BAD], "unfinished_datagrams",
                      (json_int_t)n->incomplete, "connections", (json_int_t)lint->followed,
                      "not_followed", (json_int_t)lint->unfollowed, "closed_early",
                      (json_int_t)lint->early, "findings", (json_int_t)lint->findings));
    if (lint->options->format == IW_LINT_TEXT && lint->options->summary)
        fprintf(lint->out,
                "%" PRIu64 " frame%s (%" PRIu64 " cut, %" PRIu64 " bad, %" PRIu64
                " unfinished datagram%s), %" PRIu64 " iWARP connection%s, %" PRIu64 " finding%s\n",
                n->frames, iw_text_plural(n->frames), n->decoded[IW_DECODE_CUT],
                n->decoded[IW_DECODE_BAD], n->incomplete, iw_text_plural(n->incomplete),
                lint->followed, iw_text_plural(lint->followed), lint->findings,
                iw_text_plural(lint->findings));
    if (lint->options->format != IW_LINT_JSON && lint->unfollowed)
        iw_complain("%" PRIu64 " more connection%s not followed: no memory", lint->unfollowed,
                    lint->unfollowed == 1 ? " was" : "s were");
}
