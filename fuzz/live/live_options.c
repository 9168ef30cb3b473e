/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line. */
#include "host/options.h"

#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "host/complain.h"
#include "host/offers.h"
#include "host/outputs.h"
#include "host/text.h"
#include "hunt.h"
#include "target/target_offer.h"

static int set_seeds(void *context, const char *value, char *error, size_t room)
{
    struct iw_hunt_options *o = context;

    (void)error;
    (void)room;
    o->seeds = iw_got(realloc(o->seeds, (o->n_seeds + 1) * sizeof(*o->seeds)));
    o->seeds[o->n_seeds++] = iw_text_copy(value);
    return IW_OPTION_TAKEN;
}

#define KEEP(member) IW_OPTION_KEEPS(struct iw_hunt_options, member)
#define FLAG(member) IW_OPTION_SETS(struct iw_hunt_options, member)
#define COUNT(member, least, most) IW_OPTION_COUNTS(struct iw_hunt_options, member, least, most)
#define MEASURE(member, most) IW_OPTION_MEASURES(struct iw_hunt_options, member, 0, most)

/* Those without help are for this program's own use. */
static const struct iw_option options[] = {
    {"target", 't', "SPEC",
     "embedded (default), tcp:HOST:PORT[,KEY=VALUE...] or a target file, as for iwarp-conform", 0,
     IW_OPTION_OFFERED(struct iw_hunt_options, target, iw_target_offer)},
    {"agent", 0, "PATH", "the program of the embedded target", 0, KEEP(agent)},
    {"seeds", 0, "CAPTURE", "also begin with the initiators of this capture; may be repeated", 0,
     IW_OPTION_CALLS_OFFERED(set_seeds, iw_offer_files)},
    {"time", 0, "SECONDS", "end after SECONDS (60, unless --count is given)", 0,
     MEASURE(time, 1e9)},
    {"count", 0, "N", "end after N sequences", 0, COUNT(count, 1, INT64_MAX)},
    {"findings", 0, "N", "end after N findings", 0, COUNT(findings, 1, 1000000)},
    {"seed", 0, "N", "seed of the random choices (default: the clock)", 0,
     COUNT(seed, 0, INT64_MAX)},
    {"targets", 0, "N", "targets at a time, each a process with a port of its own, 1 to 16 (1)", 0,
     COUNT(targets, 1, IW_HUNT_TARGETS)},
    {"minimise", 0, "SECONDS", "minimise each finding for at most SECONDS, beside the hunt (10)", 0,
     MEASURE(minimise, 1e6)},
    {"rate", 0, "N", "begin at most N sequences a second", 0, MEASURE(rate, 1e9)},
    {"jobs", 'j', "N", "connections at a time, 1 to 32 (default: 32 on this host, else 8)", 0,
     COUNT(jobs, 1, IW_HUNT_SLOTS)},
    {"blind", 0, NULL, "learn nothing: vary the seeds only", 0, FLAG(blind)},
    {"coverage", 0, NULL, "the peer reports what it reached (see the manual)", 0, FLAG(coverage)},
    {"suppress", 0, "FILE", "leave out the known findings that FILE lists", 0, KEEP(suppress)},
    {"allow-hazard", 0, NULL,
     "also a peer on another host that nobody here started: it may need to be switched off and on",
     0, FLAG(hazards)},
    {"time-scale", 0, "X", "multiply every patience by X", 0, MEASURE(time_scale, 1000)},
    {"results", 0, "DIR", "folder of the results (iwarp-fuzz-results/TIME-TARGET)", 0,
     KEEP(results)},
    {"json", 0, "FILE", "write a report", 0, KEEP(json)},
    {"graph", 0, "FILE", "write the states: Graphviz, or JSON if FILE ends in .json", 0,
     KEEP(graph)},
    {"try", 0, "FILE", NULL, 0, KEEP(try)},
    {"resume", 0, NULL, NULL, 0, FLAG(resume)},
};

int iw_hunt_parse(struct iw_hunt_options *o, int argc, char **argv)
{
    static const char usage[] = "usage: iwarp-fuzz [OPTION...]\nFuzzes a live iWARP peer.\n\n";
    const struct iw_option_table table = {
        .options = options, .count = sizeof(options) / sizeof(*options), .context = o};
    const struct iw_command_line line = {
        .program = "iwarp-fuzz", .usage = usage, .tables = &table, .n_tables = 1};

    iw_complain_as("iwarp-fuzz");
    *o = (struct iw_hunt_options){.target = "embedded",
                                  .time_scale = 1,
                                  .targets = 1,
                                  .minimise = 10,
                                  .seed = iw_clock_wall() / 1000000};
    int first;
    int status = iw_options_read(&line, argc, argv, &first);
    o->arguments = argv + 1;
    o->n_arguments = first - 1 - (strcmp(argv[first - 1], "--") == 0); /* more options may follow */
    if (o->time <= 0 && !o->count)
        o->time = 60;
    const struct iw_host_output outputs[] = {{"json", o->json}, {"graph", o->graph}};
    return status >= 0 ? status : iw_host_check_outputs(outputs, 2);
}
