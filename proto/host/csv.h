/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_CSV_H
#define IW_HOST_CSV_H

/* Fields of a table (RFC 4180). */

#include <stdio.h>

/* Writes a field in quotes. */
void iw_csv_quoted(FILE *out, const char *text);
/* Writes a field, in quotes if necessary; NULL is empty. */
void iw_csv_field(FILE *out, const char *text);

#endif
