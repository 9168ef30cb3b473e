/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of known findings, one line each:   GLOB "reason"   with a glob for the finding's key.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/complain.h"
#include "host/text.h"
#include "hunt.h"

/* Cuts a line in two. Returns false if it is malformed. Blank lines and comments give empty texts.
 */
static bool cut(char *line, char **glob, char **reason)
{
    size_t n = strlen(line);

    while (n && strchr(" \t\r\n", line[n - 1]) != NULL)
        line[--n] = 0;
    line += strspn(line, " \t");
    *glob = *reason = line;
    if (!*line || *line == '#') {
        *line = 0;
        return true;
    }
    *reason = strstr(line, " \"");
    n = strlen(line);
    if (*reason == NULL || line[n - 1] != '"' || line + n - 1 < *reason + 3)
        return false;
    line[n - 1] = 0;
    for (char *end = *reason; *end == ' '; end--) /* the line begins with another character */
        *end = 0;
    *reason += 2;
    return true;
}

char *iw_hunt_known(const struct iw_hunt *h, const char *key, bool *bad)
{
    FILE *f = h->o->suppress != NULL ? fopen(h->o->suppress, "re") : NULL;
    char *line = NULL, *glob, *reason, *found = NULL;
    size_t room = 0;
    bool wrong = h->o->suppress != NULL && f == NULL;

    if (wrong)
        iw_complain("--suppress %s: %s", h->o->suppress, strerror(errno));
    for (unsigned n = 1; f != NULL && getline(&line, &room, f) >= 0; n++) {
        if (!cut(line, &glob, &reason)) {
            iw_complain("%s:%u: expected GLOB \"reason\"", h->o->suppress, n);
            wrong = true;
            break;
        }
        if (*glob && found == NULL && !fnmatch(glob, key, 0))
            found = iw_text_copy(reason);
    }
    if (f != NULL && ferror(f)) {
        iw_complain("--suppress %s: %s", h->o->suppress, strerror(errno));
        wrong = true;
    }
    if (bad != NULL)
        *bad = wrong;
    free(line);
    if (f != NULL)
        fclose(f);
    return found;
}
