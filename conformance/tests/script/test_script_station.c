/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections, listeners and what is said of them, as a script has them from `iw`: against a peer
 * of literal octets. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "iwarp/transport.h"
#include "peer.h"
#include "play.h"
#include "primitives.h"
#include "station/station_internal.h"

#define REQUEST "4d504120494420526571204672616d65 40010000"
#define REPLY "4d504120494420526570204672616d65 40010000"

static struct iw_script script;
static struct iw_target target;
static struct iw_exchange *exchange;
static struct iw_run_options options;

static int open_script(void **state)
{
    (void)state;
    target = (struct iw_target){.name = "N", .host = "127.0.0.1"};
    options = play_options;
    exchange = iw_exchange_create();
    script = (struct iw_script){.target = &target, .options = &options};
    script.station = iw_station_create(exchange, NULL, NULL);
    primitives_open(&script);
    return 0;
}

static int close_script(void **state)
{
    (void)state;
    iw_script_close(&script);
    iw_station_destroy(script.station);
    iw_exchange_destroy(exchange);
    return script.used ? -1 : 0;
}

static void gives(const char *code, const char *expected)
{
    primitives_give(&script, code, expected);
}

/* ---- arguments ---- */

static struct iw_craft_options craft(const char *table)
{
    struct iw_craft_options crafted;
    char code[128];

    snprintf(code, sizeof(code), "return %s", table);
    assert_int_equal(luaL_dostring(script.L, code), LUA_OK);
    crafted = iw_script_craft_options(script.L, 1);
    assert_int_equal(lua_gettop(script.L), 1);
    lua_settop(script.L, 0);
    return crafted;
}

static void crafted(const char *table, uint32_t isn, uint16_t mss, uint16_t window, bool withhold)
{
    struct iw_craft_options o = craft(table);

    assert_int_equal(o.isn, isn);
    assert_int_equal(o.mss, mss);
    assert_int_equal(o.window, window);
    assert_int_equal(o.withhold, withhold);
}

static int call_craft(lua_State *L)
{
    (void)iw_script_craft_options(L, 1);
    return 0;
}

#define NOT_CRAFTED                                                                                \
    "ERROR case.lua:1: isn, window and acknowledge are for cases with needs = { tcp = "            \
    "\"crafted\" }"

static void options_of_a_crafted_connection(void **state)
{
    struct iw_tun tun = {.fd = -1};

    (void)state;
    lua_register(script.L, "craft", call_craft);
    crafted("nil", 1000, 0, IW_CRAFT_WINDOW, false);
    crafted("{}", 1000, 0, IW_CRAFT_WINDOW, false);
    crafted("{ mss = 500 }", 1000, 500, IW_CRAFT_WINDOW, false);
    gives("craft { isn = 1 }", NOT_CRAFTED);
    gives("craft { window = 1 }", NOT_CRAFTED);
    gives("craft { acknowledge = true }", NOT_CRAFTED);
    target.tun = &tun;
    crafted("nil", 1000, IW_CRAFT_MSS, IW_CRAFT_WINDOW, false);
    crafted("{}", 1000, IW_CRAFT_MSS, IW_CRAFT_WINDOW, false);
    crafted("{ isn = 4294967295, mss = 1, window = 65535, acknowledge = false }", UINT32_MAX, 1,
            65535, true);
    crafted("{ isn = 0, mss = 65535, window = 1, acknowledge = true }", 0, 65535, 1, false);
    gives("craft { isn = 4294967296 }",
          "ERROR case.lua:1: field 'isn' is 4294967296, it must be 0 to 4294967295");
    gives("craft { mss = 65536 }", "ERROR case.lua:1: field 'mss' is 65536, it must be 0 to 65535");
    gives("craft { window = 65536 }",
          "ERROR case.lua:1: field 'window' is 65536, it must be 0 to 65535");
    gives("craft { mss = 0 }", "ERROR case.lua:1: mss and window are at least 1 at first");
    gives("craft { window = 0 }", "ERROR case.lua:1: mss and window are at least 1 at first");
    target.tun = NULL;
}

/* Behind a string, as conn:write has it; shows the sizes. */
static int call_writes(lua_State *L)
{
    struct iw_writes writes = iw_script_writes(L, 2);
    int top = lua_gettop(L);

    assert_int_equal(top, writes.sizes ? 4 : 3);
    lua_settop(L, 3);
    assert_true(lua_isnoneornil(L, 3) || lua_tointeger(L, 3) == 77);
    lua_pushfstring(L, "%I:%I:", (lua_Integer)writes.each, (lua_Integer)writes.count);
    for (size_t i = 0; i < writes.count && i < 3; i++) {
        lua_pushfstring(L, "%s%I,", lua_tostring(L, -1), (lua_Integer)writes.sizes[i]);
        lua_remove(L, -2);
    }
    return 1;
}

static void sizes_of_writes(void **state)
{
    (void)state;
    lua_register(script.L, "writes", call_writes);
    gives("return writes('x')", "0:0:");
    gives("return writes('x', nil, 77, 5)", "0:0:");
    gives("return writes('x', 1, 77, 5)", "1:0:");
    gives("return writes('x', 512)", "512:0:");
    gives("return writes('x', { 1, 20, 300 }, 77)", "0:3:1,20,300,");
    gives("return writes('x', {})", "0:0:");
    gives("local t = {} for i = 1, 4096 do t[i] = i end return writes('x', t)", "0:4096:1,2,3,");
    gives("local t = {} for i = 1, 4097 do t[i] = i end return writes('x', t)",
          "ERROR case.lua:1: more than 4096 writes in one list");
    gives("writes('x', 0)", "ERROR case.lua:1: a write of no octets");
    gives("writes('x', -1)", "ERROR case.lua:1: a write of no octets");
    gives("writes('x', { 1, 0 })", "ERROR case.lua:1: a write of no octets");
    gives("writes('x', true)",
          "ERROR case.lua:1: bad argument #2 to 'writes' (table expected, got boolean)");
}

/* ---- against a peer ---- */

#define STEPS(...)                                                                                 \
    (const struct peer_step[])                                                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define COUNT(...) (sizeof(STEPS(__VA_ARGS__)) / sizeof(struct peer_step))

/* The code has a connection to the peer, `conn`. */
static void against(const struct peer_step *steps, size_t n, const char *code, const char *expected)
{
    struct peer peer;
    char text[2048];

    peer_start(&peer, steps, n);
    assert_true((size_t)snprintf(text, sizeof(text),
                                 "local conn = iw.connect('127.0.0.1', %u) "
                                 "local function all(...) local t = table.pack(...) "
                                 "for i = 1, t.n do t[i] = show(t[i]) end "
                                 "return table.concat(t, ' ') end %s",
                                 (unsigned)peer.target.port, code) < sizeof(text));
    primitives_give(&script, text, expected);
    iw_station_destroy(script.station);
    script.station = iw_station_create(exchange, NULL, NULL);
    peer_stop(&peer);
}

#define AGAINST(code, expected, ...) against(STEPS(__VA_ARGS__), COUNT(__VA_ARGS__), code, expected)

/* What returns nothing returns nothing, and what was written comes. */
static void octets_are_written(void **state)
{
    (void)state;
    AGAINST("local x = 'ab' local r = all(conn:write(x)) .. all(conn:write('cd', 1)) .. "
            "all(conn:write('ef', { 1 }, 60)) conn:shutdown() return r",
            "", {PEER_READ, "616263646566", 0}, {PEER_DRAIN, NULL, 0});
    AGAINST("conn:cork() conn:write 'abcdef' local r = all(conn:release(2)) "
            "conn:write 'g' r = r .. all(conn:uncork(3)) conn:shutdown() return r",
            "", {PEER_READ, "61626364656667", 0}, {PEER_DRAIN, NULL, 0});
    AGAINST("return all(conn:cork()) .. all(conn:shutdown()) .. all(conn:reset())", "",
            {PEER_DRAIN, NULL, 0});
    AGAINST("return all(conn:comment_sent 'x') .. all(conn:comment_received(0, 'y'))", "0",
            {PEER_DRAIN, NULL, 0});
    AGAINST("conn:cork() conn:write 'abc' return all(conn:take())", "0 abc", {PEER_DRAIN, NULL, 0});
}

static void a_start_up_is_followed(void **state)
{
    static const char code[] =
        "local before = conn:state() "
        "local r = all(conn:startup('MPA ID Req Frame\\x40\\x01\\0\\0', { 5 }, 60)) "
        "local between = conn:state() "
        "local item = conn:next(60) "
        "local after = conn:state() "
        "for _, s in ipairs { before, between, after } do s.mss, s.rtt, s.unacked = nil end ";
    char text[1024];

    (void)state;
    snprintf(text, sizeof(text), "%s return r .. item.kind .. all(conn:next(0))", code);
    AGAINST(text, "startup", {PEER_READ, REQUEST, 0}, {PEER_WRITE, REPLY, 0},
            {PEER_DRAIN, NULL, 0});
    snprintf(text, sizeof(text), "%s return before", code);
    AGAINST(text,
            "{acked=0 crc=false ended=false initiator=true markers=false number=1 "
            "peer_markers=false received=0 reset=false sent=0 shut=false}",
            {PEER_READ, REQUEST, 0}, {PEER_WRITE, REPLY, 0}, {PEER_DRAIN, NULL, 0});
    snprintf(text, sizeof(text), "%s return between.own.which .. all(between.peer, between.crc)",
             code);
    AGAINST(text, "requestnil false", {PEER_READ, REQUEST, 0}, {PEER_WRITE, REPLY, 0},
            {PEER_DRAIN, NULL, 0});
    snprintf(text, sizeof(text),
             "%s return all(after.own.which, after.peer.which, after.crc, "
             "after.sent, after.received, after.number)",
             code);
    AGAINST(text, "request reply true 20 20 3", {PEER_READ, REQUEST, 0}, {PEER_WRITE, REPLY, 0},
            {PEER_DRAIN, NULL, 0});
}

/* The peer alone asks for Markers, and nobody for CRCs. */
static void what_was_agreed_is_told(void **state)
{
    (void)state;
    AGAINST("conn:startup 'MPA ID Req Frame\\0\\x01\\0\\0' conn:next(60) local s = conn:state() "
            "return all(s.crc, s.markers, s.peer_markers, s.mss > 100, s.rtt > 0, s.rtt < 600)",
            "false true false true true true",
            {PEER_READ, "4d504120494420526571204672616d65 00010000", 0},
            {PEER_WRITE, "4d504120494420526570204672616d65 80010000", 0}, {PEER_DRAIN, NULL, 0});
    AGAINST("conn:startup 'MPA ID Req Frame\\x80\\x01\\0\\0' conn:next(60) local s = conn:state() "
            "return all(s.crc, s.markers, s.peer_markers)",
            "true false true", {PEER_READ, "4d504120494420526571204672616d65 80010000", 0},
            {PEER_WRITE, "4d504120494420526570204672616d65 40010000", 0}, {PEER_DRAIN, NULL, 0});
    AGAINST("local r = all(conn:drain(60)) conn:shutdown() local s = conn:state() "
            "return all(r, s.ended, s.reset, s.shut)",
            "true true false true", {PEER_FIN, NULL, 0});
    /* A RST may outrun the end of connect(): it comes after an octet. */
    AGAINST("conn:write 'x' local r = all(conn:drain(60)) local s = conn:state() "
            "return all(r, s.ended, s.reset, s.shut)",
            "true true true false", {PEER_READ, "78", 0}, {PEER_RESET, NULL, 0});
    AGAINST("return conn:drain(0)", "false", {PEER_DRAIN, NULL, 0});
}

#define SEND "0015 4143 00000000 00000000 00000001 00000000 616263 00"

static void a_ulpdu_is_framed_and_bent(void **state)
{
    static const char start[] = "conn:startup 'MPA ID Req Frame\\x40\\x01\\0\\0' conn:next(60) "
                                "local send = iw.ddp { opcode = 3, msn = 1 } .. 'abc' ";
    char text[512];

    (void)state;
    snprintf(text, sizeof(text),
             "%s local r = all(conn:ulpdu(send, {}, 7, 60)) conn:shutdown() return r", start);
    AGAINST(text, "", {PEER_READ, REQUEST, 0}, {PEER_WRITE, REPLY, 0},
            {PEER_READ, SEND "447065aa", 0}, {PEER_DRAIN, NULL, 0});
    snprintf(text, sizeof(text), "%s conn:ulpdu(send, { crc = 0x01020304 }) conn:shutdown()",
             start);
    AGAINST(text, "nil", {PEER_READ, REQUEST, 0}, {PEER_WRITE, REPLY, 0},
            {PEER_READ, SEND "04030201", 0}, {PEER_DRAIN, NULL, 0});
}

static void items_are_taken_one_by_one(void **state)
{
    (void)state;
    AGAINST("conn:startup 'MPA ID Req Frame\\x40\\x01\\0\\0' "
            "local r = conn:next(60).kind .. conn:next().kind conn:shutdown() return r",
            "startupfin", {PEER_READ, REQUEST, 0}, {PEER_WRITE, REPLY, 0}, {PEER_FIN, NULL, 0});
    assert_true(script.taken > 0);
    assert_false(script.taking);
}

static void octets_may_come_before_the_start_up(void **state)
{
    (void)state;
    AGAINST("local r = all(conn:streaming()) .. all(conn:streamed(3, 60)) .. "
            "all(conn:streamed(2, 60)) .. all(conn:streamed(2, 0)) .. all(conn:begin()) "
            "conn:shutdown() return r",
            "abcde", {PEER_WRITE, "616263646566", 0}, {PEER_DRAIN, NULL, 0});
    AGAINST("conn:streamed(0)",
            "ERROR case.lua:1: bad argument #1 to 'streamed' (expected a number of octets above 0)",
            {PEER_DRAIN, NULL, 0});
    AGAINST("return conn:streaming() or #conn:streamed(1, 60)", "1", {PEER_WRITE, "61", 0},
            {PEER_DRAIN, NULL, 0});
}

/* Each has the sizes of its writes in a place of its own. */
static void no_write_is_of_no_octets(void **state)
{
    static const char *const calls[] = {"conn:write('x', 0)", "conn:startup('x', 0)",
                                        "conn:ulpdu('x', {}, 0)", "conn:uncork(0)"};

    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        AGAINST(calls[i], "ERROR case.lua:1: a write of no octets", {PEER_DRAIN, NULL, 0});
}

#define ONLY_CRAFTED "ERROR case.lua:1: only a crafted connection can do that"

static void only_crafted_connections_do_that(void **state)
{
    (void)state;
    AGAINST("conn:segment(0, 'x')", ONLY_CRAFTED, {PEER_DRAIN, NULL, 0});
    AGAINST("conn:acknowledge(true)", ONLY_CRAFTED, {PEER_DRAIN, NULL, 0});
    AGAINST("conn:window(0)", ONLY_CRAFTED, {PEER_DRAIN, NULL, 0});
    AGAINST("conn:window(65535)", ONLY_CRAFTED, {PEER_DRAIN, NULL, 0});
    AGAINST("conn:window(65536)",
            "ERROR case.lua:1: bad argument #1 to 'window' (expected 0 to 65535)",
            {PEER_DRAIN, NULL, 0});
    AGAINST("conn:window(-1)",
            "ERROR case.lua:1: bad argument #1 to 'window' (expected 0 to 65535)",
            {PEER_DRAIN, NULL, 0});
    AGAINST("conn:segment(0, ('x'):rep(1460))", ONLY_CRAFTED, {PEER_DRAIN, NULL, 0});
    AGAINST("conn:segment(0, ('x'):rep(1461))",
            "ERROR case.lua:1: a segment of 1461 octets: 1460 fit", {PEER_DRAIN, NULL, 0});
    AGAINST("return all(conn:answered(0), conn:repeated(0))", "false false", {PEER_DRAIN, NULL, 0});
}

/* A method has its own kind of thing, and nobody gets at the methods. */
static void things_are_what_they_are(void **state)
{
    (void)state;
    AGAINST("return getmetatable(conn)", "false", {PEER_DRAIN, NULL, 0});
    AGAINST("local l = iw.listen '127.0.0.1' return getmetatable(l)", "false",
            {PEER_DRAIN, NULL, 0});
    AGAINST("local l = iw.listen '127.0.0.1' conn.state(l)",
            "ERROR case.lua:1: bad argument #1 to 'state' (iw.conn expected, got iw.listener)",
            {PEER_DRAIN, NULL, 0});
    AGAINST("local l = iw.listen '127.0.0.1' l.accept(conn)",
            "ERROR case.lua:1: bad argument #1 to 'accept' (iw.listener expected, got iw.conn)",
            {PEER_DRAIN, NULL, 0});
    gives("return iw.print_startup ~= nil and conn == nil", "true");
}

/* ---- connecting ---- */

static void a_connection_that_is_refused(void **state)
{
    struct iw_station *station = script.station;

    (void)state;
    gives("local c, why = iw.connect('127.0.0.1', 1) return show { c = c, why }",
          "{1=connect to 127.0.0.1 port 1: Connection refused}");
    assert_true(target.refused);
    gives("local l, why = iw.listen 'nonsense' return tostring(l) .. (why and '!' or '?')", "nil!");
    script.station = NULL;
    gives("iw.connect('127.0.0.1', 1)",
          "ERROR case.lua:1: there is no connection outside of a case's run function");
    script.station = station;
}

/* A peer of the test's own that has connected to the port that the script gave. */
static int dial(lua_State *L)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)luaL_checkinteger(L, 1))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    lua_pushinteger(L, fd);
    return 1;
}

static int hang_up(lua_State *L)
{
    close((int)luaL_checkinteger(L, 1));
    return 0;
}

static void a_listener_accepts(void **state)
{
    (void)state;
    lua_register(script.L, "dial", dial);
    lua_register(script.L, "hang_up", hang_up);
    gives("local l, port = iw.listen '127.0.0.1' local n = select('#', l:accept(0)) "
          "local fd = dial(port) local c = l:accept(60) local s = c:state() hang_up(fd) "
          "return show { n, s.initiator, port > 1023 }",
          "{1=0 2=false 3=true}");
}

/* ---- awaiting ---- */

static unsigned asked, answers; /* it says why at the last one */
static bool asked_late;

static const char *not_called(struct iw_target *t, bool late)
{
    assert_ptr_equal(t, &target);
    asked++;
    asked_late = late;
    return late ? "nobody came" : asked < answers ? NULL : "the command failed";
}

#define AWAIT "local l, port = iw.listen '127.0.0.1' "

static void nothing_makes_it_connect(void **state)
{
    (void)state;
    gives(AWAIT "l:await()", "ERROR case.lua:1: nothing makes this target connect");
    assert_int_equal(luaL_dostring(script.L, "listener = iw.listen '127.0.0.1'"), LUA_OK);
    script.target = NULL;
    gives("listener:await()", "ERROR case.lua:1: nothing makes this target connect");
    script.target = &target;
}

/* Awaits a target that says nothing before it was asked `times` times. */
static void awaited(unsigned times, double within, const char *code, const char *expected)
{
    target.not_called = not_called;
    target.connect_within = within;
    asked = 0;
    answers = times;
    gives(code, expected);
}

#define WHY AWAIT "local c, why = l:await() return tostring(c) .. ': ' .. why"

static void a_target_says_why_it_does_not_come(void **state)
{
    uint64_t before, passed;

    (void)state;
    awaited(3, 600, WHY, "nil: the command failed");
    assert_int_equal(asked, 3);
    assert_int_equal(script.deadline, 0);
    awaited(1000, 0.02, WHY, "nil: nobody came");
    assert_int_equal(asked, 1);
    assert_true(asked_late);
    options.time_scale = 4;
    /* The time for it is not the case's. */
    script.began = 5;
    script.deadline = 900000 * (uint64_t)1000000000;
    before = iw_transport_now();
    awaited(1000, 0.015, WHY, "nil: nobody came");
    passed = iw_transport_now() - before;
    assert_true(script.began >= 5 + 60000000 && script.began <= 5 + passed);
    assert_true(script.deadline >= 900000 * (uint64_t)1000000000 + 60000000);
    assert_true(script.deadline <= 900000 * (uint64_t)1000000000 + passed);
    script.deadline = 0;
}

static void a_target_comes(void **state)
{
    (void)state;
    lua_register(script.L, "dial", dial);
    lua_register(script.L, "hang_up", hang_up);
    awaited(1, 600,
            AWAIT "local fd = dial(port) local c, why = l:await() hang_up(fd) "
                  "return show { c:state().initiator, why = why }",
            "{1=false}");
    assert_int_equal(asked, 0);
}

/* ---- what the station has seen ---- */

static void findings_are_listed(void **state)
{
    (void)state;
    gives("return iw.findings()", "{}");
    AGAINST("conn:startup 'MPA ID Req Frame\\x40\\x01\\0\\0' conn:drain(60) "
            "local f = iw.findings() f[1].text = nil return show { #f, f[1] }",
            "{1=1 2={check=mpa-res-bits connection=0 count=1 got=8 position=16 rule=MPA-7.1.1-14 "
            "verdict=FAIL want=0}}",
            {PEER_READ, REQUEST, 0}, {PEER_WRITE, "4d504120494420526570204672616d65 48010000", 0},
            {PEER_FIN, NULL, 0});
    gives("return iw.flooded()", "false");
    gives("return select('#', iw.rest(0))", "0");
    script.station->flooded = true;
    gives("return iw.flooded()", "true");
}

/* A connection of plain octets is judged when it is asked for: each check once, in order. */
static void octets_are_judged(void **state)
{
    static const char code[] =
        "conn:streaming() conn:write 'MPA ID Req Frame\\0\\x01\\0\\0' conn:streamed(%u, 60) "
        "local list, r = conn:judge(), '' for _, f in ipairs(list) do "
        "r = r .. all(f.check, f.count, f.connection, f.position, f.got, f.want, f.quirk) .. '; ' "
        "end conn:shutdown() return r";
    char text[1024];

    (void)state;
    snprintf(text, sizeof(text), code, 20u);
    AGAINST(text, "", {PEER_READ, "4d504120494420526571204672616d65 00010000", 0},
            {PEER_WRITE, "4d504120494420526570204672616d65 00010000", 0}, {PEER_DRAIN, NULL, 0});
    snprintf(text, sizeof(text), code, 20u + 3 * 28u);
    AGAINST(text,
            "mpa-res-bits 1 1 16 8 0 nil; mpa-responder-early 1 1 20 0 0 nil; "
            "ddp-msn 2 1 32 2 1 nil; ddp-version-untagged 2 1 50 3 1 nil; ",
            {PEER_READ, "4d504120494420526571204672616d65 00010000", 0},
            {PEER_WRITE, "4d504120494420526570204672616d65 08010000", 0},
            {PEER_WRITE, "0015 4143 00000000 00000000 00000002 00000000 616263 00 00000000", 0},
            {PEER_WRITE, "0015 4343 00000000 00000000 00000002 00000000 616263 00 00000000", 0},
            {PEER_WRITE, "0015 4343 00000000 00000000 00000003 00000000 616263 00 00000000", 0},
            {PEER_DRAIN, NULL, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(options_of_a_crafted_connection, open_script, close_script),
        cmocka_unit_test_setup_teardown(sizes_of_writes, open_script, close_script),
        cmocka_unit_test_setup_teardown(octets_are_written, open_script, close_script),
        cmocka_unit_test_setup_teardown(a_start_up_is_followed, open_script, close_script),
        cmocka_unit_test_setup_teardown(what_was_agreed_is_told, open_script, close_script),
        cmocka_unit_test_setup_teardown(a_ulpdu_is_framed_and_bent, open_script, close_script),
        cmocka_unit_test_setup_teardown(items_are_taken_one_by_one, open_script, close_script),
        cmocka_unit_test_setup_teardown(octets_may_come_before_the_start_up, open_script,
                                        close_script),
        cmocka_unit_test_setup_teardown(no_write_is_of_no_octets, open_script, close_script),
        cmocka_unit_test_setup_teardown(only_crafted_connections_do_that, open_script,
                                        close_script),
        cmocka_unit_test_setup_teardown(things_are_what_they_are, open_script, close_script),
        cmocka_unit_test_setup_teardown(a_connection_that_is_refused, open_script, close_script),
        cmocka_unit_test_setup_teardown(a_listener_accepts, open_script, close_script),
        cmocka_unit_test_setup_teardown(nothing_makes_it_connect, open_script, close_script),
        cmocka_unit_test_setup_teardown(a_target_says_why_it_does_not_come, open_script,
                                        close_script),
        cmocka_unit_test_setup_teardown(a_target_comes, open_script, close_script),
        cmocka_unit_test_setup_teardown(findings_are_listed, open_script, close_script),
        cmocka_unit_test_setup_teardown(octets_are_judged, open_script, close_script),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
