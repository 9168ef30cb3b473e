/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_control.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void perf_control_init(struct perf_control *c, int fd)
{
    int on = 1;
    /* A slice may take its time, and stall as well. */
    *c = (struct perf_control){.fd = fd, .patience = 10 * PERF_STALL};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void perf_control_close(struct perf_control *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

int perf_control_fail(struct perf_control *c, const char *text)
{
    snprintf(c->error, sizeof c->error, "%s", text);
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
    while (sent < length) {
        ssize_t n = send(c->fd, text + sent, length - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            snprintf(c->error, sizeof c->error, "control connection: %s", strerror(errno));
            break;
        }
        sent += (size_t)n;
    }
    free(text);
    return sent == length ? 0 : -1;
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
        snprintf(c->error, sizeof c->error, "the peer says: %.200s", trouble);
    for (char *at = c->error; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?'; /* nothing for a terminal to obey */
    json_decref(message);
    return NULL;
}

json_t *perf_control_receive(struct perf_control *c)
{
    double until = perf_seconds() + c->patience;
    for (;;) {
        const char *end = memchr(c->line, '\n', c->have);
        if (end != NULL)
            return take_line(c, end);
        if (c->have == sizeof c->line) {
            (void)perf_control_fail(c, foreign);
            return NULL;
        }
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        double left = until - perf_seconds();
        if (left <= 0 || poll(&p, 1, (int)(left * 1000) + 1) == 0) {
            snprintf(c->error, sizeof c->error, "control connection: nothing came for %d seconds",
                     c->patience);
            return NULL;
        }
        ssize_t n = recv(c->fd, c->line + c->have, sizeof c->line - c->have, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            snprintf(c->error, sizeof c->error, "control connection: %s",
                     n == 0 ? "closed by the peer" : strerror(errno));
            c->ended = true;
            return NULL;
        }
        c->have += (size_t)n;
    }
}

int perf_control_expect(struct perf_control *c, const char *format, ...)
{
    va_list members;
    json_t *message = perf_control_receive(c);
    if (message == NULL)
        return -1;
    va_start(members, format);
    int result = json_vunpack_ex(message, NULL, 0, format, members);
    va_end(members);
    json_decref(message);
    return result == 0 ? 0 : -perf_control_fail(c, foreign);
}

json_int_t perf_control_port(int fd, bool peer)
{
    struct sockaddr_storage at = {0};
    socklen_t length = sizeof at;
    if (peer ? getpeername(fd, (struct sockaddr *)&at, &length)
             : getsockname(fd, (struct sockaddr *)&at, &length))
        return 0;
    if (at.ss_family != AF_INET && at.ss_family != AF_INET6)
        return 0;
    return ntohs(((struct sockaddr_in *)&at)->sin_port); /* sin6_port is where sin_port is */
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

static bool between(json_int_t value, json_int_t low, json_int_t high)
{
    return value >= low && value <= high;
}

int perf_setup_from_json(const json_t *from, struct perf_setup *s)
{
    int tcp, crc, markers, poll, ahead = false;
    json_int_t connections, mss, mulpdu, window, threads, buffer, size;
    const char *congestion = "";
    if (json_unpack((json_t *)(uintptr_t)from, "{sb sb sb sb sI sI sI sI sI sI sI s?s s?b}", "tcp",
                    &tcp, "crc", &crc, "markers", &markers, "poll", &poll, "connections",
                    &connections, "mss", &mss, "mulpdu", &mulpdu, "window", &window, "threads",
                    &threads, "socket_buffer", &buffer, "size_max", &size, "congestion",
                    &congestion, "ahead", &ahead))
        return -1;
    if (!between(connections, 1, PERF_CONNECTIONS) || !between(mss, 0, PERF_MSS) ||
        !between(mulpdu, 0, 64768) || !between(window, 1, PERF_WINDOW) ||
        !between(threads, 1, PERF_THREADS) || threads > connections ||
        !between(buffer, 0, 1 << 30) || !between(size, 1, PERF_SIZE_MAX) ||
        connections * size > PERF_MEMORY || connections * window > PERF_POSTED ||
        strlen(congestion) >= sizeof s->congestion)
        return -1;
    *s = (struct perf_setup){.tcp = tcp,
                             .crc = crc,
                             .markers = markers,
                             .poll = poll,
                             .ahead = ahead,
                             .connections = (uint32_t)connections,
                             .mss = (uint32_t)mss,
                             .mulpdu = (uint32_t)mulpdu,
                             .window = (uint32_t)window,
                             .threads = (uint32_t)threads,
                             .socket_buffer = (uint64_t)buffer,
                             .size_max = (uint64_t)size};
    snprintf(s->congestion, sizeof s->congestion, "%s", congestion);
    return 0;
}

int perf_run_from_json(const json_t *from, struct perf_run *r)
{
    int test, both, verify;
    json_int_t size, count, seed;
    if (json_unpack((json_t *)(uintptr_t)from, "{si sI sI sb sb sI}", "test", &test, "size", &size,
                    "count", &count, "both", &both, "verify", &verify, "seed", &seed) ||
        !between(test, 0, PERF_TESTS - 1) || !between(size, 1, PERF_SIZE_MAX) ||
        !between(count, 1, PERF_COUNT) || !between(seed, 0, UINT32_MAX))
        return -1;
    *r = (struct perf_run){.test = (enum perf_test)test,
                           .size = (uint64_t)size,
                           .count = (uint64_t)count,
                           .both = both,
                           .verify = verify,
                           .seed = (uint32_t)seed};
    return 0;
}
