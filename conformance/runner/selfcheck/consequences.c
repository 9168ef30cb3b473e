/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rules a bent peer breaks. */
#include <fnmatch.h>
#include <string.h>

#include "diagnosis.h"

/* Rules beyond those of the check: `switches` is a glob over the names of switches, `rules` are
 * globs over ids, separated by blanks, `sentence` is where the RFC says so. */
struct consequence {
    const char *switches, *rules, *sentence;
};

static const struct consequence consequences[] = {
    {NULL, NULL, NULL},
};

static bool serves(const struct iw_check_info *info, const struct iw_rule *rule)
{
    bool found = iw_rule_at(info->rule) == rule;
    for (size_t i = 0; !found && i < info->n_others; i++)
        found = iw_rule_at(info->others[i]) == rule;
    return found;
}

/* A receiver keeps a sender's rule, and the reverse, whatever the check says besides. */
static bool of_check(const struct iw_probe *p, const struct iw_rule *rule)
{
    const struct iw_check_info *info = iw_check_info(p->check);
    if (p->kind == IW_SWITCH_VIOLATE)
        return rule == iw_check_sender_rule(p->check) ||
               (serves(info, rule) && rule->subject != IW_SUBJECT_RECEIVER);
    return rule == iw_rule_at(info->rule) ||
           (serves(info, rule) && rule->subject != IW_SUBJECT_SENDER);
}

/* Whether a word of `globs` fits. */
static bool fits(const char *globs, const char *id)
{
    char word[32];
    for (size_t length; *globs != '\0'; globs += length + strspn(globs + length, " ")) {
        length = strcspn(globs, " ");
        snprintf(word, sizeof(word), "%.*s", (int)length, globs);
        if (fnmatch(word, id, 0) == 0)
            return true;
    }
    return false;
}

const char *iw_probe_consequence(const struct iw_probe *p, const struct iw_rule *rule)
{
    for (const struct consequence *c = consequences; c->switches != NULL; c++)
        if (fnmatch(c->switches, p->option + 2, 0) == 0 && fits(c->rules, rule->id))
            return c->sentence;
    return NULL;
}

bool iw_probe_breaks(const struct iw_probe *p, const struct iw_rule *rule)
{
    return of_check(p, rule) || iw_probe_consequence(p, rule) != NULL;
}
