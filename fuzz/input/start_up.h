/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_START_UP_H
#define IW_FUZZ_START_UP_H

/* The start-up frames of harnesses that see both sides from outside (IW_FUZZ_STARTED). */

#include <string.h>

#include "input/input.h"
#include "iwarp/observer.h"

enum { IW_FUZZ_START_UP = IW_MPA_STARTUP_HEADER + IW_MPA_ENHANCED_LENGTH };

/* Writes the frame that a side sends if settings[0] is `settings`. Returns its length. */
static inline size_t iw_fuzz_start_up(uint8_t settings, enum iw_side side,
                                      uint8_t frame[IW_FUZZ_START_UP])
{
    bool request = side == IW_SIDE_INITIATOR, enhanced = (settings & IW_FUZZ_ENHANCED) != 0;
    bool peer_to_peer = enhanced && (settings & IW_FUZZ_PEER_TO_PEER) != 0;
    struct iw_mpa_startup_header h = {.revision = enhanced ? 2 : 1};
    struct iw_mpa_enhanced e = {.peer_to_peer = peer_to_peer, .ird = 4, .ord = 4};

    memcpy(h.key, request ? iw_mpa_request_key : iw_mpa_reply_key, sizeof(h.key));
    /* Who receives Markers asks for them. */
    if ((settings & (request ? IW_FUZZ_MARKERS_B : IW_FUZZ_MARKERS_A)) != 0)
        h.flags |= IW_MPA_FLAG_M;
    if ((settings & IW_FUZZ_CRC) != 0)
        h.flags |= IW_MPA_FLAG_C;
    if (peer_to_peer)
        e.rtr = IW_MPA_RTR_WRITE | IW_MPA_RTR_READ | IW_MPA_RTR_SEND;
    if (enhanced) {
        h.flags |= IW_MPA_FLAG_S;
        h.pd_length = IW_MPA_ENHANCED_LENGTH;
    }
    (void)iw_wire_put_startup(frame, IW_FUZZ_START_UP, &h);
    (void)iw_wire_put_enhanced(frame + IW_MPA_STARTUP_HEADER, IW_MPA_ENHANCED_LENGTH, &e);
    return enhanced ? IW_FUZZ_START_UP : IW_MPA_STARTUP_HEADER;
}

#endif
