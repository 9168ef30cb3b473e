/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled scripts are kept, and read again when their file is another one. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <lualib.h>

#include "host/text.h"
#include "primitives.h"
#include "recording.h"
#include "script/script_chunk.h"

static const struct timespec then = {.tv_sec = 1000000000, .tv_nsec = 500};
static char *path;
static lua_State *L;

static int make(void **state)
{
    if (recording_setup(state))
        return -1;
    path = iw_text_format("%s/chunk.lua", ((struct folder *)*state)->path);
    L = luaL_newstate();
    luaL_openlibs(L);
    return 0;
}

static int clear(void **state)
{
    lua_close(L);
    free(path);
    return recording_teardown(state);
}

/* Writes the file in place; its time is `when`. */
static void put(const char *text, struct timespec when)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){when, when}, 0), 0);
}

static void gives(const char *expected)
{
    int status = iw_script_load_file(L, path);

    if (status == LUA_OK)
        status = lua_pcall(L, 0, 1, 0);
    (void)status;
    assert_string_equal(luaL_tolstring(L, -1, NULL), expected);
    lua_settop(L, 0);
}

/* Nobody writes a file twice in the same nanosecond: what looks the same is the same. */
static void a_file_is_compiled_once(void **state)
{
    struct timespec later = then;

    (void)state;
    put("return 1", then);
    gives("1");
    gives("1");
    put("return 2", then);
    gives("1");
    later.tv_nsec++;
    put("return 3", later);
    gives("3");
    gives("3");
    later.tv_sec++;
    put("return 4", later);
    gives("4");
    put("return 55", later);
    gives("55");
}

static void another_file_takes_its_place(void **state)
{
    char *beside = iw_text_format("%s.new", path);

    (void)state;
    put("return 1", then);
    gives("1");
    assert_int_equal(rename(path, beside), 0);
    put("return 2", then);
    gives("2");
    assert_int_equal(rename(beside, path), 0);
    gives("1");
    free(beside);
}

static void a_kept_script_knows_its_lines(void **state)
{
    char *expected = iw_text_format("%s:3: no", path);

    (void)state;
    put("\n\nerror 'no'", then);
    gives(expected);
    gives(expected);
    free(expected);
}

static void what_does_not_compile_is_not_kept(void **state)
{
    char *expected = iw_text_format("%s:1: unexpected symbol near '='", path), *missing;

    (void)state;
    put("= 1", then);
    gives(expected);
    put("return 1", then);
    gives("1");
    remove(path);
    missing = iw_text_format("cannot open %s: No such file or directory", path);
    gives(missing);
    put("\x1bLua", then);
    assert_int_not_equal(iw_script_load_file(L, path), LUA_OK);
    assert_non_null(strstr(lua_tostring(L, -1), "attempt to load a binary chunk (mode is 't')"));
    lua_settop(L, 0);
    free(expected);
    free(missing);
}

/* More files than are kept, each of them twice. */
static void a_thousand_files_and_more(void **state)
{
    char *first = path;

    (void)state;
    for (int i = 0; i < 2 * 1100; i++) {
        char text[32], number[32];

        path = iw_text_format("%s.%d", first, i % 1100);
        snprintf(text, sizeof(text), "return %d", i % 1100);
        snprintf(number, sizeof(number), "%d", i % 1100);
        if (i < 1100)
            put(text, then);
        gives(number);
        free(path);
    }
    path = first;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_compiled_once, make, clear),
        cmocka_unit_test_setup_teardown(another_file_takes_its_place, make, clear),
        cmocka_unit_test_setup_teardown(a_kept_script_knows_its_lines, make, clear),
        cmocka_unit_test_setup_teardown(what_does_not_compile_is_not_kept, make, clear),
        cmocka_unit_test_setup_teardown(a_thousand_files_and_more, make, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
