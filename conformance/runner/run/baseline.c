/* SPDX-License-Identifier: BSD-3-Clause */
#include "baseline.h"

#include <stdlib.h>
#include <string.h>

#include "base/text_tools.h"
#include "host/text.h"

static const char blanks[] = " \t\r";

/* The text between quotes, in place; a backslash takes the next character as it is. NULL if there
 * are none or something follows them. */
static char *quoted(char *rest)
{
    char *from = rest + strspn(rest, blanks), *to = from, *text = from;
    if (*from++ != '"')
        return NULL;
    while (*from && *from != '"') {
        if (*from == '\\' && from[1])
            from++;
        *to++ = *from++;
    }
    if (*from != '"' || from[1 + strspn(from + 1, blanks)])
        return NULL;
    *to = 0;
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
/* An iw_take_line_fn. */
static const char *take_line(void *context, char *line, int number)
{
    struct iw_baseline *b = context;
    struct iw_pin pin = {.line = number};
    char *rest;
    const char *id = strtok_r(line, blanks, &rest);
    if (id == NULL || *id == '#')
        return NULL;
    char *verdict = strtok_r(NULL, blanks, &rest), *reason = quoted(rest);
    if (verdict == NULL || !pinned(verdict, &pin))
        return "expected an id and then NOTE, FAIL or INCONCLUSIVE";
    if (reason == NULL || *reason == 0)
        return "expected a reason in quotes at the end";
    if (iw_baseline_find(b, id) != NULL)
        return "this id stands in an earlier line";
    pin.id = iw_text_copy(id);
    pin.reason = iw_text_copy(reason);
    b->pins = iw_got(realloc(b->pins, ++b->count * sizeof(*b->pins)));
    b->pins[b->count - 1] = pin;
    return NULL;
}
int iw_baseline_read(struct iw_baseline *b, const char *path, char *error, size_t room)
{
    *b = (struct iw_baseline){0};
    return iw_text_read_lines(path, take_line, b, error, room);
}

void iw_baseline_free(struct iw_baseline *b)
{
    for (size_t i = 0; i < b->count; i++) {
        free(b->pins[i].id);
        free(b->pins[i].reason);
    }
    free(b->pins);
    *b = (struct iw_baseline){0};
}

const struct iw_pin *iw_baseline_find(const struct iw_baseline *b, const char *id)
{
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->pins[i].id, id) == 0)
            return &b->pins[i];
    return NULL;
}

enum iw_pinned iw_baseline_judge(const struct iw_pin *pin, enum iw_verdict verdict)
{
    if (verdict == IW_VERDICT_SKIP || verdict == IW_VERDICT_ERROR)
        return IW_PINNED_NOT;
    if (pin == NULL)
        return verdict == IW_VERDICT_PASS ? IW_PINNED_NOT : IW_PINNED_NEW;
    int now = iw_verdict_gravity(verdict), known = iw_verdict_gravity(pin->verdict);
    if (now < known && !pin->sometimes)
        return IW_PINNED_STALE;
    return now > known ? IW_PINNED_NEW : IW_PINNED_EXPECTED;
}
static void write_pin(FILE *out, const char *id, enum iw_verdict verdict, bool sometimes,
                      const char *reason)
{
    static const char *const pairs[] = {"\"", "\\\"", "\\", "\\\\", "\n", " ", NULL};
    fprintf(out, "%s %s%s \"", id, iw_verdict_name(verdict), sometimes ? "?" : "");
    iw_text_put(out, reason != NULL && *reason != 0 ? reason : "no reason was given", pairs);
    fputs("\"\n", out);
}

static bool judged(const struct iw_entry *e)
{
    return e != NULL && e->done && e->result.verdict != IW_VERDICT_SKIP &&
           e->result.verdict != IW_VERDICT_ERROR;
}

void iw_baseline_write(FILE *out, const struct iw_record *record, const struct iw_baseline *old)
{
    fprintf(out, "# %s: the cases that do not pass, with the reason why\n", record->target);
    for (size_t i = 0; i < record->count; i++) {
        const struct iw_entry *e = &record->entries[i];
        if (e->c == NULL || !judged(e))
            continue;
        const struct iw_pin *pin = iw_baseline_find(old, e->c->id);
        enum iw_verdict now = e->result.verdict;
        if (pin != NULL &&
            (pin->verdict == now ||
             (pin->sometimes && iw_verdict_gravity(now) < iw_verdict_gravity(pin->verdict))))
            write_pin(out, e->c->id, pin->verdict, pin->sometimes, pin->reason);
        else if (now != IW_VERDICT_PASS)
            write_pin(out, e->c->id, now, false, e->result.reason);
    }
    for (size_t i = 0; i < old->count; i++) {
        const struct iw_pin *pin = &old->pins[i];
        if (!judged(iw_record_entry(record, pin->id)))
            write_pin(out, pin->id, pin->verdict, pin->sometimes, pin->reason);
    }
}
