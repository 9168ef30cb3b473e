/* SPDX-License-Identifier: BSD-3-Clause */
/* The station: how it makes an endpoint, takes events and input. */
#include "station_scene.h"

#include <stdio.h>

/* ---- how it begins ---- */

static void regions_are_those_of_local_h(void **state)
{
    static const struct {
        size_t at;
        uint64_t length, to, stream;
        uint32_t access;
    } want[] = {
        {64, 4096, 0x1000, 0, 0x17},
        {4224, 512, 0, 0, 2},
        {4800, 512, UINT64_C(0xfffffffffffffdff), 0, 4},
        {5376, 1024, 0x2000, 0, 1},
        {6464, 1024, 0x2000, 0, 0x21},
        {7552, 512, 0, 1, 0xf},
        {8128, 512, 0x1000, 2, 6},
        {8704, 512, 0x1000, 0, 6},
    };

    (void)state;
    scene_open("00000000");
    assert_int_equal(station.region_count, 8);
    for (size_t i = 0; i < 8; i++) {
        const struct iw_station_region *r = &station.regions[i];
        assert_true(r->known && r->valid);
        assert_int_equal(r->region.stag, 0x11223344 + i);
        assert_int_equal(r->region.base - station.memory.octets, want[i].at);
        assert_int_equal(r->region.length, want[i].length);
        assert_int_equal(r->region.to, want[i].to);
        assert_int_equal(r->region.stream, want[i].stream);
        assert_int_equal(r->region.access, want[i].access);
        assert_int_equal(r->region.guard, 32);
        assert_int_equal(r->region.pd, i == 7 ? station.other_pd : station.pd);
    }
    assert_int_not_equal(station.pd, station.other_pd);
    assert_string_equal(station.who, "it");
    assert_int_equal(station.now, 1000000);
    assert_int_equal(station.room, SIZE_MAX);
}

static void assert_mpa(const char *settings, enum iw_mpa_role role, const char *want)
{
    uint8_t octets[IW_FUZZ_SETTINGS];
    char got[200];

    spy_octets(octets, settings);
    struct iw_mpa_config c = iw_station_mpa(octets, role);
    snprintf(got, sizeof(got), "revision %u%s%s%s%s%s rtr %u ird %u ord %u", c.revision,
             c.crc ? " crc" : "", c.markers ? " markers" : "", c.permissive ? " permissive" : "",
             c.enhanced ? " enhanced" : "", c.peer_to_peer ? " peer-to-peer" : "", c.rtr, c.ird,
             c.ord);
    assert_string_equal(got, want);
}

static void settings_make_the_start_up(void **state)
{
    (void)state;
    assert_mpa("00 00 00 00", IW_MPA_INITIATOR, "revision 1 rtr 7 ird 0 ord 0");
    assert_mpa("ff 00 21 00", IW_MPA_INITIATOR,
               "revision 2 crc enhanced peer-to-peer rtr 7 ird 1 ord 2");
    assert_mpa("ff 00 21 00", IW_MPA_RESPONDER, "revision 2 crc rtr 7 ird 2 ord 1");
    assert_mpa("08 ff ef 00", IW_MPA_INITIATOR,
               "revision 2 permissive enhanced rtr 7 ird 16383 ord 14");
    assert_mpa("08 ff fe 00", IW_MPA_INITIATOR,
               "revision 2 permissive enhanced rtr 7 ird 14 ord 16383");
    assert_mpa("10 01 00 00", IW_MPA_INITIATOR, "revision 1 rtr 1 ird 0 ord 0");
    assert_mpa("f7 02 00 00", IW_MPA_INITIATOR, "revision 1 crc rtr 2 ird 0 ord 0");
    assert_mpa("00 44 00 00", IW_MPA_RESPONDER, "revision 1 permissive rtr 4 ird 0 ord 0");
}

static void assert_config(const char *settings, const char *want)
{
    char got[400];

    scene_open(settings);
    const struct iw_endpoint_config *c = &fake.config;
    assert_int_equal(c->role, IW_MPA_RESPONDER);
    assert_int_equal(c->pd, station.pd);
    assert_int_equal(c->startup_timeout, 60);
    snprintf(got, sizeof(got),
             "revision %u%s%s early %d%d%d aligned %d emss %u mulpdu %u depths %u %u sge %u "
             "reads %u",
             c->mpa.revision, c->mpa.markers ? " markers" : "", c->extensions ? " extensions" : "",
             c->early_placement, c->in_place, c->receive_ahead, c->aligned_peer, c->emss, c->mulpdu,
             c->send_depth, c->recv_depth, c->max_sge, c->max_reads);
    assert_string_equal(got, want);
}

static void settings_make_the_endpoint(void **state)
{
    (void)state;
    assert_config(
        "00000000",
        "revision 1 extensions early 000 aligned 0 emss 1460 mulpdu 0 depths 16 16 sge 4 reads 16");
    assert_config("02000009", "revision 1 markers extensions early 000 aligned 0 emss 140 mulpdu "
                              "128 depths 16 16 sge 4 reads 16");
    assert_config("04080052",
                  "revision 1 early 000 aligned 0 emss 152 mulpdu 512 depths 2 2 sge 4 reads 16");
    assert_config("0820007b", "revision 2 extensions early 111 aligned 0 emss 296 mulpdu 64768 "
                              "depths 32 32 sge 4 reads 16");
    assert_config(
        "00800004",
        "revision 1 extensions early 000 aligned 1 emss 536 mulpdu 0 depths 16 16 sge 4 reads 16");
    assert_config(
        "00000005",
        "revision 1 extensions early 000 aligned 0 emss 9000 mulpdu 0 depths 16 16 sge 4 reads 16");
    assert_config("000000e6", "revision 1 extensions early 000 aligned 0 emss 65535 mulpdu 0 "
                              "depths 32 32 sge 4 reads 16");
    assert_config(
        "00000007",
        "revision 1 extensions early 000 aligned 0 emss 64 mulpdu 0 depths 16 16 sge 4 reads 16");
    assert_int_equal(fake.ep.landing_min, 64);
    fake.ep.lists_min = 7;
    iw_station_create(&station);
    assert_int_equal(fake.ep.lists_min, 0);
}

static void peers_start_up_as_the_settings_say(void **state)
{
    static const struct {
        const char *settings;
        enum iw_mpa_role role;
        const char *frame;
    } peers[] = {
        {"00 00 00 00", IW_MPA_INITIATOR, "4d504120494420526571204672616d6500010000"},
        {"05 00 00 00", IW_MPA_INITIATOR, "4d504120494420526571204672616d65c0010000"},
        {"1a 01 21 00", IW_MPA_INITIATOR, "4d504120494420526571204672616d6510020004c0010002"},
    };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint8_t settings[IW_FUZZ_SETTINGS];
        struct iw_mpa_startup peer;
        const uint8_t *frame;
        spy_octets(settings, peers[i].settings);
        iw_station_peer(&peer, settings, peers[i].role);
        spy_forget();
        size_t length = iw_mpa_startup_output(&peer, &frame);
        spy_note_octets(frame, length);
        spy_noted(peers[i].frame);
    }
}

static void opening_forgets_the_input_before(void **state)
{
    (void)state;
    scene_open("00000000");
    memset(station.regions, 1, sizeof(station.regions));
    station.events = 1;
    station.blind = true;
    station.framed_from = 7;
    station.memory.octets[3] = station.memory.model[4] = station.memory.loose[5] = 1;
    station.room = 3;
    (void)iw_domain_invalidate(station.domain, 0x11223344);
    scene_open("01020304");
    assert_int_equal(station.events, 0);
    assert_false(station.blind);
    assert_int_equal(station.framed_from, 0);
    assert_int_equal(station.room, SIZE_MAX);
    assert_memory_equal(station.settings, "\1\2\3\4", 4);
    assert_memory_equal(station.memory.octets, station.memory.fresh, IW_FUZZ_MEMORY);
    assert_memory_equal(station.memory.model, station.memory.fresh, IW_FUZZ_MEMORY);
    assert_int_equal(station.memory.loose[5], 0);
    assert_int_equal(iw_domain_invalidate(station.domain, 0x11223344), 0);
    assert_int_equal(station.regions[0].region.stag, 0x11223344);
}

static void create(void *argument)
{
    (void)argument;
    iw_station_create(&station);
}

static void endpoints_must_be_made(void **state)
{
    (void)state;
    scene_open("00000000");
    fake.created = IW_ERR_MEMORY;
    assert_string_equal(spy_fault(create, NULL), "it: no endpoint (-1)");
    fake.created = IW_OK;
    fake.stream = 2;
    assert_string_equal(spy_fault(create, NULL), "it: not the first stream");
    fake.stream = 0;
    assert_string_equal(spy_fault(create, NULL), "it: not the first stream");
}

static void start_bare(void *argument)
{
    static struct iw_station other;

    (void)argument;
    iw_station_start(&other, "other", IW_MPA_INITIATOR);
    assert_int_equal(other.role, IW_MPA_INITIATOR);
    assert_int_equal(other.heap.kept, other.heap.used);
    assert_true(other.heap.blocks > 0);
    for (size_t i = 0; i < other.heap.blocks; i++) /* of the pool's buffers the beginning */
        assert_true(other.heap.block[i].size < IW_DOMAIN_BUFFER);
}

static void a_station_keeps_its_heap(void **state)
{
    (void)state;
    assert_string_equal(spy_fault(start_bare, NULL), "");
}

/* ---- events ---- */

static void events_come_once(void **state)
{
    (void)state;
    scene_open("00000000");
    fake.events[0].kind = IW_EVENT_ESTABLISHED;
    fake.events[1].kind = IW_EVENT_FAULT;
    fake.events[1].fault.pos = 77;
    fake.events[2].kind = IW_EVENT_CLOSED;
    SETTLES("");
    assert_int_equal(station.events, 1u << 2 | 1u << 4 | 1u << 7);
    assert_int_equal(station.fault.fault.pos, 77);
    fake.event = 0;
    SETTLES("it: event 2 comes twice");
    scene_open("00000000");
    fake.event_none = true;
    SETTLES("it: event 0 comes twice");
    scene_open("00000000");
    fake.events[0].kind = IW_EVENT_CLOSED;
    fake.events[1].kind = IW_EVENT_TERMINATED;
    SETTLES("it: event 5 after the last");
    spy_noted("");
}

static void requests_are_answered(void **state)
{
    (void)state;
    scene_open("00000034"); /* with 20 octets of private data */
    fake.events[0].kind = IW_EVENT_REQUEST;
    SETTLES("");
    spy_noted("accept f0+20\n");
    scene_open("0010001f");
    fake.events[0].kind = IW_EVENT_REQUEST;
    SETTLES("");
    spy_noted("");
    assert_int_equal(station.events, 1u << IW_EVENT_REQUEST);
}

/* ---- input ---- */

static void octets_go_to_the_endpoint(void **state)
{
    (void)state;
    scene_open("00000000");
    station.now = 5;
    iw_station_input(&station, (const uint8_t *)"abc", 3);
    assert_int_equal(iw_station_input_at(&station, 9, (const uint8_t *)"de", 2), 0);
    fake.input_at = IW_ERR_MEMORY;
    assert_int_equal(iw_station_input_at(&station, 8, (const uint8_t *)"f", 1), -1);
    iw_station_input_end(&station, false);
    iw_station_input_end(&station, true);
    spy_noted("input 616263 at 5\n"
              "input at 9 6465 at 5\n"
              "input at 8 66 at 5\n"
              "fin at 5\n"
              "lost at 5\n");
    assert_false(station.over || station.deaf);
    fake.ep.rx_pos = 12;
    assert_int_equal(iw_station_edge(&station), 12);
}

/* Each call that brings something takes events, and notices that nothing is heard any more. */
static void nothing_is_heard_after_the_end(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++)
        for (int call = 0; call < 3; call++) {
            scene_open("00000000");
            fake.events[0].kind = IW_EVENT_PEER_CLOSED;
            fake.ep.phase = how == 0 ? IW_PHASE_DONE : IW_PHASE_FULL;
            fake.ep.fin_in = how == 1;
            fake.ep.fin_known = how == 2;
            if (call == 0)
                iw_station_input(&station, (const uint8_t *)"abc", 3);
            else if (call == 1)
                (void)iw_station_input_at(&station, 9, (const uint8_t *)"de", 2);
            else
                iw_station_input_end(&station, false);
            assert_true(station.over && station.deaf);
            assert_int_equal(station.events, 1u << IW_EVENT_PEER_CLOSED);
        }
}

static uint8_t *place(size_t at)
{
    return station.memory.octets + at;
}

static void octets_land_in_their_place(void **state)
{
    (void)state;
    scene_open("00000000");
    fake.landing = place(100);
    fake.landing_room = 3;
    iw_station_input(&station, (const uint8_t *)"abcde", 5);
    assert_memory_equal(place(100), "abc", 3);
    assert_int_equal(*place(103), station.memory.fresh[103]);
    iw_station_input(&station, (const uint8_t *)"fg", 2);
    assert_memory_equal(place(100), "fgc", 3);
    spy_noted("landed m100+3\ninput 6465\nlanded m100+2\ninput \n");
}

static const uint8_t guessable[] = "ABCDEFGHIJKLMNOPQRSTuvwxyz";

static void guesses_are_tried(void **state)
{
    (void)state;
    scene_open("00000000");
    fake.guess = place(200);
    fake.guess_room = 4;
    fake.guessed = 3;
    iw_station_input(&station, guessable, 26);
    assert_memory_equal(place(200), "uvw", 3);
    assert_int_equal(*place(203), station.memory.fresh[203]); /* it was guessed wrong */
    spy_noted("guessed 41.. 75767778\n"
              "input 78797a\n");
    fake.guess_room = 10;
    fake.guessed = 0;
    memcpy(place(200), station.memory.fresh + 200, 8);
    iw_station_input(&station, guessable, 22);
    assert_memory_equal(place(200), station.memory.fresh + 200, 8);
    spy_noted("guessed 41.. 7576\n"
              "input 4142434445464748494a4b4c4d4e4f50515253547576\n");
    iw_station_input(&station, guessable, 21);
    spy_noted("guessed 41.. 75\n"
              "input 4142434445464748494a4b4c4d4e4f505152535475\n");
    iw_station_input(&station, guessable, 20);
    spy_noted("input 4142434445464748494a4b4c4d4e4f5051525354\n");
    fake.guess_room = 0;
    iw_station_input(&station, guessable, 26);
    spy_noted("input 4142434445464748494a4b4c4d4e4f505152535475767778797a\n");
}

/* While a payload lands nobody knows what its place has; then it must be right. */
static void landing_octets_are_pardoned(void **state)
{
    struct iw_landing *l = &fake.ep.landing;

    (void)state;
    scene_open("00000000");
    *l = (struct iw_landing){.active = true, .at = place(300), .length = 34, .header_length = 14};
    iw_station_input(&station, (const uint8_t *)"abc", 3);
    assert_true(station.landing);
    for (size_t i = 299; i < 321; i++)
        assert_int_equal(station.memory.loose[i], i >= 300 && i < 320);
    iw_station_input(&station, (const uint8_t *)"abc", 3);
    assert_int_equal(station.memory.loose[300], 1);
    l->active = false;
    fake.ep.phase = IW_PHASE_FULL;
    SETTLES("");
    assert_false(station.landing);
    assert_int_equal(station.memory.loose[300], 0);
    assert_int_equal(station.memory.loose[319], 0);
    for (int how = 0; how < 2; how++) { /* there is none */
        *l = (struct iw_landing){
            .active = how == 0, .at = how == 0 ? NULL : place(300), .length = 20};
        fake.ep.phase = IW_PHASE_DONE;
        iw_station_input(&station, (const uint8_t *)"abc", 3);
        assert_false(station.landing);
        assert_int_equal(station.memory.loose[300], 0);
        fake.ep.phase = IW_PHASE_FULL;
        station.over = station.deaf = false;
    }
    *l = (struct iw_landing){.active = true, .at = place(300), .length = 20, .header_length = 18};
    iw_station_input(&station, (const uint8_t *)"abc", 3);
    l->active = false;
    fake.ep.phase = IW_PHASE_DONE; /* it was refused, and may lie there */
    SETTLES("");
    assert_false(station.landing);
    assert_int_equal(station.memory.loose[300], 1);
    assert_int_equal(station.memory.loose[302], 0);
}

static void a_boundary_is_the_deframers(void **state)
{
    struct iw_deframer *d = &fake.ep.deframer;
    static struct iw_deframer_sink sink;
    static _Alignas(16) uint8_t buffer[IW_DEFRAMER_BUFFER];
    struct iw_iov in = {(void *)(uintptr_t) "\0", 1};

    (void)state;
    scene_open("00000000");
    iw_deframer_init(d, &sink, false, false, iw_crc32c_portable, 0, buffer, sizeof(buffer));
    assert_true(iw_station_boundary(&station));
    assert_int_equal(iw_deframer_input(d, 0, &in, 1), 0);
    assert_false(iw_station_boundary(&station));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_are_those_of_local_h),
        cmocka_unit_test(settings_make_the_start_up),
        cmocka_unit_test(settings_make_the_endpoint),
        cmocka_unit_test(peers_start_up_as_the_settings_say),
        cmocka_unit_test(opening_forgets_the_input_before),
        cmocka_unit_test(endpoints_must_be_made),
        cmocka_unit_test(a_station_keeps_its_heap),
        cmocka_unit_test(events_come_once),
        cmocka_unit_test(requests_are_answered),
        cmocka_unit_test(octets_go_to_the_endpoint),
        cmocka_unit_test(nothing_is_heard_after_the_end),
        cmocka_unit_test(octets_land_in_their_place),
        cmocka_unit_test(guesses_are_tried),
        cmocka_unit_test(landing_octets_are_pardoned),
        cmocka_unit_test(a_boundary_is_the_deframers),
    };
    return cmocka_run_group_tests(tests, scene_start, NULL);
}
