/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_OPTIONS_H
#define IW_HOST_OPTIONS_H

/*
 * Command lines from tables: each row is an option, where its value goes, and its line in the help.
 * Options may stand before and behind other words; --NAME=VALUE and --NAME VALUE are the same, and
 * a name may be cut short while it is clear. --help and --version belong to every program.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum iw_option_kind {
    IW_OPTION_FLAG,   /* bool or unsigned member: becomes low.n */
    IW_OPTION_ON_OFF, /* bool member: "on" or "off" */
    IW_OPTION_TEXT,   /* const char * member: the argument itself */
    IW_OPTION_NUMBER, /* integer member of 8, 16, 32 or 64 bits: low.n to high.n */
    IW_OPTION_REAL,   /* double member: low.x to high.x */
    IW_OPTION_LIST,   /* some of `words`, separated by commas: set() takes them */
    IW_OPTION_CALL    /* set() does it */
};

struct iw_nearest;
struct iw_offers;

union iw_option_limit {
    uint64_t n;
    double x;
};

/* What set() returns. */
enum { IW_OPTION_TAKEN = 0, IW_OPTION_WRONG = -1, IW_OPTION_END = 1 };

struct iw_option {
    const char *name;     /* without the dashes */
    char letter;          /* of its short form; 0: none */
    const char *argument; /* as the help shows it; NULL: the option takes none; with '[' before it
                             ("[=WORD]") it may be left out: set() gets NULL */
    const char *help;     /* may have several lines; NULL: the help leaves the option out */
    unsigned commands;    /* bits of the commands that take it; 0: all */
    enum iw_option_kind kind;
    size_t offset, size; /* of the member in the table's context */
    union iw_option_limit low, high;
    /* Takes the value (NULL without argument). Returns IW_OPTION_TAKEN, IW_OPTION_WRONG with what
     * was expected in `error`, or IW_OPTION_END to end the program with status 0. */
    int (*set)(void *context, const char *value, char *error, size_t room);
    const char *const *words; /* of LIST, with NULL at the end */
    /* Offers values to a shell that completes them (offers.h). NULL: `words`, the words that
     * `argument` has, or files if it is a FILE. */
    void (*offer)(const struct iw_offers *to);
};

/* The last members of a row. */
#define IW_OPTION_MEMBER(type, member) offsetof(type, member), sizeof(((type *)0)->member)
#define IW_OPTION_CHOOSES(type, member, value)                                                     \
    IW_OPTION_FLAG, IW_OPTION_MEMBER(type, member), {.n = (value)}, {0}, NULL, NULL, NULL
#define IW_OPTION_SETS(type, member) IW_OPTION_CHOOSES(type, member, true)
#define IW_OPTION_SWITCHES(type, member)                                                           \
    IW_OPTION_ON_OFF, IW_OPTION_MEMBER(type, member), {0}, {0}, NULL, NULL, NULL
#define IW_OPTION_KEEPS(type, member) IW_OPTION_OFFERED(type, member, NULL)
#define IW_OPTION_COUNTS(type, member, least, most)                                                \
    IW_OPTION_NUMBER, IW_OPTION_MEMBER(type, member), {.n = (least)}, {.n = (most)}, NULL, NULL,   \
        NULL
#define IW_OPTION_MEASURES(type, member, least, most)                                              \
    IW_OPTION_REAL, IW_OPTION_MEMBER(type, member), {.x = (least)}, {.x = (most)}, NULL, NULL, NULL
#define IW_OPTION_LISTS(function, words) IW_OPTION_LIST, 0, 0, {0}, {0}, (function), (words), NULL
#define IW_OPTION_CALLS(function) IW_OPTION_CALLS_OFFERED(function, NULL)
/* As IW_OPTION_KEEPS and IW_OPTION_CALLS; offer() knows the values. */
#define IW_OPTION_OFFERED(type, member, offer)                                                     \
    IW_OPTION_TEXT, IW_OPTION_MEMBER(type, member), {0}, {0}, NULL, NULL, (offer)
#define IW_OPTION_CALLS_OFFERED(function, offer)                                                   \
    IW_OPTION_CALL, 0, 0, {0}, {0}, (function), NULL, (offer)

/* Options with one context. */
struct iw_option_table {
    const char *title; /* above them in the help; NULL: none */
    const struct iw_option *options;
    size_t count;
    void *context;
};

struct iw_command_line {
    const char *program; /* in --version */
    const char *usage;   /* what the help begins with */
    const char *ending;  /* what it ends with; NULL: nothing */
    const struct iw_option_table *tables;
    size_t n_tables;
    unsigned command;         /* bit of the command; 0: there are no commands */
    const char *command_name; /* for complaints; NULL: there are none */
    int most_operands;        /* more operands are an error; -1: any number */
    bool operands_are_last;   /* options end with the first word that is none */
    void (*more_help)(void);  /* prints what stands between usage and options; NULL: nothing */
    /* Offers what the operand with this number, from 0, may be; NULL: nothing. */
    void (*offer)(const struct iw_offers *to, size_t operand);
};

/* Reads a command line, argv[0] is passed over; for a shell that completes a word (offers.h),
 * offers what could stand for the last one. Moves the words that are no options to the end of argv,
 * and sets *first to the index of the first one. Returns -1 to go on, else the program's exit
 * status after printing the help, the version, or one line that says what is wrong. */
int iw_options_read(const struct iw_command_line *line, int argc, char **argv, int *first);

/* Complains of a word that is no command if a name of the program's commands is near, which the
 * caller has offered to `search`. Returns whether one is. */
bool iw_options_suggest_command(const struct iw_nearest *search);

/* Returns true if a shell wants to complete the last word, so that nothing is to be carried out. */
bool iw_options_completing(void);

/* Writes what was expected into `error`. Returns IW_OPTION_WRONG. */
int iw_option_wrong(char *error, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Readers for set(). Each returns IW_OPTION_TAKEN, or IW_OPTION_WRONG with what was expected in
 * `error`. */
int iw_option_number(const char *value, uint64_t low, uint64_t high, uint64_t *out, char *error,
                     size_t room);
/* Reads hexadecimal digits in pairs, at most `limit` octets, their number into *length. Returns as
 * above. */
int iw_option_hex(const char *value, uint8_t *out, size_t limit, size_t *length, char *error,
                  size_t room);

#endif
