/* SPDX-License-Identifier: BSD-3-Clause */
/* Tries one sequence, or a few, alone. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "hunt.h"
#include "target/other_kernel.h"

enum {
    PATIENCE_MS = 3000,
    FIRST_MS = 60000, /* for the very first answer: the speed of the machine is not known yet */
    MOST_MS = 60000,  /* however long answers take */
    TRIED_MS = 10000, /* ... where a hang is tried again and again, as long as its case waits */
    DYING_MS = 3000,
    DEAD_MS = 300,
    SLOWER =
        1000, /* an answer that takes longer than the mean times this is none; at an end, a tenth */
    STEP_MS = 10,
    AGAIN = 60
};

const char *iw_hunt_kind_name(enum iw_hunt_kind kind)
{
    static const char *const names[] = {"nothing", "crash",   "hang",  "stray",
                                        "rule",    "refusal", "report"};

    return names[kind];
}

/* Removes what differs from run to run: addresses and process numbers ("rping/123/0x2"). */
static void plain(char *text)
{
    char *to = text;

    for (const char *from = text; *from;) {
        if (from[0] == '/' && from[1] >= '1' && from[1] <= '9') {
            from += 1 + strspn(from + 1, "0123456789");
            *to++ = '/';
            *to++ = 'N';
        } else if (from[0] == '0' && from[1] == 'x') {
            from += 2 + strspn(from + 2, "0123456789abcdef");
            *to++ = 'X';
        } else if (from[0] == '=' && from[1] == '=') {
            from += 2;
            from += strspn(from, "0123456789=");
        } else {
            *to++ = *from++;
        }
    }
    *to = 0;
}

void iw_hunt_key(const struct iw_hunt_event *e, char *text, size_t room)
{
    if (e->kind == IW_HUNT_RULE)
        snprintf(text, room, "rule %s", iw_check_info(e->check)->name);
    else if (*e->cause)
        snprintf(text, room, "%s", e->cause);
    else
        snprintf(text, room, "%s %s", iw_hunt_kind_name(e->kind), e->text);
    plain(text);
}

struct iw_hunt_event iw_hunt_reported(const struct iw_hunt_report *r)
{
    struct iw_hunt_event e = iw_hunt_event_of(IW_HUNT_REPORT, r->text);

    snprintf(e.cause, sizeof(e.cause), "%s", r->cause);
    return e;
}

/* A cause that is named decides, but a hang is one wherever it is met. Distinguishes the ends of a
 * kernel by their text: otherwise an easy one would stand in for all. */
bool iw_hunt_same(const struct iw_hunt_event *a, const struct iw_hunt_event *b)
{
    if (a->kind && b->kind && a->kind != IW_HUNT_HANG && (*a->cause || *b->cause))
        return strcmp(a->cause, b->cause) == 0;
    if (a->kind != b->kind || (a->kind == IW_HUNT_RULE && a->check != b->check))
        return false;
    if (a->kind != IW_HUNT_CRASH || (strstr(a->text, IW_TARGET_KERNEL_ENDED) == NULL &&
                                     strstr(b->text, IW_TARGET_KERNEL_ENDED) == NULL))
        return true;
    char own[IW_HUNT_KEY], other[IW_HUNT_KEY];
    iw_hunt_key(a, own, sizeof(own));
    iw_hunt_key(b, other, sizeof(other));
    return strcmp(own, other) == 0;
}

/* Returns the ns to wait: `ms` on an idle machine, more if this peer's answers take longer, but not
 * more than `most` (ms). */
static uint64_t patience(const struct iw_hunt *h, double ms, unsigned slower, double most)
{
    uint64_t scaled = (uint64_t)(ms * h->world.scale * 1e6);
    uint64_t bound = (uint64_t)(most * h->world.scale * 1e6);
    uint64_t measured = slower * iw_hunt_loop_answer_time(h->loop);

    if (measured > bound)
        measured = bound;
    return measured > scaled ? measured : scaled;
}

/* Starts a copy of the sequence. Returns false if that is not possible now: no port is free. */
static bool start(struct iw_hunt *h, const struct iw_hunt_input *input)
{
    struct iw_hunt_input *copy = iw_hunt_input_copy(input);
    bool started = iw_hunt_loop_start(h->loop, copy, 0);

    if (!started)
        iw_hunt_input_free(copy);
    return started;
}

/* Runs one sequence; leaves the outcome in h->trial. */
static void run(struct iw_hunt *h, const struct iw_hunt_input *input)
{
    uint64_t until = iw_transport_now() + (uint64_t)(AGAIN * h->world.scale * 1e9);

    h->trial = (struct iw_hunt_done){0};
    while (!start(h, input) && iw_transport_now() <= until)
        iw_hunt_loop_step(h->loop, 1);
    while (iw_hunt_loop_busy(h->loop))
        iw_hunt_loop_step(h->loop, 100);
}

/* Runs a long row as in the hunt: several at a time, with no more patience than there. */
static void run_row(struct iw_hunt *h, struct iw_hunt_input *const *inputs, size_t n)
{
    for (size_t i = 0; i < n && iw_hunt_world_death(&h->world) == NULL && !*h->stop;)
        if (iw_hunt_loop_busy(h->loop) < h->world.slots && start(h, inputs[i]))
            i++;
        else
            iw_hunt_loop_step(h->loop, 10);
    while (iw_hunt_loop_busy(h->loop) && iw_hunt_world_death(&h->world) == NULL)
        iw_hunt_loop_step(h->loop, 10);
    iw_hunt_loop_abort(h->loop);
}

/* Waits for the peer's process to end. One that still accepts connections may be writing a
 * sanitizer's report; from one that does not, little more can be expected. */
static const char *dying(struct iw_hunt *h, bool accepts)
{
    uint64_t wait = accepts ? patience(h, DYING_MS, SLOWER, MOST_MS)
                            : patience(h, DEAD_MS, SLOWER / 10, MOST_MS);
    uint64_t until = iw_transport_now() + wait;
    const char *how = iw_hunt_world_death(&h->world);

    if (h->world.target->death == NULL) /* nobody would learn of it */
        return how;
    while (how == NULL && iw_transport_now() < until) {
        poll(NULL, 0, STEP_MS);
        how = iw_hunt_world_death(&h->world);
    }
    return how;
}

struct iw_hunt_event iw_hunt_event_of(enum iw_hunt_kind kind, const char *text)
{
    struct iw_hunt_event e = {.kind = kind};
    char *clean = iw_text_clean(text);
    size_t n = strlen(clean);

    if (n >= sizeof(e.text))
        for (n = sizeof(e.text) - 1; (clean[n] & 0xc0) == 0x80;)
            n--; /* no character in two */
    memcpy(e.text, clean, n);
    free(clean);
    return e;
}

static struct iw_hunt_event crashed(struct iw_hunt *h, const char *how)
{
    const struct iw_hunt_reports *reports = &h->world.reports;
    iw_hunt_world_read(&h->world);
    const char *report = reports->n ? reports->list[reports->last].text : h->world.trouble;
    char *text = iw_text_format("%s%s%s", how, *report ? ": " : "", report);
    struct iw_hunt_event e = iw_hunt_event_of(IW_HUNT_CRASH, text);

    if (reports->n)
        snprintf(e.cause, sizeof(e.cause), "%s", reports->list[reports->last].cause);

    free(text);
    return e;
}

/* Returns the first code of a row. */
static enum iw_hunt_answer first(const struct iw_hunt_row *row)
{
    return row->n ? (enum iw_hunt_answer)(row->at[0].code >> 24) : IW_ANSWER_NONE;
}

struct iw_hunt_event iw_hunt_look(struct iw_hunt *h, bool hanging)
{
    static const char *const unanswered[2][2] = {
        [IW_SIDE_INITIATOR] = {"connections are not accepted any more",
                               "a right Request is not answered any more"},
        [IW_SIDE_RESPONDER] = {"it does not connect any more", "no Request comes any more"}};
    bool first_of_all = !h->over && h->o->try == NULL && !iw_hunt_loop_answer_time(h->loop);
    uint64_t wait =
        patience(h, first_of_all ? FIRST_MS : PATIENCE_MS, SLOWER, hanging ? TRIED_MS : MOST_MS);

    iw_hunt_world_settle(&h->world);
    const char *how = iw_hunt_world_death(&h->world);
    if (how != NULL)
        return crashed(h, how);
    /* Wait for the Reply, or the Request, and after that not long for the peer's end, which proves
     * nothing. */
    struct iw_hunt_input *probe = iw_hunt_seed_probe(h->world.side);
    iw_hunt_drop(probe, !iw_hunt_called(h->world.side), probe->n);
    iw_hunt_insert_time(probe, probe->n, UINT16_MAX);
    iw_hunt_loop_patience(h->loop, (double)wait / 1e9, h->world.scale * IW_HUNT_PATIENCE_MS / 1e3);
    run(h, probe);
    iw_hunt_loop_patience(h->loop, 0, 0);
    iw_hunt_input_free(probe);
    if (first(&h->trial.row) == IW_ANSWER_STARTUP) {
        char text[128];
        how = iw_hunt_world_stray(&h->world, text, sizeof(text));
        iw_hunt_world_read(&h->world);
        if (how == NULL && h->world.reports.n)
            return iw_hunt_reported(&h->world.reports.list[h->world.reports.last]);
        return iw_hunt_event_of(how != NULL ? IW_HUNT_STRAY : IW_HUNT_NOTHING,
                                how != NULL ? how : "");
    }
    /* A peer that hangs accepts nothing either once its backlog is full, but refuses nothing. */
    bool connected = h->trial.connected || first(&h->trial.row) == IW_ANSWER_SILENCE;
    how = hanging && connected ? NULL : dying(h, connected);
    if (how != NULL)
        return crashed(h, how);
    return iw_hunt_event_of(connected ? IW_HUNT_HANG : IW_HUNT_REFUSAL,
                            unanswered[h->world.side][connected]);
}

void iw_hunt_end_hanging(struct iw_hunt *h, struct iw_hunt_event *e)
{
    struct iw_crash crash;
    struct iw_mishap m = {.kind = IW_MISHAP_NONE};

    if (iw_hunt_world_abort(&h->world, &crash)) {
        iw_mishap_hang(&m, &crash, e->text);
        if (m.n_names > 0)
            iw_mishaps_learn(&h->hangs, &m);
    }
    iw_hunt_world_read(&h->world);
    h->world.reports.n = 0; /* that report is our doing */
    if (m.n_names > 0) {
        char *text = iw_mishap_text(&m);

        *e = iw_hunt_event_of(e->kind, text);
        snprintf(e->cause, sizeof(e->cause), "%s", m.key);
        free(text);
    }
    iw_mishap_free(&m);
}

/* Returns what the peer has reported until its end: this cause if that is among it. */
static struct iw_hunt_event reported(const struct iw_hunt *h, const char *cause)
{
    const struct iw_hunt_reports *all = &h->world.reports;
    const struct iw_hunt_report *r = iw_hunt_reports_find(all, cause);

    if (r == NULL && all->n)
        r = &all->list[all->last];
    return r != NULL ? iw_hunt_reported(r) : iw_hunt_event_of(IW_HUNT_NOTHING, "");
}

/* Keeps what led to another cause than the one that is looked for: it is a finding, too. */
static void set_aside(struct iw_hunt *h, const struct iw_hunt_event *e,
                      const struct iw_hunt_event *wanted, struct iw_hunt_input *const *inputs,
                      size_t n)
{
    if (!*e->cause || iw_hunt_same(e, wanted) || h->n_aside == IW_HUNT_ASIDE)
        return;
    for (size_t i = 0; i < h->n_aside; i++)
        if (iw_hunt_same(e, &h->aside[i].event))
            return;
    struct iw_hunt_input **list = iw_got(calloc(n + 1, sizeof(struct iw_hunt_input *)));
    for (size_t i = 0; i < n; i++)
        list[i] = iw_hunt_input_copy(inputs[i]);
    h->aside[h->n_aside].event = *e;
    h->aside[h->n_aside].inputs = list;
    h->aside[h->n_aside++].n = n;
}

struct iw_hunt_event iw_hunt_try(struct iw_hunt *h, struct iw_hunt_input *const *inputs, size_t n,
                                 const struct iw_hunt_event *wanted, bool *requested)
{
    struct iw_hunt_event e = {.kind = IW_HUNT_NOTHING};
    size_t given = n;

    if (h->outside)
        return iw_hunt_try_elsewhere(h, inputs, n, requested);
    iw_hunt_progress(h, false); /* it may take many tries, and who watches waits for that */
    if (iw_hunt_open(h))
        return e;
    if (n > IW_HUNT_ROW && requested == NULL) {
        run_row(h, inputs, n);
        n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        iw_hunt_loop_patience(h->loop, h->patience, h->patience);
        run(h, inputs[i]);
        if (i == 0 && first(&h->trial.row) == IW_ANSWER_REFUSED) {
            /* Something else caused that. */
            iw_hunt_close(h);
            if (iw_hunt_open(h))
                return e;
            run(h, inputs[i]);
        }
        iw_hunt_loop_patience(h->loop, 0, 0);
        if (requested != NULL)
            requested[i] = h->trial.requested;
        for (size_t k = 0; wanted->kind == IW_HUNT_RULE && k < h->trial.n_findings; k++)
            if (h->trial.findings[k] == wanted->check)
                return *wanted;
        if (first(&h->trial.row) == IW_ANSWER_REFUSED)
            break;
    }
    if (wanted->kind == IW_HUNT_RULE && iw_hunt_world_death(&h->world) == NULL)
        return e;
    e = iw_hunt_look(h, wanted->kind == IW_HUNT_HANG);
    if (e.kind == IW_HUNT_HANG)
        iw_hunt_end_hanging(h, &e);
    if (e.kind || wanted->kind == IW_HUNT_REPORT)
        iw_hunt_close(h);
    if (wanted->kind == IW_HUNT_REPORT && (!e.kind || e.kind == IW_HUNT_REPORT))
        e = reported(h, wanted->cause);
    set_aside(h, &e, wanted, inputs, given);
    return e;
}
