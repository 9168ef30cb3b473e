/* SPDX-License-Identifier: BSD-3-Clause */
#include "embedded.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "iwarp/control.h"

static bool can(const struct iw_target *target, const char *capability)
{
    (void)target;
    (void)capability;
    return true;
}

static const char *death(struct iw_target *target)
{
    struct embedded *e = (struct embedded *)target;
    int status;

    if (e->pid > 0 && waitpid(e->pid, &status, WNOHANG) == e->pid) {
        snprintf(e->ended, sizeof(e->ended), "iwarp-agent ended with status %d", status);
        e->pid = 0;
    }
    return e->pid > 0 ? NULL : e->ended;
}

int embedded_start(struct embedded *e, const char *extra)
{
    char number[16];
    int pair[2];

    memset(e, 0, sizeof(*e));
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return -1;
    snprintf(number, sizeof(number), "%d", pair[1]);
    e->pid = fork();
    if (e->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(pair[0]);
        execl(IW_BINARY_DIR "/bin/iwarp-agent", "iwarp-agent", "--control-fd", number, extra,
              (char *)NULL);
        _exit(127);
    }
    close(pair[1]);
    if (e->pid < 0) {
        close(pair[0]);
        return -1;
    }
    e->target = (struct iw_target){
        .name = "embedded",
        .class = IW_TARGET_AGENT,
        .host = "127.0.0.1",
        .station_host = "127.0.0.1",
        .control = iw_control_adopt(pair[0]),
        .can = can,
        .death = death,
    };
    return e->target.control != NULL ? 0 : -1;
}

void embedded_stop(struct embedded *e)
{
    int status;

    iw_control_close(e->target.control);
    if (e->pid > 0) {
        kill(e->pid, SIGTERM);
        while (waitpid(e->pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
}
