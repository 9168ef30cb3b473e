/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_TEXT_H
#define IW_HOST_TEXT_H

/* Strings. Without memory these end the program (iw_complain_memory). What is returned as a new
 * string is the caller's to free. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns `block`; ends the program if it is NULL. */
void *iw_got(void *block);
/* Returns a new copy; NULL for NULL. */
char *iw_text_copy(const char *text);
/* Returns a new string, printed as printf does. */
char *iw_text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns a new copy that is valid UTF-8 and has no control characters but line feeds: what is
 * neither becomes U+FFFD; NULL for NULL. */
char *iw_text_clean(const char *text);
/* Returns whether both are NULL, or the same text. */
bool iw_text_same(const char *a, const char *b);
/* Returns `text` as one word of a POSIX shell, quoted only if it has to be: a new string. */
char *iw_text_shell(const char *text);
/* Returns a new copy fit for a file name: everything but letters, digits, '.', '_' and '-' becomes
 * '-'. */
char *iw_text_file_name(const char *text);
/* Returns what a noun ends with after this number: "" or "s". */
const char *iw_text_plural(uint64_t n);
/* Replaces what is no printable ASCII by '?', in place. */
void iw_text_printable(char *text);
/* Writes 2 * length lower-case hex digits and a zero. */
void iw_text_hex(char *out, const uint8_t *octets, size_t length);
/* Returns a new copy with each "{name}" of pairs[0], pairs[2] ... replaced by the string that
 * follows it; the list ends with NULL. */
char *iw_text_fill(const char *text, const char *const *pairs);

#endif
