/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SCRIPT_IMAGE_H
#define IW_RUNNER_SCRIPT_IMAGE_H

/*
 * Images of states in which the vocabulary has been loaded, and after it the file of a case. Each
 * case begins with such a state as if it had loaded both itself: none sees what another has
 * changed. States in which files are read and those in which cases are played have images of their
 * own: a file whose cases depend on the order of a table's keys gives others to the second.
 */

#include "script_host.h"

/* Takes the image that fits: of the vocabulary and s->file (s->loaded) or of the vocabulary. An
 * image of files that have changed fits no more. Returns whether there was one; s->L is its state,
 * with the same values on the stack. */
bool iw_script_image_take(struct iw_script *s);
/* Allots memory to a new state. */
void iw_script_image_begin(struct iw_script *s);
/* Keeps an image of the state as it is, in place of an earlier one of that kind, unless something
 * that was run has asked for more than files hold (iw_script_asks). */
void iw_script_image_keep(struct iw_script *s);
/* Ends the state, however much of it is in use. */
void iw_script_image_end(struct iw_script *s);

#endif
