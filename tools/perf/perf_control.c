/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_control.h"

#include "host/address.h"
#include "host/clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NS_PER_SECOND = 1000000000 };

void perf_control_init(struct perf_control *c, int fd)
{
    int on = 1;
    /* A slice may take its time, and stall as well. */
    *c = (struct perf_control){.fd = fd, .patience = 10 * PERF_STALL};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void perf_control_close(struct perf_control *c)
{
    if (c->fd >= 0)
        close(c->fd);
}

int perf_control_fail(struct perf_control *c, const char *text)
{
    snprintf(c->error, sizeof(c->error), "%s", text);
    return -1;
}

int perf_control_send(struct perf_control *c, json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    size_t length = text != NULL ? strlen(text) : 0, sent = 0;
    json_decref(message);
    if (text == NULL)
        return perf_control_fail(c, "no memory");
    text[length++] = '\n'; /* in place of its end */
    int result = 0;
    while (result == 0 && sent < length) {
        ssize_t n = send(c->fd, text + sent, length - sent, MSG_NOSIGNAL);
        if (n >= 0) {
            sent += (size_t)n;
        } else if (errno != EINTR) {
            snprintf(c->error, sizeof(c->error), "control connection: %s", strerror(errno));
            result = -1;
        }
    }
    free(text);
    return result;
}

static const char foreign[] = "the peer does not speak as iwarp-perf does";

/* Returns the line that ends at `end`; keeps the rest for the next. */
static json_t *take_line(struct perf_control *c, const char *end)
{
    size_t length = (size_t)(end - c->line);
    json_t *message = json_loadb(c->line, length, JSON_REJECT_DUPLICATES, NULL);
    const char *trouble = json_string_value(json_object_get(message, "error"));
    c->have -= length + 1;
    memmove(c->line, end + 1, c->have);
    if (json_is_object(message) && trouble == NULL)
        return message;
    (void)perf_control_fail(c, foreign);
    c->theirs = trouble != NULL;
    if (trouble != NULL)
        snprintf(c->error, sizeof(c->error), "the peer says: %.200s", trouble);
    for (char *at = c->error; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?'; /* nothing for a terminal to obey */
    json_decref(message);
    return NULL;
}

json_t *perf_control_receive(struct perf_control *c)
{
    const uint64_t until = iw_clock_now() + (uint64_t)c->patience * NS_PER_SECOND;
    for (;;) {
        const char *end = memchr(c->line, '\n', c->have);
        if (end != NULL)
            return take_line(c, end);
        if (c->have == sizeof(c->line)) {
            (void)perf_control_fail(c, foreign);
            return NULL;
        }
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        const int left = iw_clock_left(until);
        if (left == 0) {
            snprintf(c->error, sizeof(c->error), "control connection: nothing came for %d seconds",
                     c->patience);
            return NULL;
        }
        if (poll(&p, 1, left) == 0)
            continue;
        ssize_t n = recv(c->fd, c->line + c->have, sizeof(c->line) - c->have, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            snprintf(c->error, sizeof(c->error), "control connection: %s",
                     n == 0 ? "closed by the peer" : strerror(errno));
            c->ended = true;
            return NULL;
        }
        c->have += (size_t)n;
    }
}

int perf_control_expect(struct perf_control *c, const char *format, ...)
{
    json_t *message = perf_control_receive(c);
    if (message == NULL)
        return -1;
    va_list members;
    va_start(members, format);
    int result = json_vunpack_ex(message, NULL, 0, format, members);
    va_end(members);
    json_decref(message);
    return result == 0 ? 0 : -perf_control_fail(c, foreign);
}

json_int_t perf_control_port(int fd, bool peer)
{
    struct sockaddr_storage at = {0};
    socklen_t length = sizeof(at);
    if (peer ? getpeername(fd, (struct sockaddr *)&at, &length)
             : getsockname(fd, (struct sockaddr *)&at, &length))
        return 0;
    return iw_address_port((struct sockaddr *)&at);
}

/* ---- what the messages hold ---- */

json_t *perf_setup_to_json(const struct perf_setup *s)
{
    return json_pack(
        "{sb sb sb sb sI sI sI sI sI sI sI ss sb}", "tcp", s->tcp, "crc", s->crc, "markers",
        s->markers, "poll", s->poll, "connections", (json_int_t)s->connections, "mss",
        (json_int_t)s->mss, "mulpdu", (json_int_t)s->mulpdu, "window", (json_int_t)s->window,
        "threads", (json_int_t)s->threads, "socket_buffer", (json_int_t)s->socket_buffer,
        "size_max", (json_int_t)s->size_max, "congestion", s->congestion, "ahead", s->ahead);
}

json_t *perf_run_to_json(const struct perf_run *r)
{
    return json_pack("{si sI sI sb sb sI}", "test", (int)r->test, "size", (json_int_t)r->size,
                     "count", (json_int_t)r->count, "both", r->both, "verify", r->verify, "seed",
                     (json_int_t)r->seed);
}

/* Returns a member; clears *good if there is none, or no whole number from low to high. */
static uint64_t number(const json_t *from, const char *name, json_int_t low, json_int_t high,
                       bool *good)
{
    const json_t *member = json_object_get(from, name);
    json_int_t value = json_integer_value(member);
    *good = *good && json_is_integer(member) && value >= low && value <= high;
    return (uint64_t)value;
}

static bool flag(const json_t *from, const char *name, bool *good)
{
    const json_t *member = json_object_get(from, name);
    *good = *good && json_is_boolean(member);
    return json_is_true(member);
}

int perf_setup_from_json(const json_t *from, struct perf_setup *s)
{
    const json_t *congestion = json_object_get(from, "congestion");
    bool good = congestion == NULL || (json_is_string(congestion) &&
                                       json_string_length(congestion) < sizeof(s->congestion));
    *s = (struct perf_setup){
        .tcp = flag(from, "tcp", &good),
        .crc = flag(from, "crc", &good),
        .markers = flag(from, "markers", &good),
        .poll = flag(from, "poll", &good),
        .ahead = json_object_get(from, "ahead") != NULL && flag(from, "ahead", &good),
        .connections = (uint32_t)number(from, "connections", 1, PERF_CONNECTIONS, &good),
        .mss = (uint32_t)number(from, "mss", 0, PERF_MSS, &good),
        .mulpdu = (uint32_t)number(from, "mulpdu", 0, 64768, &good),
        .window = (uint32_t)number(from, "window", 1, PERF_WINDOW, &good),
        .threads = (uint32_t)number(from, "threads", 1, PERF_THREADS, &good),
        .socket_buffer = number(from, "socket_buffer", 0, 1 << 30, &good),
        .size_max = number(from, "size_max", 1, PERF_SIZE_MAX, &good),
    };
    if (!good || s->threads > s->connections || s->connections * s->size_max > PERF_MEMORY ||
        s->connections * (uint64_t)s->window > PERF_POSTED)
        return -1;
    if (congestion != NULL)
        snprintf(s->congestion, sizeof(s->congestion), "%s", json_string_value(congestion));
    return 0;
}

int perf_run_from_json(const json_t *from, struct perf_run *r)
{
    bool good = true;
    *r = (struct perf_run){
        .test = (enum perf_test)number(from, "test", 0, PERF_TESTS - 1, &good),
        .size = number(from, "size", 1, PERF_SIZE_MAX, &good),
        .count = number(from, "count", 1, PERF_COUNT, &good),
        .both = flag(from, "both", &good),
        .verify = flag(from, "verify", &good),
        .seed = (uint32_t)number(from, "seed", 0, UINT32_MAX, &good),
    };
    return good ? 0 : -1;
}
