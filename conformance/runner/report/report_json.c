/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_json.h"

#include "host/text.h"
#include "host/text_tools.h"
#include "run/blocked.h"

static json_t *rules(const struct iw_case *c)
{
    json_t *list = iw_got(json_array());
    for (size_t i = 0; c != NULL && i < c->n_rules; i++)
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

/* The numbers of the findings that a case shows. */
static json_t *numbers(const struct iw_record *record, size_t entry)
{
    json_t *list = iw_got(json_array());
    for (size_t i = 0; i < record->findings.count; i++)
        if (iw_finding_has(&record->findings.list[i], entry))
            json_array_append_new(list, json_integer((json_int_t)i + 1));
    return list;
}

static json_t *exhibit(const struct iw_record *record, const struct iw_finding *f)
{
    const struct iw_deviation *d = iw_finding_deviation(f, record);
    const struct iw_result *r = &record->entries[f->exhibit].result;
    return iw_got(json_pack("{s:o, s:o, s:o}", "case", iw_json_text(r->id), "frame",
                            d->frame ? json_integer((json_int_t)d->frame) : json_null(), "pcap",
                            iw_json_text(r->pcap)));
}

static json_t *findings(const struct iw_record *record)
{
    json_t *list = iw_got(json_array());
    for (size_t i = 0; i < record->findings.count; i++) {
        const struct iw_finding *f = &record->findings.list[i];
        const struct iw_deviation *d = iw_finding_deviation(f, record);
        json_t *cases = iw_got(json_array());
        for (size_t k = 0; k < f->n_cases; k++)
            json_array_append_new(cases, iw_json_text(record->entries[f->cases[k]].result.id));
        json_array_append_new(
            list, iw_got(json_pack(
                      "{s:I, s:o, s:s, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:b, s:I}", "number",
                      (json_int_t)i + 1, "rule", iw_json_text(f->rule != NULL ? f->rule->id : NULL),
                      "verdict", iw_verdict_name(f->verdict), "text",
                      iw_json_text(iw_finding_text(f, record)), "expected",
                      iw_json_text(d->expected), "actual", iw_json_text(d->actual), "count",
                      (json_int_t)f->n_cases, "cases", cases, "exhibit", exhibit(record, f), "log",
                      iw_json_text(record->entries[f->exhibit].result.log), "known", (int)f->known,
                      "blocks", (json_int_t)iw_blocked_count(record, (unsigned)i + 1))));
    }
    return list;
}

/* Members that every consumer may count on come first and are null where there is nothing. */
static json_t *entry_json(const struct iw_record *record, size_t index)
{
    const struct iw_entry *entry = &record->entries[index];
    bool repeated = record->repeat > 1;
    const struct iw_case *c = entry->c;
    const struct iw_result *r = &entry->result;
    json_t *all = iw_result_to_json(r);
    json_object_del(all, "deviations");
    json_object_set_new(all, "findings", numbers(record, index));
    json_t *object = iw_got(json_pack(
        "{s:o, s:s, s:o, s:o, s:O, s:o, s:o, s:o, s:o, s:o, s:o*, s:s*, s:s*, s:o*, s:o*}", "id",
        iw_json_text(r->id), "verdict", iw_verdict_name(r->verdict), "role",
        iw_json_text(c != NULL ? iw_role_name(c->role) : NULL), "rules", rules(c), "seconds",
        json_object_get(all, "seconds"), "reason", iw_json_text(r->reason), "expected",
        iw_json_text(r->expected), "actual", iw_json_text(r->actual), "pcap", iw_json_text(r->pcap),
        "file", iw_json_text(entry->file), "line", c != NULL ? json_integer(c->line) : NULL,
        "level", c != NULL ? iw_case_level(c) : NULL, "baseline", iw_pinned_name(entry->pinned),
        "known", entry->known != NULL ? iw_json_text(entry->known) : NULL, "rounds",
        repeated ? rounds(entry) : NULL));
    json_object_update_missing(object, all);
    json_decref(all);
    return object;
}

static json_t *facts(const struct iw_record *record)
{
    json_t *list = iw_got(json_array());
    for (size_t i = 0; record->facts != NULL && i < record->facts->count; i++) {
        const struct iw_fact *fact = &record->facts->list[i];
        json_array_append_new(
            list,
            iw_got(json_pack("{s:o, s:o, s:o}", "name", iw_json_text(fact->name), "text",
                             iw_json_text(fact->text), "advice", iw_json_text(fact->advice))));
    }
    return list;
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
            json_array_append_new(cases, entry_json(record, i));
    return iw_got(json_pack(
        "{s:i, s:{s:s, s:s}, s:{s:s, s:I}, s:{s:o, s:s, s:o}, s:o, s:s*, s:s*, s:s, s:f, s:i, s:o, "
        "s:o, s:o, s:o}",
        "schema", (int)IW_REPORT_SCHEMA, "tool", "name", "iwarp-conform", "version",
        record->version, "suite", "version", record->suite, "cases", (json_int_t)record->count,
        "target", "name", iw_json_text(record->target), "class", record->target_class, "version",
        iw_json_text(record->target_version), "device", iw_device_to_json(&record->device), "shard",
        record->shard, "order", record->order, "started", started, "seconds", record->seconds,
        "exit", record->status, "summary", summary, "facts", facts(record), "findings",
        findings(record), "cases", cases));
}

void iw_json_write(FILE *out, const struct iw_record *record)
{
    json_t *all = iw_record_to_json(record);
    json_dumpf(all, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    putc('\n', out);
    json_decref(all);
}
