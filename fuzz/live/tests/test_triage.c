/* SPDX-License-Identifier: BSD-3-Clause */
/* From an event to a finding: the tries that this takes, and the result. The peer is a function;
 * all actions are noted in one text. */
#include "live_support.h"

#include <stdio.h>

#include "host/text.h"
#include "iwarp/transport.h"

#define REQUEST "a4d504120494420526571204672616d654001000401020304"
#define REPLY "a4d504120494420526570204672616d6550020004c0100010"
#define SEND                                                                                       \
    "a001241430000000000000000000000010000000"                                                     \
    "0587be8c4"

static struct iw_hunt_options options;
static struct iw_hunt hunt;
static volatile int stop;
static int opened;
static bool shown, terse; /* terse: tries of one sequence are dots */
static char done[16384];
static bool (*happens)(struct iw_hunt_input *const *inputs, size_t n);
static void (*shrinks)(struct iw_hunt_finding *f);

struct iw_hunt_event __wrap_iw_hunt_try(struct iw_hunt *h, struct iw_hunt_input *const *inputs,
                                        size_t n, const struct iw_hunt_event *wanted,
                                        bool *requested);
int __wrap_iw_hunt_open(struct iw_hunt *h);
void __wrap_iw_hunt_close(struct iw_hunt *h);
void __wrap_iw_hunt_shrink(struct iw_hunt *h, struct iw_hunt_finding *f);
bool __wrap_iw_hunt_write_case(struct iw_hunt *h, struct iw_hunt_finding *f, unsigned number);
void __wrap_iw_hunt_write_unplayed(struct iw_hunt *h, struct iw_hunt_finding *f, unsigned number);
void __wrap_iw_hunt_write_row(struct iw_hunt *h, struct iw_hunt_finding *f,
                              struct iw_hunt_input *const *suspects, size_t n, unsigned number);
void __wrap_iw_hunt_unwrite(struct iw_hunt_finding *f);
void __wrap_iw_hunt_tell(struct iw_hunt *h, const struct iw_hunt_finding *f);
uint64_t __wrap_iw_transport_now(void);

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *format, ...)
{
    size_t n = strlen(done);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(done + n, sizeof(done) - n, format, arguments);
    va_end(arguments);
}

/* The first octet of the first few sequences and of the last, and how many there are. */
static void note_inputs(struct iw_hunt_input *const *inputs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (i < 8 || i + 1 == n)
            note("%s%02x", i ? "," : "", inputs[i]->n ? inputs[i]->steps[0].octets[0] : 0xee);
    if (n > 8)
        note("=%zu", n);
}

struct iw_hunt_event __wrap_iw_hunt_try(struct iw_hunt *h, struct iw_hunt_input *const *inputs,
                                        size_t n, const struct iw_hunt_event *wanted,
                                        bool *requested)
{
    bool yes = happens(inputs, n);
    struct iw_hunt_event e = *wanted;

    assert_null(requested);
    if (terse && n == 1) {
        note(yes ? "+" : ".");
    } else {
        note(" %g:", h->patience);
        note_inputs(inputs, n);
        note(yes ? "+" : "-");
    }
    if (yes)
        snprintf(e.text, sizeof(e.text), "as it was");
    else
        e.kind = IW_HUNT_NOTHING;
    return e;
}

int __wrap_iw_hunt_open(struct iw_hunt *h)
{
    (void)h;
    note(" open");
    return opened;
}

void __wrap_iw_hunt_close(struct iw_hunt *h)
{
    (void)h;
    note(" close");
}

void __wrap_iw_hunt_shrink(struct iw_hunt *h, struct iw_hunt_finding *f)
{
    (void)h;
    note(" shrink");
    if (shrinks != NULL)
        shrinks(f);
}

bool __wrap_iw_hunt_write_case(struct iw_hunt *h, struct iw_hunt_finding *f, unsigned number)
{
    (void)h;
    (void)f;
    note(" case %u", number);
    return shown;
}

void __wrap_iw_hunt_write_unplayed(struct iw_hunt *h, struct iw_hunt_finding *f, unsigned number)
{
    (void)h;
    (void)f;
    note(" unplayed %u", number);
}

void __wrap_iw_hunt_write_row(struct iw_hunt *h, struct iw_hunt_finding *f,
                              struct iw_hunt_input *const *suspects, size_t n, unsigned number)
{
    (void)h;
    (void)f;
    (void)suspects;
    note(" row %u of %zu", number, n);
}

void __wrap_iw_hunt_unwrite(struct iw_hunt_finding *f)
{
    (void)f;
    note(" unwrite");
}

void __wrap_iw_hunt_tell(struct iw_hunt *h, const struct iw_hunt_finding *f)
{
    (void)h;
    note(" report");
    for (size_t i = 0; i < f->n_inputs; i++)
        assert_false(f->requested[i]);
    note("[%s|%s|%llu|%g|%llu|", f->key, f->event.text, (unsigned long long)f->number, f->seconds,
         (unsigned long long)f->times);
    note_inputs(f->inputs, f->n_inputs);
    note("|%s|", f->suppressed != NULL ? f->suppressed : "-");
    for (size_t i = 0; i < f->n_pattern; i++)
        note(" %x", f->pattern[i]);
    note("]");
}

uint64_t __wrap_iw_transport_now(void)
{
    return 3500000000;
}

/* ---- */

static int begin(void **state)
{
    (void)state;
    options = (struct iw_hunt_options){.seed = 1};
    hunt = (struct iw_hunt){
        .o = &options, .stop = &stop, .over = 55, .began = 1000000000, .world = {.scale = 2}};
    stop = 0;
    opened = 0;
    shown = true;
    terse = false;
    shrinks = NULL;
    *done = 0;
    return 0;
}

static int finish(void **state)
{
    while (hunt.findings != NULL) {
        struct iw_hunt_finding *f = hunt.findings;

        hunt.findings = f->next;
        for (size_t i = 0; i < f->n_inputs; i++)
            iw_hunt_input_free(f->inputs[i]);
        free(f->inputs);
        free(f->requested);
        free(f->key);
        free(f->suppressed);
        free(f);
    }
    return support_clean(state);
}

struct triage {
    struct iw_hunt_event event;
    struct iw_hunt_input *list[600];
    size_t n;
};

static void run(void *context)
{
    struct triage *t = context;

    iw_hunt_triage(&hunt, &t->event, t->list, t->n);
}

/* Of suspects with these steps, or (NULL) of `n` with an octet each from 1 on. */
static void does_all(enum iw_hunt_kind kind, const char *const *steps, size_t n,
                     const char *expected, const char *printed)
{
    struct triage t = {.event = iw_hunt_event_of(kind, "the text"), .n = n};
    char *text;

    for (size_t i = 0; i < n; i++) {
        if (steps != NULL) {
            t.list[i] = support_input(steps[i]);
        } else {
            t.list[i] = iw_hunt_input_new();
            iw_hunt_add(t.list[i], IW_FUZZ_A, (uint8_t[]){(uint8_t)(i + 1), (uint8_t)(i >> 8)}, 2);
        }
    }
    *done = 0;
    if (kind == IW_HUNT_RULE)
        t.event.check = iw_check_find("mpa-rev");
    text = support_printed(2, run, &t);
    assert_string_equal(done, expected);
    assert_string_equal(text, printed);
    free(text);
    for (size_t i = 0; i < n; i++)
        iw_hunt_input_free(t.list[i]);
}

static void does(enum iw_hunt_kind kind, const char *const *steps, size_t n, const char *expected)
{
    does_all(kind, steps, n, expected, "");
}

static size_t first_octet(const struct iw_hunt_input *in)
{
    return in->n ? in->steps[0].octets[0] : 0;
}

static bool of_any(struct iw_hunt_input *const *inputs, size_t n)
{
    (void)inputs;
    (void)n;
    return true;
}

static bool of_none(struct iw_hunt_input *const *inputs, size_t n)
{
    (void)inputs;
    (void)n;
    return false;
}

static bool of_2(struct iw_hunt_input *const *inputs, size_t n)
{
    return n == 1 && first_octet(inputs[0]) == 2;
}

static bool of_2_with_patience(struct iw_hunt_input *const *inputs, size_t n)
{
    return of_2(inputs, n) && hunt.patience > 0;
}

static bool of_2_and_4(struct iw_hunt_input *const *inputs, size_t n)
{
    unsigned seen = 0;

    for (size_t i = 0; i < n; i++)
        seen |= 1u << (first_octet(inputs[i]) & 31);
    return n > 1 && seen & 1u << 2 && seen & 1u << 4;
}

static bool of_a_row(struct iw_hunt_input *const *inputs, size_t n)
{
    (void)inputs;
    return n > 100;
}

static bool of_no_pause(struct iw_hunt_input *const *inputs, size_t n)
{
    return n == 1 && inputs[0]->n == 2 && first_octet(inputs[0]) == 3;
}

static void one_alone(void **state)
{
    (void)state;
    happens = of_2;
    does(IW_HUNT_CRASH, NULL, 4,
         " open 0:04- 0:03- 0:02+ close 0:02+ shrink case 1 report[crash as it was, after odd "
         "octets|as it "
         "was|55|2.5|1|02|-| 200]");
    does(IW_HUNT_CRASH, NULL, 3, " open 0:03- 0:02+ close 0:02+");
    assert_int_equal(hunt.findings->times, 2);
    assert_null(hunt.findings->next);
}

static void one_with_patience(void **state)
{
    (void)state;
    happens = of_2_with_patience;
    does(IW_HUNT_HANG, NULL, 3,
         " open 0:03- 0:02- 0:01- 1:03- 1:02+ close 1:02+ shrink case 1 report[hang as it was, "
         "after odd "
         "octets|as it was|55|2.5|1|02|-| 200]");
}

static void one_elsewhere(void **state)
{
    (void)state;
    happens = of_2;
    hunt.outside = true;
    does(IW_HUNT_STRAY, NULL, 3,
         " 1:03- 1:02+ 1:02+ shrink case 1 report[stray as it was, after odd octets|as it "
         "was|55|2.5|1|02|-|]");
}

static void two_together(void **state)
{
    (void)state;
    happens = of_2_and_4;
    does(IW_HUNT_CRASH, NULL, 7,
         " open 0:07- 0:06- 0:05- 0:04- 0:03- 0:02- 0:01- 1:07- 1:06- 1:05- 1:04- 1:03- 1:02- "
         "1:01- close 1:01,02,03,04,05,06,07+ close 1:04,05,06,07- close 1:01,02,03- shrink case 1 "
         "report[crash as it "
         "was, after odd octets|as it was|55|2.5|1|01,02,03,04,05,06,07|-|]");
}

static void a_long_row(void **state)
{
    (void)state;
    happens = of_a_row;
    terse = true;
    does(IW_HUNT_REFUSAL, NULL, 600,
         " open...................................................................................."
         "............................................ close 1:19,1a,1b,1c,1d,1e,1f,20,58=64- "
         "close 1:19,1a,1b,1c,1d,1e,1f,20,58=64- close 1:19,1a,1b,1c,1d,1e,1f,20,58=64- "
         "close 1:59,5a,5b,5c,5d,5e,5f,60,58=512+ close 1:59,5a,5b,5c,5d,5e,5f,60,58=256+ "
         "close 1:d9,da,db,dc,dd,de,df,e0,58=128+ close 1:19,1a,1b,1c,1d,1e,1f,20,58=64- "
         "close 1:d9,da,db,dc,dd,de,df,e0,18=64- shrink case 1 report[refusal as it was, after odd "
         "octets|as it was|55|2.5|1|d9,da,db,dc,dd,de,df,e0,58=128|-|]");
}

static void without_waiting(void **state)
{
    (void)state;
    happens = of_no_pause;
    does(IW_HUNT_CRASH, (const char *[]){"a01 t1", "a03 t1 t2 a0405", "t5 a02", "a06"}, 4,
         " open 0:06- 0:05- 0:03- 0:01- 1:06- 1:05- 1:03- 1:01- close 1:01,03,05,06- close "
         "1:01,03,05,06- "
         "close 1:01,03,05,06- 1:06- 1:02- 1:03+ shrink case 1 report[crash as it was, after odd "
         "octets|as it was|55|2.5|1|03|-| 200 200]");
}

static void nothing_does_it(void **state)
{
    (void)state;
    happens = of_none;
    does(IW_HUNT_CRASH, NULL, 2,
         " open 0:02- 0:01- 1:02- 1:01- close 1:01,02- close 1:01,02- close 1:01,02- 1:02- 1:01- "
         "unplayed 1 row 1 of "
         "2 "
         "report[unexplained crash the text|the text|55|2.5|1|01,02|-|]");
    does(IW_HUNT_CRASH, NULL, 0, " open");
    assert_int_equal(hunt.findings->times, 2);
    does(IW_HUNT_CRASH, NULL, 0, " open");
    does(IW_HUNT_CRASH, NULL, 2, ""); /* often enough */
    assert_int_equal(hunt.findings->times, 4);
    assert_null(hunt.findings->next);
}

static void a_peer_that_is_gone(void **state)
{
    (void)state;
    happens = of_none;
    opened = 3;
    does(IW_HUNT_CRASH, NULL, 70,
         " open unplayed 1 row 1 of 70 report[unexplained crash the text|the "
         "text|55|2.5|1|07,08,09,0a,0b,0c,0d,0e,46=64|-|]");
    assert_int_equal(hunt.findings->n_inputs, 64);
    assert_int_equal(first_octet(hunt.findings->inputs[0]), 7);
    assert_int_equal(first_octet(hunt.findings->inputs[63]), 70);
}

static void a_signal(void **state)
{
    (void)state;
    happens = of_any;
    stop = 15;
    does(IW_HUNT_CRASH, NULL, 3,
         " close unplayed 1 row 1 of 3 report[unexplained crash the text|the "
         "text|55|2.5|1|01,02,03|-|]");
    hunt.outside = true;
    does(IW_HUNT_HANG, NULL, 2,
         " unplayed 2 row 2 of 2 report[unexplained hang the text|the text|55|2.5|1|01,02|-|]");
}

/* The key names the last thing sent. */
static void keys(void **state)
{
    (void)state;
    happens = of_any;
    does(IW_HUNT_CRASH, (const char *[]){REQUEST " t5"}, 1,
         " open 0:4d+ close 0:4d+ shrink case 1 report[crash as it was, after a Request|as it "
         "was|55|2.5|1|4d|-| 140]");
    does(IW_HUNT_HANG, (const char *[]){"t5 " REPLY " f"}, 1,
         " open 0:05+ close 0:05+ shrink case 2 report[hang as it was, after a Reply|as it "
         "was|55|2.5|1|05|-| "
         "151]");
    does(IW_HUNT_STRAY, (const char *[]){REQUEST " " SEND " a"}, 1,
         " open 0:4d+ close 0:4d+ shrink case 3 report[stray as it was, after opcode 3|as it "
         "was|55|2.5|1|4d|-|]");
    does(IW_HUNT_REFUSAL, (const char *[]){REQUEST " a00"}, 1,
         " open 0:4d+ close 0:4d+ shrink case 4 report[refusal as it was, after odd octets|as it "
         "was|55|2.5|1|4d|-|]");
    does(IW_HUNT_CRASH, (const char *[]){"t5"}, 1,
         " open 0:05+ close 0:05+ shrink case 5 report[crash as it was|as it was|55|2.5|1|05|-|]");
    does(IW_HUNT_RULE, (const char *[]){REQUEST " " SEND}, 1,
         " open 0:4d+ close 0:4d+ shrink case 6 report[rule mpa-rev|as it was|55|2.5|1|4d|-|]");
    does(IW_HUNT_RULE, (const char *[]){REQUEST}, 1, "");
    assert_int_equal(hunt.findings->next->next->next->next->next->times, 2);
    shown = false; /* neither minimised nor as it was: what was sent before is kept */
    does_all(IW_HUNT_HANG, (const char *[]){REQUEST " " SEND}, 1,
             " open 0:4d+ close 0:4d+ shrink case 7 case 7 unwrite unplayed 7 row 7 of 1 "
             "report[unexplained hang "
             "the text|the text|55|2.5|1|4d|-|]",
             "");
}

static void becomes_another(struct iw_hunt_finding *f)
{
    iw_hunt_input_free(f->inputs[0]);
    f->inputs[0] = support_input("a00");
}

static void what_is_left_is_known(void **state)
{
    (void)state;
    happens = of_any;
    does(IW_HUNT_CRASH, (const char *[]){"a00"}, 1,
         " open 0:00+ close 0:00+ shrink case 1 report[crash as it was, after odd octets|as it "
         "was|55|2.5|1|00|-| 200]");
    shrinks = becomes_another;
    does(IW_HUNT_CRASH, (const char *[]){SEND}, 1, " open 0:00+ close 0:00+ shrink");
    assert_int_equal(hunt.findings->times, 2);
    assert_null(hunt.findings->next);
}

static void what_is_suppressed(void **state)
{
    char *path = support_file(support_folder(), "known",
                              "crash *after odd octets \"odd\"\n"
                              "hang*anything \"any\"\n");

    (void)state;
    options.suppress = path;
    happens = of_any;
    does(IW_HUNT_CRASH, (const char *[]){"a00"}, 1,
         " open 0:00+ close 0:00+ shrink case 1 report[crash as it was, after odd octets|as it "
         "was|55|2.5|1|00|odd| 200]");
    for (int i = 0; i < 3; i++) /* does not stand in for what may not be known */
        does(IW_HUNT_CRASH, (const char *[]){"a00"}, 1, " open 0:00+ close 0:00+");
    assert_int_equal(hunt.findings->times, 4);
    does(IW_HUNT_HANG, (const char *[]){"a00"}, 1,
         " open 0:00+ close 0:00+ shrink case 2 report[hang as it was, after odd octets|as it "
         "was|55|2.5|1|00|-| 200]");
    hunt.findings->next->times = 2;
    does(IW_HUNT_HANG, (const char *[]){"a00"}, 1, " open 0:00+ close 0:00+");
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_alone, begin, finish),
        cmocka_unit_test_setup_teardown(one_with_patience, begin, finish),
        cmocka_unit_test_setup_teardown(one_elsewhere, begin, finish),
        cmocka_unit_test_setup_teardown(two_together, begin, finish),
        cmocka_unit_test_setup_teardown(a_long_row, begin, finish),
        cmocka_unit_test_setup_teardown(without_waiting, begin, finish),
        cmocka_unit_test_setup_teardown(nothing_does_it, begin, finish),
        cmocka_unit_test_setup_teardown(a_peer_that_is_gone, begin, finish),
        cmocka_unit_test_setup_teardown(a_signal, begin, finish),
        cmocka_unit_test_setup_teardown(keys, begin, finish),
        cmocka_unit_test_setup_teardown(what_is_left_is_known, begin, finish),
        cmocka_unit_test_setup_teardown(what_is_suppressed, begin, finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
