/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "iwarp/rules.h"

/* Longer than any check name, rule id or reaction; longer words are unknown anyway. */
#define WORD_MAX 64

static const char *const botch_names[IW_BOTCH_COUNT] = {
    [IW_BOTCH_NONE] = "none",     [IW_BOTCH_LAYER] = "layer", [IW_BOTCH_TYPE] = "type",
    [IW_BOTCH_CODE] = "code",     [IW_BOTCH_PLACE] = "place", [IW_BOTCH_CLOSE] = "close",
    [IW_BOTCH_SILENT] = "silent", [IW_BOTCH_AGAIN] = "again",
};

const char *iw_botch_name(enum iw_botch botch)
{
    return botch_names[(size_t)botch < IW_BOTCH_COUNT ? botch : IW_BOTCH_NONE];
}

enum iw_botch iw_botch_find(const char *name)
{
    for (size_t i = IW_BOTCH_NONE + 1; i < IW_BOTCH_COUNT; i++)
        if (strcmp(botch_names[i], name) == 0)
            return (enum iw_botch)i;
    return IW_BOTCH_NONE;
}

/* Returns whether a wrong reaction can show: a check that only closes TCP can be silent, one that
 * sends a Terminate can be anything. */
static bool reaction_applies(const struct iw_check_info *info, enum iw_botch botch)
{
    return info->reaction == IW_REACTION_TERMINATE ||
           (info->reaction == IW_REACTION_CLOSE && botch == IW_BOTCH_SILENT);
}

/* Checks that come before anything could take effect: no segment, no place that it could name, or
 * no buffer. */
static bool nothing_to_place(enum iw_check check)
{
    return check == IW_CHECK_MPA_RTR_MATCH || check == IW_CHECK_MPA_IRD_SHORT ||
           check == IW_CHECK_DDP_HEADER_SHORT || check == IW_CHECK_DDP_QN ||
           check == IW_CHECK_DDP_NO_BUFFER || check == IW_CHECK_RDMAP_IMMEDIATE_LENGTH ||
           check == IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED;
}

bool iw_switch_applies(enum iw_switch kind, enum iw_check check, enum iw_botch botch)
{
    static const unsigned kinds[] = {[IW_SWITCH_IGNORE] = IW_KIND_ENDPOINT,
                                     [IW_SWITCH_OVERSTRICT] = IW_KIND_LEGAL,
                                     [IW_SWITCH_VIOLATE] = IW_KIND_VIOLATE,
                                     [IW_SWITCH_BOTCH] = IW_KIND_ENDPOINT};
    const struct iw_check_info *info = iw_check_info(check);

    if ((kind == IW_SWITCH_BOTCH) != (botch != IW_BOTCH_NONE) || !(info->kinds & kinds[kind]))
        return false;
    return kind != IW_SWITCH_BOTCH ||
           (reaction_applies(info, botch) && !(botch == IW_BOTCH_PLACE && nothing_to_place(check)));
}

/* Splits NAME or NAME=REACTION. Returns false if NAME is too long to be one. */
static bool split(const char *spec, char name[WORD_MAX], const char **reaction)
{
    size_t length = 0;

    while (spec[length] != '\0' && spec[length] != '=')
        length++;
    if (length >= WORD_MAX)
        return false;
    memcpy(name, spec, length);
    name[length] = '\0';
    *reaction = spec[length] == '=' ? spec + length + 1 : NULL;
    return true;
}

static void turn_on(struct iw_switches *switches, enum iw_switch kind, enum iw_check check,
                    enum iw_botch botch)
{
    switches->any = true;
    if (kind == IW_SWITCH_BOTCH)
        switches->botch[check] = (uint8_t)botch;
    else
        switches->set[check] = (uint8_t)(switches->set[check] | 1u << kind);
}

int iw_switches_set(struct iw_switches *switches, enum iw_switch kind, const char *spec,
                    const char **error)
{
    static const char *const inapplicable[] = {
        [IW_SWITCH_IGNORE] = "the endpoint does not enforce this, so it cannot be ignored",
        [IW_SWITCH_OVERSTRICT] = "this is not a legal thing that could be refused",
        [IW_SWITCH_VIOLATE] = "this side has no way to break this",
        [IW_SWITCH_BOTCH] = "this has no reaction that could go wrong in that way",
    };
    *error = "unknown check or rule";
    char name[WORD_MAX];
    const char *reaction = NULL;
    if (!split(spec, name, &reaction))
        return -1;
    enum iw_check single = iw_check_find(name);
    const enum iw_check *checks = &single;
    size_t n_checks = 1;
    if (single == IW_CHECK_NONE) {
        const struct iw_rule *rule = iw_rule_find(name);
        if (rule == NULL)
            return -1;
        *error = "no check serves this rule";
        if (rule->n_checks == 0)
            return -1;
        checks = rule->checks;
        n_checks = rule->n_checks;
    }

    enum iw_botch botch = IW_BOTCH_NONE;
    if (kind == IW_SWITCH_BOTCH) {
        *error = "expected NAME=layer|type|code|place|close|silent|again";
        botch = reaction != NULL ? iw_botch_find(reaction) : IW_BOTCH_NONE;
        if (botch == IW_BOTCH_NONE)
            return -1;
    } else if (reaction != NULL) {
        *error = "only --botch takes NAME=REACTION";
        return -1;
    }

    *error = inapplicable[kind];
    if (botch == IW_BOTCH_PLACE && nothing_to_place(checks[0]))
        *error = "nothing can be placed before this check";
    int count = 0;
    for (size_t i = 0; i < n_checks; i++) {
        if (iw_switch_applies(kind, checks[i], botch)) {
            turn_on(switches, kind, checks[i], botch);
            count++;
        }
    }
    return count > 0 ? count : -1;
}
