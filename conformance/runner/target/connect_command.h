/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CONNECT_COMMAND_H
#define IW_RUNNER_CONNECT_COMMAND_H

/*
 * How a peer without an agent is made to connect: by a command, which makes one connection each
 * time it is run, or by a person at the terminal who is asked to do something.
 */

#include "process.h"

struct iw_tun;

/* Initialise with zeros and the texts. */
struct iw_connect {
    const char *command;        /* shell command with {host} and {port}; NULL: a person is asked */
    const char *ask;            /* what the person is to do, with {host} and {port} */
    double within;              /* seconds that it may take until the peer connects */
    struct iw_process *running; /* a case may want several connections */
    size_t count;
};

/* Connections that one case may ask for. */
enum { IW_CONNECT_MAX = 64 };

/* Has the peer connect to host:port: runs the command (in the peer's namespace if there is one), or
 * asks on standard error. Returns 0, or -1 with one line in `error`. */
int iw_connect_start(struct iw_connect *c, struct iw_tun *tun, const char *host, uint16_t port,
                     const char *log, char *error, size_t room);
/* Returns how the latest command ended, in one line, with *failed set to whether it failed; NULL
 * while it runs, and where a person was asked. */
const char *iw_connect_ended(struct iw_connect *c, bool *failed);
/* Waits until `deadline` (iw_transport_now()) for the ends of the commands that run. Returns how
 * the first that a fault of its own has ended did end; NULL if there is none. */
const char *iw_connect_crashed(struct iw_connect *c, uint64_t deadline);
/* Ends all commands and what they left behind. A line of a sanitizer's report goes to `trouble`. */
void iw_connect_stop(struct iw_connect *c, char *trouble, size_t room);

/* Starts /bin/sh with a command in which {host} and {port} are replaced. Returns as
 * iw_process_start, guarded. */
int iw_connect_shell(struct iw_process *p, struct iw_tun *tun, const char *command,
                     const char *host, uint16_t port, const char *log, char *error, size_t room);

#endif
