/* SPDX-License-Identifier: BSD-3-Clause */
#include "loop.h"
#include "perf.h"
#include "record.h"
#include "standard.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char usage[] =
    "usage: iwarp-perf loop [options]\n"
    "\n"
    "Moves octets between two endpoints joined without sockets, interleaved with the work that no\n"
    "stack can avoid (one memcpy and, with CRCs on, two CRC32c passes over the same octets), and\n"
    "prints the ratio of the two times: the median of the rounds, and their spread.\n"
    "\n"
    "  --size N          octets of one message (65536), 1..67108864\n"
    "  --op KIND         write or send (write)\n"
    "  --window N        messages posted at once (8), 1..4096\n"
    "  --total N         octets moved in all (1073741824)\n"
    "  --rounds N        rounds that the total is split into (16), 1..1000\n"
    "  --crc on|off      (on)\n"
    "  --markers on|off  (off)\n"
    "  --mulpdu N        octets (64768), 128..64768\n"
    "  --portable-crc    the portable CRC32c in both, not the best one\n"
    "  --max-ratio X     exit with 1 if the median ratio is above X\n"
    "  --min-rate N      exit with 1 if there are fewer messages a second\n"
    "\n"
    "With --pcap nothing is measured: a capture (pcapng) of RDMA Writes and Reads in turn is "
    "written,\n"
    "for programs that read captures. The TCP segments are made up, each is one FPDU unless "
    "--fpdu\n"
    "says otherwise.\n"
    "\n"
    "  --pcap FILE       where to; --size, --total, --crc and --markers hold here, too\n"
    "  --mss N           octets of a TCP segment (1460), 140..65495\n"
    "  --connections N   connections, which take turns (1), 1..1000000\n"
    "  --burst N         FPDUs of each turn (1)\n"
    "  --fpdu N          FPDUs of up to N octets, one behind the other, 140..65495; segments are\n"
    "                    cut from them wherever they fall\n"
    "  --traffic KIND    mixed, writes or sends (mixed)\n"
    "  --port N          of the responder (4420), 1..65535\n"
    "  --help\n";

static bool parse_switch(const char *text, bool *out)
{
    *out = strcmp(text, "on") == 0;
    return *out || strcmp(text, "off") == 0;
}

static bool parse_traffic(const char *text, enum iw_record_traffic *out)
{
    static const char *const names[] = {"mixed", "writes", "sends"};
    for (unsigned k = 0; k < sizeof names / sizeof names[0]; k++)
        if (strcmp(text, names[k]) == 0) {
            *out = (enum iw_record_traffic)k;
            return true;
        }
    return false;
}

/* Options of one of the two uses; the words of the other are refused. */
static int parse(int argc, char **argv, struct iw_loop_options *o, struct iw_record_options *r)
{
    enum {
        SIZE,
        TOTAL,
        CRC,
        MARKERS,
        HELP,
        ROUNDS,
        MULPDU,
        PORTABLE,
        OP,
        WINDOW,
        MIN_RATE,
        MAX_RATIO,
        PCAP,
        MSS,
        CONNECTIONS,
        BURST,
        FPDU,
        TRAFFIC,
        PORT
    };
    const char *measuring = NULL, *recording = NULL;
    static const struct option options[] = {{"size", required_argument, NULL, SIZE},
                                            {"total", required_argument, NULL, TOTAL},
                                            {"rounds", required_argument, NULL, ROUNDS},
                                            {"crc", required_argument, NULL, CRC},
                                            {"markers", required_argument, NULL, MARKERS},
                                            {"mulpdu", required_argument, NULL, MULPDU},
                                            {"portable-crc", no_argument, NULL, PORTABLE},
                                            {"op", required_argument, NULL, OP},
                                            {"window", required_argument, NULL, WINDOW},
                                            {"min-rate", required_argument, NULL, MIN_RATE},
                                            {"max-ratio", required_argument, NULL, MAX_RATIO},
                                            {"pcap", required_argument, NULL, PCAP},
                                            {"mss", required_argument, NULL, MSS},
                                            {"connections", required_argument, NULL, CONNECTIONS},
                                            {"burst", required_argument, NULL, BURST},
                                            {"fpdu", required_argument, NULL, FPDU},
                                            {"traffic", required_argument, NULL, TRAFFIC},
                                            {"port", required_argument, NULL, PORT},
                                            {"help", no_argument, NULL, HELP},
                                            {NULL, 0, NULL, 0}};
    for (int c, which; (c = getopt_long(argc, argv, "", options, &which)) != -1;) {
        char *end;
        if (c >= PCAP && c <= PORT)
            recording = options[which].name;
        else if (c >= ROUNDS && c <= MAX_RATIO)
            measuring = options[which].name;
        switch (c) {
        case SIZE:
            if (!perf_number(optarg, 1, 67108864, &o->size))
                return perf_usage_error("size", optarg, "1..67108864");
            break;
        case TOTAL:
            if (!perf_number(optarg, 1, UINT64_C(1) << 40, &o->total))
                return perf_usage_error("total", optarg, "1..1099511627776");
            break;
        case ROUNDS:
            if (!perf_number(optarg, 1, IW_LOOP_ROUNDS_MAX, &o->rounds))
                return perf_usage_error("rounds", optarg, "1..1000");
            break;
        case CRC:
            if (!parse_switch(optarg, &o->crc))
                return perf_usage_error("crc", optarg, "on or off");
            break;
        case MARKERS:
            if (!parse_switch(optarg, &o->markers))
                return perf_usage_error("markers", optarg, "on or off");
            break;
        case MULPDU:
            if (!perf_number(optarg, IW_MPA_MULPDU_MIN, IW_MPA_ULPDU_MAX, &o->mulpdu))
                return perf_usage_error("mulpdu", optarg, "128..64768");
            break;
        case PORTABLE:
            o->portable_crc = true;
            break;
        case OP:
            o->sends = strcmp(optarg, "send") == 0;
            if (!o->sends && strcmp(optarg, "write") != 0)
                return perf_usage_error("op", optarg, "write or send");
            break;
        case WINDOW:
            if (!perf_number(optarg, 1, 4096, &o->window))
                return perf_usage_error("window", optarg, "1..4096");
            break;
        case MIN_RATE:
            o->min_rate = strtod(optarg, &end);
            if (end == optarg || *end != '\0' || !(o->min_rate > 0))
                return perf_usage_error("min-rate", optarg, "a number above 0");
            break;
        case MAX_RATIO:
            o->max_ratio = strtod(optarg, &end);
            if (end == optarg || *end != '\0' || !(o->max_ratio > 0))
                return perf_usage_error("max-ratio", optarg, "a number above 0");
            break;
        case PCAP:
            r->path = optarg;
            break;
        case MSS:
            if (!perf_number(optarg, 140, 65495, &r->mss))
                return perf_usage_error("mss", optarg, "140..65495");
            break;
        case CONNECTIONS:
            if (!perf_number(optarg, 1, 1000000, &r->connections))
                return perf_usage_error("connections", optarg, "1..1000000");
            break;
        case BURST:
            if (!perf_number(optarg, 1, UINT64_C(1) << 32, &r->burst))
                return perf_usage_error("burst", optarg, "1..4294967296");
            break;
        case FPDU:
            if (!perf_number(optarg, 140, 65495, &r->fpdu))
                return perf_usage_error("fpdu", optarg, "140..65495");
            break;
        case TRAFFIC:
            if (!parse_traffic(optarg, &r->traffic))
                return perf_usage_error("traffic", optarg, "mixed, writes or sends");
            break;
        case PORT:
            if (!perf_number(optarg, 1, 65535, &r->port))
                return perf_usage_error("port", optarg, "1..65535");
            break;
        case HELP:
            fputs(usage, stdout);
            return -1;
        default:
            return PERF_USAGE;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "iwarp-perf: %s: unexpected argument\n", argv[optind]);
        return PERF_USAGE;
    }
    if (r->path != NULL && measuring != NULL) {
        fprintf(stderr, "iwarp-perf: --%s: did not expect it with --pcap\n", measuring);
        return PERF_USAGE;
    }
    if (r->path == NULL && recording != NULL) {
        fprintf(stderr, "iwarp-perf: --%s: expected --pcap FILE, too\n", recording);
        return PERF_USAGE;
    }
    r->size = o->size;
    r->total = o->total;
    r->crc = o->crc;
    r->markers = o->markers;
    return 0;
}

static int loop(int argc, char **argv)
{
    struct iw_loop_options options = {.size = 65536,
                                      .total = UINT64_C(1) << 30,
                                      .rounds = 16,
                                      .window = 8,
                                      .crc = true,
                                      .mulpdu = IW_MPA_ULPDU_MAX};
    struct iw_record_options record = {.mss = 1460, .connections = 1, .burst = 1, .port = 4420};
    int r = parse(argc, argv, &options, &record);
    if (r != 0)
        return r < 0 ? 0 : r;
    return record.path != NULL ? iw_record_run(&record) : iw_loop_run(&options);
}

/* A descriptor for each connection: as many as the system lets us have. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int run(int argc, char **argv)
{
    static struct perf_plan plan;
    static char name[] = "iwarp-perf";
    const char *command = argc < 2 ? "no command" : argv[1];
    int r;
    raise_descriptors();
    if (strcmp(command, "--help") == 0) {
        fputs(perf_usage, stdout);
        return 0;
    }
    if (argc >= 2)
        argv[1] = name; /* in getopt's messages */
    if (strcmp(command, "loop") == 0)
        return loop(argc - 1, argv + 1);
    if (strcmp(command, "server") == 0) {
        r = perf_plan_server(&plan, argc - 1, argv + 1);
        return r >= 0 ? r : perf_server(&plan);
    }
    bool local = strcmp(command, "local") == 0;
    if (!local && strcmp(command, "client") != 0) {
        fprintf(stderr, "iwarp-perf: %s: expected local, client, server or loop (see --help)\n",
                command);
        return PERF_USAGE;
    }
    r = perf_plan_client(&plan, local, argc - 1, argv + 1);
    if (r >= 0)
        return r;
    return local ? perf_local(&plan) : perf_client(&plan, plan.address);
}

int main(int argc, char **argv)
{
    iw_standard_open();
    return iw_standard_close("iwarp-perf", run(argc, argv));
}
