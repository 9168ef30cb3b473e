/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SCRIPT_HOST_H
#define IW_RUNNER_SCRIPT_HOST_H

/*
 * The script host: one Lua state with bounds on time and memory, the table `iw` of C primitives on
 * which the vocabulary (conformance/lib) stands, and the case file in a sandbox of its own. Cases
 * see the vocabulary only: no files, no processes, no clock, no code from strings.
 */

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/conform_case.h"
#include "play_options.h"
#include "station/conform_station.h"
#include "target/target.h"

enum { IW_SCRIPT_WHERE = 512 };

struct json_t;
struct iw_script_recording;

struct iw_script {
    lua_State *L;
    const struct iw_run_options *options;
    const char *file; /* of the case */
    int line;         /* of that file, for what no function on the call stack tells: a tail call */
    bool loading; /* the file describes its cases, so that `line` is the caller's of a tail call */
    size_t used, limit;
    uint64_t deadline;           /* iw_transport_now(); 0: none */
    double allowed;              /* seconds, for the error's text */
    uint64_t began;              /* when the deadline was set, */
    uint64_t computed;           /* with this much processor time used, in ns, */
    uint64_t given;              /* so many ns from then */
    uint64_t waiting;            /* since when the script waits for the target; 0: it does not */
    uint64_t waited;             /* ns that it did so before */
    uint64_t waits;              /* ns of all waits of the case, */
    uint64_t slowest;            /* and of the longest that brought an answer */
    uint64_t left;               /* ns that it has once it is resumed; 0: it is not paused */
    size_t taken;                /* octets of memory that went into what the target said */
    bool taking;                 /* something of it is being made */
    size_t before;               /* memory in use before that */
    char where[IW_SCRIPT_WHERE]; /* where memory ran out */
    bool stretched;              /* the state has its memory in the stretch (script_memory.h) */
    bool loaded;                 /* s->file was run, its cases are on the stack */
    bool asked;                  /* what was loaded may depend on more than files */
    /* What C is making a value of; NULL: nothing. An error that ends the script leaves it here. */
    struct json_t *kept;
    struct iw_script_recording *recording;
    /* While a case is played; else NULL. */
    const struct iw_case *playing;
    struct iw_target *target;
    struct iw_station *station;
};

/* Returns the script whose state this is. */
struct iw_script *iw_script_of(lua_State *L);

/* Opens a state with the vocabulary loaded and leaves the vocabulary's table on its stack. Returns
 * 0, or -1 with one line in `error`. Close it in either case. */
int iw_script_open(struct iw_script *s, char *error, size_t room);
void iw_script_close(struct iw_script *s);

/* Runs s->file and leaves the normalised list of its cases on the stack (vocabulary.collect).
 * Returns 0, or -1 with one line in `error`. */
int iw_script_load(struct iw_script *s, char *error, size_t room);

/* For what tells a script of its run, its case or its target. Returns the script whose state this
 * is: what it loads from now on may be another thing for another case. */
struct iw_script *iw_script_asks(lua_State *L);

/* Calls lua_pcall with a handler that turns every error into a table {verdict=, reason=, where=};
 * the results, or that table, are on the stack. Returns whether there was no error. */
bool iw_script_call(struct iw_script *s, int arguments, int results);

#endif
