/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-msg serve: answers pings, and sends files of a folder. */
#include "msg_command.h"
#include "msg_folder.h"
#include "msg_numbers.h"
#include "msg_serve_tcp.h"
#include "msg_transfer.h"

#include "host/address.h"
#include "host/clock.h"
#include "host/complain.h"
#include "iwarp/octets.h"
#include "iwarp/transport.h"
#include "standard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 200, TURN_MS = 1 };

struct server {
    struct iw_messages *m;
    struct iw_service *s;
    int folder; /* -1: no files */
    struct msg_transfers files;
    struct msg_serve_tcp *tcp; /* NULL: messages alone */
};

static void say(struct server *v, uint32_t to, char kind, const void *text, size_t length)
{
    char octets[MSG_TEXT];
    octets[0] = kind;
    if (length > sizeof(octets) - 1)
        length = sizeof(octets) - 1;
    memcpy(octets + 1, text, length);
    (void)iw_messages_send(v->s, to, &(struct iovec){octets, length + 1}, 1, IW_MESSAGES_NOWAIT, 0);
}

static void say_error(struct server *v, uint32_t to, const char *path, const char *why)
{
    char text[MSG_PATH + 100];
    snprintf(text, sizeof(text), "%s: %s", path, why);
    say(v, to, MSG_ERROR, text, strlen(text));
}

static void send_file(struct server *v, uint32_t to, const char *path)
{
    uint64_t length;
    uint8_t octets[8];
    const char *why;
    const int file = msg_folder_open(v->folder, path, &length, &why);
    if (file >= 0) {
        iw_put64(octets, length);
        say(v, to, MSG_FILE, octets, sizeof(octets));
        why = msg_transfer_begin(&v->files, to, file, length);
    }
    if (why != NULL)
        say_error(v, to, path, why);
}

static void report(struct server *v, const struct iw_message *got)
{
    uint32_t to = 0;
    const char *why = msg_transfer_reported(&v->files, got, &to);
    if (why != NULL)
        say_error(v, to, "the file", why);
}

static void answer(struct server *v, const struct iw_message *got)
{
    char path[MSG_PATH];
    uint8_t cpu[8];
    const char *octets = got->data;
    const char kind = got->length > 0 ? octets[0] : '\0';
    if (kind == MSG_PING) {
        /* The buffer itself goes back. */
        if (iw_messages_send(v->s, got->number, &(struct iovec){got->data, got->length}, 1,
                             IW_MESSAGES_GIVE | IW_MESSAGES_NOWAIT, 0) == 0)
            return;
    } else if (kind == MSG_GET && got->length <= sizeof(path)) {
        memcpy(path, octets + 1, got->length - 1);
        path[got->length - 1] = '\0';
        send_file(v, got->number, path);
    } else if (kind == MSG_CPU) {
        iw_put64(cpu, iw_clock_cpu());
        say(v, got->number, MSG_CPU, cpu, sizeof(cpu));
    }
    iw_messages_free(v->m, got->data);
}

/* How long a receive may take. One that polls gives way to plain TCP while that is busy. */
static int patience(const struct server *v, bool polls)
{
    if (v->tcp == NULL || !polls)
        return LOOK_MS;
    if (!msg_serve_tcp_busy(v->tcp))
        return TURN_MS;
    nanosleep(&(struct timespec){.tv_nsec = TURN_MS * 1000000 / 4}, NULL);
    return 0;
}

/* Until a signal. Returns the exit status. */
static int serve(struct server *v, bool polls)
{
    struct iw_message got;
    while (iw_standard_ended() == 0) {
        if (iw_messages_receive(v->s, &got, patience(v, polls)) != 0) {
            if (errno != ETIMEDOUT)
                return iw_complain_exit(IW_EXIT_TESTER, "receive: %s", strerror(errno));
        } else if (got.kind == IW_MESSAGES_MESSAGE) {
            answer(v, &got);
        } else {
            report(v, &got);
        }
    }
    return iw_standard_interrupted() ? IW_EXIT_INTERRUPTED : IW_EXIT_GOOD;
}

static int serve_at(struct msg_settings *settings, uint32_t number, struct server *v)
{
    struct sockaddr_storage at;
    char text[IW_TRANSPORT_TEXT];
    int status = settings->exchange.tcp != NULL
                     ? msg_serve_tcp_open(settings->exchange.tcp, v->folder, &v->tcp, &at)
                     : -1;
    if (status >= 0)
        return status;
    if (v->tcp != NULL) {
        iw_address_numeric((const struct sockaddr *)&at, sizeof(at), text, sizeof(text));
        printf("plain TCP at %s\n", text);
    }
    const socklen_t length = iw_messages_address(v->m, &at);
    iw_address_numeric((const struct sockaddr *)&at, length, text, sizeof(text));
    printf("serving %" PRIu32 " at %s\n", number, text);
    fflush(stdout);
    status = serve(v, settings->place.polls);
    msg_serve_tcp_close(v->tcp);
    return status;
}

static int serve_number(struct msg_settings *settings, uint32_t number, int folder)
{
    struct server v = {.folder = folder};
    int status = msg_place_open(&settings->place, &settings->net, &v.m);
    if (status >= 0)
        return status;
    status = msg_place_service(v.m, number, &v.s);
    v.files = (struct msg_transfers){.m = v.m, .s = v.s};
    if (status < 0)
        status = serve_at(settings, number, &v);
    msg_transfer_end_all(&v.files);
    iw_messages_close(v.m);
    return status;
}

int msg_serve_run(struct msg_settings *settings, char *const *operands, size_t operand_count)
{
    uint32_t *numbers;
    size_t count;
    int folder = -1;
    int status = msg_numbers_read(operands, 1, &numbers, &count);
    if (status >= 0)
        return status;
    const uint32_t number = numbers[0];
    free(numbers);
    if (count != 1)
        return iw_complain_exit(IW_EXIT_USAGE, "%s: expected one number", operands[0]);
    if (operand_count > 1) {
        folder = open(operands[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder < 0)
            return iw_complain_exit(IW_EXIT_USAGE, "%s: %s", operands[1], strerror(errno));
    }
    iw_standard_catch_end();
    status = serve_number(settings, number, folder);
    if (folder >= 0)
        close(folder);
    return status;
}
