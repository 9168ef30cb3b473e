/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent's control protocol, the client's end and the channel of both: the octets are lines of
 * the other end. With other cuts they must give the same lines, and an object that is received and
 * sent on must arrive unchanged.
 */
#include "engine/fuzz.h"

#include "iwarp/control.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 1 << 16 };

struct lines {
    uint64_t count, hash;
};

static void mix_text(struct lines *l, const char *text)
{
    iw_fuzz_mix_octets(&l->hash, (const uint8_t *)text, strlen(text));
}

static void connect_pair(int fds[2])
{
    IW_FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, PF_UNSPEC, fds) == 0,
                  "no sockets");
}

static void give(int fd, const uint8_t *octets, size_t length)
{
    while (length > 0) {
        ssize_t n = send(fd, octets, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n <= 0)
            return; /* the other end has given up */
        octets += n;
        length -= (size_t)n;
    }
}

/* Checks that an object sent through another channel stays the same. */
static void pass_on(struct iw_control_channel *to, struct iw_control_channel *from,
                    const json_t *object)
{
    if (iw_control_channel_write(to, object) != 0)
        return; /* too long */
    char error[200];
    json_t *again = NULL;
    while (iw_control_channel_flush(to) == 1 ||
           iw_control_channel_next(from, &again, error, sizeof(error)) == 0)
        IW_FUZZ_CHECK(iw_control_channel_read(from) >= 0, "control: a line does not arrive");
    IW_FUZZ_CHECK(json_equal(again, object) != 0, "control: a line arrives as another");
    json_decref(again);
}

/* Takes the lines that have come. Returns false if the channel is broken. */
static bool take_lines(struct lines *lines, struct iw_control_channel *channel,
                       struct iw_control_channel *to, struct iw_control_channel *from)
{
    json_t *object;
    char error[200];
    int got;
    while ((got = iw_control_channel_next(channel, &object, error, sizeof(error))) != 0) {
        lines->count++;
        if (got < 0) {
            for (const char *c = error; *c != '\0'; c++)
                IW_FUZZ_CHECK(*c >= ' ' && *c <= '~', "control: an error that cannot be printed");
            mix_text(lines, error);
            if (got == -2)
                return false;
            continue;
        }
        IW_FUZZ_CHECK(json_is_object(object), "control: a line that is no object");
        char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
        if (text != NULL)
            mix_text(lines, text);
        free(text);
        pass_on(to, from, object);
        json_decref(object);
    }
    return true;
}

static struct lines receive(const uint8_t *octets, size_t length, size_t step)
{
    int in[2];
    connect_pair(in);
    int through[2];
    connect_pair(through);
    struct iw_control_channel *channel = iw_control_channel_create(in[1]);
    struct iw_control_channel *to = iw_control_channel_create(through[0]);
    struct iw_control_channel *from = iw_control_channel_create(through[1]);
    IW_FUZZ_CHECK(channel != NULL && to != NULL && from != NULL, "no memory");
    struct lines lines = {0};
    for (size_t at = 0; at < length; at += step) {
        give(in[0], octets + at, length - at < step ? length - at : step);
        if (iw_control_channel_read(channel) < 0 || !take_lines(&lines, channel, to, from))
            break;
    }
    iw_control_channel_destroy(channel);
    iw_control_channel_destroy(to);
    iw_control_channel_destroy(from);
    close(in[0]);
    return lines;
}

/* Runs a client that asks once. Deadlines are in the past, so that nothing waits. */
static void ask(const uint8_t *octets, size_t length)
{
    int fds[2];
    connect_pair(fds);
    struct iw_control *c = iw_control_adopt(fds[1]);
    IW_FUZZ_CHECK(c != NULL, "no memory");
    give(fds[0], octets, length);
    char error[200] = "";
    json_t *reply = iw_control_call(c, json_pack("{s:s}", "do", "hello"), 0, error, sizeof(error));
    IW_FUZZ_CHECK(reply != NULL || error[0] != '\0', "control: no reply and no reason");
    json_decref(reply);
    for (json_t *event; (event = iw_control_event(c, 0)) != NULL;)
        json_decref(event);
    (void)iw_control_lost(c);
    iw_control_close(c);
    close(fds[0]);
}

static void run(const uint8_t *octets, size_t length)
{
    struct lines one = receive(octets, length, MOST);
    struct lines other = receive(octets, length, 1 + length / 7);

    IW_FUZZ_CHECK(one.count == other.count && one.hash == other.hash,
                  "control: cut otherwise there are other lines");
    ask(octets, length);
}

const struct iw_fuzz_harness iw_fuzz_harness = {.name = "control", .most = MOST, .run = run};
