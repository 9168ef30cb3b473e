/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MSG_PLACE_H
#define MSG_PLACE_H

/* The end of a command that sends messages: where it listens, how it waits, and where numbers are
 * that need no resolver. */

#include "host/options.h"
#include "iwarp/messages.h"

enum { MSG_PLACES_MOST = 64, MSG_PLACE_OPTIONS = 6 };

struct msg_place {
    struct iw_messages_place places[MSG_PLACES_MOST];
    size_t place_count;
    const char *listen;
    bool polls, no_resolver;
    unsigned timeout; /* ms */
    unsigned connections;
};

extern const struct iw_option msg_place_options[MSG_PLACE_OPTIONS];

struct msg_net;

/* Opens the end. Returns -1 to go on, else the exit status after one line. */
int msg_place_open(const struct msg_place *place, struct msg_net *net, struct iw_messages **out);
/* Opens a service of it, as above; 0: any number. */
int msg_place_service(struct iw_messages *m, uint32_t number, struct iw_service **out);
/* Says why a message was not delivered. Returns the exit status. */
int msg_place_undelivered(const struct iw_message *report);

#endif
