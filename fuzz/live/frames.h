/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_FRAMES_H
#define IW_HUNT_FRAMES_H

/* Edits of an input that keep to its frames, wherever its steps begin and end. */

#include "live_input.h"

/* Gives each frame a step of its own: the borders between steps mean nothing to a socket. */
void iw_hunt_frames_apart(struct iw_hunt_input *in);
/* Returns true if step `at` sends octets with which a frame, or the input, begins. */
bool iw_hunt_frames_begins(const struct iw_hunt_input *in, size_t at);
/* Renumbers the messages of each queue from MSN 1, in regular FPDUs (RFC 5041 §4.3): if one is
 * missing, a peer accepts none after it. */
void iw_hunt_frames_renumber(struct iw_hunt_input *in);

#endif
