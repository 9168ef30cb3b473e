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
    for (struct iw_hunt_finding *f = h->findings; f; f = f->next)
        if (!strcmp(f->key, key)) {
            f->times++;
            return true;
        }
    return false;
}

/* Halves the row of suspects as long as one of the halves reproduces the event. */
static struct iw_hunt_event halve(struct iw_hunt *h, const struct iw_hunt_event *event,
                                  struct iw_hunt_input *const *suspects, size_t *from,
                                  size_t *count)
{
    struct iw_hunt_event last = {.kind = IW_HUNT_NOTHING}, e;

    for (int i = 0; i < AGAIN && !iw_hunt_same(&last, event) && !*h->stop; i++)
        last = iw_hunt_try(h, suspects + *from, *count, event, NULL);
    while (iw_hunt_same(&last, event) && *count > 1 && !*h->stop) {
        size_t half = *count / 2;

        e = iw_hunt_try(h, suspects + *from + half, *count - half, event, NULL);
        if (iw_hunt_same(&e, event)) {
            *from += half;
            *count -= half;
            continue;
        }
        e = iw_hunt_try(h, suspects + *from, half, event, NULL);
        if (!iw_hunt_same(&e, event))
            break; /* it takes both */
        *count = half;
    }
    return last;
}

/* Finds the newest suspect that reproduces the event alone; sets *from to its place. */
static struct iw_hunt_event alone(struct iw_hunt *h, const struct iw_hunt_event *event,
                                  struct iw_hunt_input *const *suspects, size_t n, size_t *from)
{
    struct iw_hunt_event e = {.kind = IW_HUNT_NOTHING};

    for (*from = n; *from > 0 && n - *from < NEWEST && !iw_hunt_same(&e, event) && !*h->stop;) {
        --*from;
        e = iw_hunt_try(h, suspects + *from, 1, event, NULL);
    }
    return e;
}

/* Tries the newest suspects without waiting for answers, as a peer that was slow in the hunt may
 * have let an answer's time run out. Sets *input to a new one that reproduces the event. */
static struct iw_hunt_event hurried(struct iw_hunt *h, const struct iw_hunt_event *event,
                                    struct iw_hunt_input *const *suspects, size_t n,
                                    struct iw_hunt_input **input)
{
    struct iw_hunt_event e = {.kind = IW_HUNT_NOTHING};

    for (size_t i = n; i > 0 && n - i < HURRIED && !*h->stop; i--) {
        struct iw_hunt_input *in = iw_hunt_input_copy(suspects[i - 1]);

        for (size_t k = in->n; k > 0; k--)
            if (in->steps[k - 1].kind == IW_FUZZ_TIME)
                iw_hunt_drop(in, k - 1, 1);
        e = iw_hunt_try(h, &in, 1, event, NULL);
        if (iw_hunt_same(&e, event)) {
            *input = in;
            break;
        }
        iw_hunt_input_free(in);
    }
    return e;
}

/* Returns a finding of now with copies of these inputs, without a key. */
static struct iw_hunt_finding *finding_of(struct iw_hunt *h, const struct iw_hunt_event *event,
                                          struct iw_hunt_input *const *inputs, size_t n)
{
    struct iw_hunt_finding *f = iw_got(calloc(1, sizeof(*f)));

    f->event = *event;
    f->number = h->over;
    f->seconds = iw_hunt_elapsed(h);
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
    size_t from = n, count = 1;
    struct iw_hunt_event e = {.kind = IW_HUNT_NOTHING};
    struct iw_hunt_input *quick = NULL;

    h->patience = 0;
    if (!h->outside)
        e = alone(h, event, suspects, n, &from);
    if (!iw_hunt_same(&e, event)) {
        h->patience = h->world.scale * IW_HUNT_PATIENCE_MS / 1e3;
        e = alone(h, event, suspects, n, &from);
    }
    for (size_t row = n < NEWEST ? n : NEWEST; row && !iw_hunt_same(&e, event) && !*h->stop;) {
        from = n - row;
        count = row;
        e = halve(h, event, suspects, &from, &count);
        if (row == n)
            break;
        row = n / MORE > row ? row * MORE : n;
    }
    if (iw_hunt_same(&e, event))
        return finding_of(h, &e, suspects + from, count);
    e = hurried(h, event, suspects, n, &quick);
    if (!quick)
        return NULL;
    struct iw_hunt_finding *f = finding_of(h, &e, &quick, 1);
    iw_hunt_input_free(quick);
    return f;
}

/* Returns the finding's key. Two crashes without a sanitizer's report count as the same if the last
 * thing sent is the same. */
static char *key_of(const struct iw_hunt_finding *f)
{
    char key[IW_HUNT_KEY];
    char said[64] = "";
    const struct iw_hunt_input *last = f->inputs[f->n_inputs - 1];

    iw_hunt_key(&f->event, key, sizeof(key));
    if (f->event.kind == IW_HUNT_RULE)
        return iw_text_copy(key);
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

static void append(struct iw_hunt *h, struct iw_hunt_finding *f)
{
    struct iw_hunt_finding **last = &h->findings;

    while (*last)
        last = &(*last)->next;
    *last = f;
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

/* Counts an event that has been looked into a few times, and returns true: it needs no other look.
 * A known finding does not stand in for one that may be unknown. */
static bool count_seen_often(struct iw_hunt *h, const struct iw_hunt_event *event)
{
    struct iw_hunt_finding *last = NULL;
    uint64_t times = 0;
    char own[IW_HUNT_KEY], other[IW_HUNT_KEY];

    iw_hunt_key(event, own, sizeof(own));
    for (struct iw_hunt_finding *f = h->findings; f; f = f->next) {
        iw_hunt_key(&f->event, other, sizeof(other));
        if (strcmp(own, other) != 0)
            continue;
        last = f;
        if (!f->suppressed || known_anyway(h, own))
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
    append(h, f);
    if (n)
        iw_hunt_write_unplayed(h, f, (unsigned)iw_hunt_counted(h, true));
    iw_hunt_tell(h, f);
}

/* Gives the finding the key that its inputs make. Returns false, and frees it, if such a finding is
 * known; that is counted. */
static bool is_news(struct iw_hunt *h, struct iw_hunt_finding *f)
{
    free(f->key);
    f->key = key_of(f);
    if (!count_known(h, f->key))
        return true;
    iw_hunt_finding_free(f);
    return false;
}

void iw_hunt_triage(struct iw_hunt *h, const struct iw_hunt_event *event,
                    struct iw_hunt_input *const *suspects, size_t n)
{
    char key[IW_HUNT_KEY];

    iw_hunt_key(event, key, sizeof(key));
    if (event->kind == IW_HUNT_RULE ? count_known(h, key) : count_seen_often(h, event))
        return;
    if (!h->outside && !*h->stop && iw_hunt_open(h)) {
        iw_hunt_unexplained(h, event, suspects, n);
        return;
    }
    struct iw_hunt_finding *f = isolate(h, event, suspects, n);
    if (!f) { /* Interrupted, what did it may be among them. */
        if (!h->outside && *h->stop)
            iw_hunt_close(h);
        iw_hunt_unexplained(h, event, suspects, *h->stop ? n : 0);
        return;
    }
    if (!is_news(h, f))
        return;
    iw_hunt_shrink(h, f);
    if (!is_news(h, f)) /* after shrinking, the key may be another one */
        return;
    f->suppressed = iw_hunt_known(h, f->key, NULL);
    if (f->n_inputs == 1 && (event->kind == IW_HUNT_CRASH || event->kind == IW_HUNT_HANG))
        f->n_pattern = iw_hunt_pattern(f->inputs[0], f->pattern, IW_HUNT_PATTERN);
    append(h, f);
    unsigned number = (unsigned)iw_hunt_counted(h, true);
    if (!iw_hunt_write_case(h, f, number))
        iw_complain("finding %u (%s) could not be shown again by its case", number, f->key);
    iw_hunt_tell(h, f);
}
