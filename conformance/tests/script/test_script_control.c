/* SPDX-License-Identifier: BSD-3-Clause */
/* What a script learns of the target, and how it speaks with an agent whose lines are the test's.
 */
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

#include "base/instrument.h"
#include "iwarp/control.h"
#include "iwarp/transport.h"
#include "play.h"
#include "primitives.h"

static struct iw_script script;
static struct iw_target target;
static struct iw_exchange *exchange;
static int agent; /* the other end of its control connection */

static int open_script(void **state)
{
    int pair[2];

    (void)state;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return -1;
    agent = pair[1];
    target = (struct iw_target){
        .name = "N", .class = IW_TARGET_AGENT, .host = "H", .control = iw_control_adopt(pair[0])};
    exchange = iw_exchange_create();
    script = (struct iw_script){.target = &target};
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
    iw_control_close(target.control);
    close(agent);
    return script.used ? -1 : 0;
}

static void gives(const char *code, const char *expected)
{
    primitives_give(&script, code, expected);
}

/* The agent's lines, before they are asked for: replies have the number of their request. */
static void say(const char *lines)
{
    assert_int_equal(write(agent, lines, strlen(lines)), strlen(lines));
}

static void asked(const char *expected)
{
    char text[1024];
    ssize_t n = recv(agent, text, sizeof(text) - 1, MSG_DONTWAIT);

    assert_true(n > 0);
    text[n] = 0;
    assert_string_equal(text, expected);
}

/* ---- JSON and Lua ---- */

static void a_request_in_json(void **state)
{
    static const struct {
        const char *table, *json;
    } requests[] = {
        {"{ a = 1 }", "{\"a\":1,\"id\":1}\n"},
        {"{ a = { 1.5, 'x', true, false } }", "{\"a\":[1.5,\"x\",true,false],\"id\":2}\n"},
        {"{ a = {} }", "{\"a\":{},\"id\":3}\n"},
        {"{ a = { n = 0 } }", "{\"a\":[],\"id\":4}\n"},
        {"{ a = { 5, 6, 'x' } }", "{\"a\":[5,6,\"x\"],\"id\":5}\n"},
        {"{ a = { 5, n = 7 } }", "{\"a\":[5],\"id\":6}\n"},
        {"{ a = { [2] = 5, b = 6 } }", "{\"a\":{\"b\":6},\"id\":7}\n"},
        {"{ a = hex }", "{\"a\":null,\"id\":8}\n"},
        {"{ a = { { b = { {} } } } }", "{\"a\":[{\"b\":[{}]}],\"id\":9}\n"},
        {"{ a = { { { { { { { 1 } } } } } } } }", "{\"a\":[[[[[[[1]]]]]]],\"id\":10}\n"},
        {"{ a = { { { { { { { { 1 } } } } } } } } }", "{\"a\":[[[[[[[null]]]]]]],\"id\":11}\n"},
        {"{ a = { b = { b = { b = { b = { b = { b = { b = {} } } } } } } } }",
         "{\"a\":{\"b\":{\"b\":{\"b\":{\"b\":{\"b\":{\"b\":{\"b\":null}}}}}}},\"id\":12}\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
        char code[160], reply[64];

        snprintf(reply, sizeof(reply), "{\"id\":%zu,\"ok\":true}\n", i + 1);
        say(reply);
        snprintf(code, sizeof(code), "return iw.control(%s).ok", requests[i].table);
        gives(code, "true");
        asked(requests[i].json);
    }
}

static void a_reply_in_lua(void **state)
{
    (void)state;
    say("{\"id\":1,\"ok\":true,\"a\":[1,[2.5,null,3],{\"b\":{\"c\":[]}}],\"d\":\"x y\","
        "\"e\":false,\"f\":{}}\n");
    gives("return iw.control {}",
          "{a={1=1 2={1=2.5 3=3} 3={b={c={}}}} d=x y e=false f={} id=1 ok=true}");
    assert_int_equal(lua_gettop(script.L), 0);
    say("{\"id\":2,\"ok\":true,\"a\":[[[[[[[7]]]]]]]}\n");
    gives("return iw.control {}", "{a={1={1={1={1={1={1={1=7}}}}}}} id=2 ok=true}");
    /* What the target said is not the script's to answer for. */
    assert_true(script.taken > 0);
    assert_false(script.taking);
}

/* ---- requests ---- */

/* All that a call returns. */
#define ALL(call)                                                                                  \
    "local all = table.pack(" call ") for i = 1, all.n do all[i] = tostring(all[i]) end "          \
    "return table.concat(all, '; ')"

static void an_agent_refuses(void **state)
{
    (void)state;
    say("{\"id\":1,\"ok\":false,\"error\":\"no way\"}\n");
    gives(ALL("iw.control {}"), "nil; no way");
    say("{\"id\":2}\n");
    gives(ALL("iw.control {}"), "nil; refused without a reason");
}

static void an_agent_says_nothing(void **state)
{
    (void)state;
    gives(ALL("iw.control({ ['do'] = 'x' }, 0)"),
          "nil; no reply to \"x\" from the agent in time; false");
    close(agent);
    gives(ALL("iw.control({ ['do'] = 'x' }, 0)"),
          "nil; no reply to \"x\": the agent has closed the control connection; true");
    gives(ALL("iw.event(60)"), "");
    agent = dup(2);
    gives("iw.control(7)",
          "ERROR case.lua:1: bad argument #1 to 'control' (table expected, got number)");
}

/* The time of the script ends a call, too, and then the script. */
static void no_call_outlives_the_script(void **state)
{
    uint64_t now = iw_transport_now();

    (void)state;
    script.allowed = 1;
    script.began = now - 100 * (uint64_t)1000000000;
    script.waited = 90 * (uint64_t)1000000000;
    script.deadline = now;
    gives("iw.control {}", "INCONCLUSIVE case.lua:1: the case's 1 s were over before the target "
                           "had done its part");
    script.deadline = iw_transport_now();
    gives("iw.event()", "INCONCLUSIVE case.lua:1: the case's 1 s were over before the target had "
                        "done its part");
    script.deadline = 0;
}

static void events_come_in_order(void **state)
{
    (void)state;
    gives("return iw.event(0)", "nil");
    gives(ALL("iw.event(0)"), "");
    say("{\"event\":\"one\",\"n\":1}\n{\"event\":\"two\"}\n");
    gives("return iw.event(60, 'more')", "{event=one n=1}");
    gives("return iw.event()", "{event=two}");
    gives("return iw.event(0)", "nil");
}

/* ---- the target ---- */

static bool can(const struct iw_target *t, const char *capability)
{
    return t == &target && strcmp(capability, "memory.read") == 0;
}

static char called[64];

static int initiate(struct iw_target *t, const char *host, uint16_t port, char *error, size_t room)
{
    assert_ptr_equal(t, &target);
    snprintf(called, sizeof(called), "%s/%u", host, (unsigned)port);
    snprintf(error, room, "the command failed");
    return port == 7 ? 0 : -1;
}

static const char *death(struct iw_target *t)
{
    return t->port ? "it was killed" : NULL;
}

static void a_target_is_described(void **state)
{
    static const struct iw_target_startup startup = {.crc = true, .revision = 2};
    static const struct iw_target_startup other = {.markers = true, .enhanced = true};

    (void)state;
    gives("return iw.target()",
          "{agent=true class=agent embedded=false host=H name=N port=0 station_host=H}");
    target.station_host = "S";
    target.port = 65535;
    target.class = IW_TARGET_RPING;
    target.startup = &startup;
    gives("return iw.target()",
          "{agent=true class=rping embedded=false host=H name=N port=65535 startup={crc=true "
          "enhanced=false markers=false revision=2} station_host=S}");
    target.startup = &other;
    gives("return iw.target().startup", "{crc=false enhanced=true markers=true revision=0}");
    gives("return iw.target().longest_timer", "nil");
    target.longest_timer = 2.5;
    gives("return iw.target().longest_timer", "2.5");
    target.longest_timer = 0;
    target.embedded = true;
    gives("return iw.target().embedded", "true");
    target.embedded = false;
}

static void a_target_can_do_what_it_says(void **state)
{
    (void)state;
    gives("return iw.can 'memory.read'", "false");
    target.can = can;
    gives("return iw.can 'memory.read'", "true");
    gives("return iw.can 'memory.write'", "false");
    gives("return iw.death()", "nil");
    target.death = death;
    gives("return iw.death()", "nil");
    target.port = 1;
    gives(ALL("iw.death()"), "it was killed");
}

static void the_survey_tells_what_works(void **state)
{
    const struct iw_rule *rules[] = {iw_rule_find("RDMAP-5.3-02"), iw_rule_find("RDMAP-5.2.1-12")};
    const struct iw_case played = {.role = IW_MPA_INITIATOR, .rules = rules, .n_rules = 2};
    const struct iw_run_options *before = script.options;
    struct iw_instruments found = {0};
    struct iw_run_options options = *before;

    (void)state;
    options.instruments = &found;
    script.options = &options;
    found.of[IW_MPA_INITIATOR][IW_INSTRUMENT_WRITE] = IW_ABILITY_WORKS;
    found.of[IW_MPA_INITIATOR][IW_INSTRUMENT_ECHO] = IW_ABILITY_SILENT;
    gives("return iw.instrument 'write'", "nil");
    script.playing = &played;
    gives("return iw.instrument 'write'", "true");
    gives("return iw.instrument 'echo'", "false");
    gives("return select(2, iw.instrument 'echo')", "silent");
    gives("return iw.about 'echo'", "true");
    gives("return iw.about 'read'", "false");
    gives("return iw.instrument 'read'", "nil");
    gives("return iw.instrument 'reed'", "ERROR case.lua:1: unknown instrument 'reed'");
    options.instruments = NULL;
    gives("return iw.instrument 'write'", "nil");
    script.options = before;
    script.playing = NULL;
}

static void a_target_is_made_to_connect(void **state)
{
    (void)state;
    gives(ALL("iw.initiate('h', 7)"), "nil; this target cannot be made to connect");
    script.waiting = 0;
    target.initiate = initiate;
    gives("return iw.initiate('h', 7)", "true");
    assert_string_equal(called, "h/7");
    gives(ALL("iw.initiate('g', 65535)"), "nil; the command failed");
    assert_string_equal(called, "g/65535");
    gives("iw.initiate 'h'",
          "ERROR case.lua:1: bad argument #2 to 'initiate' (number expected, got no value)");
}

static void without_a_target_there_is_none(void **state)
{
    static const char *const calls[] = {"iw.target()", "iw.can 'x'",    "iw.initiate('h', 7)",
                                        "iw.death()",  "iw.control {}", "iw.event()"};
    struct iw_control *control = target.control;

    (void)state;
    target.control = NULL;
    gives("return iw.target().agent", "false");
    for (size_t i = 4; i < 6; i++)
        gives(calls[i], "ERROR case.lua:1: this target has no agent; the case's needs must say "
                        "that it wants one");
    target.control = control;
    script.target = NULL;
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        gives(calls[i], "ERROR case.lua:1: there is no target outside of a case's run function");
    script.target = &target;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_request_in_json, open_script, close_script),
        cmocka_unit_test_setup_teardown(a_reply_in_lua, open_script, close_script),
        cmocka_unit_test_setup_teardown(an_agent_refuses, open_script, close_script),
        cmocka_unit_test_setup_teardown(an_agent_says_nothing, open_script, close_script),
        cmocka_unit_test_setup_teardown(no_call_outlives_the_script, open_script, close_script),
        cmocka_unit_test_setup_teardown(events_come_in_order, open_script, close_script),
        cmocka_unit_test_setup_teardown(a_target_is_described, open_script, close_script),
        cmocka_unit_test_setup_teardown(a_target_can_do_what_it_says, open_script, close_script),
        cmocka_unit_test_setup_teardown(the_survey_tells_what_works, open_script, close_script),
        cmocka_unit_test_setup_teardown(a_target_is_made_to_connect, open_script, close_script),
        cmocka_unit_test_setup_teardown(without_a_target_there_is_none, open_script, close_script),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
