/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_JUDGE_INTERNAL_H
#define IW_JUDGE_INTERNAL_H

#include "judge/judge.h"

#include <jansson.h>
#include <stdio.h>
#include <sys/queue.h>

#include "iwarp/capture.h"
#include "iwarp/observer.h"

/* Where octets are in the capture: the last pieces of a direction. */
enum { IW_JUDGE_PIECES = 64 };
struct iw_judge_piece {
    uint64_t pos, end, frame;
};

/* One direction; arrays of two are indexed by enum iw_side. */
struct iw_judged_side {
    uint64_t octets, messages;
    struct iw_judge_piece pieces[IW_JUDGE_PIECES];
    unsigned next; /* piece to be overwritten */
    struct iw_mpa_startup_header startup;
    struct iw_mpa_enhanced enhanced;
    bool started, ended;
    char address[IW_ENDPOINT_TEXT];
};

struct iw_judged {
    struct iw_judge *judge;
    LIST_ENTRY(iw_judged) entry;
    unsigned number;
    enum iw_side ours;
    int recorded; /* the connection in the capture; -1: none */
    struct iw_observer *observer;
    struct iw_judged_side side[2];
};

struct iw_judge {
    struct iw_tap tap;
    FILE *lines;
    struct iw_synth *capture; /* NULL: nothing is recorded any more */
    uint64_t left;            /* octets that may still be recorded */
    bool cut;                 /* the capture lacks something */
    unsigned connections;
    uint64_t findings, unwritten;
    void *scratch; /* of all observers */
    bool over;
    LIST_HEAD(, iw_judged) open;
};

/* judge_lines.c: each writes one line, and the capture before it. */
void iw_judge_line_process(struct iw_judge *j, const char *capture);
void iw_judge_line_connection(const struct iw_judged *c);
void iw_judge_line_agreed(const struct iw_judged *c);
void iw_judge_line_finding(const struct iw_judged *c, const struct iw_observation *o);
void iw_judge_line_unknown(const struct iw_judged *c, const struct iw_observation *o);
void iw_judge_line_closed(const struct iw_judged *c);
void iw_judge_line_end(struct iw_judge *j);

/* judge_capture.c */
/* Begins to record a connection, whose opener is the Initiator. */
void iw_judge_record_opened(struct iw_judged *c, const struct iw_synth_tcp *tcp);
/* Records octets of a side that go to position `pos`. */
void iw_judge_record_octets(struct iw_judged *c, enum iw_side side, uint64_t pos, const void *data,
                            size_t length);
void iw_judge_record_ended(struct iw_judged *c, enum iw_side side, bool reset);
/* Returns the frame with an octet of a side; 0 if it is not known. */
uint64_t iw_judge_frame(const struct iw_judged *c, enum iw_side side, uint64_t pos);

#endif
