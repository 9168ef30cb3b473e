/* SPDX-License-Identifier: BSD-3-Clause */
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { NAMES = 64 };
static char folder[256];
static char *paths[NAMES];

int scratch_make(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/iwarp-test-XXXXXX", parent != NULL ? parent : "/tmp");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

int scratch_remove(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAMES && paths[i] != NULL; i++) {
        unlink(paths[i]);
        free(paths[i]);
        paths[i] = NULL;
    }
    return rmdir(folder);
}

const char *scratch_path(const char *name)
{
    char path[400];
    size_t i = 0;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    while (i < NAMES && paths[i] != NULL && strcmp(paths[i], path) != 0)
        i++;
    assert_true(i < NAMES);
    if (paths[i] == NULL)
        paths[i] = strdup(path);
    assert_non_null(paths[i]);
    return paths[i];
}

const char *scratch_file(const char *name, const void *data, size_t length)
{
    const char *path = scratch_path(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return path;
}

char *scratch_read(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long end = ftell(file);
    assert_true(end >= 0);
    rewind(file);
    char *data = malloc((size_t)end + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)end, file), end);
    data[end] = '\0';
    *length = (size_t)end;
    fclose(file);
    return data;
}
