/* SPDX-License-Identifier: BSD-3-Clause */
/* What a reactor keeps: deadlines, connections that wait for their turn, how long it may wait. */
#include "transport/transport_internal.h"

#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void times_are_rounded_up(void **state)
{
    static const struct {
        uint64_t deadline, now;
        int ms;
    } rows[] = {
        {UINT64_MAX, 5, -1},
        {UINT64_MAX - 1, 0, INT_MAX},
        {0, 0, 0},
        {5, 5, 0},
        {4, 5, 0},
        {6, 5, 1},
        {1000005, 5, 1},
        {1000006, 5, 2},
        {UINT64_C(2147483646000000), 0, INT_MAX - 1},
        {UINT64_C(2147483646000001), 0, INT_MAX},
        {UINT64_C(2147483647000001), 0, INT_MAX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(iw_reactor_wait(rows[i].deadline, rows[i].now), rows[i].ms);
}

/* ---- deadlines ---- */

enum { MANY = 200 };

/* Every connection is where it says, none is due before the one above it, and none is missing. */
static void check_heap(const struct iw_reactor *r, const struct iw_connection *c, size_t there)
{
    size_t found = 0;
    assert_int_equal(r->heap_count, there);
    for (size_t i = 1; i <= there; i++) {
        assert_int_equal(r->heap[i]->heap_index, i);
        if (i > 1)
            assert_true(r->heap[i / 2]->deadline <= r->heap[i]->deadline);
    }
    for (size_t i = 0; i < MANY; i++)
        found += c[i].heap_index != 0;
    assert_int_equal(found, there);
}

static void the_earliest_deadline_comes_first(void **state)
{
    struct iw_reactor *r = iw_reactor_create();
    struct iw_connection *c = calloc(MANY, sizeof(*c));
    uint32_t random = 1;
    (void)state;
    assert_non_null(r);
    assert_non_null(c);
    assert_int_equal(iw_reactor_timeout(r), -1);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(iw_heap_reserve(r), 0);
        random = random * 1664525 + 1013904223;
        iw_heap_set(r, &c[i], random >> 24);
        assert_int_equal(c[i].deadline, random >> 24);
        check_heap(r, c, i + 1);
    }
    for (size_t i = 0; i < MANY; i++) {
        random = random * 1664525 + 1013904223;
        struct iw_connection *moved = &c[(random >> 8) % MANY];
        iw_heap_set(r, moved, random >> 24);
        assert_int_equal(moved->deadline, random >> 24);
        check_heap(r, c, MANY);
    }
    for (size_t i = 0, k = 0; i < MANY; i++) {
        k = (k + 77) % MANY;
        iw_heap_remove(r, &c[k]);
        check_heap(r, c, MANY - 1 - i);
        iw_heap_remove(r, &c[k]); /* it is gone already */
        check_heap(r, c, MANY - 1 - i);
    }
    free(c);
    iw_reactor_destroy(r);
}

static void the_last_of_few_deadlines(void **state)
{
    static struct iw_connection c[4];
    struct iw_reactor *r = iw_reactor_create();
    (void)state;
    assert_non_null(r);
    assert_int_equal(iw_heap_reserve(r), 0);
    assert_int_equal(r->heap_room, 16); /* the first place stays empty */
    for (size_t i = 0; i < 4; i++)
        iw_heap_set(r, &c[i], 40 - 10 * i);
    assert_ptr_equal(r->heap[1], &c[3]);
    iw_heap_set(r, &c[3], 35); /* between its two children, and the last */
    assert_ptr_equal(r->heap[1], &c[2]);
    iw_heap_set(r, &c[0], 20); /* as early as the first: they stay where they are */
    assert_ptr_equal(r->heap[1], &c[2]);
    iw_heap_set(r, &c[2], 20);
    assert_ptr_equal(r->heap[1], &c[2]);
    iw_heap_remove(r, &c[2]);
    assert_ptr_equal(r->heap[1], &c[0]);
    iw_heap_set(r, &c[0], UINT64_MAX);
    assert_ptr_equal(r->heap[1], &c[1]);
    assert_int_equal(iw_reactor_timeout(r), 0); /* that was long ago */
    iw_heap_set(r, &c[1], UINT64_MAX);
    iw_heap_set(r, &c[3], UINT64_MAX);
    assert_int_equal(iw_reactor_timeout(r), -1);
    for (size_t room = 16, n = 4; n < 40; n++) { /* it grows twofold, before it is full */
        r->heap_count = n;
        assert_int_equal(iw_heap_reserve(r), 0);
        room = n + 1 < room ? room : 2 * room;
        assert_int_equal(r->heap_room, room);
    }
    r->heap_count = 0;
    iw_reactor_destroy(r);
}

/* ---- connections that are to be served ---- */

static void none_waits_twice(void **state)
{
    static struct iw_connection c[2];
    struct iw_reactor *r = iw_reactor_create();
    (void)state;
    assert_non_null(r);
    iw_heap_reserve(r);
    for (int i = 0; i < 2; i++) {
        iw_pending_add(r, &c[0]);
        iw_pending_add(r, &c[1]);
        assert_int_equal(r->pending_count, 2);
    }
    assert_ptr_equal(TAILQ_FIRST(&r->pending), &c[0]);
    assert_int_equal(iw_reactor_timeout(r), 0);
    for (int i = 0; i < 2; i++) {
        iw_pending_remove(r, &c[0]);
        assert_int_equal(r->pending_count, 1);
        assert_ptr_equal(TAILQ_FIRST(&r->pending), &c[1]);
        assert_ptr_equal(TAILQ_NEXT(&c[1], pending_entry), NULL);
    }
    iw_pending_remove(r, &c[1]);
    assert_int_equal(r->pending_count, 0);
    assert_int_equal(iw_reactor_timeout(r), -1);
    iw_reactor_destroy(r);
}

/* ---- watches ---- */

struct count {
    unsigned calls;
    uint32_t events;
};

static void count(void *context, uint32_t events)
{
    struct count *n = context;
    n->calls++;
    n->events = events;
}

static void each_ready_descriptor_has_its_turn(void **state)
{
    enum { WATCHES = 70, STEP = 64 };
    static struct count n[WATCHES];
    struct iw_watch *w[WATCHES];
    int fds[2];
    struct iw_reactor *r = iw_reactor_create();
    (void)state;
    assert_non_null(r);
    assert_int_equal(pipe(fds), 0);
    int ends[WATCHES];
    for (int i = 0; i < WATCHES; i++) {
        ends[i] = dup(fds[0]);
        w[i] = iw_watch_create(r, ends[i], EPOLLIN, count, &n[i]);
        assert_non_null(w[i]);
    }
    assert_int_equal(r->live_count, WATCHES);
    assert_int_equal(iw_reactor_step(r, 0), 0);
    assert_int_equal(iw_reactor_calls(r), 1);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(iw_reactor_step(r, 1000), 0);
    assert_int_equal(iw_reactor_calls(r), 2);
    unsigned calls = 0;
    for (int i = 0; i < WATCHES; i++)
        calls += n[i].calls;
    assert_int_equal(calls, STEP); /* the others are next */
    assert_int_equal(iw_reactor_step(r, 1000), 0);
    for (int i = 0; i < WATCHES; i++) {
        assert_true(n[i].calls > 0);
        assert_int_equal(n[i].events, EPOLLIN);
    }
    for (int i = 0; i < WATCHES; i++) {
        n[i].calls = 0;
        assert_int_equal(iw_watch_set(w[i], i == 3 ? EPOLLIN : 0), 0);
    }
    assert_int_equal(iw_reactor_step(r, 1000), 0);
    for (int i = 0; i < WATCHES; i++)
        assert_int_equal(n[i].calls, i == 3);
    iw_watch_destroy(w[3]);
    iw_watch_destroy(NULL);
    assert_int_equal(r->live_count, WATCHES - 1);
    assert_int_equal(iw_reactor_step(r, 0), 0);
    assert_int_equal(n[3].calls, 1);
    iw_reactor_destroy(r);
    for (int i = 0; i < WATCHES; i++)
        close(ends[i]);
    close(fds[0]);
    close(fds[1]);
}

/* ---- sockets that listen ---- */

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t length = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &length), 0);
    return value;
}

static void a_bound_socket(void **state)
{
    char text[IW_TRANSPORT_TEXT] = "", error[300] = "";
    struct iw_host_port at = {.host = "::1"};
    (void)state;
    int fd = iw_transport_bind(&at, text, error, sizeof(error));
    assert_true(fd >= 0);
    assert_int_equal(option(fd, SOL_SOCKET, SO_ACCEPTCONN), 1);
    assert_int_equal(option(fd, SOL_SOCKET, SO_REUSEADDR), 1);
    assert_int_equal(option(fd, SOL_SOCKET, SO_REUSEPORT), 0);
    assert_int_equal(option(fd, IPPROTO_IPV6, IPV6_V6ONLY), 1);
    assert_memory_equal(text, "[::1]:", 6);
    /* Nobody else can have it. */
    struct iw_host_port again;
    assert_int_equal(iw_transport_parse(text, &again, error, sizeof(error)), 0);
    assert_int_equal(iw_transport_bind(&again, NULL, error, sizeof(error)), -1);
    assert_non_null(strstr(error, ": Address already in use"));
    close(fd);
    at = (struct iw_host_port){.host = "::1%nosuch"};
    assert_int_equal(iw_transport_bind(&at, NULL, error, sizeof(error)), -1);
    at = (struct iw_host_port){.host = "127.0.0.1"};
    fd = iw_transport_bind(&at, NULL, error, sizeof(error));
    assert_true(fd >= 0);
    close(fd);
}

static void listeners_share_a_port_if_all_want_to(void **state)
{
    char error[300] = "";
    struct iw_host_port at = {.host = "127.0.0.1"};
    struct iw_listener_config config = {.shared = true, .defer = true};
    struct iw_reactor *r = iw_reactor_create();
    (void)state;
    assert_non_null(r);
    struct iw_listener *one = iw_transport_listen(r, &at, &config, error, sizeof(error));
    assert_non_null(one);
    assert_int_equal(one->config.limit, 1024);
    assert_true(option(one->fd, IPPROTO_TCP, TCP_DEFER_ACCEPT) > 0);
    at.port = iw_listener_port(one);
    config = (struct iw_listener_config){.shared = true, .limit = 3};
    struct iw_listener *another = iw_transport_listen(r, &at, &config, error, sizeof(error));
    assert_non_null(another);
    assert_int_equal(another->config.limit, 3);
    assert_int_equal(option(another->fd, IPPROTO_TCP, TCP_DEFER_ACCEPT), 0);
    assert_int_equal(iw_listener_port(another), at.port);
    config.shared = false;
    assert_null(iw_transport_listen(r, &at, &config, error, sizeof(error)));
    assert_int_equal(iw_reactor_timeout(r), -1);
    one->paused = true;
    one->resume_at = 7;
    assert_int_equal(iw_reactor_timeout(r), 0);
    one->resume_at = UINT64_MAX;
    assert_int_equal(iw_reactor_timeout(r), -1);
    iw_listener_destroy(NULL);
    iw_listener_destroy(one);
    iw_reactor_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_rounded_up),
        cmocka_unit_test(the_earliest_deadline_comes_first),
        cmocka_unit_test(the_last_of_few_deadlines),
        cmocka_unit_test(none_waits_twice),
        cmocka_unit_test(each_ready_descriptor_has_its_turn),
        cmocka_unit_test(a_bound_socket),
        cmocka_unit_test(listeners_share_a_port_if_all_want_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
