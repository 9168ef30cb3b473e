/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_line.h"

#include <stdio.h>

#include "host/files.h"
#include "host/text_tools.h"

enum { EACH_CPU = 4, MOST = 64 };

unsigned iw_run_embedded_jobs(const struct iw_command *c)
{
    unsigned n = EACH_CPU * iw_cpus();
    return c->jobs ? c->jobs : n < MOST ? n : MOST;
}

/* Only our own agent is there once for each worker; another peer is the user's, one agent serves
 * one client, and one person does one thing at a time. */
unsigned iw_run_jobs(const struct iw_command *c, const struct iw_target_spec *target, size_t cases)
{
    unsigned n = target->embedded ? iw_run_embedded_jobs(c) : c->jobs ? c->jobs : 1;
    if (c->trace ||
        (!target->embedded && (target->class == IW_TARGET_AGENT || target->start != NULL ||
                               target->ask != NULL || target->restart != NULL)))
        n = 1;
    return n > cases ? (cases ? (unsigned)cases : 1) : n;
}

char *iw_run_again(const struct iw_command *c)
{
    const struct iw_replay *replay = &c->replay;
    char scale[40], *text = NULL;
    const struct {
        const char *name, *value;
    } options[] = {
        {" --as", replay->as},
        {" --stream", replay->stream},
        {" --map", replay->map},
        {" --time", replay->time},
        {" --private", replay->private},
        {" --cases", c->head.cases},
        {" --agent", c->head.agent},
        {" --target", c->head.target},
        {" --time-scale", c->head.time_scale > 0 ? scale : NULL},
    };
    snprintf(scale, sizeof(scale), "%g", c->head.time_scale);
    iw_text_join_word(&text, c->program);
    iw_text_join(&text, " ", replay->capture != NULL ? "replay" : "run");
    if (replay->capture != NULL)
        iw_text_join_word(&text, c->operands[0]);
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        if (options[i].value == NULL)
            continue;
        iw_text_join(&text, "", options[i].name);
        iw_text_join_word(&text, options[i].value);
    }
    if (c->head.no_quirks)
        iw_text_join(&text, "", " --no-quirks");
    iw_text_join(&text, "", replay->capture != NULL ? " --results " : " --select ");
    return text;
}
