/* SPDX-License-Identifier: BSD-3-Clause */
#include "range.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* RFC 5044 §7.1.1 and RFC 6581 §9. */
enum {
    KEY = 16,
    FLAGS = 16,
    REVISION = 17,
    PD_LENGTH = 18,
    FLAG_M = 0x80,
    FLAG_C = 0x40,
    FLAG_R = 0x20,
    FLAG_S = 0x10,
    BLOCK = 4,
    TOP = 0x8000,    /* A, or C */
    SECOND = 0x4000, /* B, or D */
    DEPTH = 0x3fff,  /* IRD and ORD; all ones: left to the ULP */
    MEMORY = 65536,
    PLAIN = 1,
    ENHANCED = 2
};

static const uint8_t request_key[KEY + 1] = "MPA ID Req Frame",
                                       reply_key[KEY + 1] = "MPA ID Rep Frame";

/* ---- private data ---- */

static void range_keep_private(struct range_conn *c, const uint8_t *data, size_t length)
{
    enum { USUAL = 64 };
    size_t room = range_bug(RANGE_BUG_PRIVATE_HEAP) ? USUAL : RANGE_PRIVATE;
    c->private = malloc(room);
    if (c->private != NULL)
        memcpy(c->private, data, length);
}

static void range_read_reply(const uint8_t *data, size_t length)
{
    enum { USUAL = 32 };
    uint8_t usual[USUAL], sum = 0;
    if (range_bug(RANGE_BUG_REPLY_STACK)) {
        memcpy(usual, data, length);
        for (size_t i = 0; i < length && i < sizeof(usual); i++)
            sum ^= ((volatile uint8_t *)usual)[i];
    }
    (void)sum;
}

/* ---- a Request ---- */

static bool range_check_revision(unsigned revision)
{
    if (revision > ENHANCED && range_bug(RANGE_BUG_REVISION_ASSERT)) {
        /* As assert() does it, in builds without assertions, too. */
        fprintf(stderr, "iwarp-range: %s:%d: %s: Assertion `revision <= ENHANCED' failed.\n",
                __FILE__, __LINE__, __func__);
        abort();
    }
    return revision == PLAIN || revision == ENHANCED;
}

/* Returns how many octets of our memory each of the peer's Reads may ask for at a time. */
static uint32_t range_share_memory(uint32_t ird)
{
    if (ird == 0 && !range_bug(RANGE_BUG_IRD_DIVIDE))
        return MEMORY;
    return MEMORY / ird;
}

/* Fills the block of a Reply: everything that the Request asks for, within our depth. */
static void answer_block(struct range_conn *c, const uint8_t *asked, uint8_t *block)
{
    uint32_t first = range_get16(asked), second = range_get16(asked + 2);
    uint32_t ird = first & DEPTH, ord = second & DEPTH;
    uint32_t own_ord = ird == DEPTH || ird < RANGE_IRD ? ird : RANGE_IRD;
    uint32_t own_ird = ord == DEPTH ? DEPTH : RANGE_IRD;
    uint32_t high = 0, low = 0;
    (void)range_share_memory(ird);
    if (first & TOP) {
        high = TOP | (first & SECOND);
        low = second & (TOP | SECOND);
        if (high == TOP && low == 0) { /* it names no form: ours */
            high |= SECOND;
            low = TOP | SECOND;
        }
        c->rtr = (uint8_t)((high & SECOND ? 1 : 0) | (low & TOP ? 2 : 0) | (low & SECOND ? 4 : 0));
    }
    range_put16(block, high | own_ird);
    range_put16(block + 2, low | own_ord);
}

static void reply(struct range_conn *c, const uint8_t *frame, size_t length)
{
    uint8_t out[RANGE_STARTUP + BLOCK] = {0};
    bool enhanced = frame[REVISION] == ENHANCED && frame[FLAGS] & FLAG_S;
    size_t size = RANGE_STARTUP + (enhanced ? BLOCK : 0);
    memcpy(out, reply_key, KEY);
    out[FLAGS] = FLAG_C;
    out[REVISION] = frame[REVISION];
    if (enhanced) {
        out[FLAGS] |= FLAG_S;
        out[PD_LENGTH + 1] = BLOCK;
        answer_block(c, frame + RANGE_STARTUP, out + RANGE_STARTUP);
    }
    range_keep_private(c, frame + RANGE_STARTUP, length - RANGE_STARTUP);
    range_conn_queue(c, out, size);
}

void range_startup_request(struct range_conn *c)
{
    uint8_t out[RANGE_STARTUP + BLOCK] = {0};
    memcpy(out, request_key, KEY);
    out[FLAGS] = FLAG_C | FLAG_S;
    out[REVISION] = ENHANCED;
    out[PD_LENGTH + 1] = BLOCK;
    range_put16(out + RANGE_STARTUP, RANGE_IRD);
    range_put16(out + RANGE_STARTUP + 2, RANGE_IRD);
    range_conn_queue(c, out, sizeof(out));
}

/* ---- a Reply ---- */

/* The first FPDU is the initiator's, RFC 5044 §7.1.2: a Send. */
static void greet(struct range_conn *c)
{
    enum { HEADER = 18, MSN = 10, TEXT = 4 };
    static const uint8_t send[HEADER + TEXT] = {0x41, 0x43, [MSN + 3] = 1, [HEADER] = 'h', 'i'};
    range_fpdu_queue(c, send, sizeof(send));
}

/* Returns whether the stream goes on: the responder asks for no more Reads than we take, RFC 6581
 * §9.1. */
static bool reply_suits(struct range_conn *c, const uint8_t *frame)
{
    static const struct range_error short_of_ird = {.layer = 2, .code = 6};
    uint32_t ord = range_get16(frame + RANGE_STARTUP + 2) & DEPTH;
    if (frame[REVISION] != ENHANCED || !(frame[FLAGS] & FLAG_S) || ord <= RANGE_IRD || ord == DEPTH)
        return true;
    range_terminate(c, NULL, &short_of_ird);
    return false;
}

/* Returns whether the stream goes on. */
static bool take_reply(struct range_conn *c, const uint8_t *frame, size_t private)
{
    range_read_reply(frame + RANGE_STARTUP, private);
    if (frame[FLAGS] & FLAG_R || !reply_suits(c, frame))
        return false;
    greet(c);
    return true;
}

/* ---- both ---- */

static bool key_begins(const struct range_conn *c)
{
    size_t have = c->in_length < KEY ? c->in_length : KEY;
    return memcmp(c->in, c->initiator ? reply_key : request_key, have) == 0;
}

int range_startup_take(struct range_conn *c)
{
    if (!key_begins(c))
        return -1;
    if (c->in_length < RANGE_STARTUP)
        return 0;
    size_t private = range_get16(c->in + PD_LENGTH);
    if (private > RANGE_PRIVATE || !range_check_revision(c->in[REVISION]))
        return -1;
    if (c->in[REVISION] == ENHANCED && c->in[FLAGS] & FLAG_S && private < BLOCK)
        return -1;
    size_t length = RANGE_STARTUP + private;
    if (c->in_length < length)
        return 0;
    /* The initiator waits for the Reply before it sends anything else, RFC 5044 §7.1.2. */
    if (!c->initiator && c->in_length > length)
        return -1;
    c->crc = true;
    c->markers = c->in[FLAGS] & FLAG_M;
    if (!c->initiator)
        reply(c, c->in, length);
    else if (!take_reply(c, c->in, private))
        return -1;
    c->state = RANGE_FULL;
    return (int)length;
}
