/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that the programs with an endpoint share. */
#ifndef IW_TOOLS_ENDPOINT_OPTIONS_H
#define IW_TOOLS_ENDPOINT_OPTIONS_H

#include "host/complain.h"
#include "host/options.h"
#include "iwarp/endpoint.h"

/* What the shared options say of each endpoint. Must not move once parsed: `endpoint` points into
 * it. */
struct iw_endpoint_options {
    struct iw_endpoint_config endpoint; /* switches set; private_data of an initiator */
    struct iw_switches switches;
    uint8_t private_data[IW_MPA_PRIVATE_MAX];
    size_t private_length;
};

struct iw_program {
    const char *name;
    const char *usage;   /* what follows the name on the usage line */
    const char *summary; /* one line */
    const struct iw_option *options;
    size_t option_count;
    void *context;               /* of the options */
    const char **operands;       /* takes what is not an option */
    const char *const *expected; /* what each of them is, for errors */
    size_t operand_count;        /* exactly this many are expected */
    /* As of a struct iw_command_line. */
    void (*offer)(const struct iw_offers *to, size_t operand);
};

/* Reads a command line. Returns -1 to go on, else the program's exit status: --help, --version and
 * --list-rules print and give 0, a mistake prints one line to stderr and gives IW_EXIT_USAGE. */
int iw_endpoint_options_read(const struct iw_program *program, struct iw_endpoint_options *options,
                             int argc, char **argv);

/* The forms of an RTR indication; form i is the bit 1 << i of IW_MPA_RTR_*. */
enum { IW_ENDPOINT_RTR_FORMS = 3 };
/* Ends with NULL. */
extern const char *const iw_endpoint_rtr_names[IW_ENDPOINT_RTR_FORMS + 1];

#endif
