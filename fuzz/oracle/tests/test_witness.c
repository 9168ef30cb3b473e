/* SPDX-License-Identifier: BSD-3-Clause */
/* The fuzzers' oracle itself: which disagreements of an endpoint and the observer it reports. */
#include "oracle/witness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/fuzz.h"
#include "iwarp/rules.h"

enum { FRAME = 20, AT = 100, SEGMENT = 60 };

static jmp_buf failed;
static char said[200];

_Noreturn void iw_fuzz_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(said, sizeof said, format, arguments);
    va_end(arguments);
    longjmp(failed, 1);
}

const uint8_t *iw_fuzz_fenced(const uint8_t *octets, size_t length)
{
    (void)length;
    return octets;
}

void *iw_fuzz_allocate(size_t size)
{
    return malloc(size);
}

/* A responder that has seen a whole Request, and a witness of both. */
struct scene {
    struct iw_station station;
    struct iw_witness witness;
};

static void set(struct scene *s)
{
    memset(s, 0, sizeof *s);
    s->station.who = "responder";
    s->station.framed_from = FRAME;
    s->station.events = 1u << IW_EVENT_ESTABLISHED;
    iw_witness_open(&s->witness, NULL, &s->station);
    s->witness.framed[IW_SIDE_INITIATOR] = s->witness.framed[IW_SIDE_RESPONDER] = true;
    s->witness.ird_stated[IW_SIDE_RESPONDER] = true;
}

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

/* Returns whether the witness takes it; `said` is what it says otherwise. */
static bool agree(struct scene *s)
{
    said[0] = '\0';
    if (setjmp(failed) == 0)
        iw_witness_agree(&s->witness, IW_SIDE_INITIATOR);
    iw_witness_close(&s->witness);
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
    faults_of_one(unfinished, sizeof unfinished / sizeof unfinished[0], true, false);
    faults_of_one(unstated, 2, false, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_find_it),
        cmocka_unit_test(test_the_observer_alone),
        cmocka_unit_test(test_the_endpoint_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
