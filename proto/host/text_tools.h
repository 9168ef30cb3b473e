/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_TEXT_TOOLS_H
#define IW_HOST_TEXT_TOOLS_H

/* Texts that grow, lists of them, and files of them. Without memory these end the program. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* Appends `more` to *text, with `between` before it unless *text is NULL so far. */
void iw_text_join(char **text, const char *between, const char *more);
/* Appends `word` as the next word of a shell's command. */
void iw_text_join_word(char **text, const char *word);
/* Writes `text`, made valid first, with each of the characters pairs[0], pairs[2] ... replaced by
 * the string that follows it; the list ends with NULL. Writes nothing for NULL. */
void iw_text_put(FILE *out, const char *text, const char *const *pairs);

/* Writes two lower-case hex digits for each octet. */
void iw_text_put_hex(FILE *out, const uint8_t *octets, size_t length);

/* Writes a time, as UTC, by a format of strftime; "" for one that has no calendar date. */
void iw_text_time(char *text, size_t room, const char *format, time_t when);

/* Adds `text`, which the list takes over, to a list that ends with NULL; an empty one may be NULL
 * itself. */
void iw_texts_add(char ***list, char *text);
void iw_texts_free(char **list);

/* Returns a file's text, up to its first zero octet. The caller frees it. NULL with errno. */
char *iw_text_read_file(const char *path);

/* Takes one line of a file, without its end and to be changed at will. Returns what is wrong with
 * it, or NULL. */
typedef const char *iw_take_line_fn(void *context, char *line, int number);
/* Hands out the lines of a file, counted from 1. Returns 0, or -1 with one line in `error`: the
 * file cannot be read, or "file:line: what" is wrong. */
int iw_text_read_lines(const char *path, iw_take_line_fn *take, void *context, char *error,
                       size_t room);

#endif
