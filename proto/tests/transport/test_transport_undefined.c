/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No octet that nobody wrote is sent, and none that did not come is looked at: the octets of a
 * conversation are the same whatever memory held before. Under valgrind each use of such an octet
 * is an error, also where it changes nothing (transport_under_valgrind).
 */
#include "faults_conversation.h"
#include "undefined.h"

#include <malloc.h>
#include <stdio.h>
#include <sys/random.h>

enum { ROOM = 400000, FILLS = 3 };

/* The octets that were sent to the server and to the client. */
struct sent {
    uint8_t octets[2][ROOM];
    size_t length[2];
};

static struct sent *now;
static int client = -1; /* descriptor */
static uint32_t drawn;

static void record(int fd, const struct msghdr *m, ssize_t n)
{
    size_t left = n > 0 ? (size_t)n : 0, side = fd == client ? 0 : 1;
    for (size_t i = 0; i < m->msg_iovlen && left > 0; i++) {
        size_t length = m->msg_iov[i].iov_len < left ? m->msg_iov[i].iov_len : left;
        assert_true(now->length[side] + length <= ROOM);
        memcpy(now->octets[side] + now->length[side], m->msg_iov[i].iov_base, length);
        now->length[side] += length;
        left -= length;
    }
}

#define WRAPPED(type, name, parameters)                                                            \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters

WRAPPED(int, connect, (int fd, const struct sockaddr *to, socklen_t length))
{
    client = fd;
    return __real_connect(fd, to, length);
}

WRAPPED(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags))
{
    ssize_t n = __real_sendmsg(fd, m, flags);
    record(fd, m, n);
    return n;
}

WRAPPED(ssize_t, send, (int fd, const void *from, size_t length, int flags))
{
    struct iovec piece = {(void *)(uintptr_t)from, length};
    const struct msghdr m = {.msg_iov = &piece, .msg_iovlen = 1};
    ssize_t n = __real_send(fd, from, length, flags);
    record(fd, &m, n);
    return n;
}

WRAPPED(int, sendmmsg, (int fd, struct mmsghdr *m, unsigned count, int flags))
{
    int n = __real_sendmmsg(fd, m, count, flags);
    for (int i = 0; i < n; i++)
        record(fd, &m[i].msg_hdr, m[i].msg_len);
    return n;
}

/* The same STags in every conversation. */
WRAPPED(ssize_t, getrandom, (void *out, size_t length, unsigned flags))
{
    (void)flags;
    for (size_t i = 0; i < length; i++) {
        drawn = drawn * 1664525 + 1013904223;
        ((uint8_t *)out)[i] = (uint8_t)(drawn >> 24);
    }
    return (ssize_t)length;
}

static void converse(enum style style, uint8_t fill)
{
    struct iw_host_port at;
    undefined_fill = fill;
    (void)mallopt(M_PERTURB, fill); /* fresh memory holds its complement */
    drawn = 1;
    client = -1;
    now->length[0] = now->length[1] = 0;
    struct talk *t = begin_talk(style, &at);
    hold_talk(t, &at);
    assert_true(judge_conversation(t));
    end_talk(t);
    (void)mallopt(M_PERTURB, 0);
}

/* One request at a time, so that nothing but memory can make a difference. */
static void octets_do_not_depend_on_memory(void **state)
{
    static const uint8_t fills[FILLS] = {0x01, 0xfe, 0x5a};
    static struct sent sent[FILLS];
    (void)state;
    alone = true;
    for (enum style style = PLAIN; style < STYLES; style++) {
        for (size_t k = 0; k < FILLS; k++) {
            now = &sent[k];
            converse(style, fills[k]);
        }
        for (size_t k = 1; k < FILLS; k++)
            for (size_t side = 0; side < 2; side++) {
                assert_true(sent[0].length[side] > 20000);
                assert_int_equal(sent[k].length[side], sent[0].length[side]);
                assert_memory_equal(sent[k].octets[side], sent[0].octets[side],
                                    sent[0].length[side]);
            }
    }
    alone = false;
}

/* Several at a time, and receives that end anywhere in a header: for valgrind. */
static void receives_that_come_short(void **state)
{
    static const size_t most[] = {0, 7, 19, 300};
    static struct sent sent;
    (void)state;
    now = &sent;
    for (size_t k = 0; k < sizeof(most) / sizeof(*most); k++) {
        undefined_most = most[k];
        for (enum style style = PLAIN; style < STYLES; style++)
            converse(style, 0xdb);
    }
    undefined_most = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(octets_do_not_depend_on_memory),
        cmocka_unit_test(receives_that_come_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
