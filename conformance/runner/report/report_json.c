/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_json.h"

#include "base/text_tools.h"
#include "host/text.h"

static json_t *rules(const struct iw_case *c)
{
    json_t *list = iw_got(json_array());
    for (size_t i = 0; c && i < c->n_rules; i++)
        json_array_append_new(list, json_string(c->rules[i]->id));
    return list;
}

static json_t *rounds(const struct iw_entry *entry)
{
    json_t *object = iw_got(json_object());
    for (size_t v = 0; v < IW_VERDICT_COUNT; v++)
        if (entry->rounds[v])
            json_object_set_new(object, iw_verdict_name((enum iw_verdict)v),
                                json_integer((json_int_t)entry->rounds[v]));
    return object;
}

/* Members that every consumer may count on come first and are null where there is nothing. */
static json_t *entry_json(const struct iw_entry *entry, bool repeated)
{
    json_t *all = iw_result_to_json(&entry->result);
    static const char *const always[] = {"reason", "expected", "actual", "pcap"};
    json_t *object =
        iw_got(json_pack("{s:o, s:O, s:o, s:o, s:O}", "id", iw_json_text(entry->result.id),
                         "verdict", json_object_get(all, "verdict"), "role",
                         iw_json_text(entry->c ? iw_role_name(entry->c->role) : NULL), "rules",
                         rules(entry->c), "seconds", json_object_get(all, "seconds")));
    for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++) {
        json_t *value = json_object_get(all, always[i]);

        json_object_set(object, always[i], value ? value : json_null());
    }
    json_object_set_new(object, "file", iw_json_text(entry->file));
    if (entry->c) {
        json_object_set_new(object, "line", json_integer(entry->c->line));
        json_object_set_new(object, "level", json_string(iw_case_level(entry->c)));
    }
    if (entry->pinned != IW_PINNED_NOT)
        json_object_set_new(object, "baseline", json_string(iw_pinned_name(entry->pinned)));
    if (entry->known)
        json_object_set_new(object, "known", iw_json_text(entry->known));
    if (repeated)
        json_object_set_new(object, "rounds", rounds(entry));
    json_object_update_missing(object, all);
    json_decref(all);
    return object;
}

json_t *iw_record_to_json(const struct iw_record *record)
{
    json_t *summary = iw_got(json_object()), *cases = iw_got(json_array());
    char started[32];
    iw_text_time(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", record->started);
    for (size_t i = 0; i < IW_VERDICT_COUNT; i++)
        json_object_set_new(summary, iw_verdict_name((enum iw_verdict)i),
                            json_integer((json_int_t)record->verdicts[i]));
    for (size_t i = 0; i < record->count; i++)
        if (record->entries[i].done)
            json_array_append_new(cases, entry_json(&record->entries[i], record->repeat > 1));
    return iw_got(json_pack(
        "{s:i, s:{s:s, s:s}, s:{s:s, s:I}, s:{s:o, s:s, s:o}, s:s, s:f, s:i, s:o, s:o}", "schema",
        (int)IW_REPORT_SCHEMA, "tool", "name", "iwarp-conform", "version", record->version, "suite",
        "version", record->suite, "cases", (json_int_t)record->count, "target", "name",
        iw_json_text(record->target), "class", record->target_class, "version",
        iw_json_text(record->target_version), "started", started, "seconds", record->seconds,
        "exit", record->status, "summary", summary, "cases", cases));
}

void iw_json_write(FILE *out, const struct iw_record *record)
{
    json_t *all = iw_record_to_json(record);
    json_dumpf(all, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    putc('\n', out);
    json_decref(all);
}
