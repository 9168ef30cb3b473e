/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform list` and `show`. */
#include <stdlib.h>
#include <string.h>

#include "command_setup.h"
#include "commands.h"
#include "host/complain.h"
#include "host/text_tools.h"

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
        fprintf(stderr, "%zu cases\n", s.n_selected);
    }
    iw_setup_free(&s);
    return status;
}

static void print_rules(const struct iw_case *c)
{
    for (size_t i = 0; i < c->n_rules; i++) {
        const struct iw_rule *r = c->rules[i];

        printf("\n%s  RFC %u section %s, %s%s\n  %s\n  expected: %s\n", r->id, r->rfc, r->section,
               iw_level_name(r->level), r->implied ? " (implied)" : "", r->text, r->expected);
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

static void no_case(const struct iw_suite *suite, const char *id)
{
    const char *near = iw_suite_nearest(suite, id);
    iw_complain("there is no case '%s'%s%s%s", id, near != NULL ? " (did you mean '" : "",
                near != NULL ? near : "; see `iwarp-conform list`", near != NULL ? "'?)" : "");
}

int iw_command_show(const struct iw_command *c)
{
    struct iw_setup s;
    int status = iw_setup(&s, c, false);
    if (!status) {
        const struct iw_case *found = iw_suite_find(&s.suite, c->operands[0]);
        if (found != NULL) {
            print_head(found);
            print_rules(found);
            status = print_script(found->file);
        } else {
            iw_setup_broken(&s); /* one of them may have it */
            no_case(&s.suite, c->operands[0]);
            status = IW_EXIT_USAGE;
        }
    }
    iw_setup_free(&s);
    return status;
}
