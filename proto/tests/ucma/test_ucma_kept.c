/* SPDX-License-Identifier: BSD-3-Clause */
/* A port that a listener has given up is kept for a while for the next one: for which, how long,
 * and what is left afterwards. */
#include "ucma_commands.h"

#include <dlfcn.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

/* ---- the system, whose timers are noted ---- */

static unsigned timers;           /* that were set */
static struct itimerspec last;    /* what for */
static int timer_flags;           /* of the one made last */
static bool at_its_end;           /* the next one expires at once */
static bool no_timer, no_setting; /* the calls fail */
static bool no_watch;

int timerfd_create(clockid_t clock, int flags)
{
    assert_int_equal(clock, CLOCK_MONOTONIC);
    timer_flags = flags;
    if (!no_timer)
        return (int)syscall(SYS_timerfd_create, clock, flags);
    errno = EMFILE;
    return -1;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *before)
{
    struct itimerspec soon = {.it_value.tv_nsec = 1};
    assert_int_equal(flags, 0);
    timers++;
    last = *when;
    if (!no_setting)
        return (int)syscall(SYS_timerfd_settime, fd, flags, at_its_end ? &soon : when, before);
    errno = EINVAL;
    return -1;
}

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    if (!no_watch || operation != EPOLL_CTL_ADD)
        return (int)syscall(SYS_epoll_ctl, epoll, operation, fd, event);
    errno = ENOMEM;
    return -1;
}

/* ---- tests ---- */

/* Returns how many sockets listen and timers there are: connections may be still about to go. */
static unsigned held(void)
{
    unsigned count = 0;
    for (int fd = 3; fd < 100; fd++) {
        char path[64], name[64];
        int listens = 0;
        socklen_t length = sizeof(listens);
        (void)getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        const ssize_t n = readlink(path, name, sizeof(name) - 1);
        name[n > 0 ? n : 0] = '\0';
        count += listens != 0 || strcmp(name, "anon_inode:[timerfd]") == 0;
    }
    return count;
}

/* Returns where a listener has been that has gone. */
static struct sockaddr_in given_up(int fd)
{
    uint32_t id;
    const struct sockaddr_in at = listening(fd, &id, 4);
    assert_int_equal(destroy(fd, id), 0);
    return at;
}

/* Whether a socket of this process listens there: what is free may be another one's next. */
static bool takes_connections(const struct sockaddr_in *at)
{
    for (int fd = 3; fd < 100; fd++) {
        struct sockaddr_in its = {.sin_family = AF_UNSPEC};
        socklen_t length = sizeof(its), size = sizeof(int);
        int listens = 0;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0 &&
            getsockname(fd, (struct sockaddr *)&its, &length) == 0 &&
            its.sin_port == at->sin_port && its.sin_addr.s_addr == at->sin_addr.s_addr)
            return true;
    }
    return false;
}

/* Gives up what is kept, by taking another port. */
static void keep_none(int fd)
{
    const struct sockaddr_in any = at_loopback(0);
    uint32_t id = create(fd, 1);
    assert_int_equal(bind_to(fd, id, &any, sizeof(any)), 0);
    assert_int_equal(destroy(fd, id), 0);
}

static int set_up(void **state)
{
    static int fd;
    fd = open_it(O_NONBLOCK);
    keep_none(fd);
    timers = 0;
    *state = &fd;
    return 0;
}

static int tear_down(void **state)
{
    const int *fd = *state;
    at_its_end = no_timer = no_setting = no_watch = false;
    keep_none(*fd);
    assert_int_equal(close(*fd), 0);
    return 0;
}

static void for_three_seconds(void **state)
{
    const int fd = *(const int *)*state;
    const unsigned before = held();
    const struct sockaddr_in at = given_up(fd);
    assert_int_equal(timers, 1);
    assert_int_equal(last.it_value.tv_sec, 3);
    assert_int_equal(last.it_value.tv_nsec, 0);
    assert_int_equal(last.it_interval.tv_sec, 0);
    assert_int_equal(last.it_interval.tv_nsec, 0);
    assert_int_equal(timer_flags, TFD_CLOEXEC | TFD_NONBLOCK);
    assert_int_equal(held(), before + 2); /* the socket and the timer */
    assert_true(takes_connections(&at));
    keep_none(fd);
    assert_int_equal(timers, 1); /* that one has not listened */
    assert_int_equal(held(), before);
    assert_false(takes_connections(&at));
}

/* When they are over, who has connected is reset, and nobody listens any more. */
static void and_not_longer(void **state)
{
    const int fd = *(const int *)*state;
    const unsigned before = held();
    struct pollfd none = {.fd = fd, .events = POLLIN};
    uint32_t id;
    const struct sockaddr_in at = listening(fd, &id, 4);
    int client = requesting(&at);
    char octet;
    assert_int_equal(poll(&none, 1, -1), 1); /* one that is asked by the first */
    at_its_end = true;
    assert_int_equal(destroy(fd, id), 0);
    assert_true(recv(client, &octet, 1, 0) <= 0);
    close(client);
    while (held() > before) /* until the library's thread has seen the timer */
        (void)poll(&none, 1, 1);
    assert_false(takes_connections(&at));
}

/* The next one of the same address has the socket: who has connected meanwhile is its client. */
static void for_the_same_address(void **state)
{
    const int fd = *(const int *)*state;
    const unsigned before = held();
    const struct sockaddr_in at = given_up(fd);
    int client = requesting(&at);
    uint32_t id = create(fd, 1);
    assert_int_equal(bind_to(fd, id, &at, sizeof(at)), 0);
    assert_int_equal(held(), before + 1); /* that very socket */
    assert_int_equal(listen_for(fd, id, 4), 0);
    struct pollfd asked = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&asked, 1, -1), 1);
    const uint32_t request = get(fd, CONNECT_REQUEST).id;
    assert_int_equal(reject(fd, request), 0);
    assert_int_equal(destroy(fd, request), 0);
    close(client);
    assert_int_equal(destroy(fd, id), 1);
    assert_int_equal(timers, 2);
}

/* One of all addresses is not the same, though the port is. */
static void not_for_another_address(void **state)
{
    const int fd = *(const int *)*state;
    struct sockaddr_in at = given_up(fd);
    int client = requesting(&at);
    char octet;
    uint32_t id = create(fd, 1);
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = at.sin_port};
    assert_int_equal(bind_to(fd, id, &any, sizeof(any)), 0);
    assert_true(recv(client, &octet, 1, 0) <= 0); /* that one was the old socket's */
    close(client);
    assert_int_equal(source_of(fd, id).sin_addr.s_addr, 0);
    assert_int_equal(destroy(fd, id), 0);
}

/* One is kept: that which was given up last. */
static void the_last_one(void **state)
{
    const int fd = *(const int *)*state;
    uint32_t ids[2];
    const struct sockaddr_in first = listening(fd, &ids[0], 4);
    const struct sockaddr_in second = listening(fd, &ids[1], 4);
    assert_int_equal(destroy(fd, ids[0]), 0);
    assert_true(takes_connections(&first));
    assert_int_equal(destroy(fd, ids[1]), 0);
    assert_false(takes_connections(&first));
    assert_true(takes_connections(&second));
    /* Who connects from here gives it up, too. */
    uint32_t id = create(fd, 1);
    const struct sockaddr_in to = at_loopback(htons(9));
    assert_int_equal(resolve(fd, id, NULL, &to, sizeof(to)), 0);
    assert_false(takes_connections(&second));
    (void)get(fd, ADDR_RESOLVED);
    assert_int_equal(destroy(fd, id), 1);
}

/* Without a timer the port is free at once. */
static void not_without_a_timer(void **state)
{
    const int fd = *(const int *)*state;
    bool *const faults[] = {&no_timer, &no_setting, &no_watch};
    const unsigned before = held();
    for (unsigned i = 0; i < 3; i++) {
        uint32_t id;
        const struct sockaddr_in at = listening(fd, &id, 4);
        *faults[i] = true;
        assert_int_equal(destroy(fd, id), 0);
        *faults[i] = false;
        assert_false(takes_connections(&at));
        assert_int_equal(held(), before);
    }
}

/* For the rest of the process: the last test. */
static void not_for_sockets(void **state)
{
    const int fd = *(const int *)*state;
    void *found = dlvsym(RTLD_DEFAULT, "iwarp_ports_release_at_once", "IWARP_1.0");
    void (*release_at_once)(void);
    const unsigned before = held();
    assert_non_null(found);
    memcpy(&release_at_once, &found, sizeof(found));
    uint32_t id;
    const struct sockaddr_in kept = given_up(fd), at = listening(fd, &id, 4);
    if (at.sin_port != kept.sin_port) /* a port that is free may be the next one's */
        assert_false(takes_connections(&kept));
    release_at_once();
    timers = 0;
    assert_int_equal(destroy(fd, id), 0);
    assert_int_equal(timers, 0);
    assert_false(takes_connections(&at));
    assert_int_equal(held(), before);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(for_three_seconds),       TEST(and_not_longer), TEST(for_the_same_address),
        TEST(not_for_another_address), TEST(the_last_one),   TEST(not_without_a_timer),
        TEST(not_for_sockets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
