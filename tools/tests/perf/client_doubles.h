/* SPDX-License-Identifier: BSD-3-Clause */
/* What perf_client.c stands on: a server that says what a test has put in, lanes that only count,
 * and clocks that they move. */
#ifndef IW_PERF_CLIENT_DOUBLES_H
#define IW_PERF_CLIENT_DOUBLES_H

#include "perf_control.h"

enum { SERVING_ON = -1000 }; /* until it is killed */

struct client_doubles {
    char log[1 << 20];   /* what was called, a line each */
    size_t logged;       /* octets of it */
    int steps, failing;  /* calls that can fail, and which of them does; 0: none */
    const char *theirs;  /* what the server says in the end, if it is asked; NULL: nothing */
    const char *failure; /* of the call that fails */
    int polled;          /* what poll returns */
    int created, destroyed;

    double each[PERF_LANES];    /* seconds of a message on each lane, half as many of the CPU */
    double latency[PERF_LANES]; /* ns of the first message; 0: none is kept */
    double latency_step;        /* by which it grows, relatively, from slice to slice */
    uint64_t resident, grown;   /* KiB of the client, and by how many it grows with each look */
    uint64_t theirs_resident;   /* KiB of the server */
    int looks, jump_look;       /* looks at the client's memory; at which both jump */
    uint64_t jump[2];           /* by so many KiB, client and server */

    struct perf_result rows[64]; /* what was printed */
    size_t row_count;
    int possible, json, html; /* what the reports return */

    int sockets, no_sockets;   /* that were asked for; how many of the first there are none of */
    int connects, unreachable; /* connections; how many of the first come to nothing */
    bool two_addresses;        /* the server's name has */

    int killed;    /* processes */
    int cpu;       /* that the process was pinned to; -1: none */
    int pin_error; /* errno */
    int serving;   /* how the server ends: with a status, or by a signal if it is negative */
    int serving_cpu;
    bool no_fork;
};
extern struct client_doubles doubles;

void doubles_reset(void);

#endif
