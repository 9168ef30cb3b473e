/* SPDX-License-Identifier: BSD-3-Clause */
/* iWARP sockets over fork and exec. */
#include "preload_pair.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { LENGTH = 500000 };

static uint8_t out[LENGTH], in[LENGTH];

/* A failed check of a child ends it so. */
static void require(bool holds, int line)
{
    if (!holds) {
        fprintf(stderr, "child: line %d: errno %d\n", line, errno);
        _exit(1);
    }
}
#define REQUIRE(holds) require((holds), __LINE__)

static void assert_child_good(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static bool send_all(int fd, const uint8_t *octets, size_t length)
{
    for (size_t done = 0; done < length;) {
        const ssize_t n = write(fd, octets + done, length - done);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static bool receive_exactly(int fd, uint8_t *octets, size_t length)
{
    for (size_t done = 0; done < length;) {
        const ssize_t n = read(fd, octets + done, length - done);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* A server with a child for each connection, three times. */
static void test_a_child_serves(void **state)
{
    struct pair p;
    (void)state;
    fill(out, LENGTH, 1);
    open_listener(&p);
    for (unsigned i = 0; i < 3; i++) {
        connect_client(&p);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            close(p.listener);
            close(p.client);
            REQUIRE(receive_exactly(p.server, in, 1000) && memcmp(in, out, 1000) == 0);
            REQUIRE(send_all(p.server, out, LENGTH));
            _exit(0); /* with all that it has sent */
        }
        close(p.server);
        assert_true(send_all(p.client, out, 1000));
        assert_true(receive_exactly(p.client, in, LENGTH));
        assert_memory_equal(in, out, LENGTH);
        assert_int_equal(read(p.client, in, 1), 0);
        assert_child_good(child);
        close(p.client);
    }
    close(p.listener);
}

/* One reads and the other one writes, as rsync's do. */
static void test_both_go_on(void **state)
{
    struct pair p;
    (void)state;
    fill(out, LENGTH, 2);
    open_pair(&p);
    const pid_t peer = fork();
    if (peer == 0) { /* the other end: sends back what comes */
        close(p.server);
        close(p.listener);
        for (size_t done = 0; done < LENGTH;) {
            const ssize_t n = read(p.client, in, 50000);
            REQUIRE(n > 0 && send_all(p.client, in, (size_t)n));
            done += (size_t)n;
        }
        REQUIRE(read(p.client, in, 1) == 0);
        _exit(0);
    }
    close(p.client);
    const pid_t reader = fork();
    if (reader == 0) {
        REQUIRE(receive_exactly(p.server, in, LENGTH) && memcmp(in, out, LENGTH) == 0);
        _exit(0);
    }
    assert_true(send_all(p.server, out, LENGTH));
    assert_child_good(reader);
    assert_int_equal(shutdown(p.server, SHUT_WR), 0); /* the socket is still good */
    assert_child_good(peer);
    close(p.server);
    close(p.listener);
}

/* The child uses it while its parent keeps its copy and uses it afterwards, as sshd's do. */
static void test_first_the_child_then_the_parent(void **state)
{
    struct pair p;
    (void)state;
    open_pair(&p);
    const pid_t child = fork();
    if (child == 0) {
        struct pollfd one = {.fd = p.server, .events = POLLIN};
        REQUIRE(poll(&one, 1, GUARD) == 1);
        REQUIRE(recv(p.server, in, 2, MSG_PEEK) == 2);
        REQUIRE(receive_exactly(p.server, in, 5) && memcmp(in, "first", 5) == 0);
        REQUIRE(fcntl(p.server, F_SETFL, O_NONBLOCK) == 0);
        REQUIRE(read(p.server, in, 1) == -1 && errno == EAGAIN);
        REQUIRE(send(p.server, "answer", 6, 0) == 6);
        _exit(0);
    }
    assert_int_equal(write(p.client, "first", 5), 5);
    receive_all(p.client, in, 6);
    assert_memory_equal(in, "answer", 6);
    assert_child_good(child);
    assert_int_equal(fcntl(p.server, F_SETFL, 0), 0);
    assert_int_equal(write(p.client, "second", 6), 6);
    receive_all(p.server, in, 6);
    assert_memory_equal(in, "second", 6);
    close_pair(&p);
}

/* A child that cannot open anything any more. */
static void test_a_child_without_descriptors(void **state)
{
    struct pair p;
    (void)state;
    open_pair(&p);
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit none = {1, 1};
        REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
        REQUIRE(receive_exactly(p.server, in, 5) && memcmp(in, "octet", 5) == 0);
        REQUIRE(write(p.server, in, 5) == 5);
        _exit(0);
    }
    assert_int_equal(write(p.client, "octet", 5), 5);
    receive_all(p.client, in, 5);
    assert_child_good(child);
    close_pair(&p);
}

/* Children that do not use it leave it alone, however they end. */
static void test_children_that_do_not_use_it(void **state)
{
    struct pair p;
    (void)state;
    fill(out, LENGTH, 3);
    open_pair(&p);
    for (unsigned i = 0; i < 4; i++) {
        const pid_t child = fork();
        if (child == 0 && i == 0)
            _exit(0);
        if (child == 0 && i == 1) {
            close_pair(&p);
            _exit(0);
        }
        if (child == 0 && i == 2)
            execl("/bin/true", "true", (char *)NULL);
        if (child == 0)
            raise(SIGKILL);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(write(p.client, out + 1000 * i, 1000), 1000);
        receive_all(p.server, in, 1000);
        assert_memory_equal(in, out + 1000 * i, 1000);
    }
    close(p.server);
    assert_int_equal(read(p.client, in, 1), 0);
    close(p.client);
    close(p.listener);
}

/* Two processes accept from one listener that their parent has made and does not use. */
static void test_two_children_accept(void **state)
{
    struct pair p;
    pid_t children[2];
    char octet = 'x';
    (void)state;
    open_listener(&p);
    for (unsigned i = 0; i < 2; i++) {
        children[i] = fork();
        while (children[i] == 0) {
            const int server = accept(p.listener, NULL, NULL);
            REQUIRE(server >= 0);
            REQUIRE(read(server, &octet, 1) == 1 && write(server, &octet, 1) == 1);
            REQUIRE(read(server, &octet, 1) == 0);
            close(server);
        }
    }
    const pid_t client = fork();
    for (unsigned i = 0; client == 0 && i < 8; i++) {
        p.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        REQUIRE(connect(p.client, address(&p), sizeof(p.at)) == 0);
        REQUIRE(write(p.client, "x", 1) == 1);
        REQUIRE(read(p.client, &octet, 1) == 1);
        close(p.client);
    }
    if (client == 0)
        _exit(0);
    assert_child_good(client);
    for (unsigned i = 0; i < 2; i++) {
        kill(children[i], SIGKILL);
        assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
    }
    close(p.listener);
}

/* The child of a child, which has nothing of the one in between, as daemons do it. */
static void test_a_grandchild_serves(void **state)
{
    struct pair p;
    (void)state;
    open_pair(&p);
    const pid_t child = fork();
    if (child == 0) {
        close(p.client);
        const pid_t grandchild = fork();
        REQUIRE(grandchild >= 0);
        if (grandchild > 0)
            _exit(0);
        REQUIRE(receive_exactly(p.server, in, 5));
        REQUIRE(write(p.server, in, 5) == 5);
        _exit(0);
    }
    close(p.server);
    assert_child_good(child);
    assert_int_equal(write(p.client, "octet", 5), 5);
    receive_all(p.client, in, 5);
    assert_int_equal(read(p.client, in, 1), 0);
    close(p.client);
    close(p.listener);
}

/* Each end learns that the other one's process was killed, the one that connected and the one that
 * accepted. */
static void test_the_death_of_the_peer(void **state)
{
    struct pair p;
    int status, way[2];
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(pipe(way), 0);
        const pid_t child = fork();
        if (child == 0) {
            open_listener(&p);
            REQUIRE(write(way[1], &p.at, sizeof(p.at)) == (ssize_t)sizeof(p.at));
            p.server = accept(p.listener, NULL, NULL);
            REQUIRE(p.server >= 0 && write(p.server, "x", 1) == 1);
            for (;;)
                pause();
        }
        assert_int_equal(read(way[0], &p.at, sizeof(p.at)), sizeof(p.at));
        p.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(p.client, address(&p), sizeof(p.at)), 0);
        receive_all(p.client, in, 1);
        kill(child, SIGKILL);
        assert_true(await(p.client, POLLIN) & POLLIN);
        assert_true(read(p.client, in, 1) <= 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        close(p.client);
        close(way[0]);
        close(way[1]);
    }
    open_listener(&p);
    const pid_t child = fork();
    if (child == 0) {
        p.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        REQUIRE(connect(p.client, address(&p), sizeof(p.at)) == 0);
        REQUIRE(write(p.client, "x", 1) == 1);
        for (;;)
            pause();
    }
    p.server = accept(p.listener, NULL, NULL);
    assert_true(p.server >= 0);
    receive_all(p.server, in, 1);
    kill(child, SIGKILL);
    assert_true(await(p.server, POLLIN) & POLLIN);
    assert_true(read(p.server, in, 1) <= 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(p.server);
    close(p.listener);
}

/* What is left after exec says so; the rest of this program is the one that is executed. */
static void test_exec(void **state)
{
    struct pair p;
    char number[16];
    (void)state;
    open_pair(&p);
    assert_int_equal(fcntl(p.server, F_SETFD, 0), 0);
    snprintf(number, sizeof(number), "%d", p.server);
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "test_preload_fork", number, (char *)NULL);
        _exit(1);
    }
    assert_child_good(child);
    assert_int_equal(write(p.client, "x", 1), 1);
    receive_all(p.server, in, 1);
    close_pair(&p);
}

static int look_after_exec(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    REQUIRE(read(fd, in, 1) == -1 && errno == ECONNRESET);
    REQUIRE(write(fd, in, 1) == -1 && errno == ECONNRESET);
    REQUIRE(poll(&one, 1, GUARD) == 1 && (one.revents & POLLERR) != 0);
    REQUIRE(close(fd) == 0);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_child_serves),
        cmocka_unit_test(test_both_go_on),
        cmocka_unit_test(test_first_the_child_then_the_parent),
        cmocka_unit_test(test_a_child_without_descriptors),
        cmocka_unit_test(test_children_that_do_not_use_it),
        cmocka_unit_test(test_two_children_accept),
        cmocka_unit_test(test_a_grandchild_serves),
        cmocka_unit_test(test_the_death_of_the_peer),
        cmocka_unit_test(test_exec),
    };
    if (argc == 2)
        return look_after_exec(atoi(argv[1]));
    use_iwarp();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
