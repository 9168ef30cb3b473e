/* SPDX-License-Identifier: BSD-3-Clause */
/* Which deviations are one finding, what it accuses, and which case shows it. */
#include "record_rig.h"

#include <stdlib.h>
#include <string.h>

static struct iw_deviation deviations[RECORD_ENTRIES][2];

static struct iw_deviation by_case(const char *rule, char *how, char *fault)
{
    return (struct iw_deviation){.verdict = iw_rule_verdict(iw_rule_find(rule)),
                                 .rule = iw_rule_find(rule),
                                 .how = how,
                                 .fault = fault,
                                 .connection = -1};
}

static struct iw_deviation on_wire(const char *rule, char *check)
{
    struct iw_deviation d = by_case(rule, check, NULL);
    d.wire = true;
    return d;
}

/* Adds a case that is done, with a capture of `frames`, and one deviation. */
static void add(struct iw_deviation d, uint64_t frames)
{
    size_t i = record.count++;
    deviations[i][0] = d;
    entries[i] = (struct iw_entry){.done = true,
                                   .result = {.verdict = d.verdict,
                                              .deviations = deviations[i],
                                              .n_deviations = 1,
                                              .frames = frames}};
}

static void build(size_t findings)
{
    iw_findings_build(&record.findings, &record);
    assert_int_equal(record.findings.count, findings);
}

static void is(size_t place, const char *rule, enum iw_verdict verdict, size_t cases,
               size_t exhibit)
{
    const struct iw_finding *f = &record.findings.list[place];
    assert_string_equal(f->rule->id, rule);
    assert_int_equal(f->verdict, verdict);
    assert_int_equal(f->n_cases, cases);
    assert_int_equal(f->exhibit, exhibit);
}

static void nothing_wrong(void **state)
{
    (void)state;
    entries[record.count++].done = true;
    build(0);
}

static void one_check_on_the_wire_is_one_finding(void **state)
{
    (void)state;
    add(on_wire("MPA-4.4-11", "mpa-crc"), 9);
    add(on_wire("DDP-4.3-08", "ddp-msn"), 7);
    add(on_wire("MPA-4.4-11", "mpa-crc"), 6);
    add(on_wire("MPA-4.4-11", "mpa-crc"), 6);
    build(2);
    is(0, "MPA-4.4-11", IW_VERDICT_FAIL, 3, 2);
    is(1, "DDP-4.3-08", IW_VERDICT_FAIL, 1, 1);
    assert_true(iw_finding_has(&record.findings.list[0], 0));
    assert_false(iw_finding_has(&record.findings.list[0], 1));
    assert_true(iw_finding_has(&record.findings.list[0], 3));
    assert_ptr_equal(iw_finding_deviation(&record.findings.list[0], &record), deviations[2]);
}

/* DV is one field, whichever segment has it; the opcode and what goes on constantly are not. */
static void one_field_of_both_segments_is_one_finding(void **state)
{
    (void)state;
    add(on_wire("DDP-4.1-11", "ddp-version-tagged"), 9);
    add(on_wire("DDP-4.1-11", "ddp-version-untagged"), 7);
    add(on_wire("DDP-4.2-04", "ddp-constant-tagged"), 7);
    add(on_wire("DDP-4.3-04", "ddp-constant-untagged"), 7);
    build(3);
    is(0, "DDP-4.1-11", IW_VERDICT_FAIL, 2, 1);
}

/* A case that waits for the end of a message, and the observer, which sees the next one begin. */
static void messages_without_an_end_are_one_finding(void **state)
{
    (void)state;
    add(on_wire("DDP-4.1-03", "ddp-last"), 9);
    add(by_case("DDP-4.1-03", "unfinished", NULL), 7);
    add(by_case("DDP-4.1-03", "another answer", NULL), 7);
    add(on_wire("DDP-6.2.1-01", "ddp-fin-open"), 7);
    build(3);
    is(0, "DDP-4.1-03", IW_VERDICT_FAIL, 2, 1);
}

/* A case that knows which segment is at fault, and the observer, which sees it by itself. */
static void headers_of_another_segment_are_one_finding(void **state)
{
    (void)state;
    add(by_case("DDP-7.1-10", "another segment", NULL), 7);
    add(by_case("DDP-7.1-10", "another segment", NULL), 8);
    add(on_wire("RDMAP-4.8-11", "rdmap-terminate-segment"), 9);
    add(by_case("DDP-7.1-10", "missed", "1/1/00"), 7);
    build(2);
    is(0, "RDMAP-4.8-11", IW_VERDICT_FAIL, 3, 0);
    is(1, "DDP-7.1-10", IW_VERDICT_FAIL, 1, 3);
}

static void another_sink_is_one_finding(void **state)
{
    (void)state;
    add(on_wire("RDMAP-4.4-02", "rdmap-response-stag"), 7);
    add(by_case("RDMAP-4.4-02", "other STag", NULL), 8);
    add(on_wire("RDMAP-5.2.1-12", "rdmap-response-to"), 7);
    add(by_case("RDMAP-5.2.1-12", "other TO", NULL), 8);
    build(2);
    is(0, "RDMAP-4.4-02", IW_VERDICT_FAIL, 2, 0);
    is(1, "RDMAP-5.2.1-12", IW_VERDICT_FAIL, 2, 2);
}

static void an_ord_above_the_ird_is_one_finding(void **state)
{
    (void)state;
    add(on_wire("EMPA-9.1-02", "mpa-ord-reply"), 7);
    add(by_case("EMPA-9.1-02", "ORD above IRD", NULL), 8);
    build(1);
    is(0, "EMPA-9.1-02", IW_VERDICT_NOTE, 2, 0);
}

/* Where only one kind of case sees it, that case says which rule it is. */
static void a_header_that_only_cases_see(void **state)
{
    (void)state;
    add(by_case("RDMAP-7.1-05", "another segment", NULL), 7);
    add(by_case("RDMAP-7.1-05", "another segment", NULL), 8);
    add(by_case("RDMAP-7.1-04", "another segment", NULL), 7);
    build(1);
    is(0, "RDMAP-7.1-05", IW_VERDICT_FAIL, 3, 0);
}

static void reset(const char *rule, char *expected, uint64_t frames)
{
    struct iw_deviation d = by_case(rule, "closed", NULL);
    d.expected = expected;
    d.actual = "reset";
    add(d, frames);
}

/* Whatever the cases are about that want a connection closed in order, a reset is one thing; the
 * rule is one of those that make it as grave. */
static void resets_in_place_of_a_close_are_one_finding(void **state)
{
    (void)state;
    reset("MPA-7.2-01", "fin", 7);
    reset("MPA-7.2-01", "fin", 8);
    reset("DDP-6.2.1-05", "fin", 9);
    reset("RDMAP-7-03", "terminate 1/1/00", 7);
    build(2);
    is(0, "DDP-6.2.1-05", IW_VERDICT_FAIL, 3, 0);
    is(1, "RDMAP-7-03", IW_VERDICT_FAIL, 1, 3);
}

/* A case that reads M, D and R, and the observer. */
static void headers_of_terminates_are_one_finding(void **state)
{
    (void)state;
    add(on_wire("RDMAP-4.8-05", "rdmap-terminate-headers"), 9);
    add(by_case("RDMAP-4.8-05", "headers", NULL), 7);
    add(by_case("RDMAP-4.8-14", "headers", NULL), 9);
    add(by_case("RDMAP-4.8-05", "another Terminate", NULL), 7);
    build(2);
    is(0, "RDMAP-4.8-05", IW_VERDICT_NOTE, 3, 1);
}

/* Two rules of one check (ddp-stag), and most cases accuse the second. */
static void rules_of_one_check_are_one_finding(void **state)
{
    (void)state;
    add(by_case("DDP-8.3.1-07", "missed", "1/1/00"), 5);
    add(by_case("DDP-7.1-10", "missed", "1/1/00"), 5);
    add(by_case("DDP-7.1-10", "missed", "1/1/00"), 8);
    build(1);
    is(0, "DDP-7.1-10", IW_VERDICT_FAIL, 3, 0);
}

static void another_answer_is_another_finding(void **state)
{
    (void)state;
    add(by_case("DDP-7.1-10", "missed", "1/1/00"), 5);
    add(by_case("DDP-7.1-10", "closed", "1/1/00"), 5);
    add(on_wire("DDP-7.1-10", "missed"), 5);
    build(3);
}

/* It reports an error where there is none: whatever the cases ask, the rule of that error that most
 * of them name is broken. */
static void a_refusal_is_one_finding(void **state)
{
    static const struct iw_rule *named[3];
    static struct iw_case cases[2];
    named[0] = iw_rule_find("MPA-A.4-01");
    named[1] = iw_rule_find("DDP-7.1-13");
    named[2] = iw_rule_find("DDP-5.3-04"); /* a sender's */
    (void)state;
    add(by_case("DDP-5.2-05", "refused", "1/1/01"), 5);
    add(by_case("MPA-A.4-01", "refused", "1/1/01"), 5);
    add(by_case("MPA-A.4-01", "refused", "1/1/00"), 5);
    for (size_t i = 0; i < 2; i++) {
        cases[i] = (struct iw_case){.id = (char[]){"x"}, .rules = named, .n_rules = 3};
        entries[i].c = &cases[i];
    }
    build(2);
    is(0, "DDP-7.1-13", IW_VERDICT_FAIL, 2, 0);
    is(1, "MPA-A.4-01", IW_VERDICT_FAIL, 1, 2);
}

/* Who refuses what is right never gets to the error that a case is about. */
static void another_terminate_follows_from_a_refusal(void **state)
{
    (void)state;
    struct iw_deviation late = by_case("DDP-7.1-12", "another Terminate", "1/1/01");
    late.came = (char[]){"2/0/05"};
    add(late, 5);
    add(by_case("DDP-5.2-05", "refused", "2/0/05"), 5);
    late.came = (char[]){"1/1/00"};
    add(late, 5);
    build(2);
    is(0, "DDP-5.2-05", IW_VERDICT_FAIL, 2, 1);
    is(1, "DDP-7.1-12", IW_VERDICT_FAIL, 1, 2);
}

/* Nor does it go on where a case waits for something else, whatever the case calls that. */
static void what_a_refusal_keeps_from_happening_follows_from_it(void **state)
{
    (void)state;
    struct iw_deviation waits = by_case("RDMAP-4.1-10", "no completion", NULL);
    waits.came = (char[]){"0/2/06"};
    add(waits, 5);
    add(by_case("RDMAP-7.2-02", "refused", "0/2/06"), 5);
    waits.came = (char[]){"0/2/05"};
    add(waits, 5);
    build(2);
    is(0, "RDMAP-7.2-02", IW_VERDICT_FAIL, 2, 1);
    is(1, "RDMAP-4.1-10", IW_VERDICT_FAIL, 1, 2);
}

/* Of a refusal the rule of the error counts only where as many cases are about it. */
static void a_refusal_is_of_what_most_cases_accuse(void **state)
{
    static const struct iw_rule *named[1];
    static struct iw_case about;
    (void)state;
    named[0] = iw_rule_find("DDP-7.1-13");
    about = (struct iw_case){.id = (char[]){"x"}, .rules = named, .n_rules = 1};
    for (size_t i = 0; i < 3; i++)
        add(by_case("DDP-5.2-11", "refused", "1/1/01"), 5);
    entries[0].c = &about;
    build(1);
    is(0, "DDP-5.2-11", IW_VERDICT_FAIL, 3, 0);
}

/* Both rules are about the error; those that are about one of them and are not refused speak for
 * it.
 */
static void a_refusal_is_of_what_is_refused_most(void **state)
{
    static const struct iw_rule *both[3], *one[1];
    static struct iw_case refused, taken;
    (void)state;
    both[0] = iw_rule_find("DDP-5.2-05");
    both[1] = one[0] = iw_rule_find("RDMAP-5.2.1-16");
    both[2] = iw_rule_find("RDMAP-5.3-11");
    refused = (struct iw_case){.id = (char[]){"x"}, .rules = both, .n_rules = 3};
    taken = (struct iw_case){.id = (char[]){"y"}, .rules = one, .n_rules = 1};
    for (size_t i = 0; i < 4; i++) {
        add(by_case("DDP-5.2-05", "refused", "0/2/ff"), 5);
        entries[i].c = i < 2 ? &refused : &taken;
        if (i >= 2)
            entries[i].result =
                (struct iw_result){.verdict = i == 2 ? IW_VERDICT_PASS : IW_VERDICT_SKIP};
    }
    build(1);
    is(0, "RDMAP-5.3-11", IW_VERDICT_FAIL, 2, 0);
}

/* Who does not place what is valid shows that in every case that compares memory. */
static void misplaced_octets_follow_from_placing_wrongly(void **state)
{
    (void)state;
    add(by_case("RDMAP-5.3-05", "misplaced", NULL), 5);
    add(by_case("DDP-5.2-05", "misplaced", NULL), 5);
    add(by_case("DDP-5.2-05", "unanswered", NULL), 5);
    build(2);
    is(0, "DDP-5.2-05", IW_VERDICT_FAIL, 2, 1);
    is(1, "DDP-5.2-05", IW_VERDICT_FAIL, 1, 2);
}

/* Start-up frames that are in order are answered by closing: one finding, of what is refused most,
 * and so is a connection after the case that is. */
static void closing_at_startup_is_one_finding(void **state)
{
    static const struct iw_rule *named[2], *one[1];
    static struct iw_case refused, taken;
    (void)state;
    named[0] = iw_rule_find("MPA-7.1.1-15");
    named[1] = iw_rule_find("EMPA-6-07");
    one[0] = named[0];
    refused = (struct iw_case){.id = (char[]){"x"}, .rules = named, .n_rules = 2};
    taken = (struct iw_case){.id = (char[]){"y"}, .rules = one, .n_rules = 1};
    struct iw_deviation gone = by_case("MPA-7.1.1-21", "gone", NULL);
    gone.came = (char[]){"close"};
    add(gone, 5);
    add(by_case("MPA-7.1.1-15", "refused", "close"), 5);
    add(by_case("MPA-7.1.1-03", "refused", "close"), 6);
    add(by_case("MPA-7.1.1-20", "refused", NULL), 5);
    entries[3].c = &taken;
    entries[1].c = entries[2].c = &refused;
    build(2);
    is(0, "EMPA-6-07", IW_VERDICT_FAIL, 3, 1);
    is(1, "MPA-7.1.1-20", IW_VERDICT_FAIL, 1, 3);
}

/* ... and where no Request was taken before the cases were played, what is due is a Reply, whatever
 * each case is about. A case shows it that is about that. */
static void closing_on_any_request_leaves_it_without_a_reply(void **state)
{
    static const struct iw_rule *odd[1], *plain[1];
    static struct iw_case after, about;
    struct iw_facts facts = {0};
    (void)state;
    odd[0] = iw_rule_find("MPA-7.1.2-23");
    plain[0] = iw_rule_find("MPA-7.1.2-08");
    after =
        (struct iw_case){.id = (char[]){"x"}, .role = IW_MPA_RESPONDER, .rules = odd, .n_rules = 1};
    about = (struct iw_case){
        .id = (char[]){"y"}, .role = IW_MPA_RESPONDER, .rules = plain, .n_rules = 1};
    struct iw_deviation gone = by_case("MPA-7.1.2-23", "gone", NULL);
    gone.came = (char[]){"close"};
    add(gone, 4);
    entries[0].c = &after;
    build(1);
    is(0, "MPA-7.1.2-23", IW_VERDICT_FAIL, 1, 0);
    iw_findings_free(&record.findings);
    iw_facts_add(&facts, IW_FACT_START_UP, "accepts no Request", NULL);
    record.facts = &facts;
    build(1);
    is(0, "MPA-7.1.2-08", IW_VERDICT_FAIL, 1, 0);
    iw_findings_free(&record.findings);
    add(by_case("MPA-7.1.2-23", "refused", "close"), 4);
    add(by_case("MPA-7.1.2-08", "refused", "close"), 7);
    entries[1].c = &after;
    entries[2].c = &about;
    build(1);
    is(0, "MPA-7.1.2-08", IW_VERDICT_FAIL, 3, 2);
    iw_facts_free(&facts);
}

/* One case has shown that the same frame is taken but for one thing. */
static void a_frame_that_is_taken_shows_why_another_is_refused(void **state)
{
    (void)state;
    add(by_case("MPA-7.1.1-02", "refused", "close"), 5);
    add(by_case("MPA-7.1.1-02", "refused", "close"), 5);
    add(by_case("MPA-7.1.2-08", "refused", "close"), 5);
    deviations[2][0].came = (char[]){"takes"};
    build(1);
    is(0, "MPA-7.1.2-08", IW_VERDICT_FAIL, 3, 0);
}

static void completions_follow_from_delivering_twice(void **state)
{
    (void)state;
    add(by_case("EXT-8.2-02", "completed", NULL), 5);
    add(by_case("MPA-8-02", "missed", NULL), 5);
    add(by_case("DDP-5.3-07", "delivered twice", NULL), 5);
    add(by_case("RDMAP-5.3-05", "misplaced", NULL), 5);
    build(2);
    is(0, "DDP-5.3-07", IW_VERDICT_FAIL, 3, 2);
    is(1, "MPA-8-02", IW_VERDICT_FAIL, 1, 1);
}

static void misplaced_octets_alone_accuse_what_the_case_is_about(void **state)
{
    (void)state;
    add(by_case("MPA-4.4-17", "misplaced", NULL), 5);
    add(by_case("RDMAP-5.3-05", "misplaced", NULL), 5);
    build(2);
}

/* The form of a Terminate (RDMAP-7.1-03) that is due for an invalid STag, and does not come. */
static void what_is_due_after_an_error_follows_from_its_detection(void **state)
{
    (void)state;
    add(by_case("RDMAP-7.1-03", "missed", "1/1/00"), 2);
    add(by_case("RDMAP-7.1-03", "missed", "1/1/00"), 2);
    add(by_case("DDP-7.1-10", "missed", "1/1/00"), 5);
    build(1);
    is(0, "DDP-7.1-10", IW_VERDICT_FAIL, 3, 2);
    assert_int_equal(record.findings.list[0].cases[0], 0);
    assert_int_equal(record.findings.list[0].cases[2], 2);
}

/* No finding explains it: neither one about another error, nor one with another answer. */
/* Some cases say with which code the error is reported, others take any; what it reports in place
 * of that is the next error that the octets have. */
static void an_error_is_missed_whatever_comes_of_it(void **state)
{
    (void)state;
    add(by_case("MPA-4.4-17", "missed", NULL), 4);
    add(by_case("MPA-8-02", "missed", "2/0/02"), 6);
    add(by_case("MPA-8-02", "another Terminate", "2/0/02"), 5);
    deviations[2][0].came = (char[]){"1/1/00"};
    build(1);
    is(0, "MPA-8-02", IW_VERDICT_FAIL, 3, 1);
    add(by_case("DDP-7.1-10", "another Terminate", "1/1/00"), 5);
    deviations[3][0].came = (char[]){"1/1/01"};
    iw_findings_free(&record.findings);
    build(2);
}

/* ddp-mo serves RDMAP-7.2-15, too, but a check of its own has that first. */
static void any_error_is_that_of_the_check_with_the_rule(void **state)
{
    (void)state;
    add(by_case("DDP-7.1-07", "missed", "1/2/04"), 4);
    add(by_case("RDMAP-7.2-15", "missed", NULL), 4);
    build(2);
    iw_findings_free(&record.findings);
    add(by_case("RDMAP-7.2-15", "missed", "1/2/04"), 4);
    build(2);
    is(0, "DDP-7.1-07", IW_VERDICT_FAIL, 2, 0);
}

static void a_kind_of_request_without_an_answer_is_one_finding(void **state)
{
    (void)state;
    add(by_case("EXT-5.2.1-02", "unanswered", "atomic"), 4);
    add(by_case("EXT-5.2.1-19", "unanswered", "atomic"), 5);
    add(by_case("EXT-5.2.1-19", "unanswered", "atomic"), 5);
    add(by_case("RDMAP-5.2.1-12", "unanswered", NULL), 5);
    build(2);
    is(0, "EXT-5.2.1-19", IW_VERDICT_FAIL, 3, 0);
}

static void who_leaves_an_answer_out_is_early_with_the_next(void **state)
{
    (void)state;
    add(on_wire("EXT-5.2.2-09", "rdmap-atomic-response-order"), 4);
    add(by_case("EXT-5.2.1-19", "unanswered", "atomic"), 5);
    build(1);
    is(0, "EXT-5.2.1-19", IW_VERDICT_FAIL, 2, 1);
    record.count = 1;
    iw_findings_free(&record.findings);
    build(1);
    is(0, "EXT-5.2.2-09", IW_VERDICT_FAIL, 1, 0);
}

static void values_follow_from_an_atomic_that_was_not_done(void **state)
{
    (void)state;
    add(by_case("EXT-7-05", "another value", NULL), 4);
    add(by_case("EXT-5.1.2-01", "undone", NULL), 5);
    add(by_case("EXT-5.1.1-06", "undone", NULL), 5);
    add(by_case("EXT-5.1.2-01", "undone", NULL), 5);
    build(1);
    is(0, "EXT-5.1.2-01", IW_VERDICT_FAIL, 4, 1);
    record.count = 1;
    iw_findings_free(&record.findings);
    build(1);
    is(0, "EXT-7-05", IW_VERDICT_NOTE, 1, 0);
}

/* What is read back follows from what was not placed; where all is placed, it is an answer of its
 * own, as any other. */
static void who_misplaces_reads_back_other_octets(void **state)
{
    (void)state;
    add(by_case("MPA-A.4-01", "other payload", NULL), 4);
    add(by_case("EXT-5.4-04", "another value", NULL), 4);
    add(by_case("DDP-5.2-05", "misplaced", NULL), 5);
    add(by_case("MPA-A.4-01", "another answer", NULL), 4);
    build(2);
    iw_findings_free(&record.findings);
    record.count = 3;
    build(1);
    is(0, "DDP-5.2-05", IW_VERDICT_FAIL, 3, 2);
    iw_findings_free(&record.findings);
    record.count = 0;
    add(by_case("RDMAP-5.2.1-12", "other payload", NULL), 4);
    add(by_case("RDMAP-5.2.1-12", "another answer", NULL), 5);
    build(1);
}

static void who_sends_no_rtr_sends_none_after_odd_replies(void **state)
{
    (void)state;
    add(by_case("MPA-A.4-01", "no RTR", NULL), 4);
    add(by_case("EMPA-6-04", "no RTR", NULL), 4);
    add(on_wire("EMPA-9.2-10", "mpa-rtr-first"), 4);
    build(3);
    iw_findings_free(&record.findings);
    add(by_case("EMPA-9.2-10", "no RTR", NULL), 5);
    build(2);
    is(0, "EMPA-9.2-10", IW_VERDICT_FAIL, 3, 3);
}

static void after_a_response_too_many_each_answers_another_request(void **state)
{
    (void)state;
    add(on_wire("RDMAP-5.2.1-12", "rdmap-response-size"), 4);
    add(on_wire("RDMAP-4.4-02", "rdmap-response-stag"), 4);
    add(on_wire("EXT-5.2.2-09", "rdmap-atomic-response-order"), 4);
    build(3);
    iw_findings_free(&record.findings);
    add(on_wire("RDMAP-5.2-01", "rdmap-response-unsolicited"), 5);
    build(1);
    is(0, "RDMAP-5.2-01", IW_VERDICT_FAIL, 4, 3);
}

/* Whatever the order of the cases: two report another error in the place of one, and no check joins
 * the first's rule with that. */
static void what_no_check_joins_comes_last(void **state)
{
    (void)state;
    add(by_case("RDMAP-7.1-05", "another Terminate", "0/1/09"), 4);
    add(by_case("RDMAP-7.2-04", "another Terminate", "0/1/09"), 5);
    deviations[0][0].came = deviations[1][0].came = (char[]){"0/2/09"};
    build(1);
    is(0, "RDMAP-7.2-04", IW_VERDICT_FAIL, 2, 1);
}

static void what_nothing_explains_stands_for_itself(void **state)
{
    (void)state;
    add(by_case("RDMAP-7.1-03", "missed", "1/1/00"), 2);
    add(by_case("DDP-7.1-13", "missed", "1/1/01"), 5);
    add(by_case("DDP-7.1-10", "closed", "1/1/00"), 5);
    build(3);
    is(0, "RDMAP-7.1-03", IW_VERDICT_FAIL, 1, 0);
    is(1, "DDP-7.1-13", IW_VERDICT_FAIL, 1, 1);
    is(2, "DDP-7.1-10", IW_VERDICT_FAIL, 1, 2);
}

static void the_gravest_comes_first(void **state)
{
    (void)state;
    add(by_case("MPA-5.1-03", "otherwise", NULL), 5); /* a SHOULD */
    add(by_case("MPA-5.1-03", "otherwise", NULL), 5);
    add(on_wire("MPA-4.4-11", "mpa-crc"), 5);
    build(2);
    is(0, "MPA-4.4-11", IW_VERDICT_FAIL, 1, 2);
    is(1, "MPA-5.1-03", IW_VERDICT_NOTE, 2, 0);
}

static void a_case_counts_once_in_a_finding(void **state)
{
    (void)state;
    add(on_wire("MPA-4.4-11", "mpa-crc"), 5);
    deviations[0][1] = on_wire("MPA-4.4-11", "mpa-crc");
    entries[0].result.n_deviations = 2;
    build(1);
    is(0, "MPA-4.4-11", IW_VERDICT_FAIL, 1, 0);
}

static void cases_that_are_not_done_do_not_count(void **state)
{
    (void)state;
    add(on_wire("MPA-4.4-11", "mpa-crc"), 5);
    entries[0].done = false;
    build(0);
}

static void a_finding_is_known_if_all_its_cases_are(void **state)
{
    (void)state;
    add(on_wire("MPA-4.4-11", "mpa-crc"), 5);
    add(on_wire("MPA-4.4-11", "mpa-crc"), 5);
    add(on_wire("DDP-4.3-08", "ddp-msn"), 5);
    entries[0].pinned = entries[2].pinned = IW_PINNED_EXPECTED;
    entries[1].pinned = IW_PINNED_NEW;
    build(2);
    assert_false(record.findings.list[0].known);
    assert_true(record.findings.list[1].known);
}

/* A case's rule is that of its first finding. */
static void a_case_accuses_what_its_finding_accuses(void **state)
{
    (void)state;
    add(by_case("RDMAP-7.1-03", "missed", "1/1/00"), 2);
    add(by_case("DDP-7.1-10", "missed", "1/1/00"), 5);
    entries[0].result.rule = iw_rule_find("RDMAP-7.1-03");
    iw_record_conclude(&record);
    assert_string_equal(entries[0].result.rule->id, "DDP-7.1-10");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, record_begin, record_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_wrong),
        TEST(one_check_on_the_wire_is_one_finding),
        TEST(one_field_of_both_segments_is_one_finding),
        TEST(messages_without_an_end_are_one_finding),
        TEST(headers_of_another_segment_are_one_finding),
        TEST(another_sink_is_one_finding),
        TEST(an_ord_above_the_ird_is_one_finding),
        TEST(a_header_that_only_cases_see),
        TEST(resets_in_place_of_a_close_are_one_finding),
        TEST(headers_of_terminates_are_one_finding),
        TEST(rules_of_one_check_are_one_finding),
        TEST(a_refusal_is_one_finding),
        TEST(another_terminate_follows_from_a_refusal),
        TEST(what_a_refusal_keeps_from_happening_follows_from_it),
        TEST(a_refusal_is_of_what_most_cases_accuse),
        TEST(a_refusal_is_of_what_is_refused_most),
        TEST(misplaced_octets_follow_from_placing_wrongly),
        TEST(closing_at_startup_is_one_finding),
        TEST(closing_on_any_request_leaves_it_without_a_reply),
        TEST(a_frame_that_is_taken_shows_why_another_is_refused),
        TEST(completions_follow_from_delivering_twice),
        TEST(misplaced_octets_alone_accuse_what_the_case_is_about),
        TEST(another_answer_is_another_finding),
        TEST(what_is_due_after_an_error_follows_from_its_detection),
        TEST(an_error_is_missed_whatever_comes_of_it),
        TEST(any_error_is_that_of_the_check_with_the_rule),
        TEST(a_kind_of_request_without_an_answer_is_one_finding),
        TEST(who_leaves_an_answer_out_is_early_with_the_next),
        TEST(values_follow_from_an_atomic_that_was_not_done),
        TEST(who_misplaces_reads_back_other_octets),
        TEST(who_sends_no_rtr_sends_none_after_odd_replies),
        TEST(after_a_response_too_many_each_answers_another_request),
        TEST(what_no_check_joins_comes_last),
        TEST(what_nothing_explains_stands_for_itself),
        TEST(the_gravest_comes_first),
        TEST(a_case_counts_once_in_a_finding),
        TEST(cases_that_are_not_done_do_not_count),
        TEST(a_finding_is_known_if_all_its_cases_are),
        TEST(a_case_accuses_what_its_finding_accuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
