/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory, the heap, the blocks and the files that harnesses share. */
#include "oracle/blocks.h"
#include "oracle/heap.h"
#include "oracle/memory_file.h"
#include "oracle/oracle_memory.h"
#include "spy.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "input/local.h"
#include "iwarp/observer.h"

/* ---- memory ---- */

static struct iw_fuzz_memory memory;

static void start_memory(void)
{
    iw_fuzz_memory_start(&memory);
}

static void check_memory(void *who)
{
    iw_fuzz_memory_check(&memory, who);
}

#define MEMORY_IS(expected) assert_string_equal(spy_fault(check_memory, "its"), expected)

static void memory_begins_alike(void **state)
{
    static const uint8_t first[] = {0xd6, 0x59, 0xcc, 0xe6};

    (void)state;
    start_memory();
    assert_memory_equal(memory.octets, first, 4);
    assert_memory_equal(memory.octets, memory.fresh, IW_FUZZ_MEMORY);
    assert_int_equal(memory.octets[IW_FUZZ_MEMORY - 1], 0xc9);
    assert_memory_equal(memory.octets, memory.model, IW_FUZZ_MEMORY);
    MEMORY_IS("");
    memory.octets[5] = memory.model[6] = memory.loose[7] = 1;
    iw_fuzz_memory_reset(&memory);
    assert_memory_equal(memory.octets, memory.fresh, IW_FUZZ_MEMORY);
    assert_memory_equal(memory.model, memory.fresh, IW_FUZZ_MEMORY);
    assert_int_equal(memory.loose[7], 0);
}

static void wrong_octets_are_noticed(void **state)
{
    static const size_t at[] = {0, 63, 64, 127, IW_FUZZ_MEMORY - 1};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        char expected[100];
        start_memory();
        memory.octets[at[i]] = 0x11;
        memory.model[at[i]] = 0x22;
        snprintf(expected, sizeof(expected),
                 "its: octet %zu of its memory is 0x11 and ought to be 0x22", at[i]);
        MEMORY_IS(expected);
        iw_fuzz_memory_pardon(&memory, at[i], 1);
        MEMORY_IS("");
        iw_fuzz_memory_expect(&memory, at[i], 1);
        MEMORY_IS(expected);
        memory.octets[at[i]] = 0x33;
        snprintf(expected, sizeof(expected),
                 "its: octet %zu of its memory is 0x33 and ought to be 0x22", at[i]);
        MEMORY_IS(expected);
    }
}

static void writes_go_to_the_model(void **state)
{
    (void)state;
    start_memory();
    memory.octets[100] = 1;
    memory.octets[101] = 2;
    iw_fuzz_memory_write(&memory, 100, (const uint8_t *)"\1\2", 2);
    MEMORY_IS("");
    iw_fuzz_memory_write(&memory, 100, NULL, 0);
    iw_fuzz_memory_write(&memory, 100, (const uint8_t *)"\3", 1);
    MEMORY_IS("its: octet 100 of its memory is 0x01 and ought to be 0x03");
}

static void loose_octets_may_change(void **state)
{
    (void)state;
    start_memory();
    memory.octets[200] = memory.octets[203] = 7;
    memory.model[200] = memory.model[203] = 9;
    iw_fuzz_memory_pardon(&memory, 200, 4);
    iw_fuzz_memory_pardon(&memory, 203, 1);
    MEMORY_IS("");
    iw_fuzz_memory_fasten(&memory, 200, 4);
    assert_int_equal(memory.model[200], 7);
    assert_int_equal(memory.model[203], 9); /* still another's */
    MEMORY_IS("");
    iw_fuzz_memory_fasten(&memory, 203, 1);
    assert_int_equal(memory.model[203], 7);
    assert_int_equal(memory.loose[204], 0);
    assert_int_equal(memory.loose[199], 0);
}

static void loosen(void *argument)
{
    (void)argument;
    iw_fuzz_memory_loosen(&memory, 300, 4);
}

/* What lies in a buffer must be right before it is posted. */
static void loosening_checks(void **state)
{
    (void)state;
    start_memory();
    memory.octets[299] = memory.octets[304] = 0;
    memory.model[299] = memory.model[304] = 1;
    assert_string_equal(spy_fault(loosen, NULL), "");
    for (size_t i = 299; i < 305; i++)
        assert_int_equal(memory.loose[i], i > 299 && i < 304);
    iw_fuzz_memory_reset(&memory);
    memory.octets[303] = 0x44;
    memory.model[303] = 0x45;
    assert_string_equal(spy_fault(loosen, NULL),
                        "a buffer being posted: octet 303 of its memory is 0x44 and ought to be "
                        "0x45");
}

/* ---- heap ---- */

static struct iw_fuzz_heap heaps[5], *heap; /* what each has is never freed */
static struct iw_domain *domain;

static void open_heap(void)
{
    heap = heap == NULL ? heaps : heap + 1;
    assert_true(heap < heaps + 5);
    domain = iw_fuzz_heap_domain(heap, 4);
}

static void *take(size_t size)
{
    const struct iw_env *env = iw_domain_env(domain);

    return env->alloc(env->context, size);
}

static void give_back(void *block, size_t size)
{
    const struct iw_env *env = iw_domain_env(domain);

    env->free(env->context, block, size);
}

static void check_heap(void *who)
{
    iw_fuzz_heap_check(heap, who);
}

static void blocks_of_the_heap_lie_apart(void **state)
{
    (void)state;
    open_heap();
    size_t used = heap->used, live = heap->live;
    uint8_t *a = take(1), *b = take(17), *c = take(16);
    assert_ptr_equal(a, heap->memory + used);
    assert_int_equal(b - a, 48); /* 1 and a gap of 32, rounded up to 16 */
    assert_int_equal(c - b, 64);
    assert_int_equal(heap->used - used, 48 + 64 + 48);
    assert_int_equal(heap->live - live, 3);
    memset(a, 1, 1);
    memset(b, 1, 17);
}

static void a_reset_frees_and_restores(void **state)
{
    (void)state;
    open_heap();
    uint8_t *small = take(100), *large = take(200);
    memset(small, 1, 100);
    memset(large, 2, 200);
    iw_fuzz_heap_keep(heap, 100);
    size_t used = heap->used, live = heap->live, blocks = heap->blocks;
    uint8_t *later = take(10);
    memset(later, 3, 10);
    assert_int_equal(heap->blocks, blocks);
    memset(small, 4, 100);
    memset(large, 5, 200);
    iw_fuzz_heap_reset(heap);
    assert_int_equal(small[0], 1);
    assert_int_equal(small[99], 1);
    assert_int_equal(large[0], 2);
    assert_int_equal(large[15], 2);
    assert_int_equal(large[16], 5); /* of a long one only the beginning */
    assert_int_equal(heap->used, used);
    assert_int_equal(heap->live, live);
    assert_ptr_equal(take(10), later);
}

static void leaks_are_noticed(void **state)
{
    (void)state;
    open_heap();
    iw_fuzz_heap_keep(heap, 64);
    assert_string_equal(spy_fault(check_heap, "it"), "");
    void *a = take(8), *b = take(8);
    assert_string_equal(spy_fault(check_heap, "it"), "it: 2 blocks of memory are not given back");
    give_back(a, 8);
    assert_string_equal(spy_fault(check_heap, "it"), "it: 1 blocks of memory are not given back");
    give_back(b, 8);
    assert_string_equal(spy_fault(check_heap, "it"), "");
}

static void take_too_much(void *argument)
{
    (void)take(*(size_t *)argument);
}

static void the_heap_has_a_bound(void **state)
{
    (void)state;
    open_heap();
    size_t left = IW_FUZZ_HEAP - heap->used - 32;
    left -= left % 16;
    size_t more = left + 1;
    char expected[80];
    snprintf(expected, sizeof(expected), "%zu octets more than the bound are allocated", more);
    assert_string_equal(spy_fault(take_too_much, &more), expected);
    assert_string_equal(spy_fault(take_too_much, &left), "");
}

/* So that inputs can name them. */
static void stags_are_always_the_same(void **state)
{
    (void)state;
    open_heap();
    for (uint32_t i = 0; i < 4; i++) {
        struct iw_region r = {.base = heap->memory, .length = 8, .pd = 1};
        assert_int_equal(iw_domain_register(domain, &r), 0);
        assert_int_equal(r.stag, 0x11223344u + i);
    }
    struct iw_region r = {.base = heap->memory, .length = 8, .pd = 1};
    assert_int_equal(iw_domain_register(domain, &r), -1);
    for (int i = 0; i < 3; i++)
        assert_non_null(iw_domain_borrow(domain));
    assert_null(iw_domain_borrow(domain));
    const struct iw_env *env = iw_domain_env(domain);
    uint8_t random[6];
    memset(random, 9, sizeof(random));
    env->random(env->context, random, 6);
    assert_memory_equal(random, "\x44\x33\x22\x11\0\0", 6);
    memset(random, 9, sizeof(random));
    env->random(env->context, random, 2);
    assert_memory_equal(random, "\x44\x33\x09", 3);
}

/* ---- blocks of the observer ---- */

static void *block;

static void lend(void *argument)
{
    block = iw_fuzz_lend(NULL, *(size_t *)argument);
}

static void give(void *argument)
{
    iw_fuzz_give_back(NULL, argument, 8);
}

static void check_blocks(void *argument)
{
    (void)argument;
    iw_fuzz_blocks_check();
}

static void blocks_are_counted(void **state)
{
    static const char *const more = "the observer borrows more than it is said to";
    static const char *const not_lent = "the observer gives back what it did not borrow";
    void *lent[8];
    size_t size = IW_OBSERVER_BLOCK;

    (void)state;
    assert_string_equal(spy_fault(check_blocks, NULL), "");
    for (size_t i = 0; i < 8; i++) {
        assert_string_equal(spy_fault(lend, &size), "");
        assert_non_null(lent[i] = block);
        for (size_t k = 0; k < i; k++)
            assert_ptr_not_equal(lent[k], block);
        memset(block, 1, size);
    }
    assert_string_equal(spy_fault(lend, &size), more);
    assert_string_equal(spy_fault(give, &size), not_lent);
    give(lent[3]);
    assert_string_equal(spy_fault(give, lent[3]), not_lent);
    assert_string_equal(spy_fault(check_blocks, NULL), "the observer keeps what it borrowed");
    assert_string_equal(spy_fault(lend, &size), "");
    assert_ptr_equal(block, lent[3]);
    for (size_t i = 0; i < 8; i++)
        give(lent[i]);
    assert_string_equal(spy_fault(check_blocks, NULL), "");
    size++;
    assert_string_equal(spy_fault(lend, &size), more);
}

static void blocks_have_a_limit(void **state)
{
    size_t size = 8;

    (void)state;
    iw_fuzz_blocks_limit(1);
    lend(&size);
    void *first = block;
    assert_non_null(first);
    lend(&size);
    assert_null(block);
    iw_fuzz_blocks_limit(2);
    lend(&size);
    assert_non_null(block);
    give(block);
    iw_fuzz_blocks_limit(1);
    give(first);
    lend(&size);
    assert_non_null(block);
    give(block);
    iw_fuzz_blocks_limit(0);
}

/* ---- files ---- */

static size_t content(unsigned which, char *out, size_t room)
{
    FILE *file = fopen(iw_fuzz_file(which), "rb");

    assert_non_null(file);
    size_t length = fread(out, 1, room, file);
    fclose(file);
    return length;
}

static void files_have_what_was_set(void **state)
{
    char name[32], octets[16];

    (void)state;
    iw_fuzz_file_set(0, (const uint8_t *)"first", 5);
    iw_fuzz_file_set(1, (const uint8_t *)"other", 5);
    snprintf(name, sizeof(name), "%s", iw_fuzz_file(0));
    int fd = 0;
    char end = '\0';
    assert_int_equal(sscanf(name, "/proc/self/fd/%d%c", &fd, &end), 1);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(content(0, octets, 16), 5);
    assert_memory_equal(octets, "first", 5);
    assert_int_equal(content(1, octets, 16), 5);
    assert_memory_equal(octets, "other", 5);
    iw_fuzz_file_set(0, (const uint8_t *)"1st", 3);
    assert_int_equal(content(0, octets, 16), 3);
    assert_memory_equal(octets, "1st", 3);
    assert_string_equal(iw_fuzz_file(0), name);
    iw_fuzz_file_set(0, NULL, 0);
    assert_int_equal(content(0, octets, 16), 0);
}

static void set_file(void *argument)
{
    (void)argument;
    iw_fuzz_file_set(0, (const uint8_t *)"", 0);
}

static void a_file_that_cannot_be_written_is_noticed(void **state)
{
    int fd = 0;

    (void)state;
    assert_int_equal(sscanf(iw_fuzz_file(0), "/proc/self/fd/%d", &fd), 1);
    int read_only = open(iw_fuzz_file(0), O_RDONLY | O_CLOEXEC), kept = dup(fd);
    assert_true(read_only >= 0 && kept >= 0);
    dup2(read_only, fd);
    assert_string_equal(spy_fault(set_file, NULL), "a file in memory cannot be written");
    dup2(kept, fd);
    close(kept);
    close(read_only);
    assert_string_equal(spy_fault(set_file, NULL), "");
}

static void errors_are_silenced_for_a_time(void **state)
{
    FILE *real = stderr;

    (void)state;
    iw_fuzz_quiet(true);
    FILE *quiet = stderr;
    iw_fuzz_quiet(true);
    FILE *again = stderr;
    iw_fuzz_quiet(false);
    FILE *after = stderr;
    assert_ptr_not_equal(quiet, real);
    assert_ptr_equal(again, quiet);
    assert_ptr_equal(after, real);
    iw_fuzz_quiet(false);
    assert_ptr_equal(stderr, real);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_begins_alike),
        cmocka_unit_test(wrong_octets_are_noticed),
        cmocka_unit_test(writes_go_to_the_model),
        cmocka_unit_test(loose_octets_may_change),
        cmocka_unit_test(loosening_checks),
        cmocka_unit_test(blocks_of_the_heap_lie_apart),
        cmocka_unit_test(a_reset_frees_and_restores),
        cmocka_unit_test(leaks_are_noticed),
        cmocka_unit_test(the_heap_has_a_bound),
        cmocka_unit_test(stags_are_always_the_same),
        cmocka_unit_test(blocks_are_counted),
        cmocka_unit_test(blocks_have_a_limit),
        cmocka_unit_test(files_have_what_was_set),
        cmocka_unit_test(a_file_that_cannot_be_written_is_noticed),
        cmocka_unit_test(errors_are_silenced_for_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
