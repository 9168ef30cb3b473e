/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_LINT_H
#define IW_LINT_H

/*
 * iwarp-lint: the observer over a capture. follow.c sorts frames into connections and octets into
 * observers, report.c tells what they see.
 */

#include <stdio.h>

#include "iwarp/capture.h"
#include "iwarp/observer.h"

enum { IW_LINT_CLEAN = 0, IW_LINT_FINDINGS = 1, IW_LINT_UNREADABLE = 2, IW_LINT_BROKEN = 70 };

enum iw_lint_format { IW_LINT_TEXT, IW_LINT_JSON, IW_LINT_SARIF };

struct iw_lint_options {
    const char *path;
    const char *annotate; /* copy the capture there, findings as comments; NULL: do not */
    enum iw_lint_format format;
    bool messages;         /* tell every RDMAP message, too */
    bool summary;          /* tell of every connection at the end */
    bool must;             /* only findings about MUST and MUST NOT count */
    size_t connections;    /* followed at a time */
    uint32_t mss;          /* EMSS of both sides; 0: not known */
    bool default_config;   /* nobody has configured the sides */
    const uint16_t *ports; /* connections to these are iWARP from their first octet on */
    size_t n_ports;
};

/* Octets that all observers together may borrow. */
enum { IW_LINT_LENT = 24 * 1024 * 1024 };

/* Frames whose octets are still remembered, to tell where an octet was. */
enum { IW_LINT_RANGES = 256 };

struct iw_lint_range {
    uint64_t pos, end, frame;
};

/* One direction of a connection; arrays of two are indexed by enum iw_side. */
struct iw_lint_side {
    struct iw_lint_range ranges[IW_LINT_RANGES];
    size_t n_ranges; /* ever; the newest IW_LINT_RANGES are kept */
    struct iw_mpa_startup_header startup;
    struct iw_mpa_enhanced enhanced;
    uint64_t messages[16], octets[16]; /* by opcode */
    uint64_t findings;
    bool started, lost, ended;
};

/* A line to be written beside a frame of the copy. */
struct iw_lint_note {
    uint64_t frame, number; /* number: in the order in which they came */
    char *text;
};

/* So many notes are kept; a comment in the copy says how many more there were. */
enum { IW_LINT_NOTES = 100000 };

struct iw_lint;

struct iw_lint_connection {
    struct iw_lint *lint;
    struct iw_connection *tcp;
    struct iw_lint_connection *next_reset;
    unsigned initiator; /* its direction in *tcp */
    bool was_reset;
    struct iw_observer *observer;
    struct iw_lint_side side[2];
};

struct iw_lint {
    const struct iw_lint_options *options;
    FILE *out;
    uint64_t frame;      /* being read */
    uint64_t findings;   /* that count */
    uint64_t followed;   /* connections, ever */
    size_t open;         /* connections with an observer */
    uint64_t unfollowed; /* iWARP connections for which there was no room */
    struct iw_connections *table;
    void *scratch; /* of all observers */
    size_t lent;   /* octets in their blocks */
    /* Connections that were reset, the oldest first: octets may still have been on their way, so
     * they are followed until their room is wanted. */
    struct iw_lint_connection *reset, **last_reset;
    struct iw_lint_note *notes;
    size_t n_notes;
    uint64_t more_notes; /* that were not kept */
    bool sarif_begun;    /* a result has been written */
};

/* follow.c: the whole file. An exit status. */
int iw_lint_run(const struct iw_lint_options *options, FILE *out);
/* The frame that has an octet of this side; the one being read if that is not remembered. */
uint64_t iw_lint_frame(const struct iw_lint_connection *c, enum iw_side side, uint64_t pos);

/* The side's address and port into `text` (IW_ENDPOINT_TEXT octets); returns it. */
char *iw_lint_address(const struct iw_lint_connection *c, enum iw_side side, char *text);
const char *iw_lint_side_name(enum iw_side side);

/* sarif.c: SARIF 2.1.0. The results are written as they come, the rules at the end. */
void iw_lint_sarif_begin(struct iw_lint *lint);
void iw_lint_sarif_finding(struct iw_lint_connection *c, const struct iw_observation *o);
void iw_lint_sarif_unknown(struct iw_lint_connection *c, enum iw_side side, const char *why);
void iw_lint_sarif_end(struct iw_lint *lint);

/* annotate.c */
/* Keeps a note; without memory it counts as one that was not kept. */
void iw_lint_note(struct iw_lint *lint, uint64_t frame, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reads the capture again and writes the copy. False after having complained. */
bool iw_lint_annotate(struct iw_lint *lint);
void iw_lint_free_notes(struct iw_lint *lint);

/* report.c */
void iw_lint_finding(struct iw_lint_connection *c, const struct iw_observation *o);
void iw_lint_message(const struct iw_lint_connection *c, const struct iw_observation *o);
/* Judging this side ends here: `why`. */
void iw_lint_end(struct iw_lint_connection *c, enum iw_side side, const char *why);
void iw_lint_summary(const struct iw_lint_connection *c);
void iw_lint_total(const struct iw_lint *lint, const struct iw_capture_counts *n);

#endif
