/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits, turns and numbers: what each returns by what it was given, and what is left afterwards. */
#include "faked_rsockets.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/select.h>
#include <time.h>

#include "iwarp/transport.h"
#include "sockets/epoll_set.h"
#include "sockets/poll_list.h"
#include "sockets/rsocket_made.h"
#include "sockets/rsocket_turns.h"

enum { MS = 1000000 };

/* ---- time ---- */

static void times(void **unused)
{
    (void)unused;
    const uint64_t before = iw_transport_now(), soon = iw_wait_until_ms(3600000);
    const uint64_t then = iw_wait_until(&(struct timespec){7200, 5});
    const uint64_t after = iw_transport_now();
    assert_in_range(soon, before + UINT64_C(3600000000000), after + UINT64_C(3600000000000));
    assert_in_range(then, before + UINT64_C(7200000000005), after + UINT64_C(7200000000005));
    assert_true(iw_wait_until_ms(0) <= iw_transport_now());
    assert_true(iw_wait_until_ms(-1) == IW_WAIT_FOREVER);
    assert_true(iw_wait_until(NULL) == IW_WAIT_FOREVER);
    /* 2^62 ns is 4,611,686,018 s. */
    assert_true(iw_wait_until(&(struct timespec){4611686019, 0}) == IW_WAIT_FOREVER);
    assert_true(iw_wait_until(&(struct timespec){4611686018, 0}) < IW_WAIT_FOREVER);
    assert_true(iw_wait_until(&(struct timespec){-1, 0}) == IW_WAIT_FOREVER);
}

static void note_signal(int signal)
{
    (void)signal;
}

/* Only if each signal that the program handles asks for it. */
static void restarts(void **unused)
{
    (void)unused;
    struct sigaction a = {.sa_handler = note_signal, .sa_flags = SA_RESTART}, before[2];
    errno = 77;
    assert_true(iw_wait_restarts());
    assert_int_equal(errno, 77);
    sigaction(SIGUSR1, &a, &before[0]);
    assert_true(iw_wait_restarts());
    a.sa_flags = 0;
    sigaction(SIGHUP, &a, &before[1]); /* the first signal */
    assert_false(iw_wait_restarts());
    a.sa_handler = SIG_IGN;
    sigaction(SIGHUP, &a, NULL);
    assert_true(iw_wait_restarts());
    a.sa_handler = note_signal;
    sigaction(SIGUSR1, &a, NULL);
    assert_false(iw_wait_restarts());
    sigaction(SIGHUP, &before[1], NULL);
    sigaction(SIGUSR1, &before[0], NULL);
    sigaction(SIGRTMAX, &a, &before[0]); /* the last one */
    assert_false(iw_wait_restarts());
    sigaction(SIGRTMAX, &before[0], NULL);
    assert_true(iw_wait_restarts());
}

/* ---- waiting ---- */

static void waits(void **unused)
{
    (void)unused;
    int plain[2];
    const int fd = connected(), rs = fake.last;
    assert_int_equal(iw_libc()->socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, plain), 0);
    struct pollfd list[3] = {{.fd = rs, .events = POLLIN},
                             {.fd = -1, .events = POLLIN},
                             {.fd = plain[0], .events = POLLIN}};
    /* By poll() alone, without rsockets. */
    fake.polls = 0;
    assert_int_equal(iw_wait(list + 1, 2, 0, NULL, false), 0);
    assert_int_equal(iw_wait(list + 1, 2, iw_wait_until_ms(1), NULL, false), 0);
    assert_int_equal(fake.polls, 0);
    /* With them; a look is no wait. */
    assert_int_equal(iw_wait(list, 3, 0, NULL, true), 0);
    assert_int_equal(fake.polls, 1);
    assert_int_equal(fake.timeout, 0);
    const uint64_t until = iw_wait_until_ms(3);
    assert_int_equal(iw_wait(list, 3, until, NULL, true), 0);
    assert_int_equal(fake.timeout, -1); /* rpoll never gets a time-out */
    assert_true(iw_transport_now() >= until);
    peer_says("x", 1);
    assert_int_equal(iw_wait(list, 3, IW_WAIT_FOREVER, NULL, true), 1);
    assert_int_equal(list[0].revents, POLLIN);
    assert_int_equal(iw_libc()->write(plain[1], "x", 1), 1);
    assert_int_equal(iw_wait(list, 3, IW_WAIT_FOREVER, NULL, true), 2);
    assert_int_equal(list[2].revents, POLLIN);
    assert_int_equal(iw_wait(list + 1, 2, IW_WAIT_FOREVER, NULL, false), 1);
    for (int i = 0; i < 2; i++)
        iw_libc()->close(plain[i]);
    close(fd);
}

static void *say_later(void *fd)
{
    assert_int_equal(iw_libc()->write(*(int *)fd, "x", 1), 1);
    return NULL;
}

/* A sleep that ends because of the last or the first of many descriptors. */
static void waits_for_many(void **unused)
{
    (void)unused;
    enum { MANY = 150 };
    static struct pollfd list[MANY];
    const int fd = connected(), rs = fake.last;
    for (int count = 127; count <= 129; count++) {
        pthread_t thread;
        char octet;
        for (int i = 0; i < MANY; i++)
            list[i] = (struct pollfd){.fd = -1, .events = POLLIN};
        list[count - 1].fd = rs;
        assert_int_equal(pthread_create(&thread, NULL, say_later, &peers[rs]), 0);
        assert_int_equal(iw_wait(list, (nfds_t)count, IW_WAIT_FOREVER, NULL, true), 1);
        assert_int_equal(list[count - 1].revents, POLLIN);
        pthread_join(thread, NULL);
        assert_int_equal(read(fd, &octet, 1), 1);
    }
    close(fd);
}

static int gate_rs;
static atomic_int gate_result;

static void *wait_at_the_gate(void *unused)
{
    struct pollfd one = {.fd = gate_rs, .events = POLLIN};
    (void)unused;
    atomic_store(&gate_result, 100 + iw_wait(&one, 1, IW_WAIT_FOREVER, NULL, true));
    return NULL;
}

/* All leave rpoll before a fork, and go on after it as if nothing had been. */
static void a_gate(void **unused)
{
    (void)unused;
    pthread_t thread;
    const int fd = connected();
    gate_rs = fake.last;
    atomic_store(&gate_result, 0);
    iw_wait_close_gate();
    iw_wait_open_gate(false);
    assert_int_equal(pthread_create(&thread, NULL, wait_at_the_gate, NULL), 0);
    for (int i = 0; i < 10; i++) {
        iw_wait_close_gate();
        iw_wait_open_gate(false);
        sched_yield();
    }
    assert_int_equal(atomic_load(&gate_result), 0);
    peer_says("x", 1);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&gate_result), 101);
    close(fd);
}

/* ---- turns ---- */

static unsigned begun_series, ended_series;

static void begin_series(void)
{
    begun_series++;
}

static void end_series(void)
{
    ended_series++;
    errno = EBADF;
}

/* Calls that do not wait are a series of those of the verbs, as long as one thread is in rsockets.
 */
static void series(void **unused)
{
    (void)unused;
    static const struct iw_verbs_series functions = {.begin = begin_series, .end = end_series};
    char octet;
    const int fd = connected(), rs = fake.last;
    assert_false(iw_turns_needed());
    const struct pollfd list[] = {{.fd = rs}};
    assert_int_equal(iw_turns_take(list, 1), 0);
    fake_verbs_series = &functions;
    errno = 0;
    assert_int_equal(iw_turn_receive(rs, &octet, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(begun_series, 1);
    assert_int_equal(ended_series, 1);
    fake.send_most = 0;
    assert_int_equal(iw_turn_send(rs, "x", 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(begun_series, 2);
    assert_int_equal(ended_series, 2);
    assert_int_equal(iw_turn_shutdown(rs, SHUT_WR), 0);
    assert_int_equal(begun_series, 2);
    iw_turns_begin();
    assert_true(iw_turns_needed());
    (void)iw_turn_receive(rs, &octet, 1, MSG_DONTWAIT);
    (void)iw_turn_send(rs, "x", 1, MSG_DONTWAIT);
    assert_int_equal(begun_series, 2);
    fake_verbs_series = NULL;
    close(fd);
}

static void *turn_elsewhere(void *rs)
{
    char octet;
    return iw_turn_receive(*(int *)rs, &octet, 1, MSG_DONTWAIT) == 1 ? rs : NULL;
}

static void turns(void **unused)
{
    (void)unused;
    pthread_t thread;
    void *result;
    iw_turns_begin();
    const struct pollfd list[] = {{.fd = 5}, {.fd = -1}, {.fd = 64 + 5}, {.fd = 0}, {.fd = 63}};
    const uint64_t taken = iw_turns_take(list, 5);
    assert_true(taken == (UINT64_C(1) << 5 | UINT64_C(1) | UINT64_C(1) << 63));
    errno = 77;
    iw_turns_give(taken);
    assert_int_equal(errno, 77);
    iw_turns_take_again(taken);
    iw_turns_give(taken);
    assert_int_equal(iw_turns_take(list + 1, 1), 0);
    /* Whoever has the turn keeps others out until he gives it. */
    int fd = connected(), rs = fake.last;
    peer_says("x", 1);
    const struct pollfd own = {.fd = rs};
    const uint64_t turn = iw_turns_take(&own, 1);
    assert_true(turn == UINT64_C(1) << rs % 64);
    fake.receives = 0;
    assert_int_equal(pthread_create(&thread, NULL, turn_elsewhere, &rs), 0);
    for (int i = 0; i < 100; i++)
        sched_yield();
    assert_int_equal(fake.receives, 0);
    iw_turns_give(turn);
    pthread_join(thread, &result);
    assert_non_null(result);
    /* None is in an rsocket at a fork; afterwards all are free again. */
    for (int child = 0; child < 2; child++) {
        iw_turns_before_fork();
        iw_turns_after_fork(child == 1);
        const uint64_t again = iw_turns_take(list, 5);
        assert_true(again == taken);
        iw_turns_give(again);
    }
    char octet;
    peer_says("y", 1);
    assert_int_equal(iw_turn_receive(rs, &octet, 1, MSG_DONTWAIT), 1);
    assert_int_equal(iw_turn_send(rs, &octet, 1, MSG_DONTWAIT), 1);
    assert_int_equal(iw_turn_shutdown(rs, SHUT_WR), 0);
    assert_true(iw_turns_take(&own, 1) == turn); /* each has given it back */
    iw_turns_give(turn);
    close(fd);
}

/* ---- numbers ---- */

static unsigned closed, visited;
static struct iw_socket *last_closed;

static void note_close(struct iw_socket *s)
{
    closed++;
    last_closed = s;
    errno = EBADF;
}

static void note_visit(struct iw_socket *s)
{
    visited += s->family == AF_INET6;
}

static const struct iw_socket_ops noting = {.close = note_close};

static void numbers(void **unused)
{
    (void)unused;
    char state;
    closed = 0;
    const int highest = iw_sockets_highest();
    struct iw_socket *s = iw_socket_create(&noting, &state, AF_INET6);
    assert_non_null(s);
    assert_ptr_equal(s->state, &state);
    assert_int_equal(s->family, AF_INET6);
    assert_int_equal(s->hold, IW_HOLD_OURS);
    assert_false(s->inherited || s->relayed || s->nonblocking || s->edges);
    assert_int_equal(s->uses, 1);
    errno = 0;
    assert_int_equal(iw_socket_attach(-1, s), -1);
    assert_int_equal(errno, EMFILE);
    assert_int_equal(iw_socket_attach(IW_SOCKETS_NUMBERS, s), -1);
    assert_int_equal(s->uses, 1);
    assert_int_equal(iw_socket_attach(IW_SOCKETS_NUMBERS - 1, s), 0);
    assert_int_equal(iw_sockets_highest(), IW_SOCKETS_NUMBERS - 1);
    assert_true(highest < IW_SOCKETS_NUMBERS - 1);
    assert_int_equal(iw_socket_attach(900, s), 0);
    assert_int_equal(iw_sockets_highest(), IW_SOCKETS_NUMBERS - 1);
    assert_int_equal(s->uses, 3);
    assert_int_equal(s->numbers, 2);
    assert_null(iw_socket_get(-1));
    assert_null(iw_socket_get(IW_SOCKETS_NUMBERS));
    assert_null(iw_socket_get(899));
    assert_ptr_equal(iw_socket_get(900), s);
    assert_int_equal(s->uses, 4);
    iw_socket_put(s);
    /* Each is visited once, however many numbers it has. */
    visited = 0;
    iw_sockets_each(note_visit);
    iw_sockets_each(note_visit);
    assert_int_equal(visited, 2);
    assert_null(iw_socket_detach(-1));
    assert_null(iw_socket_detach(IW_SOCKETS_NUMBERS));
    assert_null(iw_socket_detach(899));
    assert_ptr_equal(iw_socket_detach(IW_SOCKETS_NUMBERS - 1), s);
    assert_int_equal(s->numbers, 1);
    iw_socket_put(s);
    /* A number that goes to another one ends its use of this one. */
    struct iw_socket *other = iw_socket_create(&noting, NULL, AF_INET);
    assert_ptr_not_equal(other, s);
    assert_int_equal(iw_socket_attach(900, other), 0);
    assert_int_equal(s->numbers, 0);
    assert_int_equal(closed, 0);
    errno = 77;
    iw_socket_put(s); /* the maker's */
    assert_int_equal(errno, 77);
    assert_int_equal(closed, 1);
    assert_ptr_equal(last_closed, s);
    assert_false(iw_socket_hold(s));
    assert_true(iw_socket_hold(other));
    iw_socket_put(other);
    /* The memory of one that is closed becomes the next one. */
    assert_ptr_equal(iw_socket_create(&noting, NULL, AF_INET), s);
    iw_socket_put(s);
    assert_int_equal(closed, 2);
    errno = 77;
    iw_socket_make_plain(900);
    iw_socket_make_plain(899);
    assert_int_equal(errno, 77);
    assert_null(iw_socket_get(900));
    assert_int_equal(closed, 2);
    iw_socket_put(other);
    assert_int_equal(closed, 3);
}

/* ---- poll and select ---- */

/* The first, the last and one beyond the list that needs no memory. */
static void long_lists(void **unused)
{
    (void)unused;
    static struct pollfd list[200];
    const int fd = connected();
    for (int count = 63; count <= 66; count++)
        for (int at = 0; at < count; at += count - 1) {
            for (int i = 0; i < count; i++)
                list[i] = (struct pollfd){.fd = -1, .revents = -1};
            assert_false(iw_poll_list_has(list, (nfds_t)count));
            list[at] = (struct pollfd){.fd = fd, .events = POLLOUT};
            assert_true(iw_poll_list_has(list, (nfds_t)count));
            assert_int_equal(poll(list, (nfds_t)count, 0), 1);
            for (int i = 0; i < count; i++)
                assert_int_equal(list[i].revents, i == at ? POLLOUT : 0);
        }
    list[0].fd = fd;
    list[1] = (struct pollfd){.fd = fd, .events = POLLOUT | POLLIN};
    list[0].events = POLLOUT;
    assert_int_equal(poll(list, 2, -1), 2); /* one number twice */
    assert_int_equal(atomic_load(&iw_socket_numbers[fd])->uses, 1);
    list[0].fd = IW_SOCKETS_NUMBERS;
    assert_false(iw_poll_list_has(list, 1));
    errno = 0;
    assert_int_equal(iw_poll_list(list, 1 << 24, 0, NULL), -1);
    assert_int_equal(errno, ENOMEM);
    close(fd);
}

static int selects(int count, fd_set *in, fd_set *out, fd_set *other)
{
    struct timeval none = {0, 0};
    return select(count, in, out, other, &none);
}

static void sets(void **unused)
{
    (void)unused;
    const int fd = connected();
    fd_set a, b, c;
    FD_ZERO(&a);
    FD_ZERO(&b);
    FD_ZERO(&c);
    FD_SET(fd, &a);
    FD_SET(fd, &b);
    FD_SET(fd, &c);
    assert_int_equal(selects(fd + 1, &a, &b, &c), 1);
    assert_false(FD_ISSET(fd, &a));
    assert_true(FD_ISSET(fd, &b));
    assert_false(FD_ISSET(fd, &c));
    /* Beyond the count it is not looked at. */
    FD_SET(fd, &a);
    fake.polls = 0;
    assert_int_equal(selects(fd, &a, NULL, NULL), 0);
    assert_int_equal(fake.polls, 0);
    /* The end and an error are something to read, an error to write. */
    FD_SET(fd, &a);
    fake.hide = -1;
    fake.also = POLLERR;
    assert_int_equal(selects(fd + 1, &a, &b, NULL), 2);
    assert_true(FD_ISSET(fd, &a) && FD_ISSET(fd, &b));
    fake.also = POLLHUP;
    assert_int_equal(selects(fd + 1, &a, NULL, NULL), 1);
    fake.hide = fake.also = 0;
    /* One in the last set only. */
    FD_SET(fd, &c);
    fake.polls = 0;
    assert_int_equal(selects(fd + 1, NULL, NULL, &c), 0);
    assert_true(fake.polls > 0);
    assert_false(FD_ISSET(fd, &c));
    /* A number that is none beside it; times that are none. */
    FD_SET(fd, &b);
    FD_SET(fd + 100, &b);
    errno = 0;
    assert_int_equal(selects(fd + 101, NULL, &b, NULL), -1);
    assert_int_equal(errno, EBADF);
    FD_CLR(fd + 100, &b);
    struct timeval wrong = {0, -1};
    assert_int_equal(select(fd + 1, NULL, &b, NULL, &wrong), -1);
    assert_int_equal(errno, EINVAL);
    wrong = (struct timeval){-1, 0};
    assert_int_equal(select(fd + 1, NULL, &b, NULL, &wrong), -1);
    assert_int_equal(errno, EINVAL);
    /* What is left of the time is reported. */
    struct timeval left = {7200, 0};
    assert_int_equal(select(fd + 1, NULL, &b, NULL, &left), 1);
    assert_in_range(left.tv_sec, 3600, 7199);
    assert_in_range(left.tv_usec, 0, 999999);
    assert_int_equal(select(fd + 1, NULL, &b, NULL, NULL), 1);
    const struct timespec soon = {0, MS};
    FD_SET(fd, &a);
    assert_int_equal(pselect(fd + 1, &a, NULL, NULL, &soon, NULL), 0);
    assert_int_equal(pselect(fd + 1, NULL, &b, NULL, NULL, NULL), 1);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAKED(times),      FAKED(restarts), FAKED(waits),          FAKED(series), FAKED(numbers),
        FAKED(long_lists), FAKED(sets),     FAKED(waits_for_many), FAKED(a_gate), FAKED(turns),
    };
    give_rules();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
