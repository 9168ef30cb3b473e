/* SPDX-License-Identifier: BSD-3-Clause */
/* What the consumer's operations ask an endpoint and a domain for. */
#include "station_scene.h"

#include <stdio.h>

static struct iw_fuzz_operation op;

static void operate(void *argument)
{
    (void)argument;
    iw_station_operate(&station, &op);
}

/* The operation with these fields, on the station as it is. */
static const char *doing(enum iw_fuzz_op kind, unsigned a, unsigned b, unsigned c, unsigned d,
                         unsigned e)
{
    op = (struct iw_fuzz_operation){.op = kind,
                                    .a = (uint8_t)a,
                                    .b = (uint8_t)b,
                                    .c = (uint8_t)c,
                                    .d = (uint16_t)d,
                                    .e = (uint16_t)e};
    return spy_fault(operate, NULL);
}

#define DO(kind, a, b, c, d, e) assert_string_equal(doing(kind, a, b, c, d, e), "")

/* Asserts what the last work request in the station is. */
static void assert_send(uint64_t tail, uint64_t id, enum iw_work_opcode opcode, uint32_t length)
{
    const struct iw_station_send *last = &station.sends[(tail - 1) % IW_STATION_WORK];

    assert_int_equal(station.send_tail, tail);
    assert_int_equal(last->id, id);
    assert_int_equal(last->opcode, opcode);
    assert_int_equal(last->length, length);
}

static void sends_and_writes_are_posted(void **state)
{
    (void)state;
    scene_open("00000000");
    DO(IW_FUZZ_POST, 0, 0, 0, 100, 5);
    spy_noted("post 1 op 0 flags 0 to 11223344+1005 f5+100\n");
    assert_send(1, 1, IW_WORK_SEND, 100);
    DO(IW_FUZZ_POST, 14, 5, 2, 100, 0x4000 + 9); /* fence, three pieces; op 4; past the memory */
    spy_noted("post 2 op 4 flags 1 to 11223346+3e08 f9+33 f42+22 f64+45\n");
    assert_send(2, 2, IW_WORK_WRITE, 100);
    DO(IW_FUZZ_POST, 5 - 2, 6, 9, 100, 16384 - 30); /* cut at the memory's end */
    spy_noted("post 3 op 3 flags 0 to 1122334d+3fe2 f16354+10 f16364+6 f16370+4 f16374+10\n");
    assert_send(3, 3, IW_WORK_SEND_SE_INVALIDATE, 30);
    DO(IW_FUZZ_POST, 1, 3, 8, 0, 0);
    spy_noted("post 4 op 1 flags 1 to 1122334c+1000 f0+0 f0+0\n");
    assert_send(4, 4, IW_WORK_SEND_SE, 0);
    fake.posted = IW_ERR_STATE;
    DO(IW_FUZZ_POST, 1, 0, 0, 1, 0);
    spy_noted("post 5 op 1 flags 0 to 11223344+1000 f0+1\n");
    assert_int_equal(station.send_tail, 4);
    assert_int_equal(station.ids, 5);
}

static void reads_are_posted(void **state)
{
    (void)state;
    scene_open("00000000");
    DO(IW_FUZZ_POST, 5, 0x31, 1, 600, 500); /* into region 3 */
    spy_noted("post 1 op 5 flags 1 to 11223345+1f4 sink 11223347+21f4 524\n");
    assert_send(1, 1, IW_WORK_READ, 524);
    DO(IW_FUZZ_POST, 5, 0xf0, 1, 20, 10); /* region 15 modulo 8 is 7 */
    spy_noted("post 2 op 5 flags 0 to 11223345+a sink 1122334b+100a 20\n");
    assert_send(2, 2, IW_WORK_READ, 20);
    station.regions[3].valid = false;
    DO(IW_FUZZ_POST, 5, 0x30, 1, 20, 10);
    station.regions[3].valid = true;
    station.regions[3].region.length = 0;
    DO(IW_FUZZ_POST, 5, 0x30, 1, 20, 10);
    spy_noted("");
    assert_int_equal(station.send_tail, 2);
}

static void immediate_data_and_atomics_are_posted(void **state)
{
    (void)state;
    scene_open("00000000");
    DO(IW_FUZZ_POST, 6, 0x0e, 1, 257, 3);
    spy_noted("post 1 op 6 flags 0 to 11223345+3 immediate 59cce65af39af629\n");
    assert_send(1, 1, IW_WORK_IMMEDIATE, 8);
    DO(IW_FUZZ_POST, 8, 0x10, 0, 3, 0x18);
    spy_noted("post 2 op 8 flags 0 to 11223344+1018 3000300030003/c0006000300018 18/10\n");
    assert_send(2, 2, IW_WORK_FETCH_ADD, 8);
    DO(IW_FUZZ_POST, 9, 0xf0, 0, 0x8001, 2);
    spy_noted("post 3 op 9 flags 0 to 11223344+1002 8001800180018001/10000800040002 2/f0\n");
    assert_send(3, 3, IW_WORK_CMP_SWAP, 8);
}

static void the_station_remembers_64_requests(void **state)
{
    (void)state;
    scene_open("00000000");
    station.send_head = 10;
    station.send_tail = 74;
    DO(IW_FUZZ_POST, 0, 0, 0, 4, 0);
    station.recv_head = 10;
    station.recv_tail = 74;
    DO(IW_FUZZ_RECV, 1, 8, 0, 4, 0);
    spy_noted("");
    station.send_head = station.recv_head = 11;
    DO(IW_FUZZ_POST, 0, 0, 0, 4, 0);
    assert_send(75, 3, IW_WORK_SEND, 4);
    DO(IW_FUZZ_RECV, 1, 8, 0, 4, 0);
    assert_int_equal(station.recv_tail, 75);
    assert_int_equal(station.recvs[10].id, 4);
}

/* Asserts the receive that was posted last: its place in the memory, pieces and octets. */
static void assert_receive(size_t at, size_t count, uint32_t capacity)
{
    const struct iw_station_recv *r = &station.recvs[station.recv_tail - 1];

    if (count > 0)
        assert_int_equal((const uint8_t *)r->sge[0].base - station.memory.octets, at);
    assert_int_equal(r->count, count);
    assert_int_equal(r->capacity, capacity);
    assert_false(r->whole);
}

static void receives_are_posted(void **state)
{
    (void)state;
    scene_open("00000000");
    DO(IW_FUZZ_RECV, 1, 8, 0, 100, 3072 + 7);
    assert_receive(9287, 1, 100);
    DO(IW_FUZZ_RECV, 3, 15, 0, 100, 3072 - 50);
    assert_receive(9280 + 3022, 3, 50);
    DO(IW_FUZZ_RECV, 9, 1, 0, 30, 505); /* region 1: its last 7 octets; 4 pieces */
    assert_receive(4224 + 505, 4, 7);
    DO(IW_FUZZ_RECV, 5, 7, 0, 30, 505); /* no piece */
    assert_receive(0, 0, 0);
    DO(IW_FUZZ_RECV, 2, 0x12, 0, 30, 1);
    assert_receive(4801, 2, 30);
    station.regions[2].region.length = 0;
    DO(IW_FUZZ_RECV, 2, 2, 0, 30, 1);
    assert_receive(9281, 2, 30);
    spy_noted("receive 1 m9287+100\n"
              "receive 2 m12302+16 m12318+11 m12329+23\n"
              "receive 3 m4729+2 m4731+1 m4732+1 m4733+3\n"
              "receive 4\n"
              "receive 5 m4801+10 m4811+20\n"
              "receive 6 m9281+10 m9291+20\n");
    fake.posted = IW_ERR_FULL;
    DO(IW_FUZZ_RECV, 1, 8, 0, 100, 7);
    assert_int_equal(station.recv_tail, 6);
    assert_int_equal(station.ids, 7);
}

/* Asserts a region of the station, and that the domain has the same. */
static void assert_region(size_t index, uint32_t stag, size_t at, uint64_t length, uint64_t to,
                          uint32_t access, uint64_t stream)
{
    const struct iw_station_region *r = &station.regions[index];
    struct iw_region found;

    assert_true(r->known && r->valid);
    assert_int_equal(r->region.stag, stag);
    assert_int_equal(r->region.base - station.memory.octets, at);
    assert_int_equal(r->region.length, length);
    assert_int_equal(r->region.to, to);
    assert_int_equal(r->region.access, access);
    assert_int_equal(r->region.stream, stream);
    assert_true(iw_domain_lookup(station.domain, stag, &found));
    assert_ptr_equal(found.base, r->region.base);
    assert_int_equal(found.access, access);
    assert_int_equal(found.stream, stream);
}

static void regions_are_registered(void **state)
{
    (void)state;
    scene_open("00000000");
    assert_int_equal(station.region_count, 8);
    DO(IW_FUZZ_REGISTER, 0x46, 0, 0, 100, 13);
    assert_region(8, 0x1122334c, 12416 + 8, 100, 0xd0000000d, 6, 0);
    assert_int_equal(station.regions[8].region.pd, station.pd);
    assert_int_equal(station.regions[8].region.guard, 0);
    DO(IW_FUZZ_REGISTER, 2, 3, 0, 50, 3904 + 3864);
    assert_region(9, 0x1122334d, 12416 + 3864, 40, UINT64_C(0x1e5800001e58), 2, 1);
    assert_int_equal(station.regions[9].region.pd, station.other_pd);
    DO(IW_FUZZ_REGISTER, 2, 1, 0, 50, 0);
    assert_region(10, 0x1122334e, 12416, 50, 0, 2, 1);
    assert_int_equal(station.regions[10].region.pd, station.pd);
    assert_int_equal(station.region_count, 11);
    for (size_t i = 11; i < IW_STATION_REGIONS; i++)
        DO(IW_FUZZ_REGISTER, 2, 0, 0, 8, 0);
    assert_int_equal(station.region_count, 24);
    DO(IW_FUZZ_DEREGISTER, 0, 0, 8, 0, 0);
    DO(IW_FUZZ_REGISTER, 2, 0, 0, 8, 0);
    DO(IW_FUZZ_BIND, 2, 0, 4, 8, 0);
    assert_int_equal(station.region_count, 24);
    spy_noted("");

    scene_open("00000000");
    for (size_t i = 8; i < IW_STATION_REGIONS; i++) {
        struct iw_region r = station.regions[0].region;
        assert_int_equal(iw_domain_register(station.domain, &r), 0);
    }
    assert_string_equal(doing(IW_FUZZ_REGISTER, 2, 0, 0, 8, 0),
                        "it: a region cannot be registered");
    DO(IW_FUZZ_BIND, 2, 0, 4, 8, 0);
    assert_int_equal(station.region_count, 8);
}

static void windows_are_bound(void **state)
{
    (void)state;
    scene_open("00000000");
    DO(IW_FUZZ_BIND, 0x42, 0, 4, 100, 16);
    assert_region(8, 0x1122334c, 6464 + 16, 100, 0x2010, 2, 0);
    assert_true(station.regions[0].known && station.regions[0].valid);
    DO(IW_FUZZ_BIND, 4, 0x83, 12, 50, 8); /* index 8 anew, of this stream; 12 modulo 9 is 3 */
    assert_int_equal(station.region_count, 9);
    DO(IW_FUZZ_BIND, 4, 0x83, 4, 50, 8);
    assert_region(9, 0x1122334d, 6464 + 8, 50, 0x2008, 4, 1);
    assert_false(station.regions[8].known || station.regions[8].valid);
    DO(IW_FUZZ_BIND, 4, 0x82, 4, 50, 8); /* what is not known is not bound anew */
    assert_region(10, 0x1122334e, 6464 + 8, 50, 0x2008, 4, 0);
    station.regions[4].known = false;
    DO(IW_FUZZ_BIND, 4, 0, 4, 50, 8);
    assert_int_equal(station.region_count, 11);
    spy_noted("");
}

static void invalidations_are_compared(void **state)
{
    (void)state;
    scene_open("00000000");
    DO(IW_FUZZ_INVALIDATE, 0, 0, 13, 0, 0);
    assert_false(station.regions[5].valid);
    DO(IW_FUZZ_INVALIDATE, 0, 0, 5, 0, 0); /* dead by now */
    station.regions[5].valid = true;
    assert_string_equal(doing(IW_FUZZ_INVALIDATE, 0, 0, 5, 0, 0),
                        "it: STag 0x11223349 is invalidated although it was dead, or lives on");
    station.blind = true;
    DO(IW_FUZZ_INVALIDATE, 0, 0, 5, 0, 0);
    station.blind = false;
    station.regions[6].valid = false;
    assert_string_equal(doing(IW_FUZZ_INVALIDATE, 0, 0, 6, 0, 0),
                        "it: STag 0x1122334a is invalidated although it was dead, or lives on");
    station.regions[7].known = false;
    DO(IW_FUZZ_INVALIDATE, 0, 0, 7, 0, 0);
    assert_true(station.regions[7].valid);
    spy_noted("");
}

static void regions_are_deregistered(void **state)
{
    struct iw_region found;

    (void)state;
    scene_open("00000000");
    DO(IW_FUZZ_DEREGISTER, 0, 0, 13, 0, 0);
    assert_false(station.regions[5].known || station.regions[5].valid);
    assert_false(iw_domain_lookup(station.domain, 0x11223349, &found));
    DO(IW_FUZZ_BIND, 2, 0, 4, 8, 0);
    DO(IW_FUZZ_DEREGISTER, 0, 0, 4, 0, 0); /* a window is bound to it */
    assert_true(station.regions[4].known && station.regions[4].valid);
    station.regions[3].known = false;
    DO(IW_FUZZ_DEREGISTER, 0, 0, 3, 0, 0);
    assert_true(station.regions[3].valid);
    assert_true(iw_domain_lookup(station.domain, 0x11223347, &found));
    spy_noted("");
}

static void the_rest_goes_to_the_endpoint(void **state)
{
    (void)state;
    scene_open("00000000");
    DO(IW_FUZZ_SHUTDOWN, 0, 0, 0, 0, 0);
    DO(IW_FUZZ_ABORT, 2, 7, 0, 0, 0);
    DO(IW_FUZZ_ABORT, 3, 8, 0, 0, 0);
    DO(IW_FUZZ_ANSWER, 2, 0, 0, 514 + 3, 0);
    DO(IW_FUZZ_ANSWER, 1, 0, 0, 513, 0);
    DO(IW_FUZZ_EMSS, 0, 0, 0, 1000, 0);
    DO(IW_FUZZ_BEGIN, 0, 0, 0, 0, 0);
    spy_noted("shutdown\n"
              "abort 0 7\n"
              "abort 1 8\n"
              "accept f0+3\n"
              "reject f0+513\n"
              "emss 1000\n"
              "begin\n");
    fake.output[0] = (struct iw_iov){(void *)(uintptr_t) "abcdef", 6};
    fake.outputs = 1;
    DO(IW_FUZZ_OUTPUT, 0, 0, 0, 4, 0);
    fake.output_at = 0;
    DO(IW_FUZZ_OUTPUT, 0, 0, 0, 0, 0);
    spy_noted("out 61626364\n"
              "sent 4\n"
              "out 616263646566\n"
              "sent 6\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_and_writes_are_posted),
        cmocka_unit_test(reads_are_posted),
        cmocka_unit_test(immediate_data_and_atomics_are_posted),
        cmocka_unit_test(the_station_remembers_64_requests),
        cmocka_unit_test(receives_are_posted),
        cmocka_unit_test(regions_are_registered),
        cmocka_unit_test(windows_are_bound),
        cmocka_unit_test(invalidations_are_compared),
        cmocka_unit_test(regions_are_deregistered),
        cmocka_unit_test(the_rest_goes_to_the_endpoint),
    };
    return cmocka_run_group_tests(tests, scene_start, NULL);
}
