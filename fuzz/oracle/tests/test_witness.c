/* SPDX-License-Identifier: BSD-3-Clause */
/* The fuzzers' oracle itself: which disagreements of an endpoint and the observer it reports. */
#include "witness_scene.h"

/* The endpoint finds a fault in the FPDU at AT. */
static void endpoint_finds(struct scene *s, enum iw_check check)
{
    s->station.events |= 1u << IW_EVENT_FAULT;
    s->station.fault.fault = (struct iw_fault){.check = check, .pos = AT};
}

static void observer_finds(struct scene *s, enum iw_check check)
{
    s->witness.found[IW_SIDE_INITIATOR] = true;
    s->witness.fault[IW_SIDE_INITIATOR] = (struct iw_fault){.check = check, .pos = AT};
    s->witness.found_from[IW_SIDE_INITIATOR] = AT;
    s->witness.found_end[IW_SIDE_INITIATOR] = AT + SEGMENT;
}

static void ask(void *argument)
{
    struct scene *s = argument;

    iw_witness_agree(&s->witness, IW_SIDE_INITIATOR);
}

static const char *said; /* by the witness */

/* Returns whether the witness takes it. */
static bool agree(struct scene *s)
{
    said = spy_fault(ask, s);
    return said[0] == '\0';
}

static bool seen_by_both(enum iw_check check)
{
    unsigned kinds = iw_check_info(check)->kinds;
    return (kinds & IW_KIND_ENDPOINT) != 0 && (kinds & IW_KIND_OBSERVER) != 0;
}

static void test_both_find_it(void **state)
{
    struct scene s;
    (void)state;
    set(&s);
    assert_true(agree(&s));
    set(&s);
    endpoint_finds(&s, IW_CHECK_MPA_CRC);
    observer_finds(&s, IW_CHECK_MPA_CRC);
    assert_true(agree(&s));
}

static void test_the_observer_alone(void **state)
{
    struct scene s;
    (void)state;
    set(&s);
    observer_finds(&s, IW_CHECK_MPA_CRC);
    assert_false(agree(&s));
    assert_string_equal(said,
                        "responder finds none at octet 0, and the observer mpa-crc at octet 100");
}

/* Whether the oracle takes a fault that the endpoint alone finds, for every check that both can
 * make. `unfinished`: its segment is not the last of its message; `unstated`: no IRD was stated. */
static void faults_of_one(const enum iw_check *taken, size_t count, bool unfinished, bool unstated)
{
    for (enum iw_check check = IW_CHECK_NONE + 1; check < IW_CHECK_COUNT; check++) {
        struct scene s;
        bool expected = !seen_by_both(check);
        for (size_t i = 0; i < count; i++)
            expected = expected || taken[i] == check;
        set(&s);
        s.witness.unfinished[IW_SIDE_INITIATOR] = unfinished;
        s.witness.ird_stated[IW_SIDE_RESPONDER] = !unstated;
        endpoint_finds(&s, check);
        bool agreed = agree(&s);
        if (agreed != expected)
            print_error("%s\n", iw_check_info(check)->name);
        assert_int_equal(agreed, expected);
        if (!agreed)
            assert_non_null(strstr(said, ", and the observer none at octet"));
    }
}

static void test_the_endpoint_alone(void **state)
{
    static const enum iw_check always[] = {IW_CHECK_MPA_REV};
    static const enum iw_check unfinished[] = {
        IW_CHECK_MPA_REV,
        IW_CHECK_MPA_RTR_FIRST,
        IW_CHECK_RDMAP_READ_LENGTH,
        IW_CHECK_RDMAP_TERMINATE_VALID,
        IW_CHECK_RDMAP_IMMEDIATE_LENGTH,
        IW_CHECK_RDMAP_ATOMIC_LENGTH,
        IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED,
        IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER,
        IW_CHECK_RDMAP_ATOMIC_RESPONSE_ID,
        IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH,
    };
    static const enum iw_check unstated[] = {IW_CHECK_MPA_REV, IW_CHECK_RDMAP_IRD};
    (void)state;
    faults_of_one(always, 1, false, false);
    faults_of_one(unfinished, sizeof(unfinished) / sizeof(unfinished[0]), true, false);
    faults_of_one(unstated, 2, false, true);
}

/* ---- what else it takes ---- */

/* Nothing is judged after the end, or once the two have seen different octets. */
static void nothing_is_judged_after_the_end(void **state)
{
    struct scene s;
    (void)state;
    for (int how = 0; how < 3; how++) {
        set(&s);
        observer_finds(&s, IW_CHECK_MPA_CRC);
        s.station.over = how == 0;
        s.witness.diverged = how == 1;
        assert_int_equal(agree(&s), how < 2);
    }
}

/* A finding after the octet at fault is no finding. */
static void later_findings_do_not_count(void **state)
{
    struct scene s;
    (void)state;
    for (unsigned pos = AT - 1; pos <= AT; pos++) {
        set(&s);
        endpoint_finds(&s, IW_CHECK_MPA_CRC);
        s.station.fault.fault.pos = pos;
        observer_finds(&s, IW_CHECK_MPA_CRC);
        assert_int_equal(agree(&s), pos == AT);
    }
    set(&s); /* without a fault it stays one */
    observer_finds(&s, IW_CHECK_MPA_CRC);
    s.station.fault.fault.pos = AT - 1;
    assert_false(agree(&s));
}

/* The endpoint sees the first wrong octet of a key, the observer needs the whole frame. */
static void a_frame_that_is_not_whole_is_not_judged(void **state)
{
    struct scene s;
    (void)state;
    set(&s);
    endpoint_finds(&s, IW_CHECK_MPA_REQ_KEY);
    assert_false(agree(&s));
    s.station.framed_from = 0;
    assert_true(agree(&s));
    observer_finds(&s, IW_CHECK_DDP_QN);
    s.witness.found_end[IW_SIDE_INITIATOR] = AT;
    assert_false(agree(&s));
    s.station.events &= ~(1u << IW_EVENT_FAULT);
    assert_false(agree(&s));
}

static void ask_responder(void *argument)
{
    struct scene *s = argument;

    iw_witness_agree(&s->witness, IW_SIDE_RESPONDER);
}

/* A Reply to a Request that has not even left. */
static void early_replies_end_the_comparison(void **state)
{
    struct scene s;
    (void)state;
    for (int framed = 0; framed < 2; framed++) {
        set(&s);
        iw_witness_open(&s.witness, &s.station, NULL);
        s.witness.found[IW_SIDE_RESPONDER] = true;
        s.witness.fault[IW_SIDE_RESPONDER].check = IW_CHECK_MPA_CRC;
        s.witness.framed[IW_SIDE_INITIATOR] = framed;
        s.witness.framed[IW_SIDE_RESPONDER] = true;
        const char *says = spy_fault(ask_responder, &s);
        assert_int_equal(says[0] == '\0', !framed);
        assert_int_equal(s.witness.diverged, !framed);
        assert_int_equal(s.station.blind, !framed);
    }
    set(&s);
    observer_finds(&s, IW_CHECK_MPA_CRC);
    s.witness.framed[IW_SIDE_RESPONDER] = false; /* the Reply has not left */
    assert_false(agree(&s));
}

/* Who asked and who answered is not judged while octets are missing. */
static void doubts_are_kept(void **state)
{
    struct scene s;
    (void)state;
    for (int how = 0; how < 4; how++)
        for (enum iw_check check = IW_CHECK_RDMAP_IRD - 1; check <= IW_CHECK_RDMAP_IRD; check++) {
            set(&s);
            endpoint_finds(&s, check);
            s.station.blind = how == 1;
            s.witness.irregular = how == 2;
            s.witness.guessed = how == 3;
            bool doubted = check == IW_CHECK_RDMAP_IRD && how > 0;
            assert_int_equal(agree(&s), doubted || !seen_by_both(check));
        }
    set(&s);
    endpoint_finds(&s, IW_CHECK_RDMAP_IRD);
    observer_finds(&s, IW_CHECK_RDMAP_IRD);
    s.station.blind = true;
    assert_true(agree(&s));
}

/* Of a frame with several faults each may name another. */
static void frames_may_have_several_faults(void **state)
{
    static const struct {
        enum iw_check endpoint, observer;
        bool agree;
    } pairs[] = {
        {IW_CHECK_MPA_REP_S_UNASKED, IW_CHECK_MPA_REQ_KEY, true},
        {IW_CHECK_MPA_REQ_KEY, IW_CHECK_MPA_REP_S_UNASKED, true},
        {IW_CHECK_MPA_STARTUP_CUT, IW_CHECK_MPA_REP_S, false},
        {IW_CHECK_MPA_REP_S, IW_CHECK_MPA_STARTUP_CUT, false},
        {IW_CHECK_NONE, IW_CHECK_MPA_REP_S, false},
    };
    struct scene s;
    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        set(&s);
        if (pairs[i].endpoint != IW_CHECK_NONE)
            endpoint_finds(&s, pairs[i].endpoint);
        else
            s.station.fault.fault.check = IW_CHECK_MPA_REP_S; /* not an event */
        observer_finds(&s, pairs[i].observer);
        s.witness.found_from[IW_SIDE_INITIATOR] = 0;
        s.witness.found_end[IW_SIDE_INITIATOR] = FRAME;
        assert_int_equal(agree(&s), pairs[i].agree);
    }
}

/* Without a frame at the beginning the observer assumes a capture that began later. */
static void joined_observers_are_not_asked(void **state)
{
    struct scene s;
    (void)state;
    set(&s);
    observer_finds(&s, IW_CHECK_MPA_CRC);
    observer.joined = true;
    assert_true(agree(&s));
}

/* A fault that only the endpoint can see, and what the observer finds before it. */
static void faults_of_the_endpoint_alone(void **state)
{
    struct scene s;
    (void)state;
    set(&s);
    endpoint_finds(&s, IW_CHECK_DDP_STAG);
    assert_true(agree(&s));
    observer_finds(&s, IW_CHECK_MPA_CRC);
    assert_true(agree(&s)); /* in the same FPDU */
    s.witness.found_from[IW_SIDE_INITIATOR] = AT - SEGMENT;
    s.witness.found_end[IW_SIDE_INITIATOR] = AT;
    assert_false(agree(&s)); /* in the one before it */
    s.witness.found_end[IW_SIDE_INITIATOR] = AT + 1;
    assert_true(agree(&s));
}

static void faults_of_one_fpdu(void **state)
{
    struct scene s;
    (void)state;
    set(&s);
    endpoint_finds(&s, IW_CHECK_DDP_QN);
    observer_finds(&s, IW_CHECK_MPA_CRC);
    assert_true(agree(&s));
    s.witness.found_from[IW_SIDE_INITIATOR] = AT - SEGMENT;
    s.witness.found_end[IW_SIDE_INITIATOR] = AT + 1;
    assert_true(agree(&s));
    s.witness.found_end[IW_SIDE_INITIATOR] = AT;
    assert_false(agree(&s));
    s.witness.noticed[IW_SIDE_INITIATOR] = true; /* the same place, but legal to receive */
    assert_true(agree(&s));
    s.witness.noticed[IW_SIDE_INITIATOR] = false;
    s.witness.fault[IW_SIDE_INITIATOR].check = IW_CHECK_DDP_QN;
    assert_true(agree(&s));
    /* Without a fault it is of no use that they lie in one place. */
    s.station.events &= ~(1u << IW_EVENT_FAULT);
    s.witness.found_end[IW_SIDE_INITIATOR] = AT + 1;
    assert_false(agree(&s));
    s.witness.noticed[IW_SIDE_INITIATOR] = true;
    assert_false(agree(&s));
}

/* Without a fault nobody looks at what follows a Terminate. */
static void the_end_by_the_peer_is_taken(void **state)
{
    struct scene s;
    (void)state;
    for (int how = 0; how < 4; how++) {
        set(&s);
        observer_finds(&s, IW_CHECK_MPA_CRC);
        s.station.deaf = how == 1;
        if (how == 2)
            s.station.events |= 1u << IW_EVENT_TERMINATED;
        if (how == 3) {
            endpoint_finds(&s, IW_CHECK_DDP_QN);
            s.station.deaf = true;
            s.station.fault.fault.pos = AT + SEGMENT;
        }
        assert_int_equal(agree(&s), how == 1 || how == 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_find_it),
        cmocka_unit_test(test_the_observer_alone),
        cmocka_unit_test(test_the_endpoint_alone),
        cmocka_unit_test(nothing_is_judged_after_the_end),
        cmocka_unit_test(later_findings_do_not_count),
        cmocka_unit_test(a_frame_that_is_not_whole_is_not_judged),
        cmocka_unit_test(early_replies_end_the_comparison),
        cmocka_unit_test(doubts_are_kept),
        cmocka_unit_test(frames_may_have_several_faults),
        cmocka_unit_test(joined_observers_are_not_asked),
        cmocka_unit_test(faults_of_the_endpoint_alone),
        cmocka_unit_test(faults_of_one_fpdu),
        cmocka_unit_test(the_end_by_the_peer_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
