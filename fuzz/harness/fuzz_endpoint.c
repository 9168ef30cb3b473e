/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One endpoint, as Initiator or as Responder (ROLE). The input plays its peer and also gives the
 * consumer's operations. A model checks its memory, its completions and its end; an observer checks
 * its faults and what it sends.
 */
#include "oracle/witness.h"

#ifndef ROLE
#error "ROLE is IW_MPA_INITIATOR or IW_MPA_RESPONDER"
#endif

enum {
    /* NOLINTNEXTLINE(misc-redundant-expression): in one build of two */
    INITIATOR = ROLE == IW_MPA_INITIATOR,
    PEER = INITIATOR ? IW_SIDE_RESPONDER : IW_SIDE_INITIATOR
};

static struct iw_station station;
static struct iw_witness watch;
static struct iw_mpa_startup peer; /* of a peer that starts up by itself */
static bool started;

static void out(void *context, const uint8_t *octets, size_t length)
{
    (void)context;
    if (started)
        (void)iw_mpa_startup_input(&peer, octets, length);
    iw_witness_input(&watch, (enum iw_side)(1 - PEER), octets, length);
}

static void out_end(void *context, bool reset)
{
    (void)context;
    iw_witness_end(&watch, (enum iw_side)(1 - PEER), reset);
}

static void from_peer(const uint8_t *octets, size_t length)
{
    if (length == 0)
        return;
    if (station.blind) /* what came early is jumped over */
        watch.pos[PEER] = iw_station_edge(&station);
    iw_station_input(&station, octets, length);
    iw_witness_input(&watch, (enum iw_side)PEER, octets, length);
    iw_witness_agree(&watch, (enum iw_side)PEER);
}

static void from_peer_at(struct iw_fuzz_step *step)
{
    uint64_t edge = iw_station_edge(&station), pos = iw_fuzz_at(step, edge);

    if (step->length == 0)
        return;
    if (pos > edge)
        station.blind = true;
    if (iw_station_input_at(&station, pos, step->body, step->length) == 0)
        iw_witness_input_at(&watch, (enum iw_side)PEER, pos, step->body, step->length);
    else
        station.blind = watch.diverged = true;
    watch.pos[PEER] = iw_station_edge(&station);
    iw_witness_agree(&watch, (enum iw_side)PEER);
}

/* A start-up that agrees with the settings. */
static void start_up(const uint8_t settings[IW_FUZZ_SETTINGS])
{
    enum iw_mpa_role role = INITIATOR ? IW_MPA_RESPONDER : IW_MPA_INITIATOR;

    iw_station_peer(&peer, settings, role);
    started = true;
    iw_station_output(&station, SIZE_MAX);
    if (role == IW_MPA_RESPONDER)
        (void)iw_mpa_startup_accept(&peer, NULL, 0);
    const uint8_t *octets;
    size_t length = iw_mpa_startup_output(&peer, &octets);
    from_peer(octets, length);
    if (role == IW_MPA_INITIATOR && (station.settings[1] & IW_STATION_MANUAL) != 0)
        (void)iw_endpoint_accept(station.ep, NULL, 0, station.now);
    started = false;
    iw_station_output(&station, SIZE_MAX);
    iw_station_settle(&station);
}

static void take(struct iw_fuzz_step *step)
{
    struct iw_fuzz_operation op;
    switch (step->kind) {
    case IW_FUZZ_A:
        from_peer(step->body, step->length);
        break;
    case IW_FUZZ_B:
        for (size_t i = 0; i < step->length; i++)
            from_peer(step->body + i, 1);
        break;
    case IW_FUZZ_LOCAL:
        for (size_t i = 0; iw_fuzz_operation(step, i, &op); i++)
            iw_station_operate(&station, &op);
        break;
    case IW_FUZZ_TIME:
        iw_station_time(&station, iw_fuzz_pair(step, 0));
        break;
    case IW_FUZZ_AT:
        from_peer_at(step);
        break;
    case IW_FUZZ_FIN:
    case IW_FUZZ_RST:
        if (station.blind)
            watch.pos[PEER] = iw_station_edge(&station);
        iw_station_input_end(&station, step->kind == IW_FUZZ_RST);
        iw_witness_end(&watch, (enum iw_side)PEER, step->kind == IW_FUZZ_RST);
        iw_witness_agree(&watch, (enum iw_side)PEER);
        break;
    default:
        break;
    }
}

static void start(void)
{
    station.out = out;
    station.out_end = out_end;
    iw_station_start(&station, "the endpoint", ROLE);
}

static void run(const uint8_t *octets, size_t length)
{
    struct iw_fuzz_input in = iw_fuzz_open(octets, length);

    iw_station_open(&station, in.settings);
    iw_witness_open(&watch, INITIATOR ? &station : NULL, INITIATOR ? NULL : &station);
    started = false;
    iw_station_create(&station);
    if ((in.settings[0] & IW_FUZZ_STARTED) != 0)
        start_up(in.settings);
    struct iw_fuzz_step step;
    while (iw_fuzz_step(&in, &step)) {
        take(&step);
        iw_station_settle(&station);
    }
    iw_station_close(&station);
    iw_witness_close(&watch);
}

const struct iw_fuzz_harness iw_fuzz_harness = {
    .name = INITIATOR ? "endpoint-initiator" : "endpoint-responder",
    .most = 1 << 16,
    .steps = true,
    .single = true,
    .start = start,
    .run = run,
};
