/* SPDX-License-Identifier: BSD-3-Clause */
/* Streaming mode before MPA (RFC 5044 §7.1.2, §7.1.3): nothing is lost at the seam, wherever TCP
 * cuts the octets. */
#include "transport_world.h"

#include "iwarp/endpoint_transport.h"

#define REQUEST "MPA ID Req Frame\x40\x01\x00\x00"
#define REPLY "MPA ID Rep Frame\x40\x01\x00\x00"
enum { FRAME = 20 };

/* The lines that an end sends in streaming mode, and the one at which it switches. */
struct talk {
    struct end end; /* first: world_ops take it for the context */
    const char *answer;
    char heard[32];
    size_t n;
    bool destroy;
};

static size_t stream(void *context, struct iw_connection *c, const uint8_t *octets, size_t length)
{
    struct talk *t = context;
    size_t taken = 0;
    while (taken < length) {
        assert_true(t->n < sizeof(t->heard) - 1);
        t->heard[t->n++] = (char)octets[taken++];
        if (t->heard[t->n - 1] != '\n')
            continue;
        if (t->answer != NULL)
            assert_int_equal(iw_connection_stream(c, t->answer, strlen(t->answer)), 0);
        if (t->destroy)
            iw_connection_destroy(c);
        else
            iw_connection_start(c);
        break;
    }
    return taken;
}

static const struct iw_connection_ops talk_ops = {ready, ended, stream};

static void adopt(struct world *w, struct talk *t, enum iw_mpa_role role, int fd)
{
    w->config.role = role;
    w->config.mpa.revision = 1;
    w->config.mpa.enhanced = false;
    t->end.world = w;
    t->end.c = iw_transport_adopt(w->reactor, w->domain, fd, &w->config, &talk_ops, t);
    assert_non_null(t->end.c);
    post_recv(&t->end);
}

static void step(struct world *w)
{
    for (int i = 0; i < 8; i++)
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
}

static void expect_octets(struct world *w, int fd, const char *octets, size_t length)
{
    char got[64];
    size_t n = 0;
    while (n < length) {
        step(w);
        ssize_t more = recv(fd, got + n, length - n, MSG_DONTWAIT);
        assert_true(more > 0);
        n += (size_t)more;
    }
    assert_memory_equal(got, octets, length);
    step(w);
    assert_int_equal(recv(fd, got, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
}

/* RFC 5044 §7.1.3: the initiator asks, the responder's last streamed octets answer. */
static void both_ends_switch(void **state)
{
    struct world *w = *state;
    struct talk initiator = {.end.sends_wanted = 1};
    struct talk responder = {.end.server = true, .answer = "yes\n"};
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    adopt(w, &initiator, IW_MPA_INITIATOR, fds[0]);
    adopt(w, &responder, IW_MPA_RESPONDER, fds[1]);
    assert_int_equal(iw_connection_stream(initiator.end.c, "rdma?", 5), 0);
    step(w);
    assert_int_equal(iw_connection_stream(initiator.end.c, "", 0), 0);
    assert_int_equal(iw_connection_stream(initiator.end.c, "\n", 1), 0);
    run_until_ended(w, 2);
    assert_string_equal(responder.heard, "rdma?\n");
    assert_string_equal(initiator.heard, "yes\n");
    assert_memory_equal(initiator.end.in, "ping", 4);
    assert_true(initiator.end.graceful && responder.end.graceful);
}

/* A Request in the segment of the last streamed octets, and every other way to cut the two. */
static void a_request_behind_streamed_octets(void **state)
{
    struct world *w = *state;
    static const char sent[] = "go on\n" REQUEST;
    enum { SENT = 6 + FRAME };
    for (size_t cut = 1; cut <= SENT; cut++) {
        struct talk t = {.end.server = true, .answer = "ok\n"};
        int fds[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        adopt(w, &t, IW_MPA_RESPONDER, fds[1]);
        assert_int_equal(send(fds[0], sent, cut, 0), cut);
        step(w);
        if (cut < SENT)
            assert_int_equal(send(fds[0], sent + cut, SENT - cut, 0), SENT - cut);
        expect_octets(w, fds[0], "ok\n" REPLY, 3 + FRAME);
        assert_string_equal(t.heard, "go on\n");
        assert_int_equal(iw_connection_stream(t.end.c, "x", 1), -1);
        assert_int_equal(errno, EINVAL);
        iw_connection_start(t.end.c);
        iw_connection_destroy(t.end.c);
        close(fds[0]);
    }
}

/* An initiator's Request does not leave before the switch, and then after the octets it streamed.
 */
static void a_request_waits_for_the_switch(void **state)
{
    struct world *w = *state;
    struct talk t = {.answer = "bye\n"};
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    adopt(w, &t, IW_MPA_INITIATOR, fds[1]);
    assert_int_equal(iw_connection_stream(t.end.c, "hi\n", 3), 0);
    expect_octets(w, fds[0], "hi\n", 3);
    assert_int_equal(send(fds[0], "o", 1, 0), 1);
    step(w);
    assert_int_equal(send(fds[0], "k\n", 2, 0), 2);
    expect_octets(w, fds[0], "bye\n" REQUEST, 4 + FRAME);
    assert_int_equal(send(fds[0], REPLY, FRAME, 0), FRAME);
    step(w);
    assert_true(t.end.seen & 1u << IW_EVENT_ESTABLISHED);
    iw_connection_destroy(t.end.c);
    close(fds[0]);
}

/* The application did all of it on its own socket, and read too far. */
static void octets_read_too_far_are_handed_in(void **state)
{
    struct world *w = *state;
    struct end e = {.world = w, .server = true};
    uint8_t pending[7];
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(send(fds[0], "go\n" REQUEST, 3 + FRAME, 0), 3 + FRAME);
    assert_int_equal(recv(fds[1], pending, sizeof(pending), 0), sizeof(pending));
    w->config.role = IW_MPA_RESPONDER;
    w->config.mpa.revision = 1;
    w->config.mpa.enhanced = false;
    e.c = iw_transport_adopt(w->reactor, w->domain, fds[1], &w->config, &world_ops, &e);
    assert_non_null(e.c);
    struct iw_iov rest = {pending + 3, sizeof(pending) - 3};
    iw_endpoint_input(iw_connection_endpoint(e.c), &rest, 1, iw_transport_now());
    expect_octets(w, fds[0], REPLY, FRAME);
    iw_connection_destroy(e.c);
    close(fds[0]);
}

static void streaming_mode_may_end_otherwise(void **state)
{
    struct world *w = *state;
    struct talk closed = {.end.server = true}, destroyed = {.end.server = true, .destroy = true};
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    adopt(w, &destroyed, IW_MPA_RESPONDER, fds[1]);
    assert_int_equal(send(fds[0], "\n" REQUEST, 1 + FRAME, 0), 1 + FRAME);
    step(w);
    close(fds[0]);
    assert_false(destroyed.end.ended);

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    adopt(w, &closed, IW_MPA_RESPONDER, fds[1]);
    assert_int_equal(send(fds[0], "go", 2, 0), 2);
    close(fds[0]);
    run_until_ended(w, 1);
    assert_true(closed.end.ended);
    assert_string_equal(closed.heard, "go");
    assert_false(closed.end.seen & 1u << IW_EVENT_REQUEST);
}

/* With a start-up time-out of 1 ns, which is over at every step. */
static void streaming_mode_takes_its_time(void **state)
{
    struct world *w = *state;
    struct talk t = {.end.server = true};
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    w->config.startup_timeout = 1;
    adopt(w, &t, IW_MPA_RESPONDER, fds[1]);
    assert_int_equal(send(fds[0], "go", 2, 0), 2);
    step(w);
    assert_string_equal(t.heard, "go");
    assert_int_equal(t.end.seen, 0);
    assert_int_equal(send(fds[0], "\n", 1, 0), 1);
    step(w);
    assert_true(t.end.seen & 1u << IW_EVENT_FAULT);
    iw_connection_destroy(t.end.c);
    close(fds[0]);
}

/* Closed before the switch, towards a peer that does not close: the time to linger is 1 ns. */
static void a_close_in_streaming_mode_does_not_wait_for_ever(void **state)
{
    struct world *w = *state;
    struct talk t = {.end.server = true};
    char octet;
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    w->config.linger_timeout = 1;
    adopt(w, &t, IW_MPA_RESPONDER, fds[1]);
    step(w);
    iw_endpoint_shutdown(iw_connection_endpoint(t.end.c), iw_transport_now());
    iw_connection_kick(t.end.c);
    step(w);
    assert_int_equal(recv(fds[0], &octet, 1, MSG_DONTWAIT), 0);
    assert_true(t.end.ended);
    assert_false(t.end.graceful);
    close(fds[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(both_ends_switch),
        TEST(a_request_behind_streamed_octets),
        TEST(a_request_waits_for_the_switch),
        TEST(octets_read_too_far_are_handed_in),
        TEST(streaming_mode_may_end_otherwise),
        TEST(streaming_mode_takes_its_time),
        TEST(a_close_in_streaming_mode_does_not_wait_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
