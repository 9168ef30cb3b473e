/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The deframer, thrice with the same stream: in one piece, cut as the input says, and out of order.
 * All three must report the same FPDUs and faults; framing an FPDU without a fault again must give
 * the octets of the stream; an FPDU that was handed out early must be the same in its turn.
 *
 * IW_FUZZ_AT here: how far ahead, then how many of the octets that stand there (2 octets) come.
 * settings[1]: bits below; settings[2..3]: how the third run cuts and orders the stream.
 */
#include "engine/fuzz.h"
#include "input/input.h"

#include "iwarp/mpa.h"
#include "iwarp/octets.h"
#include "iwarp/stream.h"

#include <string.h>

enum { ALWAYS_CRC = 0x01, ALIGNED = 0x02, STRICT = 0x04, NO_EARLY = 0x08, REFUSE_EARLY = 0x10 };

enum { MOST = 1 << 17, LOG = 1 << 22, EARLY = 256 };

/* A report of an FPDU or a fault; an FPDU's ULPDU follows. All members have the same size, so that
 * there is no padding to compare. */
struct entry {
    uint64_t fault; /* enum iw_check, 0: an FPDU */
    uint64_t pos, got, want, header_pos, size, length, markers, crc, good, checked;
};

struct early {
    uint64_t pos;
    uint32_t size, length;
    bool placed;
    const uint8_t *ulpdu; /* in early_octets */
};

static uint8_t stream[MOST];
static size_t stream_length;

/* The first run writes it, the others compare with it. */
static uint8_t log_octets[LOG];
static size_t log_length, log_at;
static bool logging, faulted; /* a fault since the last FPDU */

static struct early early[EARLY];
static size_t early_count, early_used;
static uint8_t early_octets[2 * MOST];

static struct iw_deframer deframer;
static struct iw_deframer_sink sink;
static _Alignas(16) uint8_t buffer[IW_DEFRAMER_BUFFER];
static uint8_t settings[IW_FUZZ_SETTINGS];

static void say(const void *octets, size_t length)
{
    if (logging) {
        IW_FUZZ_CHECK(length <= LOG - log_length, "deframer: more reports than the octets allow");
        memcpy(log_octets + log_length, octets, length);
        log_length += length;
        return;
    }
    IW_FUZZ_CHECK(length <= log_length - log_at && memcmp(log_octets + log_at, octets, length) == 0,
                  "deframer: another segmentation gives another report at octet %zu of the log",
                  log_at);
    log_at += length;
}

/* Checks that framing the FPDU again gives the same; its ULPDU is in the log. */
static void frame_again(const struct iw_fpdu *fpdu, const uint8_t *ulpdu)
{
    if (faulted || fpdu->length == 0 || (deframer.crc ? !fpdu->crc_good : fpdu->crc != 0))
        return;
    struct iw_framer framer;
    iw_framer_init(&framer, deframer.markers, deframer.crc, iw_crc32c_portable, NULL);
    framer.pos = fpdu->pos;
    IW_FUZZ_CHECK(iw_framer_size(&framer, fpdu->length) == fpdu->size,
                  "deframer: an FPDU of %u octets is framed with another size", fpdu->size);
    static uint8_t scratch[IW_FRAMER_SCRATCH];
    static struct iw_iov out[IW_FRAMER_PIECES(1, 65535)];
    struct iw_iov in = {(void *)ulpdu, fpdu->length};
    int pieces = iw_framer_frame(&framer, &in, 1, out, sizeof(out) / sizeof(out[0]), scratch);
    IW_FUZZ_CHECK(pieces > 0, "deframer: a good FPDU of %u octets cannot be framed", fpdu->size);
    const uint8_t *there = stream + fpdu->pos;
    for (int i = 0; i < pieces; i++) {
        IW_FUZZ_CHECK(memcmp(out[i].base, there, out[i].length) == 0,
                      "deframer: the FPDU at %llu is framed with other octets",
                      (unsigned long long)fpdu->pos);
        there += out[i].length;
    }
    IW_FUZZ_CHECK(there == stream + fpdu->pos + fpdu->size, "deframer: framed with another size");
}

static size_t gather(uint8_t *out, const struct iw_fpdu *fpdu)
{
    size_t length = 0;

    for (size_t i = 0; i < fpdu->pieces; i++) {
        memcpy(out + length, fpdu->ulpdu[i].base, fpdu->ulpdu[i].length);
        length += fpdu->ulpdu[i].length;
    }
    return length;
}

static void check_early(const struct iw_fpdu *fpdu, const uint8_t *ulpdu)
{
    for (size_t i = 0; i < early_count; i++) {
        if (early[i].pos != fpdu->pos)
            continue;
        IW_FUZZ_CHECK(early[i].size == fpdu->size && early[i].length == fpdu->length &&
                          memcmp(early[i].ulpdu, ulpdu, fpdu->length) == 0,
                      "deframer: the FPDU at %llu was another one when it came early",
                      (unsigned long long)fpdu->pos);
        /* Once misled, the deframer forgets what it has handed out: the FPDU is placed again. */
        IW_FUZZ_CHECK(fpdu->placed_early == early[i].placed ||
                          (deframer.misled && !fpdu->placed_early),
                      "deframer: it is forgotten what became of an early FPDU");
        return;
    }
    IW_FUZZ_CHECK(!fpdu->placed_early, "deframer: an FPDU placed early that was never shown");
}

static int on_fpdu(void *context, const struct iw_fpdu *fpdu)
{
    struct entry e = {.pos = fpdu->pos,
                      .header_pos = fpdu->header_pos,
                      .size = fpdu->size,
                      .length = fpdu->length,
                      .markers = fpdu->markers,
                      .crc = fpdu->crc,
                      .good = fpdu->crc_good,
                      .checked = fpdu->crc_checked};

    (void)context;
    IW_FUZZ_CHECK(fpdu->pos + fpdu->size <= stream_length,
                  "deframer: an FPDU that has not come whole");
    static uint8_t ulpdu[MOST];
    IW_FUZZ_CHECK(gather(ulpdu, fpdu) == fpdu->length, "deframer: pieces of another length");
    say(&e, sizeof(e));
    say(ulpdu, fpdu->length);
    if (logging)
        frame_again(fpdu, ulpdu);
    check_early(fpdu, ulpdu);
    faulted = false;
    return 0;
}

static int on_check(void *context, const struct iw_fault *fault)
{
    struct entry e = {
        .fault = fault->check, .pos = fault->pos, .got = fault->got, .want = fault->want};

    (void)context;
    IW_FUZZ_CHECK(fault->check != IW_CHECK_NONE && fault->pos <= stream_length,
                  "deframer: a fault of nothing");
    say(&e, sizeof(e));
    faulted = true;
    return (settings[1] & STRICT) != 0;
}

static bool on_early(void *context, const struct iw_fpdu *fpdu)
{
    (void)context;
    IW_FUZZ_CHECK(fpdu->crc_good && fpdu->crc_checked && !fpdu->placed_early && fpdu->length > 0 &&
                      fpdu->length <= IW_MPA_ULPDU_MAX,
                  "deframer: an early FPDU that is not sure");
    IW_FUZZ_CHECK(fpdu->pos > deframer.next && fpdu->pos + fpdu->size <= stream_length,
                  "deframer: an early FPDU at %llu", (unsigned long long)fpdu->pos);
    for (size_t i = 0; i < early_count; i++)
        IW_FUZZ_CHECK(early[i].pos != fpdu->pos, "deframer: an FPDU came early twice");
    if (early_count == EARLY || fpdu->length > sizeof(early_octets) - early_used)
        return false; /* it is not in the list, and thus must not be called placed */
    struct early *e = &early[early_count++];
    *e = (struct early){.pos = fpdu->pos, .size = fpdu->size, .length = fpdu->length};
    e->ulpdu = early_octets + early_used;
    e->placed = (settings[1] & REFUSE_EARLY) == 0 || (early_count & 1) != 0;
    IW_FUZZ_CHECK(gather(early_octets + early_used, fpdu) == fpdu->length,
                  "deframer: early pieces of another length");
    early_used += fpdu->length;
    return e->placed;
}

static void begin(bool with_early)
{
    sink = (struct iw_deframer_sink){
        .fpdu = on_fpdu, .check = on_check, .early = with_early ? on_early : NULL};
    iw_deframer_init(&deframer, &sink, (settings[0] & IW_FUZZ_MARKERS_A) != 0,
                     (settings[0] & IW_FUZZ_CRC) != 0, iw_crc32c_portable, 0, buffer,
                     sizeof(buffer));
    deframer.always_crc = (settings[1] & ALWAYS_CRC) != 0;
    deframer.aligned = (settings[1] & ALIGNED) != 0;
    log_at = 0;
    faulted = false;
    early_count = early_used = 0;
}

/* Feeds octets of the stream, as one or more pieces. */
static int feed(size_t from, size_t length, size_t cut)
{
    uint8_t *octets = (uint8_t *)(uintptr_t)iw_fuzz_fenced(stream + from, length);
    size_t first = cut < length ? cut : length;
    struct iw_iov in[2] = {{octets, first}, {octets + first, length - first}};

    return iw_deframer_input(&deframer, from, in, first < length ? 2 : 1);
}

/* Checks the end, when everything has come. */
static void finish(uint64_t next, uint64_t fpdus)
{
    IW_FUZZ_CHECK(log_at == log_length, "deframer: another segmentation reports less");
    IW_FUZZ_CHECK(deframer.next == next && deframer.fpdus == fpdus,
                  "deframer: another segmentation ends elsewhere");
    IW_FUZZ_CHECK(deframer.stopped || iw_deframer_edge(&deframer) == stream_length,
                  "deframer: octets are missing at the end");
}

static void collect(struct iw_fuzz_input in)
{
    stream_length = 0;
    struct iw_fuzz_step step;
    while (iw_fuzz_step(&in, &step)) {
        if (step.kind != IW_FUZZ_A && step.kind != IW_FUZZ_B)
            continue;
        memcpy(stream + stream_length, step.body, step.length);
        stream_length += step.length;
    }
}

/* Feeds the stream with the input's cuts, repeats and early octets. */
static void run_steps(struct iw_fuzz_input in)
{
    begin((settings[1] & NO_EARLY) == 0);
    struct iw_fuzz_step step;
    size_t at = 0;
    while (iw_fuzz_step(&in, &step)) {
        if (step.kind == IW_FUZZ_A) {
            feed(at, step.length, step.length);
            at += step.length;
        } else if (step.kind == IW_FUZZ_B) {
            for (size_t i = 0; i < step.length; i++)
                feed(at++, 1, 1);
        } else if (step.kind == IW_FUZZ_AT) {
            uint64_t from = iw_fuzz_at(&step, at);
            size_t length = iw_fuzz_pair(&step, 0);
            if (from < stream_length)
                feed((size_t)from, length < stream_length - from ? length : stream_length - from,
                     length / 3);
        }
    }
}

/* Feeds the stream out of order by random numbers, then the rest in order. */
static void run_shuffled(void)
{
    uint64_t random = iw_get16(settings + 2) + 1u;
    size_t at = 0;

    begin((settings[1] & NO_EARLY) == 0);
    while (at < stream_length) {
        size_t most = 1 + iw_fuzz_next(&random) % 2000, left = stream_length - at;
        size_t length = 1 + iw_fuzz_next(&random) % most;
        if (iw_fuzz_next(&random) % 2 != 0) {
            size_t from = at + iw_fuzz_next(&random) % left;
            if (length > stream_length - from)
                length = stream_length - from;
            feed(from, length, iw_fuzz_next(&random) % (length + 1));
            continue;
        }
        length = length < left ? length : left;
        size_t back = iw_fuzz_next(&random) % 4 != 0 ? 0 : iw_fuzz_next(&random) % (at + 1);
        int result = feed(at - back, length + back, iw_fuzz_next(&random) % (length + back + 1));
        IW_FUZZ_CHECK(result == 0 || result == -1, "deframer: octets in order are refused");
        at += length;
    }
}

static void run(const uint8_t *octets, size_t length)
{
    struct iw_fuzz_input in = iw_fuzz_open(octets, length);

    memcpy(settings, in.settings, sizeof(settings));
    collect(in);
    logging = true;
    log_length = 0;
    begin(false);
    feed(0, stream_length, stream_length);
    logging = false;
    uint64_t next = deframer.next, fpdus = deframer.fpdus;
    bool boundary = iw_deframer_end(&deframer, stream_length);
    IW_FUZZ_CHECK(deframer.stopped || iw_deframer_edge(&deframer) == stream_length,
                  "deframer: not everything was taken");

    run_steps(in);
    finish(next, fpdus);
    IW_FUZZ_CHECK(deframer.stopped || iw_deframer_end(&deframer, stream_length) == boundary,
                  "deframer: another segmentation ends on another boundary");
    run_shuffled();
    finish(next, fpdus);
}

const struct iw_fuzz_harness iw_fuzz_harness = {
    .name = "deframer", .most = MOST, .steps = true, .single = true, .run = run};
