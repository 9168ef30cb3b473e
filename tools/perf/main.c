/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/complain.h"
#include "host/files.h"
#include "host/offers.h"
#include "host/options.h"
#include "iwarp/mpa.h"
#include "perf.h"
#include "perf_loop.h"
#include "standard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The two uses of `loop`. */
enum { MEASURE = 1, RECORD = 2 };

static int set_op(void *context, const char *value, char *error, size_t room)
{
    struct iw_loop_options *o = context;
    o->sends = strcmp(value, "send") == 0;
    if (o->sends || strcmp(value, "write") == 0)
        return IW_OPTION_TAKEN;
    snprintf(error, room, "expected write or send");
    return IW_OPTION_WRONG;
}

static int set_traffic(void *context, const char *value, char *error, size_t room)
{
    static const char *const names[] = {"mixed", "writes", "sends"};
    struct iw_loop_options *o = context;
    for (unsigned k = 0; k < sizeof(names) / sizeof(names[0]); k++)
        if (strcmp(value, names[k]) == 0) {
            o->traffic = (enum iw_loop_traffic)k;
            return IW_OPTION_TAKEN;
        }
    snprintf(error, room, "expected mixed, writes or sends");
    return IW_OPTION_WRONG;
}

#define COUNT(member, least, most) IW_OPTION_COUNTS(struct iw_loop_options, member, least, most)

static const struct iw_option loop_options[] = {
    {"size", 0, "N", "octets of one message (65536), 1..67108864", 0, COUNT(size, 1, 67108864)},
    {"op", 0, "write|send", "(write)", MEASURE, IW_OPTION_CALLS(set_op)},
    {"window", 0, "N", "messages posted at once (8), 1..4096", MEASURE, COUNT(window, 1, 4096)},
    {"total", 0, "N", "octets moved in all (1073741824)", 0, COUNT(total, 1, UINT64_C(1) << 40)},
    {"rounds", 0, "N", "rounds that the total is split into (16), 1..1000", MEASURE,
     COUNT(rounds, 1, IW_LOOP_ROUNDS_MAX)},
    {"crc", 0, "on|off", "(on)", 0, IW_OPTION_SWITCHES(struct iw_loop_options, crc)},
    {"markers", 0, "on|off", "(off)", 0, IW_OPTION_SWITCHES(struct iw_loop_options, markers)},
    {"mulpdu", 0, "N", "octets (64768), 128..64768", MEASURE,
     COUNT(mulpdu, IW_MPA_MULPDU_MIN, IW_MPA_ULPDU_MAX)},
    {"portable-crc", 0, NULL, "the portable CRC32c in both, not the best one", MEASURE,
     IW_OPTION_SETS(struct iw_loop_options, portable_crc)},
    {"max-ratio", 0, "X", "exit with 1 if the median ratio is above X", MEASURE,
     IW_OPTION_MEASURES(struct iw_loop_options, max_ratio, 0, 1e9)},
    {"min-rate", 0, "N", "exit with 1 if there are fewer messages per second", MEASURE,
     IW_OPTION_MEASURES(struct iw_loop_options, min_rate, 0, 1e18)},
};

static const struct iw_option record_options[] = {
    {"pcap", 0, "FILE", "where to; --size, --total, --crc and --markers hold here, too", 0,
     IW_OPTION_KEEPS(struct iw_loop_options, path)},
    {"mss", 0, "N", "octets of a TCP segment (1460), 140..65495", RECORD, COUNT(mss, 140, 65495)},
    {"connections", 0, "N", "connections, which take turns (1), 1..1000000", RECORD,
     COUNT(connections, 1, 1000000)},
    {"burst", 0, "N", "FPDUs of each turn (1)", RECORD, COUNT(burst, 1, UINT64_C(1) << 32)},
    {"fpdu", 0, "N",
     "FPDUs of up to N octets, one after the other, 140..65495; segments are\n"
     "cut from them wherever they fall",
     RECORD, COUNT(fpdu, 140, 65495)},
    {"traffic", 0, "mixed|writes|sends", "(mixed)", RECORD, IW_OPTION_CALLS(set_traffic)},
    {"port", 0, "N", "of the responder (4420), 1..65535", RECORD, COUNT(port, 1, 65535)},
};

/* What the help is asked for has both uses. */
static unsigned use(int argc, char **argv)
{
    unsigned found = MEASURE;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return 0;
        if (strcmp(argv[i], "--pcap") == 0 || strncmp(argv[i], "--pcap=", 7) == 0)
            found = RECORD;
    }
    return found;
}

static int loop(int argc, char **argv)
{
    static const char usage[] =
        "usage: iwarp-perf loop [options]\n"
        "\n"
        "Moves octets between two endpoints joined without sockets, interleaved with the work "
        "that\n"
        "no stack can avoid (one memcpy and, with CRCs on, two CRC32c passes over the same "
        "octets),\n"
        "and prints the ratio of the two times: the median of the rounds, and their spread.\n";
    struct iw_loop_options o = {.size = 65536,
                                .total = UINT64_C(1) << 30,
                                .crc = true,
                                .rounds = 16,
                                .mulpdu = IW_MPA_ULPDU_MAX,
                                .window = 8,
                                .mss = 1460,
                                .connections = 1,
                                .burst = 1,
                                .port = 4420};
    const struct iw_option_table tables[] = {
        {"", loop_options, sizeof(loop_options) / sizeof(*loop_options), &o},
        {"With --pcap nothing is measured: a capture (pcapng) of RDMA Writes and Reads in turn is\n"
         "written, for programs that read captures. The TCP segments are made up, each is one "
         "FPDU\n"
         "unless --fpdu says otherwise.\n",
         record_options, sizeof(record_options) / sizeof(*record_options), &o},
    };
    const struct iw_command_line line = {
        .program = "iwarp-perf",
        .usage = usage,
        .tables = tables,
        .n_tables = 2,
        .command = use(argc, argv),
        .command_name = use(argc, argv) == RECORD ? "--pcap" : "a measurement (see --pcap)"};
    int first, status = iw_options_read(&line, argc, argv, &first);
    if (status >= 0)
        return status;
    return o.path != NULL ? iw_record_run(&o) : iw_loop_run(&o);
}

static int offer_commands(const char *typed)
{
    const struct iw_offers to = {.typed = typed, .before = ""};
    iw_offer(&to, "local", "client and server on this machine");
    iw_offer(&to, "client", "measure against the server at HOST:PORT");
    iw_offer(&to, "server", "serve clients at HOST:PORT");
    iw_offer(&to, "loop", "no sockets: two endpoints beside a memcpy");
    return IW_EXIT_GOOD;
}

static int run(int argc, char **argv)
{
    static struct perf_plan plan;
    const char *command = argc < 2 ? "no command" : argv[1];
    int r;
    (void)iw_descriptors_raise(UINT64_MAX); /* one for each connection */
    iw_complain_as("iwarp-perf");
    if (iw_options_completing() && argc <= 2 && command[0] != '-')
        return offer_commands(argc < 2 ? "" : command);
    if (command[0] == '-' && (r = perf_plan_client(&plan, true, argc, argv)) >= 0)
        return r; /* --help, --version */
    if (strcmp(command, "loop") == 0)
        return loop(argc - 1, argv + 1);
    if (strcmp(command, "server") == 0) {
        r = perf_plan_server(&plan, argc - 1, argv + 1);
        return r >= 0 ? r : perf_server(&plan);
    }
    bool local = strcmp(command, "local") == 0;
    if (!local && strcmp(command, "client") != 0) {
        iw_complain("%s: expected local, client, server or loop (see --help)", command);
        return IW_EXIT_USAGE;
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
