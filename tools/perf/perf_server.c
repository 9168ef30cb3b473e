/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_control.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/complain.h"
#include "iwarp/transport.h"

enum { GREETING = 10 /* seconds */ };

/* The listening socket, and connections that came to it while another was expected. */
struct arrivals {
    int listener;
    int waiting[PERF_CONNECTIONS];
    size_t count;
};

/* One client. */
struct session {
    struct perf_control control;
    struct arrivals *arrivals;
    bool came;   /* has said something */
    bool direct; /* nothing between the two changes ports */
    struct perf_lane *lanes[PERF_LANES];
    size_t lane_count;
};

/* The functions that return a bool return true if all is well, else false with s->control.error. */

/* Ends the session with this error at both ends. Returns false. */
static bool refuse(struct session *s, const char *text)
{
    if (!perf_control_send(&s->control, json_pack("{ss}", "error", text)))
        (void)perf_control_fail(&s->control, text);
    return false;
}

/* Writes the peer's address, NI_MAXHOST octets. Returns false if it has none. */
static bool peer_host(int fd, char *host)
{
    struct sockaddr_storage at;
    struct sockaddr *peer = (struct sockaddr *)&at;
    socklen_t length = sizeof(at);
    return getpeername(fd, peer, &length) == 0 &&
           getnameinfo(peer, length, host, NI_MAXHOST, NULL, 0, NI_NUMERICHOST) == 0;
}

/* Returns true if a connection is the one that the client means. If something between the two
 * changes ports, any of the same address may be. */
static bool is_meant(const struct session *s, int fd, json_int_t port)
{
    char client[NI_MAXHOST], host[NI_MAXHOST];
    return peer_host(s->control.fd, client) && peer_host(fd, host) && strcmp(client, host) == 0 &&
           (!s->direct || perf_control_port(fd, true) == port);
}

static int take_waiting(struct arrivals *a, size_t i)
{
    int fd = a->waiting[i];
    memmove(&a->waiting[i], &a->waiting[i + 1], (--a->count - i) * sizeof(a->waiting[0]));
    return fd;
}

/* Waits for a connection, milliseconds or for ever (-1). Returns it, or -1 with errno: EAGAIN if
 * none has come, or none that is still there. */
static int accept_next(const struct arrivals *a, int milliseconds)
{
    struct pollfd p = {.fd = a->listener, .events = POLLIN};
    (void)poll(&p, 1, milliseconds);
    int fd = accept4(a->listener, NULL, NULL, SOCK_CLOEXEC); /* it does not block */
    if (errno == EINTR || errno == ECONNABORTED)
        errno = EAGAIN;
    return fd;
}

/* Returns the connection of the lane with this port at the client's end; -1, with errno, if there
 * is none. */
static int accept_one(struct session *s, json_int_t port)
{
    struct arrivals *a = s->arrivals;
    double until = perf_seconds() + GREETING;
    for (size_t i = 0; i < a->count; i++)
        if (is_meant(s, a->waiting[i], port))
            return take_waiting(a, i);
    for (double left; (left = until - perf_seconds()) > 0;) {
        int fd = accept_next(a, (int)(left * 1000) + 1);
        if (fd < 0 && errno != EAGAIN)
            return -1;
        if (fd < 0)
            continue;
        if (is_meant(s, fd, port))
            return fd;
        if (a->count < PERF_CONNECTIONS)
            a->waiting[a->count++] = fd;
        else
            close(fd);
    }
    errno = ETIMEDOUT;
    return -1;
}

static bool attach_one(struct session *s, struct perf_lane *lane, uint32_t i)
{
    json_int_t port;
    int known = perf_control_expect(&s->control, "{sI}", "port", &port);
    if (known != 0)
        return known > 0 ? refuse(s, "no port of a connection") : false;
    int fd = accept_one(s, port);
    if (fd < 0 && errno == ETIMEDOUT)
        return refuse(s, "a connection of the lane did not come");
    char error[PERF_TEXT];
    if (fd < 0) {
        snprintf(error, sizeof(error), "a connection of the lane cannot be accepted: %s",
                 strerror(errno));
        return refuse(s, error);
    }
    if (perf_lane_socket(&lane->setup, fd, error)) {
        close(fd);
        return refuse(s, error);
    }
    return lane->ops->attach(lane, i, fd) ? refuse(s, lane->error) : true;
}

static bool open_lane(struct session *s, const json_t *command)
{
    struct perf_setup setup;
    json_int_t sink, source, counter;
    if (s->lane_count == PERF_LANES || perf_setup_from_json(command, &setup) ||
        json_unpack((json_t *)(uintptr_t)command, "{sI sI sI}", "sink", &sink, "source", &source,
                    "counter", &counter))
        return refuse(s, "a lane out of range");
    char error[PERF_TEXT];
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
        return false;
    for (uint32_t i = 0; i < setup.connections; i++)
        if (!attach_one(s, lane, i))
            return false;
    if (perf_control_send(&s->control, json_pack("{sb}", "attached", true)))
        return false;
    if (lane->ops->establish(lane))
        return refuse(s, lane->error);
    return !perf_control_send(&s->control, json_pack("{sb}", "ready", true));
}

static bool run_slice(struct session *s, const json_t *command)
{
    struct perf_run run;
    json_int_t which;
    if (perf_run_from_json(command, &run) ||
        json_unpack((json_t *)(uintptr_t)command, "{sI}", "lane", &which) ||
        (size_t)which >= s->lane_count)
        return refuse(s, "a slice out of range");
    struct perf_lane *lane = s->lanes[which];
    if (perf_lane_prepare(lane, &run))
        return refuse(s, lane->error);
    uint64_t calls = lane->calls;
    double cpu = perf_cpu_seconds();
    if (perf_control_send(&s->control, json_pack("{sb}", "ready", true)))
        return false;
    if (lane->ops->execute(lane, &run, NULL))
        return refuse(s, lane->error);
    cpu = perf_cpu_seconds() - cpu;
    if (perf_lane_verify(lane, &run))
        return refuse(s, lane->error);
    return !perf_control_send(&s->control, json_pack("{sf sI sI}", "cpu", cpu, "calls",
                                                     (json_int_t)(lane->calls - calls), "resident",
                                                     (json_int_t)perf_resident()));
}

static bool greet(struct session *s)
{
    int version = 0, patience = s->control.patience;
    json_int_t port = 0;
    s->control.patience = GREETING;
    int known = perf_control_expect(&s->control, "{si s?I}", "iwarp-perf", &version, "port", &port);
    s->control.patience = patience;
    s->direct = port == perf_control_port(s->control.fd, true);
    if (known < 0)
        return false;
    s->came = true;
    if (known > 0 || version != PERF_PROTOCOL)
        return refuse(s, "another version of iwarp-perf");
    return !perf_control_send(&s->control, json_pack("{si}", "iwarp-perf", PERF_PROTOCOL));
}

/* Runs the session until the client says goodbye. */
static bool converse(struct session *s)
{
    bool good = greet(s);
    for (bool over = false; good && !over;) {
        json_t *command = perf_control_receive(&s->control);
        const char *name = json_string_value(json_object_get(command, "command"));
        if (command == NULL)
            return false;
        if (name != NULL && strcmp(name, "end") == 0)
            over = true;
        else if (name != NULL && strcmp(name, "open") == 0)
            good = open_lane(s, command);
        else if (name != NULL && strcmp(name, "run") == 0)
            good = run_slice(s, command);
        else
            good = refuse(s, "an unknown command");
        json_decref(command);
    }
    return good;
}

/* Serves a connection. Returns true if it was a client. A connection that closes before its first
 * line only probes for a listener, or is the rest of a lane that failed. */
static bool serve_one(struct arrivals *arrivals, int fd, int *exit_status)
{
    struct session s = {.arrivals = arrivals};
    perf_control_init(&s.control, fd);
    bool good = converse(&s), nobody = !s.came && s.control.ended;
    if (!good && !nobody)
        iw_complain("server: %s", s.control.error);
    for (size_t i = 0; i < s.lane_count; i++)
        perf_lane_destroy(s.lanes[i]);
    perf_control_close(&s.control);
    *exit_status = good ? IW_EXIT_GOOD : IW_EXIT_FAILURE;
    return !nobody;
}

int perf_serve(int listener, bool one_client)
{
    struct arrivals arrivals = {.listener = listener};
    int status = IW_EXIT_GOOD;
    for (bool over = false; !over;) {
        int fd = arrivals.count > 0 ? take_waiting(&arrivals, 0) : accept_next(&arrivals, -1);
        if (fd >= 0) {
            over = serve_one(&arrivals, fd, &status) && one_client;
        } else if (errno != EAGAIN) {
            iw_complain("server: cannot accept: %s", strerror(errno));
            return IW_EXIT_FAILURE;
        }
    }
    while (arrivals.count > 0)
        close(take_waiting(&arrivals, 0));
    return status;
}

/* A server has nothing to keep. */
static void on_interrupt(int number)
{
    (void)number;
    _exit(IW_EXIT_INTERRUPTED);
}

int perf_server(const struct perf_plan *plan)
{
    struct iw_host_port at;
    char error[PERF_TEXT + 200], address[IW_TRANSPORT_TEXT];
    if (iw_transport_parse(plan->address, &at, error, sizeof(error))) {
        iw_complain("%s", error);
        return IW_EXIT_USAGE;
    }
    int listener = iw_transport_bind(&at, address, error, sizeof(error));
    if (listener < 0) {
        iw_complain("%s", error);
        return IW_EXIT_UNAVAILABLE;
    }
    signal(SIGINT, on_interrupt);
    printf("listening on %s\n", address);
    fflush(stdout);
    int status = perf_serve(listener, plan->one_client);
    close(listener);
    return status;
}
