/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SCRIPT_CHUNK_H
#define IW_RUNNER_SCRIPT_CHUNK_H

/* Loading the files of scripts, and which were loaded. */

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct iw_script_file {
    char *path;
    struct stat stat; /* when it was loaded */
};

struct iw_script_files {
    struct iw_script_file *list;
    size_t count;
};

/* Loads a text as luaL_loadfilex does, but does not read a file again that this process has
 * compiled before, unless it has changed. Returns as luaL_loadfilex. */
int iw_script_load_file(lua_State *L, const char *path);

/* From here on files that are loaded are listed, after those in `files`. */
void iw_script_files_begin(const struct iw_script_files *files);
/* Returns that list, which the caller clears. */
struct iw_script_files iw_script_files_end(void);
/* Returns whether each file is as it was. */
bool iw_script_files_same(const struct iw_script_files *files);
void iw_script_files_clear(struct iw_script_files *files);

#endif
