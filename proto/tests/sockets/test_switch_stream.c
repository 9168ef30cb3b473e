/* SPDX-License-Identifier: BSD-3-Clause */
/* A switched socket as a stream: nothing is lost or turned round, whoever waits, however it ends.
 */
#include "switch_pair.h"

#include <pthread.h>

#include "verbs/engine.h"

enum { MUCH = 8 * 1024 * 1024 };

static uint8_t octet_at(size_t i)
{
    return (uint8_t)(i * 2654435761u >> 13);
}

static void *write_much(void *context)
{
    struct iw_switched *s = context;
    uint8_t *octets = malloc(MUCH);
    assert_non_null(octets);
    for (size_t i = 0; i < MUCH; i++)
        octets[i] = octet_at(i);
    /* Pieces of many sizes: 1, 8, 27, 64 ... octets, and some that fill the ring. */
    for (size_t done = 0, k = 1; done < MUCH; k++) {
        size_t length = k % 200 * (k % 200) * (k % 200) % 700001 + 1;
        length = length < MUCH - done ? length : MUCH - done;
        assert_int_equal(put(s, octets + done, length), length);
        done += length;
    }
    free(octets);
    return NULL;
}

static void check_much(struct iw_switched *s)
{
    static uint8_t in[300000];
    for (size_t done = 0, k = 1; done < MUCH; k++) {
        const size_t room = k % 150 * (k % 150) * 13 % sizeof(in) + 1;
        const ssize_t n = get(s, in, room, 0);
        assert_true(n > 0);
        for (ssize_t i = 0; i < n; i++)
            assert_int_equal(in[i], octet_at(done + (size_t)i));
        done += (size_t)n;
    }
}

static void much_one_way(void **state)
{
    struct pair *p = *state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_much, p->s[0]), 0);
    check_much(p->s[1]);
    pthread_join(thread, NULL);
}

static void much_both_ways(void **state)
{
    struct pair *p = *state;
    pthread_t thread[2];
    assert_int_equal(pthread_create(&thread[0], NULL, write_much, p->s[0]), 0);
    assert_int_equal(pthread_create(&thread[1], NULL, write_much, p->s[1]), 0);
    check_much(p->s[1]);
    check_much(p->s[0]);
    pthread_join(thread[0], NULL);
    pthread_join(thread[1], NULL);
}

/* Writes until no more is taken. Returns the octets. */
static size_t fill(struct pair *p, uint8_t *out, size_t length)
{
    struct iovec piece = {out, length};
    const struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    size_t total = 0;
    for (unsigned idle = 0; idle < 3;) {
        const ssize_t n = iw_switched_send(p->s[0], &message, MSG_DONTWAIT | MSG_NOSIGNAL, true);
        idle = n < 0 ? idle + 1 : 0;
        total += n > 0 ? (size_t)n : 0;
        if (n < 0) {
            assert_int_equal(errno, EAGAIN);
            struct iw_sockets_completion none;
            (void)iw_switched_poll(p->s[1], &none, 1, 100); /* drives both */
        }
        assert_true(total < (size_t)1 << 30);
    }
    return total;
}

/* Nobody reads: the writer is stopped, and what is held back is bounded. */
static void a_reader_that_is_slow(void **state)
{
    struct pair *p = *state;
    static uint8_t out[64 * 1024];
    const size_t total = fill(p, out, sizeof(out));
    ssize_t n;
    iw_verbs_lock();
    const size_t used = p->s[1]->rx.used, receiving = p->s[1]->receiving;
    iw_verbs_unlock();
    assert_true(used > IW_SOCKETS_UNREAD);
    assert_true(used + receiving <= IW_SWITCHED_RX);
    for (size_t done = 0; done < total; done += (size_t)n) {
        n = get(p->s[1], out, sizeof(out), 0);
        assert_true(n > 0);
    }
    assert_int_equal(get(p->s[1], out, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
}

/* More messages in one step of the transport's than the queue of receives is long. */
static void many_tiny_messages(void **state)
{
    struct pair *p = *state;
    enum { COUNT = 5000 };
    for (size_t i = 0; i < COUNT; i++) {
        uint8_t octet = octet_at(i);
        assert_int_equal(put(p->s[0], &octet, 1), 1);
    }
    for (size_t i = 0; i < COUNT;) {
        uint8_t in[64];
        const ssize_t n = get(p->s[1], in, sizeof(in), 0);
        assert_true(n > 0);
        for (ssize_t k = 0; k < n; k++)
            assert_int_equal(in[k], octet_at(i++));
    }
}

static void flags_of_recv(void **state)
{
    struct pair *p = *state;
    char in[16] = "";
    assert_int_equal(get(p->s[1], in, 4, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(put(p->s[0], "abc", 3), 3);
    assert_int_equal(get(p->s[1], in, 8, MSG_PEEK), 3);
    assert_int_equal(put(p->s[0], "defg", 4), 4);
    assert_int_equal(get(p->s[1], in, 7, MSG_WAITALL), 7);
    assert_memory_equal(in, "abcdefg", 7);
    assert_int_equal(get(p->s[1], in, 0, 0), 0);
    assert_int_equal(get(p->s[1], in, 1, MSG_OOB), -1);
    assert_int_equal(errno, EOPNOTSUPP);
    assert_int_equal(put(p->s[0], "xyz", 3), 3);
    assert_int_equal(get(p->s[1], in, 3, MSG_TRUNC), 3);
    assert_memory_equal(in, "abc", 3);
}

static void scattered_pieces(void **state)
{
    struct pair *p = *state;
    char a[2], b[5];
    struct iovec out[3] = {{"ab", 2}, {"", 0}, {"cdef", 4}};
    struct iovec in[3] = {{a, 2}, {NULL, 0}, {b, 5}};
    const struct msghdr send = {.msg_iov = out, .msg_iovlen = 3};
    struct msghdr receive = {.msg_iov = in, .msg_iovlen = 3};
    assert_int_equal(iw_switched_send(p->s[0], &send, 0, true), 6);
    assert_int_equal(iw_switched_receive(p->s[1], &receive, 0, true), 6);
    assert_memory_equal(a, "ab", 2);
    assert_memory_equal(b, "cdef", 4);
}

static void each_half_closes(void **state)
{
    struct pair *p = *state;
    char in[8];
    assert_int_equal(put(p->s[0], "end", 3), 3);
    assert_int_equal(iw_switched_shutdown(p->s[0], SHUT_WR), 0);
    assert_int_equal(put(p->s[0], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    assert_int_equal(get(p->s[1], in, 8, 0), 3);
    assert_int_equal(get(p->s[1], in, 8, 0), 0);
    assert_int_equal(put(p->s[1], "still", 5), 5);
    assert_int_equal(get(p->s[0], in, 8, 0), 5);
    assert_int_equal(iw_switched_shutdown(p->s[1], SHUT_WR), 0);
    assert_int_equal(get(p->s[0], in, 8, 0), 0);
    assert_int_equal(get(p->s[1], in, 8, 0), 0);
    assert_int_equal(iw_switched_shutdown(p->s[1], 9), -1);
    assert_int_equal(errno, EINVAL);
}

/* Closed at once after it was written: all of it arrives, then the end. */
static void a_close_loses_nothing(void **state)
{
    struct pair *p = *state;
    static uint8_t out[200000], in[200000];
    for (size_t i = 0; i < sizeof(out); i++)
        out[i] = octet_at(i);
    assert_int_equal(put(p->s[0], out, sizeof(out)), sizeof(out));
    close(p->fd[0]);
    p->fd[0] = -1;
    iw_switched_close(p->s[0]);
    p->s[0] = NULL;
    assert_int_equal(get(p->s[1], in, sizeof(in), MSG_WAITALL), sizeof(in));
    assert_memory_equal(in, out, sizeof(in));
    assert_int_equal(get(p->s[1], in, 1, 0), 0);
}

/* The peer's program dies: TCP is reset in the middle of it all. */
static void a_reset(void **state)
{
    struct pair *p = *state;
    char in[8];
    const struct linger at_once = {.l_onoff = 1};
    assert_int_equal(put(p->s[0], "abc", 3), 3);
    assert_int_equal(get(p->s[1], in, 2, 0), 2);
    assert_int_equal(setsockopt(p->fd[0], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    assert_int_equal(connect(p->fd[0], &nowhere, sizeof(nowhere)), 0);
    assert_int_equal(get(p->s[1], in, 8, 0), 1); /* what had come is not lost */
    assert_int_equal(get(p->s[1], in, 8, 0), -1);
    assert_int_equal(errno, ECONNRESET);
    assert_int_equal(put(p->s[1], "x", 1), -1);
    assert_int_equal(errno, ECONNRESET);
}

/* While the connection is held: what has come is read, then the end is known. */
static void a_reset_while_nobody_reads(void **state)
{
    struct pair *p = *state;
    static uint8_t out[64 * 1024];
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    const size_t total = fill(p, out, sizeof(out));
    size_t done = 0;
    ssize_t n;
    assert_int_equal(connect(p->fd[0], &nowhere, sizeof(nowhere)), 0);
    while ((n = get(p->s[1], out, sizeof(out), 0)) > 0)
        done += (size_t)n;
    assert_int_equal(n, -1);
    assert_int_equal(errno, ECONNRESET);
    assert_true(done > IW_SOCKETS_UNREAD && done < total);
}

static void time_outs_of_the_socket(void **state)
{
    struct pair *p = *state;
    char in[8];
    p->s[0]->receive_timeout = (struct timeval){.tv_usec = 1000};
    assert_int_equal(get(p->s[0], in, 8, 0), -1);
    assert_int_equal(errno, EAGAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SWITCHED(much_one_way),
        SWITCHED(much_both_ways),
        SWITCHED(a_reader_that_is_slow),
        SWITCHED(many_tiny_messages),
        SWITCHED(flags_of_recv),
        SWITCHED(scattered_pieces),
        SWITCHED(each_half_closes),
        SWITCHED(a_close_loses_nothing),
        SWITCHED(a_reset),
        SWITCHED(time_outs_of_the_socket),
        SWITCHED(a_reset_while_nobody_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
