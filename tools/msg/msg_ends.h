/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MSG_ENDS_H
#define MSG_ENDS_H

/* The ends of libiwarp-messages in this network namespace: which are there, and what they say of
 * themselves. */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct msg_end {
    char name[64]; /* of its socket */
    pid_t process; /* 0: it did not answer */
    char program[32];
    json_t *state; /* owned; NULL: another user's, or it has ended, or does not answer */
};

struct msg_ends {
    struct msg_end *list; /* in the order of their names */
    size_t count;
    size_t silent; /* without a state */
};

/* Asks all of them. Returns false with errno if they cannot be listed. */
bool msg_ends_ask(struct msg_ends *out);
void msg_ends_free(struct msg_ends *e);

#endif
