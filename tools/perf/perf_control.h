/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ends talk over a separate TCP connection: JSON objects, one per line. */
#ifndef IW_PERF_CONTROL_H
#define IW_PERF_CONTROL_H

#include <jansson.h>

#include "perf.h"

enum { PERF_PROTOCOL = 4, PERF_LINE = 4096 };

struct perf_control {
    int fd;
    int patience; /* seconds for the next message */
    char line[PERF_LINE];
    size_t have;
    char error[PERF_TEXT]; /* what ended the session */
    bool theirs;           /* the error is the peer's text */
    bool ended;            /* by the peer */
};

/* Takes the socket over. */
void perf_control_init(struct perf_control *c, int fd);
void perf_control_close(struct perf_control *c);
/* Sets c->error. Returns -1. */
int perf_control_fail(struct perf_control *c, const char *text);
/* Sends a message, which it takes over. Returns 0, or -1 with text in c->error. */
int perf_control_send(struct perf_control *c, json_t *message);
/* Returns the next message; NULL with text in c->error, also if the peer reports an error of its
 * own. */
json_t *perf_control_receive(struct perf_control *c);
/* Receives the next message and unpacks it as json_unpack does, but no strings, as they go with the
 * message. Returns 0; -1 if there is none, or 1 if it has another form, with text in c->error. */
int perf_control_expect(struct perf_control *c, const char *format, ...);
/* Returns TCP's port of this end of a socket, or of the peer's; 0 if it has none. */
json_int_t perf_control_port(int fd, bool peer);

/* Each returns a new object; NULL without memory. */
json_t *perf_setup_to_json(const struct perf_setup *setup);
json_t *perf_run_to_json(const struct perf_run *run);
/* Returns 0, or -1 if something is missing or out of range. */
int perf_setup_from_json(const json_t *from, struct perf_setup *setup);
int perf_run_from_json(const json_t *from, struct perf_run *run);

#endif
