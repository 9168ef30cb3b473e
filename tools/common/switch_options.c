/* SPDX-License-Identifier: BSD-3-Clause */
#include "switch_options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "host/offers.h"
#include "iwarp/nearest.h"
#include "list_rules.h"

/* Returns the check or rule that is near to what stands before '=', NULL if it is one, or if none
 * is near. */
static const char *suggestion(const char *value)
{
    char name[IW_NEAREST_WORD] = "";
    size_t length = strcspn(value, "=");
    if (length >= sizeof(name))
        return NULL;
    memcpy(name, value, length);
    if (iw_check_find(name) != IW_CHECK_NONE || iw_rule_find(name) != NULL)
        return NULL;
    return iw_nearest_check(name) != NULL ? iw_nearest_check(name) : iw_nearest_rule(name);
}

static int set_switch(void *context, enum iw_switch kind, const char *value, char *error,
                      size_t room)
{
    const char *why;
    if (iw_switches_set(context, kind, value, &why) > 0)
        return IW_OPTION_TAKEN;
    const char *near = suggestion(value);
    if (near != NULL)
        return iw_option_wrong(error, room, "%s (did you mean %s?)", why, near);
    bool named = strncmp(why, "expected", strlen("expected")) == 0; /* it names what is right */
    return iw_option_wrong(error, room, "%s%s", why, named ? "" : "; see --list-rules");
}

/* Offers the checks that take this switch; rules to who begins with a capital letter. */
static void offer_checks(const struct iw_offers *to, enum iw_switch kind, enum iw_botch botch)
{
    for (int c = IW_CHECK_NONE + 1; c < IW_CHECK_COUNT; c++) {
        const struct iw_check_info *info = iw_check_info((enum iw_check)c);
        if (iw_switch_applies(kind, (enum iw_check)c, botch))
            iw_offer(to, info->name, info->text);
    }
    for (size_t i = 0; i < IW_RULE_COUNT && isupper((unsigned char)to->typed[0]); i++)
        if (iw_rule_at(i)->n_checks > 0)
            iw_offer(to, iw_rule_at(i)->id, iw_rule_at(i)->text);
}

static void offer_ignore(const struct iw_offers *to)
{
    offer_checks(to, IW_SWITCH_IGNORE, IW_BOTCH_NONE);
}

static void offer_overstrict(const struct iw_offers *to)
{
    offer_checks(to, IW_SWITCH_OVERSTRICT, IW_BOTCH_NONE);
}

static void offer_violate(const struct iw_offers *to)
{
    offer_checks(to, IW_SWITCH_VIOLATE, IW_BOTCH_NONE);
}

/* Offers checks, then the reactions of the one that is there. */
static void offer_botch(const struct iw_offers *to)
{
    char name[IW_NEAREST_WORD];
    const char *equals = strchr(to->typed, '=');
    if (equals == NULL) {
        offer_checks(to, IW_SWITCH_BOTCH, IW_BOTCH_SILENT);
        return;
    }
    snprintf(name, sizeof(name), "%.*s", (int)(equals - to->typed), to->typed);
    enum iw_check check = iw_check_find(name);
    int before = to->length + (int)(equals + 1 - to->typed);
    const struct iw_offers reactions = {equals + 1, to->before, before};
    for (int b = IW_BOTCH_NONE + 1; check != IW_CHECK_NONE && b < IW_BOTCH_COUNT; b++)
        if (iw_switch_applies(IW_SWITCH_BOTCH, check, (enum iw_botch)b))
            iw_offer(&reactions, iw_botch_name((enum iw_botch)b), NULL);
}

static int set_ignore(void *context, const char *value, char *error, size_t room)
{
    return set_switch(context, IW_SWITCH_IGNORE, value, error, room);
}

static int set_overstrict(void *context, const char *value, char *error, size_t room)
{
    return set_switch(context, IW_SWITCH_OVERSTRICT, value, error, room);
}

static int set_violate(void *context, const char *value, char *error, size_t room)
{
    return set_switch(context, IW_SWITCH_VIOLATE, value, error, room);
}

static int set_botch(void *context, const char *value, char *error, size_t room)
{
    return set_switch(context, IW_SWITCH_BOTCH, value, error, room);
}

static int print_rules(void *context, const char *value, char *error, size_t room)
{
    (void)context;
    (void)value;
    (void)error;
    (void)room;
    iw_list_rules(stdout);
    return IW_OPTION_END;
}

const struct iw_option iw_switch_options[] = {
    {"ignore", 0, "X", "skip a check; X is a check or a rule", 0,
     IW_OPTION_CALLS_OFFERED(set_ignore, offer_ignore)},
    {"overstrict", 0, "X", "refuse a legal thing", 0,
     IW_OPTION_CALLS_OFFERED(set_overstrict, offer_overstrict)},
    {"violate", 0, "X", "break a rule when sending", 0,
     IW_OPTION_CALLS_OFFERED(set_violate, offer_violate)},
    {"botch", 0, "X=REACTION", "react wrongly: layer, type, code, place, close, silent or again", 0,
     IW_OPTION_CALLS_OFFERED(set_botch, offer_botch)},
    {"list-rules", 0, NULL, "print all checks and rules, and exit", 0,
     IW_OPTION_CALLS(print_rules)},
};
