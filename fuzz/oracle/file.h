/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_FILE_H
#define IW_FUZZ_FILE_H

/* Files in memory, for code that reads and writes files by their names. */

#include "engine/fuzz.h"

enum { IW_FUZZ_FILES = 2 };

/* The name of file number `which`. */
const char *iw_fuzz_file(unsigned which);
/* Its content from now on. */
void iw_fuzz_file_set(unsigned which, const uint8_t *octets, size_t length);

/* Until it is called with false, what is written to stderr is thrown away: complaints about bad
 * input, at every input. */
void iw_fuzz_quiet(bool quiet);

#endif
