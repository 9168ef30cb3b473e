/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs sequences on real connections to a listener of the test, at a time that the test decides:
 * checks how long a Reply takes, and which waits are in vain. */
#include "live_support.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "iwarp/transport.h"

#define REQUEST "a4d504120494420526571204672616d654001000401020304"
#define HALF "a4d5041204944205265712046"
#define REST "a72616d654001000401020304"
#define REPLY "MPA ID Rep Frame\x40\x01\0\0"

enum { MS = 1000000, REQUEST_SIZE = 24, REPLY_SIZE = 20 };

static uint64_t now;

uint64_t __wrap_iw_transport_now(void);
bool __wrap_iw_hunt_world_prepare_call(struct iw_hunt_world *w);
bool __wrap_iw_hunt_world_call(struct iw_hunt_world *w);

uint64_t __wrap_iw_transport_now(void)
{
    return now;
}

bool __wrap_iw_hunt_world_prepare_call(struct iw_hunt_world *w)
{
    (void)w;
    return true;
}

bool __wrap_iw_hunt_world_call(struct iw_hunt_world *w)
{
    (void)w;
    return true;
}

static const char *not_called(struct iw_target *target, bool late)
{
    (void)target;
    return late ? "nothing came" : NULL;
}

static struct iw_target target = {.not_called = not_called, .connect_within = 3};
static struct iw_hunt_world world;
static struct iw_hunt_loop *loop;
static int listener, peers[4];
static size_t n_peers;
static unsigned over; /* sequences */

static void done(void *context, struct iw_hunt_done *d)
{
    (void)context;
    iw_hunt_input_free(d->input);
    over++;
}

static int begin(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};

    (void)state;
    now = 1000000000;
    over = 0;
    n_peers = 0;
    world = (struct iw_hunt_world){
        .scale = 1, .target = &target, .listener = -1, .slots = 2, .to_length = sizeof(at)};
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 2) ||
        getsockname(listener, (struct sockaddr *)&at, &(socklen_t){sizeof(at)}))
        return -1;
    for (int i = 0; i < 2; i++)
        memcpy(&world.to[i], &at, sizeof(at));
    loop = iw_hunt_loop_new(&world, done, NULL);
    iw_hunt_loop_attach(loop);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    iw_hunt_loop_free(loop);
    while (n_peers)
        close(peers[--n_peers]);
    close(listener);
    return 0;
}

/* Time passes, and what is due is done. */
static void pass(unsigned ms)
{
    now += (uint64_t)ms * MS;
    iw_hunt_loop_step(loop, 0);
}

/* The peer of a new sequence, on the place that the test expects. */
static int start(const char *steps)
{
    assert_true(iw_hunt_loop_start(loop, support_input(steps), 1));
    peers[n_peers] = accept(listener, NULL, NULL);
    assert_true(peers[n_peers] >= 0);
    return peers[n_peers++];
}

/* The next octets that the peer gets, which may still be on their way. */
static void gets(int peer, size_t n)
{
    uint8_t octets[64];

    for (size_t got = 0, tries = 0; got < n;) {
        ssize_t some = recv(peer, octets, n - got, MSG_DONTWAIT);

        if (some > 0)
            got += (size_t)some;
        else
            iw_hunt_loop_step(loop, 1); /* it may not be connected yet */
        assert_true(tries++ < 5000);
    }
}

static void replies(int peer)
{
    assert_int_equal(send(peer, REPLY, REPLY_SIZE, MSG_NOSIGNAL), REPLY_SIZE);
    iw_hunt_loop_step(loop, 1000);
}

static void a_reply_is_measured(void **state)
{
    int peer;

    (void)state;
    assert_int_equal(iw_hunt_loop_answer_time(loop), 0);
    peer = start(REQUEST " t50");
    gets(peer, REQUEST_SIZE);
    now += 5 * MS;
    replies(peer);
    assert_int_equal(iw_hunt_loop_answer_time(loop), (15 * MS + 5 * MS) / 16);
}

/* From its last octet on: the pause where a step begins within it is the fuzzer's own. */
static void a_request_in_two_halves(void **state)
{
    int peer = start(HALF " " REST " t50");

    (void)state;
    gets(peer, 12);
    pass(400);
    gets(peer, REQUEST_SIZE - 12);
    now += 5 * MS;
    replies(peer);
    assert_int_equal(iw_hunt_loop_answer_time(loop), (15 * MS + 5 * MS) / 16);
}

static void a_reply_to_half_a_request(void **state)
{
    int peer = start(HALF " " REST " t50");

    (void)state;
    gets(peer, 12);
    now += 5 * MS;
    replies(peer);
    gets(peer, REQUEST_SIZE - 12);
    assert_int_equal(iw_hunt_loop_answer_time(loop), 0);
}

static void linger_is_apart_from_patience(void **state)
{
    int peer;

    (void)state;
    iw_hunt_loop_patience(loop, 60, 0.5);
    peer = start(REQUEST " t65535");
    gets(peer, REQUEST_SIZE);
    pass(59999);
    assert_int_equal(iw_hunt_loop_lingered(loop), 0);
    replies(peer);
    pass(499);
    assert_int_equal(over, 0);
    pass(1);
    assert_int_equal(over, 1);
    assert_int_equal(iw_hunt_loop_lingered(loop), 1);
}

static void a_peer_that_does_not_connect(void **state)
{
    (void)state;
    world.side = IW_SIDE_RESPONDER;
    assert_true(iw_hunt_loop_start(loop, support_input("t50"), 1));
    pass(2999);
    assert_int_equal(over, 0);
    pass(1);
    assert_int_equal(over, 1);
    assert_string_equal(world.why, "nothing came");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_reply_is_measured, begin, finish),
        cmocka_unit_test_setup_teardown(a_request_in_two_halves, begin, finish),
        cmocka_unit_test_setup_teardown(a_reply_to_half_a_request, begin, finish),
        cmocka_unit_test_setup_teardown(linger_is_apart_from_patience, begin, finish),
        cmocka_unit_test_setup_teardown(a_peer_that_does_not_connect, begin, finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
