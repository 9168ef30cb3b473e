/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns an event into a finding. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/complain.h"
#include "host/text.h"
#include "hunt.h"

enum {
    NEWEST = 2 * IW_HUNT_SLOTS,
    MORE = 8,  /* times as many, if those do not do it together */
    AGAIN = 3, /* tries for what chance may have prevented */
    HURRIED = 8
};

#define UNEXPLAINED "unexplained "

/* Counts a finding that is known already. Returns false if it is not. */
static bool count_known(struct iw_hunt *h, const char *key)
{
    for (struct iw_hunt_finding *f = h->findings; f != NULL; f = f->next)
        if (strcmp(f->key, key) == 0) {
            f->times++;
            return true;
        }
    return false;
}

/* The search for what caused an event. */
struct search {
    struct iw_hunt *h;
    const struct iw_hunt_event *event;
    struct iw_hunt_input *const *suspects;
    size_t n;
    struct iw_hunt_event again; /* as it was reproduced */
};

/* Tries these. Returns true if they reproduce the event. */
static bool reproduce(struct search *s, struct iw_hunt_input *const *inputs, size_t n)
{
    struct iw_hunt_event e = iw_hunt_try(s->h, inputs, n, s->event, NULL);
    if (!iw_hunt_same(&e, s->event))
        return false;
    s->again = e;
    return true;
}

/* Tries these on a target that has seen nothing else: what came before may have been part of it. */
static bool fresh(struct search *s, struct iw_hunt_input *const *inputs, size_t n)
{
    if (!s->h->outside)
        iw_hunt_close(s->h);
    return reproduce(s, inputs, n);
}

/* The same, a few times: chance may prevent it. */
static bool confirm(struct search *s, struct iw_hunt_input *const *inputs, size_t n)
{
    bool found = false;

    for (int i = 0; i < AGAIN && !found && !*s->h->stop; i++)
        found = fresh(s, inputs, n);
    return found;
}

/* Halves the row of suspects as long as one of the halves reproduces the event. Returns false if
 * the whole row does not. */
static bool halve(struct search *s, size_t *from, size_t *count)
{
    bool found = confirm(s, s->suspects + *from, *count);
    while (found && *count > 1 && !*s->h->stop) {
        size_t half = *count / 2;
        if (fresh(s, s->suspects + *from + half, *count - half)) {
            *from += half;
            *count -= half;
        } else if (fresh(s, s->suspects + *from, half)) {
            *count = half;
        } else {
            break; /* it takes both */
        }
    }
    return found;
}

/* Finds the newest suspect that reproduces the event alone; sets *from to its place. */
static bool find_one(struct search *s, size_t *from)
{
    bool found = false;
    for (*from = s->n; *from > 0 && s->n - *from < NEWEST && !found && !*s->h->stop;)
        found = reproduce(s, s->suspects + --*from, 1) && confirm(s, s->suspects + *from, 1);
    return found;
}

/* Tries the newest suspects without waiting for answers, as a peer that was slow in the hunt may
 * have let an answer's time run out. Returns a new one that reproduces the event, or NULL. */
static struct iw_hunt_input *hurried(struct search *s)
{
    for (size_t i = s->n; i > 0 && s->n - i < HURRIED && !*s->h->stop; i--) {
        struct iw_hunt_input *in = iw_hunt_input_copy(s->suspects[i - 1]);
        for (size_t k = in->n; k > 0; k--)
            if (in->steps[k - 1].kind == IW_FUZZ_TIME)
                iw_hunt_drop(in, k - 1, 1);
        if (reproduce(s, &in, 1))
            return in;
        iw_hunt_input_free(in);
    }
    return NULL;
}

/* Returns a finding of now with copies of these inputs, without a key. */
static struct iw_hunt_finding *finding_of(struct iw_hunt *h, const struct iw_hunt_event *event,
                                          struct iw_hunt_input *const *inputs, size_t n)
{
    struct iw_hunt_finding *f = iw_got(calloc(1, sizeof(*f)));

    f->event = *event;
    f->number = h->event != NULL ? h->event->number : h->over;
    f->seconds = h->event != NULL ? h->event->seconds : iw_hunt_elapsed(h);
    f->times = 1;
    f->inputs = iw_got(calloc(n + 1, sizeof(*f->inputs)));
    f->requested = iw_got(calloc(n + 1, sizeof(*f->requested)));
    for (; f->n_inputs < n; f->n_inputs++)
        f->inputs[f->n_inputs] = iw_hunt_input_copy(inputs[f->n_inputs]);
    return f;
}

/* Finds the sequence that caused the event: mostly one of the newest, alone, and with no more
 * patience than in the hunt. Further tries use the patience that reproduced it. Returns NULL if
 * none does. */
static struct iw_hunt_finding *isolate(struct iw_hunt *h, const struct iw_hunt_event *event,
                                       struct iw_hunt_input *const *suspects, size_t n)
{
    struct search s = {.h = h, .event = event, .suspects = suspects, .n = n};
    size_t from = n, count = 1;
    h->patience = 0;
    bool found = !h->outside && find_one(&s, &from);
    if (!found) {
        h->patience = h->world.scale * IW_HUNT_PATIENCE_MS / 1e3;
        found = find_one(&s, &from);
    }
    for (size_t row = n < NEWEST ? n : NEWEST; row && !found && !*h->stop;) {
        from = n - row;
        count = row;
        found = halve(&s, &from, &count);
        if (row == n)
            break;
        row = n / MORE > row ? row * MORE : n;
    }
    if (found)
        return finding_of(h, &s.again, suspects + from, count);
    struct iw_hunt_input *quick = hurried(&s);
    struct iw_hunt_finding *f = quick != NULL ? finding_of(h, &s.again, &quick, 1) : NULL;
    iw_hunt_input_free(quick);
    return f;
}

/* Returns the finding's key: the cause that the peer's report names, or the rule. Without either
 * two findings count as the same if the message that provokes them, the last one sent, is the same.
 */
static char *key_of(const struct iw_hunt_finding *f)
{
    char key[IW_HUNT_KEY];
    iw_hunt_key(&f->event, key, sizeof(key));
    if (f->event.kind == IW_HUNT_RULE || *f->event.cause)
        return iw_text_copy(key);
    char said[64] = "";
    const struct iw_hunt_input *last = f->inputs[f->n_inputs - 1];
    for (size_t i = last->n; i > 0 && !*said; i--) {
        const struct iw_hunt_step *s = &last->steps[i - 1];

        if (!iw_hunt_sends(s) || s->length == 0)
            continue;
        if (iw_hunt_startup_size(s->octets, s->length))
            snprintf(said, sizeof(said), ", after a %s",
                     iw_wire_mpa_key(s->octets) == IW_MPA_KEY_REPLY ? "Reply" : "Request");
        else if (iw_hunt_regular(s->octets, s->length) && s->length > 3)
            snprintf(said, sizeof(said), ", after opcode %x",
                     s->octets[IW_MPA_LENGTH_FIELD + IW_AT_RDMAP_CONTROL] & IW_RDMAP_OPCODE);
        else
            snprintf(said, sizeof(said), ", after odd octets");
    }
    return iw_text_format("%s%s", key, said);
}

/* Returns true if the finding is known whatever was sent last: another look would bring nothing. */
static bool known_anyway(const struct iw_hunt *h, const char *key)
{
    char *longer = iw_text_format("%s, after anything", key);
    char *reason = iw_hunt_known(h, longer, NULL);
    bool known = reason != NULL;

    free(reason);
    free(longer);
    return known;
}

/* Counts an event whose cause is known, or that has been looked into a few times, and returns true:
 * it needs no other look. A known finding does not stand in for one that may be unknown. */
static bool count_seen_often(struct iw_hunt *h, const struct iw_hunt_event *event)
{
    char own[IW_HUNT_KEY];
    iw_hunt_key(event, own, sizeof(own));
    struct iw_hunt_finding *last = NULL;
    uint64_t times = 0;
    for (struct iw_hunt_finding *f = h->findings; f != NULL; f = f->next) {
        char other[IW_HUNT_KEY];
        iw_hunt_key(&f->event, other, sizeof(other));
        if (strcmp(own, other) != 0)
            continue;
        last = f;
        if (*event->cause && strcmp(own, f->key) == 0)
            times = IW_HUNT_OFTEN;
        if (f->suppressed == NULL || known_anyway(h, own))
            times += f->times;
    }
    if (times < IW_HUNT_OFTEN)
        return false;
    last->times++;
    return true;
}

void iw_hunt_unexplained(struct iw_hunt *h, const struct iw_hunt_event *event,
                         struct iw_hunt_input *const *suspects, size_t n)
{
    char key[IW_HUNT_KEY + sizeof(UNEXPLAINED)] = UNEXPLAINED;

    iw_hunt_key(event, key + strlen(key), IW_HUNT_KEY);
    if (count_known(h, key))
        return;
    size_t skip = n > NEWEST ? n - NEWEST : 0;
    struct iw_hunt_finding *f = finding_of(h, event, suspects + skip, n - skip);
    f->key = iw_text_copy(key);
    f->suppressed = iw_hunt_known(h, f->key, NULL);
    if (n) {
        unsigned number = iw_hunt_number(h);
        iw_hunt_write_unplayed(h, f, number);
        iw_hunt_write_row(h, f, suspects, n, number);
    }
    if (h->board == NULL || h->examining != NULL) {
        iw_hunt_finding_add(h, f);
        iw_hunt_tell(h, f);
    } else { /* all that hunters know comes from that file */
        iw_hunt_save_finding(h, f);
        iw_hunt_finding_free(f);
        iw_hunt_load_findings(h);
    }
}

/* Gives the finding the key that its inputs make. Returns false, and frees it, if such a finding is
 * known; that is counted. */
static bool give_key(struct iw_hunt *h, struct iw_hunt_finding *f)
{
    free(f->key);
    f->key = key_of(f);
    if (!count_known(h, f->key))
        return true;
    iw_hunt_finding_free(f);
    return false;
}

/* Writes the case, and plays it: its verdict must be that of the finding itself. If it is not, the
 * sequences are taken as they were found. Frees the one that did not do, or both, and returns
 * false: the finding cannot be shown. */
static bool show(struct iw_hunt *h, struct iw_hunt_finding **f, struct iw_hunt_finding **whole,
                 unsigned number)
{
    bool shown = iw_hunt_write_case(h, *f, number);

    /* In another kernel the tries have shown it, even if the case could not be played there. */
    shown = shown || (h->outside && (*f)->file != NULL && (*f)->verdict == NULL);
    if (!shown && !*h->stop) {
        struct iw_hunt_finding *small = *f;

        *f = *whole;
        *whole = small;
        (*f)->key = key_of(*f);
        shown = iw_hunt_write_case(h, *f, number);
    }
    iw_hunt_finding_free(*whole);
    if (!shown) {
        iw_hunt_unwrite(*f);
        iw_hunt_finding_free(*f);
    }
    return shown;
}

static void triage(struct iw_hunt *h, const struct iw_hunt_event *event,
                   struct iw_hunt_input *const *suspects, size_t n)
{
    char key[IW_HUNT_KEY];
    iw_hunt_key(event, key, sizeof(key));
    if (h->board == NULL &&
        (event->kind == IW_HUNT_RULE ? count_known(h, key) : count_seen_often(h, event)))
        return; /* else the caller has claimed it */
    if (!h->outside && !*h->stop && iw_hunt_open(h)) {
        iw_hunt_unexplained(h, event, suspects, n);
        return;
    }
    struct iw_hunt_finding *f = isolate(h, event, suspects, n);
    if (f == NULL) {
        if (!h->outside && *h->stop)
            iw_hunt_close(h);
        iw_hunt_unexplained(h, event, suspects, n);
        return;
    }
    if (!give_key(h, f))
        return;
    struct iw_hunt_finding *whole = finding_of(h, &f->event, f->inputs, f->n_inputs);
    iw_hunt_shrink(h, f);
    if (!give_key(h, f)) { /* after shrinking, the key may be another one */
        iw_hunt_finding_free(whole);
        return;
    }
    unsigned number = iw_hunt_number(h);
    if (!show(h, &f, &whole, number)) {
        iw_hunt_unexplained(h, event, suspects, n);
        return;
    }
    f->suppressed = iw_hunt_known(h, f->key, NULL);
    if (f->n_inputs == 1 && (event->kind == IW_HUNT_CRASH || event->kind == IW_HUNT_HANG))
        f->n_pattern = iw_hunt_pattern(f->inputs[0], f->pattern, IW_HUNT_PATTERN);
    iw_hunt_finding_add(h, f);
    iw_hunt_tell(h, f);
}

/* Returns true if an event that was met is still to be looked into. */
static bool claim(struct iw_hunt *h, const struct iw_hunt_event *event)
{
    char key[IW_HUNT_KEY];

    iw_hunt_key(event, key, sizeof(key));
    return h->board == NULL || iw_hunt_board_claim(h->board, key, IW_HUNT_OFTEN);
}

void iw_hunt_triage(struct iw_hunt *h, const struct iw_hunt_event *event,
                    struct iw_hunt_input *const *suspects, size_t n)
{
    triage(h, event, suspects, n);
    while (h->n_aside) {
        size_t i = --h->n_aside;
        struct iw_hunt_event other = h->aside[i].event;
        struct iw_hunt_input **inputs = h->aside[i].inputs;
        size_t n_inputs = h->aside[i].n;

        if (!*h->stop && claim(h, &other)) {
            triage(h, &other, inputs, n_inputs);
            if (h->board != NULL)
                iw_hunt_settle(h, &other);
        }
        iw_hunt_inputs_free(inputs, n_inputs);
        free(inputs);
    }
}
