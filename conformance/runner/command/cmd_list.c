/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform list` and `show`. */
#include <stdlib.h>
#include <string.h>

#include "cmd_list.h"
#include "command_setup.h"
#include "host/complain.h"
#include "host/text.h"
#include "host/text_tools.h"
#include "iwarp/nearest.h"
#include "rule_sheet.h"

int iw_command_list(const struct iw_command *c)
{
    struct iw_setup s;
    int status = iw_setup(&s, c, false);
    if (!status) {
        for (size_t i = 0; i < s.n_selected; i++)
            printf("%-44s %-6s %-9s %s\n", s.selected[i]->id, iw_case_level(s.selected[i]),
                   iw_role_name(s.selected[i]->role), s.selected[i]->purpose);
        status = iw_setup_broken(&s);
        fflush(stdout);
        fprintf(stderr, "%zu case%s\n", s.n_selected, iw_text_plural(s.n_selected));
    }
    iw_setup_free(&s);
    return status;
}

static void print_rules(const struct iw_case *c)
{
    for (size_t i = 0; i < c->n_rules; i++) {
        putchar('\n');
        iw_rule_print_head(stdout, c->rules[i]);
        printf("  expected: %s\n", c->rules[i]->expected);
    }
}

static void print_head(const struct iw_case *c)
{
    printf("%s\n  %s\n\nfile      %s:%d\nlevel     %s\nrole      %s (of the target)\n", c->id,
           c->purpose, c->file, c->line, iw_case_level(c), iw_role_name(c->role));
    if (c->n_needs) {
        printf("needs    ");
        for (size_t i = 0; i < c->n_needs; i++)
            printf(" %s=%s", c->needs[i].name, c->needs[i].value);
        putchar('\n');
    }
    if (c->n_tags) {
        printf("tags     ");
        for (size_t i = 0; i < c->n_tags; i++)
            printf(" %s", c->tags[i]);
        putchar('\n');
    }
    if (c->deadline > 0)
        printf("deadline  %g s\n", c->deadline);
}

static int print_script(const char *path)
{
    char *script = iw_text_read_file(path);
    if (script == NULL) {
        iw_complain("cannot read %s", path);
        return IW_EXIT_TESTER;
    }
    printf("\n%s", script);
    free(script);
    return 0;
}

static void nothing_to_show(const struct iw_suite *suite, const char *id)
{
    struct iw_nearest n;
    iw_nearest_begin(&n, id);
    for (size_t i = 0; i < suite->n_cases; i++)
        iw_nearest_offer(&n, suite->cases[i]->id);
    for (size_t i = 0; i < IW_RULE_COUNT; i++)
        iw_nearest_offer(&n, iw_rule_at(i)->id);
    iw_complain("there is no case or rule '%s'%s%s%s", id, n.best != NULL ? " (did you mean '" : "",
                n.best != NULL ? n.best : "; see `iwarp-conform list` and `requirements`",
                n.best != NULL ? "'?)" : "");
}

static int show_rule(struct iw_setup *s, const struct iw_rule *rule)
{
    int status = iw_setup_proof(s);
    if (!status)
        iw_rule_print(stdout, rule, &s->suite, &s->proof);
    return status;
}

int iw_command_show(const struct iw_command *c)
{
    struct iw_setup s;
    int status = iw_setup(&s, c, false);
    if (!status) {
        const struct iw_case *found = iw_suite_find(&s.suite, c->operands[0]);
        const struct iw_rule *rule = iw_rule_named(c->operands[0]);
        if (found == NULL && rule != NULL) {
            status = show_rule(&s, rule);
        } else if (found != NULL) {
            print_head(found);
            print_rules(found);
            status = print_script(found->file);
        } else {
            iw_setup_broken(&s); /* one of them may have it */
            nothing_to_show(&s.suite, c->operands[0]);
            status = IW_EXIT_USAGE;
        }
    }
    iw_setup_free(&s);
    return status;
}
