/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The observer with the segments of both sides: out of order, with gaps, cut, or given as ULPDUs.
 * Its output must be consistent; and where no octet is missing, it must be the same for any
 * segments, unless there are Markers without CRCs.
 *
 *   settings[1]: bits below; settings[2]: blocks that it is lent at a time, 0: enough;
 *   settings[3]: with TOLD bits nothing; else what is assumed if JOINED (two bits each: Markers of
 *   A, of B, CRC)
 *   IW_FUZZ_LOCAL: enum call (1), side (1), how far ahead (2), how many octets (2)
 *   IW_FUZZ_A, _B of a side with its TOLD bit: a ULPDU, or its start-up frame; top bit of the
 *   kind: broken
 */
#include "engine/fuzz.h"
#include "input/input.h"
#include "input/start_up.h"
#include "oracle/blocks.h"

#include "iwarp/observer.h"
#include "iwarp/wire.h"

#include <string.h>

enum {
    EXTENSIONS = 0x01,
    DEFAULTS = 0x02,
    EMSS = 0x04,
    TOLD_A = 0x08,
    TOLD_B = 0x10,
    JOINED = 0x20
};

enum call { GAP, ACKED, FLUSH, ASSUME, CALLS };

struct summary {
    uint64_t hash;
    size_t count;
    bool missed;  /* octets were given up, or framing was sought or lost */
    bool markers; /* a side asked for Markers */
    bool crc;     /* for CRCs, and none was left out */
};

static void *memory, *scratch;
static uint8_t settings[IW_FUZZ_SETTINGS];
static struct iw_observer *observer;
static uint64_t pos[2], shown[2];
static bool framed[2];
static unsigned frames; /* bit per side: its start-up frame was seen */
static struct summary summary;

static void mix(uint64_t value)
{
    iw_fuzz_mix(&summary.hash, value);
}

static enum iw_side side_of(unsigned bit)
{
    return bit & 1 ? IW_SIDE_RESPONDER : IW_SIDE_INITIATOR;
}

static bool given_as_ulpdus(enum iw_side side)
{
    return (settings[1] & (side == IW_SIDE_INITIATOR ? TOLD_A : TOLD_B)) != 0;
}

static void check(const struct iw_observation *o)
{
    bool positions = !given_as_ulpdus(o->side);

    IW_FUZZ_CHECK(o->side == IW_SIDE_INITIATOR || o->side == IW_SIDE_RESPONDER,
                  "observer: of no side");
    IW_FUZZ_CHECK(o->pos <= o->end, "observer: something of a negative length");
    if (o->kind == IW_OBSERVED_SEGMENT && positions) {
        IW_FUZZ_CHECK(o->pos >= shown[o->side], "observer: a segment at %llu after one at %llu",
                      (unsigned long long)o->pos, (unsigned long long)shown[o->side]);
        shown[o->side] = o->end;
    }
    if (o->kind != IW_OBSERVED_SEGMENT && o->kind != IW_OBSERVED_MESSAGE)
        return;
    IW_FUZZ_CHECK(o->ulpdu_captured <= o->ulpdu_length && o->payload_captured <= o->payload_length,
                  "observer: more is here than there is");
    IW_FUZZ_CHECK(o->payload == NULL ||
                      (o->payload >= o->ulpdu &&
                       o->payload + o->payload_captured <= o->ulpdu + o->ulpdu_captured),
                  "observer: a payload that is not in its segment");
}

static void seen(void *context, const struct iw_observation *o)
{
    (void)context;
    check(o);
    summary.missed |=
        o->kind == IW_OBSERVED_GAP || o->kind == IW_OBSERVED_RESYNC || o->kind == IW_OBSERVED_LOST;
    summary.count++;
    mix(o->kind);
    mix(o->side);
    mix(o->pos);
    mix(o->end);
    switch (o->kind) {
    case IW_OBSERVED_STARTUP:
        frames |= 1u << o->side;
        if (o->frame_length > IW_AT_MPA_FLAGS) {
            summary.markers |= (o->frame[IW_AT_MPA_FLAGS] & IW_MPA_FLAG_M) != 0;
            summary.crc |= (o->frame[IW_AT_MPA_FLAGS] & IW_MPA_FLAG_C) != 0;
        }
        iw_fuzz_mix_octets(&summary.hash, o->frame, o->frame_length);
        break;
    case IW_OBSERVED_MESSAGE:
        mix(o->message_length);
        mix(o->segments);
        mix(o->partial);
        mix(o->provoked_by != NULL ? (uint64_t)o->provoked_by->check : 0);
        break;
    case IW_OBSERVED_SEGMENT:
        iw_fuzz_mix_octets(&summary.hash, o->ulpdu, o->ulpdu_captured);
        break;
    case IW_OBSERVED_FINDING:
    case IW_OBSERVED_LOST:
        summary.crc = summary.crc && o->fault.check != IW_CHECK_MPA_CRC_ABSENT;
        mix(o->fault.check);
        mix(o->fault.pos);
        mix(o->fault.got);
        mix(o->fault.want);
        mix(o->cause);
        break;
    default:
        break;
    }
}

/* Feeds one segment. */
static void feed(enum iw_side side, uint64_t at, const uint8_t *octets, size_t length)
{
    (void)iw_observer_input(observer, side, at, iw_fuzz_fenced(octets, length), length);
}

/* Feeds octets of a side: as one segment, or in another order and with repeats. */
static void arrive(enum iw_side side, const struct iw_fuzz_step *step, bool otherwise)
{
    size_t third = step->length / 3;

    if (given_as_ulpdus(side)) {
        if (!framed[side])
            iw_observer_told_startup(observer, side, step->body, step->length);
        else
            iw_observer_told_segment(observer, side, step->body, step->length, step->of_b);
        framed[side] = true;
        return;
    }
    /* Until the start-up is over it matters when a frame is whole. */
    if (otherwise && frames == 3) {
        feed(side, pos[side] + 2 * third, step->body + 2 * third, step->length - 2 * third);
        feed(side, pos[side], step->body, third);
        feed(side, pos[side] + third / 2, step->body + third / 2, 2 * third - third / 2);
    } else {
        feed(side, pos[side], step->body, step->length);
    }
    pos[side] += step->length;
}

static void assume(void)
{
    struct iw_observer_assumption assumption = {
        .markers = {(enum iw_assumed)((settings[3] & 3) % 3),
                    (enum iw_assumed)((settings[3] >> 2 & 3) % 3)},
        .crc = (enum iw_assumed)((settings[3] >> 4 & 3) % 3),
        .consortium = (enum iw_assumed)((settings[3] >> 6 & 3) % 3)};

    iw_observer_assume(observer, settings[3] == 0 ? NULL : &assumption);
}

static void call(const struct iw_fuzz_step *step)
{
    enum iw_side side = side_of(iw_fuzz_octet(step, 1));
    uint64_t from = pos[side] + iw_fuzz_pair(step, 2);

    switch (iw_fuzz_octet(step, 0) % CALLS) {
    case GAP:
        iw_observer_gap(observer, side, from, from + iw_fuzz_pair(step, 4));
        if (iw_fuzz_pair(step, 2) == 0) /* the rest follows it */
            pos[side] = from + iw_fuzz_pair(step, 4);
        break;
    case ACKED:
        iw_observer_acked(observer, side, from);
        break;
    case FLUSH:
        iw_observer_flush(observer);
        break;
    default:
        assume();
        break;
    }
}

static void end(enum iw_side side, bool reset)
{
    if (given_as_ulpdus(side))
        iw_observer_told_end(observer, side, reset);
    else
        iw_observer_end(observer, side, pos[side], reset);
}

static void take(struct iw_fuzz_step *step, bool otherwise)
{
    enum iw_side side = side_of(step->of_b);
    uint64_t at;
    switch (step->kind) {
    case IW_FUZZ_A:
    case IW_FUZZ_B:
        arrive(side_of(step->kind), step, otherwise);
        break;
    case IW_FUZZ_LOCAL:
        summary.missed = true;
        call(step);
        break;
    case IW_FUZZ_AT:
        at = iw_fuzz_at(step, pos[side]);
        if (!given_as_ulpdus(side))
            feed(side, at, step->body, step->length);
        break;
    case IW_FUZZ_FIN:
    case IW_FUZZ_RST:
        end(side_of(iw_fuzz_octet(step, 0)), step->kind == IW_FUZZ_RST);
        break;
    default:
        break;
    }
}

static void start_up(enum iw_side side)
{
    uint8_t frame[IW_FUZZ_START_UP];
    struct iw_fuzz_step step = {.body = frame,
                                .length = iw_fuzz_start_up(settings[0], side, frame)};

    arrive(side, &step, false);
}

static struct summary watch(struct iw_fuzz_input in, bool otherwise)
{
    struct iw_observer_config config = {
        .crc32c = iw_crc32c_portable,
        .seen = seen,
        .lend = iw_fuzz_lend,
        .give_back = iw_fuzz_give_back,
        .scratch = scratch,
        .told = {given_as_ulpdus(IW_SIDE_INITIATOR), given_as_ulpdus(IW_SIDE_RESPONDER)},
        .emss = (settings[1] & EMSS) != 0 ? 1460 : 0,
        .default_config = (settings[1] & DEFAULTS) != 0,
        .extensions = (settings[1] & EXTENSIONS) == 0,
    };

    memset(pos, 0, sizeof(pos));
    memset(shown, 0, sizeof(shown));
    memset(framed, 0, sizeof(framed));
    frames = 0;
    summary = (struct summary){0};
    iw_fuzz_blocks_limit(settings[2]);
    observer = iw_observer_init(memory, iw_observer_size(), &config);
    IW_FUZZ_CHECK(observer != NULL, "no observer");
    if ((settings[1] & JOINED) != 0) {
        assume();
    } else if ((settings[0] & IW_FUZZ_STARTED) != 0) {
        start_up(IW_SIDE_INITIATOR);
        start_up(IW_SIDE_RESPONDER);
    }
    struct iw_fuzz_step step;
    while (iw_fuzz_step(&in, &step))
        take(&step, otherwise);
    summary.missed |= iw_observer_joined(observer);
    struct summary before = summary;
    iw_observer_flush(observer);
    iw_observer_drop(observer);
    iw_fuzz_blocks_check();
    return before;
}

static void start(void)
{
    memory = iw_fuzz_allocate(iw_observer_size());
    scratch = iw_fuzz_allocate(iw_observer_scratch_size());
}

static void run(const uint8_t *octets, size_t length)
{
    struct iw_fuzz_input in = iw_fuzz_open(octets, length);

    memcpy(settings, in.settings, sizeof(settings));
    struct summary one = watch(in, false);
    /* Blocks that are not lent are octets lost, and sizes of segments are judged. Without CRCs a
     * header shows where Markers stand, before the octets after it are here. */
    if (one.missed || settings[2] != 0 || (settings[1] & EMSS) != 0 || (one.markers && !one.crc))
        return;
    struct summary other = watch(in, true);
    IW_FUZZ_CHECK(other.missed || (one.count == other.count && one.hash == other.hash),
                  "observer: other segments of the same octets show something else (%zu things, "
                  "and %zu)",
                  one.count, other.count);
}

const struct iw_fuzz_harness iw_fuzz_harness = {
    .name = "observer", .most = 1 << 16, .steps = true, .start = start, .run = run};
