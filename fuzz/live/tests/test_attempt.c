/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens in a try, step by step, and which events count as the same. There is no peer: all
 * that is asked of it is noted in one text. */
#include "live_support.h"

#include <stdio.h>

#include "host/text.h"
#include "iwarp/transport.h"
#include "target/other_kernel.h"

enum { MS = 1000000, SOME = IW_HUNT_ROW + 1 };

static struct iw_hunt_options options;
static struct iw_target target;
static struct iw_hunt hunt;
static volatile int stop;
static uint64_t now;
static char noted[4096];
static const char *stray, *death;
static unsigned busy;
static int no_place; /* times that no sequence can be started */
static int refusals; /* sequences that are refused */
static int bad_open; /* the number of the opening that fails; 0: none */
static int opens, started, stops_at, dies_at;
static enum iw_check broken;
static bool connects, answers, accepted;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *format, ...)
{
    size_t n = strlen(noted);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(noted + n, sizeof(noted) - n, format, arguments);
    va_end(arguments);
}

static void does(const char *expected)
{
    assert_string_equal(noted, expected);
    *noted = 0;
}

uint64_t __wrap_iw_transport_now(void);
bool __wrap_iw_hunt_loop_start(struct iw_hunt_loop *l, struct iw_hunt_input *input,
                               uint64_t number);
unsigned __wrap_iw_hunt_loop_busy(const struct iw_hunt_loop *l);
void __wrap_iw_hunt_loop_step(struct iw_hunt_loop *l, int ms);
void __wrap_iw_hunt_loop_abort(struct iw_hunt_loop *l);
void __wrap_iw_hunt_loop_patience(struct iw_hunt_loop *l, double seconds, double for_the_end);
uint64_t __wrap_iw_hunt_loop_answer_time(const struct iw_hunt_loop *l);
const char *__wrap_iw_hunt_world_death(struct iw_hunt_world *w);
const char *__wrap_iw_hunt_world_stray(struct iw_hunt_world *w, char *text, size_t room);
void __wrap_iw_hunt_world_settle(struct iw_hunt_world *w);
bool __wrap_iw_hunt_world_abort(struct iw_hunt_world *w, struct iw_crash *place);
int __wrap_iw_hunt_open(struct iw_hunt *h);
void __wrap_iw_hunt_close(struct iw_hunt *h);
void __wrap_iw_hunt_progress(struct iw_hunt *h, bool end);
struct iw_hunt_event __wrap_iw_hunt_try_elsewhere(struct iw_hunt *h,
                                                  struct iw_hunt_input *const *inputs, size_t n,
                                                  bool *requested);

uint64_t __wrap_iw_transport_now(void)
{
    return now;
}

/* The trial is the outcome of the last one that was started. */
bool __wrap_iw_hunt_loop_start(struct iw_hunt_loop *l, struct iw_hunt_input *input, uint64_t number)
{
    char *text = support_text(input);

    (void)l;
    assert_int_equal(number, 0);
    if (no_place) {
        no_place--;
        note(" no");
        free(text);
        return false;
    }
    if (strlen(text) > 24) /* its begin and its end */
        note(" %.8s..%s", text, text + strlen(text) - 6);
    else
        note(" %s", text);
    free(text);
    iw_hunt_input_free(input);
    busy++;
    if (++started == stops_at)
        stop = 1;
    if (started == dies_at)
        death = "signal 11";
    hunt.trial.connected = connects;
    hunt.trial.requested = accepted;
    if (refusals) {
        refusals--;
        iw_hunt_row_add(&hunt.trial.row, IW_ANSWER_REFUSED, 0, 0);
    } else if (answers) {
        iw_hunt_row_add(&hunt.trial.row, IW_ANSWER_STARTUP, 0, 0);
    }
    hunt.trial.findings[0] = IW_CHECK_MPA_CRC;
    hunt.trial.findings[1] = broken;
    hunt.trial.n_findings = broken ? 2 : 0;
    return true;
}

unsigned __wrap_iw_hunt_loop_busy(const struct iw_hunt_loop *l)
{
    (void)l;
    return busy;
}

void __wrap_iw_hunt_loop_step(struct iw_hunt_loop *l, int ms)
{
    (void)l;
    note(" step%d", ms);
    now += (uint64_t)ms * MS;
    busy -= busy > 0;
}

void __wrap_iw_hunt_loop_abort(struct iw_hunt_loop *l)
{
    (void)l;
    note(" abort");
    busy = 0;
}

void __wrap_iw_hunt_loop_patience(struct iw_hunt_loop *l, double seconds, double for_the_end)
{
    (void)l;
    note(" (%g/%g)", seconds, for_the_end);
}

uint64_t __wrap_iw_hunt_loop_answer_time(const struct iw_hunt_loop *l)
{
    (void)l;
    return MS;
}

const char *__wrap_iw_hunt_world_death(struct iw_hunt_world *w)
{
    (void)w;
    return death;
}

const char *__wrap_iw_hunt_world_stray(struct iw_hunt_world *w, char *text, size_t room)
{
    (void)w;
    assert_true(text && room >= 100);
    return stray;
}

void __wrap_iw_hunt_world_settle(struct iw_hunt_world *w)
{
    (void)w;
    note(" settle");
}

bool __wrap_iw_hunt_world_abort(struct iw_hunt_world *w, struct iw_crash *place)
{
    (void)w;
    (void)place;
    note(" abort");
    return false;
}

int __wrap_iw_hunt_open(struct iw_hunt *h)
{
    (void)h;
    note(" open");
    return ++opens == bad_open ? 3 : 0;
}

void __wrap_iw_hunt_close(struct iw_hunt *h)
{
    (void)h;
    note(" close");
}

void __wrap_iw_hunt_progress(struct iw_hunt *h, bool end)
{
    (void)h;
    assert_false(end);
    note(" .");
}

struct iw_hunt_event __wrap_iw_hunt_try_elsewhere(struct iw_hunt *h,
                                                  struct iw_hunt_input *const *inputs, size_t n,
                                                  bool *requested)
{
    (void)h;
    (void)inputs;
    note(" inside(%zu)", n);
    *requested = true;
    return iw_hunt_event_of(IW_HUNT_CRASH, "so it was");
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
                            .patience = 0.25,
                            .world = {.scale = 1, .target = &target, .listener = -1, .slots = 3}};
    now = 1000 * MS;
    *noted = 0;
    stray = death = NULL;
    busy = 0;
    no_place = refusals = bad_open = opens = started = stops_at = dies_at = stop = 0;
    broken = IW_CHECK_NONE;
    connects = answers = true;
    accepted = false;
    return 0;
}

/* ---- events ---- */

static void is_key(enum iw_hunt_kind kind, const char *text, const char *expected)
{
    struct iw_hunt_event e = iw_hunt_event_of(kind, text);
    char key[IW_HUNT_KEY];

    e.check = IW_CHECK_MPA_REV;
    iw_hunt_key(&e, key, sizeof(key));
    assert_string_equal(key, expected);
}

/* What differs from run to run is no part of them. */
static void keys(void **state)
{
    (void)state;
    is_key(IW_HUNT_RULE, "text", "rule mpa-rev");
    is_key(IW_HUNT_REFUSAL, "text", "refusal text");
    is_key(IW_HUNT_STRAY, "text", "stray text");
    is_key(IW_HUNT_HANG, "text", "hang text");
    is_key(IW_HUNT_NOTHING, "", "nothing ");
    is_key(IW_HUNT_CRASH, "at 0x7fe0cafe9 and 0xg", "crash at X and Xg");
    is_key(IW_HUNT_CRASH, "1x 0y 00x1 x0", "crash 1x 0y 0X x0");
    is_key(IW_HUNT_CRASH, "rping/12345/0x2", "crash rping/N/X");
    is_key(IW_HUNT_CRASH, "/9a/1/0/a/05:", "crash /Na/N/0/a/05:");
    is_key(IW_HUNT_CRASH, "==4711==ERROR= =1", "crash ERROR= =1");
    is_key(IW_HUNT_CRASH, "a==b=", "crash ab=");
}

static struct iw_hunt_event with_cause(enum iw_hunt_kind kind, const char *cause)
{
    struct iw_hunt_event e = iw_hunt_event_of(kind, "some text");

    snprintf(e.cause, sizeof(e.cause), "%s", cause);
    return e;
}

/* A cause that is named decides, however the peer ended. */
static void causes(void **state)
{
    struct iw_hunt_event a = with_cause(IW_HUNT_CRASH, "overflow in a"),
                         b = with_cause(IW_HUNT_CRASH, "overflow in b"),
                         late = with_cause(IW_HUNT_REPORT, "overflow in a"),
                         none = with_cause(IW_HUNT_CRASH, ""),
                         nothing = with_cause(IW_HUNT_NOTHING, "");
    struct iw_hunt_report r = {.cause = "leak in c", .text = "leak in c (c.c:1)"};
    char key[IW_HUNT_KEY];

    (void)state;
    assert_true(iw_hunt_same(&a, &a));
    assert_true(iw_hunt_same(&a, &late));
    assert_false(iw_hunt_same(&a, &b));
    assert_false(iw_hunt_same(&a, &none));
    assert_false(iw_hunt_same(&none, &a));
    assert_false(iw_hunt_same(&nothing, &a));
    iw_hunt_key(&late, key, sizeof(key));
    assert_string_equal(key, "overflow in a");
    struct iw_hunt_event e = iw_hunt_reported(&r);
    assert_int_equal(e.kind, IW_HUNT_REPORT);
    assert_string_equal(e.cause, "leak in c");
    assert_string_equal(e.text, "leak in c (c.c:1)");
    is_key(IW_HUNT_HANG, "no answer", "hang no answer");
}

static void long_texts(void **state)
{
    char text[700];

    (void)state;
    memset(text, 'x', sizeof(text));
    text[639] = 0;
    assert_int_equal(strlen(iw_hunt_event_of(IW_HUNT_CRASH, text).text), 639);
    text[639] = 'y';
    text[640] = 0;
    struct iw_hunt_event e = iw_hunt_event_of(IW_HUNT_CRASH, text);
    assert_int_equal(strlen(e.text), 639);
    assert_int_equal(e.text[638], 'x');
    memcpy(text + 637, "\xe2\x82\xac.", 5); /* one character */
    assert_int_equal(strlen(iw_hunt_event_of(IW_HUNT_CRASH, text).text), 637);
    memcpy(text + 636, "\xe2\x82\xac.", 5);
    assert_int_equal(strlen(iw_hunt_event_of(IW_HUNT_CRASH, text).text), 639);
}

static void is_same(enum iw_hunt_kind a, const char *text, enum iw_hunt_kind b, const char *other,
                    bool expected)
{
    struct iw_hunt_event one = iw_hunt_event_of(a, text), two = iw_hunt_event_of(b, other);

    assert_int_equal(iw_hunt_same(&one, &two), expected);
    one.check = IW_CHECK_MPA_REV;
    two.check = IW_CHECK_MPA_CRC;
    assert_int_equal(iw_hunt_same(&one, &two), expected && a != IW_HUNT_RULE);
    two.check = one.check;
    assert_int_equal(iw_hunt_same(&two, &one), expected);
}

static void what_is_the_same(void **state)
{
    static const char a[] = IW_TARGET_KERNEL_ENDED ": a", b[] = IW_TARGET_KERNEL_ENDED ": b";

    (void)state;
    is_same(IW_HUNT_CRASH, "a", IW_HUNT_CRASH, "b", true);
    is_same(IW_HUNT_CRASH, "a", IW_HUNT_HANG, "a", false);
    is_same(IW_HUNT_HANG, "a", IW_HUNT_HANG, "b", true);
    is_same(IW_HUNT_RULE, "a", IW_HUNT_RULE, "b", true);
    is_same(IW_HUNT_REFUSAL, "a", IW_HUNT_REFUSAL, "b", true);
    is_same(IW_HUNT_CRASH, a, IW_HUNT_CRASH, a, true);
    is_same(IW_HUNT_CRASH, a, IW_HUNT_CRASH, b, false);
    is_same(IW_HUNT_CRASH, a, IW_HUNT_CRASH, "a", false);
    is_same(IW_HUNT_CRASH, "a", IW_HUNT_CRASH, a, false);
    is_same(IW_HUNT_CRASH, IW_TARGET_KERNEL_ENDED " at 0x1", IW_HUNT_CRASH,
            IW_TARGET_KERNEL_ENDED " at 0x2", true);
    is_same(IW_HUNT_HANG, a, IW_HUNT_HANG, b, true);
    is_same(IW_HUNT_NOTHING, a, IW_HUNT_NOTHING, b, true);
}

/* ---- a look ---- */

static void looks(bool hanging, enum iw_hunt_kind kind, const char *text, const char *expected)
{
    struct iw_hunt_event e = iw_hunt_look(&hunt, hanging);

    assert_int_equal(e.kind, kind);
    assert_string_equal(e.text, text);
    does(expected);
}

static void what_a_look_sees(void **state)
{
    (void)state;
    looks(false, IW_HUNT_NOTHING, "", " settle (3/0.5) a4d50412..t65535 step100 (0/0)");
    stray = "memory 2";
    looks(false, IW_HUNT_STRAY, "memory 2", " settle (3/0.5) a4d50412..t65535 step100 (0/0)");
    answers = false;
    target.death = NULL;
    looks(false, IW_HUNT_HANG, "a right Request is not answered any more",
          " settle (3/0.5) a4d50412..t65535 step100 (0/0)");
    connects = false;
    looks(false, IW_HUNT_REFUSAL, "connections are not accepted any more",
          " settle (3/0.5) a4d50412..t65535 step100 (0/0)");
    refusals = 1;
    looks(true, IW_HUNT_REFUSAL, "connections are not accepted any more",
          " settle (3/0.5) a4d50412..t65535 step100 (0/0)");
    dies_at = started + 1;
    looks(true, IW_HUNT_CRASH, "signal 11", " settle (3/0.5) a4d50412..t65535 step100 (0/0)");
    death = NULL;
    connects = true;
    dies_at = started + 1;
    looks(true, IW_HUNT_HANG, "a right Request is not answered any more",
          " settle (3/0.5) a4d50412..t65535 step100 (0/0)");
    death = NULL;
    dies_at = started + 1;
    looks(false, IW_HUNT_CRASH, "signal 11", " settle (3/0.5) a4d50412..t65535 step100 (0/0)");
    looks(false, IW_HUNT_CRASH, "signal 11", " settle");
    snprintf(hunt.world.trouble, sizeof(hunt.world.trouble), "a report");
    looks(false, IW_HUNT_CRASH, "signal 11: a report", " settle");
}

static void a_look_at_one_that_connects(void **state)
{
    (void)state;
    hunt.world.side = IW_SIDE_RESPONDER;
    target.death = NULL;
    looks(false, IW_HUNT_NOTHING, "", " settle (3/0.5) t65535 step100 (0/0)");
    answers = false;
    looks(false, IW_HUNT_HANG, "no Request comes any more", " settle (3/0.5) t65535 step100 (0/0)");
    connects = false;
    looks(false, IW_HUNT_REFUSAL, "it does not connect any more",
          " settle (3/0.5) t65535 step100 (0/0)");
}

/* Before the first answer there is more time, but not for a try elsewhere. */
static void the_first_look(void **state)
{
    (void)state;
    hunt.over = 0;
    looks(false, IW_HUNT_NOTHING, "", " settle (3/0.5) a4d50412..t65535 step100 (0/0)");
}

/* ---- a try ---- */

static struct iw_hunt_input *inputs[SOME];

static void tried(size_t n, enum iw_hunt_kind wanted, bool *requested, enum iw_hunt_kind kind)
{
    struct iw_hunt_event e = {.kind = wanted, .check = IW_CHECK_MPA_PAD, .text = "wanted"};

    for (size_t i = 0; i < n; i++) {
        char text[8];

        snprintf(text, sizeof(text), "a%02x", (unsigned)i + 1);
        inputs[i] = support_input(text);
    }
    e = iw_hunt_try(&hunt, inputs, n, &e, requested);
    iw_hunt_inputs_free(inputs, n);
    assert_int_equal(e.kind, kind);
}

static void a_few(void **state)
{
    bool requested[2] = {false, false};

    (void)state;
    tried(2, IW_HUNT_CRASH, NULL, IW_HUNT_NOTHING);
    does(" . open (0.25/0.25) a01 step100 (0/0) (0.25/0.25) a02 step100 (0/0) settle"
         " (3/0.5) a4d50412..t65535 step100 (0/0)");
    accepted = true;
    tried(1, IW_HUNT_CRASH, requested, IW_HUNT_NOTHING);
    does(" . open (0.25/0.25) a01 step100 (0/0) settle (3/0.5) a4d50412..t65535 step100"
         " (0/0)");
    assert_true(requested[0] && !requested[1]);
    accepted = false;
    tried(2, IW_HUNT_CRASH, requested, IW_HUNT_NOTHING);
    does(" . open (0.25/0.25) a01 step100 (0/0) (0.25/0.25) a02 step100 (0/0) settle"
         " (3/0.5) a4d50412..t65535 step100 (0/0)");
    assert_true(!requested[0] && !requested[1]);
    bad_open = opens + 1;
    tried(1, IW_HUNT_CRASH, NULL, IW_HUNT_NOTHING);
    does(" . open");
    hunt.outside = true;
    tried(2, IW_HUNT_CRASH, requested, IW_HUNT_CRASH);
    does(" inside(2)");
    assert_true(requested[0]);
}

/* Then something else has ended the peer before. */
static void one_that_is_refused(void **state)
{
    (void)state;
    refusals = 1;
    tried(2, IW_HUNT_CRASH, NULL, IW_HUNT_NOTHING);
    does(" . open (0.25/0.25) a01 step100 close open a01 step100 (0/0) (0.25/0.25) a02"
         " step100 (0/0) settle (3/0.5) a4d50412..t65535 step100 (0/0)");
    refusals = 2;
    tried(2, IW_HUNT_CRASH, NULL, IW_HUNT_NOTHING);
    does(" . open (0.25/0.25) a01 step100 close open a01 step100 (0/0) settle (3/0.5)"
         " a4d50412..t65535 step100 (0/0)");
    refusals = 1;
    bad_open = opens + 2;
    tried(2, IW_HUNT_CRASH, NULL, IW_HUNT_NOTHING);
    does(" . open (0.25/0.25) a01 step100 close open");
}

static void a_second_one_that_is_refused(void **state)
{
    (void)state;
    answers = connects = false;
    dies_at = 2;
    tried(3, IW_HUNT_CRASH, NULL, IW_HUNT_CRASH);
    does(" . open (0.25/0.25) a01 step100 (0/0) (0.25/0.25) a02 step100 (0/0) (0.25/0.25)"
         " a03 step100 (0/0) settle close");
    begin(state);
    stops_at = 0;
    hunt.trial.row.n = 0;
    answers = true;
    tried(1, IW_HUNT_HANG, NULL, IW_HUNT_NOTHING);
    does(" . open (0.25/0.25) a01 step100 (0/0) settle (3/0.5) a4d50412..t65535 step100"
         " (0/0)");
}

static void a_rule(void **state)
{
    (void)state;
    broken = IW_CHECK_MPA_PAD;
    tried(2, IW_HUNT_RULE, NULL, IW_HUNT_RULE);
    does(" . open (0.25/0.25) a01 step100 (0/0)");
    tried(1, IW_HUNT_REFUSAL, NULL, IW_HUNT_NOTHING);
    does(" . open (0.25/0.25) a01 step100 (0/0) settle (3/0.5) a4d50412..t65535 step100"
         " (0/0)");
    tried(1, IW_HUNT_STRAY, NULL, IW_HUNT_NOTHING);
    does(" . open (0.25/0.25) a01 step100 (0/0) settle (3/0.5) a4d50412..t65535 step100"
         " (0/0)");
    broken = IW_CHECK_MPA_REV;
    tried(2, IW_HUNT_RULE, NULL, IW_HUNT_NOTHING);
    does(" . open (0.25/0.25) a01 step100 (0/0) (0.25/0.25) a02 step100 (0/0)");
    dies_at = started + 2;
    tried(2, IW_HUNT_RULE, NULL, IW_HUNT_CRASH);
    does(" . open (0.25/0.25) a01 step100 (0/0) (0.25/0.25) a02 step100 (0/0) settle close");
}

static void what_follows_from_it(void **state)
{
    (void)state;
    answers = false;
    target.death = NULL;
    tried(1, IW_HUNT_CRASH, NULL, IW_HUNT_HANG);
    does(" . open (0.25/0.25) a01 step100 (0/0) settle (3/0.5) a4d50412..t65535 step100"
         " (0/0) abort close");
    connects = false;
    tried(1, IW_HUNT_CRASH, NULL, IW_HUNT_REFUSAL);
    does(" . open (0.25/0.25) a01 step100 (0/0) settle (3/0.5) a4d50412..t65535 step100"
         " (0/0) close");
    answers = connects = true;
    stray = "memory 1";
    tried(1, IW_HUNT_CRASH, NULL, IW_HUNT_STRAY);
    does(" . open (0.25/0.25) a01 step100 (0/0) settle (3/0.5) a4d50412..t65535 step100"
         " (0/0) close");
}

/* A sequence that finds no place waits for one, for a minute at most. */
static void no_place_for_it(void **state)
{
    (void)state;
    no_place = 3;
    tried(1, IW_HUNT_CRASH, NULL, IW_HUNT_NOTHING);
    does(" . open (0.25/0.25) no step1 no step1 no step1 a01 step100 (0/0) settle (3/0.5)"
         " a4d50412..t65535 step100 (0/0)");
    hunt.world.scale = 0.0001;
    no_place = 1000;
    tried(1, IW_HUNT_RULE, NULL, IW_HUNT_NOTHING);
    does(" . open (0.25/0.25) no step1 no step1 no step1 no step1 no step1 no step1 no"
         " step1 no (0/0)");
}

static void many_at_a_time(void **state)
{
    bool requested[SOME];

    (void)state;
    /* Fewer, or all of them to be known, are tried alone. */
    tried(SOME - 1, IW_HUNT_RULE, NULL, IW_HUNT_NOTHING);
    assert_null(strstr(noted, "step10 "));
    *noted = 0;
    tried(SOME, IW_HUNT_RULE, requested, IW_HUNT_NOTHING);
    assert_null(strstr(noted, "step10 "));
    *noted = 0;
    no_place = 1;
    tried(SOME, IW_HUNT_RULE, NULL, IW_HUNT_NOTHING);
    does(" . open no step10 a01 a02 a03 step10 a04 step10 a05 step10 a06 step10 a07"
         " step10 a08 step10 a09 step10 a0a step10 a0b step10 a0c step10 a0d step10 a0e"
         " step10 a0f step10 a10 step10 a11 step10 a12 step10 a13 step10 a14 step10 a15"
         " step10 a16 step10 a17 step10 a18 step10 a19 step10 a1a step10 a1b step10 a1c"
         " step10 a1d step10 a1e step10 a1f step10 a20 step10 a21 step10 a22 step10 a23"
         " step10 a24 step10 a25 step10 a26 step10 a27 step10 a28 step10 a29 step10 a2a"
         " step10 a2b step10 a2c step10 a2d step10 a2e step10 a2f step10 a30 step10 a31"
         " step10 a32 step10 a33 step10 a34 step10 a35 step10 a36 step10 a37 step10 a38"
         " step10 a39 step10 a3a step10 a3b step10 a3c step10 a3d step10 a3e step10 a3f"
         " step10 a40 step10 a41 step10 step10 step10 abort");
    stops_at = started + 5;
    tried(SOME, IW_HUNT_RULE, NULL, IW_HUNT_NOTHING);
    does(" . open a01 a02 a03 step10 a04 step10 a05 step10 step10 step10 abort");
    stop = 0;
    dies_at = started + 5;
    tried(SOME, IW_HUNT_RULE, NULL, IW_HUNT_CRASH);
    does(" . open a01 a02 a03 step10 a04 step10 a05 abort settle close");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(keys, begin),
        cmocka_unit_test_setup(causes, begin),
        cmocka_unit_test_setup(long_texts, begin),
        cmocka_unit_test_setup(what_is_the_same, begin),
        cmocka_unit_test_setup(what_a_look_sees, begin),
        cmocka_unit_test_setup(a_look_at_one_that_connects, begin),
        cmocka_unit_test_setup(the_first_look, begin),
        cmocka_unit_test_setup(a_few, begin),
        cmocka_unit_test_setup(one_that_is_refused, begin),
        cmocka_unit_test_setup(a_second_one_that_is_refused, begin),
        cmocka_unit_test_setup(a_rule, begin),
        cmocka_unit_test_setup(what_follows_from_it, begin),
        cmocka_unit_test_setup(no_place_for_it, begin),
        cmocka_unit_test_setup(many_at_a_time, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
