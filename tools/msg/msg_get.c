/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-msg get: fetches a file of iwarp-msg serve. */
#include "msg_command.h"
#include "msg_numbers.h"

#include "host/complain.h"
#include "host/text.h"
#include "iwarp/octets.h"

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

/* Takes the next message of `from`. Returns -1 to go on, else the exit status. */
static int next(struct iw_messages *m, struct iw_service *s, uint32_t from, struct iw_message *got)
{
    for (;;) {
        // The end of the other process is not a message: who waits for a file has a bound.
        if (iw_messages_receive(s, got, 60000) != 0)
            return iw_complain_exit(IW_EXIT_UNREACHED, "%" PRIu32 ": silent for a minute", from);
        if (got->kind == IW_MESSAGES_UNDELIVERED)
            return msg_place_undelivered(got);
        if (got->kind == IW_MESSAGES_MESSAGE && got->number == from)
            return -1;
        iw_messages_free(m, got->data);
    }
}

static int complain_error(uint32_t from, const struct iw_message *got)
{
    char text[MSG_PATH + 200];
    const size_t length = got->length - 1 < sizeof(text) ? got->length - 1 : sizeof(text) - 1;
    memcpy(text, (const char *)got->data + 1, length);
    text[length] = '\0';
    iw_text_printable(text);
    return iw_complain_exit(IW_EXIT_FAILURE, "%" PRIu32 ": %s", from, text);
}

static int fetch(struct iw_messages *m, struct iw_service *s, uint32_t from, const char *path,
                 int file, const char *name)
{
    struct iw_message got;
    char octets[MSG_PATH];
    const size_t length = strlen(path);
    octets[0] = MSG_GET;
    memcpy(octets + 1, path, length);
    if (iw_messages_send(s, from, &(struct iovec){octets, length + 1}, 1, 0, 0) != 0)
        return iw_complain_exit(IW_EXIT_TESTER, "send: %s", strerror(errno));
    int status = next(m, s, from, &got);
    if (status >= 0)
        return status;
    const uint8_t *head = got.data;
    if (got.length > 0 && head[0] == MSG_ERROR)
        return complain_error(from, &got);
    if (got.length != 9 || head[0] != MSG_FILE)
        return iw_complain_exit(IW_EXIT_FAILURE, "%" PRIu32 ": answers with something else", from);
    uint64_t left = iw_get64(head + 1);
    iw_messages_free(m, got.data);
    while (left > 0) {
        status = next(m, s, from, &got);
        if (status >= 0)
            return status;
        const uint64_t part = left > MSG_PART ? MSG_PART : left;
        if (got.length != part)
            return got.length > 0 && *(const uint8_t *)got.data == MSG_ERROR
                       ? complain_error(from, &got)
                       : iw_complain_exit(IW_EXIT_FAILURE, "%" PRIu32 ": a part is missing", from);
        if (!write_all(file, got.data, got.length))
            return iw_complain_exit(IW_EXIT_OUTPUT, "%s: %s", name, strerror(errno));
        left -= part;
        iw_messages_return(m, got.data);
    }
    return IW_EXIT_GOOD;
}

static int get(struct msg_settings *settings, uint32_t from, const char *path, int file,
               const char *name)
{
    struct iw_messages *m;
    struct iw_service *s;
    int status = msg_place_open(&settings->place, &settings->net, &m);
    if (status >= 0)
        return status;
    status = msg_place_service(m, 0, &s);
    if (status < 0)
        status = fetch(m, s, from, path, file, name);
    iw_messages_close(m);
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
    const uint32_t from = numbers[0];
    free(numbers);
    if (count != 1)
        return iw_complain_exit(IW_EXIT_USAGE, "%s: expected one number", operands[0]);
    if (strlen(operands[1]) > MSG_PATH - 2)
        return iw_complain_exit(IW_EXIT_USAGE, "PATH: expected at most %d octets", MSG_PATH - 2);
    const char *name = settings->exchange.output;
    if (name == NULL)
        return get(settings, from, operands[1], STDOUT_FILENO, "standard output");
    const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return iw_complain_exit(IW_EXIT_OUTPUT, "%s: %s", name, strerror(errno));
    status = get(settings, from, operands[1], file, name);
    if (close(file) != 0 && status == IW_EXIT_GOOD)
        status = iw_complain_exit(IW_EXIT_OUTPUT, "%s: %s", name, strerror(errno));
    return status;
}
