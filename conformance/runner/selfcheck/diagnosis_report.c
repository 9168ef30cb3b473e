/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "diagnosis.h"
#include "host/text.h"

static double percent(size_t part, size_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 100.0;
}

/* All findings of a switch that accuses an innocent rule; else only the line of the switch. */
void iw_bent_print(FILE *out, const struct iw_bent *b, bool worse)
{
    size_t all, innocent;
    char *rules = iw_bent_rules(b, false, &all);
    free(iw_bent_rules(b, true, &innocent));
    fprintf(out, "%-44s %-8s %4zu FAIL %2zu finding%s %5.1f s  %s%s\n", b->name,
            iw_outcome_name(iw_bent_outcome(b)), b->n_failed, b->n_findings,
            b->n_findings == 1 ? " " : "s", b->seconds, rules, worse ? "  (was better)" : "");
    for (size_t i = 0; innocent > 0 && i < b->n_findings; i++) {
        const struct iw_accusation *a = &b->list[i];
        fprintf(out, "  %zu %s %s %s, %zu case%s (%s): %s\n", i + 1, iw_verdict_name(a->verdict),
                a->rule->id, a->belongs ? "belongs" : "is innocent", a->n_cases,
                a->n_cases == 1 ? "" : "s", a->id, a->text != NULL ? a->text : "");
    }
    free(rules);
    fflush(out);
}

void iw_diagnosis_print(FILE *out, const struct iw_diagnosis *d)
{
    struct iw_diagnosis_sum sum = iw_diagnosis_sum(d);
    const struct iw_findings *clean = &d->clean.findings;
    for (size_t i = 0; i < clean->count; i++)
        fprintf(out, "without any switch: %s %s in %zu cases (%s)\n",
                iw_verdict_name(clean->list[i].verdict), iw_finding_name(&clean->list[i]),
                clean->list[i].n_cases, d->clean.entries[clean->list[i].exhibit].result.id);
    fprintf(
        out,
        "\ndiagnosis: %zu of %zu switches lead to findings, %zu to other observations only; the "
        "first finding is right in %zu (%.1f %%), at most 3 findings in %zu (%.1f %%), of the "
        "rules accused %.3f belong on average",
        sum.noticed, sum.done, sum.observed, sum.right, percent(sum.right, sum.noticed), sum.few,
        percent(sum.few, sum.noticed), sum.belonging);
    if (d->n_errors)
        fprintf(out, ", %zu errors", d->n_errors);
    fprintf(out, "; %zu cases, %.1f s\n", d->n_cases, d->seconds);
}

/* ---- JSON ---- */

static json_t *findings_json(const struct iw_bent *b)
{
    json_t *list = iw_got(json_array());
    for (size_t i = 0; i < b->n_findings; i++) {
        const struct iw_accusation *a = &b->list[i];
        json_array_append_new(
            list,
            iw_got(json_pack("{s:I, s:s, s:s, s:b, s:I, s:s, s:o}", "number", (json_int_t)i + 1,
                             "rule", a->rule->id, "verdict", iw_verdict_name(a->verdict), "belongs",
                             (int)a->belongs, "count", (json_int_t)a->n_cases, "case", a->id,
                             "text", iw_json_text(a->text))));
    }
    return list;
}

static json_t *switches_json(const struct iw_diagnosis *d)
{
    json_t *list = iw_got(json_array());
    for (size_t i = 0; i < d->count; i++) {
        const struct iw_bent *b = &d->bent[i];
        if (!b->done)
            continue;
        json_array_append_new(
            list, iw_got(json_pack("{s:s, s:s, s:I, s:I, s:f, s:o}", "switch", b->name, "first",
                                   iw_outcome_name(iw_bent_outcome(b)), "failed",
                                   (json_int_t)b->n_failed, "observed", (json_int_t)b->n_observed,
                                   "seconds", b->seconds, "findings", findings_json(b))));
    }
    return list;
}

void iw_diagnosis_json(FILE *out, const struct iw_diagnosis *d)
{
    struct iw_diagnosis_sum sum = iw_diagnosis_sum(d);
    json_t *summary = iw_got(
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:I}", "switches", (json_int_t)sum.done,
                  "noticed", (json_int_t)sum.noticed, "observed", (json_int_t)sum.observed, "right",
                  (json_int_t)sum.right, "few", (json_int_t)sum.few, "belonging", sum.belonging,
                  "unclean", (json_int_t)d->n_unclean, "errors", (json_int_t)d->n_errors));
    json_t *all = iw_got(json_pack("{s:i, s:{s:s, s:s}, s:{s:s}, s:I, s:f, s:o, s:o}", "schema",
                                   (int)IW_REPORT_SCHEMA, "tool", "name", "iwarp-conform",
                                   "version", IW_VERSION, "suite", "version", d->suite->digest,
                                   "cases", (json_int_t)d->n_cases, "seconds", d->seconds,
                                   "summary", summary, "switches", switches_json(d)));
    json_dumpf(all, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    putc('\n', out);
    json_decref(all);
}
