/* SPDX-License-Identifier: BSD-3-Clause */
/* Which program a command has become: by its group, by the port at which it listens, by its name.
 * This program and children of it stand for commands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/program.h"

enum { NAME = 64 };

/* Binds a socket to loopback and a port that nobody else has. */
static int bind_to(int family, uint16_t *port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr *address =
        family == AF_INET ? (struct sockaddr *)&four : (struct sockaddr *)&six;
    socklen_t length = family == AF_INET ? sizeof(four) : sizeof(six);
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, address, length) || getsockname(fd, address, &length)) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *port = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
    return fd;
}

/* Starts a child in this group (0: one of its own), with a name and a listener if they are wanted.
 * It waits to be ended. */
static pid_t start(pid_t group, const char *name, uint16_t *port)
{
    int theirs[2];
    uint16_t said = 0;

    assert_int_equal(pipe(theirs), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, group);
        if (name != NULL)
            prctl(PR_SET_NAME, name);
        if (port != NULL && listen(bind_to(AF_INET, &said), 4))
            _exit(1);
        if (write(theirs[1], &said, sizeof(said)) != sizeof(said))
            _exit(1);
        for (;;)
            pause();
    }
    close(theirs[1]);
    assert_int_equal(read(theirs[0], &said, sizeof(said)), sizeof(said));
    close(theirs[0]);
    if (port != NULL)
        *port = said;
    return pid;
}

/* Ends it; it is not reaped. */
static void end(pid_t pid)
{
    siginfo_t how;

    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &how, WEXITED | WNOWAIT), 0);
}

static void reap(pid_t pid)
{
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void assert_found(pid_t group, uint16_t port, pid_t expected, const char *called)
{
    char name[NAME] = "untouched";

    assert_int_equal(iw_program_find(group, port, name, sizeof(name)), expected);
    assert_string_equal(name, called);
}

/* ---- tests ---- */

static void the_head_stands_for_the_group_if_it_is_alone(void **state)
{
    pid_t head = start(0, "head", NULL);

    (void)state;
    assert_found(head, 0, head, "head");
    assert_true(iw_program_runs(head));
    assert_true(iw_program_lives(head));
    end(head);
    assert_found(head, 0, 0, "untouched");
    assert_false(iw_program_runs(head));
    assert_false(iw_program_lives(head));
    reap(head);
    assert_false(iw_program_runs(head));
    assert_false(iw_program_lives(head));
    assert_true(iw_program_lives(getpid()));
}

/* A shell starts what it was asked for. */
static void another_one_counts_for_more_than_the_head(void **state)
{
    pid_t head = start(0, "head", NULL), other = start(head, "other", NULL);

    (void)state;
    assert_found(head, 0, other, "other");
    end(other);
    assert_found(head, 0, head, "head");
    reap(other);
    other = start(head, "another", NULL);
    end(head);
    assert_found(head, 0, other, "another");
    assert_true(iw_program_runs(head));
    end(other);
    assert_false(iw_program_runs(head));
    reap(head);
    reap(other);
}

static void who_holds_the_port_is_the_program(void **state)
{
    uint16_t port, ours;
    pid_t head = start(0, "head", NULL), first = start(head, "first", NULL),
          server = start(head, "server", &port), last = start(head, "last", NULL);
    int fd = bind_to(AF_INET, &ours);

    (void)state;
    assert_true(fd >= 0);
    assert_found(head, port, server, "server");
    assert_true(iw_program_listens(head, port));
    /* Nobody listens at ours, then somebody who is not of the group. */
    assert_found(head, ours, 0, "untouched");
    assert_false(iw_program_listens(head, ours));
    assert_int_equal(listen(fd, 4), 0);
    assert_found(head, ours, 0, "untouched");
    assert_true(iw_program_listens(head, ours));
    close(fd);
    end(server);
    assert_found(head, port, 0, "untouched");
    end(first);
    end(last);
    end(head);
    reap(server);
    reap(first);
    reap(last);
    reap(head);
    /* The head may be it itself. */
    head = start(0, "itself", &port);
    assert_found(head, port, head, "itself");
    end(head);
    reap(head);
}

/* A connection has the port of the listener that took it. */
static void a_connection_is_no_listener(void **state)
{
    uint16_t port;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = bind_to(AF_INET, &port), out = socket(AF_INET, SOCK_STREAM, 0);

    (void)state;
    assert_int_equal(listen(fd, 4), 0);
    to.sin_port = htons(port);
    assert_int_equal(connect(out, (struct sockaddr *)&to, sizeof(to)), 0);
    int taken = accept(fd, NULL, NULL);
    assert_true(taken >= 0);
    assert_true(iw_program_listens(getpid(), port));
    close(fd);
    assert_false(iw_program_listens(getpid(), port));
    close(taken);
    close(out);
}

static void a_listener_may_be_of_ipv6(void **state)
{
    uint16_t port;
    int fd = bind_to(AF_INET6, &port);

    (void)state;
    if (fd < 0)
        skip(); /* a machine without it */
    assert_false(iw_program_listens(getpid(), port));
    assert_int_equal(listen(fd, 4), 0);
    assert_true(iw_program_listens(getpid(), port));
    close(fd);
}

/* The kernel keeps 15 octets of a name; the file has the rest. This one is
 * conformance_test_program, and so are its children unless they say otherwise. */
static void a_name_that_was_cut_is_completed(void **state)
{
    static const char *const names[][2] = {
        {"conformance_tes", "conformance_test_program"},
        {"conformance_te", "conformance_te"},
        {"conformance_teX", "conformance_teX"},
        {"Xonformance_tes", "Xonformance_tes"},
        {"exactly_fifteen", "exactly_fifteen"},
        {"a", "a"},
        {"with a) and (b", "with a) and (b"},
        {"(", "("},
        {")", ")"},
    };
    char name[8];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        pid_t c = start(0, names[i][0], NULL);

        assert_found(c, 0, c, names[i][1]);
        assert_int_equal(iw_program_find(c, 0, name, sizeof(name)), c);
        assert_int_equal(strlen(name), strlen(names[i][1]) < 7 ? strlen(names[i][1]) : 7);
        assert_memory_equal(name, names[i][1], strlen(name));
        end(c);
        reap(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_stands_for_the_group_if_it_is_alone),
        cmocka_unit_test(another_one_counts_for_more_than_the_head),
        cmocka_unit_test(who_holds_the_port_is_the_program),
        cmocka_unit_test(a_connection_is_no_listener),
        cmocka_unit_test(a_listener_may_be_of_ipv6),
        cmocka_unit_test(a_name_that_was_cut_is_completed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
