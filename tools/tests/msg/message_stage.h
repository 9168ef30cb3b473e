/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_MESSAGE_STAGE_H
#define IW_TESTS_MESSAGE_STAGE_H

/*
 * Doubles of libiwarp-messages and its resolver for tests of iwarp-msg: they send nothing, keep
 * what they are asked for, and give what a test has put there. Signals are the test's, too.
 */

#include "iwarp/messages.h"
#include "messages/resolver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STAGE_MOST = 400, STAGE_FINDS = 1200, STAGE_BUFFERS = 300, STAGE_FOREVER = 1000000 };

struct stage_sent {
    uint32_t to;
    unsigned flags;
    uint64_t tag;
    uint8_t *octets;
    size_t length;
};

struct stage_claimant {
    uint32_t number;
    uint16_t port; /* at 192.0.2.1 */
    uint64_t instance;
};

struct stage_question {
    uint32_t number;
    int timeout;
};

struct stage {
    /* The end. */
    int open_errno, service_errno; /* 0: it opens */
    unsigned opened, closed;
    struct iw_messages_config config;
    struct iw_messages_place places[4];
    struct iw_messages_resolver resolver;
    bool has_resolver;
    struct sockaddr_storage listen;
    uint32_t service;
    /* Buffers: those that were got or received, and not freed, returned or given. */
    unsigned buffers;
    void *list[STAGE_BUFFERS];
    unsigned left; /* those that went with the end */
    unsigned gets, gets_left, freed, returned;
    size_t got_length; /* of the last one */
    /* Messages. */
    struct stage_sent sent[STAGE_MOST];
    unsigned sent_count, sends_left; /* then send_errno */
    int send_errno;
    void (*on_send)(const struct stage_sent *sent);
    struct iw_message to_come[STAGE_MOST];
    unsigned come, to_come_count;
    int receive_errno; /* when nothing is to come; 0: ETIMEDOUT */
    unsigned idle;     /* so often nothing came */
    unsigned idle_most;
    int signal; /* what ends the program after that, or at once if the test sets `ended` */
    int ended;
    int timeouts[STAGE_MOST]; /* of each receive */
    unsigned receives;
    unsigned catches_interrupt, catches_end;
    /* The resolver. */
    struct iw_resolver_config asked;
    uint8_t key[IW_RESOLVER_KEY_MOST];
    int resolver_errno;
    unsigned resolver_opened, resolver_closed;
    struct stage_claimant claimants[8]; /* who answers */
    unsigned claimant_count;
    int find_errno; /* instead of ETIMEDOUT */
    struct stage_question finds[STAGE_FINDS], lists[8];
    unsigned find_count, list_count;
    void (*on_find)(const struct stage_question *question);
    uint32_t claimed[8], claim_refused;
    size_t claimed_count;
    int claim_errno;
    struct sockaddr_storage claimed_at;
    uint64_t claimed_by;
};

extern struct stage stage;

/* Set up and tear down a test; the second fails if an end is left open. */
int stage_begin(void **state);
int stage_end(void **state);

/* What is received next: a message, a report. */
void stage_message(uint32_t number, const void *octets, size_t length);
void stage_report(enum iw_messages_kind kind, uint32_t number, uint64_t tag, int error);

/* Checks a message that was sent, from 0. */
void stage_check_sent(unsigned i, uint32_t to, unsigned flags, uint64_t tag, const void *octets,
                      size_t length);

#endif
