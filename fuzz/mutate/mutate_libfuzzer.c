/* SPDX-License-Identifier: BSD-3-Clause */
/* The mutator for libFuzzer: linked to each of its programs. */
#include "engine/fuzz.h"
#include "mutate/mutate.h"

#include <stdlib.h>
#include <string.h>

/* Only libFuzzer has it; other engines that call the functions below do not. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t most, unsigned seed);

static struct iw_mutate_script script, other;

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define WRITTEN(octets, size) __msan_unpoison((octets), (size))
#endif
#endif
#ifndef WRITTEN
#define WRITTEN(octets, size)                                                                      \
    ((void)0) /* MemorySanitizer does not see what libFuzzer itself writes */
#endif

/* Applies the engine's own mutations. */
static size_t mutate_octets(uint8_t *data, size_t size, size_t most)
{
    static struct iw_mutate_random r;
    if (LLVMFuzzerMutate)
        size = LLVMFuzzerMutate(data, size, most);
    else
        size = iw_mutate_havoc(&r, data, size, most);
    WRITTEN(data, size);
    return size;
}

/* Returns true to use only the engine's own mutations, for comparison. */
static bool plain(void)
{
    static int off = -1;

    if (off < 0) {
        const char *value = getenv("IW_FUZZ_MUTATOR");
        off = value && strcmp(value, "off") == 0;
    }
    return off != 0;
}

/* Reads an input of a harness with steps. Returns false if it is none. */
static bool read_script(struct iw_mutate_script *s, const uint8_t *data, size_t size)
{
    s->single = iw_fuzz_harness.single;
    s->commands = iw_fuzz_harness.commands;
    return iw_fuzz_harness.steps && iw_mutate_read(s, data, size);
}

/* Returns true for the harness whose plain octets are a ULPDU. */
static bool takes_ulpdu(void)
{
    return strcmp(iw_fuzz_harness.name, "ddp") == 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    struct iw_mutate_random r = {seed};

    WRITTEN(data, size);
    if (plain() || iw_mutate_chance(&r, 8))
        return mutate_octets(data, size, most);
    if (read_script(&script, data, size)) {
        iw_mutate_change(&script, &r, mutate_octets);
        return iw_mutate_write(&script, data, most);
    }
    if (takes_ulpdu() && iw_mutate_chance(&r, 2)) {
        iw_mutate_ulpdu(&r, NULL, data, &size, most);
        return size;
    }
    return mutate_octets(data, size, most);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t most, unsigned seed)
{
    struct iw_mutate_random r = {seed};
    size_t head = iw_mutate_below(&r, a_size + 1), from = iw_mutate_below(&r, b_size + 1),
           tail = b_size - from;

    WRITTEN(a, a_size);
    WRITTEN(b, b_size);
    if (!plain() && read_script(&script, a, a_size) && read_script(&other, b, b_size)) {
        iw_mutate_cross(&script, &other, &r);
        return iw_mutate_write(&script, out, most);
    }
    head = head > most ? most : head;
    tail = tail > most - head ? most - head : tail;
    if (head > 0)
        memcpy(out, a, head);
    if (tail > 0)
        memcpy(out + head, b + from, tail);
    return head + tail;
}
