/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes up a capture of RDMA Writes and Reads, or Sends, over many connections, and writes it on
 * the fly. */
#include "perf_loop.h"
#include "standard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/complain.h"
#include "host/text.h"
#include "iwarp/capture.h"
#include "iwarp/mpa.h"
#include "iwarp/rdmap.h"
#include "iwarp/wire.h"

enum { PIECES = IW_FRAMER_PIECES(2, IW_MPA_ULPDU_MAX), PATTERN = 1 << 16 };
enum { BUFFER_STAG = 0x1000, SINK_STAG = 0x2000 };

#define START UINT64_C(1700000000000000000) /* of the capture, ns */
#define NS_PER_OCTET UINT64_C(1)            /* about 8 Gbit/s */

enum phase { WRITE, READ_REQUEST, READ_RESPONSE, SEND };

struct flow {
    int tcp;
    enum phase phase;
    uint64_t at;   /* octets of the message in progress that were sent */
    uint64_t left; /* messages */
    uint32_t reads, sends;
    struct iw_framer framer[2];
    uint8_t *rest[2]; /* octets that fill no segment yet */
    size_t n_rest[2];
};

struct record {
    const struct iw_loop_options *options;
    struct iw_synth *synth;
    struct flow *flows;
    uint64_t now;
    uint32_t mulpdu;
    struct iw_iov pieces[PIECES];
    uint8_t scratch[IW_FRAMER_SCRATCH];
    uint8_t segment[2 * 65535];
    uint8_t *rests;
    uint8_t pattern[PATTERN + 65535];
};

static void send_octets(struct record *r, const struct flow *f, unsigned side, size_t length)
{
    if (length == 0)
        return;
    r->now += length * NS_PER_OCTET;
    (void)iw_synth_data(r->synth, f->tcp, side, START + r->now, r->segment, length);
}

static void send_startup(struct record *r, const struct flow *f, unsigned side)
{
    const struct iw_loop_options *o = r->options;
    struct iw_mpa_startup_header header = {
        .flags = (uint8_t)((o->crc ? IW_MPA_FLAG_C : 0) | (o->markers ? IW_MPA_FLAG_M : 0)),
        .revision = 1};

    memcpy(header.key, side == 0 ? iw_mpa_request_key : iw_mpa_reply_key, sizeof(header.key));
    send_octets(r, f, side, (size_t)iw_wire_put_startup(r->segment, sizeof(r->segment), &header));
}

/* Sends one FPDU, as a segment of its own if no size of FPDUs was given; else whole segments, and
 * the rest waits for more. */
static void send_fpdu(struct record *r, struct flow *f, unsigned side,
                      const struct iw_ddp_header *header, const uint8_t *payload, size_t length)
{
    size_t at = f->n_rest[side], mss = (size_t)r->options->mss;
    uint8_t ddp[IW_DDP_UNTAGGED_HEADER];
    int n = iw_wire_put_ddp(ddp, sizeof(ddp), header);
    const struct iw_iov ulpdu[2] = {{ddp, (size_t)n}, {(void *)(uintptr_t)payload, length}};
    memcpy(r->segment, f->rest[side], at);
    n = iw_framer_frame(&f->framer[side], ulpdu, length > 0 ? 2 : 1, r->pieces, PIECES, r->scratch);
    for (int i = 0; i < n; i++) {
        memcpy(r->segment + at, r->pieces[i].base, r->pieces[i].length);
        at += r->pieces[i].length;
    }
    size_t whole = r->options->fpdu > 0 ? at / mss * mss : at;
    send_octets(r, f, side, whole);
    f->n_rest[side] = at - whole;
    memcpy(f->rest[side], r->segment + whole, at - whole);
}

/* Sends the next segment of a message with this header, except what depends on its place. Returns
 * true if it is the message's last. */
static bool send_part(struct record *r, struct flow *f, unsigned side, struct iw_ddp_header header)
{
    bool tagged = (header.ddp_control & IW_DDP_T) != 0;
    uint64_t room = r->mulpdu - (tagged ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER);
    uint64_t left = r->options->size - f->at;
    bool last = left <= room;
    size_t length = (size_t)(last ? left : room);
    if (last)
        header.ddp_control |= IW_DDP_L;
    if (tagged)
        header.to = f->at;
    else
        header.mo = (uint32_t)f->at;
    send_fpdu(r, f, side, &header, r->pattern + f->at % PATTERN, length);
    f->at = last ? 0 : f->at + length;
    return last;
}

static bool send_tagged(struct record *r, struct flow *f, unsigned side, unsigned opcode,
                        uint32_t stag)
{
    return send_part(r, f, side,
                     (struct iw_ddp_header){.ddp_control = IW_DDP_T | 1,
                                            .rdmap_control = (uint8_t)(1u << 6 | opcode),
                                            .stag = stag});
}

static void send_request(struct record *r, struct flow *f)
{
    const struct iw_rdmap_read_request request = {
        .sink_stag = SINK_STAG, .size = (uint32_t)r->options->size, .source_stag = BUFFER_STAG};
    const struct iw_ddp_header header = {.ddp_control = IW_DDP_L | 1,
                                         .rdmap_control = 1u << 6 | IW_OP_READ_REQUEST,
                                         .qn = 1,
                                         .msn = ++f->reads};
    uint8_t octets[IW_RDMAP_READ_REQUEST];
    (void)iw_wire_put_read_request(octets, sizeof(octets), &request);
    send_fpdu(r, f, 0, &header, octets, sizeof(octets));
}

/* Sends one segment of this connection: of a Send, or of a Write, the Read Request after it, or the
 * response. */
static void step(struct record *r, struct flow *f)
{
    const struct iw_ddp_header send = {
        .ddp_control = 1, .rdmap_control = 1u << 6 | IW_OP_SEND, .msn = f->sends + 1};
    switch (f->phase) {
    case WRITE:
        if (send_tagged(r, f, 0, IW_OP_WRITE, BUFFER_STAG)) {
            f->left--;
            f->phase = r->options->traffic == IW_LOOP_WRITES ? WRITE : READ_REQUEST;
        }
        break;
    case SEND:
        if (send_part(r, f, 0, send)) {
            f->left--;
            f->sends++;
        }
        break;
    case READ_REQUEST:
        send_request(r, f);
        f->phase = READ_RESPONSE;
        break;
    case READ_RESPONSE:
        if (send_tagged(r, f, 1, IW_OP_READ_RESPONSE, SINK_STAG)) {
            f->left = f->left > 0 ? f->left - 1 : 0;
            f->phase = WRITE;
        }
        break;
    }
}

static bool done(const struct flow *f)
{
    return f->left == 0 && f->at == 0 && (f->phase == WRITE || f->phase == SEND);
}

static bool open_flow(struct record *r, uint64_t number, uint64_t messages)
{
    const struct iw_loop_options *o = r->options;
    struct flow *f = &r->flows[number];
    struct iw_synth_tcp tcp = {
        .address = {{.family = 4, .octets = {10, 0, 0, (uint8_t)(1 + number / 50000)}},
                    {.family = 4, .octets = {10, 1, 0, 1}}},
        .port = {(uint16_t)(10000 + number % 50000), (uint16_t)o->port},
        .isn = {(uint32_t)(number * 2654435761u), (uint32_t)(number * 40503u)},
        .mss = (uint16_t)o->mss};
    struct iw_synth_span span;
    f->tcp = iw_synth_connect(r->synth, &tcp, START + r->now, &span);
    if (f->tcp < 0)
        return false;
    f->left = messages;
    f->phase = o->traffic == IW_LOOP_SENDS ? SEND : WRITE;
    for (unsigned side = 0; side < 2; side++) {
        f->rest[side] = r->rests + (2 * number + side) * o->mss;
        iw_framer_init(&f->framer[side], o->markers, o->crc, iw_crc32c_best(), NULL);
        send_startup(r, f, side);
    }
    return true;
}

static bool write_all(struct record *r)
{
    const struct iw_loop_options *o = r->options;
    uint64_t messages = (o->total / o->size + o->connections - 1) / o->connections;
    for (uint64_t i = 0; i < o->connections; i++)
        if (!open_flow(r, i, messages > 0 ? messages : 1))
            return false;
    uint64_t open;
    do {
        open = 0;
        for (uint64_t i = 0; i < o->connections; i++) {
            struct flow *f = &r->flows[i];
            for (uint64_t n = 0; n < o->burst && !done(f); n++)
                step(r, f);
            open += !done(f);
        }
    } while (open > 0 && !iw_synth_full(r->synth) && !iw_standard_interrupted());
    for (uint64_t i = 0; i < o->connections; i++)
        for (unsigned side = 0; side < 2; side++) {
            const struct flow *f = &r->flows[i];
            memcpy(r->segment, f->rest[side], f->n_rest[side]);
            send_octets(r, f, side, f->n_rest[side]);
            (void)iw_synth_fin(r->synth, f->tcp, side, START + r->now);
        }
    return true;
}

int iw_record_run(const struct iw_loop_options *options)
{
    char error[IW_CAPTURE_ERROR];
    struct record *r = iw_got(calloc(1, sizeof(*r)));
    r->options = options;
    uint64_t emss = options->fpdu > 0 ? options->fpdu : options->mss;
    r->mulpdu = iw_wire_mulpdu((uint32_t)emss, options->markers);
    r->flows = iw_got(calloc(options->connections, sizeof(*r->flows)));
    r->rests = iw_got(calloc(options->connections, 2 * options->mss));
    for (size_t i = 0; i < sizeof(r->pattern); i++)
        r->pattern[i] = (uint8_t)(i % PATTERN * 31 + i % PATTERN / 257);
    iw_standard_catch_interrupt();
    r->synth = iw_synth_stream(options->path, "iwarp-perf " IW_VERSION, NULL, error);
    int status = r->synth != NULL ? IW_EXIT_GOOD : IW_EXIT_OUTPUT;
    if (r->synth != NULL) {
        if (!write_all(r)) {
            snprintf(error, sizeof(error), "%s: out of memory", options->path);
            status = IW_EXIT_TESTER;
        }
        if (!iw_synth_finish(r->synth, error))
            status = IW_EXIT_OUTPUT;
    }
    if (status == IW_EXIT_GOOD)
        printf("%s: %" PRIu64 " frames, %" PRIu64 " connection%s\n", options->path,
               iw_synth_frames(r->synth), options->connections,
               iw_text_plural(options->connections));
    else
        iw_complain("%s", error);
    iw_synth_free(r->synth);
    free(r->flows);
    free(r->rests);
    free(r);
    if (status == IW_EXIT_GOOD && iw_standard_interrupted())
        status = IW_EXIT_INTERRUPTED;
    return status;
}
