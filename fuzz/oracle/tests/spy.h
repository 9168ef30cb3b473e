/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_SPY_H
#define FUZZ_SPY_H

/* For tests of harnesses and oracles: stands in for the engine, catches failed oracles, and keeps
 * notes of what fakes were asked for. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/fuzz.h"

/* Calls `call`. Returns what an oracle that failed in it said, "" if none did. */
const char *spy_fault(void (*call)(void *argument), void *argument);

/* Adds to the notes. */
void spy_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void spy_note_octets(const uint8_t *octets, size_t length);
/* Asserts that the notes are these, and forgets them. */
#define spy_noted(expected)                                                                        \
    do {                                                                                           \
        assert_string_equal(spy_notes(), expected);                                                \
        spy_forget();                                                                              \
    } while (0)
const char *spy_notes(void);
void spy_forget(void);

/* Writes the octets of hexadecimal digits; spaces are passed over. Returns their number. */
size_t spy_octets(uint8_t *out, const char *hex);
/* Runs the harness with these octets. Returns what its oracle says, "" if it is content. */
const char *spy_runs(const struct iw_fuzz_harness *harness, const char *hex);
/* Does the same, and asserts what it says and the notes. */
void spy_run(const struct iw_fuzz_harness *harness, const char *hex, const char *expected,
             const char *expected_notes);

#endif
