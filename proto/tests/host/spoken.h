/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_SPOKEN_H
#define IW_TESTS_SPOKEN_H

/* Hears what the program under test prints on stderr. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *spoken_file;
static int spoken_before;

static inline void begin_listening(void)
{
    spoken_file = tmpfile();
    assert_non_null(spoken_file);
    fflush(stderr);
    spoken_before = dup(STDERR_FILENO);
    assert_true(spoken_before >= 0);
    assert_int_equal(dup2(fileno(spoken_file), STDERR_FILENO), STDERR_FILENO);
}

/* Returns what was printed since; stderr is as it was. */
static inline const char *heard(void)
{
    static char text[1000];
    fflush(stderr);
    dup2(spoken_before, STDERR_FILENO);
    close(spoken_before);
    rewind(spoken_file);
    text[fread(text, 1, sizeof(text) - 1, spoken_file)] = '\0';
    fclose(spoken_file);
    return text;
}

#endif
