/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_OPTION_ROWS_H
#define IW_HOST_OPTION_ROWS_H

/* All options of a program, one after the other, for those who read and who complete its command
 * line. */

#include "options.h"

/* Those of every program: --help and --version. */
enum { IW_OPTION_STANDARD = 2 };
extern const struct iw_option iw_option_standard[IW_OPTION_STANDARD];

/* Returns option `index` of all, with the context of its table (may be NULL); NULL at the end. */
const struct iw_option *iw_option_row(const struct iw_command_line *line, size_t index,
                                      void **context);
/* Returns true if the command takes the option. */
bool iw_option_belongs(const struct iw_command_line *line, const struct iw_option *o);
/* Returns true if this row is what its name stands for here: some names mean one thing to one
 * command and another to the next. */
bool iw_option_is_meant(const struct iw_command_line *line, const struct iw_option *o);
/* Returns the index of the row that a letter stands for here, one of the command's own before one
 * of another command; SIZE_MAX if there is none. */
size_t iw_option_of_letter(const struct iw_command_line *line, int letter);
/* Returns true if the option's value may be left out. */
bool iw_option_has_optional(const struct iw_option *o);

/* Offers what may stand for the last word. Returns the exit status. */
int iw_options_complete(const struct iw_command_line *line, int argc, char *const *argv);

#endif
