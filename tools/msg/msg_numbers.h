/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MSG_NUMBERS_H
#define MSG_NUMBERS_H

/* Numbers of services as a user writes them. */

#include <stddef.h>
#include <stdint.h>

enum { MSG_NUMBERS_MOST = 65536 };

/* Reads "7", "0x10", "1-1000", one after the other. Sets *numbers, which the caller frees, and
 * *count. Returns -1 to go on, else the exit status after one line. */
int msg_numbers_read(char *const *ranges, size_t range_count, uint32_t **numbers, size_t *count);

#endif
