/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/octets.h"
#include "iwarp/wire.h"

#include <string.h>

/* The enhanced block (RFC 6581 §9): two words, two flags on top of each 14-bit depth. */
enum {
    FIRST_WORD = IW_AT_MPA_IRD - IW_MPA_STARTUP_HEADER,
    SECOND_WORD = IW_AT_MPA_ORD - IW_MPA_STARTUP_HEADER,
    FIRST_A = 0x8000,
    FIRST_B = 0x4000,
    SECOND_C = 0x8000,
    SECOND_D = 0x4000,
};

const uint8_t iw_mpa_request_key[IW_MPA_KEY_LENGTH] = {
    0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52, 0x65, 0x71, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65};
const uint8_t iw_mpa_reply_key[IW_MPA_KEY_LENGTH] = {
    0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52, 0x65, 0x70, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65};

enum iw_mpa_key iw_wire_mpa_key(const uint8_t key[IW_MPA_KEY_LENGTH])
{
    if (memcmp(key, iw_mpa_request_key, IW_MPA_KEY_LENGTH) == 0)
        return IW_MPA_KEY_REQUEST;
    if (memcmp(key, iw_mpa_reply_key, IW_MPA_KEY_LENGTH) == 0)
        return IW_MPA_KEY_REPLY;
    return IW_MPA_KEY_OTHER;
}

int iw_wire_get_startup(const uint8_t *octets, size_t length, struct iw_mpa_startup_header *out)
{
    if (length < IW_MPA_STARTUP_HEADER)
        return IW_WIRE_SHORT;
    memcpy(out->key, octets, IW_MPA_KEY_LENGTH);
    out->flags = octets[IW_AT_MPA_FLAGS];
    out->revision = octets[IW_AT_MPA_REVISION];
    out->pd_length = iw_get16(octets + IW_AT_MPA_PD_LENGTH);
    return IW_MPA_STARTUP_HEADER;
}

int iw_wire_put_startup(uint8_t *octets, size_t room, const struct iw_mpa_startup_header *in)
{
    if (room < IW_MPA_STARTUP_HEADER)
        return IW_WIRE_SHORT;
    memcpy(octets, in->key, IW_MPA_KEY_LENGTH);
    octets[IW_AT_MPA_FLAGS] = in->flags;
    octets[IW_AT_MPA_REVISION] = in->revision;
    iw_put16(octets + IW_AT_MPA_PD_LENGTH, in->pd_length);
    return IW_MPA_STARTUP_HEADER;
}

int iw_wire_get_enhanced(const uint8_t *octets, size_t length, struct iw_mpa_enhanced *out)
{
    if (length < IW_MPA_ENHANCED_LENGTH)
        return IW_WIRE_SHORT;
    uint16_t first = iw_get16(octets + FIRST_WORD), second = iw_get16(octets + SECOND_WORD);
    out->peer_to_peer = (first & FIRST_A) != 0;
    out->rtr = (uint8_t)(((first & FIRST_B) != 0 ? IW_MPA_RTR_SEND : 0u) |
                         ((second & SECOND_C) != 0 ? IW_MPA_RTR_WRITE : 0u) |
                         ((second & SECOND_D) != 0 ? IW_MPA_RTR_READ : 0u));
    out->ird = first & 0x3fffu;
    out->ord = second & 0x3fffu;
    return IW_MPA_ENHANCED_LENGTH;
}

int iw_wire_put_enhanced(uint8_t *octets, size_t room, const struct iw_mpa_enhanced *in)
{
    if (room < IW_MPA_ENHANCED_LENGTH)
        return IW_WIRE_SHORT;
    unsigned first = in->ird & 0x3fffu, second = in->ord & 0x3fffu;
    first |= (in->peer_to_peer ? FIRST_A : 0u) | ((in->rtr & IW_MPA_RTR_SEND) != 0 ? FIRST_B : 0u);
    second |= ((in->rtr & IW_MPA_RTR_WRITE) != 0 ? SECOND_C : 0u) |
              ((in->rtr & IW_MPA_RTR_READ) != 0 ? SECOND_D : 0u);
    iw_put16(octets + FIRST_WORD, (uint16_t)first);
    iw_put16(octets + SECOND_WORD, (uint16_t)second);
    return IW_MPA_ENHANCED_LENGTH;
}
