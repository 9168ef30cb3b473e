/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-agent's control port and sessions in this process, with a clock of the test's. */
#include "recorder_life.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../caught.h"

enum { SECOND = 1000000000, VISITORS = 16 };

static uint64_t clock_now;

uint64_t __wrap_iw_transport_now(void);
uint64_t __wrap_iw_transport_now(void)
{
    return clock_now;
}

static unsigned calloc_fails;        /* counted from the next call; 0: none */
static int recv_fails, accept_fails; /* the errno of the next call; 0: it works */

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return calloc_fails > 0 && --calloc_fails == 0 ? NULL : __real_calloc(count, size);
}

ssize_t __real_recv(int fd, void *to, size_t room, int flags);
ssize_t __wrap_recv(int fd, void *to, size_t room, int flags);
ssize_t __wrap_recv(int fd, void *to, size_t room, int flags)
{
    if (recv_fails == 0) {
        ssize_t n = __real_recv(fd, to, room, flags);
        errno = n == 0 ? EAGAIN : errno; /* of an earlier call */
        return n;
    }
    errno = recv_fails;
    recv_fails = 0;
    return -1;
}

int __real_accept4(int fd, struct sockaddr *from, socklen_t *length, int flags);
int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *length, int flags);
int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *length, int flags)
{
    if (accept_fails == 0)
        return __real_accept4(fd, from, length, flags);
    errno = accept_fails;
    accept_fails = 0;
    return -1;
}

static struct agent_control_port *port;
static uint16_t number;

/* Returns a listening socket, of which `number` is the port. */
static int listen_somewhere(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, length), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    number = ntohs(at.sin_port);
    return fd;
}

static void open_port(const char *token)
{
    struct iw_control_token t = {.length = 0};
    char error[200];
    int fd = listen_somewhere();
    if (token != NULL)
        assert_int_equal(iw_control_token_set(&t, token, strlen(token), error, sizeof(error)), 0);
    recorder.create = create;
    recorder.destroy = destroy;
    reactor = iw_reactor_create();
    created = destroyed = 0;
    clock_now = UINT64_C(1000) * SECOND;
    port = agent_control_port_open(reactor, fd, &t, &recorder, &settings);
    assert_non_null(port);
}

static void close_port(void)
{
    agent_control_port_close(port);
    iw_reactor_destroy(reactor);
    assert_int_equal(created, destroyed);
}

/* Connects, which nobody has noticed yet. */
static int come(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(number),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

static int knock(void)
{
    int fd = come();
    assert_int_equal(iw_reactor_step(reactor, 60000), 0);
    return fd;
}

static void put(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    assert_int_equal(iw_reactor_step(reactor, 60000), 0);
}

/* The next line is this one; "": the end. */
static void get(int fd, const char *expected)
{
    char line[300];
    size_t n = 0;
    while (n < sizeof(line) - 1 && recv(fd, line + n, 1, 0) == 1 && line[n] != '\n')
        n++;
    line[n] = '\0';
    assert_string_equal(line, expected);
}

static void get_refusal(int fd, const char *why)
{
    char expected[200];
    snprintf(expected, sizeof(expected), "{\"event\":\"refused\",\"error\":\"%s\"}", why);
    get(fd, expected);
    get(fd, "");
    close(fd);
}

static void is_served(int fd)
{
    put(fd, "{\"id\":1,\"do\":\"pd\"}\n");
    get(fd, "{\"pd\":2,\"ok\":true,\"id\":1}");
}

/* The agent's own end of this connection. */
static int its_end_of(int fd)
{
    struct sockaddr_in ours = {0}, its = {0};
    socklen_t length = sizeof(ours);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&ours, &length), 0);
    for (int other = 3; other < 100; other++) {
        length = sizeof(its);
        if (getpeername(other, (struct sockaddr *)&its, &length) == 0 &&
            its.sin_port == ours.sin_port)
            return other;
    }
    fail_msg("the agent has no end of it");
    return -1;
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t length = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &length), 0);
    return value;
}

/* ---- clients ---- */

static void hosts_that_die_are_noticed(void **state)
{
    (void)state;
    open_port(NULL);
    int fd = knock(), its = its_end_of(fd);
    assert_int_equal(option(its, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(option(its, IPPROTO_TCP, TCP_KEEPIDLE), 15);
    assert_int_equal(option(its, IPPROTO_TCP, TCP_KEEPINTVL), 5);
    assert_int_equal(option(its, IPPROTO_TCP, TCP_KEEPCNT), 3);
    assert_int_equal(option(its, IPPROTO_TCP, TCP_USER_TIMEOUT), 30000);
    is_served(fd);
    close(fd);
    close_port();
}

static void one_client_at_a_time(void **state)
{
    (void)state;
    open_port(NULL);
    assert_int_equal(agent_control_port_tidy(port), -1);
    int first = knock();
    is_served(first);
    assert_int_equal(agent_control_port_tidy(port), -1);
    catch_from(STDERR_FILENO);
    int second = knock();
    struct sockaddr_in ours = {0};
    socklen_t length = sizeof(ours);
    char expected[100];
    assert_int_equal(getsockname(second, (struct sockaddr *)&ours, &length), 0);
    snprintf(expected, sizeof(expected),
             "iwarp: 127.0.0.1:%u: refused: busy: another client is being served\n",
             ntohs(ours.sin_port));
    assert_string_equal(caught(), expected);
    get_refusal(second, "busy: another client is being served");
    assert_int_equal(created, 1);
    /* Nor does the next one see what the client says, which is still to be read. */
    assert_int_equal(iw_reactor_step(reactor, 0), 0);
    second = come();
    assert_int_equal(send(first, "{\"id\":1,\"do\":\"pd\"}\n", 19, MSG_NOSIGNAL), 19);
    catch_from(STDERR_FILENO);
    assert_int_equal(iw_reactor_step(reactor, 60000), 0);
    (void)caught();
    get_refusal(second, "busy: another client is being served");
    get(first, "{\"pd\":3,\"ok\":true,\"id\":1}");
    /* A client that has gone makes room, even if nobody has noticed yet. */
    close(first);
    second = knock();
    assert_int_equal(created, 2);
    assert_int_equal(destroyed, 1);
    seen.core.domain_count = 1;
    is_served(second);
    close(second);
    assert_int_equal(iw_reactor_step(reactor, 60000), 0);
    assert_int_equal(destroyed, 1);
    (void)agent_control_port_tidy(port);
    assert_int_equal(destroyed, 2);
    close_port();
}

static void what_clients_may_say(void **state)
{
    (void)state;
    open_port(NULL);
    int fd = knock();
    put(fd, "[]\n");
    get(fd, "{\"ok\":false,\"error\":\"a line is not a JSON object\"}");
    put(fd, "{\"do\":\"pd\"}\n");
    get(fd, "{\"error\":\"field id: expected a number\",\"ok\":false}");
    put(fd, "{\"id\":\"1\",\"do\":\"pd\"}\n");
    get(fd, "{\"error\":\"field id: expected a number\",\"ok\":false}");
    put(fd, "{\"id\":7}\n");
    get(fd, "{\"error\":\"field do: expected a string\",\"ok\":false,\"id\":7}");
    put(fd, "{\"id\":8,\"do\":\"\\u00e9\"}\n");
    get(fd, "{\"error\":\"verb ??: not known\",\"ok\":false,\"id\":8}");
    /* Two at once, in pieces. */
    put(fd, "{\"id\":1,\"do\":\"pd\"}\n{\"id\":");
    get(fd, "{\"pd\":2,\"ok\":true,\"id\":1}");
    put(fd, "2,\"do\":\"pd\"}\n");
    get(fd, "{\"pd\":3,\"ok\":true,\"id\":2}");
    /* Events come between replies. */
    agent_report(&seen.connections[1], "hop", "{}");
    get(fd, "{\"event\":\"hop\",\"conn\":5}");
    /* An event for which there is no memory ends it. */
    agent_report(&seen.connections[1], "hop", "{s:o}", "x", NULL);
    (void)agent_control_port_tidy(port);
    get(fd, "");
    close(fd);
    close_port();
}

/* ---- tokens ---- */

static const char token[] = "0123456789abcdef";

static void tokens_are_asked_for(void **state)
{
    char line[132];
    (void)state;
    open_port(token);
    int fd = knock();
    assert_int_equal(created, 0);
    put(fd, "0123456789abcdef");
    assert_int_equal(created, 0);
    put(fd, "\n");
    assert_int_equal(created, 1);
    is_served(fd);
    close(fd);
    assert_int_equal(iw_reactor_step(reactor, 60000), 0);
    (void)agent_control_port_tidy(port);
    fd = knock();
    seen.core.domain_count = 1;
    put(fd, "0123456789abcdef\r\n{\"id\":1,\"do\":\"pd\"}\n");
    assert_int_equal(iw_reactor_step(reactor, 60000), 0);
    get(fd, "{\"pd\":2,\"ok\":true,\"id\":1}");
    close(fd);
    catch_from(STDERR_FILENO);
    fd = knock();
    put(fd, "0123456789abcdeF\n");
    assert_non_null(strstr(caught(), ": refused: wrong token\n"));
    get_refusal(fd, "wrong token");
    /* 130 octets without an end are no token. */
    memset(line, 'x', sizeof(line));
    line[129] = '\0';
    fd = knock();
    put(fd, line);
    catch_from(STDERR_FILENO);
    put(fd, "x");
    (void)caught();
    get_refusal(fd, "wrong token");
    catch_from(STDERR_FILENO);
    fd = knock();
    close(fd);
    assert_int_equal(iw_reactor_step(reactor, 60000), 0);
    assert_non_null(strstr(caught(), ": left without a token\n"));
    close_port();
}

/* ---- patience ---- */

static void time_is_up_after_ten_seconds(void **state)
{
    (void)state;
    open_port(token);
    int first = knock();
    assert_int_equal(agent_control_port_tidy(port), 10001);
    clock_now += 4 * UINT64_C(1000000000);
    int second = knock();
    assert_int_equal(agent_control_port_tidy(port), 6001);
    clock_now += 6 * UINT64_C(1000000000) - 1;
    assert_int_equal(agent_control_port_tidy(port), 1);
    clock_now++;
    catch_from(STDERR_FILENO);
    assert_int_equal(agent_control_port_tidy(port), 4001);
    assert_non_null(strstr(caught(), ": refused: no token came in time\n"));
    get_refusal(first, "no token came in time");
    /* One that was refused before has the same time to go, but hears no more. */
    catch_from(STDERR_FILENO);
    put(second, "wrong\n");
    clock_now += 4 * UINT64_C(1000000000);
    assert_int_equal(agent_control_port_tidy(port), -1);
    const char *said = caught();
    assert_non_null(strstr(said, ": refused: wrong token\n"));
    assert_null(strstr(said, "in time"));
    get_refusal(second, "wrong token");
    close_port();
}

/* The refused are read on, until they end. */
static void the_refused_may_go_on(void **state)
{
    (void)state;
    open_port(token);
    int fd = knock();
    catch_from(STDERR_FILENO);
    put(fd, "wrong\n");
    (void)caught();
    put(fd, "more\n");
    assert_int_equal(agent_control_port_tidy(port), 10001);
    shutdown(fd, SHUT_WR);
    assert_int_equal(iw_reactor_step(reactor, 60000), 0);
    assert_int_equal(agent_control_port_tidy(port), -1);
    get_refusal(fd, "wrong token");
    close_port();
}

/* The oldest of sixteen makes room for another one, wherever its place is. */
static void the_oldest_makes_room(void **state)
{
    int fds[VISITORS];
    (void)state;
    open_port(token);
    for (int i = 0; i < VISITORS; i++) {
        clock_now++;
        fds[i] = knock();
    }
    /* The first leaves; who comes into its place is the youngest. */
    catch_from(STDERR_FILENO);
    close(fds[0]);
    assert_int_equal(iw_reactor_step(reactor, 60000), 0);
    (void)caught();
    (void)agent_control_port_tidy(port);
    clock_now++;
    fds[0] = knock();
    clock_now++;
    catch_from(STDERR_FILENO);
    int more = knock();
    assert_non_null(strstr(caught(), ": refused: too many others wait\n"));
    get_refusal(fds[1], "too many others wait");
    clock_now++;
    catch_from(STDERR_FILENO);
    int last = knock();
    (void)caught();
    get_refusal(fds[2], "too many others wait");
    put(last, "0123456789abcdef\n");
    is_served(last);
    close(last);
    close(more);
    close(fds[0]);
    for (int i = 3; i < VISITORS; i++)
        close(fds[i]);
    close_port();
}

/* Who is admitted leaves a place that is free at once, also to who comes in the same step. */
static void the_place_of_a_client_is_free(void **state)
{
    (void)state;
    open_port(token);
    int first = knock();
    assert_int_equal(iw_reactor_step(reactor, 0), 0); /* epoll forgets that somebody knocked */
    assert_int_equal(send(first, "0123456789abcdef\n", 17, MSG_NOSIGNAL), 17);
    int second = come();
    assert_int_equal(iw_reactor_step(reactor, 60000), 0);
    assert_int_equal(created, 1);
    assert_int_equal(agent_control_port_tidy(port), 10001);
    catch_from(STDERR_FILENO);
    put(second, "0123456789abcdef\n");
    (void)caught();
    get_refusal(second, "busy: another client is being served");
    is_served(first);
    close(first);
    close_port();
}

/* ---- trouble ---- */

/* The connection's end comes as a reset. */
static void reset(int fd)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    close(fd);
}

static void nobody_waits_for_who_was_reset(void **state)
{
    (void)state;
    open_port(token);
    int fd = knock();
    catch_from(STDERR_FILENO);
    reset(fd);
    assert_int_equal(iw_reactor_step(reactor, 60000), 0);
    assert_non_null(strstr(caught(), ": left without a token\n"));
    assert_int_equal(agent_control_port_tidy(port), -1);
    fd = knock();
    catch_from(STDERR_FILENO);
    put(fd, "wrong\n");
    (void)caught();
    reset(fd);
    assert_int_equal(iw_reactor_step(reactor, 60000), 0);
    assert_int_equal(agent_control_port_tidy(port), -1);
    close_port();
    /* A client whose end is noticed only when the next one comes. */
    open_port(NULL);
    fd = knock();
    assert_int_equal(iw_reactor_step(reactor, 0), 0);
    int next = come();
    reset(fd);
    assert_int_equal(iw_reactor_step(reactor, 60000), 0);
    assert_int_equal(created, 2);
    is_served(next);
    close(next);
    close_port();
}

/* A call that only has to be made again ends nothing. */
static void calls_are_made_again(void **state)
{
    static const int again[] = {EINTR, EAGAIN};
    (void)state;
    for (int i = 0; i < 2; i++) {
        open_port(token);
        int fd = knock();
        recv_fails = again[i];
        put(fd, "wrong\n");
        assert_int_equal(recv_fails, 0);
        assert_int_equal(agent_control_port_tidy(port), 10001);
        catch_from(STDERR_FILENO);
        assert_int_equal(iw_reactor_step(reactor, 60000), 0);
        assert_non_null(strstr(caught(), ": refused: wrong token\n"));
        recv_fails = again[i];
        put(fd, "more\n");
        assert_int_equal(recv_fails, 0);
        assert_int_equal(agent_control_port_tidy(port), 10001);
        get_refusal(fd, "wrong token");
        close_port();
        /* A client that is asked whether it is still there. */
        open_port(NULL);
        fd = knock();
        catch_from(STDERR_FILENO);
        recv_fails = again[i];
        int other = knock();
        (void)caught();
        assert_int_equal(recv_fails, 0);
        get_refusal(other, "busy: another client is being served");
        seen.core.domain_count = 1;
        is_served(fd);
        close(fd);
        close_port();
    }
}

/* Without memory or descriptors a connection is lost, but neither the port nor a descriptor. */
static void connections_are_lost_without_memory(void **state)
{
    (void)state;
    open_port(NULL);
    unsigned before = descriptors();
    accept_fails = EMFILE;
    int fd = knock();
    assert_int_equal(accept_fails, 0);
    assert_int_equal(created, 0);
    assert_int_equal(agent_control_port_tidy(port), -1);
    assert_int_equal(iw_reactor_step(reactor, 60000), 0); /* it is still there */
    assert_int_equal(created, 1);
    reset(fd);
    assert_int_equal(iw_reactor_step(reactor, 60000), 0);
    (void)agent_control_port_tidy(port);
    /* The watch of a visitor; a session, its channel, the backend, the session's watch. */
    for (unsigned i = 1; i <= 5; i++) {
        calloc_fails = i < 4 ? i : i == 4 ? 0 : 4;
        create_fails = i == 4;
        fd = knock();
        assert_int_equal(calloc_fails, 0);
        create_fails = false;
        assert_int_equal(agent_control_port_tidy(port), -1);
        get(fd, "");
        close(fd);
        assert_int_equal(descriptors(), before);
        assert_int_equal(created, i == 5 ? 2 : 1);
        assert_int_equal(destroyed, created);
    }
    fd = knock();
    assert_int_equal(created, 3);
    seen.core.domain_count = 1;
    is_served(fd);
    close(fd);
    close_port();
}

static void no_port_opens_without_memory(void **state)
{
    const struct iw_control_token none = {.length = 0};
    (void)state;
    reactor = iw_reactor_create();
    unsigned before = descriptors();
    for (unsigned i = 1; i <= 2; i++) { /* the port, its watch */
        int fd = listen_somewhere();
        calloc_fails = i;
        assert_null(agent_control_port_open(reactor, fd, &none, &recorder, &settings));
        assert_int_equal(calloc_fails, 0);
        assert_int_equal(descriptors(), before);
    }
    agent_control_port_close(NULL);
    iw_reactor_destroy(reactor);
}

static int clean_up(void **state)
{
    calloc_fails = 0;
    recv_fails = accept_fails = 0;
    create_fails = false;
    (void)catch_no_more(state);
    return tear_down(state);
}

#define PORT_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PORT_TEST(hosts_that_die_are_noticed),
        PORT_TEST(one_client_at_a_time),
        PORT_TEST(what_clients_may_say),
        PORT_TEST(tokens_are_asked_for),
        PORT_TEST(time_is_up_after_ten_seconds),
        PORT_TEST(the_refused_may_go_on),
        PORT_TEST(the_oldest_makes_room),
        PORT_TEST(the_place_of_a_client_is_free),
        PORT_TEST(nobody_waits_for_who_was_reset),
        PORT_TEST(calls_are_made_again),
        PORT_TEST(connections_are_lost_without_memory),
        PORT_TEST(no_port_opens_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
