/* SPDX-License-Identifier: BSD-3-Clause */
#include "rule_sheet.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <strings.h>

#include "host/rule_link.h"
#include "host/text.h"

const struct iw_rule *iw_rule_named(const char *id)
{
    for (size_t i = 0; i < IW_RULE_COUNT; i++)
        if (strcasecmp(id, iw_rule_at(i)->id) == 0)
            return iw_rule_at(i);
    return NULL;
}

const struct iw_rule *iw_rule_fit(const char *glob, size_t from)
{
    for (size_t i = from; i < IW_RULE_COUNT; i++)
        if (fnmatch(glob, iw_rule_at(i)->id, FNM_CASEFOLD) == 0)
            return iw_rule_at(i);
    return NULL;
}

static const char *subject_of(const struct iw_rule *rule)
{
    static const char *const names[] = {
        [IW_SUBJECT_SENDER] = "who sends",        [IW_SUBJECT_RECEIVER] = "who receives",
        [IW_SUBJECT_BOTH] = "both sides",         [IW_SUBJECT_INITIATOR] = "the initiator",
        [IW_SUBJECT_RESPONDER] = "the responder", [IW_SUBJECT_ULP] = "the user of the stack",
    };

    return names[rule->subject];
}

void iw_rule_print_head(FILE *out, const struct iw_rule *rule)
{
    char *link = iw_rule_link(rule);
    fprintf(out, "%s  RFC %u section %s, %s%s\n  %s\n  %s\n", rule->id, rule->rfc, rule->section,
            iw_level_name(rule->level), rule->implied ? " (implied)" : "", link, rule->text);
    free(link);
}

static void print_cases(FILE *out, const struct iw_rule *rule, const struct iw_suite *suite,
                        const struct iw_proof *proof)
{
    size_t n = 0;
    for (size_t i = 0; i < suite->n_cases; i++)
        n += iw_case_names_rule(suite->cases[i], rule);
    if (n == 0) {
        fputs("  no case asks for it\n", out);
        return;
    }
    fprintf(out, "  %zu case%s ask%s for it: run --select rule:%s\n", n, n > 1 ? "s" : "",
            n > 1 ? "" : "s", rule->id);
    for (size_t i = 0; i < suite->n_cases; i++)
        if (iw_case_names_rule(suite->cases[i], rule))
            fprintf(out, "    %s (%s)  %s\n", suite->cases[i]->id,
                    iw_proof_pair(proof, suite->cases[i], rule) ? "proven" : "claimed",
                    suite->cases[i]->purpose);
}

void iw_rule_print(FILE *out, const struct iw_rule *rule, const struct iw_suite *suite,
                   const struct iw_proof *proof)
{
    const char *reason;
    enum iw_standing standing = iw_proof_standing(proof, suite, rule, &reason);
    iw_rule_print_head(out, rule);
    fprintf(out, "  binds     %s\n", subject_of(rule));
    fprintf(out, "  expected  %s\n", rule->expected);
    fprintf(out, "  tested    %s: %s\n", iw_testable_name(rule->testable), rule->how);
    fprintf(out, "  standing  %s%s%s\n", iw_standing_name(standing), reason != NULL ? ": " : "",
            reason != NULL ? reason : "");
    for (size_t i = 0; i < rule->n_checks; i++) {
        const struct iw_check_info *check = iw_check_info(rule->checks[i]);
        fprintf(out, "  %-9s %s: %s\n", i == 0 ? "checks" : "", check->name, check->text);
    }
    print_cases(out, rule, suite, proof);
}
