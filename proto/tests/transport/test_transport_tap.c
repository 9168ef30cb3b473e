/* SPDX-License-Identifier: BSD-3-Clause */
/* Who looks on at the octets of a reactor's connections. */
#include "transport_world.h"

enum { ROOM = 4096, TAPPED = 4 };

/* What one end's tap saw. */
struct seen {
    bool active, closed;
    struct sockaddr_in local, remote;
    uint8_t octets[2][ROOM]; /* received, sent */
    size_t length[2];
    unsigned fins[2], resets[2];
};

static struct seen seen[TAPPED];
static unsigned opened_count;
static bool blind;

static void *opened(void *context, const struct sockaddr_storage *local,
                    const struct sockaddr_storage *remote, bool active)
{
    struct seen *s = &seen[opened_count];
    assert_ptr_equal(context, seen);
    assert_true(opened_count++ < TAPPED);
    if (blind)
        return NULL;
    *s = (struct seen){.active = active};
    memcpy(&s->local, local, sizeof(s->local));
    memcpy(&s->remote, remote, sizeof(s->remote));
    return s;
}

static void octets(void *tapped, bool sent, const struct iw_iov *pieces, size_t count,
                   size_t length)
{
    struct seen *s = tapped;
    assert_true(length > 0 && !s->closed);
    for (size_t i = 0; i < count && length > 0; i++) {
        size_t n = pieces[i].length < length ? pieces[i].length : length;
        assert_true(s->length[sent] + n <= ROOM);
        memcpy(s->octets[sent] + s->length[sent], pieces[i].base, n);
        s->length[sent] += n;
        length -= n;
    }
    assert_int_equal(length, 0);
}

static void was_ended(void *tapped, bool sent, bool reset)
{
    struct seen *s = tapped;
    assert_false(s->closed);
    (reset ? s->resets : s->fins)[sent]++;
}

static void closed(void *tapped)
{
    struct seen *s = tapped;
    assert_false(s->closed);
    s->closed = true;
}

static const struct iw_tap tap = {
    .context = seen, .opened = opened, .octets = octets, .ended = was_ended, .closed = closed};

static const struct seen *end_of(bool active)
{
    return &seen[seen[0].active == active ? 0 : 1];
}

static void begin(struct world *w, bool sees)
{
    opened_count = 0;
    blind = !sees;
    memset(seen, 0, sizeof(seen));
    iw_reactor_tap(w->reactor, &tap);
}

static void both_ends_see_the_same_octets(void **state)
{
    struct world *w = *state;
    struct end client = {.sends_wanted = 3};
    begin(w, true);
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    connect_to(w, &client, &at);
    post_recv(&client);
    run_until_ended(w, 2);
    assert_int_equal(opened_count, 2);
    const struct seen *active = end_of(true), *passive = end_of(false);
    assert_true(active->active && !passive->active);
    assert_int_equal(ntohs(passive->local.sin_port), at.port);
    assert_int_equal(active->remote.sin_port, passive->local.sin_port);
    assert_int_equal(active->local.sin_port, passive->remote.sin_port);
    for (unsigned sent = 0; sent < 2; sent++) {
        assert_true(active->length[sent] > 20);
        assert_int_equal(active->length[sent], passive->length[!sent]);
        assert_memory_equal(active->octets[sent], passive->octets[!sent], active->length[sent]);
        assert_int_equal(active->fins[sent], 1);
        assert_int_equal(passive->fins[sent], 1);
        assert_int_equal(active->resets[sent], 0);
    }
    assert_memory_equal(active->octets[1], "MPA ID Req Frame", 16);
    assert_memory_equal(active->octets[0], "MPA ID Rep Frame", 16);
    assert_true(active->closed && passive->closed);
}

static void a_reset_is_seen(void **state)
{
    struct world *w = *state;
    struct linger l = {.l_onoff = 1, .l_linger = 0};
    begin(w, true);
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    int fd = raw_connect(&at);
    while (w->accepted == 0)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
    close(fd);
    run_until_ended(w, 1);
    assert_int_equal(seen[0].resets[0], 1);
    assert_int_equal(seen[0].fins[0], 0);
    assert_true(seen[0].closed);
}

static void our_own_reset_is_seen(void **state)
{
    struct world *w = *state;
    begin(w, true);
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    int fd = raw_connect(&at);
    while (w->accepted == 0)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    iw_connection_destroy(w->servers[0].c);
    assert_int_equal(seen[0].resets[1], 1);
    assert_true(seen[0].closed);
    close(fd);
}

static void a_tap_need_not_look(void **state)
{
    struct world *w = *state;
    struct end client = {.sends_wanted = 1};
    begin(w, false);
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    connect_to(w, &client, &at);
    post_recv(&client);
    run_until_ended(w, 2);
    assert_int_equal(opened_count, 2);
    assert_true(client.graceful);
    iw_reactor_tap(w->reactor, NULL);
    int fd = raw_connect(&at);
    while (w->accepted == 1)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    assert_int_equal(opened_count, 2);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(both_ends_see_the_same_octets),
        TEST(a_reset_is_seen),
        TEST(our_own_reset_is_seen),
        TEST(a_tap_need_not_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
