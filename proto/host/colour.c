/* SPDX-License-Identifier: BSD-3-Clause */
#include "colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool iw_host_colour_read(const char *word, enum iw_host_colour *out)
{
    static const char *const names[] = {"auto", "always", "never"};
    for (int i = IW_HOST_COLOUR_AUTO; i <= IW_HOST_COLOUR_NEVER; i++) {
        if (strcmp(word, names[i]) != 0)
            continue;
        *out = (enum iw_host_colour)i;
        return true;
    }
    return false;
}

bool iw_host_colour_wanted(enum iw_host_colour when, FILE *out)
{
    const char *off = getenv("NO_COLOR"), *term = getenv("TERM");
    if (when != IW_HOST_COLOUR_AUTO)
        return when == IW_HOST_COLOUR_ALWAYS;
    return (off == NULL || *off == 0) && term != NULL && strcmp(term, "dumb") != 0 &&
           isatty(fileno(out));
}
