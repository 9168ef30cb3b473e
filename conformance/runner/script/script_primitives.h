/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SCRIPT_PRIMITIVES_H
#define IW_RUNNER_SCRIPT_PRIMITIVES_H

/* The C primitives that the vocabulary stands on, by the file that they are in. */

#include <lua.h>

#include "base/conform_case.h"
#include "station/conform_station.h"

struct iw_script;

/* Each adds its functions to the table on top of the stack. */
void iw_script_add_wire(lua_State *L);
void iw_script_add_station(lua_State *L);
void iw_script_add_control(lua_State *L);
void iw_script_add_capture(lua_State *L);
void iw_script_add_replay(lua_State *L);

/* script_wire.c: push an item, and a start-up frame, as a table. */
void iw_script_push_item(lua_State *L, const struct iw_item *item);
void iw_script_push_startup(lua_State *L, const struct iw_mpa_startup_header *header,
                            const struct iw_mpa_enhanced *enhanced);

/* script_capture.c: frees what is left of reading a recording. */
void iw_script_end_recording(struct iw_script *s);

/* script_station.c */
/* Returns how the table at `index` bends an FPDU: length, pad, crc, markers, marker. Its pad is
 * borrowed from the table. */
struct iw_frame_bend iw_script_bend(lua_State *L, int index);
/* Returns what the station's TCP does by the table {isn, mss, window, acknowledge} at `index`, or
 * by default if there is none. */
struct iw_craft_options iw_script_craft_options(lua_State *L, int index);
/* Returns the writes that stand at `index`: a number of octets for each, or {n, n, ...}, or
 * nothing. The sizes are left on the stack, after an argument (the seconds) that follows `index`.
 */
struct iw_writes iw_script_writes(lua_State *L, int index);

#endif
