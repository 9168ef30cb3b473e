/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of services as a user writes them. */
#include "msg_numbers.h"

#include "../caught.h"

static uint32_t *numbers;
static size_t count;

static int read_words(size_t n, char *const *words)
{
    return msg_numbers_read(words, n, &numbers, &count);
}

#define READ(...)                                                                                  \
    read_words(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *), (char *[]){__VA_ARGS__})

static void expect(size_t n, const uint32_t *list)
{
    assert_int_equal(count, n);
    assert_memory_equal(numbers, list, n * sizeof(*list));
    free(numbers);
    numbers = NULL;
}

static void good_ones(void **state)
{
    (void)state;
    assert_int_equal(READ("7"), -1);
    expect(1, (uint32_t[]){7});
    assert_int_equal(READ("0", "0x10", "4294967295"), -1);
    expect(3, (uint32_t[]){0, 16, UINT32_MAX});
    assert_int_equal(READ("3-5", "9", "8-8", "0xfe-0x100"), -1);
    expect(8, (uint32_t[]){3, 4, 5, 9, 8, 254, 255, 256});
    assert_int_equal(READ("0-1"), -1);
    expect(2, (uint32_t[]){0, 1});
    assert_int_equal(READ("4294967294-4294967295"), -1);
    expect(2, (uint32_t[]){UINT32_MAX - 1, UINT32_MAX});
}

static void bad_ones(void **state)
{
    (void)state;
    static char *const words[] = {"",   "-",  "x",     "4294967296", "1-4294967296", "5-4",
                                  "-5", "5-", "1-2-3", "1 ",         "x-4",          "1-x"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char line[200];
        snprintf(line, sizeof(line),
                 "%s: expected the number of a service, 0 to 4294967295, or a range of them",
                 words[i]);
        catch_from(STDERR_FILENO);
        const int status = READ("1", words[i]);
        assert_non_null(strstr(caught(), line));
        assert_int_equal(status, 64);
        assert_null(numbers);
    }
}

/* 65,536 are allowed in all, and not one more. */
static void the_most(void **state)
{
    (void)state;
    assert_int_equal(READ("0-65535"), -1);
    assert_int_equal(count, 65536);
    for (uint32_t i = 0; i < 65536; i++)
        assert_int_equal(numbers[i], i);
    free(numbers);
    assert_int_equal(READ("7", "1-65535"), -1);
    assert_int_equal(count, 65536);
    assert_int_equal(numbers[0], 7);
    assert_int_equal(numbers[1], 1);
    assert_int_equal(numbers[65535], 65535);
    free(numbers);
    static char *const last[] = {"0-65536", "1-65535", "0-4294967295"};
    static char *const before[] = {"5-5", "1-2", "7"};
    for (size_t i = 0; i < 3; i++) {
        char line[100];
        snprintf(line, sizeof(line), "%s: expected at most 65536 numbers", last[i]);
        catch_from(STDERR_FILENO);
        const int status = READ(before[i], last[i]);
        assert_non_null(strstr(caught(), line));
        assert_int_equal(status, 64);
        assert_null(numbers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(good_ones, catch_no_more),
        cmocka_unit_test_teardown(bad_ones, catch_no_more),
        cmocka_unit_test_teardown(the_most, catch_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
