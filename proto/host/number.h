/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_NUMBER_H
#define IW_HOST_NUMBER_H

/* Numbers that a user wrote. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a whole number, decimal or 0x..., of the whole text. Returns false, leaving *out, if it is
 * none or not from `low` to `high`. */
bool iw_number(const char *text, uint64_t low, uint64_t high, uint64_t *out);
/* Stores a number in an unsigned variable of `size` octets, 1, 2, 4 or 8. */
void iw_number_store(void *out, size_t size, uint64_t number);
/* Reads a decimal number above 0, such as "0.5". Returns false, leaving *out, if it is none or not
 * from `low` to `high`. */
bool iw_number_real(const char *text, double low, double high, double *out);

#endif
