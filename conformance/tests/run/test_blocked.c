/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases that an instrument blocks, and the finding to which they point. */
#include "record_rig.h"

#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "run/blocked.h"

static struct iw_deviation deviations[RECORD_ENTRIES];
static char unanswered[] = "unanswered";

static int end(void **state)
{
    for (size_t i = 0; i < record.count; i++) {
        free(entries[i].result.blocked);
        free(entries[i].result.reason);
    }
    return record_end(state);
}

static void fails(const char *rule)
{
    size_t i = record.count++;
    deviations[i] = (struct iw_deviation){.verdict = IW_VERDICT_FAIL,
                                          .rule = iw_rule_find(rule),
                                          .how = unanswered,
                                          .connection = -1};
    entries[i] = (struct iw_entry){
        .done = true,
        .result = {.verdict = IW_VERDICT_FAIL, .deviations = &deviations[i], .n_deviations = 1}};
}

static void lacks(const char *instrument)
{
    struct iw_entry *e = &entries[record.count++];
    *e = (struct iw_entry){.done = true, .result = {.verdict = IW_VERDICT_INCONCLUSIVE}};
    e->result.blocked = iw_text_copy(instrument);
    e->result.reason = iw_text_copy("blocked: the target does not do that");
}

static void resolve(void)
{
    iw_findings_build(&record.findings, &record);
    iw_blocked_resolve(&record);
}

static void points_to(size_t entry, unsigned number, const char *reason)
{
    assert_int_equal(entries[entry].result.blocked_by, number);
    assert_string_equal(entries[entry].result.reason, reason);
}

static void the_finding_about_it_blocks(void **state)
{
    (void)state;
    lacks("empty-read");
    fails("MPA-4.4-11");
    fails("RDMAP-5.2.1-15");
    lacks("empty-read");
    resolve();
    points_to(0, 2, "blocked by finding 2: the target does not do that");
    points_to(3, 2, "blocked by finding 2: the target does not do that");
    assert_int_equal(iw_blocked_count(&record, 1), 0);
    assert_int_equal(iw_blocked_count(&record, 2), 2);
    assert_false(iw_blocked_repeats(&record, &entries[0]));
    assert_false(iw_blocked_repeats(&record, &entries[1]));
    assert_true(iw_blocked_repeats(&record, &entries[3]));
}

/* Who answers no Read answers no empty one; not the other way round. */
static void what_fails_first_blocks_the_rest(void **state)
{
    (void)state;
    fails("RDMAP-5.2.1-12");
    lacks("empty-read");
    lacks("empty-read-of-buffer");
    lacks("echo");
    resolve();
    points_to(1, 1, "blocked by finding 1: the target does not do that");
    points_to(2, 1, "blocked by finding 1: the target does not do that");
    points_to(3, 0, "blocked: the target does not do that");
    assert_int_equal(iw_blocked_count(&record, 1), 2);
    assert_int_equal(iw_blocked_count(&record, 0), 1);
}

static void no_case_was_about_it(void **state)
{
    (void)state;
    fails("RDMAP-5.2.1-16");
    lacks("read");
    lacks("no-such-instrument");
    resolve();
    points_to(1, 0, "blocked: the target does not do that");
    points_to(2, 0, "blocked: the target does not do that");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_finding_about_it_blocks, record_begin, end),
        cmocka_unit_test_setup_teardown(what_fails_first_blocks_the_rest, record_begin, end),
        cmocka_unit_test_setup_teardown(no_case_was_about_it, record_begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
