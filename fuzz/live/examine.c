/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks into events beside the hunt: a child for each, with a target of its own. What it finds
 * comes back as a line of findings.jsonl. Without a board (the peer cannot be started a second
 * time) the hunt waits. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/text.h"
#include "hunt.h"

enum {
    AGAIN_SECONDS = 30, /* until what could not be shown is tried again */
    TIMES_AGAIN = 2,
    REST_SECONDS = 60, /* for what is under way when the hunt is over ... */
    STOP_SECONDS = 10, /* ... and for its end after a signal */
    STEP_MS = 20
};

static uint64_t after(const struct iw_hunt *h, double seconds)
{
    return iw_transport_now() + (uint64_t)(seconds * h->world.scale * 1e9);
}

/* Returns true if there is a finding of this event that could be shown. */
static bool is_found(const struct iw_hunt *h, const struct iw_hunt_event *event)
{
    char own[IW_HUNT_KEY], other[IW_HUNT_KEY];

    iw_hunt_key(event, own, sizeof(own));
    for (const struct iw_hunt_finding *f = h->findings; f != NULL; f = f->next) {
        iw_hunt_key(&f->event, other, sizeof(other));
        if (f->row == NULL && f->n_inputs + f->told_inputs && strcmp(own, other) == 0)
            return true;
    }
    return false;
}

void iw_hunt_settle(struct iw_hunt *h, const struct iw_hunt_event *event)
{
    char key[IW_HUNT_KEY];
    bool named = *event->cause || event->kind == IW_HUNT_RULE;

    iw_hunt_key(event, key, sizeof(key));
    iw_hunt_board_release(h->board, key, named && is_found(h, event));
}

/* ---- the child ---- */

static _Noreturn void look_into(struct iw_hunt *h, const struct iw_hunt_pending *p, pid_t parent)
{
    unsigned number = h->member * IW_HUNT_EXAMINERS + p->slot + 1;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(IW_EXIT_TESTER);
    iw_hunt_board_inherit(h->board); /* the targets of the parent are not ours to close */
    h->examining = iw_hunt_board_examining(h->board, h->member, p->slot);
    h->event = p;
    h->world =
        (struct iw_hunt_world){.spec = h->spec,
                               .log = iw_text_format("%s/target-again-%u.log", h->dir, number),
                               .scale = h->world.scale,
                               .slots = h->world.slots,
                               .side = h->world.side,
                               .listener = -1};
    iw_hunt_make_loop(h);
    iw_hunt_triage(h, &p->event, p->inputs, p->n);
    iw_hunt_settle(h, &p->event);
    iw_hunt_close(h);
    _exit(0);
}

/* ---- what waits, and what is under way ---- */

static void forget(struct iw_hunt_pending *p)
{
    iw_hunt_inputs_free(p->inputs, p->n);
    free(p->inputs);
    *p = (struct iw_hunt_pending){.inputs = NULL};
}

static void start(struct iw_hunt *h, struct iw_hunt_pending *p)
{
    bool used[IW_HUNT_EXAMINERS] = {false};
    unsigned slot = 0;
    for (const struct iw_hunt_pending *q = h->pending; q < h->pending + IW_HUNT_PENDING; q++)
        if (q->pid > 0)
            used[q->slot] = true;
    while (slot < IW_HUNT_EXAMINERS && used[slot])
        slot++;
    if (slot == IW_HUNT_EXAMINERS)
        return;
    p->slot = slot;
    *iw_hunt_board_examining(h->board, h->member, slot) = (struct iw_hunt_examining){.busy = true};
    iw_hunt_load_findings(h); /* the child is to know what is found */
    fflush(NULL);             /* what is in buffers is the parent's */
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        look_into(h, p, parent);
    if (pid < 0)
        iw_complain("cannot look into %s: %s", p->event.text, strerror(errno));
    else
        p->pid = pid;
}

/* Handles the end of a child. */
static void ended(struct iw_hunt *h, struct iw_hunt_pending *p, int status)
{
    *iw_hunt_board_examining(h->board, h->member, p->slot) =
        (struct iw_hunt_examining){.busy = false};
    p->pid = 0;
    iw_hunt_load_findings(h);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) { /* it was ended */
        iw_hunt_settle(h, &p->event);
        if (!is_found(h, &p->event))
            iw_hunt_unexplained(h, &p->event, p->inputs, p->n);
    }
    if (is_found(h, &p->event) || p->times++ == TIMES_AGAIN)
        forget(p);
    else
        p->not_before = after(h, AGAIN_SECONDS);
}

static void reap(struct iw_hunt *h)
{
    for (struct iw_hunt_pending *p = h->pending; p < h->pending + IW_HUNT_PENDING; p++) {
        int status;

        if (p->pid > 0 && TEMP_FAILURE_RETRY(waitpid(p->pid, &status, WNOHANG)) == p->pid)
            ended(h, p, status);
    }
}

void iw_hunt_look_beside(struct iw_hunt *h)
{
    reap(h);
    for (struct iw_hunt_pending *p = h->pending; p < h->pending + IW_HUNT_PENDING; p++)
        if (p->inputs != NULL && !p->pid && iw_transport_now() >= p->not_before)
            start(h, p);
}

void iw_hunt_examine(struct iw_hunt *h, const struct iw_hunt_event *event,
                     struct iw_hunt_input *const *suspects, size_t n)
{
    struct iw_hunt_pending *p = h->pending, *end = h->pending + IW_HUNT_PENDING;
    char key[IW_HUNT_KEY];

    if (h->board == NULL) {
        iw_hunt_triage(h, event, suspects, n);
        return;
    }
    iw_hunt_key(event, key, sizeof(key));
    if (!iw_hunt_board_claim(h->board, key, IW_HUNT_OFTEN))
        return;
    while (p < end && p->inputs != NULL)
        p++;
    for (struct iw_hunt_pending *q = h->pending; p == end && q < end; q++)
        if (!q->pid && q->times) { /* what could not be shown gives way to what is new */
            forget(q);
            p = q;
        }
    if (p == end) { /* it will come again */
        iw_hunt_board_release(h->board, key, false);
        return;
    }
    *p =
        (struct iw_hunt_pending){.event = *event, .number = h->over, .seconds = iw_hunt_elapsed(h)};
    p->inputs = iw_got(calloc(n + 1, sizeof(struct iw_hunt_input *)));
    for (; p->n < n; p->n++)
        p->inputs[p->n] = iw_hunt_input_copy(suspects[p->n]);
    start(h, p);
}

/* ---- the end ---- */

static bool any_left(struct iw_hunt *h, bool waiting)
{
    for (const struct iw_hunt_pending *p = h->pending; p < h->pending + IW_HUNT_PENDING; p++)
        if (p->pid > 0 || (waiting && p->inputs != NULL))
            return true;
    return false;
}

static void signal_all(const struct iw_hunt *h, int number)
{
    for (const struct iw_hunt_pending *p = h->pending; p < h->pending + IW_HUNT_PENDING; p++)
        if (p->pid > 0)
            kill(p->pid, number);
}

/* Waits until nothing is under way. Returns false if that takes too long. */
static bool await(struct iw_hunt *h, uint64_t until, bool all)
{
    while (any_left(h, all && !*h->stop) && iw_transport_now() < until) {
        if (all && *h->stop)
            return false;
        if (all)
            iw_hunt_look_beside(h);
        else
            reap(h);
        iw_hunt_progress(h, false);
        poll(NULL, 0, STEP_MS);
    }
    return !any_left(h, false);
}

void iw_hunt_look_last(struct iw_hunt *h)
{
    for (struct iw_hunt_pending *p = h->pending; p < h->pending + IW_HUNT_PENDING; p++) {
        p->not_before = 0; /* once more, and not again */
        p->times = p->times ? TIMES_AGAIN : p->times;
    }
    if (!await(h, after(h, REST_SECONDS), true)) {
        signal_all(h, SIGTERM);
        if (!await(h, after(h, STOP_SECONDS), false)) {
            signal_all(h, SIGKILL);
            await(h, UINT64_MAX, false);
        }
    }
    for (struct iw_hunt_pending *p = h->pending; p < h->pending + IW_HUNT_PENDING; p++) {
        if (p->inputs != NULL && !p->times) { /* nobody has had the time */
            iw_hunt_settle(h, &p->event);
            iw_hunt_unexplained(h, &p->event, p->inputs, p->n);
        }
        if (p->inputs != NULL)
            forget(p);
    }
}
