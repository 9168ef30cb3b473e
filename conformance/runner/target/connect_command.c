/* SPDX-License-Identifier: BSD-3-Clause */
#include "connect_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "iwarp/transport.h"

/* The text with host and port filled in. The caller frees it. */
static char *filled(const char *text, const char *host, uint16_t port)
{
    char number[8];
    const char *const pairs[] = {"host", host, "port", number, NULL};
    snprintf(number, sizeof(number), "%u", port);
    return iw_text_fill(text, pairs);
}

int iw_connect_shell(struct iw_process *p, struct iw_tun *tun, const char *command,
                     const char *host, uint16_t port, const char *log, char *error, size_t room)
{
    char *text = filled(command, host, port);
    char *const argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, text, NULL};
    int status = iw_process_start(p, tun, argv, IW_PROCESS_INHERITS_NONE, true, log, error, room);
    free(text);
    return status;
}

int iw_connect_start(struct iw_connect *c, struct iw_tun *tun, const char *host, uint16_t port,
                     const char *log, char *error, size_t room)
{
    if (c->command == NULL) {
        char *text = filled(c->ask, host, port);
        fprintf(stderr, "iwarp-conform: please do within %g s: %s\n", c->within, text);
        fflush(stderr);
        free(text);
        return 0;
    }
    if (c->count == IW_CONNECT_MAX) {
        snprintf(error, room, "the case wants more than %d connections", IW_CONNECT_MAX);
        return -1;
    }
    c->running = iw_got(realloc(c->running, (c->count + 1) * sizeof(*c->running)));
    if (iw_connect_shell(&c->running[c->count], tun, c->command, host, port, log, error, room))
        return -1;
    c->count++;
    return 0;
}

const char *iw_connect_ended(struct iw_connect *c, bool *failed)
{
    struct iw_process *latest = c->count ? &c->running[c->count - 1] : NULL;
    *failed = false;
    if (latest == NULL || !iw_process_await_end(latest, IW_PROCESS_AT_ONCE))
        return NULL;
    *failed = latest->failed;
    return latest->ended;
}

const char *iw_connect_crashed(struct iw_connect *c, uint64_t deadline)
{
    for (size_t i = 0; i < c->count; i++)
        if (iw_process_await_end(&c->running[i], deadline) && c->running[i].crashed)
            return c->running[i].ended;
    return NULL;
}

void iw_connect_stop(struct iw_connect *c, char *trouble, size_t room)
{
    for (size_t i = 0; i < c->count; i++) {
        iw_process_stop(&c->running[i], IW_PROCESS_AT_ONCE);
        if (!*trouble)
            iw_process_trouble(&c->running[i], trouble, room);
        iw_process_free(&c->running[i]);
    }
    free(c->running);
    c->running = NULL;
    c->count = 0;
}
