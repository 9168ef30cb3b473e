/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_CAUGHT_H
#define IW_TESTS_CAUGHT_H

/* What the code under test writes to standard output or standard error, as one text. Include from
 * one source of a test. */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
    FILE *file;
    int fd, saved;
    char text[65536];
} catching;

/* From now on, what goes to `fd` is kept. */
static inline void catch_from(int fd)
{
    fflush(NULL);
    catching.file = tmpfile();
    assert_non_null(catching.file);
    catching.fd = fd;
    catching.saved = dup(fd);
    assert_true(dup2(fileno(catching.file), fd) == fd);
}

/* The end of that; what came. */
static inline const char *caught(void)
{
    fflush(NULL);
    assert_true(dup2(catching.saved, catching.fd) == catching.fd);
    close(catching.saved);
    rewind(catching.file);
    size_t length = fread(catching.text, 1, sizeof catching.text - 1, catching.file);
    catching.text[length] = '\0';
    fclose(catching.file);
    return catching.text;
}

/* How many descriptors are open, of the first some. */
static inline unsigned descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* All of a file as one text. */
static inline const char *text_of(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(catching.text, 1, sizeof catching.text - 1, file);
    catching.text[length] = '\0';
    fclose(file);
    return catching.text;
}

#endif
