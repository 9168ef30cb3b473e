/* SPDX-License-Identifier: BSD-3-Clause */
/* How long the loop and each of its connections wait. */
#include "net_stage.h"

#include <stdio.h>

enum { MS = 1000000 };

/* How long a step waits: what it says, in ms; whether the peer has replied; the mean time of an
 * answer and the patience, in us. */
static const struct {
    unsigned ms, replied, answer_us, patience_us, expected_us;
} waits[] = {
    {1, 0, 1000, 0, 1000},
    {20, 0, 1000, 0, 10000},
    {49, 0, 10000, 0, 49000},
    {49, 0, 4000, 0, 40000},
    {50, 0, 4000, 0, 40000},
    {50, 0, 20000, 0, 200000},
    {50, 0, 100001, 0, 1000000},
    {50, 0, 10, 0, 1000},
    {60, 0, 10, 70, 1000},
    {60, 0, 10, 7000, 7000},
    {60, 0, 100001, 1000001, 1000001},
    {1, 1, 1000, 0, 1000},
    {20, 1, 1000, 0, 3000},
    {20, 1, 100, 0, 1000},
    {20, 1, 8000, 0, 20000},
    {60, 1, 18000, 0, 50000},
    {60, 1, 10000, 0, 30000},
    {49, 1, 10, 600000, 50000},
    {60, 1, 10, 600000, 60000},
    {60, 1, 10, 55000, 55000},
    {0, 0, 1000, 0, 0},
};

static void how_long_a_step_waits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
        char steps[128];

        loop->answer_time = waits[i].answer_us * 1000u;
        loop->patience = waits[i].patience_us * 1000u;
        snprintf(steps, sizeof(steps), REQUEST " f01 t%u", waits[i].ms);
        if (waits[i].replied) {
            snprintf(steps, sizeof(steps), REQUEST " t50 t%u", waits[i].ms);
            net_starts(steps, 1);
            net_hears(0, "x", 1);
        } else {
            snprintf(steps, sizeof(steps), REQUEST " t%u", waits[i].ms);
            net_starts(steps, 1);
        }
        assert_int_equal(loop->slots[0].phase, WAITING);
        assert_int_equal(loop->slots[0].deadline - net.now, waits[i].expected_us * 1000u);
        iw_hunt_loop_abort(loop);
    }
}

/* A peer that has answered gets as long for its end as it was said. */
static void how_long_an_end_may_take(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        iw_hunt_loop_patience(loop, 0, i & 1 ? 0.75 : 0);
        assert_int_equal(loop->linger, i & 1 ? 750 * MS : 0);
        net_starts(REQUEST " t50", 1);
        if (i & 2)
            net_hears(0, "x", 1);
        else
            net.now += 10 * MS;
        iw_hunt_loop_step(loop, 0);
        assert_int_equal(loop->slots[0].phase, LINGERING);
        assert_int_equal(loop->slots[0].deadline - net.now, (i == 3 ? 750 : 250) * MS);
        iw_hunt_loop_abort(loop);
    }
    iw_hunt_loop_patience(loop, 1.5, 0);
    assert_int_equal(loop->patience, 1500 * (uint64_t)MS);
}

/* In whole milliseconds, until the next deadline at the latest. */
static void how_long_the_loop_waits(void **state)
{
    (void)state;
    iw_hunt_loop_step(loop, 0);
    iw_hunt_loop_step(loop, 30);
    iw_hunt_loop_step(loop, 2000000);
    net_starts("a01 t5", 1);
    iw_hunt_loop_step(loop, 30);
    net.now++;
    iw_hunt_loop_step(loop, 30);
    iw_hunt_loop_step(loop, 4);
    net.now += 4 * MS - 1;
    iw_hunt_loop_step(loop, 30);
    net.now += MS - 1;
    iw_hunt_loop_step(loop, 30);
    net_does(
        " wait0 wait30 wait2000000 connect1000:7000 nodelay1000=1 add1000:in/0 send1000:01 wait5"
        " wait5 wait4 wait1 wait1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(how_long_a_step_waits, net_begin, net_end),
        cmocka_unit_test_setup_teardown(how_long_an_end_may_take, net_begin, net_end),
        cmocka_unit_test_setup_teardown(how_long_the_loop_waits, net_begin, net_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
