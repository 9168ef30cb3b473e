/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_FUZZ_H
#define IW_FUZZ_FUZZ_H

/*
 * The interface of a harness to the engines. Each harness defines one `iw_fuzz_harness`; replay.c,
 * libfuzzer.c and afl.c are the programs that run it. A harness is deterministic: `run` depends
 * only on its octets, and leaves no state when it returns.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iw_fuzz_harness {
    const char *name;    /* "deframer" */
    size_t most;         /* octets of an input that are used; the engines cut off what is longer */
    bool steps;          /* inputs have the form of input/input.h, else they are plain octets */
    bool single;         /* with steps: those of IW_FUZZ_A and IW_FUZZ_B are of one stream */
    bool commands;       /* with steps: their bodies are no octets of a stream */
    void (*start)(void); /* once, before the first input; may be NULL */
    void (*run)(const uint8_t *octets, size_t length);
};

extern const struct iw_fuzz_harness iw_fuzz_harness;

/* Reports a failed oracle: prints one line on stderr, "fuzz: " and the fault, then aborts. */
_Noreturn void iw_fuzz_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define IW_FUZZ_CHECK(condition, ...)                                                              \
    do {                                                                                           \
        if (!(condition))                                                                          \
            iw_fuzz_fail(__VA_ARGS__);                                                             \
    } while (0)

/* Returns the same octets at a place where AddressSanitizer notices a read past their end; valid
 * until the next call. Without AddressSanitizer they are not moved. At most IW_FUZZ_FENCED octets.
 */
enum { IW_FUZZ_FENCED = 1 << 17 };
const uint8_t *iw_fuzz_fenced(const uint8_t *octets, size_t length);

/* Reads the octets, so that AddressSanitizer notices which of them may not be read. */
void iw_fuzz_touch(const uint8_t *octets, size_t length);

/* Returns memory that is never freed; fails if there is none. */
void *iw_fuzz_allocate(size_t size);

/* Adds to a sum of what was seen, to be compared with another's: a number, or octets. */
static inline void iw_fuzz_mix(uint64_t *sum, uint64_t value)
{
    *sum = (*sum ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    *sum ^= *sum >> 29;
}

static inline void iw_fuzz_mix_octets(uint64_t *sum, const uint8_t *octets, size_t length)
{
    for (size_t i = 0; i < length; i++)
        iw_fuzz_mix(sum, octets[i]);
}

/* Returns the next number of a small generator with a known sequence; *state is any number. */
static inline uint32_t iw_fuzz_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

#endif
