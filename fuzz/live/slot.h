/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_SLOT_H
#define IW_HUNT_SLOT_H

/* Internal to the loop: a connection under way. */

#include "live_loop.h"
#include "live_plan.h"

enum { IW_HUNT_ANSWERS = 64 * 1024 }; /* octets that are read at once */

enum iw_hunt_phase { FREE, CALLED, STEPS, WAITING, LINGERING };

struct iw_hunt_slot {
    struct iw_hunt_loop *loop;
    enum iw_hunt_phase phase;
    int fd;
    struct iw_hunt_done done;
    struct iw_hunt_plan plan;
    struct iw_hunt_known known;
    size_t at, mark, unit; /* of the plan: octets, marks and units that are done */
    uint8_t *piece;        /* the unit under way as it is sent; NULL: none */
    size_t piece_length, piece_sent;
    uint8_t *out; /* rendered, to be sent */
    size_t out_length, out_sent;
    uint8_t said;
    bool shut, blocked, asking; /* asking: the start-up frame is in `out` */
    uint64_t deadline, sent, received;
    uint64_t answered; /* when the peer said the last thing; 0: nothing */
    uint64_t asked; /* when all of our start-up frame was sent, or the peer connected; 0: not yet */
    enum iw_side own, peer;
    struct iw_observer *observer;
};

struct iw_hunt_loop {
    struct iw_hunt_world *world;
    void (*call)(void *context, struct iw_hunt_done *d);
    void *context;
    int epoll;
    int control; /* the agent's descriptor in the epoll set, or -1 */
    struct iw_hunt_slot slots[IW_HUNT_SLOTS];
    unsigned busy;
    uint8_t answers[IW_HUNT_ANSWERS];
    uint64_t answer_time; /* ns, a running mean of the Reply's delay */
    bool answered;        /* at all: the mean is measured */
    uint64_t patience;    /* ns for the Reply and each pause; 0: as usual */
    uint64_t linger;      /* ns; 0: LINGER */
    uint64_t lingered;
};

/* answer.c: attaches an observer of both directions, which notes the peer's answers. */
void iw_hunt_slot_observe(struct iw_hunt_slot *s);
/* Notes an answer to the last stimulus. */
void iw_hunt_slot_add(struct iw_hunt_slot *s, enum iw_hunt_answer answer, uint32_t detail);

#endif
