/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_MEMORY_FILE_H
#define IW_FUZZ_MEMORY_FILE_H

/* Files in memory, for code that reads and writes files by their names. */

#include "engine/fuzz.h"

enum { IW_FUZZ_FILES = 2 };

/* Returns the name of file number `which`. */
const char *iw_fuzz_file(unsigned which);
/* Sets the content of the file. */
void iw_fuzz_file_set(unsigned which, const uint8_t *octets, size_t length);

/* Discards output to stderr until it is called with false: errors about bad input would come with
 * every input. */
void iw_fuzz_quiet(bool quiet);

#endif
