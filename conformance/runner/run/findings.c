/* SPDX-License-Identifier: BSD-3-Clause */
#include "findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "causation.h"
#include "deviation_check.h"
#include "host/text.h"
#include "run_record.h"
#include "target/mishap.h"

/* ---- one key ----
 *
 * What is alike here is one deviation that was seen in two ways: by the observer and by a case, in
 * both kinds of segment, with and without a certain code. Where one deviation follows from another
 * one, causation.c has the sentence for it. */

/* Returns whether the target leaves a kind of request without an answer, whatever the case is
 * about. */
static bool unanswered(const struct iw_deviation *d)
{
    return iw_deviation_did(d, "unanswered") && d->fault != NULL;
}

/* Returns whether memory is as it was before an atomic that the target has answered. */
static bool undone(const struct iw_deviation *d)
{
    return iw_deviation_did(d, "undone");
}

/* Returns whether either may be the error that the target has missed: one case says which code
 * reports it, the other takes any. */
static bool same_fault(const struct iw_deviation *a, const struct iw_deviation *b)
{
    return iw_text_same(a->fault, b->fault) ||
           (iw_deviation_did(a, "missed") && (a->fault == NULL || b->fault == NULL));
}

/* Returns whether a deviation for which any error is good is about the very check that has its rule
 * first: another check that serves the rule as well says nothing of it. */
static bool of_its_rule(const struct iw_deviation *d)
{
    enum iw_check check = iw_deviation_check(d);
    return d->fault == NULL && check != IW_CHECK_NONE &&
           iw_rule_at(iw_check_info(check)->rule) == d->rule;
}

/* The length of a check's name without the kind of segment. */
static size_t stem(const char *check)
{
    const char *end = strrchr(check, '-');
    bool kind = end != NULL && (strcmp(end, "-tagged") == 0 || strcmp(end, "-untagged") == 0);
    return kind ? (size_t)(end - check) : strlen(check);
}

/* Returns whether two findings of the observer are about one field, which both kinds of segment
 * have: DV is one (RFC 5041 §4.1). The rule and the field are the same, only the check has a name
 * for each kind. */
static bool same_field(const struct iw_deviation *a, const struct iw_deviation *b)
{
    size_t length = stem(a->how);
    return a->rule == b->rule && length == stem(b->how) && strncmp(a->how, b->how, length) == 0;
}

/* What the observer sees where the octets alone show it, and cases by what they have waited for, or
 * have caused: it is one thing. */
static const struct {
    enum iw_check check;
    const char *word;
} both_see[] = {
    {IW_CHECK_DDP_LAST, "unfinished"},                     /* the last segment lacks L */
    {IW_CHECK_RDMAP_TERMINATE_HEADERS, "headers"},         /* other M, D or R */
    {IW_CHECK_RDMAP_TERMINATE_SEGMENT, "another segment"}, /* not the one at fault */
    {IW_CHECK_MPA_ORD_REPLY, "ORD above IRD"},             /* of the Reply, of the Request */
    {IW_CHECK_RDMAP_RESPONSE_STAG, "other STag"},          /* of a Read Response */
    {IW_CHECK_RDMAP_RESPONSE_TO, "other TO"},              /* likewise */
};

enum { BOTH_SEE = sizeof(both_see) / sizeof(both_see[0]) };

/* Returns which of these it is; BOTH_SEE: none. */
static size_t seen_by_both(const struct iw_deviation *d)
{
    size_t i = 0;
    while (i < BOTH_SEE && !iw_deviation_seen(d, both_see[i].check) &&
           (d->wire || !iw_deviation_did(d, both_see[i].word)))
        i++;
    return i;
}

/* Returns whether the target resets the connection where it is to close it in order: one thing,
 * whoever is to close first, and whichever layer the case is about. */
static bool resets(const struct iw_deviation *d)
{
    return iw_deviation_did(d, "closed") && d->fault == NULL && iw_text_same(d->expected, "fin") &&
           iw_text_same(d->actual, "reset");
}

/* Returns the word for what the target did. A Read Response with other octets is another answer:
 * the two words are for one response, which only the cases that compare its octets tell apart. */
static const char *word(const struct iw_deviation *d)
{
    return iw_deviation_did(d, "other payload") ? "another answer" : d->how;
}

bool iw_deviations_alike(const struct iw_deviation *a, const struct iw_deviation *b)
{
    size_t seen = seen_by_both(a);
    if ((a->wire && b->wire && same_field(a, b)) || (resets(a) && resets(b)) ||
        (seen < BOTH_SEE && seen == seen_by_both(b)))
        return true;
    if (a->wire != b->wire || strcmp(word(a), word(b)) != 0)
        return false;
    if (a->wire || a->rule == b->rule)
        return true;
    if (a->rule == NULL || b->rule == NULL)
        return false;
    if (!same_fault(a, b))
        return false;
    if (iw_deviation_refuses(a) || unanswered(a) || undone(a))
        return true;
    enum iw_check check = iw_deviation_check(a);
    return check != IW_CHECK_NONE &&
           (check == iw_deviation_check(b) || (a->fault != NULL && !of_its_rule(b) &&
                                               iw_rules_share_check(a->rule, b->rule, a->fault)));
}

/* ---- grouping ---- */

const char *iw_finding_name(const struct iw_finding *f)
{
    return f->rule != NULL ? f->rule->id : f->hangs ? "hang" : "crash";
}

const struct iw_deviation *iw_finding_deviation(const struct iw_finding *f,
                                                const struct iw_record *record)
{
    return &record->entries[f->exhibit].result.deviations[f->shown];
}

const char *iw_finding_text(const struct iw_finding *f, const struct iw_record *record)
{
    return f->text != NULL ? f->text : iw_finding_deviation(f, record)->text;
}

bool iw_finding_has(const struct iw_finding *f, size_t entry)
{
    for (size_t i = 0; i < f->n_cases; i++)
        if (f->cases[i] == entry)
            return true;
    return false;
}

bool iw_deviations_joined(const struct iw_deviation *shown, const struct iw_deviation *d)
{
    return iw_deviations_alike(shown, d) || iw_deviation_due_to(d, shown) != NULL;
}

/* The finding to which a deviation belongs: one of its like, or of those from which it follows, the
 * one of most cases. */
static struct iw_finding *find(struct iw_findings *all, const struct iw_record *record,
                               const struct iw_deviation *d)
{
    struct iw_finding *cause = NULL;
    bool habit = iw_terminate_habit_is(&all->habit, d);
    for (size_t i = 0; i < all->count; i++) {
        struct iw_finding *f = &all->list[i];
        const struct iw_deviation *model = iw_finding_deviation(f, record);
        if (habit && f->habit)
            return f;
        if (habit || f->habit)
            continue;
        if (iw_deviations_alike(model, d))
            return f;
        if (iw_deviation_due_to(d, model) != NULL && (cause == NULL || f->n_cases > cause->n_cases))
            cause = f;
    }
    return cause;
}

static void begin(struct iw_findings *all, size_t entry, size_t shown)
{
    all->list = iw_got(realloc(all->list, (all->count + 1) * sizeof(*all->list)));
    all->list[all->count++] = (struct iw_finding){.exhibit = entry, .shown = shown, .known = true};
}

/* Adds a deviation of the case at `entry` to its finding. */
static void add(struct iw_findings *all, const struct iw_record *record, size_t entry, size_t shown)
{
    const struct iw_entry *e = &record->entries[entry];
    const struct iw_deviation *d = &e->result.deviations[shown];
    struct iw_finding *f = find(all, record, d);
    if (f == NULL) {
        begin(all, entry, shown);
        f = &all->list[all->count - 1];
        f->habit = iw_terminate_habit_is(&all->habit, d);
    }
    const struct iw_entry *exhibit = &record->entries[f->exhibit];
    if (iw_verdict_gravity(d->verdict) > iw_verdict_gravity(f->verdict))
        f->verdict = d->verdict;
    f->known = f->known && iw_entry_as_pinned(e);
    const struct iw_deviation *model = iw_finding_deviation(f, record);
    bool says = d->fault != NULL, said = model->fault != NULL; /* which error it is about */
    bool shows = (f->habit && !all->habit.reversed) || iw_deviations_alike(d, model);
    if ((says == said ? e->result.frames < exhibit->result.frames : says) && shows) {
        f->exhibit = entry;
        f->shown = shown;
    }
    size_t place = f->n_cases;
    while (place > 0 && f->cases[place - 1] > entry)
        place--;
    if (place > 0 && f->cases[place - 1] == entry)
        return;
    f->cases = iw_got(realloc(f->cases, (f->n_cases + 1) * sizeof(*f->cases)));
    memmove(&f->cases[place + 1], &f->cases[place], (f->n_cases - place) * sizeof(*f->cases));
    f->cases[place] = entry;
    f->n_cases++;
}

/* ---- what a finding says ---- */

/* Returns whether the rule permits something to the target's own side in this case: what it permits
 * to the other side the target has to take. */
static bool permits(const struct iw_rule *rule, const struct iw_case *c)
{
    enum iw_subject own = c->role == IW_MPA_INITIATOR ? IW_SUBJECT_INITIATOR : IW_SUBJECT_RESPONDER;
    return rule->level == IW_LEVEL_MAY &&
           (rule->subject == own || rule->subject == IW_SUBJECT_RECEIVER);
}

/* Returns whether a receiver that reports this error wrongly breaks the rule, as gravely as found:
 * what a case is about, as gravely as the case says. */
static bool misapplied(const struct iw_rule *rule, const struct iw_case *c,
                       const struct iw_finding *f, const char *fault)
{
    if (rule->subject == IW_SUBJECT_SENDER || !iw_rules_share_check(rule, rule, fault))
        return false;
    if (rule->level == IW_LEVEL_MAY && permits(rule, c))
        return false;
    return (rule->level == IW_LEVEL_MAY || rule == c->rules[0]
                ? c->worst
                : iw_rule_verdict(rule)) == f->verdict;
}

/* Counts the cases that name each rule, of those that have asked their question. */
static void count_asked(size_t counts[IW_RULE_COUNT], const struct iw_record *record)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct iw_entry *e = &record->entries[i];
        enum iw_verdict v = e->result.verdict;
        if (!e->done || e->c == NULL || v == IW_VERDICT_SKIP || v == IW_VERDICT_INCONCLUSIVE)
            continue;
        for (size_t k = 0; k < e->c->n_rules; k++)
            counts[iw_rule_index(e->c->rules[k])] += !permits(e->c->rules[k], e->c);
    }
}

/* The rule of the error that a refusal reports of which the largest part of the cases are refused:
 * those that are about it and are not speak for the target. NULL: none of them is about that error.
 */
static const struct iw_rule *refused_most(const struct iw_finding *f,
                                          const struct iw_record *record)
{
    const char *fault = iw_finding_deviation(f, record)->fault;
    size_t asked[IW_RULE_COUNT] = {0}, refused[IW_RULE_COUNT] = {0}, most = 0;
    count_asked(asked, record);
    for (size_t i = 0; i < f->n_cases; i++) {
        const struct iw_case *c = record->entries[f->cases[i]].c;
        for (size_t k = 0; c != NULL && k < c->n_rules; k++)
            refused[iw_rule_index(c->rules[k])] += misapplied(c->rules[k], c, f, fault);
    }
    for (size_t i = 1; i < IW_RULE_COUNT; i++) /* few cases say less than many */
        if (refused[i] * (asked[most] + 2) > refused[most] * (asked[i] + 2))
            most = i;
    return refused[most] > 0 ? iw_rule_at(most) : NULL;
}

/* Returns whether at least half of the cases that name a rule are refused: it may well be what the
 * target does not know. */
static bool mostly_refused(const struct iw_finding *f, const struct iw_record *record,
                           const struct iw_rule *rule)
{
    size_t asked[IW_RULE_COUNT] = {0}, refused = 0;
    count_asked(asked, record);
    for (size_t i = 0; i < f->n_cases; i++) {
        const struct iw_case *c = record->entries[f->cases[i]].c;
        refused += c != NULL && iw_case_names_rule(c, rule);
    }
    return 2 * refused >= asked[iw_rule_index(rule)];
}

/* Returns whether a case charges a rule that it is not about, since what came shows which one it
 * is. */
static bool singled_out(const struct iw_entry *e, const struct iw_deviation *d)
{
    return e->c == NULL || e->c->n_rules == 0 || e->c->rules[0] != d->rule;
}

/* The rule that most of its cases accuse; of equals, the first in the catalogue. Of a refusal: what
 * more than half of them accuse, some of which have singled it out by its Terminate if there is
 * one, or else a rule of the error that it reports; of a start-up frame, first of all what a frame
 * shows that it does take. */
static const struct iw_rule *accused(const struct iw_finding *f, const struct iw_record *record)
{
    const struct iw_deviation *model = iw_finding_deviation(f, record);
    if (model->rule == NULL)
        return NULL;
    size_t all[IW_RULE_COUNT] = {0}, single[IW_RULE_COUNT] = {0}, shown[IW_RULE_COUNT] = {0};
    size_t most = iw_rule_index(model->rule), most_single = most, most_shown = most, alike = 0;
    for (size_t i = 0; i < f->n_cases; i++) {
        const struct iw_entry *e = &record->entries[f->cases[i]];
        for (size_t k = 0; k < e->result.n_deviations; k++) {
            const struct iw_deviation *d = &e->result.deviations[k];
            if (!iw_deviations_alike(d, model) || (resets(d) && d->verdict != f->verdict))
                continue;
            if (iw_deviation_seen(d, IW_CHECK_RDMAP_TERMINATE_SEGMENT))
                return d->rule; /* octets show it, whatever the cases are about */
            alike++;
            all[iw_rule_index(d->rule)]++;
            single[iw_rule_index(d->rule)] += singled_out(e, d);
            shown[iw_rule_index(d->rule)] += d->came != NULL;
        }
    }
    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        most = all[i] > all[most] ? i : most;
        most_single = single[i] > single[most_single] ? i : most_single;
        most_shown = shown[i] > shown[most_shown] ? i : most_shown;
    }
    if (!iw_deviation_refuses(model))
        return iw_rule_at(most);
    bool closes = strcmp(model->fault, IW_CLOSES) == 0;
    if (closes && shown[most_shown] > 0)
        return iw_rule_at(most_shown);
    size_t agreed = closes ? most : most_single;
    if (2 * all[agreed] > alike &&
        (closes ? mostly_refused(f, record, iw_rule_at(agreed)) : single[agreed] > 0))
        return iw_rule_at(agreed);
    const struct iw_rule *of_error = refused_most(f, record);
    return of_error != NULL ? of_error : iw_rule_at(single[most_single] > 0 ? most_single : most);
}

/* Returns whether the target has closed on whatever Request was tried before the cases were played:
 * then what is special in the Request of a case has nothing to do with it. */
static bool closes_on_any(const struct iw_finding *f, const struct iw_record *record)
{
    const struct iw_deviation *d = iw_finding_deviation(f, record);
    const struct iw_case *c = record->entries[f->exhibit].c;
    const char *closes = iw_deviation_refuses(d)       ? d->fault
                         : iw_deviation_did(d, "gone") ? d->came
                                                       : NULL;
    return closes != NULL && strcmp(closes, IW_CLOSES) == 0 && c != NULL &&
           c->role == IW_MPA_RESPONDER && record->facts != NULL &&
           iw_facts_has(record->facts, IW_FACT_START_UP);
}

/* Shows the finding by the smallest of its cases that name a rule, if any does. */
static void show_rule(struct iw_finding *f, const struct iw_record *record,
                      const struct iw_rule *rule)
{
    struct iw_finding best = {0};
    const struct iw_deviation *model = iw_finding_deviation(f, record);
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < f->n_cases; i++) {
        const struct iw_entry *e = &record->entries[f->cases[i]];
        if (e->c == NULL || !iw_case_names_rule(e->c, rule) || e->result.frames >= least)
            continue;
        for (size_t k = 0; k < e->result.n_deviations; k++)
            if (iw_deviations_alike(&e->result.deviations[k], model)) {
                best = (struct iw_finding){.exhibit = f->cases[i], .shown = k};
                least = e->result.frames;
            }
    }
    if (least < UINT64_MAX) {
        f->exhibit = best.exhibit;
        f->shown = best.shown;
    }
}

/* Says what a finding accuses. "If the MPA Request Frame is properly formatted and the Private Data
 * is acceptable, the implementation SHOULD return an MPA Reply Frame" (RFC 5044 §7.1.2). */
static void accuse(struct iw_finding *f, const struct iw_record *record,
                   const struct iw_terminate_habit *habit)
{
    if (f->habit) {
        f->rule = iw_terminate_habit_rule(habit);
        f->text = iw_terminate_habit_text(habit);
        return;
    }
    f->rule = accused(f, record);
    if (resets(iw_finding_deviation(f, record)))
        show_rule(f, record, f->rule);
    if (!closes_on_any(f, record))
        return;
    f->rule = iw_rule_find("MPA-7.1.2-08");
    show_rule(f, record, f->rule);
}

static int compare(const void *left, const void *right)
{
    const struct iw_finding *a = left, *b = right;
    int graver = iw_verdict_gravity(b->verdict) - iw_verdict_gravity(a->verdict);
    if ((a->rule == NULL) != (b->rule == NULL))
        return a->rule == NULL ? -1 : 1;
    if (graver != 0)
        return graver;
    if (a->n_cases != b->n_cases)
        return a->n_cases > b->n_cases ? -1 : 1;
    return a->cases[0] < b->cases[0] ? -1 : a->cases[0] > b->cases[0];
}

/* Octets that are wrong whatever the case expects come first. */
static int rank(const struct iw_findings *all, const struct iw_deviation *d)
{
    int of_its_own = iw_deviation_rank(d);
    bool by_case = !d->wire && iw_terminate_habit_is(&all->habit, d);
    return by_case && of_its_own == 0 ? 1 : of_its_own;
}

static void add_all(struct iw_findings *all, const struct iw_record *record, int of_rank)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct iw_result *r = &record->entries[i].result;
        for (size_t k = 0; record->entries[i].done && k < r->n_deviations; k++)
            if (rank(all, &r->deviations[k]) == of_rank)
                add(all, record, i, k);
    }
}

void iw_findings_build(struct iw_findings *out, const struct iw_record *record)
{
    *out = (struct iw_findings){0};
    iw_terminate_habit_find(&out->habit, record);
    for (int of_rank = 0; of_rank <= IW_DEVIATION_LAST_RANK; of_rank++)
        add_all(out, record, of_rank);
    for (size_t i = 0; i < out->count; i++) {
        struct iw_finding *f = &out->list[i];
        accuse(f, record, &out->habit);
        f->hangs = f->rule == NULL &&
                   strncmp(iw_finding_deviation(f, record)->how, IW_HANG, strlen(IW_HANG)) == 0;
    }
    if (out->count > 0)
        qsort(out->list, out->count, sizeof(*out->list), compare);
}

void iw_findings_free(struct iw_findings *f)
{
    for (size_t i = 0; i < f->count; i++) {
        free(f->list[i].cases);
        free(f->list[i].text);
    }
    free(f->list);
    *f = (struct iw_findings){0};
}
