/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_MESSAGE_STATUS_H
#define IW_MESSAGES_MESSAGE_STATUS_H

/*
 * How an end is asked for its state: a Unix socket (SOCK_SEQPACKET) whose abstract name is
 * IW_STATUS_NAME, the process id, a dot and a number. A connection of the same user or of root gets
 * one JSON object and is closed; others are closed without a word. One is answered in 5 ms.
 */

#define IW_STATUS_NAME "iwarp-messages."

enum {
    IW_STATUS_ROOM = 131072, /* octets of an object, at most */
    IW_STATUS_SERVICES = 256,
    IW_STATUS_PEERS = 128 /* of the lists; further ones are only counted */
};

#endif
