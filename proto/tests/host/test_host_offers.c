/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program offers to a shell that completes its command line, literally. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/offers.h"
#include "host/options.h"

static struct values {
    bool flag;
    const char *text;
} v;

static int never(void *context, const char *value, char *error, size_t room)
{
    (void)context, (void)value, (void)error, (void)room;
    fail_msg("an option was carried out");
    return IW_OPTION_WRONG;
}

static void offer_names(const struct iw_offers *to)
{
    iw_offer(to, "one", "the first\nof two lines");
    iw_offer(to, "other", NULL);
}

static const char *const kinds[] = {"send", "write", "read", NULL};

enum { RUN = 1, LIST = 2 };

static const struct iw_option options[] = {
    {"flag", 'f', NULL, "a flag\nof two lines", 0, IW_OPTION_SETS(struct values, flag)},
    {"crc", 'c', "on|off", "a switch", 0, IW_OPTION_SWITCHES(struct values, flag)},
    {"file", 0, "FILE", "a file", RUN, IW_OPTION_KEEPS(struct values, text)},
    {"results", 0, "DIR", "a folder", 0, IW_OPTION_KEEPS(struct values, text)},
    {"number", 'n', "N", "a number", 0, IW_OPTION_KEEPS(struct values, text)},
    {"name", 0, "NAME", "a name", LIST, IW_OPTION_OFFERED(struct values, text, offer_names)},
    {"kinds", 0, "LIST", "kinds", 0, IW_OPTION_LISTS(never, kinds)},
    {"judge", 0, "[=fail]", "maybe a word", 0, IW_OPTION_CALLS(never)},
    {"hidden", 0, NULL, NULL, 0, IW_OPTION_SETS(struct values, flag)},
};

static void offer_operand(const struct iw_offers *to, size_t operand)
{
    if (operand == 0)
        iw_offer_words(to, kinds);
    if (operand == 1)
        iw_offer_files(to);
}

static bool operands_are_last;

/* What is printed for a line of words, separated by spaces; a last space begins an empty word. */
static const char *offered(unsigned command, const char *text)
{
    static char printed[2000], copy[200];
    const struct iw_option_table table = {
        .options = options, .count = sizeof(options) / sizeof(options[0]), .context = &v};
    const struct iw_command_line line = {.program = "prog",
                                         .usage = "",
                                         .tables = &table,
                                         .n_tables = 1,
                                         .command = command,
                                         .most_operands = -1,
                                         .operands_are_last = operands_are_last,
                                         .offer = offer_operand};
    char *argv[20] = {(char[]){"prog"}}, *rest = copy;
    int argc = 1, first = 0;
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        argv[argc++] = word;
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    FILE *file = tmpfile();
    assert_non_null(file);
    dup2(fileno(file), STDOUT_FILENO);
    int status = iw_options_read(&line, argc, argv, &first);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    rewind(file);
    printed[fread(printed, 1, sizeof(printed) - 1, file)] = '\0';
    fclose(file);
    assert_int_equal(status, 0);
    return printed;
}

static void options_are_offered(void **state)
{
    (void)state;
    assert_true(iw_options_completing());
    assert_string_equal(offered(RUN, "-"), "--flag\ta flag\n--crc\ta switch\n--file\ta file\n"
                                           "--results\ta folder\n--number\ta number\n"
                                           "--kinds\tkinds\n--judge\tmaybe a word\n"
                                           "--help\tprint this\n--version\tprint the version\n");
    assert_string_equal(offered(RUN, "--fl"), "--flag\ta flag\n");
    assert_string_equal(offered(LIST, "--fi"), "");
    assert_string_equal(offered(LIST, "--na"), "--name\ta name\n");
    assert_string_equal(offered(RUN, "--hi"), "");
    assert_string_equal(offered(RUN, "--flag --n"), "--number\ta number\n");
}

static void values_are_offered(void **state)
{
    static const char *const lines[][2] = {
        {"--crc ", "on\noff\n"},
        {"--crc of", "off\n"},
        {"-c ", "on\noff\n"},
        {"-fc ", "on\noff\n"},
        {"--cr o", "on\noff\n"},
        {"--crc=", "--crc=on\n--crc=off\n"},
        {"--crc=of", "--crc=off\n"},
        {"--file ", ":files\n"},
        {"--results ", ":folders\n"},
        {"--number ", ""},
        {"--kinds ", "send\nwrite\nread\n"},
        {"--kinds w", "write\n"},
        {"--kinds send,", "send,send\nsend,write\nsend,read\n"},
        {"--kinds=send,r", "--kinds=send,read\n"},
        {"--judge=", "--judge=fail\n"},
        {"--flag=", ""},
        {"--none=", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_string_equal(offered(RUN, lines[i][0]), lines[i][1]);
    assert_string_equal(offered(LIST, "--name o"), "one\tthe first\nother\n");
    assert_string_equal(offered(LIST, "--name=ot"), "--name=other\n");
}

static void operands_are_offered(void **state)
{
    (void)state;
    assert_string_equal(offered(RUN, ""), "send\nwrite\nread\n");
    assert_string_equal(offered(RUN, "--crc on w"), "write\n");
    assert_string_equal(offered(RUN, "--crc=on w"), "write\n");
    assert_string_equal(offered(RUN, "--judge w"), "write\n");
    assert_string_equal(offered(RUN, "--flag write "), ":files\n");
    assert_string_equal(offered(RUN, "-- -"), "");
    assert_string_equal(offered(RUN, "-- --crc "), ":files\n");
    assert_string_equal(offered(RUN, "a b "), "");
    operands_are_last = true;
    assert_string_equal(offered(RUN, "--crc on "), ":command 3\n");
    assert_string_equal(offered(RUN, "--flag prog --crc "), ":command 2\n");
    assert_string_equal(offered(RUN, "--crc o"), "on\noff\n");
    operands_are_last = false;
}

/* Without the variable it is a command line like any other. */
static void the_variable_decides(void **state)
{
    char *argv[] = {(char[]){"prog"}, (char[]){"--flag"}, NULL};
    const struct iw_option_table table = {
        .options = options, .count = sizeof(options) / sizeof(options[0]), .context = &v};
    const struct iw_command_line line = {.tables = &table, .n_tables = 1, .most_operands = -1};
    int first;
    (void)state;
    assert_int_equal(unsetenv("IWARP_COMPLETE"), 0);
    assert_false(iw_options_completing());
    assert_false(v.flag);
    assert_int_equal(iw_options_read(&line, 2, argv, &first), -1);
    assert_true(v.flag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_offered),
        cmocka_unit_test(values_are_offered),
        cmocka_unit_test(operands_are_offered),
        cmocka_unit_test(the_variable_decides),
    };
    setenv("IWARP_COMPLETE", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
