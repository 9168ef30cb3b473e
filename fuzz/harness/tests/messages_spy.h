/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_MESSAGES_SPY_H
#define FUZZ_MESSAGES_SPY_H

/* For tests of the harness of messages: notes what it calls of the library, and has the library
 * lie. */

#include "spy.h"

#include "harness/fuzz_messages.h"

/* What the library does wrong. */
enum messages_lie {
    MESSAGES_NO_LIE,
    MESSAGES_KEEPS_LINKS,  /* nothing that has ended is destroyed */
    MESSAGES_KEEPS_OPEN,   /* a message has no fate */
    MESSAGES_KEEPS_BUFFER, /* one is not given back */
    MESSAGES_KEEPS_OFFER,  /* one is still offered to a peer */
    MESSAGES_KEEPS_REGION
};

extern enum messages_lie messages_lie;

/* What iw_messages_receive() gives before all else. */
struct messages_given {
    enum iw_messages_kind kind;
    uint64_t tag, stamp, number;
    size_t length; /* of a message: 16 if it has the stamp, at most 32 */
};
extern struct messages_given messages_given[8];
extern unsigned messages_given_count;

/* Forgets all of that. */
int messages_spy_set_up(void **state);
/* Runs the harness in a process of its own, so that what an oracle leaves when it fails is gone.
 * Returns what it says. */
const char *messages_fault(const char *hex);

#endif
