/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequences and printed texts as strings, to be compared with literal ones. */
#ifndef LIVE_TESTS_SUPPORT_H
#define LIVE_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hunt.h"

/* A sequence of steps with a space between two: "a0011" octets, "b0011" octets one by one, "@0011"
 * octets of a segment, "t50" milliseconds, "f01" the end of the direction, "r01" of the connection.
 */
struct iw_hunt_input *support_input(const char *text);
/* The same text of a sequence. Freed by the caller. */
char *support_text(const struct iw_hunt_input *in);
/* Asks whether a sequence has this text. */
void support_is(const struct iw_hunt_input *in, const char *text);
/* Returns what `run` printed to descriptor `fd` (1 or 2). Freed by the caller. If `run` fails the
 * test, support_clean gives the descriptor back. */
char *support_printed(int fd, void (*run)(void *context), void *context);
/* Makes a new folder, which is there, as its path is, until support_clean. */
const char *support_folder(void);
/* A test's teardown, whether it failed or not: removes its folders with all that is in them. */
int support_clean(void **state);
/* Puts a text into a new file of a folder. Returns its path, freed by the caller. */
char *support_file(const char *folder, const char *name, const char *text);
/* A file's text. Freed by the caller. */
char *support_read(const char *path);
/* Asks whether a text is that of expected/`name`. With IW_WRITE_EXPECTED set, one that
 * is not is written, and the test fails: look at the difference before you commit it. */
void support_expects(const char *text, const char *name);

#endif
