/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_COMMAND_H
#define IW_RUNNER_COMMAND_H

/* The command line, and what the commands share. */

#include "suite.h"
#include "target.h"

/* Exit statuses, the gravest first. */
enum {
    IW_EXIT_USAGE = 64,
    IW_EXIT_TESTER = 70,
    IW_EXIT_UNREACHED = 3, /* also: inconclusive only */
    IW_EXIT_FAILURE = 1,
    IW_EXIT_STALE = 2, /* the baseline: an unexpected pass, an entry that is out of date */
    IW_EXIT_GOOD = 0
};

struct iw_command {
    const char *program; /* argv[0] */
    const char *name;    /* "run" ... */
    char *const *words;  /* what is no option */
    size_t n_words;
    char **select; /* patterns; the words of `run` and `list` are some, too */
    size_t n_select;
    unsigned jobs;   /* 0: not said */
    unsigned repeat; /* 0: not said */
    bool tap, verbose, trace, full, summary, csv, hazards;
    const char *junit, *json, *pcap_dir, *results, *cases, *target, *capture, *agent;
    const char *baseline, *write_baseline, *resume, *html, *csv_file;
    const char *output;            /* probe: the target file; NULL: standard output */
    bool force;                    /* ... even if there is one */
    const char *switches, *matrix; /* self-check: a glob over switches; where to record */
    struct iw_replay replay;       /* of the command; its capture is NULL in others */
    const char *replay_folder;     /* where that capture is */
    bool list;                     /* replay: tell what there is */
    struct iw_journal *journal;    /* that of `resume`, once it is open */
    double time_scale;             /* 0: not said */
};

/* All of the program but main. Returns the exit status. */
int iw_conform(int argc, char **argv);

/* Reads the command line. -1: go on; else the exit status (--help, --version, a mistake). */
int iw_command_parse(struct iw_command *c, int argc, char **argv);
void iw_command_free(struct iw_command *c);
/* Adds a pattern (copied) to those that select cases. */
void iw_command_select(struct iw_command *c, const char *pattern);

/* The commands. Each returns the exit status. */
int iw_command_run(const struct iw_command *c);
int iw_command_list(const struct iw_command *c);
int iw_command_show(const struct iw_command *c);
int iw_command_requirements(const struct iw_command *c);
int iw_command_self_check(const struct iw_command *c);
int iw_command_diff(const struct iw_command *c);
int iw_command_probe(const struct iw_command *c);
int iw_command_replay(const struct iw_command *c);

/* One line "iwarp-conform: ..." on stderr. */
void iw_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- what they work on ---- */

struct iw_setup {
    char *library, *cases, *targets, *pcaps, *report, *proof; /* folders */
    struct iw_run_options options; /* its folders are borrowed from above */
    struct iw_suite suite;
    const struct iw_case **selected;
    size_t n_selected;
    struct iw_target_spec *target; /* NULL unless wanted */
};

/* Finds the folders, reads the suite and selects from it, and reads the target's spec if `target`.
 * 0, or the exit status after having complained. Broken case files are no error yet. Call
 * iw_setup_free in either case. */
int iw_setup(struct iw_setup *s, const struct iw_command *c, bool target);
void iw_setup_free(struct iw_setup *s);
/* Complains about the case files that could not be read. IW_EXIT_TESTER if there are any, else 0.
 */
int iw_setup_broken(const struct iw_setup *s);

/* Makes the folder of this run's results and returns its path: c->results, or
 * "iwarp-conform-results/<UTC time>-<name>" with a link "latest" to it. NULL after having
 * complained. The caller frees it. */
char *iw_results_create(const struct iw_command *c, const char *name);
/* The folder of the vocabulary. The caller frees it. */
char *iw_library(void);
/* The folder that this program's file is in. The caller frees it. */
char *iw_own_folder(void);
/* For a target with `inside`: executes this program again through that command (with `restart`, as
 * often as it takes), and does not return. 0 if there is nothing to do, also there; else the exit
 * status after having complained. */
int iw_inside(const struct iw_target_spec *spec, const struct iw_command *c);
/* Whether this run is one that goes on there: what had been told is not told again. */
bool iw_inside_goes_on(void);
/* Makes a folder and those above it. 0, or -1 with errno. */
int iw_folder_create(const char *path);
/* Makes "PARENT/<UTC time>-<name>", which nobody else has: several runs may start within one
 * second. NULL with errno. The caller frees it. */
char *iw_folder_new(const char *parent, const char *name);
/* Opens a file to be written, or complains and returns NULL. */
FILE *iw_open_output(const char *path);
/* Closes one; false after having complained that it is not whole. */
bool iw_close_output(FILE *f, const char *path);
/* CPUs that this process may use. */
unsigned iw_cpus(void);

#endif
