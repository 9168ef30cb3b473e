/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/quirk.h"

uint32_t iw_quirk_turn32(uint32_t value)
{
    return value << 24 | (value & 0xff00) << 8 | (value >> 8 & 0xff00) | value >> 24;
}

uint64_t iw_quirk_turn64(uint64_t value)
{
    return (uint64_t)iw_quirk_turn32((uint32_t)value) << 32 |
           iw_quirk_turn32((uint32_t)(value >> 32));
}

bool iw_quirk_turned32(uint32_t got, uint32_t want)
{
    return got != want && iw_quirk_turn32(got) == want;
}

bool iw_quirk_turned64(uint64_t got, uint64_t want)
{
    return got != want && iw_quirk_turn64(got) == want;
}

enum iw_evidence iw_quirk_pd_length(const struct iw_mpa_startup_header *header, bool assumed)
{
    uint16_t meant = iw_quirk_turn16(header->pd_length);
    bool enhanced = header->revision >= 2 && (header->flags & IW_MPA_FLAG_S) != 0;

    if (meant == header->pd_length || meant > IW_MPA_PRIVATE_MAX ||
        (enhanced && meant < IW_MPA_ENHANCED_LENGTH))
        return IW_EVIDENCE_NONE;
    if (header->pd_length > IW_MPA_PRIVATE_MAX)
        return IW_EVIDENCE_PROVEN;
    return assumed ? IW_EVIDENCE_ASSUMED : IW_EVIDENCE_NONE;
}

enum iw_quirk iw_quirk_in_fault(const struct iw_fault *fault)
{
    static const enum iw_quirk shown[] = {IW_QUIRK_CRC_ORDER, IW_QUIRK_MSN_ORDER, IW_QUIRK_MO_ORDER,
                                          IW_QUIRK_STAG_ORDER};
    uint32_t got = (uint32_t)fault->got, want = (uint32_t)fault->want;

    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        if (fault->check == iw_quirk_check(shown[i]) && iw_quirk_turned32(got, want))
            return shown[i];
    if (fault->check == IW_CHECK_DDP_QN && got != 0 &&
        iw_quirk_turn32(got) <= IW_QN_ATOMIC_RESPONSE)
        return IW_QUIRK_QN_ORDER;
    if (fault->check == IW_CHECK_RDMAP_RESPONSE_TO && iw_quirk_turned64(fault->got, fault->want))
        return IW_QUIRK_TO_ORDER;
    return IW_QUIRK_COUNT;
}
