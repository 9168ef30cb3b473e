/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MSG_MEASURE_H
#define MSG_MEASURE_H

/*
 * Times of something that is done again and again, in one way or in several ways in turn: each way
 * has a block of rounds, then the next one, so that what else the machine does disturbs all of
 * them. Where there are several a block begins with rounds that do not count.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct msg_exchange;
struct msg_talk;

struct msg_way {
    const char *type; /* in JSON */
    const char *name; /* for people, after the number: "" or " by TCP" */
    /* Does it once. Returns -1 to go on, else the exit status after one line. */
    int (*go)(void *of, unsigned round);
    void *of;
    /* Asks for the processor time of the process at the other end, in ns; NULL: it is not asked.
     * Returns as above. */
    int (*far)(struct msg_talk *talk, uint64_t *ns);
    struct msg_talk *talk;
    /* What came of it. */
    uint64_t *ns;
    unsigned done;
    uint64_t near_cpu, far_cpu; /* ns */
};

/* Measures, and prints a line for each way. `one` and `several` are what is counted: "round trip".
 * Returns the exit status. */
int msg_measure(const struct msg_exchange *e, uint32_t number, const char *one, const char *several,
                struct msg_way *ways, size_t count);

#endif
