/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_REPORT_PAGE_H
#define IW_RUNNER_REPORT_PAGE_H

/* Pages that need nothing but themselves: a frame, its style and scripts, and packed data. */

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Writes the frame FOLDER/NAME with each "@FILE x@" in it replaced by the file FOLDER/x, and
 * "@DATA@" by `data`: JSON, deflated (RFC 1950), in Base64. Returns false, with one line in
 * `error`, if a file is missing or the frame has no place for the data. The caller asks `out`
 * whether writing worked. */
bool iw_page_write(FILE *out, const char *folder, const char *name, const json_t *data, char *error,
                   size_t room);

#endif
