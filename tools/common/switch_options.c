/* SPDX-License-Identifier: BSD-3-Clause */
#include "switch_options.h"

#include <string.h>

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
    return iw_option_wrong(error, room, "%s%s%s%s", why, near != NULL ? " (did you mean " : "",
                           near != NULL ? near : "", near != NULL ? "?)" : "");
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
    {"ignore", 0, "X", "skip a check; X is a check or a rule", 0, IW_OPTION_CALLS(set_ignore)},
    {"overstrict", 0, "X", "refuse a legal thing", 0, IW_OPTION_CALLS(set_overstrict)},
    {"violate", 0, "X", "break a rule when sending", 0, IW_OPTION_CALLS(set_violate)},
    {"botch", 0, "X=REACTION", "react wrongly: layer, type, code, place, close, silent or again", 0,
     IW_OPTION_CALLS(set_botch)},
    {"list-rules", 0, NULL, "print all checks and rules, and exit", 0,
     IW_OPTION_CALLS(print_rules)},
};
