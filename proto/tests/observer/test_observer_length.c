/* SPDX-License-Identifier: BSD-3-Clause */
/* Without CRCs, a ULPDU_Length that is wrong misplaces all that follows: it is found once. */
#include "observer_talk.h"

#include <stdio.h>

/* Sends of 5 octets in FPDUs of 32, of which the second has this ULPDU_Length in place of 23. */
static struct rig *play_lengths(const char *length)
{
    struct rig *rig = rig_new(false, false);
    PLAY(rig, REQUEST_PLAIN, REPLY_PLAIN);
    for (int msn = 1; msn <= 6; msn++) {
        char step[200];
        snprintf(step, sizeof(step),
                 "i %s 4143 00000000 00000000 0000000%d 00000000 7878787878 000000 00000000",
                 msn == 2 ? length : "0017", msn);
        rig_step(rig, step);
    }
    rig_step(rig, "F");
    return rig;
}

struct row {
    const char *length;
    size_t findings;
    enum iw_check check; /* of the last of them */
    uint64_t pos;
    bool lost;
};

static void test_wrong_lengths(void **state)
{
    static const struct row rows[] = {
        {"0017", 0, IW_CHECK_NONE, 0, false},
        {"001b", 1, IW_CHECK_DDP_HEADER_SHORT, 20 + 68 + 2, true}, /* 36 octets */
        {"0003", 1, IW_CHECK_DDP_HEADER_SHORT, 20 + 32 + 2, true},
        {"0000", 1, IW_CHECK_DDP_HEADER_SHORT, 20 + 32 + 2, true},
        /* The octets of the payload that stand for pad, and where it leads to. */
        {"0013", 2, IW_CHECK_DDP_HEADER_SHORT, 20 + 60 + 2, true},
        {"07d0", 1, IW_CHECK_MPA_FIN_INSIDE, 20 + 192, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *r = &rows[i];
        struct rig *rig = play_lengths(r->length);
        if (rig_count(rig, IW_OBSERVED_FINDING) != r->findings ||
            rig_count(rig, IW_OBSERVED_LOST) != r->lost)
            fail_msg("%s: %zu findings, lost %zu times", r->length,
                     rig_count(rig, IW_OBSERVED_FINDING), rig_count(rig, IW_OBSERVED_LOST));
        if (r->findings > 0) {
            const struct seen *last = rig_get(rig, IW_OBSERVED_FINDING, r->findings - 1);
            assert_int_equal(last->fault.check, r->check);
            assert_int_equal(last->fault.pos, r->pos);
        }
        rig_free(rig);
    }
}

/* One ULPDU that is too short, in an FPDU that ends where the next one begins. */
static void test_framing_goes_on(void **state)
{
    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        struct rig *rig = rig_new(false, false);
        PLAY(rig, REQUEST_PLAIN, REPLY_PLAIN, "I 4143 00000000 00000000");
        PLAY(rig, twice ? "I 4143 00000000" : "I 4143 00000000 00000000 00000001 00000000 78");
        PLAY(rig, "I 4143 00000000", "I 4143 00000000 00000000 00000002 00000000 78");
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), twice ? 1 : 2);
        assert_int_equal(rig_count(rig, IW_OBSERVED_LOST), twice);
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_lengths),
        cmocka_unit_test(test_framing_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
