/* SPDX-License-Identifier: BSD-3-Clause */
/* JUnit's XML as CI servers read it: one testsuite, a testcase for each entry. FAIL is a failure,
 * ERROR an error, SKIP and INCONCLUSIVE are skipped. */
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "report_junit.h"

static void put(FILE *out, const char *text)
{
    char *clean = iw_text_clean(text ? text : "");
    for (const char *s = clean; *s; s++) {
        switch (*s) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\n':
            fputs("&#10;", out);
            break;
        default:
            putc(*s, out);
        }
    }
    free(clean);
}

static void attribute(FILE *out, const char *name, const char *text)
{
    fprintf(out, " %s=\"", name);
    put(out, text);
    putc('"', out);
}

static void line(FILE *out, const char *name, const char *text)
{
    if (!text)
        return;
    put(out, name);
    fputs(": ", out);
    put(out, text);
    putc('\n', out);
}

/* <failure> or <error> with all that is known. */
static void details(FILE *out, const char *element, const struct iw_record *record,
                    const struct iw_entry *entry)
{
    const struct iw_result *r = &entry->result;
    const struct iw_rule *rule = r->verdict == IW_VERDICT_ERROR ? NULL : iw_entry_rule(entry);
    fprintf(out, "      <%s", element);
    attribute(out, "message", r->reason);
    attribute(out, "type", rule ? rule->id : iw_verdict_name(r->verdict));
    putc('>', out);
    line(out, "rule", rule ? rule->text : NULL);
    line(out, "expected", r->expected);
    line(out, "actual", r->actual);
    line(out, "at", r->where);
    line(out, "capture", r->pcap);
    if (entry->c && record->again) {
        put(out, "again: ");
        put(out, record->again);
        put(out, r->id);
        putc('\n', out);
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
                             r->reason ? r->reason : "");
    fputs("      <skipped", out);
    attribute(out, "message", message);
    fputs("/>\n", out);
    free(message);
}

static void note(FILE *out, const struct iw_entry *entry)
{
    const struct iw_rule *rule = iw_entry_rule(entry);
    fputs("      <system-out>", out);
    line(out, rule ? rule->id : "note", entry->result.reason ? entry->result.reason : "");
    fputs("</system-out>\n", out);
}

/* Better than the baseline says. */
static void stale(FILE *out, const struct iw_entry *entry)
{
    fputs("      <failure", out);
    attribute(out, "message", "the baseline is out of date");
    attribute(out, "type", iw_verdict_name(entry->result.verdict));
    putc('>', out);
    line(out, "baseline", entry->known);
    fputs("</failure>\n", out);
}

static void testcase(FILE *out, const struct iw_record *record, const struct iw_entry *entry)
{
    const struct iw_result *r = &entry->result;
    char *class = iw_text_copy(entry->file);
    char *dot = strrchr(class, '.');
    if (dot)
        *dot = 0;
    fputs("    <testcase", out);
    attribute(out, "classname", class);
    attribute(out, "name", r->id);
    attribute(out, "file", entry->file);
    if (entry->c)
        fprintf(out, " line=\"%d\"", entry->c->line);
    fprintf(out, " time=\"%.6f\"", r->seconds);
    free(class);
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

/* What <testsuites> and <testsuite> have in common. */
static void counts(FILE *out, const struct iw_record *record, size_t done, size_t known)
{
    const size_t *n = record->verdicts;
    attribute(out, "name", "iwarp-conform");
    fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"%.6f\"", done,
            n[IW_VERDICT_FAIL] - known + record->pinned[IW_PINNED_STALE], n[IW_VERDICT_ERROR],
            record->seconds);
}

void iw_junit_write(FILE *out, const struct iw_record *record)
{
    const size_t *n = record->verdicts;
    size_t done = 0, known = 0;
    char started[32] = "";
    struct tm utc;
    for (size_t i = 0; i < IW_VERDICT_COUNT; i++)
        done += n[i];
    for (size_t i = 0; i < record->count; i++)
        known += record->entries[i].done && record->entries[i].pinned == IW_PINNED_EXPECTED &&
                 record->entries[i].result.verdict == IW_VERDICT_FAIL;
    if (gmtime_r(&record->started, &utc))
        strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%S", &utc);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", out);
    counts(out, record, done, known);
    fputs(">\n  <testsuite", out);
    counts(out, record, done, known);
    fprintf(out, " skipped=\"%zu\"", n[IW_VERDICT_SKIP] + n[IW_VERDICT_INCONCLUSIVE] + known);
    attribute(out, "timestamp", started);
    fputs(">\n    <properties>\n", out);
    const char *const properties[][2] = {{"version", record->version},
                                         {"suite", record->suite},
                                         {"target", record->target},
                                         {"target-version", record->target_version}};
    for (size_t i = 0; i < sizeof(properties) / sizeof(*properties); i++) {
        if (!properties[i][1])
            continue;
        fputs("      <property", out);
        attribute(out, "name", properties[i][0]);
        attribute(out, "value", properties[i][1]);
        fputs("/>\n", out);
    }
    fputs("    </properties>\n", out);
    for (size_t i = 0; i < record->count; i++)
        if (record->entries[i].done)
            testcase(out, record, &record->entries[i]);
    fputs("  </testsuite>\n</testsuites>\n", out);
}
