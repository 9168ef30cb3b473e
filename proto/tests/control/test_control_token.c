/* SPDX-License-Identifier: BSD-3-Clause */
/* The token of the control protocol: where it comes from and what equals it. */
#include "iwarp/control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char good[] = "correct-horse-42";

static int set(struct iw_control_token *t, const char *text)
{
    char error[160] = "";
    int result = iw_control_token_set(t, text, strlen(text), error, sizeof(error));
    assert_string_equal(error, result
                                   ? "expected a token of 16 to 128 printable ASCII octets without "
                                     "spaces"
                                   : "");
    return result;
}

static void tokens_are_checked(void **state)
{
    struct iw_control_token t;
    char text[130];
    (void)state;
    assert_int_equal(set(&t, good), 0);
    assert_int_equal(t.length, 16);
    assert_memory_equal(t.text, good, 16);
    assert_int_equal(set(&t, "15-octets-short"), -1);
    assert_int_equal(t.length, 0);
    assert_int_equal(set(&t, ""), -1);
    assert_int_equal(set(&t, "correct horse 42"), -1);
    assert_int_equal(set(&t, "correct-horse-4\x7f"), -1);
    assert_int_equal(set(&t, "correct-horse-\xc3\xa9"), -1);
    memset(text, '~', sizeof(text));
    text[128] = '\0';
    assert_int_equal(set(&t, text), 0);
    text[128] = '!';
    text[129] = '\0';
    assert_int_equal(set(&t, text), -1);
}

static void only_the_token_is_the_same(void **state)
{
    struct iw_control_token t, none = {.length = 0};
    char zeros[IW_CONTROL_TOKEN_MAX + 2] = "", longer[IW_CONTROL_TOKEN_MAX + 2] = "";
    (void)state;
    assert_int_equal(set(&t, good), 0);
    assert_true(iw_control_token_same(&t, good, 16));
    assert_false(iw_control_token_same(&t, good, 15));
    assert_false(iw_control_token_same(&t, good, 0));
    assert_false(iw_control_token_same(&t, "correct-horse-43", 16));
    assert_false(iw_control_token_same(&t, "Correct-horse-42", 16));
    assert_false(iw_control_token_same(&t, "correct-horse-42x", 17));
    /* Zeros are no octets of a token, though they fill up what is compared. */
    snprintf(zeros, sizeof(zeros), "%s", good);
    assert_false(iw_control_token_same(&t, zeros, 17));
    assert_false(iw_control_token_same(&t, zeros, sizeof(zeros)));
    memset(longer, 'x', IW_CONTROL_TOKEN_MAX + 1);
    longer[IW_CONTROL_TOKEN_MAX] = '\0';
    assert_int_equal(set(&t, longer), 0);
    longer[IW_CONTROL_TOKEN_MAX] = 'x';
    assert_true(iw_control_token_same(&t, longer, IW_CONTROL_TOKEN_MAX));
    assert_false(iw_control_token_same(&t, longer, IW_CONTROL_TOKEN_MAX + 1));
    assert_false(iw_control_token_same(&none, "", 0));
    assert_false(iw_control_token_same(&none, zeros + 16, 1));
}

/* Writes a file and reads the token from it. */
static int read_back(struct iw_control_token *t, const char *content, size_t length)
{
    char path[] = "/tmp/iw-token-XXXXXX", error[200] = "", wrong[200];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, length), length);
    close(fd);
    int result = iw_control_token_read(t, path, error, sizeof(error));
    unlink(path);
    snprintf(wrong, sizeof(wrong),
             "token file %s: expected a token of 16 to 128 printable ASCII octets without spaces",
             path);
    assert_string_equal(error, result == 0 ? "" : wrong);
    return result;
}

static void a_file_holds_nothing_else(void **state)
{
    struct iw_control_token t;
    char big[200], error[200];
    (void)state;
    assert_int_equal(read_back(&t, "correct-horse-42", 16), 0);
    assert_int_equal(read_back(&t, "correct-horse-42\n", 17), 0);
    assert_int_equal(read_back(&t, "correct-horse-42\r\n", 18), 0);
    assert_true(iw_control_token_same(&t, good, 16));
    assert_int_equal(read_back(&t, "correct-horse-42\n\n", 18), -1);
    assert_int_equal(read_back(&t, "correct-horse-42\nx", 18), -1);
    assert_int_equal(read_back(&t, "", 0), -1);
    memset(big, 'x', sizeof(big));
    assert_int_equal(read_back(&t, big, 128), 0);
    assert_int_equal(read_back(&t, big, 129), -1);
    assert_int_equal(read_back(&t, big, sizeof(big)), -1);
    assert_int_equal(iw_control_token_read(&t, "/no/such/file", error, sizeof(error)), -1);
    assert_string_equal(error, "token file /no/such/file: No such file or directory");
    assert_int_equal(iw_control_token_read(&t, "/", error, sizeof(error)), -1);
    assert_string_equal(error, "token file /: cannot be read");
}

static void the_file_counts_above_the_environment(void **state)
{
    struct iw_control_token t;
    char error[200] = "";
    (void)state;
    unsetenv("IWARP_AGENT_TOKEN");
    assert_int_equal(iw_control_token_find(&t, NULL, error, sizeof(error)), 0);
    assert_int_equal(t.length, 0);
    setenv("IWARP_AGENT_TOKEN", good, 1);
    assert_int_equal(iw_control_token_find(&t, NULL, error, sizeof(error)), 0);
    assert_true(iw_control_token_same(&t, good, 16));
    assert_int_equal(iw_control_token_find(&t, "/no/such/file", error, sizeof(error)), -1);
    assert_int_equal(t.length, 0);
    setenv("IWARP_AGENT_TOKEN", "short", 1);
    assert_int_equal(iw_control_token_find(&t, NULL, error, sizeof(error)), -1);
    assert_string_equal(error, "environment variable IWARP_AGENT_TOKEN: expected a token of 16 to "
                               "128 printable ASCII octets without spaces");
    unsetenv("IWARP_AGENT_TOKEN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_checked),
        cmocka_unit_test(only_the_token_is_the_same),
        cmocka_unit_test(a_file_holds_nothing_else),
        cmocka_unit_test(the_file_counts_above_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
