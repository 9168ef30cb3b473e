/* SPDX-License-Identifier: BSD-3-Clause */
/* One capture after the other: patterns of files, what all captures share, the gravest status. */
#include "lint.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"

int iw_lint_graver(int a, int b)
{
    static const int order[] = {IW_LINT_CLEAN,      IW_LINT_FINDINGS, IW_EXIT_UNREACHED,
                                IW_LINT_UNREADABLE, IW_EXIT_USAGE,    IW_EXIT_INTERRUPTED,
                                IW_EXIT_OUTPUT,     IW_EXIT_TESTER};
    for (size_t i = sizeof(order) / sizeof(order[0]); i-- > 0;)
        if (order[i] == a || order[i] == b)
            return order[i];
    return a;
}

struct files {
    char **paths;
    size_t count;
};

static void add(struct files *f, const char *path)
{
    f->paths = iw_got(realloc(f->paths, (f->count + 1) * sizeof(*f->paths)));
    f->paths[f->count++] = iw_text_copy(path);
}

/* Adds the files that a word stands for: who starts this without a shell, from a CI's
 * configuration say, names captures by a pattern. Returns the exit status. */
static int expand(struct files *f, const char *word)
{
    glob_t found;
    if (strpbrk(word, "*?[") == NULL || access(word, F_OK) == 0) {
        add(f, word);
        return IW_LINT_CLEAN;
    }
    int failed = glob(word, 0, NULL, &found);
    if (failed == GLOB_NOSPACE)
        iw_complain_memory();
    if (failed != 0)
        return iw_complain_exit(IW_LINT_UNREADABLE, "%s: no file fits this pattern", word);
    for (size_t i = 0; i < found.gl_pathc; i++)
        add(f, found.gl_pathv[i]);
    globfree(&found);
    return IW_LINT_CLEAN;
}

static int judge_all(struct iw_lint_options *o, const struct files *f, FILE *out, FILE *json_lines)
{
    struct iw_lint_sarif *sarif = iw_got(calloc(1, sizeof(*sarif)));
    int status = IW_LINT_CLEAN;
    o->several = f->count > 1;
    for (size_t i = 0; i < f->count && !iw_lint_stopped(); i++) {
        o->path = f->paths[i];
        status = iw_lint_graver(status, iw_lint_run(o, out, json_lines, sarif));
    }
    if (sarif->begun)
        iw_lint_sarif_end(sarif, out);
    free(sarif);
    return status;
}

int iw_lint_captures(struct iw_lint_options *options, char *const *paths, size_t count, FILE *out)
{
    struct files f = {.paths = NULL};
    int status = IW_LINT_CLEAN;
    FILE *json_lines = options->json_lines != NULL ? iw_open_output(options->json_lines) : NULL;
    if (options->json_lines != NULL && json_lines == NULL)
        return IW_EXIT_OUTPUT;
    if (json_lines != NULL)
        setvbuf(json_lines, NULL, _IOLBF, 0);
    if (options->live != NULL)
        add(&f, options->live);
    for (size_t i = 0; i < count; i++)
        status = iw_lint_graver(status, expand(&f, paths[i]));
    status = iw_lint_graver(status, judge_all(options, &f, out, json_lines));
    if (fflush(out) || ferror(out))
        status = iw_lint_graver(
            status, iw_complain_exit(IW_EXIT_OUTPUT, "cannot write to standard output"));
    if (json_lines != NULL && !iw_close_output(json_lines, options->json_lines))
        status = iw_lint_graver(status, IW_EXIT_OUTPUT);
    for (size_t i = 0; i < f.count; i++)
        free(f.paths[i]);
    free(f.paths);
    return status;
}
