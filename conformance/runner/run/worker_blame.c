/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose doing a mishap is: cases are played again, each alone on a target that was just started. */
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "host/text_tools.h"
#include "iwarp/transport.h"
#include "worker.h"

static const char not_again[] =
    "not seen again when cases were played alone on a target just started";

enum {
    MEMORY = 5,   /* seconds before the last case: earlier ones are not suspected */
    SEARCH = 120, /* seconds, after which it is given up */
    LATE_NS = 200000000
};
static const uint64_t second = 1000000000;

/* ---- playing again ---- */

static void end_target(struct iw_worker *w)
{
    char trouble[IW_WORKER_LINE];
    iw_worker_end_target(w, trouble);
}

/* Plays a case whose result is not wanted: without a capture. */
static void play_quietly(struct iw_worker *w, const struct iw_order *order, bool thorough,
                         struct iw_result *r, struct iw_mishap *m)
{
    const struct iw_pool *pool = w->pool;
    struct iw_run_options options = *pool->options;
    struct iw_pool quiet = *pool;
    options.pcap_dir = NULL;
    options.exchange = false;
    options.trace = NULL;
    quiet.options = &options;
    w->pool = &quiet;
    iw_worker_more(w, order->c);
    iw_worker_play_case(w, order, thorough, r, m);
    w->pool = pool;
}

void iw_worker_charge(struct iw_worker *w, const struct iw_case *c, const struct iw_mishap *m,
                      const char *note)
{
    struct iw_result r = {.verdict = IW_VERDICT_FAIL, .notes = iw_text_copy(note)};
    iw_worker_set(w, &r, m);
    if (w->charges == NULL)
        w->charges = iw_got(json_array());
    json_array_append_new(w->charges,
                          iw_got(json_pack("{s:{s:o, s:o}}", "charge", "id", iw_json_text(c->id),
                                           "result", iw_result_to_json(&r))));
    iw_result_free(&r);
}

void iw_worker_say_charges(struct iw_worker *w)
{
    size_t i;
    json_t *charge;
    json_array_foreach(w->charges, i, charge) iw_worker_say(w, json_incref(charge));
    json_decref(w->charges);
    w->charges = NULL;
}

/* ---- which of several cases ---- */

struct search {
    struct iw_worker *w;
    struct iw_mishap m;  /* what one of them has done */
    struct iw_past past; /* they, the latest last */
    bool at_end;         /* it was said when the target was ended */
    uint64_t until;      /* no more cases are played after this */
};

/* Takes *n, which it frees. Returns whether that is what is searched for, or an end of the target
 * that explains it and takes its place: not one that is known to have a cause of its own. */
static bool take_if_sought(struct search *s, struct iw_mishap *n)
{
    bool same = iw_mishap_again(&s->m, n);
    bool found =
        same || (!s->at_end && n->kind != IW_MISHAP_NONE && !iw_mishaps_know(&s->w->known, n));
    if (!same && found) {
        iw_mishap_free(&s->m); /* what it says there is nearer to its cause */
        s->m = *n;
        *n = (struct iw_mishap){.kind = IW_MISHAP_NONE};
    }
    iw_mishap_free(n);
    return found;
}

/* Ends the target. Returns whether it then shows what is searched for. */
static bool end_and_take(struct search *s)
{
    char trouble[IW_WORKER_LINE];
    struct iw_mishap n = {.kind = IW_MISHAP_NONE};
    iw_worker_end_target(s->w, trouble);
    if (trouble[0] != '\0')
        iw_mishap_report(&n, trouble, NULL);
    return take_if_sought(s, &n);
}

/* Plays these cases on a target just started. Returns whether they do it, at once or after a time.
 */
static bool do_it(struct search *s, size_t from, size_t to)
{
    struct iw_worker *w = s->w;
    uint64_t late = s->m.seen - s->past.list[from].ended;
    late = (late < MEMORY * second ? late : MEMORY * second) + LATE_NS;
    end_target(w);
    for (size_t i = from; i < to && iw_transport_now() < s->until; i++) {
        struct iw_order order = {.c = s->past.list[i].c, .round = s->past.list[i].round};
        struct iw_result r;
        struct iw_mishap n;
        play_quietly(w, &order, i + 1 == to, &r, &n);
        iw_result_free(&r);
        if (i + 1 == to && n.kind == IW_MISHAP_NONE && !s->at_end && s->m.kind != IW_MISHAP_HANG)
            iw_worker_linger(w, iw_transport_now() + late, &n);
        if (take_if_sought(s, &n))
            return true;
    }
    return s->at_end && end_and_take(s);
}

/* Halves the cases until one is left that does it alone; NULL: there is none, or no time. */
static const struct iw_case *find_one(struct search *s)
{
    size_t from = 0, to = s->past.count;
    const struct iw_played *list = s->past.list;
    s->until = iw_transport_now() + SEARCH * second;
    while (from + 1 < to && !s->at_end && list[to - 1].ended - list[from].ended > MEMORY * second)
        from++;
    if (to > 1 && do_it(s, to - 1, to))
        return list[to - 1].c;
    while (to - from > 1) {
        size_t half = from + (to - from) / 2;
        if (do_it(s, from, half))
            to = half;
        else
            from = half;
    }
    return to > from && do_it(s, from, to) ? list[from].c : NULL;
}

/* ---- a mishap of a case ---- */

/* Whether nothing but this case can have done it. */
static bool is_plain(struct iw_worker *w, const struct iw_result *r, struct iw_mishap *m)
{
    bool known = iw_mishaps_know(&w->known, m);
    if (m->alone)
        return known || m->kind != IW_MISHAP_HANG;
    return known && m->settled && r->heard;
}

/* Whether a target that was just started answers: one that does not is never known to hang. */
static bool answers_at_first(struct iw_worker *w, const struct iw_order *order)
{
    struct iw_result none = {.verdict = IW_VERDICT_PASS};
    iw_worker_more(w, order->c);
    w->mute = iw_worker_open(w, order, &none) && iw_target_askable(w->target) &&
              iw_worker_ask(w) == IW_ALIVE_SILENT;
    iw_result_free(&none);
    return !w->mute;
}

/* The earlier case that has done it; *m is what it does alone. NULL: there is none. */
static const struct iw_case *find_earlier(struct iw_worker *w, const struct iw_past *past,
                                          struct iw_mishap *m)
{
    struct search s = {.w = w, .m = *m, .past = *past};
    const struct iw_case *c = find_one(&s);
    *m = s.m;
    iw_mishaps_know(&w->known, m);
    end_target(w); /* on which one of them was played */
    return c;
}

/* It stays with the case in which it was seen. */
static void set_joint(const struct iw_worker *w, struct iw_result *r, const struct iw_mishap *m,
                      const char *note)
{
    iw_worker_set(w, r, m);
    iw_text_join(&r->notes, "\n", note);
}

/* Plays the case again, alone, and if it is not its doing, the cases before it, unless that was in
 * vain before. */
static void find_out(struct iw_worker *w, const struct iw_order *order, const struct iw_past *past,
                     struct iw_result *r, struct iw_mishap *m)
{
    bool joint = iw_mishaps_know(&w->joint, m);
    struct iw_mishap n;
    iw_result_free(r);
    end_target(w);
    iw_worker_more(w, order->c);
    iw_worker_play_case(w, order, true, r, &n);
    bool same = iw_mishap_again(m, &n);
    if (same || n.kind != IW_MISHAP_NONE) {
        iw_mishaps_learn(&w->known, same ? m : &n);
        iw_worker_set(w, r, same ? m : &n);
    }
    const struct iw_case *culprit = same || joint ? NULL : find_earlier(w, past, m);
    if (culprit != NULL) {
        char *note = iw_text_format("seen in the case after it, %s; played alone on a target just "
                                    "started, this one does it",
                                    order->c->id);
        iw_worker_charge(w, culprit, m, note);
        free(note);
        iw_text_join(&r->notes, "\n",
                     "played again: it had met a target that an earlier case had broken");
    } else if (!same) {
        iw_mishaps_learn(&w->joint, m);
        set_joint(w, r, m, not_again);
    }
    iw_mishap_free(&n);
}

/* Of the target that was ended last, without the `last` cases. The caller frees the list. */
static struct iw_past take_past(struct iw_worker *w, size_t last)
{
    struct iw_past past = w->before;
    w->before = (struct iw_past){.count = 0};
    past.count = past.count > last ? past.count - last : 0;
    return past;
}

void iw_worker_blame(struct iw_worker *w, const struct iw_order *order, struct iw_result *r,
                     struct iw_mishap *m)
{
    end_target(w);
    struct iw_past past = take_past(w, 1);
    if (is_plain(w, r, m)) {
        iw_mishaps_learn(&w->known, m);
        iw_worker_set(w, r, m);
    } else if (m->kind == IW_MISHAP_HANG && iw_mishaps_know(&w->joint, m)) {
        set_joint(w, r, m, "seen in an earlier case, too, which did not show it again alone");
    } else if (m->kind != IW_MISHAP_HANG || answers_at_first(w, order)) {
        w->blaming = true;
        find_out(w, order, &past, r, m);
        w->blaming = false;
    }
    free(past.list);
}

/* ---- the end of a target ---- */

/* After the last case, or at the end of the target: the case that does it alone, else the last. */
static void blame_any(struct iw_worker *w, struct search *s)
{
    bool known = iw_mishaps_know(&w->known, &s->m) || iw_mishaps_know(&w->joint, &s->m);
    if (!known || !s->at_end) {
        w->blaming = true;
        const struct iw_case *c = find_one(s);
        w->blaming = false;
        if (c != NULL) {
            iw_mishaps_learn(&w->known, &s->m);
            iw_worker_charge(w, c, &s->m, NULL);
        } else {
            iw_mishaps_learn(&w->joint, &s->m);
            iw_worker_charge(w, s->past.list[s->past.count - 1].c, &s->m, not_again);
        }
    }
    iw_mishap_free(&s->m);
    free(s->past.list);
}

void iw_worker_blame_end(struct iw_worker *w, const char *trouble)
{
    struct search s = {.w = w, .past = take_past(w, 0), .at_end = true};
    iw_mishap_report(&s.m, trouble, "when it was ended");
    blame_any(w, &s);
}

void iw_worker_finish(struct iw_worker *w)
{
    struct search s = {.w = w};
    struct iw_result none = {.verdict = IW_VERDICT_PASS, .heard = true};
    if (w->target == NULL || !iw_worker_blames(w) || w->past.count == 0)
        return;
    iw_worker_more(w, w->past.list[w->past.count - 1].c);
    iw_worker_look(w, w->past.list[w->past.count - 1].c, true, &none, &s.m);
    iw_result_free(&none);
    if (s.m.kind == IW_MISHAP_NONE)
        return;
    end_target(w);
    s.past = take_past(w, 0);
    const struct iw_played *last = &s.past.list[s.past.count - 1];
    const struct iw_order order = {.c = last->c, .round = last->round};
    if (s.m.kind != IW_MISHAP_HANG || answers_at_first(w, &order)) {
        blame_any(w, &s);
        return;
    }
    iw_mishap_free(&s.m);
    free(s.past.list);
}
