/* SPDX-License-Identifier: BSD-3-Clause */
/* The option that sets a connected socket to iWARP: what it refuses, what it says, and what a
 * refusal leaves. */
#include "preload_pair.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/prctl.h>

#include "iwarp/sockets.h"

static int set(int fd, const void *value, socklen_t length)
{
    return setsockopt(fd, IPPROTO_TCP, IWARP_MODE, value, length);
}

static void refuses(int fd, const void *value, socklen_t length, int error)
{
    assert_int_equal(set(fd, value, length), -1);
    assert_int_equal(errno, error);
}

/* The option's value, if it is given room for `room` octets. */
static int mode_of(int fd, socklen_t room)
{
    int value = 0x7f7f7f7f;
    socklen_t length = room;
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, IWARP_MODE, &value, &length), 0);
    assert_int_equal(length, room < sizeof(int) ? room : sizeof(int));
    return value;
}

static void test_what_is_refused(void **state)
{
    struct pair p;
    struct iw_sockets_mode mode = {.role = IWARP_INITIATOR};
    const int role = IWARP_INITIATOR, off = IWARP_OFF;
    (void)state;
    open_pair(&p);
    refuses(p.client, NULL, sizeof(int), EFAULT);
    for (socklen_t length = 0; length < sizeof(mode) + 2; length++)
        if (length != sizeof(int) && length != sizeof(mode))
            refuses(p.client, &mode, length, EINVAL);
    refuses(p.client, &off, sizeof(off), EINVAL);
    for (uint32_t flag = 0x10; flag != 0; flag <<= 1) {
        mode.flags = flag;
        refuses(p.client, &mode, sizeof(mode), EINVAL);
    }
    mode.flags = 0;
    mode.private_length = 1;
    refuses(p.client, &mode, sizeof(mode), EFAULT);
    mode.private_data = "";
    mode.private_length = IW_SOCKETS_PRIVATE + 1;
    refuses(p.client, &mode, sizeof(mode), EINVAL);
    mode.private_length = 0;
    mode.ahead_length = 1;
    refuses(p.client, &mode, sizeof(mode), EFAULT);
    const int datagram = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    refuses(datagram, &role, sizeof(role), EOPNOTSUPP);
    refuses(-1, &role, sizeof(role), EBADF);
    refuses(p.listener, &role, sizeof(role), ENOTCONN);
    /* It is plain TCP still. */
    assert_int_equal(write(p.client, "plain", 5), 5);
    char in[5];
    assert_int_equal(recv(p.server, in, 5, MSG_WAITALL), 5);
    for (socklen_t room = 1; room < 7; room++)
        assert_int_equal((uint32_t)mode_of(p.client, room),
                         room < 4 ? UINT32_C(0x7f7f7f7f) << 8 * room : IWARP_OFF);
    int value;
    socklen_t length = sizeof(value);
    assert_int_equal(getsockopt(p.client, IPPROTO_TCP, IWARP_MODE, NULL, &length), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(getsockopt(p.client, IPPROTO_TCP, IWARP_MODE, &value, NULL), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(getsockopt(datagram, IPPROTO_TCP, IWARP_MODE, &value, &length), -1);
    assert_int_equal(errno, ENOPROTOOPT);
    assert_int_equal(getsockopt(-1, IPPROTO_TCP, IWARP_MODE, &value, &length), -1);
    assert_int_equal(errno, EBADF);
    close(datagram);
    close_pair(&p);
}

static void *initiate(void *of)
{
    const struct pair *p = of;
    const struct iw_sockets_mode mode = {
        .role = IWARP_INITIATOR, .private_data = "hello", .private_length = 5};
    static int result;
    result = set(p->client, &mode, sizeof(mode)) == 0 ? 0 : errno;
    return &result;
}

/* A Request that the program answers, with private data both ways. */
static void answered(bool accepts)
{
    struct pair p;
    pthread_t thread;
    void *result;
    char in[20] = "";
    const struct iw_sockets_mode mode = {.role = IWARP_RESPONDER, .flags = IW_SOCKETS_ASK};
    open_pair(&p);
    assert_int_equal(pthread_create(&thread, NULL, initiate, &p), 0);
    assert_int_equal(set(p.server, &mode, sizeof(mode)), 0);
    assert_int_equal(iw_sockets_private(p.server, in, sizeof(in)), 5);
    assert_string_equal(in, "hello");
    if (accepts)
        assert_int_equal(iw_sockets_accept(p.server, "welcome", 7), 0);
    else
        assert_int_equal(iw_sockets_reject(p.server, "sorry", 5), 0);
    pthread_join(thread, &result);
    assert_int_equal(*(int *)result, accepts ? 0 : ECONNREFUSED);
    assert_int_equal(mode_of(p.client, 4), accepts ? IWARP_INITIATOR : IWARP_OFF);
    assert_int_equal(mode_of(p.server, 4), accepts ? IWARP_RESPONDER : IWARP_OFF);
    /* What came with the answer, also after a refusal; as much of it as there is room for. */
    assert_int_equal(iw_sockets_private(p.client, NULL, 0), accepts ? 7 : 5);
    memset(in, '.', sizeof(in));
    assert_int_equal(iw_sockets_private(p.client, in, 3), accepts ? 7 : 5);
    assert_memory_equal(in, accepts ? "wel." : "sor.", 4);
    assert_int_equal(iw_sockets_private(p.client, in, sizeof(in)), accepts ? 7 : 5);
    assert_memory_equal(in, accepts ? "welcome." : "sorry...", 8);
    /* Either way octets travel. */
    assert_int_equal(write(p.server, "octets", 6), 6);
    assert_int_equal(recv(p.client, in, 6, MSG_WAITALL), 6);
    assert_memory_equal(in, "octets", 6);
    if (!accepts) {
        struct pair other;
        open_pair(&other); /* which nobody has refused */
        assert_int_equal(iw_sockets_private(other.client, in, sizeof(in)), -1);
        assert_int_equal(errno, ENOTCONN);
        close_pair(&other);
        assert_int_equal(iw_sockets_private(p.client, in, sizeof(in)), 5);
    }
    close_pair(&p);
}

static void test_an_answer(void **state)
{
    (void)state;
    answered(true);
    answered(false);
    /* The newest refusals are known, of more sockets than that are kept. */
    for (int i = 0; i < 17; i++)
        answered(false);
}

static void fails(ssize_t result, int error)
{
    assert_int_equal(result, -1);
    assert_int_equal(errno, error);
}

/* What is for switched sockets alone fails on any other, whether it is a socket or not. */
static void test_on_a_plain_one(void **state)
{
    struct pair p;
    uint64_t memory = 0;
    struct iw_sockets_memory name;
    struct iw_sockets_completion done;
    struct iw_sockets_terminate said;
    const struct iw_sockets_request request = {.operation = IW_SOCKETS_OP_IMMEDIATE};
    (void)state;
    open_pair(&p);
    const int numbers[] = {p.client, p.listener, -1, 1 << 20};
    for (int i = 0; i < 4; i++) {
        const int fd = numbers[i], error = i < 2 ? ENOTCONN : EBADF;
        fails(iw_sockets_accept(fd, NULL, 0), error);
        fails(iw_sockets_reject(fd, NULL, 0), error);
        fails(iw_sockets_advertise(fd, &memory, 8, IW_SOCKETS_READABLE, &name), error);
        fails(iw_sockets_withdraw(fd, 1), error);
        fails(iw_sockets_post(fd, &request), error);
        fails(iw_sockets_poll(fd, &done, 1, 0), error);
        fails(iw_sockets_event(fd), error);
        fails(iw_sockets_terminate(fd, &said), error);
        fails(iw_sockets_private(fd, &memory, 1), error);
    }
    close_pair(&p);
}

/* A call that is only looked at comes back as it went. */
static void test_prctl(void **state)
{
    char name[17] = "";
    (void)state;
    assert_int_equal(prctl(PR_SET_NAME, "iw-test"), 0);
    assert_int_equal(prctl(PR_GET_NAME, name), 0);
    assert_string_equal(name, "iw-test");
    assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0);
    assert_int_equal(prctl(PR_GET_DUMPABLE), 1);
    assert_int_equal(prctl(PR_SET_DUMPABLE, 7), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 0ul, 0ul, 1ul), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 0ul, 1ul, 0ul), -1);
    assert_int_equal(errno, EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_an_answer),
        cmocka_unit_test(test_on_a_plain_one),
        cmocka_unit_test(test_prctl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
