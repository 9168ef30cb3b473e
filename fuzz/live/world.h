/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_WORLD_H
#define IW_HUNT_WORLD_H

/*
 * The peer under test, opened through the runner's targets: where each connection goes, the memory
 * and the receives that an agent provides, and what became of it.
 */

#include <jansson.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "input.h"
#include "iwarp/observer.h"
#include "target/target.h"

enum {
    IW_HUNT_SLOTS = 32,     /* connections in flight */
    IW_HUNT_RECEIVES = 3,   /* that an agent posts on each connection ... */
    IW_HUNT_RECEIVE = 4096, /* ... of so many octets */
    IW_HUNT_GUARD = 64
};

struct iw_hunt_memory {
    json_int_t mem;
    uint32_t stag;
    uint64_t to;
    uint32_t length;
    const char *remote; /* in the words of the cases; "": nothing */
    char *content;      /* hexadecimal, with the guards */
};

struct iw_hunt_world {
    const struct iw_target_spec *spec;
    const char *log; /* NULL: nowhere */
    double scale;
    struct iw_target_instance *instance; /* NULL: not open */
    struct iw_target *target;
    struct iw_hunt_memory memories[IW_HUNT_MEMORIES];
    size_t n_memories;
    json_int_t receives;                       /* the memory that all receives lie in */
    bool late_receives;                        /* verbs: not before a connection is established */
    json_int_t work;                           /* number of the last one posted */
    struct sockaddr_storage to[IW_HUNT_SLOTS]; /* an agent: a listener for each slot */
    json_int_t listen[IW_HUNT_SLOTS];
    socklen_t to_length;
    unsigned slots;
    enum iw_side side; /* the fuzzer's; RESPONDER: the peer is made to connect, one at a time */
    int listener;      /* for that */
    uint16_t port;
    uint64_t grace; /* for the end of the program that has connected */
    char dead[512]; /* how that ended, if it crashed */
    char why[512];  /* it made no connection, the last time that it did not */
    unsigned starts;
    char trouble[512]; /* a sanitizer's line */
};

/* Octets of memory `k`. */
uint32_t iw_hunt_memory_length(unsigned k);
/* Starts and reaches the target. Otherwise one line in `error`. */
enum iw_target_opened iw_hunt_world_open(struct iw_hunt_world *w, char *error, size_t room);
/* Its memories as they would be, without any being there. */
void iw_hunt_world_describe(struct iw_hunt_world *w);
void iw_hunt_world_close(struct iw_hunt_world *w);
/* Of one that would not end when it is asked to: what was started is killed. */
void iw_hunt_world_kill(struct iw_hunt_world *w);
/* How the target ended, in one line, or NULL while it lives, as far as is known. Cheap. */
const char *iw_hunt_world_death(struct iw_hunt_world *w);
/* Whether the peer can be made to connect now. One that has before has a moment to end by itself
 * behind its connection: how it ends tells whether it has crashed. */
bool iw_hunt_world_ready(struct iw_hunt_world *w);
/* Waits until it can. */
void iw_hunt_world_settle(struct iw_hunt_world *w);
/* A connection is over. */
void iw_hunt_world_left(struct iw_hunt_world *w);
/* Has the peer connect. False if it cannot. */
bool iw_hunt_world_call(struct iw_hunt_world *w);
/* An agent's descriptor, or -1. */
int iw_hunt_world_fd(const struct iw_hunt_world *w);
/* Answers what the agent has to say. `requested` is told of each Request that was accepted. */
void iw_hunt_world_serve(struct iw_hunt_world *w, void (*requested)(void *context, unsigned slot),
                         void *context);
/* Which memory has octets that nobody may have changed, and where (as an offset from its first
 * octet), in one line; NULL if none has. */
const char *iw_hunt_world_stray(struct iw_hunt_world *w, char *text, size_t room);
/* Of the process group that was started: resident memory in KiB; 0: not known. */
size_t iw_hunt_world_resident(const struct iw_hunt_world *w);

#endif
