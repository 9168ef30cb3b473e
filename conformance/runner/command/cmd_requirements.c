/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform requirements`: the catalogue against the suite. */
#include <stdlib.h>
#include <string.h>

#include "cmd_requirements.h"
#include "command_setup.h"
#include "host/complain.h"
#include "host/csv.h"
#include "iwarp/nearest.h"
#include "rule_sheet.h"

/* A case that self-check has not proven for the rule is claimed to judge it: the rule's words in
 * claims.csv say why, or else other cases carry it. */
static void print_cases(const struct iw_suite *suite, const struct iw_proof *proof,
                        const struct iw_rule *rule)
{
    for (size_t i = 0; i < suite->n_cases; i++)
        if (iw_case_names_rule(suite->cases[i], rule))
            printf("    %s (%s)\n", suite->cases[i]->id,
                   iw_proof_pair(proof, suite->cases[i], rule) ? "proven" : "claimed");
}

static void print_all(const struct iw_suite *suite, const struct iw_proof *proof)
{
    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        const struct iw_rule *r = iw_rule_at(i);
        const char *reason;
        enum iw_standing standing = iw_proof_standing(proof, suite, r, &reason);

        printf("%s  RFC %u section %s, %s%s, testable: %s, %s%s%s\n    %s\n", r->id, r->rfc,
               r->section, iw_level_name(r->level), r->implied ? " (implied)" : "",
               iw_testable_name(r->testable), iw_standing_name(standing),
               reason != NULL ? ": " : "", reason != NULL ? reason : "", r->text);
        print_cases(suite, proof, r);
    }
}

/* The ids of the cases that name the rule: the proven ones, or the others. */
static void print_case_ids(const struct iw_suite *suite, const struct iw_proof *proof,
                           const struct iw_rule *rule, bool proven)
{
    const char *blank = "";
    putchar(',');
    for (size_t i = 0; i < suite->n_cases; i++) {
        if (iw_case_names_rule(suite->cases[i], rule) &&
            iw_proof_pair(proof, suite->cases[i], rule) == proven) {
            printf("%s%s", blank, suite->cases[i]->id);
            blank = " ";
        }
    }
}

/* Returns whether a rule is one of those that the command line asks for. */
static bool asked(const struct iw_command *c, const struct iw_rule *rule)
{
    for (size_t i = 0; i < c->n_operands; i++)
        if (iw_rule_fit(c->operands[i], iw_rule_index(rule)) == rule)
            return true;
    return c->n_operands == 0;
}

/* Complains of words that are no rules. Returns the exit status. */
static int check_operands(const struct iw_command *c)
{
    if (c->summary && c->n_operands > 0)
        return iw_complain_exit(IW_EXIT_USAGE, "--summary: is of all rules");
    for (size_t i = 0; i < c->n_operands; i++) {
        const char *near = iw_nearest_rule(c->operands[i]);
        if (iw_rule_fit(c->operands[i], 0) == NULL)
            return iw_complain_exit(IW_EXIT_USAGE, "there is no rule '%s'%s%s%s", c->operands[i],
                                    near != NULL ? " (did you mean '" : "",
                                    near != NULL ? near : "; see `iwarp-conform requirements`",
                                    near != NULL ? "'?)" : "");
    }
    return 0;
}

static void print_sheets(const struct iw_command *c, const struct iw_suite *suite,
                         const struct iw_proof *proof)
{
    const char *between = "";
    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        if (!asked(c, iw_rule_at(i)))
            continue;
        fputs(between, stdout);
        iw_rule_print(stdout, iw_rule_at(i), suite, proof);
        between = "\n";
    }
}

static void print_csv(const struct iw_command *c, const struct iw_suite *suite,
                      const struct iw_proof *proof)
{
    puts(
        "rule,rfc,section,level,implied,testable,standing,reason,checks,proven_by,claimed_by,text");
    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        const struct iw_rule *r = iw_rule_at(i);
        const char *reason;
        if (!asked(c, r))
            continue;
        enum iw_standing standing = iw_proof_standing(proof, suite, r, &reason);
        printf("%s,%u,%s,%s,%s,%s,%s,", r->id, r->rfc, r->section, iw_level_name(r->level),
               r->implied ? "yes" : "no", iw_testable_name(r->testable),
               iw_standing_name(standing));
        iw_csv_quoted(stdout, reason != NULL ? reason : "");
        putchar(',');
        for (size_t k = 0; k < r->n_checks; k++)
            printf("%s%s", k ? " " : "", iw_check_info(r->checks[k])->name);
        print_case_ids(suite, proof, r, true);
        print_case_ids(suite, proof, r, false);
        putchar(',');
        iw_csv_quoted(stdout, r->text);
        putchar('\n');
    }
}

struct sum {
    unsigned rfc; /* 0: all */
    size_t rules, wire, named, must, must_named;
};

static void add(struct sum *s, const struct iw_suite *suite, const struct iw_rule *r)
{
    bool must = r->testable >= IW_TESTABLE_WIRE_PASSIVE && iw_rule_verdict(r) == IW_VERDICT_FAIL;
    bool named = false;
    for (size_t i = 0; i < suite->n_cases && !named; i++)
        named = iw_case_names_rule(suite->cases[i], r);
    s->rules++;
    s->wire += r->testable >= IW_TESTABLE_WIRE_PASSIVE;
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

/* The rules of an RFC stand together in the catalogue. */
static void print_by_rfc(const struct iw_suite *suite)
{
    struct sum all = {0}, one = {.rfc = iw_rule_at(0)->rfc};
    printf("%-9s %6s %8s %8s %12s %14s\n", "", "rules", "on wire", "named", "MUST on wire",
           "of them named");
    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        const struct iw_rule *r = iw_rule_at(i);
        if (r->rfc != one.rfc) {
            print_sum(&one);
            one = (struct sum){.rfc = r->rfc};
        }
        add(&one, suite, r);
        add(&all, suite, r);
    }
    print_sum(&one);
    print_sum(&all);
}

/* One line a class: what can be provoked on the wire first. */
static void print_standings(const struct iw_suite *suite, const struct iw_proof *proof)
{
    for (int class = IW_TESTABLE_WIRE_ACTIVE; class >= IW_TESTABLE_NO; class --) {
        size_t counts[IW_STANDINGS] = {0}, all = 0;
        const char *reason;

        for (size_t i = 0; i < IW_RULE_COUNT; i++) {
            const struct iw_rule *r = iw_rule_at(i);

            if ((int)r->testable != class)
                continue;
            counts[iw_proof_standing(proof, suite, r, &reason)]++;
            all++;
        }
        printf("%s: proven %zu, claimed %zu, dispositioned %zu, of %zu",
               iw_testable_name((enum iw_testable) class), counts[IW_PROVEN], counts[IW_CLAIMED],
               counts[IW_DISPOSITIONED], all);
        if (counts[IW_UNACCOUNTED])
            printf(" (%zu unaccounted)", counts[IW_UNACCOUNTED]);
        putchar('\n');
    }
}

int iw_command_requirements(const struct iw_command *c)
{
    struct iw_setup s = {0};
    int status = check_operands(c);
    if (!status)
        status = iw_setup(&s, c, false);
    if (!status)
        status = iw_setup_proof(&s);
    if (!status) {
        if (c->summary) {
            print_by_rfc(&s.suite);
            putchar('\n');
            print_standings(&s.suite, &s.proof);
        } else if (c->csv) {
            print_csv(c, &s.suite, &s.proof);
        } else if (c->n_operands > 0) {
            print_sheets(c, &s.suite, &s.proof);
        } else {
            print_all(&s.suite, &s.proof);
        }
        status = iw_setup_broken(&s);
    }
    iw_setup_free(&s);
    return status;
}
