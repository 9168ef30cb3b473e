/* SPDX-License-Identifier: BSD-3-Clause */
/* SARIF 2.1.0 (OASIS): a run with results as they come, followed by the tool with the rules that
 * occurred; also what GitHub's code scanning needs: help, lines, relative paths, fingerprints. */
#include "lint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host/files.h"
#include "host/rule_link.h"
#include "host/text.h"

#define UNJUDGED "UNJUDGED"

static const char *level(const struct iw_rule *rule)
{
    if (rule->level >= IW_LEVEL_MUST)
        return rule->implied ? "warning" : "error";
    return rule->level == IW_LEVEL_MAY ? "note" : "warning";
}

static void put(struct iw_lint *lint, json_t *result)
{
    if (result == NULL)
        return;
    json_dumpf(result, lint->out, JSON_COMPACT);
    json_decref(result);
}

/* Returns the log without results, as text. The caller frees it. */
static char *log_text(json_t *rules)
{
    json_t *log =
        json_pack("{s:s, s:s, s:[{s:s, s:[], s:{s:{s:s, s:s, s:s, s:o}}}]}", "$schema",
                  "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs",
                  "columnKind", "utf16CodeUnits", "results", "tool", "driver", "name", "iwarp-lint",
                  "version", IW_VERSION, "semanticVersion", IW_VERSION, "rules", rules);
    char *text = iw_got(json_dumps(iw_got(log), JSON_COMPACT));
    json_decref(log);
    return text;
}

/* Returns where the results belong. */
static const char *place_of_results(const char *log)
{
    static const char before[] = "\"results\":[";
    return strstr(log, before) + sizeof(before) - 1;
}

/* The log goes out in two halves with the results between them as they come, since a capture may
 * have more than memory holds. */
void iw_lint_sarif_begin(struct iw_lint_sarif *s, FILE *to)
{
    memset(s->seen, 0, sizeof(s->seen));
    if (s->begun)
        return;
    s->begun = true;
    char *log = log_text(json_array());
    fwrite(log, 1, (size_t)(place_of_results(log) - log), to);
    free(log);
}

/* Returns a path as a URI reference (RFC 3986 §2.1), relative to the folder of work, which is that
 * of the checkout where a CI server collects findings. The caller frees it. */
static char *uri_of(const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    char *relative = iw_path_relative(path);
    char *uri = iw_got(malloc(3 * strlen(relative) + 1)), *to = uri;

    for (const char *at = relative; *at; at++)
        if (strchr(plain, *at) != NULL)
            *to++ = *at;
        else
            to += sprintf(to, "%%%02X", (unsigned)(unsigned char)*at);
    *to = 0;
    free(relative);
    return uri;
}

/* Returns the location. A capture has no lines, and code scanning wants one: it is the frame, as
 * `tshark -r` counts, which is a logical location as well. */
static json_t *locations(const char *uri, uint64_t frame)
{
    char name[32];

    snprintf(name, sizeof(name), "frame %" PRIu64, frame);
    return json_pack("[{s:{s:{s:s}, s:{s:I}}, s:[{s:s, s:s}]}]", "physicalLocation",
                     "artifactLocation", "uri", uri, "region", "startLine", (json_int_t)frame,
                     "logicalLocations", "name", name, "kind", "packet");
}

/* Returns the place of a rule among those that occurred. */
static size_t place_of(struct iw_lint_sarif *s, size_t rule)
{
    if (s->places[rule] == 0) {
        s->rules[s->n_rules++] = (uint16_t)rule;
        s->places[rule] = (uint16_t)s->n_rules;
    }
    return s->places[rule] - 1u;
}

/* Adds what makes a result the same in another run over the same, or a similar, capture: which one
 * of its kind it is, not at which frame. */
static void add_fingerprint(json_t *result, const char *kind, enum iw_side side, const char *uri,
                            uint32_t number)
{
    char *text = iw_text_format("%s/%s/%s:%" PRIu32, kind, iw_side_name(side), uri, number);
    json_object_set_new(result, "partialFingerprints",
                        json_pack("{s:s}", "primaryLocationLineHash", text));
    free(text);
}

void iw_lint_sarif_finding(struct iw_lint_connection *c, const struct iw_observation *o,
                           const char *where)
{
    const struct iw_check_info *info = iw_check_info(o->fault.check);
    const struct iw_rule *rule = iw_check_sender_rule(o->fault.check);
    struct iw_lint_sarif *s = c->lint->sarif;
    uint64_t frame = iw_lint_frame(c, o->side, o->fault.pos);
    char from[IW_ENDPOINT_TEXT], text[512], *uri = uri_of(c->lint->options->path);
    iw_lint_address(c, o->side, from);
    snprintf(text, sizeof(text), "%s [%s %s, %s]", info->text, iw_side_name(o->side), from, where);
    json_t *result =
        json_pack("{s:s, s:I, s:s, s:s, s:{s:s}, s:o, s:{s:s, s:I, s:I, s:s, s:s, s:I}}", "ruleId",
                  rule->id, "ruleIndex", (json_int_t)place_of(s, (size_t)(rule - iw_rule_at(0))),
                  "kind", "fail", "level", level(rule), "message", "text", text, "locations",
                  locations(uri, frame), "properties", "check", info->name, "frame",
                  (json_int_t)frame, "connection", (json_int_t)c->tcp->number, "side",
                  iw_side_name(o->side), "from", from, "octet", (json_int_t)o->fault.pos);
    add_fingerprint(result, info->name, o->side, uri, ++s->seen[o->fault.check][o->side]);
    free(uri);
    put(c->lint, result);
}

void iw_lint_sarif_unknown(struct iw_lint_connection *c, enum iw_side side, const char *why)
{
    struct iw_lint_sarif *s = c->lint->sarif;
    char text[512], *uri = uri_of(c->lint->options->path);
    snprintf(text, sizeof(text), "unknown from here: %s", why);
    s->unjudged = true;
    json_t *result =
        json_pack("{s:s, s:s, s:s, s:{s:s}, s:o, s:{s:I, s:I, s:s}}", "ruleId", UNJUDGED, "kind",
                  "open", "level", "none", "message", "text", text, "locations",
                  locations(uri, c->lint->frame), "properties", "frame", (json_int_t)c->lint->frame,
                  "connection", (json_int_t)c->tcp->number, "side", iw_side_name(side));
    add_fingerprint(result, UNJUDGED, side, uri, ++s->seen[IW_CHECK_NONE][side]);
    free(uri);
    put(c->lint, result);
}

static json_t *rule_json(const struct iw_rule *r)
{
    char full[64];
    snprintf(full, sizeof(full), "RFC %u section %s, %s%s", r->rfc, r->section,
             iw_level_name(r->level), r->implied ? " (implied)" : "");
    char *link = iw_rule_link(r);
    char *help = iw_text_format("%s: %s", full, r->text);
    char *marked = iw_text_format("[%s](%s): %s", full, link, r->text);
    json_t *rule =
        json_pack("{s:s, s:{s:s}, s:{s:s}, s:{s:s, s:s}, s:s, s:{s:s}, s:{s:[s, s]}}", "id", r->id,
                  "shortDescription", "text", r->text, "fullDescription", "text", full, "help",
                  "text", help, "markdown", marked, "helpUri", link, "defaultConfiguration",
                  "level", level(r), "properties", "tags", "iwarp", iw_level_name(r->level));
    free(marked);
    free(help);
    free(link);
    return rule;
}

/* The rule of results about what could not be judged. */
static json_t *unjudged_json(void)
{
    static const char text[] = "The capture does not show what a side sent from here on.";
    static const char help[] = "A side cannot be judged any more: octets are missing in the "
                               "capture, or nothing shows where an FPDU begins. It is no finding.";
    return json_pack("{s:s, s:{s:s}, s:{s:s}, s:{s:s}, s:s, s:{s:s}}", "id", UNJUDGED,
                     "shortDescription", "text", text, "fullDescription", "text", help, "help",
                     "text", help, "helpUri", "https://www.rfc-editor.org/rfc/rfc5044#section-4",
                     "defaultConfiguration", "level", "none");
}

void iw_lint_sarif_end(const struct iw_lint_sarif *s, FILE *to)
{
    json_t *rules = json_array();
    for (size_t i = 0; i < s->n_rules; i++)
        json_array_append_new(rules, rule_json(iw_rule_at(s->rules[i])));
    if (s->unjudged)
        json_array_append_new(rules, unjudged_json());
    char *log = log_text(rules);
    fprintf(to, "%s\n", place_of_results(log));
    free(log);
}
