/* SPDX-License-Identifier: BSD-3-Clause */
#include "reexec.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command_setup.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "supervise.h"

/* Says whose command this runner was started by: there it stays. */
static const char variable[] = "IWARP_CONFORM_INSIDE";
/* Set for a run that goes on because what it was in has ended. */
#define GOES_ON "IWARP_CONFORM_GOES_ON"

bool iw_reexec_continues(void)
{
    return getenv(GOES_ON) != NULL;
}

static void add_word(char **text, const char *word)
{
    char *quoted = iw_text_shell(word);
    char *longer = *text ? iw_text_format("%s %s", *text, quoted) : iw_text_copy(quoted);
    free(quoted);
    free(*text);
    *text = longer;
}

/* The words that this program was started with, as a shell takes them, and one more option (NULL:
 * none) in front of the others; NULL if they are unknown. */
static char *own_command(const char *option, const char *value)
{
    FILE *f = fopen("/proc/self/cmdline", "re");
    char *text = NULL, *word = NULL;
    size_t room = 0;

    for (int i = 0; f && getdelim(&word, &room, 0, f) > 0; i++) {
        if (option && i > 0 && (i > 1 || *word == '-')) {
            add_word(&text, option);
            add_word(&text, value);
            option = NULL;
        }
        add_word(&text, word);
    }
    if (text && option) {
        add_word(&text, option);
        add_word(&text, value);
    }
    free(word);
    if (f)
        fclose(f);
    return text;
}

/* Adds a folder to a list, separated by colons. */
static void add_folder(char **list, const char *folder)
{
    char path[PATH_MAX];
    if (!realpath(folder, path)) /* that it cannot be written will be said when it is written */
        return;
    char *longer = *list ? iw_text_format("%s:%s", *list, path) : iw_text_copy(path);
    free(*list);
    *list = longer;
}

static void add_folder_of(char **list, const char *file)
{
    char *folder = iw_text_copy(file ? file : "");
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    if (file)
        add_folder(list, slash ? folder : ".");
    free(folder);
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

/* What belongs to this program is found by its name. */
static void extend_path(void)
{
    char *own = iw_own_folder();
    const char *path = getenv("PATH");
    char *longer = iw_text_format("%s:%s", path ? path : "/usr/bin:/bin", own);
    if (setenv("PATH", longer, 1))
        iw_complain("PATH: %s", strerror(errno));
    free(longer);
    free(own);
}

/* The command that takes `command` (freed) inside. */
static char *enter(const struct iw_target_spec *spec, const struct iw_command *c, char *command,
                   const char *results)
{
    char *folders = writable(c, results);
    char *quoted = iw_text_shell(folders ? folders : "");
    char *filled =
        iw_text_fill(spec->inside, (const char *const[]){"command", command ? command : "",
                                                         "writable", quoted, NULL});
    free(folders);
    free(quoted);
    free(command);
    return filled;
}

/* A run that may have to go on has its folder from the beginning. */
static int supervised(const struct iw_target_spec *spec, const struct iw_command *c)
{
    struct iw_supervised s = {.resumes = c->resume != NULL, .scale = c->head.time_scale};
    char *dir = iw_results_create(c, spec->name);
    if (!dir)
        return IW_EXIT_TESTER;
    char *first =
        enter(spec, c, own_command(s.resumes || c->results ? NULL : "--results", dir), dir);
    char *filled = enter(spec, c, own_command(s.resumes ? NULL : "--resume", dir), dir);
    char *again = iw_text_format("export " GOES_ON "=1; %s", filled);
    s.first = first;
    s.again = again;
    s.dir = dir;
    int status = iw_supervise(spec, &s);
    free(first);
    free(filled);
    free(again);
    free(dir);
    return status;
}

int iw_reexec(const struct iw_command *c, const struct iw_target_spec *spec)
{
    const char *here = getenv(variable);
    char *filled;
    if (!spec->inside || (here && !strcmp(here, spec->name)))
        return -1;
    extend_path();
    fflush(stdout);
    if (setenv(variable, spec->name, 1)) {
        iw_complain("%s: %s", variable, strerror(errno));
        return IW_EXIT_TESTER;
    }
    if (spec->restart && !strcmp(c->name, "run"))
        return supervised(spec, c);
    filled =
        enter(spec, c, own_command(NULL, NULL), c->results ? c->results : "iwarp-conform-results");
    execl("/bin/sh", "sh", "-c", filled, (char *)NULL);
    iw_complain("cannot execute %s: %s", filled, strerror(errno));
    free(filled);
    return IW_EXIT_TESTER;
}
