/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_GOLDEN_H
#define IW_GOLDEN_H

/* iwarp-golden: rebuilds the synthetic golden captures from Lua scripts (pcaps/scripts). */

#include "script/script_host.h"
#include "script/script_primitives.h"
#include "script/script_value.h"

/* Each adds its functions to the table on top of the stack. */
void golden_add_capture(lua_State *L);
void golden_add_pair(lua_State *L);

/* The folder for the captures. */
extern const char *golden_folder;

#endif
