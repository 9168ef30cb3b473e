/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "hunt.h"

enum option_id {
    O_TARGET = 1,
    O_AGENT,
    O_SEEDS,
    O_TIME,
    O_COUNT,
    O_SEED,
    O_RATE,
    O_JOBS,
    O_FINDINGS,
    O_BLIND,
    O_COVERAGE,
    O_SUPPRESS,
    O_HAZARD,
    O_TIME_SCALE,
    O_RESULTS,
    O_JSON,
    O_GRAPH,
    O_TRY,
    O_RESUME,
    O_HELP,
    O_VERSION
};

static const struct choice {
    const char *name, *argument;
    enum option_id id;
    char letter;
    const char *help; /* NULL: for this program's own use */
} choices[] = {
    {"target", "SPEC", O_TARGET, 't',
     "embedded (default), tcp:HOST:PORT[,KEY=VALUE...] or a target file, as for iwarp-conform"},
    {"agent", "PATH", O_AGENT, 0, "the program of the embedded target"},
    {"seeds", "CAPTURE", O_SEEDS, 0,
     "also begin with the initiators of this capture; may be repeated"},
    {"time", "SECONDS", O_TIME, 0, "end after so long (default: 60, unless --count is given)"},
    {"count", "N", O_COUNT, 0, "end after so many sequences"},
    {"findings", "N", O_FINDINGS, 0, "end after so many findings"},
    {"seed", "N", O_SEED, 0, "begin of the random choices (default: the clock)"},
    {"rate", "N", O_RATE, 0, "at most so many sequences a second"},
    {"jobs", "N", O_JOBS, 'j', "connections at a time, 1 to 32 (default: 32 on this host, else 8)"},
    {"blind", NULL, O_BLIND, 0, "learn nothing: vary the seeds only"},
    {"coverage", NULL, O_COVERAGE, 0, "the peer tells what it reached (see the manual)"},
    {"suppress", "FILE", O_SUPPRESS, 0, "findings that are known"},
    {"allow-hazard", NULL, O_HAZARD, 0,
     "also a peer on another host that nobody here started: it may need to be switched off and on"},
    {"time-scale", "X", O_TIME_SCALE, 0, "multiply every patience"},
    {"results", "DIR", O_RESULTS, 0, "folder of the results (iwarp-fuzz-results/TIME-TARGET)"},
    {"json", "FILE", O_JSON, 0, "write a report"},
    {"graph", "FILE", O_GRAPH, 0, "write the states: Graphviz, or JSON if FILE ends in .json"},
    {"try", "FILE", O_TRY, 0, NULL},
    {"resume", NULL, O_RESUME, 0, NULL},
    {"help", NULL, O_HELP, 'h', "print this"},
    {"version", NULL, O_VERSION, 'V', "print the version"},
};

enum { IW_HUNT_HELP = -2 };

enum { CHOICES = sizeof(choices) / sizeof(*choices) };

void iw_hunt_complain(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("iwarp-fuzz: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static void usage(void)
{
    printf("usage: iwarp-fuzz [OPTION...]\n"
           "Talks to an iWARP peer in ways that nobody has thought of, and looks what becomes of "
           "it.\n\n");
    for (size_t i = 0; i < CHOICES; i++) {
        char left[40];

        if (!choices[i].help)
            continue;
        snprintf(left, sizeof(left), "%s%c%s --%s%s%s", choices[i].letter ? "-" : " ",
                 choices[i].letter ? choices[i].letter : ' ', choices[i].letter ? "," : " ",
                 choices[i].name, choices[i].argument ? " " : "",
                 choices[i].argument ? choices[i].argument : "");
        printf("  %-24s %s\n", left, choices[i].help);
    }
}

static int wrong(const char *name, const char *value, const char *expected)
{
    iw_hunt_complain("--%s %s: expected %s", name, value, expected);
    return IW_HUNT_USAGE;
}

static bool number(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 0);
    return *text >= '0' && *text <= '9' && !*end && !errno && *out >= least && *out <= most;
}

static bool positive(const char *text, double most, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return *text >= '0' && *text <= '9' && !*end && *out > 0 && *out <= most;
}

static int take(struct iw_hunt_options *o, const struct choice *c, const char *value)
{
    static const char count[] = "a whole number above 0", amount[] = "a number above 0";
    uint64_t n = 0;

    switch (c->id) {
    case O_TARGET:
        o->target = value;
        break;
    case O_AGENT:
        o->agent = value;
        break;
    case O_SEEDS:
        o->seeds = iw_got(realloc(o->seeds, (o->n_seeds + 1) * sizeof(*o->seeds)));
        o->seeds[o->n_seeds++] = iw_text_copy(value);
        break;
    case O_TIME:
        return positive(value, 1e9, &o->time) ? 0 : wrong(c->name, value, amount);
    case O_COUNT:
        return number(value, 1, INT64_MAX, &o->count) ? 0 : wrong(c->name, value, count);
    case O_SEED:
        return number(value, 0, INT64_MAX, &o->seed)
                   ? 0
                   : wrong(c->name, value, "a whole number below 2^63");
    case O_RATE:
        return positive(value, 1e9, &o->rate) ? 0 : wrong(c->name, value, amount);
    case O_TIME_SCALE:
        return positive(value, 1000, &o->time_scale)
                   ? 0
                   : wrong(c->name, value, "a number above 0, at most 1000");
    case O_JOBS:
        if (!number(value, 1, IW_HUNT_SLOTS, &n))
            return wrong(c->name, value, "a number from 1 to 32");
        o->jobs = (unsigned)n;
        break;
    case O_FINDINGS:
        if (!number(value, 1, 1000000, &n))
            return wrong(c->name, value, count);
        o->findings = (unsigned)n;
        break;
    case O_BLIND:
        o->blind = true;
        break;
    case O_COVERAGE:
        o->coverage = true;
        break;
    case O_SUPPRESS:
        o->suppress = value;
        break;
    case O_HAZARD:
        o->hazards = true;
        break;
    case O_RESULTS:
        o->results = value;
        break;
    case O_JSON:
        o->json = value;
        break;
    case O_GRAPH:
        o->graph = value;
        break;
    case O_TRY:
        o->try = value;
        break;
    case O_RESUME:
        o->resume = true;
        break;
    case O_HELP:
        usage();
        return IW_HUNT_HELP;
    case O_VERSION:
        printf("iwarp-fuzz %s\n", IW_VERSION);
        return IW_HUNT_HELP;
    }
    return 0;
}

static int unknown(const char *word)
{
    iw_hunt_complain("%s: no such option; see --help", word);
    return IW_HUNT_USAGE;
}

static void defaults(struct iw_hunt_options *o)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    *o = (struct iw_hunt_options){.target = "embedded",
                                  .time_scale = 1,
                                  .seed = (uint64_t)now.tv_sec * 1000 +
                                          (uint64_t)now.tv_nsec / 1000000};
}

int iw_hunt_parse(struct iw_hunt_options *o, int argc, char **argv)
{
    struct option list[CHOICES + 1] = {0};
    char letters[2 * CHOICES + 2] = ":";
    size_t n = 1;
    int got;

    defaults(o);
    for (size_t i = 0; i < CHOICES; i++) {
        list[i] = (struct option){.name = choices[i].name,
                                  .has_arg = choices[i].argument ? required_argument : no_argument,
                                  .val = 256 + (int)i};
        if (choices[i].letter)
            letters[n++] = choices[i].letter;
        if (choices[i].letter && choices[i].argument)
            letters[n++] = ':';
    }
    opterr = 0;
    while ((got = getopt_long(argc, argv, letters, list, NULL)) != -1) {
        const struct choice *c = NULL;
        int status;

        for (size_t i = 0; i < CHOICES; i++)
            if (got == 256 + (int)i || (got && got == choices[i].letter))
                c = &choices[i];
        if (got == ':') {
            iw_hunt_complain("%s: expected a value", argv[optind - 1]);
            return IW_HUNT_USAGE;
        }
        if (!c) /* of several letters the word is not over yet */
            return unknown(optopt && optopt < 256 ? (char[]){'-', (char)optopt, 0}
                                                  : argv[optind - 1]);
        status = take(o, c, optarg);
        if (status)
            return status == IW_HUNT_HELP ? IW_HUNT_GOOD : status;
    }
    if (optind < argc)
        return unknown(argv[optind]);
    if (o->time <= 0 && !o->count)
        o->time = 60;
    return -1;
}
