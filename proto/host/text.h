/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_TEXT_H
#define IW_HOST_TEXT_H

/* Strings. Without memory these end the program (iw_complain_memory). */

#include <stddef.h>
#include <stdint.h>

/* Passes `block` through; ends the program if it is NULL. */
void *iw_got(void *block);
/* A copy; NULL gives NULL. */
char *iw_text_copy(const char *text);
char *iw_text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A copy that is valid UTF-8 and has no control characters but line feeds: what is neither becomes
 * U+FFFD. NULL gives NULL. */
char *iw_text_clean(const char *text);
/* `text` as one word of a POSIX shell, quoted only if it has to be. */
char *iw_text_shell(const char *text);
/* A copy fit for a file name: everything but letters, digits, '.', '_' and '-' becomes '-'. */
char *iw_text_file_name(const char *text);
/* Replaces what is no printable ASCII by '?', in place. */
void iw_text_printable(char *text);
/* Writes 2 * length lower-case hex digits and a zero. */
void iw_text_hex(char *out, const uint8_t *octets, size_t length);
/* A copy with each "{name}" of pairs[0], pairs[2] ... replaced by the string that follows it; the
 * list ends with NULL. */
char *iw_text_fill(const char *text, const char *const *pairs);

#endif
