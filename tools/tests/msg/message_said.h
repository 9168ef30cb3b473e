/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_MESSAGE_SAID_H
#define IW_TESTS_MESSAGE_SAID_H

/* Runs a command of iwarp-msg, and keeps what it writes to standard output and to standard error,
 * each by itself. Include from one source of a test. */

#include "msg_command.h"

#include "../caught.h"

static struct msg_settings settings;
static const char *said;      /* on standard output */
static char complaints[4096]; /* on standard error */

/* Returns the command's exit status. */
static inline int run(int (*command)(struct msg_settings *, char *const *, size_t), size_t count,
                      char *const *operands)
{
    FILE *errors = tmpfile();
    const int kept = dup(STDERR_FILENO);
    assert_non_null(errors);
    fflush(NULL);
    dup2(fileno(errors), STDERR_FILENO);
    catch_from(STDOUT_FILENO);
    const int status = command(&settings, operands, count);
    said = caught();
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(errors);
    complaints[fread(complaints, 1, sizeof(complaints) - 1, errors)] = '\0';
    fclose(errors);
    return status;
}

#define RUN(command, ...)                                                                          \
    run(command, sizeof((char *[]){__VA_ARGS__}) / sizeof(char *), (char *[]){__VA_ARGS__})

static inline void complains(const char *text)
{
    if (strstr(complaints, text) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", text, complaints);
}

#endif
