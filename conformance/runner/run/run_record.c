/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_record.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "baseline.h"
#include "blocked.h"
#include "host/complain.h"
#include "host/text.h"
#include "host/text_tools.h"
#include "pool.h"
#include "suite/suite.h"

const struct iw_rule *iw_entry_rule(const struct iw_entry *entry)
{
    if (entry->result.rule != NULL)
        return entry->result.rule;
    if (entry->result.n_deviations > 0 && entry->result.deviations[0].rule == NULL)
        return NULL; /* no rule is broken by a crash */
    return entry->c != NULL && entry->c->n_rules ? entry->c->rules[0] : NULL;
}

static void count(struct iw_record *r, struct iw_entry *entry)
{
    entry->done = true;
    r->verdicts[entry->result.verdict]++;
    r->pinned[entry->pinned]++;
}

void iw_record_fill(struct iw_record *r, const struct iw_suite *suite,
                    const struct iw_case *const *selected, size_t n_selected)
{
    r->entries = iw_got(calloc(suite->n_broken + n_selected, sizeof(*r->entries)));
    for (size_t i = 0; i < suite->n_files; i++) {
        const struct iw_suite_file *file = &suite->files[i];
        struct iw_entry *entry = &r->entries[r->count];

        if (file->error == NULL)
            continue;
        entry->file = file->path;
        entry->result.id = iw_text_copy(file->path);
        entry->result.verdict = IW_VERDICT_ERROR;
        entry->result.reason = iw_text_copy(file->error);
        r->count++;
        count(r, entry);
    }
    for (size_t i = 0; i < n_selected; i++) {
        r->entries[r->count].c = selected[i];
        r->entries[r->count++].file = selected[i]->file;
    }
}

void iw_record_pin(struct iw_record *r, const struct iw_baseline *b, const struct iw_suite *suite)
{
    for (size_t i = 0; i < b->count; i++) {
        if (iw_suite_find(suite, b->pins[i].id) != NULL)
            continue;
        iw_texts_add(&r->unknown, iw_text_copy(b->pins[i].id));
        r->n_unknown++;
    }
}

static bool restored(const struct iw_entry *entry, unsigned round)
{
    for (size_t i = 0; i < entry->n_restored; i++)
        if (entry->restored[i] == round)
            return true;
    return false;
}

void iw_record_restore(struct iw_entry *entry, unsigned round)
{
    entry->restored =
        iw_got(realloc(entry->restored, ++entry->n_restored * sizeof(*entry->restored)));
    entry->restored[entry->n_restored - 1] = round;
    entry->handed++;
}

struct iw_entry *iw_record_next(struct iw_record *r, unsigned *number)
{
    for (unsigned round = 0; round < r->repeat; round++) {
        for (size_t i = round == r->round ? r->next : 0; i < r->count; i++) {
            struct iw_entry *entry = &r->entries[i];

            if (entry->c == NULL || entry->handed > round)
                continue;
            r->round = round;
            r->next = i;
            entry->handed++;
            while (restored(entry, entry->round))
                entry->round++;
            *number = entry->round++;
            return entry;
        }
    }
    return NULL;
}

struct iw_entry *iw_record_entry(const struct iw_record *r, const char *id)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->entries[i].c != NULL && strcmp(r->entries[i].c->id, id) == 0)
            return &r->entries[i];
    return NULL;
}

size_t iw_record_done(const struct iw_record *r)
{
    size_t done = 0;
    for (size_t i = 0; i < IW_VERDICT_COUNT; i++)
        done += r->verdicts[i];
    return done;
}

/* Keeps the graver of two rounds; the other's capture goes. */
static void keep(struct iw_entry *entry, bool first, struct iw_result *result)
{
    struct iw_result lesser = *result;
    if (first || iw_verdict_gravity(result->verdict) > iw_verdict_gravity(entry->result.verdict)) {
        lesser = entry->result;
        entry->result = *result;
    }
    if (lesser.pcap != NULL)
        unlink(lesser.pcap);
    iw_result_free(&lesser);
}

static bool starts(const struct iw_result *r, const char *with)
{
    return r->verdict == IW_VERDICT_INCONCLUSIVE && r->reason != NULL &&
           strncmp(r->reason, with, strlen(with)) == 0;
}

/* What ended a case from outside, such as the death of the target's kernel, is a deviation, too. */
static void explain(const struct iw_entry *entry, struct iw_result *result)
{
    const struct iw_rule *rule = result->verdict == IW_VERDICT_NOTE ? iw_entry_rule(entry) : NULL;
    if (result->n_deviations > 0 ||
        (result->verdict != IW_VERDICT_FAIL && result->verdict != IW_VERDICT_NOTE))
        return;
    iw_result_add_deviation(result,
                            &(struct iw_deviation){.verdict = result->verdict,
                                                   .rule = rule,
                                                   .how = iw_text_copy("gone"),
                                                   .text = iw_text_copy(result->reason),
                                                   .expected = iw_text_copy(result->expected),
                                                   .actual = iw_text_copy(result->actual),
                                                   .connection = -1});
}

/* How a case that has had all of its rounds stands to what is known. */
static void judge(struct iw_record *r, const struct iw_baseline *b, struct iw_entry *entry)
{
    entry->unreached = starts(&entry->result, IW_UNREACHED) || starts(&entry->result, IW_NO_MPA) ||
                       starts(&entry->result, IW_SILENT);
    const struct iw_pin *pin = iw_baseline_find(b, entry->c->id);
    entry->known = pin != NULL ? pin->reason : NULL;
    entry->pinned = entry->unreached ? IW_PINNED_NOT : iw_baseline_judge(pin, &entry->result);
    entry->seen = pin != NULL ? pin->seen : NULL;
    /* Without a baseline nothing is new. */
    if (r->baseline == NULL)
        entry->pinned = IW_PINNED_NOT;
    count(r, entry);
}

void iw_record_choose(struct iw_record *r, struct iw_baseline *b, const char *version)
{
    bool changed = iw_baseline_choose(b, version);
    r->made_for = b->other ? b->versions[0] : NULL;
    for (size_t i = 0; i < r->count && changed; i++) {
        struct iw_entry *entry = &r->entries[i];
        if (!entry->done || entry->c == NULL)
            continue;
        r->verdicts[entry->result.verdict]--;
        r->pinned[entry->pinned]--;
        judge(r, b, entry);
    }
}

void iw_record_take(struct iw_record *r, const struct iw_baseline *b, struct iw_entry *entry,
                    struct iw_result *result)
{
    explain(entry, result);
    unsigned rounds = 0;
    for (size_t i = 0; i < IW_VERDICT_COUNT; i++)
        rounds += entry->rounds[i];
    entry->rounds[result->verdict]++;
    keep(entry, rounds == 0, result);
    if (rounds + 1 >= r->repeat)
        judge(r, b, entry);
}

static bool shows_already(const struct iw_result *result, const struct iw_result *charge)
{
    for (size_t i = 0; i < charge->n_deviations; i++)
        for (size_t k = 0; k < result->n_deviations; k++)
            if (iw_deviations_alike(&result->deviations[k], &charge->deviations[i]))
                return true;
    return false;
}

/* What the case saw of a target that it has broken is no further finding. */
static void put_charge(struct iw_result *to, struct iw_result *charge)
{
    iw_result_drop_breaches(to);
    for (size_t i = 0; i < charge->n_deviations; i++)
        iw_result_add_deviation(to, &charge->deviations[i]);
    charge->n_deviations = 0;
    free(to->reason);
    free(to->log);
    to->reason = charge->reason;
    to->log = charge->log;
    charge->reason = charge->log = NULL;
    to->verdict = IW_VERDICT_FAIL;
    to->rule = NULL;
    if (charge->notes != NULL)
        iw_text_join(&to->notes, "\n", charge->notes);
}

bool iw_record_charge(struct iw_record *r, const struct iw_baseline *b, struct iw_entry *entry,
                      struct iw_result *charge)
{
    enum iw_verdict before = entry->result.verdict;
    bool news = !shows_already(&entry->result, charge);
    if (news) {
        if (entry->rounds[before] > 0) {
            entry->rounds[before]--;
            entry->rounds[IW_VERDICT_FAIL]++;
        }
        put_charge(&entry->result, charge);
    }
    if (news && entry->done) {
        r->verdicts[before]--;
        r->pinned[entry->pinned]--;
        judge(r, b, entry);
    }
    iw_result_free(charge);
    return news;
}

void iw_record_conclude(struct iw_record *r)
{
    iw_findings_build(&r->findings, r);
    for (size_t i = r->findings.count; i > 0; i--) {
        const struct iw_finding *f = &r->findings.list[i - 1];
        for (size_t k = 0; k < f->n_cases; k++)
            r->entries[f->cases[k]].result.rule = f->rule;
    }
    iw_blocked_resolve(r);
}

void iw_record_drop_captures(struct iw_record *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct iw_result *result = &r->entries[i].result;
        if (result->verdict != IW_VERDICT_PASS || result->n_deviations > 0 || result->pcap == NULL)
            continue;
        unlink(result->pcap);
        free(result->pcap);
        result->pcap = NULL;
        result->frames = 0;
    }
}

bool iw_entry_as_pinned(const struct iw_entry *entry)
{
    return entry->pinned == IW_PINNED_EXPECTED ||
           (entry->result.verdict == IW_VERDICT_SKIP && entry->known != NULL);
}

bool iw_entry_unstable(const struct iw_entry *entry)
{
    size_t kinds = 0;
    for (size_t i = 0; i < IW_VERDICT_COUNT; i++)
        kinds += entry->rounds[i] > 0;
    return kinds > 1;
}

const char *iw_pinned_name(enum iw_pinned pinned)
{
    static const char *const names[IW_PINNED_COUNT] = {NULL, "expected", "new", "stale", "changed"};

    return names[pinned];
}

/* Returns whether a case shows this verdict: of its own, or of a deviation that was looked through.
 */
static bool shows(const struct iw_result *result, enum iw_verdict verdict)
{
    bool shown = result->verdict == verdict;
    for (size_t i = 0; i < result->n_deviations; i++)
        shown = shown || result->deviations[i].verdict == verdict;
    return shown;
}

/* Returns whether a verdict counts that the baseline does not expect. */
static bool unexpected(const struct iw_record *r, enum iw_verdict verdict)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->entries[i].done && shows(&r->entries[i].result, verdict) &&
            !iw_entry_as_pinned(&r->entries[i]) && r->entries[i].pinned != IW_PINNED_STALE &&
            (r->entries[i].pinned != IW_PINNED_CHANGED || r->made_for == NULL))
            return true;
    return false;
}

int iw_record_status(const struct iw_record *r, bool reached)
{
    bool unreached = false;
    for (size_t i = 0; i < r->count; i++)
        unreached = unreached || r->entries[i].unreached;
    if (r->verdicts[IW_VERDICT_ERROR])
        return IW_EXIT_TESTER;
    if (unreached && !reached)
        return IW_EXIT_UNREACHED;
    if (unexpected(r, IW_VERDICT_FAIL))
        return IW_EXIT_FAILURE;
    if ((r->pinned[IW_PINNED_STALE] && r->made_for == NULL) || r->n_unknown)
        return IW_EXIT_STALE;
    return unexpected(r, IW_VERDICT_INCONCLUSIVE) ? IW_EXIT_UNREACHED : IW_EXIT_GOOD;
}

void iw_record_free(struct iw_record *r)
{
    for (size_t i = 0; i < r->count; i++) {
        iw_result_free(&r->entries[i].result);
        free(r->entries[i].restored);
    }
    iw_findings_free(&r->findings);
    iw_device_free(&r->device);
    iw_texts_free(r->unknown);
    free(r->entries);
}
