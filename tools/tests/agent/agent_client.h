/* SPDX-License-Identifier: BSD-3-Clause */
/* For the agent's tests: an agent process, requests as text, events. */
#ifndef AGENT_CLIENT_H
#define AGENT_CLIENT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "iwarp/control.h"
#include "iwarp/transport.h"

struct agent {
    pid_t pid;
    int out; /* its standard output, or -1 */
    int log; /* its standard error, or -1 */
    struct iw_control *control;
};

/* Starts an agent over a socketpair. */
void agent_start(struct agent *a);
/* Starts one that listens on port 0 of loopback, with one more option and its value (NULL: none);
 * returns its port. It has no client yet. */
uint16_t agent_start_listening(struct agent *a, const char *option, const char *value);
/* The next line of its standard error, without the newline. */
void agent_log(struct agent *a, char *line, size_t room);
/* Closes the control connection. With a socketpair the agent must end by itself, else it gets
 * `signal`; its exit status must be 0 either way. */
void agent_end(struct agent *a, int signal);

/* Sends a request, given as JSON with ' for ", and returns its reply; `ok` must be as expected. */
__attribute__((format(printf, 2, 3))) json_t *ask(struct agent *a, const char *format, ...);
/* The same for a request that must fail with this error text. */
__attribute__((format(printf, 3, 4))) void refuse(struct agent *a, const char *error,
                                                  const char *format, ...);
/* The reply to a request that must fail. */
json_t *ask_in_vain(struct agent *a, const char *request);
/* ask, then the integer `name` of the reply. */
__attribute__((format(printf, 3, 4))) json_int_t ask_for(struct agent *a, const char *name,
                                                         const char *format, ...);
/* The next event must contain what `expected` (JSON with ') contains, exactly but for fields that
 * are not named. Returns the integer `conn` of it. */
__attribute__((format(printf, 2, 3))) json_int_t want_event(struct agent *a, const char *expected,
                                                            ...);
/* Octets of a memory as hex; they must be these. */
void want_memory(struct agent *a, json_int_t mem, int offset, int length, const char *hex);

/* A deadline that only a failing test reaches. */
uint64_t soon(void);

#endif
