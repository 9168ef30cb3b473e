/* SPDX-License-Identifier: BSD-3-Clause */
/* A run inside another kernel. If that ends or hangs, it is brought back, the case under way has
 * failed, and the run goes on. */
#include "reexec.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command_setup.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "host/text_tools.h"
#include "run/journal.h"
#include "target/other_kernel.h"

/* Says whose command this runner was started by: there it stays. */
static const char variable[] = "IWARP_CONFORM_INSIDE";
/* Set for a run that goes on because what it was in has ended. */
#define GOES_ON "IWARP_CONFORM_GOES_ON"

bool iw_reexec_continues(void)
{
    return getenv(GOES_ON) != NULL;
}

/* The words that this program was started with, as a shell takes them, and one more option (NULL:
 * none) before the others; NULL if they are unknown. */
static char *own_command(const char *option, const char *value)
{
    FILE *f = fopen("/proc/self/cmdline", "re");
    char *text = NULL, *word = NULL;
    size_t room = 0;
    bool more = f != NULL;
    for (int i = 0; more; i++) {
        more = getdelim(&word, &room, 0, f) > 0;
        if (option != NULL && text != NULL && (!more || i > 1 || *word == '-')) {
            iw_text_join_word(&text, option);
            iw_text_join_word(&text, value);
            option = NULL;
        }
        if (more)
            iw_text_join_word(&text, word);
    }
    free(word);
    if (f != NULL)
        fclose(f);
    return text;
}

/* ---- the way inside ---- */

/* Adds a folder to a list, separated by colons. */
static void add_folder(char **list, const char *folder)
{
    char path[PATH_MAX];
    if (realpath(folder, path) !=
        NULL) /* that it cannot be written will be said when it is written */
        iw_text_join(list, ":", path);
}

/* The folders that this run writes to; those of its own are made. */
static char *writable(const struct iw_command *c, const char *results)
{
    const char *const files[] = {c->junit, c->json, c->html, c->csv_file, c->write_baseline};
    char *list = NULL;
    if (iw_folder_create(results))
        iw_complain("cannot make the folder %s: %s", results, strerror(errno));
    add_folder(&list, results);
    if (c->head.pcap_dir != NULL && !iw_folder_create(c->head.pcap_dir))
        add_folder(&list, c->head.pcap_dir);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        char *copy = iw_text_copy(files[i]);
        if (copy != NULL)
            add_folder(&list, dirname(copy));
        free(copy);
    }
    return list;
}

/* Returns the command that takes `command` (freed) inside. */
static char *enter(const struct iw_target_spec *spec, const struct iw_command *c, char *command,
                   const char *results)
{
    char *folders = writable(c, results);
    char *entry = iw_target_entry_command(spec, command != NULL ? command : "",
                                          folders != NULL ? folders : "");
    free(folders);
    free(command);
    return entry;
}

/* ---- a run whose kernel may end under it ---- */

enum {
    RESTARTS = 30,      /* in one run */
    STUCK_SECONDS = 60, /* without a word in the journal, above what the case may take */
};

struct run {
    struct iw_shell_watch watch; /* of the journal */
    double scale;                /* --time-scale */
    char *begun;                 /* the case under way; NULL: none */
};

/* Reads the journal again. */
static void look(struct iw_shell_watch *watch)
{
    struct run *r = (struct run *)watch;
    double seconds = 0;
    free(r->begun);
    r->begun = iw_journal_begun(watch->path, &seconds);
    watch->seconds = r->begun != NULL ? (STUCK_SECONDS + 2 * seconds) * r->scale : 0;
}

/* The case under way gets its verdict, and the target's kernel is brought back. */
static int recover(const struct iw_target_spec *spec, const struct run *r, const volatile int *stop)
{
    char *reason = r->watch.stuck
                       ? iw_text_format("the target's kernel was stuck for %g s", r->watch.seconds)
                       : iw_target_kernel_ended(spec);
    iw_complain("%s: %s; it is started again", r->begun, reason);
    bool good = iw_journal_append(r->watch.path, r->begun, reason);
    free(reason);
    good = good && iw_target_restart(spec, stop) && !setenv(GOES_ON, "1", 1);
    return good ? 0 : IW_EXIT_TESTER;
}

/* Carries out the run, and what goes on with it. It has its folder from the beginning. Returns the
 * exit status. */
static int supervise(const struct iw_target_spec *spec, const struct iw_command *c)
{
    bool resumes = c->resume != NULL, over = false;
    char *dir = iw_results_create(c, spec->name);
    if (dir == NULL)
        return IW_EXIT_OUTPUT;
    char *first =
        enter(spec, c, own_command(resumes || c->results != NULL ? NULL : "--results", dir), dir);
    char *again = enter(spec, c, own_command(resumes ? NULL : "--resume", dir), dir);
    char *journal = iw_text_format("%s/journal.jsonl", dir);
    char *report = iw_text_format("%s/run.json", dir);
    struct run r = {.watch = {.path = journal, .changed = look},
                    .scale = c->head.time_scale > 0 ? c->head.time_scale : 1};
    const volatile int *stop = iw_shell_signals();
    int status = 0, restarts = 0;
    if ((unlink(report) && errno != ENOENT) || (!resumes && unlink(journal) && errno != ENOENT))
        iw_complain("%s: %s", dir, strerror(errno));
    while (!over) {
        status = iw_shell_run(restarts ? again : first, stop, &r.watch);
        look(&r.watch);
        over = *stop || !access(report, F_OK) || r.begun == NULL;
        if (!over && restarts++ >= RESTARTS)
            status = iw_complain_exit(
                IW_EXIT_TESTER, "the target's kernel has ended %d times; to go on: --resume %s",
                restarts, dir);
        else if (!over)
            status = recover(spec, &r, stop);
        over = over || status || *stop;
    }
    free(r.begun);
    free(first);
    free(again);
    free(journal);
    free(report);
    free(dir);
    return status ? status : *stop ? IW_SHELL_SIGNALLED + *stop : 0;
}

int iw_reexec(const struct iw_command *c, const struct iw_target_spec *spec)
{
    if (!iw_target_elsewhere(spec, variable))
        return -1;
    fflush(stdout);
    if (!iw_target_prepare_entry(spec, variable))
        return IW_EXIT_TESTER;
    if (spec->restart != NULL && strcmp(c->name, "run") == 0)
        return supervise(spec, c);
    char *entry = enter(spec, c, own_command(NULL, NULL),
                        c->results != NULL ? c->results : "iwarp-conform-results");
    execl("/bin/sh", "sh", "-c", entry, (char *)NULL);
    iw_complain("cannot execute %s: %s", entry, strerror(errno));
    free(entry);
    return IW_EXIT_TESTER;
}
