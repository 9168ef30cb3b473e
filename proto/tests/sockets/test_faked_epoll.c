/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of epoll that hold iWARP sockets: what is reported, how often, and to whom. */
#include "faked_rsockets.h"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

#include "iwarp/transport.h"
#include "sockets/epoll_asked.h"
#include "sockets/epoll_set.h"

static volatile int few = -1; /* where the compiler cannot see it */
enum { SOON = 1 /* ms: for a wait that is to end without an event */ };

static int set;

static int begin_set(void **unused)
{
    begin(unused);
    set = epoll_create1(EPOLL_CLOEXEC);
    assert_true(set >= 0);
    /* The thread's own descriptor stays. */
    int other = connected(), whole = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN};
    assert_int_equal(epoll_ctl(whole, EPOLL_CTL_ADD, other, &e), 0);
    assert_int_equal(epoll_wait(whole, &e, 1, 0), 0);
    close(whole);
    close(other);
    fake.polls = 0;
    descriptors = count_descriptors() - 1;
    return 0;
}

static int end_set(void **unused)
{
    close(set);
    return end(unused);
}

static int control(int operation, int fd, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.u64 = 1000 + (uint64_t)fd};
    return epoll_ctl(set, operation, fd, &e);
}

/* What is reported of `fd`, which must be the only one; 0 after a while without any. */
static uint32_t events_of(int fd, int ms)
{
    struct epoll_event e[4];
    const int count = epoll_wait(set, e, 4, ms);
    if (count == 0)
        return 0;
    assert_int_equal(count, 1);
    assert_int_equal(e[0].data.u64, 1000 + (uint64_t)fd);
    return e[0].events;
}

static void refused(void **unused)
{
    (void)unused;
    const int fd = connected();
    fails(control(EPOLL_CTL_MOD, fd, EPOLLIN), ENOENT);
    fails(epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL), ENOENT);
    fails(epoll_ctl(set, EPOLL_CTL_ADD, fd, NULL), EFAULT);
    fails(epoll_ctl(set, EPOLL_CTL_MOD, fd, NULL), EFAULT);
    fails(control(4, fd, EPOLLIN), EINVAL);
    assert_int_equal(control(EPOLL_CTL_ADD, fd, EPOLLIN), 0);
    fails(control(EPOLL_CTL_ADD, fd, EPOLLIN), EEXIST);
    struct epoll_event e = {.events = EPOLLIN};
    fails(epoll_ctl(-1, EPOLL_CTL_ADD, fd, &e), EBADF);
    fails(epoll_ctl(IW_SOCKETS_NUMBERS, EPOLL_CTL_ADD, fd, &e), EBADF);
    const int plain = eventfd(0, EFD_CLOEXEC);
    fails(epoll_ctl(plain, EPOLL_CTL_ADD, fd, &e), EINVAL);
    volatile int none = 0; /* where the compiler cannot see it */
    fails(epoll_wait(set, &e, none, 0), EINVAL);
    assert_true(iw_epoll_has_state(set));
    assert_true(iw_epoll_is_ours(set));
    assert_false(iw_epoll_has_state(plain) || iw_epoll_has_state(-1));
    assert_false(iw_epoll_is_ours(plain) || iw_epoll_is_ours(IW_SOCKETS_NUMBERS));
    assert_int_equal(epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL), 0);
    assert_true(iw_epoll_has_state(set));
    assert_false(iw_epoll_is_ours(set));
    assert_int_equal(iw_epoll_wait_in(plain, &e, 1, 0, NULL), -1);
    assert_int_equal(errno, EBADF);
    close(plain);
    close(fd);
}

/* Edges: each event is reported once until a call makes room for the next. */
static void edges(void **unused)
{
    (void)unused;
    char octets[8];
    const int fd = connected();
    assert_int_equal(control(EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET), 0);
    assert_int_equal(events_of(fd, 0), EPOLLOUT);
    fake.polls = 0;
    assert_int_equal(events_of(fd, 0), 0);
    peer_says("abc", 3);
    assert_int_equal(events_of(fd, GUARD), EPOLLIN);
    assert_int_equal(events_of(fd, SOON), 0);
    /* All that it asks for has been reported: it is not even looked at. */
    peer_says("abc", 3);
    fake.hide = -1;
    fake.also = POLLIN | POLLOUT;
    assert_int_equal(events_of(fd, SOON), 0);
    fake.hide = fake.also = 0;
    /* A receive, whatever it gets, makes what can be read news. */
    assert_int_equal(read(fd, octets, 4), 4);
    assert_int_equal(events_of(fd, 0), EPOLLIN);
    assert_int_equal(events_of(fd, 0), 0);
    assert_int_equal(read(fd, octets, 4), 2);
    fails(recv(fd, octets, 4, MSG_DONTWAIT), EAGAIN);
    assert_int_equal(events_of(fd, 0), 0);
    /* A send that went whole says nothing, one that did not does. */
    assert_int_equal(write(fd, "abc", 3), 3);
    assert_int_equal(events_of(fd, 0), 0);
    fake.send_most = 2;
    assert_int_equal(send(fd, "abc", 3, MSG_DONTWAIT), 2);
    assert_int_equal(events_of(fd, 0), EPOLLOUT);
    assert_int_equal(events_of(fd, 0), 0);
    fake.send_most = 0;
    fails(send(fd, "abc", 3, MSG_DONTWAIT), EAGAIN);
    fake.send_most = SIZE_MAX;
    assert_int_equal(events_of(fd, 0), EPOLLOUT);
    /* The end once, and after MOD all of it anew. */
    iw_libc()->shutdown(peers[fake.last], SHUT_WR);
    assert_int_equal(events_of(fd, GUARD), EPOLLIN | EPOLLRDHUP);
    assert_int_equal(events_of(fd, 0), 0);
    assert_int_equal(control(EPOLL_CTL_MOD, fd, EPOLLOUT | EPOLLET), 0);
    assert_int_equal(events_of(fd, 0), EPOLLOUT);
    fake.also = POLLERR;
    assert_int_equal(control(EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLET), 0);
    assert_int_equal(events_of(fd, 0), EPOLLIN | EPOLLERR | EPOLLHUP);
    assert_int_equal(read(fd, octets, 1), -1);
    assert_int_equal(events_of(fd, 0), 0);
    fake.also = 0;
    close(fd);
}

/* Each kind of call that receives or sends too little is news for edges. */
static void calls_that_are_news(void **unused)
{
    (void)unused;
    char octets[8];
    struct iovec piece = {octets, 1};
    struct msghdr m = {.msg_iov = &piece, .msg_iovlen = 1};
    struct mmsghdr many = {.msg_hdr = m};
    const int fd = connected();
    peer_says("0123456789abcdef", 16);
    assert_int_equal(control(EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLET), 0);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(events_of(fd, 0), EPOLLIN);
        assert_int_equal(events_of(fd, 0), 0);
        ssize_t got = i == 0   ? read(fd, octets, 1)
                      : i == 1 ? readv(fd, &piece, 1)
                      : i == 2 ? recv(fd, octets, 1, 0)
                      : i == 3 ? recvfrom(fd, octets, 1, 0, NULL, NULL)
                      : i == 4 ? recvmsg(fd, &m, 0)
                      : i == 5 ? recvmmsg(fd, &many, 1, 0, NULL)
                               : readv(fd, &piece, 0);
        assert_int_equal(got, i < 6);
    }
    assert_int_equal(control(EPOLL_CTL_MOD, fd, EPOLLOUT | EPOLLET), 0);
    set_blocking(fd, false);
    piece.iov_len = 2;
    for (int i = 0; i < 7; i++) {
        assert_int_equal(events_of(fd, 0), EPOLLOUT);
        assert_int_equal(events_of(fd, 0), 0);
        fake.send_most = (size_t)i % 2; /* none at all, or one of two */
        const ssize_t sent = i == 0   ? write(fd, octets, 2)
                             : i == 1 ? writev(fd, &piece, 1)
                             : i == 2 ? send(fd, octets, 2, 0)
                             : i == 3 ? sendto(fd, octets, 2, 0, NULL, 0)
                             : i == 4 ? sendmsg(fd, &m, 0)
                             : i == 5 ? sendmmsg(fd, &many, 1, 0)
                                      : writev(fd, &piece, few);
        assert_int_equal(sent, i % 2 == 1 ? 1 : -1);
        fake.send_most = SIZE_MAX;
    }
    /* Those that sent all of it are none. */
    assert_int_equal(events_of(fd, 0), EPOLLOUT);
    assert_int_equal(write(fd, octets, 2), 2);
    assert_int_equal(writev(fd, &piece, 1), 2);
    assert_int_equal(sendmsg(fd, &m, 0), 2);
    assert_int_equal(events_of(fd, 0), 0);
    close(fd);
}

static void once(void **unused)
{
    (void)unused;
    const int fd = connected();
    peer_says("abc", 3);
    assert_int_equal(control(EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLONESHOT), 0);
    assert_int_equal(events_of(fd, 0), EPOLLIN);
    assert_int_equal(events_of(fd, 0), 0);
    fake.also = POLLERR;
    assert_int_equal(events_of(fd, 0), 0);
    fake.also = 0;
    assert_int_equal(control(EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLOUT | EPOLLONESHOT), 0);
    assert_int_equal(events_of(fd, 0), EPOLLIN | EPOLLOUT);
    assert_int_equal(events_of(fd, 0), 0);
    close(fd);
}

/* Each has its turn, also a plain one, if fewer are wanted than are ready. */
static void turns(void **unused)
{
    (void)unused;
    enum { MANY = 9 }; /* more than there is room for at first */
    int fds[MANY];
    unsigned seen[MANY + 1] = {0};
    const int plain = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_int_equal(control(EPOLL_CTL_ADD, plain, EPOLLIN), 0);
    for (int i = 0; i < MANY; i++) {
        fds[i] = connected();
        assert_int_equal(control(EPOLL_CTL_ADD, fds[i], EPOLLOUT), 0);
    }
    struct epoll_event e[MANY + 2];
    assert_int_equal(epoll_wait(set, e, MANY + 2, 0), MANY + 1);
    for (int round = 0; round < 2 * MANY; round++) {
        assert_int_equal(epoll_wait(set, e, 1, 0), 1);
        int i = 0;
        while (i < MANY && e[0].data.u64 != 1000 + (uint64_t)fds[i])
            i++;
        seen[i]++;
    }
    for (int i = 0; i <= MANY; i++)
        assert_in_range(seen[i], 1, MANY);
    /* One that is taken out is reported no more; the last one takes its place. */
    for (int i = 0; i < MANY; i++) {
        if (i % 2 == 0)
            assert_int_equal(epoll_ctl(set, EPOLL_CTL_DEL, fds[i], NULL), 0);
        else
            close(fds[i]);
        assert_int_equal(epoll_wait(set, e, MANY + 2, 0), MANY - i);
        for (int k = 0; k < MANY - i; k++)
            assert_int_not_equal(e[k].data.u64, 1000 + (uint64_t)fds[i]);
    }
    for (int i = 0; i < MANY; i += 2)
        close(fds[i]);
    close(plain);
}

/* A wait for nobody ends by its time, also if something is ready that concerns nobody. */
static void nothing_that_concerns(void **unused)
{
    (void)unused;
    struct epoll_event e;
    const int fd = connected();
    assert_int_equal(control(EPOLL_CTL_ADD, fd, EPOLLRDHUP), 0);
    peer_says("abc", 3);
    const uint64_t until = iw_wait_until_ms(5);
    assert_int_equal(epoll_wait(set, &e, 1, 5), 0);
    assert_true(iw_transport_now() >= until);
    assert_int_equal(epoll_pwait(set, &e, 1, 0, NULL), 0);
    assert_int_equal(epoll_pwait2(set, &e, 1, &(struct timespec){0, 1000}, NULL), 0);
    iw_libc()->shutdown(peers[fake.last], SHUT_WR);
    char octets[8];
    assert_int_equal(read(fd, octets, 8), 3);
    assert_int_equal(epoll_pwait2(set, &e, 1, NULL, NULL), 1);
    assert_int_equal(e.events, EPOLLRDHUP);
    close(fd);
}

static int thread_result;
static struct epoll_event thread_event;

static void *wait_elsewhere(void *unused)
{
    (void)unused;
    thread_result = epoll_wait(set, &thread_event, 1, GUARD);
    return NULL;
}

/* Who waits is woken by what is put into the set, or changed there, or by a call. */
static void woken(void **unused)
{
    (void)unused;
    const int fd = connected(), other = connected();
    char octet;
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        /* In the first round the set has no socket: the wait begins as the system's own. */
        assert_int_equal(pthread_create(&thread, NULL, wait_elsewhere, NULL), 0);
        for (int k = 0; k < 20; k++)
            sched_yield();
        if (i == 0) {
            assert_int_equal(control(EPOLL_CTL_ADD, other, EPOLLRDHUP), 0);
            assert_int_equal(control(EPOLL_CTL_ADD, fd, EPOLLOUT), 0);
        } else if (i == 1) {
            assert_int_equal(control(EPOLL_CTL_MOD, fd, EPOLLOUT), 0);
        } else if (i == 2) {
            iw_libc()->write(peers[fake.last], "x", 1);
            assert_int_equal(control(EPOLL_CTL_MOD, other, EPOLLIN | EPOLLET), 0);
        } else {
            fails(recv(other, &octet, 0, MSG_OOB), EINVAL);
        }
        pthread_join(thread, NULL);
        assert_int_equal(thread_result, 1);
        assert_int_equal(thread_event.data.u64, 1000 + (uint64_t)(i < 2 ? fd : other));
        assert_int_equal(thread_event.events, i < 2 ? EPOLLOUT : EPOLLIN);
        assert_int_equal(control(EPOLL_CTL_MOD, fd, EPOLLRDHUP), 0);
    }
    close(fd);
    close(other);
}

static int changed;

static void change(void)
{
    assert_int_equal(control(EPOLL_CTL_MOD, changed, EPOLLRDHUP), 0);
}

/* Who was woken for nothing sleeps again, in this wait and in the next one. */
static void woken_once(void **unused)
{
    (void)unused;
    struct epoll_event e;
    changed = connected();
    assert_int_equal(control(EPOLL_CTL_ADD, changed, EPOLLRDHUP), 0);
    assert_int_equal(epoll_wait(set, &e, 1, 0), 0);
    fake.polls = 0;
    during_rpoll = change;
    assert_int_equal(epoll_wait(set, &e, 1, 5), 0);
    assert_null(during_rpoll);
    assert_int_equal(fake.polls, 2);
    assert_int_equal(epoll_wait(set, &e, 1, 5), 0);
    assert_int_equal(fake.polls, 3);
    close(changed);
}

/* The system's sets hold a socket before it connects, and again when it is plain. */
static void taken_over_and_given_back(void **unused)
{
    (void)unused;
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    struct epoll_event e;
    const int fd = stream_socket(), second = epoll_create1(EPOLL_CLOEXEC);
    assert_int_equal(control(EPOLL_CTL_ADD, fd, EPOLLOUT | EPOLLONESHOT), 0);
    assert_true(iw_epoll_asked(set, fd, &e));
    assert_int_equal(e.events & (EPOLLOUT | EPOLLIN), EPOLLOUT);
    assert_int_equal(e.data.u64, 1000 + (uint64_t)fd);
    assert_false(iw_epoll_asked(set, fd + 1, &e));
    assert_false(iw_epoll_asked(fd, fd, &e));
    assert_false(iw_epoll_asked(-1, fd, &e));
    assert_true(iw_epoll_is_set(second, fd));
    const int no_set = eventfd(0, EFD_CLOEXEC);
    assert_false(iw_epoll_is_set(no_set, fd));
    close(no_set);
    assert_int_equal(connect_at(fd, "127.0.0.1"), 0);
    assert_false(iw_epoll_asked(set, fd, &e));
    assert_true(iw_epoll_is_ours(set));
    assert_false(iw_epoll_has_state(second));
    assert_int_equal(events_of(fd, 0), EPOLLOUT);
    assert_int_equal(control(EPOLL_CTL_MOD, fd, EPOLLIN), 0);
    assert_int_equal(connect(fd, &nowhere, sizeof(nowhere)), 0);
    assert_false(is_iwarp(fd));
    assert_false(iw_epoll_is_ours(set));
    assert_true(iw_epoll_asked(set, fd, &e));
    assert_int_equal(e.events & (EPOLLOUT | EPOLLIN), EPOLLIN);
    assert_int_equal(e.data.u64, 1000 + (uint64_t)fd);
    fails(control(EPOLL_CTL_ADD, fd, EPOLLIN), EEXIST);
    close(second);
    close(fd);
}

/* Copies of a set's number are the same set, until the last is closed. */
static void copies(void **unused)
{
    (void)unused;
    struct epoll_event e;
    const int fd = connected();
    const int first = epoll_create(1), second = dup(first), third = fcntl(first, F_DUPFD, 300);
    assert_int_equal(third, 300);
    assert_int_equal(dup2(first, 301), 301);
    e = (struct epoll_event){.events = EPOLLOUT, .data.u64 = 5};
    assert_int_equal(epoll_ctl(second, EPOLL_CTL_ADD, fd, &e), 0);
    const int numbers[] = {first, second, third, 301};
    for (int i = 0; i < 4; i++) {
        assert_true(iw_epoll_is_ours(numbers[i]));
        assert_int_equal(epoll_wait(numbers[i], &e, 1, 0), 1);
        assert_int_equal(e.data.u64, 5);
    }
    assert_true(iw_epoll_highest() >= 301);
    for (int i = 0; i < 3; i++)
        close(numbers[i]);
    assert_int_equal(epoll_wait(301, &e, 1, 0), 1);
    assert_int_equal(dup2(set, 301), 301); /* which closes it */
    assert_false(iw_epoll_is_ours(301));
    assert_int_equal(epoll_wait(301, &e, 1, 0), 0);
    close(301);
    close(fd);
}

/* What wakes those who wait for the system's set is one descriptor, until it has been seen. */
static void a_nudge(void **unused)
{
    (void)unused;
    const int fd = connected(), other = connected(), before = count_descriptors();
    struct epoll_event e = {0};
    assert_int_equal(control(EPOLL_CTL_ADD, fd, EPOLLIN), 0);
    assert_int_equal(count_descriptors(), before + 1);
    assert_int_equal(control(EPOLL_CTL_ADD, other, EPOLLIN), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL), 0);
        assert_int_equal(epoll_ctl(set, EPOLL_CTL_DEL, other, NULL), 0);
        assert_int_equal(control(EPOLL_CTL_ADD, other, EPOLLIN), 0);
        assert_int_equal(control(EPOLL_CTL_ADD, fd, EPOLLIN), 0);
        assert_int_equal(count_descriptors(), before + 1);
    }
    /* A wait takes it out, and says nothing of it; a plain one that is ready beside it stays. */
    const int plain = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_int_equal(control(EPOLL_CTL_ADD, plain, EPOLLIN), 0);
    assert_int_equal(epoll_wait(set, &e, 1, GUARD), 1);
    assert_int_equal(e.data.u64, 1000 + (uint64_t)plain);
    close(plain);
    assert_int_equal(epoll_wait(set, &e, 1, SOON), 0);
    assert_int_equal(count_descriptors(), before);
    /* One that was not seen goes with its set. */
    assert_int_equal(epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL), 0);
    assert_int_equal(epoll_ctl(set, EPOLL_CTL_DEL, other, NULL), 0);
    assert_int_equal(control(EPOLL_CTL_ADD, fd, EPOLLIN), 0);
    assert_int_equal(count_descriptors(), before + 1);
    close(other);
    close(fd);
}

#define SET(name) cmocka_unit_test_setup_teardown(name, begin_set, end_set)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SET(refused),
        SET(edges),
        SET(calls_that_are_news),
        SET(once),
        SET(turns),
        SET(nothing_that_concerns),
        SET(woken),
        SET(taken_over_and_given_back),
        SET(copies),
        SET(a_nudge),
        SET(woken_once),
    };
    give_rules();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
