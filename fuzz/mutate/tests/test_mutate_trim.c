/* SPDX-License-Identifier: BSD-3-Clause */
/* The trimmer, and AFL++'s shared object with its interface. */
#include "mutate_support.h"

#include <dlfcn.h>

#include "mutate/trim.h"

static struct iw_mutate_trim trim;
static struct iw_mutate_script seen;
static uint8_t attempt[8192];

/* Has a good FPDU whose payload begins with `first`. */
static bool has_send(const uint8_t *octets, size_t length, uint8_t first)
{
    assert_true(iw_mutate_read(&seen, octets, length));
    for (size_t i = 0; i < seen.count; i++) {
        const struct iw_mutate_part *p = &seen.part[i];
        if (p->kind == IW_MUTATE_FPDU && p->crc == 0 && p->length > 18 &&
            seen.octets[p->at + 18] == first)
            return true;
    }
    return false;
}

/* Trims as long as `first` is sent; the attempts made. */
static size_t trim_to(const char *hex, uint8_t first, const char *want)
{
    uint8_t in[1024], out[1024];
    size_t size = from_hex(in, hex), length;

    assert_true(iw_mutate_trim_begin(&trim, in, size));
    while (iw_mutate_trim_try(&trim, attempt, sizeof(attempt), &length)) {
        assert_true(length <= size);
        iw_mutate_trim_verdict(&trim, has_send(attempt, length, first));
    }
    assert_octets(out, iw_mutate_write(&trim.best, out, sizeof(out)), want);
    return trim.tries;
}

/* What is left is renumbered, and has one octet of payload. */
static void test_leaves_out(void **state)
{
    (void)state;
    size_t tries = trim_to(
        "01000000 001600" REQUEST " 001c00" SEND_1 " 020200aabb 003800" SEND_2 SEND_3 " 050000",
        'f', "01000000 001c00 001341430000000000000000000000010000000066000000b03a5457");
    assert_in_range(tries, 5, 60);
}

/* Steps are joined where that changes nothing. */
static void test_joins(void **state)
{
    (void)state;
    trim_to("01000000 001400 0013414300000000000000000000000100000000 000800 66000000b03a5457", 'f',
            "01000000 001c00 001341430000000000000000000000010000000066000000b03a5457");
}

/* If nothing may change, nothing does. */
static void test_all_refused(void **state)
{
    uint8_t in[1024], out[1024];
    size_t size = from_hex(in, "01000000 001c00" SEND_1 " 001c00" SEND_2), length, tries = 0;

    (void)state;
    assert_true(iw_mutate_trim_begin(&trim, in, size));
    for (; iw_mutate_trim_try(&trim, attempt, sizeof(attempt), &length); tries++)
        iw_mutate_trim_verdict(&trim, false);
    assert_in_range(tries, 5, 40);
    assert_int_equal(iw_mutate_write(&trim.best, out, sizeof(out)), size);
    assert_memory_equal(out, in, size);
}

static void test_nothing_to_trim(void **state)
{
    size_t length, tries = 0;

    (void)state;
    assert_true(iw_mutate_trim_begin(&trim, (const uint8_t *)"", 0));
    for (; iw_mutate_trim_try(&trim, attempt, sizeof(attempt), &length); tries++)
        iw_mutate_trim_verdict(&trim, true);
    assert_in_range(tries, 0, 3);
}

/* ---- the shared object ---- */

static void *object;

static void *function(const char *name)
{
    void *found = dlsym(object, name);

    if (found == NULL)
        fail_msg("%s", dlerror());
    return found;
}

/* ISO C has no conversion from an object's address to a function's. */
#define FIND(var, name)                                                                            \
    do {                                                                                           \
        void *found = function(name);                                                              \
        memcpy(&(var), &found, sizeof(var));                                                       \
    } while (0)

static int load(void **state)
{
    (void)state;
    object = dlopen(IW_BINARY_DIR "/bin/fuzz/iwarp-mutator.so", RTLD_NOW);
    if (object == NULL)
        print_error("%s\n", dlerror());
    return object != NULL ? 0 : -1;
}

static int unload(void **state)
{
    (void)state;
    return dlclose(object);
}

static void *begin(unsigned seed)
{
    void *(*init)(void *, unsigned);
    FIND(init, "afl_custom_init");

    return init(NULL, seed);
}

static void end(void *mutator)
{
    void (*deinit)(void *);
    FIND(deinit, "afl_custom_deinit");

    deinit(mutator);
}

static void test_afl_fuzz(void **state)
{
    size_t (*fuzz)(void *, uint8_t *, size_t, uint8_t **, uint8_t *, size_t, size_t);
    FIND(fuzz, "afl_custom_fuzz");
    uint8_t in[1024], other[1024];
    size_t size = from_hex(in, "01000000 001c00" SEND_1),
           other_size = from_hex(other, "01000000 001c00" SEND_2);
    void *a = begin(3), *b = begin(3);
    size_t different = 0;

    (void)state;
    for (int i = 0; i < 200; i++) {
        uint8_t *first, *second;
        size_t n = fuzz(a, in, size, &first, other, other_size, 200);
        assert_int_equal(n, fuzz(b, in, size, &second, other, other_size, 200));
        assert_true(n <= 200);
        assert_memory_equal(first, second, n);
        different += n != size || memcmp(first, in, n) != 0;
    }
    assert_in_range(different, 150, 200);
    end(a);
    end(b);
}

/* Of 64 inputs with a wrong CRC about 56 are repaired; those that are stay so, the others, too. */
static void test_afl_post_process(void **state)
{
    size_t (*process)(void *, uint8_t *, size_t, uint8_t **);
    FIND(process, "afl_custom_post_process");
    void *m = begin(1);
    size_t repaired = 0;

    (void)state;
    for (int i = 0; i < 64; i++) {
        uint8_t in[64], first[64], *out;
        size_t size = from_hex(in, "01000000 001c00" SEND_1), n;
        in[size - 1] ^= (uint8_t)(i + 1);
        n = process(m, in, size, &out);
        assert_int_equal(n, size);
        repaired += memcmp(out, in, n) != 0;
        memcpy(first, out, n);
        assert_int_equal(process(m, first, n, &out), n);
        assert_memory_equal(out, first, n);
    }
    assert_in_range(repaired, 45, 63);
    end(m);
}

static void test_afl_trim(void **state)
{
    int32_t (*init)(void *, uint8_t *, size_t);
    size_t (*try)(void *, uint8_t **);
    int32_t (*post)(void *, unsigned char);
    FIND(init, "afl_custom_init_trim");
    FIND(try, "afl_custom_trim");
    FIND(post, "afl_custom_post_trim");
    uint8_t in[1024], best[1024];
    size_t size = from_hex(in, "01000000 001c00" SEND_1 " 001c00" SEND_2 " 001c00" SEND_3),
           length = size;
    void *m = begin(1);
    int32_t step, steps = init(m, in, size);

    (void)state;
    assert_int_equal(steps, 1);
    memcpy(best, in, size);
    for (step = 0; step < steps;) {
        uint8_t *out;
        size_t n = try(m, &out);
        bool good = has_send(out, n, 'd');
        assert_true(n <= size);
        if (good) {
            memcpy(best, out, n);
            length = n;
        }
        step = post(m, good);
    }
    assert_octets(best, length,
                  "01000000 001c00 001341430000000000000000000000010000000064000000311933e8");
    end(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaves_out),  cmocka_unit_test(test_joins),
        cmocka_unit_test(test_all_refused), cmocka_unit_test(test_nothing_to_trim),
        cmocka_unit_test(test_afl_fuzz),    cmocka_unit_test(test_afl_post_process),
        cmocka_unit_test(test_afl_trim),
    };

    return cmocka_run_group_tests(tests, load, unload);
}
