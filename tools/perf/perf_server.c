/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_control.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "iwarp/transport.h"

enum { GREETING = 10 /* seconds */ };

/* Connections that came to the listening socket while another was expected. */
struct door {
    int listener;
    int waiting[PERF_CONNECTIONS];
    size_t count;
};

/* One client. */
struct session {
    struct perf_control control;
    struct door *door;
    bool came;   /* has said something */
    bool direct; /* nothing between the two changes ports */
    struct perf_lane *lanes[PERF_LANES];
    size_t lane_count;
};

static int refuse(struct session *s, const char *text)
{
    char copy[PERF_TEXT];
    snprintf(copy, sizeof copy, "%s", text);
    if (perf_control_send(&s->control, json_pack("{ss}", "error", copy)))
        return -1;
    snprintf(s->control.error, sizeof s->control.error, "%s", copy);
    return -1;
}

static bool same_host(int a, int b)
{
    struct sockaddr_storage at[2] = {{0}, {0}};
    socklen_t length[2] = {sizeof at[0], sizeof at[1]};
    if (getpeername(a, (struct sockaddr *)&at[0], &length[0]) ||
        getpeername(b, (struct sockaddr *)&at[1], &length[1]) || at[0].ss_family != at[1].ss_family)
        return false;
    const void *from[2] = {&at[0], &at[1]};
    if (at[0].ss_family == AF_INET6) {
        const struct sockaddr_in6 *x = from[0], *y = from[1];
        return memcmp(&x->sin6_addr, &y->sin6_addr, sizeof x->sin6_addr) == 0;
    }
    const struct sockaddr_in *x = from[0], *y = from[1];
    return x->sin_addr.s_addr == y->sin_addr.s_addr;
}

/* Returns true if a connection is the one that the client means. If something between the two
 * changes ports, any of the same address may be. */
static bool is_meant(const struct session *s, int fd, json_int_t port)
{
    return same_host(s->control.fd, fd) && (!s->direct || perf_control_port(fd, true) == port);
}

static int let_in(struct door *d, size_t i)
{
    int fd = d->waiting[i];
    memmove(&d->waiting[i], &d->waiting[i + 1], (--d->count - i) * sizeof d->waiting[0]);
    return fd;
}

/* Returns the connection of the lane with this port at the client's end; -1, with errno, if there
 * is none. */
static int accept_one(struct session *s, json_int_t port)
{
    struct door *d = s->door;
    struct pollfd p = {.fd = d->listener, .events = POLLIN};
    double until = perf_seconds() + GREETING;
    for (size_t i = 0; i < d->count; i++)
        if (is_meant(s, d->waiting[i], port))
            return let_in(d, i);
    for (double left; (left = until - perf_seconds()) > 0;) {
        if (poll(&p, 1, (int)(left * 1000) + 1) == 0)
            break;
        int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            return -1;
        if (fd < 0)
            continue;
        if (is_meant(s, fd, port))
            return fd;
        if (d->count < PERF_CONNECTIONS)
            d->waiting[d->count++] = fd;
        else
            close(fd);
    }
    errno = ETIMEDOUT;
    return -1;
}

static int attach_one(struct session *s, struct perf_lane *lane, uint32_t i)
{
    char error[PERF_TEXT];
    json_int_t port;
    json_t *message = perf_control_receive(&s->control);
    int known = json_unpack(message, "{sI}", "port", &port);
    bool spoke = message != NULL;
    json_decref(message);
    if (known != 0)
        return spoke ? refuse(s, "no port of a connection") : -1;
    int fd = accept_one(s, port);
    if (fd < 0 && errno == ETIMEDOUT)
        return refuse(s, "a connection of the lane did not come");
    if (fd < 0) {
        snprintf(error, sizeof error, "a connection of the lane cannot be accepted: %s",
                 strerror(errno));
        return refuse(s, error);
    }
    if (perf_lane_socket(&lane->setup, fd, error)) {
        close(fd);
        return refuse(s, error);
    }
    return lane->ops->attach(lane, i, fd) ? refuse(s, lane->error) : 0;
}

static int open_lane(struct session *s, const json_t *command)
{
    struct perf_setup setup;
    char error[PERF_TEXT];
    json_int_t sink, source, counter;
    if (s->lane_count == PERF_LANES || perf_setup_from_json(command, &setup) ||
        json_unpack((json_t *)(uintptr_t)command, "{sI sI sI}", "sink", &sink, "source", &source,
                    "counter", &counter))
        return refuse(s, "a lane out of range");
    struct perf_lane *lane = perf_lane_create(&setup, false, error);
    if (lane == NULL)
        return refuse(s, error);
    s->lanes[s->lane_count++] = lane;
    lane->remote_sink = (uint32_t)sink;
    lane->remote_source = (uint32_t)source;
    lane->remote_counter = (uint32_t)counter;
    if (perf_control_send(&s->control, json_pack("{sI sI sI}", "sink", (json_int_t)lane->local_sink,
                                                 "source", (json_int_t)lane->local_source,
                                                 "counter", (json_int_t)lane->local_counter)))
        return -1;
    for (uint32_t i = 0; i < setup.connections; i++)
        if (attach_one(s, lane, i))
            return -1;
    if (perf_control_send(&s->control, json_pack("{sb}", "attached", 1)))
        return -1;
    if (lane->ops->establish(lane))
        return refuse(s, lane->error);
    return perf_control_send(&s->control, json_pack("{sb}", "ready", 1));
}

static int run_slice(struct session *s, const json_t *command)
{
    struct perf_run run;
    json_int_t which;
    if (perf_run_from_json(command, &run) ||
        json_unpack((json_t *)(uintptr_t)command, "{sI}", "lane", &which) || which < 0 ||
        (size_t)which >= s->lane_count)
        return refuse(s, "a slice out of range");
    struct perf_lane *lane = s->lanes[which];
    if (perf_lane_prepare(lane, &run))
        return refuse(s, lane->error);
    uint64_t calls = lane->calls;
    double cpu = perf_cpu_seconds();
    if (perf_control_send(&s->control, json_pack("{sb}", "ready", 1)))
        return -1;
    if (lane->ops->execute(lane, &run, NULL))
        return refuse(s, lane->error);
    cpu = perf_cpu_seconds() - cpu;
    if (perf_lane_verify(lane, &run))
        return refuse(s, lane->error);
    return perf_control_send(&s->control, json_pack("{sf sI sI}", "cpu", cpu, "calls",
                                                    (json_int_t)(lane->calls - calls), "resident",
                                                    (json_int_t)perf_resident()));
}

static int greet(struct session *s)
{
    int version = 0, patience = s->control.patience;
    json_int_t port = 0;
    s->control.patience = GREETING;
    json_t *hello = perf_control_receive(&s->control);
    int known = json_unpack(hello, "{si s?I}", "iwarp-perf", &version, "port", &port);
    s->control.patience = patience;
    s->direct = port == perf_control_port(s->control.fd, true);
    json_decref(hello);
    if (hello == NULL)
        return -1;
    s->came = true;
    if (known != 0 || version != PERF_PROTOCOL)
        return refuse(s, "another version of iwarp-perf");
    return perf_control_send(&s->control, json_pack("{si}", "iwarp-perf", PERF_PROTOCOL));
}

/* Runs the session. Returns 0 once the client says goodbye. */
static int converse(struct session *s)
{
    int status = greet(s);
    while (status == 0) {
        json_t *command = perf_control_receive(&s->control);
        const char *name = json_string_value(json_object_get(command, "command"));
        if (command == NULL)
            return -1;
        bool over = name != NULL && strcmp(name, "end") == 0;
        if (over)
            status = 1;
        else if (name != NULL && strcmp(name, "open") == 0)
            status = open_lane(s, command);
        else if (name != NULL && strcmp(name, "run") == 0)
            status = run_slice(s, command);
        else
            status = refuse(s, "an unknown command");
        json_decref(command);
    }
    return status < 0 ? -1 : 0;
}

/* Serves a connection. Returns true if it was a client. A connection that closes before its first
 * line only probes for a listener, or is the rest of a lane that failed. */
static bool serve_one(struct door *door, int fd, int *exit_status)
{
    struct session s = {.door = door};
    perf_control_init(&s.control, fd);
    int status = converse(&s);
    bool nobody = !s.came && s.control.ended;
    if (status && !nobody)
        fprintf(stderr, "iwarp-perf: server: %s\n", s.control.error);
    for (size_t i = 0; i < s.lane_count; i++)
        perf_lane_destroy(s.lanes[i]);
    perf_control_close(&s.control);
    *exit_status = status ? PERF_FAILED : PERF_OK;
    return !nobody;
}

int perf_serve(int listener, bool once)
{
    struct door door = {.listener = listener};
    int status = PERF_OK;
    for (bool over = false; !over;) {
        struct pollfd p = {.fd = listener, .events = POLLIN};
        int fd = -1;
        if (door.count > 0)
            fd = let_in(&door, 0);
        else if (poll(&p, 1, -1) > 0)
            fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            over = serve_one(&door, fd, &status) && once;
        } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            fprintf(stderr, "iwarp-perf: server: cannot accept: %s\n", strerror(errno));
            return PERF_FAILED;
        }
    }
    while (door.count > 0)
        close(let_in(&door, 0));
    return status;
}

int perf_server(const struct perf_plan *plan)
{
    struct iw_host_port at;
    char error[PERF_TEXT + 200], address[IW_TRANSPORT_TEXT];
    if (iw_transport_parse(plan->address, &at, error, sizeof error)) {
        fprintf(stderr, "iwarp-perf: %s\n", error);
        return PERF_USAGE;
    }
    int listener = iw_transport_bind(&at, address, error, sizeof error);
    if (listener < 0) {
        fprintf(stderr, "iwarp-perf: %s\n", error);
        return PERF_UNAVAILABLE;
    }
    printf("listening on %s\n", address);
    fflush(stdout);
    int status = perf_serve(listener, plan->once);
    close(listener);
    return status;
}
