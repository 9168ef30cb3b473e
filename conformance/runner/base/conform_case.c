/* SPDX-License-Identifier: BSD-3-Clause */
#include "conform_case.h"

#include <fnmatch.h>
#include <stdlib.h>

void iw_case_free_all(struct iw_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct iw_case *c = &cases[i];
        for (size_t n = 0; n < c->n_tags; n++)
            free(c->tags[n]);
        for (size_t n = 0; n < c->n_needs; n++) {
            free(c->needs[n].name);
            free(c->needs[n].value);
        }
        free(c->tags);
        free(c->needs);
        free(c->rules);
        free(c->id);
        free(c->purpose);
        free(c->file);
    }
    free(cases);
}

bool iw_case_names_rule(const struct iw_case *c, const struct iw_rule *rule)
{
    for (size_t i = 0; i < c->n_rules; i++)
        if (c->rules[i] == rule)
            return true;
    return false;
}

bool iw_case_tagged(const struct iw_case *c, const char *glob)
{
    for (size_t i = 0; i < c->n_tags; i++)
        if (fnmatch(glob, c->tags[i], 0) == 0)
            return true;
    return false;
}

const char *iw_case_level(const struct iw_case *c)
{
    return c->worst == IW_VERDICT_FAIL ? "must" : c->worst == IW_VERDICT_NOTE ? "should" : "may";
}

const char *iw_role_name(enum iw_mpa_role role)
{
    return role == IW_MPA_INITIATOR ? "initiator" : "responder";
}
