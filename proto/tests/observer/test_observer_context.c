/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules that are judged only with context: the EMSS, and that nobody has configured the sides. */
#include "observer_support.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 4096 };

/* The findings of one observer, as "check@position:got/want ". */
struct watch {
    struct iw_observer *observer;
    void *scratch;
    uint64_t next[2];
    char findings[1000];
};

static void see(void *context, const struct iw_observation *o)
{
    struct watch *w = context;
    size_t at = strlen(w->findings);

    if (o->kind == IW_OBSERVED_FINDING)
        snprintf(w->findings + at, sizeof(w->findings) - at, "%s@%u:%u/%u ",
                 iw_check_info(o->fault.check)->name, (unsigned)o->fault.pos,
                 (unsigned)o->fault.got, (unsigned)o->fault.want);
}

static void *lend(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void give_back(void *context, void *block, size_t size)
{
    (void)context;
    (void)size;
    free(block);
}

static struct watch *open_watch(uint32_t emss, bool default_config)
{
    struct watch *w = calloc(1, sizeof(*w));
    struct iw_observer_config config = {.crc32c = iw_crc32c_portable,
                                        .context = w,
                                        .seen = see,
                                        .lend = lend,
                                        .give_back = give_back,
                                        .scratch = malloc(iw_observer_scratch_size()),
                                        .emss = emss,
                                        .default_config = default_config,
                                        .extensions = true};

    assert_non_null(w);
    w->scratch = config.scratch;
    w->observer = iw_observer_init(malloc(iw_observer_size()), iw_observer_size(), &config);
    assert_non_null(w->observer);
    return w;
}

static void close_watch(struct watch *w, const char *findings)
{
    assert_string_equal(w->findings, findings);
    iw_observer_drop(w->observer);
    free(w->observer);
    free(w->scratch);
    free(w);
}

static void feed(struct watch *w, enum iw_side side, const uint8_t *octets, size_t length)
{
    assert_int_equal(iw_observer_input(w->observer, side, w->next[side], octets, length), 0);
    w->next[side] += length;
}

static void feed_hex(struct watch *w, enum iw_side side, const char *hex)
{
    uint8_t octets[ROOM];

    feed(w, side, octets, hex_octets(octets, hex));
}

static void start(struct watch *w)
{
    feed_hex(w, IW_SIDE_INITIATOR, REQUEST_KEY "50020004 00020002");
    feed_hex(w, IW_SIDE_RESPONDER, REPLY_KEY "50020004 00020002");
}

/* The FPDU of a Write with `payload` octets of payload. */
static size_t write_fpdu(uint8_t *out, bool last, size_t payload)
{
    uint8_t ulpdu[ROOM] = {0};

    hex_octets(ulpdu, last ? "c140 00000001" : "8140 00000001");
    return make_fpdu(out, ulpdu, 14 + payload);
}

static void test_default_config(void **state)
{
    (void)state;
    struct watch *w = open_watch(0, true);
    feed_hex(w, IW_SIDE_INITIATOR, REQUEST_KEY "10020004 00020002");
    feed_hex(w, IW_SIDE_RESPONDER, REPLY_KEY "50020004 00020002");
    close_watch(w, "mpa-crc-default@16:0/1 ");

    w = open_watch(0, true);
    start(w);
    close_watch(w, "");

    w = open_watch(0, true); /* revision 0 has CRCs without asking */
    feed_hex(w, IW_SIDE_INITIATOR, REQUEST_KEY "00000000");
    close_watch(w, "");

    w = open_watch(0, false);
    feed_hex(w, IW_SIDE_INITIATOR, REQUEST_KEY "10020004 00020002");
    close_watch(w, "");
}

/* EMSS 512: MULPDU is 506 without Markers, a tagged payload 492 (RFC 5044 §4.5). */
static void test_mulpdu(void **state)
{
    (void)state;
    static const struct {
        bool last;
        size_t payload;
        const char *findings;
    } rows[] = {
        {true, 492, ""},
        {false, 492, ""},
        {true, 493, "mpa-mulpdu-over@24:507/506 "},
        {false, 493, "mpa-mulpdu-over@24:507/506 "},
        {true, 3, ""},
        {false, 491, "mpa-mulpdu-under@24:505/506 "},
    };
    uint8_t fpdu[ROOM];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int emss = 0; emss <= 512; emss += 512) {
            struct watch *w = open_watch((uint32_t)emss, false);
            size_t length = write_fpdu(fpdu, rows[i].last, rows[i].payload);

            start(w);
            /* Longer than a segment takes: in two, or a NIC would seem to cut. */
            feed(w, IW_SIDE_INITIATOR, fpdu, 500 < length ? 500 : length);
            if (length > 500)
                feed(w, IW_SIDE_INITIATOR, fpdu + 500, length - 500);
            if (emss == 0 || length > 512)
                close_watch(w, emss ? rows[i].findings : "");
            else if (length > 500)
                close_watch(w, *rows[i].findings
                                   ? "mpa-mulpdu-under@24:505/506 mpa-fpdu-cut@524:500/0 "
                                   : "mpa-fpdu-cut@524:500/0 ");
            else
                close_watch(w, rows[i].findings);
        }
    }
}

/* An input longer than the EMSS: nothing is known of this side's sizes any more. */
static void test_offload(void **state)
{
    (void)state;
    uint8_t fpdus[ROOM];
    size_t length = write_fpdu(fpdus, true, 600);
    struct watch *w = open_watch(512, false);

    start(w);
    feed(w, IW_SIDE_INITIATOR, fpdus, length);
    feed(w, IW_SIDE_INITIATOR, fpdus, 300);
    feed(w, IW_SIDE_INITIATOR, fpdus + 300, length - 300);
    length = write_fpdu(fpdus, true, 600); /* the other side's are */
    feed(w, IW_SIDE_RESPONDER, fpdus, 300);
    feed(w, IW_SIDE_RESPONDER, fpdus + 300, length - 300);
    close_watch(w, "mpa-mulpdu-over@24:614/506 ");
}

static void test_alignment(void **state)
{
    (void)state;
    uint8_t fpdus[ROOM];
    size_t one = write_fpdu(fpdus, true, 100);
    size_t both = one + write_fpdu(fpdus + one, true, 100);

    struct watch *w = open_watch(512, false);
    start(w);
    feed(w, IW_SIDE_INITIATOR, fpdus, one + 50); /* the second begins after the first ... */
    feed(w, IW_SIDE_INITIATOR, fpdus + one + 50, one - 50);
    close_watch(w, "mpa-fpdu-cut@194:50/0 ");

    w = open_watch(512, false);
    start(w);
    feed(w, IW_SIDE_INITIATOR, fpdus, both);
    /* Octets that arrive after a gap are judged in the end, and were not cut. */
    assert_int_equal(
        iw_observer_input(w->observer, IW_SIDE_INITIATOR, 24 + both + one, fpdus + one, one), 0);
    assert_int_equal(iw_observer_input(w->observer, IW_SIDE_INITIATOR, 24 + both, fpdus, one), 0);
    close_watch(w, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_config),
        cmocka_unit_test(test_mulpdu),
        cmocka_unit_test(test_offload),
        cmocka_unit_test(test_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
