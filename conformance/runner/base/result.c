/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "runner.h"

const char *iw_verdict_name(enum iw_verdict verdict)
{
    static const char *const names[IW_VERDICT_COUNT] = {
        "PASS", "NOTE", "FAIL", "INCONCLUSIVE", "SKIP", "ERROR",
    };

    return (unsigned)verdict < IW_VERDICT_COUNT ? names[verdict] : "?";
}

const char *iw_testable_name(enum iw_testable testable)
{
    static const char *const names[] = {
        [IW_TESTABLE_NO] = "no",
        [IW_TESTABLE_API] = "api",
        [IW_TESTABLE_WIRE_PASSIVE] = "wire-passive",
        [IW_TESTABLE_WIRE_ACTIVE] = "wire-active",
    };

    return names[testable];
}

enum iw_verdict iw_rule_verdict(const struct iw_rule *rule)
{
    if (rule->level == IW_LEVEL_MAY)
        return IW_VERDICT_PASS;
    if (rule->implied || rule->level == IW_LEVEL_SHOULD || rule->level == IW_LEVEL_SHOULD_NOT)
        return IW_VERDICT_NOTE;
    return IW_VERDICT_FAIL;
}

void iw_result_free(struct iw_result *r)
{
    free(r->id);
    free(r->reason);
    free(r->expected);
    free(r->actual);
    free(r->pcap);
    free(r->where);
    free(r->observed);
    free(r->notes);
    free(r->exchange);
    *r = (struct iw_result){0};
}

void iw_case_free_all(struct iw_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct iw_case *c = &cases[i];

        for (size_t n = 0; n < c->n_tags; n++)
            free(c->tags[n]);
        for (size_t n = 0; n < c->n_needs; n++) {
            free(c->needs[n].name);
            free(c->needs[n].value);
        }
        free(c->tags);
        free(c->needs);
        free(c->rules);
        free(c->id);
        free(c->purpose);
        free(c->file);
    }
    free(cases);
}
