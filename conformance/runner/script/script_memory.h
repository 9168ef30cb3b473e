/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SCRIPT_MEMORY_H
#define IW_RUNNER_SCRIPT_MEMORY_H

/*
 * The stretch: addresses of which one Lua state at a time has all its memory. A copy of the used
 * octets, put back in their place, is that state as it was, so that what was loaded need not be
 * loaded again.
 */

#include <stdbool.h>
#include <stddef.h>

/* Takes the stretch, empty, for a state. `kind` (small) moves the state's place, from which Lua
 * draws the order of a table's keys. Returns false if it is taken or cannot be had, or if the
 * environment has IW_SCRIPT_HEAP=malloc: sanitizers watch malloc's blocks only. */
bool iw_script_stretch_take(unsigned kind);
/* Gives it back, with every block in it and what was too large for it. */
void iw_script_stretch_give(void);
/* As realloc; `old` is the block's size, 0 if there is none. With `size` 0 frees it, returns NULL.
 */
void *iw_script_stretch_allocate(void *block, size_t old, size_t size);

/* Returns a new copy of what is in use, of *length octets; NULL if not all of it is in the stretch.
 */
void *iw_script_stretch_copy(size_t *length);
/* Takes the stretch as it was when that copy was made. Returns false if it is taken. */
bool iw_script_stretch_restore(const void *copy, size_t length);

#endif
