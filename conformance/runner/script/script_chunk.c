/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compiled scripts, kept for the life of the process: a worker loads the vocabulary, and files that
 * its parent has read. A file that has changed is read again.
 */
#include "script_chunk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include <lauxlib.h>

#include "host/text.h"

enum { CHUNKS_MAX = 1024 };

struct chunk {
    char *path;
    struct stat stat; /* of the file that was read */
    char *code;
    size_t length;
};

static struct chunk chunks[CHUNKS_MAX];
static size_t chunk_count;

static int append(lua_State *L, const void *data, size_t length, void *context)
{
    (void)L;
    return fwrite(data, 1, length, context) != length;
}

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Keeps the function on top of the stack, which comes from `path`, in place of `old` (NULL: none).
 * Without a place for it nothing is lost. */
static void keep(lua_State *L, const char *path, const struct stat *now, struct chunk *old)
{
    struct chunk *place = old;
    if (place == NULL && chunk_count < CHUNKS_MAX)
        place = &chunks[chunk_count++];
    if (place == NULL)
        return;
    free(place->path);
    free(place->code);
    *place = (struct chunk){.path = iw_text_copy(path), .stat = *now};
    FILE *f = iw_got(open_memstream(&place->code, &place->length));
    lua_dump(L, append, f, 0);
    fclose(f);
    iw_got(place->code);
}

/* ---- what was loaded ---- */

static struct iw_script_files loaded;

void iw_script_files_clear(struct iw_script_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->list[i].path);
    free(files->list);
    *files = (struct iw_script_files){0};
}

static void add(struct iw_script_files *files, const char *path, const struct stat *now)
{
    files->list = iw_got(realloc(files->list, (files->count + 1) * sizeof(*files->list)));
    files->list[files->count++] = (struct iw_script_file){.path = iw_text_copy(path), .stat = *now};
}

void iw_script_files_begin(const struct iw_script_files *files)
{
    iw_script_files_clear(&loaded);
    for (size_t i = 0; i < files->count; i++)
        add(&loaded, files->list[i].path, &files->list[i].stat);
}

struct iw_script_files iw_script_files_end(void)
{
    struct iw_script_files files = loaded;
    loaded = (struct iw_script_files){0};
    return files;
}

bool iw_script_files_same(const struct iw_script_files *files)
{
    struct stat now;
    for (size_t i = 0; i < files->count; i++)
        if (stat(files->list[i].path, &now) || !same(&files->list[i].stat, &now))
            return false;
    return true;
}

/* ---- loading ---- */

int iw_script_load_file(lua_State *L, const char *path)
{
    struct chunk *known = NULL;
    struct stat now;
    if (stat(path, &now))
        return luaL_loadfilex(L, path, "t"); /* for its message */
    add(&loaded, path, &now);
    for (size_t i = 0; i < chunk_count && known == NULL; i++)
        if (strcmp(chunks[i].path, path) == 0)
            known = &chunks[i];
    if (known != NULL && same(&known->stat, &now))
        return luaL_loadbufferx(L, known->code, known->length, path, "b");
    int status = luaL_loadfilex(L, path, "t");
    if (status == LUA_OK)
        keep(L, path, &now, known);
    return status;
}
