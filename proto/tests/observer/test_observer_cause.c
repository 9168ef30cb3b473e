/* SPDX-License-Identifier: BSD-3-Clause */
/* Which findings follow from which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "observer_support.h"

#define P2P "c0028002" /* peer-to-peer; forms B and C; IRD and ORD 2 */

enum { STEPS = 9, FINDINGS = 4 };

static const struct row {
    const char *steps[STEPS];
    struct {
        enum iw_check check, cause;
    } found[FINDINGS];
} rows[] = {
    /* What is no message is no RTR either: the header shows both. */
    {{"i " REQUEST_KEY "50020004" P2P, "r " REPLY_KEY "50020004" P2P,
      "I 414f 00000000 00000000 00000001 00000000"},
     {{IW_CHECK_MPA_RTR_FIRST, IW_CHECK_RDMAP_OPCODE}, {IW_CHECK_RDMAP_OPCODE, IW_CHECK_NONE}}},
    {{"i " REQUEST_KEY "50020004" P2P, "r " REPLY_KEY "50020004" P2P,
      "I 4143 00000000 00000003 00000001 00000000 ff"},
     {{IW_CHECK_MPA_RTR_FIRST, IW_CHECK_RDMAP_OPCODE_QUEUE},
      {IW_CHECK_RDMAP_OPCODE_QUEUE, IW_CHECK_NONE}}},
    /* A message that is one has this fault of its own, and so has the next segment. */
    {{"i " REQUEST_KEY "50020004" P2P, "r " REPLY_KEY "50020004" P2P, "I " WRITE,
      "I 414f 00000000 00000000 00000001 00000000"},
     {{IW_CHECK_MPA_RTR_FIRST, IW_CHECK_NONE}, {IW_CHECK_RDMAP_OPCODE, IW_CHECK_NONE}}},
    /* A Read Request in place of the RTR is one too many where IRD is 0. */
    {{"i " REQUEST_KEY "50020004 c0020002", "r " REPLY_KEY "50020004 80004002", "I " READ_1},
     {{IW_CHECK_MPA_RTR_FIRST, IW_CHECK_NONE}, {IW_CHECK_RDMAP_IRD, IW_CHECK_MPA_RTR_FIRST}}},
    {{"i " REQUEST_KEY "50020004 c0020002", "r " REPLY_KEY "50020004 80004002", "I " WRITE,
      "I " READ_1},
     {{IW_CHECK_MPA_RTR_FIRST, IW_CHECK_NONE}, {IW_CHECK_RDMAP_IRD, IW_CHECK_NONE}}},
    /* Nobody knows what a responder's first FPDU is that has no header. */
    {{REQUEST, REPLY, "R 4143"},
     {{IW_CHECK_MPA_RESPONDER_EARLY, IW_CHECK_DDP_HEADER_SHORT},
      {IW_CHECK_DDP_HEADER_SHORT, IW_CHECK_NONE}}},
    {{REQUEST, REPLY, "R " SEND_1}, {{IW_CHECK_MPA_RESPONDER_EARLY, IW_CHECK_NONE}}},
    /* What comes after a message without an end looks like more of it. */
    {{REQUEST, REPLY, "I 0143 00000000 00000000 00000001 00000000 01020304",
      "I 0143 00000000 00000000 00000002 00000000 01020304",
      "I 4143 00000000 00000000 00000002 00000008 01020304"},
     {{IW_CHECK_DDP_LAST, IW_CHECK_NONE}, {IW_CHECK_DDP_MO_PLACE, IW_CHECK_DDP_LAST}}},
    {{REQUEST, REPLY, "I 0143 00000000 00000000 00000001 00000000 01020304",
      "I 4143 00000000 00000000 00000001 00000008 01020304"},
     {{IW_CHECK_DDP_MO_PLACE, IW_CHECK_NONE}}},
};

static void rows_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rig *rig = rig_new(false, false);
        size_t steps = 0, count = 0;
        while (rows[i].steps[steps] != NULL)
            steps++;
        rig_play(rig, rows[i].steps, steps);
        while (rows[i].found[count].check != IW_CHECK_NONE)
            count++;
        if (rig_count(rig, IW_OBSERVED_FINDING) != count)
            print_error("row %zu\n", i);
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), count);
        for (size_t k = 0; k < count; k++) {
            const struct seen *s = rig_get(rig, IW_OBSERVED_FINDING, k);
            if (s->fault.check != rows[i].found[k].check || s->cause != rows[i].found[k].cause)
                print_error("row %zu, finding %zu: %s\n", i, k,
                            iw_check_info(s->fault.check)->name);
            assert_int_equal(s->fault.check, rows[i].found[k].check);
            assert_int_equal(s->cause, rows[i].found[k].cause);
        }
        rig_free(rig);
    }
}

static void a_sentence_says_why(void **state)
{
    const char *last = iw_observer_consequence(IW_CHECK_DDP_FIN_OPEN, IW_CHECK_DDP_LAST);
    (void)state;
    assert_string_equal(last, "RFC 5041 §4.1: \"If the Last flag is set to zero, the DDP Segment "
                              "is an intermediate DDP Segment\"");
    assert_null(iw_observer_consequence(IW_CHECK_DDP_LAST, IW_CHECK_DDP_FIN_OPEN));
    assert_null(iw_observer_consequence(IW_CHECK_DDP_LAST, IW_CHECK_NONE));
    assert_null(iw_observer_consequence(IW_CHECK_NONE, IW_CHECK_DDP_LAST));
    for (int e = 0; e < IW_CHECK_COUNT; e++)
        for (int c = 0; c < IW_CHECK_COUNT; c++) {
            const char *by = iw_observer_consequence((enum iw_check)e, (enum iw_check)c);
            if (by == NULL)
                continue;
            assert_true(strncmp(by, "RFC ", 4) == 0 && e != c);
            /* Who looks at what must be alone sees the cause. */
            const struct iw_rule *rule = iw_check_sender_rule((enum iw_check)c);
            assert_true(rule->level >= IW_LEVEL_MUST && !rule->implied);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_hold),
        cmocka_unit_test(a_sentence_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
