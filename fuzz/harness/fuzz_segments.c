/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two receivers of the same octets: one gets them in order, the other as segments in another order,
 * repeated and overlapping, with early placement. As long as the octets have no fault, both must
 * have the same memory, completions and answers; and both must find the same faults.
 *
 *   IW_FUZZ_A, _B  octets of the peer; those up to the next step of another kind arrive together
 *   settings[3]    also how the other receiver's segments are cut and ordered
 */
#include "oracle/oracle_station.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1 << 16, TRIES = 200 };

static struct iw_station station[2];
static uint8_t batch[BATCH];
static size_t batch_length;
static uint64_t batch_from, random_state;
static bool tracing;
static bool over; /* the connection is: what comes now is dropped, where it is looked at at all */

/* How much each has sent since the last comparison, and the sum of that. */
static struct {
    size_t length;
    uint64_t sum;
} said[2];

static void out(void *context, const uint8_t *octets, size_t length)
{
    size_t which = context == &station[1];

    said[which].length += length;
    iw_fuzz_mix_octets(&said[which].sum, octets, length);
}

static void out_end(void *context, bool reset)
{
    uint8_t octet = reset ? 'R' : 'F';

    out(context, &octet, 1);
}

static size_t below(size_t n)
{
    return iw_fuzz_next(&random_state) % n;
}

/* Feeds segments of the batch, some of them early or again, until all of it has come. */
static void shuffle(struct iw_station *s)
{
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t edge = iw_station_edge(s);
        if (edge >= batch_from + batch_length)
            return;
        size_t from = edge > batch_from ? (size_t)(edge - batch_from) : 0;
        size_t left = batch_length - from, most = below(4) == 0 ? left : 600;
        size_t at = below(3) == 0 ? from : from + below(left);
        if (below(8) == 0)
            at = below(batch_length);
        size_t length = 1 + below(most < batch_length - at ? most : batch_length - at);
        (void)iw_station_input_at(s, batch_from + at, batch + at, length);
    }
    IW_FUZZ_CHECK(iw_station_input_at(s, batch_from, batch, batch_length) == 0,
                  "segments: octets without a gap before them are refused");
}

static bool wrong(const struct iw_station *s)
{
    return (s->events &
            (1u << IW_EVENT_FAULT | 1u << IW_EVENT_TERMINATED | 1u << IW_EVENT_CLOSED)) != 0;
}

static void compare(void)
{
    const struct iw_station *a = &station[0], *b = &station[1];

    for (size_t i = 0; i < 2; i++)
        iw_station_settle(&station[i]);
    if (over)
        return;
    IW_FUZZ_CHECK(a->events == b->events,
                  "segments: another order brings other events (0x%x, 0x%x)", a->events, b->events);
    IW_FUZZ_CHECK(
        a->fault.fault.check == b->fault.fault.check && a->fault.fault.pos == b->fault.fault.pos &&
            (a->fault.fault.check == IW_CHECK_DDP_AFTER_CLOSE || /* which octet comes first */
             (a->fault.fault.got == b->fault.fault.got &&
              a->fault.fault.want == b->fault.fault.want)),
        "segments: another order brings %s at %llu instead of %s at %llu",
        iw_check_info(b->fault.fault.check)->name, (unsigned long long)b->fault.fault.pos,
        iw_check_info(a->fault.fault.check)->name, (unsigned long long)a->fault.fault.pos);
    IW_FUZZ_CHECK(a->history == b->history, "segments: another order brings other completions");
    /* A Read may return octets placed early, from an FPDU whose turn has not come. */
    bool same =
        said[0].length == said[1].length && (!iw_station_boundary(a) || said[0].sum == said[1].sum);
    IW_FUZZ_CHECK(same, "segments: another order brings another answer (%zu octets, %zu)",
                  said[0].length, said[1].length);
    memset(said, 0, sizeof(said));
    over = wrong(a);
    /* Octets placed early may be in an FPDU that has not come whole: then its Markers are wrong,
     * which is a fault once it has. */
    if (wrong(a) || !iw_station_boundary(a) ||
        memcmp(a->memory.octets, b->memory.octets, IW_FUZZ_MEMORY) == 0)
        return;
    for (size_t i = 0; i < sizeof(a->memory.octets); i++)
        IW_FUZZ_CHECK(a->memory.octets[i] == b->memory.octets[i],
                      "segments: another order leaves 0x%02x in octet %zu instead of 0x%02x",
                      b->memory.octets[i], i, a->memory.octets[i]);
}

/* Delivers the collected octets. */
static void arrive(void)
{
    if (batch_length == 0)
        return;
    iw_station_input(&station[0], batch, batch_length);
    if ((station[1].events & 1u << IW_EVENT_ESTABLISHED) != 0)
        shuffle(&station[1]);
    else /* octets after a Request depend on how fast it is answered */
        iw_station_input(&station[1], batch, batch_length);
    batch_from += batch_length;
    batch_length = 0;
    compare();
}

static void collect(const uint8_t *octets, size_t length)
{
    memcpy(batch + batch_length, octets, length);
    batch_length += length;
}

static void local(const struct iw_fuzz_step *step)
{
    struct iw_fuzz_operation op;
    for (size_t i = 0; iw_fuzz_operation(step, i, &op); i++) {
        iw_station_operate(&station[0], &op);
        iw_station_operate(&station[1], &op);
    }
}

static void take(const struct iw_fuzz_step *step)
{
    if (step->kind == IW_FUZZ_A || step->kind == IW_FUZZ_B) {
        collect(step->body, step->length);
        return;
    }
    arrive();
    if (step->kind == IW_FUZZ_LOCAL)
        local(step);
    for (size_t i = 0; i < 2; i++) {
        if (step->kind == IW_FUZZ_TIME)
            iw_station_time(&station[i], iw_fuzz_pair(step, 0));
        if (step->kind == IW_FUZZ_FIN || step->kind == IW_FUZZ_RST)
            iw_station_input_end(&station[i], step->kind == IW_FUZZ_RST);
    }
    compare();
    over |= step->kind == IW_FUZZ_FIN || step->kind == IW_FUZZ_RST;
}

static void start_up(const uint8_t settings[IW_FUZZ_SETTINGS])
{
    struct iw_mpa_startup peer;
    iw_station_peer(&peer, settings, IW_MPA_INITIATOR);
    const uint8_t *octets;
    size_t length = iw_mpa_startup_output(&peer, &octets);
    for (size_t i = 0; i < 2; i++) {
        iw_station_input(&station[i], octets, length);
        (void)iw_endpoint_accept(station[i].ep, NULL, 0, station[i].now);
        iw_station_output(&station[i], SIZE_MAX);
    }
    batch_from = length;
    compare();
}

/* With IW_FUZZ_TRACE in the environment: prints a line on stderr for each FPDU that comes. */
static void trace(void *context, const struct iw_trace *t)
{
    if (t->kind != IW_TRACE_FPDU_IN && t->kind != IW_TRACE_FPDU_EARLY)
        return;
    char text[400];
    (void)iw_wire_print_segment(text, sizeof(text), t->octets, t->length);
    fprintf(stderr, "%s: %llu %s%s (%u)\n", ((struct iw_station *)context)->who,
            (unsigned long long)t->pos, t->kind == IW_TRACE_FPDU_EARLY ? "early " : "", text,
            t->ulpdu_length);
}

static void start(void)
{
    tracing = getenv("IW_FUZZ_TRACE") != NULL;
    for (size_t i = 0; i < 2; i++) {
        station[i].out = out;
        station[i].out_end = out_end;
        station[i].context = &station[i];
        iw_station_start(&station[i], i == 0 ? "in order" : "out of order", IW_MPA_RESPONDER);
    }
}

static void run(const uint8_t *octets, size_t length)
{
    struct iw_fuzz_input in = iw_fuzz_open(octets, length);

    in.settings[1] &= (uint8_t)~IW_STATION_ALIGNED; /* nobody promises that here */
    over = false;
    random_state = in.settings[3] + 1u;
    batch_from = batch_length = 0;
    memset(said, 0, sizeof(said));
    for (size_t i = 0; i < 2; i++) {
        iw_station_open(&station[i], in.settings);
        station[i].config.early_placement = i == 1;
        station[i].config.in_place = false; /* half an FPDU is to be nowhere */
        station[i].config.trace = tracing ? trace : NULL;
        station[i].config.trace_context = &station[i];
        station[i].blind = true; /* there is no observer; the two are compared */
        iw_station_create(&station[i]);
    }
    if ((in.settings[0] & IW_FUZZ_STARTED) != 0)
        start_up(in.settings);
    struct iw_fuzz_step step;
    while (iw_fuzz_step(&in, &step))
        take(&step);
    arrive();
    for (size_t i = 0; i < 2; i++)
        iw_station_close(&station[i]);
}

const struct iw_fuzz_harness iw_fuzz_harness = {
    .name = "segments", .most = BATCH, .steps = true, .single = true, .start = start, .run = run};
