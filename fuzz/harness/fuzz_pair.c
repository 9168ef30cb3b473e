/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two endpoints joined by a channel that the input controls: it delays, cuts, repeats, reorders,
 * changes and breaks off. Whatever happens, each end must behave as its model and the observer say,
 * and the connection must come to its end; octets that the channel changes count as the sender's.
 *
 *   IW_FUZZ_A, _B   octets of side A (B) arrive: how many (2 octets, 0: all), then changes of them:
 *                   offset (2), what is added (1)
 *   IW_FUZZ_AT      octets arrive early or again: how far ahead (2), how many (2)
 *   IW_FUZZ_RST     the connection is lost, for both
 */
#include "oracle/witness.h"

#include <string.h>

enum { CHANNEL = 1 << 16, ROUNDS = 2000 };

/* Octets in flight from a side. */
struct channel {
    size_t first, end;
    uint64_t delivered; /* octets in order */
    bool fin, fin_delivered, reset;
    uint8_t octets[CHANNEL];
};

static struct iw_station station[2];
static struct channel channel[2];
static struct iw_witness watch;
static bool touched; /* time or the channel may have cost the connection */
/* Changed octets came while something of the other side was in flight: from then on the observer
 * may judge it differently. */
static bool crossed[2];

static size_t side_of(const void *context)
{
    return context == &station[1];
}

static void out(void *context, const uint8_t *octets, size_t length)
{
    struct channel *c = &channel[side_of(context)];

    IW_FUZZ_CHECK(length <= CHANNEL - c->end, "more is sent than there is room for");
    memcpy(c->octets + c->end, octets, length);
    c->end += length;
    ((struct iw_station *)context)->room = CHANNEL - c->end;
}

static void out_end(void *context, bool reset)
{
    struct channel *c = &channel[side_of(context)];

    c->fin = true;
    c->reset |= reset;
}

static void settle(void)
{
    iw_station_settle(&station[0]);
    iw_station_settle(&station[1]);
}

/* Delivers octets of `side` in order. */
static void deliver(size_t side, size_t length)
{
    struct channel *c = &channel[side];
    struct iw_station *to = &station[1 - side];

    if (length == 0)
        return;
    const uint8_t *octets = c->octets + c->first;
    if (to->blind) /* some of them may have come early */
        (void)iw_station_input_at(to, c->delivered, octets, length);
    else
        iw_station_input(to, octets, length);
    iw_witness_input(&watch, (enum iw_side)side, octets, length);
    /* The observer must know what the receiver has sent; octets that seem to answer something still
     * in flight are forged. */
    if (watch.forged[side] && channel[1 - side].first != channel[1 - side].end)
        crossed[side] = true;
    if (!watch.forged[1 - side] && !crossed[side])
        iw_witness_agree(&watch, (enum iw_side)side);
    c->first += length;
    c->delivered += length;
    if (c->first == c->end) {
        c->first = c->end = 0;
        station[side].room = CHANNEL;
    }
}

/* Delivers the end of `side`, of which nothing is in flight any more. */
static bool deliver_end(size_t side)
{
    struct channel *c = &channel[side];

    if (!c->fin || c->fin_delivered)
        return false;
    c->fin_delivered = true;
    iw_station_input_end(&station[1 - side], c->reset);
    iw_witness_end(&watch, (enum iw_side)side, c->reset);
    return true;
}

static void forge(size_t side, const struct iw_fuzz_step *step, size_t length)
{
    struct channel *c = &channel[side];

    for (size_t i = 2; i + 3 <= step->length && length > 0; i += 3) {
        size_t at = iw_fuzz_pair(step, i) % length;
        uint64_t pos = c->delivered + at;
        if (step->body[i + 2] == 0)
            continue;
        c->octets[c->first + at] += step->body[i + 2];
        watch.forged[side] = touched = true;
        /* The sender still acts on its own request, such as for Markers; the observer does not. */
        if (pos == IW_AT_MPA_FLAGS || pos == IW_AT_MPA_REVISION)
            station[side].blind = true;
    }
}

static void arrive(size_t side, const struct iw_fuzz_step *step)
{
    size_t there = channel[side].end - channel[side].first;
    size_t length = iw_fuzz_pair(step, 0);

    if (length == 0 || length > there)
        length = there;
    forge(side, step, length);
    deliver(side, length);
    if (length == there)
        (void)deliver_end(side);
}

/* Delivers octets early; they come again in their turn. The models do not know when they are
 * placed. */
static void arrive_early(size_t side, struct iw_fuzz_step *step)
{
    struct channel *c = &channel[side];
    size_t there = c->end - c->first, length = iw_fuzz_pair(step, 2);
    uint64_t pos = iw_fuzz_at(step, c->delivered);

    if (pos < c->delivered || pos - c->delivered >= there)
        return;
    size_t ahead = (size_t)(pos - c->delivered);
    if (length > there - ahead)
        length = there - ahead;
    station[1 - side].blind = true;
    const uint8_t *octets = c->octets + c->first + ahead;
    if (iw_station_input_at(&station[1 - side], pos, octets, length) == 0)
        iw_witness_input_at(&watch, (enum iw_side)side, pos, octets, length);
    else
        watch.diverged = true;
}

static void lose(void)
{
    touched = true;
    for (size_t side = 0; side < 2; side++) {
        iw_station_input_end(&station[side], true);
        iw_witness_end(&watch, (enum iw_side)side, true);
        channel[side].fin = channel[side].fin_delivered = true;
        channel[side].first = channel[side].end = 0;
    }
}

static void take(struct iw_fuzz_step *step)
{
    struct iw_fuzz_operation op;
    switch (step->kind) {
    case IW_FUZZ_A:
    case IW_FUZZ_B:
        arrive(step->kind == IW_FUZZ_B, step);
        break;
    case IW_FUZZ_LOCAL:
        for (size_t i = 0; iw_fuzz_operation(step, i, &op); i++)
            iw_station_operate(&station[op.of_b], &op);
        break;
    case IW_FUZZ_TIME:
        touched = true;
        iw_station_time(&station[0], iw_fuzz_pair(step, 0));
        iw_station_time(&station[1], iw_fuzz_pair(step, 0));
        break;
    case IW_FUZZ_AT:
        arrive_early(step->of_b, step);
        break;
    case IW_FUZZ_RST:
        lose();
        break;
    default:
        break;
    }
}

/* Runs until nothing moves any more. */
static void run_dry(void)
{
    bool moved = true;

    for (unsigned round = 0; moved; round++) {
        IW_FUZZ_CHECK(round < ROUNDS, "the two do not come to rest");
        moved = false;
        for (size_t side = 0; side < 2; side++) {
            iw_station_output(&station[side], SIZE_MAX);
            moved |= channel[side].first != channel[side].end;
            deliver(side, channel[side].end - channel[side].first);
            moved |= deliver_end(side);
            settle();
        }
    }
}

static bool closed(const struct iw_station *s)
{
    return (s->events & 1u << IW_EVENT_CLOSED) != 0;
}

static void end(void)
{
    run_dry();
    (void)iw_endpoint_accept(station[1].ep, NULL, 0, station[1].now);
    run_dry();
    for (size_t side = 0; side < 2; side++)
        iw_endpoint_shutdown(station[side].ep, station[side].now);
    run_dry();
    IW_FUZZ_CHECK(touched || (closed(&station[0]) && closed(&station[1])),
                  "the connection is closed and does not end");
    for (size_t side = 0; side < 2; side++)
        iw_station_close(&station[side]);
}

static void start(void)
{
    static const char *const names[2] = {"the initiator", "the responder"};

    for (size_t side = 0; side < 2; side++) {
        station[side].out = out;
        station[side].out_end = out_end;
        station[side].context = &station[side];
        iw_station_start(&station[side], names[side],
                         side == 0 ? IW_MPA_INITIATOR : IW_MPA_RESPONDER);
    }
}

static void run(const uint8_t *octets, size_t length)
{
    struct iw_fuzz_input in = iw_fuzz_open(octets, length);

    touched = crossed[0] = crossed[1] = false;
    for (size_t side = 0; side < 2; side++) {
        struct channel *c = &channel[side];
        memset(c, 0, offsetof(struct channel, octets));
        iw_station_open(&station[side], in.settings);
        station[side].room = CHANNEL;
    }
    station[0].config.mpa.markers = (in.settings[0] & IW_FUZZ_MARKERS_B) != 0;
    iw_witness_open(&watch, &station[0], &station[1]);
    iw_station_create(&station[0]);
    iw_station_create(&station[1]);
    if ((in.settings[0] & IW_FUZZ_STARTED) != 0)
        run_dry();
    struct iw_fuzz_step step;
    while (iw_fuzz_step(&in, &step)) {
        take(&step);
        settle();
    }
    end();
    iw_witness_close(&watch);
}

const struct iw_fuzz_harness iw_fuzz_harness = {
    .name = "pair", .most = 1 << 15, .steps = true, .commands = true, .start = start, .run = run};
