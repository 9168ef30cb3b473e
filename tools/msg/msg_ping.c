/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-msg ping: the round trip of messages of one size. */
#include "msg_command.h"
#include "msg_measure.h"
#include "msg_numbers.h"
#include "msg_talk.h"

#include "host/complain.h"
#include "standard.h"

#include <stdlib.h>
#include <string.h>

const struct iw_option msg_exchange_options[MSG_EXCHANGE_OPTIONS] = {
    {"size", 's', "OCTETS", "octets of a message, 1 to 1073741824 (50)", MSG_PINGS,
     IW_OPTION_COUNTS(struct msg_exchange, size, 1, IW_MESSAGES_LONG)},
    {"count", 'n', "N", "round trips that are measured (1000)", MSG_PINGS,
     IW_OPTION_COUNTS(struct msg_exchange, count, 1, 10000000)},
    {"warm-up", 0, "N", "round trips before them (100)", MSG_PINGS,
     IW_OPTION_COUNTS(struct msg_exchange, warm_up, 0, 10000000)},
    {"interval", 0, "S", "wait so long between round trips (0)", MSG_PINGS,
     IW_OPTION_MEASURES(struct msg_exchange, interval, 0, 3600)},
    {"count", 'n', "N",
     "fetch it so often, and print how long that took; the file has to go to\n"
     "--output",
     MSG_GETS, IW_OPTION_COUNTS(struct msg_exchange, fetches, 1, 10000000)},
    {"json", 0, NULL, "print a JSON object", MSG_PINGS | MSG_GETS,
     IW_OPTION_SETS(struct msg_exchange, json)},
    {"output", 'o', "FILE", "write the file there (standard output)", MSG_GETS,
     IW_OPTION_KEEPS(struct msg_exchange, output)},
    {"tcp", 0, "HOST:PORT",
     "serve: answer there over plain TCP, too, one connection at a time;\n"
     "ping, get: measure that in turn with the messages",
     MSG_ENDS, IW_OPTION_KEEPS(struct msg_exchange, tcp)},
};

static void fill(uint8_t *octets, uint64_t size, unsigned round)
{
    octets[0] = MSG_PING;
    if (size > 1)
        octets[size - 1] = (uint8_t)round;
}

static bool answered(const uint8_t *octets, size_t length, uint64_t size, unsigned round)
{
    return length == size && octets[0] == MSG_PING &&
           (size == 1 || octets[size - 1] == (uint8_t)round);
}

struct ping {
    const struct msg_exchange *e;
    struct msg_talk talk;
    void *buffer; /* travels there and back */
};

static int ping_by_messages(void *of, unsigned round)
{
    struct ping *p = of;
    struct iw_message got;
    const uint64_t size = p->e->size;
    if (p->buffer == NULL)
        return iw_complain_exit(IW_EXIT_TESTER, "no memory of the pool");
    fill(p->buffer, size, round);
    int status = msg_talk_send(&p->talk, p->buffer, size, IW_MESSAGES_GIVE);
    if (status < 0) {
        p->buffer = NULL;
        status = msg_talk_await(&p->talk, &got);
    }
    if (status >= 0)
        return status;
    const bool right = answered(got.data, got.length, size, round);
    /* Its place at home is for the next answer; the next question has a buffer of its own. */
    p->buffer = iw_messages_get(p->talk.m, size);
    iw_messages_return(p->talk.m, got.data);
    return right ? -1 : msg_talk_wrong(&p->talk);
}

static int ping_by_tcp(void *of, unsigned round)
{
    struct ping *p = of;
    const uint8_t *answer;
    const uint64_t size = p->e->size;
    uint8_t *octets = msg_tcp_room(&p->talk.tcp, size);
    if (octets == NULL)
        return msg_talk_tcp_failed();
    fill(octets, size, round);
    const int status = msg_talk_by_tcp(&p->talk, size, size, &answer);
    return status >= 0 || answered(answer, p->talk.tcp.length, size, round)
               ? status
               : msg_talk_wrong(&p->talk);
}

static int measure(struct ping *p)
{
    struct msg_talk *t = &p->talk;
    const bool both = t->tcp.fd >= 0;
    /* Only iwarp-msg serve has the other way, and it knows the question for processor time. */
    struct msg_way ways[] = {
        {"ping", "", ping_by_messages, p, both ? msg_talk_cpu : NULL, .talk = t},
        {"ping-tcp", " by TCP", ping_by_tcp, p, msg_talk_cpu_by_tcp, .talk = t},
    };
    p->buffer = iw_messages_get(t->m, p->e->size);
    if (p->buffer != NULL)
        memset(p->buffer, 0, p->e->size);
    return msg_measure(p->e, t->to, "round trip", "round trips", ways, both ? 2 : 1);
}

int msg_ping_run(struct msg_settings *settings, char *const *operands, size_t operand_count)
{
    struct ping p = {.e = &settings->exchange};
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
    status = msg_talk_open(settings, to, &p.talk);
    if (status >= 0)
        return status;
    status = measure(&p);
    msg_talk_close(&p.talk);
    return status;
}
