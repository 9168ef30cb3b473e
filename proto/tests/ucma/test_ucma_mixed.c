/* SPDX-License-Identifier: BSD-3-Clause */
/* A listener that takes plain TCP, too: where its connections go, and what is left if none comes.
 */
#include "ucma_commands.h"

#include <dlfcn.h>
#include <poll.h>
#include <sys/syscall.h>

enum { WAIT = 600000 /* ms, until a silent client is plain TCP: no test waits for that */ };

static int (*begin)(unsigned), (*end)(void);
static bool pair_fails;

/* The library's, too: this program's comes first. */
int socketpair(int domain, int type, int protocol, int ends[2])
{
    if (!pair_fails)
        return (int)syscall(SYS_socketpair, domain, type, protocol, ends);
    errno = ENFILE;
    return -1;
}

static int find_functions(void **state)
{
    void *first = dlvsym(RTLD_DEFAULT, "iwarp_mixed_begin", "IWARP_1.0");
    void *second = dlvsym(RTLD_DEFAULT, "iwarp_mixed_end", "IWARP_1.0");
    (void)state;
    memcpy(&begin, &first, sizeof(first));
    memcpy(&end, &second, sizeof(second));
    return begin != NULL && end != NULL ? 0 : -1;
}

/* Takes the connection that a message of the socket carries. */
static int take(int plain)
{
    union {
        struct cmsghdr head;
        char octets[CMSG_SPACE(sizeof(int))];
    } control;
    char octets[2] = "xx";
    struct iovec piece = {octets, sizeof(octets)};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    struct pollfd readable = {.fd = plain, .events = POLLIN};
    int fd = -1;
    assert_int_equal(poll(&readable, 1, -1), 1);
    assert_int_equal(recvmsg(plain, &message, MSG_CMSG_CLOEXEC), 1);
    assert_int_equal(octets[0], 0);
    assert_int_equal(control.head.cmsg_level, SOL_SOCKET);
    assert_int_equal(control.head.cmsg_type, SCM_RIGHTS);
    assert_int_equal(control.head.cmsg_len, CMSG_LEN(sizeof(int)));
    memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
    assert_true(fd >= 0);
    return fd;
}

static void each_kind_goes_its_way(void **state)
{
    char text[4];
    uint32_t id;
    (void)state;
    const unsigned before = count_descriptors();
    int fd = open_it(0);
    assert_int_equal(begin(WAIT), 0);
    const struct sockaddr_in to = listening(fd, &id, 4);
    int plain = end();
    assert_true(plain >= 0);
    assert_int_equal(fcntl(plain, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(plain, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    /* Octets that begin no Request. */
    for (unsigned i = 0; i < 3; i++) {
        int client = connect_socket(&to);
        assert_int_equal(send(client, "GET", 3, 0), 3);
        int server = take(plain);
        assert_int_equal(fcntl(server, F_GETFL) & O_NONBLOCK, 0);
        assert_int_equal(recv(server, text, sizeof(text), 0), 3);
        assert_memory_equal(text, "GET", 3);
        assert_int_equal(send(server, "yes", 3, 0), 3);
        assert_int_equal(recv(client, text, 3, MSG_WAITALL), 3);
        assert_memory_equal(text, "yes", 3);
        close(server); /* the only one: nothing of it is left in the library */
        assert_int_equal(recv(client, text, 1, 0), 0);
        close(client);
    }
    int client = requesting(&to);
    const struct rdma_ucm_event_resp event = get(fd, CONNECT_REQUEST);
    assert_int_equal(recv(plain, text, 1, 0), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(reject(fd, event.id), 0);
    assert_int_equal(destroy(fd, event.id), 0);
    close(client);
    /* The library's end goes with the listener. */
    assert_int_equal(destroy(fd, id), 1);
    assert_int_equal(recv(plain, text, 1, 0), 0);
    close(plain);
    assert_int_equal(close(fd), 0);
    assert_true(count_descriptors() <= before + 6); /* and what the engine and the port keep */
}

/* Nobody takes them any more: they end. */
static void a_program_that_has_closed_its_end(void **state)
{
    char octet;
    uint32_t id;
    (void)state;
    int fd = open_it(0);
    assert_int_equal(begin(WAIT), 0);
    const struct sockaddr_in to = listening(fd, &id, 4);
    int plain = end();
    assert_true(plain >= 0);
    close(plain);
    int client = connect_socket(&to);
    assert_int_equal(send(client, "GET", 3, 0), 3);
    assert_true(recv(client, &octet, 1, 0) <= 0);
    close(client);
    client = requesting(&to); /* the others are still taken */
    const uint32_t asked = get(fd, CONNECT_REQUEST).id;
    assert_int_equal(destroy(fd, asked), 0);
    close(client);
    assert_int_equal(destroy(fd, id), 1);
    assert_int_equal(close(fd), 0);
}

/* A program that takes none: those that its socket has no room for wait, and none is lost. */
static void who_finds_no_room_waits(void **state)
{
    enum { CLIENTS = 700 /* more than a socket has room for */ };
    static int clients[CLIENTS];
    uint32_t id;
    (void)state;
    int fd = open_it(0);
    assert_int_equal(begin(WAIT), 0);
    const struct sockaddr_in to = listening(fd, &id, 4);
    int plain = end();
    assert_true(plain >= 0);
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = connect_socket(&to);
        assert_int_equal(send(clients[i], "GET", 3, 0), 3);
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        close(take(plain));
    for (unsigned i = 0; i < CLIENTS; i++)
        close(clients[i]);
    assert_int_equal(destroy(fd, id), 0);
    close(plain);
    assert_int_equal(close(fd), 0);
}

/* The first listener of the series takes it; others are as always. */
static void only_the_first_listener(void **state)
{
    char octet;
    uint32_t ids[3];
    (void)state;
    int fd = open_it(0);
    assert_int_equal(begin(1), 0);
    const struct sockaddr_in first = listening(fd, &ids[0], 4);
    const struct sockaddr_in second = listening(fd, &ids[1], 4);
    int plain = end();
    assert_true(plain >= 0);
    const struct sockaddr_in third = listening(fd, &ids[2], 4);
    int silent = connect_socket(&first); /* for a ms: plain TCP */
    close(take(plain));
    close(silent);
    const struct sockaddr_in *const others[] = {&second, &third};
    for (unsigned i = 0; i < 2; i++) {
        int client = connect_socket(others[i]);
        assert_int_equal(send(client, "GET / HTTP/1.1\r\n\r\n  ", 20, 0), 20);
        assert_true(recv(client, &octet, 1, 0) <= 0); /* no Request: its connection ends */
        close(client);
    }
    assert_int_equal(recv(plain, &octet, 1, 0), -1);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(destroy(fd, ids[i]), 0);
    close(plain);
    assert_int_equal(close(fd), 0);
}

static void what_is_asked_for_wrongly(void **state)
{
    (void)state;
    const unsigned before = count_descriptors();
    errno = 0;
    assert_int_equal(begin(0), -1);
    assert_int_equal(errno, EINVAL);
    errno = 0;
    assert_int_equal(end(), -1); /* nothing has begun */
    assert_int_equal(errno, EINVAL);
    assert_int_equal(begin(1), 0);
    assert_int_equal(count_descriptors(), before + 2);
    errno = 0;
    assert_int_equal(begin(1), -1); /* twice */
    assert_int_equal(errno, EINVAL);
    assert_int_equal(count_descriptors(), before + 2);
    errno = 0;
    assert_int_equal(end(), -1); /* no listener was made */
    assert_int_equal(errno, EINVAL);
    assert_int_equal(count_descriptors(), before);
    errno = 0;
    assert_int_equal(end(), -1);
    assert_int_equal(errno, EINVAL);
    pair_fails = true;
    errno = 0;
    assert_int_equal(begin(1), -1);
    assert_int_equal(errno, ENFILE);
    pair_fails = false;
    errno = 0;
    assert_int_equal(end(), -1); /* that one has not begun either */
    assert_int_equal(errno, EINVAL);
    assert_int_equal(count_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_for_wrongly),
        cmocka_unit_test(each_kind_goes_its_way),
        cmocka_unit_test(a_program_that_has_closed_its_end),
        cmocka_unit_test(who_finds_no_room_waits),
        cmocka_unit_test(only_the_first_listener),
    };
    return cmocka_run_group_tests(tests, find_functions, NULL);
}
