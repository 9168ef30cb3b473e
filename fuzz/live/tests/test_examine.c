/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking into events beside the hunt: who looks into what, how often, and what is left at the end.
 */
#include "process_stage.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { SECOND = 1000000000 };

static int event_seen; /* h->examining at a triage: 1 it is that of this process */

void __wrap_iw_hunt_triage(struct iw_hunt *h, const struct iw_hunt_event *event,
                           struct iw_hunt_input *const *suspects, size_t n);
void __wrap_iw_hunt_unexplained(struct iw_hunt *h, const struct iw_hunt_event *event,
                                struct iw_hunt_input *const *suspects, size_t n);
void __wrap_iw_hunt_board_inherit(struct iw_hunt_board *b);
void __wrap_iw_hunt_make_loop(struct iw_hunt *h);
void __wrap_iw_hunt_close(struct iw_hunt *h);

static void note_event(const char *what, const struct iw_hunt_event *event,
                       struct iw_hunt_input *const *suspects, size_t n)
{
    process_note(" %s(%s:", what, event->text);
    for (size_t i = 0; i < n; i++)
        process_note(" %02x", suspects[i]->steps[0].octets[0]);
    process_note(")");
}

void __wrap_iw_hunt_triage(struct iw_hunt *h, const struct iw_hunt_event *event,
                           struct iw_hunt_input *const *suspects, size_t n)
{
    note_event("triage", event, suspects, n);
    event_seen = h->examining != NULL && h->event != NULL && &h->event->event == event;
}

void __wrap_iw_hunt_unexplained(struct iw_hunt *h, const struct iw_hunt_event *event,
                                struct iw_hunt_input *const *suspects, size_t n)
{
    assert_ptr_equal(h, &hunt);
    note_event("unexplained", event, suspects, n);
}

void __wrap_iw_hunt_board_inherit(struct iw_hunt_board *b)
{
    assert_ptr_equal(b, hunt.board);
    process_note(" inherit");
}

void __wrap_iw_hunt_make_loop(struct iw_hunt *h)
{
    assert_ptr_equal(h, &hunt);
    process_note(" loop");
}

void __wrap_iw_hunt_close(struct iw_hunt *h)
{
    assert_ptr_equal(h, &hunt);
    process_note(" close");
}

/* ---- events ---- */

static struct iw_hunt_input *suspects[2];
static struct iw_hunt_finding finding;

static int begin(void **state)
{
    suspects[0] = support_input("aa1");
    suspects[1] = support_input("aa2");
    finding = (struct iw_hunt_finding){.n_inputs = 1};
    event_seen = 0;
    return process_begin(state);
}

static int end(void **state)
{
    iw_hunt_input_free(suspects[0]);
    iw_hunt_input_free(suspects[1]);
    for (unsigned i = 0; i < IW_HUNT_PENDING; i++) /* all was forgotten */
        assert_null(hunt.pending[i].inputs);
    return process_end(state);
}

/* A crash; its cause is its text, or one of its own. */
static struct iw_hunt_event crash(const char *text, const char *cause)
{
    struct iw_hunt_event e = iw_hunt_event_of(IW_HUNT_CRASH, text);
    snprintf(e.cause, sizeof(e.cause), "%s", cause);
    return e;
}

static void happens(const char *text)
{
    const struct iw_hunt_event e = crash(text, "");
    iw_hunt_examine(&hunt, &e, suspects, 2);
}

/* The finding of this event is there. */
static void find(const char *text, const char *cause)
{
    finding.event = crash(text, cause);
    hunt.findings = &finding;
}

/* Those that wait or are under way, in their order: text, process, slot, times. */
static void pend(const char *expected)
{
    char text[400] = "";
    for (unsigned i = 0; i < IW_HUNT_PENDING; i++)
        if (hunt.pending[i].inputs != NULL)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s:%d/%u*%u",
                     *text ? " " : "", hunt.pending[i].event.text,
                     hunt.pending[i].pid > 0 ? (int)hunt.pending[i].pid - 1000 : 0,
                     hunt.pending[i].slot, hunt.pending[i].times);
    assert_string_equal(text, expected);
}

static bool busy(unsigned slot)
{
    return iw_hunt_board_examining(hunt.board, 0, slot)->busy;
}

/* Everything is found, and is over: what a test leaves. */
static void clear(void)
{
    for (unsigned i = 0; i < IW_HUNT_PENDING; i++)
        if (hunt.pending[i].inputs != NULL) {
            iw_hunt_inputs_free(hunt.pending[i].inputs, hunt.pending[i].n);
            free(hunt.pending[i].inputs);
            hunt.pending[i].inputs = NULL;
        }
}

/* ---- at once, without a board ---- */

static void without_a_board(void **state)
{
    (void)state;
    struct iw_hunt_board *board = hunt.board;
    hunt.board = NULL;
    happens("one");
    process_noted(" triage(one: a1 a2)");
    pend("");
    hunt.board = board;
}

/* ---- beside the hunt ---- */

/* Two at a time; others wait. Each goes on as soon as one has ended, and the first free slot is
 * taken. */
static void two_at_a_time(void **state)
{
    (void)state;
    hunt.over = 42;
    hunt.began = 1;
    processes.now = 1 + 3 * (uint64_t)SECOND;
    happens("one");
    happens("two");
    happens("three");
    process_noted(" load fork1 load fork2");
    pend("one:1/0*0 two:2/1*0 three:0/0*0");
    assert_int_equal(hunt.pending[1].number, 42);
    assert_true(hunt.pending[1].seconds == 3.0);
    assert_int_equal(hunt.pending[1].n, 2);
    assert_ptr_not_equal(hunt.pending[1].inputs[1], suspects[1]); /* a copy */
    support_is(hunt.pending[1].inputs[1], "aa2");
    assert_true(busy(0));
    assert_true(busy(1));
    iw_hunt_look_beside(&hunt);
    process_noted("");
    find("one", "");
    process_ends(1001, 0);
    iw_hunt_look_beside(&hunt);
    process_noted(" load load fork3");
    pend("two:2/1*0 three:3/0*0");
    assert_true(busy(0));
    find("two", "");
    process_ends(1002, 0);
    iw_hunt_look_beside(&hunt);
    assert_false(busy(1));
    assert_true(busy(0));
    find("three", "");
    process_ends(1003, 0);
    iw_hunt_look_beside(&hunt);
    assert_false(busy(0));
    process_noted(" load load");
    pend("");
}

/* The same event is not looked into twice at a time. */
static void once_for_all(void **state)
{
    (void)state;
    happens("one");
    happens("one");
    process_noted(" load fork1");
    pend("one:1/0*0");
    assert_int_equal(iw_hunt_board_times(hunt.board, "crash one"), 2);
    clear();
}

static void no_process(void **state)
{
    (void)state;
    processes.forks_fail = true;
    happens("one"); /* a complaint goes to standard error */
    process_noted(" load");
    pend("one:0/0*0");
    processes.forks_fail = false;
    iw_hunt_look_beside(&hunt);
    process_noted(" load fork1");
    pend("one:1/0*0");
    clear();
}

/* What could not be shown is tried again after half a minute (times the time scale), twice. */
static void again(void **state)
{
    (void)state;
    happens("one");
    process_noted(" load fork1");
    for (unsigned i = 1; i < 3; i++) {
        process_ends(1000 + (pid_t)i, 0);
        iw_hunt_look_beside(&hunt);
        process_noted(" load");
        assert_int_equal(hunt.pending[0].times, i);
        processes.now += 2 * 30 * (uint64_t)SECOND - 1;
        iw_hunt_look_beside(&hunt);
        process_noted("");
        processes.now += 1;
        iw_hunt_look_beside(&hunt);
        process_noted(i == 1 ? " load fork2" : " load fork3");
    }
    process_ends(1003, 0);
    iw_hunt_look_beside(&hunt);
    process_noted(" load");
    pend("");
}

/* One that was ended from outside has found nothing: who waits for it hears of it. */
static void a_child_that_was_ended(void **state)
{
    (void)state;
    happens("one");
    process_ends(1001, SIGSEGV);
    iw_hunt_look_beside(&hunt);
    process_noted(" load fork1 load unexplained(one: a1 a2)");
    pend("one:0/0*1");
    assert_true(iw_hunt_board_claim(hunt.board, "crash one", 3)); /* it was released */
    clear();
}

static void a_child_that_failed(void **state)
{
    (void)state;
    happens("one");
    find("one", "");
    process_ends(1001, 1 << 8); /* exit status 1, but it has found it */
    iw_hunt_look_beside(&hunt);
    process_noted(" load fork1 load");
    pend("");
    hunt.findings = NULL;
    happens("two");
    process_ends(1002, 1 << 8);
    iw_hunt_look_beside(&hunt);
    process_noted(" load fork2 load unexplained(two: a1 a2)");
    clear();
}

/* Only a finding that shows the same event counts: one with a row of suspects does not. */
static void what_is_found(void **state)
{
    (void)state;
    char row[] = "row";
    static const struct {
        const char *text;
        bool has_row;
        size_t inputs, told;
        bool found;
    } list[] = {{"one", false, 1, 0, true},  {"one", false, 0, 2, true},
                {"one", false, 0, 0, false}, {"one", true, 1, 0, false},
                {"pne", false, 1, 0, false}, {"ona", false, 1, 0, false}};
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        hunt.findings = NULL;
        happens("one");
        find(list[i].text, "");
        finding.row = list[i].has_row ? row : NULL;
        finding.n_inputs = list[i].inputs;
        finding.told_inputs = list[i].told;
        process_ends(1001 + (pid_t)i, 0);
        iw_hunt_look_beside(&hunt);
        pend(list[i].found ? "" : "one:0/0*1");
        clear();
        iw_hunt_board_free(hunt.board);
        hunt.board = iw_hunt_board_new();
    }
    *processes.noted = 0;
}

/* As many as there is room for. What could not be shown gives way to what is new. */
static void no_room(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (unsigned i = 0; i < 8; i++)
        happens(names[i]);
    pend("a:1/0*0 b:2/1*0 c:0/0*0 d:0/0*0 e:0/0*0 f:0/0*0 g:0/0*0 h:0/0*0");
    happens("new");
    pend("a:1/0*0 b:2/1*0 c:0/0*0 d:0/0*0 e:0/0*0 f:0/0*0 g:0/0*0 h:0/0*0");
    assert_true(iw_hunt_board_claim(hunt.board, "crash new", 9)); /* it may come again */
    iw_hunt_board_release(hunt.board, "crash new", false);
    process_ends(1002, 0);
    iw_hunt_look_beside(&hunt);
    pend("a:1/0*0 b:0/1*1 c:3/1*0 d:0/0*0 e:0/0*0 f:0/0*0 g:0/0*0 h:0/0*0");
    happens("new");
    pend("a:1/0*0 new:0/0*0 c:3/1*0 d:0/0*0 e:0/0*0 f:0/0*0 g:0/0*0 h:0/0*0");
    clear();
    *processes.noted = 0;
}

/* ---- the child ---- */

static void in_child(const char *text, const char *cause)
{
    const struct iw_hunt_event e = crash(text, cause);
    processes.child_of = processes.forks + 1;
    if (setjmp(processes.exit) == 0)
        iw_hunt_examine(&hunt, &e, suspects, 2);
}

static void the_child(void **state)
{
    (void)state;
    hunt.member = 3;
    happens("before");
    process_noted(" load fork1");
    in_child("one", "");
    process_noted(" load prctl inherit loop triage(one: a1 a2) close");
    assert_int_equal(processes.status, 0);
    assert_int_equal(event_seen, 1);
    assert_ptr_equal(hunt.examining, iw_hunt_board_examining(hunt.board, 3, 1));
    assert_string_equal(hunt.world.log, "results/target-again-8.log");
    assert_ptr_equal(hunt.world.spec, hunt.spec);
    assert_true(hunt.world.scale == 2);
    assert_int_equal(hunt.world.slots, 5);
    assert_int_equal(hunt.world.listener, -1);
    free((char *)(uintptr_t)hunt.world.log);
    assert_true(iw_hunt_board_claim(hunt.board, "crash one", 9)); /* released: nothing was found */
    clear();
}

/* Its parent has ended before it could say so. */
static void an_orphan(void **state)
{
    (void)state;
    processes.parent = 1;
    in_child("one", "");
    process_noted(" load prctl");
    assert_int_equal(processes.status, 70);
    clear();
}

/* What is named and found needs no other look; what has only a text may mean many things. */
static void settled(void **state)
{
    (void)state;
    static const struct {
        const char *cause;
        bool found, settles;
    } list[] = {{"heap in f", true, true}, {"heap in f", false, false}, {"", true, false}};
    for (unsigned i = 0; i < 3; i++) {
        const struct iw_hunt_event e = crash("one", list[i].cause);
        char key[IW_HUNT_KEY];
        iw_hunt_key(&e, key, sizeof(key));
        assert_true(iw_hunt_board_claim(hunt.board, key, 9));
        hunt.findings = NULL;
        if (list[i].found)
            find("one", list[i].cause);
        iw_hunt_settle(&hunt, &e);
        assert_int_equal(iw_hunt_board_claim(hunt.board, key, 9), !list[i].settles);
        iw_hunt_board_free(hunt.board);
        hunt.board = iw_hunt_board_new();
    }
    const struct iw_hunt_event rule = {.kind = IW_HUNT_RULE, .check = 3, .text = "a rule"};
    char key[IW_HUNT_KEY];
    iw_hunt_key(&rule, key, sizeof(key));
    assert_true(iw_hunt_board_claim(hunt.board, key, 9));
    finding.event = rule;
    hunt.findings = &finding;
    iw_hunt_settle(&hunt, &rule); /* a rule is a name */
    assert_false(iw_hunt_board_claim(hunt.board, key, 9));
}

/* ---- the end ---- */

static unsigned looks;

static void one_ends_each_time(struct iw_hunt *h)
{
    (void)h;
    looks++;
    for (unsigned i = 0; i < IW_HUNT_PENDING; i++)
        if (hunt.pending[i].pid > 0) {
            process_ends(hunt.pending[i].pid, 0);
            return;
        }
}

static void count_looks(struct iw_hunt *h)
{
    (void)h;
    looks++;
}

/* What waits gets its turn; what was tried once is tried once more, and no more. */
static void the_last_look(void **state)
{
    (void)state;
    processes.looks = one_ends_each_time;
    looks = 0;
    happens("one");
    process_ends(1001, 0);
    iw_hunt_look_beside(&hunt);
    pend("one:0/0*1");
    happens("two");
    *processes.noted = 0;
    find("two", "");
    iw_hunt_look_last(&hunt);
    process_noted(" load fork3 load load");
    pend("");
    assert_int_equal(looks, 3);
}

static void nothing_to_look_into(void **state)
{
    (void)state;
    processes.looks = count_looks;
    looks = 0;
    iw_hunt_look_last(&hunt);
    process_noted("");
    assert_int_equal(looks, 0);
}

/* After a minute they are ended; those that nobody had the time for are reported. */
static void too_slow(void **state)
{
    (void)state;
    processes.looks = count_looks;
    processes.obeys = true;
    looks = 0;
    happens("one");
    happens("two");
    happens("three");
    *processes.noted = 0;
    const uint64_t before = processes.now;
    iw_hunt_look_last(&hunt);
    process_noted(" TERM1 TERM2 load unexplained(one: a1 a2) load unexplained(two: a1 a2)"
                  " unexplained(three: a1 a2)");
    pend("");
    assert_int_equal((processes.now - before) / 1000000, 2 * 60 * 1000 + 20);
    assert_int_equal(looks, 2 * 60 * 50 + 1);
}

/* Ten seconds later they are killed. */
static void too_stubborn(void **state)
{
    (void)state;
    processes.looks = count_looks;
    happens("one");
    *processes.noted = 0;
    const uint64_t before = processes.now;
    iw_hunt_look_last(&hunt);
    process_noted(" TERM1 KILL1 load unexplained(one: a1 a2)");
    assert_int_equal((processes.now - before) / SECOND, 2 * (60 + 10));
    pend("");
}

static void stop(struct iw_hunt *h)
{
    (void)h;
    processes.stop = SIGINT;
}

/* A signal ends the minute. */
static void interrupted(void **state)
{
    (void)state;
    processes.looks = stop;
    processes.obeys = true;
    happens("one");
    happens("two");
    happens("three");
    *processes.noted = 0;
    const uint64_t before = processes.now;
    iw_hunt_look_last(&hunt);
    assert_true(processes.now - before < SECOND);
    assert_memory_equal(processes.noted, " TERM1 TERM2", 12);
    assert_non_null(strstr(processes.noted, " unexplained(three: a1 a2)"));
    pend("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_a_board, begin, end),
        cmocka_unit_test_setup_teardown(two_at_a_time, begin, end),
        cmocka_unit_test_setup_teardown(once_for_all, begin, end),
        cmocka_unit_test_setup_teardown(no_process, begin, end),
        cmocka_unit_test_setup_teardown(again, begin, end),
        cmocka_unit_test_setup_teardown(a_child_that_was_ended, begin, end),
        cmocka_unit_test_setup_teardown(a_child_that_failed, begin, end),
        cmocka_unit_test_setup_teardown(what_is_found, begin, end),
        cmocka_unit_test_setup_teardown(no_room, begin, end),
        cmocka_unit_test_setup_teardown(the_child, begin, end),
        cmocka_unit_test_setup_teardown(an_orphan, begin, end),
        cmocka_unit_test_setup_teardown(settled, begin, end),
        cmocka_unit_test_setup_teardown(the_last_look, begin, end),
        cmocka_unit_test_setup_teardown(nothing_to_look_into, begin, end),
        cmocka_unit_test_setup_teardown(too_slow, begin, end),
        cmocka_unit_test_setup_teardown(too_stubborn, begin, end),
        cmocka_unit_test_setup_teardown(interrupted, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
