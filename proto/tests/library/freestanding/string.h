/* SPDX-License-Identifier: BSD-3-Clause */
/* All of <string.h> that the core may use. */
#ifndef IWARP_FREESTANDING_STRING_H
#define IWARP_FREESTANDING_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memmove(void *to, const void *from, size_t length);
void *memset(void *to, int octet, size_t length);
int memcmp(const void *a, const void *b, size_t length);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);

#endif
