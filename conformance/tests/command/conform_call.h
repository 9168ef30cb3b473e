/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_CONFORM_CALL_H
#define IW_TESTS_CONFORM_CALL_H

/* Carries out a command line of iwarp-conform in a process of its own: this test program, which is
 * iwarp-conform if it is given words. */

#include "command/conform.h"
#include "folder.h"

struct said {
    int status;
    char *out, *err;
};

/* Makes the test's folder with a folder "cases" in it, or removes it; for cmocka. The command works
 * there. */
extern struct folder conform_folder;
int conform_setup(void **state);
int conform_teardown(void **state);
/* Writes cases/NAME.lua: a case of that name. `more` stands among its fields, `body` is its run
 * function. */
void conform_case(const char *name, const char *more, const char *body);
/* Carries out `words`, which blanks separate. The strings of *s are freed by the next call and by
 * the tear-down. */
void conform_call(struct said *s, const char *words);
/* The same with standard error at a terminal, of which one line at most is kept. */
void conform_call_at_terminal(struct said *s, const char *words);
/* The content of a file in the test's folder, freed by the next call; "no such file" if it is not
 * there. */
const char *conform_file(const char *name);
/* Takes the seconds out of the summary of a run. */
void conform_untimed(char *text);
/* Fails the test unless the exit status and both outputs, untimed, are these; NULL: any output. */
void conform_says(const char *words, int status, const char *out, const char *err);

#endif
