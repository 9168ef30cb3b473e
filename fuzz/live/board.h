/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_BOARD_H
#define IW_HUNT_BOARD_H

/*
 * What the processes of one hunt share: those that hunt, each with a target of its own, and those
 * that look into an event meanwhile. Memory of bounded size; whoever dies leaves nothing locked.
 */

#include <stdbool.h>
#include <stdint.h>

#include "live_input.h"
#include "live_trace.h"

enum {
    IW_HUNT_TARGETS = 16,      /* that hunt at a time */
    IW_HUNT_EXAMINERS = 2,     /* that look into something, of each hunter */
    IW_HUNT_CLAIMS = 256,      /* causes; what comes after that many is not looked into */
    IW_HUNT_POSTED = 2048,     /* sequences that a hunter gives to the others */
    IW_HUNT_POSTED_SIZE = 8192 /* octets; longer ones are not given */
};

/* What one hunter has done so far. */
struct iw_hunt_share {
    uint64_t started, over; /* sequences */
    unsigned starts;
};

/* What one examiner does. */
struct iw_hunt_examining {
    bool busy, minimising;
    unsigned tries;
};

struct iw_hunt_board;

/* Makes one. Returns NULL with errno if there is no memory for it. */
struct iw_hunt_board *iw_hunt_board_new(void);
void iw_hunt_board_free(struct iw_hunt_board *b);
/* In a child: keeps only what is needed of the descriptors that are open, which are the parent's.
 */
void iw_hunt_board_inherit(struct iw_hunt_board *b);
/* Excludes all other processes until the next call of _unlock. */
void iw_hunt_board_lock(struct iw_hunt_board *b);
void iw_hunt_board_unlock(struct iw_hunt_board *b);

/* Counts an event with this key. Returns true if the caller is to look into it: nobody does, the
 * cause is not found, and it was not looked into `often` times. */
bool iw_hunt_board_claim(struct iw_hunt_board *b, const char *key, unsigned often);
/* Ends that; `settled`: nobody needs to look into it any more. */
void iw_hunt_board_release(struct iw_hunt_board *b, const char *key, bool settled);
/* Notes that a cause is found: nobody needs to look into it any more. */
void iw_hunt_board_settle(struct iw_hunt_board *b, const char *key);
/* Counts one more event with this key, if it was ever claimed or settled. */
void iw_hunt_board_count(struct iw_hunt_board *b, const char *key);
/* Returns how often an event with this key was counted. */
uint64_t iw_hunt_board_times(struct iw_hunt_board *b, const char *key);
/* Returns the number of the next finding, from 1. */
unsigned iw_hunt_board_number(struct iw_hunt_board *b);
/* Notes one more line of findings.jsonl; returns how many there are. */
void iw_hunt_board_line(struct iw_hunt_board *b);
unsigned iw_hunt_board_lines(const struct iw_hunt_board *b);

/* Gives a sequence to the other hunters. */
void iw_hunt_board_post(struct iw_hunt_board *b, unsigned by, const struct iw_hunt_input *input,
                        const struct iw_hunt_row *row);
/* Returns the next sequence that another hunter than `by` gave, or NULL; the caller frees it. *at
 * begins at 0. */
struct iw_hunt_input *iw_hunt_board_take(struct iw_hunt_board *b, unsigned by, unsigned *at,
                                         struct iw_hunt_row *row);

struct iw_hunt_share *iw_hunt_board_share(struct iw_hunt_board *b, unsigned hunter);
/* Returns the sum of all shares. */
struct iw_hunt_share iw_hunt_board_sum(const struct iw_hunt_board *b);
struct iw_hunt_examining *iw_hunt_board_examining(struct iw_hunt_board *b, unsigned hunter,
                                                  unsigned examiner);
/* Says that the hunt is over, and asks whether it is. */
void iw_hunt_board_end(struct iw_hunt_board *b);
bool iw_hunt_board_ended(const struct iw_hunt_board *b);

#endif
