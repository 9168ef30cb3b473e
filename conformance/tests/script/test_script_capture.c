/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings as scripts see them: the golden captures against the manifest, and files that are none
 * or lie elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "iwarp/capture.h"
#include "iwarp/octets.h"
#include "iwarp/transport.h"
#include "recording.h"
#include "script/script_budget.h"
#include "script/script_host.h"
#include "script/script_primitives.h"
#include "script/script_value.h"

#define RPING "siw/siw-rping-64B-crcon.pcap"

static struct iw_run_options options = {.library = IW_SOURCE_DIR "/conformance/lib"};
static struct iw_script script;

static void open_script(const char *pcaps)
{
    char error[512] = "";

    options.pcaps = pcaps;
    script = (struct iw_script){.options = &options, .file = "test"};
    iw_script_open(&script, error, sizeof(error));
    assert_string_equal(error, "");
}

/* Runs a function's body with `name` as its argument; its value is on the stack. */
static bool run(const char *body, const char *name)
{
    assert_int_equal(luaL_loadstring(script.L, body), LUA_OK);
    lua_pushstring(script.L, name);
    return iw_script_call(&script, 1, 1);
}

/* What iw.capture says about a file that it does not take. */
static const char *refused(const char *pcaps, const char *name)
{
    static char reason[1024];

    open_script(pcaps);
    assert_false(run("return iw.capture(...)", name));
    lua_getfield(script.L, -1, "verdict");
    assert_string_equal(lua_tostring(script.L, -1), "ERROR");
    lua_getfield(script.L, -2, "reason");
    snprintf(reason, sizeof(reason), "%s", lua_tostring(script.L, -1));
    iw_script_close(&script);
    return reason;
}

static void assert_says(const char *reason, const char *part)
{
    if (strstr(reason, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", reason, part);
    assert_null(strchr(reason, '\n'));
}

/* ---- the golden captures ---- */

/* Counts as lines "2 I>R Send segments 12", sorted. */
static const char counting[] =
    "local names = { send = 'Send', write = 'Write', ['read-request'] = 'Read Request',\n"
    "  ['read-response'] = 'Read Response', terminate = 'Terminate' }\n"
    "local lines = {}\n"
    "for i, connection in ipairs(iw.capture(...)) do\n"
    "  local count, last = {}, 0\n"
    "  local function add(key, n) count[key] = (count[key] or 0) + n end\n"
    "  lines[#lines + 1] = i .. ' initiator ' .. connection.initiator\n"
    "  lines[#lines + 1] = i .. ' responder ' .. connection.responder\n"
    "  for _, thing in ipairs(connection.things) do\n"
    "    local key = i .. (thing.side == 'initiator' and ' I>R ' or ' R>I ')\n"
    "    assert(thing.frame >= last, 'not in capture order')\n"
    "    last = thing.frame\n"
    "    if thing.kind == 'message' then\n"
    "      add(key .. names[thing.op] .. ' messages', 1)\n"
    "      add(key .. names[thing.op] .. ' segments', #thing.segments)\n"
    "      local octets = 0\n"
    "      for _, segment in ipairs(thing.segments) do\n"
    "        if segment.crc_good then add(i .. ' good CRCs', 1) end\n"
    "        octets = octets + #segment.payload\n"
    "      end\n"
    "      assert(octets == #thing.payload and thing.l, 'not whole')\n"
    "    elseif thing.kind == 'startup' then\n"
    "      add(key .. thing.which, 1)\n"
    "      assert(thing.revision == 2 and not thing.markers)\n"
    "    else\n"
    "      assert(thing.kind == 'fin' or thing.kind == 'reset', thing.kind)\n"
    "    end\n"
    "  end\n"
    "  for key, n in pairs(count) do lines[#lines + 1] = key .. ' ' .. n end\n"
    "end\n"
    "table.sort(lines)\n"
    "return table.concat(lines, '\\n')\n";

/* The same lines from the manifest, sorted by the script too. */
static void expect_direction(lua_State *L, size_t number, const char *name, const json_t *direction,
                             unsigned *fpdus)
{
    static const char *const kinds[] = {"messages", "segments"};
    const char *message;
    json_t *count;

    for (size_t k = 0; k < 2; k++) {
        json_object_foreach(json_object_get(direction, kinds[k]), message, count)
        {
            lua_pushfstring(L, "%d %s %s %s %d", (int)number, name, message, kinds[k],
                            (int)json_integer_value(count));
            lua_rawseti(L, -2, luaL_len(L, -2) + 1);
        }
    }
    *fpdus += (unsigned)json_integer_value(json_object_get(direction, "fpdus"));
    lua_pushfstring(L, "%d %s %s 1", (int)number, name, *name == 'I' ? "request" : "reply");
    lua_rawseti(L, -2, luaL_len(L, -2) + 1);
}

static void expect_connection(lua_State *L, size_t number, const json_t *connection, bool crc)
{
    static const char *const names[] = {"I>R", "R>I"}, *const sides[] = {"initiator", "responder"};
    unsigned fpdus = 0;

    for (size_t side = 0; side < 2; side++) {
        lua_pushfstring(L, "%d %s %s", (int)number, sides[side],
                        json_string_value(json_object_get(connection, sides[side])));
        lua_rawseti(L, -2, luaL_len(L, -2) + 1);
        expect_direction(L, number, names[side],
                         json_object_get(json_object_get(connection, "directions"), names[side]),
                         &fpdus);
    }
    if (crc) {
        lua_pushfstring(L, "%d good CRCs %d", (int)number, (int)fpdus);
        lua_rawseti(L, -2, luaL_len(L, -2) + 1);
    }
}

static void counts_what_the_manifest_says(void **state)
{
    json_t *manifest = json_load_file(PCAPS "/manifest.json", 0, NULL);
    json_t *capture, *connection;
    size_t i, k;

    (void)state;
    assert_non_null(manifest);
    assert_true(json_array_size(json_object_get(manifest, "captures")) >= 10);
    json_array_foreach(json_object_get(manifest, "captures"), i, capture)
    {
        bool crc = json_is_true(json_object_get(json_object_get(capture, "mpa"), "crc"));

        open_script(PCAPS);
        assert_int_equal(luaL_loadstring(script.L, "local lines = ...\ntable.sort(lines)\n"
                                                   "return table.concat(lines, '\\n')"),
                         LUA_OK);
        lua_newtable(script.L);
        json_array_foreach(json_object_get(capture, "connections"), k, connection)
            expect_connection(script.L, k + 1, connection, crc);
        assert_true(iw_script_call(&script, 1, 1));
        if (!run(counting, json_string_value(json_object_get(capture, "file")))) {
            lua_getfield(script.L, -1, "reason");
            fail_msg("%s", lua_tostring(script.L, -1));
        }
        assert_string_equal(lua_tostring(script.L, -1), lua_tostring(script.L, -2));
        iw_script_close(&script);
    }
    json_decref(manifest);
}

static void gives_fields_and_octets(void **state)
{
    static const char body[] =
        "local things = iw.capture(...)[1].things\n"
        "local lines = {}\n"
        "for i = 1, 5 do\n"
        "  lines[i] = things[i].frame .. ' ' .. things[i].side .. ' ' .. things[i].text\n"
        "end\n"
        "lines[6] = things[5].payload:sub(1, 13)\n"
        "lines[7] = things[#things].side .. ' ' .. things[#things].kind\n"
        "return table.concat(lines, '\\n')\n";

    (void)state;
    open_script(PCAPS);
    assert_true(run(body, "siw/siw-rping-64B-crcoff.pcap"));
    assert_string_equal(lua_tostring(script.L, -1),
                        "4 initiator mpa request rev 2 S pd 4 ird 1 ord 1\n"
                        "6 responder mpa reply rev 2 S pd 4 ird 1 ord 1\n"
                        "8 initiator send L msn 1 mo 0 len 16\n"
                        "9 responder read-request msn 1 sink 924e1c00/55ecb7f11550 size 64"
                        " source e0ae2700/555d4e971370\n"
                        "10 initiator read-response L stag 924e1c00 to 55ecb7f11550 len 64\n"
                        "rdma-ping-0: \n"
                        "responder fin");
    iw_script_close(&script);
}

/* Some connections of a file, how many it has, and the time of a thing. */
static void gives_what_is_asked_for(void **state)
{
    static const char body[] = "local lines = {}\n"
                               "for _, first in ipairs { 1, 2, 3 } do\n"
                               "  local list, total = iw.capture(..., first, first)\n"
                               "  local things = list[1] and list[1].things or {}\n"
                               "  lines[#lines + 1] = #list .. ' of ' .. total .. ': ' .. #things\n"
                               "  if #list > 0 then lines[#lines + 1] = "
                               "('%d'):format(things[3].time - things[2].time) end\n"
                               "end\n"
                               "return table.concat(lines, '\\n')\n";

    (void)state;
    open_script(PCAPS);
    assert_true(run(body, "siw/siw-ib_read_bw-32K-crcon.pcap"));
    assert_string_equal(lua_tostring(script.L, -1), "1 of 2: 36\n37459000\n1 of 2: 44\n"
                                                    "42486000\n0 of 2: 0");
    assert_false(run("return iw.capture(..., 1, 17)", RPING));
    assert_false(run("return iw.capture(..., 0)", RPING));
    iw_script_close(&script);
}

/* The Read Request in frame 9 does not say that it is whole: the Send in frame 11 begins another
 * message, and the Read Request does not come after the Read Response of frame 10. */
static void ends_a_message_where_another_begins(void **state)
{
    static const char body[] = "local lines = {}\n"
                               "for i, thing in ipairs(iw.capture(...)[1].things) do\n"
                               "  if i >= 4 and i <= 6 then\n"
                               "    lines[#lines + 1] = thing.frame .. ' ' .. thing.text\n"
                               "  end\n"
                               "end\n"
                               "return table.concat(lines, '\\n')\n";
    enum { ULPDU = 14 + 20 + 32 + 2 };
    const struct folder *folder = *state;
    struct recording r;
    size_t length;

    recording_read(&r, "siw/siw-rping-64B-crcoff.pcap");
    assert_int_equal(r.octets[recording_frame(&r, 9, &length) + ULPDU], 0x41);
    r.octets[recording_frame(&r, 9, &length) + ULPDU] = 0x01;
    recording_write(&r, folder, "siw/siw-rping-64B-crcoff.pcap");
    open_script(folder->path);
    assert_true(run(body, "siw/siw-rping-64B-crcoff.pcap"));
    assert_string_equal(lua_tostring(script.L, -1),
                        "9 read-request not-last msn 1 sink 924e1c00/55ecb7f11550 size 64 source"
                        " e0ae2700/555d4e971370\n"
                        "10 read-response L stag 924e1c00 to 55ecb7f11550 len 64\n"
                        "11 send L msn 1 mo 0 len 16");
    iw_script_close(&script);
}

/* ---- files that are no recordings ---- */

static void refuses_what_lies_elsewhere(void **state)
{
    const struct folder *s = *state;
    char link[128];

    assert_says(refused(PCAPS, "siw/nothing.pcap"), "siw/nothing.pcap: No such file");
    assert_says(refused(PCAPS, "siw"), "siw: no file of the folder of captures");
    assert_says(refused(PCAPS "/siw", "../manifest.json"), "expected a path below the folder");
    assert_says(refused(PCAPS, "siw/../../README.md"), "expected a path below the folder");
    assert_says(refused(PCAPS, "siw/.."), "expected a path below the folder");
    assert_says(refused(PCAPS, PCAPS "/" RPING), "expected a path below the folder");
    assert_says(refused(NULL, RPING), "this run has no folder of captures");
    assert_says(refused(PCAPS "/nowhere", RPING), "nowhere: No such file");
    snprintf(link, sizeof(link), "%s/link.pcap", s->path);
    assert_int_equal(symlink(PCAPS "/" RPING, link), 0);
    assert_says(refused(s->path, "link.pcap"), "link.pcap: no file of the folder of captures");
}

static void refuses_what_is_no_capture(void **state)
{
    const struct folder *s = *state;

    assert_says(refused(PCAPS, "manifest.json"), "manifest.json: ");
    free(folder_file(s, "empty.pcap", ""));
    assert_says(refused(s->path, "empty.pcap"), "empty.pcap: ");
}

static void refuses_a_truncated_file(void **state)
{
    const struct folder *s = *state;
    struct recording r;

    recording_read(&r, RPING);
    r.length -= 30;
    recording_write(&r, s, "cut.pcap");
    assert_says(refused(s->path, "cut.pcap"), "cut.pcap: frame 60 at offset 7034: ");
}

static void names_where_octets_are_missing(void **state)
{
    const struct folder *s = *state;
    struct recording r;

    recording_read(&r, RPING);
    recording_shorten(&r, 8, 4);
    recording_write(&r, s, "short.pcap");
    open_script(s->path);
    assert_true(run(
        "local found\n"
        "for _, thing in ipairs(iw.capture(...)[1].things) do\n"
        "  if thing.kind == 'lost' then found = (found or '') .. thing.side .. thing.frame end\n"
        "end\n"
        "return found",
        "short.pcap"));
    assert_string_equal(lua_tostring(script.L, -1), "initiator8");
    iw_script_close(&script);
}

/* ---- bounds ---- */

static int connect_tcp(struct iw_synth *synth, uint16_t port)
{
    const struct iw_synth_tcp tcp = {
        .address = {{4, {192, 0, 2, 1}}, {4, {192, 0, 2, 2}}}, .port = {port, 4000}, .mss = 32768};
    struct iw_synth_span span;

    return iw_synth_connect(synth, &tcp, 0, &span);
}

/* Writes the frames into the folder and has them read. */
static const char *refused_frames(const struct folder *s, struct iw_synth *synth)
{
    char path[128], error[IW_CAPTURE_ERROR];

    assert_false(iw_synth_full(synth));
    snprintf(path, sizeof(path), "%s/made.pcapng", s->path);
    assert_true(iw_synth_write(synth, path, NULL, NULL, error));
    iw_synth_free(synth);
    return refused(s->path, "made.pcapng");
}

static void refuses_too_many_connections(void **state)
{
    struct iw_synth *synth = iw_synth_new(1024 * 1024);

    for (uint16_t i = 0; i < 17; i++)
        assert_int_equal(connect_tcp(synth, (uint16_t)(5000 + i)), i);
    assert_says(refused_frames(*state, synth), "made.pcapng: more than 16 TCP connections");
}

static void refuses_more_than_it_would_hold(void **state)
{
    enum { ULPDU = 64766, FPDU = 2 + ULPDU + 4, FPDUS = 130 };
    static const uint8_t request[] = "MPA ID Req Frame\0\1\0", reply[] = "MPA ID Rep Frame\0\1\0";
    struct iw_synth *synth = iw_synth_new(32 * 1024 * 1024);
    uint8_t *fpdu = calloc(1, FPDU);
    int c = connect_tcp(synth, 5000);

    assert_non_null(fpdu);
    iw_synth_data(synth, c, 0, 0, request, sizeof(request));
    iw_synth_data(synth, c, 1, 0, reply, sizeof(reply));
    iw_put16(fpdu, ULPDU);
    fpdu[2] = 0xc1; /* a whole RDMA Write */
    fpdu[3] = 0x40;
    for (int i = 0; i < FPDUS; i++)
        iw_synth_data(synth, c, 0, 0, fpdu, FPDU);
    free(fpdu);
    assert_says(refused_frames(*state, synth), "the recording is too large to be replayed");
}

static void ends_with_the_deadline(void **state)
{
    (void)state;
    open_script(PCAPS);
    script.deadline = 1;
    script.allowed = 0.5;
    assert_false(run("return iw.capture(...)", RPING));
    lua_getfield(script.L, -1, "reason");
    assert_says(lua_tostring(script.L, -1), "the case took longer than its deadline");
    iw_script_close(&script);
}

static void does_not_count_where_time_is_short(void **state)
{
    uint64_t deadline = iw_transport_now() + 1000 * UINT64_C(1000000000);

    (void)state;
    open_script(PCAPS);
    options.time_scale = 0.5;
    script.deadline = deadline;
    assert_true(run("return iw.capture(...)", RPING));
    assert_true(script.deadline > deadline); /* by what the reading took */
    iw_script_close(&script);
    options.time_scale = 1;
    open_script(PCAPS);
    script.deadline = deadline;
    assert_true(run("return iw.capture(...)", RPING));
    assert_int_equal(script.deadline, deadline);
    iw_script_close(&script);
    options.time_scale = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_the_manifest_says),
        cmocka_unit_test(gives_fields_and_octets),
        cmocka_unit_test(gives_what_is_asked_for),
        cmocka_unit_test_setup_teardown(ends_a_message_where_another_begins, recording_setup,
                                        recording_teardown),
        cmocka_unit_test_setup_teardown(refuses_what_lies_elsewhere, recording_setup,
                                        recording_teardown),
        cmocka_unit_test_setup_teardown(refuses_what_is_no_capture, recording_setup,
                                        recording_teardown),
        cmocka_unit_test_setup_teardown(refuses_a_truncated_file, recording_setup,
                                        recording_teardown),
        cmocka_unit_test_setup_teardown(names_where_octets_are_missing, recording_setup,
                                        recording_teardown),
        cmocka_unit_test_setup_teardown(refuses_too_many_connections, recording_setup,
                                        recording_teardown),
        cmocka_unit_test_setup_teardown(refuses_more_than_it_would_hold, recording_setup,
                                        recording_teardown),
        cmocka_unit_test(ends_with_the_deadline),
        cmocka_unit_test(does_not_count_where_time_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
