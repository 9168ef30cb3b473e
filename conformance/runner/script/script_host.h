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
    uint64_t left;               /* ns that it has once it is resumed; 0: it is not paused */
    size_t taken;                /* octets of memory that went into what the target said */
    bool taking;                 /* something of it is being made */
    size_t before;               /* memory in use before that */
    char where[IW_SCRIPT_WHERE]; /* where memory ran out */
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

/* Calls lua_pcall with a handler that turns every error into a table {verdict=, reason=, where=};
 * the results, or that table, are on the stack. Returns whether there was no error. */
bool iw_script_call(struct iw_script *s, int arguments, int results);

/* Returns the absolute deadline (iw_transport_now()) that lies the seconds from `argument` ahead
 * (scaled by the run's time scale; `standard` if absent), but not beyond the script's own. */
uint64_t iw_script_until(lua_State *L, int argument, double standard);
/* Return what the run's options say, or their defaults: seconds that an expectation waits, and the
 * factor of all times. */
double iw_script_patience(const struct iw_script *s);
double iw_script_scale(const struct iw_script *s);
/* Returns the seconds that the target may be silent for by right, 0 if nobody has said: so many
 * that scaled they are no fewer, since its timers run no faster for a smaller time scale. */
double iw_script_timer(const struct iw_script *s);
/* What the C function does until the script's next line is up to the target, as it is behind
 * iw_script_until. */
void iw_script_waits(lua_State *L);
/* Gives the script its time from now, to be read in: the run's deadline, or more if everything is
 * slow. Less patience with a peer makes nothing faster here. */
void iw_script_allow_reading(struct iw_script *s);
/* Between the two the script's time is as long as if everything ran at full speed, and does not
 * count: reading a recording is not the faster for less patience with the peer. */
void iw_script_pause(struct iw_script *s);
void iw_script_resume(struct iw_script *s);
/* Returns the processor time of this process, in ns. */
uint64_t iw_script_computed(void);
/* Ends the case if its time is over: by an error, or INCONCLUSIVE if the target has taken a good
 * part of that time. On a busy machine a script has that time of the processor, within ten minutes.
 */
void iw_script_check_time(lua_State *L);
/* Around what makes values of what the target said: if the script runs out of memory by that, the
 * script is not to blame. */
void iw_script_taking(lua_State *L);
void iw_script_taken(lua_State *L);

/* Returns a copy of the string in a field of the table on top of the stack; NULL if it is absent.
 * The caller frees it. */
char *iw_script_text(lua_State *L, const char *field);
/* Return fields of a table argument, `standard` if absent. They raise an error that names the field
 * if it is of a wrong type or out of range. */
uint64_t iw_script_number(lua_State *L, int table, const char *field, uint64_t standard,
                          uint64_t most);
/* Returns false for 0, unlike Lua. */
bool iw_script_boolean(lua_State *L, int table, const char *field, bool standard);

/* Set a field of the table on top of the stack. Text that is NULL is left out. */
void iw_script_set_text(lua_State *L, const char *field, const char *text);
void iw_script_set_octets(lua_State *L, const char *field, const void *octets, size_t length);
void iw_script_set_integer(lua_State *L, const char *field, uint64_t value);
void iw_script_set_boolean(lua_State *L, const char *field, bool value);
/* Pushes nil and the error. Returns 2, their number. */
int iw_script_push_failure(lua_State *L, const char *error);
/* Pushes a block of `size` zeros that `collect` clears when it is no longer used, a Lua error
 * included. `type` names the kind. Returns the block. */
void *iw_script_push_owned(lua_State *L, const char *type, size_t size, lua_CFunction collect);

/* Returns how the table at `index` bends an FPDU: length, pad, crc, markers, marker. Its pad is
 * borrowed from the table. */
struct iw_frame_bend iw_script_bend(lua_State *L, int index);
/* Returns what the station's TCP does by the table {isn, mss, window, acknowledge} at `index`, or
 * by default if there is none. */
struct iw_craft_options iw_script_craft_options(lua_State *L, int index);
/* Returns the writes that stand at `index`: a number of octets for each, or {n, n, ...}, or
 * nothing. The sizes are left on the stack, after an argument (the seconds) that follows `index`.
 */
struct iw_writes iw_script_writes(lua_State *L, int index);

/* Loads a text as luaL_loadfilex does, but does not read a file again that this process has
 * compiled before, unless it has changed. Returns as luaL_loadfilex. */
int iw_script_load_file(lua_State *L, const char *path);

/* Each adds its functions to the table on top of the stack. */
void iw_script_add_wire(lua_State *L);
void iw_script_add_station(lua_State *L);
void iw_script_add_control(lua_State *L);
void iw_script_add_capture(lua_State *L);
void iw_script_add_replay(lua_State *L);

/* Pushes an item as a table. */
void iw_script_push_item(lua_State *L, const struct iw_item *item);
void iw_script_push_startup(lua_State *L, const struct iw_mpa_startup_header *header,
                            const struct iw_mpa_enhanced *enhanced);

#endif
