/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RANGE_H
#define IW_RANGE_H

/*
 * The practice range: a small iWARP responder (or initiator) with bugs that can be switched on one
 * by one. It shares no code with libiwarp, not even the CRC, so that what breaks here breaks
 * nowhere else. Everything lies on the heap, in blocks of the exact size, for AddressSanitizer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- bugs (range_bugs.c) ---- */

enum range_bug {
    RANGE_BUG_NONE,
    RANGE_BUG_PRIVATE_HEAP,
    RANGE_BUG_REVISION_ASSERT,
    RANGE_BUG_IRD_DIVIDE,
    RANGE_BUG_REPLY_STACK,
    RANGE_BUG_LENGTH_HANG,
    RANGE_BUG_FIN_NEGATIVE,
    RANGE_BUG_MARKER_ROOM,
    RANGE_BUG_SHORT_HEADER,
    RANGE_BUG_OPCODE_INDEX,
    RANGE_BUG_QN_INDEX,
    RANGE_BUG_MSN_LOOP,
    RANGE_BUG_MO_WRAP,
    RANGE_BUG_FREE_TWICE,
    RANGE_BUG_COMPLETE_TWICE,
    RANGE_BUG_MESSAGE_LEAK,
    RANGE_BUG_THREE_IN_ORDER,
    RANGE_BUG_IMMEDIATE_STACK,
    RANGE_BUG_TERMINATE_COPY,
    RANGE_BUG_RESPONSE_NULL,
    RANGE_BUG_WRITE_BEYOND,
    RANGE_BUG_USE_INVALIDATED,
    RANGE_BUG_TWO_CONNECTIONS,
    RANGE_BUG_READ_WRAP,
    RANGE_BUG_GATHER_STACK,
    RANGE_BUG_ATOMIC_ALIGN,
    RANGE_BUG_COUNT
};

struct range_bug_info {
    const char *name;     /* of the option's help */
    const char *function; /* that a sanitizer's report names */
    const char *text;     /* what provokes it */
};

/* Returns what is known of a bug; RANGE_BUG_NONE has none: NULL. */
const struct range_bug_info *range_bug_info(enum range_bug bug);
/* Returns whether the bug is switched on. */
bool range_bug(enum range_bug bug);
/* Switches on the bugs of a list of numbers ("3,7"; "0" or "": none). Returns whether it was one.
 */
bool range_bugs_set(const char *list);

/* Has every `n`th connection end the process at its first octets (0: none). */
void range_crash_every(unsigned long n);
/* Counts a connection whose first octets have come; may end the process. */
void range_count_connection(void);

/* ---- sizes ---- */

enum {
    RANGE_CONNS = 64,         /* at once; more wait in the kernel */
    RANGE_RECEIVES = 8,       /* receives posted on queue 0, posted again after each Send */
    RANGE_RECEIVE = 4096,     /* octets of a receive */
    RANGE_REGIONS = 4,        /* of each connection */
    RANGE_STAG = 0x1f5a0000,  /* of the first region: what iwarp-fuzz puts in place of a name */
    RANGE_IRD = 16,           /* outstanding Reads that are offered */
    RANGE_PRIVATE = 512,      /* most private data, RFC 5044 §7.1.1 */
    RANGE_STARTUP = 20,       /* octets of a start-up frame without private data */
    RANGE_ULPDU = 64768,      /* longest ULPDU, RFC 5044 §3 */
    RANGE_BACKLOG = 1 << 18,  /* octets that wait to be sent; above it nothing more is read */
    RANGE_CHUNK = 1 << 16,    /* octets read at once */
    RANGE_DRAIN = 1 << 18,    /* octets read and dropped after our last one */
    RANGE_DRAIN_MS = 2000,    /* and for how long */
    RANGE_STARTUP_MS = 10000, /* that the peer may take for its start-up frame */
};

/* The TO of the first octet of a region. */
#define RANGE_TO(k) ((uint64_t)(k) << 20)

/* ---- a connection ---- */

enum range_state { RANGE_STARTUP_WAIT, RANGE_FULL, RANGE_DRAINING, RANGE_GONE };

struct range_receive {
    uint8_t *data;   /* RANGE_RECEIVE octets, owned */
    uint32_t length; /* of the message so far */
};

struct range_region {
    uint32_t stag;
    bool valid, writable, freed; /* freed: by RANGE_BUG_USE_INVALIDATED */
    size_t length;
    uint8_t *data; /* owned */
};

/* A Send under way on queue 0. */
struct range_message {
    uint32_t invalidate;
    uint8_t opcode;
    struct range_receive *receive;
};

struct range_conn {
    int fd;
    enum range_state state;
    bool initiator, crc, markers, first; /* first: no FPDU has come yet */
    bool fin, shut;                      /* the peer's end has come; ours is sent */
    uint8_t rtr;                         /* forms of which the first FPDU must be one; 0: none */
    uint64_t deadline;                   /* of start-up or draining, ms */
    size_t drained;
    uint8_t *in; /* owned */
    size_t in_length;
    uint8_t *out; /* owned */
    size_t out_length, out_room;
    uint64_t out_position; /* of the next octet in Full Operation, for Markers */
    size_t mulpdu;
    uint32_t send_msn, request_msn, atomic_msn; /* expected, expected, to be sent */
    struct range_receive *receives[RANGE_RECEIVES];
    unsigned next_receive;
    struct range_message *message; /* owned; NULL: none under way */
    struct range_region regions[RANGE_REGIONS];
    uint8_t *private, *terminate, *kept; /* owned; kept: see range_keep_send() */
    unsigned order; /* steps of the pattern that RANGE_BUG_THREE_IN_ORDER wants */
    uint32_t *opcode_counts, *queue_counts;
    uint32_t *gaps; /* of MSNs */
};

/* A segment, as it came. */
struct range_segment {
    const uint8_t *ulpdu;
    size_t length, header; /* of the ULPDU, of the DDP header */
    uint8_t control, opcode;
    bool tagged, last;
    uint32_t stag, qn, msn, mo, invalidate;
    uint64_t to;
    const uint8_t *payload;
    size_t payload_length;
};

/* ---- octets ---- */

/* Return the number at `p`, in network byte order. range_put16 and the others write it. */
uint32_t range_get16(const uint8_t *p);
uint32_t range_get32(const uint8_t *p);
uint64_t range_get64(const uint8_t *p);
void range_put16(uint8_t *p, unsigned value);
void range_put32(uint8_t *p, uint32_t value);
void range_put64(uint8_t *p, uint64_t value);
/* Returns the CRC32c of the octets, as the CRC field's octets read in little-endian order. */
uint32_t range_crc(const uint8_t *p, size_t length);

/* ---- range_conn.c ---- */

/* Returns a connection over the socket `fd`, whose start-up is to be over RANGE_STARTUP_MS after
 * `now`. */
struct range_conn *range_conn_new(int fd, bool initiator, uint64_t now);
void range_conn_free(struct range_conn *c);
/* Takes octets, or the end of them (length 0). */
void range_conn_take(struct range_conn *c, const uint8_t *octets, size_t length, uint64_t now);
/* Goes on with what has come, after octets were sent. */
void range_conn_resume(struct range_conn *c, uint64_t now);
/* Returns whether more octets can be taken. */
bool range_conn_reads(const struct range_conn *c);
/* Queues octets as they are. */
void range_conn_queue(struct range_conn *c, const uint8_t *octets, size_t length);
/* Says nothing more: what is queued still goes out, what comes is dropped. */
void range_conn_finish(struct range_conn *c, uint64_t now);

/* ---- range_startup.c ---- */

/* Queues the Request of an initiator. */
void range_startup_request(struct range_conn *c);
/* Looks at the start-up frame in c->in. Returns how many octets it took (0: more must come), or -1
 * if the connection cannot go on. */
int range_startup_take(struct range_conn *c);

/* ---- range_fpdu.c ---- */

/* Takes the whole FPDUs in c->in. Returns how many octets they have. */
size_t range_fpdu_take(struct range_conn *c, uint64_t now);
/* Queues an FPDU with this ULPDU, with Markers where they are due. */
void range_fpdu_queue(struct range_conn *c, const uint8_t *ulpdu, size_t length);
/* Notes that the stream ended with this many octets of an FPDU. */
void range_fpdu_cut(struct range_conn *c, size_t left);

/* ---- range_segment.c ---- */

/* An error that ends the stream: the Terminate's layer, type and code. */
struct range_error {
    uint8_t layer, type, code;
    bool request; /* the segment is a Read Request whose header goes into the Terminate */
};

/* Takes one segment. Returns whether the stream goes on; if not, a Terminate is queued. */
bool range_segment_take(struct range_conn *c, const uint8_t *ulpdu, size_t length);
/* Queues a Terminate about a segment; NULL: about none. */
void range_terminate(struct range_conn *c, const struct range_segment *s,
                     const struct range_error *error);

/* ---- range_untagged.c, range_tagged.c ---- */

/* Carries out a segment whose DDP header is good. Returns whether it was right; if not, *error says
 * what was wrong. *over: the peer sent a Terminate. */
bool range_untagged_take(struct range_conn *c, const struct range_segment *s,
                         struct range_error *error, bool *over);
bool range_tagged_take(struct range_conn *c, const struct range_segment *s,
                       struct range_error *error);

/* ---- range_read.c ---- */

/* Answers a Read Request or an Atomic Request. Returns as range_untagged_take(). */
bool range_read_take(struct range_conn *c, const struct range_segment *s,
                     struct range_error *error);
bool range_atomic_take(struct range_conn *c, const struct range_segment *s,
                       struct range_error *error);

/* ---- range_memory.c ---- */

/* Returns the region with this STag that is valid, or NULL. */
struct range_region *range_region_find(struct range_conn *c, uint32_t stag);
/* Returns whether [to, to + length) lies in the region. */
bool range_region_holds(const struct range_conn *c, const struct range_region *r, uint64_t to,
                        uint64_t length);
/* Returns where in the region's octets a TO lies. */
size_t range_region_offset(const struct range_conn *c, const struct range_region *r, uint64_t to);
void range_region_invalidate(struct range_region *r);

/* ---- range_loop.c ---- */

/* Serves connections at a port of the loopback until a signal ends it. Returns the exit status. */
int range_listen(uint16_t port);
/* Connects, once. Returns the exit status. */
int range_connect(const char *host, uint16_t port);

#endif
