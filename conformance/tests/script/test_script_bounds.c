/* SPDX-License-Identifier: BSD-3-Clause */
/* What a script may take of time and memory, and whose fault it is when that is over. The clock is
 * set by what the script is told of it: no test waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/clock.h"
#include "iwarp/transport.h"
#include "play.h"
#include "primitives.h"

#define SECONDS (uint64_t)1000000000

static struct iw_script script;
static struct iw_run_options options;

static int open_script(void **state)
{
    (void)state;
    options = play_options;
    script = (struct iw_script){.options = &options};
    primitives_open(&script);
    return 0;
}

static int close_script(void **state)
{
    (void)state;
    iw_script_close(&script);
    return script.used ? -1 : 0;
}

/* ---- the end of the time ---- */

static int check_time(lua_State *L)
{
    iw_script_check_time(L);
    return 0;
}

/* The deadline has passed; `ago` seconds since it was set. */
static void late(uint64_t ago, uint64_t given)
{
    uint64_t now = iw_transport_now();

    script.began = now - ago * SECONDS; /* soon after boot it wraps, as clocks may */
    script.deadline = 1;
    script.given = given;
    script.allowed = 7.5;
    script.computed = iw_clock_cpu();
    script.waiting = script.waited = 0;
}

static void checked(const char *expected)
{
    lua_register(script.L, "check_time", check_time);
    primitives_give(&script, "\ncheck_time()", expected);
}

#define OVER "ERROR case.lua:2: the case took longer than its deadline of 7.5 s"
#define WAITED                                                                                     \
    "INCONCLUSIVE case.lua:2: the case's 7.5 s were over before the target had done its part"

static void a_script_that_has_computed_is_over(void **state)
{
    (void)state;
    late(100, 0);
    checked(OVER);
    script.deadline = 0;
    checked("nil");
    script.deadline = UINT64_MAX;
    checked("nil");
}

/* A quarter of the time is a good part of it. */
static void a_script_that_has_waited_is_not_to_blame(void **state)
{
    (void)state;
    late(1000, 0);
    script.waited = 220 * SECONDS;
    checked(OVER);
    late(1000, 0);
    script.waited = 300 * SECONDS;
    checked(WAITED);
    late(1000, 0);
    script.waiting = iw_transport_now() - 220 * SECONDS;
    checked(OVER);
    late(1000, 0);
    script.waiting = iw_transport_now() - 300 * SECONDS;
    checked(WAITED);
    assert_int_equal(script.waiting, 0);
    assert_true(script.waited >= 300 * SECONDS);
    late(1000, 0);
    script.waiting = iw_transport_now() - 150 * SECONDS;
    script.waited = 150 * SECONDS;
    checked(WAITED);
}

/* On a machine that is busy with others. */
static void a_script_that_got_no_processor_goes_on(void **state)
{
    uint64_t before, after;

    (void)state;
    late(100, 50 * SECONDS);
    before = iw_transport_now();
    checked("nil");
    after = iw_transport_now();
    assert_true(script.deadline > before + 40 * SECONDS);
    assert_true(script.deadline <= after + 50 * SECONDS);
    late(300, 50 * SECONDS);
    checked("nil");
    late(1000, 50 * SECONDS);
    checked(OVER);
    /* It had half of its time. */
    late(100, 50 * SECONDS);
    script.computed -= 25 * SECONDS;
    before = iw_transport_now();
    checked("nil");
    assert_true(script.deadline > before + 15 * SECONDS);
    assert_true(script.deadline <= iw_transport_now() + 25 * SECONDS);
    late(100, 50 * SECONDS);
    script.computed -= 51 * SECONDS;
    checked(OVER);
}

/* ---- waiting ---- */

/* iw_script_until of an argument of this many seconds lies so many ns ahead. */
static void ahead(const char *seconds, double standard, uint64_t ns)
{
    lua_State *L = script.L;
    uint64_t before, until, after;

    lua_getglobal(L, "tonumber");
    lua_pushstring(L, seconds);
    lua_call(L, 1, 1);
    before = iw_transport_now();
    until = iw_script_until(L, 1, standard);
    after = iw_transport_now();
    assert_true(until >= before + ns && until <= after + ns);
    assert_true(script.waiting >= before && script.waiting <= after);
    lua_settop(L, 0);
}

static void times_are_scaled_and_bounded(void **state)
{
    uint64_t soon;

    (void)state;
    ahead("2", 9, 2 * SECONDS);
    ahead("none", 9, 9 * SECONDS);
    ahead("0", 9, 0);
    ahead("-1", 9, 0);
    ahead("1e9", 9, 1000000 * SECONDS);
    ahead("1000001", 9, 1000000 * SECONDS);
    ahead("999999", 9, 999999 * SECONDS);
    options.time_scale = 1.5;
    ahead("2", 9, 3 * SECONDS);
    ahead("none", 4, 6 * SECONDS);
    options.time_scale = -1;
    ahead("2", 9, 2 * SECONDS);
    lua_pushnumber(script.L, 0.0 / 0.0);
    soon = iw_script_until(script.L, 1, 9);
    assert_true(soon <= iw_transport_now());
    lua_settop(script.L, 0);
    /* Never beyond the script's own time. */
    script.deadline = iw_transport_now() + 5 * SECONDS;
    lua_pushinteger(script.L, 6);
    assert_int_equal(iw_script_until(script.L, 1, 9), script.deadline);
    lua_settop(script.L, 0);
    lua_pushinteger(script.L, 1);
    assert_true(iw_script_until(script.L, 1, 9) < script.deadline);
    lua_settop(script.L, 0);
}

static void defaults_stand_in_for_zeros(void **state)
{
    (void)state;
    assert_true(iw_script_patience(&script) == 3.0);
    assert_true(iw_script_scale(&script) == 1.0);
    options.patience = 0.5;
    options.time_scale = 2.5;
    assert_true(iw_script_patience(&script) == 0.5);
    assert_true(iw_script_scale(&script) == 2.5);
    options.time_scale = 0.25;
    assert_true(iw_script_scale(&script) == 0.25);
}

static void a_target_may_wait_for_its_longest_timer(void **state)
{
    static struct iw_target target;

    (void)state;
    script.target = &target;
    assert_true(iw_script_timer(&script) == 0.0);
    target.longest_timer = 10;
    assert_true(iw_script_timer(&script) == 10.0);
    options.time_scale = 2;
    assert_true(iw_script_timer(&script) == 10.0);
    /* Scaled, it is ten seconds still. */
    options.time_scale = 0.5;
    assert_true(iw_script_timer(&script) == 20.0);
    assert_true(iw_script_patience(&script) == 3.0);
    script.target = NULL;
    assert_true(iw_script_timer(&script) == 0.0);
}

/* Waiting counts from one call to the next. */
static void waits_add_up(void **state)
{
    uint64_t before = iw_transport_now(), after;

    (void)state;
    iw_script_waits(script.L);
    after = iw_transport_now();
    assert_true(script.waiting >= before && script.waiting <= after);
    assert_int_equal(script.waited, 0);
    script.waiting -= 10 * SECONDS;
    iw_script_waits(script.L);
    assert_true(script.waited >= 10 * SECONDS);
    assert_true(script.waiting >= after);
    /* The next line of the script ends it. */
    primitives_give(&script, "return 1", "1");
    assert_int_equal(script.waiting, 0);
}

/* ---- reading ---- */

static void allowed(double deadline, double scale, double seconds, uint64_t given)
{
    uint64_t before = iw_transport_now(), computed = iw_clock_cpu();

    options.deadline = deadline;
    options.time_scale = scale;
    script.waiting = script.waited = script.left = 5;
    iw_script_allow_reading(&script);
    assert_true(script.allowed == seconds);
    assert_int_equal(script.given, given);
    assert_true(script.began >= before && script.began <= iw_transport_now());
    assert_int_equal(script.deadline, script.began + given);
    assert_true(script.computed >= computed && script.computed <= iw_clock_cpu());
    assert_int_equal(script.waiting, 0);
    assert_int_equal(script.waited, 0);
    assert_int_equal(script.left, 0);
}

static void less_patience_makes_reading_no_faster(void **state)
{
    (void)state;
    allowed(0, 0, 20, 20 * SECONDS);
    allowed(8, 0.5, 8, 8 * SECONDS);
    allowed(8, 1, 8, 8 * SECONDS);
    allowed(8, 2, 8, 16 * SECONDS);
    allowed(0.5, 1.5, 0.5, 750000000);
    allowed(-1, 3, 20, 60 * SECONDS);
    script.deadline = 0;
}

static void a_pause_is_as_long_as_at_full_speed(void **state)
{
    uint64_t now = iw_transport_now(), deadline = now + 100 * SECONDS, after;

    (void)state;
    options.time_scale = 0.5;
    script.deadline = deadline;
    iw_script_pause(&script);
    after = iw_transport_now();
    assert_true(script.left <= 100 * SECONDS && script.left >= deadline - after);
    assert_true(script.deadline >= now + 2 * script.left);
    assert_true(script.deadline <= after + 2 * script.left);
    now = iw_transport_now();
    deadline = script.left;
    iw_script_resume(&script);
    assert_true(script.deadline >= now + deadline);
    assert_true(script.deadline <= iw_transport_now() + deadline);
    assert_int_equal(script.left, 0);
    deadline = script.deadline;
    iw_script_resume(&script); /* it was not paused */
    assert_int_equal(script.deadline, deadline);
    options.time_scale = 1;
    iw_script_pause(&script);
    assert_int_equal(script.deadline, deadline);
    assert_int_equal(script.left, 0);
    options.time_scale = 0.5;
    script.deadline = 5; /* long over */
    iw_script_pause(&script);
    assert_int_equal(script.deadline, 5);
    assert_int_equal(script.left, 0);
    script.deadline = 0;
}

/* ---- memory ---- */

static void blocks_are_counted(void **state)
{
    void *context, *block, *other;
    lua_Alloc allocate = lua_getallocf(script.L, &context);
    size_t used = script.used, limit = script.limit;

    (void)state;
    script.limit = used + 100;
    assert_null(allocate(context, NULL, LUA_TSTRING, 101)); /* a kind, not a size, of no block */
    assert_int_equal(script.used, used);
    block = allocate(context, NULL, LUA_TSTRING, 100);
    assert_non_null(block);
    assert_int_equal(script.used, used + 100);
    assert_null(allocate(context, block, 100, 101));
    assert_null(allocate(context, NULL, 0, 1));
    block = allocate(context, block, 100, 60);
    assert_non_null(block);
    assert_int_equal(script.used, used + 60);
    other = allocate(context, NULL, 0, 40);
    assert_non_null(other);
    assert_null(allocate(context, block, 60, 0));
    assert_int_equal(script.used, used + 40);
    other = allocate(context, other, 40, 100);
    assert_non_null(other);
    /* With less than is in use blocks shrink all the same. */
    script.limit = used;
    other = allocate(context, other, 100, 100);
    assert_non_null(other);
    other = allocate(context, other, 100, 99);
    assert_non_null(other);
    assert_null(allocate(context, other, 99, 0));
    assert_int_equal(script.used, used);
    script.limit = limit;
}

/* The last line of the case is where memory ran out. */
static void hungry(const char *expected)
{
    size_t limit = script.limit;

    primitives_give(&script, "\n\nlocal s = ('x'):rep(1 << 26)", expected);
    assert_int_equal(script.limit, limit + 1024 * 1024);
    script.limit = limit;
}

static void who_takes_the_memory_is_named(void **state)
{
    (void)state;
    script.limit = 8 * 1024 * 1024;
    hungry("ERROR case.lua:3: the script takes more than 8 MiB of memory");
    script.taken = 2 * 1024 * 1024 - 1;
    hungry("ERROR case.lua:3: the script takes more than 8 MiB of memory");
    script.taken = 2 * 1024 * 1024;
    hungry("INCONCLUSIVE case.lua:3: the target says more than 8 MiB of memory can take");
    /* What was being made counts, too. */
    script.taken = 0;
    script.taking = true;
    script.before = 0;
    lua_newuserdata(script.L, 3 * 1024 * 1024);
    hungry("INCONCLUSIVE case.lua:3: the target says more than 8 MiB of memory can take");
    assert_false(script.taking);
    lua_settop(script.L, 0);
}

static void what_the_target_says_is_counted(void **state)
{
    size_t used;

    (void)state;
    iw_script_taken(script.L); /* nothing was begun */
    assert_int_equal(script.taken, 0);
    used = script.used;
    iw_script_taking(script.L);
    assert_true(script.taking);
    assert_int_equal(script.before, used);
    lua_newuserdata(script.L, 5000);
    iw_script_taken(script.L);
    assert_false(script.taking);
    assert_int_equal(script.taken, script.used - used);
    assert_true(script.taken >= 5000);
    used = script.taken;
    lua_newuserdata(script.L, 5000);
    iw_script_taken(script.L);
    assert_int_equal(script.taken, used);
    iw_script_taking(script.L);
    lua_settop(script.L, 0);
    lua_gc(script.L, LUA_GCCOLLECT); /* it shrank: nothing was taken */
    iw_script_taken(script.L);
    assert_int_equal(script.taken, used);
    iw_script_taking(script.L);
    lua_newuserdata(script.L, 7000);
    iw_script_taken(script.L);
    assert_true(script.taken >= used + 7000 && script.taken < used + 9000);
    lua_settop(script.L, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_script_that_has_computed_is_over, open_script,
                                        close_script),
        cmocka_unit_test_setup_teardown(a_script_that_has_waited_is_not_to_blame, open_script,
                                        close_script),
        cmocka_unit_test_setup_teardown(a_script_that_got_no_processor_goes_on, open_script,
                                        close_script),
        cmocka_unit_test_setup_teardown(times_are_scaled_and_bounded, open_script, close_script),
        cmocka_unit_test_setup_teardown(defaults_stand_in_for_zeros, open_script, close_script),
        cmocka_unit_test_setup_teardown(a_target_may_wait_for_its_longest_timer, open_script,
                                        close_script),
        cmocka_unit_test_setup_teardown(waits_add_up, open_script, close_script),
        cmocka_unit_test_setup_teardown(less_patience_makes_reading_no_faster, open_script,
                                        close_script),
        cmocka_unit_test_setup_teardown(a_pause_is_as_long_as_at_full_speed, open_script,
                                        close_script),
        cmocka_unit_test_setup_teardown(blocks_are_counted, open_script, close_script),
        cmocka_unit_test_setup_teardown(who_takes_the_memory_is_named, open_script, close_script),
        cmocka_unit_test_setup_teardown(what_the_target_says_is_counted, open_script, close_script),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
