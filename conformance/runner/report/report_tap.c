/* SPDX-License-Identifier: BSD-3-Clause */
/* https://testanything.org/tap-version-14-specification.html */
#include "report_tap.h"

#include <stdlib.h>

#include "run/blocked.h"

#include "host/text_tools.h"

/* Text on one line after "# SKIP", and descriptions: '#' and '\' would mean something. */
static void put_line(FILE *out, const char *text)
{
    static const char *const pairs[] = {"#", "\\#", "\\", "\\\\", "\n", " ", NULL};
    iw_text_put(out, text, pairs);
}

/* A YAML scalar in double quotes. */
static void pair(FILE *out, const char *name, const char *text)
{
    static const char *const pairs[] = {"\"", "\\\"", "\\", "\\\\", "\n", "\\n", NULL};
    if (text == NULL)
        return;
    fprintf(out, "  %s: \"", name);
    iw_text_put(out, text, pairs);
    fputs("\"\n", out);
}

static void diagnostics(FILE *out, const struct iw_entry *entry)
{
    const struct iw_result *r = &entry->result;
    const struct iw_rule *rule = r->verdict == IW_VERDICT_ERROR ? NULL : iw_entry_rule(entry);
    fputs("  ---\n", out);
    pair(out, "verdict", iw_verdict_name(r->verdict));
    pair(out, "rule", rule != NULL ? rule->id : NULL);
    pair(out, "text", rule != NULL ? rule->text : NULL);
    pair(out, "reason", r->reason);
    pair(out, "expected", r->expected);
    pair(out, "actual", r->actual);
    pair(out, "at", r->where);
    pair(out, "capture", r->pcap);
    pair(out, "baseline", iw_pinned_name(entry->pinned));
    fputs("  ...\n", out);
}

void iw_tap_begin(FILE *out, const struct iw_record *record)
{
    char started[32];
    iw_text_time(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", record->started);
    fprintf(out, "TAP version 14\n1..%zu\n# target: ", record->count);
    put_line(out, record->target);
    fprintf(out, ", suite %s, %s\n", record->suite, started);
    fflush(out);
}

void iw_tap_facts(FILE *out, const struct iw_record *record)
{
    char *device = iw_device_text(&record->device);
    if (device != NULL) {
        fputs("# device: ", out);
        put_line(out, device);
        putc('\n', out);
    }
    free(device);
    for (size_t i = 0; record->facts != NULL && i < record->facts->count; i++) {
        const struct iw_fact *fact = &record->facts->list[i];
        fprintf(out, "# fact %s: ", fact->name);
        put_line(out, fact->text);
        if (fact->advice != NULL) {
            fputs("; ", out);
            put_line(out, fact->advice);
        }
        putc('\n', out);
    }
    fflush(out);
}

void iw_tap_findings(FILE *out, const struct iw_record *record)
{
    for (size_t i = 0; i < record->findings.count; i++) {
        const struct iw_finding *f = &record->findings.list[i];
        fprintf(out, "# finding %zu: %s %s in %zu case%s, shown by %s: ", i + 1,
                iw_verdict_name(f->verdict), iw_finding_name(f), f->n_cases,
                f->n_cases > 1 ? "s" : "", record->entries[f->exhibit].result.id);
        put_line(out, iw_finding_text(f, record));
        putc('\n', out);
        size_t blocked = iw_blocked_count(record, (unsigned)i + 1);
        if (blocked > 0)
            fprintf(out, "# finding %zu blocks %zu case%s\n", i + 1, blocked,
                    blocked > 1 ? "s" : "");
    }
    fflush(out);
}

void iw_tap_bail_out(FILE *out, const char *reason)
{
    fputs("Bail out! ", out);
    put_line(out, reason);
    putc('\n', out);
    fflush(out);
}

void iw_tap_entry(FILE *out, size_t number, const struct iw_entry *entry)
{
    const struct iw_result *r = &entry->result;
    bool good = r->verdict != IW_VERDICT_FAIL && r->verdict != IW_VERDICT_ERROR;
    fprintf(out, "%sok %zu - ", good ? "" : "not ", number);
    put_line(out, r->id);
    if (r->verdict == IW_VERDICT_SKIP || r->verdict == IW_VERDICT_INCONCLUSIVE) {
        fprintf(out, " # SKIP %s", r->verdict == IW_VERDICT_SKIP ? "" : "inconclusive: ");
        put_line(out, r->reason);
    } else if (entry->pinned == IW_PINNED_EXPECTED || entry->pinned == IW_PINNED_STALE) {
        fputs(" # TODO ", out); /* its consumer sees what passes all the same */
        put_line(out, entry->known);
    }
    putc('\n', out);
    if (r->verdict != IW_VERDICT_PASS && r->verdict != IW_VERDICT_SKIP)
        diagnostics(out, entry);
    fflush(out);
}
