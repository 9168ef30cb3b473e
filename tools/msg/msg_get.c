/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-msg get: fetches a file of iwarp-msg serve. */
#include "msg_command.h"
#include "msg_measure.h"
#include "msg_numbers.h"
#include "msg_talk.h"

#include "host/complain.h"
#include "host/text.h"
#include "iwarp/octets.h"
#include "standard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool write_all(int file, const uint8_t *octets, size_t length)
{
    while (length > 0) {
        const ssize_t done = write(file, octets, length);
        if (done < 0 && errno != EINTR)
            return false;
        if (done > 0) {
            octets += done;
            length -= (size_t)done;
        }
    }
    return true;
}

struct get {
    struct msg_exchange *e;
    const char *path;
    int file;
    const char *name; /* of the file */
    struct msg_talk talk;
};

static int complain_error(const struct get *g, const uint8_t *octets, size_t length)
{
    char text[MSG_TEXT];
    length = length - 1 < sizeof(text) ? length - 1 : sizeof(text) - 1;
    memcpy(text, octets + 1, length);
    text[length] = '\0';
    iw_text_printable(text);
    return iw_complain_exit(IW_EXIT_FAILURE, "%" PRIu32 ": %s", g->talk.to, text);
}

static int keep(const struct get *g, const uint8_t *octets, size_t length)
{
    return write_all(g->file, octets, length)
               ? -1
               : iw_complain_exit(IW_EXIT_OUTPUT, "%s: %s", g->name, strerror(errno));
}

/* Reads what an answer begins with: the length of the file. Returns -1 or the exit status. */
static int begin(const struct get *g, const uint8_t *octets, size_t length, uint64_t *left)
{
    if (length > 0 && octets[0] == MSG_ERROR)
        return complain_error(g, octets, length);
    if (length != 9 || octets[0] != MSG_FILE)
        return msg_talk_wrong(&g->talk);
    *left = iw_get64(octets + 1);
    g->e->size = *left;
    /* Of several fetches the file keeps the last one; what cannot seek is no regular file. */
    if (g->e->fetches > 0)
        (void)lseek(g->file, 0, SEEK_SET);
    return -1;
}

static size_t question(const struct get *g, uint8_t *octets)
{
    const size_t length = strlen(g->path);
    octets[0] = MSG_GET;
    memcpy(octets + 1, g->path, length);
    return 1 + length;
}

/* Takes one part. Returns -1 or the exit status. */
static int take_part(struct get *g, uint64_t *left)
{
    struct iw_message got;
    const uint64_t part = *left > MSG_PART ? MSG_PART : *left;
    int status = msg_talk_await(&g->talk, &got);
    if (status >= 0)
        return status;
    if (got.length == part)
        status = keep(g, got.data, got.length);
    else if (got.length > 0 && *(const uint8_t *)got.data == MSG_ERROR)
        status = complain_error(g, got.data, got.length);
    else
        status = iw_complain_exit(IW_EXIT_FAILURE, "%" PRIu32 ": a part is missing", g->talk.to);
    *left -= part;
    iw_messages_return(g->talk.m, got.data);
    return status;
}

static int fetch_by_messages(void *of, unsigned round)
{
    struct get *g = of;
    struct iw_message got;
    uint8_t octets[MSG_PATH];
    uint64_t left = 0;
    (void)round;
    int status = msg_talk_send(&g->talk, octets, question(g, octets), 0);
    if (status < 0)
        status = msg_talk_await(&g->talk, &got);
    if (status >= 0)
        return status;
    status = begin(g, got.data, got.length, &left);
    iw_messages_free(g->talk.m, got.data);
    while (status < 0 && left > 0)
        status = take_part(g, &left);
    return status;
}

/* Takes what the stream still has of the file, from `octets` of a buffer on. */
static int take_stream(struct get *g, uint8_t *octets, uint64_t left)
{
    int status = -1;
    while (status < 0 && left > 0) {
        const size_t room = left < MSG_TCP_PART ? (size_t)left : MSG_TCP_PART;
        const ssize_t came = msg_tcp_receive_raw(&g->talk.tcp, octets, room);
        if (came <= 0) {
            if (iw_standard_interrupted())
                return IW_EXIT_INTERRUPTED;
            errno = came == 0 ? 0 : errno;
            return msg_talk_tcp_failed();
        }
        status = keep(g, octets, (size_t)came);
        left -= (size_t)came;
    }
    return status;
}

static int fetch_by_tcp(void *of, unsigned round)
{
    struct get *g = of;
    struct msg_tcp *tcp = &g->talk.tcp;
    uint64_t left = 0;
    const uint8_t *answer;
    uint8_t *octets = msg_tcp_room(tcp, MSG_TCP_PART);
    (void)round;
    if (octets == NULL)
        return msg_talk_tcp_failed();
    int status = msg_talk_by_tcp(&g->talk, question(g, octets), MSG_TEXT, &answer);
    if (status < 0)
        status = begin(g, answer, tcp->length, &left);
    if (status < 0 && tcp->more > left)
        status = msg_talk_wrong(&g->talk);
    if (status < 0)
        status = keep(g, answer + tcp->length, tcp->more);
    return status < 0 ? take_stream(g, octets, left - tcp->more) : status;
}

static int fetch(struct get *g)
{
    struct msg_talk *t = &g->talk;
    const bool both = t->tcp.fd >= 0;
    struct msg_way ways[] = {
        {"get", "", fetch_by_messages, g, msg_talk_cpu, .talk = t},
        {"get-tcp", " by TCP", fetch_by_tcp, g, msg_talk_cpu_by_tcp, .talk = t},
    };
    if (g->e->fetches == 0) {
        const int status = fetch_by_messages(g, 0);
        return status < 0 ? IW_EXIT_GOOD : status;
    }
    g->e->count = g->e->fetches;
    g->e->warm_up = 0;
    return msg_measure(g->e, t->to, "fetch", "fetches", ways, both ? 2 : 1);
}

static int get(struct msg_settings *settings, uint32_t from, struct get *g)
{
    int status = msg_talk_open(settings, from, &g->talk);
    if (status >= 0)
        return status;
    status = fetch(g);
    msg_talk_close(&g->talk);
    return status;
}

int msg_get_run(struct msg_settings *settings, char *const *operands, size_t operand_count)
{
    uint32_t *numbers;
    size_t count;
    (void)operand_count;
    int status = msg_numbers_read(operands, 1, &numbers, &count);
    if (status >= 0)
        return status;
    struct get g = {.e = &settings->exchange,
                    .path = operands[1],
                    .file = STDOUT_FILENO,
                    .name = settings->exchange.output};
    const uint32_t from = numbers[0];
    free(numbers);
    if (count != 1)
        return iw_complain_exit(IW_EXIT_USAGE, "%s: expected one number", operands[0]);
    if (strlen(g.path) > MSG_PATH - 2)
        return iw_complain_exit(IW_EXIT_USAGE, "PATH: expected at most %d octets", MSG_PATH - 2);
    if ((g.e->tcp != NULL || g.e->json) && g.e->fetches == 0)
        return iw_complain_exit(IW_EXIT_USAGE, "%s: expected --count, too",
                                g.e->tcp != NULL ? "--tcp" : "--json");
    if (g.e->fetches > 0 && g.name == NULL)
        return iw_complain_exit(IW_EXIT_USAGE, "--count: expected --output, too");
    iw_standard_catch_interrupt();
    if (g.name == NULL) {
        g.name = "standard output";
        return get(settings, from, &g);
    }
    g.file = open(g.name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (g.file < 0)
        return iw_complain_exit(IW_EXIT_OUTPUT, "%s: %s", g.name, strerror(errno));
    status = get(settings, from, &g);
    if (close(g.file) != 0 && status == IW_EXIT_GOOD)
        status = iw_complain_exit(IW_EXIT_OUTPUT, "%s: %s", g.name, strerror(errno));
    return status;
}
