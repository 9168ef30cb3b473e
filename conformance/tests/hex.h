/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_HEX_H
#define IW_TESTS_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Octets from hexadecimal digits; blanks are ignored. Fails the test if they do not fit. */
size_t hex_octets(const char *text, uint8_t *out, size_t room);

#endif
