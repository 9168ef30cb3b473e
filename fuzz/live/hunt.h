/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_H
#define IW_HUNT_H

/* iwarp-fuzz: what its parts share. */

#include "board.h"
#include "host/complain.h"
#include "iwarp/transport.h"
#include "live_loop.h"
#include "live_mutate.h"
#include "recent.h"
#include "seeds.h"
#include "target/mishap.h"

enum {
    IW_HUNT_ROW = 64,      /* suspects tried together, at most, one after the other */
    IW_HUNT_LOOK = 4096,   /* sequences between two looks at the peer ... */
    IW_HUNT_GLANCE = 32,   /* ... and at its memory alone: few can have changed that */
    IW_HUNT_CORPUS = 4096, /* sequences that are kept */
    IW_HUNT_PATTERN = 64,
    IW_HUNT_PATIENCE_MS = 500, /* of what is tried, at most */
    IW_HUNT_TRIES = 600,       /* runs to minimise one finding, at most */
    IW_HUNT_OFTEN = 3,         /* times that an unexplained event is looked into */
    IW_HUNT_PENDING = 8,       /* events that are looked into, or wait for that, at most */
    IW_HUNT_ASIDE = 8          /* other causes that the search for one meets, at most */
};

struct iw_hunt_options {
    const char *target, *agent, *results, *json, *graph, *suppress;
    char **seeds; /* paths of captures */
    size_t n_seeds;
    double time;    /* seconds; 0: no limit */
    uint64_t count; /* sequences; 0: no limit */
    uint64_t seed;
    double rate; /* sequences a second; 0: no limit */
    unsigned jobs;
    unsigned findings; /* ends the hunt; 0: no limit */
    unsigned targets;  /* at a time */
    double minimise;   /* seconds for each finding */
    double time_scale;
    bool hazards, blind, coverage, resume;
    const char *try;  /* inside: a file with sequences to be tried once */
    char **arguments; /* all of these as they were given */
    int n_arguments;
};

enum iw_hunt_kind {
    IW_HUNT_NOTHING,
    IW_HUNT_CRASH,   /* the peer's process ended */
    IW_HUNT_HANG,    /* a connection, but no answer to a right Request */
    IW_HUNT_STRAY,   /* memory has changed that nobody may write to */
    IW_HUNT_RULE,    /* the observer found a MUST broken */
    IW_HUNT_REFUSAL, /* no connection */
    IW_HUNT_REPORT,  /* a sanitizer reported what did not end the peer, or what it saw at its end */
    IW_HUNT_KINDS
};

/* What happened to the peer; `text` is one line for people. */
struct iw_hunt_event {
    enum iw_hunt_kind kind;
    enum iw_check check; /* RULE */
    char text[640];
    char cause[IW_HUNT_CAUSE]; /* as the peer's own report names it; "": there is none */
};

struct iw_hunt_finding {
    struct iw_hunt_event event;
    char *key;                     /* equal for equal findings */
    struct iw_hunt_input **inputs; /* that show it, one after the other */
    size_t n_inputs;
    bool *requested;   /* of each input: an agent accepts its Request */
    uint64_t number;   /* of the sequence under way */
    double seconds;    /* since the hunt began */
    uint64_t times;    /* seen */
    char *file, *pcap; /* the case, and its capture */
    char *row;         /* it could not be shown again: all that was sent before, and when */
    char *verdict;     /* of the case */
    char *suppressed;  /* reason; NULL: it counts */
    /* CRASH, HANG: what a sequence says that shows it; those are kept out of from then on. */
    uint16_t pattern[IW_HUNT_PATTERN];
    size_t n_pattern;
    bool before;                    /* found by a hunt that this one goes on with */
    size_t told_inputs, told_steps; /* ... which says so much about it */
    struct iw_hunt_finding *next;
};

struct iw_hunt_kept {
    struct iw_hunt_input *input;
    struct iw_hunt_row row;
    uint64_t chosen;
};

/* An event that is looked into beside the hunt, or waits for that. */
struct iw_hunt_pending {
    struct iw_hunt_event event;
    struct iw_hunt_input **inputs; /* suspects; NULL: there is no such event */
    size_t n;
    pid_t pid;           /* of the child that does it; 0: none */
    unsigned slot;       /* ... among those at a time */
    uint64_t number;     /* of sequences that were over when it happened ... */
    double seconds;      /* ... and the time of the hunt then */
    unsigned times;      /* that it was looked into, in vain */
    uint64_t not_before; /* ns */
};

/* How far a hunt got: of its graph, of its corpus, and in the peer (--coverage). */
struct iw_hunt_counts {
    size_t states, edges, kept, places;
};

struct iw_hunt {
    const struct iw_hunt_options *o;
    const char *dir; /* of the results */
    struct iw_target_spec *spec;
    struct iw_hunt_world world;
    struct iw_hunt_loop *loop;
    struct iw_hunt_graph *graph;
    struct iw_mutate_random random;
    struct iw_hunt_mutator *mutator;
    struct iw_hunt_seeds seeds;
    struct iw_hunt_kept *corpus;
    size_t n_corpus;
    struct iw_hunt_recent recent;
    uint64_t started, over, refused; /* sequences: `over` were said, `refused` could not be */
    unsigned in_vain;                /* in a row that could not be */
    uint64_t digest;                 /* of all that were started, in order */
    uint64_t last_look, last_glance; /* `over` then */
    uint64_t well;                   /* memory was right after all sequences up to this number */
    uint64_t began, next_line, next_save, look_at;
    struct iw_hunt_finding *findings;
    double patience;           /* seconds that a step of what is tried waits; 0: as in the hunt */
    bool suspicious;           /* a connection was refused, or left open */
    struct iw_hunt_done trial; /* the last sequence that was tried */
    struct {
        struct iw_hunt_event event;
        struct iw_hunt_input **inputs;
        size_t n;
    } aside[IW_HUNT_ASIDE]; /* what was tried for something else, and led to this */
    size_t n_aside;
    struct iw_hunt_board *board; /* NULL: there is one process, and one instance of the peer */
    unsigned member;             /* this process: a hunter, from 0 */
    struct iw_hunt_examining *examining; /* this process looks into an event; NULL: it hunts */
    const struct iw_hunt_pending *event; /* ... into this one */
    struct iw_hunt_pending pending[IW_HUNT_PENDING];
    unsigned taken;      /* sequences of others that were looked at */
    unsigned lines;      /* of findings.jsonl that are in `findings`, or were */
    uint64_t next_share; /* ns */
    int lasting;         /* see save.c: descriptor of the sequences under way; -1: none */
    struct {
        struct iw_hunt_input
            *input; /* a sequence after which a rule was broken, to be looked into */
        enum iw_check check;
    } broken[IW_HUNT_FINDINGS];
    size_t n_broken;
    struct iw_hunt_coverage *coverage;    /* NULL: none */
    bool outside;                         /* the hunt goes on elsewhere: hunt_other_kernel.c */
    unsigned restarts;                    /* of what it goes on in */
    struct iw_mishaps hangs;              /* whose function is known */
    struct iw_hunt_counts session_counts; /* the highest that a session there has reported */
    const volatile int *stop;             /* a signal's number */
};

/* Returns the seconds since the hunt began. */
static inline double iw_hunt_elapsed(const struct iw_hunt *h)
{
    return (double)(iw_transport_now() - h->began) / 1e9;
}

/* live_start.c: the program. Returns the exit status. */
int iw_hunt_main(int argc, char **argv);
/* Reads the command line. Returns -1 to go on, otherwise the exit status. */
int iw_hunt_parse(struct iw_hunt_options *o, int argc, char **argv);

/* Returns true if the hunt was interrupted or has reached a limit of its options. */
bool iw_hunt_is_over(const struct iw_hunt *h);
/* Runs the hunt until then. Returns the exit status. */
int iw_hunt_go(struct iw_hunt *h);
/* Makes the loop and all else that a hunt, or one try, has. */
void iw_hunt_make_parts(struct iw_hunt *h);
/* Makes the loop alone. */
void iw_hunt_make_loop(struct iw_hunt *h);
/* Opens the target if it is not open. Returns 0, or the exit status after printing an error. */
int iw_hunt_open(struct iw_hunt *h);
void iw_hunt_close(struct iw_hunt *h);
const char *iw_hunt_kind_name(enum iw_hunt_kind kind);

/* try.c: runs these sequences, one after the other and alone, then checks the peer and starts it
 * again if needed. Returns what happened first. */
struct iw_hunt_event iw_hunt_try(struct iw_hunt *h, struct iw_hunt_input *const *inputs, size_t n,
                                 const struct iw_hunt_event *wanted, bool *requested);
/* Ends a peer that hangs. If it says where it was (a sanitizer's report on SIGABRT), the function
 * is the event's cause. */
void iw_hunt_end_hanging(struct iw_hunt *h, struct iw_hunt_event *e);
/* Checks whether the peer is well: it answers a correct Request, and memory is unchanged.
 * `hanging`: a missing answer is no sign of its end. Returns what is wrong, or an event of the kind
 * IW_HUNT_NOTHING. */
struct iw_hunt_event iw_hunt_look(struct iw_hunt *h, bool hanging);
/* Returns an event with its text as reported: valid UTF-8, cut off if it is too long. */
struct iw_hunt_event iw_hunt_event_of(enum iw_hunt_kind kind, const char *text);
enum { IW_HUNT_KEY = 700 };
/* Writes what tells this event from others: its cause, or its kind and its text. */
void iw_hunt_key(const struct iw_hunt_event *e, char *text, size_t room);
/* Returns the event of a report. */
struct iw_hunt_event iw_hunt_reported(const struct iw_hunt_report *r);
/* Returns true if a try led to the event that is looked into. */
bool iw_hunt_same(const struct iw_hunt_event *a, const struct iw_hunt_event *b);

/* triage.c: finds the cause, in as few steps as possible, and writes a case and a capture that show
 * it. */
void iw_hunt_triage(struct iw_hunt *h, const struct iw_hunt_event *event,
                    struct iw_hunt_input *const *suspects, size_t n);

/* Reports an event that could not be reproduced: the peer was not well. If the peer is gone for
 * good, writes the newest suspects as a case without playing it. */
void iw_hunt_unexplained(struct iw_hunt *h, const struct iw_hunt_event *event,
                         struct iw_hunt_input *const *suspects, size_t n);

/* examine.c: looks into an event of the hunt: beside it if the peer can be started once more. */
void iw_hunt_examine(struct iw_hunt *h, const struct iw_hunt_event *event,
                     struct iw_hunt_input *const *suspects, size_t n);
/* Takes what came of that, and starts what waits. */
void iw_hunt_look_beside(struct iw_hunt *h);
/* Ends it: waits for what is under way, and tries once more what could not be shown; for a minute
 * (times the time scale) at most. */
void iw_hunt_look_last(struct iw_hunt *h);
/* Says that an event was looked into. */
void iw_hunt_settle(struct iw_hunt *h, const struct iw_hunt_event *event);

/* crew.c: runs the hunt with several targets. Returns the exit status. */
int iw_hunt_crew(struct iw_hunt *h);
/* Tells the others how far this hunter is, and now and then takes what they have. */
void iw_hunt_share(struct iw_hunt *h);
/* Returns the sequences of all hunters. */
uint64_t iw_hunt_total(const struct iw_hunt *h);

/* avoid.c: describes a sequence roughly, one code per frame. Returns the number of codes. */
size_t iw_hunt_pattern(const struct iw_hunt_input *in, uint16_t *out, size_t room);
/* Returns true if the sequence has a pattern that is known to end the peer: nothing can be learnt
 * after that. */
bool iw_hunt_deadly(struct iw_hunt *h, const struct iw_hunt_input *in);

/* shrink.c: minimises a finding's sequences. */
void iw_hunt_shrink(struct iw_hunt *h, struct iw_hunt_finding *f);

/* live_case.c: writes the case of a finding and plays it. Returns whether that showed the finding.
 */
bool iw_hunt_write_case(struct iw_hunt *h, struct iw_hunt_finding *f, unsigned number);
/* The same for a peer that is not there any more. */
void iw_hunt_write_unplayed(struct iw_hunt *h, struct iw_hunt_finding *f, unsigned number);

/* row.c: writes the whole row of suspects of a finding that could not be shown again. */
void iw_hunt_write_row(struct iw_hunt *h, struct iw_hunt_finding *f,
                       struct iw_hunt_input *const *suspects, size_t n, unsigned number);

/* Removes the files that iw_hunt_write_case wrote. */
void iw_hunt_unwrite(struct iw_hunt_finding *f);
/* Returns the number of the next finding, from 1. */
unsigned iw_hunt_number(struct iw_hunt *h);

/* live_report.c */
void iw_hunt_progress(struct iw_hunt *h, bool end);
void iw_hunt_tell(struct iw_hunt *h, const struct iw_hunt_finding *f);
/* Writes the files that were asked for, and prints the rest. Returns false after printing an error.
 */
bool iw_hunt_report(struct iw_hunt *h);
/* Returns what the hunt has found so far, here or in the session inside the target. */
struct iw_hunt_counts iw_hunt_counts(const struct iw_hunt *h);
/* Writes a JSON file and releases `o`. Returns false after printing an error. */
bool iw_hunt_write_json(json_t *o, const char *path);
/* Returns true for a file name that asks for JSON; else it is Graphviz. */
bool iw_hunt_graph_is_json(const char *path);
size_t iw_hunt_counted(const struct iw_hunt *h, bool all);

/* Returns a finding as a new object of the report. */
json_t *iw_hunt_finding_json(const struct iw_hunt_finding *f);

/* save.c: saves the state of a hunt in another kernel, in case that kernel ends. Each does nothing
 * unless the results are to outlive the program (h->lasting). */
void iw_hunt_save_kept(struct iw_hunt *h, size_t i);
void iw_hunt_save_started(struct iw_hunt *h, const struct iw_hunt_input *in);
void iw_hunt_save_finding(struct iw_hunt *h, const struct iw_hunt_finding *f);
void iw_hunt_save_progress(struct iw_hunt *h);

/* suppress.c: returns a copy of the reason in the file of known findings, or NULL. Sets *bad (may
 * be NULL) after complaining about the file. */
char *iw_hunt_known(const struct iw_hunt *h, const char *key, bool *bad);

/* Returns the event that the members kind, check and text of `o` (NULL: NOTHING) say. */
struct iw_hunt_event iw_hunt_event_read(const json_t *o);
/* Adds a finding, which the hunt takes over, after all others. */
void iw_hunt_finding_add(struct iw_hunt *h, struct iw_hunt_finding *f);
void iw_hunt_finding_free(struct iw_hunt_finding *f);

void iw_hunt_write_inputs(FILE *f, struct iw_hunt_input *const *inputs, size_t n);
/* Reads inputs. Returns their number. */
size_t iw_hunt_read_inputs(FILE *f, struct iw_hunt_input **inputs, size_t room);
/* Reads the sequences that were under way when the hunt in `dir` ended, at most IW_HUNT_RECENT, in
 * the order in which they began: the order in which they ended is lost. Returns their number. */
size_t iw_hunt_load_started(const char *dir, struct iw_hunt_input **inputs);
/* Removes the findings of an earlier hunt with the same folder. */
void iw_hunt_forget_findings(const struct iw_hunt *h);
/* Loads those findings from disk that are not known yet. */
void iw_hunt_load_findings(struct iw_hunt *h);
/* Resumes a hunt with its corpus and its findings. Returns false after printing an error. */
bool iw_hunt_resume(struct iw_hunt *h);

/* The variable of the environment that names the target which a fuzzer runs inside of. */
#define IW_HUNT_KERNEL_VARIABLE "IWARP_FUZZ_INSIDE"
/* hunt_other_kernel.c: runs the hunt there and watches it. Returns the exit status. */
int iw_hunt_watch(struct iw_hunt *h);
struct iw_hunt_event iw_hunt_try_elsewhere(struct iw_hunt *h, struct iw_hunt_input *const *inputs,
                                           size_t n, bool *requested);
char *iw_hunt_play_elsewhere(struct iw_hunt *h, const char *path, const char *folder, char **pcap);
/* ... and there: one try. Returns the exit status. */
int iw_hunt_try_file(struct iw_hunt *h);

/* live_coverage.c: opens a map shared with the peer, see peer/live_peer_coverage.c: the peer's file
 * `path`, or (if that is NULL) one of our own in `dir`. Returns NULL after printing an error. */
struct iw_hunt_coverage *iw_hunt_coverage_open(const char *path, const char *dir);
void iw_hunt_coverage_close(struct iw_hunt_coverage *c);
/* Returns how many places were reached for the first time since the last call. */
unsigned iw_hunt_coverage_fresh(struct iw_hunt_coverage *c);
size_t iw_hunt_coverage_places(const struct iw_hunt_coverage *c);

#endif
