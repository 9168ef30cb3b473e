/* SPDX-License-Identifier: BSD-3-Clause */
#include "baseline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"

static const char blanks[] = " \t\r";

/* Cuts the next word off *rest; NULL if there is none. */
static char *word(char **rest)
{
    char *start = *rest + strspn(*rest, blanks);
    size_t length = strcspn(start, blanks);

    *rest = start + length;
    if (!length)
        return NULL;
    if (**rest)
        *(*rest)++ = 0;
    return start;
}

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

static bool pinnable(const char *name, enum iw_verdict *out)
{
    static const enum iw_verdict may[] = {IW_VERDICT_NOTE, IW_VERDICT_FAIL,
                                          IW_VERDICT_INCONCLUSIVE};

    for (size_t i = 0; i < sizeof(may) / sizeof(*may); i++) {
        *out = may[i];
        if (!strcmp(name, iw_verdict_name(may[i])))
            return true;
    }
    return false;
}

/* "FAIL?": the sign is cut off. */
static bool doubted(char *verdict)
{
    size_t length = strlen(verdict);

    if (verdict[length - 1] != '?')
        return false;
    verdict[length - 1] = 0;
    return true;
}

/* One line that is neither empty nor a comment. NULL, or what is wrong with it. */
static const char *take_line(struct iw_baseline *b, char *line, int number)
{
    char *id = word(&line), *verdict = word(&line), *reason = quoted(line);
    struct iw_pin pin = {.line = number};

    pin.sometimes = verdict && doubted(verdict);
    if (!verdict || !pinnable(verdict, &pin.verdict))
        return "expected an id and then NOTE, FAIL or INCONCLUSIVE";
    if (!reason || !*reason)
        return "expected a reason in quotes at the end";
    if (iw_baseline_find(b, id))
        return "this id stands in an earlier line";
    pin.id = iw_text_copy(id);
    pin.reason = iw_text_copy(reason);
    b->pins = iw_got(realloc(b->pins, (b->count + 1) * sizeof(*b->pins)));
    b->pins[b->count++] = pin;
    return NULL;
}

int iw_baseline_read(struct iw_baseline *b, const char *path, char *error, size_t room)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    const char *wrong = NULL;
    size_t size = 0;
    int number = 0;

    *b = (struct iw_baseline){0};
    if (!f) {
        snprintf(error, room, "cannot read %s: %s", path, strerror(errno));
        return -1;
    }
    while (!wrong && getline(&line, &size, f) >= 0) {
        char *start = line + strspn(line, blanks);

        number++;
        line[strcspn(line, "\n")] = 0;
        if (*start && *start != '#')
            wrong = take_line(b, start, number);
    }
    if (wrong)
        snprintf(error, room, "%s:%d: %s", path, number, wrong);
    else if (ferror(f))
        snprintf(error, room, "cannot read %s: %s", path, strerror(errno));
    wrong = wrong || ferror(f) ? error : NULL;
    free(line);
    fclose(f);
    return wrong ? -1 : 0;
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
        if (!strcmp(b->pins[i].id, id))
            return &b->pins[i];
    return NULL;
}

/* PASS is the least. */
static int gravity(enum iw_verdict verdict)
{
    return verdict == IW_VERDICT_FAIL           ? 3
           : verdict == IW_VERDICT_INCONCLUSIVE ? 2
           : verdict == IW_VERDICT_NOTE         ? 1
                                                : 0;
}

enum iw_pinned iw_baseline_judge(const struct iw_pin *pin, enum iw_verdict verdict)
{
    int now = gravity(verdict), known = pin ? gravity(pin->verdict) : 0;

    if (verdict == IW_VERDICT_SKIP || verdict == IW_VERDICT_ERROR || (!now && !known))
        return IW_PINNED_NOT;
    if (now < known && !pin->sometimes)
        return IW_PINNED_STALE;
    return now > known ? IW_PINNED_NEW : IW_PINNED_EXPECTED;
}

static void write_pin(FILE *out, const char *id, enum iw_verdict verdict, bool sometimes,
                      const char *reason)
{
    char *clean = iw_text_clean(reason && *reason ? reason : "no reason was given");

    fprintf(out, "%s %s%s \"", id, iw_verdict_name(verdict), sometimes ? "?" : "");
    for (const char *s = clean; *s; s++) {
        if (*s == '"' || *s == '\\')
            putc('\\', out);
        putc(*s == '\n' ? ' ' : *s, out);
    }
    fputs("\"\n", out);
    free(clean);
}

static bool judged(const struct iw_record *record, const char *id)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct iw_entry *e = &record->entries[i];

        if (e->c && !strcmp(e->c->id, id))
            return e->done && e->result.verdict != IW_VERDICT_SKIP &&
                   e->result.verdict != IW_VERDICT_ERROR;
    }
    return false;
}

void iw_baseline_write(FILE *out, const struct iw_record *record, const struct iw_baseline *old)
{
    fprintf(out, "# %s: the cases that do not pass, with the reason why\n", record->target);
    for (size_t i = 0; i < record->count; i++) {
        const struct iw_entry *e = &record->entries[i];
        const struct iw_pin *pin = e->c ? iw_baseline_find(old, e->c->id) : NULL;

        if (!e->c || !judged(record, e->c->id))
            continue;
        if (pin && (pin->verdict == e->result.verdict ||
                    (pin->sometimes && gravity(e->result.verdict) < gravity(pin->verdict))))
            write_pin(out, e->c->id, pin->verdict, pin->sometimes, pin->reason);
        else if (gravity(e->result.verdict))
            write_pin(out, e->c->id, e->result.verdict, false, e->result.reason);
    }
    for (size_t i = 0; i < old->count; i++)
        if (!judged(record, old->pins[i].id))
            write_pin(out, old->pins[i].id, old->pins[i].verdict, old->pins[i].sometimes,
                      old->pins[i].reason);
}
