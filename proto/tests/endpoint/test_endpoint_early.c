/* SPDX-License-Identifier: BSD-3-Clause */

/* The FPDUs that an endpoint places after a gap, and those that wait for their turn. */

#include "far.h"

static void test_write(void **state)
{
    (void)state;
    size_t gap, after;
    struct far *f = open_gap(&gap, &after);
    size_t first = put(f, TO + 100, 500, 1);
    put(f, TO + 1000, 700, 2);
    put(f, 0, 0, 0);
    assert_int_equal(give(f, first, f->peer.length), IW_OK);
    assert_true(holds(f->memory + 100, 500, 1)); /* and the gap is still open */
    assert_true(holds(f->memory + 1000, 700, 2));
    assert_int_equal(f->early, 2);
    assert_int_equal(f->in, 1);
    assert_int_equal(give(f, gap, after), IW_OK);
    assert_int_equal(f->in, 5);
    assert_int_equal(f->early, 2);
    memset(f->memory + 100, 0, 500);
    memset(f->memory + 1000, 0, 700);
    assert_true(untouched(f));
    no_event(f);
    close_far(f);
}

/* Of two that write to one place the later stands, also when it came first. */
static void test_overlapping_writes(void **state)
{
    (void)state;
    size_t gap, after;
    struct far *f = open_gap(&gap, &after);
    size_t one = put(f, TO, 800, 10);
    size_t two = put(f, TO + 400, 800, 77);
    size_t end = f->peer.length;
    assert_int_equal(give(f, two, end), IW_OK);
    assert_int_equal(f->early, 1);
    assert_true(holds(f->memory + 400, 800, 77));
    assert_int_equal(give(f, one, two), IW_OK);
    assert_int_equal(f->early, 2);
    assert_true(holds(f->memory, 800, 10));
    assert_int_equal(give(f, gap, after), IW_OK);
    assert_true(holds(f->memory, 400, 10));
    assert_true(holds(f->memory + 400, 800, 77));
    close_far(f);
}

static void test_sends(void **state)
{
    (void)state;
    size_t gap, after;
    struct far *f = open_gap(&gap, &after);
    post_recv(f, 1, 0, 1500);
    post_recv(f, 2, 2000, 600);
    size_t first = send_segment(f, 1, 0, false, 600, 1);
    size_t second = send_segment(f, 1, 600, true, 600, 2);
    size_t third = send_segment(f, 2, 0, true, 600, 3);
    assert_int_equal(give(f, third, f->peer.length), IW_OK);
    assert_true(holds(f->memory + 2000, 600, 3));
    assert_int_equal(give(f, second, third), IW_OK);
    assert_true(holds(f->memory + 600, 600, 2));
    assert_int_equal(f->early, 2);
    assert_int_equal(give(f, first, second), IW_OK);
    assert_int_equal(f->early, 3);
    no_completion(f);
    assert_int_equal(give(f, gap, after), IW_OK);
    expect_completion(f, 1, 1200);
    expect_completion(f, 2, 600);
    no_completion(f);
    assert_true(holds(f->memory, 600, 1));
    assert_true(holds(f->memory + 600, 600, 2));
    assert_true(holds(f->memory + 2000, 600, 3));
    close_far(f);
}

/* A message whose first segment has come in order goes on after a gap. */
static void test_open_message(void **state)
{
    (void)state;
    size_t gap, after;
    struct far *f = open_gap(&gap, &after);
    post_recv(f, 1, 0, 1500);
    size_t first = send_segment(f, 1, 0, false, 100, 1);
    size_t second = send_segment(f, 1, 100, false, 600, 2);
    size_t third = send_segment(f, 1, 700, true, 600, 3);
    assert_int_equal(give(f, gap, second), IW_OK);
    assert_int_equal(give(f, third, f->peer.length), IW_OK);
    assert_int_equal(f->early, 1);
    assert_true(holds(f->memory + 700, 600, 3));
    assert_int_equal(give(f, first, third), IW_OK);
    expect_completion(f, 1, 1300);
    close_far(f);
}

/* No receive is posted yet: it waits, and is no fault when there is one in time. */
static void test_receive_posted_late(void **state)
{
    (void)state;
    size_t gap, after;
    struct far *f = open_gap(&gap, &after);
    size_t one = send_segment(f, 1, 0, true, 600, 1);
    send_segment(f, 2, 0, true, 600, 2);
    post_recv(f, 1, 0, 600);
    assert_int_equal(give(f, one, f->peer.length), IW_OK);
    assert_int_equal(f->early, 1);
    post_recv(f, 2, 1000, 600);
    assert_int_equal(give(f, gap, after), IW_OK);
    expect_completion(f, 1, 600);
    expect_completion(f, 2, 600);
    assert_true(holds(f->memory + 1000, 600, 2));
    close_far(f);
}

static void post_read(struct far *f, uint64_t id, uint64_t sink, uint32_t length)
{
    struct iw_work work = {.id = id,
                           .opcode = IW_WORK_READ,
                           .remote_stag = 7,
                           .sink_stag = f->stag,
                           .sink_to = TO + sink,
                           .length = length};
    assert_int_equal(iw_endpoint_post(f->ep, &work, 0), IW_OK);
    drain(f);
}

static void test_read_responses(void **state)
{
    (void)state;
    size_t gap, after;
    struct far *f = open_gap(&gap, &after);
    post_read(f, 1, 0, 1200);
    post_read(f, 2, 2000, 1200);
    size_t one = tagged(f, "8142", TO, 600, 1);
    size_t two = tagged(f, "c142", TO + 600, 600, 2);
    size_t three = tagged(f, "8142", TO + 2000, 600, 3);
    size_t four = tagged(f, "c142", TO + 2600, 600, 4);
    assert_int_equal(give(f, four, f->peer.length), IW_OK);
    assert_true(holds(f->memory + 2600, 600, 4));
    assert_int_equal(give(f, two, three), IW_OK);
    assert_true(holds(f->memory + 600, 600, 2));
    assert_int_equal(give(f, one, two), IW_OK);
    assert_int_equal(f->early, 3);
    no_completion(f);
    assert_int_equal(give(f, gap, after), IW_OK);
    expect_completion(f, 1, 1200);
    no_completion(f);
    assert_int_equal(give(f, three, four), IW_OK);
    expect_completion(f, 2, 1200);
    assert_true(holds(f->memory + 2000, 600, 3));
    close_far(f);
}

/* A segment that any check would refuse, or that does more than place, waits; the in-order pass
 * reports why. */
static void test_what_waits(void **state)
{
    (void)state;
    static const struct {
        const char *hex; /* our STag and `to` follow, if that is not 0 */
        uint64_t to;
        enum iw_check fault;
    } row[] = {
        {"c140 00000000 0000000000001000", 0, IW_CHECK_DDP_STAG},
        {"c140", TO - 1, IW_CHECK_DDP_TO_BASE},
        {"c140", TO + MEMORY - 599, IW_CHECK_DDP_TO_BOUNDS},
        {"c040", TO, IW_CHECK_DDP_VERSION_TAGGED},
        {"c100", TO, IW_CHECK_RDMAP_VERSION},
        {"c14c", TO, IW_CHECK_RDMAP_OPCODE},
        {"c142", TO, IW_CHECK_RDMAP_RESPONSE_TO},              /* before the sink */
        {"8142", TO + 3000 + 700, IW_CHECK_RDMAP_RESPONSE_TO}, /* past its end */
        {"c142", TO + 3000 + 100, IW_CHECK_RDMAP_RESPONSE_TO}, /* last, but not all of it */
        {"c142 00000009 0000000000001bb8", 0, IW_CHECK_RDMAP_RESPONSE_STAG},
        {"4143 00000000 00000000 00000000 00000000", 0, IW_CHECK_DDP_MSN},
        {"4143 00000000 00000000 00000003 00000000", 0, IW_CHECK_DDP_MSN},
        {"4143 00000000 00000000 00000001 00000001", 0, IW_CHECK_DDP_TOO_LONG},
        {"4143 00000000 00000000 00000001 00000259", 0, IW_CHECK_DDP_MO},
        {"4143 00000000 00000004 00000001 00000000", 0, IW_CHECK_DDP_QN},
        {"4141 00000000 00000001 00000001 00000000", 0, IW_CHECK_RDMAP_READ_LENGTH},
        {"4147 00000000 00000002 00000001 00000000 1100", 0, IW_CHECK_NONE},
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        size_t gap, after;
        struct far *f = open_gap(&gap, &after);
        post_recv(f, 1, 8000, 600);
        post_read(f, 2, 3000, 1200);
        size_t at = row[i].to != 0 ? tagged(f, row[i].hex, row[i].to, 600, 0x11)
                                   : segment(f, row[i].hex, 600, 0x11);
        if (give(f, at, f->peer.length) != IW_OK || f->early != 0 || !untouched(f))
            fail_msg("row %zu was placed", i);
        no_event(f);
        assert_int_equal(give(f, gap, after), IW_OK);
        take_event(f, row[i].fault != IW_CHECK_NONE ? IW_EVENT_FAULT : IW_EVENT_TERMINATED,
                   row[i].fault);
        assert_true(untouched(f));
        close_far(f);
    }
}

/* Segments without payload and those that only in-order arrival can act on: nothing early. */
static void test_what_only_counts_in_order(void **state)
{
    (void)state;
    size_t gap, after;
    struct far *f = open_gap(&gap, &after);
    char hex[200];
    snprintf(hex, sizeof(hex),
             "4141 00000000 00000001 00000001 00000000"
             "aabbccdd 0000000000002000 00000040 %08x 0000000000001000",
             (unsigned)f->stag);
    size_t at = segment(f, hex, 0, 0);
    post_recv(f, 1, 0, 0);
    for (unsigned i = 0; i < 25; i++)
        put(f, 0, 0, 0);
    send_segment(f, 1, 0, true, 0, 0);
    for (unsigned i = 0; i < 25; i++)
        put(f, 0, 0, 0);
    size_t sent = f->sent;
    assert_int_equal(give(f, at, f->peer.length), IW_OK);
    drain(f);
    no_completion(f);
    assert_int_equal(f->sent, sent);
    assert_int_equal(f->early, 0);
    assert_int_equal(give(f, gap, after), IW_OK);
    drain(f);
    assert_true(f->sent > sent + 64);
    expect_completion(f, 1, 0);
    close_far(f);
}

/* RFC 5040 §5.5: a Read Request for no octets, too, is answered in its turn and not before. */
static void test_empty_read_waits(void **state)
{
    (void)state;
    size_t gap, after;
    struct far *f = open_gap(&gap, &after);
    size_t at = segment(f,
                        "4141 00000000 00000001 00000001 00000000"
                        "00000000 0000000000000000 00000000 00000000 0000000000000000",
                        0, 0);
    drain(f);
    size_t sent = f->sent;
    assert_int_equal(give(f, at, f->peer.length), IW_OK);
    drain(f);
    assert_int_equal(f->sent, sent);
    assert_int_equal(give(f, gap, after), IW_OK);
    drain(f);
    assert_int_equal(f->sent, sent + 20);
    close_far(f);
}

/* A CRC error or a lying Marker after a gap: nothing of it is placed, and it is reported in order.
 */
static void test_damage(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 2; way++) {
        size_t gap, after;
        struct far *f = open_gap(&gap, &after);
        size_t at = put(f, TO, 600, 1);
        size_t end = f->peer.length;
        if (way == 0) {
            f->peer.octets[at + 30] ^= 0x20;
        } else {
            f->peer.octets[515] ^= 0x04;
            uint32_t crc = iw_crc32c_portable(IW_CRC32C_INIT, f->peer.octets + at, end - 4 - at);
            iw_crc32c_put(f->peer.octets + end - 4, iw_crc32c_finish(crc));
        }
        assert_int_equal(give(f, at, end), IW_OK);
        assert_int_equal(f->early, 0);
        no_event(f);
        assert_int_equal(give(f, gap, after), IW_OK);
        struct iw_event event;
        assert_true(iw_endpoint_event(f->ep, &event));
        assert_int_equal(event.kind, IW_EVENT_FAULT);
        assert_int_equal(event.fault.check,
                         way == 0 ? IW_CHECK_MPA_CRC : IW_CHECK_MPA_MARKER_POINTER);
        assert_true(event.terminate_valid);
        assert_int_equal(event.terminate.layer, IW_LAYER_LLP);
        assert_int_equal(event.terminate.etype, 0);
        assert_int_equal(event.terminate.code, way == 0 ? 2 : 3);
        assert_true(untouched(f));
        close_far(f);
    }
}

/* A region that dies between its early placement and its turn is a fault in its turn. */
static void test_invalidated_in_between(void **state)
{
    (void)state;
    size_t gap, after;
    struct far *f = open_gap(&gap, &after);
    size_t at = put(f, TO, 600, 1);
    assert_int_equal(give(f, at, f->peer.length), IW_OK);
    assert_int_equal(f->early, 1);
    assert_int_equal(iw_domain_invalidate(f->domain, f->stag), 0);
    memset(f->memory, 0, MEMORY);
    assert_int_equal(give(f, gap, after), IW_OK);
    take_event(f, IW_EVENT_FAULT, IW_CHECK_DDP_STAG);
    assert_true(untouched(f));
    close_far(f);
}

/* When nothing may come early although it could be found. */
static void test_not_now(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 5; way++) {
        struct far *f = open_far();
        f->config.early_placement = way != 1;
        f->config.mpa.crc = way != 2;
        f->config.mpa.markers = way != 3;
        create(f);
        if (way == 2)
            assert_int_equal(at_hex(f, 0, "4d504120494420526571204672616d65 00010000"), IW_OK);
        else
            assert_int_equal(at_hex(f, 0, REQUEST), IW_OK);
        take_event(f, IW_EVENT_REQUEST, IW_CHECK_NONE);
        assert_int_equal(iw_endpoint_accept(f->ep, NULL, 0, 0), IW_OK);
        drain(f);
        put(f, 0, 0, 0);
        size_t one = put(f, TO + 1000, 40, 1);
        size_t two = put(f, TO, 600, 2);
        if (way > 0)
            assert_int_equal(give(f, 0, one), IW_OK);
        if (way == 4)
            mpa_switch(&f->switches, IW_SWITCH_IGNORE, "mpa-crc");
        assert_int_equal(give(f, two, f->peer.length), IW_OK); /* 0: the first is missing */
        assert_int_equal(f->early, 0);
        assert_true(untouched(f));
        assert_int_equal(give(f, 0, two), IW_OK);
        assert_true(holds(f->memory, 600, 2));
        assert_int_equal(f->in, 3);
        close_far(f);
    }
}

/* A peer-to-peer connection begins with its RTR (RFC 6581 §9.2). */
static void test_no_rtr_yet(void **state)
{
    (void)state;
    struct far *f = open_far();
    f->config.mpa.revision = 2;
    create(f);
    /* enhanced, peer-to-peer, every form; IRD and ORD 16 */
    assert_int_equal(at_hex(f, 0, "4d504120494420526571204672616d65 50020004 c010c010"), IW_OK);
    take_event(f, IW_EVENT_REQUEST, IW_CHECK_NONE);
    assert_int_equal(iw_endpoint_accept(f->ep, NULL, 0, 0), IW_OK);
    drain(f);
    put(f, 0, 0, 0);
    size_t one = put(f, TO, 600, 1);
    uint8_t *octets = f->peer.octets;
    struct iw_iov in = {octets + one, f->peer.length - one};
    assert_int_equal(iw_endpoint_input_at(f->ep, 24 + one, &in, 1, 0), IW_OK);
    assert_int_equal(f->early, 0);
    in = (struct iw_iov){octets, one};
    assert_int_equal(iw_endpoint_input_at(f->ep, 24, &in, 1, 0), IW_OK);
    assert_int_equal(f->in, 2);
    assert_true(holds(f->memory, 600, 1));
    take_event(f, IW_EVENT_ESTABLISHED, IW_CHECK_NONE);
    no_event(f);
    close_far(f);
}

/* The image of an FPDU in the payload of a Write to elsewhere. */
static size_t put_image(struct far *f, size_t *image, size_t *image_end)
{
    struct mpa_reference inner = {.crc = true};
    uint8_t ulpdu[200], outer[300];
    char hex[64];
    snprintf(hex, sizeof(hex), "c140 %08x %016llx", (unsigned)f->stag,
             (unsigned long long)TO + 5000);
    size_t n = mpa_hex(ulpdu, hex);
    memset(ulpdu + n, 0xee, 40);
    mpa_reference_frame(&inner, ulpdu, n + 40);
    snprintf(hex, sizeof(hex), "c140 %08x %016llx", (unsigned)f->stag, (unsigned long long)TO);
    n = mpa_hex(outer, hex);
    memcpy(outer + n, inner.octets, inner.length);
    size_t at = f->peer.length;
    mpa_reference_frame(&f->peer, outer, n + inner.length);
    *image = at + 2 + n;
    *image_end = *image + inner.length;
    mpa_reference_free(&inner);
    return at;
}

/* The image is cut out and sent as a segment of its own. With Markers or without trust it is never
 * placed; a caller who wrongly vouches for the peer learns so, and trusts no more. */
static void test_image(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 3; way++) {
        bool markers = way == 0, trust = way == 2;
        size_t image, image_end;
        struct far *f = open_far();
        f->config.mpa.markers = markers;
        f->config.aligned_peer = markers || trust;
        create(f);
        start(f);
        put(f, 0, 0, 0);
        size_t one = put_image(f, &image, &image_end);
        size_t two = put(f, TO + 1000, 600, 3);
        size_t end = f->peer.length;
        assert_int_equal(give(f, 0, one), IW_OK);
        assert_int_equal(give(f, image, image_end), IW_OK);
        assert_int_equal(f->early, trust);
        assert_int_equal(f->memory[5000] == 0xee, trust);
        assert_int_equal(give(f, one, image), IW_OK);
        assert_int_equal(give(f, image_end, two), IW_OK);
        assert_int_equal(f->in, 2);
        assert_int_equal(f->memory[5000] == 0xee, trust);
        size_t three = put(f, TO + 2000, 600, 4);
        assert_int_equal(give(f, three, f->peer.length), IW_OK);
        assert_int_equal(f->early, markers || trust ? 1 : 0); /* misled: no more of it */
        assert_int_equal(give(f, two, end), IW_OK);
        assert_int_equal(f->in, 4);
        assert_true(holds(f->memory + 2000, 600, 4));
        no_event(f);
        close_far(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_overlapping_writes),
        cmocka_unit_test(test_sends),
        cmocka_unit_test(test_open_message),
        cmocka_unit_test(test_receive_posted_late),
        cmocka_unit_test(test_read_responses),
        cmocka_unit_test(test_what_waits),
        cmocka_unit_test(test_what_only_counts_in_order),
        cmocka_unit_test(test_empty_read_waits),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_invalidated_in_between),
        cmocka_unit_test(test_not_now),
        cmocka_unit_test(test_no_rtr_yet),
        cmocka_unit_test(test_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
