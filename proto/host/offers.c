/* SPDX-License-Identifier: BSD-3-Clause */
#include "offers.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "option_rows.h"

enum { WORD_ROOM = 64 };

bool iw_options_completing(void)
{
    return getenv("IWARP_COMPLETE") != NULL;
}

/* ---- offers ---- */

void iw_offer(const struct iw_offers *to, const char *word, const char *help)
{
    if (strncmp(word, to->typed, strlen(to->typed)) != 0)
        return;
    printf("%.*s%s", to->length, to->before, word);
    if (help != NULL)
        printf("\t%.*s", (int)strcspn(help, "\n"), help);
    putchar('\n');
}

void iw_offer_words(const struct iw_offers *to, const char *const *words)
{
    for (; *words != NULL; words++)
        iw_offer(to, *words, NULL);
}

void iw_offer_files(const struct iw_offers *to)
{
    (void)to;
    puts(":files");
}

void iw_offer_folders(const struct iw_offers *to)
{
    (void)to;
    puts(":folders");
}

/* ---- values ---- */

/* Offers the words that stand for themselves in the help: "on|off", "[=fail]"; those in capitals
 * stand for something else. */
static void offer_argument(const struct iw_offers *to, const char *argument)
{
    char word[WORD_ROOM];
    argument += strspn(argument, "[=");
    for (size_t length; (length = strcspn(argument, "|]")) > 0; argument += length + 1) {
        snprintf(word, sizeof(word), "%.*s", (int)length, argument);
        if (!isupper((unsigned char)word[0]))
            iw_offer(to, word, NULL);
        if (argument[length] != '|')
            return;
    }
}

static void offer_values(const struct iw_option *o, struct iw_offers to)
{
    const char *comma = o->kind == IW_OPTION_LIST ? strrchr(to.typed, ',') : NULL;
    if (comma != NULL) { /* before it stands what was chosen already, after the same beginning */
        to.length += (int)(comma + 1 - to.typed);
        to.typed = comma + 1;
    }
    if (o->offer != NULL)
        o->offer(&to);
    else if (o->words != NULL)
        iw_offer_words(&to, o->words);
    else if (strcmp(o->argument, "FILE") == 0 || strcmp(o->argument, "PATH") == 0)
        iw_offer_files(&to);
    else if (strcmp(o->argument, "DIR") == 0)
        iw_offer_folders(&to);
    else
        offer_argument(&to, o->argument);
}

/* ---- the command line ---- */

/* Returns the option that the word names, whole or cut short; NULL: none that belongs here. */
static const struct iw_option *named(const struct iw_command_line *line, const char *word)
{
    size_t length = strcspn(word + 2, "=");
    bool is_long = word[1] == '-';
    const struct iw_option *o, *found = NULL;
    for (size_t i = 0; (o = iw_option_row(line, i, NULL)); i++) {
        if (!iw_option_belongs(line, o))
            continue;
        if (!is_long && o->letter == word[strlen(word) - 1])
            return o;
        if (is_long && strncmp(o->name, word + 2, length) == 0) {
            if (o->name[length] == '\0')
                return o;
            found = o;
        }
    }
    return found;
}

/* Returns the option whose value the word after this one is; NULL: none. */
static const struct iw_option *wants_value(const struct iw_command_line *line, const char *word)
{
    if (word[0] != '-' || word[1] == '\0' || (word[1] == '-' && strchr(word, '=') != NULL))
        return NULL;
    const struct iw_option *o = named(line, word);
    return o != NULL && o->argument != NULL && !iw_option_has_optional(o) ? o : NULL;
}

static void offer_options(const struct iw_command_line *line, const char *typed)
{
    const struct iw_option *o;
    for (size_t i = 0; (o = iw_option_row(line, i, NULL)); i++) {
        char word[WORD_ROOM];
        struct iw_offers to = {.typed = typed, .before = ""};
        snprintf(word, sizeof(word), "--%s", o->name);
        if (o->help != NULL && iw_option_belongs(line, o))
            iw_offer(&to, word, o->help);
    }
}

int iw_options_complete(const struct iw_command_line *line, int argc, char *const *argv)
{
    const struct iw_option *value_of = NULL;
    size_t operands = 0;
    bool only_operands = false;
    const char *typed = argc > 1 ? argv[argc - 1] : "";
    for (int i = 1; i < argc - 1; i++) {
        if (value_of != NULL) {
            value_of = NULL;
        } else if (!only_operands && strcmp(argv[i], "--") == 0) {
            only_operands = true;
        } else if (only_operands || argv[i][0] != '-' || argv[i][1] == '\0') {
            if (line->operands_are_last) {
                printf(":command %d\n", i);
                return IW_EXIT_GOOD;
            }
            operands++;
        } else {
            value_of = wants_value(line, argv[i]);
        }
    }
    const char *equals = strchr(typed, '=');
    if (value_of != NULL) {
        offer_values(value_of, (struct iw_offers){.typed = typed, .before = typed});
    } else if (!only_operands && strncmp(typed, "--", 2) == 0 && equals != NULL) {
        const struct iw_option *o = named(line, typed);
        if (o != NULL && o->argument != NULL)
            offer_values(o, (struct iw_offers){equals + 1, typed, (int)(equals + 1 - typed)});
    } else if (!only_operands && typed[0] == '-') {
        offer_options(line, typed);
    } else if (line->operands_are_last) {
        printf(":command %d\n", argc > 1 ? argc - 1 : 1);
    } else if (line->offer != NULL) {
        line->offer(&(struct iw_offers){.typed = typed, .before = ""}, operands);
    }
    return IW_EXIT_GOOD;
}
