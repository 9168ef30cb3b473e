/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/clock.h"
#include "host/spawn.h"
#include "host/text.h"
#include "iwarp/transport.h"
#include "target_version.h"

enum { LINE = 256 };

/* Reads a line, cut off if it is too long. Returns whether all of it, or the end, came in time. */
static bool read_line(int fd, char line[static LINE], uint64_t deadline)
{
    size_t length = 0;
    while (length < LINE - 1) {
        struct pollfd in = {.fd = fd, .events = POLLIN};
        if (poll(&in, 1, iw_clock_left(deadline)) <= 0)
            break;
        ssize_t got = read(fd, line + length, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || line[length] == '\n') {
            line[length] = '\0';
            return true;
        }
        length++;
    }
    line[length] = '\0';
    return length == LINE - 1;
}

char *iw_target_ask_version(const char *command, double seconds, char *error, size_t room)
{
    char line[LINE] = "";
    int fds[2];
    if (pipe2(fds, O_CLOEXEC)) {
        snprintf(error, room, "version: %s", strerror(errno));
        return NULL;
    }
    const struct iw_spawn how = {
        .input = IW_SPAWN_NOWHERE, .output = fds[1], .errors = IW_SPAWN_NOWHERE, .session = true};
    pid_t pid = iw_spawn_shell(command, &how);
    close(fds[1]);
    bool came = pid > 0 && read_line(fds[0], line, iw_transport_now() + (uint64_t)(seconds * 1e9));
    close(fds[0]);
    if (pid > 0) {
        kill(-pid, SIGKILL);
        TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
    }
    if (came && *line != '\0')
        return iw_text_clean(line);
    snprintf(error, room, "version: expected '%s' to print a line within %g s", command, seconds);
    return NULL;
}
