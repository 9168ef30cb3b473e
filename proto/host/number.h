/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_NUMBER_H
#define IW_HOST_NUMBER_H

/* Numbers that a user wrote, and places among sorted ones. */

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

/* Returns the place, from 0, among `count` numbers in ascending order of the least one that
 * `share`, in thousandths, of all do not exceed: the nearest rank, 500 for the median, 990 for the
 * 99th percentile. A share above 1000 is 1000. 0 if there are none. */
uint64_t iw_number_place(uint64_t count, unsigned share);

#endif
