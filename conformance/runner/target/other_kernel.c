/* SPDX-License-Identifier: BSD-3-Clause */
#include "other_kernel.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/files.h"
#include "host/spawn.h"
#include "host/text.h"
#include "iwarp/transport.h"
#include "process.h"

enum { SLICE_MS = 20 /* between two looks at a command */ };

/* ---- the way inside ---- */

bool iw_target_elsewhere(const struct iw_target_spec *spec, const char *variable)
{
    const char *here = getenv(variable);
    return spec->inside != NULL && !(here != NULL && strcmp(here, spec->name) == 0);
}

bool iw_target_prepare_entry(const struct iw_target_spec *spec, const char *variable)
{
    const char *path = getenv("PATH");
    char *own = iw_own_folder();
    char *longer = iw_text_format("%s:%s", path != NULL ? path : "/usr/bin:/bin", own);
    bool good = !setenv("PATH", longer, true) && !setenv(variable, spec->name, true);
    if (!good)
        iw_complain("%s: %s", variable, strerror(errno));
    free(longer);
    free(own);
    return good;
}

char *iw_target_entry_command(const struct iw_target_spec *spec, const char *command,
                              const char *folders)
{
    char *quoted = iw_text_shell(folders);
    char *filled = iw_text_fill(
        spec->inside, (const char *const[]){"command", command, "writable", quoted, NULL});
    free(quoted);
    return filled;
}

/* ---- commands ---- */

static volatile int caught;

static void on_signal(int number)
{
    caught = number;
}

const volatile int *iw_shell_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (!sigaction(SIGHUP, NULL, &before) && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    return &caught;
}

static void look(struct iw_shell_watch *w)
{
    struct stat at;
    if (w->path == NULL || stat(w->path, &at) ||
        (at.st_size == w->last.st_size && at.st_mtim.tv_sec == w->last.st_mtim.tv_sec &&
         at.st_mtim.tv_nsec == w->last.st_mtim.tv_nsec))
        return;
    w->last = at;
    w->since = iw_transport_now();
    if (w->changed != NULL)
        w->changed(w);
}

static bool overdue(const struct iw_shell_watch *w)
{
    return w->seconds > 0 && (double)(iw_transport_now() - w->since) / 1e9 > w->seconds;
}

int iw_shell_run(const char *command, const volatile int *stop, struct iw_shell_watch *w)
{
    struct iw_shell_watch none = {.path = NULL};
    int status = 0, passed_on = 0;
    /* Nobody else would end what runs inside. */
    pid_t pid = iw_spawn_shell(command, &(struct iw_spawn){.death_signal = SIGTERM});
    if (pid < 0)
        return IW_SHELL_NOT_STARTED;
    struct pollfd end = {.fd = iw_process_descriptor(pid), /* -1: poll only sleeps */
                         .events = POLLIN};
    w = w != NULL ? w : &none;
    w->stuck = false;
    w->since = iw_transport_now();
    while (!waitpid(pid, &status, WNOHANG)) {
        poll(&end, 1, SLICE_MS);
        if (*stop != passed_on) {
            passed_on = *stop;
            kill(pid, passed_on);
        }
        look(w);
        if (overdue(w)) {
            w->stuck = true;
            kill(pid, SIGKILL);
        }
    }
    if (end.fd >= 0)
        close(end.fd);
    return WIFEXITED(status) ? WEXITSTATUS(status) : IW_SHELL_SIGNALLED + WTERMSIG(status);
}

bool iw_target_restart(const struct iw_target_spec *spec, const volatile int *stop)
{
    int status = iw_shell_run(spec->restart, stop, NULL);
    bool good = !status || *stop;
    if (!good)
        iw_complain("restart: '%s' ended with status %d", spec->restart, status);
    return good;
}

/* ---- what a kernel printed when it ended: the line that shows which of two ends it was ---- */

/* The telling ones first; of equal ones the first that was printed, as others follow from it. */
static const char *const signs[] = {"KASAN: ", "UBSAN: ", "BUG: ", "Oops", "Kernel panic"};

enum { SIGNS = sizeof(signs) / sizeof(*signs), LINE = 256, SECONDS = 10 /* to print it all */ };

/* Without the time in front. */
static char *plain(char *line)
{
    char *time = *line == '[' ? strstr(line, "] ") : NULL;
    for (size_t n = strlen(line); n && isspace((unsigned char)line[n - 1]);)
        line[--n] = 0;
    return iw_text_clean(time != NULL ? time + 2 : line);
}

/* The console, to be read. It must not keep us: who runs it may not even hear signals. */
static FILE *console(const char *command)
{
    char *quoted = iw_text_shell(command);
    char *text = iw_text_format("exec timeout -k 1 %d sh -c %s </dev/null", SECONDS, quoted);
    FILE *f = popen(text, "re");
    free(quoted);
    free(text);
    return f;
}

static char *last_line(const struct iw_target_spec *spec)
{
    FILE *f = spec->console != NULL ? console(spec->console) : NULL;
    char line[LINE], *found = NULL;
    size_t best = SIGNS;
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        for (size_t i = 0; i < best; i++)
            if (strstr(line, signs[i]) != NULL) {
                free(found);
                found = plain(line);
                best = i;
            }
    if (f != NULL)
        pclose(f);
    return found;
}

char *iw_target_kernel_ended(const struct iw_target_spec *spec)
{
    char *last = last_line(spec);
    char *text = iw_text_format(IW_TARGET_KERNEL_ENDED "%s%s", last != NULL ? ": " : "",
                                last != NULL ? last : "");
    free(last);
    return text;
}
