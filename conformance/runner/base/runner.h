/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_H
#define IW_RUNNER_H

/*
 * The seam inside the runner. On one side a case is read and played: station, exchange, script
 * host. On the other cases are found and scheduled, peers are started and results reported:
 * suite, target, run, report, self-check. Both sides know each other by this file only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "iwarp/mpa.h"
#include "iwarp/rules.h"

struct iw_control;
struct iw_tun;

/* ---- verdicts ---- */

enum iw_verdict {
    IW_VERDICT_PASS,
    IW_VERDICT_NOTE,         /* a SHOULD or an [implied] rule was broken */
    IW_VERDICT_FAIL,         /* a MUST was broken */
    IW_VERDICT_INCONCLUSIVE, /* the case could not get to its question */
    IW_VERDICT_SKIP,
    IW_VERDICT_ERROR /* the tester or the script is at fault */
};

enum { IW_VERDICT_COUNT = IW_VERDICT_ERROR + 1 };

/* "PASS", "NOTE", ... */
const char *iw_verdict_name(enum iw_verdict verdict);

/* "no", "api", "wire-passive", "wire-active": where breaking a rule shows. */
const char *iw_testable_name(enum iw_testable testable);

/* What breaking this rule amounts to: FAIL for MUST and MUST NOT, NOTE for SHOULD and SHOULD NOT
 * and for [implied] rows, PASS (an observation) for MAY. */
enum iw_verdict iw_rule_verdict(const struct iw_rule *rule);

/* ---- cases ---- */

/* One entry of a case's `needs`. A value that is true in the script is "true" here; several words
 * stand separated by blanks ("read write"). */
struct iw_need {
    char *name;
    char *value;
};

/* One case as its file describes it. Every pointer is owned by the case. */
struct iw_case {
    char *id;
    char *purpose;
    char *file;                   /* as given to iw_case_load */
    int line;                     /* of the case's description */
    unsigned index;               /* place among the cases of its file, from 0 */
    const struct iw_rule **rules; /* the primary one first; at least one */
    size_t n_rules;
    enum iw_verdict worst; /* FAIL, NOTE or PASS: what the case amounts to when it does not hold */
    enum iw_mpa_role role; /* of the TARGET: a responder is connected to by the station */
    char **tags;
    size_t n_tags;
    struct iw_need *needs;
    size_t n_needs;
    double deadline; /* seconds, 0: the run's default */
};

struct iw_run_options;

/* Reads the cases of one file in a Lua state of its own, with the run's limits. Only the
 * descriptions are evaluated, nothing is run. Returns 0 with an array of *count cases (free it with
 * iw_case_free_all), or -1 with one line "file:line: what" in `error`: unreadable, not Lua, unknown
 * rule id, misspelt or missing field, two equal ids in one file. */
int iw_case_load(const char *file, const struct iw_run_options *options, struct iw_case **out,
                 size_t *count, char *error, size_t room);
void iw_case_free_all(struct iw_case *cases, size_t count);

/* ---- targets ---- */

enum iw_target_class { IW_TARGET_BARE, IW_TARGET_RPING, IW_TARGET_AGENT };

/* What the station says in its start-up frames where a case leaves it open. */
struct iw_target_startup {
    bool crc, markers;
    uint8_t revision;
    bool enhanced;
};

/* A peer as a case sees it. The target side embeds it in a struct of its own and keeps the fields
 * true (a restarted agent has another `control`). */
struct iw_target {
    const char *name;
    enum iw_target_class class;
    const char *host; /* where the peer's listeners are reached */
    uint16_t port;    /* bare, rping: the peer's listener; 0 if it has none. agent: unused */
    const char *station_host; /* numeric address on which the station listens for the peer */
    struct iw_tun *tun;       /* the station's way to the peer: crafted segments; NULL: sockets */
    const struct iw_target_startup *startup; /* NULL: nothing is said */
    struct iw_control *control;              /* agent: the open control connection; else NULL */
    /* Whether the peer can do something: "memory.write", "crc.off", "reconnect" ... (a case's
     * `needs` joined by a point, one question a word). */
    bool (*can)(const struct iw_target *target, const char *capability);
    /* bare, rping: has the peer connect to this address of the station (runs the target file's
     * command). 0, or -1 with one line in `error`. NULL if the peer cannot. Agents are told over
     * `control` by the case's side. */
    int (*initiate)(struct iw_target *target, const char *host, uint16_t port, char *error,
                    size_t room);
    /* Behind `initiate`: why no connection will come, in one line, or NULL if one still may;
     * `late`: none came within the seconds below. */
    const char *(*not_called)(struct iw_target *target, bool late);
    double connect_within;
    /* NULL while the peer's own process (if the runner started one) is alive, else one line on
     * how it ended ("iwarp-agent was killed by signal 11"). NULL function: not known. */
    const char *(*death)(struct iw_target *target);
    bool refused; /* set when a connection to the peer's listener fails */
};

/* ---- running one case ---- */

/* What lib/replay_case.lua is to play: words of the command line, NULL where nothing was said. */
struct iw_replay {
    const char *capture; /* below the folder of recordings */
    const char *as;      /* "initiator", "responder": the side that is played */
    const char *stream;  /* numbers, separated by commas */
    const char *map;     /* of one that is known, or a file's path */
    const char *time;    /* "keep", "drop", "scale=X" */
    const char *private; /* hexadecimal */
};

/* Zeros mean the defaults. */
struct iw_run_options {
    const char *library; /* folder of the vocabulary (conformance/lib); required */
    const char *pcaps;   /* folder of the recordings (pcaps/) that iw.capture reads; NULL: none */
    const struct iw_replay *replay; /* of the command of that name; else NULL */
    const char *pcap_dir;           /* where <case id>.pcapng goes; NULL: no captures */
    unsigned round;    /* of a case that is repeated, from 0; later ones have it in that name */
    double patience;   /* seconds that an expectation waits for the peer, default 3 */
    double deadline;   /* seconds that a case may take, default 20 */
    double time_scale; /* multiplies both and every window, default 1 */
    size_t memory;     /* octets that a case's Lua state may take, default 64 MiB */
    bool exchange;     /* the result has what was exchanged */
    bool hazards;      /* also cases with the tag "hazard", which may wedge a peer for good */
    FILE *trace;       /* every message in the one-line syntax, as it happens; NULL: none */
};

/* Has lib/replay.lua say something about options->replay: its function `what` ("list",
 * "describe"). 0 with the caller's text in *text, or -1 with one line in `error`. */
int iw_script_ask_replay(const struct iw_run_options *options, const char *what, char **text,
                         char *error, size_t room);

/* Strings may be NULL where there is nothing to say; all are owned by the result. */
struct iw_result {
    char *id;
    enum iw_verdict verdict;
    enum iw_mpa_role role;
    const struct iw_rule *rule; /* the rule that was broken; NULL under PASS, SKIP ... */
    double seconds;
    bool heard;     /* the peer sent an octet or ended a connection */
    char *reason;   /* one line: why this verdict */
    char *expected; /* one-line syntax; members of a set separated by " or " */
    char *actual;
    char *pcap;     /* path of the capture */
    char *where;    /* "file:line" of the case that decided */
    char *observed; /* recorded observations, "name=value; name=value"; equal for equal peers */
    char *notes;    /* remarks, one a line; not compared */
    char *exchange; /* JSON: what was exchanged, see script/sequence.h; not compared */
};

/* Runs one case against an open target, in the calling process and within the case's deadline
 * (a C library call that a script makes endless is left to the caller's own deadline). `needs` are
 * the caller's business. Always fills *out and returns 0; -1 only if there is no memory. */
int iw_script_run_case(const struct iw_case *c, struct iw_target *target,
                       const struct iw_run_options *options, struct iw_result *out);
void iw_result_free(struct iw_result *result);

#endif
