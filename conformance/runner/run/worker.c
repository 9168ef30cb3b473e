/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker: one case at a time, against a target of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text_tools.h"
#include "host/text.h"
#include "pool.h"

enum { LINE = 1024 };

struct worker {
    const struct iw_pool *pool;
    FILE *out; /* to the parent */
    char *log;
    struct iw_target_instance *target; /* NULL: not open */
    char option[sizeof(((struct iw_order *)0)->option)];
    struct iw_tun tun; /* of this worker's crafted targets; fd -1: not open */
    char *no_tun;      /* why it cannot be had; NULL: it can, or was not asked for */
};

static const struct iw_tun not_open = {.fd = -1, .net_ns = -1, .user_ns = -1};

/* ---- talking to the parent ---- */

static void say(const struct worker *w, json_t *object)
{
    bool failed = json_dumpf(object, w->out, JSON_COMPACT);
    putc('\n', w->out);
    if (failed || fflush(w->out))
        _exit(0); /* the parent is gone, and every target ends with its connection */
    json_decref(object);
}

static void say_group(const struct worker *w)
{
    say(w, iw_got(json_pack("{s:I}", "group",
                            (json_int_t)(w->target != NULL ? iw_target_group(w->target) : 0))));
}

/* ---- the target ---- */

static void close_target(struct worker *w)
{
    char trouble[LINE];
    if (w->target == NULL)
        return;
    iw_target_close(w->target, trouble, sizeof(trouble));
    w->target = NULL;
    char *text = iw_text_format("%s%s%s", w->option, *w->option ? ": " : "", trouble);
    if (*trouble)
        say(w, iw_got(json_pack("{s:o}", "trouble", iw_json_text(text))));
    free(text);
    say_group(w);
}

static bool is_crafted(const struct iw_case *c)
{
    for (size_t i = 0; i < c->n_needs; i++)
        if (!strcmp(c->needs[i].name, "tcp") && !strcmp(c->needs[i].value, "crafted"))
            return true;
    return false;
}

/* Why crafted segments cannot be had here; NULL if they can. The first call makes the device. */
static const char *why_not_crafted(struct worker *w)
{
    char error[LINE];
    if (w->tun.fd < 0 && w->no_tun == NULL) {
        const char *why = iw_target_uncraftable(w->pool->target);
        if (why == NULL && iw_tun_open(&w->tun, error, sizeof(error)))
            why = error;
        w->no_tun = iw_text_copy(why);
    }
    return w->no_tun;
}

/* False with the verdict in *out if the target is not to be had. A crafted one is another one. */
static bool open_target(struct worker *w, const char *option, bool crafted, struct iw_result *out)
{
    const struct iw_pool *pool = w->pool;
    char error[LINE];
    if (w->target != NULL &&
        (strcmp(w->option, option) != 0 || (iw_target_of(w->target)->tun == NULL) == crafted))
        close_target(w);
    if (w->target != NULL)
        return true;
    snprintf(w->option, sizeof(w->option), "%s", option);
    enum iw_target_opened opened = iw_target_open_crafted(
        pool->target, *option ? option : NULL, w->log, pool->options->time_scale,
        crafted ? &w->tun : NULL, &w->target, error, sizeof(error));
    if (opened == IW_TARGET_OPENED) {
        say_group(w);
        say(w, iw_got(json_pack("{s:b, s:o}", "reached", 1, "version",
                                iw_json_text(iw_target_version(w->target)))));
        return true;
    }
    out->verdict = opened == IW_TARGET_UNREACHED ? IW_VERDICT_INCONCLUSIVE : IW_VERDICT_ERROR;
    out->reason = iw_text_format(IW_UNREACHED "%s", error);
    say(w, iw_got(json_pack("{s:b, s:o}", "reached", 0, "why", iw_json_text(error))));
    return false;
}

/* ---- a case ---- */

static void set_reason(struct iw_result *r, enum iw_verdict verdict, char *reason)
{
    r->verdict = verdict;
    free(r->reason);
    r->reason = reason;
}

/* The target's program has crashed or ended: that is the finding, and what the case saw of it no
 * further one. `key`: what tells this end from another. */
static void set_crash(const struct worker *w, struct iw_result *r, const char *key, char *reason)
{
    char *text = w->log != NULL ? iw_text_format("%s; its output: %s", reason, w->log)
                                : iw_text_copy(reason);
    iw_result_drop_deviations(r);
    r->deviations = iw_got(calloc(1, sizeof(*r->deviations)));
    r->deviations[r->n_deviations++] = (struct iw_deviation){
        .verdict = IW_VERDICT_FAIL, .how = iw_text_copy(key), .text = reason, .connection = -1};
    r->rule = NULL;
    set_reason(r, IW_VERDICT_FAIL, text);
}

/* A report without the place in the source: kind and function tell one cause from another. */
static const char *cause_of(const char *report, char cause[LINE])
{
    const char *place = strstr(report, " (");
    int length = place != NULL ? (int)(place - report) : (int)strlen(report);
    snprintf(cause, LINE, "%.*s", length, report);
    return cause;
}

/* What became of the target counts above what the case itself saw. A fault of our own agent is the
 * tester's. */
static void look_after(struct worker *w, struct iw_result *r)
{
    char trouble[LINE], cause[LINE];
    const char *how = iw_target_check(w->target, trouble, sizeof(trouble));
    if (*trouble != '\0' && w->pool->target->embedded)
        set_reason(r, IW_VERDICT_ERROR,
                   iw_text_format("a sanitizer stopped the target: %s%s%s", trouble,
                                  w->log != NULL ? "; all of it: " : "",
                                  w->log != NULL ? w->log : ""));
    else if (*trouble != '\0')
        set_crash(w, r, cause_of(trouble, cause), iw_text_format("the target broke: %s", trouble));
    else if (how != NULL && r->verdict != IW_VERDICT_ERROR)
        set_crash(w, r, how, iw_text_format("the target ended: %s", how));
    if (how != NULL)
        close_target(w);
}

static void play_once(struct worker *w, const struct iw_order *order, struct iw_result *r)
{
    const struct iw_pool *pool = w->pool;
    struct iw_run_options options = *pool->options;
    bool crafted = is_crafted(order->c);
    *r = (struct iw_result){0};
    if (crafted && why_not_crafted(w) != NULL) {
        set_reason(r, IW_VERDICT_SKIP, iw_text_format("needs crafted TCP segments: %s", w->no_tun));
        return;
    }
    if (!open_target(w, order->option, crafted, r))
        return;
    char *lacking = iw_case_tagged(order->c, "hazard") && !pool->options->hazards
                        ? iw_text_copy("a hazard: it could wedge the target; see --allow-hazard")
                        : iw_target_lacks(iw_target_of(w->target), order->c);
    if (lacking != NULL) {
        set_reason(r, IW_VERDICT_SKIP, lacking);
        return;
    }
    options.round = order->round;
    iw_target_of(w->target)->refused = false;
    if (pool->play(order->c, iw_target_of(w->target), &options, r))
        set_reason(r, IW_VERDICT_ERROR, iw_text_copy("no memory"));
    look_after(w, r);
    if (pool->options->trace != NULL)
        fflush(pool->options->trace);
}

/* A peer that lives but has lost its listener is started again, where that is the runner's
 * business. A case that has seen no more of it than that is played once more. */
static void play(struct worker *w, const struct iw_order *order, struct iw_result *r)
{
    const struct iw_target_spec *spec = w->pool->target;
    play_once(w, order, r);
    if (w->target == NULL || !iw_target_of(w->target)->refused || spec->start == NULL ||
        spec->class == IW_TARGET_AGENT)
        return;
    close_target(w);
    if (r->verdict != IW_VERDICT_INCONCLUSIVE)
        return;
    iw_result_free(r);
    play_once(w, order, r);
    iw_text_join(&r->notes, "\n",
                 "the target no longer accepted connections and was started again");
}

void iw_worker_serve(const struct iw_pool *pool, unsigned number, int fd)
{
    struct worker w = {.pool = pool, .out = fdopen(fd, "w"), .tun = not_open};
    struct iw_order order;
    iw_got(w.out);
    if (pool->log_dir != NULL)
        w.log = iw_text_format("%s/target-%u.log", pool->log_dir, number + 1);
    while (recv(fd, &order, sizeof(order), MSG_WAITALL) == (ssize_t)sizeof(order)) {
        struct iw_result result;
        play(&w, &order, &result);
        say(&w, iw_got(json_pack("{s:o}", "result", iw_result_to_json(&result))));
        iw_result_free(&result);
    }
    close_target(&w);
    iw_tun_close(&w.tun);
    free(w.no_tun);
    free(w.log);
}
