/* SPDX-License-Identifier: BSD-3-Clause */
/* Target files: each field, what is refused, and what a file may not do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "host/text.h"
#include "target/target.h"
#include "target/target_can.h"

static struct folder folder;
static char error[1024];

static int set_up(void **state)
{
    (void)state;
    return folder_make(&folder);
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

static struct iw_target_spec *read_as(const char *name, const char *content)
{
    char *path = folder_file(&folder, name, content);
    struct iw_target_spec *spec = iw_target_read(path, error, sizeof(error));

    free(path);
    return spec;
}

static void each_field_is_kept(void **state)
{
    struct iw_target_spec *spec = read_as(
        "x.lua", "return { name = 'the card', class = 'agent', address = 'a', port = 65535,\n"
                 "  agent = '[::1]:9', token_file = 't', station = 's', start = 'b', ready = 'r',\n"
                 "  ask = 'q', connect_within = 3600, inside = '{command}', restart = 'e',\n"
                 "  console = 'o', coverage = 'v', crc = 'off', markers = 'on', revision = 2,\n"
                 "  quirks = { 'terminate-reversed' }, version = 'u' }");

    (void)state;
    assert_non_null(spec);
    assert_string_equal(spec->name, "the card");
    assert_null(spec->text);
    assert_int_equal(spec->class, IW_TARGET_AGENT);
    assert_string_equal(spec->host, "a");
    assert_int_equal(spec->port, 65535);
    assert_string_equal(spec->agent_host, "::1");
    assert_int_equal(spec->agent_port, 9);
    assert_string_equal(spec->token_file, "t");
    assert_string_equal(spec->version, "u");
    assert_string_equal(spec->station_host, "s");
    assert_string_equal(spec->start, "b");
    assert_string_equal(spec->ready, "r");
    assert_string_equal(spec->ask, "q");
    assert_true(spec->connect_within == 3600);
    assert_string_equal(spec->inside, "{command}");
    assert_string_equal(spec->restart, "e");
    assert_string_equal(spec->console, "o");
    assert_string_equal(spec->coverage, "v");
    assert_int_equal(spec->quirks, iw_quirk_bit(IW_QUIRK_TERMINATE_REVERSED));
    assert_int_equal(spec->taken, 0);
    iw_target_free(spec);
    spec = read_as("x.lua", "return { connect = 'c', connect_within = 0.25, can = { 'read', "
                            "'rtr.send' } }");
    assert_string_equal(spec->connect, "c");
    assert_true(spec->connect_within == 0.25);
    assert_false(spec->ends_connection);
    assert_true(spec->longest_timer == 0 && iw_target_silence(spec, 1) == 5);
    assert_string_equal(spec->can[0], "read");
    assert_string_equal(spec->can[1], "rtr.send");
    assert_null(spec->can[2]);
    iw_target_free(spec);
    spec = read_as("x.lua", "return { address = 'a', start = 's', ends = 'connection', "
                            "longest_timer = 2.5 }");
    assert_true(spec->ends_connection);
    assert_false(iw_target_can(spec, NULL, "reconnect"));
    assert_true(iw_target_silence(spec, 1) == 2.5);
    assert_true(iw_target_silence(spec, 2) == 5);
    assert_true(iw_target_silence(spec, 0.1) == 2.5);
    assert_true(iw_target_silence(spec, 0) == 2.5);
    iw_target_free(spec);
    spec = read_as("x.lua", "return { address = 'a', port = 1, cannot = { 'read' } }");
    assert_int_equal(spec->port, 1);
    assert_string_equal(spec->can[0], "!read");
    assert_null(spec->can[1]);
    iw_target_free(spec);
    spec = read_as("x.lua", "return { connect = 'c', revision = 1 }");
    assert_string_equal(spec->can[0], "revision.1");
    assert_string_equal(spec->can[1], "!revision.2");
    iw_target_free(spec);
}

static void a_file_is_the_targets_name(void **state)
{
    static const char *const rows[][2] = {
        {"card.lua", "card"}, {"a.b.lua", "a.b"}, {"plain", "plain"}, {".lua", ".lua"}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_target_spec *spec = read_as(rows[i][0], "return { connect = 'c' }");

        assert_non_null(spec);
        assert_string_equal(spec->name, rows[i][1]);
        iw_target_free(spec);
    }
}

static void what_is_wrong_with_a_file_is_said(void **state)
{
    static const char *const rows[][2] = {
        {"return { port = 0 }", ": port: expected a number from 1 to 65535"},
        {"return { port = 65536 }", ": port: expected a number from 1 to 65535"},
        {"return { port = 1.5 }", ": port: expected a number from 1 to 65535"},
        {"return { name = '' }", ": name: expected a text"},
        {"return { name = 7 }", ": name: expected a text"},
        {"return { name = 'a\\0b' }", ": name: expected a text"},
        {"return { class = 'router' }", ": class: expected \"bare\", \"rping\" or \"agent\""},
        {"return { crc = 'x' }", ": crc: expected \"on\" or \"off\""},
        {"return { markers = 'x' }", ": markers: expected \"on\" or \"off\""},
        {"return { revision = 0 }", ": revision: expected 1 or 2"},
        {"return { revision = 3 }", ": revision: expected 1 or 2"},
        {"return { revision = '2' }", ": revision: expected 1 or 2"},
        {"return { connect = 'c', connect_within = 0 }",
         ": connect_within: expected seconds: a number above 0, at most 3600"},
        {"return { connect = 'c', longest_timer = 0 }",
         ": longest_timer: expected seconds: a number above 0, at most 3600"},
        {"return { address = 'h', start = 's', ends = 'never' }",
         ": ends: expected \"connection\""},
        {"return { connect = 'c', ends = 'connection' }", ": ends: of use only with start"},
        {"return { connect = 'c', connect_within = 3600.5 }",
         ": connect_within: expected seconds: a number above 0, at most 3600"},
        {"return { connect = 'c', connect_within = '5' }",
         ": connect_within: expected seconds: a number above 0, at most 3600"},
        {"return { agent = 'h' }", ": agent: bad address \"h\": expected HOST:PORT"},
        {"return { can = 'read' }", ": can: expected a list of capabilities"},
        {"return { cannot = { 7 } }", ": cannot: expected a text"},
        {"return { can = { 'reed' } }",
         ": can: expected a capability; 'reed' is none (did you mean 'read'?)"},
        {"return { adress = 'h' }", ": unknown field 'adress' (did you mean 'address'?)"},
        {"return { nothing_like_it = 'h' }", ": unknown field 'nothing_like_it'"},
        {"return { 'x' }", ": expected named fields only"},
        {"return 3", ": expected a table: return { ... }"},
        {"return { inside = 'x' }", ": inside: expected {command} in it"},
        {"return { restart = 'x' }", ": restart: of use only with inside"},
        {"return { console = 'x' }", ": console: of use only with inside"},
        {"return { coverage = 'x' }", ": coverage: of use only with inside"},
        {"return { class = 'agent' }", ": a target of class agent needs agent = \"HOST:PORT\""},
        {"return { agent = 'h:1' }", ": agent: only a target of class agent has one"},
        {"return { token_file = 'x' }", ": token_file: only a target of class agent has one"},
        {"return { quirks = 'terminate-reversed' }", ": quirks: expected a list of quirks"},
        {"return { quirks = { 'reversed' } }",
         ": quirks: expected one of terminate-reversed, "
         "msn-start, msn-shared, crc-order, crc-polynomial, "
         "crc-other, crc-absent, length-order, pd-order, markers-missing, "
         "markers-unasked, markers-place, qn-order, "
         "msn-order, mo-order, stag-order, to-order"},
        {"return { quirks = { true } }", ": quirks: expected a text"},
        {"return { connect = 'x', ask = 'y' }",
         ": ask: a target that has a command to connect needs no person"},
        {"return { address = 'h', port = 1, connect_within = 1 }",
         ": connect_within: of use only with connect or ask"},
        {"return { start = 'x' }", ": expected address and port, connect, or ask"},
        {"return { address = 'h' }",
         ": port: missing; only a peer that is started can be given one"},
        {"return { ask = 'x', ready = 'y' }", ": ready: of use only with start"},
        {"\n\nreturn {", ":3: unexpected symbol near <eof>"},
        {"\x1bLua", ": attempt to load a binary chunk (mode is 't')"},
        {"return { address = 7, port = 7 }", ": address: expected a text"},
        {"return { crc = true }", ": crc: expected a text"},
        {"return { token_file = 7 }", ": token_file: expected a text"},
        {"return { address = os.getenv('HOME') }",
         ":1: attempt to index a nil value (global 'os')"},
        {"while true do end", ": takes too long"},
        {"local s = 'x' while true do s = s .. s end", ": not enough memory"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_target_spec *spec = read_as("bad.lua", rows[i][0]);
        const char *said = strstr(error, "bad.lua");

        assert_null(spec);
        assert_non_null(said);
        assert_null(strstr(said + 1, "bad.lua")); /* named once */
        assert_string_equal(said + strlen("bad.lua"), rows[i][1]);
    }
    assert_null(iw_target_read("/no/such/file", error, sizeof(error)));
    assert_string_equal(error, "cannot open /no/such/file: No such file or directory");
}

/* Memory that is given back can be had again: 50 times a quarter of what a file may have. */
static void memory_is_counted_both_ways(void **state)
{
    struct iw_target_spec *spec = read_as("x.lua", "for i = 1, 50 do\n"
                                                   "  local s = '0123456789abcdef'\n"
                                                   "  for k = 1, 17 do s = s .. s end\n"
                                                   "end\n"
                                                   "return { connect = 'c' }");

    (void)state;
    if (spec == NULL)
        fail_msg("%s", error);
    iw_target_free(spec);
    assert_null(read_as("x.lua", "local s = '0123456789abcdef'\n"
                                 "for k = 1, 20 do s = s .. s end\n"
                                 "return { connect = 'c' }"));
    assert_non_null(strstr(error, "not enough memory"));
}

static struct iw_target_spec *parse(const char *text)
{
    *error = 0;
    return iw_target_parse(text, IW_BINARY_DIR "/bin/iwarp-agent", folder.path, error,
                           sizeof(error));
}

static void a_file_by_name_and_by_path(void **state)
{
    char *path = folder_file(&folder, "card.lua",
                             "local base = 7000\n"
                             "return { class = 'rping', address = '192.0.2.7', port = base + 1,\n"
                             "  connect = 'go' }");
    struct iw_target_spec *spec = parse("card");

    (void)state;
    assert_non_null(spec);
    assert_string_equal(spec->name, "card");
    assert_string_equal(spec->text, "card");
    assert_int_equal(spec->class, IW_TARGET_RPING);
    assert_int_equal(spec->port, 7001);
    assert_string_equal(spec->connect, "go");
    iw_target_free(spec);
    spec = parse(path);
    assert_non_null(spec);
    assert_string_equal(spec->name, "card");
    assert_string_equal(spec->text, path);
    iw_target_free(spec);
    free(path);
}

/* Every file that comes with the suite; none but those for RNICs is a template. */
static void files_of_the_suite(void **state)
{
    glob_t found;
    size_t templates = 0;

    (void)state;
    assert_int_equal(glob(IW_SOURCE_DIR "/conformance/targets/*.lua", 0, NULL, &found), 0);
    assert_true(found.gl_pathc > 10);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct iw_target_spec *spec = parse(found.gl_pathv[i]);

        if (spec == NULL) {
            fail_msg("%s: %s", found.gl_pathv[i], error);
            continue;
        }
        if (strstr(found.gl_pathv[i], "/rnic-") != NULL) {
            templates++;
            assert_int_equal(spec->class, IW_TARGET_AGENT);
            assert_string_equal(spec->agent_host, "192.0.2.1");
            assert_non_null(spec->can[0]);
        }
        iw_target_free(spec);
    }
    assert_int_equal(templates, 4);
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_field_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_is_the_targets_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_wrong_with_a_file_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_is_counted_both_ways, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_by_name_and_by_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_of_the_suite, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
