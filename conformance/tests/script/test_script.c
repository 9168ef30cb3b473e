/* SPDX-License-Identifier: BSD-3-Clause */
/* The script host: descriptions, the sandbox, bounds on time and memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "play.h"

static struct iw_target nobody = {.name = "nobody", .host = "127.0.0.1"};

static int remove_file(void **state)
{
    (void)state;
    play_remove();
    return 0;
}

static void reads_a_description(void **state)
{
    struct iw_case *cases;
    char error[256] = "";
    size_t n;

    (void)state;
    play_write("-- a comment\n"
               "return family {\n"
               "  case { id = 'one', purpose = 'first', rules = { 'MPA-8-02', 'MPA-4.4-17' },\n"
               "    role = 'responder', needs = { memory = 'read write', agent = true, ird = 4 },\n"
               "    tags = { 'a', 'b' }, deadline = 2.5, run = function(t) end },\n"
               "  both_roles { id = 'two', purpose = 'second', rules = { 'MPA-5.1-01' },\n"
               "    level = 'may', run = function(t) end },\n"
               "}\n");
    iw_case_load(play_file, &play_options, &cases, &n, error, sizeof(error));
    assert_string_equal(error, "");
    assert_int_equal(n, 3);
    assert_string_equal(cases[0].id, "one");
    assert_string_equal(cases[0].purpose, "first");
    assert_string_equal(cases[0].file, play_file);
    assert_int_equal(cases[0].line, 3);
    assert_int_equal(cases[0].index, 0);
    assert_int_equal(cases[0].n_rules, 2);
    assert_string_equal(cases[0].rules[0]->id, "MPA-8-02");
    assert_string_equal(cases[0].rules[1]->id, "MPA-4.4-17");
    assert_int_equal(cases[0].worst, IW_VERDICT_FAIL);
    assert_int_equal(cases[0].role, IW_MPA_RESPONDER);
    assert_int_equal(cases[0].n_needs, 3);
    assert_string_equal(cases[0].needs[0].name, "agent");
    assert_string_equal(cases[0].needs[0].value, "true");
    assert_string_equal(cases[0].needs[1].value, "4");
    assert_string_equal(cases[0].needs[2].value, "read write");
    assert_int_equal(cases[0].n_tags, 2);
    assert_string_equal(cases[0].tags[1], "b");
    assert_true(cases[0].deadline > 2.4 && cases[0].deadline < 2.6);
    assert_string_equal(cases[1].id, "two");
    assert_int_equal(cases[1].worst, IW_VERDICT_PASS);
    assert_int_equal(cases[1].line, 6);
    assert_string_equal(cases[2].id, "two-initiator");
    assert_int_equal(cases[2].role, IW_MPA_INITIATOR);
    assert_int_equal(cases[2].index, 2);
    iw_case_free_all(cases, n);
}

/* A case's line is that of the word case, also where a tail call leaves no frame. */
static void a_family_keeps_order_and_lines(void **state)
{
    static const struct {
        const char *id;
        int line;
    } want[] = {{"a", 4},    {"b-1-x", 7}, {"b-1-y", 7},          {"b-3-x", 7}, {"b-3-y", 7},
                {"d-2", 12}, {"d-3", 12},  {"d-3-initiator", 12}, {"c", 15}};
    struct iw_case *cases;
    char error[256] = "";
    size_t n;

    (void)state;
    play_write(
        "local function run() end\n"
        "local common = { 'MPA-8-02' }\n"
        "return family {\n"
        "  case { id = 'a', purpose = 'p', rules = common, role = 'responder', run = run },\n"
        "  each({ 1, 2, 3 }, { 'x', 'y' }, function(number, letter)\n"
        "    if number == 2 then return nil end\n"
        "    return case {\n"
        "      id = ('b-%d-%s'):format(number, letter), purpose = 'p', rules = common,\n"
        "      role = 'initiator', run = run }\n"
        "  end),\n"
        "  { each(range(2, 3), function(number)\n"
        "    return (number == 3 and both_roles or case) {\n"
        "      id = 'd-' .. number, purpose = 'p', rules = common,\n"
        "      role = number ~= 3 and 'responder' or nil, run = run } end),\n"
        "  case { id = 'c', purpose = 'p', rules = common, role = 'responder', run = run } },\n"
        "}\n");
    iw_case_load(play_file, &play_options, &cases, &n, error, sizeof(error));
    assert_string_equal(error, "");
    assert_int_equal(n, sizeof(want) / sizeof(want[0]));
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(cases[i].id, want[i].id);
        assert_int_equal(cases[i].line, want[i].line);
    }
    iw_case_free_all(cases, n);
}

static void a_should_is_a_note(void **state)
{
    struct iw_case *cases;
    char error[256] = "";
    size_t n;

    (void)state;
    play_write("return case { id = 'one', purpose = 'p', rules = { 'MPA-5.1-01', 'MPA-8-02' },\n"
               "role = 'responder', run = function(t) end }\n");
    iw_case_load(play_file, &play_options, &cases, &n, error, sizeof(error));
    assert_string_equal(error, "");
    assert_int_equal(cases[0].worst, IW_VERDICT_NOTE);
    assert_int_equal(cases[0].line, 1);
    iw_case_free_all(cases, n);
}

#define GOOD "id = 'one', purpose = 'p', rules = { 'MPA-8-02' }, role = 'responder',"

static void bad_files_give_one_clear_line(void **state)
{
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"local x = = 1", ":1: unexpected symbol near '='"},
        {"\nreturn case { " GOOD " run = function(t) end, purpos = 'x' }",
         ":2: case has no field 'purpos' (did you mean 'purpose'?)"},
        {"return case { id = 'one', purpose = 'p', rules = { 'MPA-99' }, role = 'responder',"
         " run = function(t) end }",
         ":1: unknown rule 'MPA-99'"},
        {"return case { id = 'One' }",
         ":1: a case needs an id of small letters, digits and hyphens"},
        {"return case { " GOOD " }", ":1: a case needs run = function(t) ... end"},
        {"return case { id = 'a', purpose = 'p', rules = { 'MPA-8-02' }, run = function(t) end }",
         ":1: a case needs role = \"responder\" or \"initiator\" (of the target)"},
        {"return case { " GOOD " needs = { memry = 'read' }, run = function(t) end }",
         ":1: needs has no field 'memry' (did you mean 'memory'?)"},
        {"\n\nreturn csae { " GOOD " run = function(t) end }",
         ":3: unknown name 'csae' (did you mean 'case'?)"},
        {"local c = case { " GOOD " run = function(t) end }\nreturn { c, c }",
         ":2: two cases have the id 'one'"},
        {"local c = case { " GOOD " run = function(t) end }\nc.role = nil\nreturn c",
         ": it changes its cases after their description"},
        {"return 7", ":1: a case file returns case{...} or family{...}"},
        {"", ": a case file returns case{...} or family{...}"},
        {"return {}", ":1: a case file returns case{...} or family{...}"},
        {"\nreturn family {}", ":2: a case file returns case{...} or family{...}"},
        {"\nreturn family(7)", ":2: family takes a table in braces, not a number"},
        {"local c = case { " GOOD " run = function(t) end }\nreturn family { c, 'd' }",
         ":2: family takes case{...} and lists of them, not a string"},
        {"local c = case { " GOOD " run = function(t) end }\n\nreturn family { {}, { nil, c } }",
         ":3: family takes case{...} and lists of them, not a nil"},
        {"\nreturn family { { id = 'one' } }",
         ":2: family takes case{...}, not a table with the field 'id'"},
        {"return family {\n each({ 1 }, function() return\n 5 end) }",
         ":2: each takes case{...} and lists of them, not a number"},
        {"return family {\n each({ 1 }) }", ":2: each takes lists, and then a function"},
        {"return family { each({ 1 }, function()\nreturn case {\n" GOOD " } end) }",
         ":2: a case needs run = function(t) ... end"},
        {"return fault.invalid_stg",
         ":1: unknown fault 'invalid_stg' (did you mean 'invalid_stag'?)"},
        {"\nfault.crc[2] = '2/0/03'",
         ":2: a set of fault.* stays as it is: put it into a list of your own"},
        {"error('by hand')", ":1: by hand"},
        {"os.execute('true')", ":1: unknown name 'os'"},
        {"return io.open('/etc/passwd')", ":1: unknown name 'io'"},
        {"return load('return 1')", ":1: unknown name 'load'"},
        {"return pcall(error)", ":1: unknown name 'pcall'"},
        {"return iw.connect('127.0.0.1', 1)", ":1: unknown name 'iw'"},
        {"return use '../../etc/x'", ":1: bad name of a library file: '../../etc/x'"},
        {"\x1bLua", ": attempt to load a binary chunk (mode is 't')"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *error = play_load_error(bad[i].text, &play_options);

        if (strncmp(bad[i].error, ": ", 2) == 0)
            assert_non_null(strstr(error, bad[i].error + 2));
        else
            assert_string_equal(error, bad[i].error);
    }
}

static void a_missing_file_is_named(void **state)
{
    struct iw_case *cases;
    char error[256];
    size_t n;

    (void)state;
    assert_int_equal(
        iw_case_load("/no/such/case.lua", &play_options, &cases, &n, error, sizeof(error)), -1);
    assert_non_null(strstr(error, "/no/such/case.lua"));
    assert_non_null(strstr(error, "No such file"));
}

static void a_description_that_never_ends_is_stopped(void **state)
{
    struct iw_run_options quick = play_options;

    (void)state;
    quick.deadline = 0.05;
    assert_string_equal(play_load_error("local n = 0\nwhile true do\nn = n + 1 end", &quick),
                        ":3: the case took longer than its deadline of 0.05 s");
}

/* Runs a body that must be an ERROR at this line (counted from the body's first). */
static void expect_error(const char *body, const struct iw_run_options *options, int line,
                         const char *reason)
{
    struct iw_result r = play_body(body, &nobody, options);
    char where[300];

    snprintf(where, sizeof(where), "%s:%d", play_file, line + 2);
    assert_string_equal(r.reason, reason);
    assert_int_equal(r.verdict, IW_VERDICT_ERROR);
    assert_string_equal(r.where, where);
    iw_result_free(&r);
}

static void script_errors_say_where(void **state)
{
    (void)state;
    expect_error("local x\nx.y = 1", &play_options, 2, "attempt to index a nil value (local 'x')");
    expect_error("t:no_such_thing()", &play_options, 1, "t: has no 'no_such_thing'");
    expect_error("local m = write { paylod = 'x' }", &play_options, 1,
                 "write has no field 'paylod' (did you mean 'payload'?)");
    expect_error("\n\nreturn terminate '1/1'", &play_options, 3,
                 "terminate: '1/1' is not layer/type/code as in \"1/1/01\"");
    expect_error("local m = terminate { ddp = 'taged', code = 'bounds' }", &play_options, 1,
                 "terminate: unknown error type 'taged' (did you mean 'tagged'?)");
    expect_error("local m = terminate { ddp = 'tagged', code = 'bouns' }", &play_options, 1,
                 "terminate: unknown code of 1/1 'bouns' (did you mean 'bounds'?)");
    expect_error("hex '0g'", &play_options, 1, "'0g' is not a row of hexadecimal octets");
    expect_error("t:fail('x', { rule = 'MPA-99' })", &play_options, 1, "unknown rule 'MPA-99'");
    expect_error("t:allow('mpa-crk')", &play_options, 1,
                 "unknown check 'mpa-crk' (did you mean 'mpa-crc'?)");
    expect_error("t:memory { length = 4 }", &play_options, 1,
                 "this target has no agent; the case's needs must say that it wants one");
    expect_error("octets(request { key = 'short' })", &play_options, 1,
                 "the key must have 16 octets, not 5");
}

/* What a case expects it may read: a message that is too short for its own header is no such
 * message (an Atomic Request without a request_id made cases fail as scripts). */
static void a_message_has_its_whole_header(void **state)
{
    struct iw_result r = play_body(
        "local short = { kind = 'message', opcode = 0xa, t = false, msn = 1, payload = 'x' }\n"
        "assert(not atomic_request {}:matches(short))\n"
        "short.request_id = 7\n"
        "assert(atomic_request {}:matches(short))\n"
        "assert(not read_request {}:matches { kind = 'message', opcode = 1, t = false })\n"
        "assert(not terminate {}:matches { kind = 'message', opcode = 7, t = false })\n"
        "assert(not atomic_response {}:matches { kind = 'message', opcode = 0xb, t = false })\n"
        "assert(send {}:matches { kind = 'message', opcode = 3, t = false })",
        &nobody, &play_options);

    (void)state;
    assert_null(r.reason);
    assert_int_equal(r.verdict, IW_VERDICT_PASS);
    iw_result_free(&r);
}

static void an_endless_script_ends_at_its_deadline(void **state)
{
    struct iw_run_options quick = play_options;

    (void)state;
    quick.deadline = 0.05;
    expect_error("local n = 0\nwhile true do n = n + 1 end", &quick, 2,
                 "the case took longer than its deadline of 0.05 s");
}

static void a_hungry_script_is_stopped(void **state)
{
    struct iw_run_options small = play_options;

    (void)state;
    small.memory = 8 * 1024 * 1024;
    expect_error("local all = {}\nfor i = 1, 1e9 do all[i] = ('x'):rep(1000) .. i end", &small, 2,
                 "the script takes more than 8 MiB of memory");
    expect_error("local s = ('x'):rep(1 << 30)", &small, 1,
                 "the script takes more than 8 MiB of memory");
}

static void no_finaliser_outlives_the_bounds(void **state)
{
    (void)state;
    expect_error("setmetatable({}, { __gc = function() end })", &play_options, 1,
                 "unknown name 'setmetatable'");
}

static void verdicts_follow_the_rule(void **state)
{
    static const struct {
        const char *body;
        enum iw_verdict verdict;
        const char *rule, *reason, *observed;
    } cases[] = {
        {"", IW_VERDICT_PASS, NULL, NULL, NULL},
        {"t:fail 'no good'", IW_VERDICT_FAIL, "MPA-8-02", "no good", NULL},
        {"t:check(false, 'no good', { rule = 'MPA-5.1-01' })", IW_VERDICT_NOTE, "MPA-5.1-01",
         "no good", NULL},
        {"t:fail('so so', { rule = 'MPA-5.1-04', actual = 'that' })", IW_VERDICT_PASS, NULL,
         "so so", "otherwise=that"},
        {"t:check(true, 'no good')\nt:observe('a', 1)\nt:observe('b', 'x;y')", IW_VERDICT_PASS,
         NULL, NULL, "a=1; b=x,y"},
        {"for i = 1, 3 do t:observe('a', 1) end\nt:observe('a', 2)\nt:observe('a', 1)",
         IW_VERDICT_PASS, NULL, NULL, "a=1 (3x); a=2; a=1"},
        {"t:skip 'not here'", IW_VERDICT_SKIP, NULL, "not here", NULL},
        {"t:inconclusive 'who knows'", IW_VERDICT_INCONCLUSIVE, NULL, "who knows", NULL},
        {"t:deviates('one', { rule = 'MPA-5.1-01' })\nt:deviates 'two'\nt:observe('c', 3)",
         IW_VERDICT_FAIL, "MPA-8-02", "two", "c=3"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct iw_result r = play_body(cases[i].body, &nobody, &play_options);

        assert_int_equal(r.verdict, cases[i].verdict);
        assert_string_equal(r.rule ? r.rule->id : "none", cases[i].rule ? cases[i].rule : "none");
        assert_string_equal(r.reason ? r.reason : "none",
                            cases[i].reason ? cases[i].reason : "none");
        assert_string_equal(r.observed ? r.observed : "none",
                            cases[i].observed ? cases[i].observed : "none");
        assert_string_equal(r.id, "test");
        iw_result_free(&r);
    }
}

static void a_case_must_be_where_it_was(void **state)
{
    struct iw_result r;
    struct iw_case *cases;
    char error[1024] = "";
    size_t n;

    (void)state;
    play_write(
        "return case { id = 'one', purpose = 'p', rules = { 'MPA-8-02' }, role = 'responder',\n"
        "run = function(t) end }\n");
    iw_case_load(play_file, &play_options, &cases, &n, error, sizeof(error));
    assert_string_equal(error, "");
    memcpy(cases[0].id, "two", 3); /* as if a loop over pairs() had made it */
    assert_int_equal(iw_script_run_case(&cases[0], &nobody, &play_options, &r), 0);
    assert_int_equal(r.verdict, IW_VERDICT_ERROR);
    assert_string_equal(
        r.reason, "the file gives other cases, or in another order, each time that it is read");
    iw_result_free(&r);
    iw_case_free_all(cases, n);
}

static void an_unreachable_target_is_inconclusive(void **state)
{
    struct iw_target closed = {.name = "closed", .host = "127.0.0.1", .port = 1};
    struct iw_result r;

    (void)state;
    r = play_body("t:connect {}", &nobody, &play_options);
    assert_int_equal(r.verdict, IW_VERDICT_INCONCLUSIVE);
    assert_string_equal(r.reason, "the target has no listener");
    iw_result_free(&r);
    r = play_body("t:connect {}", &closed, &play_options);
    assert_int_equal(r.verdict, IW_VERDICT_INCONCLUSIVE);
    assert_string_equal(r.reason, "the target was not reached: connect to 127.0.0.1 port 1:"
                                  " Connection refused");
    iw_result_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_description),
        cmocka_unit_test(a_family_keeps_order_and_lines),
        cmocka_unit_test(a_should_is_a_note),
        cmocka_unit_test(bad_files_give_one_clear_line),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(a_description_that_never_ends_is_stopped),
        cmocka_unit_test(script_errors_say_where),
        cmocka_unit_test(a_message_has_its_whole_header),
        cmocka_unit_test(an_endless_script_ends_at_its_deadline),
        cmocka_unit_test(a_hungry_script_is_stopped),
        cmocka_unit_test(no_finaliser_outlives_the_bounds),
        cmocka_unit_test(verdicts_follow_the_rule),
        cmocka_unit_test(a_case_must_be_where_it_was),
        cmocka_unit_test(an_unreachable_target_is_inconclusive),
    };

    return cmocka_run_group_tests(tests, NULL, remove_file);
}
