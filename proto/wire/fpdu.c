/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/octets.h"
#include "iwarp/wire.h"

uint32_t iw_wire_mulpdu(uint32_t emss, bool markers)
{
    /* RFC 5044 §4.5; in 64 bits, as a small EMSS makes the sum exceed it. */
    int64_t overhead = 6 + (int64_t)(emss % 4);
    if (markers)
        overhead += 4 * (((int64_t)emss + 511) / 512);
    int64_t mulpdu = (int64_t)emss - overhead;
    if (mulpdu < (int64_t)IW_MPA_MULPDU_MIN)
        return IW_MPA_MULPDU_MIN;
    return mulpdu > (int64_t)IW_MPA_ULPDU_MAX ? IW_MPA_ULPDU_MAX : (uint32_t)mulpdu;
}

int iw_wire_get_marker(const uint8_t *octets, size_t length, struct iw_mpa_marker *out)
{
    if (length < IW_MPA_MARKER)
        return IW_WIRE_SHORT;
    out->reserved = iw_get16(octets + IW_AT_MARKER_RESERVED);
    out->fpduptr = iw_get16(octets + IW_AT_MARKER_FPDUPTR);
    return IW_MPA_MARKER;
}

int iw_wire_put_marker(uint8_t *octets, size_t room, const struct iw_mpa_marker *in)
{
    if (room < IW_MPA_MARKER)
        return IW_WIRE_SHORT;
    iw_put16(octets + IW_AT_MARKER_RESERVED, in->reserved);
    iw_put16(octets + IW_AT_MARKER_FPDUPTR, in->fpduptr);
    return IW_MPA_MARKER;
}
