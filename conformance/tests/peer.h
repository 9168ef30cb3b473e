/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_PEER_H
#define IW_TESTS_PEER_H

#include <pthread.h>

#include "target/target.h"

/* A peer that speaks literal octets: a thread with a listening socket on loopback that serves one
 * connection after the other, each with the same steps. */
enum peer_step_kind {
    PEER_READ,   /* takes exactly these octets (hex); others end the thread and fail the test */
    PEER_SKIP,   /* takes `count` octets, whatever they are */
    PEER_WRITE,  /* sends these octets (hex) */
    PEER_REPEAT, /* sends these octets `count` times, or until the station is gone */
    PEER_DRAIN,  /* reads until the station has ended its direction */
    PEER_STARE,  /* reads nothing and says nothing until the test is over */
    PEER_FIN,    /* closes; the connection ends anyway after the last step */
    PEER_RESET
};

struct peer_step {
    enum peer_step_kind kind;
    const char *hex;
    size_t count;
};

struct peer {
    struct iw_target target; /* class bare */
    const struct peer_step *steps;
    size_t n_steps;
    int listener;
    pthread_t thread;
    char wrong[256]; /* what was not as expected; empty if all was */
};

void peer_start(struct peer *p, const struct peer_step *steps, size_t n_steps);
/* Ends the thread and fails the test if the station did not send what was expected. */
void peer_stop(struct peer *p);

#endif
