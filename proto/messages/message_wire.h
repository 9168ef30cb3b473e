/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_MESSAGE_WIRE_H
#define IW_MESSAGES_MESSAGE_WIRE_H

/*
 * What two ends send each other: octets in network order, and structs. Every Send begins with a
 * header, which also carries the state of the messages of the other direction; the private data of
 * connect and accept is a greeting. The decoders never read past `length` and refuse what breaks a
 * bound of the format.
 *
 *   greeting   magic 4 | version 1 | 0 3 | instance 8 | grants 4 | longest 4 | port 2 | 0 2
 *   header     version 1 | type 1 | flags 1 | count 1 | grants 4 | base 8 | ahead 8 |
 *              refused before 8 | refused after 8 | sequence 8 | from 4 | to 4 | length 4 | loan 4
 *   after it   SHORT: `length` octets. ANNOUNCE: `count` pieces, LOAN: one piece
 *   piece      address 8 | STag 4 | length 4
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    IW_MESSAGE_VERSION = 1,
    IW_MESSAGE_GREETING = 28, /* octets */
    IW_MESSAGE_HEADER = 64,
    IW_MESSAGE_PIECE = 16,
    IW_MESSAGE_PIECES_MOST = 16
};

enum iw_message_type {
    IW_MESSAGE_SYNC = 1, /* the first Send of a connection: `sequence` is the last one that came */
    IW_MESSAGE_STATE,    /* the header alone */
    IW_MESSAGE_SHORT,
    IW_MESSAGE_ANNOUNCE, /* its octets are to be read from the pieces */
    IW_MESSAGE_WRITTEN,  /* its octets have been written into the buffer `loan` */
    IW_MESSAGE_LOAN      /* a buffer, `loan`, for a long message */
};

/* A flag: answer with a STATE as soon as this message is done with, or at once to a STATE. */
#define IW_MESSAGE_ASK 0x1u

/* Which messages of a direction are done with: taken, or refused since nobody has their number. */
struct iw_message_state {
    uint64_t base;           /* all up to here */
    uint64_t ahead;          /* bit i: base + 1 + i, too */
    uint64_t refused_before; /* bit i: base - i was refused */
    uint64_t refused_after;  /* bit i: base + 1 + i was refused; a subset of ahead */
};

struct iw_message_greeting {
    uint64_t instance; /* of the process: random, not 0 */
    uint32_t grants;   /* receives that are posted for the reader of this */
    uint32_t longest;  /* octets of the longest message that it takes */
    uint16_t port;     /* where it listens */
};

struct iw_message_header {
    enum iw_message_type type;
    uint8_t flags;
    uint8_t count;   /* pieces */
    uint32_t grants; /* receives posted since the connection was made, modulo 2^32 */
    struct iw_message_state state;
    uint64_t sequence;
    uint32_t from, to, length, loan;
};

struct iw_message_piece {
    uint64_t address;
    uint32_t stag, length;
};

void iw_message_put_greeting(const struct iw_message_greeting *g,
                             uint8_t out[static IW_MESSAGE_GREETING]);
/* Returns false if the octets are no greeting of this version. Octets after it are ignored: rdma_cm
 * pads private data. */
bool iw_message_get_greeting(const uint8_t *octets, size_t length, struct iw_message_greeting *out);

void iw_message_put_header(const struct iw_message_header *h,
                           uint8_t out[static IW_MESSAGE_HEADER]);
/* Returns NULL, or what is wrong with a message of `length` octets: its length, too, must be that
 * which its type and counts ask for. */
const char *iw_message_get_header(const uint8_t *octets, size_t length,
                                  struct iw_message_header *out);

void iw_message_put_piece(const struct iw_message_piece *piece,
                          uint8_t out[static IW_MESSAGE_PIECE]);
void iw_message_get_piece(const uint8_t octets[static IW_MESSAGE_PIECE],
                          struct iw_message_piece *out);

#endif
