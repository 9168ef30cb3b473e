/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint_options.h"

#include <stdlib.h>
#include <string.h>

#include "host/files.h"
#include "switch_options.h"

/* ---- values ---- */

const char *const iw_endpoint_rtr_names[] = {"send", "write", "read", NULL};

/* ---- the shared options ---- */

#define CONFIG (((struct iw_endpoint_options *)context)->endpoint)

static int set_revision(void *context, const char *value, char *error, size_t room)
{
    uint64_t n;
    if (iw_option_number(value, 0, 2, &n, error, room))
        return -1;
    CONFIG.mpa.revision = (uint8_t)n;
    CONFIG.mpa.enhanced = n == 2;
    if (n == 0)
        CONFIG.mpa.permissive = true;
    return 0;
}

static int set_rtr(void *context, const char *value, char *error, size_t room)
{
    (void)error, (void)room;
    struct iw_mpa_config *mpa = &CONFIG.mpa;
    mpa->rtr = mpa->rtr_first = 0;
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ","), i = 0;
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): it is one of them */
        while (strncmp(iw_endpoint_rtr_names[i], at, length) != 0)
            i++;
        mpa->rtr |= (uint8_t)(1u << i);
        if (at == value)
            mpa->rtr_first = mpa->rtr;
        at += length;
        if (*at == '\0')
            return 0;
    }
}

static int set_startup_timeout(void *context, const char *value, char *error, size_t room)
{
    uint64_t n;
    if (iw_option_number(value, 1, 3600000, &n, error, room))
        return -1;
    CONFIG.startup_timeout = n * 1000000;
    return 0;
}

static int read_private(struct iw_endpoint_options *o, const char *path, char *error, size_t room)
{
    uint8_t octets[IW_MPA_PRIVATE_MAX + 1];
    const ssize_t length = iw_file_read_at_most(path, octets, sizeof(octets));
    if (length < 0)
        return iw_option_wrong(error, room, "cannot read \"%.200s\"", path);
    if (length > IW_MPA_PRIVATE_MAX)
        return iw_option_wrong(error, room, "\"%.200s\" holds more than %u octets", path,
                               IW_MPA_PRIVATE_MAX);
    memcpy(o->private_data, octets, (size_t)length);
    o->private_length = (size_t)length;
    return 0;
}

static int set_private(void *context, const char *value, char *error, size_t room)
{
    struct iw_endpoint_options *o = context;
    if (value[0] == '@')
        return read_private(o, value + 1, error, room);
    return iw_option_hex(value, o->private_data, sizeof(o->private_data), &o->private_length, error,
                         room);
}

#define SWITCH(member) IW_OPTION_SWITCHES(struct iw_endpoint_options, endpoint.member)
#define COUNT(member, least, most)                                                                 \
    IW_OPTION_COUNTS(struct iw_endpoint_options, endpoint.member, least, most)

static const struct iw_option shared[] = {
    {"crc", 0, "on|off", "demand CRCs (default on)", 0, SWITCH(mpa.crc)},
    {"markers", 0, "on|off", "ask for Markers in what is received (default off)", 0,
     SWITCH(mpa.markers)},
    {"revision", 0, "0|1|2", "highest MPA revision (default 2); below 2 turns --enhanced off", 0,
     IW_OPTION_CALLS(set_revision)},
    {"permissive", 0, "on|off",
     "take a peer of revision 0, too (default off; on with --revision 0)", 0,
     SWITCH(mpa.permissive)},
    {"enhanced", 0, "on|off", "send the RFC 6581 block as initiator (default on)", 0,
     SWITCH(mpa.enhanced)},
    {"peer-to-peer", 0, "on|off", "as initiator, send an RTR indication (default off)", 0,
     SWITCH(mpa.peer_to_peer)},
    {"rtr", 0, "FORMS", "RTR forms supported, the preferred one first (default write,read,send)", 0,
     IW_OPTION_LISTS(set_rtr, iw_endpoint_rtr_names)},
    {"ird", 0, "N", "inbound reads, 0 to 16382 or 0x3fff (default 16)", 0,
     COUNT(mpa.ird, 0, IW_MPA_DEPTH_UNSPECIFIED)},
    {"ord", 0, "N", "outbound reads, 0 to 16382 or 0x3fff (default 16)", 0,
     COUNT(mpa.ord, 0, IW_MPA_DEPTH_UNSPECIFIED)},
    {"mulpdu", 0, "OCTETS", "128 to 64768 (default: from TCP's segment size)", 0,
     COUNT(mulpdu, IW_MPA_MULPDU_MIN, IW_MPA_ULPDU_MAX)},
    {"extensions", 0, "on|off", "atomics and Immediate Data of RFC 7306 (default on)", 0,
     SWITCH(extensions)},
    {"startup-timeout", 0, "MS", "milliseconds for connect and MPA start-up (default 60000)", 0,
     IW_OPTION_CALLS(set_startup_timeout)},
    {"private", 0, "HEX|@FILE", "private data, at most 512 octets (508 if enhanced)", 0,
     IW_OPTION_CALLS(set_private)},
};

/* ---- the command line ---- */

/* What no option can see alone. */
static int check(const struct iw_endpoint_options *o)
{
    const struct iw_mpa_config *mpa = &o->endpoint.mpa;
    if (mpa->enhanced && mpa->revision < 2)
        return iw_complain_exit(IW_EXIT_USAGE, "--enhanced on needs --revision 2");
    if (mpa->revision == 0 && !mpa->permissive)
        return iw_complain_exit(IW_EXIT_USAGE, "--revision 0 needs --permissive on");
    if (mpa->peer_to_peer && !mpa->enhanced)
        return iw_complain_exit(IW_EXIT_USAGE, "--peer-to-peer on needs --enhanced on");
    if (mpa->enhanced && o->private_length > IW_MPA_PRIVATE_MAX - IW_MPA_ENHANCED_LENGTH)
        return iw_complain_exit(IW_EXIT_USAGE,
                                "--private: expected at most 508 octets with --enhanced on");
    return -1;
}

int iw_endpoint_options_read(const struct iw_program *program, struct iw_endpoint_options *options,
                             int argc, char **argv)
{
    const struct iw_option_table tables[] = {
        {.options = program->options, .count = program->option_count, .context = program->context},
        {"Of each connection:", shared, sizeof(shared) / sizeof(*shared), options},
        {"Deviations:", iw_switch_options, IW_SWITCH_OPTIONS, &options->switches},
    };
    char usage[400];
    snprintf(usage, sizeof(usage), "usage: %s %s\n%s\n\n", program->name, program->usage,
             program->summary);
    const struct iw_command_line line = {.program = program->name,
                                         .usage = usage,
                                         .tables = tables,
                                         .n_tables = sizeof(tables) / sizeof(*tables),
                                         .most_operands = (int)program->operand_count,
                                         .offer = program->offer};
    int first;
    iw_complain_as(program->name);
    memset(options, 0, sizeof(*options));
    iw_endpoint_config_default(&options->endpoint);
    options->endpoint.switches = &options->switches;
    int status = iw_options_read(&line, argc, argv, &first);
    if (status >= 0)
        return status;
    size_t n = (size_t)(argc - first);
    if (n < program->operand_count)
        return iw_complain_exit(IW_EXIT_USAGE, "expected %s (see --help)", program->expected[n]);
    for (size_t i = 0; i < n; i++)
        program->operands[i] = argv[first + (int)i];
    options->endpoint.private_data = options->private_data;
    options->endpoint.private_length = options->private_length;
    return check(options);
}
