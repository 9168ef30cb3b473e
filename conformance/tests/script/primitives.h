/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_PRIMITIVES_H
#define IW_TESTS_PRIMITIVES_H

/* The table `iw` of the script host without the vocabulary's sandbox: Lua code that calls its
 * functions, and what became of it. Besides Lua's own the code has hex(octets) and show(value),
 * which writes a table as {field=value ...}, its fields sorted. */

#include "script/script_budget.h"
#include "script/script_host.h"
#include "script/script_primitives.h"
#include "script/script_value.h"

#define PRIMITIVES_FILE "case.lua"

/* Opens a script with the project's library; close it with iw_script_close. *s has the options,
 * and what else the test has set before. */
void primitives_open(struct iw_script *s);
/* Shows the value on top of the stack, and pops it. The caller frees the text. */
char *primitives_show(struct iw_script *s);
/* The first value that the code returns, shown; of an error "VERDICT where: reason". The caller
 * frees the text. */
char *primitives_run(struct iw_script *s, const char *code);
/* Fails the test if it is another one. */
void primitives_give(struct iw_script *s, const char *code, const char *expected);

#endif
