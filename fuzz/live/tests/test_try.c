/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks how long the fuzzer waits for the peer before it reports a finding. There is no peer: the
 * test provides the loop and the clock. */
#include "live_support.h"

#include <poll.h>
#include <stdio.h>

#include "iwarp/transport.h"

enum { MS = 1000000 };

static struct iw_hunt_options options;
static struct iw_target target;
static struct iw_hunt hunt;
static volatile int stop;
static uint64_t now, answer_time;
static bool connects, answers;
static char waits[256]; /* patience and linger of each sequence */
static double patience, linger;
static int aborts;
static bool says; /* where it hangs: */
static const char *function, *callers;

uint64_t __wrap_iw_transport_now(void);
int __wrap_poll(struct pollfd *list, nfds_t n, int ms);
bool __wrap_iw_hunt_loop_start(struct iw_hunt_loop *l, struct iw_hunt_input *input,
                               uint64_t number);
unsigned __wrap_iw_hunt_loop_busy(const struct iw_hunt_loop *l);
void __wrap_iw_hunt_loop_patience(struct iw_hunt_loop *l, double seconds, double for_the_end);
uint64_t __wrap_iw_hunt_loop_answer_time(const struct iw_hunt_loop *l);
const char *__wrap_iw_hunt_world_death(struct iw_hunt_world *w);
bool __wrap_iw_hunt_world_abort(struct iw_hunt_world *w, struct iw_crash *place);
int __wrap_iw_hunt_open(struct iw_hunt *h);
void __wrap_iw_hunt_close(struct iw_hunt *h);
void __wrap_iw_hunt_progress(struct iw_hunt *h, bool end);

uint64_t __wrap_iw_transport_now(void)
{
    return now;
}

int __wrap_poll(struct pollfd *list, nfds_t n, int ms)
{
    assert_true(!list && !n && ms > 0);
    now += (uint64_t)ms * MS;
    return 0;
}

bool __wrap_iw_hunt_loop_start(struct iw_hunt_loop *l, struct iw_hunt_input *input, uint64_t number)
{
    size_t n = strlen(waits);

    (void)l;
    assert_int_equal(number, 0);
    iw_hunt_input_free(input);
    snprintf(waits + n, sizeof(waits) - n, "%s%g/%g", n ? " " : "", patience, linger);
    hunt.trial.connected = connects;
    if (answers)
        iw_hunt_row_add(&hunt.trial.row, IW_ANSWER_STARTUP, 0, 0);
    return true;
}

unsigned __wrap_iw_hunt_loop_busy(const struct iw_hunt_loop *l)
{
    (void)l;
    return 0;
}

void __wrap_iw_hunt_loop_patience(struct iw_hunt_loop *l, double seconds, double for_the_end)
{
    (void)l;
    patience = seconds;
    linger = for_the_end;
}

uint64_t __wrap_iw_hunt_loop_answer_time(const struct iw_hunt_loop *l)
{
    (void)l;
    return answer_time;
}

const char *__wrap_iw_hunt_world_death(struct iw_hunt_world *w)
{
    (void)w;
    return NULL;
}

bool __wrap_iw_hunt_world_abort(struct iw_hunt_world *w, struct iw_crash *place)
{
    (void)w;
    aborts++;
    *place = (struct iw_crash){.by = "AddressSanitizer", .kind = "ABRT"};
    strcpy(place->function, function);
    strcpy(place->place, "peer.c:5");
    strcpy(place->callers, callers);
    return says;
}

int __wrap_iw_hunt_open(struct iw_hunt *h)
{
    (void)h;
    return 0;
}

void __wrap_iw_hunt_close(struct iw_hunt *h)
{
    (void)h;
}

void __wrap_iw_hunt_progress(struct iw_hunt *h, bool end)
{
    (void)h;
    assert_false(end);
}

static const char *lives(struct iw_target *t)
{
    (void)t;
    return NULL;
}

static int begin(void **state)
{
    (void)state;
    target = (struct iw_target){.death = lives};
    hunt = (struct iw_hunt){.o = &options,
                            .stop = &stop,
                            .over = 1,
                            .world = {.scale = 1, .target = &target, .listener = -1, .slots = 1}};
    now = 1000000000;
    answer_time = 0;
    connects = answers = true;
    *waits = 0;
    patience = linger = aborts = 0;
    says = false;
    function = callers = "";
    return 0;
}

/* Checks what a look at the peer finds, and how long it waits for the probe. */
static void looks(enum iw_hunt_kind kind, const char *expected)
{
    *waits = 0;
    assert_int_equal(iw_hunt_look(&hunt, false).kind, kind);
    assert_string_equal(waits, expected);
    assert_true(patience <= 0 && linger <= 0); /* as usual again */
}

/* A thousand times the mean, but neither too short for a machine that is busy, nor endless. */
static void patience_has_bounds(void **state)
{
    (void)state;
    looks(IW_HUNT_NOTHING, "3/0.5");
    answer_time = 3 * MS;
    looks(IW_HUNT_NOTHING, "3/0.5");
    answer_time = 50 * MS;
    looks(IW_HUNT_NOTHING, "50/0.5");
    answer_time = 61 * MS;
    looks(IW_HUNT_NOTHING, "60/0.5");
    hunt.world.scale = 3;
    looks(IW_HUNT_NOTHING, "61/1.5");
    answer_time = 1000 * MS;
    looks(IW_HUNT_NOTHING, "180/1.5");
}

/* Before the very first answer, the time that one takes is not known. The wait for the peer's end
 * is shorter. */
static void the_first_look(void **state)
{
    (void)state;
    hunt.over = 0;
    looks(IW_HUNT_NOTHING, "60/0.5");
    hunt.world.scale = 2;
    looks(IW_HUNT_NOTHING, "120/1");
    options.try = "a file"; /* there, it is not the first */
    looks(IW_HUNT_NOTHING, "6/1");
    options.try = NULL;
    answer_time = MS;
    looks(IW_HUNT_NOTHING, "6/1");
}

/* A program that is aborted may say where it was: a report of ours, not of a fault in it. */
static void a_hang_is_named(void **state)
{
    struct iw_hunt_event e = iw_hunt_event_of(IW_HUNT_HANG, "no answer");
    (void)state;
    iw_hunt_end_hanging(&hunt, &e);
    assert_string_equal(e.text, "no answer");
    says = true;
    iw_hunt_end_hanging(&hunt, &e);
    assert_string_equal(e.text, "no answer");
    function = "spin";
    hunt.world.reports.n = 1;
    iw_hunt_end_hanging(&hunt, &e);
    assert_string_equal(e.text, "the target hangs in spin (peer.c:5): no answer");
    assert_string_equal(e.cause, "hang in spin");
    assert_int_equal(hunt.world.reports.n, 0);
    assert_int_equal(e.kind, IW_HUNT_HANG);
    e = iw_hunt_event_of(IW_HUNT_HANG, "no answer");
    function = "leaf"; /* which it calls */
    callers = "spin, main";
    iw_hunt_end_hanging(&hunt, &e);
    assert_string_equal(e.cause, "hang in spin");
    iw_mishaps_free(&hunt.hangs);
}

static void tries(enum iw_hunt_kind wanted, enum iw_hunt_kind kind, const char *expected)
{
    struct iw_hunt_input *in = support_input("a00");
    struct iw_hunt_event e = {.kind = wanted};

    *waits = 0;
    e = iw_hunt_try(&hunt, &in, 1, &e, NULL);
    assert_int_equal(e.kind, kind);
    assert_string_equal(waits, expected);
    iw_hunt_input_free(in);
}

/* Each try of a hang waits for all of that. */
static void a_hang_is_tried(void **state)
{
    (void)state;
    hunt.patience = 0.25;
    answer_time = 50 * MS;
    tries(IW_HUNT_HANG, IW_HUNT_NOTHING, "0.25/0.25 10/0.5");
    answers = false;
    tries(IW_HUNT_HANG, IW_HUNT_HANG, "0.25/0.25 10/0.5");
    assert_int_equal(aborts, 1);
    answer_time = 2 * MS;
    tries(IW_HUNT_HANG, IW_HUNT_HANG, "0.25/0.25 3/0.5");
    answers = true;
    answer_time = 50 * MS;
    tries(IW_HUNT_CRASH, IW_HUNT_NOTHING, "0.25/0.25 50/0.5");
}

/* The look waits for the end of the process if the end can be noticed: nothing else takes
 * time. */
static void the_end_of_the_process(void **state)
{
    uint64_t before = now;

    (void)state;
    answers = false;
    looks(IW_HUNT_HANG, "3/0.5");
    assert_int_equal(now - before, (uint64_t)3000 * MS);
    answer_time = 1000 * MS;
    looks(IW_HUNT_HANG, "60/0.5");
    assert_int_equal(now - before, (uint64_t)63000 * MS);
    connects = false;
    looks(IW_HUNT_REFUSAL, "60/0.5");
    assert_int_equal(now - before, (uint64_t)123000 * MS);
    answer_time = 2 * MS;
    looks(IW_HUNT_REFUSAL, "3/0.5");
    assert_int_equal(now - before, (uint64_t)123300 * MS);
    answer_time = 4 * MS;
    looks(IW_HUNT_REFUSAL, "4/0.5");
    assert_int_equal(now - before, (uint64_t)123700 * MS);
    target.death = NULL;
    looks(IW_HUNT_REFUSAL, "4/0.5");
    connects = true;
    looks(IW_HUNT_HANG, "4/0.5");
    assert_int_equal(now - before, (uint64_t)123700 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(patience_has_bounds, begin),
        cmocka_unit_test_setup(the_first_look, begin),
        cmocka_unit_test_setup(a_hang_is_named, begin),
        cmocka_unit_test_setup(a_hang_is_tried, begin),
        cmocka_unit_test_setup(the_end_of_the_process, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
