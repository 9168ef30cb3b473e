/* SPDX-License-Identifier: BSD-3-Clause */
/* Delta debugging of a finding: sequences, pauses, frames and steps (mutate/trim.h), fields,
 * octets. A change stays if the same thing still happens. */
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "hunt.h"
#include "iwarp/octets.h"
#include "iwarp/transport.h"
#include "iwarp/wire.h"
#include "mutate/trim.h"

enum {
    AT_LEAST = 30,    /* tries, however slow that is, if each starts something elsewhere */
    TIMES_TO_TRY = 2, /* for what chance may have prevented */
    SURE = 3          /* times in a row of what does not depend on chance */
};

struct shrink {
    struct iw_hunt *h;
    struct iw_hunt_finding *f;
    size_t i; /* of the input that is worked on */
    unsigned tries;
    bool sure; /* it happened each time, and has to go on so */
    uint64_t began;
    uint64_t failed; /* digest of the sequence that was tried last, and did not do */
    struct iw_mutate_trim trim;
    uint8_t octets[IW_MUTATE_INPUT_MAX];
};

static bool spent(const struct shrink *s)
{
    uint64_t most = (uint64_t)(s->h->o->minimise * s->h->world.scale * 1e9);

    return s->tries >= IW_HUNT_TRIES || *s->h->stop ||
           ((s->tries >= AT_LEAST || !s->h->outside) && iw_transport_now() - s->began > most);
}

/* Plays the inputs to the peer. Returns whether the same happens, which the finding then has. */
static bool try_inputs(struct shrink *s, struct iw_hunt_input *const *inputs, size_t n)
{
    struct iw_hunt_event e = iw_hunt_try(s->h, inputs, n, &s->f->event, NULL);

    s->tries++;
    if (!iw_hunt_same(&e, &s->f->event))
        return false;
    s->f->event = e;
    return true;
}

/* Tries for as long as chance may decide. */
static bool reproduce(struct shrink *s, struct iw_hunt_input *const *inputs, size_t n)
{
    int i = 0;
    for (; i < TIMES_TO_TRY && !spent(s); i++)
        if (try_inputs(s, inputs, n) != s->sure)
            return !s->sure;
    return s->sure && i == TIMES_TO_TRY;
}

static struct iw_hunt_input *current(const struct shrink *s)
{
    return s->f->inputs[s->i];
}

/* Tries `with` (taken over) in place of the current input. Returns true if it stays. */
static bool replace(struct shrink *s, struct iw_hunt_input *with)
{
    struct iw_hunt_input *before = current(s);
    uint64_t digest = iw_hunt_input_digest(IW_HUNT_DIGEST, with);

    s->f->inputs[s->i] = with;
    if (digest != s->failed && !iw_hunt_input_same(before, with) &&
        reproduce(s, s->f->inputs, s->f->n_inputs)) {
        iw_hunt_input_free(before);
        return true;
    }
    s->failed = digest;
    s->f->inputs[s->i] = before;
    iw_hunt_input_free(with);
    return false;
}

static void fewer_inputs(struct shrink *s)
{
    struct iw_hunt_finding *f = s->f;

    for (size_t chunk = f->n_inputs / 2; chunk > 0; chunk /= 2)
        for (size_t at = 0; at + chunk <= f->n_inputs && f->n_inputs > chunk && !spent(s);) {
            struct iw_hunt_input *left[IW_HUNT_RECENT];
            memcpy(left, f->inputs, at * sizeof(*left));
            memcpy(left + at, f->inputs + at + chunk, (f->n_inputs - at - chunk) * sizeof(*left));
            if (!reproduce(s, left, f->n_inputs - chunk)) {
                at += chunk;
                continue;
            }
            for (size_t i = at; i < at + chunk; i++)
                iw_hunt_input_free(f->inputs[i]);
            f->n_inputs -= chunk;
            memcpy(f->inputs, left, f->n_inputs * sizeof(*left));
        }
}

/* Tries without waiting, or waiting only for the Reply: this makes later tries quick. */
static void sooner(struct shrink *s)
{
    for (size_t kept = 0; kept < 2; kept++) {
        struct iw_hunt_input *with = iw_hunt_input_copy(current(s));
        size_t waits = 0;

        for (size_t at = 0; at < with->n;) {
            if (with->steps[at].kind != IW_FUZZ_TIME || waits++ < kept)
                at++;
            else
                iw_hunt_drop(with, at, 1);
        }
        if (replace(s, with))
            return;
    }
}

/* Sends octets together that left one by one. */
static void together(struct shrink *s)
{
    for (size_t at = 0; at < current(s)->n && !spent(s); at++)
        if (current(s)->steps[at].kind == IW_FUZZ_B) {
            struct iw_hunt_input *with = iw_hunt_input_copy(current(s));
            with->steps[at].kind = IW_FUZZ_A;
            replace(s, with);
        }
}

/* Goes through these stages of trimming, up to `last`: leaves out frames and steps, joins frames
 * that were cut, shortens them. Each frame becomes a step of its own: the borders between steps
 * mean nothing to a socket. */
static void trim(struct shrink *s, enum iw_mutate_trim_stage last)
{
    struct iw_mutate_trim *t = &s->trim;
    size_t length = iw_hunt_input_write(current(s), s->octets, sizeof(s->octets));
    s->octets[0] |= IW_FUZZ_CRC; /* regular FPDUs have one */
    t->best.single = true;
    if (!iw_mutate_trim_begin(t, s->octets, length))
        return;
    for (size_t i = 0; i < t->best.count && t->best.count <= IW_HUNT_STEPS; i++)
        t->best.part[i].joined = false;
    length = iw_mutate_write(&t->best, s->octets, sizeof(s->octets));
    struct iw_hunt_input *with = iw_hunt_input_read(s->octets, length);
    bool same = iw_hunt_input_same(current(s), with); /* a pause may have been inside a frame */
    if (!replace(s, with) && !same)
        return;
    while (!spent(s) && iw_mutate_trim_try(t, s->octets, sizeof(s->octets), &length) &&
           t->stage <= last) {
        bool useful = t->stage != IW_MUTATE_TRIM_JOIN &&
                      (t->stage != IW_MUTATE_TRIM_SHORT ||
                       t->tried.part[t->at].kind != IW_MUTATE_OTHER); /* a time is no payload */
        iw_mutate_trim_verdict(t, useful && replace(s, iw_hunt_input_read(s->octets, length)));
    }
}

/* Returns the octets of the ULPDU in step `at`. */
static size_t length_at(const struct shrink *s, size_t at)
{
    return iw_get16(current(s)->steps[at].octets);
}

/* Tries other octets for those in step `at`. */
static bool say_instead(struct shrink *s, size_t at, const uint8_t *octets, size_t length)
{
    struct iw_hunt_input *with = iw_hunt_input_copy(current(s));

    iw_hunt_drop(with, at, 1);
    iw_hunt_insert(with, at, IW_FUZZ_A, octets, length);
    return replace(s, with);
}

static uint8_t fpdu[UINT16_MAX + 16]; /* to be tried */

/* Tries another value for the octets [from, from + count) of the ULPDU in step `at`. */
static bool change(struct shrink *s, size_t at, size_t from, size_t count, uint8_t value)
{
    size_t length = length_at(s, at);

    if (from + count > length || spent(s))
        return false;
    memcpy(fpdu + 2, current(s)->steps[at].octets + 2, length);
    memset(fpdu + 2 + from, 0, count);
    fpdu[2 + from + count - 1] = value;
    return say_instead(s, at, fpdu, iw_hunt_fpdu(fpdu + 2, length, fpdu));
}

/* Simplifies a regular FPDU: each field as a correct sender sets it, then zeros. */
static void plain_fpdu(struct shrink *s, size_t at)
{
    static const uint8_t fields[][2] = {{IW_AT_STAG, 4},
                                        {IW_AT_QN, 4},
                                        {IW_AT_TO, 8},
                                        {IW_AT_MSN, 4},
                                        {IW_AT_MO, 4},
                                        {IW_IN_ULPDU(IW_AT_READ_SINK_STAG), 4},
                                        {IW_IN_ULPDU(IW_AT_READ_SINK_TO), 8},
                                        {IW_IN_ULPDU(IW_AT_READ_SIZE), 4},
                                        {IW_IN_ULPDU(IW_AT_READ_SOURCE_STAG), 4},
                                        {IW_IN_ULPDU(IW_AT_READ_SOURCE_TO), 8}};
    const uint8_t *ulpdu = current(s)->steps[at].octets + IW_MPA_LENGTH_FIELD;
    uint8_t tagged = ulpdu[IW_AT_DDP_CONTROL] & IW_DDP_T;
    uint8_t opcode = ulpdu[IW_AT_RDMAP_CONTROL] & IW_RDMAP_OPCODE;
    size_t header = tagged ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER;

    change(s, at, IW_AT_DDP_CONTROL, 1, (uint8_t)(tagged | IW_DDP_L | 1));
    change(s, at, IW_AT_RDMAP_CONTROL, 1, (uint8_t)(0x40 | opcode));
    for (size_t k = 0; k < sizeof(fields) / sizeof(*fields); k++)
        if (!change(s, at, fields[k][0], fields[k][1], 0) && fields[k][0] == IW_AT_MSN &&
            header == IW_DDP_UNTAGGED_HEADER)
            change(s, at, IW_AT_MSN, 4, 1);
    for (size_t k = header; k + 4 <= length_at(s, at); k += 4)
        change(s, at, k, 4, 0);
}

/* Replaces octets that are no regular FPDU by zeros. */
static void plain_octets(struct shrink *s, size_t at)
{
    for (size_t k = 0; k < current(s)->steps[at].length && !spent(s); k++) {
        struct iw_hunt_input *with = iw_hunt_input_copy(current(s));

        with->steps[at].octets[k] = 0;
        replace(s, with);
    }
}

static void usual_startup(struct shrink *s, size_t at)
{
    struct iw_hunt_input *probe = iw_hunt_seed_probe(s->h->world.side);
    const struct iw_hunt_step *usual = probe->steps;

    while (!iw_hunt_sends(usual))
        usual++;
    say_instead(s, at, usual->octets, usual->length);
    iw_hunt_input_free(probe);
}

static void plainer(struct shrink *s)
{
    for (size_t at = 0; at < current(s)->n && !spent(s); at++) {
        const struct iw_hunt_step *step = &current(s)->steps[at];

        if (!iw_hunt_sends(step) || !step->length)
            continue;
        if (iw_hunt_startup_size(step->octets, step->length))
            usual_startup(s, at);
        else if (iw_hunt_regular(step->octets, step->length))
            plain_fpdu(s, at);
        else
            plain_octets(s, at);
    }
}

void iw_hunt_shrink(struct iw_hunt *h, struct iw_hunt_finding *f)
{
    struct shrink *s = iw_got(calloc(1, sizeof(*s)));
    s->h = h;
    s->f = f;
    s->sure = true;
    s->began = iw_transport_now();
    if (h->examining != NULL)
        h->examining->minimising = true;
    for (int i = 0; i < SURE && s->sure; i++)
        s->sure = try_inputs(s, f->inputs, f->n_inputs);
    fewer_inputs(s);
    for (; s->i < f->n_inputs; s->i++) {
        sooner(s);
        together(s);
        trim(s, IW_MUTATE_TRIM_REPAIR);
        plainer(s);
        trim(s, IW_MUTATE_TRIM_DROP); /* what had to stay only for what is gone */
    }
    free(s);
}
