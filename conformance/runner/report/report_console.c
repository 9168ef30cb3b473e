/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_console.h"

#include <stdlib.h>
#include <string.h>

#include "host/colour.h"
#include "host/text.h"
#include "host/text_tools.h"
#include "run/blocked.h"

enum { NAMED = 5 }; /* cases of a finding */

/* Prints a word in the colour of a verdict. */
static void word(FILE *out, const struct iw_record *record, enum iw_verdict verdict,
                 const char *text)
{
    static const char *const colours[IW_VERDICT_COUNT] = {
        [IW_VERDICT_PASS] = IW_HOST_GREEN, [IW_VERDICT_NOTE] = IW_HOST_YELLOW,
        [IW_VERDICT_FAIL] = IW_HOST_RED,   [IW_VERDICT_INCONCLUSIVE] = IW_HOST_MAGENTA,
        [IW_VERDICT_SKIP] = IW_HOST_DIM,   [IW_VERDICT_ERROR] = (IW_HOST_BOLD IW_HOST_RED),
    };

    if (record->colour)
        fprintf(out, "%s%s%s", colours[verdict], text, IW_HOST_PLAIN);
    else
        fputs(text, out);
}

static void name(FILE *out, const struct iw_record *record, enum iw_verdict verdict)
{
    word(out, record, verdict, iw_verdict_name(verdict));
}

static void field(FILE *out, const char *name, const char *text)
{
    char *clean = iw_text_clean(text);
    char *rest = clean, *line;
    while (clean != NULL && ((line = strsep(&rest, "\n")) != NULL)) {
        fprintf(out, "  %-9s %s\n", name, line);
        name = "";
    }
    free(clean);
}

static void rule(FILE *out, const struct iw_entry *entry)
{
    const struct iw_rule *r = iw_entry_rule(entry);
    if (r != NULL)
        fprintf(out, "  %-9s %s (%s%s): %s\n", "rule", r->id, iw_level_name(r->level),
                r->implied ? ", implied" : "", r->text);
}

static void where(FILE *out, const struct iw_entry *entry)
{
    const struct iw_case *c = entry->c;
    char *text = c != NULL ? iw_text_format("%s:%d", c->file, c->line) : iw_text_copy(entry->file);
    fprintf(out, "  %-9s %s\n", "case", text);
    if (entry->result.where != NULL && strcmp(entry->result.where, text) != 0)
        field(out, "at", entry->result.where);
    free(text);
}

static void whole(FILE *out, const struct iw_record *record, const struct iw_entry *entry)
{
    const struct iw_result *r = &entry->result;
    name(out, record, r->verdict);
    fprintf(out, " %s%s\n", r->id,
            entry->pinned == IW_PINNED_NEW ? " (not in the baseline)"
            : entry->pinned == IW_PINNED_CHANGED
                ? " (the baseline says that another thing is wrong)"
                : "");
    if (entry->pinned == IW_PINNED_CHANGED)
        field(out, "baseline", entry->seen != NULL ? entry->seen : entry->known);
    where(out, entry);
    if (r->verdict != IW_VERDICT_ERROR)
        rule(out, entry);
    field(out, "reason", r->reason);
    field(out, "expected", r->expected);
    field(out, "actual", r->actual);
    field(out, "notes", r->notes);
    field(out, "capture", r->pcap);
    if (entry->c != NULL && record->again != NULL)
        fprintf(out, "  %-9s %s%s\n", "again", record->again, r->id);
}

/* Returns whether an earlier case could not be decided for the same reason. */
static bool undecided_before(const struct iw_record *record, const struct iw_entry *entry)
{
    const struct iw_result *r = &entry->result;
    if (r->verdict != IW_VERDICT_INCONCLUSIVE || r->n_deviations > 0 || r->reason == NULL)
        return false;
    for (const struct iw_entry *e = record->entries; e < entry; e++)
        if (e->done && !e->unreached && e->result.verdict == IW_VERDICT_INCONCLUSIVE &&
            e->pinned == entry->pinned && e->result.reason != NULL &&
            strcmp(e->result.reason, r->reason) == 0)
            return true;
    return false;
}

/* The command that mends a line of the baseline: it plays this case and pins what comes. */
static void mend(FILE *out, const struct iw_record *record, const char *id)
{
    char *command = NULL;
    if (record->again == NULL || record->baseline == NULL || id == NULL)
        return;
    command = iw_text_format("%s%s --baseline", record->again, id);
    iw_text_join_word(&command, record->baseline);
    iw_text_join(&command, "", " --write-baseline");
    iw_text_join_word(&command, record->baseline);
    field(out, "mend", command);
    free(command);
}

/* Returns whether an earlier case showed all that this one shows. */
static bool repeats(const struct iw_record *record, const struct iw_entry *entry)
{
    const struct iw_result *r = &entry->result;
    for (size_t k = 0; k < r->n_deviations; k++) {
        bool shown = false;
        for (const struct iw_entry *e = record->entries; e < entry && !shown; e++)
            for (size_t i = 0; i < e->result.n_deviations && !shown; i++)
                shown = e->done && e->pinned != IW_PINNED_EXPECTED &&
                        iw_deviations_alike(&e->result.deviations[i], &r->deviations[k]);
        if (!shown)
            return false;
    }
    return r->n_deviations > 0;
}

void iw_console_facts(FILE *out, const struct iw_record *record)
{
    char *device = iw_device_text(&record->device);
    if (device != NULL)
        fprintf(out, "device: %s\n", device);
    free(device);
    for (size_t i = 0; record->facts != NULL && i < record->facts->count; i++) {
        const struct iw_fact *fact = &record->facts->list[i];
        char *text = iw_text_format("target: %s", fact->text), *clean = iw_text_clean(text);
        fprintf(out, "%s\n", clean);
        if (fact->advice != NULL)
            fprintf(out, "  %s\n", fact->advice);
        free(text);
        free(clean);
    }
    fflush(out);
}

void iw_console_schedule(FILE *out, const struct iw_record *record, size_t chosen)
{
    if (record->shard != NULL)
        fprintf(out, "shard %s: %zu of %zu case%s\n", record->shard, record->count, chosen,
                iw_text_plural(chosen));
    if (record->order != NULL)
        fprintf(out, "order: %s\n", record->order);
    fflush(out);
}

void iw_console_entry(FILE *out, const struct iw_record *record, const struct iw_entry *entry,
                      bool verbose)
{
    const struct iw_result *r = &entry->result;
    if (entry->unreached)
        return; /* said once, in the summary */
    if (entry->pinned == IW_PINNED_STALE) {
        word(out, record, IW_VERDICT_NOTE, "STALE");
        fprintf(out, " %s: %s, but the baseline says: %s\n", r->id, iw_verdict_name(r->verdict),
                entry->known);
        mend(out, record, r->id);
    }
    if (entry->pinned == IW_PINNED_EXPECTED) {
        if (verbose) {
            name(out, record, r->verdict);
            fprintf(out, " %s: as expected: %s\n", r->id, entry->known);
        }
    } else if (r->verdict == IW_VERDICT_PASS) {
        if (verbose || record->remarks) {
            name(out, record, r->verdict);
            fprintf(out, " %s%s%s\n", r->id, r->observed != NULL ? ": " : "",
                    r->observed != NULL ? r->observed : "");
        }
        if (record->remarks)
            field(out, "notes", r->notes);
    } else if (r->verdict == IW_VERDICT_SKIP) {
        if (verbose) {
            name(out, record, r->verdict);
            fprintf(out, " %s: %s\n", r->id, r->reason != NULL ? r->reason : "");
        }
    } else if (!verbose && (repeats(record, entry) || iw_blocked_repeats(record, entry) ||
                            undecided_before(record, entry))) {
        return; /* counted in its finding, or in the summary */
    } else {
        whole(out, record, entry);
    }
}

void iw_console_progress(FILE *out, const struct iw_record *record, const char *id, double seconds)
{
    fprintf(out, "\r\033[K");
    if (id != NULL)
        fprintf(out, "[%zu/%zu] %zu FAIL  ", iw_record_done(record), record->count,
                record->verdicts[IW_VERDICT_FAIL] + record->verdicts[IW_VERDICT_ERROR]);
    if (id != NULL && seconds >= 0)
        fprintf(out, "%lld:%02lld left  ", (long long)seconds / 60, (long long)seconds % 60);
    if (id != NULL)
        fprintf(out, "%.60s", id);
    fflush(out);
}

/* Returns whether the summary counts a case by its reason. */
static bool by_reason(const struct iw_entry *entry, enum iw_verdict verdict)
{
    const struct iw_result *r = &entry->result;
    return entry->done && r->verdict == verdict && r->reason != NULL &&
           (verdict == IW_VERDICT_SKIP ||
            (r->n_deviations == 0 && r->blocked == NULL && !entry->unreached &&
             entry->pinned != IW_PINNED_EXPECTED));
}

/* Cases that were skipped, or not decided, one line for each reason: there may be many of either.
 * Of what was printed as it ended (`more`), only if there are more. */
static void reasons(FILE *out, const struct iw_record *record, enum iw_verdict verdict, bool more)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct iw_result *r = &record->entries[i].result;
        size_t before = 0, n = 0;
        for (size_t k = 0; k < record->count && by_reason(&record->entries[i], verdict); k++) {
            const struct iw_entry *other = &record->entries[k];
            bool same = by_reason(other, verdict) && strcmp(other->result.reason, r->reason) == 0;
            n += same;
            before += same && k < i;
        }
        if (n == 0 || before > 0 || (n == 1 && more))
            continue;
        name(out, record, verdict);
        if (n == 1)
            fprintf(out, " %s: %s\n", r->id, r->reason);
        else
            fprintf(out, " %zu cases (%s ...): %s\n", n, r->id, r->reason);
    }
}

/* ---- findings ---- */

static void cases(FILE *out, const struct iw_record *record, const struct iw_finding *f)
{
    fprintf(out, "  %-9s %zu:", "cases", f->n_cases);
    for (size_t i = 0; i < f->n_cases && i < NAMED; i++)
        fprintf(out, " %s", record->entries[f->cases[i]].result.id);
    fputs(f->n_cases > NAMED ? " ...\n" : "\n", out);
}

/* In which roles the target did it. */
static void roles(FILE *out, const struct iw_record *record, const struct iw_finding *f)
{
    bool as[2] = {false, false};
    for (size_t i = 0; i < f->n_cases; i++)
        as[record->entries[f->cases[i]].result.role] = true;
    fprintf(out, "  %-9s the target as %s%s%s\n", "by",
            as[IW_MPA_RESPONDER] ? iw_role_name(IW_MPA_RESPONDER) : "",
            as[0] && as[1] ? " and " : "",
            as[IW_MPA_INITIATOR] ? iw_role_name(IW_MPA_INITIATOR) : "");
}

static void finding(FILE *out, const struct iw_record *record, const struct iw_finding *f)
{
    const struct iw_deviation *d = iw_finding_deviation(f, record);
    const struct iw_result *r = &record->entries[f->exhibit].result;
    fprintf(out, "%sfinding %zu:%s ", record->colour ? IW_HOST_BOLD : "",
            (size_t)(f - record->findings.list) + 1, record->colour ? IW_HOST_PLAIN : "");
    name(out, record, f->verdict);
    fprintf(out, " %s", iw_finding_name(f));
    if (f->rule != NULL)
        fprintf(out, " (%s%s): %s", iw_level_name(f->rule->level),
                f->rule->implied ? ", implied" : "", f->rule->text);
    putc('\n', out);
    roles(out, record, f);
    field(out, "what", iw_finding_text(f, record));
    field(out, "expected", d->expected);
    field(out, "actual", d->actual);
    field(out, "output", r->log);
    cases(out, record, f);
    size_t blocked = iw_blocked_count(record, (unsigned)(f - record->findings.list) + 1);
    if (blocked > 0)
        fprintf(out, "  %-9s %zu INCONCLUSIVE\n", "blocks", blocked);
    if (r->pcap != NULL && d->frame > 0)
        fprintf(out, "  %-9s frame %llu of %s\n", "shown by", (unsigned long long)d->frame,
                r->pcap);
    if (record->entries[f->exhibit].c != NULL && record->again != NULL)
        fprintf(out, "  %-9s %s%s\n", "again", record->again, r->id);
}

static void findings(FILE *out, const struct iw_record *record)
{
    size_t known = 0;
    for (size_t i = 0; i < record->findings.count; i++) {
        const struct iw_finding *f = &record->findings.list[i];
        known += f->known;
        if (!f->known)
            finding(out, record, f);
    }
    size_t blocked = iw_blocked_count(record, 0);
    if (blocked > 0)
        fprintf(out,
                "%zu INCONCLUSIVE: blocked, but no case of this run is about what is missing\n",
                blocked);
    if (known > 0)
        fprintf(out, "%zu finding%s as the baseline says\n", known, known > 1 ? "s" : "");
}

/* What the rounds of a case disagreed about. */
static void unstable(FILE *out, const struct iw_record *record)
{
    size_t n = 0;
    for (size_t i = 0; i < record->count; i++) {
        const struct iw_entry *entry = &record->entries[i];
        const char *comma = "";

        if (!iw_entry_unstable(entry))
            continue;
        n++;
        fprintf(out, "UNSTABLE %s: ", entry->result.id);
        for (size_t v = 0; v < IW_VERDICT_COUNT; v++) {
            if (entry->rounds[v])
                fprintf(out, "%s%u %s", comma, entry->rounds[v],
                        iw_verdict_name((enum iw_verdict)v));
            comma = entry->rounds[v] ? ", " : comma;
        }
        putc('\n', out);
    }
    fprintf(out, "%u rounds: %zu of %zu case%s gave more than one verdict\n", record->repeat, n,
            record->count, iw_text_plural(record->count));
}

static void baseline(FILE *out, const struct iw_record *record)
{
    const char *some = NULL; /* a case, for the command has to play one */
    for (size_t i = 0; i < record->count && some == NULL; i++)
        some = record->entries[i].c != NULL ? record->entries[i].c->id : NULL;
    for (size_t i = 0; i < record->n_unknown; i++) {
        word(out, record, IW_VERDICT_NOTE, "STALE");
        fprintf(out, " %s: the baseline has it, but there is no such case\n", record->unknown[i]);
    }
    if (record->n_unknown > 0)
        mend(out, record, some);
    size_t changed = record->pinned[IW_PINNED_CHANGED], new = record->pinned[IW_PINNED_NEW],
           stale = record->pinned[IW_PINNED_STALE];
    fprintf(out, "baseline %s: %zu as expected, %zu new, %zu stale", record->baseline,
            record->pinned[IW_PINNED_EXPECTED], new, stale + record->n_unknown);
    if (changed > 0)
        fprintf(out, ", %zu changed", changed);
    if (record->made_for != NULL)
        fprintf(out, "; made for %s, this is %s: %zu differ", record->made_for,
                record->target_version, new + stale + changed);
    putc('\n', out);
}

void iw_console_summary(FILE *out, const struct iw_record *record, bool verbose)
{
    if (!verbose) {
        reasons(out, record, IW_VERDICT_INCONCLUSIVE, true);
        reasons(out, record, IW_VERDICT_SKIP, false);
    }
    findings(out, record);
    for (size_t i = 0; i < record->count; i++) {
        if (record->entries[i].unreached) {
            fprintf(out, "%s: %s\n", record->target,
                    record->entries[i].result.reason != NULL ? record->entries[i].result.reason
                                                             : "");
            break;
        }
    }
    if (record->repeat > 1)
        unstable(out, record);
    if (record->baseline != NULL)
        baseline(out, record);
    for (size_t i = 0; i < IW_VERDICT_COUNT; i++) {
        fprintf(out, "%s%zu ", i ? ", " : "", record->verdicts[i]);
        if (record->verdicts[i] > 0)
            name(out, record, (enum iw_verdict)i);
        else
            fputs(iw_verdict_name((enum iw_verdict)i), out);
    }
    fprintf(out, "; %.1f s, target %s\n", record->seconds, record->target);
    if (record->dir != NULL)
        fprintf(out, "results: %s\n", record->dir);
}
