/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line. */
#include "host/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_compare.h"
#include "cmd_diff.h"
#include "cmd_list.h"
#include "cmd_probe.h"
#include "cmd_replay.h"
#include "cmd_requirements.h"
#include "cmd_run.h"
#include "cmd_self_check.h"
#include "complete.h"
#include "host/complain.h"
#include "host/number.h"
#include "host/outputs.h"
#include "host/text.h"
#include "iwarp/nearest.h"
#include "iwarp/transport.h"
#include "reexec.h"
#include "target/target_offer.h"

enum {
    RUN = 1,
    LIST = 2,
    SHOW = 4,
    REQUIREMENTS = 8,
    SELF_CHECK = 16,
    DIFF = 32,
    PROBE = 64,
    REPLAY = 128,
    MERGE = 256,
    COMPARE = 512,
    PLAY = RUN | REPLAY,
    REPORT = PLAY | MERGE
};

enum { SOME = 1000000, ANY }; /* numbers of operands: at least one; any */

static const struct command {
    const char *name;
    unsigned bit;
    int (*run)(const struct iw_command *c);
    const char *operands; /* "", "ID", "[ID]..." */
    const char *help;
    size_t n_operands;    /* how many it takes; those of run and list are patterns */
    const char *expected; /* what they are; NULL: none */
} commands[] = {
    {"run", RUN, iw_command_run, "[ID...]", "run cases against a target (the default)", 0, NULL},
    {"merge", MERGE, iw_command_merge, "DIR...",
     "one report of several runs: of the shards of a run, say", SOME, "folders of results"},
    {"list", LIST, iw_command_list, "[ID...]", "list cases", 0, NULL},
    {"show", SHOW, iw_command_show, "ID",
     "all about one case, with its rules and its script, or about one rule", 1,
     "the id of a case or a rule"},
    {"requirements", REQUIREMENTS, iw_command_requirements, "[RULE...]",
     "the rules of the RFCs, and the cases that name them; all about those that are named", ANY,
     NULL},
    {"self-check", SELF_CHECK, iw_command_self_check, "",
     "bend the reference peer in every way and see whether a case notices", 0, NULL},
    {"diff", DIFF, iw_command_diff, "RUN-A RUN-B", "what two runs differ in", 2,
     "two runs: folders of results, or JSON reports"},
    {"compare", COMPARE, iw_command_compare, "RUN RUN...",
     "runs of several devices, firmwares, kernels or days side by side", 2,
     "two runs or more: folders of results, or JSON reports"},
    {"probe", PROBE, iw_command_probe, "SPEC",
     "find out what a peer supports and write its target file", 1,
     "a peer: tcp:HOST:PORT or a target file"},
    {"replay", REPLAY, iw_command_replay, "CAPTURE",
     "play one side of a recorded conversation and compare the other one", 1, "a capture"},
};

/* Reads "K/N" as an option's value. */
static int read_part(const char *value, unsigned *part, unsigned *parts, char *error, size_t room)
{
    const char *slash = strchr(value, '/');
    char *first = slash != NULL ? iw_got(strndup(value, (size_t)(slash - value))) : NULL;
    uint64_t k, n;
    bool good = first != NULL && iw_number(slash + 1, 1, 9999, &n) && iw_number(first, 1, n, &k);
    free(first);
    if (!good)
        return iw_option_wrong(error, room, "expected K/N, K from 1 to N");
    *part = (unsigned)k;
    *parts = (unsigned)n;
    return IW_OPTION_TAKEN;
}

static int set_part(void *context, const char *value, char *error, size_t room)
{
    struct iw_command *c = context;
    return read_part(value, &c->part, &c->parts, error, room);
}

static int set_shard(void *context, const char *value, char *error, size_t room)
{
    struct iw_command *c = context;
    c->head.shard = value;
    return read_part(value, &c->shard, &c->shards, error, room);
}

static int set_colour(void *context, const char *value, char *error, size_t room)
{
    struct iw_command *c = context;
    return iw_host_colour_read(value, &c->colour)
               ? IW_OPTION_TAKEN
               : iw_option_wrong(error, room, "expected auto, always or never");
}

static int set_order(void *context, const char *value, char *error, size_t room)
{
    struct iw_command *c = context;
    uint64_t seed;
    c->head.order = NULL;
    if (strcmp(value, "suite") == 0)
        return IW_OPTION_TAKEN;
    if (strcmp(value, "random") == 0)
        seed = (uint64_t)iw_transport_now() & UINT32_MAX;
    else if (strncmp(value, "random,", 7) != 0 || !iw_number(value + 7, 0, UINT32_MAX, &seed))
        return iw_option_wrong(error, room, "expected suite, random or random,SEED, SEED up to %u",
                               UINT32_MAX);
    snprintf(c->order, sizeof(c->order), "random,%llu", (unsigned long long)seed);
    c->head.order = c->order;
    return IW_OPTION_TAKEN;
}

static int set_select(void *context, const char *value, char *error, size_t room)
{
    (void)error;
    (void)room;
    iw_command_select(context, value);
    return IW_OPTION_TAKEN;
}

/* "all" or "failed" */
static int set_keep(void *context, const char *value, char *error, size_t room)
{
    struct iw_command *c = context;
    c->head.keep_all = strcmp(value, "all") == 0;
    if (c->head.keep_all || strcmp(value, "failed") == 0)
        return IW_OPTION_TAKEN;
    snprintf(error, room, "expected failed or all");
    return IW_OPTION_WRONG;
}

#define KEEP(member) IW_OPTION_KEEPS(struct iw_command, member)
#define FLAG(member) IW_OPTION_SETS(struct iw_command, member)
#define COUNT(member, most) IW_OPTION_COUNTS(struct iw_command, member, 1, most)

static const struct iw_option options[] = {
    {"select", 's', "CHOICE",
     "an id or glob, rule:ID, tag:WORD, level:must|should|may, role:responder|initiator,\n"
     "joined by and, or, not and parentheses: 'tag:field and not role:responder';\n"
     "may be repeated: cases that fit any",
     RUN | LIST | SELF_CHECK, IW_OPTION_CALLS_OFFERED(set_select, iw_complete_choice)},
    {"shard", 0, "N/M", "only the N-th of M shards of these cases; each case is in exactly one",
     RUN | LIST, IW_OPTION_CALLS(set_shard)},
    {"durations", 0, "FILE",
     "with --shard: a run (its JSON report or results), by whose times shards take equally long",
     RUN | LIST, KEEP(durations)},
    {"order", 0, "ORDER", "suite (default), random or random,SEED", RUN | LIST,
     IW_OPTION_CALLS(set_order)},
    {"target", 't', "SPEC",
     "embedded[,crc=on|off,markers=both|target|station|none,revision=0|1|2|2-plain] (default),\n"
     "the name or path of a target file, or\n"
     "tcp:HOST:PORT[,class=bare|rping|agent,crc=on|off,markers=on|off,rev=1|2,can=WORD]",
     PLAY, IW_OPTION_OFFERED(struct iw_command, head.target, iw_target_offer)},
    {"jobs", 'j', "N", "cases at a time (embedded: four for each CPU; else 1)", RUN | SELF_CHECK,
     COUNT(jobs, 256)},
    {"tap", 0, NULL, "TAP version 14 on standard output", RUN | MERGE, FLAG(tap)},
    {"junit", 0, "FILE", "write a JUnit report", REPORT, KEEP(junit)},
    {"json", 0, "FILE", "write a JSON report", REPORT | SELF_CHECK | COMPARE, KEEP(json)},
    {"html", 0, "FILE",
     "write the report for people there: one page, no network needed (report.html in --results)",
     REPORT | COMPARE, KEEP(html)},
    {"csv", 0, "FILE", "write a table: each rule, what became of it, and by which cases",
     RUN | MERGE | COMPARE, KEEP(csv_file)},
    {"results", 0, "DIR", "folder of the results (iwarp-conform-results/TIME-TARGET)",
     REPORT | SELF_CHECK, KEEP(results)},
    {"pcap-dir", 0, "DIR",
     "folder of the captures (that of the results); run: of all, as --keep all", PROBE | PLAY,
     KEEP(head.pcap_dir)},
    {"keep", 0, "WHAT", "captures to keep: failed, of cases that did not pass (default), or all",
     RUN, IW_OPTION_CALLS(set_keep)},
    {"capture", 0, "IFACE", "also keep the real packets of this network interface (packets.pcap)",
     PLAY, KEEP(capture)},
    {"trace", 0, NULL, "print every message as it happens; one case at a time", PROBE | PLAY,
     FLAG(trace)},
    {"verbose", 'v', NULL,
     "name the cases that passed or were skipped, too; replay: print every message as it happens",
     REPORT, FLAG(verbose)},
    {"color", 0, "WHEN", "colours: auto (default: on a terminal, unless NO_COLOR), always or never",
     REPORT, IW_OPTION_CALLS(set_colour)},
    {"as", 0, "SIDE", "the side that is played: initiator or responder", REPLAY, KEEP(replay.as)},
    {"stream", 0, "N", "the connection of the capture, from 0; N,N: several that belong together",
     REPLAY, KEEP(replay.stream)},
    {"map", 0, "MAP",
     "where the application advertises its buffers: rping, perftest, ucmatose, or a Lua "
     "file\n(unless said, a guess)",
     REPLAY, KEEP(replay.map)},
    {"time", 0, "HOW", "the time between the messages: drop (default), keep or scale=X", REPLAY,
     KEEP(replay.time)},
    {"private", 0, "HEX", "other private data than the recorded", REPLAY, KEEP(replay.private)},
    {"list", 0, NULL, "list the conversations of the capture", REPLAY, FLAG(list)},
    {"baseline", 0, "FILE", "compare with these verdicts: only differences count", RUN | MERGE,
     KEEP(baseline)},
    {"write-baseline", 0, "FILE", "pin the verdicts of this run", RUN | MERGE,
     KEEP(write_baseline)},
    {"repeat", 0, "N", "run every case N times; the gravest verdict counts", PLAY,
     COUNT(head.repeat, 100000)},
    {"operator", 0, "NAME", "who runs it, for the reports (a target file can say that, too)", PLAY,
     KEEP(head.run_by)},
    {"allow-hazard", 0, NULL, "also the cases with the tag hazard, which could wedge the target",
     RUN, FLAG(hazards)},
    {"no-quirks", 0, NULL, "judge everything as it is: look through no deviation that hides others",
     PLAY, FLAG(head.no_quirks)},
    {"resume", 0, "DIR", "go on with a run that was ended: the folder of its results", RUN,
     KEEP(resume)},
    {"csv", 0, NULL, "a table: one line a rule", REQUIREMENTS, FLAG(csv)},
    {"summary", 0, NULL, "numbers only", REQUIREMENTS, FLAG(summary)},
    {"full", 0, NULL,
     "every wrong reaction; unless --diagnose: every case that names a rule of the check, and each "
     "case until it has\n"
     "noticed something",
     SELF_CHECK, FLAG(full)},
    {"switch", 0, "GLOB",
     "only these switches: a glob over KIND=CHECK and botch=CHECK=REACTION;\n"
     "with --diagnose also A+B: both at once",
     SELF_CHECK, IW_OPTION_OFFERED(struct iw_command, switches, iw_complete_switch)},
    {"diagnose", 0, NULL,
     "run the whole suite with each switch: do the findings accuse the rules that it breaks?",
     SELF_CHECK, FLAG(diagnose)},
    {"diagnosis", 0, "FILE",
     "what was recorded of --diagnose (conformance/proof/diagnosis.csv): fails if it was better",
     SELF_CHECK, KEEP(diagnosis)},
    {"record", 0, NULL, "with --diagnose: put the outcome of each switch into that file",
     SELF_CHECK, FLAG(record)},
    {"part", 0, "K/N", "with --diagnose: every N-th switch, beginning with number K", SELF_CHECK,
     IW_OPTION_CALLS(set_part)},
    {"output", 'o', "FILE", "write the target file there (standard output)", PROBE, KEEP(output)},
    {"force", 0, NULL, "write over a file that is there", PROBE, FLAG(force)},
    {"matrix", 0, "FILE",
     "record who noticed what there (with --full; conformance/proof/matrix.csv)", SELF_CHECK,
     KEEP(matrix)},
    {"cases", 0, "DIR", "folder with the cases",
     RUN | MERGE | LIST | SHOW | REQUIREMENTS | SELF_CHECK, KEEP(head.cases)},
    {"agent", 0, "PATH", "the embedded target (iwarp-agent beside this program, or $IWARP_AGENT)",
     PLAY | SELF_CHECK, KEEP(head.agent)},
    {"time-scale", 0, "X", "multiply every patience and deadline by X (slow targets, sanitizers)",
     PROBE | PLAY | SELF_CHECK, IW_OPTION_MEASURES(struct iw_command, head.time_scale, 0.01, 1000)},
};

enum {
    N_COMMANDS = sizeof(commands) / sizeof(*commands),
    N_OPTIONS = sizeof(options) / sizeof(*options)
};

static void list_commands(void)
{
    printf("\ncommands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        printf("  %-24s %s\n", commands[i].name, commands[i].help);
}

void iw_command_select(struct iw_command *c, const char *choice)
{
    c->select = iw_got(realloc(c->select, (c->n_select + 1) * sizeof(*c->select)));
    c->select[c->n_select++] = iw_text_copy(choice);
}

/* Offers the commands to a shell that completes the first word. */
static int offer_commands(const char *typed)
{
    const struct iw_offers to = {.typed = typed, .before = ""};
    for (size_t i = 0; i < N_COMMANDS; i++)
        iw_offer(&to, commands[i].name, commands[i].help);
    return IW_EXIT_GOOD;
}

static const struct command *command_of(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void unknown_command(const char *word)
{
    struct iw_nearest n;
    iw_nearest_begin(&n, word);
    for (size_t i = 0; i < N_COMMANDS; i++)
        iw_nearest_offer(&n, commands[i].name);
    if (!iw_options_suggest_command(&n))
        iw_complain("unknown command '%s'; see --help. A case is run by `iwarp-conform run %s`",
                    word, word);
}

/* The options of `command`. Returns -1 to go on, else the exit status. */
static int parse_options(struct iw_command *c, const struct command *command, bool named, int argc,
                         char **argv, int *operands)
{
    static const char ending[] =
        "\nexit status: 0 good, 1 a case failed, 2 better than the baseline says,\n"
        "3 inconclusive or never reached, 64 usage, 70 error of the tester or of a script,\n"
        "73 an output cannot be written, 130 interrupted\n";
    const struct iw_option_table table = {
        .title = "options:", .options = options, .count = N_OPTIONS, .context = c};
    char *usage = named ? iw_text_format("usage: iwarp-conform %s [OPTION...] %s\n\n%s\n",
                                         command->name, command->operands, command->help)
                        : iw_text_copy("usage: iwarp-conform [COMMAND] [OPTION...] [ID...]\n\n"
                                       "Reports whether an iWARP peer obeys RFC 5040, 5041, 5044, "
                                       "6581 and 7306.\n");
    char *tail = iw_text_format("%s%s",
                                named ? ""
                                      : "\n`iwarp-conform COMMAND --help` has the options of one "
                                        "command.\n",
                                ending);
    char *quoted = iw_text_format("'%s'", command->name);
    const struct iw_command_line line = {
        .program = "iwarp-conform",
        .usage = usage,
        .ending = tail,
        .tables = &table,
        .n_tables = 1,
        .command = command->bit,
        .command_name = quoted,
        .most_operands = -1,
        .more_help = named ? NULL : list_commands,
        .offer = iw_complete_operand,
    };
    int status = iw_options_read(&line, argc, argv, operands);
    free(quoted);
    free(usage);
    free(tail);
    return status;
}

/* A run goes on as it was begun. */
static bool resumable(const struct iw_command *c)
{
    const char *other = c->n_select                ? "a selection"
                        : c->head.target != NULL   ? "--target"
                        : c->head.cases != NULL    ? "--cases"
                        : c->head.agent != NULL    ? "--agent"
                        : c->results != NULL       ? "--results"
                        : c->head.pcap_dir != NULL ? "--pcap-dir"
                        : c->head.time_scale > 0   ? "--time-scale"
                        : c->head.repeat           ? "--repeat"
                        : c->head.no_quirks        ? "--no-quirks"
                        : c->head.shard != NULL    ? "--shard"
                        : c->head.order != NULL    ? "--order"
                        : c->head.keep_all         ? "--keep"
                        : c->head.run_by != NULL   ? "--operator"
                                                   : NULL;
    if (c->resume == NULL || other == NULL ||
        iw_reexec_continues()) /* there, with the same words */
        return true;
    iw_complain("--resume goes on as the run was begun: did not expect %s", other);
    return false;
}

static bool has_operands(const struct iw_command *c, const struct command *command)
{
    const bool more = command->bit == COMPARE; /* than two */
    if (command->n_operands == ANY || (command->n_operands == SOME && c->n_operands > 0))
        return true;
    if (c->n_operands > command->n_operands && !more)
        iw_complain("%s: did not expect '%s'", c->name, c->operands[command->n_operands]);
    else if (c->n_operands < command->n_operands)
        iw_complain("%s: expected %s", c->name, command->expected);
    return c->n_operands == command->n_operands || (more && c->n_operands > command->n_operands);
}

int iw_command_parse(struct iw_command *c, int argc, char **argv)
{
    bool named = argc > 1 && *argv[1] != '-';
    const struct command *command = command_of(named ? argv[1] : "run");
    char *program = argc ? argv[0] : (char[]){"iwarp-conform"};
    iw_complain_as("iwarp-conform");
    *c = (struct iw_command){.program = program};
    if (iw_options_completing() && (argc <= 1 || (argc == 2 && named) || command == NULL))
        return offer_commands(argc <= 1 ? "" : argv[1]);
    if (command == NULL) {
        unknown_command(argv[1]);
        return IW_EXIT_USAGE;
    }
    c->name = command->name;
    iw_complete_operands_of(command->name);
    c->carry_out = command->run;
    if (named) {
        argv[1] = program; /* getopt's messages begin with it */
        argv++;
        argc--;
    }
    int first;
    int status = parse_options(c, command, named, argc, argv, &first);
    if (status >= 0)
        return status;
    c->operands = argv + first;
    c->n_operands = argc > first ? (size_t)(argc - first) : 0;
    if (command->bit & (RUN | LIST)) {
        for (size_t i = 0; i < c->n_operands; i++)
            iw_command_select(c, c->operands[i]);
    } else if (!has_operands(c, command)) {
        return IW_EXIT_USAGE;
    }
    if (c->durations != NULL && c->head.shard == NULL)
        return iw_complain_exit(IW_EXIT_USAGE, "--durations: of use with --shard only");
    const struct iw_host_output outputs[] = {
        {"junit", c->junit},  {"json", c->json},     {"html", c->html},
        {"csv", c->csv_file}, {"matrix", c->matrix}, {"write-baseline", c->write_baseline}};
    status = iw_host_check_outputs(outputs, sizeof(outputs) / sizeof(*outputs));
    if (status >= 0)
        return status;
    return resumable(c) ? -1 : IW_EXIT_USAGE;
}

void iw_command_select_none(struct iw_command *c)
{
    for (size_t i = 0; i < c->n_select; i++)
        free(c->select[i]);
    free(c->select);
    c->select = NULL;
    c->n_select = 0;
}

void iw_command_free(struct iw_command *c)
{
    iw_command_select_none(c);
}
