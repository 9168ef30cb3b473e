/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/complain.h"
#include "base/text.h"
#include "commands.h"
#include "iwarp/nearest.h"
#include "reexec.h"

enum {
    RUN = 1,
    LIST = 2,
    SHOW = 4,
    REQUIREMENTS = 8,
    SELF_CHECK = 16,
    DIFF = 32,
    PROBE = 64,
    REPLAY = 128,
    JOBS = 256,
    ROUNDS = 100000
};

static const struct command {
    const char *name;
    int bit;
    int (*run)(const struct iw_command *c);
    const char *words; /* "", "ID", "[ID]..." */
    const char *help;
} commands[] = {
    {"run", RUN, iw_command_run, "[ID...]", "run cases against a target (the default)"},
    {"list", LIST, iw_command_list, "[ID...]", "list cases"},
    {"show", SHOW, iw_command_show, "ID", "all about one case, with its rules and its script"},
    {"requirements", REQUIREMENTS, iw_command_requirements, "",
     "the rules of the RFCs, and the cases that name them"},
    {"self-check", SELF_CHECK, iw_command_self_check, "",
     "bend the reference peer in every way and see whether a case notices"},
    {"diff", DIFF, iw_command_diff, "RUN-A RUN-B", "what two runs differ in"},
    {"probe", PROBE, iw_command_probe, "SPEC",
     "find out what a peer supports and write its target file"},
    {"replay", REPLAY, iw_command_replay, "CAPTURE",
     "play one side of a recorded conversation and compare the other one"},
};

enum option_id {
    O_SELECT = 1,
    O_TARGET,
    O_JOBS,
    O_TAP,
    O_JUNIT,
    O_JSON,
    O_HTML,
    O_RESULTS,
    O_PCAP_DIR,
    O_CAPTURE,
    O_CASES,
    O_AGENT,
    O_TIME_SCALE,
    O_TRACE,
    O_VERBOSE,
    O_BASELINE,
    O_WRITE_BASELINE,
    O_REPEAT,
    O_HAZARD,
    O_RESUME,
    O_SUMMARY,
    O_CSV,
    O_CSV_FILE,
    O_FULL,
    O_SWITCH,
    O_MATRIX,
    O_OUTPUT,
    O_FORCE,
    O_AS,
    O_STREAM,
    O_MAP,
    O_TIME,
    O_PRIVATE,
    O_LIST,
    O_HELP,
    O_VERSION
};

enum { PLAY = RUN | REPLAY };

static const struct choice {
    const char *name;
    const char *argument; /* NULL: none */
    enum option_id id;
    char letter;
    int commands; /* that take it */
    const char *help;
} choices[] = {
    {"select", "PATTERN", O_SELECT, 's', RUN | LIST | SELF_CHECK,
     "an id or glob, rule:ID, tag:WORD, level:must|should|may, role:responder|initiator;\n"
     "may be repeated: cases that fit any"},
    {"target", "SPEC", O_TARGET, 't', PLAY,
     "embedded[,crc=on|off,markers=both|target|station|none,revision=0|1|2|2-plain] (default),\n"
     "the name or path of a target file, or\n"
     "tcp:HOST:PORT[,class=bare|rping|agent,crc=on|off,markers=on|off,rev=1|2,can=WORD]"},
    {"jobs", "N", O_JOBS, 'j', RUN | SELF_CHECK,
     "cases at a time (embedded: as many as there are CPUs; else 1)"},
    {"tap", NULL, O_TAP, 0, RUN, "TAP version 14 on standard output"},
    {"junit", "FILE", O_JUNIT, 0, PLAY, "write a JUnit report"},
    {"json", "FILE", O_JSON, 0, PLAY | SELF_CHECK, "write a JSON report"},
    {"html", "FILE", O_HTML, 0, PLAY, "write a report for people: one page, no network needed"},
    {"csv", "FILE", O_CSV_FILE, 0, RUN,
     "write a table: each rule, what became of it, and by which cases"},
    {"results", "DIR", O_RESULTS, 0, PLAY | SELF_CHECK,
     "folder of the results (iwarp-conform-results/TIME-TARGET)"},
    {"pcap-dir", "DIR", O_PCAP_DIR, 0, PROBE | PLAY,
     "folder of the captures (that of the results)"},
    {"capture", "IFACE", O_CAPTURE, 0, PLAY,
     "also keep the real packets of this network interface (packets.pcap)"},
    {"trace", NULL, O_TRACE, 0, PROBE | PLAY,
     "tell every message as it happens; one case at a time"},
    {"verbose", NULL, O_VERBOSE, 'v', PLAY,
     "name the cases that passed or were skipped, too; replay: tell every message as it happens"},
    {"as", "SIDE", O_AS, 0, REPLAY, "the side that is played: initiator or responder"},
    {"stream", "N", O_STREAM, 0, REPLAY,
     "the connection of the capture, from 1; N,N: several that belong together"},
    {"map", "MAP", O_MAP, 0, REPLAY,
     "where the application tells of its buffers: rping, perftest, ucmatose, or a Lua "
     "file\n(unless said, a guess)"},
    {"time", "HOW", O_TIME, 0, REPLAY,
     "the time between the messages: drop (default), keep or scale=X"},
    {"private", "HEX", O_PRIVATE, 0, REPLAY, "other private data than the recorded"},
    {"list", NULL, O_LIST, 0, REPLAY, "tell which conversations the capture has"},
    {"baseline", "FILE", O_BASELINE, 0, RUN,
     "verdicts that are known: only what differs from them counts"},
    {"write-baseline", "FILE", O_WRITE_BASELINE, 0, RUN, "pin the verdicts of this run"},
    {"repeat", "N", O_REPEAT, 0, PLAY, "run every case N times; the gravest verdict counts"},
    {"allow-hazard", NULL, O_HAZARD, 0, RUN,
     "also the cases with the tag hazard, which could wedge the target"},
    {"resume", "DIR", O_RESUME, 0, RUN,
     "go on with a run that was ended: the folder of its results"},
    {"csv", NULL, O_CSV, 0, REQUIREMENTS, "a table: one line a rule"},
    {"summary", NULL, O_SUMMARY, 0, REQUIREMENTS, "numbers only"},
    {"full", NULL, O_FULL, 0, SELF_CHECK,
     "every wrong reaction, every case that names a rule of the check, and each case until it has\n"
     "noticed something"},
    {"switch", "GLOB", O_SWITCH, 0, SELF_CHECK,
     "only these switches: a glob over KIND=CHECK and botch=CHECK=REACTION"},
    {"output", "FILE", O_OUTPUT, 'o', PROBE, "write the target file there (standard output)"},
    {"force", NULL, O_FORCE, 0, PROBE, "write over a file that is there"},
    {"matrix", "FILE", O_MATRIX, 0, SELF_CHECK,
     "record who noticed what there (with --full; conformance/proof/matrix.csv)"},
    {"cases", "DIR", O_CASES, 0, RUN | LIST | SHOW | REQUIREMENTS | SELF_CHECK,
     "folder with the cases"},
    {"agent", "PATH", O_AGENT, 0, PLAY | SELF_CHECK,
     "the embedded target (iwarp-agent beside this program, or $IWARP_AGENT)"},
    {"time-scale", "X", O_TIME_SCALE, 0, PROBE | PLAY | SELF_CHECK,
     "multiply every patience and deadline (slow targets, sanitizers)"},
    {"help", NULL, O_HELP, 'h', ~0, "this text"},
    {"version", NULL, O_VERSION, 'V', ~0, "the version"},
};

enum {
    N_COMMANDS = sizeof(commands) / sizeof(*commands),
    N_CHOICES = sizeof(choices) / sizeof(*choices)
};

/* ---- help ---- */

static void help_option(const struct choice *o)
{
    char left[40];
    const char *line = o->help;

    snprintf(left, sizeof(left), "%c%c%s --%s%s%s", o->letter ? '-' : ' ',
             o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name, o->argument ? " " : "",
             o->argument ? o->argument : "");
    printf("  %-24s ", left);
    for (; *line; line += strcspn(line, "\n")) {
        if (*line == '\n')
            printf("\n%*s", 27, (line++, ""));
        printf("%.*s", (int)strcspn(line, "\n"), line);
    }
    putchar('\n');
}

static void help(const struct command *only)
{
    if (only)
        printf("usage: iwarp-conform %s [OPTION...] %s\n\n%s\n", only->name, only->words,
               only->help);
    else {
        printf("usage: iwarp-conform [COMMAND] [OPTION...] [ID...]\n\n"
               "Tells whether an iWARP peer obeys RFC 5040, 5041, 5044, 6581 and 7306.\n\n"
               "commands:\n");
        for (size_t i = 0; i < N_COMMANDS; i++)
            printf("  %-24s %s\n", commands[i].name, commands[i].help);
    }
    printf("\noptions:\n");
    for (size_t i = 0; i < N_CHOICES; i++)
        if (!only || choices[i].commands & only->bit)
            help_option(&choices[i]);
    if (!only)
        printf("\n`iwarp-conform COMMAND --help` has the options of one command.\n");
    printf("\nexit status: 0 good, 1 a case failed, 2 better than the baseline says,\n"
           "3 inconclusive or never reached, 64 usage, 70 error of the tester or of a script\n");
}

/* ---- reading ---- */

void iw_command_select(struct iw_command *c, const char *pattern)
{
    c->select = iw_got(realloc(c->select, (c->n_select + 1) * sizeof(*c->select)));
    c->select[c->n_select++] = iw_text_copy(pattern);
}

static bool take_number(const char *option, const char *value, unsigned most, unsigned *out)
{
    char *end;
    unsigned long n = strtoul(value, &end, 10);

    *out = (unsigned)n;
    if (*value >= '0' && *value <= '9' && !*end && n >= 1 && n <= most)
        return true;
    iw_complain("--%s %s: expected a number from 1 to %u", option, value, most);
    return false;
}

static bool take_scale(struct iw_command *c, const char *value)
{
    char *end;

    c->time_scale = strtod(value, &end);
    if (*value && !*end && c->time_scale >= 0.01 && c->time_scale <= 1000)
        return true;
    iw_complain("--time-scale %s: expected a number from 0.01 to 1000", value);
    return false;
}

static bool take(struct iw_command *c, enum option_id id, const char *value)
{
    switch (id) {
    case O_SELECT:
        iw_command_select(c, value);
        break;
    case O_TARGET:
        c->target = value;
        break;
    case O_JOBS:
        return take_number("jobs", value, JOBS, &c->jobs);
    case O_TAP:
        c->tap = true;
        break;
    case O_JUNIT:
        c->junit = value;
        break;
    case O_JSON:
        c->json = value;
        break;
    case O_HTML:
        c->html = value;
        break;
    case O_RESULTS:
        c->results = value;
        break;
    case O_PCAP_DIR:
        c->pcap_dir = value;
        break;
    case O_CAPTURE:
        c->capture = value;
        break;
    case O_CASES:
        c->cases = value;
        break;
    case O_AGENT:
        c->agent = value;
        break;
    case O_TIME_SCALE:
        return take_scale(c, value);
    case O_TRACE:
        c->trace = true;
        break;
    case O_VERBOSE:
        c->verbose = true;
        break;
    case O_BASELINE:
        c->baseline = value;
        break;
    case O_WRITE_BASELINE:
        c->write_baseline = value;
        break;
    case O_REPEAT:
        return take_number("repeat", value, ROUNDS, &c->repeat);
    case O_HAZARD:
        c->hazards = true;
        break;
    case O_RESUME:
        c->resume = value;
        break;
    case O_SUMMARY:
        c->summary = true;
        break;
    case O_CSV:
        c->csv = true;
        break;
    case O_CSV_FILE:
        c->csv_file = value;
        break;
    case O_FULL:
        c->full = true;
        break;
    case O_SWITCH:
        c->switches = value;
        break;
    case O_OUTPUT:
        c->output = value;
        break;
    case O_FORCE:
        c->force = true;
        break;
    case O_AS:
        c->replay.as = value;
        break;
    case O_STREAM:
        c->replay.stream = value;
        break;
    case O_MAP:
        c->replay.map = value;
        break;
    case O_TIME:
        c->replay.time = value;
        break;
    case O_PRIVATE:
        c->replay.private = value;
        break;
    case O_LIST:
        c->list = true;
        break;
    case O_MATRIX:
        c->matrix = value;
        break;
    case O_HELP:
    case O_VERSION:
        break;
    }
    return true;
}

static const struct choice *choice_of(int id)
{
    for (size_t i = 0; i < N_CHOICES; i++)
        if ((int)choices[i].id == id || (choices[i].letter && choices[i].letter == id))
            return &choices[i];
    return NULL;
}

static const struct command *command_of(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

/* getopt's own words would not say what was meant. */
static void unknown_option(const struct command *command, const char *word)
{
    struct iw_nearest n;
    char name[IW_NEAREST_WORD] = "";
    size_t length = strcspn(word, "=");

    if (length > 2 && length - 2 < sizeof(name))
        memcpy(name, word + 2, length - 2);
    iw_nearest_begin(&n, name);
    for (size_t i = 0; i < N_CHOICES; i++)
        if (choices[i].commands & command->bit)
            iw_nearest_offer(&n, choices[i].name);
    iw_complain("%.*s: unknown option%s%s%s", (int)length, word,
                n.best ? " (did you mean --" : "; see --help", n.best ? n.best : "",
                n.best ? "?)" : "");
}

static void unknown_command(const char *word)
{
    struct iw_nearest n;

    iw_nearest_begin(&n, word);
    for (size_t i = 0; i < N_COMMANDS; i++)
        iw_nearest_offer(&n, commands[i].name);
    if (n.best)
        iw_complain("unknown command '%s' (did you mean '%s'?)", word, n.best);
    else
        iw_complain("unknown command '%s'; see --help. A case is run by `iwarp-conform run %s`",
                    word, word);
}

/* Whether this is the option that its name stands for here: some mean one thing to one command and
 * another to the next. */
static bool meant(const struct choice *o, const struct command *command)
{
    if (o->commands & command->bit)
        return true;
    for (size_t i = 0; i < N_CHOICES; i++)
        if (&choices[i] != o && !strcmp(choices[i].name, o->name) &&
            choices[i].commands & command->bit)
            return false;
    return true;
}

/* The options of `command`. -1: go on. */
static int parse_options(struct iw_command *c, const struct command *command, bool named, int argc,
                         char **argv)
{
    struct option longs[N_CHOICES + 1] = {{0}};
    char letters[2 * N_CHOICES + 2] = ":", *letter = letters + 1;
    size_t n = 0;
    int id;

    for (size_t i = 0; i < N_CHOICES; i++) {
        const struct choice *o = &choices[i];

        if (!meant(o, command))
            continue;
        longs[n++] = (struct option){o->name, o->argument ? required_argument : no_argument, NULL,
                                     (int)o->id};
        if (o->letter)
            *letter++ = o->letter;
        if (o->letter && o->argument)
            *letter++ = ':';
    }
    opterr = 0;
    optind = 0; /* start afresh */
    while ((id = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const struct choice *o = choice_of(id);

        if (!o) {
            if (id == ':')
                iw_complain("%s: expected a value; see --help", argv[optind - 1]);
            else if (!optopt) /* no letter, and no option that takes no value */
                unknown_option(command, argv[optind - 1]);
            else
                iw_complain("%s: unknown option, or one that takes no value; see --help",
                            argv[optind - 1]);
            return IW_EXIT_USAGE;
        }
        if (o->id == O_HELP) {
            help(named ? command : NULL);
            return IW_EXIT_GOOD;
        }
        if (o->id == O_VERSION) {
            printf("iwarp-conform %s\n", IW_VERSION);
            return IW_EXIT_GOOD;
        }
        if (!(o->commands & command->bit)) {
            iw_complain("--%s: of no use with '%s'", o->name, command->name);
            return IW_EXIT_USAGE;
        }
        if (!take(c, o->id, optarg))
            return IW_EXIT_USAGE;
    }
    return -1;
}

/* A run goes on as it was begun. */
static bool check_resume(const struct iw_command *c)
{
    const char *other = c->n_select         ? "a selection"
                        : c->target         ? "--target"
                        : c->cases          ? "--cases"
                        : c->agent          ? "--agent"
                        : c->results        ? "--results"
                        : c->pcap_dir       ? "--pcap-dir"
                        : c->time_scale > 0 ? "--time-scale"
                        : c->repeat         ? "--repeat"
                                            : NULL;

    if (!c->resume || !other || iw_reexec_continues()) /* there, with the same words */
        return true;
    iw_complain("--resume goes on as the run was begun: did not expect %s", other);
    return false;
}

/* Commands that take so many words, no more and no less. */
static bool check_words(const struct iw_command *c, const struct command *command)
{
    size_t wanted = command->bit & (SHOW | PROBE | REPLAY) ? 1 : command->bit == DIFF ? 2 : 0;

    if (c->n_words > wanted)
        iw_complain("%s: did not expect '%s'", c->name, c->words[wanted]);
    else if (c->n_words < wanted)
        iw_complain("%s: expected %s", c->name,
                    command->bit == SHOW     ? "the id of a case"
                    : command->bit == PROBE  ? "a peer: tcp:HOST:PORT or a target file"
                    : command->bit == REPLAY ? "a capture"
                                             : "two runs: folders of results, or JSON reports");
    return c->n_words == wanted;
}

int iw_command_parse(struct iw_command *c, int argc, char **argv)
{
    bool named = argc > 1 && *argv[1] != '-';
    const struct command *command = command_of(named ? argv[1] : "run");
    char *program = argc ? argv[0] : (char[]){"iwarp-conform"};
    int status;

    *c = (struct iw_command){.program = program};
    if (!command) {
        unknown_command(argv[1]);
        return IW_EXIT_USAGE;
    }
    c->name = command->name;
    c->carry_out = command->run;
    if (named) {
        argv[1] = program; /* getopt's messages begin with it */
        argv++;
        argc--;
    }
    status = parse_options(c, command, named, argc, argv);
    if (status >= 0)
        return status;
    c->words = argv + optind;
    c->n_words = argc > optind ? (size_t)(argc - optind) : 0;
    if (command->bit & (RUN | LIST)) {
        for (size_t i = 0; i < c->n_words; i++)
            iw_command_select(c, c->words[i]);
    } else if (!check_words(c, command)) {
        return IW_EXIT_USAGE;
    }
    return check_resume(c) ? -1 : IW_EXIT_USAGE;
}

void iw_command_free(struct iw_command *c)
{
    for (size_t i = 0; i < c->n_select; i++)
        free(c->select[i]);
    free(c->select);
}
