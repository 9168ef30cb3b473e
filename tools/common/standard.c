/* SPDX-License-Identifier: BSD-3-Clause */
#include "standard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "host/complain.h"

void iw_standard_open(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(IW_EXIT_TESTER); /* there is no place to report it */
}

int iw_standard_close(const char *program, int status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "%s: cannot write to standard output%s%s\n", program, errno ? ": " : "",
            errno ? strerror(errno) : "");
    return status ? status : IW_EXIT_OUTPUT;
}

static volatile sig_atomic_t ended;

static void on_end(int number)
{
    ended = number;
}

static void catch_one(int number)
{
    const struct sigaction action = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND};
    sigaction(number, &action, NULL);
}

void iw_standard_catch_interrupt(void)
{
    catch_one(SIGINT);
}

bool iw_standard_interrupted(void)
{
    return ended == SIGINT;
}

void iw_standard_catch_end(void)
{
    catch_one(SIGINT);
    catch_one(SIGTERM);
}

int iw_standard_ended(void)
{
    return ended;
}

int iw_standard_signals(int more)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, more);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}
