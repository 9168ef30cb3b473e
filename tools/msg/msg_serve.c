/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-msg serve: answers pings, and sends files of a folder. */
#include "msg_command.h"
#include "msg_numbers.h"

#include "host/address.h"
#include "host/complain.h"
#include "iwarp/octets.h"
#include "iwarp/transport.h"
#include "standard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

struct server {
    struct iw_messages *m;
    struct iw_service *s;
    int folder; /* -1: no files */
};

static void say(struct server *v, uint32_t to, char kind, const void *text, size_t length)
{
    char octets[MSG_PATH + 200];
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

/* A path below the folder, without ".." and without links out of it. */
static bool is_below(const char *path)
{
    if (path[0] == '/' || path[0] == '\0')
        return false;
    for (const char *part = path; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return false;
    }
    return true;
}

/* Opens each part of the path by itself: a link is not followed. */
static int open_below(int folder, const char *path)
{
    char copy[MSG_PATH];
    int at = dup(folder);
    snprintf(copy, sizeof(copy), "%s", path);
    char *part = copy;
    while (at >= 0) {
        char *slash = strchr(part, '/');
        if (slash != NULL)
            *slash = '\0';
        const int next = part[0] == '\0' ? dup(at)
                                         : openat(at, part,
                                                  O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
                                                      (slash ? O_DIRECTORY : 0));
        const int why = errno;
        close(at);
        errno = why;
        if (slash == NULL)
            return next;
        at = next;
        part = slash + 1;
    }
    return -1;
}

/* Sends the octets of an open file. Returns false if it became shorter, or there is no memory. */
static bool send_parts(struct server *v, uint32_t to, int file, uint64_t length)
{
    while (length > 0) {
        const size_t part = length > MSG_PART ? MSG_PART : (size_t)length;
        uint8_t *buffer = iw_messages_get(v->m, part);
        if (buffer == NULL)
            return false;
        for (size_t at = 0; at < part;) {
            const ssize_t got = read(file, buffer + at, part - at);
            if (got <= 0 && !(got < 0 && errno == EINTR)) {
                iw_messages_free(v->m, buffer);
                return false;
            }
            at += got > 0 ? (size_t)got : 0;
        }
        if (iw_messages_send(v->s, to, &(struct iovec){buffer, part}, 1,
                             IW_MESSAGES_GIVE | IW_MESSAGES_NOWAIT, 0) != 0) {
            iw_messages_free(v->m, buffer);
            return false;
        }
        length -= part;
    }
    return true;
}

static void send_file(struct server *v, uint32_t to, const char *path)
{
    struct stat st;
    uint8_t length[8];
    if (v->folder < 0 || !is_below(path)) {
        say_error(v, to, path, v->folder < 0 ? "no files are served" : "not below the folder");
        return;
    }
    const int file = open_below(v->folder, path);
    if (file < 0 || fstat(file, &st) != 0) {
        say_error(v, to, path, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        say_error(v, to, path, "not a file");
    } else {
        iw_put64(length, (uint64_t)st.st_size);
        say(v, to, MSG_FILE, length, sizeof(length));
        if (!send_parts(v, to, file, (uint64_t)st.st_size))
            say_error(v, to, path, "cannot be read, or there is no memory");
    }
    if (file >= 0)
        close(file);
}

static void answer(struct server *v, const struct iw_message *got)
{
    char path[MSG_PATH];
    const char *octets = got->data;
    if (got->length > 0 && octets[0] == MSG_PING) {
        // The buffer itself goes back.
        if (iw_messages_send(v->s, got->number, &(struct iovec){got->data, got->length}, 1,
                             IW_MESSAGES_GIVE | IW_MESSAGES_NOWAIT, 0) == 0)
            return;
    } else if (got->length > 0 && octets[0] == MSG_GET && got->length <= sizeof(path)) {
        memcpy(path, octets + 1, got->length - 1);
        path[got->length - 1] = '\0';
        send_file(v, got->number, path);
    }
    iw_messages_free(v->m, got->data);
}

static int serve(struct server *v)
{
    struct iw_message got;
    for (;;) {
        if (iw_standard_interrupted())
            return IW_EXIT_INTERRUPTED;
        if (iw_messages_receive(v->s, &got, 200) != 0) {
            if (errno != ETIMEDOUT)
                return iw_complain_exit(IW_EXIT_TESTER, "receive: %s", strerror(errno));
            continue;
        }
        if (got.kind == IW_MESSAGES_MESSAGE)
            answer(v, &got);
    }
}

static int serve_number(struct msg_settings *settings, uint32_t number, int folder)
{
    struct server v = {.folder = folder};
    struct sockaddr_storage at;
    char text[IW_TRANSPORT_TEXT];
    int status = msg_place_open(&settings->place, &settings->net, &v.m);
    if (status >= 0)
        return status;
    status = msg_place_service(v.m, number, &v.s);
    if (status < 0) {
        const socklen_t length = iw_messages_address(v.m, &at);
        iw_address_numeric((const struct sockaddr *)&at, length, text, sizeof(text));
        printf("serving %" PRIu32 " at %s\n", number, text);
        fflush(stdout);
        status = serve(&v);
    }
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
    iw_standard_catch_interrupt();
    status = serve_number(settings, number, folder);
    if (folder >= 0)
        close(folder);
    return status;
}
