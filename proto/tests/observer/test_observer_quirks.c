/* SPDX-License-Identifier: BSD-3-Clause */
/* Deviations that would hide all others: found once, and looked through. */
#include "observer_support.h"

#define READ_4                                                                                     \
    READ_HEADER("00000004") "aabbccde 0000000000003000 00000004 11223344 0000000000001000"
#define READ_1_FIELDS "aabbccdd 0000000000002000 00000040 11223344 0000000000001000"
#define SEND_0 "4143 00000000 00000000 00000000 00000000"
#define SEND_4 "4143 00000000 00000000 00000004 00000000"
/* Whole FPDUs: ULPDU_Length, Send without payload, CRC field. */
#define FPDU_1 "r 0012" SEND_1
#define FPDU_2 "r 0012" SEND_2
#define FPDU_3 "r 0012" SEND_3

enum { STEPS = 8, EXPECTED = 4 };

struct row {
    const char *steps[STEPS];
    enum iw_check found[EXPECTED]; /* with quirks */
    unsigned without;              /* findings without them */
    bool lost;                     /* without them */
};

static const struct row rows[] = {
    /* MSNs begin with 0, or 2. */
    {{REQUEST, REPLY, "I " SEND_0, "I " SEND_1, "I " SEND_2}, {IW_CHECK_DDP_MSN}, 1, false},
    {{REQUEST, REPLY, "I " SEND_2, "I " SEND_3, "I " READ_2, "I " SEND_4},
     {IW_CHECK_DDP_MSN},
     2,
     false},
    /* A number that is left out afterwards is a finding of its own. */
    {{REQUEST, REPLY, "I " SEND_0, "I " SEND_1, "I " SEND_3},
     {IW_CHECK_DDP_MSN, IW_CHECK_DDP_MSN},
     2,
     false},
    /* Both: another start, and one counter. */
    {{REQUEST, REPLY, "I " SEND_2, "I " READ_3}, {IW_CHECK_DDP_MSN, IW_CHECK_DDP_MSN}, 2, false},
    /* Another queue begins elsewhere, below the start of the first one, too. */
    {{REQUEST, REPLY, "I " SEND_4, "I " READ_3}, {IW_CHECK_DDP_MSN, IW_CHECK_DDP_MSN}, 2, false},
    {{REQUEST, REPLY, "I " SEND_1, "I " READ_3}, {IW_CHECK_DDP_MSN}, 1, false},
    /* One counter for Sends and Reads. */
    {{REQUEST, REPLY, "I " SEND_1, "I " READ_2, "I " SEND_3, "I " READ_4},
     {IW_CHECK_DDP_MSN},
     3,
     false},
    {{REQUEST, REPLY, "I " SEND_1, "I " READ_2, "I " SEND_3, "I " SEND_3},
     {IW_CHECK_DDP_MSN, IW_CHECK_DDP_MSN},
     3,
     false},
    /* In the other octet order: no other start. */
    {{REQUEST, REPLY, "I 4143 00000000 00000000 01000000 00000000", "I " READ_1,
      "I 4143 00000000 00000000 02000000 00000000"},
     {IW_CHECK_DDP_MSN},
     2,
     false},
    {{REQUEST, REPLY, "I 4143 00000000 00000000 01000000 00000000",
      "I 4143 00000000 00000000 03000000 00000000"},
     {IW_CHECK_DDP_MSN, IW_CHECK_DDP_MSN},
     2,
     false},
    {{REQUEST, REPLY, "I 4141 00000000 01000000 00000001 00000000 " READ_1_FIELDS, "R " RESPONSE_1,
      "I 4141 00000000 01000000 00000002 00000000 " READ_1_FIELDS, "R " RESPONSE_1},
     {IW_CHECK_DDP_QN, IW_CHECK_RDMAP_TERMINATE_STOP}, /* it went on */
     2,
     false},
    {{REQUEST, REPLY, "I 0143 00000000 00000000 00000001 00000000 deadbeef",
      "I 0143 00000000 00000000 00000001 04000000 deadbeef",
      "I 4143 00000000 00000000 00000001 08000000"},
     {IW_CHECK_DDP_MO_PLACE},
     1,
     false},
    {{REQUEST, REPLY, "I " READ_1, "R c142 ddccbbaa 0000000000002000 " OCTETS_64, "I " READ_2,
      "R c142 deccbbaa 0000000000003000 01020304"},
     {IW_CHECK_RDMAP_RESPONSE_STAG},
     2,
     false},
    {{REQUEST, REPLY, "I " READ_1, "R 8142 aabbccdd 0020000000000000 " OCTETS_16,
      "R c142 aabbccdd 1020000000000000 " OCTETS_16 OCTETS_16 OCTETS_16},
     {IW_CHECK_RDMAP_RESPONSE_TO},
     2,
     false},
    {{REQUEST, REPLY, "I " READ_1, "R c142 ddccbbaa 0020000000000000 " OCTETS_64},
     {IW_CHECK_RDMAP_RESPONSE_STAG, IW_CHECK_RDMAP_RESPONSE_TO},
     1,
     false},
    /* A number that is the same either way is right or wrong. */
    {{REQUEST, REPLY, "I 4143 00000000 00000000 10000001 00000000"}, {IW_CHECK_DDP_MSN}, 1, false},
    /* As it should be: one for each. */
    {{REQUEST, REPLY, "I " SEND_1, "I " READ_1, "I " SEND_2, "I " READ_2},
     {IW_CHECK_NONE},
     0,
     false},
    /* CRC32c, most significant octet first. */
    {{REQUEST, REPLY, "I " SEND_1, FPDU_1 "c4e87b58", FPDU_2 "8cdbcbac", FPDU_3 "b4caa400"},
     {IW_CHECK_MPA_CRC},
     1,
     true},
    /* The rest of it is judged. */
    {{REQUEST, REPLY, "I " SEND_1, FPDU_1 "c4e87b58", FPDU_3 "b4caa400"},
     {IW_CHECK_MPA_CRC, IW_CHECK_DDP_MSN},
     1,
     true},
    /* CRC-32 in either order. */
    {{REQUEST, REPLY, "I " SEND_1, FPDU_1 "3777400e", FPDU_2 "e70de049", FPDU_3 "57248074"},
     {IW_CHECK_MPA_CRC},
     1,
     true},
    {{REQUEST, REPLY, "I " SEND_1, FPDU_1 "0e407737", FPDU_2 "49e00de7", FPDU_3 "74802457"},
     {IW_CHECK_MPA_CRC},
     1,
     true},
    /* One of them is wrong all the same. */
    {{REQUEST, REPLY, "I " SEND_1, FPDU_1 "c4e87b58", FPDU_2 "8cdbcbad", FPDU_3 "b4caa400"},
     {IW_CHECK_MPA_CRC, IW_CHECK_MPA_CRC},
     1,
     true},
    /* Both sides: neither is provoked, and both may go on. */
    {{REQUEST, REPLY, "i 0012" SEND_1 "c4e87b58", FPDU_1 "c4e87b58", "i 0012" SEND_2 "8cdbcbac"},
     {IW_CHECK_MPA_CRC, IW_CHECK_MPA_CRC},
     2,
     true},
    /* CRC fields left out: CRCs are off, or on. Without the quirk what follows is read in their
     * place, and framing is lost at the second FPDU without a DDP header. */
    {{REQUEST_PLAIN, REPLY_PLAIN, "i 0012" SEND_1, "i 0012" SEND_2, "i 0012" SEND_3, "F"},
     {IW_CHECK_MPA_CRC_ABSENT},
     1,
     true},
    {{REQUEST, REPLY, "i 0012" SEND_1 "0012" SEND_2, "F"}, {IW_CHECK_MPA_CRC_ABSENT}, 1, true},
    /* The rest is judged, with pad; the last one, too. */
    {{REQUEST_PLAIN, REPLY_PLAIN, "i 0013" SEND_1 "aa000000 0012" SEND_3 "0013" SEND_4 "aa010000",
      "F"},
     {IW_CHECK_MPA_CRC_ABSENT, IW_CHECK_DDP_MSN, IW_CHECK_MPA_PAD},
     1,
     true},
    {{REQUEST_PLAIN, REPLY_PLAIN, "i 000e c140 11223344 0000000000001000",
      "i 000e c140 11223344 0000000000001000", "i 000e c140 11223344 0000000000001000"},
     {IW_CHECK_MPA_CRC_ABSENT},
     0,
     false},
    /* A single FPDU: a FIN where the field should begin, and inside it. */
    {{REQUEST_PLAIN, REPLY_PLAIN, "i 0012" SEND_1, "F"}, {IW_CHECK_MPA_CRC_ABSENT}, 1, false},
    {{REQUEST, REPLY, "i 0012" SEND_1, "F"}, {IW_CHECK_MPA_CRC_ABSENT}, 1, false},
    {{REQUEST_PLAIN, REPLY_PLAIN, "i 0012" SEND_1 "00", "F"}, {IW_CHECK_MPA_FIN_INSIDE}, 1, false},
    {{REQUEST_PLAIN, REPLY_PLAIN, "i 0013" SEND_1 "aa", "F"}, {IW_CHECK_MPA_FIN_INSIDE}, 1, false},
    /* It was whole when the responder spoke. */
    {{REQUEST_PLAIN, REPLY_PLAIN, "i 0012" SEND_1, "R " SEND_1, "i 0012" SEND_2, "i 0012" SEND_3},
     {IW_CHECK_MPA_CRC_ABSENT},
     2,
     true},
    /* After an FPDU with one it is cut off. */
    {{REQUEST_PLAIN, REPLY_PLAIN, "i 0012" SEND_1 "00000000 0012" SEND_2, "F"},
     {IW_CHECK_MPA_FIN_INSIDE},
     1,
     false},
    /* Octets in a field that look like the next FPDU, and are none; right ones. */
    {{REQUEST_PLAIN, REPLY_PLAIN, "i 000e c140 11223344 0000000000001000 000ec140",
      "i 0012" SEND_1 "0012c140 0012" SEND_2 "00000000"},
     {IW_CHECK_NONE},
     0,
     false},
    {{REQUEST_PLAIN, REPLY_PLAIN, "i 000e c140 11223344 0000000000001000 000ec140", "F"},
     {IW_CHECK_NONE},
     0,
     false},
    /* With Markers, one of them between the FPDUs. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "i 00000000 0012" SEND_1 "0012" SEND_2 "0012" SEND_4},
     {IW_CHECK_MPA_CRC_ABSENT, IW_CHECK_DDP_MSN},
     1,
     true},
    /* ULPDU_Lengths in reversed octet order: CRCs are off, and each one is far too long as it
     * stands; the rest is judged. */
    {{REQUEST_PLAIN, REPLY_PLAIN, "i 1200" SEND_1 "00000000", "i 1200" SEND_2 "00000000",
      "i 1200" SEND_4 "00000000"},
     {IW_CHECK_MPA_LENGTH_ORDER, IW_CHECK_DDP_MSN},
     0,
     false},
    {{REQUEST_PLAIN, REPLY_PLAIN, "i 1200" SEND_1 "00000000", "F"},
     {IW_CHECK_MPA_LENGTH_ORDER},
     1,
     false},
    {{REQUEST_PLAIN, REPLY_PLAIN, "i 1200" SEND_1 "000000", "F"},
     {IW_CHECK_MPA_FIN_INSIDE},
     1,
     false},
    /* CRCs are on: one that is right proves it, one that is wrong does not. */
    {{REQUEST, REPLY, "i 1200" SEND_1 "35791d15"}, {IW_CHECK_MPA_LENGTH_ORDER}, 0, false},
    {{REQUEST, REPLY, "i 1200" SEND_1 "35791d16", "F"}, {IW_CHECK_MPA_FIN_INSIDE}, 1, false},
    {{REQUEST, REPLY, "i 1200" SEND_1 "35791d15 1200" SEND_2 "00000000"},
     {IW_CHECK_MPA_LENGTH_ORDER, IW_CHECK_MPA_CRC},
     0,
     false},
    /* As it stands it is above the longest. */
    {{REQUEST, REPLY,
      "i ff00 c140 11223344 0000000000001000" OCTETS_64 OCTETS_64 OCTETS_64 OCTETS_16 OCTETS_16
          OCTETS_16 "aa 000000 6cf19ddf"},
     {IW_CHECK_MPA_LENGTH_ORDER},
     1,
     false},
    /* PD_Length in reversed octet order: nothing follows before the other side has spoken; the rest
     * is judged. Without the quirk everything after it is lost. */
    {{"i " REQUEST_KEY "00010400 01020304", REPLY_PLAIN, "I " SEND_1, "R " SEND_1, "I " SEND_3},
     {IW_CHECK_MPA_PD_ORDER, IW_CHECK_DDP_MSN},
     1,
     true},
    {{REQUEST, "r " REPLY_KEY "50020400 00020002", "I " SEND_1, "R " SEND_1, "R " SEND_3},
     {IW_CHECK_MPA_PD_ORDER, IW_CHECK_DDP_MSN},
     1,
     true},
    /* What else the frame has wrong: reserved bits; no S. */
    {{REQUEST, "r " REPLY_KEY "48020400 00020002", "I " SEND_1},
     {IW_CHECK_MPA_PD_ORDER, IW_CHECK_MPA_RES_BITS, IW_CHECK_MPA_REP_S},
     1,
     true},
    /* Both sides. */
    {{"i " REQUEST_KEY "50020400 00020002", "r " REPLY_KEY "50020400 00020002", "I " SEND_1},
     {IW_CHECK_MPA_PD_ORDER, IW_CHECK_MPA_PD_ORDER},
     2,
     true},
    /* 256 octets and one more; a refusal; a frame that comes in pieces. */
    {{"i " REQUEST_KEY "00010101" OCTETS_64 OCTETS_64 OCTETS_64 OCTETS_64 "aa", REPLY_PLAIN,
      "I " SEND_1},
     {IW_CHECK_NONE},
     0,
     false},
    {{"i " REQUEST_KEY "0001fe01" OCTETS_64 OCTETS_64 OCTETS_64 OCTETS_64 OCTETS_64 OCTETS_64
          OCTETS_64 OCTETS_16 OCTETS_16 OCTETS_16 "000102030405060708090a0b0c0d",
      REPLY_PLAIN, "I " SEND_1},
     {IW_CHECK_MPA_PD_ORDER},
     1,
     true},
    {{REQUEST_PLAIN, "r " REPLY_KEY "20010400 01020304", "G", "F"},
     {IW_CHECK_MPA_PD_ORDER},
     1,
     true},
    {{"i " REQUEST_KEY "000104", "i 00", "i 0102", "i 0304", REPLY_PLAIN, "I " SEND_1, "I " SEND_2},
     {IW_CHECK_MPA_PD_ORDER},
     1,
     true},
    /* No Markers, though both ask for them. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "I " SEND_1, "R " SEND_1, "I " SEND_3},
     {IW_CHECK_MPA_MARKER_MISSING, IW_CHECK_MPA_MARKER_MISSING, IW_CHECK_DDP_MSN},
     4,
     true},
    /* Markers that nobody asked for: only the first stands before its FPDU here. */
    {{REQUEST_PLAIN, REPLY_PLAIN, "M " SEND_1, "I " SEND_3},
     {IW_CHECK_MPA_MARKER_UNASKED, IW_CHECK_DDP_MSN},
     1,
     true},
    {{REQUEST, REPLY, "M " SEND_1, "I " SEND_3},
     {IW_CHECK_MPA_MARKER_UNASKED, IW_CHECK_DDP_MSN},
     1,
     true},
    /* A first Marker with a wrong value is one all the same. */
    {{REQUEST_MARKERS, REPLY_MARKERS, "i 00010000 0012" SEND_1 "00000000"},
     {IW_CHECK_MPA_MARKER_RSVD},
     1,
     false},
    /* An FPDU without an octet is one. */
    {{REQUEST, REPLY, "i 00000000 c74b6748", "I " SEND_1}, {IW_CHECK_DDP_HEADER_SHORT}, 1, false},
    /* Wrong in no way that is known, from the first FPDU on. */
    {{REQUEST, REPLY, "I " SEND_1, FPDU_1 "00000000"}, {IW_CHECK_MPA_CRC}, 1, false},
    {{REQUEST, REPLY, "I " SEND_1, FPDU_1 "00000000", FPDU_2 "00000000", FPDU_3 "01020304"},
     {IW_CHECK_MPA_CRC},
     1,
     true},
    {{REQUEST, REPLY, "I " SEND_1, FPDU_1 "00000000", FPDU_3 "00000000"},
     {IW_CHECK_MPA_CRC, IW_CHECK_DDP_MSN},
     1,
     true},
    {{REQUEST, REPLY, "I " SEND_1, FPDU_2 "00000000"},
     {IW_CHECK_MPA_CRC, IW_CHECK_DDP_MSN},
     1,
     false},
    /* The next one is right: what comes then is damaged, and not looked through. */
    {{REQUEST, REPLY, "I " SEND_1, FPDU_1 "00000000", "R " SEND_2, FPDU_1 "00000000", "R " SEND_3},
     {IW_CHECK_MPA_CRC, IW_CHECK_MPA_CRC},
     2,
     false},
    {{REQUEST, REPLY, "I " SEND_1, "R " SEND_1, FPDU_3 "00000000"}, {IW_CHECK_MPA_CRC}, 1, false},
    /* A header that is not in order may be damaged. */
    {{REQUEST, REPLY, "I " SEND_1, "r 0012 4543 00000000 00000000 00000002 00000000 00000000"},
     {IW_CHECK_MPA_CRC},
     1,
     false},
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t steps = 0, findings = 0;
        while (steps < STEPS && rows[i].steps[steps] != NULL)
            steps++;
        while (findings < EXPECTED && rows[i].found[findings] != IW_CHECK_NONE)
            findings++;
        for (int without = 0; without < 2; without++) {
            struct rig *rig = without ? rig_new_without_quirks() : rig_new_intact();
            size_t wanted = without ? rows[i].without : findings;
            rig_play(rig, rows[i].steps, steps);
            if (rig_count(rig, IW_OBSERVED_FINDING) != wanted)
                fail_msg("row %zu, %d: %zu findings, expected %zu", i, without,
                         rig_count(rig, IW_OBSERVED_FINDING), wanted);
            for (size_t k = 0; !without && k < findings; k++)
                assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, k)->fault.check,
                                 rows[i].found[k]);
            assert_int_equal(rig_count(rig, IW_OBSERVED_LOST) > 0, without && rows[i].lost);
            rig_free(rig);
        }
    }
}

/* A PD_Length above 512 that is so, as far as anybody can know. */
static void test_pd_length_as_it_stands(void **state)
{
    (void)state;
    static const struct {
        const char *steps[STEPS];
        uint64_t got;
    } lengths[] = {
        /* Turned it is above 512, too, or no room for the block of RFC 6581. */
        {{"i " REQUEST_KEY "0001ffff"}, 0xffff},
        {{"i " REQUEST_KEY "000103ff"}, 0x3ff},
        {{"i " REQUEST_KEY "00010203"}, 0x203},
        {{"i " REQUEST_KEY "50020300 000200"}, 0x300},
        /* More octets than that follow. */
        {{"i " REQUEST_KEY "00010400 0102030405"}, 0x400},
        {{"i " REQUEST_KEY "00010400 0102", "i 03040506"}, 0x400},
        {{REQUEST_PLAIN, "r " REPLY_KEY "00010400" OCTETS_64}, 0x400},
        /* Fewer: either side ends. */
        {{"i " REQUEST_KEY "00010400 010203", "F"}, 0x400},
        {{"i " REQUEST_KEY "00010400 010203", "K"}, 0x400},
        {{"i " REQUEST_KEY "00010400 010203", "G"}, 0x400},
        {{"i " REQUEST_KEY "00010400 010203", "L"}, 0x400},
        {{REQUEST_PLAIN, "r " REPLY_KEY "00010400", "F"}, 0x400},
    };
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct rig *rig = rig_new_intact();
        for (size_t k = 0; k < STEPS && lengths[i].steps[k] != NULL; k++)
            rig_step(rig, lengths[i].steps[k]);
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 1);
        const struct seen *s = rig_get(rig, IW_OBSERVED_FINDING, 0);
        assert_int_equal(s->fault.check, IW_CHECK_MPA_PD_LENGTH);
        assert_int_equal(s->fault.got, lengths[i].got);
        assert_int_equal(s->fault.want, 512);
        assert_true(rig_count(rig, IW_OBSERVED_LOST) > 0);
        rig_free(rig);
    }
}

/* Octets that may yet come are waited for: until the caller gives up, or the capture ends. */
static void test_pd_length_waits(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        struct rig *rig = rig_new_intact();
        PLAY(rig, REQUEST_PLAIN, "r " REPLY_KEY "00010400 010203");
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
        assert_true(iw_observer_unsettled(rig->observer, IW_SIDE_RESPONDER));
        assert_false(iw_observer_unsettled(rig->observer, IW_SIDE_INITIATOR));
        if (how == 0)
            iw_observer_settle(rig->observer, IW_SIDE_RESPONDER);
        else if (how == 1)
            iw_observer_flush(rig->observer);
        else
            rig_step(rig, "r 04");
        assert_false(iw_observer_unsettled(rig->observer, IW_SIDE_RESPONDER));
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 1);
        assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check,
                         how < 2 ? IW_CHECK_MPA_PD_LENGTH : IW_CHECK_MPA_PD_ORDER);
        assert_int_equal(rig_count(rig, IW_OBSERVED_LOST), how < 2 ? 2 : 0);
        rig_free(rig);
    }
}

/* What an observer has seen of a Request. */
struct request {
    unsigned frames, findings;
    uint16_t pd_length;
    size_t length;
    iw_quirks quirks, proven;
};

static void seen_request(void *context, const struct iw_observation *o)
{
    struct request *r = context;

    r->findings += o->kind == IW_OBSERVED_FINDING;
    if (o->kind != IW_OBSERVED_STARTUP)
        return;
    r->frames++;
    r->pd_length = o->startup.pd_length;
    r->length = o->frame_length;
    r->quirks = o->quirks;
    r->proven = o->proven;
}

/* The frame is shown as it is meant. An initiator that is said to have the quirk is believed where
 * its PD_Length would be valid as it stands. */
static void test_pd_length_is_meant(void **state)
{
    (void)state;
    static const struct {
        const char *frame;
        bool assumed, proven;
        uint16_t pd_length; /* 0: no frame is seen */
    } frames[] = {
        {REQUEST_KEY "00010400 01020304", false, true, 4},
        {REQUEST_KEY "00010400 01020304", true, true, 4},
        {REQUEST_KEY "00010100 aa", false, false, 0},
        {REQUEST_KEY "00010100 aa", true, false, 1},
        {REQUEST_KEY "00010004 01020304", true, false, 4},
    };
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        struct request seen = {0};
        uint8_t octets[32];
        size_t n = hex_octets(octets, frames[i].frame);
        bool turned = octets[19] == 0;
        iw_quirks quirk = iw_quirk_bit(IW_QUIRK_PD_ORDER);
        struct iw_observer_config config = {
            .crc32c = iw_crc32c_best(), .seen = seen_request, .context = &seen};
        config.quirks[IW_SIDE_INITIATOR] = frames[i].assumed ? quirk : 0;
        struct iw_observer *o = iw_observer_new(&config);
        assert_int_equal(iw_observer_input(o, IW_SIDE_INITIATOR, 0, octets, n), 0);
        assert_int_equal(seen.frames, frames[i].pd_length != 0);
        assert_int_equal(seen.findings, frames[i].pd_length != 0 && turned);
        assert_int_equal(seen.pd_length, frames[i].pd_length);
        assert_int_equal(seen.length, seen.frames ? n : 0);
        assert_int_equal(seen.quirks, seen.findings ? quirk : 0);
        assert_int_equal(seen.proven, frames[i].proven ? quirk : 0);
        iw_observer_free(o);
    }
}

/* MSNs as they are meant: what came, or the place of the message on its queue. */
static void test_meant_msn(void **state)
{
    (void)state;
    static const struct {
        const char *steps[STEPS];
        uint32_t meant[STEPS]; /* of the initiator's segments */
    } msns[] = {
        {{"I " SEND_0, "I " SEND_1, "I " READ_1}, {1, 2, 1}},
        {{"I " SEND_2, "I " SEND_3, "I " READ_2}, {1, 2, 1}},
        {{"I " SEND_1, "I " READ_2, "I " SEND_3, "I " READ_4}, {1, 1, 2, 2}},
        {{"I " SEND_1, "I " SEND_3, "I " SEND_4}, {1, 3, 4}},
        /* All segments of a message. */
        {{"I 0143 00000000 00000000 00000002 00000000 aabbccdd",
          "I 4143 00000000 00000000 00000002 00000004"},
         {1, 1}},
        /* A number that is left out stays. */
        {{"I " SEND_2, "I " SEND_4}, {1, 4}},
        /* After octets that nobody has seen right, a place is not known. */
        {{"I " SEND_2, "R " SEND_1, "X " SEND_3, "I " SEND_4}, {1, 2, 4}},
    };

    for (size_t i = 0; i < sizeof(msns) / sizeof(msns[0]); i++) {
        struct rig *rig = rig_new_intact();
        PLAY(rig, REQUEST, REPLY);
        size_t n = 0;
        for (size_t k = 0; k < STEPS && msns[i].steps[k] != NULL; k++) {
            rig_step(rig, msns[i].steps[k]);
            if (msns[i].steps[k][0] == 'R')
                continue;
            const struct seen *s =
                rig_get(rig, IW_OBSERVED_SEGMENT, rig_count(rig, IW_OBSERVED_SEGMENT) - 1);
            assert_int_equal(s->meant_msn, msns[i].meant[n++]);
        }
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_pd_length_as_it_stands),
        cmocka_unit_test(test_pd_length_waits),
        cmocka_unit_test(test_pd_length_is_meant),
        cmocka_unit_test(test_meant_msn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
