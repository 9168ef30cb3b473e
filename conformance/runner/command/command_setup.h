/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_COMMAND_SETUP_H
#define IW_RUNNER_COMMAND_SETUP_H

/* What most commands work on: the suite, what was selected from it, and the target. */

#include "command.h"
#include "suite/proof.h"
#include "target/target_spec.h"

struct iw_setup {
    char *library, *cases, *pcaps, *report, *proof_folder; /* folders */
    struct iw_run_options options;                         /* its folders are borrowed from above */
    struct iw_suite suite;
    const struct iw_case **selected; /* in the order in which they are played */
    size_t n_selected;
    size_t n_chosen;               /* before a shard was taken of them */
    struct iw_target_spec *target; /* NULL unless wanted */
    struct iw_proof proof;         /* empty until iw_setup_proof */
};

/* Finds the folders, reads the suite and selects from it (--select, --shard, --order), and reads
 * the target's spec if `target`. Broken case files are no error yet. Returns 0, or the exit status
 * after printing an error. Call iw_setup_free in either case. */
int iw_setup(struct iw_setup *s, const struct iw_command *c, bool target);
void iw_setup_free(struct iw_setup *s);
/* Returns the ids of the selected cases, borrowed; the caller frees the array. */
const char **iw_setup_ids(const struct iw_setup *s);
/* Reads what is proved of the cases. Returns 0, or the exit status after printing an error. */
int iw_setup_proof(struct iw_setup *s);
/* Prints an error for each case file that could not be read. Returns IW_EXIT_TESTER if there are
 * any, else 0. */
int iw_setup_broken(const struct iw_setup *s);
/* Reads the spec of a target: `text`, or the embedded one if that is NULL. Returns NULL with one
 * line in `error`. The caller frees it with iw_target_free. */
struct iw_target_spec *iw_setup_target(const struct iw_command *c, const char *text, char *error,
                                       size_t room);
/* Makes the folder of this run's results: c->results, or "iwarp-conform-results/<UTC time>-<name>"
 * with a link "latest" to it. Returns its path, which the caller frees, or NULL after printing an
 * error. */
char *iw_results_create(const struct iw_command *c, const char *name);

#endif
