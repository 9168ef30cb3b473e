/* SPDX-License-Identifier: BSD-3-Clause */
/* The mutator for libFuzzer: linked to each of its programs. */
#include "engine/fuzz.h"
#include "mutate/mutate.h"

#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t most, unsigned seed);

static struct iw_mutate_script script, other;

/* Harnesses whose plain octets are one ULPDU. */
static bool takes_ulpdu(void)
{
    static const char *const names[] = {"ddp", "rdmap", "segment"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(iw_fuzz_harness.name, names[i]) == 0)
            return true;
    return false;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    struct iw_mutate_random r = {seed};

    script.single = iw_fuzz_harness.single;
    if (iw_mutate_chance(&r, 8))
        return LLVMFuzzerMutate(data, size, most);
    if (iw_fuzz_harness.steps && iw_mutate_read(&script, data, size)) {
        iw_mutate_change(&script, &r, LLVMFuzzerMutate);
        return iw_mutate_write(&script, data, most);
    }
    if (takes_ulpdu() && iw_mutate_chance(&r, 2)) {
        iw_mutate_ulpdu(&r, NULL, data, &size, most);
        return size;
    }
    return LLVMFuzzerMutate(data, size, most);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t most, unsigned seed)
{
    struct iw_mutate_random r = {seed};
    size_t head = iw_mutate_below(&r, a_size + 1), from = iw_mutate_below(&r, b_size + 1),
           tail = b_size - from;

    script.single = other.single = iw_fuzz_harness.single;
    if (iw_fuzz_harness.steps && iw_mutate_read(&script, a, a_size) &&
        iw_mutate_read(&other, b, b_size)) {
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
