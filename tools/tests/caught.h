/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_CAUGHT_H
#define IW_TESTS_CAUGHT_H

/* What the code under test writes to standard output or standard error, as one text. Include from
 * one source of a test. */

#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
    FILE *file; /* NULL: nothing is caught */
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
    bool back = dup2(catching.saved, catching.fd) == catching.fd;
    close(catching.saved);
    rewind(catching.file);
    size_t length = fread(catching.text, 1, sizeof(catching.text) - 1, catching.file);
    catching.text[length] = '\0';
    fclose(catching.file);
    catching.file = NULL;
    assert_true(back);
    return catching.text;
}

/* As a test's teardown: an assertion that fails before caught() is printed, and so are those of the
 * tests after it. */
static inline int catch_no_more(void **state)
{
    (void)state;
    if (catching.file != NULL)
        (void)caught();
    return 0;
}

/* How much memory is allocated, if the C library says so; 0 with a sanitizer. */
static inline size_t allocated(void)
{
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

/* Does it again and again; true if more and more memory is allocated. What is allocated once and
 * kept, and what the C library keeps for later, is not lost. */
static inline bool leaks(void (*what)(void))
{
    enum { ROUNDS = 5, TIMES = 8, LEAST = 16 };
    for (int round = 0; round < ROUNDS; round++) {
        size_t before = allocated();
        for (int i = 0; i < TIMES; i++)
            what();
        if (allocated() < before + TIMES * LEAST)
            return false;
    }
    return true;
}

/* Does it while descriptor 0, which is as good as any other, is free. */
static inline void without_input(void (*what)(void))
{
    int kept = fcntl(0, F_DUPFD_CLOEXEC, 200);
    assert_true(kept >= 0);
    close(0);
    what();
    assert_int_equal(fcntl(0, F_GETFD), -1);
    assert_int_equal(dup2(kept, 0), 0);
    close(kept);
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
    size_t length = fread(catching.text, 1, sizeof(catching.text) - 1, file);
    catching.text[length] = '\0';
    fclose(file);
    return catching.text;
}

#endif
