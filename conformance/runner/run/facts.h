/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_FACTS_H
#define IW_RUNNER_FACTS_H

/*
 * Facts: what a run has found out about its target before it plays the cases, for the top of the
 * reports. Nothing is wrong with a target because of one; that is for findings.
 */

#include <stdbool.h>
#include <stddef.h>

/* Strings are owned. */
struct iw_fact {
    char *name;   /* a word: "revision", "crc" ... */
    char *text;   /* what the target does, in one line without a subject */
    char *advice; /* what the run makes of it, or what to say of the target; NULL: nothing */
};

/* Initialise with zeros. */
struct iw_facts {
    struct iw_fact *list;
    size_t count;
};

/* The name of the fact that the target accepts no Request. */
#define IW_FACT_START_UP "start-up"

/* Returns whether there is a fact of this name. */
bool iw_facts_has(const struct iw_facts *facts, const char *name);
/* Adds a fact; the strings are copied. An empty advice is none. */
void iw_facts_add(struct iw_facts *facts, const char *name, const char *text, const char *advice);
void iw_facts_free(struct iw_facts *facts);

#endif
