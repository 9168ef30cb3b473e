/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of each thing that the observer has seen of the peer. There is no observer: the test
 * tells what one would. */
#include "live_support.h"

#include <stdio.h>

#include "iwarp/transport.h"
#include "iwarp/wire.h"
#include "slot.h"

static struct iw_observer_config config;
static struct iw_hunt_loop loop;
static struct iw_hunt_slot slot;
static uint64_t now;

struct iw_observer *__wrap_iw_observer_new(const struct iw_observer_config *c);
uint64_t __wrap_iw_transport_now(void);

struct iw_observer *__wrap_iw_observer_new(const struct iw_observer_config *c)
{
    config = *c;
    return (struct iw_observer *)&config;
}

uint64_t __wrap_iw_transport_now(void)
{
    return now;
}

static int begin(void **state)
{
    (void)state;
    now = 5000000;
    loop = (struct iw_hunt_loop){.answer_time = 1600};
    slot = (struct iw_hunt_slot){.loop = &loop, .peer = IW_SIDE_RESPONDER, .said = IW_SAID_REQUEST};
    iw_hunt_slot_observe(&slot);
    assert_ptr_equal(slot.observer, &config);
    assert_true(config.crc32c == iw_crc32c_best());
    assert_ptr_equal(config.context, &slot);
    assert_true(config.extensions);
    return 0;
}

/* The peer's side has done this; what is noted of that, if anything. */
static void sees(const struct iw_observation *o, const char *expected)
{
    char text[64] = "";
    struct iw_observation other = *o;

    slot.done.row.n = 0;
    other.side = (enum iw_side)(1 - slot.peer);
    config.seen(&slot, &other); /* what we have said is no answer */
    assert_int_equal(slot.done.row.n, 0);
    other.side = slot.peer;
    config.seen(&slot, &other);
    if (slot.done.row.n) {
        assert_int_equal(slot.done.row.n, 1);
        assert_int_equal(slot.done.row.at[0].stimulus, IW_SAID_REQUEST);
        iw_hunt_code_print(slot.done.row.at[0].code, text, sizeof(text));
    }
    assert_string_equal(text, expected);
}

static void start_up_frames(void **state)
{
    struct iw_observation o = {.kind = IW_OBSERVED_STARTUP,
                               .startup = {.flags = IW_MPA_FLAG_C, .revision = 1},
                               .enhanced = {.peer_to_peer = true, .rtr = IW_MPA_RTR_SEND}};

    (void)state;
    sees(&o, "reply rev 1 C");
    assert_false(slot.known.markers);
    o.startup.flags = IW_MPA_FLAG_S | IW_MPA_FLAG_M;
    o.startup.revision = 2;
    sees(&o, "reply rev 2 M S A send");
    assert_true(slot.known.markers);
    o.enhanced = (struct iw_mpa_enhanced){.rtr = IW_MPA_RTR_WRITE | IW_MPA_RTR_READ};
    sees(&o, "reply rev 2 M S write read");
    slot.peer = IW_SIDE_INITIATOR;
    slot.own = IW_SIDE_RESPONDER;
    o.startup.flags = IW_MPA_FLAG_R;
    sees(&o, "request rev 2 R");
    assert_false(slot.known.markers);
    assert_false(loop.answered);
    assert_int_equal(loop.answer_time, 1600);
}

static void how_long_an_answer_took(void **state)
{
    const struct iw_observation o = {.kind = IW_OBSERVED_STARTUP};

    (void)state;
    slot.asked = 3000000;
    sees(&o, "reply rev 0");
    assert_true(loop.answered);
    assert_int_equal(loop.answer_time, 1500 + 125000);
}

static void messages(void **state)
{
    struct iw_observation o = {.kind = IW_OBSERVED_MESSAGE,
                               .ddp = {.rdmap_control = 0x40 | IW_OP_SEND},
                               .terminate = {.layer = 1, .etype = 2, .code = 3}};

    (void)state;
    sees(&o, "send");
    o.terminate_valid = true;
    sees(&o, "send");
    o.ddp.rdmap_control = 0x40 | IW_OP_TERMINATE;
    sees(&o, "terminate 1/2/03");
    o.terminate_valid = false;
    sees(&o, "terminate");
    o.kind = IW_OBSERVED_SEGMENT;
    sees(&o, "");
    o.kind = IW_OBSERVED_LOST;
    sees(&o, "no FPDU");
}

/* Of the peer's Read Requests the last eight are known. */
static void read_requests(void **state)
{
    struct iw_observation o = {.kind = IW_OBSERVED_MESSAGE,
                               .ddp = {.rdmap_control = 0x40 | IW_OP_READ_REQUEST},
                               .payload_captured = 28};

    (void)state;
    for (unsigned i = 1; i <= 9; i++) {
        o.read_request.sink_stag = 0x100 + i;
        o.read_request.sink_to = 0x1000 * i;
        sees(&o, "read-request");
        assert_int_equal(slot.known.asked, i);
    }
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(slot.known.asked_stag[i], i ? 0x101 + i : 0x109);
        assert_int_equal(slot.known.asked_to[i], i ? 0x1000 * (i + 1) : 0x9000);
    }
    o.payload_captured = 27;
    sees(&o, "read-request");
    o.payload_captured = 28;
    o.ddp.rdmap_control = 0x40 | IW_OP_SEND;
    sees(&o, "send");
    o.ddp.rdmap_control = 0x40 | IW_OP_WRITE;
    sees(&o, "write");
    assert_int_equal(slot.known.asked, 9);
}

static void finds(enum iw_check check, size_t findings)
{
    const struct iw_observation o = {.kind = IW_OBSERVED_FINDING, .fault = {.check = check}};

    sees(&o, "");
    assert_int_equal(slot.done.n_findings, findings);
}

/* Each MUST once, and no more than there is room for. */
static void broken_rules(void **state)
{
    static const enum iw_check checks[] = {IW_CHECK_MPA_REV,  IW_CHECK_MPA_CRC,  IW_CHECK_MPA_PAD,
                                           IW_CHECK_DDP_RSVD, IW_CHECK_DDP_STAG, IW_CHECK_DDP_QN,
                                           IW_CHECK_DDP_MSN,  IW_CHECK_DDP_MO};

    (void)state;
    finds(IW_CHECK_NONE, 0);
    finds(IW_CHECK_DDP_HALF_CLOSE, 0); /* a SHOULD */
    finds(IW_CHECK_MPA_RTR_EXTRA, 0);  /* a MAY */
    for (size_t i = 0; i < 8; i++) {
        finds(checks[i], i + 1);
        finds(checks[i / 2], i + 1);
        assert_int_equal(slot.done.findings[i], checks[i]);
    }
    finds(IW_CHECK_DDP_LAST, 8);
    finds(checks[7], 8);
    assert_false(slot.done.connected || slot.done.requested);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(start_up_frames, begin),
        cmocka_unit_test_setup(how_long_an_answer_took, begin),
        cmocka_unit_test_setup(messages, begin),
        cmocka_unit_test_setup(read_requests, begin),
        cmocka_unit_test_setup(broken_rules, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
