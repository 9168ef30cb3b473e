/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-golden: its command line, the order of its scripts, and its functions, which the scripts
 * beside this file ask. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../tools/tests/caught.h"

#include "builder/golden.h"

int iw_golden_main(int argc, char **argv);
void __real_golden_add_pair(lua_State *L);
void __wrap_golden_add_pair(lua_State *L);

/* As Lua's pcall. */
static int attempt(lua_State *L)
{
    int good = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0) == LUA_OK;
    lua_pushboolean(L, good);
    lua_insert(L, 1);
    return lua_gettop(L);
}

/* The scripts here get one function more. */
void __wrap_golden_add_pair(lua_State *L)
{
    __real_golden_add_pair(L);
    lua_pushcfunction(L, attempt);
    lua_setfield(L, -2, "attempt");
}

static char folder[] = "/tmp/iw-golden-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/iw-golden-XXXXXX");
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int tear_down(void **state)
{
    static const char *const files[] = {"out/deep/er/whole",
                                        "out/deep/part",
                                        "out/deep/cut",
                                        "out/deep/er",
                                        "out/deep",
                                        "out/manifest.json",
                                        "out/m.lua",
                                        "out",
                                        "s/lib.lua",
                                        "s/x.lua",
                                        "s/y.lua",
                                        "s/.lua",
                                        "s"};
    (void)catch_no_more(state);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        (void)remove(files[i]);
    return chdir("/") != 0 || rmdir(folder) != 0;
}

/* What it says on the standard error. */
static void builds(int status, const char *said, char *library, char *scripts, char *out)
{
    char *argv[] = {(char[]){"iwarp-golden"}, library, scripts, out, NULL};
    int argc = out != NULL ? 4 : 3;
    catch_from(STDERR_FILENO);
    int got = iw_golden_main(argc, argv);
    assert_string_equal(caught(), said);
    assert_int_equal(got, status);
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void its_functions(void **state)
{
    struct stat info;
    (void)state;
    assert_int_equal(mkdir("out", 0700), 0);
    builds(0, "", (char[]){LIBRARY}, (char[]){SCRIPTS}, (char[]){"out"});
    assert_string_equal(text_of("out/manifest.json"), "synth pair\n");
    /* A frame of the second file less than of the first is 12 octets at least. */
    assert_int_equal(stat("out/deep/er/whole", &info), 0);
    off_t whole = info.st_size;
    assert_int_equal(stat("out/deep/part", &info), 0);
    assert_true(info.st_size < whole);
    off_t part = info.st_size;
    assert_int_equal(stat("out/deep/cut", &info), 0);
    assert_true(info.st_size < part);
}

static void its_command_line(void **state)
{
    (void)state;
    builds(64, "iwarp-golden: expected three folders: LIBRARY SCRIPTS FOLDER; see --help\n",
           (char[]){LIBRARY}, (char[]){SCRIPTS}, NULL);
    assert_int_equal(mkdir("out", 0700), 0);
    builds(64, "iwarp-golden: none: cannot be read: No such file or directory\n", (char[]){LIBRARY},
           (char[]){"none"}, (char[]){"out"});
}

static const char lib[] = "local names = {}\n"
                          "return { extend = function(env) env.add = function(n) names[#names + 1] "
                          "= n end return env end,\n"
                          "  manifest = function() return table.concat(names, ' ') end }\n";

/* Scripts in the order of their names; the library and what is no script are none. */
static void its_scripts(void **state)
{
    (void)state;
    assert_int_equal(mkdir("out", 0700), 0);
    assert_int_equal(mkdir("s", 0700), 0);
    put("s/lib.lua", lib);
    put("s/y.lua", "add 'y'");
    put("s/x.lua", "add 'x' return 1, 2, 3");
    put("s/.lua", "error 'no script'");
    builds(0, "", (char[]){LIBRARY}, (char[]){"s"}, (char[]){"out"});
    assert_string_equal(text_of("out/manifest.json"), "x y");
    put("s/x.lua", "error('wrong', 0)");
    builds(1, "iwarp-golden: wrong\n", (char[]){LIBRARY}, (char[]){"s"}, (char[]){"out"});
    put("s/x.lua", "a b");
    builds(1, "iwarp-golden: s/x.lua:1: syntax error near 'b'\n", (char[]){LIBRARY}, (char[]){"s"},
           (char[]){"out"});
    put("s/x.lua", "\033Lua");
    builds(1, "iwarp-golden: attempt to load a binary chunk (mode is 't')\n", (char[]){LIBRARY},
           (char[]){"s"}, (char[]){"out"});
    put("s/x.lua", "");
    builds(73, "iwarp-golden: s/x.lua/none: cannot be written: Not a directory\n",
           (char[]){LIBRARY}, (char[]){"s"}, (char[]){"s/x.lua/none"});
    builds(0, "", (char[]){LIBRARY}, (char[]){"s"}, (char[]){"out/deep/er"});
    assert_string_equal(text_of("out/deep/er/manifest.json"), "y");
    assert_int_equal(remove("out/deep/er/manifest.json"), 0);
    assert_int_equal(remove("out/manifest.json"), 0);
    assert_int_equal(symlink("/dev/full", "out/manifest.json"), 0);
    builds(73, "iwarp-golden: out/manifest.json: cannot be written\n", (char[]){LIBRARY},
           (char[]){"s"}, (char[]){"out"});
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(its_functions), TEST(its_command_line),
                                       TEST(its_scripts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
