/* SPDX-License-Identifier: BSD-3-Clause */
/* What perf_server.c stands on: lanes that only note their calls, and a clock and arrivals of the
 * test's; and the client, which has said all it has to say before the server begins. */
#ifndef IW_PERF_SERVER_DOUBLES_H
#define IW_PERF_SERVER_DOUBLES_H

#include "perf_control.h"

struct server_doubles {
    char record[8192]; /* what was called, a line each */
    double now, step;  /* the clock, and by how much each look moves it */
    int created, destroyed;
    const char *failing; /* the call that fails */
    struct perf_setup asked;
    struct perf_run ran;

    int listener;
    int waits[8], waited; /* ms of polls for a connection */
    int quiet;            /* how many of them, after the first, find nothing */
    int accept_error;     /* errno of an accept */
    int accepts_before;   /* good ones before that */
    int accepts, zero_at; /* the call of accept that is to return descriptor 0; 0: none */
    const char *bound;    /* where perf_server listens; NULL: nowhere */
};
extern struct server_doubles doubles;

#define HELLO "{\"iwarp-perf\":4}\n"
#define STAGS "{\"sink\":4294967295,\"source\":2147483648,\"counter\":7}\n"
#define OPENED STAGS "{\"attached\":true}\n{\"ready\":true}\n"

/* Set-up and teardown of a test. */
int server_begin(void **state);
int server_end(void **state);

int connect_from(const char *host);
/* Makes a connection of a lane, which says who it is. */
int lane_connection(char name);
void say(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));
int port_of(int fd);
void greet(int fd);
void open_lane(int fd, unsigned connections);
void say_port(int fd, int of);
void run_slice(int fd, int lane);
/* Expects all that the server has said, and that it has closed. */
void expect_answer(int fd, const char *expected);

#endif
