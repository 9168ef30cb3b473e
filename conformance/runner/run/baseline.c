/* SPDX-License-Identifier: BSD-3-Clause */
#include "baseline.h"

#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "host/text_tools.h"
#include "iwarp/quirk.h"
#include "iwarp/rules.h"

static const char blanks[] = " \t\r";

/* Takes the text between quotes that comes next, in place; a backslash takes the next character as
 * it is. *rest goes on after it. NULL if there is none. */
static char *quoted(char **rest)
{
    char *from = *rest + strspn(*rest, blanks), *to = from, *text = from;
    if (*from++ != '"')
        return NULL;
    while (*from && *from != '"') {
        if (*from == '\\' && from[1])
            from++;
        *to++ = *from++;
    }
    if (*from != '"')
        return NULL;
    *to = 0;
    *rest = from + 1 + strspn(from + 1, blanks);
    return text;
}

/* Reads a verdict that can be pinned; a '?' after it is cut off and means sometimes. */
static bool pinned(char *name, struct iw_pin *pin)
{
    size_t last = strlen(name) - 1;
    pin->sometimes = name[last] == '?';
    if (pin->sometimes)
        name[last] = 0;
    return iw_verdict_find(name, &pin->verdict) &&
           (pin->verdict == IW_VERDICT_NOTE || pin->verdict == IW_VERDICT_FAIL ||
            pin->verdict == IW_VERDICT_INCONCLUSIVE);
}

static void free_pin(struct iw_pin *pin)
{
    free(pin->id);
    free(pin->rule);
    free(pin->seen);
    free(pin->reason);
    iw_texts_free(pin->reasons);
}

/* RULE and SEEN, if they are there, then the reasons. Returns what is wrong, or NULL. */
static const char *take_rest(struct iw_pin *pin, char *rest)
{
    static const char no_reason[] = "expected a reason in quotes at the end";
    rest += strspn(rest, blanks);
    if (*rest && *rest != '"') {
        const char *rule = strtok_r(rest, blanks, &rest), *seen = quoted(&rest);
        if (seen == NULL ||
            (strcmp(rule, "-") != 0 && strcmp(rule, "*") != 0 && iw_rule_find(rule) == NULL))
            return "expected a rule, \"-\" or \"*\", and what was seen in quotes";
        pin->rule = iw_text_copy(rule);
        pin->seen = iw_text_copy(seen);
    }
    while (*rest) {
        const char *text = quoted(&rest);
        if (text == NULL || *text == 0)
            return no_reason;
        iw_texts_add(&pin->reasons, iw_text_copy(text));
        iw_text_join(&pin->reason, "; ", text);
    }
    return pin->reason == NULL ? no_reason : NULL;
}

static bool is_there(const struct iw_baseline *b, const char *id)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->pins[i].version == b->n_versions && strcmp(b->pins[i].id, id) == 0)
            return true;
    return false;
}

/* for "VERSION" */
static const char *take_version(struct iw_baseline *b, char *rest)
{
    const char *version = quoted(&rest);
    if (version == NULL || *version == 0 || *rest)
        return "expected a version of the target in quotes";
    for (size_t i = 0; i < b->n_versions; i++)
        if (strcmp(b->versions[i], version) == 0)
            return "there are lines for this version already";
    iw_texts_add(&b->versions, iw_text_copy(version));
    b->n_versions++;
    return NULL;
}

/* An iw_take_line_fn. */
static const char *take_line(void *context, char *line, int number)
{
    struct iw_baseline *b = context;
    struct iw_pin pin = {.line = number, .version = b->n_versions};
    char *rest;
    const char *id = strtok_r(line, blanks, &rest);
    if (id == NULL || *id == '#')
        return NULL;
    if (strcmp(id, "for") == 0)
        return take_version(b, rest);
    char *verdict = strtok_r(NULL, blanks, &rest);
    if (verdict == NULL || !pinned(verdict, &pin))
        return "expected an id and then NOTE, FAIL or INCONCLUSIVE";
    const char *wrong = take_rest(&pin, rest);
    if (wrong == NULL && is_there(b, id))
        wrong = "this id stands in an earlier line";
    if (wrong != NULL) {
        free_pin(&pin);
        return wrong;
    }
    pin.id = iw_text_copy(id);
    b->pins = iw_got(realloc(b->pins, ++b->count * sizeof(*b->pins)));
    b->pins[b->count - 1] = pin;
    return NULL;
}

int iw_baseline_read(struct iw_baseline *b, const char *path, char *error, size_t room)
{
    *b = (struct iw_baseline){0};
    int status = iw_text_read_lines(path, take_line, b, error, room);
    iw_baseline_choose(b, NULL);
    return status;
}

void iw_baseline_free(struct iw_baseline *b)
{
    for (size_t i = 0; i < b->count; i++)
        free_pin(&b->pins[i]);
    iw_texts_free(b->versions);
    free(b->pins);
    *b = (struct iw_baseline){0};
}

/* ---- comparing ---- */

bool iw_baseline_choose(struct iw_baseline *b, const char *version)
{
    size_t before = b->chosen, found = 0;
    for (size_t i = 0; i < b->n_versions; i++)
        if (version != NULL && strcmp(b->versions[i], version) == 0)
            found = i + 1;
    b->other = b->n_versions > 0 && version != NULL && found == 0;
    b->chosen = found == 0 && b->n_versions > 0 ? 1 : found;
    return b->chosen != before;
}

const struct iw_pin *iw_baseline_find(const struct iw_baseline *b, const char *id)
{
    const struct iw_pin *all = NULL;
    for (size_t i = 0; i < b->count; i++) {
        if (strcmp(b->pins[i].id, id) != 0)
            continue;
        if (b->pins[i].version != 0 && b->pins[i].version == b->chosen)
            return &b->pins[i];
        if (b->pins[i].version == 0)
            all = &b->pins[i];
    }
    return all;
}

/* The words of an answer that say of what kind it is: two of a Terminate or of a start-up frame,
 * one of another. */
static int kind_length(const char *answer)
{
    size_t first = strcspn(answer, " ");
    bool two = strncmp(answer, "terminate ", 10) == 0 || strncmp(answer, "mpa ", 4) == 0;
    return (int)(two ? first + 1 + strcspn(answer + first + 1, " ") : first);
}

/* The first one, but what was looked through only if there is nothing else. */
static const struct iw_deviation *leading(const struct iw_result *result)
{
    for (size_t i = 0; i < result->n_deviations; i++) {
        const struct iw_deviation *d = &result->deviations[i];
        if (!d->wire || iw_quirk_shown(~(iw_quirks)0, iw_check_find(d->how)) == IW_QUIRK_COUNT)
            return d;
    }
    return result->deviations;
}

char *iw_baseline_seen(const struct iw_result *result)
{
    const struct iw_deviation *d = leading(result);
    if (result->n_deviations == 0)
        return NULL;
    if (d->wire || d->rule == NULL || d->actual == NULL)
        return iw_text_copy(d->how);
    return iw_text_format("%s: %.*s", d->how, kind_length(d->actual), d->actual);
}

static const char *seen_rule(const struct iw_result *result)
{
    const struct iw_rule *rule = leading(result)->rule;
    return rule != NULL ? rule->id : "-";
}

static bool is_any(const char *pinned)
{
    return pinned == NULL || strcmp(pinned, "*") == 0;
}

/* Whether the result shows what the pin says. One without a deviation shows nothing. */
static bool shows_the_same(const struct iw_pin *pin, const struct iw_result *result)
{
    char *seen = iw_baseline_seen(result);
    bool same = seen == NULL || ((is_any(pin->rule) || strcmp(pin->rule, seen_rule(result)) == 0) &&
                                 (is_any(pin->seen) || strcmp(pin->seen, seen) == 0));
    free(seen);
    return same;
}

enum iw_pinned iw_baseline_judge(const struct iw_pin *pin, const struct iw_result *result)
{
    enum iw_verdict verdict = result->verdict;
    if (verdict == IW_VERDICT_SKIP || verdict == IW_VERDICT_ERROR)
        return IW_PINNED_NOT;
    if (pin == NULL)
        return verdict == IW_VERDICT_PASS ? IW_PINNED_NOT : IW_PINNED_NEW;
    int now = iw_verdict_gravity(verdict), known = iw_verdict_gravity(pin->verdict);
    if (now < known && !pin->sometimes)
        return IW_PINNED_STALE;
    if (now > known)
        return IW_PINNED_NEW;
    return now < known || shows_the_same(pin, result) ? IW_PINNED_EXPECTED : IW_PINNED_CHANGED;
}

/* ---- writing ---- */

static void put_quoted(FILE *out, const char *text)
{
    static const char *const pairs[] = {"\"", "\\\"", "\\", "\\\\", "\n", " ", NULL};
    fputs(" \"", out);
    iw_text_put(out, text, pairs);
    putc('"', out);
}

static void put_head(FILE *out, const char *id, enum iw_verdict verdict, bool sometimes)
{
    fprintf(out, "%s %s%s", id, iw_verdict_name(verdict), sometimes ? "?" : "");
}

static void put_reasons(FILE *out, const struct iw_pin *pin)
{
    for (size_t i = 0; pin->reasons[i] != NULL; i++)
        put_quoted(out, pin->reasons[i]);
    putc('\n', out);
}

static void write_pin(FILE *out, const struct iw_pin *pin)
{
    put_head(out, pin->id, pin->verdict, pin->sometimes);
    if (pin->rule != NULL) {
        fprintf(out, " %s", pin->rule);
        put_quoted(out, pin->seen);
    }
    put_reasons(out, pin);
}

/* What the run has seen; the reasons are the pin's unless there is none. */
static void write_result(FILE *out, const char *id, const struct iw_result *r,
                         const struct iw_pin *pin)
{
    char *seen = iw_baseline_seen(r);
    put_head(out, id, r->verdict, false);
    if (seen != NULL) {
        fprintf(out, " %s", seen_rule(r));
        put_quoted(out, seen);
    }
    free(seen);
    if (pin != NULL) {
        put_reasons(out, pin);
        return;
    }
    put_quoted(out, r->reason != NULL && *r->reason ? r->reason : "no reason was given");
    putc('\n', out);
}

static bool judged(const struct iw_entry *e)
{
    return e != NULL && e->done && e->result.verdict != IW_VERDICT_SKIP &&
           e->result.verdict != IW_VERDICT_ERROR;
}

static void write_entry(FILE *out, const struct iw_entry *e, const struct iw_baseline *old)
{
    const struct iw_pin *pin = iw_baseline_find(old, e->c->id);
    enum iw_verdict now = e->result.verdict;
    bool holds = pin != NULL && pin->verdict == now;
    bool stays = pin != NULL && pin->sometimes &&
                 iw_verdict_gravity(now) <= iw_verdict_gravity(pin->verdict);
    stays = stays || (holds && pin->rule != NULL && (is_any(pin->rule) || is_any(pin->seen)));
    if (stays)
        write_pin(out, pin);
    else if (now != IW_VERDICT_PASS)
        write_result(out, e->c->id, &e->result, holds ? pin : NULL);
}

/* Whether an entry's line is for every version, and still true. */
static bool for_all(const struct iw_baseline *old, const struct iw_entry *e)
{
    const struct iw_pin *pin = iw_baseline_find(old, e->c->id);
    return old->n_versions > 0 && pin != NULL && pin->version == 0 &&
           iw_baseline_judge(pin, &e->result) == IW_PINNED_EXPECTED;
}

/* Returns whether a line is to go: no case has its id. */
static bool gone(const struct iw_record *record, const struct iw_pin *pin)
{
    for (size_t i = 0; i < record->n_unknown; i++)
        if (strcmp(record->unknown[i], pin->id) == 0)
            return true;
    return false;
}

/* Writes the lines that are for every version, or the other ones. */
static void write_lines(FILE *out, const struct iw_record *record, const struct iw_baseline *old,
                        bool all)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct iw_entry *e = &record->entries[i];
        if (e->c != NULL && judged(e) && for_all(old, e) == all)
            write_entry(out, e, old);
    }
    for (size_t i = 0; i < old->count; i++) {
        const struct iw_pin *pin = &old->pins[i];
        bool common = old->n_versions > 0 && pin->version == 0;
        bool mine = pin->version == 0 || (pin->version == old->chosen && !old->other);
        if (mine && common == all && !gone(record, pin) &&
            !judged(iw_record_entry(record, pin->id)))
            write_pin(out, pin);
    }
}

static void put_version(FILE *out, const char *version)
{
    fputs("for", out);
    put_quoted(out, version);
    putc('\n', out);
}

void iw_baseline_write(FILE *out, const struct iw_record *record, const char *version,
                       const struct iw_baseline *old)
{
    fprintf(out, "# %s: the cases that do not pass, with the reason why\n", record->target);
    write_lines(out, record, old, true);
    if (version != NULL)
        put_version(out, version);
    write_lines(out, record, old, false);
    for (size_t other = 1; other <= old->n_versions; other++) {
        if (other == old->chosen && !old->other)
            continue;
        put_version(out, old->versions[other - 1]);
        for (size_t i = 0; i < old->count; i++)
            if (old->pins[i].version == other && !gone(record, &old->pins[i]))
                write_pin(out, &old->pins[i]);
    }
}
