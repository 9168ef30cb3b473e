/* SPDX-License-Identifier: BSD-3-Clause */
/* The switch of a connected socket (RFC 5044 §7.1): both roles, what is in flight, refusals. Where
 * the peer is the test itself, octets are literal. */
#include "switch_pair.h"

#define REQUEST "MPA ID Req Frame\x40\x01\x00\x00"
#define REPLY "MPA ID Rep Frame\x40\x01\x00\x00"
#define REFUSAL "MPA ID Rep Frame\x60\x01\x00\x02no"
enum { FRAME = 20 };

static void expect_octets(int fd, const char *octets, size_t length)
{
    char got[600];
    assert_true(length <= sizeof(got));
    assert_int_equal(recv(fd, got, length, MSG_WAITALL), length);
    assert_memory_equal(got, octets, length);
}

static void expect_end(int fd)
{
    char octet;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 60000), 1);
    assert_true(recv(fd, &octet, 1, 0) <= 0);
}

static struct iw_switched *plain_initiator(int fd, const void *data, size_t length)
{
    const struct iw_sockets_mode mode = {.role = IWARP_INITIATOR,
                                         .flags = IW_SOCKETS_PLAIN,
                                         .private_data = data,
                                         .private_length = length};
    struct iw_switched *s = iw_switched_begin(fd, &mode);
    assert_non_null(s);
    return s;
}

static void both_roles_and_either_side(void **state)
{
    struct pair *p = *state;
    char in[8];
    p->s[0] = begin(p->fd[0], IWARP_RESPONDER); /* TCP's client */
    p->s[1] = begin(p->fd[1], IWARP_INITIATOR);
    assert_int_equal(iw_switched_wait(p->s[0]), 0);
    assert_int_equal(iw_switched_wait(p->s[1]), 0);
    assert_int_equal(put(p->s[0], "one", 3), 3);
    assert_int_equal(get(p->s[1], in, 8, 0), 3);
    assert_memory_equal(in, "one", 3);
    assert_int_equal(put(p->s[1], "two", 3), 3);
    assert_int_equal(get(p->s[0], in, 8, 0), 3);
    assert_memory_equal(in, "two", 3);
}

/* What was written before the switch arrives before the Request, and before the Reply. */
static void octets_in_flight_come_first(void **state)
{
    struct pair *p = *state;
    assert_int_equal(send(p->fd[0], "last words\n", 11, 0), 11);
    p->s[0] = plain_initiator(p->fd[0], "data", 4);
    expect_octets(p->fd[1],
                  "last words\nMPA ID Req Frame\x40\x01\x00\x04"
                  "data",
                  11 + FRAME + 4);
    assert_int_equal(send(p->fd[1], REPLY, FRAME, 0), FRAME);
    assert_int_equal(iw_switched_wait(p->s[0]), 0);
}

static void a_reply_after_octets_in_flight(void **state)
{
    struct pair *p = *state;
    assert_int_equal(send(p->fd[1], "go on\n", 6, 0), 6);
    p->s[1] = begin(p->fd[1], IWARP_RESPONDER);
    assert_int_equal(send(p->fd[0], REQUEST, FRAME, 0), FRAME);
    expect_octets(p->fd[0], "go on\n" REPLY, 6 + FRAME);
    assert_int_equal(iw_switched_wait(p->s[1]), 0);
}

static void unread_octets_forbid_the_switch(void **state)
{
    struct pair *p = *state;
    const struct iw_sockets_mode initiator = {.role = IWARP_INITIATOR},
                                 responder = {.role = IWARP_RESPONDER};
    char in[8];
    assert_int_equal(send(p->fd[0], "MPA IDx", 7, 0), 7);
    assert_int_equal(recv(p->fd[1], in, 1, MSG_PEEK), 1);
    assert_null(iw_switched_begin(p->fd[1], &responder));
    assert_int_equal(errno, EBUSY);
    assert_null(iw_switched_begin(p->fd[1], &initiator));
    assert_int_equal(errno, EBUSY);
    assert_int_equal(recv(p->fd[1], in, 8, 0), 7);
    assert_memory_equal(in, "MPA IDx", 7);
    p->s[1] = begin(p->fd[1], IWARP_RESPONDER);
}

/* The Request is there before the responder switches, and in part in the program's hands. */
static void a_request_that_is_early(void **state)
{
    struct pair *p = *state;
    for (size_t ahead = 0; ahead <= FRAME; ahead++) {
        int fd[2];
        char in[FRAME];
        connect_pair(fd);
        assert_int_equal(send(fd[0], REQUEST, FRAME, 0), FRAME);
        if (ahead > 0)
            assert_int_equal(recv(fd[1], in, ahead, MSG_WAITALL), ahead);
        const struct iw_sockets_mode mode = {
            .role = IWARP_RESPONDER, .ahead = in, .ahead_length = ahead};
        struct iw_switched *s = iw_switched_begin(fd[1], &mode);
        assert_non_null(s);
        assert_int_equal(iw_switched_wait(s), 0);
        expect_octets(fd[0], REPLY, FRAME);
        iw_switched_close(s);
        close(fd[0]);
        close(fd[1]);
    }
    (void)p;
}

/* RFC 5044 §7.1.2: a Reply with R=1 leaves the TCP connection open, from the octet after it. */
static void a_refusal_leaves_tcp(void **state)
{
    struct pair *p = *state;
    char in[8];
    int flags = fcntl(p->fd[0], F_GETFL);
    int delay = 1;
    socklen_t length = sizeof(delay);
    p->s[0] = plain_initiator(p->fd[0], NULL, 0);
    expect_octets(p->fd[1], REQUEST, FRAME);
    assert_int_equal(send(p->fd[1], REFUSAL "plain", FRAME + 2 + 5, 0), FRAME + 2 + 5);
    assert_int_equal(iw_switched_wait(p->s[0]), -1);
    assert_int_equal(errno, ECONNREFUSED);
    assert_int_equal(iw_switched_private(p->s[0], in, sizeof(in)), 2);
    assert_memory_equal(in, "no", 2);
    expect_octets(p->fd[0], "plain", 5);
    assert_int_equal(send(p->fd[0], "goes on", 7, MSG_NOSIGNAL), 7);
    expect_octets(p->fd[1], "goes on", 7);
    assert_int_equal(fcntl(p->fd[0], F_GETFL), flags);
    assert_int_equal(getsockopt(p->fd[0], IPPROTO_TCP, TCP_NODELAY, &delay, &length), 0);
    assert_int_equal(delay, 0);
    iw_switched_close(p->s[0]);
    p->s[0] = NULL;
    assert_int_equal(send(p->fd[0], "still", 5, MSG_NOSIGNAL), 5);
    expect_octets(p->fd[1], "still", 5);
}

static struct iw_switched *asked(int fd)
{
    const struct iw_sockets_mode mode = {.role = IWARP_RESPONDER, .flags = IW_SOCKETS_ASK};
    struct iw_switched *s = iw_switched_begin(fd, &mode);
    assert_non_null(s);
    return s;
}

static void the_program_refuses(void **state)
{
    struct pair *p = *state;
    char in[8];
    p->s[1] = asked(p->fd[1]);
    p->s[0] = plain_initiator(p->fd[0], "who?", 4);
    assert_int_equal(iw_switched_wait(p->s[1]), 0);
    assert_int_equal(iw_switched_private(p->s[1], in, sizeof(in)), 4);
    assert_memory_equal(in, "who?", 4);
    assert_int_equal(iw_switched_accept(p->s[1], true, "not you", 7), 0);
    assert_int_equal(iw_switched_wait(p->s[0]), -1);
    assert_int_equal(errno, ECONNREFUSED);
    assert_int_equal(iw_switched_private(p->s[0], in, sizeof(in)), 7);
    assert_int_equal(send(p->fd[0], "a", 1, 0), 1);
    expect_octets(p->fd[1], "a", 1);
    assert_int_equal(send(p->fd[1], "b", 1, 0), 1);
    expect_octets(p->fd[0], "b", 1);
    assert_int_equal(iw_switched_accept(p->s[1], true, NULL, 0), -1);
    assert_int_equal(errno, EINVAL);
}

static void the_program_accepts(void **state)
{
    struct pair *p = *state;
    char in[8], much[513] = {0};
    p->s[1] = asked(p->fd[1]);
    p->s[0] = plain_initiator(p->fd[0], "me", 2);
    assert_int_equal(iw_switched_wait(p->s[1]), 0);
    assert_int_equal(iw_switched_accept(p->s[1], false, much, sizeof(much)), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(iw_switched_accept(p->s[1], false, "come", 4), 0);
    assert_int_equal(iw_switched_wait(p->s[0]), 0);
    assert_int_equal(iw_switched_private(p->s[0], in, sizeof(in)), 4);
    assert_memory_equal(in, "come", 4);
    assert_int_equal(put(p->s[1], "hi", 2), 2); /* first, and the initiator sends no RTR */
    assert_int_equal(get(p->s[0], in, 8, 0), 2);
}

static void surplus_before_the_reply(void **state)
{
    struct pair *p = *state;
    assert_int_equal(send(p->fd[0], REQUEST "x", FRAME + 1, 0), FRAME + 1);
    p->s[1] = asked(p->fd[1]);
    assert_int_equal(iw_switched_wait(p->s[1]), -1);
    assert_int_equal(errno, EPROTO);
    expect_end(p->fd[0]);
}

static void a_peer_of_another_protocol(void **state)
{
    struct pair *p = *state;
    p->s[0] = plain_initiator(p->fd[0], NULL, 0);
    assert_int_equal(send(p->fd[1], "HTTP/1.1 400 Bad Request\r\n", 26, 0), 26);
    assert_int_equal(iw_switched_wait(p->s[0]), -1);
    assert_int_equal(errno, EPROTO);
    expect_octets(p->fd[1], REQUEST, FRAME);
    expect_end(p->fd[1]);
}

static void a_peer_that_goes(void **state)
{
    struct pair *p = *state;
    p->s[0] = plain_initiator(p->fd[0], NULL, 0);
    expect_octets(p->fd[1], REQUEST, FRAME);
    close(p->fd[1]);
    p->fd[1] = -1;
    assert_int_equal(iw_switched_wait(p->s[0]), -1);
    assert_int_equal(errno, ECONNRESET);
}

/* In the midst of a frame, and of an FPDU. */
static void a_peer_that_is_killed(void **state)
{
    struct pair *p = *state;
    char in[8];
    p->s[0] = plain_initiator(p->fd[0], NULL, 0);
    assert_int_equal(send(p->fd[1], REPLY, 7, 0), 7);
    close(p->fd[1]);
    p->fd[1] = -1;
    assert_int_equal(iw_switched_wait(p->s[0]), -1);
    assert_int_equal(errno, ECONNRESET);
    iw_switched_close(p->s[0]);
    close(p->fd[0]);
    connect_pair(p->fd);
    p->s[0] = plain_initiator(p->fd[0], NULL, 0);
    assert_int_equal(send(p->fd[1], REPLY "\x00\x20\x41", FRAME + 3, 0), FRAME + 3);
    assert_int_equal(iw_switched_wait(p->s[0]), 0);
    expect_octets(p->fd[1], REQUEST, FRAME);
    close(p->fd[1]);
    p->fd[1] = -1;
    assert_int_equal(get(p->s[0], in, 8, 0), -1);
    assert_int_equal(errno, ECONNRESET);
}

static void a_silent_peer(void **state)
{
    struct pair *p = *state;
    const struct iw_sockets_mode mode = {.role = IWARP_INITIATOR, .timeout_ms = 1};
    p->s[0] = iw_switched_begin(p->fd[0], &mode);
    assert_non_null(p->s[0]);
    assert_int_equal(iw_switched_wait(p->s[0]), -1);
    assert_int_equal(errno, ETIMEDOUT);
    char octet;
    while (recv(p->fd[1], &octet, 1, 0) > 0)
        ;
}

static void what_cannot_be_switched(void **state)
{
    struct pair *p = *state;
    struct iw_sockets_mode mode = {.role = IWARP_INITIATOR};
    const int plain = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int datagram = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_null(iw_switched_begin(plain, &mode));
    assert_int_equal(errno, ENOTCONN);
    assert_null(iw_switched_begin(datagram, &mode));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_null(iw_switched_begin(ends[0], &mode));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_null(iw_switched_begin(-1, &mode));
    assert_int_equal(errno, EBADF);
    mode.role = 7;
    assert_null(iw_switched_begin(p->fd[0], &mode));
    assert_int_equal(errno, EINVAL);
    mode.role = IWARP_INITIATOR;
    mode.private_length = IW_SOCKETS_PRIVATE + 1;
    assert_null(iw_switched_begin(p->fd[0], &mode));
    assert_int_equal(errno, EINVAL);
    close(plain);
    close(datagram);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(both_roles_and_either_side),
        TEST(octets_in_flight_come_first),
        TEST(a_reply_after_octets_in_flight),
        TEST(unread_octets_forbid_the_switch),
        TEST(a_request_that_is_early),
        TEST(a_refusal_leaves_tcp),
        TEST(the_program_refuses),
        TEST(the_program_accepts),
        TEST(surplus_before_the_reply),
        TEST(a_peer_of_another_protocol),
        TEST(a_peer_that_goes),
        TEST(a_peer_that_is_killed),
        TEST(a_silent_peer),
        TEST(what_cannot_be_switched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
