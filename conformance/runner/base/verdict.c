/* SPDX-License-Identifier: BSD-3-Clause */
#include "verdict.h"

#include <string.h>

static const char *const names[IW_VERDICT_COUNT] = {
    "PASS", "NOTE", "FAIL", "INCONCLUSIVE", "SKIP", "ERROR",
};

const char *iw_verdict_name(enum iw_verdict verdict)
{
    return (unsigned)verdict < IW_VERDICT_COUNT ? names[verdict] : "?";
}

bool iw_verdict_find(const char *name, enum iw_verdict *out)
{
    for (int v = 0; name != NULL && v < IW_VERDICT_COUNT; v++) {
        if (strcmp(name, names[v]) == 0) {
            *out = (enum iw_verdict)v;
            return true;
        }
    }
    return false;
}

int iw_verdict_gravity(enum iw_verdict verdict)
{
    static const int gravities[IW_VERDICT_COUNT] = {
        [IW_VERDICT_PASS] = 1, [IW_VERDICT_SKIP] = 0,         [IW_VERDICT_NOTE] = 2,
        [IW_VERDICT_FAIL] = 4, [IW_VERDICT_INCONCLUSIVE] = 3, [IW_VERDICT_ERROR] = 5,
    };
    return gravities[verdict];
}
const char *iw_testable_name(enum iw_testable testable)
{
    static const char *const places[] = {
        [IW_TESTABLE_NO] = "no",
        [IW_TESTABLE_API] = "api",
        [IW_TESTABLE_WIRE_PASSIVE] = "wire-passive",
        [IW_TESTABLE_WIRE_ACTIVE] = "wire-active",
    };
    return places[testable];
}

enum iw_verdict iw_rule_verdict(const struct iw_rule *rule)
{
    if (rule->level == IW_LEVEL_MAY)
        return IW_VERDICT_PASS;
    if (rule->implied || rule->level == IW_LEVEL_SHOULD || rule->level == IW_LEVEL_SHOULD_NOT)
        return IW_VERDICT_NOTE;
    return IW_VERDICT_FAIL;
}
