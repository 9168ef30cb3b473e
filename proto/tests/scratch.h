/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stddef.h>

/* A folder of this process's own for files that a test makes; scratch_remove removes it with
 * everything in it. Both fit cmocka's group set-up and tear-down. */
int scratch_make(void **state);
int scratch_remove(void **state);

/* Returns the path of a file in the folder; valid for the life of the process, equal for equal
 * names. */
const char *scratch_path(const char *name);

/* Writes a file there and returns its path. */
const char *scratch_file(const char *name, const void *data, size_t length);

/* Returns the whole content of a file, followed by a zero. Free it. */
char *scratch_read(const char *path, size_t *length);

#endif
