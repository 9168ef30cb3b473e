/* SPDX-License-Identifier: BSD-3-Clause */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Leads a standard stream there. Returns false with errno set. */
static bool lead(int stream, int to)
{
    if (to == IW_SPAWN_SAME)
        return true;
    int fd = to == IW_SPAWN_NOWHERE ? open("/dev/null", O_RDWR) : to;
    bool good = fd >= 0 && dup2(fd, stream) >= 0;
    if (to == IW_SPAWN_NOWHERE && fd > STDERR_FILENO)
        close(fd);
    return good;
}

/* In the child, of `parent`: becomes the program, or returns with errno set. */
static void become(const char *path, char *const argv[], const struct iw_spawn *how, pid_t parent)
{
    if (how->session)
        setsid();
    if (how->death_signal != 0) {
        prctl(PR_SET_PDEATHSIG, how->death_signal);
        if (getppid() != parent) /* it was gone before */
            raise(how->death_signal);
    }
    if (!lead(STDIN_FILENO, how->input) || !lead(STDOUT_FILENO, how->output) ||
        !lead(STDERR_FILENO, how->errors))
        return;
    alarm(how->seconds);
    execv(path, argv);
}

pid_t iw_spawn(const char *path, char *const argv[], const struct iw_spawn *how)
{
    static const struct iw_spawn plain;
    const pid_t parent = getpid();
    int ends[2], number = 0;
    if (pipe2(ends, O_CLOEXEC)) /* closed by exec */
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        become(path, argv, how != NULL ? how : &plain, parent);
        number = errno;
        (void)!write(ends[1], &number, sizeof(number));
        _exit(127);
    }
    number = pid < 0 ? errno : 0;
    close(ends[1]);
    if (pid > 0 &&
        TEMP_FAILURE_RETRY(read(ends[0], &number, sizeof(number))) == (ssize_t)sizeof(number)) {
        TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
        pid = -1;
    }
    close(ends[0]);
    errno = number;
    return pid;
}

pid_t iw_spawn_shell(const char *command, const struct iw_spawn *how)
{
    char *const argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
                          (char *)(uintptr_t)command, NULL};
    return iw_spawn("/bin/sh", argv, how);
}
