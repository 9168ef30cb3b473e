/* SPDX-License-Identifier: BSD-3-Clause */
#include "complain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *name = "iwarp";

void iw_complain_as(const char *program)
{
    name = program;
}

static void print(const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        iw_complain_memory();
    fprintf(stderr, "%s: %s\n", name, text);
    free(text);
}

void iw_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(format, arguments);
    va_end(arguments);
}

int iw_complain_exit(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(format, arguments);
    va_end(arguments);
    return status;
}

void iw_complain_memory(void)
{
    static const char message[] = ": no memory\n";

    (void)!write(STDERR_FILENO, name, strlen(name));
    (void)!write(STDERR_FILENO, message, sizeof(message) - 1);
    _exit(IW_EXIT_TESTER);
}
