/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_LINT_H
#define IW_LINT_H

/*
 * iwarp-lint: runs the observer over a capture. lint_follow.c sorts frames into connections and
 * octets into observers, lint_opening.c keeps those that come before it is known which,
 * lint_seen.c takes what they see, lint_frames.c knows which frame an octet was in,
 * lint_report.c prints what is seen, lint_order.c puts that in order, summary.c sums it up at
 * the end, lint_reads.c times Reads, extract.c collects the octets placed in a buffer,
 * captures.c runs all of that over each of several captures.
 */

#include <jansson.h>
#include <stdio.h>

#include "iwarp/rules.h"

#include "iwarp/capture.h"
#include "iwarp/observer.h"

/* Exit statuses, beside IW_EXIT_USAGE and IW_EXIT_TESTER. */
enum { IW_LINT_CLEAN = 0, IW_LINT_FINDINGS = 1, IW_LINT_UNREADABLE = 2 };

enum iw_lint_format { IW_LINT_TEXT, IW_LINT_SARIF, IW_LINT_JSON };

enum { IW_LINT_PORTS = 64 };

struct iw_lint_options {
    const char *path;     /* of the capture, or the interface */
    bool several;         /* it is one of several captures */
    const char *filter;   /* BPF, may be NULL */
    const char *annotate; /* copy the capture there, findings as comments; NULL: do not */
    const char *into;     /* NULL: nothing is extracted; else the file for what was placed */
    int64_t stag;         /* under this STag; -1: none */
    int64_t connection;   /* of this connection; -1: the only one */
    int owner;            /* whose buffer it is, an enum iw_side; -1: the only one */
    enum iw_lint_format format;
    const char *json_lines;        /* JSON lines go there at once, too; NULL: nowhere */
    bool require;                  /* without an iWARP connection there is nothing to judge */
    const char *live;              /* the interface; NULL: a file */
    bool messages;                 /* print every RDMAP message, too */
    bool summary;                  /* summarise every connection at the end */
    bool must;                     /* only findings about MUST and MUST NOT count */
    size_t connections;            /* followed at a time */
    uint32_t mss;                  /* EMSS of both sides; 0: not known */
    bool no_quirks;                /* everything is read as it is */
    bool default_config;           /* nobody has configured the sides */
    bool intact;                   /* octets are as their sender sent them */
    uint16_t ports[IW_LINT_PORTS]; /* connections to these are iWARP from their first octet on */
    size_t n_ports;
};

/* Octets that all observers together may borrow. */
enum { IW_LINT_LENT = 12 * 1024 * 1024 };

/* Octets that a frame brought. */
struct iw_lint_range {
    uint64_t pos, end, frame;
};

/* The frames whose octets have not been judged yet, the oldest first: most often one. */
enum { IW_LINT_FEW_RANGES = 4 };
struct iw_lint_ranges {
    struct iw_lint_range few[IW_LINT_FEW_RANGES];
    struct iw_lint_range *all; /* the few, or others instead of them */
    uint32_t room, count;
};

/* Messages that have come in part: one of each untagged queue, a Write, a Read Response. */
enum { IW_LINT_BEGUN = 6 };

struct iw_lint_begun {
    bool open;
    uint64_t pos, frame; /* of its first octet */
};

/* Messages of one kind. */
struct iw_lint_count {
    uint64_t messages, octets;
    uint32_t least, most; /* octets of one */
};

/* One direction of a connection; arrays of two are indexed by enum iw_side. */
struct iw_lint_side {
    struct iw_lint_ranges ranges;
    struct iw_lint_begun begun[IW_LINT_BEGUN];
    struct iw_mpa_startup_header startup;
    struct iw_mpa_enhanced enhanced;
    struct iw_lint_count count[16]; /* by opcode */
    struct iw_lint_reads *reads;    /* asked for by this side; NULL: none */
    uint64_t findings;
    uint64_t gaps, missing; /* octets that the capture does not have */
    uint64_t base;          /* octets of streaming mode before the start-up frame */
    bool started, lost, ended;
    bool unread; /* octets came before the connection was recognised, and were not kept */
};

/* A line to be written beside a frame of the copy. */
struct iw_lint_note {
    uint64_t frame, number; /* number: in the order in which they came */
    char *text;
};

/* The limit of notes; a comment in the copy says how many more there were. */
enum { IW_LINT_NOTES = 100000 };

struct iw_lint_connection {
    struct iw_lint *lint;
    struct iw_capture_connection *tcp;
    unsigned initiator; /* its direction in *tcp */
    struct iw_observer *observer;
    struct iw_lint_side side[2];
};

/* What a SARIF document has so far. */
struct iw_lint_sarif {
    bool begun, result /* one has been written */;
    size_t n_rules;                   /* that occurred */
    uint16_t rules[IW_RULE_COUNT];    /* their numbers, in the order in which they occurred */
    uint16_t places[IW_RULE_COUNT];   /* by number: the place in `rules` plus 1; 0: did not occur */
    bool unjudged;                    /* a side could not be judged to its end */
    uint32_t seen[IW_CHECK_COUNT][2]; /* results of this capture, by check and side */
};

struct iw_lint {
    const struct iw_lint_options *options;
    FILE *json_lines; /* NULL: none */
    FILE *out;        /* takes the line being made: lint_order.c */
    FILE *to;         /* where lines go */
    uint64_t frame;   /* being read */
    uint64_t read;    /* frames, ever */
    uint64_t time;    /* its time, ns */
    uint64_t acked;   /* after the last octet of the other direction that a frame acknowledged */
    uint64_t acked_frame; /* that frame */
    uint64_t findings;    /* that count */
    uint64_t followed;    /* connections, ever */
    size_t open;          /* connections with an observer */
    uint64_t unfollowed;  /* iWARP connections for which there was no memory */
    uint64_t early;       /* closed to make room for others */
    struct iw_capture_connections *table;
    struct iw_lint_extract *extract;   /* NULL: nothing is extracted */
    struct iw_lint_openings *openings; /* NULL: none yet */
    void *scratch;                     /* of all observers */
    size_t lent;                       /* octets in their blocks */
    struct iw_lint_note *notes;        /* NULL: the capture is not copied */
    size_t n_notes;
    uint64_t more_notes; /* that were not kept */
    struct iw_lint_sarif *sarif;
    char *line; /* what `out` has taken */
    size_t line_length;
    struct iw_lint_line *lines;          /* that wait, by frame */
    size_t n_lines, lines_room, waiting; /* waiting: octets */
    uint64_t settled;                    /* frames read when all connections were last looked at */
};

/* captures.c: judges these captures, or the interface. A path that is no file is a pattern of
 * files. Returns an exit status. */
int iw_lint_captures(struct iw_lint_options *options, char *const *paths, size_t count, FILE *out);
/* Returns the graver of two exit statuses. */
int iw_lint_graver(int a, int b);

/* lint_follow.c: checks the whole file of options->path. `sarif` and `json_lines` may be NULL; they
 * are shared by all captures. Returns an exit status. */
int iw_lint_run(const struct iw_lint_options *options, FILE *out, FILE *json_lines,
                struct iw_lint_sarif *sarif);
/* Returns true if a signal has ended the work; if it was SIGINT, the status is
 * IW_EXIT_INTERRUPTED. */
bool iw_lint_stopped(void);

/* lint_seen.c: the call-backs of observers; `context` is a connection. iw_lint_lend returns a
 * block, or NULL without memory. */
void iw_lint_seen(void *context, const struct iw_observation *o);
void *iw_lint_lend(void *context, size_t size);
void iw_lint_give_back(void *context, void *block, size_t size);

/* lint_opening.c: octets of a connection that is not followed, from the first one of a direction
 * on. At most 64 beginnings of at most a start-up frame are kept at a time. */
/* Returns what is known of the key with this segment and what was kept before it, written to `key`,
 * as a segment at position 0, which is empty while that is not enough to know whose it is; the
 * segment as it is if nothing was kept. */
struct iw_segment iw_lint_opening_join(const struct iw_lint *lint, const struct iw_segment *s,
                                       uint8_t key[IW_MPA_KEY_LENGTH]);
/* Keeps the octets of a segment that may belong to a start-up frame. */
void iw_lint_opening_keep(struct iw_lint *lint, const struct iw_segment *s);
/* Hands on what was kept of the direction of `s`, in the order of the frames that brought it. */
void iw_lint_opening_give(struct iw_lint *lint, struct iw_lint_connection *c,
                          const struct iw_segment *s, enum iw_side side);

/* lint_frames.c */
void iw_lint_no_ranges(struct iw_lint_ranges *r);
void iw_lint_free_ranges(struct iw_lint_ranges *r);
/* The frame being read brings octets; of too many, the oldest are forgotten. */
void iw_lint_remember(struct iw_lint_connection *c, enum iw_side side, uint64_t pos, uint64_t end);
/* Forgets ranges before `pos`, which have been judged. */
void iw_lint_forget(struct iw_lint_ranges *r, uint64_t pos);
/* Remembers the frame with a message's first octet for the report, which may come much later. */
void iw_lint_begin_message(struct iw_lint_connection *c, const struct iw_observation *o);
/* Forgets it; those of all messages. */
void iw_lint_end_message(struct iw_lint_side *s, const struct iw_observation *o);
void iw_lint_end_messages(struct iw_lint_side *s);
/* Returns the frame that has an octet of this side; the one being read if that is not remembered.
 */
uint64_t iw_lint_frame(const struct iw_lint_connection *c, enum iw_side side, uint64_t pos);

/* lint_order.c: lines in the order of their frames. */
/* Sets lint->to and lint->out; iw_lint_lines_free() closes the latter and frees all. */
void iw_lint_lines_begin(struct iw_lint *lint, FILE *to);
/* Takes what was written into lint->out, nothing or whole lines, as belonging to this frame. */
void iw_lint_line(struct iw_lint *lint, uint64_t frame);
/* Writes what need not wait any more; to be called after some frames. */
void iw_lint_lines_settle(struct iw_lint *lint);
/* Writes all that waits. */
void iw_lint_lines_end(struct iw_lint *lint);
void iw_lint_lines_free(struct iw_lint *lint);

/* sarif.c: SARIF 2.1.0. The results are written as they come, the rules at the end. */
/* Begins the document if that was not done, and a capture. */
void iw_lint_sarif_begin(struct iw_lint_sarif *s, FILE *to);
/* `where`: the octet and its value. */
void iw_lint_sarif_finding(struct iw_lint_connection *c, const struct iw_observation *o,
                           const char *where);
void iw_lint_sarif_unknown(struct iw_lint_connection *c, enum iw_side side, const char *why);
void iw_lint_sarif_end(const struct iw_lint_sarif *s, FILE *to);

/* annotate.c */
/* Keeps a note, if the capture is to be copied; without memory it counts as one that was not kept.
 */
void iw_lint_note(struct iw_lint *lint, uint64_t frame, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reads the capture again and writes the copy. Returns false after printing an error. */
bool iw_lint_annotate(struct iw_lint *lint);
void iw_lint_free_notes(struct iw_lint *lint);

/* lint_report.c */
/* Writes the side's address and port into `text` (IW_ENDPOINT_TEXT octets). Returns `text`. */
char *iw_lint_address(const struct iw_lint_connection *c, enum iw_side side, char *text);
/* Writes "0x2a" into `text`: 64 bits do not fit into every reader's numbers. Returns `text`. */
enum { IW_LINT_HEX = 24 };
char *iw_lint_hex(char text[IW_LINT_HEX], uint64_t value);
/* Writes the object as one line, where the format is JSON and where JSON lines go, and drops it;
 * writes nothing for NULL. */
void iw_lint_put_json(const struct iw_lint *lint, json_t *object);
/* Returns true if the object of a line is to be made for it. */
bool iw_lint_wants_json(const struct iw_lint *lint);
void iw_lint_finding(struct iw_lint_connection *c, const struct iw_observation *o);
/* Reports IW_OBSERVED_STARTUP, _MESSAGE, _FIN or _RESET. */
void iw_lint_message(const struct iw_lint_connection *c, const struct iw_observation *o);
/* Reports IW_OBSERVED_LOST, _GAP or _RESYNC. */
void iw_lint_break(struct iw_lint_connection *c, const struct iw_observation *o);

/* summary.c */
void iw_lint_summary(const struct iw_lint_connection *c);
void iw_lint_total(const struct iw_lint *lint, const struct iw_capture_counts *n);

/* lint_reads.c: Reads and atomics of one side. Those that do not fit into memory are not timed. */
struct iw_lint_times {
    uint64_t answered;
    uint64_t p50, p90, p99, most; /* ns, within a sixteenth but the last; 0 if none was answered */
    uint32_t outstanding;         /* most at a time */
};
void iw_lint_asked(struct iw_lint_side *s, uint64_t time, const struct iw_observation *o);
void iw_lint_answered(struct iw_lint_side *s, uint64_t time, const struct iw_observation *o);
/* Forgets outstanding requests: octets are missing, so they are not known any more. */
void iw_lint_forget_reads(struct iw_lint_side *s);
/* Returns the times of the requests answered so far. */
struct iw_lint_times iw_lint_times(const struct iw_lint_side *s);
void iw_lint_free_reads(struct iw_lint_side *s);

/* extract.c */
/* Sets lint->extract. Returns false after printing an error. */
bool iw_lint_extract_begin(struct iw_lint *lint);
/* Takes a tagged segment whose octets are good. */
void iw_lint_extract_segment(struct iw_lint_extract *e, const struct iw_lint_connection *c,
                             const struct iw_observation *o);
/* Writes the file and reports. Returns an exit status; 0 if all went well. */
int iw_lint_extract_end(struct iw_lint *lint);

#endif
