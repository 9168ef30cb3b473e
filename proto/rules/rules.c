/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/rules.h"

#include <string.h>

#include "rules/table.h"

const struct iw_rule *iw_rule_at(size_t index)
{
    return index < IW_RULE_COUNT ? &iw_rules_table[index] : NULL;
}

const struct iw_rule *iw_rule_find(const char *id)
{
    size_t first = 0, end = IW_RULE_COUNT;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        const struct iw_rule *rule = &iw_rules_table[iw_rules_by_id[middle]];
        int order = strcmp(id, rule->id);
        if (order == 0)
            return rule;
        if (order < 0)
            end = middle;
        else
            first = middle + 1;
    }
    return NULL;
}

size_t iw_rule_index(const struct iw_rule *rule)
{
    return (size_t)(rule - iw_rules_table);
}

static bool in_section(size_t index, unsigned rfc, const char *section)
{
    return index < IW_RULE_COUNT && iw_rules_table[index].rfc == rfc &&
           strcmp(iw_rules_table[index].section, section) == 0;
}

const struct iw_rule *iw_rules_of_section(unsigned rfc, const char *section, size_t *count)
{
    size_t first = 0;
    while (first < IW_RULE_COUNT && !in_section(first, rfc, section))
        first++;
    *count = 0;
    while (in_section(first + *count, rfc, section))
        ++*count;
    return *count ? &iw_rules_table[first] : NULL;
}

const char *iw_level_name(enum iw_level level)
{
    static const char *const names[] = {
        [IW_LEVEL_MAY] = "MAY",
        [IW_LEVEL_SHOULD] = "SHOULD",
        [IW_LEVEL_SHOULD_NOT] = "SHOULD NOT",
        [IW_LEVEL_MUST] = "MUST",
        [IW_LEVEL_MUST_NOT] = "MUST NOT",
    };
    return (size_t)level < sizeof(names) / sizeof(names[0]) ? names[level] : "?";
}

const struct iw_check_info *iw_check_info(enum iw_check check)
{
    return &iw_checks_table[(size_t)check < IW_CHECK_COUNT ? check : IW_CHECK_NONE];
}

enum iw_check iw_check_find(const char *name)
{
    for (size_t i = IW_CHECK_NONE + 1; i < IW_CHECK_COUNT; i++)
        if (strcmp(iw_checks_table[i].name, name) == 0)
            return (enum iw_check)i;
    return IW_CHECK_NONE;
}

const struct iw_rule *iw_check_rule(enum iw_check check)
{
    if (check == IW_CHECK_NONE || (size_t)check >= IW_CHECK_COUNT)
        return NULL;
    return &iw_rules_table[iw_checks_table[check].rule];
}

const struct iw_rule *iw_check_sender_rule(enum iw_check check)
{
    if (check == IW_CHECK_NONE || (size_t)check >= IW_CHECK_COUNT)
        return NULL;
    return &iw_rules_table[iw_checks_table[check].sender];
}

bool iw_check_serves(enum iw_check check, const struct iw_rule *rule)
{
    for (size_t i = 0; rule != NULL && i < rule->n_checks; i++)
        if (rule->checks[i] == check)
            return true;
    return false;
}
