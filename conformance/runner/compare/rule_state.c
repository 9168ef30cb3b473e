/* SPDX-License-Identifier: BSD-3-Clause */
#include "rule_state.h"

#include <string.h>

#include "host/json_values.h"

const char *iw_rule_state_name(enum iw_rule_state state)
{
    static const char *const names[IW_RULE_STATES] = {"broken", "holds", "not decided",
                                                      "not tested"};
    return names[state];
}

/* The graver state stays. */
static void set(enum iw_rule_state *states, const json_t *id, enum iw_rule_state state)
{
    const char *text = json_string_value(id);
    const struct iw_rule *rule = text != NULL ? iw_rule_find(text) : NULL;
    if (rule != NULL && state < states[iw_rule_index(rule)])
        states[iw_rule_index(rule)] = state;
}

void iw_rule_states(const struct iw_run_file *f, enum iw_rule_state states[IW_RULE_COUNT])
{
    const json_t *one, *rule;
    size_t i, k;
    for (i = 0; i < IW_RULE_COUNT; i++)
        states[i] = IW_RULE_UNTESTED;
    json_array_foreach(json_object_get(f->run, "findings"), i, one)
        set(states, json_object_get(one, "rule"), IW_RULE_BROKEN);
    json_array_foreach(f->cases, i, one)
    {
        const char *verdict = iw_json_get_text(one, "verdict"),
                   *own = iw_json_get_text(one, "rule");
        bool failed = strcmp(verdict, "FAIL") == 0 || strcmp(verdict, "NOTE") == 0;
        json_array_foreach(json_object_get(one, "rules"), k, rule)
        {
            /* What a case that failed says of its other rules is not known. */
            if (!failed && json_is_string(rule) && strcmp(json_string_value(rule), own) != 0)
                set(states, rule, strcmp(verdict, "PASS") == 0 ? IW_RULE_HOLDS : IW_RULE_OPEN);
        }
    }
}
