/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing cases: the language of --select. */
#include "suite.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host/text.h"
#include "host/text_tools.h"
#include "iwarp/nearest.h"

enum {
    GLOB = 0,    /* flags of fnmatch() */
    DEPTH = 100, /* of parentheses and nots in one another */
    LINE = 512,  /* of an error */
};

/* ---- patterns ---- */

static bool id_fits(const struct iw_case *c, const char *glob)
{
    return !fnmatch(glob, c->id, GLOB);
}

static bool rule_fits(const struct iw_case *c, const char *glob)
{
    for (size_t i = 0; i < c->n_rules; i++)
        if (!fnmatch(glob, c->rules[i]->id, FNM_CASEFOLD))
            return true;
    return false;
}

static bool level_fits(const struct iw_case *c, const char *level)
{
    return strcmp(level, iw_case_level(c)) == 0;
}

static bool role_fits(const struct iw_case *c, const char *role)
{
    return strcmp(role, iw_role_name(c->role)) == 0;
}

/* What may stand before the colon of a pattern. */
static const struct question {
    const char *name;
    bool (*fits)(const struct iw_case *c, const char *argument);
    const char *arguments[4]; /* none: any */
    const char *expected;     /* one of those */
} questions[] = {
    {"rule:", rule_fits, {NULL}, NULL},
    {"tag:", iw_case_tagged, {NULL}, NULL},
    {"level:", level_fits, {"must", "should", "may"}, "level:must, level:should or level:may"},
    {"role:", role_fits, {"responder", "initiator"}, "role:responder or role:initiator"},
};

static const char kinds[] =
    "expected an id, rule:ID, tag:WORD, level:must|should|may or role:responder|initiator";

static const struct question by_id = {"", id_fits, {NULL}, NULL};

static bool takes(const struct question *q, const char *argument)
{
    for (const char *const *one = q->arguments; *one != NULL; one++)
        if (strcmp(argument, *one) == 0)
            return true;
    return q->arguments[0] == NULL;
}

static const struct question *question_of(const char *pattern)
{
    if (strchr(pattern, ':') == NULL)
        return &by_id;
    for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++)
        if (strncmp(pattern, questions[i].name, strlen(questions[i].name)) == 0)
            return &questions[i];
    return NULL;
}

static void suggest(char *line, const char *what, const char *near)
{
    snprintf(line, LINE, "%s%s%s%s", what, near != NULL ? " (did you mean '" : "",
             near != NULL ? near : "", near != NULL ? "'?)" : "");
}

/* Lists the tags that there are, or the one that was meant. */
static void no_tag(const struct iw_suite *suite, const char *tag, char *line)
{
    char **tags = NULL, *all = NULL;
    struct iw_nearest n;
    iw_nearest_begin(&n, tag);
    for (size_t i = 0; i < suite->n_cases; i++) {
        for (size_t k = 0; k < suite->cases[i]->n_tags; k++) {
            const char *name = suite->cases[i]->tags[k];
            char **known = tags;
            while (known != NULL && *known != NULL && strcmp(*known, name) != 0)
                known++;
            if (known != NULL && *known != NULL)
                continue;
            iw_nearest_offer(&n, name);
            iw_text_join(&all, ", ", name);
            iw_texts_add(&tags, iw_text_copy(name));
        }
    }
    if (n.best != NULL || all == NULL)
        suggest(line, all != NULL ? "no case has this tag" : "no case has a tag", n.best);
    else
        snprintf(line, LINE, "no case has this tag; the tags are %s", all);
    iw_texts_free(tags);
    free(all);
}

/* Says why no case fits. Globs are not misspelt, at least not so that one could tell. */
static void nothing_fits(const struct iw_suite *suite, const struct question *q,
                         const char *argument, char *line)
{
    bool glob = strpbrk(argument, "*?[") != NULL;
    const char *near = NULL;
    if (q->fits == rule_fits && !glob)
        near = iw_nearest_rule(argument);
    else if (q == &by_id && !glob)
        near = iw_suite_nearest(suite, argument);
    if (q->fits == iw_case_tagged && !glob)
        no_tag(suite, argument, line);
    else if (q->fits == rule_fits && near != NULL && strcasecmp(near, argument) == 0)
        snprintf(line, LINE, "no case names this rule");
    else
        suggest(line, "no case fits", near);
}

/* ---- the grammar ---- */

enum token { END, OPEN, CLOSE, AND, OR, NOT, PATTERN };

struct reader {
    const struct iw_suite *suite;
    const char *text;
    const char *at, *end; /* the next word */
    enum token token;     /* what it is */
    unsigned depth;
    char *error; /* empty: none so far */
    size_t room;
};

/* Returns the end of what a bracket begins; of one that is not closed, the place after it. */
static const char *bracket_end(const char *bracket)
{
    const char *at = bracket + 1;
    at += *at == '!' || *at == '^';
    const char *close = *at != 0 ? strchr(at + 1, ']') : NULL; /* a first ] is one of the set */
    return close != NULL ? close + 1 : bracket + 1;
}

static bool is(const struct reader *r, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(r->end - r->at) == length && memcmp(r->at, word, length) == 0;
}

/* Goes on to the next word. */
static void advance(struct reader *r)
{
    r->at = r->end;
    while (isspace((unsigned char)*r->at))
        r->at++;
    r->end = r->at;
    while (*r->end != 0 && !isspace((unsigned char)*r->end) && strchr("()", *r->end) == NULL)
        r->end = *r->end == '['                      ? bracket_end(r->end)
                 : *r->end == '\\' && r->end[1] != 0 ? r->end + 2
                                                     : r->end + 1;
    bool parenthesis = r->end == r->at && *r->at != 0;
    r->end += parenthesis;
    r->token = r->end == r->at ? END
               : is(r, "(")    ? OPEN
               : is(r, ")")    ? CLOSE
               : is(r, "and")  ? AND
               : is(r, "or")   ? OR
               : is(r, "not")  ? NOT
                               : PATTERN;
}

/* Writes the error: its place only if there is a choice, and the next word if it is `about` that.
 */
static bool *wrong(struct reader *r, bool about, const char *line)
{
    int length = (int)(r->end - r->at);
    if ((size_t)length == strlen(r->text))
        snprintf(r->error, r->room, "--select %s: %s", r->text, line);
    else
        snprintf(r->error, r->room, "--select %s: character %zu%s%.*s: %s", r->text,
                 (size_t)(r->at - r->text) + 1, about ? ", " : "", about ? length : 0, r->at, line);
    return NULL;
}

static bool *unexpected(struct reader *r, const char *expected)
{
    char line[LINE];
    bool end = r->token == END;
    snprintf(line, sizeof(line), "expected %s, not %.*s", expected,
             end ? LINE : (int)(r->end - r->at), end ? "the end" : r->at);
    return wrong(r, false, line);
}

/* The cases that fit the pattern that comes next, a flag each; NULL after an error. The caller
 * frees it. */
static bool *read_pattern(struct reader *r)
{
    char *pattern = iw_text_format("%.*s", (int)(r->end - r->at), r->at), line[LINE];
    const struct question *q = question_of(pattern);
    const char *argument = pattern + (q != NULL ? strlen(q->name) : 0);
    bool *fit = NULL, any = false;
    if (q == NULL) {
        wrong(r, true, kinds);
    } else if (!takes(q, argument)) {
        snprintf(line, sizeof(line), "expected %s", q->expected);
        wrong(r, true, line);
    } else {
        fit = iw_got(calloc(r->suite->n_cases + 1, sizeof(*fit)));
        for (size_t i = 0; i < r->suite->n_cases; i++)
            any |= fit[i] = q->fits(r->suite->cases[i], argument);
    }
    if (fit != NULL && !any) {
        nothing_fits(r->suite, q, argument, line);
        free(fit);
        fit = wrong(r, true, line);
    }
    free(pattern);
    advance(r);
    return fit;
}

static bool *read_joined(struct reader *r, enum token word);

static bool *read_one(struct reader *r)
{
    bool *fit = NULL, negated = r->token == NOT;
    if (r->token == PATTERN)
        return read_pattern(r);
    if (r->token != NOT && r->token != OPEN)
        return unexpected(r, "a pattern");
    if (++r->depth > DEPTH)
        return wrong(r, false, "expected at most 100 parentheses and nots in one another");
    advance(r);
    fit = negated ? read_one(r) : read_joined(r, OR);
    for (size_t i = 0; fit != NULL && negated && i < r->suite->n_cases; i++)
        fit[i] = !fit[i];
    if (fit != NULL && !negated) {
        if (r->token != CLOSE) {
            free(fit);
            return unexpected(r, "and, or or )");
        }
        advance(r);
    }
    r->depth--;
    return fit;
}

/* What stands on both sides of `word`, as often as that comes. */
static bool *read_joined(struct reader *r, enum token word)
{
    bool *fit = word == OR ? read_joined(r, AND) : read_one(r);
    while (fit != NULL && r->token == word) {
        advance(r);
        bool *other = word == OR ? read_joined(r, AND) : read_one(r);
        for (size_t i = 0; other != NULL && i < r->suite->n_cases; i++)
            fit[i] = word == OR ? fit[i] || other[i] : fit[i] && other[i];
        if (other == NULL) {
            free(fit);
            fit = NULL;
        }
        free(other);
    }
    return fit;
}

/* Marks the cases that one choice fits. Returns false with a line in `error`. */
static bool choose(const struct iw_suite *suite, const char *text, bool *chosen, char *error,
                   size_t room)
{
    struct reader r = {.suite = suite, .text = text, .end = text, .error = error, .room = room};
    bool any = false;
    advance(&r);
    bool *fit = read_joined(&r, OR);
    if (fit != NULL && r.token != END) {
        free(fit);
        fit = unexpected(&r, "and, or or the end");
    }
    if (fit == NULL)
        return false;
    for (size_t i = 0; i < suite->n_cases; i++) {
        any |= fit[i];
        chosen[i] |= fit[i];
    }
    free(fit);
    if (!any)
        snprintf(error, room, "--select %s: no case fits", text);
    return any;
}

int iw_suite_select(const struct iw_suite *suite, char *const *choices, size_t n_choices,
                    const struct iw_case ***out, size_t *count, char *error, size_t room)
{
    bool *chosen = iw_got(calloc(suite->n_cases + 1, sizeof(*chosen)));
    for (size_t i = 0; i < n_choices; i++) {
        if (!choose(suite, choices[i], chosen, error, room)) {
            free(chosen);
            return -1;
        }
    }
    *out = iw_got(calloc(suite->n_cases + 1, sizeof(const struct iw_case *)));
    *count = 0;
    for (size_t i = 0; i < suite->n_cases; i++)
        if (n_choices == 0 || chosen[i])
            (*out)[(*count)++] = suite->cases[i];
    free(chosen);
    return 0;
}
