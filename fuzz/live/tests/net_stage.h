/* SPDX-License-Identifier: BSD-3-Clause */
/* A loop whose network, clock and peer are functions of the test; all that is asked of them is
 * noted in one text. */
#ifndef LIVE_TESTS_NET_STAGE_H
#define LIVE_TESTS_NET_STAGE_H

#include "live_support.h"

#include <sys/epoll.h>

#include "slot.h"

#define REQUEST "a4d504120494420526571204672616d654001000401020304"
#define REPLY "MPA ID Rep Frame\x40\x01\0\0"
#define SEND "a00124143000000000000000000000001000000000587be8c4"

extern struct iw_hunt_world world;
extern struct iw_hunt_loop *loop;

extern struct net {
    uint64_t now;
    char noted[4096];
    struct iw_target target;
    int sockets, window; /* window: octets that one send takes at most; -ERRNO */
    int bad_connect;     /* errno of each; 0: it is there at once */
    bool bad_socket, called, ready;
    const char *heard; /* what comes next; NULL: zeros */
    int heard_length;  /* -ERRNO: nothing */
    int heard_most;
    struct epoll_event events[4]; /* of the next step */
    int n_events;
    const char *not_called_why;
} net;

/* A test's set-up and teardown; the former begins as an initiator. */
int net_begin(void **state);
int net_end(void **state);
void net_begin_as(enum iw_side side);
void net_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Asks for all that has been noted, which is then forgotten. */
void net_does(const char *expected);
bool net_starts(const char *steps, uint64_t number);
/* Something happens on connection `slot`, or octets come on it; the loop takes a step. */
void net_happens(int slot, uint32_t what);
void net_hears(int slot, const char *octets, int length);

#endif
