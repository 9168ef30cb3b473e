/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames the control protocol: one JSON object per line, both directions bounded. */
#include "host/text.h"
#include "iwarp/control.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_MAX = 64 * 1024 };

struct iw_control_channel {
    int fd;
    size_t in_start, in_end,
        in_scanned; /* octets [start, end) of `in`; no newline before scanned */
    size_t line;    /* octets of the last one taken */
    char *out;
    size_t out_start, out_end, out_room;
    char in[IW_CONTROL_LINE];
};

struct iw_control_channel *iw_control_channel_create(int fd)
{
    struct iw_control_channel *ch = calloc(1, sizeof(*ch));
    if (ch == NULL)
        return NULL;
    ch->fd = fd;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    /* Requests and events are small and waited for. On a socket that is not TCP this fails
     * harmlessly. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return ch;
}

void iw_control_channel_destroy(struct iw_control_channel *ch)
{
    if (ch == NULL)
        return;
    close(ch->fd);
    free(ch->out);
    free(ch);
}

int iw_control_channel_fd(const struct iw_control_channel *ch)
{
    return ch->fd;
}

int iw_control_channel_read(struct iw_control_channel *ch)
{
    memmove(ch->in, ch->in + ch->in_start, ch->in_end - ch->in_start);
    ch->in_end -= ch->in_start;
    ch->in_scanned -= ch->in_start;
    ch->in_start = 0;
    size_t room = sizeof(ch->in) - ch->in_end;
    ssize_t n = recv(ch->fd, ch->in + ch->in_end, room < READ_MAX ? room : READ_MAX, 0);
    if (n > 0) {
        ch->in_end += (size_t)n;
        return 1;
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

/* Returns whether objects and arrays nest deeper than a parser should follow. Text that is no JSON
 * may be counted wrongly: it is refused either way. */
static bool too_deep(const char *line, size_t length)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        if (line[i] == '"')
            quoted = !quoted;
        else if (quoted && line[i] == '\\')
            i++;
        else if (!quoted && (line[i] == '{' || line[i] == '['))
            depth++;
        else if (!quoted && (line[i] == '}' || line[i] == ']'))
            depth--;
        if (depth > IW_CONTROL_DEPTH)
            return true;
    }
    return false;
}

int iw_control_channel_next(struct iw_control_channel *ch, json_t **out, char *error, size_t room)
{
    const char *newline = memchr(ch->in + ch->in_scanned, '\n', ch->in_end - ch->in_scanned);
    if (newline == NULL) {
        ch->in_scanned = ch->in_end;
        if (ch->in_end - ch->in_start < sizeof(ch->in))
            return 0;
        snprintf(error, room, "a line is longer than %d octets", IW_CONTROL_LINE);
        return -2;
    }
    const char *line = ch->in + ch->in_start;
    size_t length = (size_t)(newline - line);
    ch->in_start = ch->in_scanned = (size_t)(newline - ch->in) + 1;
    ch->line = length + 1;

    if (too_deep(line, length)) {
        snprintf(error, room, "a line nests deeper than %d", IW_CONTROL_DEPTH);
        return -1;
    }
    json_error_t detail;
    json_t *value = json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &detail);
    if (value == NULL) {
        snprintf(error, room, "a line is not JSON: %s at octet %d", detail.text, detail.position);
        iw_text_printable(error); /* the parser may quote the line */
        return -1;
    }
    if (!json_is_object(value)) {
        json_decref(value);
        snprintf(error, room, "a line is not a JSON object");
        return -1;
    }
    *out = value;
    return 1;
}

size_t iw_control_channel_line(const struct iw_control_channel *ch)
{
    return ch->line;
}

static int reserve(struct iw_control_channel *ch, size_t length)
{
    if (ch->out_start > 0) {
        memmove(ch->out, ch->out + ch->out_start, ch->out_end - ch->out_start);
        ch->out_end -= ch->out_start;
        ch->out_start = 0;
    }
    size_t need = ch->out_end + length;
    if (need > IW_CONTROL_QUEUE)
        return -1;
    if (need > ch->out_room) {
        size_t more = need < 4096 ? 4096 : 2 * need;
        char *out = realloc(ch->out, more);
        if (out == NULL)
            return -1;
        ch->out = out;
        ch->out_room = more;
    }
    return 0;
}

int iw_control_channel_write(struct iw_control_channel *ch, const json_t *object)
{
    size_t length = json_dumpb(object, NULL, 0, JSON_COMPACT);
    if (length == 0 || length >= IW_CONTROL_LINE || reserve(ch, length + 1) ||
        json_dumpb(object, ch->out + ch->out_end, length, JSON_COMPACT) != length)
        return -1; /* dumping takes memory, too */
    ch->out_end += length;
    ch->out[ch->out_end++] = '\n';
    return iw_control_channel_flush(ch) < 0 ? -2 : 0;
}

int iw_control_channel_flush(struct iw_control_channel *ch)
{
    while (ch->out_start < ch->out_end) {
        ssize_t n =
            send(ch->fd, ch->out + ch->out_start, ch->out_end - ch->out_start, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            return 1;
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0)
            ch->out_start += (size_t)n;
    }
    ch->out_start = ch->out_end = 0;
    return 0;
}
