/* SPDX-License-Identifier: BSD-3-Clause */
#include "seeds.h"

#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "iwarp/rdmap.h"
#include "world.h"

enum { REPLY_MS = 50, MESSAGE = 512 };

void iw_hunt_seeds_add(struct iw_hunt_seeds *seeds, struct iw_hunt_input *input)
{
    seeds->list = iw_got(realloc(seeds->list, (seeds->n + 1) * sizeof(*seeds->list)));
    seeds->list[seeds->n++] = input;
}

void iw_hunt_seeds_free(struct iw_hunt_seeds *seeds)
{
    iw_hunt_inputs_free(seeds->list, seeds->n);
    free(seeds->list);
    *seeds = (struct iw_hunt_seeds){0};
}

/* ---- start-up ---- */

struct start {
    uint8_t flags, revision; /* with IW_MPA_FLAG_S: the block of RFC 6581 */
    uint8_t rtr;             /* IW_MPA_RTR_*; 0: not peer to peer */
    uint16_t private;        /* octets */
};

enum { USUAL = IW_MPA_FLAG_C | IW_MPA_FLAG_S };
static const struct start usual = {.flags = USUAL, .revision = 2};

static struct iw_hunt_input *begin(enum iw_side side, const struct start *how)
{
    struct iw_hunt_input *in = iw_hunt_input_new();
    uint8_t frame[IW_MPA_STARTUP_MAX] = {0};
    bool enhanced = how->flags & IW_MPA_FLAG_S, peer_to_peer = how->rtr != 0;
    struct iw_mpa_enhanced block = {
        .ird = 16, .ord = 16, .peer_to_peer = peer_to_peer, .rtr = how->rtr};
    struct iw_mpa_startup_header header = {
        .flags = how->flags, .revision = how->revision, .pd_length = how->private};

    in->settings[0] =
        IW_FUZZ_CRC | (enhanced ? IW_FUZZ_ENHANCED : 0) | (peer_to_peer ? IW_FUZZ_PEER_TO_PEER : 0);
    memcpy(header.key, iw_hunt_called(side) ? iw_mpa_reply_key : iw_mpa_request_key,
           sizeof(header.key));
    if (iw_hunt_called(side))
        iw_hunt_add_time(in, REPLY_MS); /* until the Request is there */
    if (enhanced) {
        header.pd_length += IW_MPA_ENHANCED_LENGTH;
        iw_wire_put_enhanced(frame + IW_MPA_STARTUP_HEADER, IW_MPA_ENHANCED_LENGTH, &block);
    }
    iw_wire_put_startup(frame, sizeof(frame), &header);
    iw_hunt_add(in, IW_FUZZ_A, frame, IW_MPA_STARTUP_HEADER + header.pd_length);
    iw_hunt_add_time(in, REPLY_MS);
    return in;
}

struct iw_hunt_input *iw_hunt_seed_probe(enum iw_side side)
{
    return begin(side, &usual);
}

/* ---- messages ---- */

static void say(struct iw_hunt_input *in, struct iw_ddp_header header, const void *body,
                size_t length)
{
    uint8_t ulpdu[MESSAGE];
    int n = iw_wire_put_ddp(ulpdu, sizeof(ulpdu), &header);
    if (n < 0 || length > sizeof(ulpdu) - (size_t)n)
        return;
    memcpy(ulpdu + n, body, length);
    uint8_t fpdu[MESSAGE + 16];
    iw_hunt_add(in, IW_FUZZ_A, fpdu, iw_hunt_fpdu(ulpdu, (size_t)n + length, fpdu));
}

static void say_filled(struct iw_hunt_input *in, struct iw_ddp_header header, uint8_t octet,
                       size_t length)
{
    uint8_t payload[64];
    memset(payload, octet, sizeof(payload));
    say(in, header, payload, length);
}

static struct iw_ddp_header untagged(unsigned opcode, uint32_t msn)
{
    return (struct iw_ddp_header){.ddp_control = IW_DDP_L | 1,
                                  .rdmap_control = (uint8_t)(0x40 | opcode),
                                  .qn = iw_rdmap_queue(opcode),
                                  .msn = msn};
}

static struct iw_ddp_header tagged(unsigned opcode, uint32_t stag, uint64_t to)
{
    return (struct iw_ddp_header){.ddp_control = IW_DDP_T | IW_DDP_L | 1,
                                  .rdmap_control = (uint8_t)(0x40 | opcode),
                                  .stag = stag,
                                  .to = to};
}

static void send_message(struct iw_hunt_input *in, unsigned opcode, uint32_t msn, size_t length)
{
    struct iw_ddp_header header = untagged(opcode, msn);

    if (iw_rdmap_invalidates(opcode))
        header.invalidate_stag = IW_HUNT_STAG + 2;
    say_filled(in, header, 0x30, length);
}

static void send_halves(struct iw_hunt_input *in, uint32_t msn)
{
    struct iw_ddp_header header = untagged(IW_OP_SEND, msn);

    header.ddp_control = 1;
    say(in, header, "twelve oct.1", 12);
    header.ddp_control = IW_DDP_L | 1;
    header.mo = 12;
    say(in, header, "twelve oct.1", 12);
}

static void write_message(struct iw_hunt_input *in, unsigned memory, size_t length)
{
    say_filled(in, tagged(IW_OP_WRITE, IW_HUNT_STAG + memory, IW_HUNT_TO(memory)), 0x77, length);
}

static void read_message(struct iw_hunt_input *in, uint32_t msn, unsigned memory, uint32_t size)
{
    struct iw_rdmap_read_request request = {.sink_stag = 0x5117,
                                            .sink_to = 0x1000,
                                            .size = size,
                                            .source_stag = size ? IW_HUNT_STAG + memory : 0,
                                            .source_to = IW_HUNT_TO(memory)};
    uint8_t body[IW_RDMAP_READ_REQUEST];
    iw_wire_put_read_request(body, sizeof(body), &request);
    say(in, untagged(IW_OP_READ_REQUEST, msn), body, sizeof(body));
}

static void answer_read(struct iw_hunt_input *in, size_t length)
{
    say_filled(in, tagged(IW_OP_READ_RESPONSE, IW_HUNT_STAG_ASKED, 0), 0, length);
}

static void atomic_message(struct iw_hunt_input *in, uint32_t msn, uint32_t opcode)
{
    struct iw_rdmap_atomic_request request = {.opcode = opcode,
                                              .request_id = msn,
                                              .remote_stag = IW_HUNT_STAG,
                                              .remote_to = IW_HUNT_TO(0) + 8,
                                              .add_swap_data = 1,
                                              .compare_mask = UINT64_MAX};
    uint8_t body[IW_RDMAP_ATOMIC_REQUEST];
    iw_wire_put_atomic_request(body, sizeof(body), &request);
    say(in, untagged(IW_OP_ATOMIC_REQUEST, msn), body, sizeof(body));
}

static void terminate_message(struct iw_hunt_input *in)
{
    static const uint8_t body[] = {0x02, 0x05, 0x00, 0x00};

    say(in, untagged(IW_OP_TERMINATE, 1), body, sizeof(body));
}

/* ---- the list ---- */

static const struct start kinds[] = {
    {.revision = 1},
    {.revision = 1, .flags = IW_MPA_FLAG_C, .private = 8},
    {.revision = 1, .flags = IW_MPA_FLAG_C | IW_MPA_FLAG_M},
    {.revision = 2, .flags = IW_MPA_FLAG_C},
    {.revision = 2, .flags = USUAL | IW_MPA_FLAG_M, .private = 16},
    {.revision = 2, .flags = USUAL, .rtr = IW_MPA_RTR_SEND},
    {.revision = 2, .flags = USUAL, .rtr = IW_MPA_RTR_WRITE},
    {.revision = 2, .flags = USUAL, .rtr = IW_MPA_RTR_READ},
    {.revision = 2, .flags = USUAL | IW_MPA_FLAG_R}, /* from here on of a Reply */
    {.revision = 1, .flags = IW_MPA_FLAG_R, .private = 8},
};

static void starts(struct iw_hunt_seeds *seeds)
{
    bool initiator = !iw_hunt_called(seeds->side);

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (initiator && kinds[i].flags & IW_MPA_FLAG_R)
            break;
        struct iw_hunt_input *in = begin(seeds->side, &kinds[i]);
        uint8_t rtr = initiator ? kinds[i].rtr : 0; /* else it is the peer's */
        if (rtr == IW_MPA_RTR_WRITE)
            write_message(in, 0, 0);
        if (rtr == IW_MPA_RTR_READ)
            read_message(in, 1, 0, 0);
        send_message(in, IW_OP_SEND, 1, rtr == IW_MPA_RTR_SEND ? 0 : 16);
        if (initiator) {
            iw_hunt_add_time(in, REPLY_MS);
            read_message(in, rtr == IW_MPA_RTR_READ ? 2 : 1, 0, 0);
        }
        iw_hunt_seeds_add(seeds, in);
    }
}

static void operations(struct iw_hunt_seeds *seeds)
{
    enum { KINDS = 13 };

    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct iw_hunt_input *in = begin(seeds->side, &usual);

        if (kind <= 3)
            send_message(in, IW_OP_SEND + kind, 1, 24);
        if (kind == 4)
            send_halves(in, 1);
        if (kind == 5 || kind == 6)
            write_message(in, kind - 5, 32);
        if (kind == 7)
            read_message(in, 1, 1, 64);
        if (kind == 8)
            terminate_message(in);
        if (kind == 9)
            send_message(in, IW_OP_IMMEDIATE, 1, 8);
        if (kind == 10 || kind == 11)
            atomic_message(in, 1, kind == 10 ? IW_ATOMIC_FETCH_ADD : IW_ATOMIC_CMP_SWAP);
        if (kind == 12)
            answer_read(in, 4);
        iw_hunt_add_time(in, REPLY_MS);
        send_message(in, IW_OP_SEND, kind <= 4 || kind == 9 ? 2 : 1, 4);
        iw_hunt_seeds_add(seeds, in);
    }
}

/* Adds conversations with some of everything, like those of an application. */
static void conversations(struct iw_hunt_seeds *seeds)
{
    struct iw_hunt_input *in = begin(seeds->side, &usual);

    for (uint32_t msn = 1; msn <= 4; msn++) {
        send_message(in, IW_OP_SEND, msn, 8 * msn);
        read_message(in, msn, msn & 1, 8 * msn);
        write_message(in, 0, 4 * msn);
    }
    iw_hunt_add_time(in, REPLY_MS);
    send_halves(in, 5);
    iw_hunt_seeds_add(seeds, in);
}

/* Adds messages that need no memory, and can be repeated without end. */
static void empty(struct iw_hunt_seeds *seeds)
{
    struct iw_hunt_input *in = begin(seeds->side, &usual);

    for (uint32_t msn = 1; msn <= 3; msn++) {
        write_message(in, 0, 0);
        read_message(in, msn, 0, 0);
    }
    iw_hunt_add_time(in, REPLY_MS);
    write_message(in, 0, 0);
    iw_hunt_seeds_add(seeds, in);
}

/* Plays the client of rping: it announces a buffer, which the peer reads; then one that the peer
 * writes. */
static void rping(struct iw_hunt_seeds *seeds)
{
    struct iw_hunt_input *in = begin(seeds->side, &usual);
    static const uint8_t advertised[16] = {[9] = 0x10, [11] = 0x01, [15] = 64};

    say(in, untagged(IW_OP_SEND, 1), advertised, sizeof(advertised));
    iw_hunt_add_time(in, REPLY_MS);
    answer_read(in, 64);
    iw_hunt_add_time(in, REPLY_MS);
    say(in, untagged(IW_OP_SEND, 2), advertised, sizeof(advertised));
    iw_hunt_add_time(in, REPLY_MS);
    say(in, untagged(IW_OP_SEND, 3), advertised, sizeof(advertised));
    iw_hunt_seeds_add(seeds, in);
}

void iw_hunt_seeds_generate(struct iw_hunt_seeds *seeds, enum iw_target_class class)
{
    iw_hunt_seeds_add(seeds, begin(seeds->side, &usual));
    starts(seeds);
    operations(seeds);
    conversations(seeds);
    empty(seeds);
    if (class == IW_TARGET_RPING && !iw_hunt_called(seeds->side))
        rping(seeds);
}
