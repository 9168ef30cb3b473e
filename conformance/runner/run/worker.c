/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker: one case at a time, against a target of its own. */
#include "worker.h"
#include "pool_clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/text.h"
#include "host/text_tools.h"
#include "iwarp/transport.h"
#include "target/target_can.h"

static const struct iw_tun not_open = {.fd = -1, .net_ns = -1, .user_ns = -1};

/* ---- talking to the parent ---- */

void iw_worker_say(const struct iw_worker *w, json_t *object)
{
    bool failed = json_dumpf(object, w->out, JSON_COMPACT);
    putc('\n', w->out);
    if (failed || fflush(w->out))
        _exit(0); /* the parent is gone, and every target ends with its connection */
    json_decref(object);
}

static void say_group(const struct iw_worker *w)
{
    iw_worker_say(
        w, iw_got(json_pack("{s:I}", "group",
                            (json_int_t)(w->target != NULL ? iw_target_group(w->target) : 0))));
}

/* ---- the target ---- */

static void forget(struct iw_worker *w)
{
    free(w->before.list);
    w->before = w->past;
    w->past = (struct iw_past){.count = 0};
    w->settled = w->refusing = false;
}

void iw_worker_end_target(struct iw_worker *w, char trouble[static IW_WORKER_LINE])
{
    trouble[0] = '\0';
    if (w->target == NULL)
        return;
    forget(w);
    iw_target_close(w->target, trouble, IW_WORKER_LINE);
    w->target = NULL;
    say_group(w);
}

void iw_worker_more(const struct iw_worker *w, const struct iw_case *c)
{
    iw_worker_say(w, iw_got(json_pack("{s:f}", "more", iw_pool_case_seconds(w->pool, c))));
}

void iw_worker_close(struct iw_worker *w)
{
    char trouble[IW_WORKER_LINE];
    iw_worker_end_target(w, trouble);
    if (trouble[0] == '\0' || w->blaming)
        return;
    if (iw_worker_blames(w) && w->before.count > 0) {
        iw_worker_blame_end(w, trouble);
        return;
    }
    char *text = iw_text_format("%s%s%s", w->option, *w->option ? ": " : "", trouble);
    iw_worker_say(w, iw_got(json_pack("{s:o}", "trouble", iw_json_text(text))));
    free(text);
}

static bool is_crafted(const struct iw_case *c)
{
    for (size_t i = 0; i < c->n_needs; i++)
        if (strcmp(c->needs[i].name, "tcp") == 0 && strcmp(c->needs[i].value, "crafted") == 0)
            return true;
    return false;
}

/* Why crafted segments cannot be had here; NULL if they can. The first call makes the device. */
static const char *why_not_crafted(struct iw_worker *w)
{
    char error[IW_WORKER_LINE];
    if (w->tun.fd < 0 && w->no_tun == NULL) {
        const char *why = iw_target_uncraftable(w->pool->target);
        if (why == NULL && iw_tun_open(&w->tun, error, sizeof(error)))
            why = error;
        w->no_tun = iw_text_copy(why);
    }
    return w->no_tun;
}

/* A crafted one is another one. */
bool iw_worker_open(struct iw_worker *w, const struct iw_order *order, struct iw_result *out)
{
    const struct iw_pool *pool = w->pool;
    const char *option = order->option;
    bool crafted = is_crafted(order->c);
    char error[IW_WORKER_LINE];
    if (w->target != NULL &&
        (strcmp(w->option, option) != 0 || (iw_target_of(w->target)->tun == NULL) == crafted))
        iw_worker_close(w);
    if (w->target != NULL)
        return true;
    snprintf(w->option, sizeof(w->option), "%s", option);
    enum iw_target_opened opened = iw_target_open_crafted(
        pool->target, *option ? option : NULL, w->log, pool->options->time_scale,
        crafted ? &w->tun : NULL, &w->target, error, sizeof(error));
    if (opened == IW_TARGET_OPENED) {
        say_group(w);
        iw_worker_say(w, iw_got(json_pack("{s:b, s:o, s:O?}", "reached", 1, "version",
                                          iw_json_text(iw_target_version(w->target)), "device",
                                          iw_target_device(w->target))));
        return true;
    }
    out->verdict = opened == IW_TARGET_UNREACHED ? IW_VERDICT_INCONCLUSIVE : IW_VERDICT_ERROR;
    out->reason = iw_text_format(IW_UNREACHED "%s", error);
    iw_worker_say(w, iw_got(json_pack("{s:b, s:o}", "reached", 0, "why", iw_json_text(error))));
    return false;
}

/* ---- a case ---- */

static void set_reason(struct iw_result *r, enum iw_verdict verdict, char *reason)
{
    r->verdict = verdict;
    free(r->reason);
    r->reason = reason;
}

static void remember(struct iw_worker *w, const struct iw_order *order)
{
    w->past.list = iw_got(realloc(w->past.list, (w->past.count + 1) * sizeof(*w->past.list)));
    w->past.list[w->past.count++] =
        (struct iw_played){.c = order->c, .round = order->round, .ended = iw_transport_now()};
}

/* Why the case is not for this target; NULL: it is. The caller frees it. */
static char *unfit(const struct iw_worker *w, const struct iw_case *c)
{
    return iw_case_tagged(c, "hazard") && !w->pool->options->hazards
               ? iw_text_copy("a hazard: it could wedge the target; see --allow-hazard")
               : iw_target_lacks(iw_target_of(w->target), c);
}

/* What a sanitizer says at the end of such a target is about this case. */
static void end_with_case(struct iw_worker *w, struct iw_mishap *m)
{
    char trouble[IW_WORKER_LINE];
    iw_worker_end_target(w, trouble);
    if (trouble[0] == '\0' || m->kind != IW_MISHAP_NONE)
        return;
    iw_mishap_report(m, trouble, "when it was ended");
    m->seen = iw_transport_now();
}

void iw_worker_play_case(struct iw_worker *w, const struct iw_order *order, bool thorough,
                         struct iw_result *r, struct iw_mishap *m)
{
    const struct iw_pool *pool = w->pool;
    struct iw_run_options options = *pool->options;
    *r = (struct iw_result){0};
    *m = (struct iw_mishap){.kind = IW_MISHAP_NONE};
    if (is_crafted(order->c) && why_not_crafted(w) != NULL) {
        set_reason(r, IW_VERDICT_SKIP, iw_text_format("needs crafted TCP segments: %s", w->no_tun));
        return;
    }
    if (!iw_worker_open(w, order, r))
        return;
    char *lacking = unfit(w, order->c);
    if (lacking != NULL) {
        set_reason(r, IW_VERDICT_SKIP, lacking);
        return;
    }
    options.round = order->round;
    if (order->patience > 0)
        options.patience = order->patience;
    iw_target_of(w->target)->refused = false;
    m->alone = w->past.count == 0;
    m->settled = w->settled;
    if (pool->play(order->c, iw_target_of(w->target), &options, r))
        set_reason(r, IW_VERDICT_ERROR, iw_text_copy("no memory"));
    remember(w, order);
    iw_worker_look(w, order->c, thorough, r, m);
    if (pool->target->ends_connection)
        end_with_case(w, m);
    if (pool->options->trace != NULL)
        fflush(pool->options->trace);
}

/* Whether the case has seen no more of the target than that it accepts no connections. */
static bool missed(const struct iw_worker *w, const struct iw_result *r)
{
    return r->verdict == IW_VERDICT_INCONCLUSIVE ||
           (w->refusing && !r->heard && r->verdict == IW_VERDICT_PASS);
}

/* A peer that lives but has lost its listener is started again, where that is the runner's
 * business; one that has it back is not. A case that has seen no more of it than that is played
 * once more. */
static void play(struct iw_worker *w, const struct iw_order *order, struct iw_result *r)
{
    const struct iw_target_spec *spec = w->pool->target;
    struct iw_mishap m;
    iw_worker_play_case(w, order, false, r, &m);
    if (m.kind == IW_MISHAP_NONE && w->target != NULL && iw_target_of(w->target)->refused &&
        spec->start != NULL && spec->class != IW_TARGET_AGENT) {
        bool again = missed(w, r), back = w->settled;
        if (!back)
            iw_worker_close(w);
        if (again) {
            iw_result_free(r);
            iw_worker_more(w, order->c);
            iw_worker_play_case(w, order, false, r, &m);
            iw_text_join(&r->notes, "\n",
                         back ? "the target accepted no connections for a moment: played again"
                              : "the target no longer accepted connections and was started again");
        }
    }
    if (m.kind != IW_MISHAP_NONE && iw_worker_blames(w))
        iw_worker_blame(w, order, r, &m);
    else if (m.kind != IW_MISHAP_NONE)
        iw_worker_set(w, r, &m);
    iw_mishap_free(&m);
}

void iw_worker_serve(const struct iw_pool *pool, unsigned number, int fd)
{
    struct iw_worker w = {.pool = pool, .out = fdopen(fd, "w"), .tun = not_open};
    struct iw_order order;
    iw_got(w.out);
    if (pool->log_dir != NULL)
        w.log = iw_text_format("%s/target-%u.log", pool->log_dir, number + 1);
    while (recv(fd, &order, sizeof(order), MSG_WAITALL) == (ssize_t)sizeof(order)) {
        struct iw_result result;
        play(&w, &order, &result);
        iw_worker_say(&w, iw_got(json_pack("{s:o, s:f, s:f}", "result", iw_result_to_json(&result),
                                           "waited", result.waited, "slowest", result.slowest)));
        iw_result_free(&result);
        iw_worker_say_charges(&w);
    }
    iw_worker_finish(&w);
    iw_worker_close(&w);
    iw_worker_say_charges(&w);
    free(w.before.list);
    iw_mishaps_free(&w.known);
    iw_mishaps_free(&w.joint);
    iw_tun_close(&w.tun);
    free(w.no_tun);
    free(w.log);
}
