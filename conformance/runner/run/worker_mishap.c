/* SPDX-License-Identifier: BSD-3-Clause */
/* What has become of the target after a case. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "iwarp/transport.h"
#include "target/crash.h"
#include "worker.h"

enum { LOOK_MS = 20, UNHEARD = 3 /* cases, before one that we cannot start again is asked */ };

bool iw_worker_blames(const struct iw_worker *w)
{
    return w->pool->charge != NULL && w->pool->target->start != NULL;
}

/* ---- a target that answers nothing ---- */

enum iw_alive iw_worker_ask(const struct iw_worker *w)
{
    enum iw_alive answer = iw_target_ask(w->target);
    return answer == IW_ALIVE_SILENT ? iw_target_ask(w->target) : answer;
}

static char *silence_text(const struct iw_worker *w, const char *program)
{
    const struct iw_target_spec *spec = w->pool->target;
    return iw_text_format("%s answered %s in a row, each for %g s", program,
                          spec->class == IW_TARGET_AGENT ? "no two calls of its agent"
                                                         : "nothing on two connections",
                          iw_target_silence(spec, w->pool->options->time_scale));
}

/* What it has reported before is the cause of the hang. */
static void end_hanging(struct iw_worker *w, struct iw_mishap *m)
{
    struct iw_crash crash;
    char trouble[IW_WORKER_LINE];
    if (m->kind != IW_MISHAP_NONE) {
        iw_worker_end_target(w, trouble);
        return;
    }
    char *text = silence_text(w, iw_target_program(w->target));
    bool said = iw_target_abort(w->target, &crash);
    iw_mishap_hang(m, said ? &crash : NULL, text);
    iw_worker_end_target(w, trouble);
    free(text);
}

/* Whether it has answered, or accepts no connection: w->settled, w->refusing. Returns whether it
 * hangs. */
static bool settle(struct iw_worker *w)
{
    enum iw_alive answer = iw_worker_ask(w);
    w->settled = answer == IW_ALIVE_ANSWERS;
    w->refusing = answer == IW_ALIVE_REFUSES;
    if (w->refusing)
        iw_target_of(w->target)->refused = true;
    return answer == IW_ALIVE_SILENT;
}

/* One that somebody else has started is not started again: the case that it has answered last has
 * it on its account, or the one after that. */
static void look_from_outside(struct iw_worker *w, const struct iw_case *c, bool heard)
{
    const struct iw_pool *pool = w->pool;
    struct iw_mishap m = {.kind = IW_MISHAP_NONE};
    if (heard)
        w->heard = c;
    w->unheard = heard ? 0 : w->unheard + 1;
    if (w->unheard != UNHEARD || w->heard == NULL || pool->charge == NULL ||
        !iw_target_askable(w->target))
        return;
    iw_worker_more(w, c);
    if (!settle(w))
        return;
    char *text = silence_text(w, "it");
    iw_mishap_hang(&m, NULL, text);
    iw_worker_charge(w, w->heard, &m,
                     "the target has answered nothing since; nobody starts it again, so that it "
                     "may be the doing of the case after this one");
    iw_mishap_free(&m);
    free(text);
}

/* ---- all of it ---- */

static void set_reason(struct iw_result *r, enum iw_verdict verdict, char *reason)
{
    r->verdict = verdict;
    free(r->reason);
    r->reason = reason;
}

/* A fault of our own agent is the tester's. */
static void set_own(const struct iw_worker *w, struct iw_result *r, const char *trouble)
{
    set_reason(r, IW_VERDICT_ERROR,
               iw_text_format("a sanitizer stopped the target: %s%s%s", trouble,
                              w->log != NULL ? "; all of it: " : "", w->log != NULL ? w->log : ""));
}

/* What the program and its log say of its end. */
static void check(struct iw_worker *w, struct iw_result *r, struct iw_mishap *m)
{
    char trouble[IW_WORKER_LINE];
    const char *how = iw_target_check(w->target, trouble, sizeof(trouble));
    if (*trouble != '\0' && w->pool->target->embedded)
        set_own(w, r, trouble);
    else if (*trouble != '\0')
        iw_mishap_report(m, trouble, how);
    else if (how != NULL && r->verdict != IW_VERDICT_ERROR)
        iw_mishap_end(m, how);
    if (how != NULL)
        iw_worker_end_target(w, trouble);
}

void iw_worker_look(struct iw_worker *w, const struct iw_case *c, bool thorough,
                    struct iw_result *r, struct iw_mishap *m)
{
    bool odd =
        thorough || !r->heard || (r->verdict != IW_VERDICT_PASS && r->verdict != IW_VERDICT_SKIP);
    w->settled = w->refusing = false;
    bool hangs =
        odd && !w->mute && iw_worker_blames(w) && iw_target_askable(w->target) && settle(w);
    check(w, r, m);
    if (hangs && w->target != NULL)
        end_hanging(w, m);
    m->seen = iw_transport_now();
    if (w->pool->target->start == NULL && w->target != NULL && r->verdict != IW_VERDICT_SKIP)
        look_from_outside(w, c, r->heard);
}

void iw_worker_linger(struct iw_worker *w, uint64_t deadline, struct iw_mishap *m)
{
    struct iw_result none = {.verdict = IW_VERDICT_PASS};
    struct iw_target *target = w->target != NULL ? iw_target_of(w->target) : NULL;
    if (target == NULL || target->death == NULL)
        return;
    while (target->death(target) == NULL && iw_transport_now() < deadline)
        poll(NULL, 0, LOOK_MS);
    check(w, &none, m);
    m->seen = iw_transport_now();
}

void iw_worker_set(const struct iw_worker *w, struct iw_result *r, const struct iw_mishap *m)
{
    char *text = iw_mishap_text(m);
    iw_result_drop_breaches(r);
    if (r->n_deviations == 0) {
        r->rule = NULL;
        free(r->log);
        r->log = iw_text_copy(w->log);
        set_reason(r, IW_VERDICT_FAIL,
                   w->log != NULL ? iw_text_format("%s; its output: %s", text, w->log)
                                  : iw_text_copy(text));
    }
    iw_result_add_deviation(r, &(struct iw_deviation){.verdict = IW_VERDICT_FAIL,
                                                      .how = iw_text_copy(m->key),
                                                      .text = text,
                                                      .connection = -1});
}
