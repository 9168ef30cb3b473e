/* SPDX-License-Identifier: BSD-3-Clause */
#include "client_doubles.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/address.h"

struct client_doubles doubles;

static double now, cpu_now;
static int ports, timed;

static __attribute__((format(printf, 1, 2))) void note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(doubles.log + doubles.logged, sizeof(doubles.log) - doubles.logged,
                           format, arguments);
    va_end(arguments);
    assert_true(length >= 0);
    doubles.logged += (size_t)length;
    assert_true(doubles.logged < sizeof(doubles.log));
}

/* True if this call is the one that fails. */
static bool fails(const char *name)
{
    if (++doubles.steps != doubles.failing)
        return false;
    doubles.failure = name;
    return true;
}

void doubles_reset(void)
{
    memset(&doubles, 0, sizeof(doubles));
    for (int i = 0; i < PERF_LANES; i++)
        doubles.each[i] = 0.001;
    doubles.polled = 1;
    doubles.resident = doubles.theirs_resident = 100000;
    doubles.cpu = doubles.serving_cpu = -1;
    now = cpu_now = 1000;
    ports = timed = 0;
}

/* ---- clocks, memory, CPUs ---- */

double __wrap_perf_seconds(void);
double __wrap_perf_cpu_seconds(void);
uint64_t __wrap_perf_resident(void);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);
int __wrap_poll(struct pollfd *list, nfds_t count, int timeout);

double __wrap_perf_seconds(void)
{
    return now;
}

double __wrap_perf_cpu_seconds(void)
{
    return cpu_now;
}

uint64_t __wrap_perf_resident(void)
{
    doubles.resident += doubles.grown;
    if (++doubles.looks == doubles.jump_look) {
        doubles.resident += doubles.jump[0];
        doubles.theirs_resident += doubles.jump[1];
    }
    return doubles.resident;
}

int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    assert_int_equal(pid, 0);
    assert_int_equal(size, sizeof(*set));
    assert_int_equal(CPU_COUNT(set), 1);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((unsigned)i, set))
            doubles.cpu = i;
    errno = doubles.pin_error;
    return doubles.pin_error ? -1 : 0;
}

int __wrap_poll(struct pollfd *list, nfds_t count, int timeout)
{
    assert_int_equal(count, 1);
    assert_int_equal(list->events, POLLIN);
    note("poll %d ms\n", timeout);
    assert_true(fcntl(list->fd, F_GETFD) >= 0);
    return doubles.polled;
}

/* ---- the server ---- */

struct addrinfo *__real_iw_address_resolve(const char *host, uint16_t port, bool passive,
                                           char *error, size_t room);
struct addrinfo *__wrap_iw_address_resolve(const char *host, uint16_t port, bool passive,
                                           char *error, size_t room);
int __real_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t length);

struct addrinfo *__wrap_iw_address_resolve(const char *host, uint16_t port, bool passive,
                                           char *error, size_t room)
{
    struct addrinfo *list = __real_iw_address_resolve(host, port, passive, error, room);
    note("%s %s\n", passive ? "bind" : "resolve", host);
    if (doubles.two_addresses)
        list->ai_next = __real_iw_address_resolve("::1", port, false, error, room);
    return list;
}

int __wrap_socket(int family, int type, int protocol)
{
    assert_true((type & SOCK_CLOEXEC) != 0);
    if (doubles.sockets++ >= doubles.no_sockets)
        return __real_socket(family, type, protocol);
    errno = EMFILE;
    return -1;
}

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t length)
{
    char text[64];
    iw_address_numeric(to, length, text, sizeof(text));
    note("connect %s\n", text);
    assert_true(fcntl(fd, F_GETFD) >= 0);
    if (doubles.connects++ >= doubles.unreachable)
        return 0;
    errno = EHOSTUNREACH;
    return -1;
}

int __wrap_perf_control_send(struct perf_control *c, json_t *message);
int __wrap_perf_control_expect(struct perf_control *c, const char *format, ...);
json_t *__wrap_perf_control_receive(struct perf_control *c);
json_int_t __wrap_perf_control_port(int fd, bool peer);

int __wrap_perf_control_send(struct perf_control *c, json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    assert_non_null(text);
    assert_true(fcntl(c->fd, F_GETFD) >= 0);
    note("> %s\n", text);
    free(text);
    json_decref(message);
    return fails("send") ? perf_control_fail(c, "send failed") : 0;
}

int __wrap_perf_control_expect(struct perf_control *c, const char *format, ...)
{
    json_t *message =
        json_pack("{si si si sf sI sI}", "sink", 11, "source", 12, "counter", 13, "cpu",
                  cpu_now / 1000, "calls", (json_int_t)25, "resident", doubles.theirs_resident);
    note("< %s\n", format);
    /* As the server ends the session, or speaks otherwise. */
    if (fails("expect")) {
        json_decref(message);
        return doubles.steps % 2 == 0 ? perf_control_fail(c, "expect failed")
                                      : -perf_control_fail(c, "expect failed");
    }
    va_list members;
    va_start(members, format);
    assert_int_equal(json_vunpack_ex(message, NULL, 0, format, members), 0);
    va_end(members);
    json_decref(message);
    return 0;
}

json_t *__wrap_perf_control_receive(struct perf_control *c)
{
    note("receive\n");
    (void)perf_control_fail(c, doubles.theirs != NULL ? doubles.theirs : "closed by the peer");
    c->theirs = doubles.theirs != NULL;
    return NULL;
}

json_int_t __wrap_perf_control_port(int fd, bool peer)
{
    assert_true(fcntl(fd, F_GETFD) >= 0);
    assert_false(peer);
    return 1000 + ports++;
}

int __real_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number);
pid_t __real_fork(void);
pid_t __wrap_fork(void);

int __wrap_kill(pid_t pid, int number)
{
    assert_true(pid > 0);
    assert_int_equal(number, SIGTERM);
    doubles.killed++;
    return __real_kill(pid, number);
}

pid_t __wrap_fork(void)
{
    if (!doubles.no_fork)
        return __real_fork();
    errno = EAGAIN;
    return -1;
}

int perf_serve(int listener, bool one_client)
{
    if (!one_client || fcntl(listener, F_GETFD) < 0 || doubles.cpu != doubles.serving_cpu)
        _exit(99);
    while (doubles.serving == SERVING_ON)
        pause();
    if (doubles.serving < 0)
        raise(-doubles.serving);
    return doubles.serving;
}

/* ---- lanes ---- */

static int number_of(const struct perf_lane *lane)
{
    return (int)lane->stride;
}

/* Notes the call. Returns 0, or -1 with text if it fails. */
static int call(struct perf_lane *lane, const char *name)
{
    note("%s %d\n", name, number_of(lane));
    return fails(name) ? perf_lane_fail(lane, "%s failed", name) : 0;
}

static int attach(struct perf_lane *lane, uint32_t index, int fd)
{
    assert_int_equal(close(fd), 0);
    note("%u ", index);
    return call(lane, "attach");
}

static int establish(struct perf_lane *lane)
{
    return call(lane, "establish");
}

static int execute(struct perf_lane *lane, const struct perf_run *run, struct perf_samples *samples)
{
    int number = number_of(lane);
    now += doubles.each[number] * (double)run->count;
    cpu_now += doubles.each[number] * (double)run->count / 2;
    lane->calls += 3 * run->count;
    if (samples != NULL)
        note("room for %zu: ", samples->room);
    double first = doubles.latency[number] * (1 + doubles.latency_step * timed);
    timed += samples != NULL;
    for (size_t i = 0; samples != NULL && first > 0 && i < samples->room; i++)
        samples->values[samples->count++] = first * (double)(i + 1);
    return call(lane, "execute");
}

static const struct perf_lane_ops lane_ops = {
    .attach = attach, .establish = establish, .execute = execute};

struct perf_lane *perf_lane_create(const struct perf_setup *setup, bool client, char *error)
{
    int number = doubles.created;
    note("create %d\n", number);
    assert_true(client);
    if (fails("create")) {
        snprintf(error, PERF_TEXT, "create failed");
        return NULL;
    }
    struct perf_lane *lane = calloc(1, sizeof(*lane));
    assert_non_null(lane);
    lane->setup = *setup;
    lane->ops = &lane_ops;
    lane->stride = (size_t)number; /* what it is known by here */
    lane->local_sink = (uint32_t)(100 + number);
    lane->local_source = (uint32_t)(200 + number);
    lane->local_counter = (uint32_t)(300 + number);
    doubles.created++;
    return lane;
}

void perf_lane_destroy(struct perf_lane *lane)
{
    doubles.destroyed += lane != NULL;
    free(lane);
}

int perf_lane_prepare(struct perf_lane *lane, const struct perf_run *run)
{
    (void)run;
    assert_int_equal(lane->remote_sink, 11);
    assert_int_equal(lane->remote_source, 12);
    assert_int_equal(lane->remote_counter, 13);
    return call(lane, "prepare");
}

int perf_lane_verify(struct perf_lane *lane, const struct perf_run *run)
{
    (void)run;
    return call(lane, "verify");
}

int perf_lane_fail(struct perf_lane *lane, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(lane->error, sizeof(lane->error), format, arguments);
    va_end(arguments);
    return -1;
}

int perf_lane_socket(const struct perf_setup *setup, int fd, char *error)
{
    (void)setup;
    assert_true(fcntl(fd, F_GETFD) >= 0);
    if (!fails("socket"))
        return 0;
    snprintf(error, PERF_TEXT, "socket failed");
    return -1;
}

void perf_lane_congestion(const struct perf_setup *setup, char name[PERF_CONGESTION])
{
    (void)setup;
    snprintf(name, PERF_CONGESTION, "reno");
}

/* ---- results ---- */

void __wrap_perf_table_head(const struct perf_plan *plan);
void __wrap_perf_table_row(const struct perf_plan *plan, const struct perf_result *result);

void __wrap_perf_table_head(const struct perf_plan *plan)
{
    (void)plan;
    note("head\n");
}

void __wrap_perf_table_row(const struct perf_plan *plan, const struct perf_result *result)
{
    (void)plan;
    note("row\n");
    if (doubles.row_count < 64)
        doubles.rows[doubles.row_count++] = *result;
}

int perf_report_possible(const struct perf_plan *plan)
{
    (void)plan;
    return doubles.possible;
}

int perf_report_json(const struct perf_plan *plan, const struct perf_results *results)
{
    (void)plan;
    note("json of %zu\n", results->count);
    return doubles.json;
}

int perf_report_html(const struct perf_plan *plan, const struct perf_results *results)
{
    (void)plan;
    note("html of %zu\n", results->count);
    return doubles.html;
}
