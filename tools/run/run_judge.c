/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_judge.h"
#include "run_findings.h"
#include "run_report.h"

#include "host/complain.h"
#include "host/files.h"
#include "host/spawn.h"
#include "host/text.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT_RUN = 126, SIGNALLED = 128 }; /* as of a shell */

static char *folder;

/* ---- files ---- */

static bool writable(const char *path)
{
    FILE *f = path != NULL ? iw_open_output(path) : NULL;
    return path == NULL || (f != NULL && iw_close_output(f, path));
}

int run_judge_begin(const struct run_judge *judge)
{
    const char *temporary = getenv("TMPDIR");
    if (!writable(judge->capture) || !writable(judge->report))
        return IW_EXIT_OUTPUT;
    folder = iw_text_format("%s/iwarp-run-XXXXXX", temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(folder) == NULL)
        return iw_complain_exit(IW_EXIT_TESTER, "cannot make %s: %s", folder, strerror(errno));
    if (setenv("IWARP_RUN_FOLDER", folder, 1) != 0)
        iw_complain_memory();
    return -1;
}

static void remove_folder(void)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    while (d != NULL && (e = readdir(d)) != NULL) {
        char *path = iw_text_format("%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.')
            unlink(path);
        free(path);
    }
    if (d != NULL)
        closedir(d);
    rmdir(folder);
    free(folder);
}

/* ---- the program ---- */

static volatile sig_atomic_t child;

static void pass_on(int number)
{
    int saved = errno;
    if (child > 0)
        kill(child, number);
    errno = saved;
}

/* Returns the exit status as a shell gives it. What the terminal sends, it sends to the program,
 * too. */
static int run_program(const char *path, char **argv)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    const struct sigaction forward = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    int status;
    fflush(NULL);
    /* Who kills iwarp-run means the program. */
    pid_t pid = iw_spawn(path, argv, &(struct iw_spawn){.death_signal = SIGTERM});
    if (pid < 0)
        return iw_complain_exit(CANNOT_RUN, "%s: %s", path, strerror(errno));
    child = pid;
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGQUIT, &ignore, NULL);
    sigaction(SIGTERM, &forward, NULL);
    sigaction(SIGHUP, &forward, NULL);
    while (waitpid(pid, &status, 0) < 0)
        ;
    child = 0;
    return WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}

int run_judge_program(const struct run_judge *judge, const char *path, char **argv)
{
    struct run_findings f;
    struct run_outcome outcome = {.path = path, .argv = argv, .began = time(NULL)};
    outcome.status = run_program(path, argv);
    bool good = run_findings_read(&f, folder);
    if (good && judge->capture != NULL)
        good = run_findings_capture(&f, judge->capture);
    run_report_print(judge, &f, stderr);
    if (judge->report != NULL)
        good = run_report_write(judge, &f, &outcome) && good;
    bool broken = judge->fail && f.peer_must > 0;
    run_findings_free(&f);
    remove_folder();
    return !good ? IW_EXIT_OUTPUT : broken ? IW_EXIT_FAILURE : outcome.status;
}
