/* SPDX-License-Identifier: BSD-3-Clause */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

#include "host/json_values.h"
#include "host/text.h"
#include "rule_state.h"

struct comparison {
    const struct iw_run_file *runs;
    size_t count;
    enum iw_rule_state (*states)[IW_RULE_COUNT]; /* by run */
};

/* ---- the runs ---- */

static json_t *label(size_t run)
{
    char text[24];
    if (run < 26)
        snprintf(text, sizeof(text), "%c", (char)('A' + run));
    else
        snprintf(text, sizeof(text), "R%zu", run + 1);
    return iw_got(json_string(text));
}

static json_t *counts(const enum iw_rule_state states[IW_RULE_COUNT])
{
    json_int_t n[IW_RULE_STATES] = {0};
    json_t *object = iw_got(json_object());
    for (size_t i = 0; i < IW_RULE_COUNT; i++)
        n[states[i]]++;
    for (int i = 0; i < IW_RULE_STATES; i++)
        json_object_set_new(object, iw_rule_state_name((enum iw_rule_state)i), json_integer(n[i]));
    return object;
}

static json_t *run_head(const struct comparison *c, size_t run)
{
    static const char *const copied[] = {"tool",    "suite", "target", "device",
                                         "started", "exit",  "summary"};
    json_t *object =
        iw_got(json_pack("{s:o, s:s}", "label", label(run), "path", c->runs[run].path));
    for (size_t i = 0; i < sizeof(copied) / sizeof(*copied); i++) {
        json_t *member = json_object_get(c->runs[run].run, copied[i]);
        json_object_set(object, copied[i], member != NULL ? member : json_null());
    }
    json_object_set_new(object, "rules", counts(c->states[run]));
    return object;
}

/* ---- findings ---- */

/* What a finding is about: its rule, or what has become of the target. */
static const char *about(const json_t *finding)
{
    const char *rule = iw_json_get_text(finding, "rule");
    return *rule != '\0' ? rule : iw_json_get_text(finding, "text");
}

/* Adds to `keys` what the findings of a run are about, in their order. */
static void collect(json_t *keys, const struct iw_run_file *f)
{
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(f->run, "findings"), i, one)
        json_object_set_new(keys, about(one), json_true());
}

static json_t *brief(const json_t *finding)
{
    static const char *const copied[] = {"number",   "verdict", "text",
                                         "expected", "actual",  "count"};
    json_t *object = iw_got(json_object());
    for (size_t i = 0; i < sizeof(copied) / sizeof(*copied); i++) {
        json_t *member = json_object_get(finding, copied[i]);
        json_object_set(object, copied[i], member != NULL ? member : json_null());
    }
    return object;
}

/* How one run stands to what `key` names. */
static json_t *cell(const struct comparison *c, size_t run, const char *key)
{
    const struct iw_rule *rule = iw_rule_find(key);
    json_t *list = iw_got(json_array());
    const json_t *one;
    json_int_t cases = 0;
    size_t i;
    json_array_foreach(json_object_get(c->runs[run].run, "findings"), i, one)
    {
        if (strcmp(about(one), key) != 0)
            continue;
        json_array_append_new(list, brief(one));
        cases += json_integer_value(json_object_get(one, "count"));
    }
    enum iw_rule_state state = json_array_size(list) > 0 ? IW_RULE_BROKEN
                               : rule != NULL            ? c->states[run][iw_rule_index(rule)]
                                                         : IW_RULE_HOLDS; /* it has not crashed */
    return iw_got(json_pack("{s:s, s:I, s:o}", "state", iw_rule_state_name(state), "cases", cases,
                            "findings", list));
}

/* Whether two runs show the same: of a rule that is broken, the same deviations. */
static bool alike(const json_t *a, const json_t *b)
{
    const json_t *ours = json_object_get(a, "findings"), *theirs = json_object_get(b, "findings"),
                 *one;
    size_t i;
    if (strcmp(iw_json_get_text(a, "state"), iw_json_get_text(b, "state")) != 0 ||
        json_array_size(ours) != json_array_size(theirs))
        return false;
    json_array_foreach(ours, i, one) if (strcmp(iw_json_get_text(one, "text"),
                                                iw_json_get_text(json_array_get(theirs, i),
                                                                 "text")) != 0) return false;
    return true;
}

static json_t *row(const struct comparison *c, const char *key)
{
    const struct iw_rule *rule = iw_rule_find(key);
    json_t *cells = iw_got(json_array());
    bool same = true;
    for (size_t run = 0; run < c->count; run++) {
        json_array_append_new(cells, cell(c, run, key));
        same = same && alike(json_array_get(cells, 0), json_array_get(cells, run));
    }
    if (rule == NULL)
        return iw_got(json_pack("{s:n, s:s, s:b, s:o}", "rule", "text", key, "same", (int)same,
                                "cells", cells));
    return iw_got(json_pack("{s:s, s:s, s:i, s:s, s:s, s:b, s:b, s:o}", "rule", rule->id, "text",
                            rule->text, "rfc", (int)rule->rfc, "section", rule->section, "level",
                            iw_level_name(rule->level), "implied", (int)rule->implied, "same",
                            (int)same, "cells", cells));
}

/* What differs comes first. */
static json_t *findings(const struct comparison *c)
{
    json_t *keys = iw_got(json_object()), *differ = iw_got(json_array()),
           *agree = iw_got(json_array());
    const char *key;
    json_t *ignored;
    for (size_t run = 0; run < c->count; run++)
        collect(keys, &c->runs[run]);
    json_object_foreach(keys, key, ignored)
    {
        json_t *one = row(c, key);
        json_array_append_new(json_is_true(json_object_get(one, "same")) ? agree : differ, one);
    }
    json_array_extend(differ, agree);
    json_decref(agree);
    json_decref(keys);
    return differ;
}

/* ---- changes ---- */

static json_t *verdict(const json_t *one)
{
    return one != NULL ? iw_got(json_string(iw_json_get_text(one, "verdict"))) : json_null();
}

/* Adds a case whose verdict is another one now, or that only one of two runs has. */
static void add_case(json_t *list, const char *id, const json_t *before, const json_t *after)
{
    if (before != NULL && after != NULL &&
        strcmp(iw_json_get_text(before, "verdict"), iw_json_get_text(after, "verdict")) == 0)
        return;
    const json_t *said = json_object_get(after, "reason");
    json_array_append_new(list, iw_got(json_pack("{s:s, s:o, s:o, s:O}", "id", id, "from",
                                                 verdict(before), "to", verdict(after), "reason",
                                                 json_is_string(said) ? said : json_null())));
}

static json_t *changed_cases(const struct iw_run_file *before, const struct iw_run_file *after)
{
    json_t *list = iw_got(json_array());
    const json_t *one;
    size_t i;
    json_array_foreach(after->cases, i, one)
    {
        const char *id = iw_json_get_text(one, "id");
        add_case(list, id, iw_run_file_case(before, id), one);
    }
    json_array_foreach(before->cases, i, one)
    {
        const char *id = iw_json_get_text(one, "id");
        if (iw_run_file_case(after, id) == NULL)
            add_case(list, id, one, NULL);
    }
    return list;
}

/* What is wrong in run `to` and not in the one before it, what no longer is, and what is wrong in
 * another way. */
static json_t *change(const struct comparison *c, size_t to, const json_t *rows)
{
    json_t *broken = iw_got(json_array()), *mended = iw_got(json_array()),
           *gone = iw_got(json_array()), *other = iw_got(json_array());
    const json_t *one;
    size_t i;
    json_array_foreach(rows, i, one)
    {
        const json_t *cells = json_object_get(one, "cells");
        const json_t *a = json_array_get(cells, to - 1), *b = json_array_get(cells, to);
        const char *from = iw_json_get_text(a, "state"), *now = iw_json_get_text(b, "state");
        bool was = strcmp(from, "broken") == 0, is = strcmp(now, "broken") == 0;
        json_t *name =
            json_object_get(one, json_is_null(json_object_get(one, "rule")) ? "text" : "rule");
        if (is && !was)
            json_array_append(broken, name);
        else if (was && !is)
            json_array_append(strcmp(now, "holds") == 0 ? mended : gone, name);
        else if (was && !alike(a, b))
            json_array_append(other, name);
    }
    return iw_got(json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "from", label(to - 1), "to",
                            label(to), "broken", broken, "mended", mended, "not_seen", gone,
                            "otherwise", other, "cases",
                            changed_cases(&c->runs[to - 1], &c->runs[to])));
}

/* ---- sections ---- */

static bool same_section(const struct iw_rule *a, const struct iw_rule *b)
{
    return a->rfc == b->rfc && strcmp(a->section, b->section) == 0;
}

static json_t *section(const struct comparison *c, const struct iw_rule *first)
{
    json_t *cells = iw_got(json_array());
    json_int_t rules = 0;
    for (size_t i = 0; i < IW_RULE_COUNT; i++)
        rules += same_section(iw_rule_at(i), first);
    for (size_t run = 0; run < c->count; run++) {
        enum iw_rule_state here[IW_RULE_COUNT];
        json_t *object;
        for (size_t i = 0; i < IW_RULE_COUNT; i++)
            here[i] = same_section(iw_rule_at(i), first) ? c->states[run][i] : IW_RULE_UNTESTED;
        object = counts(here);
        json_object_set_new(object, iw_rule_state_name(IW_RULE_UNTESTED),
                            json_integer(json_integer_value(json_object_get(
                                             object, iw_rule_state_name(IW_RULE_UNTESTED))) -
                                         ((json_int_t)IW_RULE_COUNT - rules)));
        json_array_append_new(cells, object);
    }
    return iw_got(json_pack("{s:i, s:s, s:I, s:o}", "rfc", (int)first->rfc, "section",
                            first->section, "rules", rules, "cells", cells));
}

static json_t *sections(const struct comparison *c)
{
    json_t *list = iw_got(json_array());
    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        bool first = true;
        for (size_t k = 0; k < i && first; k++)
            first = !same_section(iw_rule_at(k), iw_rule_at(i));
        if (first)
            json_array_append_new(list, section(c, iw_rule_at(i)));
    }
    return list;
}

json_t *iw_compare(const struct iw_run_file *runs, size_t count, const char *version)
{
    struct comparison c = {
        .runs = runs, .count = count, .states = iw_got(calloc(count, sizeof(*c.states)))};
    json_t *heads = iw_got(json_array()), *changes = iw_got(json_array());
    for (size_t run = 0; run < count; run++) {
        iw_rule_states(&runs[run], c.states[run]);
        json_array_append_new(heads, run_head(&c, run));
    }
    json_t *rows = findings(&c);
    for (size_t run = 1; run < count; run++)
        json_array_append_new(changes, change(&c, run, rows));
    json_t *all = iw_got(json_pack("{s:i, s:{s:s, s:s}, s:o, s:o, s:o, s:o}", "schema", 1, "tool",
                                   "name", "iwarp-conform", "version", version, "runs", heads,
                                   "findings", rows, "changes", changes, "sections", sections(&c)));
    free(c.states);
    return all;
}
