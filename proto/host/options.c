/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "iwarp/nearest.h"
#include "number.h"
#include "option_rows.h"
#include "text.h"

enum { FIRST = 256, ERROR_ROOM = 400, COLUMN = 27, WIDTH = 24 };

/* ---- values ---- */

int iw_option_wrong(char *error, size_t room, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, room, format, arguments);
    va_end(arguments);
    return IW_OPTION_WRONG;
}

int iw_option_number(const char *value, uint64_t low, uint64_t high, uint64_t *out, char *error,
                     size_t room)
{
    if (iw_number(value, low, high, out))
        return IW_OPTION_TAKEN;
    return iw_option_wrong(error, room, "expected a number from %llu to %llu",
                           (unsigned long long)low, (unsigned long long)high);
}

static int take_on_off(const char *value, bool *out, char *error, size_t room)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): such an option has a value */
    if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
        return iw_option_wrong(error, room, "expected on or off");
    *out = value[1] == 'n';
    return IW_OPTION_TAKEN;
}

int iw_option_hex(const char *value, uint8_t *out, size_t limit, size_t *length, char *error,
                  size_t room)
{
    size_t digits = strlen(value);
    if (digits > 2 * limit)
        return iw_option_wrong(error, room, "expected at most %zu octets, not %zu", limit,
                               (digits + 1) / 2);
    for (size_t i = 0; i < digits; i += 2) {
        const char pair[] = {value[i], value[i + 1], 0};
        if (!isxdigit((unsigned char)pair[0]) || !isxdigit((unsigned char)pair[1]))
            return iw_option_wrong(error, room,
                                   "expected pairs of hex digits, not \"%.20s\" at character %zu",
                                   value + i, i + 1);
        out[i / 2] = (uint8_t)strtoul(pair, NULL, 16);
    }
    *length = digits / 2;
    return IW_OPTION_TAKEN;
}

static int take_real(const struct iw_option *o, const char *value, double *out, char *error,
                     size_t room)
{
    if (iw_number_real(value, o->low.x, o->high.x, out))
        return IW_OPTION_TAKEN;
    if (o->low.x > 0)
        return iw_option_wrong(error, room, "expected a number from %g to %g", o->low.x, o->high.x);
    if (o->high.x < 1e9)
        return iw_option_wrong(error, room, "expected a number above 0, at most %g", o->high.x);
    /* a bound that nobody is meant to meet */
    return iw_option_wrong(error, room, "expected a number above 0");
}

/* Writes "expected a list of a, b and c". */
static int wrong_list(const struct iw_option *o, char *error, size_t room)
{
    size_t used = (size_t)snprintf(error, room, "expected a list of ");
    for (size_t i = 0; o->words[i] != NULL && used < room; i++)
        used += (size_t)snprintf(error + used, room - used, "%s%s",
                                 i == 0                    ? ""
                                 : o->words[i + 1] != NULL ? ", "
                                                           : " and ",
                                 o->words[i]);
    return IW_OPTION_WRONG;
}

static bool is_word(const struct iw_option *o, const char *text, size_t length)
{
    size_t i = 0;
    while (o->words[i] != NULL &&
           (strlen(o->words[i]) != length || memcmp(o->words[i], text, length) != 0))
        i++;
    return o->words[i] != NULL;
}

static int take_list(const struct iw_option *o, void *context, const char *value, char *error,
                     size_t room)
{
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ",");
        if (!is_word(o, at, length))
            return wrong_list(o, error, room);
        at += length;
        if (*at == '\0')
            return o->set(context, value, error, room);
    }
}

static int take(const struct iw_option *o, void *context, const char *value, char *error,
                size_t room)
{
    char *at = (char *)context + o->offset;
    uint64_t n;
    switch (o->kind) {
    case IW_OPTION_FLAG:
        iw_number_store(at, o->size, o->low.n);
        break;
    case IW_OPTION_ON_OFF:
        return take_on_off(value, (bool *)at, error, room);
    case IW_OPTION_TEXT:
        memcpy(at, &value, sizeof(value));
        break;
    case IW_OPTION_NUMBER:
        if (iw_option_number(value, o->low.n, o->high.n, &n, error, room) != IW_OPTION_TAKEN)
            return IW_OPTION_WRONG;
        iw_number_store(at, o->size, n);
        break;
    case IW_OPTION_REAL:
        return take_real(o, value, (double *)(void *)at, error, room);
    case IW_OPTION_LIST:
        return take_list(o, context, value, error, room);
    case IW_OPTION_CALL:
        return o->set(context, value, error, room);
    }
    return IW_OPTION_TAKEN;
}

/* ---- help ---- */

static void print_option(const struct iw_option *o)
{
    char left[60];
    snprintf(left, sizeof(left), "%c%c%s --%s%s%s", o->letter ? '-' : ' ',
             o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name,
             o->argument != NULL && !iw_option_has_optional(o) ? " " : "",
             o->argument != NULL ? o->argument : "");
    printf("  %-*s ", WIDTH, left);
    for (const char *at = o->help; *at; at += strcspn(at, "\n")) {
        if (*at == '\n')
            printf("\n%*s", COLUMN, (at++, ""));
        printf("%.*s", (int)strcspn(at, "\n"), at);
    }
    putchar('\n');
}

/* A table without an option of the command has no title either. */
static void print_table(const struct iw_command_line *line, const char *title,
                        const struct iw_option *options, size_t count)
{
    for (size_t i = 0; i < count; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a table has options */
        if (options[i].help != NULL && iw_option_belongs(line, &options[i])) {
            if (title != NULL)
                printf("\n%s\n", title);
            title = NULL;
            print_option(&options[i]);
        }
}

static void print_help(const struct iw_command_line *line)
{
    fputs(line->usage, stdout);
    if (line->more_help != NULL)
        line->more_help();
    for (size_t i = 0; i < line->n_tables; i++)
        print_table(line, line->tables[i].title, line->tables[i].options, line->tables[i].count);
    print_table(line, NULL, iw_option_standard, IW_OPTION_STANDARD);
    if (line->ending != NULL)
        fputs(line->ending, stdout);
}

/* ---- the command line ---- */

static int unknown(const struct iw_command_line *line, const char *word)
{
    char name[IW_NEAREST_WORD] = "";
    size_t length = strcspn(word, "=");
    if (length > 2 && length - 2 < sizeof(name))
        memcpy(name, word + 2, length - 2);
    struct iw_nearest n;
    iw_nearest_begin(&n, name);
    const struct iw_option *o;
    for (size_t i = 0; (o = iw_option_row(line, i, NULL)); i++)
        if (o->help != NULL && iw_option_belongs(line, o))
            iw_nearest_offer(&n, o->name);
    if (n.best != NULL)
        return iw_complain_exit(IW_EXIT_USAGE, "%.*s: unknown option (did you mean --%s?)",
                                (int)length, word, n.best);
    return iw_complain_exit(IW_EXIT_USAGE, "%.*s: unknown option; see --help", (int)length, word);
}

bool iw_options_suggest_command(const struct iw_nearest *search)
{
    if (search->best == NULL)
        return false;
    iw_complain("unknown command '%s' (did you mean '%s'?)", search->word, search->best);
    return true;
}

/* What getopt_long could not read. */
static int unreadable(const struct iw_command_line *line, int got, char **argv)
{
    const char *word = argv[optind - 1];
    if (got == ':')
        return iw_complain_exit(IW_EXIT_USAGE, "%s: expected a value; see --help", word);
    if (optopt >= FIRST)
        return iw_complain_exit(IW_EXIT_USAGE, "%s: takes no value", word);
    if (optopt) /* of several letters the word is not over yet */
        return iw_complain_exit(IW_EXIT_USAGE, "-%c: unknown option; see --help", optopt);
    return unknown(line, word);
}

/* Carries out one option. Returns -1 to go on, else the exit status. */
static int carry_out(const struct iw_command_line *line, size_t index)
{
    char error[ERROR_ROOM] = "";
    void *context = NULL;
    const struct iw_option *o = iw_option_row(line, index, &context);

    if (o == &iw_option_standard[0]) {
        print_help(line);
        return IW_EXIT_GOOD;
    }
    if (o == &iw_option_standard[1]) {
        printf("%s %s\n", line->program, IW_VERSION);
        return IW_EXIT_GOOD;
    }
    if (!iw_option_belongs(line, o))
        return iw_complain_exit(IW_EXIT_USAGE, "--%s: of no use with %s", o->name,
                                line->command_name);
    switch (take(o, context, optarg, error, sizeof(error))) {
    case IW_OPTION_TAKEN:
        return -1;
    case IW_OPTION_END:
        return IW_EXIT_GOOD;
    default:
        return iw_complain_exit(IW_EXIT_USAGE, "--%s%s%.200s: %s", o->name,
                                optarg != NULL ? " " : "",
                                optarg == NULL ? ""
                                : *optarg      ? optarg
                                               : "\"\"",
                                error);
    }
}

int iw_options_read(const struct iw_command_line *line, int argc, char **argv, int *first)
{
    *first = argc;
    if (iw_options_completing())
        return iw_options_complete(line, argc, argv);
    size_t count = 0;
    while (iw_option_row(line, count, NULL) != NULL)
        count++;
    struct option *names = iw_got(calloc(count + 1, sizeof(*names)));
    char *letters = iw_got(calloc(3 * count + 3, 1));
    size_t n = 0, at = 0;
    if (line->operands_are_last)
        letters[at++] = '+';
    letters[at++] = ':';
    const struct iw_option *o;
    for (size_t i = 0; (o = iw_option_row(line, i, NULL)); i++) {
        if (!iw_option_is_meant(line, o))
            continue;
        names[n++] = (struct option){.name = o->name,
                                     .has_arg = iw_option_has_optional(o) ? optional_argument
                                                : o->argument != NULL     ? required_argument
                                                                          : no_argument,
                                     .val = FIRST + (int)i};
        if (!o->letter || iw_option_of_letter(line, o->letter) != i)
            continue;
        letters[at++] = o->letter;
        if (o->argument != NULL)
            letters[at++] = ':';
        if (iw_option_has_optional(o))
            letters[at++] = ':';
    }
    opterr = 0;
    optind = 0; /* start afresh */
    int got, status = -1;
    while (status < 0 && (got = getopt_long(argc, argv, letters, names, NULL)) != -1)
        status = got == ':' || got == '?'
                     ? unreadable(line, got, argv)
                     : carry_out(line, got >= FIRST ? (size_t)got - FIRST
                                                    : iw_option_of_letter(line, got));
    *first = optind;
    if (status < 0 && line->most_operands >= 0 && argc - optind > line->most_operands)
        status = iw_complain_exit(IW_EXIT_USAGE, "%s: unexpected argument; see --help",
                                  argv[optind + line->most_operands]);
    free(letters);
    free(names);
    return status;
}
