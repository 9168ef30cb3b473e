/* SPDX-License-Identifier: BSD-3-Clause */
/* The station: output, completions and the end. */
#include "station_scene.h"

#include <stdio.h>

/* ---- output ---- */

static void outputs(const char *first, const char *second, const char *third)
{
    fake.output[0] = (struct iw_iov){(void *)(uintptr_t)first, strlen(first)};
    fake.output[1] = (struct iw_iov){(void *)(uintptr_t)second, strlen(second)};
    fake.output[2] = (struct iw_iov){(void *)(uintptr_t)third, strlen(third)};
    fake.outputs = 3;
    fake.output_at = 0;
}

static void output_leaves(void **state)
{
    (void)state;
    scene_open("00000000");
    outputs("ab", "cde", "f");
    SETTLES("");
    spy_noted("out 6162\n"
              "sent 2\n"
              "out 636465\n"
              "sent 3\n"
              "out 66\n"
              "sent 1\n");
    outputs("ab", "cde", "f");
    iw_station_output(&station, 4);
    spy_noted("out 6162\n"
              "sent 2\n"
              "out 6364\n"
              "sent 2\n");
    outputs("ab", "cde", "f");
    iw_station_output(&station, 0);
    iw_station_output(&station, 2);
    spy_noted("out 6162\n"
              "sent 2\n");
    station.room = 3;
    outputs("ab", "cde", "f");
    iw_station_output(&station, 100);
    spy_noted("out 6162\n"
              "sent 2\n"
              "out 63\n"
              "sent 1\n");
}

static void lists_leave_together_in_place(void **state)
{
    (void)state;
    scene_open("00200000");
    outputs("ab", "cde", "f");
    fake.paired = true;
    fake.output[3] = fake.output[0];
    fake.outputs = 4;
    iw_station_output(&station, 7);
    spy_noted("output of 2\n"
              "out 6162\n"
              "out 636465\n"
              "out 66\n"
              "out 61\n"
              "sent 7\n");
}

static void lazy_stations_keep_their_output(void **state)
{
    (void)state;
    scene_open("40000000");
    outputs("ab", "cde", "f");
    fake.done[0] = (struct iw_completion){.opcode = IW_WORK_RECV};
    SETTLES("");
    spy_noted("");
    fake.done_count = 1;
    SETTLES("it: more is received than posted");
}

static void out_completes(void *context, const uint8_t *octets, size_t length)
{
    scene_out(context, octets, length);
    fake.done[0] = (struct iw_completion){.opcode = IW_WORK_RECV};
    fake.done_count = 1;
}

/* What completes when octets leave is looked at, too. */
static void output_may_complete_work(void **state)
{
    (void)state;
    scene_open("00000000");
    outputs("ab", "cde", "f");
    station.out = out_completes;
    SETTLES("it: more is received than posted");
    station.out = scene_out;
}

static void empty_pieces_are_noticed(void **state)
{
    (void)state;
    scene_open("00000000");
    outputs("ab", "", "f");
    SETTLES("it: an empty piece to be sent");
}

static void ends_are_passed_on(void **state)
{
    (void)state;
    scene_open("00000000");
    fake.want = IW_WANT_FIN;
    iw_station_output(&station, 0); /* the octets before it have no room */
    spy_noted("");
    SETTLES("");
    assert_true(station.fin_sent);
    SETTLES("");
    spy_noted("out fin\n"
              "fin sent\n");
    outputs("ab", "cde", "f");
    SETTLES("it: octets after its FIN");
    scene_open("00000000");
    fake.want = IW_WANT_RESET;
    SETTLES("");
    assert_true(station.reset);
    SETTLES("");
    spy_noted("out reset\n"
              "lost\n");
    scene_open("00000000");
    fake.want = IW_WANT_CLOSE;
    SETTLES("");
    spy_noted("");
    assert_false(station.fin_sent || station.reset);
}

static void pass_time(void *argument)
{
    iw_station_time(&station, *(unsigned *)argument);
}

static void time_passes(void **state)
{
    unsigned milliseconds = 3;

    (void)state;
    scene_open("00000000");
    fake.deadline = 4000001;
    assert_string_equal(spy_fault(pass_time, &milliseconds), "");
    spy_noted("tick at 4000000\n");
    fake.deadline = 7000000;
    assert_string_equal(spy_fault(pass_time, &milliseconds), "it: a deadline that has passed");
}

/* ---- completions ---- */

static struct iw_completion *completes(struct iw_completion c)
{
    fake.done[fake.done_count] = c;
    return &fake.done[fake.done_count++];
}

static void set_sends(void)
{
    scene_open("00000000");
    station.sends[0] = (struct iw_station_send){.id = 4, .opcode = IW_WORK_WRITE, .length = 9};
    station.send_tail = 1;
}

static void work_completes_in_order(void **state)
{
    (void)state;
    set_sends();
    completes((struct iw_completion){.id = 4, .opcode = IW_WORK_WRITE, .length = 9});
    SETTLES("");
    assert_int_equal(station.send_head, 1);
    completes((struct iw_completion){.id = 4, .opcode = IW_WORK_WRITE, .length = 9});
    SETTLES("it: more completions than work (id 4)");
    set_sends();
    completes((struct iw_completion){.id = 5, .opcode = IW_WORK_WRITE, .length = 9});
    SETTLES("it: work 5 completes in the place of work 4");
    set_sends();
    completes((struct iw_completion){.id = 4, .opcode = IW_WORK_SEND, .length = 9});
    SETTLES("it: work 4 completes in the place of work 4");
    for (uint32_t length = 8; length < 11; length += 2) {
        char expected[80];
        set_sends();
        completes((struct iw_completion){.id = 4, .opcode = IW_WORK_WRITE, .length = length});
        snprintf(expected, sizeof(expected), "it: work 4 completes with %u octets instead of 9",
                 length);
        SETTLES(expected);
        set_sends();
        completes((struct iw_completion){
            .id = 4, .opcode = IW_WORK_WRITE, .status = IW_STATUS_FLUSHED, .length = length});
        SETTLES("");
    }
    set_sends();
    station.send_head = 63;
    station.send_tail = 65;
    station.sends[63] = (struct iw_station_send){.id = 3, .opcode = IW_WORK_WRITE, .length = 1};
    completes((struct iw_completion){.id = 3, .opcode = IW_WORK_WRITE, .length = 1});
    completes((struct iw_completion){.id = 4, .opcode = IW_WORK_WRITE, .length = 9});
    SETTLES("");
    for (size_t i = 0; i < 10; i++) /* more than are polled at once */
        completes((struct iw_completion){.id = 5, .opcode = IW_WORK_WRITE, .length = 9});
    station.send_tail = 75;
    for (size_t i = 1; i < 11; i++)
        station.sends[i] = (struct iw_station_send){.id = 5, .opcode = IW_WORK_WRITE, .length = 9};
    SETTLES("");
    assert_int_equal(station.send_head, 75);
}

/* A receive whose whole message has come, and the completion of it. */
static struct iw_completion *set_receive(void)
{
    scene_open("00000000");
    station.recvs[0] = (struct iw_station_recv){.id = 6,
                                                .whole = true,
                                                .solicited = true,
                                                .invalidates = true,
                                                .immediate = true,
                                                .length = 20,
                                                .invalidate_stag = 0x7744,
                                                .data = "datadat"};
    station.recv_tail = 1;
    return completes((struct iw_completion){.id = 6,
                                            .opcode = IW_WORK_RECV,
                                            .length = 20,
                                            .solicited = true,
                                            .invalidated = true,
                                            .invalidate_stag = 0x7744,
                                            .immediate = true,
                                            .immediate_data = "datadat"});
}

#define OTHER(octets)                                                                              \
    "it: receive 6 completes with " octets " octets as another message than came (20)"

static void receives_complete_as_the_model_says(void **state)
{
    (void)state;
    set_receive();
    SETTLES("");
    assert_int_equal(station.recv_head, 1);
    set_receive();
    station.recv_head = 1;
    SETTLES("it: more is received than posted");
    set_receive()->id = 7;
    SETTLES("it: receive 7 completes in the place of 6");
    set_receive()->status = IW_STATUS_LOCAL_FAULT;
    SETTLES("it: receive 6: the message is whole, and the status is 2");
    set_receive();
    station.recvs[0].whole = false;
    SETTLES("it: receive 6: the message is not whole, and the status is 0");
    set_receive()->status = IW_STATUS_FLUSHED;
    station.recvs[0].whole = false;
    station.recvs[0].length = 0;
    SETTLES("");
    set_receive()->length = 19;
    SETTLES(OTHER("19"));
    set_receive()->length = 21;
    SETTLES(OTHER("21"));
    set_receive()->solicited = false;
    SETTLES(OTHER("20"));
    set_receive()->invalidated = false;
    SETTLES(OTHER("20"));
    set_receive()->invalidate_stag = 0x7743;
    SETTLES(OTHER("20"));
    set_receive()->invalidate_stag = 0x7745;
    SETTLES(OTHER("20"));
    set_receive()->immediate = false;
    SETTLES(OTHER("20"));
    set_receive();
    station.recvs[0].solicited = station.recvs[0].invalidates = station.recvs[0].immediate = false;
    SETTLES(OTHER("20"));
    set_receive();
    station.recvs[0].solicited = false;
    SETTLES(OTHER("20"));
    set_receive();
    station.recvs[0].invalidates = false;
    SETTLES(OTHER("20"));
    set_receive();
    station.recvs[0].immediate = false;
    SETTLES(OTHER("20"));
    set_receive()->immediate_data[7] = 1;
    SETTLES("it: receive 6 has other Immediate Data");
    set_receive()->immediate_data[0] = 'a';
    SETTLES("it: receive 6 has other Immediate Data");
    set_receive()->immediate = false;
    station.recvs[0].immediate = false;
    station.recvs[0].data[0] = 1;
    SETTLES("");
    set_receive()->length = 19;
    station.blind = true;
    SETTLES("");
}

/* Two stations that see the same completions have the same number, others do not. */
static void completions_make_a_history(void **state)
{
    char history[60];

    (void)state;
    set_receive();
    fake.done[0].original = 0x1234;
    fake.done[0].check = IW_CHECK_MPA_REQ_KEY; /* 1, however many checks there are */
    SETTLES("");
    snprintf(history, sizeof(history), "%016llx", (unsigned long long)station.history);
    assert_string_equal(history, "a9ffedb15229c9de");
    set_sends();
    completes((struct iw_completion){.id = 4,
                                     .opcode = IW_WORK_WRITE,
                                     .status = IW_STATUS_REMOTE_FAULT,
                                     .immediate_data = "datadat"});
    SETTLES("");
    snprintf(history, sizeof(history), "%016llx", (unsigned long long)station.history);
    assert_string_equal(history, "5b6b07bc8c07a371");
}

/* ---- the end ---- */

static void close_station(void *argument)
{
    (void)argument;
    iw_station_close(&station);
}

#define CLOSES(expected) assert_string_equal(spy_fault(close_station, NULL), expected)

static void set_closed(void)
{
    scene_open("00000000");
    station.events = 1u << IW_EVENT_CLOSED;
}

static void everything_is_returned_in_the_end(void **state)
{
    (void)state;
    set_closed();
    CLOSES("");
    spy_noted("lost\ndestroy\n");
    scene_open("00000000");
    station.events = 1u << IW_EVENT_TERMINATED;
    CLOSES("it: the connection does not end");
    set_closed();
    station.send_tail = 3;
    station.recv_head = 1;
    station.recv_tail = 2;
    CLOSES("it: 3 pieces of work and 1 receives never complete");
    set_closed();
    station.send_tail = 3;
    CLOSES("it: 3 pieces of work and 0 receives never complete");
    set_closed();
    station.recv_tail = 2;
    CLOSES("it: 0 pieces of work and 2 receives never complete");
    set_closed();
    fake.deadline = 5;
    CLOSES("it: a deadline after the end");
    set_closed();
    station.heap.live++;
    CLOSES("it: 1 blocks of memory are not given back");
    set_closed();
    assert_non_null(iw_domain_borrow(station.domain));
    CLOSES("it: a buffer is not given back");
    set_closed();
    station.memory.octets[0] ^= 1;
    CLOSES("it: octet 0 of its memory is 0xd7 and ought to be 0xd6");
    set_closed();
    station.memory.octets[0] ^= 1;
    station.blind = true;
    CLOSES("");
}

/* Its last events and completions come when it loses the connection. */
static void the_end_is_looked_at(void **state)
{
    (void)state;
    set_closed();
    station.events = 0;
    fake.events[0].kind = IW_EVENT_CLOSED;
    station.recvs[0].id = 1;
    station.recv_tail = 1;
    completes((struct iw_completion){.id = 1, .opcode = IW_WORK_RECV, .status = IW_STATUS_FLUSHED});
    CLOSES("");
    assert_int_equal(station.recv_head, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_leaves),
        cmocka_unit_test(lists_leave_together_in_place),
        cmocka_unit_test(lazy_stations_keep_their_output),
        cmocka_unit_test(output_may_complete_work),
        cmocka_unit_test(empty_pieces_are_noticed),
        cmocka_unit_test(ends_are_passed_on),
        cmocka_unit_test(time_passes),
        cmocka_unit_test(work_completes_in_order),
        cmocka_unit_test(receives_complete_as_the_model_says),
        cmocka_unit_test(completions_make_a_history),
        cmocka_unit_test(everything_is_returned_in_the_end),
        cmocka_unit_test(the_end_is_looked_at),
    };
    return cmocka_run_group_tests(tests, scene_start, NULL);
}
