/* SPDX-License-Identifier: BSD-3-Clause */

/* Octets with positions: the start-up, what is refused, and when the end has come. */

#include "far.h"

static void test_start_up(void **state)
{
    (void)state;
    struct far *f = open_far();
    create(f);
    put(f, 0, 0, 0);
    put(f, TO, 600, 1);
    size_t end = f->peer.length;
    struct iw_iov empty[2] = {{NULL, 0}, {NULL, 0}};
    assert_int_equal(iw_endpoint_input_at(f->ep, 0, NULL, 0, 0), IW_OK);
    assert_int_equal(iw_endpoint_input_at(f->ep, 5, empty, 2, 0), IW_OK);
    assert_int_equal(at_hex(f, 10, "204672616d65 40010000"), IW_ERR_FULL);
    assert_int_equal(at_hex(f, 0, "4d5041"), IW_OK);
    assert_int_equal(at_hex(f, 0, "4d5041204944"), IW_OK); /* three repeats */
    assert_int_equal(at_hex(f, 1, "5041"), IW_OK);
    assert_int_equal(at_hex(f, 6, "20526571204672616d65 40010000"), IW_OK);
    assert_int_equal(at_hex(f, 0, REQUEST), IW_OK);
    take_event(f, IW_EVENT_REQUEST, IW_CHECK_NONE);
    /* The peer may not speak before our Reply: out of order that is just too early. */
    assert_int_equal(give(f, 28, end), IW_ERR_FULL);
    assert_int_equal(iw_endpoint_accept(f->ep, NULL, 0, 0), IW_OK);
    assert_int_equal(give(f, 28, end), IW_ERR_FULL);
    drain(f);
    assert_int_equal(give(f, 28, end), IW_OK);
    assert_int_equal(give(f, 0, 10), IW_OK);
    assert_int_equal(give(f, 0, end), IW_OK);
    assert_int_equal(f->in, 2);
    assert_int_equal(give(f, 0, end), IW_OK);
    assert_int_equal(f->in, 2);
    take_event(f, IW_EVENT_ESTABLISHED, IW_CHECK_NONE);
    no_event(f);
    close_far(f);
}

/* An initiator: the Reply and what follows it in one piece, in an empty piece's company. */
static void test_initiator(void **state)
{
    (void)state;
    struct far *f = open_far();
    f->config.role = IW_MPA_INITIATOR;
    create(f);
    put(f, 0, 0, 0);
    size_t one = put(f, TO + 1000, 40, 9);
    size_t two = put(f, TO, 600, 1);
    uint8_t octets[1024];
    size_t n = mpa_hex(octets, REPLY);
    memcpy(octets + n, f->peer.octets, one);
    drain(f);
    assert_int_equal(give(f, two, f->peer.length), IW_ERR_FULL);
    struct iw_iov in[4] = {{NULL, 0}, {octets, 7}, {NULL, 0}, {octets + 7, n + one - 7}};
    assert_int_equal(iw_endpoint_input_at(f->ep, 0, in, 2, 0), IW_OK);
    assert_int_equal(iw_endpoint_input_at(f->ep, 0, in, 4, 0), IW_OK);
    assert_int_equal(f->in, 1);
    assert_int_equal(give(f, two, f->peer.length), IW_OK);
    assert_int_equal(f->early, 1);
    assert_true(holds(f->memory, 600, 1));
    /* The call for octets in order may be mixed with it. */
    struct iw_iov rest = {f->peer.octets + one, two - one};
    iw_endpoint_input(f->ep, &rest, 1, 0);
    assert_int_equal(f->in, 3);
    size_t three = put(f, TO + 2000, 100, 5);
    rest = (struct iw_iov){f->peer.octets + three, f->peer.length - three};
    iw_endpoint_input(f->ep, &rest, 1, 0);
    assert_int_equal(f->in, 4);
    assert_true(holds(f->memory + 2000, 100, 5));
    take_event(f, IW_EVENT_ESTABLISHED, IW_CHECK_NONE);
    no_event(f);
    close_far(f);
}

static void test_refused(void **state)
{
    (void)state;
    size_t gap, after;
    struct far *f = open_gap(&gap, &after);
    uint8_t octet = 0;
    struct iw_iov one = {&octet, 1}, many = {&octet, SIZE_MAX};
    assert_int_equal(iw_endpoint_input_at(f->ep, UINT64_MAX, &one, 1, 0), IW_ERR_ARGUMENT);
    assert_int_equal(iw_endpoint_input_at(f->ep, UINT64_MAX - SIZE_MAX + 1, &many, 1, 0),
                     IW_ERR_ARGUMENT);
    /* Too far ahead, and in too many islands. */
    assert_int_equal(iw_endpoint_input_at(f->ep, FRAME + gap + 100000, &one, 1, 0), IW_ERR_FULL);
    for (unsigned i = 0; i < IW_STREAM_RANGES; i++)
        assert_int_equal(iw_endpoint_input_at(f->ep, FRAME + after + 1000 + 2 * i, &one, 1, 0),
                         IW_OK);
    assert_int_equal(iw_endpoint_input_at(f->ep, FRAME + after + 2000, &one, 1, 0), IW_ERR_FULL);
    assert_int_equal(give(f, gap, after), IW_OK); /* in order always goes */
    assert_int_equal(f->in, 2);
    no_event(f);
    close_far(f);

    /* An empty pool: refused, while in order that is a fault. */
    f = open_gap(&gap, &after);
    void *a = iw_domain_borrow(f->domain), *b = iw_domain_borrow(f->domain);
    put(f, 0, 0, 0);
    assert_int_equal(give(f, after, f->peer.length), IW_ERR_FULL);
    no_event(f);
    iw_domain_return(f->domain, a);
    iw_domain_return(f->domain, b);
    assert_int_equal(give(f, after, f->peer.length), IW_OK);
    assert_int_equal(give(f, gap, after), IW_OK);
    assert_int_equal(f->in, 3);
    close_far(f);
}

/* A piece that closes a gap makes octets known that the call goes on to repeat. */
static void test_overlap_closes_a_gap(void **state)
{
    (void)state;
    for (size_t cut = 1; cut < 60; cut++) {
        size_t gap, after;
        struct far *f = open_gap(&gap, &after);
        put(f, TO, 30, 1);
        put(f, TO + 100, 30, 2);
        size_t end = f->peer.length;
        assert_int_equal(give(f, after, after + 20), IW_OK);
        uint8_t *octets = f->peer.octets + gap - 10;
        struct iw_iov in[3] = {{octets, cut}, {octets + cut, 7}, {octets + cut + 7, 60 - cut}};
        assert_int_equal(iw_endpoint_input_at(f->ep, FRAME + gap - 10, in, 3, 0), IW_OK);
        assert_int_equal(give(f, gap, end), IW_OK);
        assert_int_equal(f->in, 4);
        assert_true(holds(f->memory, 30, 1));
        assert_true(holds(f->memory + 100, 30, 2));
        no_event(f);
        close_far(f);
    }
}

/* ---- the end ---- */

static void test_fin_early(void **state)
{
    (void)state;
    size_t gap, after;
    struct far *f = open_gap(&gap, &after);
    size_t at = put(f, TO, 600, 1), end = f->peer.length;
    iw_endpoint_input_end_at(f->ep, FRAME + end, 0);
    iw_endpoint_input_end_at(f->ep, FRAME + end, 0);
    no_event(f);
    assert_int_equal(give(f, at, end), IW_OK);
    no_event(f);
    assert_int_equal(give(f, gap, after), IW_OK);
    assert_int_equal(f->in, 3);
    take_event(f, IW_EVENT_PEER_CLOSED, IW_CHECK_NONE);
    no_event(f);
    assert_int_equal(give(f, 0, end), IW_OK); /* repeats of what came before it */
    iw_endpoint_input_end_at(f->ep, FRAME + end, 0);
    no_event(f);
    iw_endpoint_shutdown(f->ep, 0);
    assert_int_equal(iw_endpoint_want(f->ep), IW_WANT_FIN);
    iw_endpoint_fin_sent(f->ep, 0);
    take_event(f, IW_EVENT_CLOSED, IW_CHECK_NONE);
    close_far(f);

    /* In order, its position does not matter but for what it says. */
    f = open_gap(&gap, &after);
    iw_endpoint_input_end_at(f->ep, FRAME + gap, 0);
    take_event(f, IW_EVENT_PEER_CLOSED, IW_CHECK_NONE);
    close_far(f);
}

static void test_fin_in_an_fpdu(void **state)
{
    (void)state;
    size_t gap, after;
    struct far *f = open_gap(&gap, &after);
    iw_endpoint_input_end_at(f->ep, FRAME + after - 4, 0);
    no_event(f);
    assert_int_equal(give(f, gap, after - 4), IW_OK);
    take_event(f, IW_EVENT_FAULT, IW_CHECK_MPA_FIN_INSIDE);
    take_event(f, IW_EVENT_PEER_CLOSED, IW_CHECK_NONE);
    close_far(f);
}

/* Octets at or after the FIN: the connection is aborted (RFC 5041 §6.2.1). */
static void test_octets_behind_fin(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 5; way++) {
        size_t gap, after;
        struct far *f = open_gap(&gap, &after);
        struct iw_event event;
        size_t at = put(f, TO, 600, 1);
        switch (way) {
        case 0: /* it is still ahead */
            iw_endpoint_input_end_at(f->ep, FRAME + after, 0);
            no_event(f);
            assert_int_equal(give(f, at, f->peer.length), IW_OK);
            break;
        case 1: /* it has been reached */
            iw_endpoint_input_end_at(f->ep, FRAME + gap, 0);
            take_event(f, IW_EVENT_PEER_CLOSED, IW_CHECK_NONE);
            assert_int_equal(give(f, 0, after), IW_OK);
            break;
        case 2: /* octets after it are here */
            iw_endpoint_input_end_at(f->ep, FRAME + gap - 1, 0);
            break;
        case 3: /* or held */
            assert_int_equal(give(f, after - 1, f->peer.length), IW_OK);
            iw_endpoint_input_end_at(f->ep, FRAME + after, 0);
            no_event(f);
            assert_int_equal(give(f, gap, after), IW_OK);
            break;
        default: /* the FIN came without a position */
            iw_endpoint_input_end(f->ep, true, 0);
            take_event(f, IW_EVENT_PEER_CLOSED, IW_CHECK_NONE);
            assert_int_equal(give(f, after, f->peer.length), IW_OK);
            break;
        }
        assert_true(iw_endpoint_event(f->ep, &event));
        assert_int_equal(event.kind, IW_EVENT_FAULT);
        assert_int_equal(event.fault.check, IW_CHECK_DDP_AFTER_CLOSE);
        if (way < 2 || way == 4) /* the first octet that should not be */
            assert_int_equal(event.fault.got, f->peer.octets[way == 0   ? at
                                                             : way == 1 ? gap
                                                                        : after]);
        assert_int_equal(iw_endpoint_want(f->ep), IW_WANT_RESET);
        close_far(f);
    }
}

static void test_fin_in_the_start_up(void **state)
{
    (void)state;
    struct far *f = open_far();
    create(f);
    iw_endpoint_input_end_at(f->ep, 12, 0);
    no_event(f);
    assert_int_equal(at_hex(f, 0, "4d504120494420526571204672616d65 40010000"), IW_OK);
    take_event(f, IW_EVENT_FAULT, IW_CHECK_DDP_AFTER_CLOSE);
    close_far(f);

    f = open_far();
    create(f);
    iw_endpoint_input_end_at(f->ep, 12, 0);
    assert_int_equal(at_hex(f, 0, "4d5041204944205265712046"), IW_OK);
    take_event(f, IW_EVENT_FAULT, IW_CHECK_MPA_STARTUP_CUT);
    take_event(f, IW_EVENT_PEER_CLOSED, IW_CHECK_NONE);
    close_far(f);
}

/* After a fault octets are dropped, and the FIN counts at once. */
static void test_after_a_fault(void **state)
{
    (void)state;
    size_t gap, after;
    struct far *f = open_gap(&gap, &after);
    put(f, TO + 1, 40, 1);
    f->peer.octets[gap + 10] ^= 1;
    assert_int_equal(give(f, gap, after), IW_OK);
    take_event(f, IW_EVENT_FAULT, IW_CHECK_MPA_CRC);
    assert_int_equal(give(f, after + 4, f->peer.length), IW_OK);
    assert_int_equal(give(f, after, f->peer.length), IW_OK);
    assert_true(untouched(f));
    drain(f);
    iw_endpoint_fin_sent(f->ep, 0);
    no_event(f);
    iw_endpoint_input_end_at(f->ep, FRAME + f->peer.length, 0);
    take_event(f, IW_EVENT_PEER_CLOSED, IW_CHECK_NONE);
    take_event(f, IW_EVENT_CLOSED, IW_CHECK_NONE);
    close_far(f);
}

/* Octets after a gap are sign of life enough for a peer that is waited for. */
static void test_linger(void **state)
{
    (void)state;
    size_t gap, after;
    struct far *f = open_gap(&gap, &after);
    put(f, TO, 600, 1);
    iw_endpoint_shutdown(f->ep, 0);
    assert_int_equal(iw_endpoint_want(f->ep), IW_WANT_FIN);
    iw_endpoint_fin_sent(f->ep, 0);
    uint64_t deadline = iw_endpoint_deadline(f->ep);
    struct iw_iov in = {f->peer.octets + after, f->peer.length - after};
    assert_int_equal(iw_endpoint_input_at(f->ep, FRAME + after, &in, 1, 1000), IW_OK);
    assert_int_equal(iw_endpoint_deadline(f->ep), deadline + 1000);
    close_far(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_up),          cmocka_unit_test(test_initiator),
        cmocka_unit_test(test_refused),           cmocka_unit_test(test_overlap_closes_a_gap),
        cmocka_unit_test(test_fin_early),         cmocka_unit_test(test_fin_in_an_fpdu),
        cmocka_unit_test(test_octets_behind_fin), cmocka_unit_test(test_fin_in_the_start_up),
        cmocka_unit_test(test_after_a_fault),     cmocka_unit_test(test_linger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
