/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

/* How messages are cut: MULPDU from the EMSS in force, and FPDUs aligned to TCP segments. */

enum { FPDUS = 4096 };

/* The FPDUs that side 0 framed, from its trace. */
struct framed {
    uint64_t pos[FPDUS];
    uint32_t ulpdu[FPDUS];
    size_t count;
};

static struct framed framed;

static void on_trace(void *context, const struct iw_trace *t)
{
    (void)context;
    if (t->kind != IW_TRACE_FPDU_OUT)
        return;
    assert_true(framed.count < FPDUS);
    framed.pos[framed.count] = t->pos - 24; /* after the Request */
    framed.ulpdu[framed.count++] = t->ulpdu_length;
}

static void open_traced(struct pair *p, uint32_t emss, bool markers)
{
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    memset(&framed, 0, sizeof(framed));
    config[0].emss = emss;
    config[0].trace = on_trace;
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

/* The octets of each list that is to be sent at once. Returns how many lists. */
static size_t lists(struct pair *p, size_t room, size_t *lengths)
{
    const struct iw_iov *piece;
    size_t pieces[2 * IW_ENDPOINT_LISTS];
    size_t count = iw_endpoint_output_lists(p->side[0].ep, &piece, pieces, room, p->now);
    for (size_t i = 0; i < count; i++) {
        assert_true(pieces[i] > 0);
        lengths[i] = 0;
        for (; pieces[i] > 0; pieces[i]--)
            lengths[i] += piece++->length;
    }
    return count;
}

static void carry(struct pair *p, size_t left)
{
    while (left > 0) {
        uint64_t before = p->side[0].octets_out;
        assert_true(pair_carry(p, 0));
        left -= (size_t)(p->side[0].octets_out - before);
    }
}

/* Sends one list of side 0 and delivers it. Returns its octets. */
static size_t carry_batch(struct pair *p)
{
    size_t length = 0;
    (void)lists(p, 1, &length);
    carry(p, length);
    return length;
}

/* Expects `count` lists to send at once, and their octets; delivers them. */
static void expect_lists(struct pair *p, size_t room, size_t count, const size_t *octets)
{
    size_t lengths[2 * IW_ENDPOINT_LISTS], total = 0;
    assert_int_equal(lists(p, room, lengths), count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(lengths[i], octets[i]);
        total += lengths[i];
    }
    carry(p, total);
}

/* Framed segments stay as they are; those that follow obey the new EMSS, within the limits of
 * MULPDU. */
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

/* Two connections of one program, which take turns: the MULPDU of each comes from its own EMSS. */
static void test_each_connection_has_its_own_mulpdu(void **state)
{
    static const uint32_t emss[] = {600, 1460}, ulpdu[] = {594, 1454};
    static struct pair p[2];
    (void)state;
    for (unsigned k = 0; k < 2; k++)
        open_traced(&p[k], emss[k], false);
    for (unsigned round = 0; round < 3; round++)
        for (unsigned k = 0; k < 2; k++) {
            size_t before = framed.count;
            post(&p[k], IW_WORK_WRITE, 5000);
            while (carry_batch(&p[k]) > 0)
                ;
            pair_collect(&p[k], 0);
            assert_int_equal(framed.count - before, k == 0 ? 9 : 4);
            for (size_t i = before; i + 1 < framed.count; i++)
                assert_int_equal(framed.ulpdu[i], ulpdu[k]);
        }
    for (unsigned k = 0; k < 2; k++)
        pair_close(&p[k]);
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

static void post_many(struct pair *p, unsigned count, size_t length)
{
    while (count-- > 0)
        post(p, IW_WORK_WRITE, length);
}

/* Two FPDUs of 9020 octets fit a segment of 20000 octets, a third does not. */
static void test_lists_that_go_together(void **state)
{
    (void)state;
    struct pair p;
    open_traced(&p, 20000, false);
    for (size_t room = 2; room < 4; room++) {
        post_many(&p, 5, 9000);
        expect_lists(&p, room, 2, (size_t[]){18040, 18040});
        expect_lists(&p, room, 1, (size_t[]){9020});
        post_many(&p, 8, 9000);
        expect_lists(&p, room, 2, (size_t[]){18040, 18040});
        expect_lists(&p, room, 2, (size_t[]){18040, 18040});
        expect_lists(&p, room, 0, NULL);
    }
    post_many(&p, 3, 9000);
    expect_lists(&p, 1, 1, (size_t[]){18040});
    expect_lists(&p, 1, 1, (size_t[]){9020});
    /* Of short segments one at a time. */
    iw_endpoint_set_emss(p.side[0].ep, 1300);
    post_many(&p, 25, 104);
    expect_lists(&p, 9, 1, (size_t[]){1240});
    expect_lists(&p, 9, 1, (size_t[]){1240});
    expect_lists(&p, 9, 1, (size_t[]){620});
    assert_null(pair_event(&p, 1, IW_EVENT_FAULT));
    pair_close(&p);
}

/* Of five FPDUs of 9020 octets two lists are framed, of which `octets` octets are sent. */
static void open_and_send(struct pair *p, size_t octets)
{
    static uint8_t gone[40000];
    size_t counts[IW_ENDPOINT_LISTS];
    const struct iw_iov *piece;
    struct iw_iov in = {gone, 0};
    open_traced(p, 20000, false);
    post_many(p, 5, 9000);
    assert_int_equal(iw_endpoint_output_lists(p->side[0].ep, &piece, counts, 2, p->now), 2);
    for (; in.length < octets; piece++) {
        size_t left = octets - in.length, take = left < piece->length ? left : piece->length;
        memcpy(gone + in.length, piece->base, take);
        in.length += take;
    }
    iw_endpoint_sent(p->side[0].ep, in.length, p->now);
    iw_endpoint_input(p->side[1].ep, &in, 1, p->now);
}

/* Octets that were not sent are listed again, and nothing is added before all of them are sent. */
static void test_lists_that_go_in_part(void **state)
{
    (void)state;
    static const size_t sent[] = {0, 7, 18039, 18040, 18041, 36079};
    static const size_t left[][2] = {{18040, 18040}, {18033, 18040}, {1, 18040},
                                     {18040},        {18039},        {1}};
    for (size_t k = 0; k < sizeof(sent) / sizeof(*sent); k++) {
        struct pair p;
        size_t count = 0;
        open_and_send(&p, sent[k]);
        post(&p, IW_WORK_WRITE, 8);
        while (count < 2 && left[k][count] > 0)
            count++;
        expect_lists(&p, 2, count, left[k]);
        expect_lists(&p, 2, 1, (size_t[]){9048});
        pair_collect(&p, 0);
        assert_int_equal(p.side[0].completion_count, 6);
        assert_null(pair_event(&p, 1, IW_EVENT_FAULT));
        pair_close(&p);
    }
}

/* A Terminate comes after the FPDU that has begun, in whichever list that is. */
static void test_a_terminate_between_lists(void **state)
{
    (void)state;
    static const struct {
        size_t sent, rest; /* octets, of FPDUs of 9020 */
    } cases[] = {{0, 0}, {7, 9013}, {9020, 0}, {9027, 9013}, {18040, 0}, {18047, 9013}, {36079, 1}};
    for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
        struct pair p;
        open_and_send(&p, cases[k].sent);
        iw_endpoint_abort(p.side[0].ep, true, 0, p.now);
        if (cases[k].rest > 0)
            expect_lists(&p, 2, 1, &cases[k].rest);
        expect_lists(&p, 2, 1, (size_t[]){28}); /* 2 + 18 + 4 + 4 */
        expect_lists(&p, 2, 0, NULL);
        pair_collect(&p, 1);
        assert_null(pair_event(&p, 1, IW_EVENT_FAULT));
        assert_non_null(pair_event(&p, 1, IW_EVENT_TERMINATED));
        pair_close(&p);
    }
}

/* Under a CRC no list after another begins with a long FPDU. */
static void test_long_fpdus_in_lists(void **state)
{
    (void)state;
    enum { FULL = 64754 }; /* of payload: MULPDU without header */
    for (unsigned crc = 0; crc < 2; crc++) {
        struct iw_endpoint_config config[2];
        struct pair p;
        pair_defaults(config);
        config[0].emss = 65483;
        config[0].mpa.crc = config[1].mpa.crc = crc == 1;
        pair_open(&p, config);
        pair_run(&p);
        post(&p, IW_WORK_WRITE, FULL + 782);
        expect_lists(&p, 2, 2, (size_t[]){64776, 804});
        post(&p, IW_WORK_WRITE, FULL + 16384);
        if (crc) {
            expect_lists(&p, 2, 1, (size_t[]){64776});
            expect_lists(&p, 2, 1, (size_t[]){16404});
        } else {
            expect_lists(&p, 2, 2, (size_t[]){64776, 16404});
        }
        post(&p, IW_WORK_WRITE, 6 * FULL);
        for (unsigned i = 0; i < (crc ? 6 : 3); i++)
            expect_lists(&p, 2, crc ? 1 : 2, (size_t[]){64776, 64776});
        expect_lists(&p, 2, 0, NULL);
        assert_null(pair_event(&p, 1, IW_EVENT_FAULT));
        pair_close(&p);
    }
}

static bool begins_fpdu(uint64_t pos)
{
    for (size_t i = 0; i < framed.count; i++)
        if (framed.pos[i] == pos)
            return true;
    return false;
}

/* Each list, cut every EMSS octets, has an FPDU at every cut, and ends with one. */
static void test_fpdus_are_aligned(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {140, 141, 142, 143, 536, 999, 1448, 1460, 8948, 16385, 65483};
    for (unsigned k = 0; k < 4 * sizeof(sizes) / sizeof(sizes[0]); k++) {
        uint32_t emss = sizes[k / 4], seed = k;
        size_t room = k % 4 < 2 ? 1 : IW_ENDPOINT_LISTS, lengths[IW_ENDPOINT_LISTS];
        struct pair p;
        open_traced(&p, emss, k % 2 == 1);
        uint64_t pos = 0;
        for (unsigned round = 0; round < 40; round++) {
            for (unsigned i = 0; i < 4; i++) {
                seed = seed * 1664525u + 1013904223u;
                post(&p, IW_WORK_WRITE, (seed >> 16) % (i == 0 ? 4 * emss : 300));
            }
            for (size_t count; (count = lists(&p, room, lengths)) > 0;)
                for (size_t i = 0; i < count; pos += lengths[i++]) {
                    for (uint64_t at = pos; at < pos + lengths[i]; at += emss)
                        assert_true(begins_fpdu(at));
                    carry(&p, lengths[i]);
                }
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
        cmocka_unit_test(test_each_connection_has_its_own_mulpdu),
        cmocka_unit_test(test_short_fpdus_share_a_segment),
        cmocka_unit_test(test_lists_that_go_together),
        cmocka_unit_test(test_lists_that_go_in_part),
        cmocka_unit_test(test_a_terminate_between_lists),
        cmocka_unit_test(test_long_fpdus_in_lists),
        cmocka_unit_test(test_fpdus_are_aligned),
        cmocka_unit_test(test_without_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
