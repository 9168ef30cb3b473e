/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_SEEDS_H
#define IW_HUNT_SEEDS_H

#include "iwarp/observer.h"
#include "live_input.h"
#include "target/target.h"

struct iw_hunt_seeds {
    struct iw_hunt_input **list; /* owned */
    size_t n;
    enum iw_side side; /* what the fuzzer plays */
};

/* Generates start-up in each variation, and each operation after the usual one; for a target of
 * class rping the conversation of rping. */
void iw_hunt_seeds_generate(struct iw_hunt_seeds *seeds, enum iw_target_class class);
/* Records our side of every connection of a capture that begins with a Request. Replaces the STags
 * that its FPDUs name by placeholders. Returns the number of connections, or -1 with one line in
 * `error`. */
int iw_hunt_seeds_record(struct iw_hunt_seeds *seeds, const char *path, char *error, size_t room);
void iw_hunt_seeds_add(struct iw_hunt_seeds *seeds, struct iw_hunt_input *input);
void iw_hunt_seeds_free(struct iw_hunt_seeds *seeds);
/* Returns an input with the usual start-up, and nothing else. */
struct iw_hunt_input *iw_hunt_seed_probe(enum iw_side side);

#endif
