/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_PROCESS_H
#define IW_RUNNER_PROCESS_H

/*
 * Programs that the runner starts: the embedded agent, and the commands of target files. Each is
 * the head of a session of its own, without a terminal, and is ended by its id. What it prints goes
 * to a log.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A deadline, or a patience, that is over; no descriptor to be inherited. */
#define IW_PROCESS_AT_ONCE 0
#define IW_PROCESS_INHERITS_NONE (-1)

/* Initialise with zeros. */
struct iw_process {
    pid_t pid; /* and process group; 0: never started, or stopped */
    int pidfd; /* readable once it has ended; valid while pid > 0 */
    char name[64];
    pid_t program;   /* that a shell runs in its group, see iw_process_look_at; 0: not known */
    char called[64]; /* its name */
    char ended[256]; /* one line on how it ended; empty: it did not yet, or never started */
    bool failed;     /* it ended otherwise than with status 0 */
    bool crashed;    /* ... by a signal that a fault in it raises */
    char *log;       /* path; NULL: none was wanted */
    long scanned;    /* octets of the log that iw_process_trouble has seen */
    pid_t guard;     /* see iw_process_start; 0: none */
    int guard_end;   /* closed, it makes the guard end the group */
};

struct iw_crash;
struct iw_tun;

/* Returns a descriptor that is readable once this process, a child of ours, has ended; -1: the
 * kernel has none (Linux before 5.3). */
int iw_process_descriptor(pid_t pid);

/* Starts argv[0] (a path, or looked up in PATH) in the network namespace of `tun` (NULL: this one)
 * with `inherit` (or IW_PROCESS_INHERITS_NONE) as the only descriptor beside the standard ones;
 * stdin is empty, stdout and stderr are appended to `log` (NULL: nowhere). `guarded`: a process of
 * its own sees to it that nothing of the group is left once we are gone, in whatever way and
 * however soon (kill -9), or once iw_process_free was called. That is for commands, which may start
 * others; a program that does not ends with us anyway. Returns 0, or -1 with one line in `error`; a
 * program that cannot be executed is such an error. */
int iw_process_start(struct iw_process *p, const struct iw_tun *tun, char *const argv[],
                     int inherit, bool guarded, const char *log, char *error, size_t room);

/* Finds the program that it is about where it is a shell that starts one: that which listens at
 * `port` (0: at none). Lines on its end name that program from then on. */
void iw_process_look_at(struct iw_process *p, uint16_t port);
/* Returns whether the program that iw_process_look_at has found is gone while its shell goes on:
 * then `ended` says so. */
bool iw_process_forsaken(struct iw_process *p);

/* Waits for its end until `deadline` (iw_transport_now()). Returns true if it is not running (any
 * more); what it has left in its group may be. */
bool iw_process_await_end(struct iw_process *p, uint64_t deadline);

/* Ends it: with `patience` seconds for an end of its own accord (0: none), then by SIGTERM, then,
 * once all of its group has ended, or 5 s later, by SIGKILL for all of its group. Who writes a
 * report (crash.h) may go on with it for as long as iw_process_trouble would wait. */
void iw_process_stop(struct iw_process *p, double patience);

/* Has it say where it is: SIGABRT for all of its group, on which a program with AddressSanitizer
 * (ASAN_OPTIONS=handle_abort=1) reports its stack. Waits up to 10 s for its end, and for the rest
 * of a report that has begun. */
void iw_process_abort(struct iw_process *p);

/* Finds the first report of a fault that the log has got since the last call (crash.h). Of one that
 * is still being written, waits for the rest: for the program's end, or until it writes no more,
 * 30 s at most. Writes it to `line` as iw_crash_text() does. Returns false if there is none. */
bool iw_process_trouble(struct iw_process *p, char *line, size_t room);
/* Finds that report likewise. Returns false if there is none, else true with all that is known of
 * it in *first. */
bool iw_process_report(struct iw_process *p, struct iw_crash *first);

/* Returns whether some line that the log has got since the start, or since the last call of
 * iw_process_trouble, contains `text`. */
bool iw_process_said(const struct iw_process *p, const char *text);

/* Stops it, and frees what is left; an empty log is removed. */
void iw_process_free(struct iw_process *p);

#endif
