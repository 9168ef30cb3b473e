/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_FOLDER_H
#define IW_TESTS_FOLDER_H

/* A folder of its own for a test, removed with all that is in it. */

#include <stddef.h>

struct folder {
    char path[64];
};

int folder_make(struct folder *s);
void folder_remove(struct folder *s);
/* Writes a file (folders on its way are made) and returns its path, which the caller frees. */
char *folder_file(const struct folder *s, const char *name, const char *content);
/* The content of a file, which the caller frees; NULL if there is none. */
char *folder_read(const char *path);

#endif
