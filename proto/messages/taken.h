/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_TAKEN_H
#define IW_MESSAGES_TAKEN_H

/*
 * Which messages of one direction are done with, at the receiver: sequence numbers from 1, in a
 * window of IW_MESSAGES_WINDOW. The state is sent in every header, whole, so that no loss of one
 * matters.
 */

#include "messages/message_wire.h"

struct iw_taken {
    struct iw_message_state state;
    uint64_t came; /* the last one that came */
};

enum iw_taken_verdict { IW_TAKEN_NEXT, IW_TAKEN_AGAIN, IW_TAKEN_WRONG };

/* Judges a message that comes: the NEXT one (numbers before it that never came are done with, their
 * sender has given them up), one that came AGAIN, or a number that no right sender would use. */
enum iw_taken_verdict iw_taken_come(struct iw_taken *t, uint64_t sequence);

/* Notes that a message which came was taken, or refused. */
void iw_taken_done(struct iw_taken *t, uint64_t sequence, bool refused);

/* Forgets that messages after `last` came, of which none is done with: they must come again. */
void iw_taken_back(struct iw_taken *t, uint64_t last);

enum iw_taken_fate { IW_TAKEN_OPEN, IW_TAKEN_TAKEN, IW_TAKEN_REFUSED };

/* At the sender: what the state that came says of a message of its window. */
enum iw_taken_fate iw_taken_fate(const struct iw_message_state *s, uint64_t sequence);

#endif
