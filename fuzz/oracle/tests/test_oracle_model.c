/* SPDX-License-Identifier: BSD-3-Clause */
/* What the model does with the peer's segments, and which of them it does not let an endpoint take.
 */
#include "station_scene.h"

#include <stdio.h>

#include "iwarp/rdmap.h"

enum { UNTAGGED_LAST = 0x41, TAGGED_LAST = 0xc1, MORE = 0x01 };

static const uint8_t payload[] = {0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9};

static struct iw_observation o;

static void open_established(void)
{
    scene_open("00000000");
    station.events = 1u << IW_EVENT_ESTABLISHED;
    memset(&o, 0, sizeof(o));
    o.pos = 100;
    o.end = 160;
    o.payload = payload;
}

static void see(void *argument)
{
    (void)argument;
    iw_station_saw(&station, &o);
}

/* The observer sees `o`; what the oracle says of it. */
#define SEES(expected) assert_string_equal(spy_fault(see, NULL), expected)

/* Asserts that of [at-1, at+length] the model has these octets in [at, at+length), and what it
 * began with around them. */
static void assert_written(size_t at, const uint8_t *octets, size_t length)
{
    assert_int_equal(station.memory.model[at - 1], station.memory.fresh[at - 1]);
    assert_memory_equal(station.memory.model + at, octets, length);
    assert_int_equal(station.memory.model[at + length], station.memory.fresh[at + length]);
}

static void assert_nothing_written(void)
{
    assert_memory_equal(station.memory.model, station.memory.fresh, IW_FUZZ_MEMORY);
}

/* Posts a receive with these pieces of plain memory. */
static void post(size_t at, size_t first, size_t second)
{
    struct iw_station_recv *r = &station.recvs[station.recv_tail++];

    *r = (struct iw_station_recv){
        .id = station.recv_tail,
        .sge = {{station.memory.octets + at, first}, {station.memory.octets + at + 100, second}},
        .count = 2,
        .capacity = (uint32_t)(first + second)};
}

static void tagged(unsigned opcode, uint32_t stag, uint64_t to, size_t length)
{
    open_established();
    o.ddp = (struct iw_ddp_header){.ddp_control = TAGGED_LAST,
                                   .rdmap_control = (uint8_t)(0x40u | opcode),
                                   .stag = stag,
                                   .to = to};
    o.payload_length = length;
}

static void untagged(unsigned opcode, uint32_t qn, uint32_t mo, size_t length)
{
    o.ddp = (struct iw_ddp_header){.ddp_control = UNTAGGED_LAST,
                                   .rdmap_control = (uint8_t)(0x40u | opcode),
                                   .qn = qn,
                                   .mo = mo};
    o.payload_length = length;
}

static void writes_are_placed(void **state)
{
    (void)state;
    tagged(IW_OP_WRITE, 0x11223344, 0x1000, 10);
    SEES("");
    assert_written(64, payload, 10);
    tagged(IW_OP_WRITE, 0x11223344, 0x1ffc, 4); /* to the region's end */
    SEES("");
    assert_written(64 + 4092, payload, 4);
    tagged(IW_OP_WRITE, 0x11223346, UINT64_MAX - 512 + 500, 10);
    SEES("");
    assert_written(4800 + 500, payload, 10);
    tagged(IW_OP_WRITE, 0x11223349, 4, 2); /* of this stream */
    SEES("");
    assert_written(7552 + 4, payload, 2);
    assert_true(station.spoken);
}

#define MAY_NOT(stag, to) "it: a segment is taken that may not be placed, STag 0x" stag " TO 0x" to

static void writes_without_the_right_are_noticed(void **state)
{
    (void)state;
    tagged(IW_OP_WRITE, 0x1122334c, 0x1000, 1); /* no such region */
    SEES(MAY_NOT("1122334c", "1000"));
    tagged(IW_OP_WRITE, 0x11223345, 0, 1); /* to be read only */
    SEES(MAY_NOT("11223345", "0"));
    tagged(IW_OP_WRITE, 0x11223347, 0x2000, 1); /* local only */
    SEES(MAY_NOT("11223347", "2000"));
    tagged(IW_OP_WRITE, 0x1122334a, 0x1000, 1); /* of another stream */
    SEES(MAY_NOT("1122334a", "1000"));
    tagged(IW_OP_WRITE, 0x1122334b, 0x1000, 1); /* of another protection domain */
    SEES(MAY_NOT("1122334b", "1000"));
    tagged(IW_OP_WRITE, 0x11223344, 0xfff, 1);
    SEES(MAY_NOT("11223344", "fff"));
    tagged(IW_OP_WRITE, 0x11223344, 0x1ffd, 4);
    SEES(MAY_NOT("11223344", "1ffd"));
    tagged(IW_OP_WRITE, 0x11223346, UINT64_MAX - 512, 513);
    SEES(MAY_NOT("11223346", "fffffffffffffdff"));
    tagged(IW_OP_WRITE, 0x11223344, 0x1000, 1);
    station.regions[0].valid = false;
    SEES(MAY_NOT("11223344", "1000"));
    tagged(IW_OP_WRITE, 0x11223344, 0x1000, 1);
    station.regions[0].known = false;
    SEES(MAY_NOT("11223344", "1000"));
    tagged(IW_OP_WRITE, 0x1122334b, 0x1000, 1);
    station.region_count = 7;
    SEES(MAY_NOT("1122334b", "1000"));
    /* Of an empty segment nothing is examined. */
    tagged(IW_OP_WRITE, 0x1122334c, 0x1000, 0);
    SEES("");
    assert_nothing_written();
}

/* A Read's sink needs the right of this end only. */
static void responses_are_placed(void **state)
{
    (void)state;
    tagged(IW_OP_READ_RESPONSE, 0x11223347, 0x2000, 3);
    SEES("");
    assert_written(5376, payload, 3);
    tagged(IW_OP_READ_RESPONSE, 0x11223346, UINT64_MAX - 512, 3);
    SEES("");
    assert_written(4800, payload, 3);
    tagged(IW_OP_READ_RESPONSE, 0x11223345, 0, 3);
    SEES(MAY_NOT("11223345", "0"));
}

static void sends_fill_the_oldest_receive(void **state)
{
    const struct iw_station_recv *r = station.recvs;

    (void)state;
    open_established();
    post(9300, 4, 5);
    post(9500, 10, 0);
    untagged(IW_OP_SEND, IW_QN_SEND, 0, 3);
    o.ddp.ddp_control = MORE;
    SEES("");
    assert_written(9300, payload, 3);
    assert_false(r->whole);
    assert_int_equal(station.recv_seen, 0);
    untagged(IW_OP_SEND_SE, IW_QN_SEND, 3, 6);
    SEES("");
    assert_int_equal(station.memory.model[9303], 0xa0);
    assert_written(9400, payload + 1, 5);
    assert_true(r->whole && r->solicited && !r->invalidates && !r->immediate);
    assert_int_equal(r->length, 9);
    assert_int_equal(station.recv_seen, 1);
    untagged(IW_OP_SEND, IW_QN_SEND, 0, 10);
    SEES("");
    assert_written(9500, payload, 10);
    assert_true(r[1].whole && !r[1].solicited);
    assert_int_equal(r[1].length, 10);
    assert_int_equal(station.recv_seen, 2);
    SEES("it: a message is taken without a buffer");
}

/* Also where the first piece is passed over, and where it is met at its end. */
static void sends_begin_anywhere(void **state)
{
    (void)state;
    open_established();
    post(9300, 4, 5);
    untagged(IW_OP_SEND, IW_QN_SEND, 4, 2);
    o.ddp.ddp_control = MORE;
    SEES("");
    assert_written(9400, payload, 2);
    assert_int_equal(station.memory.model[9304], station.memory.fresh[9304]);
    o.ddp.mo = 7;
    SEES("");
    assert_written(9403, payload, 2);
    o.ddp.mo = 8;
    SEES("it: a message is taken that its buffer cannot hold");
}

static void sends_invalidate(void **state)
{
    struct iw_station_region *r;

    (void)state;
    open_established();
    r = &station.regions[5];
    post(9300, 4, 5);
    post(9500, 4, 5);
    untagged(IW_OP_SEND_INVALIDATE, IW_QN_SEND, 0, 0);
    o.ddp.invalidate_stag = 0x11223349;
    o.ddp.ddp_control = MORE;
    SEES("");
    assert_true(r->valid);
    o.ddp.ddp_control = UNTAGGED_LAST;
    SEES("");
    assert_false(r->valid);
    assert_true(station.recvs[0].invalidates);
    assert_int_equal(station.recvs[0].invalidate_stag, 0x11223349);
    SEES("it: STag 0x11223349 was not the peer's to invalidate");

    static const uint32_t others[] = {0x11223344, 0x1122334a, 0x1122334b, 0x1122334c};
    for (size_t i = 0; i < 4; i++) {
        open_established();
        post(9300, 4, 5);
        untagged(IW_OP_SEND_SE_INVALIDATE, IW_QN_SEND, 0, 0);
        o.ddp.invalidate_stag = others[i];
        char expected[80];
        snprintf(expected, sizeof(expected), "it: STag 0x%08x was not the peer's to invalidate",
                 others[i]);
        SEES(expected);
    }
    /* All but one thing is right. */
    for (size_t i = 0; i < 2; i++) {
        open_established();
        post(9300, 4, 5);
        if (i == 0)
            r->region.pd = station.other_pd;
        else
            r->region.stream = 2;
        untagged(IW_OP_SEND_SE_INVALIDATE, IW_QN_SEND, 0, 0);
        o.ddp.invalidate_stag = 0x11223349;
        SEES("it: STag 0x11223349 was not the peer's to invalidate");
    }
    open_established();
    post(9300, 4, 5);
    r->region.stream = 0;
    untagged(IW_OP_SEND_SE_INVALIDATE, IW_QN_SEND, 0, 0);
    o.ddp.invalidate_stag = 0x11223349;
    SEES("");
    assert_true(station.recvs[0].solicited);
}

static void immediate_data_uses_a_receive(void **state)
{
    const struct iw_station_recv *r = station.recvs;

    (void)state;
    open_established();
    post(9300, 4, 5);
    post(9500, 0, 0);
    untagged(IW_OP_IMMEDIATE_SE, IW_QN_SEND, 0, 8);
    SEES("");
    assert_true(r->whole && r->immediate && r->solicited);
    assert_int_equal(r->length, 8);
    assert_memory_equal(r->data, payload, 8);
    assert_int_equal(station.recv_seen, 1);
    assert_nothing_written();
    o.ddp.rdmap_control = 0x40 | IW_OP_IMMEDIATE;
    SEES("");
    assert_true(r[1].whole && r[1].immediate && !r[1].solicited);
    SEES("it: a message is taken without a buffer");
    post(9500, 0, 0);
    o.payload_length = 9;
    SEES("it: 9 octets of Immediate Data are taken");
}

static void atomics_loosen_eight_octets(void **state)
{
    (void)state;
    open_established();
    untagged(IW_OP_ATOMIC_REQUEST, IW_QN_READ_REQUEST, 0, 52);
    o.atomic_request.remote_stag = 0x11223344;
    o.atomic_request.remote_to = 0x1ff8;
    SEES("");
    for (size_t i = 0; i < IW_FUZZ_MEMORY; i++)
        assert_int_equal(station.memory.loose[i], i >= 64 + 4088 && i < 64 + 4096);
    SEES("");
    assert_int_equal(station.memory.loose[64 + 4088], 1);
    o.atomic_request.remote_to = 0x1ff9;
    SEES("it: an atomic is taken on what the peer has no right to");
    o.atomic_request.remote_stag = 0x11223345;
    o.atomic_request.remote_to = 0;
    SEES("it: an atomic is taken on what the peer has no right to");
}

static void reads_need_the_right(void **state)
{
    static const char *const says = "it: a Read is taken of what the peer may not read";

    (void)state;
    open_established();
    untagged(IW_OP_READ_REQUEST, IW_QN_READ_REQUEST, 0, 28);
    o.read_request = (struct iw_rdmap_read_request){.size = 512, .source_stag = 0x11223345};
    SEES("");
    o.read_request.size = 513;
    SEES(says);
    o.read_request.source_stag = 0x11223346;
    o.read_request.source_to = UINT64_MAX - 512;
    o.read_request.size = 1;
    SEES(says);
    o.read_request.size = 0;
    SEES("");
    assert_nothing_written();
}

/* The first empty Send to a responder that agreed on an RTR needs no buffer. */
static void rtr_needs_no_receive(void **state)
{
    static const char *const says = "it: a message is taken without a buffer";
    struct iw_mpa_agreed agreed = {.peer_to_peer = true};

    (void)state;
    for (int other = 0; other < 7; other++) {
        open_established();
        agreed.peer_to_peer = other != 1;
        fake.agreed = other == 2 ? NULL : &agreed;
        untagged(other == 3 ? IW_OP_SEND_SE : IW_OP_SEND, IW_QN_SEND, 0, other == 4);
        station.role = other == 5 ? IW_MPA_INITIATOR : IW_MPA_RESPONDER;
        station.spoken = other == 6;
        SEES(other == 0 ? "" : says);
        assert_int_equal(station.recv_seen, 0);
        assert_int_equal(station.spoken, other == 0 || other == 6);
    }
    station.role = IW_MPA_RESPONDER;
}

static void a_terminate_ends_it(void **state)
{
    (void)state;
    open_established();
    untagged(IW_OP_TERMINATE, IW_QN_TERMINATE, 0, 4);
    SEES("");
    assert_true(station.deaf);
    tagged(IW_OP_WRITE, 0x11223344, 0x1000, 1);
    station.deaf = true;
    SEES("");
    assert_nothing_written();
}

/* Queue 3 asks for nothing that the model knows. */
static void atomic_responses_change_nothing(void **state)
{
    (void)state;
    open_established();
    untagged(IW_OP_ATOMIC_RESPONSE, IW_QN_ATOMIC_RESPONSE, 0, 12);
    SEES("");
    assert_false(station.deaf);
    assert_true(station.spoken);
    assert_nothing_written();
}

static void nothing_is_taken_after_a_fault(void **state)
{
    (void)state;
    tagged(IW_OP_WRITE, 0x11223344, 0x1000, 4);
    station.events |= 1u << IW_EVENT_FAULT;
    station.fault.fault.pos = 159;
    SEES("");
    assert_true(station.deaf);
    assert_false(station.spoken);
    assert_nothing_written();
    tagged(IW_OP_WRITE, 0x11223344, 0x1000, 4);
    station.events |= 1u << IW_EVENT_FAULT;
    station.fault.fault.pos = 160; /* the next FPDU's */
    SEES("");
    assert_false(station.deaf);
    assert_written(64, payload, 4);
    tagged(IW_OP_WRITE, 0x11223344, 0x1000, 4);
    station.fault.fault.pos = 0; /* there was none */
    SEES("");
    assert_written(64, payload, 4);
    tagged(IW_OP_WRITE, 0x11223344, 0x1000, 4);
    station.events = 0;
    SEES("");
    assert_true(station.deaf);
    assert_nothing_written();
    tagged(IW_OP_WRITE, 0x11223344, 0x1000, 4);
    station.blind = true;
    SEES("");
    assert_false(station.deaf);
    assert_nothing_written();
}

/* A Send whose STag turns out to be wrong has been placed by then; its receive does not complete.
 */
static void a_wrong_stag_is_found_after_placing(void **state)
{
    static const enum iw_check checks[] = {
        IW_CHECK_RDMAP_INVALIDATE_STAG, IW_CHECK_RDMAP_INVALIDATE_ASSOC,
        IW_CHECK_RDMAP_INVALIDATE_SHARED, IW_CHECK_DDP_TO_BOUNDS};

    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (int how = 0; how < 3; how++) {
            open_established();
            post(9300, 4, 5);
            untagged(IW_OP_SEND_INVALIDATE, IW_QN_SEND, 0, 4);
            station.events |= 1u << IW_EVENT_FAULT;
            station.fault.fault = (struct iw_fault){.check = checks[i], .pos = 120};
            station.deaf = how == 1;
            station.blind = how == 2;
            SEES("");
            assert_true(station.deaf);
            assert_false(station.recvs[0].whole);
            if (i < 3 && how == 0)
                assert_written(9300, payload, 4);
            else
                assert_nothing_written();
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_are_placed),
        cmocka_unit_test(writes_without_the_right_are_noticed),
        cmocka_unit_test(responses_are_placed),
        cmocka_unit_test(sends_fill_the_oldest_receive),
        cmocka_unit_test(sends_begin_anywhere),
        cmocka_unit_test(sends_invalidate),
        cmocka_unit_test(immediate_data_uses_a_receive),
        cmocka_unit_test(atomics_loosen_eight_octets),
        cmocka_unit_test(reads_need_the_right),
        cmocka_unit_test(rtr_needs_no_receive),
        cmocka_unit_test(a_terminate_ends_it),
        cmocka_unit_test(atomic_responses_change_nothing),
        cmocka_unit_test(nothing_is_taken_after_a_fault),
        cmocka_unit_test(a_wrong_stag_is_found_after_placing),
    };
    return cmocka_run_group_tests(tests, scene_start, NULL);
}
