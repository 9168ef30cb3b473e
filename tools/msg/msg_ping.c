/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-msg ping: the round trip of messages of one size. */
#include "msg_command.h"
#include "msg_numbers.h"

#include "host/complain.h"
#include "host/number.h"
#include "host/text.h"
#include "standard.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct iw_option msg_exchange_options[MSG_EXCHANGE_OPTIONS] = {
    {"size", 's', "OCTETS", "octets of a message, 1 to 1073741824 (50)", MSG_PINGS,
     IW_OPTION_COUNTS(struct msg_exchange, size, 1, IW_MESSAGES_LONG)},
    {"count", 'n', "N", "round trips that are measured (1000)", MSG_PINGS,
     IW_OPTION_COUNTS(struct msg_exchange, count, 1, 10000000)},
    {"warm-up", 0, "N", "round trips before them (100)", MSG_PINGS,
     IW_OPTION_COUNTS(struct msg_exchange, warm_up, 0, 10000000)},
    {"interval", 0, "S", "wait so long between round trips (0)", MSG_PINGS,
     IW_OPTION_MEASURES(struct msg_exchange, interval, 0, 3600)},
    {"json", 0, NULL, "print one JSON object", MSG_PINGS,
     IW_OPTION_SETS(struct msg_exchange, json)},
    {"output", 'o', "FILE", "write the file there (standard output)", MSG_GETS,
     IW_OPTION_KEEPS(struct msg_exchange, output)},
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool answered(const struct iw_message *got, uint64_t size, unsigned round)
{
    const uint8_t *octets = got->data;
    return got->length == size && octets[0] == MSG_PING &&
           (size == 1 || octets[size - 1] == (uint8_t)round);
}

/* One round trip. Returns -1 to go on, else the exit status. `buffer` travels there and back. */
static int go_once(struct iw_messages *m, struct iw_service *s, uint32_t to, void **buffer,
                   uint64_t size, unsigned round)
{
    struct iw_message got;
    uint8_t *octets = *buffer;
    octets[0] = MSG_PING;
    if (size > 1)
        octets[size - 1] = (uint8_t)round;
    if (iw_messages_send(s, to, &(struct iovec){octets, size}, 1, IW_MESSAGES_GIVE, round) != 0)
        return iw_complain_exit(IW_EXIT_TESTER, "send: %s", strerror(errno));
    if (iw_messages_receive(s, &got, -1) != 0)
        return iw_complain_exit(IW_EXIT_TESTER, "receive: %s", strerror(errno));
    if (got.kind == IW_MESSAGES_UNDELIVERED)
        return msg_place_undelivered(&got);
    const bool right = answered(&got, size, round);
    // Its place at home is for the next answer; the next question has a buffer of its own.
    *buffer = iw_messages_get(m, size);
    iw_messages_return(m, got.data);
    if (!right)
        return iw_complain_exit(IW_EXIT_FAILURE, "%" PRIu32 ": answers with something else", to);
    return *buffer != NULL ? -1 : iw_complain_exit(IW_EXIT_TESTER, "no memory of the pool");
}

static int later(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double at_share(const uint64_t *sorted, unsigned count, unsigned share)
{
    return (double)sorted[iw_number_place(count, share)] / 1000;
}

static void report(const struct msg_exchange *e, uint32_t to, uint64_t *ns, unsigned count,
                   double cpu)
{
    if (count == 0)
        return;
    qsort(ns, count, sizeof(*ns), later);
    const double p50 = at_share(ns, count, 500), p99 = at_share(ns, count, 990);
    if (e->json)
        printf("{\"type\":\"ping\",\"number\":%" PRIu32 ",\"octets\":%" PRIu64
               ",\"round_trips\":%u,\"us_least\":%.3f,\"us_p50\":%.3f,\"us_p99\":%.3f,"
               "\"us_most\":%.3f,\"cpu_us\":%.3f}\n",
               to, e->size, count, (double)ns[0] / 1000, p50, p99, (double)ns[count - 1] / 1000,
               cpu / count);
    else
        printf("%" PRIu32 ": %u round trip%s of %" PRIu64
               " octets: least %.2f us, p50 %.2f, p99 %.2f, most %.2f; processor %.2f us each\n",
               to, count, iw_text_plural(count), e->size, (double)ns[0] / 1000, p50, p99,
               (double)ns[count - 1] / 1000, cpu / count);
}

static int measure(const struct msg_exchange *e, struct iw_messages *m, struct iw_service *s,
                   uint32_t to)
{
    uint64_t *ns = iw_got(calloc(e->count, sizeof(*ns))), cpu = 0;
    void *buffer = iw_messages_get(m, e->size);
    unsigned done = 0;
    int status = buffer != NULL ? -1 : iw_complain_exit(IW_EXIT_TESTER, "no memory of the pool");
    if (buffer != NULL)
        memset(buffer, 0, e->size);
    for (unsigned i = 0; status < 0 && i < e->warm_up + e->count && !iw_standard_interrupted();
         i++) {
        if (i == e->warm_up)
            cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        const uint64_t begun = clock_ns(CLOCK_MONOTONIC);
        status = go_once(m, s, to, &buffer, e->size, i);
        if (status < 0 && i >= e->warm_up)
            ns[done++] = clock_ns(CLOCK_MONOTONIC) - begun;
        if (e->interval > 0) {
            const struct timespec pause = {
                (time_t)e->interval, (long)((e->interval - (double)(time_t)e->interval) * 1e9)};
            nanosleep(&pause, NULL);
        }
    }
    report(e, to, ns, done, (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / 1000);
    free(ns);
    return status >= 0 ? status : iw_standard_interrupted() ? IW_EXIT_INTERRUPTED : IW_EXIT_GOOD;
}

int msg_ping_run(struct msg_settings *settings, char *const *operands, size_t operand_count)
{
    struct iw_messages *m;
    struct iw_service *s;
    uint32_t *numbers;
    size_t count;
    int status = msg_numbers_read(operands, operand_count, &numbers, &count);
    if (status >= 0)
        return status;
    const uint32_t to = numbers[0];
    free(numbers);
    if (count != 1)
        return iw_complain_exit(IW_EXIT_USAGE, "%s: expected one number", operands[0]);
    iw_standard_catch_interrupt();
    status = msg_place_open(&settings->place, &settings->net, &m);
    if (status >= 0)
        return status;
    status = msg_place_service(m, 0, &s);
    if (status < 0)
        status = measure(&settings->exchange, m, s, to);
    iw_messages_close(m);
    return status;
}
