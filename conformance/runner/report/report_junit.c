/* SPDX-License-Identifier: BSD-3-Clause */
/* JUnit's XML as CI servers read it: one testsuite, a testcase for each entry. FAIL is a failure,
 * ERROR an error, SKIP and INCONCLUSIVE are skipped. */
#include <stdlib.h>
#include <string.h>

#include "host/files.h"
#include "host/text.h"
#include "host/text_tools.h"
#include "report_junit.h"

static void put(FILE *out, const char *text)
{
    static const char *const pairs[] = {"&",  "&amp;",  "<",  "&lt;",  ">", "&gt;",
                                        "\"", "&quot;", "\n", "&#10;", NULL};
    iw_text_put(out, text, pairs);
}

static void attribute(FILE *out, const char *name, const char *text)
{
    fprintf(out, " %s=\"", name);
    put(out, text);
    putc('"', out);
}

static void line(FILE *out, const char *name, const char *text)
{
    if (text == NULL)
        return;
    fprintf(out, "%s: ", name);
    put(out, text);
    putc('\n', out);
}

/* Begins an element of which lines follow. */
static void begin(FILE *out, const char *element, const char *message, const char *type)
{
    fprintf(out, "      <%s", element);
    attribute(out, "message", message);
    attribute(out, "type", type);
    putc('>', out);
}

/* The findings that a case shows, by their numbers. */
static void findings(FILE *out, const struct iw_record *record, const struct iw_entry *entry)
{
    for (size_t i = 0; i < record->findings.count; i++) {
        const struct iw_finding *f = &record->findings.list[i];
        if (!iw_finding_has(f, (size_t)(entry - record->entries)))
            continue;
        char *text =
            iw_text_format("%zu, %s: %s", i + 1, iw_finding_name(f), iw_finding_text(f, record));
        line(out, "finding", text);
        free(text);
    }
}

/* What the case shows of its first finding, whose rule the element names; else the reason of its
 * verdict. */
static const char *message_of(const struct iw_record *record, const struct iw_entry *entry)
{
    const struct iw_result *r = &entry->result;
    size_t first = 0, count = record->findings.count;
    while (first < count &&
           !iw_finding_has(&record->findings.list[first], (size_t)(entry - record->entries)))
        first++;
    for (size_t k = 0; first < count && k < r->n_deviations; k++)
        if (iw_deviations_alike(&r->deviations[k],
                                iw_finding_deviation(&record->findings.list[first], record)))
            return r->deviations[k].text;
    return r->reason;
}

/* <failure> or <error> with all that is known. */
static void details(FILE *out, const char *element, const struct iw_record *record,
                    const struct iw_entry *entry)
{
    const struct iw_result *r = &entry->result;
    const struct iw_rule *rule = r->verdict == IW_VERDICT_ERROR ? NULL : iw_entry_rule(entry);
    const char *message = message_of(record, entry);
    begin(out, element, message, rule != NULL ? rule->id : iw_verdict_name(r->verdict));
    line(out, "rule", rule != NULL ? rule->text : NULL);
    if (r->reason != NULL && strcmp(message, r->reason) != 0)
        line(out, "reason", r->reason);
    findings(out, record, entry);
    line(out, "expected", r->expected);
    line(out, "actual", r->actual);
    line(out, "at", r->where);
    line(out, "capture", r->pcap);
    if (entry->c != NULL && record->again != NULL) {
        char *again = iw_text_format("%s%s", record->again, r->id);
        line(out, "again", again);
        free(again);
    }
    fprintf(out, "</%s>\n", element);
}

static void skipped(FILE *out, const struct iw_entry *entry)
{
    const struct iw_result *r = &entry->result;
    char *message =
        entry->pinned == IW_PINNED_EXPECTED
            ? iw_text_format("%s as expected: %s", iw_verdict_name(r->verdict), entry->known)
            : iw_text_format("%s%s", r->verdict == IW_VERDICT_SKIP ? "" : "inconclusive: ",
                             r->reason != NULL ? r->reason : "");
    fputs("      <skipped", out);
    attribute(out, "message", message);
    fputs("/>\n", out);
    free(message);
}

static void note(FILE *out, const struct iw_entry *entry)
{
    const struct iw_rule *rule = iw_entry_rule(entry);
    fputs("      <system-out>", out);
    line(out, rule != NULL ? rule->id : "note",
         entry->result.reason != NULL ? entry->result.reason : "");
    fputs("</system-out>\n", out);
}

/* Better than the baseline says. */
static void stale(FILE *out, const struct iw_entry *entry)
{
    begin(out, "failure", "the baseline is out of date", iw_verdict_name(entry->result.verdict));
    line(out, "baseline", entry->known);
    fputs("</failure>\n", out);
}

/* Returns the file's name without what differs from one checkout or installation to the next, so
 * that a CI server knows the case again. The caller frees it. */
static char *place(const char *file)
{
    const char *suite = strstr(file, "/conformance/cases/");
    return suite != NULL ? iw_text_copy(suite + 1) : iw_path_relative(file);
}

static void testcase(FILE *out, const struct iw_record *record, const struct iw_entry *entry)
{
    const struct iw_result *r = &entry->result;
    char *file = place(entry->file), *class = iw_text_copy(file);
    char *dot = strrchr(class, '.');
    if (dot != NULL)
        *dot = 0;
    fputs("    <testcase", out);
    attribute(out, "classname", class);
    attribute(out, "name", entry->c != NULL ? r->id : file);
    attribute(out, "file", file);
    if (entry->c != NULL)
        fprintf(out, " line=\"%d\"", entry->c->line);
    fprintf(out, " time=\"%.6f\"", r->seconds);
    free(class);
    free(file);
    if (r->verdict == IW_VERDICT_PASS && entry->pinned != IW_PINNED_STALE) {
        fputs("/>\n", out);
        return;
    }
    fputs(">\n", out);
    if (entry->pinned == IW_PINNED_STALE)
        stale(out, entry);
    else if (r->verdict == IW_VERDICT_FAIL && entry->pinned != IW_PINNED_EXPECTED)
        details(out, "failure", record, entry);
    else if (r->verdict == IW_VERDICT_ERROR)
        details(out, "error", record, entry);
    else if (r->verdict == IW_VERDICT_NOTE)
        note(out, entry);
    else
        skipped(out, entry);
    fputs("    </testcase>\n", out);
}

/* What <testsuites> and <testsuite> have in common. `expected`: failures that the baseline has. */
static void counts(FILE *out, const struct iw_record *record, size_t expected)
{
    const size_t *n = record->verdicts;
    attribute(out, "name", "iwarp-conform");
    fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"%.6f\"",
            iw_record_done(record), n[IW_VERDICT_FAIL] - expected + record->pinned[IW_PINNED_STALE],
            n[IW_VERDICT_ERROR], record->seconds);
}

static void property(FILE *out, const char *name, const char *value)
{
    if (value == NULL)
        return;
    fputs("      <property", out);
    attribute(out, "name", name);
    attribute(out, "value", value);
    fputs("/>\n", out);
}

void iw_junit_write(FILE *out, const struct iw_record *record)
{
    const size_t *n = record->verdicts;
    size_t expected = 0;
    char started[32];
    for (size_t i = 0; i < record->count; i++)
        expected += record->entries[i].done && record->entries[i].pinned == IW_PINNED_EXPECTED &&
                    record->entries[i].result.verdict == IW_VERDICT_FAIL;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", out);
    counts(out, record, expected);
    fputs(">\n  <testsuite", out);
    counts(out, record, expected);
    fprintf(out, " skipped=\"%zu\"", n[IW_VERDICT_SKIP] + n[IW_VERDICT_INCONCLUSIVE] + expected);
    iw_text_time(started, sizeof(started), "%Y-%m-%dT%H:%M:%S", record->started);
    attribute(out, "timestamp", started);
    fputs(">\n    <properties>\n", out);
    property(out, "version", record->version);
    property(out, "suite", record->suite);
    property(out, "target", record->target);
    property(out, "target-version", record->target_version);
    for (int i = 0; i < IW_DEVICE_FIELDS; i++) {
        char *name = iw_text_format("device-%s", iw_device_field_name((enum iw_device_field)i));
        property(out, i == IW_DEVICE_OPERATOR ? "operator" : name, record->device.is[i]);
        free(name);
    }
    for (size_t i = 0; record->facts != NULL && i < record->facts->count; i++) {
        const struct iw_fact *fact = &record->facts->list[i];
        const char *advice = fact->advice != NULL ? fact->advice : "";
        char *text =
            iw_text_format("%s: %s%s%s", fact->name, fact->text, *advice ? "; " : "", advice);
        property(out, "fact", text);
        free(text);
    }
    for (size_t i = 0; i < record->findings.count; i++) {
        const struct iw_finding *f = &record->findings.list[i];
        char *text =
            iw_text_format("%s %s in %zu case%s, shown by %s: %s", iw_verdict_name(f->verdict),
                           iw_finding_name(f), f->n_cases, f->n_cases > 1 ? "s" : "",
                           record->entries[f->exhibit].result.id, iw_finding_text(f, record));
        property(out, "finding", text);
        free(text);
    }
    fputs("    </properties>\n", out);
    for (size_t i = 0; i < record->count; i++)
        if (record->entries[i].done)
            testcase(out, record, &record->entries[i]);
    fputs("  </testsuite>\n</testsuites>\n", out);
}
