/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a Lua state: sizes of blocks, which of them are used again, what does not fit, and
 * copies of all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "script/script_memory.h"

enum { MIB = 1 << 20, STRETCH = 128 * MIB };

/* ---- doubles ---- */

static bool no_memory;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);

void *__wrap_malloc(size_t size)
{
    return no_memory ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return no_memory ? NULL : __real_realloc(block, size);
}

/* ---- a state's memory ---- */

static char *origin;     /* the first block of the state of kind 0 */
static uintptr_t bottom; /* where the stretch begins: on a page, with a header before the block */

static int begin(void **state)
{
    (void)state;
    no_memory = false;
    unsetenv("IW_SCRIPT_HEAP");
    assert_true(iw_script_stretch_take(0));
    origin = iw_script_stretch_allocate(NULL, 0, 16);
    bottom = (uintptr_t)origin & ~(uintptr_t)4095;
    return 0;
}

static int end(void **state)
{
    (void)state;
    no_memory = false;
    iw_script_stretch_give();
    return 0;
}

static char *make(size_t size)
{
    return iw_script_stretch_allocate(NULL, 0, size);
}

static char *resize(char *block, size_t old, size_t size)
{
    return iw_script_stretch_allocate(block, old, size);
}

static void discard(char *block, size_t size)
{
    assert_null(iw_script_stretch_allocate(block, size, 0));
}

static bool is_inside(const char *block)
{
    return (uintptr_t)block - bottom < STRETCH;
}

/* ---- sizes ---- */

/* What a block takes: the next one of its size comes so far after it. */
static void sizes(void **state)
{
    (void)state;
    static const struct {
        size_t size, whole;
    } list[] = {{1, 16},      {15, 16},         {16, 16},         {17, 32},       {32, 32},
                {33, 48},     {1008, 1008},     {1009, 1024},     {1024, 1024},   {1025, 1280},
                {1280, 1280}, {1281, 1536},     {1536, 1536},     {1537, 1792},   {1792, 1792},
                {1793, 2048}, {2048, 2048},     {2049, 2560},     {2561, 3072},   {4096, 4096},
                {4097, 5120}, {524288, 524288}, {524289, 655360}, {MIB - 1, MIB}, {MIB, MIB}};
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        const char *first = make(list[i].size), *second = make(list[i].size);
        assert_int_equal(second - first, list[i].whole);
        assert_int_equal((uintptr_t)first % 16, 0);
        assert_true(is_inside(first));
    }
    assert_false(is_inside(make(MIB + 1)));
}

/* Blocks of one class have one list; the last one that was given back is the first to be used. */
static void used_again(void **state)
{
    (void)state;
    static const struct {
        size_t size, same, other;
    } list[] = {{16, 1, 17},        {17, 32, 16},       {1024, 1009, 1025},   {1280, 1025, 1281},
                {1792, 1537, 1536}, {2048, 1793, 2049}, {MIB, 917505, 917504}};
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        char *a = make(list[i].size), *b = make(list[i].size);
        discard(a, list[i].size);
        discard(b, list[i].same);
        char *other = make(list[i].other);
        assert_ptr_not_equal(other, a);
        assert_ptr_not_equal(other, b);
        assert_ptr_equal(make(list[i].same), b);
        assert_ptr_equal(make(list[i].size), a);
        assert_ptr_not_equal(make(list[i].size), b);
    }
    discard(NULL, 0);
    discard(NULL, 77);
}

/* A block stays where it is while its class does. */
static void resized(void **state)
{
    (void)state;
    char *a = make(20);
    memcpy(a, "nineteen characters", 20);
    assert_ptr_equal(resize(a, 20, 32), a);
    assert_ptr_equal(resize(a, 32, 17), a);
    char *b = resize(a, 20, 33);
    assert_ptr_not_equal(b, a);
    assert_string_equal(b, "nineteen characters");
    assert_ptr_equal(make(20), a); /* it was given back */
    char *c = resize(b, 33, 8);
    assert_memory_equal(c, "nineteen", 8);
    assert_ptr_equal(make(33), b);
    char *large = resize(c, 8, MIB + 1); /* out of the stretch */
    assert_false(is_inside(large));
    assert_memory_equal(large, "nineteen", 8);
    assert_ptr_equal(make(8), c);
}

/* ---- what does not fit ---- */

/* What has left the stretch never comes back, and all of it goes with the state. */
static void outside(void **state)
{
    (void)state;
    char *a = make(MIB + 1), *b = make(2 * MIB), *c = make(MIB + 1);
    strcpy(a, "first");
    strcpy(b, "second");
    strcpy(c, "third");
    a = resize(a, MIB + 1, 3 * MIB);
    assert_string_equal(a, "first");
    a[3 * MIB - 1] = 'x';
    a = resize(a, 3 * MIB, 10);
    assert_false(is_inside(a));
    assert_string_equal(a, "first");
    discard(b, 2 * MIB); /* from the middle */
    assert_string_equal(c, "third");
    discard(a, 10);
    assert_string_equal(c, "third");
    size_t length;
    assert_null(iw_script_stretch_copy(&length)); /* of which there is no copy */
    discard(c, MIB + 1);
    void *copy = iw_script_stretch_copy(&length);
    assert_non_null(copy);
    free(copy);
    for (unsigned i = 0; i < 5; i++)
        assert_false(is_inside(make(MIB + 1))); /* the sanitizer asks whether they are freed */
}

static void a_full_stretch(void **state)
{
    (void)state;
    char *last = NULL, *block;
    unsigned count = 0;
    while (is_inside(block = make(MIB))) {
        last = block;
        count++;
    }
    assert_int_equal(count, 127);
    assert_true(last + 2 * MIB > origin + STRETCH - 8192);
    char *small = make(16); /* there is room for small ones */
    assert_true(is_inside(small));
    size_t rest = 0;
    while (is_inside(make(1024)))
        rest++;
    assert_true(rest > 900);
    while (is_inside(block = make(16)))
        ;
    no_memory = true;
    assert_null(make(16));
    assert_null(resize(small, 16, 1024));
    memcpy(last, "kept", 5);
    assert_ptr_equal(resize(last, MIB, 1024), last); /* no block fails to shrink */
    assert_string_equal(last, "kept");
    assert_null(make(MIB + 1));
    assert_null(resize(block, 16, 32)); /* of one outside */
    no_memory = false;
    memcpy(block, "fifteen letters", 16);
    block = resize(block, 16, 100);
    assert_string_equal(block, "fifteen letters");
}

/* ---- the state ---- */

static void one_at_a_time(void **state)
{
    (void)state;
    assert_false(iw_script_stretch_take(0));
    iw_script_stretch_give();
    setenv("IW_SCRIPT_HEAP", "malloc", 1);
    assert_false(iw_script_stretch_take(0));
    setenv("IW_SCRIPT_HEAP", "mallo", 1);
    assert_true(iw_script_stretch_take(0));
    unsetenv("IW_SCRIPT_HEAP");
    assert_ptr_equal(make(16), origin); /* all that was there is gone */
}

/* States begin at one of eight places. */
static void kinds(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 20; kind++) {
        iw_script_stretch_give();
        assert_true(iw_script_stretch_take(kind));
        assert_int_equal(make(16) - origin, 16 * (kind % 8));
    }
}

static void copied(void **state)
{
    (void)state;
    char *a = make(32), *b = make(32);
    strcpy(a, "before the copy");
    discard(b, 32);
    size_t length = 0;
    void *copy = iw_script_stretch_copy(&length);
    assert_non_null(copy);
    assert_false(iw_script_stretch_restore(copy, length)); /* it is in use */
    strcpy(a, "after it");
    assert_ptr_equal(make(32), b);
    const char *next = make(32);
    assert_int_equal(next - b, 32);
    iw_script_stretch_give();
    assert_true(iw_script_stretch_restore(copy, length));
    assert_false(iw_script_stretch_take(0));
    assert_string_equal(a, "before the copy");
    assert_ptr_equal(make(32), b); /* it is free again */
    assert_ptr_equal(make(32), next);
    char *grown = make(MIB); /* a copy is as long as what was ever used */
    size_t longer = 0;
    void *other = iw_script_stretch_copy(&longer);
    assert_int_equal(longer - length, grown + MIB - next);
    free(other);
    free(copy);
}

/* As much as one state's image stays with the process; the rest goes back to the system. */
static void given_back(void **state)
{
    (void)state;
    char *blocks[12];
    for (unsigned i = 0; i < 12; i++)
        memset(blocks[i] = make(MIB), 'x', MIB);
    iw_script_stretch_give();
    assert_true(iw_script_stretch_take(0));
    assert_int_equal(blocks[0][0], 'x');
    assert_int_equal(blocks[6][MIB - 1], 'x');
    assert_int_equal(blocks[7][MIB / 2], 'x');
    assert_int_equal(blocks[8][MIB / 2], 0);
    assert_int_equal(blocks[9][0], 0);
    assert_int_equal(blocks[11][MIB - 1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sizes, begin, end),
        cmocka_unit_test_setup_teardown(used_again, begin, end),
        cmocka_unit_test_setup_teardown(resized, begin, end),
        cmocka_unit_test_setup_teardown(outside, begin, end),
        cmocka_unit_test_setup_teardown(a_full_stretch, begin, end),
        cmocka_unit_test_setup_teardown(one_at_a_time, begin, end),
        cmocka_unit_test_setup_teardown(kinds, begin, end),
        cmocka_unit_test_setup_teardown(copied, begin, end),
        cmocka_unit_test_setup_teardown(given_back, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
