/* SPDX-License-Identifier: BSD-3-Clause */
#include "proof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/text.h"
#include "host/text_tools.h"

/* ---- tables ---- */

/* Returns the index of the first line whose id is not before `id`. */
static size_t place_of(const struct iw_proof_table *t, const char *id)
{
    size_t from = 0, to = t->count;
    if (to > 0 && strcmp(t->lines[to - 1].id, id) < 0)
        return to; /* most tables are read in order */
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (strcmp(t->lines[middle].id, id) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool is_at(const struct iw_proof_table *t, size_t place, const char *id)
{
    return place < t->count && strcmp(t->lines[place].id, id) == 0;
}

const char *iw_proof_find(const struct iw_proof_table *t, const char *id)
{
    const size_t place = place_of(t, id);
    return is_at(t, place, id) ? t->lines[place].text : NULL;
}

static void insert(struct iw_proof_table *t, size_t place, const char *id, const char *text,
                   int line)
{
    t->lines = iw_got(realloc(t->lines, (t->count + 1) * sizeof(*t->lines)));
    memmove(&t->lines[place + 1], &t->lines[place], (t->count - place) * sizeof(*t->lines));
    t->lines[place] = (struct iw_proof_line){iw_text_copy(id), iw_text_copy(text), line};
    t->count++;
}

void iw_proof_set(struct iw_proof_table *t, const char *id, const char *text)
{
    const size_t place = place_of(t, id);
    if (!is_at(t, place, id)) {
        insert(t, place, id, text, 0);
    } else {
        free(t->lines[place].text);
        t->lines[place].text = iw_text_copy(text);
    }
}

void iw_proof_free_table(struct iw_proof_table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        free(t->lines[i].id);
        free(t->lines[i].text);
    }
    free(t->lines);
    *t = (struct iw_proof_table){0};
}

/* A field's text, in place; NULL if its quotes do not match. */
static char *unquoted(char *field)
{
    char *to = field, *from = field + 1;
    if (*field != '"')
        return strchr(field, '"') != NULL ? NULL : field;
    while (*from && (*from != '"' || from[1] == '"')) {
        if (*from == '"')
            from++;
        *to++ = *from++;
    }
    if (!*from || from[1])
        return NULL;
    *to = 0;
    return field;
}
/* An iw_take_line_fn; the first line names the columns. */
static const char *take_line(void *context, char *line, int number)
{
    struct iw_proof_table *t = context;
    line[strcspn(line, "\r")] = 0;
    if (number == 1 || *line == 0)
        return NULL;
    char *comma = strchr(line, ',');
    if (comma == NULL || comma == line)
        return "expected an id, a comma and a text";
    *comma = 0;
    const char *text = unquoted(comma + 1);
    if (text == NULL)
        return "the quotes do not match";
    const size_t place = place_of(t, line);
    if (is_at(t, place, line))
        return "this id stands in an earlier line";
    insert(t, place, line, text, number);
    return NULL;
}
int iw_proof_read_table(struct iw_proof_table *t, const char *path, char *error, size_t room)
{
    *t = (struct iw_proof_table){0};
    if (access(path, F_OK) && errno == ENOENT)
        return 0;
    return iw_text_read_lines(path, take_line, t, error, room);
}

int iw_proof_read(struct iw_proof *p, const char *folder, char *error, size_t room)
{
    const struct {
        const char *name;
        struct iw_proof_table *table;
    } tables[] = {{"matrix", &p->matrix},
                  {"claims", &p->claims},
                  {"dispositions", &p->dispositions},
                  {"idle", &p->idle}};
    int status = 0;
    *p = (struct iw_proof){0};
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && status == 0; i++) {
        char *path = iw_text_format("%s/%s.csv", folder, tables[i].name);
        status = iw_proof_read_table(tables[i].table, path, error, room);
        free(path);
    }
    return status;
}

void iw_proof_free(struct iw_proof *p)
{
    iw_proof_free_table(&p->matrix);
    iw_proof_free_table(&p->claims);
    iw_proof_free_table(&p->dispositions);
    iw_proof_free_table(&p->idle);
}

/* ---- the matrix ---- */

static bool serves(const char *check, size_t length, const struct iw_rule *rule)
{
    for (size_t i = 0; i < rule->n_checks; i++) {
        const char *name = iw_check_info(rule->checks[i])->name;
        if (strncmp(name, check, length) == 0 && name[length] == 0)
            return true;
    }
    return false;
}

/* Returns whether a case with this line was proven for the rule. Its words are LETTER:KIND=CHECK,
 * and =REACTION after that; the letter is that of the verdict that the case gave, or O if only an
 * observation differed. */
static bool line_proves(const char *line, const struct iw_rule *rule)
{
    for (const char *word = line; *word != 0; word += strspn(word, " ")) {
        const char *check = word + strcspn(word, "= ");
        if (*check == '=' && *word != 'I' && serves(check + 1, strcspn(check + 1, "= "), rule))
            return true;
        word += strcspn(word, " ");
    }
    return false;
}

bool iw_proof_pair(const struct iw_proof *p, const struct iw_case *c, const struct iw_rule *rule)
{
    const char *line = iw_proof_find(&p->matrix, c->id);
    return line != NULL && line_proves(line, rule);
}
/* ---- standing ---- */

enum iw_standing iw_proof_standing(const struct iw_proof *p, const struct iw_suite *suite,
                                   const struct iw_rule *rule, const char **reason)
{
    bool named = false, proven = false;
    *reason = NULL;
    for (size_t i = 0; i < suite->n_cases && !proven; i++) {
        bool names = iw_case_names_rule(suite->cases[i], rule);

        named = named || names;
        if (names || rule->testable == IW_TESTABLE_WIRE_PASSIVE)
            proven = iw_proof_pair(p, suite->cases[i], rule);
    }
    if (proven)
        return IW_PROVEN;
    *reason = iw_proof_find(&p->claims, rule->id);
    if (named && *reason != NULL)
        return IW_CLAIMED;
    *reason = iw_proof_find(&p->dispositions, rule->id);
    if (*reason == NULL && rule->testable == IW_TESTABLE_NO)
        *reason = "no test can judge it";
    if (*reason == NULL && rule->testable == IW_TESTABLE_API)
        *reason = "nothing of it shows on the wire; the unit tests judge the reference stack";
    return *reason != NULL ? IW_DISPOSITIONED : IW_UNACCOUNTED;
}

const char *iw_standing_name(enum iw_standing standing)
{
    static const char *const names[IW_STANDINGS] = {"proven", "claimed", "dispositioned",
                                                    "unaccounted"};

    return names[standing];
}
