/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-golden: runs SCRIPTS/lib.lua and every other script of that folder, which write captures.
 */
#include "golden.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/files.h"
#include "host/offers.h"
#include "host/options.h"

enum { MEMORY = 512 * 1024 * 1024, ERROR_ROOM = 1024, OPERANDS = 3 };

const char *golden_folder;

/* The exit status if a script, or what it wants, fails. */
static int failure;

static int is_script(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);

    return n > 4 && strcmp(entry->d_name + n - 4, ".lua") == 0 &&
           strcmp(entry->d_name, "lib.lua") != 0;
}

/* Pushes a list of the names of the scripts, in their order. */
static void push_scripts(lua_State *L, const char *folder)
{
    struct dirent **names;
    int n = scandir(folder, &names, is_script, alphasort);
    if (n < 0)
        luaL_error(L, "%s: cannot be read", folder);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_pushstring(L, names[i]->d_name);
        lua_rawseti(L, -2, i + 1);
        free(names[i]);
    }
    free(names);
}

/* Runs the script with the environment at `env`, 0 for the common one; leaves its value on the
 * stack. */
static void run(lua_State *L, const char *path, int env)
{
    if (luaL_loadfilex(L, path, "t"))
        lua_error(L);
    if (env) {
        lua_pushvalue(L, env);
        lua_setupvalue(L, -2, 1);
    }
    lua_call(L, 0, 1);
}

static void write_manifest(lua_State *L, const char *text)
{
    const char *path = lua_pushfstring(L, "%s/manifest.json", golden_folder);
    FILE *file = fopen(path, "w");

    if (!file || fputs(text, file) < 0 || fclose(file)) {
        failure = IW_EXIT_OUTPUT;
        luaL_error(L, "%s: cannot be written", path);
    }
}

/* build(vocabulary) */
static int build(lua_State *L)
{
    const char *folder = iw_script_of(L)->file;

    lua_getglobal(L, "iw");
    golden_add_capture(L);
    golden_add_pair(L);
    lua_settop(L, 1);
    run(L, lua_pushfstring(L, "%s/lib.lua", folder), 0);
    lua_insert(L, 2); /* {extend =, manifest =} */
    lua_getfield(L, 2, "extend");
    lua_getfield(L, 1, "env");
    lua_call(L, 1, 1);
    lua_replace(L, 1);
    lua_settop(L, 2);
    push_scripts(L, folder);
    for (lua_Integer i = 1; lua_rawgeti(L, 3, i) == LUA_TSTRING; i++) {
        run(L, lua_pushfstring(L, "%s/%s", folder, lua_tostring(L, -1)), 1);
        lua_settop(L, 3);
    }
    lua_getfield(L, 2, "manifest");
    lua_call(L, 0, 1);
    write_manifest(L, luaL_checkstring(L, -1));
    return 0;
}

static void on_interrupt(int number)
{
    (void)number;
    _exit(IW_EXIT_INTERRUPTED);
}

static void offer_folders(const struct iw_offers *to, size_t operand)
{
    if (operand < OPERANDS)
        iw_offer_folders(to);
}

int main(int argc, char **argv)
{
    struct iw_run_options options = {.memory = MEMORY};
    struct iw_script script = {.options = &options};
    const struct iw_command_line line = {
        .program = "iwarp-golden",
        .usage =
            "usage: iwarp-golden LIBRARY SCRIPTS FOLDER\n"
            "Runs the scripts of the folder SCRIPTS, which write captures below FOLDER, and "
            "writes their\n"
            "manifest there. LIBRARY is the folder of the cases' library, conformance/lib.\n\n",
        .most_operands = OPERANDS,
        .offer = offer_folders};
    int first;
    iw_complain_as("iwarp-golden");
    int status = iw_options_read(&line, argc, argv, &first);
    if (status >= 0)
        return status;
    if (argc - first != OPERANDS)
        return iw_complain_exit(IW_EXIT_USAGE,
                                "expected three folders: LIBRARY SCRIPTS FOLDER; see --help");
    for (int i = 0; i < OPERANDS - 1; i++)
        if (access(argv[first + i], R_OK))
            return iw_complain_exit(IW_EXIT_USAGE, "%s: cannot be read: %s", argv[first + i],
                                    strerror(errno));
    if (iw_folder_create(argv[first + 2]) || access(argv[first + 2], W_OK))
        return iw_complain_exit(IW_EXIT_OUTPUT, "%s: cannot be written: %s", argv[first + 2],
                                strerror(errno));
    options.library = argv[first];
    script.file = argv[first + 1];
    golden_folder = argv[first + 2];
    failure = IW_EXIT_FAILURE;
    char error[ERROR_ROOM];
    signal(SIGINT, on_interrupt);
    /* A state in the stretch is given up as it is; here its end has to free pairs and captures. */
    setenv("IW_SCRIPT_HEAP", "malloc", 1);
    if (iw_script_open(&script, error, sizeof(error)) < 0) {
        status = iw_complain_exit(failure, "%s", error);
    } else {
        lua_State *L = script.L;

        lua_pushcfunction(L, build);
        lua_insert(L, -2);
        if (lua_pcall(L, 1, 0, 0) == LUA_OK)
            status = 0;
        else
            status = iw_complain_exit(failure, "%s", luaL_tolstring(L, -1, NULL));
    }
    iw_script_close(&script);
    return status;
}
