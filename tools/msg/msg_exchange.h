/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MSG_EXCHANGE_H
#define MSG_EXCHANGE_H

/*
 * What ping, get and serve say to each other: the first octet of a message is its kind. A PING
 * comes back as it is. A GET names a file; its answer is a FILE with the length, 8 octets in
 * network order, and then the octets of the file in messages of MSG_PART, or an ERROR with a text;
 * over plain TCP they are no messages. The answer to a CPU has the processor time that the server
 * has had, in ns, in 8 octets.
 */

#include "host/options.h"

#include <stddef.h>
#include <stdint.h>

enum { MSG_PING = 'p', MSG_GET = 'g', MSG_FILE = 'f', MSG_ERROR = 'e', MSG_CPU = 'c' };
enum { MSG_PART = 1 << 20, MSG_TCP_PART = 1 << 20, MSG_PATH = 1024, MSG_TEXT = MSG_PATH + 200 };

struct msg_exchange {
    uint64_t size; /* octets */
    unsigned count, warm_up;
    unsigned fetches; /* of get; 0: one, without a report */
    double interval;  /* s */
    bool json;
    const char *output;
    const char *tcp; /* HOST:PORT; NULL: messages alone */
};

enum { MSG_EXCHANGE_OPTIONS = 8 };

extern const struct iw_option msg_exchange_options[MSG_EXCHANGE_OPTIONS];

struct msg_settings;

/* Commands (msg_command.h). */
int msg_ping_run(struct msg_settings *settings, char *const *operands, size_t count);
int msg_serve_run(struct msg_settings *settings, char *const *operands, size_t count);
int msg_get_run(struct msg_settings *settings, char *const *operands, size_t count);

#endif
