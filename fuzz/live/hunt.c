/* SPDX-License-Identifier: BSD-3-Clause */
/* The hunt: chooses the next sequence, keeps sequences, decides when to check the peer. */
#include "hunt.h"
#include "host/complain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"

enum {
    FEW = 3 /* that are compared */,
    OTHERS = 30 /* before a deadly one is taken */,
    OPENED_TRIES = 3,
    LOOK_NS = 1000000000,
    IN_VAIN = 100,   /* sequences that cannot be said */
    MEMBER = 1000003 /* between the random choices of two hunters */
};

/* ---- the target ---- */

int iw_hunt_open(struct iw_hunt *h)
{
    enum iw_target_opened opened = IW_TARGET_UNREACHED;

    if (h->world.instance != NULL)
        return 0;
    for (int i = 0; i < OPENED_TRIES && opened; i++)
        opened = iw_hunt_world_open(&h->world);
    if (!opened) {
        iw_hunt_loop_attach(h->loop);
        return 0;
    }
    return iw_complain_exit(opened == IW_TARGET_UNREACHED ? IW_EXIT_UNREACHED : IW_EXIT_TESTER,
                            "%s", h->world.error);
}

void iw_hunt_close(struct iw_hunt *h)
{
    iw_hunt_loop_abort(h->loop);
    iw_hunt_world_close(&h->world);
}

/* ---- what is kept ---- */

static void keep(struct iw_hunt *h, const struct iw_hunt_done *d)
{
    if (h->n_corpus < IW_HUNT_CORPUS) {
        h->corpus[h->n_corpus] =
            (struct iw_hunt_kept){.input = iw_hunt_input_copy(d->input), .row = d->row};
        iw_hunt_save_kept(h, h->n_corpus++);
        if (h->o->targets > 1)
            iw_hunt_board_post(h->board, h->member, d->input, &d->row);
    }
}

static void count(struct iw_hunt *h, struct iw_hunt_finding *f)
{
    if (h->board != NULL)
        iw_hunt_board_count(h->board, f->key);
    else
        f->times++;
}

/* Counts a broken rule that needs no look: it is known, or waits for one. Returns false for others.
 */
static bool count_known(struct iw_hunt *h, enum iw_check check)
{
    for (struct iw_hunt_finding *f = h->findings; f != NULL; f = f->next)
        if (f->event.kind == IW_HUNT_RULE && f->event.check == check &&
            (f->times >= IW_HUNT_OFTEN || strncmp(f->key, "unexplained ", 12) != 0)) {
            count(h, f);
            return true;
        }
    for (size_t i = 0; i < h->n_broken; i++)
        if (h->broken[i].check == check)
            return true;
    return false;
}

static void take_findings(struct iw_hunt *h, const struct iw_hunt_done *d)
{
    for (size_t i = 0; i < d->n_findings; i++) {
        if (count_known(h, d->findings[i]) || h->n_broken == IW_HUNT_FINDINGS)
            continue;
        h->broken[h->n_broken].input = iw_hunt_input_copy(d->input);
        h->broken[h->n_broken++].check = d->findings[i];
    }
}

static void done(void *context, struct iw_hunt_done *d)
{
    struct iw_hunt *h = context;

    if (d->number == 0) { /* one that is tried */
        iw_hunt_input_free(d->input);
        d->input = NULL;
        h->trial = *d;
        return;
    }
    bool refused = d->row.n && d->row.at[d->row.n - 1].code >> 24 == IW_ANSWER_REFUSED;
    if (refused) {
        h->refused++;
        h->in_vain++;
        h->suspicious = true;
        iw_hunt_input_free(d->input); /* what was never said is not to blame */
        return;
    }
    h->over++;
    h->in_vain = 0;
    if (iw_hunt_graph_add(h->graph, &d->row) +
            (h->coverage != NULL ? iw_hunt_coverage_fresh(h->coverage) : 0) &&
        !h->o->blind)
        keep(h, d);
    take_findings(h, d);
    iw_hunt_recent_add(&h->recent, d->input, d->number);
}

/* ---- what is next ---- */

/* Picks a few and returns the one that reached the rarest state; of equal ones, the one chosen
 * least often. */
static struct iw_hunt_kept *choose(struct iw_hunt *h)
{
    struct iw_hunt_kept *best = &h->corpus[iw_mutate_below(&h->random, h->n_corpus)];
    uint64_t rarest = iw_hunt_graph_rarity(h->graph, &best->row);

    for (int i = 1; i < FEW; i++) {
        struct iw_hunt_kept *k = &h->corpus[iw_mutate_below(&h->random, h->n_corpus)];
        uint64_t rarity = iw_hunt_graph_rarity(h->graph, &k->row);

        if (rarity < rarest || (rarity == rarest && k->chosen < best->chosen)) {
            best = k;
            rarest = rarity;
        }
    }
    best->chosen++;
    return best;
}

static const struct iw_hunt_input *any(struct iw_hunt *h)
{
    size_t i = iw_mutate_below(&h->random, h->seeds.n + (h->o->blind ? 0 : h->n_corpus));

    return i < h->seeds.n ? h->seeds.list[i] : h->corpus[i - h->seeds.n].input;
}

/* Returns the next input; `first`: each seed unchanged. */
static struct iw_hunt_input *make_input(struct iw_hunt *h, bool first)
{
    bool learned = !h->o->blind && h->n_corpus && iw_mutate_below(&h->random, 8);

    if (h->started < h->seeds.n && first)
        return iw_hunt_input_copy(h->seeds.list[h->started]);
    const struct iw_hunt_input *from =
        learned ? choose(h)->input : h->seeds.list[iw_mutate_below(&h->random, h->seeds.n)];
    return iw_hunt_mutate(h->mutator, from, any(h), &h->random);
}

static struct iw_hunt_input *next_input(struct iw_hunt *h)
{
    struct iw_hunt_input *in = make_input(h, true);

    for (int i = 0; i < OTHERS && iw_hunt_deadly(h, in); i++) {
        iw_hunt_input_free(in);
        in = make_input(h, false);
    }
    return in;
}

static bool start_one(struct iw_hunt *h)
{
    struct iw_mutate_random before = h->random;
    uint64_t digested = h->digest;
    struct iw_hunt_input *in = next_input(h);

    iw_hunt_save_started(h, in);
    h->digest = iw_hunt_input_digest(h->digest, in);
    h->started++;
    if (iw_hunt_loop_start(h->loop, in, h->started)) /* it may be over by now */
        return true;
    iw_hunt_input_free(in);
    h->started--;
    h->digest = digested;
    h->random = before;
    return false;
}

/* ---- how the peer is ---- */

static void quiesce(struct iw_hunt *h)
{
    while (iw_hunt_loop_busy(h->loop) && iw_hunt_world_death(&h->world) == NULL)
        iw_hunt_loop_step(h->loop, 50);
    iw_hunt_loop_abort(h->loop);
}

/* Ends the peer, and looks into what has happened (NULL: nothing has) and into all else that it has
 * reported until its end. */
static void triage(struct iw_hunt *h, const struct iw_hunt_event *e)
{
    struct iw_hunt_input *list[IW_HUNT_RECENT];
    struct iw_hunt_event what = {.kind = IW_HUNT_NOTHING};
    if (e != NULL)
        what = *e;
    if (what.kind == IW_HUNT_HANG)
        iw_hunt_end_hanging(h, &what);
    iw_hunt_close(h);
    struct iw_hunt_reports reports = h->world.reports;
    h->world.reports.n = 0;
    if (!what.kind && !reports.n)
        return;
    size_t n = iw_hunt_recent_copy(&h->recent, what.kind == IW_HUNT_STRAY ? h->well : 0, list);
    if (what.kind == IW_HUNT_HANG)
        n = iw_hunt_recent_before_silence(list, n, h->world.slots);
    if (what.kind)
        iw_hunt_examine(h, &what, list, n);
    for (size_t i = 0; i < reports.n; i++) {
        struct iw_hunt_event other = iw_hunt_reported(&reports.list[i]);

        if (!iw_hunt_same(&what, &other))
            iw_hunt_examine(h, &other, list, n);
    }
    iw_hunt_inputs_free(list, n);
    iw_hunt_recent_clear(&h->recent); /* what came before has been looked into */
}

/* Counts a report whose cause is known, and that has not ended the peer. */
static bool count_report(struct iw_hunt *h, const struct iw_hunt_event *e)
{
    char key[IW_HUNT_KEY];

    iw_hunt_key(e, key, sizeof(key));
    for (struct iw_hunt_finding *f = h->findings; f != NULL && e->kind == IW_HUNT_REPORT;
         f = f->next)
        if (strcmp(f->key, key) == 0) {
            count(h, f);
            h->world.reports.n = 0;
            return true;
        }
    return false;
}

static void look_after(struct iw_hunt *h)
{
    quiesce(h);
    h->last_look = h->last_glance = h->over;
    h->look_at = iw_transport_now() + LOOK_NS;
    h->suspicious = false;
    struct iw_hunt_event e = iw_hunt_look(h, false);
    if (e.kind && !count_report(h, &e))
        triage(h, &e);
    h->well = h->started;
}

/* Checks the memory, which needs no pause of the connections. */
static void glance(struct iw_hunt *h)
{
    uint64_t oldest = iw_hunt_loop_oldest(h->loop);

    h->last_glance = h->over;
    char text[128];
    if (iw_hunt_world_stray(&h->world, text, sizeof(text)) != NULL)
        h->suspicious = true;
    else
        h->well = oldest ? oldest - 1 : h->started;
}

static void look_into_broken(struct iw_hunt *h)
{
    if (h->board == NULL)
        quiesce(h); /* it is looked into over the same connections */
    for (size_t i = 0; i < h->n_broken; i++) {
        struct iw_hunt_event e = {.kind = IW_HUNT_RULE, .check = h->broken[i].check};
        const struct iw_check_info *info = iw_check_info(e.check);

        snprintf(e.text, sizeof(e.text), "%s (%s): %s", info->name,
                 iw_check_sender_rule(e.check)->id, info->text);
        iw_hunt_examine(h, &e, &h->broken[i].input, 1);
        iw_hunt_input_free(h->broken[i].input);
    }
    h->n_broken = 0;
}

/* ---- the hunt ---- */

bool iw_hunt_is_over(const struct iw_hunt *h)
{
    return *h->stop || (h->board != NULL && iw_hunt_board_ended(h->board)) ||
           (h->o->count && iw_hunt_total(h) >= h->o->count) ||
           (h->o->time > 0 && iw_hunt_elapsed(h) >= h->o->time) ||
           (h->o->findings && iw_hunt_counted(h, false) >= h->o->findings);
}

/* Returns how many sequences may be started now. */
static uint64_t allowed(const struct iw_hunt *h)
{
    double seconds = iw_hunt_elapsed(h);
    uint64_t most = h->o->count ? h->o->count : UINT64_MAX, started = h->started - h->refused;

    if (h->o->rate > 0 && seconds * h->o->rate + 1 < (double)most)
        most = (uint64_t)(seconds * h->o->rate) + 1;
    if (h->o->targets > 1)
        started +=
            iw_hunt_board_sum(h->board).started - iw_hunt_board_share(h->board, h->member)->started;
    return most > started ? most - started : 0;
}

static void start_some(struct iw_hunt *h)
{
    while (!h->suspicious && iw_hunt_loop_busy(h->loop) < h->world.slots && allowed(h))
        if (!start_one(h))
            return;
}

/* Checks that the peer is well before the hunt: later trouble must be the fuzzer's doing. */
static int begin(struct iw_hunt *h)
{
    int status = iw_hunt_open(h);

    if (status)
        return status;
    struct iw_hunt_event e = iw_hunt_look(h, false);
    if (!e.kind || e.kind == IW_HUNT_REPORT)
        return 0;
    iw_hunt_close(h);
    return iw_complain_exit(IW_EXIT_UNREACHED, "--target %s: %s", h->spec->text,
                            e.kind == IW_HUNT_REFUSAL && *h->world.why ? h->world.why : e.text);
}

void iw_hunt_make_loop(struct iw_hunt *h)
{
    h->loop = iw_hunt_loop_new(&h->world, done, h);
}

void iw_hunt_make_parts(struct iw_hunt *h)
{
    h->random.state = h->o->seed + h->member * MEMBER;
    h->corpus = iw_got(calloc(IW_HUNT_CORPUS, sizeof(*h->corpus)));
    h->mutator = iw_hunt_mutator_new();
    iw_hunt_make_loop(h);
    h->graph = iw_hunt_graph_new();
    h->began = iw_transport_now();
    h->patience = h->world.scale * IW_HUNT_PATIENCE_MS / 1e3;
    h->digest = IW_HUNT_DIGEST;
}

int iw_hunt_go(struct iw_hunt *h)
{
    iw_hunt_make_parts(h);
    int status = begin(h);
    while (!status && !iw_hunt_is_over(h)) {
        status = iw_hunt_open(h);
        if (status)
            break;
        if (h->in_vain > IN_VAIN) {
            status = iw_complain_exit(IW_EXIT_UNREACHED,
                                      "--target %s: none of the last %u connections was accepted",
                                      h->spec->text, h->in_vain);
            break;
        }
        start_some(h);
        iw_hunt_loop_step(h->loop, 10);
        if (h->n_broken)
            look_into_broken(h);
        if (h->world.instance == NULL)
            continue;
        if (h->world.n_memories && h->over - h->last_glance >= IW_HUNT_GLANCE)
            glance(h);
        if (h->suspicious || h->over - h->last_look >= IW_HUNT_LOOK ||
            iw_transport_now() > h->look_at || iw_hunt_world_death(&h->world) != NULL)
            look_after(h);
        iw_hunt_share(h);
        iw_hunt_progress(h, false);
    }
    if (!status && h->world.instance != NULL)
        look_after(h);
    triage(h, NULL); /* it ends, and may report what it has lost */
    if (h->board != NULL)
        iw_hunt_look_last(h);
    iw_hunt_share(h);
    if (status && h->over) /* report earlier findings all the same */
        status = iw_hunt_counted(h, false) ? IW_EXIT_FAILURE : status;
    if (h->world.instance != NULL)
        iw_hunt_close(h);
    iw_hunt_progress(h, true);
    return status;
}
