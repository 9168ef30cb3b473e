/* SPDX-License-Identifier: BSD-3-Clause */
#include "lint.h"

#include <string.h>
#include <sys/stat.h>

#include "host/complain.h"
#include "host/number.h"
#include "host/offers.h"
#include "host/options.h"
#include "host/outputs.h"

enum { CONNECTIONS = 10000, MOST_CONNECTIONS = 1000000 };

static int wrong(char *error, size_t room, const char *expected)
{
    snprintf(error, room, "expected %s", expected);
    return IW_OPTION_WRONG;
}

static int set_level(void *context, const char *value, char *error, size_t room)
{
    struct iw_lint_options *o = context;

    o->must = strcmp(value, "must") == 0;
    return o->must || strcmp(value, "all") == 0 ? IW_OPTION_TAKEN
                                                : wrong(error, room, "must or all");
}

static int set_extract(void *context, const char *value, char *error, size_t room)
{
    struct iw_lint_options *o = context;
    uint64_t stag;
    if (!iw_number(value, 0, UINT32_MAX, &stag))
        return wrong(error, room, "an STag, decimal or 0x...");
    o->stag = (int64_t)stag;
    return IW_OPTION_TAKEN;
}

static int set_connection(void *context, const char *value, char *error, size_t room)
{
    struct iw_lint_options *o = context;
    uint64_t number;
    if (!iw_number(value, 0, INT64_MAX, &number))
        return wrong(error, room, "the number of a connection");
    o->connection = (int64_t)number;
    return IW_OPTION_TAKEN;
}

static int set_owner(void *context, const char *value, char *error, size_t room)
{
    struct iw_lint_options *o = context;

    o->owner = strcmp(value, "responder") == 0;
    return o->owner || strcmp(value, "initiator") == 0
               ? IW_OPTION_TAKEN
               : wrong(error, room, "initiator or responder");
}

static int set_port(void *context, const char *value, char *error, size_t room)
{
    struct iw_lint_options *o = context;
    uint64_t port;
    if (o->n_ports == IW_LINT_PORTS || !iw_number(value, 1, 65535, &port))
        return wrong(error, room, "a port, at most 64 of them");
    o->ports[o->n_ports++] = (uint16_t)port;
    return IW_OPTION_TAKEN;
}

static int set_assume(void *context, const char *value, char *error, size_t room)
{
    struct iw_lint_options *o = context;

    if (strcmp(value, "default-config") == 0)
        o->default_config = true;
    else if (strcmp(value, "intact") == 0)
        o->intact = true;
    else
        return wrong(error, room, "default-config or intact");
    return IW_OPTION_TAKEN;
}

#define KEEP(member) IW_OPTION_KEEPS(struct iw_lint_options, member)
#define FLAG(member) IW_OPTION_SETS(struct iw_lint_options, member)
#define FORMAT(name) IW_OPTION_CHOOSES(struct iw_lint_options, format, IW_LINT_##name)

static const struct iw_option options[] = {
    {"summary", 0, NULL,
     "of every connection: what was agreed, messages and sizes, Reads and how\n"
     "long they took, findings",
     0, FLAG(summary)},
    {"messages", 0, NULL, "list every RDMAP message", 0, FLAG(messages)},
    {"json", 0, NULL, "JSON, one object per line", 0, FORMAT(JSON)},
    {"json-lines", 0, "FILE",
     "the same into a file, also beside another format: each line at once, as it\n"
     "is found; - is standard output",
     0, KEEP(json_lines)},
    {"sarif", 0, NULL, "SARIF 2.1.0, for programs that collect findings", 0, FORMAT(SARIF)},
    {"annotate", 0, "FILE",
     "copy the capture (pcapng), with the findings as comments on its packets", 0, KEEP(annotate)},
    {"require", 0, NULL, "exit with 3 if a capture has no iWARP connection", 0, FLAG(require)},
    {"level", 0, "must|all", "only findings about MUST and MUST NOT (all)", 0,
     IW_OPTION_CALLS(set_level)},
    {"live", 0, "INTERFACE", "capture from there until a signal (Ctrl-C) ends it", 0, KEEP(live)},
    {"filter", 0, "EXPRESSION", "look only at packets that this BPF filter selects", 0,
     KEEP(filter)},
    {"decode-as", 0, "PORT",
     "connections of this port are iWARP, however they begin; may be repeated", 0,
     IW_OPTION_CALLS(set_port)},
    {"mss", 0, "N",
     "the EMSS of both sides: judge the sizes of FPDUs, and whether segments cut\nthem", 0,
     IW_OPTION_COUNTS(struct iw_lint_options, mss, 128, 65535)},
    {"assume", 0, "default-config|intact",
     "nobody has configured the sides, so they ask for CRCs; no octet was damaged\non its way, so "
     "a "
     "wrong CRC is its sender's",
     0, IW_OPTION_CALLS(set_assume)},
    {"no-quirks", 0, NULL, "judge everything as it is: look through no deviation that hides others",
     0, FLAG(no_quirks)},
    {"extract", 0, "STAG", "write the octets that Writes and Read Responses placed under this STag",
     0, IW_OPTION_CALLS(set_extract)},
    {"into", 0, "FILE", "to this file;", 0, KEEP(into)},
    {"connection", 0, "N", "of this connection, by its number in the summary,", 0,
     IW_OPTION_CALLS(set_connection)},
    {"owner", 0, "initiator|responder", "the buffer of this side", 0, IW_OPTION_CALLS(set_owner)},
    {"connections", 0, "N", "follow at most N at a time (10000); each takes about 4 KiB", 0,
     IW_OPTION_COUNTS(struct iw_lint_options, connections, 1, MOST_CONNECTIONS)},
};

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool is_input(const char *output, char *const *captures, size_t count)
{
    for (size_t i = 0; output != NULL && i < count; i++)
        if (same_file(output, captures[i]))
            return true;
    return false;
}

/* Options that contradict each other, or the captures. Returns -1 if they do not, else the exit
 * status. */
static int check(const struct iw_lint_options *o, char *const *captures, size_t count)
{
    const struct iw_host_output outputs[] = {
        {"annotate", o->annotate}, {"into", o->into}, {"json-lines", o->json_lines}};
    const char *wrong = NULL;

    if (o->format == IW_LINT_SARIF && (o->summary || o->messages))
        wrong = "--sarif prints findings only: did not expect --summary or --messages";
    if ((o->into != NULL) != (o->stag >= 0))
        wrong = "--extract STAG and --into FILE: expected both or none";
    if (is_input(o->into, captures, count))
        wrong = "--into: expected another file than the capture";
    if (is_input(o->json_lines, captures, count))
        wrong = "--json-lines: expected another file than the capture";
    if (o->annotate != NULL && (o->live != NULL || strcmp(captures[0], "-") == 0))
        wrong = "--annotate reads the capture twice: expected a file";
    if (is_input(o->annotate, captures, count))
        wrong = "--annotate: expected another file than the capture";
    if (o->annotate != NULL && count > 1)
        wrong = "--annotate: expected one capture";
    if (o->into != NULL && count > 1)
        wrong = "--extract: expected one capture";
    if (o->json_lines != NULL && strcmp(o->json_lines, "-") == 0 && o->format == IW_LINT_SARIF)
        wrong = "--json-lines -: --sarif writes to standard output";
    return wrong != NULL ? iw_complain_exit(IW_EXIT_USAGE, "%s", wrong)
                         : iw_host_check_outputs(outputs, sizeof(outputs) / sizeof(outputs[0]));
}

static void offer_captures(const struct iw_offers *to, size_t operand)
{
    (void)operand;
    iw_offer_files(to);
}

/* Returns -1 to go on, with the index of the first capture in *first, else the exit status. */
static int parse(int argc, char **argv, struct iw_lint_options *o, int *first)
{
    static const char usage[] =
        "usage: iwarp-lint [options] FILE...\n"
        "       iwarp-lint [options] --live INTERFACE\n\n"
        "Judges the iWARP connections in captures (pcap or pcapng; - is standard input; a pattern "
        "like\n"
        "'*.pcapng' that is no file's name stands for all files that fit), or those that pass an "
        "interface:\n"
        "one line per rule of the RFCs that a side broke, FILE:FRAME: RULE (LEVEL): TEXT.\n\n";
    static const char ending[] =
        "\nexit status: 0 clean, 1 findings, 2 unreadable or cut short, 3 nothing to judge "
        "(--require),\n64 usage, 70 error of the tool, 73 an output cannot be written, "
        "130 interrupted\n";
    const struct iw_option_table table = {
        .options = options, .count = sizeof(options) / sizeof(*options), .context = o};
    const struct iw_command_line line = {.program = "iwarp-lint",
                                         .usage = usage,
                                         .ending = ending,
                                         .tables = &table,
                                         .n_tables = 1,
                                         .most_operands = -1,
                                         .offer = offer_captures};
    int status = iw_options_read(&line, argc, argv, first);

    if (status >= 0)
        return status;
    if (o->live != NULL && argc > *first)
        return iw_complain_exit(IW_EXIT_USAGE,
                                "expected one capture, a file or --live; see --help");
    if (o->live == NULL && argc == *first)
        return iw_complain_exit(IW_EXIT_USAGE, "expected a capture; see --help");
    status = check(o, argv + *first, (size_t)(argc - *first));
    if (o->json_lines != NULL && strcmp(o->json_lines, "-") == 0) {
        o->format = IW_LINT_JSON;
        o->json_lines = NULL;
        setvbuf(stdout, NULL, _IOLBF, 0);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct iw_lint_options o = {
        .connections = CONNECTIONS, .stag = -1, .connection = -1, .owner = -1};

    iw_complain_as("iwarp-lint");
    int first, status = parse(argc, argv, &o, &first);
    return status >= 0 ? status
                       : iw_lint_captures(&o, argv + first, (size_t)(argc - first), stdout);
}
