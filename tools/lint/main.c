/* SPDX-License-Identifier: BSD-3-Clause */
#include "lint.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    LEAST_MSS = 128,
    MOST_MSS = 65535,
    PORTS = 64,
    CONNECTIONS = 10000,
    MOST_CONNECTIONS = 1000000
};

static const char usage[] =
    "usage: iwarp-lint [options] FILE\n"
    "       iwarp-lint [options] --live INTERFACE\n"
    "\n"
    "Judges the iWARP connections in a capture (pcap or pcapng; - is the standard input), or "
    "those\n"
    "that pass an interface: one line for each rule of the RFCs that a side broke,\n"
    "FILE:FRAME: RULE (LEVEL): TEXT.\n"
    "\n"
    "  --summary           tell of every connection: what was agreed, messages and sizes, Reads "
    "and\n"
    "                      how long they took, findings\n"
    "  --messages          list every RDMAP message\n"
    "  --json              JSON, one object a line\n"
    "  --sarif             SARIF 2.1.0, for programs that collect findings\n"
    "  --annotate FILE     copy the capture (pcapng), with the findings as comments on its "
    "packets\n"
    "  --level must|all    only findings about MUST and MUST NOT (all)\n"
    "  --live INTERFACE    capture from there until a signal (Ctrl-C) ends it\n"
    "  --filter EXPRESSION look only at packets that this BPF filter selects\n"
    "  --decode-as PORT    connections of this port are iWARP, however they begin; may be "
    "repeated\n"
    "  --mss N             the EMSS of both sides: judge the sizes of FPDUs, and whether segments "
    "cut "
    "them\n"
    "  --assume WORD       default-config: nobody has configured the sides, so they ask for CRCs\n"
    "  --extract STAG      write the octets that Writes and Read Responses placed under this STag\n"
    "  --into FILE         to this file;\n"
    "  --connection N      of this connection, by its number in the summary,\n"
    "  --owner SIDE        the buffer of the initiator or responder\n"
    "  --connections N     follow so many at a time (10000); each takes about 4 KiB\n"
    "  --help\n"
    "  --version\n"
    "\n"
    "exit status: 0 clean, 1 findings, 2 unreadable or cut short, 64 usage, 70 error of the tool\n";

static int usage_error(const char *option, const char *value, const char *expected)
{
    fprintf(stderr, "iwarp-lint: %s %s: expected %s\n", option, value, expected);
    return IW_LINT_USAGE;
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;

    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool number(const char *text, unsigned long low, unsigned long high, unsigned long *out)
{
    char *end;

    errno = 0;
    *out = strtoul(text, &end, text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10);
    return *text >= '0' && *text <= '9' && !*end && !errno && *out >= low && *out <= high;
}

/* Options that contradict each other, or the capture. */
static bool fits(const struct iw_lint_options *o, bool extract)
{
    const char *wrong = NULL;

    if (o->format == IW_LINT_SARIF && (o->summary || o->messages))
        wrong = "--sarif tells findings only: did not expect --summary or --messages";
    if (!o->into != !extract)
        wrong = "--extract STAG and --into FILE: expected both or none";
    if (o->into && !o->live && same_file(o->into, o->path))
        wrong = "--into: expected another file than the capture";
    if (o->annotate && (o->live || !strcmp(o->path, "-")))
        wrong = "--annotate reads the capture twice: expected a file";
    if (o->annotate && !o->live && same_file(o->annotate, o->path))
        wrong = "--annotate: expected another file than the capture";
    if (wrong)
        fprintf(stderr, "iwarp-lint: %s\n", wrong);
    return !wrong;
}

/* -1 to go on, else the exit status. */
static int parse(int argc, char **argv, struct iw_lint_options *o, uint16_t *ports)
{
    enum {
        SUMMARY = 1,
        MESSAGES,
        JSON,
        SARIF,
        ANNOTATE,
        LEVEL,
        LIVE,
        FILTER,
        DECODE_AS,
        MSS,
        ASSUME,
        EXTRACT,
        INTO,
        CONNECTION,
        OWNER,
        MOST,
        HELP,
        VERSION
    };
    static const struct option options[] = {{"summary", no_argument, NULL, SUMMARY},
                                            {"messages", no_argument, NULL, MESSAGES},
                                            {"json", no_argument, NULL, JSON},
                                            {"sarif", no_argument, NULL, SARIF},
                                            {"annotate", required_argument, NULL, ANNOTATE},
                                            {"level", required_argument, NULL, LEVEL},
                                            {"live", required_argument, NULL, LIVE},
                                            {"filter", required_argument, NULL, FILTER},
                                            {"extract", required_argument, NULL, EXTRACT},
                                            {"into", required_argument, NULL, INTO},
                                            {"connection", required_argument, NULL, CONNECTION},
                                            {"owner", required_argument, NULL, OWNER},
                                            {"decode-as", required_argument, NULL, DECODE_AS},
                                            {"mss", required_argument, NULL, MSS},
                                            {"assume", required_argument, NULL, ASSUME},
                                            {"connections", required_argument, NULL, MOST},
                                            {"help", no_argument, NULL, HELP},
                                            {"version", no_argument, NULL, VERSION},
                                            {NULL, 0, NULL, 0}};
    unsigned long value;
    bool extract = false;
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case SUMMARY:
            o->summary = true;
            break;
        case MESSAGES:
            o->messages = true;
            break;
        case JSON:
            o->format = IW_LINT_JSON;
            break;
        case SARIF:
            o->format = IW_LINT_SARIF;
            break;
        case ANNOTATE:
            o->annotate = optarg;
            break;
        case LEVEL:
            o->must = strcmp(optarg, "must") == 0;
            if (!o->must && strcmp(optarg, "all") != 0)
                return usage_error("--level", optarg, "must or all");
            break;
        case LIVE:
            o->live = true;
            o->path = optarg;
            break;
        case FILTER:
            o->filter = optarg;
            break;
        case EXTRACT:
            if (!number(optarg, 0, UINT32_MAX, &value))
                return usage_error("--extract", optarg, "an STag, decimal or 0x...");
            o->stag = (uint32_t)value;
            extract = true;
            break;
        case INTO:
            o->into = optarg;
            break;
        case CONNECTION:
            if (!number(optarg, 0, LONG_MAX, &value))
                return usage_error("--connection", optarg, "the number of a connection");
            o->connection = (int64_t)value;
            break;
        case OWNER:
            o->owner = !strcmp(optarg, "responder");
            if (!o->owner && strcmp(optarg, "initiator") != 0)
                return usage_error("--owner", optarg, "initiator or responder");
            break;
        case DECODE_AS:
            if (o->n_ports == PORTS || !number(optarg, 1, 65535, &value))
                return usage_error("--decode-as", optarg, "a port, at most 64 of them");
            ports[o->n_ports++] = (uint16_t)value;
            break;
        case MSS:
            if (!number(optarg, LEAST_MSS, MOST_MSS, &value))
                return usage_error("--mss", optarg, "a number from 128 to 65535");
            o->mss = (uint32_t)value;
            break;
        case ASSUME:
            if (strcmp(optarg, "default-config") != 0)
                return usage_error("--assume", optarg, "default-config");
            o->default_config = true;
            break;
        case MOST:
            if (!number(optarg, 1, MOST_CONNECTIONS, &value))
                return usage_error("--connections", optarg, "a number from 1 to 1000000");
            o->connections = value;
            break;
        case HELP:
            fputs(usage, stdout);
            return 0;
        case VERSION:
            printf("iwarp-lint %s\n", IW_VERSION);
            return 0;
        default:
            return IW_LINT_USAGE;
        }
    }
    if (argc - optind != !o->live) {
        fprintf(stderr, "iwarp-lint: expected one capture%s; see --help\n",
                o->live ? ", a file or --live" : "");
        return IW_LINT_USAGE;
    }
    if (!o->live)
        o->path = argv[optind];
    return fits(o, extract) ? -1 : IW_LINT_USAGE;
}

int main(int argc, char **argv)
{
    uint16_t ports[PORTS];
    struct iw_lint_options options = {
        .connections = CONNECTIONS, .ports = ports, .connection = -1, .owner = -1};
    int status = parse(argc, argv, &options, ports);

    return status >= 0 ? status : iw_lint_run(&options, stdout);
}
