/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases against the project's own agent: they hold, and they notice what they are about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "embedded.h"
#include "play.h"

/* What the cases of a file came to. */
struct outcome {
    enum iw_verdict worst;
    char observed[4096]; /* verdicts and recorded observations, one case a line */
};

static void run_file(const char *name, const char *extra, struct outcome *out)
{
    struct iw_run_options options = play_options;
    struct embedded e;
    struct iw_case *cases;
    char path[512], error[1024] = "";
    size_t n = 0, used = 0;

    if (extra != NULL) /* what a faulty agent withholds is not worth a long wait */
        options.patience = 0.5;
    snprintf(path, sizeof(path), IW_SOURCE_DIR "/conformance/cases/%s.lua", name);
    assert_int_equal(embedded_start(&e, extra), 0);
    iw_case_load(path, &options, &cases, &n, error, sizeof(error));
    assert_string_equal(error, "");
    *out = (struct outcome){.worst = IW_VERDICT_PASS};
    for (size_t i = 0; i < n; i++) {
        struct iw_result r;

        assert_int_equal(iw_script_run_case(&cases[i], &e.target, &options, &r), 0);
        if (r.verdict > out->worst)
            out->worst = r.verdict;
        used +=
            (size_t)snprintf(out->observed + used, sizeof(out->observed) - used, "%s %s %s\n", r.id,
                             iw_verdict_name(r.verdict), r.observed != NULL ? r.observed : "");
        assert_true(used < sizeof(out->observed));
        iw_result_free(&r);
    }
    iw_case_free_all(cases, n);
    embedded_stop(&e);
}

static const struct {
    const char *file, *fault; /* of the agent, that the file's cases notice */
} examples[] = {
    {"ddp/tagged-write-past-end", "--ignore=ddp-to-bounds"},
    {"ddp/untagged-qn", "--ignore=ddp-qn"},
    {"ddp/zero-length-stag", "--overstrict=ddp-zero-tagged"},
    {"empa/reply-echoes-a", "--violate=mpa-rep-a"},
    {"empa/rtr-chosen", "--violate=mpa-rtr-first"},
    {"mpa/crc-bad", "--ignore=mpa-crc"},
    {"mpa/fpdu-split", "--violate=ddp-deliver-once"},
    {"mpa/markers-sent", "--violate=mpa-marker-place"},
    {"mpa/startup-key", "--ignore=mpa-req-key"},
    {"mpa/startup-reply", "--violate=mpa-res-bits"},
    {"mpa/startup-split", "--violate=mpa-rep-key"},
    {"rdmap/read-basic", "--violate=rdmap-response-data"},
    {"rdmap/send-basic", "--violate=ddp-place-exact"},
    {"rdmap/send-invalidate", "--violate=rdmap-invalidate-done"},
    {"rdmap/send-no-buffer", "--ignore=ddp-no-buffer"},
    {"rdmap/target-writes", "--violate=ddp-stag"},
};

enum { EXAMPLES = sizeof(examples) / sizeof(examples[0]) };

static void the_examples_hold_and_notice_their_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXAMPLES; i++) {
        struct outcome clean, faulty;

        run_file(examples[i].file, NULL, &clean);
        if (clean.worst != IW_VERDICT_PASS)
            fail_msg("%s", clean.observed);
        run_file(examples[i].file, examples[i].fault, &faulty);
        assert_int_not_equal(faulty.worst, IW_VERDICT_ERROR);
        if (strcmp(clean.observed, faulty.observed) == 0)
            fail_msg("%s does not notice %s", examples[i].file, examples[i].fault);
    }
}

/* A botched Terminate that a set still admits is seen in what is recorded. */
static void a_wrong_reaction_is_recorded(void **state)
{
    static const char body[] = "local conn = t:connect {}\n"
                               "conn:send(send { payload = 'x' }, { crc = 'bad' })\n"
                               "conn:expect_terminate {}\n";
    struct embedded e;
    struct iw_result r;

    (void)state;
    assert_int_equal(embedded_start(&e, NULL), 0);
    r = play_body(body, &e.target, &play_options);
    assert_string_equal(r.observed, "terminate=2/0/02 any");
    assert_int_equal(r.verdict, IW_VERDICT_PASS);
    iw_result_free(&r);
    embedded_stop(&e);
    assert_int_equal(embedded_start(&e, "--botch=mpa-crc=code"), 0);
    r = play_body(body, &e.target, &play_options);
    assert_non_null(r.observed);
    assert_string_not_equal(r.observed, "terminate=2/0/02 any");
    iw_result_free(&r);
    embedded_stop(&e);
    play_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_hold_and_notice_their_faults),
        cmocka_unit_test(a_wrong_reaction_is_recorded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
