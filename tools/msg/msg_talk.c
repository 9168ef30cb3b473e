/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg_talk.h"
#include "msg_command.h"

#include "host/complain.h"
#include "iwarp/octets.h"
#include "standard.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

enum { LOOK_MS = 200, SILENT_MS = 1000, ECHO = 1 /* a tag; other messages have 0 */ };

int msg_talk_open(struct msg_settings *settings, uint32_t to, struct msg_talk *t)
{
    *t = (struct msg_talk){.to = to, .tcp = {.fd = -1}, .echo = {MSG_PING}};
    if (getrandom(t->echo + 1, sizeof(t->echo) - 1, 0) != sizeof(t->echo) - 1)
        return iw_complain_exit(IW_EXIT_TESTER, "no randomness: %s", strerror(errno));
    int status = msg_place_open(&settings->place, &settings->net, &t->m);
    if (status >= 0)
        return status;
    status = msg_place_service(t->m, 0, &t->s);
    if (status < 0 && settings->exchange.tcp != NULL)
        status = msg_tcp_connect(settings->exchange.tcp, &t->tcp);
    if (status >= 0)
        msg_talk_close(t);
    return status;
}

void msg_talk_close(struct msg_talk *t)
{
    msg_tcp_close(&t->tcp);
    iw_messages_close(t->m);
    t->m = NULL;
}

int msg_talk_wrong(const struct msg_talk *t)
{
    return iw_complain_exit(IW_EXIT_FAILURE, "%" PRIu32 ": answers with something else", t->to);
}

int msg_talk_tcp_failed(void)
{
    return iw_complain_exit(IW_EXIT_FAILURE, "--tcp: %s",
                            errno == 0 ? "the connection has ended" : strerror(errno));
}

int msg_talk_send(struct msg_talk *t, void *octets, size_t length, unsigned flags)
{
    const struct iovec piece = {octets, length};
    if (iw_messages_send(t->s, t->to, &piece, 1, flags, 0) == 0)
        return -1;
    return iw_complain_exit(IW_EXIT_TESTER, "send: %s", strerror(errno));
}

static void ask(struct msg_talk *t)
{
    const struct iovec piece = {t->echo, sizeof(t->echo)};
    t->asks = iw_messages_send(t->s, t->to, &piece, 1, IW_MESSAGES_NOWAIT, ECHO) == 0;
}

static bool is_echo(const struct msg_talk *t, const struct iw_message *got)
{
    return got->length == sizeof(t->echo) && memcmp(got->data, t->echo, sizeof(t->echo)) == 0;
}

static int complain_gone(const struct msg_talk *t)
{
    return iw_complain_exit(IW_EXIT_FAILURE, "%" PRIu32 ": its process is gone, no answer came",
                            t->to);
}

/* Handles what was received. Returns true if it is the answer, or what ends the dialogue. */
static bool handle(struct msg_talk *t, const struct iw_message *got, int *status)
{
    *status = -1;
    if (got->kind == IW_MESSAGES_UNDELIVERED) {
        *status = got->tag == ECHO ? complain_gone(t) : msg_place_undelivered(got);
        return true;
    }
    if (got->number == t->to && !is_echo(t, got)) {
        t->late += t->asks;
        t->asks = false;
        return true;
    }
    iw_messages_free(t->m, got->data);
    if (got->number != t->to)
        return false;
    if (t->late == 0)
        *status = complain_gone(t);
    else
        t->late--;
    return *status >= 0;
}

int msg_talk_await(struct msg_talk *t, struct iw_message *got)
{
    int status;
    for (unsigned silent = 0;;) {
        if (iw_standard_interrupted())
            return IW_EXIT_INTERRUPTED;
        if (iw_messages_receive(t->s, got, LOOK_MS) == 0) {
            if (handle(t, got, &status))
                return status;
            continue;
        }
        if (errno != ETIMEDOUT)
            return iw_complain_exit(IW_EXIT_TESTER, "receive: %s", strerror(errno));
        silent += LOOK_MS;
        if (silent >= SILENT_MS && !t->asks)
            ask(t);
    }
}

int msg_talk_by_tcp(struct msg_talk *t, size_t length, size_t most, const uint8_t **answer)
{
    *answer = msg_tcp_send(&t->tcp, length) ? msg_tcp_receive(&t->tcp, most) : NULL;
    return *answer != NULL ? -1 : msg_talk_tcp_failed();
}

static bool is_cpu(const uint8_t *octets, size_t length, uint64_t *ns)
{
    if (octets == NULL || length != 9 || octets[0] != MSG_CPU)
        return false;
    *ns = iw_get64(octets + 1);
    return true;
}

int msg_talk_cpu(struct msg_talk *t, uint64_t *ns)
{
    struct iw_message got;
    int status = msg_talk_send(t, &(char){MSG_CPU}, 1, 0);
    if (status < 0)
        status = msg_talk_await(t, &got);
    if (status >= 0)
        return status;
    const bool right = is_cpu(got.data, got.length, ns);
    iw_messages_free(t->m, got.data);
    return right ? -1 : msg_talk_wrong(t);
}

int msg_talk_cpu_by_tcp(struct msg_talk *t, uint64_t *ns)
{
    const uint8_t *answer;
    uint8_t *octets = msg_tcp_room(&t->tcp, 1);
    if (octets == NULL)
        return msg_talk_tcp_failed();
    octets[0] = MSG_CPU;
    const int status = msg_talk_by_tcp(t, 1, MSG_TEXT, &answer);
    return status >= 0 || is_cpu(answer, t->tcp.length, ns) ? status : msg_talk_wrong(t);
}
