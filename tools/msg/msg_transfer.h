/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MSG_TRANSFER_H
#define MSG_TRANSFER_H

/*
 * Files on their way to others, in parts: one that was taken has the next one sent. Bounds what
 * readers can make a server spend: MSG_TRANSFERS_MOST files, MSG_TRANSFER_PARTS parts of each.
 */

#include "iwarp/messages.h"

#include <stdbool.h>
#include <stdint.h>

enum { MSG_TRANSFERS_MOST = 64, MSG_TRANSFER_PARTS = 4 };

struct msg_transfer {
    uint64_t tag;  /* of its messages; 0: none */
    uint64_t left; /* octets */
    uint32_t to;
    int file; /* owned */
    unsigned under_way;
};

struct msg_transfers {
    struct iw_messages *m;
    struct iw_service *s;
    uint64_t tags;
    struct msg_transfer list[MSG_TRANSFERS_MOST];
};

/* Begins to send a file, which this call takes. Returns NULL or what is wrong. */
const char *msg_transfer_begin(struct msg_transfers *t, uint32_t to, int file, uint64_t length);
/* Goes on after a report. Returns NULL or what is wrong, which the reader in *to has to know. */
const char *msg_transfer_reported(struct msg_transfers *t, const struct iw_message *report,
                                  uint32_t *to);
/* Closes the files. */
void msg_transfer_end_all(struct msg_transfers *t);

#endif
