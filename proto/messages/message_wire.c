/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages/message_wire.h"

#include <string.h>

#include "iwarp/messages.h"
#include "iwarp/octets.h"

static const uint8_t magic[4] = {'i', 'w', 'm', 's'};

void iw_message_put_greeting(const struct iw_message_greeting *g,
                             uint8_t out[static IW_MESSAGE_GREETING])
{
    memset(out, 0, IW_MESSAGE_GREETING);
    memcpy(out, magic, sizeof(magic));
    out[4] = IW_MESSAGE_VERSION;
    iw_put64(out + 8, g->instance);
    iw_put32(out + 16, g->grants);
    iw_put32(out + 20, g->longest);
    iw_put16(out + 24, g->port);
}

bool iw_message_get_greeting(const uint8_t *octets, size_t length, struct iw_message_greeting *out)
{
    if (length < IW_MESSAGE_GREETING || memcmp(octets, magic, sizeof(magic)) != 0 ||
        octets[4] != IW_MESSAGE_VERSION)
        return false;
    *out = (struct iw_message_greeting){.instance = iw_get64(octets + 8),
                                        .grants = iw_get32(octets + 16),
                                        .longest = iw_get32(octets + 20),
                                        .port = iw_get16(octets + 24)};
    return out->instance != 0;
}

void iw_message_put_header(const struct iw_message_header *h, uint8_t out[static IW_MESSAGE_HEADER])
{
    out[0] = IW_MESSAGE_VERSION;
    out[1] = (uint8_t)h->type;
    out[2] = h->flags;
    out[3] = h->count;
    iw_put32(out + 4, h->grants);
    iw_put64(out + 8, h->state.base);
    iw_put64(out + 16, h->state.ahead);
    iw_put64(out + 24, h->state.refused_before);
    iw_put64(out + 32, h->state.refused_after);
    iw_put64(out + 40, h->sequence);
    iw_put32(out + 48, h->from);
    iw_put32(out + 52, h->to);
    iw_put32(out + 56, h->length);
    iw_put32(out + 60, h->loan);
}

/* Returns how many octets a message of this header has after it. */
static size_t rest(const struct iw_message_header *h)
{
    switch (h->type) {
    case IW_MESSAGE_SHORT:
        return h->length;
    case IW_MESSAGE_ANNOUNCE:
        return (size_t)h->count * IW_MESSAGE_PIECE;
    case IW_MESSAGE_LOAN:
        return IW_MESSAGE_PIECE;
    default:
        return 0;
    }
}

static const char *check_pieces(const struct iw_message_header *h, const uint8_t *octets)
{
    uint64_t sum = 0;
    if (h->count == 0 || h->count > IW_MESSAGE_PIECES_MOST)
        return "an announcement has 1 to 16 pieces";
    for (size_t i = 0; i < h->count; i++) {
        struct iw_message_piece piece;
        iw_message_get_piece(octets + i * IW_MESSAGE_PIECE, &piece);
        if (piece.length == 0)
            return "a piece is empty";
        sum += piece.length;
    }
    return sum == h->length ? NULL : "the pieces are not as long as their message";
}

const char *iw_message_get_header(const uint8_t *octets, size_t length,
                                  struct iw_message_header *out)
{
    if (length < IW_MESSAGE_HEADER)
        return "shorter than a header";
    if (octets[0] != IW_MESSAGE_VERSION)
        return "another version";
    if (octets[1] < IW_MESSAGE_SYNC || octets[1] > IW_MESSAGE_LOAN)
        return "an unknown type";
    *out = (struct iw_message_header){
        .type = (enum iw_message_type)octets[1],
        .flags = octets[2],
        .count = octets[3],
        .grants = iw_get32(octets + 4),
        .state = {iw_get64(octets + 8), iw_get64(octets + 16), iw_get64(octets + 24),
                  iw_get64(octets + 32)},
        .sequence = iw_get64(octets + 40),
        .from = iw_get32(octets + 48),
        .to = iw_get32(octets + 52),
        .length = iw_get32(octets + 56),
        .loan = iw_get32(octets + 60),
    };
    if ((out->state.refused_after & ~out->state.ahead) != 0)
        return "refused but not done with";
    if (out->type == IW_MESSAGE_SHORT ? out->length > IW_MESSAGES_SHORT
                                      : out->length > IW_MESSAGES_LONG)
        return "longer than a message may be";
    if (length - IW_MESSAGE_HEADER != rest(out))
        return "another length than the header says";
    if (out->type >= IW_MESSAGE_SHORT && out->type <= IW_MESSAGE_WRITTEN &&
        (out->sequence == 0 || out->from == 0 || out->to == 0))
        return "a message without sequence number, sender or receiver";
    return out->type == IW_MESSAGE_ANNOUNCE ? check_pieces(out, octets + IW_MESSAGE_HEADER) : NULL;
}

void iw_message_put_piece(const struct iw_message_piece *piece,
                          uint8_t out[static IW_MESSAGE_PIECE])
{
    iw_put64(out, piece->address);
    iw_put32(out + 8, piece->stag);
    iw_put32(out + 12, piece->length);
}

void iw_message_get_piece(const uint8_t octets[static IW_MESSAGE_PIECE],
                          struct iw_message_piece *out)
{
    *out = (struct iw_message_piece){iw_get64(octets), iw_get32(octets + 8), iw_get32(octets + 12)};
}
