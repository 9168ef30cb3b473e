/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SCRIPT_VALUE_H
#define IW_RUNNER_SCRIPT_VALUE_H

/* Values of Lua that go to C and come from there. */

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns a copy of the string in a field of the table on top of the stack; NULL if it is absent.
 * The caller frees it. */
char *iw_script_text(lua_State *L, const char *field);
/* Return fields of a table argument, `standard` if absent. They raise an error that names the field
 * if it is of a wrong type or out of range. */
uint64_t iw_script_number(lua_State *L, int table, const char *field, uint64_t standard,
                          uint64_t most);
/* Returns false for 0, unlike Lua. */
bool iw_script_boolean(lua_State *L, int table, const char *field, bool standard);

/* Set a field of the table on top of the stack. Text that is NULL is left out. */
void iw_script_set_text(lua_State *L, const char *field, const char *text);
void iw_script_set_octets(lua_State *L, const char *field, const void *octets, size_t length);
void iw_script_set_integer(lua_State *L, const char *field, uint64_t value);
void iw_script_set_boolean(lua_State *L, const char *field, bool value);
/* Pushes nil and the error. Returns 2, their number. */
int iw_script_push_failure(lua_State *L, const char *error);

#endif
