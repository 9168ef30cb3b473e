/* SPDX-License-Identifier: BSD-3-Clause */
#include "list_rules.h"

#include "iwarp/rules.h"

static void print_reaction(FILE *out, const struct iw_check_info *info)
{
    char text[16];
    snprintf(text, sizeof(text), "%u/%u/%02x", info->layer, info->etype, info->code);
    fprintf(out, "%-7s",
            info->reaction == IW_REACTION_TERMINATE ? text
            : info->reaction == IW_REACTION_CLOSE   ? "close"
            : info->reaction == IW_REACTION_LOCAL   ? "local"
                                                    : "-");
}

/* "botch", with the one reaction that applies, or without the one that does not. */
static const char *botch_text(enum iw_check check)
{
    if (!iw_switch_applies(IW_SWITCH_BOTCH, check, IW_BOTCH_CODE))
        return "botch=silent";
    return iw_switch_applies(IW_SWITCH_BOTCH, check, IW_BOTCH_PLACE) ? "botch" : "botch!=place";
}

static void print_check(FILE *out, enum iw_check check)
{
    const struct {
        enum iw_switch kind;
        enum iw_botch botch;
        const char *name;
    } switches[] = {{IW_SWITCH_IGNORE, IW_BOTCH_NONE, "ignore"},
                    {IW_SWITCH_OVERSTRICT, IW_BOTCH_NONE, "overstrict"},
                    {IW_SWITCH_VIOLATE, IW_BOTCH_NONE, "violate"},
                    {IW_SWITCH_BOTCH, IW_BOTCH_SILENT, botch_text(check)}};
    const struct iw_check_info *info = iw_check_info(check);
    char kinds[64] = "-";
    size_t used = 0;
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
        if (iw_switch_applies(switches[i].kind, check, switches[i].botch))
            used += (size_t)snprintf(kinds + used, sizeof(kinds) - used, "%s%s", used ? "," : "",
                                     switches[i].name);
    bool sent = info->kinds & (IW_KIND_OBSERVER | IW_KIND_VIOLATE);
    fprintf(out, "%-33s %-32s ", info->name, kinds);
    print_reaction(out, info);
    fprintf(out, " %-14s %-14s %s\n", iw_check_rule(check)->id,
            sent ? iw_check_sender_rule(check)->id : "-", info->text);
}

void iw_list_rules(FILE *out)
{
    fprintf(out, "# checks: name, switches that it takes, reaction, rule that a receiver enforces, "
                 "rule that the sender breaks, what is wrong\n");
    for (int c = IW_CHECK_NONE + 1; c < IW_CHECK_COUNT; c++)
        print_check(out, (enum iw_check)c);
    fprintf(out, "\n# rules: id, level, number of checks, requirement\n");
    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        const struct iw_rule *rule = iw_rule_at(i);
        fprintf(out, "%-17s %-10s %3zu %s\n", rule->id, iw_level_name(rule->level), rule->n_checks,
                rule->text);
    }
}
