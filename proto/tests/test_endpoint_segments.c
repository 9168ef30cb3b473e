/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

/* How messages are cut: MULPDU from the EMSS in force, and FPDUs aligned to TCP segments. */

enum { FPDUS = 4096 };

/* The FPDUs that side 0 framed, as its trace tells. */
struct framed {
    uint64_t pos[FPDUS];
    uint32_t ulpdu[FPDUS];
    size_t count;
};

static struct framed framed;

static void tell(void *context, const struct iw_trace *t)
{
    (void)context;
    if (t->kind != IW_TRACE_FPDU_OUT)
        return;
    assert_true(framed.count < FPDUS);
    framed.pos[framed.count] = t->pos;
    framed.ulpdu[framed.count++] = t->ulpdu_length;
}

static void open_traced(struct pair *p, uint32_t emss, bool markers)
{
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    memset(&framed, 0, sizeof framed);
    config[0].emss = emss;
    config[0].trace = tell;
    config[1].mpa.markers = markers;
    pair_open(p, config);
    pair_run(p);
}

static void post(struct pair *p, enum iw_work_opcode opcode, size_t length)
{
    struct iw_iov sge = {p->side[0].memory, length};
    struct iw_work work = {.id = length,
                           .opcode = opcode,
                           .sge = &sge,
                           .sge_count = 1,
                           .remote_stag = p->side[1].region.stag,
                           .remote_to = p->side[1].region.to};
    assert_int_equal(iw_endpoint_post(p->side[0].ep, &work, p->now), IW_OK);
}

/* Sends one batch of side 0 and delivers it. Returns its octets. */
static size_t carry_batch(struct pair *p)
{
    const struct iw_iov *pieces;
    size_t count = iw_endpoint_output(p->side[0].ep, &pieces, p->now), length = 0;
    for (size_t i = 0; i < count; i++)
        length += pieces[i].length;
    for (size_t left = length; left > 0;) {
        uint64_t before = p->side[0].octets_out;
        assert_true(pair_carry(p, 0));
        left -= (size_t)(p->side[0].octets_out - before);
    }
    return length;
}

/* What is framed stays as it is; what follows obeys the new EMSS, within the limits of MULPDU. */
static void test_mulpdu_follows_the_emss(void **state)
{
    (void)state;
    static const struct {
        bool markers;
        struct {
            uint32_t emss, ulpdu; /* of a full FPDU */
        } steps[6];
    } cases[] = {
        {false, {{1460, 1454}, {600, 594}, {100, 128}, {1449, 1442}, {70000, 64768}, {0, 128}}},
        {true, {{1460, 1442}, {600, 586}, {100, 128}, {1449, 1430}, {70000, 64768}, {0, 128}}}};
    for (size_t k = 0; k < 2; k++) {
        struct pair p;
        open_traced(&p, cases[k].steps[0].emss, cases[k].markers);
        for (uint32_t n = 0; n < PAIR_MEMORY; n++)
            p.side[0].memory[n] = (uint8_t)(n * 29 + n / 251);
        for (unsigned step = 0; step < 6; step++) {
            uint32_t ulpdu = cases[k].steps[step].ulpdu;
            post(&p, IW_WORK_WRITE, 300000);
            iw_endpoint_set_emss(p.side[0].ep, cases[k].steps[step].emss);
            size_t before = framed.count;
            const struct iw_iov *pieces;
            assert_true(iw_endpoint_output(p.side[0].ep, &pieces, p.now) > 0);
            size_t batch = framed.count - before;
            assert_true(pair_carry(&p, 0));
            /* In the middle of a batch: no effect on what it holds. */
            iw_endpoint_set_emss(p.side[0].ep, 1000);
            assert_int_equal(framed.count - before, batch);
            for (size_t i = before; i + 1 < framed.count; i++)
                assert_int_equal(framed.ulpdu[i], ulpdu);
            before = framed.count;
            while (carry_batch(&p) > 0)
                ;
            for (size_t i = before; i + 1 < framed.count; i++)
                assert_int_equal(framed.ulpdu[i], cases[k].markers ? 986 : 994);
            pair_collect(&p, 0);
        }
        assert_int_equal(p.side[0].completion_count, 6);
        assert_memory_equal(p.side[1].memory, p.side[0].memory, 300000);
        assert_null(pair_event(&p, 1, IW_EVENT_FAULT));
        pair_close(&p);
    }
}

/* Ten FPDUs of 124 octets fit a segment of 1300 octets, an eleventh does not; two of 700 neither.
 */
static void test_short_fpdus_share_a_segment(void **state)
{
    (void)state;
    struct pair p;
    open_traced(&p, 1300, false);
    for (unsigned i = 0; i < 25; i++)
        post(&p, IW_WORK_WRITE, 104);
    assert_int_equal(carry_batch(&p), 1240);
    assert_int_equal(carry_batch(&p), 1240);
    assert_int_equal(carry_batch(&p), 620);
    for (unsigned i = 0; i < 2; i++)
        post(&p, IW_WORK_WRITE, 680);
    assert_int_equal(carry_batch(&p), 700);
    assert_int_equal(carry_batch(&p), 700);
    /* Full ones follow each other without end; the last, shorter one still begins a segment. */
    post(&p, IW_WORK_WRITE, 1280 * 50 + 100);
    post(&p, IW_WORK_WRITE, 1280);
    assert_int_equal(carry_batch(&p), 1300 * 50 + 120);
    assert_int_equal(carry_batch(&p), 1300);
    pair_close(&p);
}

static bool begins_fpdu(uint64_t pos)
{
    for (size_t i = 0; i < framed.count; i++)
        if (framed.pos[i] == pos)
            return true;
    return false;
}

/* Each batch, cut every EMSS octets, has an FPDU at every cut, and ends with one. */
static void test_fpdus_are_aligned(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {140, 141, 142, 143, 536, 999, 1448, 1460, 8948, 65483};
    for (unsigned k = 0; k < 2 * sizeof sizes / sizeof sizes[0]; k++) {
        uint32_t emss = sizes[k / 2], seed = k;
        struct pair p;
        open_traced(&p, emss, k % 2 == 1);
        uint64_t pos = 0;
        for (unsigned round = 0; round < 40; round++) {
            for (unsigned i = 0; i < 4; i++) {
                seed = seed * 1664525u + 1013904223u;
                post(&p, IW_WORK_WRITE, (seed >> 16) % (i == 0 ? 4 * emss : 300));
            }
            for (size_t length; (length = carry_batch(&p)) > 0; pos += length)
                for (uint64_t at = pos; at < pos + length; at += emss)
                    assert_true(begins_fpdu(at));
            pair_collect(&p, 0);
            p.side[0].completion_count = 0;
        }
        assert_null(pair_event(&p, 1, IW_EVENT_FAULT));
        pair_close(&p);
    }
}

/* Too small a segment, or a MULPDU that ignores it: nothing to align, and whole batches. */
static void test_without_alignment(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct iw_endpoint_config config[2];
        struct pair p;
        pair_defaults(config);
        config[0].emss = k == 0 ? 139 : 1460;
        config[0].mulpdu = k == 0 ? 0 : 1500;
        pair_open(&p, config);
        pair_run(&p);
        for (unsigned i = 0; i < 3; i++)
            post(&p, IW_WORK_WRITE, 3000);
        assert_true(carry_batch(&p) > 9000);
        assert_int_equal(carry_batch(&p), 0);
        pair_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mulpdu_follows_the_emss),
        cmocka_unit_test(test_short_fpdus_share_a_segment),
        cmocka_unit_test(test_fpdus_are_aligned),
        cmocka_unit_test(test_without_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
