/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_JSON_VALUES_H
#define IW_HOST_JSON_VALUES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Values that JSON has no type of its own for. Each returns a new reference, NULL if there is no
 * memory. */

/* Returns the octets as hex digits. */
json_t *iw_json_hex(const uint8_t *octets, size_t length);
/* Returns a number of 64 bits as "0x...": JSON's readers do not promise to keep all of its bits. */
json_t *iw_json_wide(uint64_t value);

/* Returns a text of an object: "" if it has none of this name. */
const char *iw_json_get_text(const json_t *object, const char *name);

/* Writes `value` as one line, and drops the reference to it. Returns false if `value` is NULL or
 * the file does not take the line. */
bool iw_json_line(json_t *value, FILE *to);

#endif
