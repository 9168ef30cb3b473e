/* SPDX-License-Identifier: BSD-3-Clause */
#include "complain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "text.h"

void iw_complain(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    fprintf(stderr, "iwarp-conform: %s\n", (char *)iw_got(text));
    free(text);
}
