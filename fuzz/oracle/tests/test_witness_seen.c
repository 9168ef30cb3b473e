/* SPDX-License-Identifier: BSD-3-Clause */
/* What a witness notes of what its observer sees. */
#include "witness_scene.h"

static struct iw_observation o;

static void see(void *argument)
{
    (void)argument;
    observer.config.seen(observer.config.context, &o);
}

#define SEES(expected) assert_string_equal(spy_fault(see, NULL), expected)

/* Something of the initiator, which the station receives. */
static void set_seen(struct scene *s, enum iw_observed kind)
{
    set(s);
    memset(&o, 0, sizeof(o));
    o.kind = kind;
    o.side = IW_SIDE_INITIATOR;
    o.pos = AT;
    o.end = AT + SEGMENT;
}

static void frames_are_noted(void **state)
{
    struct scene s;
    (void)state;
    for (int how = 0; how < 3; how++) {
        set_seen(&s, IW_OBSERVED_STARTUP);
        s.witness.framed[IW_SIDE_INITIATOR] = false;
        o.startup.flags = how == 1 ? 0 : IW_MPA_FLAG_S;
        o.startup.revision = 2;
        o.startup.pd_length = 4;
        o.enhanced.ird = how == 2 ? 0x3fff : 3;
        SEES("");
        assert_true(s.witness.framed[IW_SIDE_INITIATOR]);
        assert_int_equal(s.witness.ird_stated[IW_SIDE_INITIATOR], how == 0);
        assert_int_equal(s.station.framed_from, AT + SEGMENT);
        assert_int_equal(s.witness.whole[IW_SIDE_INITIATOR], AT + SEGMENT);
    }
    o.side = IW_SIDE_RESPONDER; /* nobody receives it */
    s.station.framed_from = 1;
    SEES("");
    assert_int_equal(s.station.framed_from, 1);
}

static void segments_go_to_the_model(void **state)
{
    struct scene s;
    (void)state;
    for (int how = 0; how < 4; how++) {
        static const unsigned faults[] = {AT - 1, AT, AT + SEGMENT - 1, AT + SEGMENT};
        set_seen(&s, IW_OBSERVED_SEGMENT);
        s.station.events = 0;
        s.station.fault.fault.pos = faults[how];
        o.ddp.qn = IW_QN_SEND;
        SEES("");
        assert_true(s.station.deaf);
        assert_int_equal(s.witness.unfinished[IW_SIDE_INITIATOR], how == 1 || how == 2);
        o.ddp.ddp_control = IW_DDP_L;
        SEES("");
        assert_false(s.witness.unfinished[IW_SIDE_INITIATOR]);
        assert_int_equal(s.witness.whole[IW_SIDE_INITIATOR], AT + SEGMENT);
        assert_false(s.witness.guessed);
    }
    s.station.deaf = false;
    o.side = IW_SIDE_RESPONDER;
    SEES("");
    assert_false(s.station.deaf);
}

/* A request or an answer while an FPDU of the other side is half here. */
static void guesses_are_noted(void **state)
{
    static const struct {
        uint8_t ddp, rdmap;
        uint32_t qn;
        bool guessed;
    } segments[] = {
        {IW_DDP_T, IW_OP_READ_RESPONSE, 0, true},
        {IW_DDP_T, IW_OP_WRITE, 1, false},
        {0, IW_OP_READ_REQUEST, 1, true},
        {0, IW_OP_ATOMIC_RESPONSE, 3, true},
        {0, IW_OP_SEND, 0, false},
        {0, IW_OP_READ_RESPONSE, 2, false},
        {0, IW_OP_ATOMIC_RESPONSE, 4, false},
    };
    struct scene s;
    (void)state;
    for (size_t i = 0; i < sizeof(segments) / sizeof(segments[0]); i++)
        for (int how = 0; how < 3; how++) {
            set_seen(&s, IW_OBSERVED_SEGMENT);
            s.station.events = 0;
            o.ddp.ddp_control = segments[i].ddp;
            o.ddp.rdmap_control = segments[i].rdmap;
            o.ddp.qn = segments[i].qn;
            observer.inside[IW_SIDE_RESPONDER] = how == 1;
            s.witness.whole[IW_SIDE_RESPONDER] = 50;
            s.witness.pos[IW_SIDE_RESPONDER] = how == 2 ? 51 : 50;
            SEES("");
            assert_int_equal(s.witness.guessed, segments[i].guessed && how > 0);
        }
}

static void assert_found(const struct scene *s, bool found)
{
    assert_int_equal(s->witness.found[IW_SIDE_INITIATOR], found);
    assert_int_equal(s->witness.fault[IW_SIDE_INITIATOR].check, found ? o.fault.check : 0);
    assert_int_equal(s->witness.found_from[IW_SIDE_INITIATOR], found ? AT : 0);
    assert_int_equal(s->witness.found_end[IW_SIDE_INITIATOR], found ? AT + SEGMENT : 0);
}

static void findings_are_noted(void **state)
{
    struct scene s;
    (void)state;
    set_seen(&s, IW_OBSERVED_FINDING);
    o.fault = (struct iw_fault){.check = IW_CHECK_DDP_QN, .pos = AT + 3};
    SEES("");
    assert_found(&s, true);
    assert_true(s.witness.irregular);
    o.fault.check = IW_CHECK_MPA_CRC; /* the first one counts */
    o.pos = 1;
    SEES("");
    assert_int_equal(s.witness.fault[IW_SIDE_INITIATOR].check, IW_CHECK_DDP_QN);
    assert_int_equal(s.witness.found_from[IW_SIDE_INITIATOR], AT);

    set_seen(&s, IW_OBSERVED_LOST);
    o.fault.check = IW_CHECK_MPA_REQ_KEY;
    SEES("");
    assert_found(&s, true);
    assert_false(s.witness.irregular);
    for (int how = 0; how < 2; how++) { /* of the observer alone, of the endpoint alone */
        set_seen(&s, IW_OBSERVED_FINDING);
        o.fault.check = how == 0 ? IW_CHECK_MPA_REP_A : IW_CHECK_DDP_STAG;
        SEES("");
        assert_found(&s, false);
        assert_true(s.witness.irregular);
    }
    set_seen(&s, IW_OBSERVED_GAP);
    o.fault.check = IW_CHECK_DDP_QN;
    SEES("");
    assert_found(&s, false);
    assert_false(s.witness.irregular);
    assert_int_equal(s.witness.whole[IW_SIDE_INITIATOR], 0);
}

/* After a finding the observer can only guess who asked and who answered. */
static void later_questions_are_not_noted(void **state)
{
    struct scene s;
    (void)state;
    for (int how = 0; how < 3; how++) {
        set_seen(&s, IW_OBSERVED_LOST);
        s.witness.irregular = how > 0;
        o.fault.check = how < 2 ? IW_CHECK_RDMAP_IRD : IW_CHECK_DDP_QN;
        SEES("");
        assert_found(&s, how != 1);
    }
}

static void what_binds_the_sender_only_is_not_noted(void **state)
{
    static const enum iw_check responses[] = {IW_CHECK_RDMAP_RESPONSE_STAG,
                                              IW_CHECK_RDMAP_RESPONSE_TO};
    struct scene s;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        set_seen(&s, IW_OBSERVED_FINDING);
        o.fault.check = responses[i % 2];
        o.payload_length = i / 2;
        SEES("");
        assert_found(&s, i / 2 == 1);
    }
    for (int how = 0; how < 4; how++) {
        set_seen(&s, IW_OBSERVED_FINDING);
        o.fault.check = how < 2 ? IW_CHECK_MPA_REV : IW_CHECK_RDMAP_IRD;
        s.station.settings[1] = how == 1 ? IW_STATION_OLD : (uint8_t)~IW_STATION_OLD;
        s.station.fin_sent = how == 3;
        SEES("");
        assert_found(&s, how == 0 || how == 2);
        s.witness.station[IW_SIDE_RESPONDER] = NULL;
        s.witness.irregular = false;
        s.witness.found[IW_SIDE_INITIATOR] = false;
        SEES("");
        assert_true(s.witness.found[IW_SIDE_INITIATOR]);
    }
}

static void findings_at_the_fault_are_noted(void **state)
{
    struct scene s;
    (void)state;
    for (int how = 0; how < 2; how++) {
        set_seen(&s, IW_OBSERVED_FINDING);
        s.station.fault.fault.pos = AT - (how == 1);
        o.fault.check = IW_CHECK_MPA_REP_A;
        SEES("");
        assert_int_equal(s.witness.noticed[IW_SIDE_INITIATOR], how == 0);
    }
}

/* A station's own octets must be right. */
static void stations_send_nothing_wrong(void **state)
{
    struct scene s;
    (void)state;
    for (int how = 0; how < 4; how++) {
        set_seen(&s, IW_OBSERVED_FINDING);
        o.side = IW_SIDE_RESPONDER;
        o.fault = (struct iw_fault){
            .check = how == 3 ? IW_CHECK_RDMAP_TERMINATE_SEGMENT : IW_CHECK_MPA_CRC, .pos = AT + 3};
        s.witness.forged[IW_SIDE_RESPONDER] = how == 1;
        s.witness.diverged = how == 2;
        SEES(how == 0   ? "responder sends what breaks mpa-crc, at octet 103"
             : how == 3 ? "responder sends what breaks rdmap-terminate-segment, at octet 103"
                        : "");
    }
    set_seen(&s, IW_OBSERVED_FINDING);
    o.side = IW_SIDE_RESPONDER;
    o.fault.check = IW_CHECK_COUNT - 1;
    assert_non_null(strstr(spy_fault(see, NULL), "responder sends what breaks "));
}

/* ---- its observer ---- */

static void open_broken(void *argument)
{
    struct scene *s = argument;

    observer.broken = true;
    iw_witness_open(&s->witness, NULL, &s->station);
}

static void the_observer_is_made_for_the_stations(void **state)
{
    struct scene s;
    struct iw_station other = {.config.extensions = true};
    (void)state;
    set(&s);
    assert_false(observer.config.extensions);
    assert_int_equal(observer.room, 24);
    assert_ptr_equal(observer.config.context, &s.witness);
    memset(&s.witness, 1, sizeof(s.witness));
    iw_witness_open(&s.witness, &other, &s.station);
    assert_true(observer.config.extensions);
    assert_ptr_equal(s.witness.station[IW_SIDE_INITIATOR], &other);
    assert_ptr_equal(s.witness.station[IW_SIDE_RESPONDER], &s.station);
    assert_false(s.witness.diverged);
    iw_witness_open(&s.witness, NULL, &other);
    assert_true(observer.config.extensions);
    assert_string_equal(spy_fault(open_broken, &s), "no observer");
}

static void close_witness(void *argument)
{
    iw_witness_close(argument);
}

static void octets_go_to_the_observer(void **state)
{
    struct scene s;
    (void)state;
    set(&s);
    iw_witness_input(&s.witness, IW_SIDE_RESPONDER, (const uint8_t *)"abc", 3);
    iw_witness_input(&s.witness, IW_SIDE_RESPONDER, (const uint8_t *)"d", 1);
    iw_witness_input(&s.witness, IW_SIDE_INITIATOR, (const uint8_t *)"e", 1);
    iw_witness_input_at(&s.witness, IW_SIDE_RESPONDER, 9, (const uint8_t *)"fg", 2);
    iw_witness_end(&s.witness, IW_SIDE_RESPONDER, true);
    iw_witness_end(&s.witness, IW_SIDE_RESPONDER, true);
    iw_witness_end(&s.witness, IW_SIDE_INITIATOR, false);
    spy_noted("side 1 at 0: 616263\n"
              "side 1 at 3: 64\n"
              "side 0 at 0: 65\n"
              "side 1 at 9: 6667\n"
              "side 1 ends at 4 by reset\n"
              "side 0 ends at 1\n");
    void *block = observer.config.lend(observer.config.context, 8);
    assert_string_equal(spy_fault(close_witness, &s.witness),
                        "the observer keeps what it borrowed");
    observer.config.give_back(observer.config.context, block, 8);
    assert_string_equal(spy_fault(close_witness, &s.witness), "");
    spy_noted("drop\ndrop\n");
}

/* ---- the trace ---- */

static void assert_traced(const char *want)
{
    char text[600] = "";
    FILE *real = stderr, *file = fmemopen(text, sizeof(text), "w");

    assert_non_null(file);
    stderr = file;
    const char *says = spy_fault(see, NULL);
    stderr = real;
    fclose(file);
    assert_string_equal(says, "");
    assert_string_equal(text, want);
}

static void things_seen_are_traced(void **state)
{
    static const uint8_t frame[20] = "MPA ID Req Frame";
    static const uint8_t ulpdu[20] = {0x41, 0x43, [13] = 1};
    struct scene s;
    (void)state;
    setenv("IW_FUZZ_TRACE", "1", 1);
    set_seen(&s, IW_OBSERVED_STARTUP);
    unsetenv("IW_FUZZ_TRACE");
    o.frame = frame;
    o.frame_length = sizeof(frame);
    assert_traced("> 100..160 start-up mpa request rev 0 pd 0\n");
    s.station.events = 0;
    o.kind = IW_OBSERVED_SEGMENT;
    o.ulpdu = ulpdu;
    o.ulpdu_length = sizeof(ulpdu);
    o.side = IW_SIDE_RESPONDER;
    assert_traced("< 100..160 segment send L msn 1 mo 0 len 2\n");
    o.kind = IW_OBSERVED_MESSAGE;
    assert_traced("");
    o.side = IW_SIDE_INITIATOR;
    o.fault.check = IW_CHECK_MPA_CRC;
    o.kind = IW_OBSERVED_FINDING;
    assert_traced("> 100..160 finding mpa-crc\n");
    o.kind = IW_OBSERVED_LOST;
    assert_traced("> 100..160 lost mpa-crc\n");
    o.kind = IW_OBSERVED_RESYNC;
    assert_traced("> 100..160 resync \n");
    set_seen(&s, IW_OBSERVED_GAP);
    assert_traced("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_noted),
        cmocka_unit_test(segments_go_to_the_model),
        cmocka_unit_test(guesses_are_noted),
        cmocka_unit_test(findings_are_noted),
        cmocka_unit_test(later_questions_are_not_noted),
        cmocka_unit_test(what_binds_the_sender_only_is_not_noted),
        cmocka_unit_test(findings_at_the_fault_are_noted),
        cmocka_unit_test(stations_send_nothing_wrong),
        cmocka_unit_test(the_observer_is_made_for_the_stations),
        cmocka_unit_test(octets_go_to_the_observer),
        cmocka_unit_test(things_seen_are_traced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
