/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The start-up in both roles, twice with the same octets of the peer: as the input cuts them, and
 * octet by octet. Both must give the same result; encoding an accepted frame again must give the
 * octets that came.
 *
 *   settings[1]: IW_MPA_RTR_* and the bits below; [2]: IRD and ORD; [3]: octets of private data
 *   IW_FUZZ_LOCAL: first octet: 0 accept, else reject; then how many octets of private data
 */
#include "engine/fuzz.h"
#include "input/input.h"

#include "iwarp/mpa.h"

#include <string.h>

enum { RESPONDER = 0x08, PERMISSIVE = 0x10, MARKERS = 0x20, RTR_FIRST = 0xc0 };

enum { STREAM = 1 << 12 };

static uint8_t data[IW_MPA_PRIVATE_MAX];

static uint16_t depth(unsigned half)
{
    return (uint16_t)(half == 15 ? IW_MPA_DEPTH_UNSPECIFIED : half);
}

static struct iw_mpa_config configure(const uint8_t *settings)
{
    bool enhanced = (settings[0] & IW_FUZZ_ENHANCED) != 0;
    bool initiator = (settings[1] & RESPONDER) == 0;
    uint8_t rtr = settings[1] & 7;

    return (struct iw_mpa_config){.revision = enhanced                             ? 2
                                              : (settings[0] & IW_FUZZ_OTHER) != 0 ? 0
                                                                                   : 1,
                                  .permissive = (settings[1] & PERMISSIVE) != 0,
                                  .crc = (settings[0] & IW_FUZZ_CRC) != 0,
                                  .markers = (settings[1] & MARKERS) != 0,
                                  .enhanced = enhanced && initiator,
                                  .peer_to_peer = enhanced && initiator &&
                                                  (settings[0] & IW_FUZZ_PEER_TO_PEER) != 0,
                                  .rtr = rtr != 0 ? rtr : 7,
                                  .rtr_first = (uint8_t)(1u << (settings[1] >> 6) & 7u),
                                  .ird = depth(settings[2] & 15),
                                  .ord = depth(settings[2] >> 4)};
}

/* Checks how much of the peer's frame was taken, and the result. */
static void check(const struct iw_mpa_startup *s, const uint8_t *stream, size_t taken)
{
    IW_FUZZ_CHECK(s->state < IW_MPA_FAILED || s->fault.check != IW_CHECK_NONE,
                  "startup: it fails for no reason");
    IW_FUZZ_CHECK(taken <= IW_MPA_STARTUP_MAX, "startup: a frame of %zu octets is taken", taken);
    if (s->state != IW_MPA_REQUESTED && s->state != IW_MPA_FULL)
        return;
    uint8_t again[IW_MPA_STARTUP_HEADER];
    (void)iw_wire_put_startup(again, sizeof(again), &s->peer);
    IW_FUZZ_CHECK(memcmp(again, stream, sizeof(again)) == 0,
                  "startup: the frame, encoded anew, is another");
    const uint8_t *octets;
    size_t length = iw_mpa_startup_private(s, &octets);
    size_t block = IW_MPA_STARTUP_HEADER + s->peer.pd_length - length;
    IW_FUZZ_CHECK(
        block == IW_MPA_STARTUP_HEADER || block == IW_MPA_STARTUP_HEADER + IW_MPA_ENHANCED_LENGTH,
        "startup: %zu octets of private data in a frame with %u", length, s->peer.pd_length);
    IW_FUZZ_CHECK(length == 0 || memcmp(octets, stream + block, length) == 0,
                  "startup: other private data than came");
    if (block > IW_MPA_STARTUP_HEADER) {
        (void)iw_wire_put_enhanced(again, sizeof(again), &s->peer_enhanced);
        IW_FUZZ_CHECK(memcmp(again, stream + IW_MPA_STARTUP_HEADER, IW_MPA_ENHANCED_LENGTH) == 0,
                      "startup: the enhanced block, encoded anew, is another");
    }
    IW_FUZZ_CHECK(s->agreed.ird <= IW_MPA_DEPTH_UNSPECIFIED &&
                      s->agreed.ord <= IW_MPA_DEPTH_UNSPECIFIED && s->agreed.rtr <= 7,
                  "startup: agreed on what no frame can say");
}

/* The frame that this end sends; zeros follow it. */
struct frame {
    size_t length;
    uint8_t octets[IW_MPA_STARTUP_MAX];
};

static void drain(struct iw_mpa_startup *s, struct frame *out)
{
    const uint8_t *octets;
    size_t length;
    while ((length = iw_mpa_startup_output(s, &octets)) > 0) {
        size_t part = length > 7 ? 7 : length;
        IW_FUZZ_CHECK(part <= sizeof(out->octets) - out->length, "startup: too long a frame");
        memcpy(out->octets + out->length, octets, part);
        out->length += part;
        iw_mpa_startup_sent(s, part);
    }
}

static void say(const struct frame *out, bool responder)
{
    if (out->length == 0)
        return;
    struct iw_mpa_startup_header h = {.flags = 0};
    (void)iw_wire_get_startup(out->octets, out->length, &h);
    IW_FUZZ_CHECK(iw_wire_mpa_key(h.key) == (responder ? IW_MPA_KEY_REPLY : IW_MPA_KEY_REQUEST) &&
                      h.pd_length + IW_MPA_STARTUP_HEADER == out->length &&
                      (h.flags & IW_MPA_FLAG_RES) == 0,
                  "startup: a frame is sent that is none");
}

static struct iw_mpa_startup play(struct iw_fuzz_input in, bool by_octets, struct frame *out)
{
    struct iw_mpa_config config = configure(in.settings);
    enum iw_mpa_role role = (in.settings[1] & RESPONDER) != 0 ? IW_MPA_RESPONDER : IW_MPA_INITIATOR;

    memset(out, 0, sizeof(*out));
    struct iw_mpa_startup s = {.role = role};
    if (iw_mpa_startup_init(&s, role, &config, data, role == IW_MPA_INITIATOR ? in.settings[3] : 0,
                            NULL) != 0)
        return s;
    static uint8_t stream[STREAM];
    size_t length = 0, taken = 0;
    struct iw_fuzz_step step;
    while (iw_fuzz_step(&in, &step)) {
        if (role == IW_MPA_INITIATOR || step.kind == IW_FUZZ_LOCAL)
            drain(&s, out);
        if (step.kind == IW_FUZZ_LOCAL) {
            size_t with = iw_fuzz_pair(&step, 1) % (IW_MPA_PRIVATE_MAX + 8u);
            if (with <= sizeof(data))
                (void)((iw_fuzz_octet(&step, 0) & 1) != 0 ? iw_mpa_startup_reject
                                                          : iw_mpa_startup_accept)(&s, data, with);
            drain(&s, out);
        }
        if (step.kind > IW_FUZZ_B)
            continue;
        for (size_t at = 0; at < step.length;) {
            size_t part = by_octets || step.kind == IW_FUZZ_B ? 1 : step.length;
            memcpy(stream + length, step.body + at, part);
            size_t now = iw_mpa_startup_input(&s, iw_fuzz_fenced(step.body + at, part), part);
            IW_FUZZ_CHECK(now <= part, "startup: more octets are taken than came");
            taken += now;
            length += now; /* what is left over is the FPDUs' */
            at += part;
        }
        check(&s, stream, taken);
    }
    drain(&s, out);
    say(out, role == IW_MPA_RESPONDER);
    return s;
}

static void run(const uint8_t *octets, size_t length)
{
    struct iw_fuzz_input in = iw_fuzz_open(octets, length);
    static struct frame out[2];
    struct iw_mpa_startup a = play(in, false, &out[0]);
    struct iw_mpa_startup b = play(in, true, &out[1]);
    IW_FUZZ_CHECK(a.state == b.state && a.fault.check == b.fault.check &&
                      a.fault.pos == b.fault.pos && a.fault.got == b.fault.got &&
                      a.fault.want == b.fault.want && a.in_length == b.in_length,
                  "startup: cut otherwise it ends otherwise (%d %s, %d %s)", a.state,
                  iw_check_info(a.fault.check)->name, b.state, iw_check_info(b.fault.check)->name);
    IW_FUZZ_CHECK(out[0].length == out[1].length &&
                      memcmp(out[0].octets, out[1].octets, out[0].length) == 0,
                  "startup: cut otherwise another frame is sent");
    IW_FUZZ_CHECK(a.agreed.revision == b.agreed.revision && a.agreed.crc == b.agreed.crc &&
                      a.agreed.tx_markers == b.agreed.tx_markers &&
                      a.agreed.rx_markers == b.agreed.rx_markers && a.agreed.ird == b.agreed.ird &&
                      a.agreed.ord == b.agreed.ord && a.agreed.rtr == b.agreed.rtr,
                  "startup: cut otherwise something else is agreed on");
}

const struct iw_fuzz_harness iw_fuzz_harness = {
    .name = "startup", .most = STREAM, .steps = true, .single = true, .run = run};
