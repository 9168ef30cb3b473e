/* SPDX-License-Identifier: BSD-3-Clause */
#include "server_doubles.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "iwarp/transport.h"

struct server_doubles doubles;

static double cpu_now;
static bool nothing; /* comes to the listener now */

static __attribute__((format(printf, 1, 2))) void note(const char *format, ...)
{
    size_t used = strlen(doubles.record);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(doubles.record + used, sizeof(doubles.record) - used, format, arguments);
    va_end(arguments);
}

double perf_seconds(void)
{
    double now = doubles.now;
    doubles.now += doubles.step;
    return now;
}

double perf_cpu_seconds(void)
{
    return cpu_now;
}

uint64_t perf_resident(void)
{
    return 4711;
}

int perf_lane_fail(struct perf_lane *lane, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(lane->error, sizeof(lane->error), format, arguments);
    va_end(arguments);
    return -1;
}

/* Notes the call. Returns 0, or -1 with text if it is the one that fails. */
static int call(struct perf_lane *lane, const char *name)
{
    note("%s %zu\n", name, lane->stride);
    if (doubles.failing == NULL || strcmp(doubles.failing, name) != 0)
        return 0;
    return perf_lane_fail(lane, "%s failed", name);
}

static int attach(struct perf_lane *lane, uint32_t index, int fd)
{
    char octet = '?';
    /* Each connection has said which it is. */
    assert_int_equal(recv(fd, &octet, 1, MSG_DONTWAIT), 1);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    close(fd);
    note("%c at %u: ", octet, index);
    return call(lane, "attach");
}

static int establish(struct perf_lane *lane)
{
    return call(lane, "establish");
}

static int execute(struct perf_lane *lane, const struct perf_run *run, struct perf_samples *samples)
{
    assert_null(samples);
    doubles.ran = *run;
    cpu_now += 0.25;
    lane->calls += 12;
    return call(lane, "execute");
}

static const struct perf_lane_ops lane_ops = {
    .attach = attach, .establish = establish, .execute = execute};

struct perf_lane *perf_lane_create(const struct perf_setup *setup, bool client, char *error)
{
    assert_false(client);
    doubles.asked = *setup;
    if (doubles.failing != NULL && strcmp(doubles.failing, "create") == 0) {
        snprintf(error, PERF_TEXT, "create failed");
        return NULL;
    }
    struct perf_lane *lane = calloc(1, sizeof(*lane));
    assert_non_null(lane);
    lane->setup = *setup;
    lane->ops = &lane_ops;
    lane->stride = (size_t)doubles.created++; /* what it is known by here */
    lane->local_sink = 4294967295;
    lane->local_source = 2147483648;
    lane->local_counter = 7;
    lane->calls = 1000;
    return lane;
}

void perf_lane_destroy(struct perf_lane *lane)
{
    doubles.destroyed++;
    note("destroy %zu: %u %u %u\n", lane->stride, lane->remote_sink, lane->remote_source,
         lane->remote_counter);
    free(lane);
}

int perf_lane_prepare(struct perf_lane *lane, const struct perf_run *run)
{
    (void)run;
    return call(lane, "prepare");
}

int perf_lane_verify(struct perf_lane *lane, const struct perf_run *run)
{
    (void)run;
    return call(lane, "verify");
}

int perf_lane_socket(const struct perf_setup *setup, int fd, char *error)
{
    assert_int_equal(setup->window, 9);
    assert_true(fd >= 0);
    if (doubles.failing == NULL || strcmp(doubles.failing, "socket") != 0)
        return 0;
    snprintf(error, PERF_TEXT, "socket failed");
    return -1;
}

int __real_poll(struct pollfd *list, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *list, nfds_t count, int timeout);
int __real_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);

int __wrap_poll(struct pollfd *list, nfds_t count, int timeout)
{
    assert_int_equal(count, 1);
    assert_int_equal(list->events, POLLIN);
    if (list->fd != doubles.listener)
        return __real_poll(list, count, timeout);
    if (doubles.waited < 8)
        doubles.waits[doubles.waited++] = timeout;
    nothing = doubles.waited > 1 && doubles.quiet-- > 0;
    return nothing ? 0 : __real_poll(list, count, timeout);
}

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    if (++doubles.accepts == doubles.zero_at)
        close(0);
    if (nothing) {
        errno = EAGAIN;
        return -1;
    }
    if (doubles.accept_error == 0 || doubles.accepts_before-- > 0)
        return __real_accept4(fd, address, length, flags);
    errno = doubles.accept_error;
    doubles.accept_error = 0;
    return -1;
}

int __wrap_iw_transport_bind(const struct iw_host_port *to, char *address, char *error,
                             size_t room);

int __wrap_iw_transport_bind(const struct iw_host_port *to, char *address, char *error, size_t room)
{
    assert_string_equal(to->host, "h");
    assert_int_equal(to->port, 5);
    if (doubles.bound == NULL) {
        snprintf(error, room, "no place");
        return -1;
    }
    snprintf(address, IW_TRANSPORT_TEXT, "%s", doubles.bound);
    return dup(doubles.listener);
}

/* ---- the other side ---- */

static struct sockaddr_in at;

int connect_from(const char *host)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(inet_pton(AF_INET, host, &from.sin_addr), 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

/* A connection of a lane, which says who it is. */
int lane_connection(char name)
{
    int fd = connect_from("127.0.0.1");
    assert_int_equal(send(fd, &name, 1, 0), 1);
    return fd;
}

void say(int fd, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    assert_int_equal(send(fd, text, (size_t)length, 0), length);
}

int port_of(int fd)
{
    return (int)perf_control_port(fd, false);
}

void greet(int fd)
{
    say(fd, "{\"iwarp-perf\":4,\"port\":%d}\n", port_of(fd));
}

void open_lane(int fd, unsigned connections)
{
    say(fd,
        "{\"command\":\"open\",\"tcp\":false,\"crc\":true,\"markers\":false,\"poll\":false,"
        "\"connections\":%u,\"mss\":0,\"mulpdu\":0,\"window\":9,\"threads\":1,\"socket_buffer\":0,"
        "\"size_max\":64,\"sink\":4294967295,\"source\":2147483648,\"counter\":3}\n",
        connections);
}

void say_port(int fd, int of)
{
    say(fd, "{\"port\":%d}\n", port_of(of));
}

void run_slice(int fd, int lane)
{
    say(fd,
        "{\"command\":\"run\",\"lane\":%d,\"test\":5,\"size\":64,\"count\":3,\"both\":true,"
        "\"verify\":false,\"seed\":77}\n",
        lane);
}

/* All that the server has said, and that it has closed. */
void expect_answer(int fd, const char *expected)
{
    char text[4096];
    size_t have = 0;
    for (ssize_t n; (n = recv(fd, text + have, sizeof(text) - 1 - have, 0)) > 0;)
        have += (size_t)n;
    text[have] = '\0';
    assert_string_equal(text, expected);
    close(fd);
}

int server_begin(void **state)
{
    socklen_t length = sizeof(at);
    (void)state;
    doubles = (struct server_doubles){0};
    cpu_now = 0;
    nothing = false;
    at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    doubles.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(doubles.listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(doubles.listener, 64), 0);
    assert_int_equal(getsockname(doubles.listener, (struct sockaddr *)&at, &length), 0);
    return 0;
}

int server_end(void **state)
{
    (void)state;
    close(doubles.listener);
    return 0;
}
