/* SPDX-License-Identifier: BSD-3-Clause */
#include "script_budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "iwarp/transport.h"
#include "script_error.h"
#include "script_memory.h"

enum {
    CASE_SECONDS = 20,
    PATIENCE_SECONDS = 3,
    BUSY_SECONDS = 600, /* more for a script that gets too little of the processors */
    SECOND = 1000000000 /* ns */
};

/* ---- memory ---- */

static void *resize(const struct iw_script *s, void *block, size_t old, size_t size)
{
    if (s->stretched)
        return iw_script_stretch_allocate(block, old, size);
    if (size)
        return realloc(block, size);
    free(block);
    return NULL;
}

void *iw_script_allocate(void *context, void *block, size_t old, size_t size)
{
    struct iw_script *s = context;

    if (block == NULL)
        old = 0;
    if (!size) {
        resize(s, block, old, 0);
        s->used -= old;
        return NULL;
    }
    if (size > old && size - old > s->limit - s->used) {
        if (s->L != NULL)
            iw_script_where(s->L, s->where);
        return NULL;
    }
    void *more = resize(s, block, old, size);
    if (more != NULL)
        s->used = s->used - old + size;
    return more;
}

void iw_script_taking(lua_State *L)
{
    struct iw_script *s = iw_script_of(L);

    s->before = s->used;
    s->taking = true;
}

void iw_script_taken(lua_State *L)
{
    struct iw_script *s = iw_script_of(L);

    if (s->taking && s->used > s->before)
        s->taken += s->used - s->before;
    s->taking = false;
}

/* ---- time ---- */

double iw_script_timer(const struct iw_script *s)
{
    double scale = iw_script_scale(s), timer = s->target != NULL ? s->target->longest_timer : 0;

    return scale < 1 ? timer / scale : timer;
}

double iw_script_patience(const struct iw_script *s)
{
    return s->options->patience > 0 ? s->options->patience : PATIENCE_SECONDS;
}

double iw_script_scale(const struct iw_script *s)
{
    return s->options->time_scale > 0 ? s->options->time_scale : 1;
}

static void allow(struct iw_script *s, double seconds, double scale)
{
    s->allowed = seconds;
    s->began = iw_transport_now();
    s->computed = iw_clock_cpu();
    s->given = (uint64_t)(seconds * scale * 1e9);
    s->deadline = s->began + s->given;
    s->waiting = s->waited = s->left = 0;
}

/* The run's deadline, in seconds. */
static double standard(const struct iw_script *s)
{
    return s->options->deadline > 0 ? s->options->deadline : CASE_SECONDS;
}

void iw_script_allow_reading(struct iw_script *s)
{
    double scale = iw_script_scale(s);

    allow(s, standard(s), scale > 1 ? scale : 1);
}

void iw_script_allow_playing(struct iw_script *s, double seconds)
{
    allow(s, (seconds > 0 ? seconds : standard(s)) + IW_CASE_TIMERS * iw_script_timer(s),
          iw_script_scale(s));
}

void iw_script_pause(struct iw_script *s)
{
    uint64_t now = iw_transport_now();
    double scale = iw_script_scale(s);

    if (scale >= 1 || s->deadline <= now)
        return;
    s->left = s->deadline - now;
    s->deadline = now + (uint64_t)((double)s->left / scale);
}

void iw_script_resume(struct iw_script *s)
{
    if (s->left)
        s->deadline = iw_transport_now() + s->left;
    s->left = 0;
}

static void end_waiting(struct iw_script *s)
{
    if (s->waiting) {
        uint64_t took = iw_transport_now() - s->waiting;
        s->waited += took;
        s->waits += took;
    }
    s->waiting = 0;
}

void iw_script_waits(lua_State *L)
{
    struct iw_script *s = iw_script_of(L);

    end_waiting(s);
    s->waiting = iw_transport_now();
}

void iw_script_answered(struct iw_script *s)
{
    uint64_t took = s->waiting ? iw_transport_now() - s->waiting : 0;
    if (took > s->slowest)
        s->slowest = took;
}

double iw_script_waits_of(struct iw_script *s)
{
    end_waiting(s);
    return (double)s->waits / SECOND;
}

uint64_t iw_script_until(lua_State *L, int argument, double standard_seconds)
{
    const struct iw_script *s = iw_script_of(L);
    double seconds = luaL_optnumber(L, argument, standard_seconds) * iw_script_scale(s);
    if (!(seconds >= 0))
        seconds = 0;
    if (seconds > 1e6)
        seconds = 1e6;
    uint64_t until = iw_transport_now() + (uint64_t)(seconds * 1e9);
    iw_script_waits(L);
    return s->deadline && until > s->deadline ? s->deadline : until;
}

/* Moves the deadline of a script that the machine, being busy, has not let compute for as long as
 * it may; false if it has. */
static bool moved(struct iw_script *s, uint64_t now)
{
    uint64_t used = iw_clock_cpu() - s->computed;

    if (used >= s->given || now >= s->began + s->given + BUSY_SECONDS * (uint64_t)SECOND)
        return false;
    s->deadline = now + (s->given - used);
    return true;
}

void iw_script_check_time(lua_State *L)
{
    struct iw_script *s = iw_script_of(L);
    uint64_t now = iw_transport_now();
    if (!s->deadline || now < s->deadline)
        return;
    end_waiting(s);
    if (s->waited < (now - s->began) / 4) {
        if (moved(s, now))
            return;
        luaL_error(L, "the case took longer than its deadline of %f s", s->allowed);
    }
    char reason[100], where[IW_SCRIPT_WHERE];
    snprintf(reason, sizeof(reason),
             "the case's %g s were over before the target had done its part", s->allowed);
    iw_script_push_error(L, "INCONCLUSIVE", reason, iw_script_where(L, where));
    lua_error(L);
}

void iw_script_hook(lua_State *L, lua_Debug *ar)
{
    struct iw_script *s = iw_script_of(L);

    end_waiting(s);
    if (ar->event == LUA_HOOKCOUNT) {
        iw_script_check_time(L);
        return;
    }
    lua_getinfo(L, "Sl", ar);
    if (*ar->source == '@' && strcmp(ar->source + 1, s->file) == 0)
        s->line = ar->currentline;
}
