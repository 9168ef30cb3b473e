/* SPDX-License-Identifier: BSD-3-Clause */
/* What all Terminates of a target have alike is one finding; one that is not so refutes it. */
#include "record_rig.h"

#include <stdlib.h>
#include <string.h>

static struct iw_deviation deviations[RECORD_ENTRIES];

static void add(struct iw_deviation d, const char *rule)
{
    size_t i = record.count++;
    d.rule = iw_rule_find(rule);
    d.verdict = iw_rule_verdict(d.rule);
    d.connection = -1;
    deviations[i] = d;
    entries[i] = (struct iw_entry){
        .done = true,
        .result = {.verdict = d.verdict, .deviations = &deviations[i], .n_deviations = 1}};
}

/* A Terminate that is another one than the case expects. */
static void another(const char *rule, char *expected, char *came)
{
    add(
        (struct iw_deviation){
            .how = "another Terminate", .fault = "f/f/ff", .expected = expected, .came = came},
        rule);
}

/* What the observer says of one. */
static void seen(const char *rule, char *check, char *actual)
{
    add((struct iw_deviation){.how = check, .wire = true, .actual = actual}, rule);
}

/* A case that has nothing to say against its Terminate. */
static void right(char *observed)
{
    entries[record.count++] = (struct iw_entry){.done = true, .result = {.observed = observed}};
}

static void one_finding(const char *rule, const char *text)
{
    iw_findings_build(&record.findings, &record);
    assert_int_equal(record.findings.count, 1);
    assert_string_equal(record.findings.list[0].rule->id, rule);
    if (text != NULL)
        assert_string_equal(iw_finding_text(&record.findings.list[0], &record), text);
}

static void findings(size_t count)
{
    iw_findings_build(&record.findings, &record);
    assert_int_equal(record.findings.count, count);
}

static void without_codes(void)
{
    another("DDP-7.1-12", "terminate 1/1/01 \"DDP: base or bounds violation\"", "1/1/00");
    another("RDMAP-7.2-11", "terminate 0/1/04 or terminate 0/1/01", "0/1/00");
    another("EMPA-9.1-09", "terminate 2/0/06 \"LLP\" or write len 0", "2/0/00");
    seen("RDMAP-4.8-01", "rdmap-terminate-valid", "0x200 at octet 45 of connection 0");
    right("terminate=1/1/00 M D; placed=false");
}

static void the_same_code_for_every_error(void **state)
{
    (void)state;
    without_codes();
    one_finding("RDMAP-4.8-03", "every Terminate has error code 0, whatever the error");
    assert_int_equal(record.findings.list[0].n_cases, 4);
}

/* A target that knows another code has the errors mixed up that it reports wrongly. */
static void another_code_refutes_it(void **state)
{
    (void)state;
    without_codes();
    right("terminate=0/2/06 M D");
    findings(4);
}

static void octets_refute_it(void **state)
{
    (void)state;
    without_codes();
    right("terminate=0206c0");
    findings(4);
}

static void an_observer_refutes_it(void **state)
{
    (void)state;
    without_codes();
    seen("RDMAP-4.8-01", "rdmap-terminate-valid", "0x20a at octet 45 of connection 0");
    findings(4);
}

/* Errors of one kind have few codes: the target may have taken one error for another. */
static void one_kind_is_not_every_error(void **state)
{
    (void)state;
    another("DDP-7.1-12", "terminate 1/1/01", "1/1/00");
    another("DDP-7.1-14", "terminate 1/1/03", "1/1/00");
    another("DDP-7.1-15", "terminate 1/1/04", "1/1/00");
    right("terminate=1/1/00");
    findings(3);
}

static void other_fields_are_right(void **state)
{
    (void)state;
    without_codes();
    another("DDP-7.1-01", "terminate 1/2/01", "1/1/00");
    findings(2);
}

static void the_same_layer(void **state)
{
    (void)state;
    another("DDP-7.1-12", "terminate 1/1/01", "0/1/01");
    another("MPA-4.4-17", "terminate 2/0/02 or the end of the stream", "0/0/02");
    seen("RDMAP-4.8-01", "rdmap-terminate-valid", "0x201 at octet 45 of connection 0");
    seen("RDMAP-7.1-03", "rdmap-terminate-reason", "0x205 at octet 45 of connection 0");
    one_finding("RDMAP-4.8-03", "every Terminate has layer 0, whatever the error");
}

static void nothing_but_zeros(void **state)
{
    (void)state;
    another("DDP-7.1-12", "terminate 1/1/01", "0/0/00");
    another("MPA-4.4-17", "terminate 2/0/02 or the end of the stream", "0/0/00");
    another("RDMAP-7.2-02", "terminate 0/2/06", "0/0/00");
    seen("RDMAP-4.8-05", "rdmap-terminate-headers", "0xc0 at octet 46 of connection 0");
    one_finding("RDMAP-4.8-03",
                "every Terminate has layer 0, error type 0, error code 0, whatever the error");
}

/* They depend on the layer alone where that is as it should be. */
static void headers_are_another_matter(void **state)
{
    (void)state;
    without_codes();
    seen("RDMAP-4.8-05", "rdmap-terminate-headers", "0xc0 at octet 46 of connection 0");
    findings(2);
}

static void exchange(void)
{
    another("RDMAP-7.2-02", "terminate 0/2/06 or terminate 1/2/* or the end", "2/0/06");
    another("EMPA-9.3-01", "read-response or terminate 2/0/05", "0/2/05");
    seen("RDMAP-4.8-01", "rdmap-terminate-valid", "0x2101 at octet 45 of connection 0");
    seen("RDMAP-4.8-02", "rdmap-terminate-reversed", "0x2060000 at octet 44 of connection 0");
    right("terminate=1/1/00 M D");
    right("terminate=0/1/00 any");
}

static void fields_in_each_others_place(void **state)
{
    (void)state;
    exchange();
    one_finding("RDMAP-4.8-02",
                "layer and error type stand in each other's place in every Terminate");
}

static void one_in_its_place_refutes_it(void **state)
{
    (void)state;
    exchange();
    right("terminate=2/0/02");
    iw_findings_build(&record.findings, &record);
    assert_true(record.findings.count > 1);
}

static void closed(const char *rule, char *fault)
{
    add((struct iw_deviation){.how = "closed", .fault = fault, .actual = "fin"}, rule);
}

static void closings(void)
{
    closed("DDP-7.1-10", "1/1/00");
    closed("DDP-7.1-01", "1/2/01");
    closed("EXT-5.2.1-14", "0/2/06");
}

/* It has detected each of the errors: else it would have gone on. */
static void no_terminate_at_all(void **state)
{
    (void)state;
    closings();
    right("effect=none");
    right("terminate=0/0/00"); /* the target was asked to send it */
    one_finding("RDMAP-7.1-03",
                "the target sends no Terminate: it ends the connection, whatever the error");
    assert_int_equal(record.findings.list[0].verdict, IW_VERDICT_FAIL);
    assert_int_equal(record.findings.list[0].n_cases, 3);
}

static void a_terminate_refutes_that(void **state)
{
    (void)state;
    closings();
    right("terminate=1/1/04 M D");
    findings(3);
}

/* It may report what it takes for an error of its own. */
static void any_terminate_refutes_that(void **state)
{
    (void)state;
    closings();
    right("terminate=0/0/00 any");
    findings(3);
}

static void a_wrong_terminate_refutes_that(void **state)
{
    (void)state;
    closings();
    seen("RDMAP-4.8-05", "rdmap-terminate-headers", "0xc0 at octet 46 of connection 0");
    findings(4);
}

/* Two kinds may be two errors that it treats wrongly. */
static void two_kinds_are_two_errors(void **state)
{
    (void)state;
    closed("DDP-7.1-10", "1/1/00");
    closed("DDP-7.1-15", "1/1/04");
    closed("DDP-7.1-01", "1/2/01");
    findings(3);
}

/* Where a case takes an answer as well, or any code. */
static void it_closes_instead(void **state)
{
    (void)state;
    closings();
    const char *expected[] = {"terminate 0/2/* or terminate 0/0/*", "read-response or terminate"};
    for (size_t i = 0; i < 2; i++)
        add((struct iw_deviation){.how = i == 0 ? "closed" : "refused",
                                  .expected = (char *)expected[i],
                                  .actual = i == 0 ? "fin" : "reset"},
            "EXT-6.3-08");
    one_finding("RDMAP-7.1-03", NULL);
    assert_int_equal(record.findings.list[0].n_cases, 5);
}

/* What it does not notice it does not report. */
static void who_closes_may_miss_another_error(void **state)
{
    (void)state;
    closings();
    add((struct iw_deviation){.how = "missed", .fault = "1/2/04"}, "DDP-7.1-07");
    findings(2);
}

/* Nor is a close part of it where something else is due. */
static void a_close_in_place_of_an_answer(void **state)
{
    (void)state;
    closings();
    add((struct iw_deviation){.how = "refused", .expected = "read-response", .actual = "fin"},
        "RDMAP-5.2.1-12");
    findings(2);
}

/* A word that makes sense in either order proves no reversed one by itself. */
static void words_in_reversed_order(void **state)
{
    (void)state;
    another("RDMAP-5.2.1-12", "terminate 2/0/07 \"LLP\" or the end of the stream", "0/2/07");
    const char *observed[] = {"terminate=1/2/01 M D", "terminate=0/1/00 M D R"};
    for (size_t i = 0; i < 2; i++) {
        seen("RDMAP-4.8-02", "rdmap-terminate-reversed", "0x21010300 at octet 44 of connection 0");
        entries[record.count - 1].result.observed = (char *)observed[i];
    }
    one_finding("RDMAP-4.8-02", NULL);
    assert_int_equal(record.findings.list[0].n_cases, 3);
    assert_int_equal(record.findings.list[0].exhibit, 1);
}

/* The observer looks through it. */
static void reversed_words_excuse_nothing_else(void **state)
{
    (void)state;
    words_in_reversed_order(state);
    iw_findings_free(&record.findings);
    seen("RDMAP-4.8-05", "rdmap-terminate-headers", "0xc0 at octet 46 of connection 0");
    findings(2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, record_begin, record_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_same_code_for_every_error),
        TEST(another_code_refutes_it),
        TEST(octets_refute_it),
        TEST(an_observer_refutes_it),
        TEST(one_kind_is_not_every_error),
        TEST(other_fields_are_right),
        TEST(the_same_layer),
        TEST(nothing_but_zeros),
        TEST(headers_are_another_matter),
        TEST(fields_in_each_others_place),
        TEST(one_in_its_place_refutes_it),
        TEST(words_in_reversed_order),
        TEST(reversed_words_excuse_nothing_else),
        TEST(no_terminate_at_all),
        TEST(a_terminate_refutes_that),
        TEST(any_terminate_refutes_that),
        TEST(a_wrong_terminate_refutes_that),
        TEST(two_kinds_are_two_errors),
        TEST(it_closes_instead),
        TEST(who_closes_may_miss_another_error),
        TEST(a_close_in_place_of_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
