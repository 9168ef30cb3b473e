/* SPDX-License-Identifier: BSD-3-Clause */
/* What ping and get measure, with clocks of the test's: which rounds count, whose turn it is, and
 * what is printed. */
#include "message_stage.h"
#include "msg_exchange.h"
#include "msg_measure.h"

#include <signal.h>
#include <time.h>

#include "../caught.h"

/* ---- doubles ---- */

static uint64_t wall, cpu; /* ns */
static struct timespec slept;
static unsigned sleeps;

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    const uint64_t now = clock == CLOCK_PROCESS_CPUTIME_ID ? cpu : wall;
    *t = (struct timespec){(time_t)(now / 1000000000), (long)(now % 1000000000)};
    return 0;
}

int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    slept = *wanted;
    sleeps++;
    return 0;
}

/* ---- ways that take as long as the test says ---- */

struct trip {
    char name;
    uint64_t takes[8]; /* ns of each that is done, again and again */
    unsigned count, at;
    uint64_t spends; /* processor time */
    unsigned fails;  /* the one that does, from 1; 0: none */
    unsigned interrupts;
};

static char order[400]; /* the name and the number of each round; '?' and '!': clocks read */
static uint64_t far_clock;
static int far_fails; /* the question that does, from 1; 0: none */

static int go(void *of, unsigned round)
{
    struct trip *t = of;
    const size_t length = strlen(order);
    snprintf(order + length, sizeof(order) - length, "%c%u ", t->name, round);
    wall += t->takes[t->at++ % t->count];
    cpu += t->spends;
    if (t->at == t->interrupts)
        stage.ended = SIGINT;
    return t->at == t->fails ? 5 : -1;
}

static int far(struct msg_talk *talk, uint64_t *ns)
{
    assert_null(talk);
    cpu += 1000000; /* asking is not counted */
    far_clock += 3000;
    *ns = far_clock;
    strcat(order, "? ");
    return far_fails > 0 && --far_fails == 0 ? 6 : -1;
}

static struct msg_exchange e;
static struct trip a, b;

static int begin(void **state)
{
    stage_begin(state);
    wall = cpu = 7000000000;
    order[0] = '\0';
    far_clock = sleeps = 0;
    far_fails = 0;
    e = (struct msg_exchange){.size = 64, .count = 4};
    a = (struct trip){.name = 'a', .takes = {1000}, .count = 1, .spends = 500};
    b = (struct trip){.name = 'b', .takes = {2000000}, .count = 1, .spends = 700};
    return 0;
}

static int end(void **state)
{
    return catch_no_more(state) | stage_end(state);
}

static const char *said;

static int measure(size_t count, bool asks)
{
    struct msg_way ways[] = {{"one", "", go, &a, asks ? far : NULL, .talk = NULL},
                             {"two", " by TCP", go, &b, asks ? far : NULL, .talk = NULL}};
    catch_from(STDOUT_FILENO);
    const int status = msg_measure(&e, 9, "trip", "trips", ways, count);
    said = caught();
    return status;
}

/* ---- one way ---- */

static void the_line(void **state)
{
    (void)state;
    a.takes[0] = 4000;
    a.takes[1] = 1000;
    a.takes[2] = 9000;
    a.takes[3] = 2000;
    a.count = 4;
    assert_int_equal(measure(1, false), 0);
    assert_string_equal(order, "a0 a1 a2 a3 ");
    assert_string_equal(said, "9: 4 trips of 64 octets: least 1.00 us, p50 2.00, p99 9.00, most "
                              "9.00; processor 0.50 us each\n");
    assert_int_equal(sleeps, 0);
}

static void one_alone(void **state)
{
    (void)state;
    e.count = 1;
    assert_int_equal(measure(1, true), 0);
    assert_string_equal(order, "? a0 ? ");
    assert_string_equal(said, "9: 1 trip of 64 octets: least 1.00 us, p50 1.00, p99 1.00, most "
                              "1.00; processor 0.50 us each, at the other end 3.00\n");
}

static void json(void **state)
{
    (void)state;
    e.json = true;
    e.count = 2;
    a.takes[1] = 3000;
    a.count = 2;
    assert_int_equal(measure(1, false), 0);
    assert_string_equal(said, "{\"type\":\"one\",\"number\":9,\"octets\":64,\"round_trips\":2,"
                              "\"us_least\":1.0,\"us_p50\":1.0,\"us_p99\":3.0,\"us_most\":3.0,"
                              "\"cpu_us\":0.5}\n");
    a.at = 0;
    far_clock = 0;
    assert_int_equal(measure(1, true), 0);
    assert_non_null(strstr(said, "\"cpu_us\":0.5,\"far_cpu_us\":1.5}\n"));
}

/* Rounds before those that count, and a pause after each. */
static void warm_up(void **state)
{
    (void)state;
    e.warm_up = 3;
    e.count = 2;
    e.interval = 2.25;
    a.takes[0] = a.takes[1] = a.takes[2] = 50000;
    a.takes[3] = a.takes[4] = 1000;
    a.count = 5;
    assert_int_equal(measure(1, false), 0);
    assert_string_equal(order, "a0 a1 a2 a0 a1 ");
    assert_non_null(strstr(said, "most 1.00; processor 0.50 us each"));
    assert_int_equal(sleeps, 5);
    assert_int_equal(slept.tv_sec, 2);
    assert_int_equal(slept.tv_nsec, 250000000);
}

/* ---- two ways ---- */

/* As many blocks as rounds, if they are few. Each begins with rounds that do not count, for three
 * milliseconds; the way that begins is another each time. */
static void turns(void **state)
{
    (void)state;
    e.count = 2;
    a.takes[0] = 3000000;
    assert_int_equal(measure(2, false), 0);
    assert_string_equal(order, "a0 a1 b0 b1 b2 b0 b1 b2 a0 a1 ");
    assert_string_equal(said,
                        "9: 2 trips of 64 octets: least 3000.00 us, p50 3000.00, p99 3000.00, "
                        "most 3000.00; processor 0.50 us each\n"
                        "9 by TCP: 2 trips of 64 octets: least 2000.00 us, p50 2000.00, p99 "
                        "2000.00, most 2000.00; processor 0.70 us each\n");
}

static void one_that_settles_once(void **state)
{
    (void)state;
    e.count = 1;
    e.interval = 1;
    a.takes[0] = b.takes[0] = 5000000; /* longer than that: one is enough, and no pause after it */
    assert_int_equal(measure(2, true), 0);
    assert_string_equal(order, "a0 ? a1 ? b0 ? b1 ? ");
    assert_int_equal(sleeps, 2);
}

/* At most twenty blocks; what is left over goes to the first ones. */
static void blocks(void **state)
{
    (void)state;
    e.count = 43;
    a.takes[0] = b.takes[0] = 5000000;
    assert_int_equal(measure(2, false), 0);
    assert_int_equal(a.at, 43 + 20);
    assert_int_equal(b.at, 43 + 20);
    assert_memory_equal(order,
                        "a0 a1 a2 a3 b0 b1 b2 b3 b0 b1 b2 b3 a0 a1 a2 a3 a0 a1 a2 a3 b0 b1 b2 b3 "
                        "b0 b1 b2 a0 a1 a2 ",
                        78 + 12);
    assert_non_null(strstr(said, "9: 43 trips of"));
    assert_non_null(strstr(said, "9 by TCP: 43 trips of"));
}

/* ---- what ends it ---- */

static void failures(void **state)
{
    (void)state;
    e.warm_up = 2;
    a.fails = 2;
    assert_int_equal(measure(1, true), 5);
    assert_string_equal(order, "a0 a1 ");
    assert_string_equal(said, "");
    order[0] = '\0';
    a.at = 0;
    a.fails = 5; /* the third that counts */
    assert_int_equal(measure(1, true), 5);
    assert_string_equal(order, "a0 a1 ? a0 a1 a2 ");
    assert_non_null(strstr(said, "9: 2 trips of 64 octets"));
    order[0] = '\0';
    a.fails = 0;
    far_fails = 1;
    assert_int_equal(measure(1, true), 6);
    assert_string_equal(order, "a0 a1 ? ");
    order[0] = '\0';
    far_fails = 2;
    assert_int_equal(measure(1, true), 6);
    assert_string_equal(order, "a0 a1 ? a0 a1 a2 a3 ? ");
    assert_non_null(strstr(said, "4 trips"));
    order[0] = '\0'; /* the other way is not begun */
    e.warm_up = 0;
    a.at = 0;
    a.fails = 1;
    assert_int_equal(measure(2, false), 5);
    assert_string_equal(order, "a0 ");
}

static void an_interrupt(void **state)
{
    (void)state;
    a.interrupts = 2;
    assert_int_equal(measure(1, true), 130);
    assert_string_equal(order, "? a0 a1 ? ");
    assert_non_null(strstr(said, "9: 2 trips of 64 octets"));
    assert_int_equal(measure(2, true), 130); /* at once */
    assert_string_equal(order, "? a0 a1 ? ");
    assert_string_equal(said, "");
    stage.ended = 0;
    order[0] = '\0';
    e.warm_up = 9;
    a.at = 0;
    assert_int_equal(measure(1, true), 130); /* while it warms up */
    assert_string_equal(order, "a0 a1 ");
    stage.ended = SIGTERM; /* not this program's affair */
    a.interrupts = 0;
    assert_int_equal(measure(1, false), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_line, begin, end),
        cmocka_unit_test_setup_teardown(one_alone, begin, end),
        cmocka_unit_test_setup_teardown(json, begin, end),
        cmocka_unit_test_setup_teardown(warm_up, begin, end),
        cmocka_unit_test_setup_teardown(turns, begin, end),
        cmocka_unit_test_setup_teardown(one_that_settles_once, begin, end),
        cmocka_unit_test_setup_teardown(blocks, begin, end),
        cmocka_unit_test_setup_teardown(failures, begin, end),
        cmocka_unit_test_setup_teardown(an_interrupt, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
