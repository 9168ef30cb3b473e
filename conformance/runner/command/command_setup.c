/* SPDX-License-Identifier: BSD-3-Clause */
/* Where things lie, and reading what a command works on. */
#include "command_setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/places.h"
#include "base/schedule.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"

char *iw_results_create(const struct iw_command *c, const char *name)
{
    static const char parent[] = "iwarp-conform-results";
    const char *wanted = c->results != NULL ? c->results : parent;
    if (iw_folder_create(wanted)) {
        iw_complain("cannot make the folder %s: %s", wanted, strerror(errno));
        return NULL;
    }
    if (c->results != NULL)
        return iw_text_copy(c->results);
    char *path = iw_folder_new(parent, name);
    if (path == NULL) {
        iw_complain("cannot make a folder in %s: %s", parent, strerror(errno));
        return NULL;
    }
    /* A convenience: without the link nothing is lost. */
    if (!unlink("iwarp-conform-results/latest") || errno == ENOENT)
        (void)!symlink(path + sizeof(parent), "iwarp-conform-results/latest");
    return path;
}

struct iw_target_spec *iw_setup_target(const struct iw_command *c, const char *text, char *error,
                                       size_t room)
{
    char *agent = iw_agent(c->head.agent), *root = iw_conformance_folder();
    char *targets = iw_text_format("%s/targets", root);
    struct iw_target_spec *spec =
        iw_target_parse(text != NULL ? text : "embedded", agent, targets, error, room);
    free(targets);
    free(root);
    free(agent);
    return spec;
}

static int read_target(struct iw_setup *s, const struct iw_command *c)
{
    char error[1024];
    s->target = iw_setup_target(c, c->head.target, error, sizeof(error));
    if (s->target == NULL) {
        static const char option[] = "--target ";
        bool operand = strcmp(c->name, "probe") == 0 && strncmp(error, option, 9) == 0;
        return iw_complain_exit(IW_EXIT_USAGE, "%s", error + (operand ? strlen(option) : 0));
    }
    if (s->target->embedded && access(s->target->program, X_OK)) {
        iw_complain("cannot start the embedded target %s: %s", s->target->program, strerror(errno));
        return IW_EXIT_TESTER;
    }
    return 0;
}

/* Takes the shard, and makes the order. A run that goes on has the cases of its shard already. */
static int schedule(struct iw_setup *s, const struct iw_command *c)
{
    double *seconds = NULL;
    char error[1024];
    s->n_chosen = s->n_selected;
    if (c->head.shard != NULL && c->journal == NULL && c->durations != NULL) {
        seconds =
            iw_schedule_durations(c->durations, s->selected, s->n_selected, error, sizeof(error));
        if (seconds == NULL)
            return iw_complain_exit(IW_EXIT_USAGE, "--durations: %s", error);
    }
    if (c->head.shard != NULL && c->journal == NULL)
        s->n_selected = iw_schedule_shard(s->selected, s->n_selected, seconds, c->shard, c->shards);
    else if (c->head.shard != NULL)
        s->n_chosen = c->head.chosen;
    if (c->head.shard != NULL && c->journal != NULL && c->n_select == 0)
        s->n_selected = 0; /* the shard was empty, and no choice is all cases elsewhere */
    free(seconds);
    const char *seed = c->head.order != NULL ? strchr(c->head.order, ',') : NULL;
    if (c->head.order != NULL && seed == NULL) /* as a journal has it */
        return iw_complain_exit(IW_EXIT_USAGE, "expected the order random,SEED, not '%s'",
                                c->head.order);
    if (seed != NULL)
        iw_schedule_shuffle(s->selected, s->n_selected, (uint32_t)strtoul(seed + 1, NULL, 10));
    return 0;
}

int iw_setup(struct iw_setup *s, const struct iw_command *c, bool target)
{
    char *root = iw_conformance_folder();
    char error[1024];
    *s = (struct iw_setup){0};
    s->library = iw_text_format("%s/lib", root);
    s->pcaps = iw_text_format("%s/../pcaps", root);
    s->report = iw_text_format("%s/report", root);
    /* What is known of other people's cases lies beside them. */
    s->proof_folder = c->head.cases != NULL ? iw_text_format("%s/../proof", c->head.cases)
                                            : iw_text_format("%s/proof", root);
    s->cases = c->replay.capture != NULL ? iw_text_format("%s/replay_case.lua", s->library)
               : c->head.cases != NULL   ? iw_text_copy(c->head.cases)
                                         : iw_text_format("%s/cases", root);
    free(root);
    s->options.library = s->library;
    s->options.pcaps = c->replay.capture != NULL ? c->replay_folder : s->pcaps;
    s->options.replay = c->replay.capture != NULL ? &c->replay : NULL;
    s->options.time_scale = c->head.time_scale;
    s->options.no_quirks = c->head.no_quirks;
    int status = target ? read_target(s, c) : 0;
    if (status)
        return status;
    if (iw_suite_load(&s->suite, s->cases, &s->options, error, sizeof(error))) {
        iw_complain("%s", error);
    } else if (!s->suite.n_files) {
        iw_complain("no case files in %s", s->cases);
    } else if (iw_suite_select(&s->suite, c->select, c->n_select, &s->selected, &s->n_selected,
                               error, sizeof(error))) {
        iw_setup_broken(s); /* one of them may have the case */
        iw_complain("%s", error);
    } else {
        return schedule(s, c);
    }
    return IW_EXIT_USAGE;
}

const char **iw_setup_ids(const struct iw_setup *s)
{
    const char **ids = iw_got(calloc(s->n_selected + 1, sizeof(*ids)));
    for (size_t i = 0; i < s->n_selected; i++)
        ids[i] = s->selected[i]->id;
    return ids;
}

void iw_setup_free(struct iw_setup *s)
{
    iw_target_free(s->target);
    free(s->selected);
    iw_suite_free(&s->suite);
    free(s->library);
    free(s->pcaps);
    free(s->report);
    free(s->proof_folder);
    iw_proof_free(&s->proof);
    free(s->cases);
    *s = (struct iw_setup){0};
}

int iw_setup_proof(struct iw_setup *s)
{
    char error[1024];
    if (!iw_proof_read(&s->proof, s->proof_folder, error, sizeof(error)))
        return 0;
    iw_complain("%s", error);
    return IW_EXIT_TESTER;
}

int iw_setup_broken(const struct iw_setup *s)
{
    for (size_t i = 0; i < s->suite.n_files; i++)
        if (s->suite.files[i].error != NULL)
            iw_complain("%s", s->suite.files[i].error);
    return s->suite.n_broken ? IW_EXIT_TESTER : 0;
}
