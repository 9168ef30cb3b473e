/* SPDX-License-Identifier: BSD-3-Clause */
/* The option parser that the programs with an endpoint share. */
#ifndef IW_TOOLS_OPTIONS_H
#define IW_TOOLS_OPTIONS_H

#include "iwarp/endpoint.h"

enum { IW_EXIT_OK = 0, IW_EXIT_FAILURE = 1, IW_EXIT_USAGE = 64, IW_EXIT_UNAVAILABLE = 69 };

/* What the shared options say of each endpoint. Must not move once parsed: `endpoint` points into
 * it. */
struct iw_options {
    struct iw_endpoint_config endpoint; /* switches set; private_data of an initiator */
    struct iw_switches switches;
    uint8_t private_data[IW_MPA_PRIVATE_MAX];
    size_t private_length;
};

/* An option of one program alone. A table ends with a NULL name. */
struct iw_option {
    const char *name;     /* without the dashes */
    const char *argument; /* as the help shows it; NULL: the option takes none */
    const char *help;
    /* Returns 0, or -1 with what was expected in `error`. `value` is NULL without argument. */
    int (*set)(void *context, const char *value, char *error, size_t room);
};

struct iw_program {
    const char *name;
    const char *usage;   /* what follows the name on the usage line */
    const char *summary; /* one line */
    const struct iw_option *options;
    void *context;             /* of the options' call-backs */
    const char **words;        /* takes what is not an option */
    const char *const *wanted; /* what each word is, for errors */
    size_t word_count;         /* exactly this many are expected */
};

/* Reads a command line. Returns -1 to go on, else the program's exit status: --help, --version and
 * --list-rules print and give 0, a mistake prints one line to stderr and gives IW_EXIT_USAGE. */
int iw_options_parse(const struct iw_program *program, struct iw_options *options, int argc,
                     char **argv);

/* Readers of values; each returns 0, or -1 with what was expected in `error`. */
int iw_option_bool(const char *value, bool *out, char *error, size_t room);
int iw_option_number(const char *value, uint64_t low, uint64_t high, uint64_t *out, char *error,
                     size_t room);
/* Hex digits in pairs into at most `limit` octets. */
int iw_option_hex(const char *value, uint8_t *out, size_t limit, size_t *length, char *error,
                  size_t room);
/* One RTR form ("send", "write", "read") as IW_MPA_RTR_*; 0 if there is no such form. */
uint8_t iw_option_rtr(const char *name, size_t length);

#endif
