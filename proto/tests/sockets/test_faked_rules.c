/* SPDX-License-Identifier: BSD-3-Clause */
/* Which sockets are meant by the rules, what accepted ones inherit, what is left after exec, and
 * what is noticed of the things that librdmacm makes. */
#include "faked_rsockets.h"

#include <rdma/rdma_user_cm.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "sockets/options_inherited.h"
#include "sockets/rsocket_made.h"
#include "sockets/rules_given.h"

/* Rules are read once, by the first socket that might be meant: in a child for each text. */
static bool connects_by_iwarp(const char *rules, const char *address, bool quiet)
{
    int status, error[2];
    char said[300] = "";
    assert_int_equal(pipe(error), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (rules != NULL)
            setenv("IWARP_SOCKETS", rules, 1);
        else
            unsetenv("IWARP_SOCKETS");
        dup2(error[1], STDERR_FILENO);
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int first = connect_at(fd, address), second = connect_at(fd, address);
        (void)second;
        iw_libc()->_exit(is_iwarp(fd) && first == 0 ? 1 : 0);
    }
    close(error[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    const ssize_t length = read(error[0], said, sizeof(said) - 1);
    close(error[0]);
    assert_int_equal(length > 0, !quiet);
    if (!quiet) {
        assert_memory_equal(said, "iwarp-sockets: IWARP_SOCKETS:", 29);
        assert_ptr_equal(strchr(said, '\n'), said + length - 1); /* one line, once */
    }
    return WEXITSTATUS(status) == 1;
}

static void texts_of_rules(void **unused)
{
    (void)unused;
    assert_true(connects_by_iwarp("port 4000", "127.0.0.1", true));
    assert_true(connects_by_iwarp("connect 4000", "127.0.0.1", true));
    assert_false(connects_by_iwarp("listen 4000", "127.0.0.1", true));
    assert_false(connects_by_iwarp("port 4001", "127.0.0.1", true));
    assert_false(connects_by_iwarp("port 127.0.0.2 4000", "127.0.0.1", true));
    assert_false(connects_by_iwarp("", "127.0.0.1", true));
    assert_false(connects_by_iwarp(NULL, "127.0.0.1", true));
    /* Half of what was meant would be worse than none of it. */
    assert_false(connects_by_iwarp("port 4000\nnonsense", "127.0.0.1", false));
}

static void sockets_that_are_meant(void **unused)
{
    (void)unused;
    const struct sockaddr_in to = at_port("127.0.0.1", 4000);
    const struct sockaddr *at = (const struct sockaddr *)&to;
    struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons(4000), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const void *own = (const void *)(uintptr_t)&sockets_that_are_meant;
    const int tcp = stream_socket(), udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
              local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    errno = 77;
    assert_non_null(iw_rule_of_connect(tcp, at, sizeof(to), own));
    assert_null(iw_rule_of_connect(udp, at, sizeof(to), own));
    assert_null(iw_rule_of_connect(local, at, sizeof(to), own));
    assert_null(iw_rule_of_connect(-1, at, sizeof(to), own));
    assert_null(iw_rule_of_connect(tcp, at, sizeof(to) - 1, own));
    assert_null(iw_rule_of_connect(tcp, NULL, sizeof(to), own));
    assert_null(iw_rule_of_connect(tcp, (struct sockaddr *)&six, sizeof(six), own));
    const int tcp6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (tcp6 >= 0) {
        errno = 77;
        assert_non_null(iw_rule_of_connect(tcp6, (struct sockaddr *)&six, sizeof(six), own));
        assert_null(iw_rule_of_connect(tcp6, (struct sockaddr *)&six, sizeof(six) - 1, own));
        assert_null(iw_rule_of_connect(tcp6, at, sizeof(to), own));
        close(tcp6);
    }
    assert_int_equal(errno, 77);
    assert_false(iw_is_of_stack(own));
    assert_false(iw_is_of_stack(NULL));
    /* UDP goes where it always went. */
    assert_int_equal(connect(udp, at, sizeof(to)), 0);
    assert_false(is_iwarp(udp));
    /* A listener by where it is bound; one that is not gets its port first. */
    struct sockaddr_in any = at_port("127.0.0.1", 0), name;
    socklen_t length = sizeof(name);
    assert_int_equal(bind(tcp, (struct sockaddr *)&any, sizeof(any)), 0);
    const struct iw_socket_rule *rule = iw_rule_of_listen(tcp, own);
    assert_non_null(rule);
    assert_false(rule->mixed || rule->fallback);
    assert_null(iw_rule_of_listen(-1, own));
    assert_null(iw_rule_of_listen(udp, own));
    assert_null(iw_rule_of_listen(local, own));
    const int unbound = stream_socket();
    assert_null(iw_rule_of_listen(unbound, own)); /* no rule for every address */
    assert_int_equal(getsockname(unbound, (struct sockaddr *)&name, &length), 0);
    assert_true(ntohs(name.sin_port) >= 1024);
    assert_int_equal(errno, 77);
    close(unbound);
    close(tcp);
    close(udp);
    close(local);
}

/* ---- options of an accepted socket ---- */

static void options_that_are_inherited(void **unused)
{
    (void)unused;
    static const struct {
        int level, name, value;
    } rows[] = {{SOL_SOCKET, SO_REUSEADDR, 1},   {SOL_SOCKET, SO_KEEPALIVE, 1},
                {SOL_SOCKET, SO_OOBINLINE, 1},   {IPPROTO_TCP, TCP_NODELAY, 1},
                {IPPROTO_TCP, TCP_KEEPIDLE, 71}, {IPPROTO_TCP, TCP_KEEPINTVL, 19},
                {IPPROTO_TCP, TCP_KEEPCNT, 5},   {IPPROTO_IP, IP_TOS, 0x10}};
    const int from = stream_socket(), to = stream_socket(), other = stream_socket();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(setsockopt(from, rows[i].level, rows[i].name, &rows[i].value, sizeof(int)),
                         0);
    const struct linger linger = {1, 9};
    assert_int_equal(setsockopt(from, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
    set_time(from, SO_RCVTIMEO, 4000);
    set_time(from, SO_SNDTIMEO, 8000);
    iw_options_inherit(from, to);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(option(to, rows[i].level, rows[i].name), rows[i].value);
    struct linger got;
    struct timeval t;
    socklen_t length = sizeof(got);
    assert_int_equal(getsockopt(to, SOL_SOCKET, SO_LINGER, &got, &length), 0);
    assert_true(got.l_onoff == 1 && got.l_linger == 9);
    length = sizeof(t);
    assert_int_equal(getsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &t, &length), 0);
    assert_int_equal(t.tv_sec, 4);
    assert_int_equal(getsockopt(to, SOL_SOCKET, SO_SNDTIMEO, &t, &length), 0);
    assert_int_equal(t.tv_sec, 8);
    /* What was not set changes nothing. */
    iw_options_inherit(other, to);
    assert_int_equal(option(to, SOL_SOCKET, SO_KEEPALIVE), 1);
    close(from);
    close(to);
    close(other);
}

/* ---- after exec ---- */

static int look_after_exec(int fd)
{
    char octet;
    struct sockaddr_in name;
    socklen_t length = sizeof(name);
    int value = 0;
    struct pollfd one = {.fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP};
    fails(read(fd, &octet, 1), ECONNRESET);
    fails(write(fd, "x", 1), ECONNRESET);
    fails(connect_at(fd, "127.0.0.1"), ECONNRESET);
    fails(listen(fd, 1), ECONNRESET);
    fails(accept(fd, NULL, NULL), ECONNRESET);
    fails(shutdown(fd, SHUT_WR), ECONNRESET);
    fails(ioctl(fd, FIONREAD, &value), ECONNRESET);
    fails(getpeername(fd, (struct sockaddr *)&name, &length), ECONNRESET);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &length), 0);
    assert_int_equal(poll(&one, 1, -1), 1);
    assert_int_equal(one.revents, POLLIN | POLLOUT | POLLERR | POLLHUP);
    one.events = 0;
    assert_int_equal(poll(&one, 1, -1), 1);
    assert_int_equal(one.revents, POLLERR | POLLHUP);
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)), 0);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    set_blocking(fd, false);
    assert_int_equal(close(fd), 0);
    return 0;
}

static void after_exec(void **unused)
{
    (void)unused;
    char number[16], line[200] = "", wanted[200];
    int status, error[2];
    const int fd = connected(), plain = stream_socket();
    assert_int_equal(fcntl(fd, F_SETFD, 0), 0);
    assert_int_equal(fcntl(plain, F_SETFD, 0), 0);
    snprintf(number, sizeof(number), "%d", fd);
    assert_int_equal(pipe(error), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(error[1], STDERR_FILENO);
        execl("/proc/self/exe", "test_faked_rules", number, (char *)NULL);
        iw_libc()->_exit(1);
    }
    close(error[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    snprintf(wanted, sizeof(wanted),
             "iwarp-sockets: descriptor %d was an iWARP socket before exec: it reports "
             "ECONNRESET\n",
             fd);
    assert_true(read(error[0], line, sizeof(line) - 1) > 0);
    assert_string_equal(line, wanted);
    close(error[0]);
    close(plain);
    close(fd);
}

/* ---- what librdmacm makes ---- */

static void pairs_that_are_made(void **unused)
{
    (void)unused;
    int first[2], second[2], other[2], got[2] = {7, 7};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
    iw_made_begin();
    iw_made_end(got);
    assert_true(got[0] == -1 && got[1] == -1);
    iw_made_begin();
    fails(socketpair(AF_UNIX, 12345, 0, first), EINVAL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, first), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, second), 0);
    iw_made_end(got);
    assert_memory_equal(got, first, sizeof(got));
    iw_made_begin();
    iw_made_end(got);
    assert_int_equal(got[0], -1);
    /* A child's own pair has the same numbers and flags, and is another pair. */
    assert_int_equal(fcntl(first[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(fcntl(first[1], F_SETFD, FD_CLOEXEC), 0);
    const int before = iw_libc()->dup(first[1]);
    const int count = count_descriptors();
    iw_made_own_pair(first);
    assert_int_equal(count_descriptors(), count);
    assert_int_equal(fcntl(first[0], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    assert_int_equal(fcntl(first[0], F_GETFD), 0);
    assert_int_equal(fcntl(first[1], F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(fcntl(first[1], F_GETFD), FD_CLOEXEC);
    char octet;
    assert_int_equal(write(first[0], "x", 1), 1);
    /* Its other end is gone. */
    assert_int_equal(iw_libc()->recv(before, &octet, 1, MSG_DONTWAIT), 0);
    assert_int_equal(read(first[1], &octet, 1), 1);
    iw_made_own_pair((const int[]){-1, -1});
    assert_int_equal(count_descriptors(), count);
    const int all[] = {first[0], first[1], second[0], second[1], other[0], other[1], before};
    for (size_t i = 0; i < 7; i++)
        close(all[i]);
}

/* The first question about events, in an rconnect, finds nothing yet. */
static void an_early_question(void **unused)
{
    (void)unused;
    struct rdma_ucm_cmd_hdr head = {.cmd = RDMA_USER_CM_CMD_GET_EVENT}, other = {.cmd = 0};
    int pair[2];
    const int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_false(iw_made_is_early(&head, sizeof(head)));
    assert_int_equal(write(file, &head, sizeof(head)), sizeof(head));
    iw_made_begin_connect();
    assert_int_equal(iw_made_connects, 1);
    assert_int_equal(write(file, &other, sizeof(other)), sizeof(other));
    assert_int_equal(write(file, &head, sizeof(head) - 1), sizeof(head) - 1);
    fails(write(file, &head, sizeof(head)), EAGAIN);
    assert_int_equal(iw_made_connects, 0);
    assert_int_equal(write(file, &head, sizeof(head)), sizeof(head)); /* once */
    iw_made_end(pair);
    assert_int_equal(iw_made_connects, 0);
    iw_made_begin_connect();
    iw_made_end(pair); /* which was not asked */
    assert_int_equal(iw_made_connects, 0);
    assert_false(iw_made_is_early(&head, sizeof(head)));
    iw_made_begin(); /* is no connect */
    assert_false(iw_made_is_early(&head, sizeof(head)));
    iw_made_end(pair);
    close(file);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FAKED(texts_of_rules), FAKED(sockets_that_are_meant), FAKED(options_that_are_inherited),
        FAKED(after_exec),     FAKED(pairs_that_are_made),    FAKED(an_early_question),
    };
    if (argc == 2)
        return look_after_exec(atoi(argv[1]));
    give_rules();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
