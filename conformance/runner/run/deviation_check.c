/* SPDX-License-Identifier: BSD-3-Clause */
#include "deviation_check.h"

#include <stdio.h>
#include <string.h>

/* Returns whether a failure of the check leads to this Terminate, or to IW_CLOSES; any does for
 * NULL. */
static bool leads_to(const struct iw_check_info *info, const char *fault)
{
    char code[16];
    snprintf(code, sizeof(code), "%x/%x/%02x", info->layer, info->etype, info->code);
    return fault == NULL || (info->reaction == IW_REACTION_TERMINATE && strcmp(code, fault) == 0) ||
           (info->reaction == IW_REACTION_CLOSE && strcmp(IW_CLOSES, fault) == 0);
}

enum iw_check iw_deviation_check(const struct iw_deviation *d)
{
    enum iw_check other = IW_CHECK_NONE;
    for (int i = IW_CHECK_NONE + 1; i < IW_CHECK_COUNT; i++) {
        const struct iw_check_info *info = iw_check_info((enum iw_check)i);
        if (!leads_to(info, d->fault) || !iw_check_serves((enum iw_check)i, d->rule))
            continue;
        if (iw_rule_at(info->rule) == d->rule)
            return (enum iw_check)i;
        if (other == IW_CHECK_NONE)
            other = (enum iw_check)i;
    }
    return other;
}

bool iw_rules_share_check(const struct iw_rule *a, const struct iw_rule *b, const char *fault)
{
    for (int i = IW_CHECK_NONE + 1; i < IW_CHECK_COUNT; i++) {
        const enum iw_check check = (enum iw_check)i;
        if (leads_to(iw_check_info(check), fault) && iw_check_serves(check, a) &&
            iw_check_serves(check, b))
            return true;
    }
    return false;
}

bool iw_deviation_seen(const struct iw_deviation *d, enum iw_check check)
{
    return d->wire && strcmp(d->how, iw_check_info(check)->name) == 0;
}

bool iw_deviation_did(const struct iw_deviation *d, const char *how)
{
    return !d->wire && strcmp(d->how, how) == 0;
}

bool iw_deviation_refuses(const struct iw_deviation *d)
{
    return d->fault != NULL && iw_deviation_did(d, "refused");
}
