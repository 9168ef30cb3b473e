/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_WORLD_H
#define IW_HUNT_WORLD_H

/*
 * The peer under test, opened through the runner's targets: the address for each connection, the
 * memory and the receives that an agent provides, and the state of the peer.
 */

#include <jansson.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "iwarp/observer.h"
#include "live_input.h"
#include "reports.h"
#include "target/target.h"

enum {
    IW_HUNT_SLOTS = 32,     /* connections in flight */
    IW_HUNT_RECEIVES = 3,   /* that an agent posts on each connection ... */
    IW_HUNT_RECEIVE = 4096, /* ... of this many octets */
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
    uint64_t grace;   /* for the end of the program that has connected */
    char dead[512];   /* how that ended, if it crashed */
    char why[512];    /* it made no connection, the last time that it did not */
    char error[1024]; /* why it was not opened */
    unsigned starts;
    char trouble[512];              /* a sanitizer's line */
    struct iw_hunt_reports reports; /* since it was opened, until it is opened again */
};

/* Returns true if the peer is the one that connects. */
static inline bool iw_hunt_called(enum iw_side own)
{
    return own == IW_SIDE_RESPONDER;
}

/* Returns the octets of memory `k`. */
uint32_t iw_hunt_memory_length(unsigned k);
/* Starts and reaches the target. Returns IW_TARGET_OPENED, or why not, with one line in w->error.
 */
enum iw_target_opened iw_hunt_world_open(struct iw_hunt_world *w);
/* Describes its memories as they would be, without making any. */
void iw_hunt_world_describe(struct iw_hunt_world *w);
void iw_hunt_world_close(struct iw_hunt_world *w);
/* Aborts a target that hangs, if we have started it. Returns whether its program has then said
 * where it is, *place. */
bool iw_hunt_world_abort(struct iw_hunt_world *w, struct iw_crash *place);
/* Returns in one line how the target ended, or NULL while it lives, as far as is known. Cheap. */
const char *iw_hunt_world_death(struct iw_hunt_world *w);
/* Reads what its log has got since, into w->reports. Call it once the peer has ended, or has
 * answered after what may have led to a report. */
void iw_hunt_world_read(struct iw_hunt_world *w);
/* Ends what made the peer connect before, and notes how the peer has ended, if it has. It gets a
 * moment to end by itself after its connection: the way it ends shows whether it has crashed.
 * Returns true if the peer can be made to connect now. */
bool iw_hunt_world_prepare_call(struct iw_hunt_world *w);
/* Waits until the peer can be made to connect. */
void iw_hunt_world_settle(struct iw_hunt_world *w);
/* Notes that a connection is over. */
void iw_hunt_world_left(struct iw_hunt_world *w);
/* Makes the peer connect. Returns false if it cannot. */
bool iw_hunt_world_call(struct iw_hunt_world *w);
/* Returns an agent's descriptor, or -1. */
int iw_hunt_world_fd(const struct iw_hunt_world *w);
/* Handles the agent's events. Calls `requested` for each Request that was accepted. */
void iw_hunt_world_serve(struct iw_hunt_world *w, void (*requested)(void *context, unsigned slot),
                         void *context);
/* Returns in one line which memory has changed that nobody may write to, and where (as an offset
 * from its first octet); NULL if none has. */
const char *iw_hunt_world_stray(struct iw_hunt_world *w, char *text, size_t room);
/* Returns the resident memory of the process group that was started, in KiB; 0: not known. */
size_t iw_hunt_world_resident(const struct iw_hunt_world *w);

#endif
