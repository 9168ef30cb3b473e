/* SPDX-License-Identifier: BSD-3-Clause */
#include "folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/files.h"
#include "host/text.h"

int folder_make(struct folder *s)
{
    snprintf(s->path, sizeof(s->path), "/tmp/iwarp-test-XXXXXX");
    return mkdtemp(s->path) != NULL ? 0 : -1;
}

static int drop(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void folder_remove(struct folder *s)
{
    nftw(s->path, drop, 8, FTW_DEPTH | FTW_PHYS);
}

char *folder_file(const struct folder *s, const char *name, const char *content)
{
    char *path = iw_text_format("%s/%s", s->path, name);
    char *slash = strrchr(path, '/');
    FILE *f;

    *slash = 0;
    if (iw_folder_create(path))
        abort();
    *slash = '/';
    f = iw_got(fopen(path, "w"));
    fputs(content, f);
    fclose(f);
    return path;
}

char *folder_read(const char *path)
{
    char *text = NULL;
    size_t length = 0, n;
    char block[4096];
    FILE *f = fopen(path, "r"), *to;

    if (f == NULL)
        return NULL;
    to = iw_got(open_memstream(&text, &length));
    while ((n = fread(block, 1, sizeof(block), f)))
        fwrite(block, 1, n, to);
    fclose(f);
    fclose(to);
    return text;
}
