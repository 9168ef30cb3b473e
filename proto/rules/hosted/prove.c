/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Only in builds with IW_PROVE: the environment variable IW_MUTANT, "KIND:CHECK" or
 * "botch:CHECK=REACTION", bends the library without the tests' knowledge; at least one of them has
 * to notice (tools/dev prove). "list" lists all mutants instead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/rules.h"

enum { USAGE = 64 };

#define NO_SWITCH ((enum iw_switch)(-1))

static const struct kind {
    const char *name;
    enum iw_switch kind;
    bool set; /* the answer of the query about this switch */
} kinds[] = {
    {"ignore", IW_SWITCH_IGNORE, true},     /* the check is compiled out */
    {"strict", IW_SWITCH_OVERSTRICT, true}, /* a legal thing is refused */
    {"violate", IW_SWITCH_VIOLATE, true},   /* the sender breaks the rule */
    {"enforce", IW_SWITCH_IGNORE, false},   /* --ignore has no effect */
    {"lax", IW_SWITCH_OVERSTRICT, false},   /* nor has --overstrict */
    {"obedient", IW_SWITCH_VIOLATE, false}, /* nor --violate */
    {"able", IW_SWITCH_BOTCH, false},       /* nor --botch */
    {"botch", IW_SWITCH_BOTCH, true},       /* the reaction is wrong */
    {"blind", NO_SWITCH, true},             /* the observer does not find it */
};

static const struct kind *mutant;
static enum iw_check mutant_check;
static enum iw_botch mutant_botch;
static _Thread_local bool paused;

static bool applies(const struct kind *k, enum iw_check check, enum iw_botch botch)
{
    const struct iw_check_info *info = iw_check_info(check);

    if (k->kind == NO_SWITCH)
        return info->kinds & IW_KIND_OBSERVER;
    /* A fault of our own: it has no switches, but a mutant can omit it or report it wrongly. */
    if (info->kinds == 0 && info->reaction == IW_REACTION_TERMINATE)
        return k->set && (k->kind == IW_SWITCH_IGNORE ||
                          (k->kind == IW_SWITCH_BOTCH && botch != IW_BOTCH_PLACE));
    return iw_switch_applies(k->kind, check, botch);
}

static void list_kind(const struct kind *k, enum iw_check check)
{
    bool botched = false;

    if (k->kind != IW_SWITCH_BOTCH) {
        if (applies(k, check, IW_BOTCH_NONE))
            printf("%s:%s\n", k->name, iw_check_info(check)->name);
        return;
    }
    for (int b = IW_BOTCH_NONE + 1; b < IW_BOTCH_COUNT; b++) {
        if (!applies(k, check, (enum iw_botch)b))
            continue;
        botched = true;
        if (k->set)
            printf("%s:%s=%s\n", k->name, iw_check_info(check)->name,
                   iw_botch_name((enum iw_botch)b));
    }
    if (botched && !k->set)
        printf("%s:%s\n", k->name, iw_check_info(check)->name);
}

static void list(void)
{
    for (int c = IW_CHECK_NONE + 1; c < IW_CHECK_COUNT; c++)
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
            list_kind(&kinds[i], (enum iw_check)c);
    fflush(stdout);
    _Exit(0);
}

static void refuse(const char *text)
{
    fprintf(stderr, "IW_MUTANT=%s: there is no such mutant\n", text);
    _Exit(USAGE);
}

__attribute__((constructor)) static void choose(void)
{
    const char *text = getenv("IW_MUTANT");
    if (text == NULL || text[0] == '\0')
        return;
    if (strcmp(text, "list") == 0)
        list();
    char name[96];
    if (strlen(text) >= sizeof(name))
        refuse(text);
    memcpy(name, text, strlen(text) + 1);
    char *check = strchr(name, ':');
    if (check == NULL)
        refuse(text);
    *check++ = '\0';
    char *reaction = strchr(check, '=');
    if (reaction != NULL)
        *reaction++ = '\0';
    mutant_check = iw_check_find(check);
    mutant_botch = reaction != NULL ? iw_botch_find(reaction) : IW_BOTCH_NONE;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, name) == 0)
            mutant = &kinds[i];
    if (mutant == NULL || mutant_check == IW_CHECK_NONE ||
        (reaction != NULL) != (mutant_botch != IW_BOTCH_NONE))
        refuse(text);
}

bool iw_prove_any(void)
{
    return mutant != NULL;
}

void iw_prove_pause(bool pause)
{
    paused = pause;
}

static bool is_mutant(enum iw_switch kind, enum iw_check check)
{
    return mutant != NULL && !paused && mutant->kind == kind && mutant_check == check;
}

bool iw_prove_set(enum iw_switch kind, enum iw_check check, bool set)
{
    return is_mutant(kind, check) ? mutant->set : set;
}

enum iw_botch iw_prove_botch(enum iw_check check, enum iw_botch botch)
{
    return is_mutant(IW_SWITCH_BOTCH, check) ? mutant_botch : botch;
}

bool iw_prove_blind(enum iw_check check)
{
    return is_mutant(NO_SWITCH, check);
}
