/* SPDX-License-Identifier: BSD-3-Clause */
/* All that the observer reports of thousands of captures that lack octets, in numbers: as often as
 * here, and (the last number) exactly that. A difference is no fault by itself; look at what is
 * reported now, and take over the row that the test prints. */
#include "observer_talk.h"

#include <inttypes.h>
#include <stdio.h>

struct total {
    unsigned segments, messages, findings, gaps, by_marker, by_crc, by_chain, lost;
    uint32_t digest;
    uint64_t lent; /* octets of all blocks */
};

static bool same_total(const struct total *a, const struct total *b)
{
    return a->segments == b->segments && a->messages == b->messages && a->findings == b->findings &&
           a->gaps == b->gaps && a->by_marker == b->by_marker && a->by_crc == b->by_crc &&
           a->by_chain == b->by_chain && a->lost == b->lost && a->digest == b->digest &&
           a->lent == b->lent;
}

static void mix(struct total *t, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        t->digest = (t->digest ^ (uint8_t)(value >> 8 * i)) * UINT32_C(0x01000193); /* FNV-1a */
}

/* A check's number changes when another one is added, its name does not. */
static void mix_name(struct total *t, enum iw_check check)
{
    for (const char *c = iw_check_info(check)->name; *c != '\0'; c++)
        mix(t, (uint8_t)*c);
}

/* Counts what was seen, and ends the observer. */
static void add(struct total *t, struct rig *rig)
{
    for (size_t i = 0; i < rig->n; i++) {
        const struct seen *s = &rig->seen[i];
        const uint64_t values[] = {
            s->kind,           s->side,       s->pos,      s->end,    s->fault.pos,
            s->fault.got,      s->fault.want, s->opcode,   s->tagged, s->payload_length,
            s->message_length, s->segments,   s->found_by, s->detail};
        for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); k++)
            mix(t, values[k]);
        mix_name(t, s->fault.check);
        t->segments += s->kind == IW_OBSERVED_SEGMENT;
        t->messages += s->kind == IW_OBSERVED_MESSAGE;
        t->findings += s->kind == IW_OBSERVED_FINDING;
        t->gaps += s->kind == IW_OBSERVED_GAP;
        t->lost += s->kind == IW_OBSERVED_LOST;
        t->by_marker += s->kind == IW_OBSERVED_RESYNC && s->found_by == IW_RESYNC_MARKER;
        t->by_crc += s->kind == IW_OBSERVED_RESYNC && s->found_by == IW_RESYNC_CRC;
        t->by_chain += s->kind == IW_OBSERVED_RESYNC && s->found_by == IW_RESYNC_CHAIN;
    }
    t->lent += rig->lent_ever;
    mix(t, iw_observer_joined(rig->observer));
    for (int i = 0; i < 2; i++) {
        mix(t, iw_observer_follows(rig->observer, (enum iw_side)i));
        mix(t, iw_observer_boundary(rig->observer, (enum iw_side)i));
    }
    rig_free(rig);
}

/* ---- ways in which octets are missing ---- */

static void cut_once(const struct talk *talk, struct total *t)
{
    static const size_t lengths[] = {1, 3, 21, 64, 700};

    for (int side = 0; side < 2; side++)
        for (uint64_t from = 0; from < talk->end[side]; from += 3)
            for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
                struct lack lack = WHOLE;
                lack.from[side] = from;
                lack.to[side] = from + lengths[k];
                lack.report = (from + k) % 2;
                lack.piece = from % 5 == 0 ? 50 : 0;
                add(t, play(talk, &lack));
            }
}

static uint32_t draw(uint32_t *random, uint64_t below)
{
    *random = *random * 1664525 + 1013904223;
    return (uint32_t)((*random >> 8) % below);
}

static void cut_on_both_sides(const struct talk *talk, struct total *t)
{
    uint32_t random = 1;

    for (unsigned round = 0; round < 500; round++) {
        struct lack lack = WHOLE;
        for (int side = 0; side < 2; side++) {
            lack.from[side] = draw(&random, talk->end[side]);
            lack.to[side] = lack.from[side] + draw(&random, 200);
        }
        lack.report = round % 2;
        lack.piece = round % 3 * 40;
        add(t, play(talk, &lack));
    }
}

static void begin_late(const struct talk *talk, struct total *t)
{
    static const struct iw_observer_assumption assumptions[] = {
        {{IW_ASSUMED_UNKNOWN, IW_ASSUMED_UNKNOWN}, IW_ASSUMED_UNKNOWN, IW_ASSUMED_UNKNOWN},
        {{IW_ASSUMED_YES, IW_ASSUMED_YES}, IW_ASSUMED_YES, IW_ASSUMED_NO},
        {{IW_ASSUMED_NO, IW_ASSUMED_NO}, IW_ASSUMED_NO, IW_ASSUMED_NO},
        {{IW_ASSUMED_NO, IW_ASSUMED_UNKNOWN}, IW_ASSUMED_YES, IW_ASSUMED_UNKNOWN},
        {{IW_ASSUMED_UNKNOWN, IW_ASSUMED_YES}, IW_ASSUMED_NO, IW_ASSUMED_UNKNOWN},
        {{IW_ASSUMED_YES, IW_ASSUMED_NO}, IW_ASSUMED_UNKNOWN, IW_ASSUMED_YES},
    };

    for (size_t first = 0, k = 0; first < talk->parts; first++)
        for (size_t octet = first == 0; octet < talk->part[first].length; octet += 3, k++) {
            struct lack lack = WHOLE;
            lack.first = first;
            lack.octet = octet;
            lack.assume = k % 7 == 6 ? NULL : &assumptions[k % 7];
            lack.piece = k % 5 == 0 ? 33 : 0;
            add(t, play(talk, &lack));
        }
}

static void snap(const struct talk *talk, struct total *t)
{
    for (size_t length = 0; length < 1000; length += length < 100 ? 1 : 13) {
        struct lack lack = WHOLE;
        lack.snap = length;
        add(t, play(talk, &lack));
    }
}

static void lend_little(const struct talk *talk, struct total *t)
{
    for (size_t piece = 1; piece < 120; piece += 6)
        for (size_t limit = 0; limit < 8192; limit += 512) {
            struct lack lack = WHOLE;
            lack.piece = piece;
            lack.limit = limit;
            add(t, play(talk, &lack));
        }
}

/* Segments in any order, some twice, some with another octet or elsewhere. */
static void confuse(const struct talk *talk, struct total *t)
{
    static uint8_t octets[PART_MAX];
    uint32_t random = 7;

    for (unsigned round = 0; round < 100; round++) {
        struct rig *rig = rig_new(false, false);

        if (round % 4 == 1)
            iw_observer_assume(rig->observer, NULL);
        for (size_t k = 0; k < talk->parts; k++) {
            size_t ahead = k + draw(&random, round % 4 + 1);
            const struct part *p = &talk->part[ahead < talk->parts ? ahead : k];
            uint64_t pos = p->pos;
            memcpy(octets, p->octets, p->length);
            if (draw(&random, 8) == 0)
                octets[draw(&random, p->length)] ^= (uint8_t)(1 + draw(&random, 255));
            if (draw(&random, 16) == 0)
                pos += draw(&random, 60);
            if (draw(&random, 16) == 0)
                iw_observer_gap(rig->observer, p->side, pos, pos + draw(&random, 300));
            if (draw(&random, 4) == 0)
                iw_observer_acked(rig->observer, p->side, p->pos + p->length);
            (void)iw_observer_input(rig->observer, p->side, pos, octets, p->length);
            if (rig->n > SEEN_MAX / 2)
                break;
        }
        for (int i = 0; i < 2; i++)
            iw_observer_end(rig->observer, (enum iw_side)i, talk->end[i], round % 8 == 7);
        iw_observer_flush(rig->observer);
        add(t, rig);
    }
}

/* ---- atomics among Reads, some of them wrong ---- */

#define ATOMIC_1                                                                                   \
    "414a 00000000 00000001 00000001 00000000 00000002 5a5a0001 11223344 0000000000001000 "        \
    "0000000000000002 ffffffffffffffff 0000000000000001 ffffffffffffffff"
#define ATOMIC_3                                                                                   \
    "414a 00000000 00000001 00000003 00000000 00000000 5a5a0003 11223344 0000000000001000 "        \
    "0000000000000002 ffffffffffffffff 0000000000000000 ffffffffffffffff"
#define RESPONSE(msn, id) "414b 00000000 00000003 " msn " 00000000 " id " 0000000000000001"

static struct talk *atomics(enum talk_kind kind)
{
    struct talk *t = begin(kind);

    say(t, "I " SEND_1, 200);
    say(t, "R " SEND_1, 0);
    say(t, "I " ATOMIC_1, 0);
    say(t, "I " READ_2, 0);
    say(t, "+I " ATOMIC_3, 0);
    say(t, "R " RESPONSE("00000001", "5a5a0001"), 0);
    say(t, "R " RESPONSE("00000002", "5a5a0003"), 0); /* before the Read's */
    say(t, "R " RESPONSE_2, 0);
    say(t, "R 414a 00000000 00000001 00000001 00000000 00000007 5a5a0001 11223344", 36);
    say(t, "I 4148 00000000 00000000 00000002 00000000", 8);
    say(t, "I 4149 00000000 00000000 00000003 00000000", 7);
    say(t, "R c143 aabbccdf 0000000000004000", 5);
    say(t, "I 4145 11223344 00000000 00000004 00000000", 5);
    say(t, "R 4143 00000000 00000002 00000002 00000000", 5);
    say(t, "I 0143 00000000 00000000 00000005 00000000", 0);
    say(t, "I 4143 00000000 00000000 00000005 00000000", 0);
    say(t, "R 0144 11223344 00000000 00000002 00000000", 50);
    say(t, "R 4144 11223344 00000000 00000002 00000032", 50);
    say(t, "I 4143 00000000", 0);
    say(t, "I 4143 00000000 00000000 00000006 00000000", 0);
    say(t, "R " RESPONSE("00000003", "5a5a0007"), 0);
    say(t,
        "R 4147 00000000 00000002 00000001 00000000 1002c000 002a 4143 00000000 00000000 "
        "00000006 00000000",
        0);
    return t;
}

/* ---- the numbers ---- */

enum { TALKS = 3, WAYS = 6 };

static const struct total expected[WAYS][TALKS][TALK_KINDS] = {
    {
        {{160909, 145954, 0, 8912, 0, 1355, 0, 0, 0x2efa9793, 104744704},
         {160239, 145339, 0, 8890, 0, 0, 1132, 0, 0xd113b599, 104493824},
         {159635, 144649, 0, 8965, 834, 144, 2, 0, 0x7e524a3c, 106232832}},
        {{13495, 11559, 7057, 1502, 0, 553, 0, 0, 0x0b77361d, 7030656},
         {11578, 10423, 6291, 1346, 0, 0, 235, 0, 0x249086a9, 6372864},
         {12560, 10676, 7076, 1502, 0, 108, 2, 0, 0x653ef349, 6972672}},
        {{37843, 29289, 14461, 3095, 0, 1027, 0, 0, 0x6c9387ee, 13905792},
         {36647, 28396, 13034, 3078, 0, 0, 420, 0, 0xcb274caf, 13649664},
         {35798, 27629, 13182, 3095, 0, 118, 2, 0, 0x52d6e330, 13752192}},
    },
    {
        {{10427, 9435, 0, 1146, 0, 216, 0, 0, 0x2d6e8f2d, 12258432},
         {10332, 9342, 0, 1151, 0, 0, 160, 0, 0x4c45e495, 12327552},
         {10039, 9050, 0, 1173, 165, 19, 0, 0, 0xe963040f, 12284160}},
        {{4614, 3938, 1678, 1680, 0, 658, 0, 0, 0xba0bd69d, 4483968},
         {3984, 3470, 1631, 1664, 0, 0, 242, 0, 0xf672e751, 4265856},
         {3525, 2898, 1688, 1674, 0, 100, 0, 0, 0x9d1a607c, 4380288}},
        {{8152, 6485, 2087, 1698, 0, 970, 0, 0, 0x78f26b63, 5378304},
         {7214, 5745, 1880, 1683, 0, 0, 315, 0, 0x3eb52342, 5208576},
         {6067, 4738, 1795, 1670, 0, 72, 0, 0, 0x71dcd7c2, 5136768}},
    },
    {
        {{8706, 8293, 0, 0, 0, 1200, 454, 0, 0xeda23a0a, 10808832},
         {6462, 6134, 0, 0, 0, 0, 1056, 0, 0xd8ae9385, 11645696},
         {8723, 8392, 68, 0, 0, 2137, 405, 0, 0x9272cb96, 11490688}},
        {{982, 893, 22, 0, 0, 212, 71, 0, 0x61eee4f3, 663168},
         {619, 557, 6, 0, 0, 0, 134, 0, 0xd796a438, 628224},
         {1003, 911, 38, 0, 0, 209, 72, 0, 0x44ff88b2, 663552}},
        {{2329, 1961, 172, 0, 0, 562, 102, 0, 0x2fc60ce3, 1687680},
         {1347, 1172, 75, 0, 0, 0, 284, 0, 0xfc6124e3, 1738368},
         {2359, 1948, 327, 0, 0, 527, 103, 0, 0x0dc6c95e, 1735296}},
    },
    {
        {{2912, 2644, 0, 1620, 0, 32, 0, 0, 0x3d948f61, 3081728},
         {2898, 2630, 0, 1612, 0, 0, 14, 0, 0x28cbce33, 3121664},
         {2854, 2578, 0, 1622, 0, 0, 0, 0, 0x776486a6, 3137280}},
        {{2044, 1780, 1312, 648, 0, 12, 0, 0, 0x24f61075, 1525248},
         {1950, 1800, 1356, 596, 0, 0, 0, 0, 0x9e6807e0, 1446912},
         {2076, 1800, 1320, 648, 0, 0, 0, 0, 0xb7b341b4, 1537536}},
        {{3130, 2382, 1194, 1005, 0, 30, 0, 0, 0x99148bda, 2000640},
         {2996, 2296, 1060, 997, 0, 0, 0, 0, 0xc951fb5f, 2046720},
         {2996, 2288, 1060, 1005, 0, 0, 0, 0, 0xf5510c9a, 2059008}},
    },
    {
        {{5872, 5414, 0, 760, 0, 500, 0, 0, 0x38484953, 7889280},
         {5084, 4684, 0, 473, 0, 0, 168, 0, 0xed140ed0, 7509504},
         {5309, 4885, 0, 572, 0, 204, 0, 0, 0x1df42acb, 7322112}},
        {{4010, 3517, 2048, 77, 0, 341, 0, 0, 0x31c7218b, 2983296},
         {3164, 2904, 2036, 12, 0, 0, 120, 0, 0x5c8cb555, 2643456},
         {3754, 3255, 2183, 48, 0, 195, 0, 0, 0x9a877e6a, 2604288}},
        {{6039, 4778, 2159, 167, 0, 524, 0, 0, 0x713b41b1, 4127616},
         {4844, 3772, 1872, 21, 0, 0, 60, 0, 0x58bd6bb9, 3760128},
         {5732, 4510, 1944, 138, 0, 450, 0, 0, 0x61c2dc1c, 3710208}},
    },
    {
        {{964, 859, 37, 375, 0, 352, 2, 6, 0x0bd858f8, 1537024},
         {749, 676, 21, 366, 0, 0, 120, 9, 0xcaadda22, 1518336},
         {711, 607, 56, 362, 63, 165, 2, 10, 0xf76ca6b2, 1505280}},
        {{609, 538, 114, 297, 0, 268, 1, 12, 0xa81c6a69, 425856},
         {412, 378, 76, 277, 0, 0, 80, 11, 0x5f013986, 393216},
         {408, 353, 110, 293, 0, 144, 1, 17, 0x75fb1be6, 410112}},
        {{730, 626, 103, 393, 0, 295, 3, 11, 0xfd426d4e, 913664},
         {495, 430, 92, 393, 0, 0, 70, 8, 0x888ba7cc, 915200},
         {524, 448, 93, 394, 0, 174, 1, 10, 0x029a2b66, 914816}},
    },
};

/* What is lent has pointers in it. */
static bool as_large_as_here(void)
{
    return sizeof(void *) == 8;
}

static void check(unsigned way, void (*lack)(const struct talk *, struct total *))
{
    static struct talk *(*const talks[TALKS])(enum talk_kind) = {clean, faulty, atomics};
    bool same = true;

    for (int k = 0; k < TALKS; k++)
        for (enum talk_kind kind = TALK_CRC; kind < TALK_KINDS; kind++) {
            struct talk *talk = talks[k](kind);
            struct total t = {.digest = UINT32_C(0x811c9dc5)};
            lack(talk, &t);
            free(talk);
            const struct total *want = &expected[way][k][kind];
            if (!as_large_as_here())
                t.lent = want->lent;
            if (same_total(&t, want))
                continue;
            same = false;
            print_error("way %u, talk %d, kind %d: {%u, %u, %u, %u, %u, %u, %u, %u, 0x%08" PRIx32
                        ", %" PRIu64 "},\n",
                        way, k, kind, t.segments, t.messages, t.findings, t.gaps, t.by_marker,
                        t.by_crc, t.by_chain, t.lost, t.digest, t.lent);
        }
    assert_true(same);
}

#define TRACES(way, lack)                                                                          \
    static void test_##lack(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        if ((lack) == lend_little && !as_large_as_here())                                          \
            skip();                                                                                \
        check(way, lack);                                                                          \
    }

TRACES(0, cut_once)
TRACES(1, cut_on_both_sides)
TRACES(2, begin_late)
TRACES(3, snap)
TRACES(4, lend_little)
TRACES(5, confuse)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_once),    cmocka_unit_test(test_cut_on_both_sides),
        cmocka_unit_test(test_begin_late),  cmocka_unit_test(test_snap),
        cmocka_unit_test(test_lend_little), cmocka_unit_test(test_confuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
