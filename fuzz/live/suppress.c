/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of known findings, one line each:   GLOB "reason"   with a glob for the finding's key.
 */
#include <fnmatch.h>
#include <limits.h>
#include <string.h>

#include "host/complain.h"
#include "host/text.h"
#include "host/text_tools.h"
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

struct look {
    const char *key;
    char *found;
    bool malformed;
};

static const char *take(void *context, char *line, int number)
{
    struct look *l = context;
    char *glob, *reason;

    (void)number;
    l->malformed = !cut(line, &glob, &reason);
    if (l->malformed)
        return "expected GLOB \"reason\"";
    if (*glob && l->found == NULL && !fnmatch(glob, l->key, 0))
        l->found = iw_text_copy(reason);
    return NULL;
}

char *iw_hunt_known(const struct iw_hunt *h, const char *key, bool *bad)
{
    static const char unread[] = "cannot read ";
    const char *path = h->o->suppress;
    char error[PATH_MAX + 100];
    struct look l = {.key = key};
    const bool wrong =
        path != NULL && iw_text_read_lines(path, take, &l, error, sizeof(error)) != 0;

    if (wrong && l.malformed)
        iw_complain("%s", error);
    else if (wrong)
        iw_complain("--suppress %s", error + strlen(unread));
    if (bad != NULL)
        *bad = wrong;
    return l.found;
}
