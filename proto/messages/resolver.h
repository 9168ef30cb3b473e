/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_RESOLVER_H
#define IW_MESSAGES_RESOLVER_H

/*
 * Finds where the service with a number is: asks the local net by multicast and broadcast and named
 * hosts by unicast (UDP), and keeps answers for a while. Answers for the services of its own
 * process. All functions may be called by several threads at once, but iw_resolver_close() by one,
 * when no other is inside.
 *
 * What the net can make a resolver spend is bounded: it keeps nothing of a stranger's but an answer
 * to a question of its own, in a table of IW_RESOLVER_KNOWN_MOST numbers with at most
 * IW_RESOLVER_CLAIMANTS answers each; it looks at
 * at most IW_RESOLVER_ANSWERS_MOST datagrams per second, IW_RESOLVER_SOURCE_MOST per source
 * address, and an answer is as long as its question. Its own questions and claims are at most
 * IW_RESOLVER_ASKED_MOST per second; others wait.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    IW_RESOLVER_PORT = 7470,       /* UDP */
    IW_RESOLVER_EXPIRY_MS = 30000, /* an answer is believed for so long */
    IW_RESOLVER_CLAIM_MS = 60,     /* a claimant waits for objections for so long */
    IW_RESOLVER_KNOWN_MOST = 4096,
    IW_RESOLVER_CLAIMANTS = 4,
    IW_RESOLVER_CLAIMS_MOST = 65536,
    IW_RESOLVER_HOSTS_MOST = 64,
    IW_RESOLVER_ANSWERS_MOST = 32768,
    IW_RESOLVER_SOURCE_MOST = 8192,
    IW_RESOLVER_ASKED_MOST = 8192,
    IW_RESOLVER_KEY_LEAST = 16, /* octets */
    IW_RESOLVER_KEY_MOST = 1024
};

struct iw_resolver;

enum iw_resolver_notice {
    IW_RESOLVER_FOUND,     /* the answer to a question has come */
    IW_RESOLVER_CONTESTED, /* two answers name two processes */
    IW_RESOLVER_INTRUDER   /* another process has a number that this one has claimed */
};

struct iw_resolver_config {
    const char *const *hosts; /* asked by unicast: "HOST", "HOST:PORT", "[ADDRESS]:PORT" */
    size_t host_count;
    uint16_t port;         /* 0: IW_RESOLVER_PORT */
    bool multicast;        /* 239.255.74.70; ff12::6977:7273 on interfaces without IPv4 */
    bool broadcast;        /* from the second question on, 20 ms after the first */
    const char *interface; /* NULL: every one that is up, the loopback only if there is no other */
    const void *key;       /* shared; datagrams without its HMAC-SHA-256 are dropped. NULL: none */
    size_t key_length;
    unsigned expiry_ms; /* 0: IW_RESOLVER_EXPIRY_MS */
    int claim_ms;       /* 0: IW_RESOLVER_CLAIM_MS; -1: a claim does not wait, and an objection is
                           an IW_RESOLVER_INTRUDER */
    /* Called by the resolver's thread, which holds no lock then; it must not close the resolver.
     * NULL: nobody is notified. */
    void (*notice)(void *context, uint32_t number, enum iw_resolver_notice what);
    void *context;
};

/* One process that has answered for a number. */
struct iw_resolver_claimant {
    struct sockaddr_storage at;
    uint64_t instance;
};

struct iw_resolver_counts {
    uint64_t asked;     /* questions, each counted once however often and where it was sent */
    uint64_t found;     /* answers that were believed */
    uint64_t contested; /* answers that named another process than one before */
    uint64_t answered;  /* questions of others */
    uint64_t relayed;   /* questions by unicast, passed on to the other processes of this host */
    uint64_t malformed; /* datagrams that are none of this protocol, or of another version */
    uint64_t refused;   /* datagrams with a wrong MAC, or with one where no key is shared */
    uint64_t unasked;   /* answers to no question of ours: late, forged, replayed */
    uint64_t limited;   /* datagrams dropped by a rate limit */
};

/* Begins to resolve: copies the configuration, resolves the names of hosts (which may block), makes
 * a thread and its sockets. The port is bound at the first claim. Returns 0, or -1 with errno and
 * one line in `error` (`room` octets). */
int iw_resolver_open(const struct iw_resolver_config *config, struct iw_resolver **resolver,
                     char *error, size_t room);
/* Ends the thread, and with it every claim. NULL is allowed. */
void iw_resolver_close(struct iw_resolver *r);

/* Claims a number for the service whose rdma_cm listener is at `at` (IPv4 or IPv6, a port that is
 * not 0; an unspecified address stands for that of this host on the asker's side). `instance`
 * distinguishes this process from every other one: random, not 0. Waits claim_ms for objections.
 * Returns 0, or -1 with errno: EADDRINUSE if another process has it and lives, or if this resolver
 * has it; EINVAL, ENOMEM, ENOSPC beyond IW_RESOLVER_CLAIMS_MOST, EBUSY if another program has the
 * port for itself, or what the port's socket() or bind() said. */
int iw_resolver_claim(struct iw_resolver *r, uint32_t number, const struct sockaddr *at,
                      uint64_t instance);
/* The same for many numbers of one service or program: waits once. All or none: *refused (may be
 * NULL) is a number that could not be claimed. */
int iw_resolver_claim_all(struct iw_resolver *r, const uint32_t *numbers, size_t count,
                          const struct sockaddr *at, uint64_t instance, uint32_t *refused);
/* Gives a number up. Returns 0, or -1 with errno ENOENT. */
int iw_resolver_disclaim(struct iw_resolver *r, uint32_t number);
/* Returns true if another process answers for a number that this resolver has claimed, as far as
 * was seen in the last 50 s. */
bool iw_resolver_intruded(struct iw_resolver *r, uint32_t number);

/* Finds where a number is: from the table, else asks and waits up to timeout_ms (-1: for ever).
 * With 0 it never blocks: the question goes on for 2 s, its answer is an IW_RESOLVER_FOUND and in
 * the table. Sets *at and *instance (each may be NULL). Returns 0, or -1 with errno: ETIMEDOUT if
 * nobody has answered, ENOBUFS if too many other questions are open, ECANCELED if the resolver is
 * being closed. */
int iw_resolver_find(struct iw_resolver *r, uint32_t number, int timeout_ms,
                     struct sockaddr_storage *at, uint64_t *instance);
/* Reports that `instance` did not answer where it was found: drops it from the table, so that the
 * next iw_resolver_find() asks again, and prefers any other answer for 200 ms. */
void iw_resolver_forget(struct iw_resolver *r, uint32_t number, uint64_t instance);
/* Asks anew for wait_ms and lists the processes that answer for a number, at most `room`, in the
 * order of their answers. Returns their number, 0 if nobody answers, or -1 with errno as
 * iw_resolver_find(). More than one is a mistake that somebody has to put right. */
int iw_resolver_list(struct iw_resolver *r, uint32_t number, int wait_ms,
                     struct iw_resolver_claimant *list, size_t room);
/* Copies the counts. */
void iw_resolver_count(struct iw_resolver *r, struct iw_resolver_counts *counts);

#endif
