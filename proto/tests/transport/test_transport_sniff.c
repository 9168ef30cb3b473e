/* SPDX-License-Identifier: BSD-3-Clause */
/* A listener that takes plain TCP, too: which of the two a connection is, by its first octets. */
#include "transport_world.h"

#include <fcntl.h>
#include <poll.h>

#define REQUEST "MPA ID Req Frame\x40\x01\x00\x00"
#define REPLY "MPA ID Rep Frame\x40\x01\x00\x00"
enum { KEY = 16, FRAME = 20, NEVER = 3600000 /* ms: no test waits for it */ };

struct mixed {
    struct world *world;
    int plain[IW_TRANSPORT_SNIFFED + 8]; /* what came, in order */
    unsigned count;
    unsigned refuse; /* so many offers */
    bool elsewhere;  /* what comes is handed on, and lives on as another descriptor */
};

static bool take_plain(void *context, int fd)
{
    struct mixed *m = context;
    if (m->refuse > 0) {
        m->refuse--;
        return false;
    }
    m->plain[m->count++] = m->elsewhere ? dup(fd) : fd;
    if (m->elsewhere)
        close(fd);
    return true;
}

static bool take_mpa(void *context, struct iw_connection *c)
{
    struct mixed *m = context;
    return accepted(m->world, c);
}

static struct iw_host_port mixed_at(struct mixed *m, unsigned wait)
{
    struct world *w = m->world;
    char error[300] = "", address[IW_TRANSPORT_TEXT];
    struct iw_host_port at;
    struct iw_listener_config config = {.domain = w->domain,
                                        .endpoint = w->config,
                                        .ops = world_ops,
                                        .accepted = take_mpa,
                                        .context = m,
                                        .sniff = wait,
                                        .plain = take_plain};
    config.endpoint.role = IW_MPA_RESPONDER;
    config.endpoint.mpa.revision = 1;
    config.endpoint.mpa.enhanced = false;
    assert_int_equal(iw_transport_parse("127.0.0.1:0", &at, error, sizeof(error)), 0);
    w->listener = iw_transport_listen(w->reactor, &at, &config, error, sizeof(error));
    assert_non_null(w->listener);
    iw_listener_address(w->listener, address);
    assert_int_equal(iw_transport_parse(address, &at, error, sizeof(error)), 0);
    return at;
}

static void step(struct world *w)
{
    for (int i = 0; i < 8; i++)
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
}

static void step_until(struct world *w, const unsigned *count, unsigned wanted)
{
    const uint64_t limit = iw_transport_now() + LONG * UINT64_C(1000000);
    while (*count < wanted) {
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
        assert_true(iw_transport_now() < limit);
    }
}

static void expect_octets(int fd, const char *octets, size_t length)
{
    char got[64];
    assert_int_equal(recv(fd, got, length, MSG_WAITALL), length);
    assert_memory_equal(got, octets, length);
}

static void close_plain(struct mixed *m)
{
    for (unsigned i = 0; i < m->count; i++)
        close(m->plain[i]);
}

/* However TCP cuts the Request. */
static void a_request_is_mpa(void **state)
{
    struct world *w = *state;
    struct mixed m = {.world = w};
    const struct iw_host_port at = mixed_at(&m, NEVER);
    for (size_t cut = 1; cut <= FRAME; cut++) {
        const int fd = raw_connect(&at);
        assert_int_equal(send(fd, REQUEST, cut, 0), cut);
        step(w);
        assert_int_equal(w->accepted, cut - (cut < KEY ? 1 : 0));
        if (cut < FRAME)
            assert_int_equal(send(fd, &REQUEST[cut], FRAME - cut, 0), FRAME - cut);
        step(w);
        expect_octets(fd, REPLY, FRAME);
        assert_int_equal(w->accepted, cut);
        close(fd);
        step(w);
    }
    assert_int_equal(m.count, 0);
}

/* Each octet of the key decides; nothing of what was sent is taken. */
static void other_octets_are_plain(void **state)
{
    struct world *w = *state;
    struct mixed m = {.world = w};
    const struct iw_host_port at = mixed_at(&m, NEVER);
    for (size_t i = 0; i < KEY; i++) {
        char octets[KEY];
        memcpy(octets, REQUEST, KEY);
        octets[i] ^= 0x20;
        const int fd = raw_connect(&at);
        assert_int_equal(send(fd, octets, i + 1, 0), i + 1);
        step_until(w, &m.count, (unsigned)i + 1);
        const int got = m.plain[i];
        assert_int_equal(fcntl(got, F_GETFL) & O_NONBLOCK, 0);
        assert_true((fcntl(got, F_GETFD) & FD_CLOEXEC) != 0);
        expect_octets(got, octets, i + 1);
        assert_int_equal(send(got, "tcp", 3, 0), 3);
        expect_octets(fd, "tcp", 3);
        close(fd);
    }
    assert_int_equal(w->accepted, 0);
    close_plain(&m);
}

static void silence_is_plain(void **state)
{
    struct world *w = *state;
    struct mixed m = {.world = w};
    const struct iw_host_port at = mixed_at(&m, 1);
    const int silent = raw_connect(&at);
    step_until(w, &m.count, 1);
    const int slow = raw_connect(&at);
    assert_int_equal(send(slow, "MPA", 3, 0), 3);
    step_until(w, &m.count, 2);
    assert_int_equal(w->accepted, 0);
    expect_octets(m.plain[1], "MPA", 3);
    close(silent);
    close(slow);
    close_plain(&m);
}

/* The beginning of the key has not been waited for in vain by then. */
static void the_beginning_of_the_key_is_waited_for(void **state)
{
    struct world *w = *state;
    struct mixed m = {.world = w};
    const struct iw_host_port at = mixed_at(&m, NEVER);
    const int fd = raw_connect(&at);
    assert_int_equal(send(fd, "M", 1, 0), 1);
    step(w);
    const int timeout = iw_reactor_timeout(w->reactor);
    assert_true(timeout > NEVER && timeout <= 10 * NEVER);
    close(fd);
    step_until(w, &m.count, 1); /* and now it has ended */
    close_plain(&m);
}

static void one_that_comes_and_goes(void **state)
{
    struct world *w = *state;
    struct mixed m = {.world = w};
    const struct iw_host_port at = mixed_at(&m, NEVER);
    char octet;
    close(raw_connect(&at));
    step_until(w, &m.count, 1);
    assert_int_equal(recv(m.plain[0], &octet, 1, 0), 0);
    /* A whole Request and the end at once are MPA's. */
    const int fd = raw_connect(&at);
    assert_int_equal(send(fd, REQUEST, FRAME, 0), FRAME);
    close(fd);
    step_until(w, &w->accepted, 1);
    assert_int_equal(m.count, 1);
    close_plain(&m);
}

static void an_offer_that_is_refused_is_repeated(void **state)
{
    struct world *w = *state;
    struct mixed m = {.world = w, .refuse = 3};
    const struct iw_host_port at = mixed_at(&m, NEVER);
    const int fd = raw_connect(&at);
    assert_int_equal(send(fd, "GET / HTTP/1.0\r\n\r\n", 18, 0), 18);
    step_until(w, &m.count, 1);
    assert_int_equal(m.refuse, 0);
    expect_octets(m.plain[0], "GET ", 4);
    close(fd);
    close_plain(&m);
}

/* The reactor's set of epoll would hold a descriptor that is closed while a duplicate lives on:
 * what comes then must not be reported, because what it would be reported to is gone. */
static void nothing_is_reported_of_one_that_lives_on_elsewhere(void **state)
{
    struct world *w = *state;
    struct mixed m = {.world = w, .elsewhere = true};
    const struct iw_host_port at = mixed_at(&m, NEVER);
    const int fd = raw_connect(&at);
    assert_int_equal(send(fd, "GET", 3, 0), 3);
    step_until(w, &m.count, 1);
    assert_int_equal(send(fd, " / ", 3, 0), 3);
    expect_octets(m.plain[0], "GET", 3); /* three are left */
    struct pollfd reported = {.fd = iw_reactor_fd(w->reactor), .events = POLLIN};
    assert_int_equal(poll(&reported, 1, 0), 0);
    step(w);
    close(fd);
    close_plain(&m);
}

/* A listener that ends resets those that it has not decided. */
static void the_listener_ends(void **state)
{
    struct world *w = *state;
    struct mixed m = {.world = w};
    const struct iw_host_port at = mixed_at(&m, NEVER);
    char octet;
    const int fd = raw_connect(&at);
    step(w);
    iw_listener_destroy(w->listener);
    w->listener = NULL;
    assert_int_equal(recv(fd, &octet, 1, 0), -1);
    assert_int_equal(errno, ECONNRESET);
    close(fd);
    step(w);
}

static void what_octets_say(void **state)
{
    (void)state;
    assert_int_equal(iw_mpa_sniff(NULL, 0), IW_MPA_SNIFFED_MORE);
    for (size_t n = 1; n < KEY; n++)
        assert_int_equal(iw_mpa_sniff((const uint8_t *)REQUEST, n), IW_MPA_SNIFFED_MORE);
    assert_int_equal(iw_mpa_sniff((const uint8_t *)REQUEST, KEY), IW_MPA_SNIFFED_MPA);
    assert_int_equal(iw_mpa_sniff((const uint8_t *)REQUEST, FRAME), IW_MPA_SNIFFED_MPA);
    assert_int_equal(iw_mpa_sniff((const uint8_t *)REPLY, KEY), IW_MPA_SNIFFED_OTHER);
    assert_int_equal(iw_mpa_sniff((const uint8_t *)"m", 1), IW_MPA_SNIFFED_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_is_mpa),
        TEST(other_octets_are_plain),
        TEST(silence_is_plain),
        TEST(the_beginning_of_the_key_is_waited_for),
        TEST(one_that_comes_and_goes),
        TEST(an_offer_that_is_refused_is_repeated),
        TEST(the_listener_ends),
        TEST(what_octets_say),
        TEST(nothing_is_reported_of_one_that_lives_on_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
