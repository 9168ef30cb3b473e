/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of the loop, call by call. */
#include "net_stage.h"

#include <errno.h>

enum { MS = 1000000 };

/* ---- one connection ---- */

static void from_begin_to_end(void **state)
{
    (void)state;
    assert_true(net_starts(REQUEST " t50 " SEND, 5));
    assert_int_equal(iw_hunt_loop_busy(loop), 1);
    assert_int_equal(iw_hunt_loop_oldest(loop), 5);
    net_does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:4d50..24..0304");
    net.now += 3 * MS;
    net_hears(0, REPLY, 20);
    net_does(" wait7 recv1000 send1000:0012..24..be8c shutdown1000");
    net_hears(0, NULL, 0);
    net_does(" wait250 recv1000 close1000 left {5, reply rev 1 C/17, fin/19}");
    assert_int_equal(iw_hunt_loop_busy(loop), 0);
    assert_int_equal(iw_hunt_loop_oldest(loop), 0);
    assert_int_equal(iw_hunt_loop_answer_time(loop), (15 * MS + 3 * MS) / 16);
}

static void a_peer_that_ends_at_once(void **state)
{
    (void)state;
    net_starts(REQUEST " t50 " SEND, 5);
    net_hears(0, NULL, 0);
    net_does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:4d50..24..0304 wait10"
             " recv1000 close1000 left {5, fin/17}");
    net_starts(REQUEST " t50 " SEND, 6);
    net_hears(0, NULL, -ECONNRESET);
    net_does(" connect1001:7000 nodelay1001=1 add1001:in/0 send1001:4d50..24..0304 wait10"
             " recv1001 close1001 left {6, reset/17}");
    net_starts(REQUEST " t50 " SEND, 7); /* nothing yet */
    net_hears(0, NULL, -EAGAIN);
    net_hears(0, NULL, -EINTR);
    net_does(" connect1002:7000 nodelay1002=1 add1002:in/0 send1002:4d50..24..0304 wait10"
             " recv1002 wait10 recv1002");
}

/* What does not fit waits until there is room. */
static void octets_that_do_not_fit(void **state)
{
    (void)state;
    net.window = 4;
    net_starts(REQUEST " t50", 1);
    net_does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:4d504120 send1000:failed"
             " mod1000:inout/0");
    net.window = 6;
    net_happens(0, EPOLLOUT);
    net_does(" wait1000 mod1000:in/0 send1000:4944..6..6571 send1000:failed mod1000:inout/0");
    net.window = 1000;
    net_hears(0, REPLY, 20); /* meanwhile the peer may speak */
    net_does(" wait1000 recv1000");
    net_happens(0, EPOLLOUT);
    net_does(" wait1000 mod1000:in/0 send1000:2046..14..0304");
    net_happens(0, EPOLLOUT); /* nobody has asked for that */
    net_does(" wait3");
    net.now += 250 * MS;
    iw_hunt_loop_step(loop, 0);
    net_does(" wait0 shutdown1000");
}

static void a_connection_that_comes_late(void **state)
{
    (void)state;
    net.window = -EAGAIN;
    net_starts(REQUEST " t50", 1);
    net_does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:failed mod1000:inout/0");
    net.window = -EINTR;
    net_happens(0, EPOLLOUT);
    net_does(" wait1000 mod1000:in/0 send1000:failed send1000:4d50..24..0304");
    net.now += 2000 * MS;
}

static void a_connection_that_is_refused(void **state)
{
    (void)state;
    net.window = -EAGAIN;
    net.bad_connect = ECONNREFUSED;
    net_starts(REQUEST " t50", 1);
    net_does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:failed mod1000:inout/0");
    net.window = -ECONNREFUSED;
    net_happens(0, EPOLLOUT | EPOLLERR | EPOLLHUP);
    net_does(" wait1000 mod1000:in/0 send1000:failed close1000 left {1 unconnected,"
             " refused/17}");
    net.window = -EAGAIN;
    net_starts(REQUEST " t50", 2);
    net.heard_length = -ECONNREFUSED;
    net_happens(0, EPOLLERR);
    net_does(" connect1001:7000 nodelay1001=1 add1001:in/0 send1001:failed mod1001:inout/0"
             " wait1000 recv1001 close1001 left {2 unconnected, refused/17}");
    net_starts(REQUEST " t50", 3);
    net_happens(0, EPOLLHUP);
    net_does(" connect1002:7000 nodelay1002=1 add1002:in/0 send1002:failed mod1002:inout/0"
             " wait1000 recv1002 close1002 left {3 unconnected, refused/17}");
    net_starts(REQUEST " t50", 4); /* nothing ever happens */
    net.now += 2000 * (uint64_t)MS - 1;
    iw_hunt_loop_step(loop, 0);
    net_does(" connect1003:7000 nodelay1003=1 add1003:in/0 send1003:failed mod1003:inout/0"
             " wait0");
    net.now++;
    iw_hunt_loop_step(loop, 0);
    net_does(" wait0 linger1003=1/0 close1003 left {4 unconnected, silence/17}");
}

/* What it has said last is still read. */
static void a_peer_that_takes_no_more(void **state)
{
    (void)state;
    net_starts(REQUEST " t50 " SEND, 1);
    net.window = -EPIPE;
    net_hears(0, REPLY, 20);
    net_does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:4d50..24..0304 wait10"
             " recv1000 send1000:failed");
    net_hears(0, NULL, 0);
    net_does(" wait250 recv1000 close1000 left {1, reply rev 1 C/17, fin/18}");
    net.window = 10;
    net_starts(REQUEST " t50", 2);
    net.window = -EPIPE;
    net_happens(0, EPOLLOUT);
    assert_int_equal(loop->slots[0].deadline - net.now, 250 * MS);
    net_does(" connect1001:7000 nodelay1001=1 add1001:in/0 send1001:4d50..10..6571"
             " send1001:failed mod1001:inout/0 wait1000 mod1001:in/0 send1001:failed");
}

static void the_fuzzers_own_end(void **state)
{
    (void)state;
    net_starts(REQUEST " f01 " SEND " t50", 1);
    net_does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:4d50..24..0304"
             " shutdown1000");
    net_hears(0, REPLY, 20);
    net_does(" wait250 recv1000");
    net_hears(0, NULL, 0);
    net_does(" wait250 recv1000 close1000 left {1, reply rev 1 C/19, fin/19}");
    net_starts(REQUEST " r01 " SEND, 2);
    net_does(" connect1001:7000 nodelay1001=1 add1001:in/0 send1001:4d50..24..0304"
             " linger1001=1/0 close1001 left {2}");
}

static void octets_one_by_one(void **state)
{
    (void)state;
    net_starts("b0102 a03", 1);
    net_does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:01 send1000:0203"
             " shutdown1000");
}

/* No connection takes more than so much. */
static void a_peer_that_talks_on(void **state)
{
    (void)state;
    net_starts(REQUEST " t65535", 1);
    net.heard_most = IW_HUNT_ANSWERS;
    for (int i = 0; i < 64; i++)
        net_hears(0, NULL, IW_HUNT_ANSWERS);
    assert_int_equal(iw_hunt_loop_busy(loop), 1);
    *net.noted = 0;
    net_hears(0, NULL, 1);
    net_does(" wait250 recv1000 linger1000=1/0 close1000 left {1, no FPDU/17 !mpa-rep-key}");
}

/* Units that a plan has no room for are left out. */
static void more_frames_than_a_plan_has(void **state)
{
    uint8_t empty[8];
    struct iw_hunt_input *in = iw_hunt_input_new();
    uint8_t all[300 * 24];

    (void)state;
    (void)empty;
    struct iw_hunt_input *one = support_input(SEND);
    for (int i = 0; i < 300; i++)
        memcpy(all + i * 24, one->steps[0].octets, 24);
    iw_hunt_add(in, IW_FUZZ_A, all, sizeof(all));
    net.window = 100000;
    assert_true(iw_hunt_loop_start(loop, in, 1));
    net_does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:0012..7200..be8c"
             " shutdown1000");
    iw_hunt_input_free(one);
}

/* ---- several ---- */

static void places(void **state)
{
    (void)state;
    assert_true(net_starts(REQUEST " t50", 7));
    assert_true(net_starts(REQUEST " t50", 6));
    *net.noted = 0;
    assert_false(net_starts(REQUEST " t50", 9));
    net_does("");
    assert_int_equal(iw_hunt_loop_busy(loop), 2);
    assert_int_equal(iw_hunt_loop_oldest(loop), 6);
    net_hears(1, NULL, 0);
    assert_int_equal(iw_hunt_loop_oldest(loop), 7);
    assert_int_equal(iw_hunt_loop_busy(loop), 1);
    *net.noted = 0;
    net.bad_socket = true;
    assert_false(net_starts(REQUEST " t50", 9));
    net_does("");
    net.bad_socket = false;
    net.bad_connect = EADDRNOTAVAIL;
    assert_false(net_starts(REQUEST " t50", 9));
    net_does(" connect1002:7001 close1002");
    net.bad_connect = 0;
    assert_true(net_starts(REQUEST " t50", 9));
    net_does(" connect1003:7001 nodelay1003=1 add1003:in/1 send1003:4d50..24..0304");
    iw_hunt_loop_abort(loop);
    net_does(" linger1000=1/0 close1000 left {7} linger1003=1/0 close1003 left {9}");
    assert_int_equal(iw_hunt_loop_busy(loop), 0);
    net_happens(0, EPOLLIN | EPOLLOUT); /* of one that is gone */
    net_does(" wait1000");
}

static void what_an_agent_says(void **state)
{
    (void)state;
    iw_hunt_loop_attach(loop);
    net_does(" add78:in/none");
    net_starts(REQUEST " t50", 1);
    net_starts(REQUEST " t50", 2);
    *net.noted = 0;
    net.events[0].data.ptr = NULL;
    net.n_events = 1;
    iw_hunt_loop_step(loop, 0);
    iw_hunt_loop_abort(loop);
    net_does(" wait0 serve linger1000=1/0 close1000 left {1} linger1001=1/0 close1001 left {2"
             " requested}");
}

/* ---- a peer that connects ---- */

static void it_calls(void **state)
{
    (void)state;
    iw_hunt_loop_free(loop);
    net_begin_as(IW_SIDE_RESPONDER);
    iw_hunt_loop_attach(loop);
    net_does(" add77:in/loop");
    net.ready = false;
    assert_false(net_starts("t50 " REQUEST, 1));
    net_does(" ready");
    net.ready = true;
    assert_true(net_starts("t50 " REQUEST, 1));
    net_does(" ready call");
    iw_hunt_loop_step(loop, 1000);
    net_does(" wait10 called?");
    net.bad_socket = true;
    net.events[net.n_events++].data.ptr = loop;
    iw_hunt_loop_step(loop, 5);
    net_does(" wait5 accept called?");
    net.bad_socket = false;
    net.now += 7 * MS;
    net.events[net.n_events++].data.ptr = loop;
    iw_hunt_loop_step(loop, 5);
    net_does(" wait5 accept nodelay1000=1 add1000:in/0");
    net.now += 4 * MS;
    net_hears(0, "MPA ID Req Frame\x40\x01\0\0", 20);
    net_does(" wait6 recv1000 send1000:4d50..24..0304 shutdown1000");
    assert_int_equal(iw_hunt_loop_answer_time(loop), (15 * MS + 4 * MS) / 16);
    net.events[net.n_events++].data.ptr = loop; /* once more */
    iw_hunt_loop_step(loop, 5);
    net_does(" wait5 accept close1001");
}

static void it_does_not_call(void **state)
{
    (void)state;
    iw_hunt_loop_free(loop);
    net_begin_as(IW_SIDE_RESPONDER);
    net.called = false;
    assert_true(net_starts("t50", 1));
    net_does(" ready call left {1 unconnected, refused/16}");
    net.called = true;
    net_starts("t50", 2);
    net.now += 6000 * (uint64_t)MS - 1;
    iw_hunt_loop_step(loop, 0);
    net_does(" ready call wait0 called?");
    net.now++;
    net.not_called_why = "nobody";
    iw_hunt_loop_step(loop, 0);
    net_does(" wait0 called? left {2 unconnected, refused/16}");
    assert_string_equal(world.why, "nobody");
    net_starts("t50", 3);
    net.now += 6000 * (uint64_t)MS;
    net.not_called_why = NULL;
    iw_hunt_loop_step(loop, 0);
    net_does(" ready call wait0 called? late?");
    iw_hunt_loop_abort(loop);
    net_does(" left {3 unconnected}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(from_begin_to_end, net_begin, net_end),
        cmocka_unit_test_setup_teardown(a_peer_that_ends_at_once, net_begin, net_end),
        cmocka_unit_test_setup_teardown(octets_that_do_not_fit, net_begin, net_end),
        cmocka_unit_test_setup_teardown(a_connection_that_comes_late, net_begin, net_end),
        cmocka_unit_test_setup_teardown(a_connection_that_is_refused, net_begin, net_end),
        cmocka_unit_test_setup_teardown(a_peer_that_takes_no_more, net_begin, net_end),
        cmocka_unit_test_setup_teardown(the_fuzzers_own_end, net_begin, net_end),
        cmocka_unit_test_setup_teardown(octets_one_by_one, net_begin, net_end),
        cmocka_unit_test_setup_teardown(a_peer_that_talks_on, net_begin, net_end),
        cmocka_unit_test_setup_teardown(more_frames_than_a_plan_has, net_begin, net_end),
        cmocka_unit_test_setup_teardown(places, net_begin, net_end),
        cmocka_unit_test_setup_teardown(what_an_agent_says, net_begin, net_end),
        cmocka_unit_test_setup_teardown(it_calls, net_begin, net_end),
        cmocka_unit_test_setup_teardown(it_does_not_call, net_begin, net_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
