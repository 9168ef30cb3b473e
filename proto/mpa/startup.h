/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MPA_STARTUP_H
#define IW_MPA_STARTUP_H

#include "iwarp/mpa.h"

/* Returns true if this role can offer `config`. */
bool iw_mpa_config_valid(enum iw_mpa_role role, const struct iw_mpa_config *config);

/* Returns true if the frame's private data begins with the enhanced block: S counts from revision 2
 * on (OP-03). */
static inline bool iw_mpa_frame_enhanced(const struct iw_mpa_startup_header *header)
{
    return (header->flags & IW_MPA_FLAG_S) && header->revision >= 2;
}

/* Returns the most private data of the ULP that this end's frame can carry. */
static inline size_t iw_mpa_private_room(bool enhanced)
{
    return IW_MPA_PRIVATE_MAX - (enhanced ? IW_MPA_ENHANCED_LENGTH : 0u);
}

/* Build s->out. The private data fits. */
void iw_mpa_make_request(struct iw_mpa_startup *s, const void *data, size_t length);
void iw_mpa_make_reply(struct iw_mpa_startup *s, bool reject, const void *data, size_t length);

/* Fill s->agreed from both frames; the initiator's may set s->fault. */
void iw_mpa_agree_responder(struct iw_mpa_startup *s);
void iw_mpa_agree_initiator(struct iw_mpa_startup *s);

#endif
