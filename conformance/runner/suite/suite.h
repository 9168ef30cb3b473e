/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SUITE_H
#define IW_RUNNER_SUITE_H

/* The suite: every case file under a folder, in the order of their paths. */

#include "script/script_case.h"

struct iw_suite_file {
    char *path;
    struct iw_case *cases;
    size_t n_cases;
    char *error; /* one line "file:line: what"; NULL: it could be read */
};

struct iw_suite {
    struct iw_suite_file *files;
    size_t n_files;
    const struct iw_case **cases; /* of all files that could be read; borrowed from them */
    size_t n_cases;
    size_t n_broken; /* files with an error */
    char digest[17]; /* of the files' contents, and those of the vocabulary */
};

/* Reads all *.lua under `folder` (recursively; names that begin with a point are left out), which
 * may also be one such file. A file that cannot be read, or has an id that another file has too, is
 * kept with its error and gives no cases. Returns 0, or -1 with one line in `error`: no such
 * folder. Call iw_suite_free in either case. */
int iw_suite_load(struct iw_suite *suite, const char *folder, const struct iw_run_options *options,
                  char *error, size_t room);
void iw_suite_free(struct iw_suite *suite);

/*
 * Finds the cases that one of the choices fits, in the order of the suite; all without choices.
 *
 *     choice  = both { "or" both }
 *     both    = one { "and" one }
 *     one     = "not" one | "(" choice ")" | PATTERN
 *     PATTERN = GLOB over ids | "rule:" GLOB | "tag:" GLOB | "level:" WORD | "role:" WORD
 *
 * Blanks separate words; in a glob, brackets hold together what is in them. The array is the
 * caller's, the cases are the suite's. Returns 0, or -1 with one line in `error` that names the
 * choice and, if it has several words, the character: it is none, or it, or a pattern in it, fits
 * no case. (selection.c)
 */
int iw_suite_select(const struct iw_suite *suite, char *const *choices, size_t n_choices,
                    const struct iw_case ***out, size_t *count, char *error, size_t room);

/* Returns the case with this id, or NULL. */
const struct iw_case *iw_suite_find(const struct iw_suite *suite, const char *id);
/* Returns the id that was probably meant; NULL if none is near. */
const char *iw_suite_nearest(const struct iw_suite *suite, const char *id);

#endif
