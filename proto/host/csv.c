/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/csv.h"

#include <string.h>

void iw_csv_quoted(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text != 0; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

void iw_csv_field(FILE *out, const char *text)
{
    if (text != NULL && strpbrk(text, ",\"\r\n") != NULL)
        iw_csv_quoted(out, text);
    else if (text != NULL)
        fputs(text, out);
}
