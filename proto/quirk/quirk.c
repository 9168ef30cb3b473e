/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "iwarp/quirk.h"

static const struct {
    const char *name, *text;
    enum iw_check check;
} quirks[IW_QUIRK_COUNT] = {
    [IW_QUIRK_TERMINATE_REVERSED] = {"terminate-reversed",
                                     "the control word of the Terminate is in reversed bit order",
                                     IW_CHECK_RDMAP_TERMINATE_REVERSED},
    [IW_QUIRK_MSN_START] = {"msn-start", "MSNs begin with another number than 1", IW_CHECK_DDP_MSN},
    [IW_QUIRK_MSN_SHARED] = {"msn-shared", "one counter numbers the messages of all queues",
                             IW_CHECK_DDP_MSN},
    [IW_QUIRK_CRC_ORDER] = {"crc-order", "the CRC field is in reversed octet order",
                            IW_CHECK_MPA_CRC},
    [IW_QUIRK_CRC_POLYNOMIAL] = {"crc-polynomial",
                                 "the CRC is the CRC-32 of Ethernet in place of the CRC32c",
                                 IW_CHECK_MPA_CRC},
    [IW_QUIRK_CRC_OTHER] = {"crc-other", "no CRC is right, and framing is in order without it",
                            IW_CHECK_MPA_CRC},
    [IW_QUIRK_CRC_ABSENT] = {"crc-absent", "CRC fields are left out", IW_CHECK_MPA_CRC_ABSENT},
    [IW_QUIRK_LENGTH_ORDER] = {"length-order", "the ULPDU_Length is in reversed octet order",
                               IW_CHECK_MPA_LENGTH_ORDER},
    [IW_QUIRK_PD_ORDER] = {"pd-order", "the PD_Length is in reversed octet order",
                           IW_CHECK_MPA_PD_ORDER},
    [IW_QUIRK_MARKERS_MISSING] = {"markers-missing", "FPDUs follow each other without Markers",
                                  IW_CHECK_MPA_MARKER_MISSING},
    [IW_QUIRK_MARKERS_UNASKED] = {"markers-unasked", "Markers stand in the stream all the same",
                                  IW_CHECK_MPA_MARKER_UNASKED},
    [IW_QUIRK_MARKERS_PLACE] = {"markers-place", "Markers stand at other places",
                                IW_CHECK_MPA_MARKER_PLACE},
    [IW_QUIRK_QN_ORDER] = {"qn-order", "the QN is in reversed octet order", IW_CHECK_DDP_QN},
    [IW_QUIRK_MSN_ORDER] = {"msn-order", "the MSN is in reversed octet order", IW_CHECK_DDP_MSN},
    [IW_QUIRK_MO_ORDER] = {"mo-order", "the MO is in reversed octet order", IW_CHECK_DDP_MO_PLACE},
    [IW_QUIRK_STAG_ORDER] = {"stag-order", "the STag is in reversed octet order",
                             IW_CHECK_RDMAP_RESPONSE_STAG},
    [IW_QUIRK_TO_ORDER] = {"to-order", "the TO is in reversed octet order",
                           IW_CHECK_RDMAP_RESPONSE_TO},
};

const char *iw_quirk_name(enum iw_quirk quirk)
{
    return quirks[quirk].name;
}

const char *iw_quirk_text(enum iw_quirk quirk)
{
    return quirks[quirk].text;
}

enum iw_check iw_quirk_check(enum iw_quirk quirk)
{
    return quirks[quirk].check;
}

bool iw_quirk_find(const char *name, enum iw_quirk *out)
{
    for (int i = 0; i < IW_QUIRK_COUNT; i++) {
        if (strcmp(quirks[i].name, name) == 0) {
            *out = (enum iw_quirk)i;
            return true;
        }
    }
    return false;
}

enum iw_quirk iw_quirk_shown(iw_quirks set, enum iw_check check)
{
    int i = 0;

    while (i < IW_QUIRK_COUNT && (quirks[i].check != check || !iw_quirk_in(set, (enum iw_quirk)i)))
        i++;
    return (enum iw_quirk)i;
}
