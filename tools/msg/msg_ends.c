/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg_ends.h"

#include "host/text.h"
#include "messages/message_status.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { ENDS_MOST = 4096 };

static bool read_program(struct msg_end *e)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/comm", (long)e->process);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    const bool got = fgets(e->program, sizeof(e->program), file) != NULL;
    fclose(file);
    e->program[strcspn(e->program, "\n")] = '\0';
    iw_text_printable(e->program);
    return got;
}

/* Takes an object of a version that this program knows. */
static json_t *read_state(const char *octets, size_t length)
{
    json_t *state = json_loadb(octets, length, 0, NULL);
    if (state != NULL && json_integer_value(json_object_get(state, "version")) == 1)
        return state;
    json_decref(state);
    return NULL;
}

static void ask(struct msg_end *e, char *octets)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const struct timeval limit = {1, 0};
    struct ucred who;
    socklen_t length = sizeof(who);
    const size_t chars = strlen(e->name);
    memcpy(name.sun_path + 1, e->name, chars);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd, (struct sockaddr *)&name,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + chars)) == 0) {
        const ssize_t got = recv(fd, octets, IW_STATUS_ROOM, 0);
        if (got > 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0) {
            e->process = who.pid;
            e->state = read_program(e) ? read_state(octets, (size_t)got) : NULL;
        }
    }
    close(fd);
}

static bool is_known(const struct msg_ends *e, const char *name)
{
    for (size_t i = 0; i < e->count; i++)
        if (strcmp(e->list[i].name, name) == 0)
            return true;
    return false;
}

static int later(const void *a, const void *b)
{
    const struct msg_end *x = a, *y = b;
    return strverscmp(x->name, y->name);
}

/* Lists the names. */
static bool list(struct msg_ends *out)
{
    char line[512];
    FILE *file = fopen("/proc/net/unix", "re");
    if (file == NULL)
        return false;
    while (fgets(line, sizeof(line), file) != NULL && out->count < ENDS_MOST) {
        const char *name = strstr(line, " @" IW_STATUS_NAME);
        if (name == NULL)
            continue;
        name += 2;
        const size_t length = strcspn(name, "\n");
        struct msg_end e = {.name = ""};
        if (length >= sizeof(e.name))
            continue;
        memcpy(e.name, name, length);
        if (is_known(out, e.name)) /* one that is being asked has two */
            continue;
        out->list = iw_got(realloc(out->list, (out->count + 1) * sizeof(*out->list)));
        out->list[out->count++] = e;
    }
    fclose(file);
    if (out->count > 0)
        qsort(out->list, out->count, sizeof(*out->list), later);
    return true;
}

bool msg_ends_ask(struct msg_ends *out)
{
    *out = (struct msg_ends){0};
    if (!list(out))
        return false;
    char *octets = iw_got(malloc(IW_STATUS_ROOM));
    for (size_t i = 0; i < out->count; i++) {
        ask(&out->list[i], octets);
        out->silent += out->list[i].state == NULL;
    }
    free(octets);
    return true;
}

void msg_ends_free(struct msg_ends *e)
{
    for (size_t i = 0; i < e->count; i++)
        json_decref(e->list[i].state);
    free(e->list);
    *e = (struct msg_ends){0};
}
