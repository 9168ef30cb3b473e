/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "iwarp/transport.h"

/* One client. */
struct session {
    struct perf_control control;
    int listener;
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

/* The next connection of the client whose control connection this is. */
static int accept_one(struct session *s)
{
    struct pollfd p = {.fd = s->listener, .events = POLLIN};
    int fd = -1;
    while (fd < 0) {
        int ready = poll(&p, 1, 10000);
        if (ready == 0)
            return -1;
        fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            return -1;
    }
    return fd;
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
    for (uint32_t i = 0; i < setup.connections; i++) {
        int fd = accept_one(s);
        if (fd < 0)
            return refuse(s, "a connection of the lane did not come");
        if (perf_lane_socket(&setup, fd)) {
            close(fd);
            return refuse(s, "TCP of the server has no such congestion control");
        }
        if (lane->ops->attach(lane, i, fd))
            return refuse(s, lane->error);
    }
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
    int version = 0;
    json_t *hello = perf_control_receive(&s->control);
    int known = json_unpack(hello, "{si}", "iwarp-perf", &version);
    json_decref(hello);
    if (hello == NULL)
        return -1;
    if (known != 0 || version != PERF_PROTOCOL)
        return refuse(s, "another version of iwarp-perf");
    return perf_control_send(&s->control, json_pack("{si}", "iwarp-perf", PERF_PROTOCOL));
}

/* 0 once the client says goodbye. */
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

static int serve_one(int listener, int fd)
{
    struct session s = {.listener = listener};
    perf_control_init(&s.control, fd);
    int status = converse(&s);
    if (status)
        fprintf(stderr, "iwarp-perf: server: %s\n", s.control.error);
    for (size_t i = 0; i < s.lane_count; i++)
        perf_lane_destroy(s.lanes[i]);
    perf_control_close(&s.control);
    return status ? PERF_FAILED : PERF_OK;
}

int perf_serve(int listener, bool once)
{
    for (;;) {
        struct pollfd p = {.fd = listener, .events = POLLIN};
        if (poll(&p, 1, -1) < 0 && errno != EINTR)
            return PERF_FAILED;
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        int status = serve_one(listener, fd);
        if (once)
            return status;
    }
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
