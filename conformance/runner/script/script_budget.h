/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SCRIPT_BUDGET_H
#define IW_RUNNER_SCRIPT_BUDGET_H

/* What a script may take: time, of which waiting for the target is not its own, and memory. */

#include "script_host.h"

/* Returns the absolute deadline (iw_transport_now()) that lies the seconds from `argument` ahead
 * (scaled by the run's time scale; `standard_seconds` if absent), but not beyond the script's own.
 */
uint64_t iw_script_until(lua_State *L, int argument, double standard_seconds);
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
/* The wait that began with iw_script_until has brought an answer. */
void iw_script_answered(struct iw_script *s);
/* Returns the seconds of all waits for the target up to now. */
double iw_script_waits_of(struct iw_script *s);
/* Gives the script its time from now, to be read in: the run's deadline, or more if everything is
 * slow. Less patience with a peer makes nothing faster here. */
void iw_script_allow_reading(struct iw_script *s);
/* Gives the script `seconds` from now, scaled, to play a case; 0: the run's deadline. What the
 * target's own timers may take comes on top. */
void iw_script_allow_playing(struct iw_script *s, double seconds);
/* Between the two the script's time is as long as if everything ran at full speed, and does not
 * count: reading a recording is not the faster for less patience with the peer. */
void iw_script_pause(struct iw_script *s);
void iw_script_resume(struct iw_script *s);
/* Ends the case if its time is over: by an error, or INCONCLUSIVE if the target has taken a good
 * part of that time. On a busy machine a script has that time of the processor, within ten minutes.
 */
void iw_script_check_time(lua_State *L);
/* Around what makes values of what the target said: if the script runs out of memory by that, the
 * script is not to blame. */
void iw_script_taking(lua_State *L);
void iw_script_taken(lua_State *L);

/* Called by Lua: allocates within the script's limit (a lua_Alloc; `context` is the script), and
 * looks at the clock now and then (a lua_Hook, for counts and lines). */
void *iw_script_allocate(void *context, void *block, size_t old, size_t size);
void iw_script_hook(lua_State *L, lua_Debug *ar);

#endif
