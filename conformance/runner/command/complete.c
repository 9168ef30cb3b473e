/* SPDX-License-Identifier: BSD-3-Clause */
#include "complete.h"

#include <stdio.h>
#include <string.h>

#include "command_setup.h"
#include "target/target_offer.h"

/* ---- cases, rules, checks ---- */

static void offer_cases(const struct iw_offers *to)
{
    const struct iw_command all = {.program = "iwarp-conform"};
    struct iw_setup s;
    if (iw_setup(&s, &all, false) == 0)
        for (size_t i = 0; i < s.suite.n_cases; i++)
            iw_offer(to, s.suite.cases[i]->id, s.suite.cases[i]->purpose);
    iw_setup_free(&s);
}

static void offer_rules(const struct iw_offers *to)
{
    for (size_t i = 0; i < IW_RULE_COUNT; i++)
        iw_offer(to, iw_rule_at(i)->id, iw_rule_at(i)->text);
}

/* Returns what is offered after a word that is there already, such as "rule:". */
static struct iw_offers after(const struct iw_offers *to, const char *word)
{
    size_t length = strlen(word);
    return (struct iw_offers){to->typed + length, to->before, to->length + (int)length};
}

static bool begins(const struct iw_offers *to, const char *word)
{
    return strncmp(to->typed, word, strlen(word)) == 0;
}

void iw_complete_choice(const struct iw_offers *to)
{
    static const char *const others[] = {"rule:",          "tag:",      "level:must",
                                         "level:should",   "level:may", "role:responder",
                                         "role:initiator", NULL};
    if (begins(to, "rule:")) {
        const struct iw_offers rule = after(to, "rule:");
        offer_rules(&rule);
        return;
    }
    offer_cases(to);
    iw_offer_words(to, others);
}

void iw_complete_switch(const struct iw_offers *to)
{
    static const struct {
        const char *name;
        enum iw_switch kind;
        enum iw_botch botch;
    } kinds[] = {{"ignore=", IW_SWITCH_IGNORE, IW_BOTCH_NONE},
                 {"overstrict=", IW_SWITCH_OVERSTRICT, IW_BOTCH_NONE},
                 {"violate=", IW_SWITCH_VIOLATE, IW_BOTCH_NONE},
                 {"botch=", IW_SWITCH_BOTCH, IW_BOTCH_SILENT}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!begins(to, kinds[i].name)) {
            iw_offer(to, kinds[i].name, NULL);
            continue;
        }
        const struct iw_offers check = after(to, kinds[i].name);
        for (int c = IW_CHECK_NONE + 1; c < IW_CHECK_COUNT; c++)
            if (iw_switch_applies(kinds[i].kind, (enum iw_check)c, kinds[i].botch))
                iw_offer(&check, iw_check_info((enum iw_check)c)->name,
                         iw_check_info((enum iw_check)c)->text);
    }
}

/* ---- operands ---- */

static const char *command;

void iw_complete_operands_of(const char *name)
{
    command = name;
}

static void offer_cases_and_rules(const struct iw_offers *to)
{
    offer_cases(to);
    offer_rules(to);
}

void iw_complete_operand(const struct iw_offers *to, size_t operand)
{
    static const struct {
        const char *command;
        void (*offer)(const struct iw_offers *to);
    } kinds[] = {
        {"run", iw_complete_choice},     {"list", iw_complete_choice},
        {"show", offer_cases_and_rules}, {"requirements", offer_rules},
        {"probe", iw_target_offer},      {"self-check", NULL},
    };
    (void)operand;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(command, kinds[i].command) == 0) {
            if (kinds[i].offer != NULL)
                kinds[i].offer(to);
            return;
        }
    iw_offer_files(to); /* captures, results, reports */
}
