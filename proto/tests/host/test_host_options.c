/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines from tables, literally: what is taken, what is printed, what is complained about.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/options.h"
#include "iwarp/nearest.h"
#include "spoken.h"

static struct values {
    bool flag, on;
    const char *text;
    uint8_t n8;
    uint16_t n16;
    uint32_t n32;
    uint64_t n64;
    double real;
    char called[40];
} v;

static int call(void *context, const char *value, char *error, size_t room)
{
    struct values *values = context;
    if (value != NULL && strcmp(value, "bad") == 0) {
        snprintf(error, room, "expected anything else");
        return IW_OPTION_WRONG;
    }
    snprintf(values->called, sizeof(values->called), "%s", value != NULL ? value : "nothing");
    return value != NULL && strcmp(value, "end") == 0 ? IW_OPTION_END : IW_OPTION_TAKEN;
}

enum { RUN = 1, LIST = 2 };

static const struct iw_option own[] = {
    {"flag", 'f', NULL, "a flag", 0, IW_OPTION_SETS(struct values, flag)},
    {"on", 0, "on|off", "a switch", 0, IW_OPTION_SWITCHES(struct values, on)},
    {"text", 't', "WORD", "a word\nof two lines", RUN, IW_OPTION_KEEPS(struct values, text)},
    {"text", 0, NULL, "a flag of the same name", LIST, IW_OPTION_SETS(struct values, flag)},
    {"count", 'n', "N", "how many", RUN, IW_OPTION_COUNTS(struct values, n8, 1, 255)},
    {"count", 'n', "N", "how many of another", LIST,
     IW_OPTION_COUNTS(struct values, n16, 1, 65535)},
    {"quick", 'q', "N", "a word of one", RUN, IW_OPTION_COUNTS(struct values, n8, 1, 255)},
    {"quiet", 'q', NULL, "a flag of the other", LIST, IW_OPTION_SETS(struct values, flag)},
    {"hidden", 0, NULL, NULL, 0, IW_OPTION_SETS(struct values, flag)},
    {"call", 0, "X", "a call", 0, IW_OPTION_CALLS(call)},
};
static const char *const kinds[] = {"send", "write", "read", NULL};
static const struct iw_option more[] = {
    {"n8", 0, "N", "octet", 0, IW_OPTION_COUNTS(struct values, n8, 1, 255)},
    {"n16", 0, "N", "two", 0, IW_OPTION_COUNTS(struct values, n16, 0, 65535)},
    {"n32", 0, "N", "four", 0, IW_OPTION_COUNTS(struct values, n32, 0, UINT32_MAX)},
    {"n64", 0, "N", "eight", 0, IW_OPTION_COUNTS(struct values, n64, 0, UINT64_MAX)},
    {"real", 0, "X", "real", 0, IW_OPTION_MEASURES(struct values, real, 0.5, 2)},
    {"amount", 0, "X", "amount", 0, IW_OPTION_MEASURES(struct values, real, 0, 2)},
    {"free", 0, "X", "free", 0, IW_OPTION_MEASURES(struct values, real, 0, 1e9)},
    {"bare", 0, NULL, "a call without a word", 0, IW_OPTION_CALLS(call)},
    {"some", 0, "LIST", "some words", 0, IW_OPTION_LISTS(call, kinds)},
    {"maybe", 'm', "[=X]", "a call that may have a word", 0, IW_OPTION_CALLS(call)},
};

static const struct iw_option of_run[] = {
    {"only", 0, NULL, "of one command", RUN, IW_OPTION_SETS(struct values, flag)},
};

static void between(void)
{
    printf("between\n");
}

static char printed[4096];
static char *words[8];
static int n_operands;

/* Reads a line of words, `fd` (1 or 2) into `printed`. */
static int most_operands = -1;
static bool operands_are_last;

static int read_line(unsigned command, int fd, const char *text)
{
    static char copy[400];
    static char program[] = "prog";
    const struct iw_option_table tables[] = {{"own:", own, sizeof(own) / sizeof(*own), &v},
                                             {NULL, more, sizeof(more) / sizeof(*more), &v},
                                             {"of run:", of_run, 1, &v}};
    const struct iw_command_line line = {.program = "prog",
                                         .usage = "usage: prog\n",
                                         .ending = "the end\n",
                                         .tables = tables,
                                         .n_tables = 3,
                                         .command = command,
                                         .command_name = command == LIST ? "'list'" : "'run'",
                                         .most_operands = most_operands,
                                         .operands_are_last = operands_are_last,
                                         .more_help = between};
    char *argv[20] = {program};
    int argc = 1, first = 0, saved = dup(fd), status;
    FILE *file = tmpfile();

    iw_complain_as("prog");
    memset(&v, 0, sizeof(v));
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    fflush(NULL);
    dup2(fileno(file), fd);
    status = iw_options_read(&line, argc, argv, &first);
    fflush(NULL);
    dup2(saved, fd);
    close(saved);
    rewind(file);
    printed[fread(printed, 1, sizeof(printed) - 1, file)] = '\0';
    fclose(file);
    n_operands = argc - first;
    for (int i = 0; i < n_operands && i < 8; i++)
        words[i] = argv[first + i];
    return status;
}

static void complains(unsigned command, const char *text, const char *expected)
{
    assert_int_equal(read_line(command, 2, text), 64);
    assert_string_equal(printed, expected);
}

static void values(void **state)
{
    (void)state;
    assert_int_equal(read_line(RUN, 2,
                               "a --flag --on on -t x --n8 255 b --n16 0xffff --n32=4294967295 "
                               "--n64 18446744073709551615 --real 0.5 --call y"),
                     -1);
    assert_string_equal(printed, "");
    assert_true(v.flag);
    assert_true(v.on);
    assert_string_equal(v.text, "x");
    assert_int_equal(v.n8, 255);
    assert_int_equal(v.n16, 0xffff);
    assert_true(v.n32 == UINT32_MAX);
    assert_true(v.n64 == UINT64_MAX);
    assert_true(v.real == 0.5);
    assert_string_equal(v.called, "y");
    assert_int_equal(n_operands, 2);
    assert_string_equal(words[0], "a");
    assert_string_equal(words[1], "b");
    assert_int_equal(read_line(RUN, 2, "-f --on off --bare -- --flag"), -1);
    assert_true(v.flag);
    assert_false(v.on);
    assert_string_equal(v.called, "nothing");
    assert_int_equal(n_operands, 1);
    assert_string_equal(words[0], "--flag");
    assert_int_equal(read_line(RUN, 2, "--hid --text=--flag"), -1); /* cut short, yet clear */
    assert_true(v.flag);
    assert_string_equal(v.text, "--flag");
}

static void lists(void **state)
{
    (void)state;
    assert_int_equal(read_line(RUN, 2, "--some read,send"), -1);
    assert_string_equal(v.called, "read,send");
    complains(RUN, "--some read,sen",
              "prog: --some read,sen: expected a list of send, write and read\n");
    complains(RUN, "--some read,", "prog: --some read,: expected a list of send, write and read\n");
    complains(RUN, "--some=", "prog: --some \"\": expected a list of send, write and read\n");
    complains(RUN, "--some sends", "prog: --some sends: expected a list of send, write and read\n");
}

static void neighbours_stay(void **state)
{
    (void)state;
    assert_int_equal(read_line(RUN, 2, "--n8 255"), -1);
    assert_int_equal(v.n16, 0);
    assert_int_equal(read_line(RUN, 2, "--n16 65535"), -1);
    assert_int_equal(v.n8, 0);
    assert_int_equal(v.n32, 0);
    assert_int_equal(read_line(RUN, 2, "--n32 4294967295"), -1);
    assert_int_equal(v.n64, 0);
}

static void one_name_for_two_commands(void **state)
{
    (void)state;
    assert_int_equal(read_line(LIST, 2, "--text x"), -1);
    assert_true(v.flag);
    assert_null(v.text);
    assert_int_equal(n_operands, 1);
    complains(LIST, "-t x", "prog: -t: unknown option; see --help\n");
}

static void one_letter_for_two_commands(void **state)
{
    (void)state;
    assert_int_equal(read_line(LIST, 2, "-n 300 -q x"), -1);
    assert_int_equal(v.n16, 300);
    assert_true(v.flag);
    assert_int_equal(n_operands, 1);
    assert_int_equal(read_line(RUN, 2, "-n 200"), -1);
    assert_int_equal(v.n8, 200);
    assert_int_equal(read_line(RUN, 2, "-q 9"), -1);
    assert_int_equal(v.n8, 9);
    complains(RUN, "--quiet", "prog: --quiet: of no use with 'run'\n");
}

static void refused(void **state)
{
    (void)state;
    complains(RUN, "--on yes", "prog: --on yes: expected on or off\n");
    complains(RUN, "--n8 0", "prog: --n8 0: expected a number from 1 to 255\n");
    complains(RUN, "--n8 256", "prog: --n8 256: expected a number from 1 to 255\n");
    complains(RUN, "--n8=1x", "prog: --n8 1x: expected a number from 1 to 255\n");
    complains(RUN, "--real 0.4", "prog: --real 0.4: expected a number from 0.5 to 2\n");
    complains(RUN, "--amount 0", "prog: --amount 0: expected a number above 0, at most 2\n");
    complains(RUN, "--free 0", "prog: --free 0: expected a number above 0\n");
    complains(RUN, "--call bad", "prog: --call bad: expected anything else\n");
    complains(RUN, "--call", "prog: --call: expected a value; see --help\n");
    complains(RUN, "-t", "prog: -t: expected a value; see --help\n");
    complains(RUN, "--n8=", "prog: --n8 \"\": expected a number from 1 to 255\n");
    complains(RUN, "--flag=x", "prog: --flag=x: takes no value\n");
    complains(RUN, "--flig", "prog: --flig: unknown option (did you mean --flag?)\n");
    complains(RUN, "--flig=3", "prog: --flig: unknown option (did you mean --flag?)\n");
    complains(RUN, "--zzzzzzzz", "prog: --zzzzzzzz: unknown option; see --help\n");
    complains(RUN, "-fz", "prog: -z: unknown option; see --help\n");
    complains(RUN, "--n", "prog: --n: unknown option (did you mean --on?)\n"); /* not clear */
}

static void too_many_words(void **state)
{
    (void)state;
    most_operands = 1;
    assert_int_equal(read_line(RUN, 2, "a --flag"), -1);
    complains(RUN, "a --flag b c", "prog: b: unexpected argument; see --help\n");
    most_operands = 0;
    complains(RUN, "-- --flag", "prog: --flag: unexpected argument; see --help\n");
    most_operands = -1;
}

static void words_after_the_first_are_no_options(void **state)
{
    (void)state;
    operands_are_last = true;
    assert_int_equal(read_line(RUN, 2, "--flag a --on bad -z"), -1);
    assert_true(v.flag && !v.on);
    assert_int_equal(n_operands, 4);
    assert_string_equal(words[1], "--on");
    assert_int_equal(read_line(RUN, 2, "-- --flag"), -1);
    assert_int_equal(n_operands, 1);
    complains(RUN, "--on", "prog: --on: expected a value; see --help\n");
    operands_are_last = false;
}

static void a_value_may_be_left_out(void **state)
{
    (void)state;
    assert_int_equal(read_line(RUN, 2, "--maybe word"), -1);
    assert_string_equal(v.called, "nothing");
    assert_int_equal(n_operands, 1);
    assert_int_equal(read_line(RUN, 2, "-m word"), -1);
    assert_string_equal(v.called, "nothing");
    assert_int_equal(read_line(RUN, 2, "--maybe=word"), -1);
    assert_string_equal(v.called, "word");
    assert_int_equal(read_line(RUN, 2, "-mword"), -1);
    assert_string_equal(v.called, "word");
    complains(RUN, "--maybe=bad", "prog: --maybe bad: expected anything else\n");
}

static void ends(void **state)
{
    (void)state;
    assert_int_equal(read_line(RUN, 1, "--call end --on bad"), 0);
    assert_string_equal(printed, "");
    assert_int_equal(read_line(RUN, 1, "--version --on bad"), 0);
    assert_string_equal(printed, "prog " IW_VERSION "\n");
    assert_int_equal(read_line(RUN, 1, "-V"), 0);
}

static void help(void **state)
{
    static const char expected[] = "usage: prog\n"
                                   "between\n"
                                   "\n"
                                   "own:\n"
                                   "  -f, --flag               a flag\n"
                                   "      --on on|off          a switch\n"
                                   "  -t, --text WORD          a word\n"
                                   "                           of two lines\n"
                                   "  -n, --count N            how many\n"
                                   "  -q, --quick N            a word of one\n"
                                   "      --call X             a call\n"
                                   "      --n8 N               octet\n"
                                   "      --n16 N              two\n"
                                   "      --n32 N              four\n"
                                   "      --n64 N              eight\n"
                                   "      --real X             real\n"
                                   "      --amount X           amount\n"
                                   "      --free X             free\n"
                                   "      --bare               a call without a word\n"
                                   "      --some LIST          some words\n"
                                   "  -m, --maybe[=X]          a call that may have a word\n"
                                   "\n"
                                   "of run:\n"
                                   "      --only               of one command\n"
                                   "  -h, --help               print this\n"
                                   "  -V, --version            print the version\n"
                                   "the end\n";
    (void)state;
    assert_int_equal(read_line(RUN, 1, "-h --on bad"), 0);
    assert_string_equal(printed, expected);
    assert_int_equal(read_line(LIST, 1, "--help"), 0);
    assert_null(strstr(printed, "WORD"));
    assert_null(strstr(printed, "of run:"));
    assert_non_null(strstr(printed, "      --text               a flag of the same name\n"));
}

static void the_nearest_command_is_suggested(void **state)
{
    struct iw_nearest search;
    (void)state;
    iw_complain_as("prog");
    iw_nearest_begin(&search, "pign");
    iw_nearest_offer(&search, "serve");
    begin_listening();
    assert_false(iw_options_suggest_command(&search));
    assert_string_equal(heard(), "");
    iw_nearest_offer(&search, "ping");
    begin_listening();
    assert_true(iw_options_suggest_command(&search));
    assert_string_equal(heard(), "prog: unknown command 'pign' (did you mean 'ping'?)\n");
}

static void octets(void **state)
{
    uint8_t out[4] = {0};
    size_t length = 9;
    char error[100];
    (void)state;
    assert_int_equal(iw_option_hex("00fFA9", out, 4, &length, error, sizeof(error)), 0);
    assert_int_equal(length, 3);
    assert_memory_equal(out, "\x00\xff\xa9", 3);
    assert_int_equal(iw_option_hex("", out, 4, &length, error, sizeof(error)), 0);
    assert_int_equal(length, 0);
    assert_int_equal(iw_option_hex("0011223344", out, 4, &length, error, sizeof(error)), -1);
    assert_string_equal(error, "expected at most 4 octets, not 5");
    assert_int_equal(iw_option_hex("0", out, 4, &length, error, sizeof(error)), -1);
    assert_int_equal(iw_option_hex("00g0", out, 4, &length, error, sizeof(error)), -1);
    assert_string_equal(error, "expected pairs of hex digits, not \"g0\" at character 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(lists),
        cmocka_unit_test(neighbours_stay),
        cmocka_unit_test(refused),
        cmocka_unit_test(one_name_for_two_commands),
        cmocka_unit_test(one_letter_for_two_commands),
        cmocka_unit_test(too_many_words),
        cmocka_unit_test(words_after_the_first_are_no_options),
        cmocka_unit_test(a_value_may_be_left_out),
        cmocka_unit_test(ends),
        cmocka_unit_test(help),
        cmocka_unit_test(the_nearest_command_is_suggested),
        cmocka_unit_test(octets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
