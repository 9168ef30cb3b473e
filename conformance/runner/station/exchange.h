/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_EXCHANGE_H
#define IW_RUNNER_EXCHANGE_H

/*
 * The log of what one case exchanged with the peer, over all its connections, and its way into a
 * capture: Ethernet, IP and TCP headers are made up around the station's own octets, unless the
 * packets of a crafted connection are known. Without memory the program ends (host/text.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "craft.h"

/* Octets that one log takes before it says that it is full; each write or read, and each frame,
 * counts for IW_EXCHANGE_COST more, which its packet takes. */
#define IW_EXCHANGE_MAX (16u * 1024u * 1024u)
#define IW_EXCHANGE_COST 128u

struct iw_exchange;

/* Returns an empty log. Free it with iw_exchange_destroy. */
struct iw_exchange *iw_exchange_create(void);
void iw_exchange_destroy(struct iw_exchange *x);

/* A TCP connection; `station_connects` says who sent the SYN: side 0 of `tcp`, which is copied.
 * Returns its number for the calls below. Times are CLOCK_MONOTONIC in ns. */
int iw_exchange_open(struct iw_exchange *x, bool station_connects, const struct iw_synth_tcp *tcp,
                     uint64_t now);
/* Adds octets, in the order of their direction, as one write or read. Returns false if the log is
 * full: nothing was added then. */
bool iw_exchange_data(struct iw_exchange *x, int connection, bool from_peer, const void *octets,
                      size_t length, uint64_t now);
/* Adds an IP packet as it came or went. The capture of a connection that has one shows its packets
 * only. Returns as iw_exchange_data. */
bool iw_exchange_packet(struct iw_exchange *x, int connection, const struct iw_craft_packet *p,
                        uint64_t now);
/* The end of one direction: FIN, or RST. */
void iw_exchange_end(struct iw_exchange *x, int connection, bool from_peer, bool reset,
                     uint64_t now);
/* A frame ends at stream position `position` of this direction: octets that were read together
 * become packets of their own. */
void iw_exchange_cut(struct iw_exchange *x, int connection, bool from_peer, uint64_t position);
/* A comment on the packet that holds the octet at `position` (or on the FIN or RST there). */
void iw_exchange_comment(struct iw_exchange *x, int connection, bool from_peer, uint64_t position,
                         const char *text);

/* One thing that was said, as a reader of the exchange sees it. */
enum iw_line_kind { IW_LINE_STARTUP, IW_LINE_FPDU, IW_LINE_OCTETS, IW_LINE_END };

struct iw_exchange_line {
    struct iw_exchange_line *next;
    enum iw_line_kind kind;
    int connection;
    bool from_peer;
    bool markers;           /* FPDU: Markers are in force in this direction */
    uint64_t start;         /* FPDU: position of the first octet of full operation */
    uint64_t position, end; /* octets of the direction */
    uint64_t time;          /* ns since the exchange was created */
    char text[];            /* one-line syntax */
};

/* Lines that one log keeps. */
enum { IW_EXCHANGE_LINES = 500 };

/* Adds a line: `line` is copied but for next, time and text. After IW_EXCHANGE_LINES it is left
 * out. */
void iw_exchange_tell(struct iw_exchange *x, const struct iw_exchange_line *line, const char *text,
                      uint64_t now);
/* Returns whether the peer sent an octet, a FIN or a RST. */
bool iw_exchange_heard(const struct iw_exchange *x);
/* Returns the lines in order of happening. The log owns them. */
const struct iw_exchange_line *iw_exchange_lines(const struct iw_exchange *x);
/* Hands over what a connection exchanged, in order of happening: octets, or with `length` 0 the end
 * of a direction (FIN, or RST). */
void iw_exchange_relate(const struct iw_exchange *x, int connection,
                        void (*take)(void *context, bool from_peer, uint64_t position,
                                     const uint8_t *octets, size_t length, bool reset),
                        void *context);

/* Up to `room` octets of one direction from `position` on, as far as they were exchanged. Returns
 * their number. */
size_t iw_exchange_read(const struct iw_exchange *x, int connection, bool from_peer,
                        uint64_t position, uint8_t *out, size_t room);

struct iw_exchange_remark {
    struct iw_exchange_remark *next;
    int connection;
    bool from_peer;
    uint64_t position;
    uint64_t frame; /* of the capture, from 1, once it was saved; 0: in none */
    char *text;
};

/* Returns the next comment after `after` (NULL: the first) on this line; NULL if there is none. */
struct iw_exchange_remark *iw_exchange_remark(const struct iw_exchange *x,
                                              const struct iw_exchange_line *line,
                                              const struct iw_exchange_remark *after);

/* Writes a pcapng with `title` as the comment of its section. Returns 0, or -1 with one line in
 * `error`. */
int iw_exchange_save(struct iw_exchange *x, const char *path, const char *title, char *error,
                     size_t room);

/* Returns the number of frames of the capture that was saved last. */
uint64_t iw_exchange_frames(const struct iw_exchange *x);
/* Returns its frame with the comment at this octet; 0 if there is none. */
uint64_t iw_exchange_frame(const struct iw_exchange *x, int connection, bool from_peer,
                           uint64_t position);

#endif
