/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings that the test makes frame by frame, as scripts see them; and what the command line
 * says of one that is to be replayed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hex.h"
#include "host/text.h"
#include "iwarp/capture.h"
#include "primitives.h"
#include "recording.h"
#include "script/script_replay.h"

#define REQUEST "4d504120494420526571204672616d65 00010000"
#define REPLY "4d504120494420526570204672616d65 00010000"

static struct iw_run_options options;
static struct iw_script script;
static struct iw_synth *synth;
static int made; /* the connection */

static int set_up(void **state)
{
    const struct folder *f;

    if (recording_setup(state))
        return -1;
    f = *state;
    options =
        (struct iw_run_options){.library = IW_SOURCE_DIR "/conformance/lib", .pcaps = f->path};
    script = (struct iw_script){.options = &options};
    primitives_open(&script);
    synth = iw_synth_new(1024 * 1024);
    return synth != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    iw_script_close(&script);
    iw_synth_free(synth);
    return script.used ? -1 : recording_teardown(state);
}

/* ---- frames ---- */

static void connect_from(uint16_t port)
{
    const struct iw_synth_tcp tcp = {.address = {{4, {192, 0, 2, 1}}, {4, {192, 0, 2, 2}}},
                                     .port = {port, 4000}};
    struct iw_synth_span span;

    made = iw_synth_connect(synth, &tcp, 0, &span);
    assert_true(made >= 0);
}

static void data(unsigned side, const char *hex)
{
    uint8_t octets[256];
    size_t length = hex_octets(hex, octets, sizeof(octets));

    iw_synth_data(synth, made, side, 0, octets, length);
}

/* An FPDU without a CRC's value: nobody asked for CRCs. */
static void fpdu(unsigned side, const char *ulpdu)
{
    uint8_t octets[256] = {0};
    size_t length = hex_octets(ulpdu, octets + 2, 200);

    octets[1] = (uint8_t)length;
    iw_synth_data(synth, made, side, 0, octets, (2 + length + 3) / 4 * 4 + 4);
}

static void start(void)
{
    connect_from(5000);
    data(0, REQUEST);
    data(1, REPLY);
}

static void save(const struct folder *f)
{
    char *path = iw_text_format("%s/made.pcapng", f->path), error[IW_CAPTURE_ERROR];

    assert_true(iw_synth_write(synth, path, NULL, NULL, error));
    free(path);
    iw_synth_free(synth);
    synth = iw_synth_new(1024 * 1024);
}

#define THINGS                                                                                     \
    "local text = '' for _, thing in ipairs(iw.capture('made.pcapng')[1].things) do "              \
    "text = text .. thing.frame .. thing.side:sub(1, 1) .. ' ' .. "                                \
    "(thing.payload or thing.kind) .. ', ' end return text"

static void gives(const char *code, const char *expected)
{
    primitives_give(&script, code, expected);
}

/* ---- things ---- */

/* Two segments of which the first does not end its message. */
static void two(const struct folder *f, const char *first, const char *second, const char *things)
{
    start();
    fpdu(0, first);
    fpdu(0, second);
    save(f);
    gives(THINGS, things);
}

#define START "4i startup, 5r startup, "

static void a_message_goes_on(void **state)
{
    const struct folder *f = *state;

    two(f, "0143 00000000 00000000 00000001 00000000 61",
        "4143 00000000 00000000 00000001 00000001 62", START "7i ab, ");
    two(f, "8140 01020304 0000000000000000 6161", "c140 01020304 0000000000000002 62",
        START "7i aab, ");
}

/* Each field says that it is another one. */
static void a_message_ends_where_another_begins(void **state)
{
    static const char *const others[] = {
        "4143 00000000 00000001 00000001 00000001 62", /* QN */
        "4143 00000000 00000000 00000002 00000001 62", /* MSN */
        "4143 00000000 00000000 00000001 00000002 62", /* MO */
        "4144 00000000 00000000 00000001 00000001 62", /* opcode */
        "c143 00000000 0000000000000001 62",           /* tagged */
    };
    const struct folder *f = *state;

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        two(f, "0143 00000000 00000000 00000001 00000000 61", others[i], START "6i a, 7i b, ");
    two(f, "8140 01020304 0000000000000000 61", "c140 01020305 0000000000000001 62",
        START "6i a, 7i b, ");
    two(f, "8140 01020304 0000000000000000 61", "c140 01020304 0000000000000002 62",
        START "6i a, 7i b, ");
    two(f, "8143 00000000 0000000000000000 61", "4143 00000000 00000000 00000001 00000001 62",
        START "6i a, 7i b, ");
}

/* Whole or not, everything is there at the end, in the order of its frames. */
static void an_end_ends_messages(void **state)
{
    const struct folder *f = *state;

    start();
    fpdu(1, "0143 00000000 00000000 00000001 00000000 61");
    fpdu(0, "0143 00000000 00000000 00000001 00000000 62");
    save(f);
    gives(THINGS, START "6r a, 8i b, ");
    start();
    fpdu(0, "0143 00000000 00000000 00000001 00000000 61");
    fpdu(1, "4143 00000000 00000000 00000001 00000000 62");
    iw_synth_fin(synth, made, 0, 0);
    iw_synth_fin(synth, made, 1, 0);
    save(f);
    gives(THINGS, START "6i a, 7r b, 8i fin, 10r fin, ");
    start();
    fpdu(1, "0143 00000000 00000000 00000001 00000000 61");
    iw_synth_reset(synth, made, 1, 0);
    save(f);
    gives(THINGS, START "6r a, 8r reset, ");
    start();
    fpdu(0, "0143 00000000 00000000 00000001 00000000 61");
    iw_synth_unseen(synth, made, 0, 1000);
    fpdu(0, "4143 00000000 00000000 00000001 00000000 62");
    save(f);
    gives(THINGS, START "6i a, 7i lost, ");
}

static void the_initiator_is_who_speaks_first(void **state)
{
    const struct folder *f = *state;

    connect_from(5000);
    data(1, REQUEST);
    data(0, REPLY);
    save(f);
    gives(THINGS, "4i startup, 5r startup, ");
    gives("local c = iw.capture('made.pcapng')[1] return c.initiator .. ' ' .. c.responder",
          "192.0.2.2:4000 192.0.2.1:5000");
    connect_from(5000);
    iw_synth_fin(synth, made, 1, 0);
    save(f);
    gives("local c = iw.capture('made.pcapng')[1] return c.initiator .. ' ' .. c.responder",
          "192.0.2.1:5000 192.0.2.2:4000");
}

static void things_have_times_and_findings(void **state)
{
    const struct folder *f = *state;

    connect_from(5000);
    iw_synth_data(synth, made, 0, 7000, "MPA ID Req Frame\0\x01\0\0", 20);
    data(1, "4d504120494420526570204672616d65 04010000");
    save(f);
    gives("local c = iw.capture('made.pcapng')[1] return c.things[1].time", "7000");
    gives("return iw.capture('made.pcapng')[1].findings",
          "{initiator={} responder={mpa-res-bits=MPA-7.1.1-14}}");
    gives("return iw.capture('made.pcapng')[1].things[1].side", "initiator");
}

/* The Sends of the initiator: one in order, one with a reserved bit, one without a last segment. */
static void things_say_what_their_sender_broke(void **state)
{
    const struct folder *f = *state;
    connect_from(5000);
    data(0, REQUEST);
    data(1, REPLY);
    data(0, "00124143 00000000 00000000 00000001 00000000 00000000");
    data(0, "00124543 00000000 00000000 00000002 00000000 00000000");
    data(0, "00120143 00000000 00000000 00000003 00000000 00000000");
    data(0, "00124143 00000000 00000000 00000004 00000000 00000000");
    save(f);
    gives("local broke = {} for i, thing in ipairs(iw.capture('made.pcapng')[1].things) do "
          "broke[i] = thing.broke or '-' end return table.concat(broke, ' ')",
          "- - - DDP-4.1-09 DDP-4.1-03 -");
}

/* ---- arguments ---- */

static void connections_are_counted_from_one(void **state)
{
    const struct folder *f = *state;

    for (uint16_t i = 0; i < 3; i++) {
        connect_from((uint16_t)(5000 + i));
        data(0, REQUEST);
    }
    save(f);
#define LIST(arguments)                                                                            \
    "local list, total = iw.capture('made.pcapng'" arguments ") local text = total .. ':' "        \
    "for _, c in ipairs(list) do text = text .. ' ' .. c.initiator:match '%d+$' end return text"
    gives(LIST(""), "3: 5000 5001 5002");
    gives(LIST(", 2"), "3: 5001 5002");
    gives(LIST(", 2, 2"), "3: 5001");
    gives(LIST(", 3, 18"), "3: 5002");
    gives(LIST(", 4"), "3:");
    gives(LIST(", 65536"), "3:");
    gives("return #iw.capture('made.pcapng')[1].things", "1");
    gives("iw.capture('made.pcapng', 0)",
          "ERROR case.lua:1: bad argument #2 to 'capture' (no number of a connection)");
    gives("iw.capture('made.pcapng', 65537)",
          "ERROR case.lua:1: bad argument #2 to 'capture' (no number of a connection)");
    gives("iw.capture('made.pcapng', 2, 1)",
          "ERROR case.lua:1: bad argument #3 to 'capture' (too many connections)");
    gives("iw.capture('made.pcapng', 2, 18)",
          "ERROR case.lua:1: bad argument #3 to 'capture' (too many connections)");
}

/* The root of all folders ends with a slash, others do not; a neighbour is none of it. */
static void a_folder_is_more_than_the_beginning_of_a_name(void **state)
{
    const struct folder *f = *state;
    char *inside = iw_text_format("%s/in", f->path), *link = iw_text_format("%s/link", inside),
         *beside = folder_file(f, "in-not/made.pcapng", ""),
         *code = iw_text_format("return #iw.capture '%s/made.pcapng'", f->path + 1);

    start();
    save(f);
    options.pcaps = "/";
    gives(code, "1");
    free(folder_file(f, "in/x", ""));
    assert_int_equal(symlink(beside, link), 0);
    options.pcaps = inside;
    gives("iw.capture 'link'", "ERROR case.lua:1: link: no file of the folder of captures");
    gives("iw.capture '/x'", "ERROR case.lua:1: /x: expected a path below the folder of captures");
    gives("iw.capture 'a/../x'",
          "ERROR case.lua:1: a/../x: expected a path below the folder of captures");
    gives("iw.capture '..'", "ERROR case.lua:1: ..: expected a path below the folder of captures");
    gives("iw.capture '.'", "ERROR case.lua:1: .: no file of the folder of captures");
    options.pcaps = NULL;
    gives("iw.capture 'x'", "ERROR case.lua:1: x: this run has no folder of captures");
    free(inside);
    free(link);
    free(beside);
    free(code);
}

/* ---- what is to be replayed ---- */

static void a_command_line_is_handed_on(void **state)
{
    const struct folder *f = *state;
    struct iw_replay replay = {.capture = "c",
                               .as = "initiator",
                               .stream = "1,2",
                               .map = "known",
                               .time = "keep",
                               .private = "00"};
    char *map = folder_file(f, "map.lua",
                            "return { a = string.rep('x', 2), b = table.concat({ 1, 2 }), "
                            "c = math.max(1, 2), d = ipairs ~= nil and pairs ~= nil, "
                            "e = iw == nil and print == nil and tostring == nil }"),
         *said;

    gives("iw.replay()", "ERROR case.lua:1: this is no run of `iwarp-conform replay`");
    options.replay = &replay;
    gives("return iw.replay()",
          "{as=initiator capture=c map=known private=00 stream=1,2 time=keep}");
    replay = (struct iw_replay){.map = map};
    gives("return iw.replay()", "{map={a=xx b=12 c=2 d=true e=true}}");
    free(folder_file(f, "map.lua", "return 7"));
    said = iw_text_format("ERROR case.lua:1: %s: expected a file that returns a table", map);
    gives("return iw.replay()", said);
    free(said);
    free(folder_file(f, "map.lua", "\nreturn = 7"));
    said = iw_text_format("ERROR case.lua:1: unexpected symbol near '='");
    gives("return iw.replay()", said);
    free(said);
    replay.map = NULL;
    gives("return iw.replay()", "{}");
    free(map);
}

static void asked(const char *what, const char *answer, const char *why)
{
    char *text = NULL, error[512] = "";

    assert_int_equal(iw_script_ask_replay(&options, what, &text, error, sizeof(error)),
                     answer ? 0 : -1);
    assert_string_equal(text ? text : "", answer ? answer : "");
    assert_string_equal(error, why);
    free(text);
}

static const char *init_missing(const struct folder *f)
{
    static char text[256];

    snprintf(text, sizeof(text), "cannot open %s/init.lua: No such file or directory", f->path);
    return text;
}

static void a_replay_is_asked(void **state)
{
    const struct folder *f = *state;

    options.library = f->path;
    asked("list", NULL, init_missing(f));
    free(folder_file(f, "init.lua", "return {}"));
    free(folder_file(
        f, "replay.lua",
        "return { list = function() return 'words' end, fails = function() error('no', 0)"
        " end, odd = function() error({}) end, nothing = function() end }"));
    asked("list", "words", "");
    asked("fails", NULL, "no");
    asked("odd", NULL, "unknown error");
    asked("nothing", NULL, "");
    asked("other", NULL, "attempt to call a nil value");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_message_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_message_ends_where_another_begins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_end_ends_messages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_initiator_is_who_speaks_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(things_have_times_and_findings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(things_say_what_their_sender_broke, set_up, tear_down),
        cmocka_unit_test_setup_teardown(connections_are_counted_from_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_is_more_than_the_beginning_of_a_name, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_command_line_is_handed_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_replay_is_asked, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
