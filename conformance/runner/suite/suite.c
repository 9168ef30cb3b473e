/* SPDX-License-Identifier: BSD-3-Clause */
#include "suite.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/text.h"
#include "iwarp/nearest.h"

enum { DEPTH = 16 }; /* of folders: a loop of links ends there */

/* ---- finding files ---- */

struct paths {
    char **list;
    size_t count;
};

static void add_path(struct paths *p, char *path)
{
    p->list = iw_got(realloc(p->list, (p->count + 1) * sizeof(*p->list)));
    p->list[p->count++] = path;
}

static bool is_lua(const char *name)
{
    size_t n = strlen(name);

    return n > 4 && !strcmp(name + n - 4, ".lua");
}

/* 0, or -1 with errno. */
static int find(struct paths *found, const char *folder, int depth)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    if (!dir)
        return -1;
    while ((entry = readdir(dir))) {
        struct stat at;
        char *path;

        if (*entry->d_name == '.')
            continue;
        path = iw_text_format("%s/%s", folder, entry->d_name);
        if (stat(path, &at) == 0 && S_ISDIR(at.st_mode)) {
            if (depth < DEPTH)
                find(found, path, depth + 1);
        } else if (is_lua(entry->d_name)) {
            add_path(found, path);
            continue;
        }
        free(path);
    }
    closedir(dir);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_paths(struct paths *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->list[i]);
    free(p->list);
}

/* ---- digest: FNV-1a, 64 bits ---- */

static uint64_t digest_file(uint64_t h, const char *path)
{
    FILE *f = fopen(path, "re");
    int c;

    while (f && (c = getc(f)) != EOF)
        h = (h ^ (uint64_t)c) * 0x100000001b3u;
    if (f)
        fclose(f);
    return h;
}

static uint64_t digest_all(uint64_t h, const struct paths *p)
{
    for (size_t i = 0; i < p->count; i++)
        h = digest_file(h, p->list[i]);
    return h;
}

/* ---- loading ---- */

static void drop_cases(struct iw_suite_file *file, char *error)
{
    iw_case_free_all(file->cases, file->n_cases);
    file->cases = NULL;
    file->n_cases = 0;
    file->error = error;
}

const struct iw_case *iw_suite_find(const struct iw_suite *suite, const char *id)
{
    for (size_t i = 0; i < suite->n_cases; i++)
        if (!strcmp(suite->cases[i]->id, id))
            return suite->cases[i];
    return NULL;
}

static void load_file(struct iw_suite *suite, char *path, const struct iw_run_options *options)
{
    struct iw_suite_file *file = &suite->files[suite->n_files++];
    char error[1024];

    *file = (struct iw_suite_file){.path = path};
    if (iw_case_load(path, options, &file->cases, &file->n_cases, error, sizeof(error))) {
        file->error = iw_text_clean(error);
        suite->n_broken++;
        return;
    }
    for (size_t i = 0; i < file->n_cases; i++) {
        const struct iw_case *c = &file->cases[i];
        const struct iw_case *other = iw_suite_find(suite, c->id);

        if (other) {
            suite->n_broken++;
            drop_cases(file, iw_text_format("%s:%d: the id '%s' is taken by %s:%d", path, c->line,
                                            c->id, other->file, other->line));
            return;
        }
    }
    suite->cases = iw_got(realloc(suite->cases, (suite->n_cases + file->n_cases + 1) *
                                                    sizeof(const struct iw_case *)));
    for (size_t i = 0; i < file->n_cases; i++)
        suite->cases[suite->n_cases++] = &file->cases[i];
}

int iw_suite_load(struct iw_suite *suite, const char *folder, const struct iw_run_options *options,
                  char *error, size_t room)
{
    struct paths found = {0}, library = {0};
    uint64_t digest = 0xcbf29ce484222325u;

    *suite = (struct iw_suite){0};
    if (is_lua(folder) && !access(folder, R_OK) && find(&found, folder, 0)) {
        add_path(&found, iw_text_copy(folder));
    } else if (!found.count && find(&found, folder, 0)) {
        snprintf(error, room, "no cases in %s: %s", folder, strerror(errno));
        return -1;
    }
    if (found.count)
        qsort(found.list, found.count, sizeof(*found.list), by_text);
    find(&library, options->library, 0);
    if (library.count)
        qsort(library.list, library.count, sizeof(*library.list), by_text);
    digest = digest_all(digest_all(digest, &library), &found);
    snprintf(suite->digest, sizeof(suite->digest), "%016" PRIx64, digest);
    suite->files = iw_got(calloc(found.count + 1, sizeof(*suite->files)));
    suite->cases = iw_got(calloc(1, sizeof(const struct iw_case *)));
    for (size_t i = 0; i < found.count; i++)
        load_file(suite, found.list[i], options);
    free(found.list); /* the paths live on in the files */
    free_paths(&library);
    return 0;
}

void iw_suite_free(struct iw_suite *suite)
{
    for (size_t i = 0; i < suite->n_files; i++) {
        iw_case_free_all(suite->files[i].cases, suite->files[i].n_cases);
        free(suite->files[i].path);
        free(suite->files[i].error);
    }
    free(suite->files);
    free(suite->cases);
    *suite = (struct iw_suite){0};
}

/* ---- selecting ---- */

static bool rule_fits(const struct iw_case *c, const char *glob)
{
    for (size_t i = 0; i < c->n_rules; i++)
        if (!fnmatch(glob, c->rules[i]->id, FNM_CASEFOLD))
            return true;
    return false;
}

static bool level_fits(const struct iw_case *c, const char *level)
{
    return !strcmp(level, iw_case_level(c));
}

static bool role_fits(const struct iw_case *c, const char *role)
{
    return !strcmp(role, iw_role_name(c->role));
}

static bool id_fits(const struct iw_case *c, const char *glob)
{
    return !fnmatch(glob, c->id, 0);
}

static bool one_of(const char *word, const char *a, const char *b, const char *c)
{
    return !strcmp(word, a) || !strcmp(word, b) || !strcmp(word, c);
}

typedef bool fits_fn(const struct iw_case *c, const char *argument);

/* The question that a pattern asks, and its argument; NULL with one line in `error`. */
static fits_fn *question(const char *pattern, const char **argument, char *error, size_t room)
{
    const char *colon = strchr(pattern, ':');
    size_t n = colon ? (size_t)(colon - pattern) : 0;

    *argument = colon ? colon + 1 : pattern;
    if (!colon)
        return id_fits;
    if (n == 4 && !strncmp(pattern, "rule", n))
        return rule_fits;
    if (n == 3 && !strncmp(pattern, "tag", n))
        return iw_case_tagged;
    if (n == 5 && !strncmp(pattern, "level", n) && one_of(*argument, "must", "should", "may"))
        return level_fits;
    if (n == 4 && !strncmp(pattern, "role", n) &&
        one_of(*argument, "responder", "initiator", "responder"))
        return role_fits;
    snprintf(error, room,
             "--select %s: expected an id, rule:ID, tag:WORD, level:must|should|may or "
             "role:responder|initiator",
             pattern);
    return NULL;
}

const char *iw_suite_nearest(const struct iw_suite *suite, const char *id)
{
    struct iw_nearest n;

    iw_nearest_begin(&n, id);
    for (size_t i = 0; i < suite->n_cases; i++)
        iw_nearest_offer(&n, suite->cases[i]->id);
    return n.best;
}

/* Globs are not misspelt, at least not so that one could tell. */
static void nothing_fits(const struct iw_suite *suite, const char *pattern, char *error,
                         size_t room)
{
    bool rule = !strncmp(pattern, "rule:", 5);
    const char *near = NULL;

    if (!strpbrk(pattern, "*?["))
        near = rule ? iw_nearest_rule(pattern + 5) : iw_suite_nearest(suite, pattern);
    if (rule && near && !strcasecmp(near, pattern + 5))
        snprintf(error, room, "--select %s: no case names this rule", pattern);
    else
        snprintf(error, room, "--select %s: no case fits%s%s%s", pattern,
                 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

int iw_suite_select(const struct iw_suite *suite, char *const *patterns, size_t n_patterns,
                    const struct iw_case ***out, size_t *count, char *error, size_t room)
{
    bool *chosen = iw_got(calloc(suite->n_cases + 1, sizeof(*chosen)));
    const struct iw_case **list;
    size_t n = 0;

    for (size_t p = 0; p < n_patterns; p++) {
        const char *argument = NULL;
        fits_fn *fits = question(patterns[p], &argument, error, room);
        bool any = false;

        for (size_t i = 0; fits && i < suite->n_cases; i++) {
            if (fits(suite->cases[i], argument))
                any = chosen[i] = true;
        }
        if (fits && !any)
            nothing_fits(suite, patterns[p], error, room);
        if (!any) {
            free(chosen);
            return -1;
        }
    }
    list = iw_got(calloc(suite->n_cases + 1, sizeof(const struct iw_case *)));
    for (size_t i = 0; i < suite->n_cases; i++)
        if (!n_patterns || chosen[i])
            list[n++] = suite->cases[i];
    free(chosen);
    *out = list;
    *count = n;
    return 0;
}
