/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_FRAMES_H
#define IW_HUNT_FRAMES_H

/* Edits of an input that keep to its frames, wherever its steps begin and end. */

#include "input.h"

/* A step for each frame: what lies between two of them is of no meaning to a socket. */
void iw_hunt_frames_apart(struct iw_hunt_input *in);
/* Whether step `at` sends octets with which a frame, or the input, begins. */
bool iw_hunt_frames_begins(const struct iw_hunt_input *in, size_t at);
/* Counts the messages of each queue from MSN 1 again, in regular FPDUs (RFC 5041 §4.3): where one
 * is gone, a peer takes none behind it. */
void iw_hunt_frames_renumber(struct iw_hunt_input *in);

#endif
