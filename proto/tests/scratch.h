/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stddef.h>

/* A folder of this process's own for files that a test makes; scratch_remove takes it away with
 * everything in it. Both fit cmocka's group set-up and tear-down. */
int scratch_make(void **state);
int scratch_remove(void **state);

/* The path of a file in the folder; valid for the life of the process, equal for equal names. */
const char *scratch_path(const char *name);

/* Writes a file there and returns its path. */
const char *scratch_file(const char *name, const void *data, size_t length);

/* The whole content of a file, to be freed; a zero follows it. */
char *scratch_read(const char *path, size_t *length);

#endif
