/* SPDX-License-Identifier: BSD-3-Clause */
#include "process_stage.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST = 1000 /* process ids begin after it */ };

struct iw_hunt_options options;
struct iw_hunt hunt;
struct process_stage processes;

static struct iw_target_spec spec;
static char target[] = "the target";

void process_note(const char *format, ...)
{
    size_t n = strlen(processes.noted);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(processes.noted + n, sizeof(processes.noted) - n, format, arguments);
    va_end(arguments);
}

void process_noted(const char *expected)
{
    assert_string_equal(processes.noted, expected);
    *processes.noted = 0;
}

void process_ends(pid_t pid, int status)
{
    processes.ended[processes.n_ended].pid = pid;
    processes.ended[processes.n_ended++].status = status;
}

int process_begin(void **state)
{
    (void)state;
    options = (struct iw_hunt_options){.targets = 1};
    spec = (struct iw_target_spec){.text = target};
    hunt = (struct iw_hunt){.o = &options,
                            .spec = &spec,
                            .dir = "results",
                            .stop = &processes.stop,
                            .world = {.scale = 2, .slots = 5, .listener = 7},
                            .board = iw_hunt_board_new()};
    assert_non_null(hunt.board);
    processes = (struct process_stage){.now = 1000000000};
    return 0;
}

int process_end(void **state)
{
    iw_hunt_board_free(hunt.board);
    return support_clean(state);
}

/* ---- instead of the system's ---- */

pid_t __wrap_fork(void);
pid_t __wrap_waitpid(pid_t pid, int *status, int flags);
int __wrap_kill(pid_t pid, int number);
int __wrap_poll(struct pollfd *list, nfds_t count, int ms);
int __wrap_prctl(int option, ...);
pid_t __wrap_getppid(void);
void __wrap__exit(int status) __attribute__((noreturn));
uint64_t __wrap_iw_transport_now(void);

pid_t __wrap_fork(void)
{
    if (processes.forks_fail) {
        errno = EAGAIN;
        return -1;
    }
    if (++processes.forks == processes.child_of)
        return 0;
    process_note(" fork%u", processes.forks);
    return FIRST + (pid_t)processes.forks;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int flags)
{
    assert_int_equal(flags, WNOHANG);
    assert_true(pid > FIRST && pid <= FIRST + (pid_t)processes.forks);
    for (unsigned i = 0; i < processes.n_ended; i++)
        if (processes.ended[i].pid == pid) {
            *status = processes.ended[i].status;
            processes.ended[i] = processes.ended[--processes.n_ended];
            return pid;
        }
    return 0;
}

int __wrap_kill(pid_t pid, int number)
{
    assert_true(pid > FIRST);
    process_note(" %s%d",
                 number == SIGKILL   ? "KILL"
                 : number == SIGTERM ? "TERM"
                                     : "other",
                 (int)pid - FIRST);
    if (number == SIGKILL || (processes.obeys && !processes.hardly))
        process_ends(pid, number);
    return 0;
}

int __wrap_poll(struct pollfd *list, nfds_t count, int ms)
{
    assert_null(list);
    assert_int_equal(count, 0);
    assert_int_equal(ms, 20);
    processes.now += 1000000 * (uint64_t)ms;
    return 0;
}

int __wrap_prctl(int option, ...)
{
    va_list arguments;

    va_start(arguments, option);
    assert_int_equal(option, PR_SET_PDEATHSIG);
    assert_int_equal(va_arg(arguments, int), SIGTERM);
    va_end(arguments);
    process_note(" prctl");
    return 0;
}

pid_t __wrap_getppid(void)
{
    return processes.parent ? processes.parent : getpid();
}

void __wrap__exit(int status)
{
    processes.status = status;
    longjmp(processes.exit, 1);
}

uint64_t __wrap_iw_transport_now(void)
{
    return processes.now;
}

/* ---- instead of the hunt's ---- */

void __wrap_iw_hunt_progress(struct iw_hunt *h, bool end);
void __wrap_iw_hunt_load_findings(struct iw_hunt *h);

void __wrap_iw_hunt_progress(struct iw_hunt *h, bool end)
{
    assert_false(end);
    if (processes.looks != NULL)
        processes.looks(h);
}

void __wrap_iw_hunt_load_findings(struct iw_hunt *h)
{
    assert_ptr_equal(h, &hunt);
    process_note(" load");
}
