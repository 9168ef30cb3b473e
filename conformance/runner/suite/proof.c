/* SPDX-License-Identifier: BSD-3-Clause */
#include "proof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"

/* ---- tables ---- */

const char *iw_proof_find(const struct iw_proof_table *t, const char *id)
{
    for (size_t i = 0; i < t->count; i++)
        if (!strcmp(t->lines[i].id, id))
            return t->lines[i].text;
    return NULL;
}

static void add(struct iw_proof_table *t, const char *id, const char *text, int line)
{
    t->lines = iw_got(realloc(t->lines, (t->count + 1) * sizeof(*t->lines)));
    t->lines[t->count++] = (struct iw_proof_line){iw_text_copy(id), iw_text_copy(text), line};
}

void iw_proof_set(struct iw_proof_table *t, const char *id, const char *text)
{
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->lines[i].id, id) != 0)
            continue;
        free(t->lines[i].text);
        t->lines[i].text = iw_text_copy(text);
        return;
    }
    add(t, id, text, 0);
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
        return strchr(field, '"') ? NULL : field;
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

/* NULL, or what is wrong with it. */
static const char *take_line(struct iw_proof_table *t, char *line, int number)
{
    char *comma = strchr(line, ','), *text;

    if (!comma || comma == line)
        return "expected an id, a comma and a text";
    *comma = 0;
    text = unquoted(comma + 1);
    if (!text)
        return "the quotes do not match";
    if (iw_proof_find(t, line))
        return "this id stands in an earlier line";
    add(t, line, text, number);
    return NULL;
}

int iw_proof_read_table(struct iw_proof_table *t, const char *path, char *error, size_t room)
{
    FILE *f = fopen(path, "re");
    const char *wrong = NULL;
    char *line = NULL;
    size_t size = 0;
    int number = 0;

    *t = (struct iw_proof_table){0};
    if (!f && errno == ENOENT)
        return 0;
    if (!f) {
        snprintf(error, room, "cannot read %s: %s", path, strerror(errno));
        return -1;
    }
    while (!wrong && getline(&line, &size, f) >= 0) {
        line[strcspn(line, "\r\n")] = 0;
        if (++number > 1 && *line)
            wrong = take_line(t, line, number);
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
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && !status; i++) {
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

        if (!strncmp(name, check, length) && !name[length])
            return true;
    }
    return false;
}

/* Whether a case with this line was proven for the rule. Its words are LETTER:KIND=CHECK, and
 * =REACTION behind that; the letter is that of the verdict that the case gave, or O if only an
 * observation differed. */
static bool line_proves(const char *line, const struct iw_rule *rule)
{
    for (const char *word = line; *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        const char *check = memchr(word, '=', length);

        if (check && *word != 'I') {
            size_t most = (size_t)(word + length - ++check);
            size_t name = strcspn(check, "= ");

            if (serves(check, name < most ? name : most, rule))
                return true;
        }
        word += length;
    }
    return false;
}

bool iw_proof_pair(const struct iw_proof *p, const struct iw_case *c, const struct iw_rule *rule)
{
    const char *line = iw_proof_find(&p->matrix, c->id);

    return line && line_proves(line, rule);
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
    if (named && *reason)
        return IW_CLAIMED;
    *reason = iw_proof_find(&p->dispositions, rule->id);
    if (!*reason && rule->testable == IW_TESTABLE_NO)
        *reason = "no test can judge it";
    if (!*reason && rule->testable == IW_TESTABLE_API)
        *reason = "nothing of it shows on the wire; the unit tests judge the reference stack";
    return *reason ? IW_DISPOSITIONED : IW_UNACCOUNTED;
}

const char *iw_standing_name(enum iw_standing standing)
{
    static const char *const names[IW_STANDINGS] = {"proven", "claimed", "dispositioned",
                                                    "unaccounted"};

    return names[standing];
}
