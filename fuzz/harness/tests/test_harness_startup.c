/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the start-up: what it asks both ends for, and what it notices. */
#include "spy.h"

#include <stdio.h>

#include "iwarp/mpa.h"

/* ---- a start-up that does as the test says ---- */

static struct {
    int result;                   /* of iw_mpa_startup_init */
    struct iw_mpa_startup end[2]; /* of each of the two plays, once octets have come */
    size_t takes[2];              /* octets of the peer's frame */
    size_t surplus;               /* says that it took more */
    const uint8_t *out[2];        /* its own frame */
    size_t out_length[2];
    const uint8_t *private_data;
    size_t private_length;
    size_t play, taken, sent;
} fake;

int iw_mpa_startup_init(struct iw_mpa_startup *s, enum iw_mpa_role role,
                        const struct iw_mpa_config *c, const void *private_data,
                        size_t private_length, const struct iw_switches *switches)
{
    assert_non_null(private_data);
    assert_null(switches);
    if (fake.play++ == 0)
        spy_note("%s revision %u%s%s%s%s%s rtr %x first %x ird %u ord %u private %zu\n",
                 role == IW_MPA_INITIATOR ? "initiator" : "responder", c->revision,
                 c->permissive ? " permissive" : "", c->crc ? " crc" : "",
                 c->markers ? " markers" : "", c->enhanced ? " enhanced" : "",
                 c->peer_to_peer ? " peer-to-peer" : "", c->rtr, c->rtr_first, c->ird, c->ord,
                 private_length);
    else
        spy_note("again\n");
    fake.taken = fake.sent = 0;
    s->role = role;
    return fake.result;
}

size_t iw_mpa_startup_input(struct iw_mpa_startup *s, const uint8_t *data, size_t length)
{
    size_t play = fake.play - 1, left = fake.takes[play] - fake.taken;
    size_t take = left < length ? left : length;

    spy_note("takes %zu of ", take);
    spy_note_octets(data, length);
    spy_note("\n");
    fake.taken += take;
    *s = fake.end[play];
    return take + fake.surplus;
}

static int answer(const char *how, size_t length)
{
    spy_note("%s %zu\n", how, length);
    return 0;
}

int iw_mpa_startup_accept(struct iw_mpa_startup *s, const void *private_data, size_t length)
{
    (void)s;
    assert_non_null(private_data);
    return answer("accept", length);
}

int iw_mpa_startup_reject(struct iw_mpa_startup *s, const void *private_data, size_t length)
{
    (void)s;
    assert_non_null(private_data);
    return answer("reject", length);
}

size_t iw_mpa_startup_output(const struct iw_mpa_startup *s, const uint8_t **data)
{
    (void)s;
    *data = fake.out_length[fake.play - 1] > 0 ? fake.out[fake.play - 1] + fake.sent : NULL;
    return fake.out_length[fake.play - 1] - fake.sent;
}

void iw_mpa_startup_sent(struct iw_mpa_startup *s, size_t length)
{
    (void)s;
    spy_note("sent %zu\n", length);
    fake.sent += length;
}

size_t iw_mpa_startup_private(const struct iw_mpa_startup *s, const uint8_t **data)
{
    (void)s;
    *data = fake.private_data;
    return fake.private_length;
}

/* ---- tests ---- */

static void again(void)
{
    memset(&fake, 0, sizeof(fake));
}

#define RUNS(hex, said, notes)                                                                     \
    do {                                                                                           \
        fake.play = 0;                                                                             \
        spy_run(&iw_fuzz_harness, hex, said, notes);                                               \
    } while (0)
/* What the oracle says, whatever was asked. */
#define SAYS(hex, said)                                                                            \
    do {                                                                                           \
        fake.play = 0;                                                                             \
        assert_string_equal(spy_runs(&iw_fuzz_harness, hex), said);                                \
    } while (0)

static void configures(const char *settings, const char *notes)
{
    again();
    RUNS(settings, "", notes);
}

static void settings_configure_it(void **state)
{
    (void)state;
    configures("00000000", "initiator revision 1 rtr 7 first 1 ird 0 ord 0 private 0\n"
                           "again\n");
    configures(
        "ff 00 00 05",
        "initiator revision 2 crc enhanced peer-to-peer rtr 7 first 1 ird 0 ord 0 private 5\n"
        "again\n");
    configures("08 3a ef 00",
               "responder revision 2 permissive markers rtr 2 first 1 ird 16383 ord 14 private 0\n"
               "again\n");
    configures("f7 47 fe 09", "initiator revision 0 crc rtr 7 first 2 ird 14 ord 16383 private 9\n"
                              "again\n");
    configures("08 81 1a 00", "initiator revision 2 enhanced rtr 1 first 4 ird 10 ord 1 private 0\n"
                              "again\n");
    configures("10 c8 00 ff", "responder revision 1 rtr 7 first 0 ird 0 ord 0 private 0\n"
                              "again\n");
    again();
    fake.result = -1;
    RUNS("00000000 000100 00", "",
         "initiator revision 1 rtr 7 first 1 ird 0 ord 0 private 0\n"
         "again\n");
}

#define KEY_REQUEST "4d504120494420526571204672616d65"
#define KEY_REPLY "4d504120494420526570204672616d65"

static uint8_t frame[2][600];

static void says(size_t play, const char *hex)
{
    fake.out_length[play] = spy_octets(frame[play], hex);
    fake.out[play] = frame[play];
}

static void both_say(const char *hex)
{
    says(0, hex);
    says(1, hex);
}

/* An initiator sends first, a responder once it has answered; at most 7 octets at a time. */
static void output_is_drained(void **state)
{
    (void)state;
    again();
    both_say(KEY_REQUEST "800100025044");
    RUNS("00000000 030100 00", "",
         "initiator revision 1 rtr 7 first 1 ird 0 ord 0 private 0\n"
         "sent 7\n"
         "sent 7\n"
         "sent 7\n"
         "sent 1\n"
         "again\n"
         "sent 7\n"
         "sent 7\n"
         "sent 7\n"
         "sent 1\n");
    again();
    both_say(KEY_REPLY "80010000");
    RUNS("00080000 000100 00", "",
         "responder revision 1 rtr 7 first 1 ird 0 ord 0 private 0\n"
         "takes 0 of 00\n"
         "sent 7\n"
         "sent 7\n"
         "sent 6\n"
         "again\n"
         "takes 0 of 00\n"
         "sent 7\n"
         "sent 7\n"
         "sent 6\n");
    again();
    both_say(KEY_REPLY "80010000");
    RUNS("00080000 020300 000500 030100 00 020300 03ffff 020300 000902 020300 010802 020300 000102",
         "",
         "responder revision 1 rtr 7 first 1 ird 0 ord 0 private 0\n"
         "sent 7\n"
         "sent 7\n"
         "sent 6\n"
         "accept 5\n"
         "reject 15\n"
         "accept 1\n"
         "reject 0\n"
         "again\n"
         "sent 7\n"
         "sent 7\n"
         "sent 6\n"
         "accept 5\n"
         "reject 15\n"
         "accept 1\n"
         "reject 0\n");
    RUNS("00080000 020300 000702 020300 010002", "",
         "responder revision 1 rtr 7 first 1 ird 0 ord 0 private 0\n"
         "sent 7\n"
         "sent 7\n"
         "sent 6\n"
         "reject 512\n"
         "again\n"
         "sent 7\n"
         "sent 7\n"
         "sent 6\n"
         "reject 512\n");
}

static void own_frames_must_be_frames(void **state)
{
    static const char none[] = "startup: a frame is sent that is none";

    (void)state;
    again();
    both_say(KEY_REQUEST "800100025044");
    SAYS("", "");
    both_say(KEY_REPLY "80010000");
    SAYS("00080000", "");
    both_say(KEY_REPLY "80010000");
    SAYS("", none);
    both_say(KEY_REQUEST "80010000");
    SAYS("00080000", none);
    both_say(KEY_REQUEST "8001000250");
    SAYS("", none);
    both_say(KEY_REQUEST "800100025044 44");
    SAYS("", none);
    both_say(KEY_REQUEST "88010000");
    SAYS("", none);
    both_say(KEY_REQUEST "800100");
    SAYS("", none);
    both_say("4d504120494420526571204672616d66 80010000");
    SAYS("", none);
    both_say("00");
    fake.out_length[0] = 532;
    SAYS("", none);
    fake.out_length[0] = 533;
    SAYS("", "startup: too long a frame");
}

/* At once, and octet by octet. */
static void octets_come_in_two_ways(void **state)
{
    (void)state;
    again();
    fake.takes[0] = fake.takes[1] = 4;
    RUNS("00000000 000300 010203 010200 0405 000100 06 030100 07 040100 08", "",
         "initiator revision 1 rtr 7 first 1 ird 0 ord 0 private 0\n"
         "takes 3 of 010203\n"
         "takes 1 of 04\n"
         "takes 0 of 05\n"
         "takes 0 of 06\n"
         "again\n"
         "takes 1 of 01\n"
         "takes 1 of 02\n"
         "takes 1 of 03\n"
         "takes 1 of 04\n"
         "takes 0 of 05\n"
         "takes 0 of 06\n");
    again();
    fake.takes[0] = fake.takes[1] = 3;
    fake.surplus = 1;
    SAYS("00000000 000300 010203", "startup: more octets are taken than came");
}

/* What the first play ends with; the second does the same unless a test changes it. */
static void end_with(enum iw_mpa_state state, const char *hex)
{
    struct iw_mpa_startup *s = &fake.end[0];

    again();
    s->state = state;
    fake.takes[0] = fake.takes[1] = spy_octets(frame[0], hex);
    (void)iw_wire_get_startup(frame[0], fake.takes[0], &s->peer);
    fake.end[1] = *s;
}

static void failures_have_a_reason(void **state)
{
    (void)state;
    end_with(IW_MPA_FAILED, KEY_REPLY "00010000");
    SAYS("00000000 001400" KEY_REPLY "00010000", "startup: it fails for no reason");
    fake.end[0].fault.check = fake.end[1].fault.check = IW_CHECK_MPA_REV;
    SAYS("00000000 001400" KEY_REPLY "00010000", "");
    end_with(IW_MPA_FULL, KEY_REPLY "00010000");
    fake.end[0].fault.check = fake.end[1].fault.check = IW_CHECK_MPA_RTR_MATCH;
    SAYS("00000000 001400" KEY_REPLY "00010000", "");
}

static void frames_have_a_bound(void **state)
{
    static char hex[1200];

    (void)state;
    for (size_t length = 532; length < 534; length++) {
        size_t at = (size_t)snprintf(hex, sizeof(hex), "00000000 00%02zx02", length - 512);
        memset(hex + at, '1', 2 * length);
        hex[at + 2 * length] = '\0';
        end_with(IW_MPA_WAIT_REPLY, "");
        fake.takes[0] = fake.takes[1] = length;
        SAYS(hex, length == 532 ? "" : "startup: a frame of 533 octets is taken");
    }
}

#define PLAIN "00010003616263"
#define ENHANCED "1002000740108020616263"

/* A frame that was accepted is what came. */
static void accepted_frames_are_those_that_came(void **state)
{
    static const enum iw_mpa_state states[] = {IW_MPA_REQUESTED, IW_MPA_FULL, IW_MPA_WAIT_REPLY};
    static const char other[] = "startup: the frame, encoded anew, is another";

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        end_with(states[i], KEY_REPLY PLAIN);
        fake.private_data = (const uint8_t *)"abc";
        fake.private_length = 3;
        SAYS("00000000 001700" KEY_REPLY PLAIN, "");
        for (uint16_t length = 2; length < 5; length += 2) {
            end_with(states[i], KEY_REPLY PLAIN);
            fake.private_data = (const uint8_t *)"abc";
            fake.private_length = 3;
            fake.end[0].peer.pd_length = length;
            SAYS("00000000 001700" KEY_REPLY PLAIN,
                 i < 2 ? other : ""); /* while it waits nothing is looked at */
        }
    }
}

/* What is said of a frame with this private data. */
static const char *with_private(const char *hex, const char *data, size_t length)
{
    char input[100];

    end_with(IW_MPA_FULL, hex);
    if (fake.takes[0] >= 24)
        (void)iw_wire_get_enhanced(frame[0] + 20, 4, &fake.end[0].peer_enhanced);
    fake.end[1] = fake.end[0];
    fake.private_data = (const uint8_t *)data;
    fake.private_length = length;
    snprintf(input, sizeof(input), "00000000 00%02zx00%s", fake.takes[0], hex);
    return spy_runs(&iw_fuzz_harness, input);
}

static void private_data_is_what_came(void **state)
{
    (void)state;
    assert_string_equal(with_private(KEY_REPLY PLAIN, "abc", 3), "");
    assert_string_equal(with_private(KEY_REPLY PLAIN, "abb", 3),
                        "startup: other private data than came");
    assert_string_equal(with_private(KEY_REPLY PLAIN, "abd", 3),
                        "startup: other private data than came");
    assert_string_equal(with_private(KEY_REPLY PLAIN, "ab", 2),
                        "startup: 2 octets of private data in a frame with 3");
    assert_string_equal(with_private(KEY_REPLY "00010000", NULL, 0), "");
    assert_string_equal(with_private(KEY_REPLY ENHANCED, "abc", 3), "");
    assert_string_equal(with_private(KEY_REPLY ENHANCED, "xbc", 3),
                        "startup: other private data than came");
    assert_string_equal(with_private(KEY_REPLY ENHANCED,
                                     "\x40\x10\x80\x20"
                                     "abc",
                                     7),
                        "");
    assert_string_equal(with_private(KEY_REPLY PLAIN, "abcd", 4),
                        "startup: 4 octets of private data in a frame with 3");
    assert_string_equal(with_private(KEY_REPLY ENHANCED, "bc", 2),
                        "startup: 2 octets of private data in a frame with 7");
    assert_string_equal(with_private(KEY_REPLY ENHANCED, "abcd", 4),
                        "startup: 4 octets of private data in a frame with 7");
    assert_string_equal(with_private(KEY_REPLY "1002000440108020", NULL, 0), "");
}

static void enhanced_blocks_are_what_came(void **state)
{
    (void)state;
    for (int how = -1; how < 2; how++) {
        end_with(IW_MPA_FULL, KEY_REPLY "1002000440108020");
        (void)iw_wire_get_enhanced(frame[0] + 20, 4, &fake.end[0].peer_enhanced);
        fake.end[0].peer_enhanced.ord = (uint16_t)(fake.end[0].peer_enhanced.ord + how);
        fake.end[1] = fake.end[0];
        SAYS("00000000 001800" KEY_REPLY "1002000440108020",
             how == 0 ? "" : "startup: the enhanced block, encoded anew, is another");
    }
}

static void what_is_agreed_can_be_said(void **state)
{
    static const struct {
        uint16_t ird, ord;
        uint8_t rtr;
    } agreed[] = {{0x3fff, 0x3fff, 7}, {0x4000, 0, 0}, {0, 0x4000, 0}, {0, 0, 8}};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        end_with(IW_MPA_FULL, KEY_REPLY "00010000");
        fake.end[0].agreed.ird = agreed[i].ird;
        fake.end[0].agreed.ord = agreed[i].ord;
        fake.end[0].agreed.rtr = agreed[i].rtr;
        fake.end[1] = fake.end[0];
        SAYS("00000000 001400" KEY_REPLY "00010000",
             i == 0 ? "" : "startup: agreed on what no frame can say");
    }
}

/* Each thing that the second play does otherwise is noticed. */
static void both_ways_must_end_alike(void **state)
{
    static const char ends[] = "startup: cut otherwise it ends otherwise (4 none, 4 none)";
    static const char agrees[] = "startup: cut otherwise something else is agreed on";
    struct iw_mpa_startup *b = &fake.end[1];

    (void)state;
    for (int what = 0; what < 14; what++)
        for (int less = 0; less < 2; less++) {
            const char *want = what < 4 ? ends : agrees;
            end_with(IW_MPA_FULL, KEY_REPLY "00010000");
            if (less)
                b = &fake.end[0]; /* the first one has more */
            else
                b = &fake.end[1];
            switch (what) {
            case 0:
                b->fault.pos = 1;
                break;
            case 1:
                b->fault.got = 1;
                break;
            case 2:
                b->fault.want = 1;
                break;
            case 3:
                b->in_length = 1;
                break;
            case 4:
                b->agreed.revision = 1;
                break;
            case 5:
                b->agreed.crc = true;
                break;
            case 6:
                b->agreed.tx_markers = true;
                break;
            case 7:
                b->agreed.rx_markers = true;
                break;
            case 8:
                b->agreed.ird = 1;
                break;
            case 9:
                b->agreed.ord = 1;
                break;
            case 10:
                b->agreed.rtr = 1;
                break;
            case 11:
                b->fault.check = IW_CHECK_MPA_REV;
                want = less ? "startup: cut otherwise it ends otherwise (4 mpa-rev, 4 none)"
                            : "startup: cut otherwise it ends otherwise (4 none, 4 mpa-rev)";
                break;
            case 12:
                b->state = IW_MPA_REJECTED;
                want = less ? "startup: cut otherwise it ends otherwise (5 none, 4 none)"
                            : "startup: cut otherwise it ends otherwise (4 none, 5 none)";
                break;
            default:
                want = "";
                break;
            }
            SAYS("00000000 001400" KEY_REPLY "00010000", want);
        }
}

static void both_ways_must_send_the_same(void **state)
{
    static const char *const others[] = {KEY_REQUEST "800100025044", KEY_REQUEST "800100025045",
                                         KEY_REQUEST "8001000150"};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (size_t way = 0; way < 2; way++) {
            again();
            says(way, others[0]);
            says(1 - way, others[i]);
            SAYS("", i == 0 ? "" : "startup: cut otherwise another frame is sent");
            fake.out_length[way] = 0;
            SAYS("", "startup: cut otherwise another frame is sent");
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_configure_it),
        cmocka_unit_test(output_is_drained),
        cmocka_unit_test(own_frames_must_be_frames),
        cmocka_unit_test(octets_come_in_two_ways),
        cmocka_unit_test(failures_have_a_reason),
        cmocka_unit_test(frames_have_a_bound),
        cmocka_unit_test(accepted_frames_are_those_that_came),
        cmocka_unit_test(private_data_is_what_came),
        cmocka_unit_test(enhanced_blocks_are_what_came),
        cmocka_unit_test(what_is_agreed_can_be_said),
        cmocka_unit_test(both_ways_must_end_alike),
        cmocka_unit_test(both_ways_must_send_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
