/* SPDX-License-Identifier: BSD-3-Clause */
/* The script host from below the vocabulary: the functions of `iw` that need no target, fields,
 * errors and where they happened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/text.h"
#include "play.h"
#include "primitives.h"
#include "recording.h"

static struct iw_script script;

static int open_script(void **state)
{
    script = (struct iw_script){0};
    primitives_open(&script);
    return recording_setup(state);
}

/* What was allocated was counted, and was freed. */
static int close_script(void **state)
{
    iw_script_close(&script);
    iw_script_close(&script);
    if (script.used != 0)
        return -1;
    return recording_teardown(state);
}

static void gives(const char *code, const char *expected)
{
    primitives_give(&script, code, expected);
}

/* ---- fields of tables ---- */

static void numbers(void **state)
{
    (void)state;
    gives("return hex(iw.ddp { rsvd = true }):sub(1, 2)", "45");
    gives("return hex(iw.ddp { rsvd = false }):sub(1, 2)", "41");
    gives("return hex(iw.ddp { rsvd = '7' }):sub(1, 2)", "5d");
    gives("return hex(iw.ddp { rsvd = 3.0 }):sub(1, 2)", "4d");
    gives("return iw.ddp { rsvd = 1.5 }", "ERROR case.lua:1: field 'rsvd' is no whole number");
    gives("return iw.ddp { rsvd = 'x' }", "ERROR case.lua:1: field 'rsvd' is no whole number");
    gives("return iw.ddp { rsvd = {} }", "ERROR case.lua:1: field 'rsvd' is no whole number");
    gives("return iw.ddp { rsvd = -1 }",
          "ERROR case.lua:1: field 'rsvd' is -1, it must be 0 to 15");
}

static void booleans(void **state)
{
    (void)state;
    gives("return hex(iw.ddp { l = 0 }):sub(1, 2)", "01");
    gives("return hex(iw.ddp { l = 1 }):sub(1, 2)", "41");
    gives("return hex(iw.ddp { l = -1 }):sub(1, 2)", "41");
    gives("return hex(iw.ddp { l = false }):sub(1, 2)", "01");
    gives("return hex(iw.ddp { l = true }):sub(1, 2)", "41");
    gives("return hex(iw.ddp { l = 'no' }):sub(1, 2)", "41");
}

/* The table on top of the stack is all that each leaves there. */
static void fields_leave_nothing_behind(void **state)
{
    lua_State *L = script.L;
    char *text;

    (void)state;
    lua_newtable(L);
    iw_script_set_text(L, "text", "words");
    iw_script_set_text(L, "none", NULL);
    iw_script_set_octets(L, "octets", "a\0b", 2);
    iw_script_set_integer(L, "integer", 7);
    iw_script_set_boolean(L, "yes", true);
    iw_script_set_boolean(L, "no", false);
    assert_int_equal(iw_script_number(L, 1, "integer", 3, 7), 7);
    assert_int_equal(iw_script_number(L, 1, "absent", 3, 1), 3);
    assert_true(iw_script_boolean(L, 1, "yes", false));
    assert_false(iw_script_boolean(L, 1, "no", true));
    assert_true(iw_script_boolean(L, 1, "absent", true));
    assert_null(iw_script_text(L, "integer"));
    assert_null(iw_script_text(L, "absent"));
    text = iw_script_text(L, "text");
    assert_string_equal(text, "words");
    free(text);
    assert_int_equal(lua_gettop(L), 1);
    text = primitives_show(&script);
    assert_string_equal(text, "{integer=7 no=false octets=x6100 text=words yes=true}");
    free(text);
    assert_int_equal(iw_script_push_failure(L, "why"), 2);
    assert_int_equal(lua_gettop(L), 2);
    assert_true(lua_isnil(L, 1));
    assert_string_equal(lua_tostring(L, 2), "why");
    lua_settop(L, 0);
}

/* ---- bends ---- */

static void bent(const char *table, const struct iw_frame_bend *expected, const char *pad)
{
    char code[128];
    struct iw_frame_bend bend;

    snprintf(code, sizeof(code), "return %s", table);
    assert_int_equal(luaL_dostring(script.L, code), LUA_OK);
    bend = iw_script_bend(script.L, 1);
    assert_int_equal(lua_gettop(script.L), 1);
    assert_int_equal(bend.length, expected->length);
    assert_int_equal(bend.pad_length, expected->pad_length);
    if (pad != NULL)
        assert_memory_equal(bend.pad, pad, expected->pad_length);
    else
        assert_null(bend.pad);
    assert_int_equal(bend.crc, expected->crc);
    assert_int_equal(bend.crc_value, expected->crc_value);
    assert_int_equal(bend.markers, expected->markers);
    assert_int_equal(bend.marker_shift, expected->marker_shift);
    assert_int_equal(bend.marker_which, expected->marker_which);
    assert_int_equal(bend.marker_pointer, expected->marker_pointer);
    assert_int_equal(bend.marker_add, expected->marker_add);
    assert_int_equal(bend.marker_reserved, expected->marker_reserved);
    lua_settop(script.L, 0);
}

static void a_bend_is_straight_where_nothing_is_said(void **state)
{
    struct iw_frame_bend bend = IW_FRAME_STRAIGHT;

    (void)state;
    bent("{}", &bend, NULL);
    bent("{ marker = {}, crc = 'right' }", &bend, NULL);
    bend.crc = IW_FRAME_CRC_WRONG;
    bent("{ crc = 'bad' }", &bend, NULL);
    bend.crc = IW_FRAME_CRC_ABSENT;
    bent("{ crc = 'none' }", &bend, NULL);
    bend.crc = IW_FRAME_CRC_VALUE;
    bend.crc_value = UINT32_MAX;
    bent("{ crc = 0xffffffff }", &bend, NULL);
    bend = IW_FRAME_STRAIGHT;
    bend.length = 65535;
    bend.markers = IW_FRAME_MARKERS_ON;
    bend.pad_length = 3;
    bent("{ length = 65535, pad = 'a\\0b', markers = true }", &bend, "a\0b");
    bend = IW_FRAME_STRAIGHT;
    bend.length = 0;
    bend.markers = IW_FRAME_MARKERS_OFF;
    bend.marker_shift = 511;
    bend.marker_which = 1000;
    bend.marker_pointer = 65535;
    bend.marker_add = -4;
    bend.marker_reserved = 65535;
    bent("{ length = 0, markers = false, marker = { shift = 511, which = 1000, pointer = 65535,"
         " add = -4, reserved = 65535 } }",
         &bend, NULL);
}

static int call_bend(lua_State *L)
{
    (void)iw_script_bend(L, 1);
    return 0;
}

static void a_bend_has_bounds(void **state)
{
    static const char *const wrong[][2] = {
        {"{ length = 65536 }", "field 'length' is 65536, it must be 0 to 65535"},
        {"{ crc = 4294967296 }", "field 'crc' is 4294967296, it must be 0 to 4294967295"},
        {"{ crc = 'wrong' }", "bad argument #-1 to 'bend' (invalid option 'wrong')"},
        {"{ marker = { shift = 512 } }", "field 'shift' is 512, it must be 0 to 511"},
        {"{ marker = { which = 1001 } }", "field 'which' is 1001, it must be 0 to 1000"},
        {"{ marker = { pointer = 65536 } }", "field 'pointer' is 65536, it must be 0 to 65535"},
        {"{ marker = { reserved = 65536 } }", "field 'reserved' is 65536, it must be 0 to 65535"},
        {"{ marker = 7 }", "bad argument #2 to 'bend' (table expected, got number)"},
        {"7", "bad argument #1 to 'bend' (table expected, got number)"},
    };

    (void)state;
    lua_register(script.L, "bend", call_bend);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        char code[128], said[128];

        snprintf(code, sizeof(code), "bend(%s)", wrong[i][0]);
        snprintf(said, sizeof(said), "ERROR case.lua:1: %s", wrong[i][1]);
        gives(code, said);
    }
}

/* ---- errors ---- */

static void a_message_loses_its_place(void **state)
{
    static const char *const messages[][2] = {
        {"plain", "plain"},
        {"a:1: b", "b"},
        {"a:12: b c", "b c"},
        {":1: b", "b"},
        {"a::1: b", "b"},
        {"a:x:1: b", "b"},
        {"a b:1: c", "a b:1: c"},
        {"a:1:b", "a:1:b"},
        {"a:1x: b", "a:1x: b"},
        {"a: b", "a: b"},
        {"a:1: ", ""},
        {"a:1: b:2: c", "b:2: c"},
        {"x: y:1: z", "x: y:1: z"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++) {
        char code[80], said[80];

        snprintf(code, sizeof(code), "\n\nerror('%s', 0)", messages[i][0]);
        snprintf(said, sizeof(said), "ERROR case.lua:3: %s", messages[i][1]);
        gives(code, said);
    }
    gives("error(nil)", "ERROR case.lua:1: nil");
    gives("error(true)", "ERROR case.lua:1: true");
    gives("error { verdict = 'V', reason = 'r' }", "V nowhere: r");
}

/* Runs code of another file than the case's. */
static void elsewhere(const char *code, const char *where, const char *reason)
{
    lua_State *L = script.L;

    assert_int_equal(luaL_loadbuffer(L, code, strlen(code), "@other.lua"), LUA_OK);
    assert_false(iw_script_call(&script, 0, 0));
    assert_int_equal(lua_gettop(L), 1);
    lua_getfield(L, 1, "reason");
    assert_string_equal(lua_tostring(L, -1), reason);
    lua_getfield(L, 1, "where");
    if (where != NULL)
        assert_string_equal(lua_tostring(L, -1), where);
    else
        assert_true(lua_isnil(L, -1));
    lua_settop(L, 0);
}

static void a_place_is_one_of_the_case(void **state)
{
    (void)state;
    elsewhere("\nerror 'no'", NULL, "other.lua:2: no");
    elsewhere("iw.raise { reason = 'r' }", NULL, "r");
    elsewhere("iw.raise { reason = 'r', where = 'w' }", "w", "r");
    elsewhere("error(tostring(iw.where()), 0)", NULL, "nil");
    script.line = 1;
    elsewhere("\nerror 'no'", "case.lua:1", "no");
    script.line = 0;
    gives("\n\nreturn iw.where()", "case.lua:3");
    gives("local function f()\nreturn iw.where() .. ''\nend\n\nreturn f()", "case.lua:2");
    /* A line of the case goes before its caller's. */
    gives("\niw.raise({ verdict = 'FAIL', reason = 'r' }, 'more')", "FAIL case.lua:2: r");
    gives("iw.raise { verdict = 'FAIL', reason = 'r', where = 'w' }", "FAIL case.lua:1: r");
    gives("iw.raise(7)",
          "ERROR case.lua:1: bad argument #1 to 'raise' (table expected, got number)");
    gives("local x = 1\n\nlocal y = 2\n", "nil");
    assert_int_equal(script.line, 3);
}

/* ---- names ---- */

static void names_are_known(void **state)
{
    (void)state;
    gives("return show { iw.rule 'MPA-8-02' }", "{1=FAIL 2=receiver 3=true}");
    gives("return show { iw.rule 'MPA-5.1-01' }", "{1=NOTE 2=sender 3=false}");
    gives("return show { iw.rule 'DDP-5.2-07' }", "{1=FAIL 2=ulp 3=false}");
    gives("return iw.rule 'MPA-99'", "nil");
    gives("return iw.check 'mpa-crc'", "true");
    gives("return iw.check 'mpa-crk'", "false");
    gives("return select('#', iw.capability 'memory.write')", "0");
    gives("return iw.capability 'memry.write':match 'memry'", "memry");
    gives("return iw.capability(1)", "agent");
    gives("local n = 0 while iw.capability(n + 1) do n = n + 1 end "
          "return n > 3 and iw.capability(n) ~= iw.capability(n - 1)",
          "true");
    gives("return iw.near('mpa-crk', 'check')", "mpa-crc");
    gives("return iw.near('MPA-8-002', 'rule')", "MPA-8-02");
    gives("return iw.near('read', { 'reed', 'write' })", "reed");
    gives("return iw.near('wrote', { 'reed', 'write' })", "write");
    gives("return iw.near('wrote', { 'reed', 7, 'write' })", "nil");
    gives("return iw.near('colour', { 'reed', 'write' })", "nil");
    gives("return iw.near('colour', 7)",
          "ERROR case.lua:1: bad argument #2 to 'near' (table expected, got number)");
    gives("return iw.patience()", "3.0");
}

static void library_files_run_once(void **state)
{
    (void)state;
    gives("return iw.load 'literal' == iw.load 'literal'", "true");
    gives("return type(iw.load 'literal')", "table");
    gives("return iw.load ''", "ERROR case.lua:1: bad name of a library file: ''");
    gives("return iw.load '../x'", "ERROR case.lua:1: bad name of a library file: '../x'");
    gives("return iw.load 'a.b'", "ERROR case.lua:1: bad name of a library file: 'a.b'");
    gives("local x = iw.load 'no_such_file_0'\nreturn x",
          "ERROR case.lua:1: cannot open " IW_SOURCE_DIR
          "/conformance/lib/no_such_file_0.lua: No such file or directory");
}

/* ---- the sandbox ---- */

static void nothing_unsafe_is_there(void **state)
{
    static const char *const names[] = {
        "collectgarbage",  "dofile",   "load", "loadfile", "print",   "warn",    "pcall",
        "xpcall",          "os",       "io",   "debug",    "package", "require", "math.random",
        "math.randomseed", "coroutine"};
    static const char *const safe[] = {"assert",       "error", "ipairs",   "string.format",
                                       "table.concat", "next",  "math.max", "utf8.char"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char code[80];

        snprintf(code, sizeof(code), "return %s", names[i]);
        gives(code, "nil");
    }
    for (size_t i = 0; i < sizeof(safe) / sizeof(*safe); i++) {
        char code[80];

        snprintf(code, sizeof(code), "return type(%s)", safe[i]);
        gives(code, "function");
    }
}

static void metatables_have_no_finaliser(void **state)
{
    (void)state;
    gives("local t = {} return setmetatable(t, { __index = { a = 5 } }, 9) == t and t.a", "5");
    gives("setmetatable({}, { __gc = 1 })", "ERROR case.lua:1: __gc is not allowed");
    gives("setmetatable(7, {})",
          "ERROR case.lua:1: bad argument #1 to 'setmetatable' (table expected, got number)");
    gives("setmetatable({}, 7)",
          "ERROR case.lua:1: bad argument #2 to 'setmetatable' (table expected, got number)");
    gives("return getmetatable(setmetatable({}, { __metatable = false }))", "false");
}

/* ---- opening ---- */

static void not_opened(const struct iw_run_options *options, const char *expected)
{
    struct iw_script s = {.options = options, .file = "x"};
    char error[512];

    assert_int_equal(iw_script_open(&s, error, sizeof(error)), -1);
    assert_string_equal(error, expected);
    iw_script_close(&s);
    assert_int_equal(s.used, 0);
}

static void opening_may_fail(void **state)
{
    const struct folder *f = *state;
    struct iw_run_options options = play_options;
    char *init, *text;

    options.memory = 100;
    not_opened(&options, "no memory for a Lua state");
    options.memory = 16 * 1024;
    not_opened(&options, "the script takes more than 0 MiB of memory");
    options.memory = 0;
    options.library = "/no/such";
    not_opened(&options, "cannot open /no/such/init.lua: No such file or directory");
    options.library = f->path;
    init = folder_file(f, "init.lua", "\nerror({})");
    not_opened(&options, "unknown error");
    free(init);
    init = folder_file(f, "init.lua", "error { where = 'here', reason = 'why' }");
    not_opened(&options, "here: why");
    text = iw_text_format("%s:2: no", init);
    free(init);
    init = folder_file(f, "init.lua", "\nerror 'no'");
    not_opened(&options, text);
    free(init);
    free(text);
    assert_int_equal(script.limit, 64 * 1024 * 1024);
}

/* ---- a file ---- */

static void loads(const struct folder *f, const char *name, const char *content,
                  const char *expected)
{
    char *path = folder_file(f, name, content), *text, error[1024] = "";
    struct iw_script s = {.options = &play_options, .file = path};

    assert_int_equal(iw_script_open(&s, error, sizeof(error)), 0);
    assert_int_equal(iw_script_load(&s, error, sizeof(error)), -1);
    assert_false(s.loading);
    text = iw_text_fill(expected, (const char *[]){"PATH", path, NULL});
    assert_string_equal(error, text);
    iw_script_close(&s);
    free(text);
    free(path);
}

/* Lua would shorten a path as long as this. */
static void a_syntax_error_has_its_whole_path(void **state)
{
    const struct folder *f = *state;

    loads(f, "a-name-that-is-longer-than-lua-would-show-it-in-a-message-of-its-own.lua",
          "\n\nlocal x = = 1", "{PATH}:3: unexpected symbol near '='");
    loads(f, "x.lua", "local y\n\n\n\n\n\n\n\n\n\n\nlocal x = = 1",
          "{PATH}:12: unexpected symbol near '='");
    loads(f, "x.lua", "\x1bLua", "attempt to load a binary chunk (mode is 't')");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(numbers, open_script, close_script),
        cmocka_unit_test_setup_teardown(booleans, open_script, close_script),
        cmocka_unit_test_setup_teardown(fields_leave_nothing_behind, open_script, close_script),
        cmocka_unit_test_setup_teardown(a_bend_is_straight_where_nothing_is_said, open_script,
                                        close_script),
        cmocka_unit_test_setup_teardown(a_bend_has_bounds, open_script, close_script),
        cmocka_unit_test_setup_teardown(a_message_loses_its_place, open_script, close_script),
        cmocka_unit_test_setup_teardown(a_place_is_one_of_the_case, open_script, close_script),
        cmocka_unit_test_setup_teardown(names_are_known, open_script, close_script),
        cmocka_unit_test_setup_teardown(library_files_run_once, open_script, close_script),
        cmocka_unit_test_setup_teardown(nothing_unsafe_is_there, open_script, close_script),
        cmocka_unit_test_setup_teardown(metatables_have_no_finaliser, open_script, close_script),
        cmocka_unit_test_setup_teardown(opening_may_fail, open_script, close_script),
        cmocka_unit_test_setup_teardown(a_syntax_error_has_its_whole_path, open_script,
                                        close_script),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
