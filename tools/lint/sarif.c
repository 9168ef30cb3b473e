/* SPDX-License-Identifier: BSD-3-Clause */
/* SARIF 2.1.0 (OASIS): a run with results as they come, followed by the tool with all rules. */
#include "lint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"

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

void iw_lint_sarif_begin(struct iw_lint *lint)
{
    fputs("{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\","
          "\"runs\":[{\"columnKind\":\"utf16CodeUnits\",\"results\":[",
          lint->to);
}

/* Returns a path as a URI reference (RFC 3986 §2.1). The caller frees it. */
static char *uri_of(const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    char *uri = iw_got(malloc(3 * strlen(path) + 1)), *to = uri;

    for (; *path; path++)
        if (strchr(plain, *path) != NULL)
            *to++ = *path;
        else
            to += sprintf(to, "%%%02X", (unsigned)(unsigned char)*path);
    *to = 0;
    return uri;
}

/* Returns the location: a capture has no lines, so the frame, as `tshark -r` counts, is a logical
 * location. */
static json_t *locations(const struct iw_lint_connection *c, uint64_t frame)
{
    char name[32], *uri = uri_of(c->lint->options->path);

    snprintf(name, sizeof(name), "frame %" PRIu64, frame);
    json_t *list =
        json_pack("[{s:{s:{s:s}}, s:[{s:s, s:s}]}]", "physicalLocation", "artifactLocation", "uri",
                  uri, "logicalLocations", "name", name, "kind", "packet");
    free(uri);
    return list;
}

void iw_lint_sarif_finding(struct iw_lint_connection *c, const struct iw_observation *o,
                           const char *where)
{
    const struct iw_check_info *info = iw_check_info(o->fault.check);
    const struct iw_rule *rule = iw_check_sender_rule(o->fault.check);
    uint64_t frame = iw_lint_frame(c, o->side, o->fault.pos);
    char from[IW_ENDPOINT_TEXT], text[512];
    iw_lint_address(c, o->side, from);
    snprintf(text, sizeof(text), "%s [%s %s, %s]", info->text, iw_side_name(o->side), from, where);
    put(c->lint,
        json_pack("{s:s, s:s, s:s, s:{s:s}, s:o, s:{s:s, s:I, s:I, s:s, s:s, s:I}}", "ruleId",
                  rule->id, "kind", "fail", "level", level(rule), "message", "text", text,
                  "locations", locations(c, frame), "properties", "check", info->name, "frame",
                  (json_int_t)frame, "connection", (json_int_t)c->tcp->number, "side",
                  iw_side_name(o->side), "from", from, "octet", (json_int_t)o->fault.pos));
}

void iw_lint_sarif_unknown(struct iw_lint_connection *c, enum iw_side side, const char *why)
{
    char text[512];
    snprintf(text, sizeof(text), "unknown from here: %s", why);
    put(c->lint,
        json_pack("{s:s, s:s, s:{s:s}, s:o, s:{s:I, s:I, s:s}}", "kind", "open", "level", "none",
                  "message", "text", text, "locations", locations(c, c->lint->frame), "properties",
                  "frame", (json_int_t)c->lint->frame, "connection", (json_int_t)c->tcp->number,
                  "side", iw_side_name(side)));
}

static void put_rule(FILE *out, size_t i)
{
    const struct iw_rule *r = iw_rule_at(i);
    char full[64];
    snprintf(full, sizeof(full), "RFC %u section %s, %s%s", r->rfc, r->section,
             iw_level_name(r->level), r->implied ? " (implied)" : "");
    json_t *rule = json_pack("{s:s, s:{s:s}, s:{s:s}, s:{s:s}}", "id", r->id, "shortDescription",
                             "text", r->text, "fullDescription", "text", full,
                             "defaultConfiguration", "level", level(r));
    if (rule == NULL)
        return;
    fputs(i ? ",\n" : "\n", out);
    json_dumpf(rule, out, JSON_COMPACT);
    json_decref(rule);
}

void iw_lint_sarif_end(struct iw_lint *lint)
{
    fputs("],\n\"tool\":{\"driver\":{\"name\":\"iwarp-lint\",\"version\":\"" IW_VERSION
          "\",\"rules\":[",
          lint->to);
    for (size_t i = 0; i < IW_RULE_COUNT; i++)
        put_rule(lint->to, i);
    fputs("]}}}]}\n", lint->to);
}
