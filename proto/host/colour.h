/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_COLOUR_H
#define IW_HOST_COLOUR_H

/* Colours of a terminal, for what programs print for people. */

#include <stdbool.h>
#include <stdio.h>

/* What an option --color says. */
enum iw_host_colour { IW_HOST_COLOUR_AUTO, IW_HOST_COLOUR_ALWAYS, IW_HOST_COLOUR_NEVER };

/* Reads "auto", "always" or "never". Returns false if it is none of them. */
bool iw_host_colour_read(const char *word, enum iw_host_colour *out);
/* Returns whether to print colours to `out`. With IW_HOST_COLOUR_AUTO: it is a terminal that may
 * have them (TERM is neither "dumb" nor missing), and the user does not mind (NO_COLOR is not set,
 * or empty). */
bool iw_host_colour_wanted(enum iw_host_colour when, FILE *out);

#define IW_HOST_RED "\033[31m"
#define IW_HOST_GREEN "\033[32m"
#define IW_HOST_YELLOW "\033[33m"
#define IW_HOST_MAGENTA "\033[35m"
#define IW_HOST_BOLD "\033[1m"
#define IW_HOST_DIM "\033[2m"
#define IW_HOST_PLAIN "\033[0m" /* ends all of them */

#endif
