/* SPDX-License-Identifier: BSD-3-Clause */
#include "places.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/files.h"
#include "host/text.h"

/* A path below the working folder is shorter without it. */
static const char *shortened(const char *path)
{
    char here[PATH_MAX];
    size_t n = getcwd(here, sizeof(here)) != NULL ? strlen(here) : 0;
    return n > 1 && strncmp(path, here, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

char *iw_conformance_folder(void)
{
    char *own = iw_own_folder();
    char *installed = iw_text_format("%s/../share/iwarp/conformance", own);
    char *real = realpath(installed, NULL);
    free(own);
    free(installed);
    return real != NULL ? real : iw_text_copy(shortened(IW_CONFORMANCE_DIR));
}

char *iw_library(void)
{
    char *root = iw_conformance_folder();
    char *library = iw_text_format("%s/lib", root);
    free(root);
    return library;
}

char *iw_agent(const char *said)
{
    const char *wanted = said != NULL ? said : getenv("IWARP_AGENT");
    if (wanted != NULL && *wanted)
        return iw_text_copy(wanted);
    char *own = iw_own_folder();
    char *path = iw_text_format("%s/iwarp-agent", own);
    free(own);
    return path;
}
