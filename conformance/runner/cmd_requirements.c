/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform requirements`: the catalogue against the suite. */
#include <stdlib.h>
#include <string.h>

#include "command.h"

enum { RFCS = 16 };

static const char *const testable_names[] = {
    [IW_TESTABLE_NO] = "no",
    [IW_TESTABLE_API] = "api",
    [IW_TESTABLE_WIRE_PASSIVE] = "wire-passive",
    [IW_TESTABLE_WIRE_ACTIVE] = "wire-active",
};

static size_t print_cases(const struct iw_suite *suite, const struct iw_rule *rule, bool silent)
{
    size_t n = 0;

    for (size_t i = 0; i < suite->n_cases; i++) {
        if (!iw_case_names_rule(suite->cases[i], rule))
            continue;
        if (!silent)
            printf("    %s\n", suite->cases[i]->id);
        n++;
    }
    return n;
}

static void print_all(const struct iw_suite *suite)
{
    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        const struct iw_rule *r = iw_rule_at(i);

        printf("%s  RFC %u section %s, %s%s, testable: %s\n    %s\n", r->id, r->rfc, r->section,
               iw_level_name(r->level), r->implied ? " (implied)" : "", testable_names[r->testable],
               r->text);
        if (!print_cases(suite, r, false))
            printf("    (no case)\n");
    }
}

static void csv_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

static void print_csv(const struct iw_suite *suite)
{
    puts("rule,rfc,section,level,implied,testable,checks,cases,text");
    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        const struct iw_rule *r = iw_rule_at(i);
        const char *blank = "";

        printf("%s,%u,%s,%s,%s,%s,", r->id, r->rfc, r->section, iw_level_name(r->level),
               r->implied ? "yes" : "no", testable_names[r->testable]);
        for (size_t k = 0; k < r->n_checks; k++)
            printf("%s%s", k ? " " : "", iw_check_info(r->checks[k])->name);
        putchar(',');
        for (size_t k = 0; k < suite->n_cases; k++) {
            if (!iw_case_names_rule(suite->cases[k], r))
                continue;
            printf("%s%s", blank, suite->cases[k]->id);
            blank = " ";
        }
        putchar(',');
        csv_text(r->text);
        putchar('\n');
    }
}

struct sum {
    unsigned rfc; /* 0: all */
    size_t rules, wire, named, must, must_named;
};

static void add(struct sum *s, const struct iw_rule *r, bool named)
{
    bool wire = r->testable >= IW_TESTABLE_WIRE_PASSIVE;
    bool must = wire && iw_rule_verdict(r) == IW_VERDICT_FAIL;

    s->rules++;
    s->wire += wire;
    s->named += named;
    s->must += must;
    s->must_named += must && named;
}

static void print_sum(const struct sum *s)
{
    char name[16] = "all";

    if (s->rfc)
        snprintf(name, sizeof(name), "RFC %u", s->rfc);
    printf("%-9s %6zu %8zu %8zu %12zu %14zu\n", name, s->rules, s->wire, s->named, s->must,
           s->must_named);
}

static void print_summary(const struct iw_suite *suite)
{
    struct sum sums[RFCS] = {{0}}, all = {0};
    size_t n = 0;

    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        const struct iw_rule *r = iw_rule_at(i);
        bool named = print_cases(suite, r, true);
        size_t k = 0;

        while (k < n && sums[k].rfc != r->rfc)
            k++;
        if (k == n && n < RFCS)
            sums[n++].rfc = r->rfc;
        if (k < RFCS)
            add(&sums[k], r, named);
        add(&all, r, named);
    }
    printf("%-9s %6s %8s %8s %12s %14s\n", "", "rules", "on wire", "named", "MUST on wire",
           "of them named");
    for (size_t k = 0; k < n; k++)
        print_sum(&sums[k]);
    print_sum(&all);
}

int iw_command_requirements(const struct iw_command *c)
{
    struct iw_setup s;
    int status = iw_setup(&s, c, false);

    if (!status) {
        if (c->summary)
            print_summary(&s.suite);
        else if (c->csv)
            print_csv(&s.suite);
        else
            print_all(&s.suite);
        status = iw_setup_broken(&s);
    }
    iw_setup_free(&s);
    return status;
}
