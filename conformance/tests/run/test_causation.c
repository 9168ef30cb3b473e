/* SPDX-License-Identifier: BSD-3-Clause */
/* What follows from what, and by which sentence; and the order in which that is looked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "run/causation.h"

/* In short: the observer found it by the check `how`, or a case did. */
struct brief {
    bool wire;
    const char *rule, *how, *fault, *came;
};

static struct iw_deviation full(const struct brief *b)
{
    const struct iw_rule *rule = iw_rule_find(b->rule);
    assert_non_null(rule);
    return (struct iw_deviation){.verdict = IW_VERDICT_FAIL,
                                 .rule = rule,
                                 .wire = b->wire,
                                 .how = (char *)b->how,
                                 .fault = (char *)b->fault,
                                 .came = (char *)b->came};
}

/* One pair for each row of the table, and where its sentence stands. */
static const struct {
    struct brief effect, cause;
    const char *sentence;
} rows[] = {
    {{false, "RDMAP-7.1-03", "missed", "1/1/00", NULL},
     {false, "DDP-7.1-10", "missed", "1/1/00", NULL},
     "RFC 5041 §7.1: \"If the DDP layer detects"},
    {{false, "MPA-A.4-01", "another Terminate", "1/1/00", "1/2/01"},
     {false, "DDP-4.1-10", "refused", "1/2/01", NULL},
     "RFC 5040 §5.4: \"After sending a Terminate"},
    {{false, "MPA-7.1.1-21", "gone", NULL, "close"},
     {false, "MPA-7.1.2-08", "refused", "close", NULL},
     "RFC 5040 §5.4: \"After sending a Terminate"},
    {{false, "DDP-7.1-10", "another Terminate", "1/1/00", "1/1/01"},
     {false, "DDP-7.1-10", "missed", "1/1/00", NULL},
     "RFC 5041 §7.1: \"If the DDP layer detects"},
    {{false, "RDMAP-5.3-05", "misplaced", NULL, NULL},
     {false, "DDP-5.2-05", "misplaced", NULL, NULL},
     "RFC 5041 §5.2: \"At the Data Sink"},
    {{false, "RDMAP-5.2.1-12", "other payload", NULL, NULL},
     {false, "DDP-5.2-05", "misplaced", NULL, NULL},
     "RFC 5041 §5.2: \"At the Data Sink"},
    {{false, "EXT-5.4-04", "another value", NULL, NULL},
     {false, "DDP-5.2-05", "misplaced", NULL, NULL},
     "RFC 5041 §5.2: \"At the Data Sink"},
    {{false, "EXT-5.4-04", "another value", NULL, NULL},
     {false, "EXT-5.1.1-08", "wrong value", NULL, NULL},
     "RFC 7306 §5.1.1: \"requests the Responder"},
    {{false, "EMPA-9.1-02", "ORD above IRD", NULL, NULL},
     {false, "EMPA-9-01", "exchanged", NULL, NULL},
     "RFC 6581 §9: \"IRD: Inbound"},
    {{true, "EMPA-9.1-12", "mpa-ird-3fff", NULL, NULL},
     {false, "EMPA-9-01", "exchanged", NULL, NULL},
     "RFC 6581 §9: \"IRD: Inbound"},
    {{true, "MPA-7.1.1-06", "mpa-marker-missing", NULL, NULL},
     {true, "MPA-4.3-02", "mpa-marker-place", NULL, NULL},
     "RFC 5044 §4.3: \"the MPA Markers MUST be inserted immediately preceding"},
    {{true, "EXT-5.2.2-09", "rdmap-atomic-response-order", NULL, NULL},
     {false, "EXT-5.2.1-19", "unanswered", "atomic", NULL},
     "RFC 7306 §5.2.2: \"the Responder"},
    {{false, "EMPA-6-04", "no RTR", NULL, NULL},
     {false, "EMPA-9.2-10", "no RTR", NULL, NULL},
     "RFC 6581 §9.2: \"Upon receiving"},
    {{true, "EXT-5.2.2-09", "rdmap-atomic-response-order", NULL, NULL},
     {true, "RDMAP-5.2.2-04", "rdmap-response-unsolicited", NULL, NULL},
     "RFC 7306 §5.2.2: \"the Responder"},
    {{true, "RDMAP-4.4-02", "rdmap-response-stag", NULL, NULL},
     {true, "RDMAP-5.2.2-04", "rdmap-response-unsolicited", NULL, NULL},
     "RFC 5040 §5.2.2: \"The Data Source"},
    {{true, "RDMAP-5.4-08", "rdmap-terminate-once", NULL, NULL},
     {true, "RDMAP-5.4-08", "rdmap-terminate-last", NULL, NULL},
     "RFC 5040 §5.4: \"After sending a Terminate"},
    {{false, "EXT-8.2-02", "completed", NULL, NULL},
     {false, "DDP-5.3-07", "delivered twice", NULL, NULL},
     "RFC 5041 §5.3: \"MUST Deliver"},
    {{false, "RDMAP-5.3-05", "misplaced", NULL, NULL},
     {false, "DDP-5.3-07", "delivered twice", NULL, NULL},
     "RFC 5041 §5.3: \"MUST Deliver"},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void each_row_cites_its_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        struct iw_deviation d = full(&rows[i].effect), cause = full(&rows[i].cause);
        const char *sentence = iw_deviation_due_to(&d, &cause);
        assert_non_null(sentence);
        assert_memory_equal(sentence, rows[i].sentence, strlen(rows[i].sentence));
        assert_null(iw_deviation_due_to(&cause, &d));
    }
}

/* Findings are made of causes first. */
static void what_follows_is_looked_at_later(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        struct iw_deviation d = full(&rows[i].effect), cause = full(&rows[i].cause);
        assert_true(iw_deviation_rank(&d) > iw_deviation_rank(&cause));
    }
    struct iw_deviation d = full(&rows[0].effect);
    assert_int_equal(iw_deviation_rank(&d), IW_DEVIATION_LAST_RANK);
}

/* Every link of a row matters: the code, the error, the treatment, the check, the rule. */
static void a_row_is_about_no_more_than_it_says(void **state)
{
    static const struct {
        struct brief effect, cause;
    } others[] = {
        {{false, "RDMAP-7.1-03", "missed", "1/1/00", NULL},
         {false, "DDP-7.1-10", "closed", "1/1/00", NULL}},
        {{false, "RDMAP-7.1-03", "missed", "1/1/00", NULL},
         {false, "DDP-7.1-10", "missed", "1/1/01", NULL}},
        {{false, "MPA-A.4-01", "another Terminate", "1/1/00", "1/2/01"},
         {false, "DDP-4.1-10", "refused", "1/2/02", NULL}},
        {{false, "MPA-A.4-01", "another answer", NULL, NULL},
         {false, "DDP-4.1-10", "refused", "1/2/01", NULL}},
        {{false, "DDP-7.1-10", "another Terminate", "1/1/00", NULL},
         {false, "DDP-7.1-10", "missed", "1/1/00", NULL}},
        {{false, "RDMAP-5.3-05", "misplaced", NULL, NULL},
         {false, "RDMAP-5.3-11", "misplaced", NULL, NULL}},
        {{true, "RDMAP-5.3-05", "misplaced", NULL, NULL},
         {false, "DDP-5.2-05", "misplaced", NULL, NULL}},
        {{true, "EXT-5.2.2-09", "rdmap-atomic-response-order", NULL, NULL},
         {false, "EXT-5.2.1-19", "unanswered", NULL, NULL}},
        {{true, "RDMAP-4.4-02", "rdmap-response-data", NULL, NULL},
         {true, "RDMAP-5.2.2-04", "rdmap-response-unsolicited", NULL, NULL}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct iw_deviation d = full(&others[i].effect), cause = full(&others[i].cause);
        assert_null(iw_deviation_due_to(&d, &cause));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_cites_its_sentence),
        cmocka_unit_test(what_follows_is_looked_at_later),
        cmocka_unit_test(a_row_is_about_no_more_than_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
