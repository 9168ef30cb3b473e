/* SPDX-License-Identifier: BSD-3-Clause */
#include "reexec.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text_tools.h"
#include "command_setup.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "supervise.h"
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

/* Adds a folder to a list, separated by colons. */
static void add_folder(char **list, const char *folder)
{
    char path[PATH_MAX];
    if (realpath(folder, path)) /* that it cannot be written will be said when it is written */
        iw_text_join(list, ":", path);
}

static void add_folder_of(char **list, const char *file)
{
    char *copy = iw_text_copy(file);
    if (file != NULL)
        add_folder(list, dirname(copy));
    free(copy);
}

/* The folders that this run writes to; those of its own are made. */
static char *writable(const struct iw_command *c, const char *results)
{
    char *list = NULL;
    if (iw_folder_create(results))
        iw_complain("cannot make the folder %s: %s", results, strerror(errno));
    add_folder(&list, results);
    if (c->head.pcap_dir && !iw_folder_create(c->head.pcap_dir))
        add_folder(&list, c->head.pcap_dir);
    add_folder_of(&list, c->junit);
    add_folder_of(&list, c->json);
    add_folder_of(&list, c->html);
    add_folder_of(&list, c->write_baseline);
    return list;
}

/* Returns the command that takes `command` (freed) inside. */
static char *enter(const struct iw_target_spec *spec, const struct iw_command *c, char *command,
                   const char *results)
{
    char *folders = writable(c, results);
    char *inside = iw_target_inside(spec, command ? command : "", folders ? folders : "");
    free(folders);
    free(command);
    return inside;
}

/* A run that may have to go on has its folder from the beginning. */
static int supervised(const struct iw_target_spec *spec, const struct iw_command *c)
{
    bool resumes = c->resume != NULL;
    char *dir = iw_results_create(c, spec->name);
    if (!dir)
        return IW_EXIT_TESTER;
    char *first = enter(spec, c, own_command(resumes || c->results ? NULL : "--results", dir), dir);
    char *filled = enter(spec, c, own_command(resumes ? NULL : "--resume", dir), dir);
    char *again = iw_text_format("export " GOES_ON "=1; %s", filled);
    int status = iw_supervise(spec, &(struct iw_supervised){.first = first,
                                                            .again = again,
                                                            .dir = dir,
                                                            .resumes = resumes,
                                                            .scale = c->head.time_scale});
    free(first);
    free(filled);
    free(again);
    free(dir);
    return status;
}

int iw_reexec(const struct iw_command *c, const struct iw_target_spec *spec)
{
    if (!iw_target_elsewhere(spec, variable))
        return -1;
    fflush(stdout);
    if (!iw_target_go_inside(spec, variable))
        return IW_EXIT_TESTER;
    if (spec->restart && !strcmp(c->name, "run"))
        return supervised(spec, c);
    char *inside =
        enter(spec, c, own_command(NULL, NULL), c->results ? c->results : "iwarp-conform-results");
    execl("/bin/sh", "sh", "-c", inside, (char *)NULL);
    iw_complain("cannot execute %s: %s", inside, strerror(errno));
    free(inside);
    return IW_EXIT_TESTER;
}
