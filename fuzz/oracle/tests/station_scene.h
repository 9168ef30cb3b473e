/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_STATION_SCENE_H
#define FUZZ_STATION_SCENE_H

/* A station on a fake endpoint, ready for the tests of its parts. */

#include "fake_endpoint.h"
#include "oracle/oracle_station.h"
#include "spy.h"

static struct iw_station station;

static inline void scene_out(void *context, const uint8_t *octets, size_t length)
{
    assert_ptr_equal(context, &station);
    spy_note("out ");
    spy_note_octets(octets, length);
    spy_note("\n");
}

static inline void scene_out_end(void *context, bool reset)
{
    assert_ptr_equal(context, &station);
    spy_note(reset ? "out reset\n" : "out fin\n");
}

static inline int scene_start(void **state)
{
    (void)state;
    iw_station_start(&station, "it", IW_MPA_RESPONDER);
    station.out = scene_out;
    station.out_end = scene_out_end;
    station.context = &station;
    return 0;
}

/* Opens the station anew, with settings in hexadecimal, and creates its endpoint. */
static inline void scene_open(const char *settings)
{
    uint8_t octets[IW_FUZZ_SETTINGS] = {0};

    spy_octets(octets, settings);
    fake_reset();
    fake.memory = station.memory.octets;
    fake.fresh = station.memory.fresh;
    fake.memory_size = IW_FUZZ_MEMORY;
    iw_station_open(&station, octets);
    iw_station_create(&station);
    spy_noted("create\n");
}

static inline void settle(void *argument)
{
    (void)argument;
    iw_station_settle(&station);
}

#define SETTLES(expected) assert_string_equal(spy_fault(settle, NULL), expected)

#endif
