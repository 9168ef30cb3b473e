/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MSG_TALK_H
#define MSG_TALK_H

/*
 * A dialogue of ping or get with a service, by messages and, beside them, over plain TCP.
 *
 * The end of the other process is no message. So after a second of silence it is asked for the echo
 * of a ping: that is not delivered if the process is gone, and since messages of one process keep
 * their order, an echo without an answer before it comes from another process, which never heard
 * the question.
 */

#include "iwarp/messages.h"
#include "msg_tcp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct msg_settings;

struct msg_talk {
    struct iw_messages *m;
    struct iw_service *s;
    uint32_t to;
    struct msg_tcp tcp; /* if there is a HOST:PORT for it */
    bool asks;          /* an echo is to come */
    unsigned late;      /* echoes that are to come after the answer came */
    uint8_t echo[9];    /* its octets */
};

/* Opens a dialogue with a service. Returns -1 to go on, else the exit status after one line; 130,
 * without a line, after an interrupt. So do the functions below. */
int msg_talk_open(struct msg_settings *settings, uint32_t to, struct msg_talk *t);
/* Ends it and frees what it holds. */
void msg_talk_close(struct msg_talk *t);

/* Sends octets; `flags` of iw_messages_send(). Returns -1, or the exit status. */
int msg_talk_send(struct msg_talk *t, void *octets, size_t length, unsigned flags);
/* Takes the next message of the other end, which the caller frees or returns. Returns -1, or the
 * exit status. */
int msg_talk_await(struct msg_talk *t, struct iw_message *got);
/* Sends what is in the buffer of t->tcp and receives the answer into it. Returns -1, or the exit
 * status. */
int msg_talk_by_tcp(struct msg_talk *t, size_t length, size_t most, const uint8_t **answer);
/* Complains that the answer is none. Returns the exit status. */
int msg_talk_wrong(const struct msg_talk *t);
/* Complains that t->tcp has failed with errno, or has ended (0). Returns the exit status. */
int msg_talk_tcp_failed(void);

/* Asks for the processor time of the other end (struct msg_way). Returns -1, or the exit status. */
int msg_talk_cpu(struct msg_talk *t, uint64_t *ns);
/* Asks for it over plain TCP. Returns likewise. */
int msg_talk_cpu_by_tcp(struct msg_talk *t, uint64_t *ns);

#endif
