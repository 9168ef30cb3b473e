/* SPDX-License-Identifier: BSD-3-Clause */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash.h"
#include "host/clock.h"
#include "iwarp/transport.h"
#include "program.h"
#include "station/tun.h"

enum { LINE_ROOM = 1024, LOOK_MS = 10 /* between two looks, without a descriptor */ };
/* From SIGTERM to SIGKILL: LeakSanitizer looks at all of a program's memory at its end. */
static const double term_seconds = 5, abort_seconds = 10;
/* For the rest of a report, of a program that writes it slowly; without an octet for a pause it is
 * all. */
static const double report_seconds = 30, report_pause = 0.5;

/* ---- starting ---- */

/* In the child. `parent` says when to go on; only errno goes back through it. */
static void become(const struct iw_tun *tun, char *const argv[], int inherit, int output,
                   int parent)
{
    int null = open("/dev/null", O_RDONLY);
    sigset_t none;
    char octet;
    setsid(); /* a group of its own, and no terminal to ask for a password on */
    if (tun != NULL && iw_tun_enter(tun)) /* which may undo the next */
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* should we be killed before we can end it */
    if (TEMP_FAILURE_RETRY(read(parent, &octet, 1)) != 1)
        _exit(127); /* we were killed before that */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    if (null < 0 || dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
        return;
    /* Everything else closes itself at the call of exec. */
    if (syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) && errno != ENOSYS &&
        errno != EINVAL)
        return;
    fcntl(parent, F_SETFD, FD_CLOEXEC);
    if (inherit >= 0)
        fcntl(inherit, F_SETFD, 0);
    execvp(argv[0], argv);
}

static int open_log(const char *log)
{
    if (log == NULL)
        return open("/dev/null", O_WRONLY | O_CLOEXEC);
    return open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static int failed(char *error, size_t room, const char *what, int number)
{
    snprintf(error, room, "cannot start %s: %s", what, strerror(number));
    return -1;
}

/* In the guard. Holds nothing but the read end, which shows our end. */
static void guard(pid_t group, int end)
{
    sigset_t all;
    char octet;
    setpgid(0, 0);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    dup2(end, 0);
    if (syscall(SYS_close_range, 1u, ~0u, 0u))
        for (int fd = 1; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
            close(fd);
    TEMP_FAILURE_RETRY(read(0, &octet, 1));
    kill(-group, SIGKILL);
    _exit(0);
}

/* 0, or an error's number. */
static int start_guard(struct iw_process *p)
{
    int ends[2], number = 0;
    if (pipe2(ends, O_CLOEXEC))
        return errno;
    p->guard = fork();
    if (p->guard == 0)
        guard(p->pid, ends[0]);
    if (p->guard < 0) {
        number = errno;
        p->guard = 0;
        close(ends[1]);
    } else {
        p->guard_end = ends[1];
    }
    close(ends[0]);
    return number;
}

static void end_guard(struct iw_process *p)
{
    if (!p->guard)
        return;
    close(p->guard_end);
    TEMP_FAILURE_RETRY(waitpid(p->guard, NULL, 0));
    p->guard = 0;
}

/* Makes the child, and lets it go on once it is guarded. 0, or an error's number. */
static int start(struct iw_process *p, const struct iw_tun *tun, char *const argv[], int inherit,
                 int output, bool guarded)
{
    int pair[2], number = 0, other;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return errno;
    p->pid = fork();
    if (p->pid == 0) {
        close(pair[0]);
        become(tun, argv, inherit, output, pair[1]);
        number = errno;
        (void)!write(pair[1], &number, sizeof(number));
        _exit(127);
    }
    if (p->pid < 0)
        number = errno;
    close(pair[1]);
    if (!number && guarded)
        number = start_guard(p);
    if (!number && send(pair[0], "", 1, MSG_NOSIGNAL) != 1)
        number = errno;
    shutdown(pair[0], SHUT_WR);
    if (p->pid > 0 &&
        TEMP_FAILURE_RETRY(read(pair[0], &other, sizeof(other))) == (ssize_t)sizeof(other))
        number = other;
    if (p->pid > 0 && number) {
        end_guard(p);
        waitpid(p->pid, NULL, 0);
    }
    close(pair[0]);
    return number;
}

int iw_process_descriptor(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int iw_process_start(struct iw_process *p, const struct iw_tun *tun, char *const argv[],
                     int inherit, bool guarded, const char *log, char *error, size_t room)
{
    const char *slash = strrchr(argv[0], '/');
    struct stat at = {0};
    *p = (struct iw_process){.pidfd = -1};
    snprintf(p->name, sizeof(p->name), "%s", slash != NULL ? slash + 1 : argv[0]);
    int output = open_log(log);
    if (output < 0)
        return failed(error, room, log != NULL ? log : "/dev/null", errno);
    if (!fstat(output, &at))
        p->scanned = (long)at.st_size; /* what it will print comes after that */
    int number = start(p, tun, argv, inherit, output, guarded);
    close(output);
    if (number) {
        p->pid = 0;
        return failed(error, room, argv[0], number);
    }
    p->pidfd = iw_process_descriptor(p->pid);
    p->log = log != NULL ? strdup(log) : NULL;
    return 0;
}

/* ---- ending ---- */

/* The signal that has ended it, or the program of a shell that says so by its status; 0: none. */
static int signal_of(const siginfo_t *end)
{
    return end->si_code == CLD_EXITED ? end->si_status - 128 : end->si_status;
}

static bool is_fault(int number)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        if (signals[i] == number)
            return true;
    return false;
}

/* A shell that has replaced itself by a program: the program's name, as long as it is not reaped.
 */
static void take_name(struct iw_process *p)
{
    char path[LINE_ROOM], name[sizeof(p->name)] = "";
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)p->pid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return;
    if (fgets(name, sizeof(name), f) != NULL) {
        name[strcspn(name, "\n")] = '\0';
        if (name[0] != '\0' && strncmp(p->name, name, strlen(name)) != 0)
            snprintf(p->name, sizeof(p->name), "%s", name);
    }
    fclose(f);
}

/* How it ended. It is not reaped before iw_process_stop, so that its number, which is that of its
 * group as well, is nobody else's until then. */
static void take_end(struct iw_process *p, const siginfo_t *end)
{
    char shell[sizeof(p->ended)];
    int number = signal_of(end);
    bool other = p->program > 0 && p->program != p->pid;
    p->failed = end->si_code != CLD_EXITED || end->si_status != 0;
    p->crashed = is_fault(number);
    take_name(p);
    if (end->si_code == CLD_EXITED)
        snprintf(shell, sizeof(shell), "%s ended with status %d", p->name, end->si_status);
    else
        snprintf(shell, sizeof(shell), "%s was killed by signal %d (%s)%s", p->name, number,
                 strsignal(number), end->si_code == CLD_DUMPED ? " and left a core" : "");
    if (!other)
        snprintf(p->ended, sizeof(p->ended), "%s", shell);
    else if (p->crashed && end->si_code == CLD_EXITED)
        snprintf(p->ended, sizeof(p->ended), "%s was killed by signal %d (%s): %.*s", p->called,
                 number, strsignal(number), (int)sizeof(p->name), shell);
    else
        snprintf(p->ended, sizeof(p->ended), "%s ended: %.*s", p->called, (int)sizeof(p->name) + 64,
                 shell);
}

static void look(struct iw_process *p)
{
    siginfo_t end = {0};
    if (TEMP_FAILURE_RETRY(waitid(P_PID, (id_t)p->pid, &end, WEXITED | WNOHANG | WNOWAIT)))
        /* nobody's child any more */
        snprintf(p->ended, sizeof(p->ended), "%s ended", p->name);
    else if (end.si_pid)
        take_end(p, &end);
}

static bool runs(struct iw_process *p)
{
    if (p->pid > 0 && !*p->ended)
        look(p);
    return p->pid > 0 && !*p->ended;
}

bool iw_process_await_end(struct iw_process *p, uint64_t deadline)
{
    while (runs(p)) {
        struct pollfd end = {.fd = p->pidfd, .events = POLLIN};
        if (iw_transport_now() >= deadline)
            return false;
        poll(&end, 1, p->pidfd < 0 ? LOOK_MS : iw_clock_left(deadline));
    }
    return true;
}

static uint64_t after(double seconds)
{
    return iw_transport_now() + (uint64_t)(seconds * 1e9);
}

/* ---- the log ---- */

/* The log from where it was last read on; NULL: there is none. */
static FILE *open_rest(const struct iw_process *p)
{
    FILE *f = p->log != NULL ? fopen(p->log, "re") : NULL;
    if (f != NULL && fseek(f, p->scanned, SEEK_SET) != 0) {
        fclose(f);
        f = NULL;
    }
    return f;
}

/* Returns whether the rest of the log has a report; *size: of the log. */
static bool reports(const struct iw_process *p, long *size)
{
    char text[LINE_ROOM];
    bool found = false;
    FILE *f = open_rest(p);
    if (f == NULL)
        return false;
    while (fgets(text, sizeof(text), f) != NULL)
        found = found || iw_crash_begins(text);
    *size = ftell(f);
    fclose(f);
    return found;
}

/* Waits for the end of all of the group. Returns whether nothing of it runs. */
static bool await_group(struct iw_process *p, uint64_t deadline)
{
    iw_process_await_end(p, deadline);
    while (p->pid > 0 && iw_program_runs(p->pid)) {
        if (iw_transport_now() >= deadline)
            return false;
        poll(NULL, 0, LOOK_MS);
    }
    return true;
}

/* Who writes a report ends soon, or goes on and writes no more. */
static void await_report(struct iw_process *p)
{
    long size = 0, before = -1;
    uint64_t guard = after(report_seconds);
    while (reports(p, &size) && size != before && iw_transport_now() < guard) {
        before = size;
        if (await_group(p, after(report_pause)))
            return;
    }
}

/* ---- the program, and its end ---- */

void iw_process_look_at(struct iw_process *p, uint16_t port)
{
    if (runs(p))
        p->program = iw_program_find(p->pid, port, p->called, sizeof(p->called));
}

bool iw_process_forsaken(struct iw_process *p)
{
    bool gone = runs(p) && p->program > 0 && p->program != p->pid && !iw_program_lives(p->program);
    if (gone)
        snprintf(p->ended, sizeof(p->ended), "%s ended, and %s, which started it, goes on",
                 p->called, p->name);
    return gone;
}

void iw_process_abort(struct iw_process *p)
{
    if (p->pid <= 0)
        return;
    kill(-p->pid, SIGABRT);
    await_group(p, after(abort_seconds));
    await_report(p);
}

void iw_process_stop(struct iw_process *p, double patience)
{
    pid_t group = p->pid;
    if (group <= 0)
        return;
    if (!iw_process_await_end(p, after(patience)))
        await_report(p);
    if (iw_program_runs(group)) {
        kill(-group, SIGTERM);
        await_group(p, after(term_seconds));
        await_report(p);
    }
    kill(-group, SIGKILL); /* also what it left behind */
    iw_process_await_end(p, UINT64_MAX);
    end_guard(p);
    TEMP_FAILURE_RETRY(waitpid(group, NULL, 0));
    if (p->pidfd >= 0)
        close(p->pidfd);
    p->pidfd = -1;
    p->pid = 0;
}

void iw_process_free(struct iw_process *p)
{
    struct stat at;
    iw_process_stop(p, IW_PROCESS_AT_ONCE);
    if (p->log != NULL && !stat(p->log, &at) && at.st_size == 0)
        unlink(p->log);
    free(p->log);
    *p = (struct iw_process){.pidfd = -1};
}

/* ---- what the log says ---- */

bool iw_process_report(struct iw_process *p, struct iw_crash *first)
{
    char text[LINE_ROOM];
    struct iw_crash_reader reader = {.begun = false};
    struct iw_crash next;
    bool found = false;
    await_report(p);
    FILE *f = open_rest(p);
    if (f == NULL)
        return false;
    while (fgets(text, sizeof(text), f) != NULL)
        found = iw_crash_line(&reader, text, found ? &next : first) || found;
    found = iw_crash_end(&reader, found ? &next : first) || found;
    p->scanned = ftell(f);
    fclose(f);
    return found;
}

bool iw_process_trouble(struct iw_process *p, char *line, size_t room)
{
    char said[IW_CRASH_TEXT];
    struct iw_crash first;
    bool found = iw_process_report(p, &first);
    if (found) {
        iw_crash_text(&first, said);
        snprintf(line, room, "%s", said);
    }
    return found;
}

bool iw_process_said(const struct iw_process *p, const char *text)
{
    char line[LINE_ROOM];
    bool found = false;
    FILE *f = p->log != NULL ? fopen(p->log, "re") : NULL;
    if (f != NULL && !fseek(f, p->scanned, SEEK_SET))
        while (!found && fgets(line, sizeof(line), f) != NULL)
            found = strstr(line, text);
    if (f != NULL)
        fclose(f);
    return found;
}
