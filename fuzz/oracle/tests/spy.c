/* SPDX-License-Identifier: BSD-3-Clause */
#include "spy.h"

#include <stdio.h>

static jmp_buf failed;
static bool watched;
static char said[400], notes[1 << 21];
static size_t noted;

void iw_fuzz_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(said, sizeof(said), format, arguments);
    va_end(arguments);
    if (!watched)
        fail_msg("an oracle that nobody watches fails: %s", said);
    longjmp(failed, 1);
}

const uint8_t *iw_fuzz_fenced(const uint8_t *octets, size_t length)
{
    (void)length;
    return octets;
}

void iw_fuzz_touch(const uint8_t *octets, size_t length)
{
    spy_note("touched %zu: ", length);
    spy_note_octets(octets, length < 16 ? length : 16);
    spy_note("\n");
}

void *iw_fuzz_allocate(size_t size)
{
    void *memory = malloc(size);

    assert_non_null(memory);
    return memory;
}

const char *spy_fault(void (*call)(void *argument), void *argument)
{
    said[0] = '\0';
    watched = true;
    if (setjmp(failed) == 0)
        call(argument);
    watched = false;
    return said;
}

void spy_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(notes + noted, sizeof(notes) - noted, format, arguments);
    va_end(arguments);
    assert_in_range(length, 0, sizeof(notes) - noted - 1);
    noted += (size_t)length;
}

void spy_note_octets(const uint8_t *octets, size_t length)
{
    static const char digits[] = "0123456789abcdef";

    assert_true(length < (sizeof(notes) - noted) / 2);
    for (size_t i = 0; i < length; i++) {
        notes[noted++] = digits[octets[i] >> 4];
        notes[noted++] = digits[octets[i] & 15];
    }
    notes[noted] = '\0';
}

const char *spy_notes(void)
{
    return notes;
}

void spy_forget(void)
{
    noted = 0;
    notes[0] = '\0';
}

size_t spy_octets(uint8_t *out, const char *hex)
{
    size_t length = 0;

    while (*hex != '\0') {
        if (*hex == ' ') {
            hex++;
            continue;
        }
        const char digits[] = {hex[0], hex[1], '\0'};
        out[length++] = (uint8_t)strtoul(digits, NULL, 16);
        hex += 2;
    }
    return length;
}

struct running {
    const struct iw_fuzz_harness *harness;
    const uint8_t *octets;
    size_t length;
};

static void run(void *argument)
{
    const struct running *r = argument;

    r->harness->run(r->octets, r->length);
}

const char *spy_runs(const struct iw_fuzz_harness *harness, const char *hex)
{
    static uint8_t octets[8192];
    struct running running = {harness, octets, spy_octets(octets, hex)};

    spy_forget();
    return spy_fault(run, &running);
}

void spy_run(const struct iw_fuzz_harness *harness, const char *hex, const char *expected,
             const char *expected_notes)
{
    assert_string_equal(spy_runs(harness, hex), expected);
    spy_noted(expected_notes);
}
