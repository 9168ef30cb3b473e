/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_SOCKET_RULES_H
#define IW_HOST_SOCKET_RULES_H

/*
 * Rules that make stream sockets iWARP: iwarp-run reads and checks them, the preloaded library gets
 * them in IWARP_SOCKETS. One rule is one line (or ends with ';'); '#' begins a comment:
 *
 *     connect [ADDRESS[/BITS]] PORT[-PORT] [fallback=tcp]
 *     listen [ADDRESS[/BITS]] PORT[-PORT] [mixed] [wait=MS]
 *     port [ADDRESS[/BITS]] PORT[-PORT] [...]      both of them
 *
 * The first rule that fits counts. ADDRESS is numeric, the remote one of a connect and the local
 * one of a listener; without it any fits.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { IW_SOCKET_RULES = 256, IW_SOCKET_RULE_WAIT = 200 };

struct iw_socket_rule {
    bool connects, listens;
    uint16_t first, last; /* ports */
    sa_family_t family;   /* AF_UNSPEC: any address */
    uint8_t address[16];
    unsigned bits; /* that have to be equal */
    bool fallback; /* connect by TCP if iWARP fails */
    bool mixed;    /* take TCP and iWARP on one port */
    unsigned wait; /* ms after which a silent client is TCP's */
};

struct iw_socket_rules {
    struct iw_socket_rule rules[IW_SOCKET_RULES];
    size_t count;
};

/* Adds the rules of a text, whose lines are counted from 1. Returns 0, or -1 with one line
 * "NAME:LINE: what was expected" in `error`; rules before that line stay. */
int iw_socket_rules_add(struct iw_socket_rules *rules, const char *name, const char *text,
                        char *error, size_t room);
/* Returns the rule for a connect to this address, or a listener at it; NULL: plain TCP. */
const struct iw_socket_rule *iw_socket_rules_find(const struct iw_socket_rules *rules, bool listens,
                                                  const struct sockaddr *address);

#endif
