/* SPDX-License-Identifier: BSD-3-Clause */
#include "suite.h"

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "iwarp/nearest.h"

/* ---- finding files ---- */

struct paths {
    char **list;
    size_t count;
};

static bool is_lua(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && strcmp(name + n - 4, ".lua") == 0;
}
static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The *.lua at or under `place`, sorted. Returns an error's number, 0 if there is such a place. */
static int find(struct paths *found, const char *place)
{
    char *start = iw_text_copy(place);
    FTS *tree = iw_got(fts_open((char *[]){start, NULL}, FTS_LOGICAL | FTS_NOCHDIR, NULL));
    FTSENT *entry;
    int number = 0;
    while ((entry = fts_read(tree)) != NULL) {
        bool file = entry->fts_info == FTS_F || entry->fts_info == FTS_SLNONE;
        if (entry->fts_level != FTS_ROOTLEVEL && *entry->fts_name == '.') {
            fts_set(tree, entry, FTS_SKIP);
        } else if (file && is_lua(entry->fts_name)) {
            found->list = iw_got(realloc(found->list, ++found->count * sizeof(char *)));
            found->list[found->count - 1] = iw_text_copy(entry->fts_path);
        } else {
            number = file ? ENOTDIR : entry->fts_errno; /* the last entry is the place itself */
        }
    }
    fts_close(tree);
    free(start);
    if (found->list != NULL)
        qsort(found->list, found->count, sizeof(char *), by_text);
    return number;
}

/* FNV-1a, 64 bits. */
static const uint64_t nothing = 0xcbf29ce484222325u;

static uint64_t hash(uint64_t h, const void *octets, size_t length)
{
    const uint8_t *c = octets;
    for (size_t i = 0; i < length; i++)
        h = (h ^ c[i]) * 0x100000001b3u;
    return h;
}

static uint64_t digest(uint64_t h, const struct paths *p)
{
    for (size_t i = 0; i < p->count; i++) {
        FILE *f = fopen(p->list[i], "re");
        char some[4096];
        size_t n;
        while (f != NULL && (n = fread(some, 1, sizeof(some), f)) > 0)
            h = hash(h, some, n);
        if (f != NULL)
            fclose(f);
    }
    return h;
}

/* ---- loading ---- */

const struct iw_case *iw_suite_find(const struct iw_suite *suite, const char *id)
{
    for (size_t i = 0; i < suite->n_cases; i++)
        if (strcmp(suite->cases[i]->id, id) == 0)
            return suite->cases[i];
    return NULL;
}

/* The case of the suite that has the id of `c`; NULL: none. hashes[i] is that of the suite's i-th
 * id. */
static const struct iw_case *namesake(const struct iw_suite *suite, const uint64_t *hashes,
                                      const struct iw_case *c)
{
    uint64_t h = hash(nothing, c->id, strlen(c->id));
    for (size_t i = 0; i < suite->n_cases; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is one for each case */
        if (hashes[i] == h && strcmp(suite->cases[i]->id, c->id) == 0)
            return suite->cases[i];
    return NULL;
}

/* Takes over `path`. */
static void load_file(struct iw_suite *suite, char *path, const struct iw_run_options *options,
                      uint64_t **hashes)
{
    struct iw_suite_file *file = &suite->files[suite->n_files++];
    char error[1024];
    *file = (struct iw_suite_file){.path = path};
    if (iw_case_load(path, options, &file->cases, &file->n_cases, error, sizeof(error)))
        file->error = iw_text_clean(error);
    for (size_t i = 0; i < file->n_cases && file->error == NULL; i++) {
        const struct iw_case *c = &file->cases[i], *other = namesake(suite, *hashes, c);
        if (other != NULL)
            file->error = iw_text_format("%s:%d: the id '%s' is taken by %s:%d", path, c->line,
                                         c->id, other->file, other->line);
    }
    if (file->error != NULL) {
        suite->n_broken++;
        iw_case_free_all(file->cases, file->n_cases);
        file->cases = NULL;
        file->n_cases = 0;
    }
    if (file->n_cases == 0)
        return;
    size_t n = suite->n_cases + file->n_cases;
    suite->cases = iw_got(realloc(suite->cases, n * sizeof(*suite->cases)));
    *hashes = iw_got(realloc(*hashes, n * sizeof(**hashes)));
    for (size_t i = 0; i < file->n_cases; i++) {
        const char *id = file->cases[i].id;
        (*hashes)[suite->n_cases] = hash(nothing, id, strlen(id));
        suite->cases[suite->n_cases++] = &file->cases[i];
    }
}
int iw_suite_load(struct iw_suite *suite, const char *folder, const struct iw_run_options *options,
                  char *error, size_t room)
{
    struct paths found = {0}, library = {0};
    int number = find(&found, folder);
    *suite = (struct iw_suite){0};
    if (number) {
        snprintf(error, room, "no cases in %s: %s", folder, strerror(number));
        return -1;
    }
    find(&library, options->library);
    snprintf(suite->digest, sizeof(suite->digest), "%016" PRIx64,
             digest(digest(nothing, &library), &found));
    /* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): glibc has blocks of 0 octets */
    suite->files = iw_got(calloc(found.count, sizeof(*suite->files)));
    uint64_t *hashes = NULL;
    for (size_t i = 0; i < found.count; i++)
        load_file(suite, found.list[i], options, &hashes);
    free(hashes);
    free(found.list); /* the paths live on in the files */
    for (size_t i = 0; i < library.count; i++)
        free(library.list[i]);
    free(library.list);
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

const char *iw_suite_nearest(const struct iw_suite *suite, const char *id)
{
    struct iw_nearest n;
    iw_nearest_begin(&n, id);
    for (size_t i = 0; i < suite->n_cases; i++)
        iw_nearest_offer(&n, suite->cases[i]->id);
    return n.best;
}
