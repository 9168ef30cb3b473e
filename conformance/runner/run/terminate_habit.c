/* SPDX-License-Identifier: BSD-3-Clause */
#include "terminate_habit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "deviation_check.h"
#include "host/text.h"
#include "host/text_tools.h"
#include "iwarp/wire.h"
#include "run_record.h"

enum {
    LAYER = IW_HABIT_LAYER,
    TYPE = IW_HABIT_TYPE,
    CODE = IW_HABIT_CODE,
    FIELDS = IW_HABIT_FIELDS,
    ANY = 0x100, /* "*": any value does */
    KINDS = 0x100
};

/* Of how many kinds (layer and type) the errors are that show that a field is always the same: each
 * kind has codes of its own, and a target may take an error for another one of its kind. */
static const size_t kinds_needed[FIELDS] = {[LAYER] = 2, [TYPE] = 2, [CODE] = 3};
enum { KINDS_EXCHANGED = 3, KINDS_CLOSED = 3 };

struct error {
    unsigned field[FIELDS];
};

/* ---- reading ---- */

static bool value(const char **text, int digits, unsigned *out)
{
    const char *at = *text;
    if (*at == '*') {
        *out = ANY;
        *text = at + 1;
        return true;
    }
    *out = 0;
    for (int i = 0; i < digits; i++, at++) {
        if (!isxdigit((unsigned char)*at))
            return false;
        *out = *out << 4 |
               (unsigned)(isdigit((unsigned char)*at) ? *at - '0' : (*at | 0x20) - 'a' + 10);
    }
    *text = at;
    return true;
}

/* Reads "1/1/00", or "1/2/" with a "*" for any code. */
static bool code_at(const char *text, struct error *out)
{
    return value(&text, 1, &out->field[LAYER]) && *text++ == '/' &&
           value(&text, 1, &out->field[TYPE]) && *text++ == '/' &&
           value(&text, 2, &out->field[CODE]) && !isxdigit((unsigned char)*text);
}

/* Finds the next code in a text, which may be NULL. Returns what follows its begin; NULL: there is
 * none. */
static const char *next_code(const char *text, struct error *out)
{
    for (const char *at = text; at != NULL && *at != 0; at++)
        if ((at == text || *(at - 1) == ' ') && code_at(at, out))
            return at + 1;
    return NULL;
}

/* What the observer says of a value: "0x2000 at octet 45 of connection 0". */
static unsigned long got(const struct iw_deviation *d)
{
    return d->actual != NULL ? strtoul(d->actual, NULL, 16) : 0;
}

/* The error of the Terminate that a deviation shows, as its octets have it. */
static bool came(const struct iw_deviation *d, struct error *out)
{
    if (!d->wire)
        return d->came != NULL && code_at(d->came, out);
    bool unassigned = iw_deviation_seen(d, IW_CHECK_RDMAP_TERMINATE_VALID);
    if (!unassigned && !iw_deviation_seen(d, IW_CHECK_RDMAP_TERMINATE_REASON))
        return false;
    unsigned long word = got(d);
    *out = (struct error){{word >> 12 & 0xf, word >> 8 & 0xf, word & 0xff}};
    /* What has no code that is not assigned is the length of one that is cut off. */
    return !unassigned ||
           !iw_wire_term_assigned(out->field[LAYER], out->field[TYPE], out->field[CODE]);
}

static struct error exchanged(const struct error *e)
{
    return (struct error){{e->field[TYPE], e->field[LAYER], e->field[CODE]}};
}

/* Returns whether it is another one where its layer and its type are exchanged. */
static bool is_changed(const struct error *e)
{
    return e->field[LAYER] != e->field[TYPE];
}

static unsigned kind(const struct error *e)
{
    return (e->field[LAYER] << 4 | e->field[TYPE]) % KINDS;
}

static bool fits(unsigned wanted, unsigned value)
{
    return wanted == ANY || wanted == value;
}

/* ---- what the habit makes of an error ---- */

/* Returns whether the habit makes this of one of these errors. */
static bool comes_of(const struct iw_terminate_habit *habit, const struct error *meant,
                     const struct error *e)
{
    const struct error turned = exchanged(e);
    bool changed = false;
    for (int i = 0; i < FIELDS; i++) {
        unsigned shown = habit->exchanged ? turned.field[i] : e->field[i];
        if (habit->same[i] ? e->field[i] != habit->value[i] : !fits(meant->field[i], shown))
            return false;
        changed = changed || !fits(meant->field[i], e->field[i]);
    }
    return changed;
}

/* Finds the error, one of those that a case expects, of which the habit makes what came. */
static bool meant_by(const struct iw_terminate_habit *habit, const struct iw_deviation *d,
                     struct error *meant)
{
    struct error e;
    if (d->wire || !came(d, &e))
        return false;
    const char *at = d->expected;
    bool any = false;
    while ((at = next_code(at, meant)) != NULL) {
        any = true;
        if (comes_of(habit, meant, &e))
            return true;
    }
    return !any && strcmp(d->how, "refused") != 0 && d->fault != NULL && code_at(d->fault, meant) &&
           comes_of(habit, meant, &e);
}

/* Returns whether the habit makes this of any error that there is. */
static bool comes_of_any(const struct iw_terminate_habit *habit, const struct error *e)
{
    enum { LAYERS = 3, TYPES = 3, CODES = 0x100 };
    for (unsigned layer = 0; layer < LAYERS; layer++)
        for (unsigned type = 0; type < TYPES; type++)
            for (unsigned code = 0; code < CODES; code++) {
                const struct error meant = {{layer, type, code}};
                if (iw_wire_term_assigned(layer, type, code) && comes_of(habit, &meant, e))
                    return true;
            }
    return false;
}

/* Which headers come back depends on layer and type (RFC 5040, figure 10). */
static bool are_headers_of_another(const struct iw_terminate_habit *habit,
                                   const struct iw_deviation *d)
{
    const unsigned long with_ddp = IW_TERM_M | IW_TERM_D;
    bool moved = habit->same[LAYER] || habit->same[TYPE] || habit->exchanged;
    unsigned long flags = got(d);
    return moved && iw_deviation_seen(d, IW_CHECK_RDMAP_TERMINATE_HEADERS) &&
           (flags == 0 || flags == with_ddp || flags == (with_ddp | IW_TERM_R));
}

static bool exists(const struct iw_terminate_habit *habit)
{
    return habit->exchanged || habit->same[LAYER] || habit->same[TYPE] || habit->same[CODE];
}

/* Returns whether the target ends the connection where nothing but a Terminate is due, and for
 * which error. */
static bool closes(const struct iw_deviation *d, struct error *meant)
{
    return !d->wire && strcmp(d->how, "closed") == 0 && d->fault != NULL &&
           code_at(d->fault, meant);
}

/* Returns whether it does so where a Terminate is one of several things that are due, or has no
 * certain code. */
static bool closes_instead(const struct iw_deviation *d)
{
    bool ends =
        d->actual != NULL && (strcmp(d->actual, "fin") == 0 || strcmp(d->actual, "reset") == 0);
    bool closed = strcmp(d->how, "closed") == 0 || strcmp(d->how, "refused") == 0;
    return !d->wire && ends && closed && d->expected != NULL &&
           strstr(d->expected, "terminate") != NULL;
}

bool iw_terminate_habit_is(const struct iw_terminate_habit *habit, const struct iw_deviation *d)
{
    struct error e;
    if (habit->closes)
        return closes(d, &e) || closes_instead(d);
    if (!exists(habit))
        return false;
    if (!d->wire)
        return meant_by(habit, d, &e);
    if (iw_deviation_seen(d, IW_CHECK_RDMAP_TERMINATE_REVERSED))
        return habit->exchanged;
    /* The observer has looked through a word that is reversed. */
    return !habit->reversed &&
           ((came(d, &e) && comes_of_any(habit, &e)) || are_headers_of_another(habit, d));
}

/* ---- all Terminates of a run ---- */

/* The error of a Terminate, as its octets have it. */
struct shown {
    struct error e;
    const struct iw_deviation *d; /* that it is; NULL: it was as expected */
    bool any;                     /* expected was no more than a Terminate */
};

/* Returns whether to go on. */
typedef bool taking(void *context, const struct shown *shown);

/* Returns whether the observer has looked through its words. */
static bool reads_reversed(const struct iw_result *r)
{
    bool found = false;
    for (size_t k = 0; k < r->n_deviations; k++)
        found = found || iw_deviation_seen(&r->deviations[k], IW_CHECK_RDMAP_TERMINATE_REVERSED);
    return found;
}

/* Reads what a case has recorded: "1/1/00 M D", or the octets "1100c0". Returns whether it can be
 * read. */
static bool recorded(const char *text, struct shown *out)
{
    static const char any[] = " any";
    struct error *e = &out->e;
    bool octets = text[0] == 0 || text[1] != '/';
    size_t length = strcspn(text, ";");
    const char *said = strstr(text, any);
    out->any = said != NULL && said < text + length;
    if (!octets)
        return code_at(text, e);
    return value(&text, 1, &e->field[LAYER]) && value(&text, 1, &e->field[TYPE]) &&
           value(&text, 2, &e->field[CODE]);
}

static bool each_of(const struct iw_result *r, taking *take, void *context)
{
    static const char name[] = "terminate=";
    bool turned = reads_reversed(r);
    for (const char *at = r->observed; at != NULL && (at = strstr(at, name)) != NULL;) {
        struct shown shown = {0};
        at += strlen(name);
        if (!recorded(at, &shown))
            continue;
        if (turned)
            shown.e = exchanged(&shown.e);
        if (!take(context, &shown))
            return false;
    }
    for (size_t k = 0; k < r->n_deviations; k++) {
        struct shown shown = {.d = &r->deviations[k]};
        if (came(shown.d, &shown.e) && !take(context, &shown))
            return false;
    }
    return true;
}

static bool each(const struct iw_record *record, taking *take, void *context)
{
    bool all = true;
    for (size_t i = 0; all && i < record->count; i++)
        all = !record->entries[i].done || each_of(&record->entries[i].result, take, context);
    return all;
}

/* ---- fields that are always the same ---- */

struct sameness {
    struct iw_terminate_habit habit;
    bool any;
    bool kinds[FIELDS][KINDS]; /* of errors that have another value there, and came with this one */
};

static bool take_same(void *context, const struct shown *shown)
{
    const struct error *e = &shown->e;
    struct sameness *s = context;
    for (int i = 0; i < FIELDS; i++) {
        if (!s->any)
            s->habit.value[i] = e->field[i];
        s->habit.same[i] = (s->habit.same[i] || !s->any) && s->habit.value[i] == e->field[i];
    }
    s->any = true;
    return true;
}

static bool take_meant(void *context, const struct shown *shown)
{
    const struct error *e = &shown->e;
    const struct iw_deviation *d = shown->d;
    struct sameness *s = context;
    struct error meant = *e;
    if (d == NULL || (!d->wire && !meant_by(&s->habit, d, &meant)) ||
        (d->wire && !comes_of_any(&s->habit, e)))
        return true;
    bool known = d->wire ? iw_deviation_seen(d, IW_CHECK_RDMAP_TERMINATE_VALID) &&
                               !s->habit.same[LAYER] && !s->habit.same[TYPE]
                         : meant.field[TYPE] != ANY;
    for (int i = 0; i < FIELDS; i++)
        if (known && (d->wire ? i == CODE : !fits(meant.field[i], s->habit.value[i])))
            s->kinds[i][kind(&meant)] = true;
    return true;
}

static size_t count(const bool *list)
{
    size_t n = 0;
    for (size_t i = 0; i < KINDS; i++)
        n += list[i];
    return n;
}

/* A field that would be the same anyhow, as in a run about errors of one layer, is no habit: then
 * the others have to do without it. */
static void find_same(struct iw_terminate_habit *out, const struct iw_record *record)
{
    struct sameness s = {0};
    bool again;
    each(record, take_same, &s);
    do {
        again = false;
        memset(s.kinds, 0, sizeof(s.kinds));
        each(record, take_meant, &s);
        for (int i = 0; i < FIELDS; i++)
            if (s.habit.same[i] && count(s.kinds[i]) < kinds_needed[i]) {
                s.habit.same[i] = false;
                again = true;
            }
    } while (again);
    *out = s.habit;
}

/* ---- layer and type exchanged ---- */

struct exchange {
    struct iw_terminate_habit habit;
    bool kinds[KINDS];
    bool turned; /* words that were read so are being taken */
};

static bool take_exchanged(void *context, const struct shown *shown)
{
    const struct error *e = &shown->e;
    const struct iw_deviation *d = shown->d;
    struct exchange *x = context;
    struct error meant = exchanged(e);
    if (d == NULL && !x->turned)
        return shown->any || !is_changed(e);
    if (d != NULL && (d->wire ? !comes_of_any(&x->habit, e) : !meant_by(&x->habit, d, &meant)))
        return true;
    if (is_changed(&meant))
        x->kinds[kind(&meant)] = true;
    return true;
}

/* Returns whether flags stand at the other end of their octet: not the halves of the first one are
 * exchanged, but the word is in reversed order. */
static bool has_reversed(const struct iw_result *r)
{
    bool found = false;
    for (size_t k = 0; k < r->n_deviations; k++)
        found = found || (iw_deviation_seen(&r->deviations[k], IW_CHECK_RDMAP_TERMINATE_REVERSED) &&
                          (got(&r->deviations[k]) & 0xffff) != 0);
    return found;
}

static void find_exchanged(struct iw_terminate_habit *out, const struct iw_record *record)
{
    struct exchange x = {.habit = {.exchanged = true}};
    for (size_t i = 0; i < record->count; i++) {
        const struct iw_result *r = &record->entries[i].result;
        if (!record->entries[i].done)
            continue;
        x.turned = reads_reversed(r);
        x.habit.reversed = x.habit.reversed || has_reversed(r);
        if (!each_of(r, take_exchanged, &x))
            return;
    }
    if (count(x.kinds) >= KINDS_EXCHANGED)
        *out = x.habit;
}

/* ---- none at all ---- */

/* A Terminate about an error of the target's own, as the case expects it, reports nothing that has
 * come in. Returns whether this is one. */
static bool take_own(void *context, const struct shown *shown)
{
    const struct error *e = &shown->e;
    (void)context;
    return shown->d == NULL && !shown->any && e->field[LAYER] == IW_LAYER_RDMAP &&
           e->field[TYPE] == 0;
}

/* Returns whether the observer has found a Terminate wrong. */
static bool has_wrong_one(const struct iw_result *r)
{
    static const char terminates[] = "rdmap-terminate-";
    bool found = false;
    for (size_t k = 0; k < r->n_deviations; k++)
        found = found || (r->deviations[k].wire &&
                          strncmp(r->deviations[k].how, terminates, strlen(terminates)) == 0);
    return found;
}

static void find_closing(struct iw_terminate_habit *out, const struct iw_record *record)
{
    bool kinds[KINDS] = {false};
    if (!each(record, take_own, NULL))
        return;
    for (size_t i = 0; i < record->count; i++) {
        const struct iw_result *r = &record->entries[i].result;
        struct error meant;
        if (!record->entries[i].done)
            continue;
        if (has_wrong_one(r))
            return;
        for (size_t k = 0; k < r->n_deviations; k++)
            if (closes(&r->deviations[k], &meant))
                kinds[kind(&meant)] = true;
    }
    out->closes = count(kinds) >= KINDS_CLOSED;
}

void iw_terminate_habit_find(struct iw_terminate_habit *out, const struct iw_record *record)
{
    *out = (struct iw_terminate_habit){0};
    find_same(out, record);
    if (!exists(out))
        find_exchanged(out, record);
    if (!exists(out))
        find_closing(out, record);
}

/* ---- what it is ---- */

/* "The Terminate Control field MUST have the format defined in Figure 8 below"; "Figure 9 [...]
 * defines the valid values that MUST be used for this field" (RFC 5040 §4.8). "The Local Peer MUST
 * send a Terminate Message for each of the following cases" (§7.1). */
const struct iw_rule *iw_terminate_habit_rule(const struct iw_terminate_habit *habit)
{
    if (habit->closes)
        return iw_rule_find("RDMAP-7.1-03");
    return iw_rule_find(habit->exchanged ? "RDMAP-4.8-02" : "RDMAP-4.8-03");
}

char *iw_terminate_habit_text(const struct iw_terminate_habit *habit)
{
    static const char *const names[FIELDS] = {"layer", "error type", "error code"};
    if (habit->reversed)
        return NULL;
    if (habit->closes)
        return iw_text_copy(
            "the target sends no Terminate: it ends the connection, whatever the error");
    if (habit->exchanged)
        return iw_text_copy("layer and error type stand in each other's place in every Terminate");
    char *text = NULL;
    for (int i = 0; i < FIELDS; i++) {
        char *one = iw_text_format("%s %u", names[i], habit->value[i]);
        if (habit->same[i])
            iw_text_join(&text, ", ", one);
        free(one);
    }
    char *whole = iw_text_format("every Terminate has %s, whatever the error", text);
    free(text);
    return whole;
}
