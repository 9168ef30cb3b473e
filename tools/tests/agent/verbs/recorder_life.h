/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests of iwarp-agent's sessions: the recorder's life, counted. Include from one source of a
 * test. */
#ifndef VERBS_RECORDER_LIFE_H
#define VERBS_RECORDER_LIFE_H

#include "recorder.h"

static struct iw_reactor *reactor;
static unsigned created, destroyed;
static bool create_fails;
static uint16_t settings; /* whose address the backend is given */

static struct agent_core *create(struct iw_reactor *r, const void *given, agent_emit_fn emit,
                                 void *context)
{
    assert_ptr_equal(r, reactor);
    assert_ptr_equal(given, &settings);
    if (create_fails)
        return NULL;
    seen.core.emit = emit;
    seen.core.context = context;
    created++;
    return &seen.core;
}

static void destroy(void *b)
{
    assert_ptr_equal(b, &seen.core);
    destroyed++;
}

#endif
