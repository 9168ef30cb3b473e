/* SPDX-License-Identifier: BSD-3-Clause */
/* The traceability matrix of a run (RFC 4180): every rule of the catalogue, and what became of it.
 */
#include <stdlib.h>
#include <string.h>

#include "host/csv.h"
#include "host/text_tools.h"
#include "report_csv.h"
#include "suite/proof.h"

/* What one case of the run says of a rule. */
enum answer { BROKEN, HELD, OPEN, NOT_SAID };

/* Returns whether a case is evidence of a finding that accuses the rule: the case may name others
 * only. */
static bool shows(const struct iw_record *record, size_t entry, const struct iw_rule *rule)
{
    for (size_t i = 0; i < record->findings.count; i++)
        if (record->findings.list[i].rule == rule &&
            iw_finding_has(&record->findings.list[i], entry))
            return true;
    return false;
}

static enum answer answer(const struct iw_record *record, size_t i, const struct iw_rule *rule)
{
    const struct iw_entry *entry = &record->entries[i];
    const struct iw_result *r = &entry->result;
    bool broken = r->verdict == IW_VERDICT_FAIL || r->verdict == IW_VERDICT_NOTE;
    if (!entry->done)
        return NOT_SAID;
    if ((broken && r->rule == rule) || shows(record, i, rule))
        return BROKEN; /* the observer may have found one that the case does not name */
    if (broken || entry->c == NULL || !iw_case_names_rule(entry->c, rule))
        return NOT_SAID;
    return r->verdict == IW_VERDICT_PASS ? HELD : OPEN;
}

/* The verdict on the rule: that of the gravest finding which accuses it, or of the gravest case
 * which broke it; else PASS if one held; else that of the cases which did not get to it; NULL if
 * none was played. */
static const char *verdict(const struct iw_record *record, const struct iw_rule *rule)
{
    static const enum iw_verdict order[] = {IW_VERDICT_FAIL,         IW_VERDICT_NOTE,
                                            IW_VERDICT_PASS,         IW_VERDICT_ERROR,
                                            IW_VERDICT_INCONCLUSIVE, IW_VERDICT_SKIP};
    for (size_t i = 0; i < record->findings.count; i++) /* the gravest come first */
        if (record->findings.list[i].rule == rule)
            return iw_verdict_name(record->findings.list[i].verdict);
    for (size_t o = 0; o < sizeof(order) / sizeof(*order); o++)
        for (size_t i = 0; i < record->count; i++)
            if (answer(record, i, rule) != NOT_SAID &&
                record->entries[i].result.verdict == order[o])
                return iw_verdict_name(order[o]);
    return NULL;
}

static void cases(FILE *out, const struct iw_record *record, const struct iw_rule *rule,
                  enum answer wanted)
{
    const char *blank = "";
    putc(',', out);
    for (size_t i = 0; i < record->count; i++) {
        if (answer(record, i, rule) != wanted)
            continue;
        fprintf(out, "%s%s", blank, record->entries[i].result.id);
        blank = " ";
    }
}

/* The numbers of the findings that accuse the rule. */
static void findings(FILE *out, const struct iw_record *record, const struct iw_rule *rule)
{
    const char *blank = "";
    for (size_t i = 0; i < record->findings.count; i++) {
        if (record->findings.list[i].rule != rule)
            continue;
        fprintf(out, "%s%zu", blank, i + 1);
        blank = " ";
    }
}

static void standing(FILE *out, const struct iw_record *record, const struct iw_rule *rule)
{
    const char *reason = NULL;
    if (record->whole != NULL && record->proof != NULL) {
        fputs(iw_standing_name(iw_proof_standing(record->proof, record->whole, rule, &reason)),
              out);
    }
    putc(',', out);
    iw_csv_field(out, reason);
}

void iw_csv_write(FILE *out, const struct iw_record *record)
{
    fputs("rule,rfc,section,level,implied,testable,verdict,broken_by,held_by,undecided_by,standing,"
          "reason,text,target,device,suite,started,findings\n",
          out);
    char *device = iw_device_text(&record->device), started[32];
    iw_text_time(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", record->started);
    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        const struct iw_rule *r = iw_rule_at(i);

        fprintf(out, "%s,%u,%s,%s,%s,%s,", r->id, r->rfc, r->section, iw_level_name(r->level),
                r->implied ? "yes" : "no", iw_testable_name(r->testable));
        iw_csv_field(out, verdict(record, r));
        cases(out, record, r, BROKEN);
        cases(out, record, r, HELD);
        cases(out, record, r, OPEN);
        putc(',', out);
        standing(out, record, r);
        putc(',', out);
        iw_csv_field(out, r->text);
        putc(',', out);
        iw_csv_field(out, record->target);
        putc(',', out);
        iw_csv_field(out, device);
        fprintf(out, ",%s,%s,", record->suite, started);
        findings(out, record, r);
        putc('\n', out);
    }
    free(device);
}
