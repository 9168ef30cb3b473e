/* SPDX-License-Identifier: BSD-3-Clause */
#include "observer_support.h"

#include <stdlib.h>

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    assert_true(c >= 'a' && c <= 'f');
    return c - 'a' + 10;
}

size_t hex_octets(uint8_t *out, const char *hex)
{
    size_t n = 0;

    for (; *hex; hex++) {
        if (*hex == ' ')
            continue;
        out[n++] = (uint8_t)(digit(hex[0]) << 4 | digit(hex[1]));
        hex++;
    }
    return n;
}

static uint32_t slow_crc(const uint8_t *octets, size_t length)
{
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < length; i++) {
        crc ^= octets[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
    }
    return ~crc;
}

/* `marker`: one stands in front. */
static size_t frame(uint8_t *out, bool marker, const uint8_t *ulpdu, size_t length)
{
    size_t n = 0;

    for (; marker && n < 4; n++)
        out[n] = 0;
    out[n++] = (uint8_t)(length >> 8);
    out[n++] = (uint8_t)length;
    if (length > 0)
        memcpy(out + n, ulpdu, length);
    n += length;
    while (n % 4)
        out[n++] = 0;
    uint32_t crc = slow_crc(out, n);
    for (int i = 0; i < 4; i++)
        out[n++] = (uint8_t)(crc >> 8 * i);
    return n;
}

size_t make_fpdu(uint8_t *out, const uint8_t *ulpdu, size_t length)
{
    return frame(out, false, ulpdu, length);
}

/* FNV-1a, of values instead of octets. */
static uint32_t digest(const struct iw_observation *o)
{
    const struct iw_rdmap_read_request *r = &o->read_request;
    const struct iw_rdmap_atomic_request *a = &o->atomic_request;
    const struct iw_rdmap_terminate *t = &o->terminate;
    const uint64_t values[] = {o->frame_length,
                               o->startup.flags,
                               o->startup.revision,
                               o->startup.pd_length,
                               o->enhanced.peer_to_peer,
                               o->enhanced.rtr,
                               o->enhanced.ird,
                               o->enhanced.ord,
                               o->fpdu != NULL ? o->fpdu->crc_checked : 0,
                               o->ddp.stag,
                               o->ddp.to,
                               o->ddp.invalidate_stag,
                               o->ddp.qn,
                               o->ddp.msn,
                               o->ddp.mo,
                               o->ulpdu_length,
                               o->ulpdu_captured,
                               o->payload != NULL,
                               o->payload_captured,
                               r->sink_stag,
                               r->sink_to,
                               r->size,
                               a->opcode,
                               a->request_id,
                               o->atomic_response.request_id,
                               o->atomic_response.original_value,
                               t->layer,
                               t->etype,
                               t->code,
                               t->flags,
                               t->segment_length,
                               o->terminate_valid,
                               o->provoked_by != NULL ? o->provoked_by->pos : 0,
                               o->partial};
    uint32_t value = UINT32_C(0x811c9dc5);

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        value = (value ^ (uint32_t)(values[i] ^ values[i] >> 32)) * UINT32_C(0x01000193);
    return value;
}

static void see(void *context, const struct iw_observation *o)
{
    struct rig *rig = context;
    struct seen *s = &rig->seen[rig->n++];

    assert_true(rig->n < SEEN_MAX);
    *s = (struct seen){.kind = o->kind,
                       .side = o->side,
                       .pos = o->pos,
                       .end = o->end,
                       .fault = o->fault,
                       .opcode = iw_rdmap_op(&o->ddp),
                       .tagged = iw_ddp_tagged(&o->ddp),
                       .meant_msn = o->meant_msn,
                       .payload_length = o->payload_length,
                       .message_length = o->message_length,
                       .segments = o->segments,
                       .found_by = o->found_by,
                       .cause = o->cause,
                       .detail = digest(o)};
    if (o->kind == IW_OBSERVED_SEGMENT) {
        assert_true(!o->fpdu == rig->told[o->side]);
        assert_true(o->payload_length <= o->ulpdu_length);
    }
    if (o->kind == IW_OBSERVED_MESSAGE) {
        rig->read_request = o->read_request;
        rig->atomic_request = o->atomic_request;
        rig->atomic_response = o->atomic_response;
        rig->terminate = o->terminate;
    }
}

/* Blocks are exactly as large as asked for, so that AddressSanitizer sees a stray access. */
static void *lend(void *context, size_t size)
{
    struct rig *rig = context;

    assert_true(size <= IW_OBSERVER_BLOCK);
    if (rig->lent + size > rig->limit)
        return NULL;
    rig->lent += size;
    rig->lent_ever += size;
    return malloc(size);
}

static void give_back(void *context, void *block, size_t size)
{
    struct rig *rig = context;

    rig->lent -= size;
    free(block);
}

static struct rig *make(bool initiator_told, bool responder_told, bool extensions, bool no_quirks,
                        bool intact)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    struct iw_observer_config config = {.crc32c = iw_crc32c_portable,
                                        .context = rig,
                                        .seen = see,
                                        .lend = lend,
                                        .give_back = give_back,
                                        .scratch = malloc(iw_observer_scratch_size()),
                                        .told = {initiator_told, responder_told},
                                        .extensions = extensions,
                                        .no_quirks = no_quirks,
                                        .intact = intact};

    assert_non_null(rig);
    rig->told[0] = initiator_told;
    rig->told[1] = responder_told;
    rig->random = 1;
    rig->limit = SIZE_MAX;
    rig->scratch = config.scratch;
    rig->observer = iw_observer_init(malloc(iw_observer_size()), iw_observer_size(), &config);
    assert_non_null(rig->observer);
    return rig;
}

struct rig *rig_new(bool initiator_told, bool responder_told)
{
    return make(initiator_told, responder_told, true, false, false);
}

struct rig *rig_new_plain(void)
{
    return make(false, false, false, false, false);
}

struct rig *rig_new_without_quirks(void)
{
    return make(false, false, true, true, false);
}

struct rig *rig_new_intact(void)
{
    return make(false, false, true, false, true);
}

void rig_free(struct rig *rig)
{
    iw_observer_drop(rig->observer);
    assert_int_equal(rig->lent, 0);
    free(rig->observer);
    free(rig->scratch);
    free(rig);
}

/* A copy of its own, so that a stray read is seen by AddressSanitizer. */
static int give(struct rig *rig, enum iw_side side, uint64_t pos, const uint8_t *octets,
                size_t length)
{
    uint8_t *copy = malloc(length);
    assert_non_null(copy);
    memcpy(copy, octets, length);
    int result = iw_observer_input(rig->observer, side, pos, copy, length);
    free(copy);
    return result;
}

static uint32_t random_below(struct rig *rig, uint32_t n)
{
    rig->random = rig->random * 1664525 + 1013904223;
    return (rig->random >> 8) % n;
}

enum { PARTS = 24 };

static void feed_shuffled(struct rig *rig, enum iw_side side, uint64_t pos, const uint8_t *octets,
                          size_t length)
{
    size_t from[PARTS + 1];
    size_t order[PARTS] = {0};
    size_t parts = 0;

    for (size_t at = 0; at < length;) {
        size_t left = length - at;
        from[parts++] = at;
        at += parts == PARTS ? left : 1 + random_below(rig, (uint32_t)(left / 2 + 1));
    }
    from[parts] = length;
    for (size_t i = 0; i < parts; i++) {
        size_t k = random_below(rig, (uint32_t)i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (size_t i = 0; i < parts; i++) {
        /* Parts overlap by one octet. */
        size_t begin = from[order[i]];
        size_t end = from[order[i] + 1] + (order[i] + 1 < parts);
        (void)give(rig, side, pos + begin, octets + begin, end - begin);
    }
}

void rig_feed(struct rig *rig, enum iw_side side, const uint8_t *octets, size_t length)
{
    uint64_t pos = rig->next[side];

    rig->start[side] = pos;
    rig->next[side] += length;
    if (rig->feeding == FEED_SHUFFLED) {
        feed_shuffled(rig, side, pos, octets, length);
        return;
    }
    size_t part = rig->feeding == FEED_OCTETS ? 1 : length;
    for (size_t at = 0; at < length; at += part)
        (void)give(rig, side, pos + at, octets + at, part);
}

void rig_step(struct rig *rig, const char *step)
{
    static const char letters[] = "iIXFKMrRYGLN";
    const char *letter = strchr(letters, step[0]);
    assert_non_null(letter);
    enum iw_side side = letter - letters < 6 ? IW_SIDE_INITIATOR : IW_SIDE_RESPONDER;
    uint8_t *octets = malloc(STEP_MAX);
    uint8_t *fpdu = malloc(STEP_MAX);
    assert_non_null(octets);
    assert_non_null(fpdu);
    size_t length = hex_octets(octets, step + 1);

    switch ((letter - letters) % 6) {
    case 0:
        if (rig->told[side])
            iw_observer_told_startup(rig->observer, side, octets, length);
        else
            rig_feed(rig, side, octets, length);
        break;
    case 1:
    case 2:
    case 5:
        if (rig->told[side]) {
            iw_observer_told_segment(rig->observer, side, octets, length,
                                     (letter - letters) % 6 == 2);
            break;
        }
        length = frame(fpdu, (letter - letters) % 6 == 5, octets, length);
        if ((letter - letters) % 6 == 2)
            fpdu[length - 1] ^= 1;
        rig_feed(rig, side, fpdu, length);
        break;
    default:
        rig->start[side] = rig->next[side];
        if (rig->told[side])
            iw_observer_told_end(rig->observer, side, (letter - letters) % 6 == 4);
        else
            iw_observer_end(rig->observer, side, rig->next[side], (letter - letters) % 6 == 4);
        break;
    }
    free(octets);
    free(fpdu);
}

size_t rig_count(const struct rig *rig, enum iw_observed kind)
{
    size_t n = 0;

    for (size_t i = 0; i < rig->n; i++)
        n += rig->seen[i].kind == kind;
    return n;
}

const struct seen *rig_get(const struct rig *rig, enum iw_observed kind, size_t index)
{
    for (size_t i = 0; i < rig->n; i++)
        if (rig->seen[i].kind == kind && index-- == 0)
            return &rig->seen[i];
    fail_msg("no such observation");
    return NULL;
}

void rig_play(struct rig *rig, const char *const *steps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rig_step(rig, steps[i]);
}

void rig_expect_message(const struct rig *rig, size_t index, enum iw_side side, unsigned opcode,
                        uint64_t pos, uint64_t end, uint64_t length, uint32_t segments)
{
    const struct seen *m = rig_get(rig, IW_OBSERVED_MESSAGE, index);

    assert_int_equal(m->side, side);
    assert_int_equal(m->opcode, opcode);
    assert_int_equal(m->pos, pos);
    assert_int_equal(m->end, end);
    assert_int_equal(m->message_length, length);
    assert_int_equal(m->segments, segments);
}
