/* SPDX-License-Identifier: BSD-3-Clause */
/* Where things lie, and reading what a command works on. */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "text.h"

enum { RESULTS_A_SECOND = 1000 };

void iw_complain(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    fprintf(stderr, "iwarp-conform: %s\n", (char *)iw_got(text));
    free(text);
}

/* ---- folders ---- */

char *iw_own_folder(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char *slash;

    if (n < 0)
        return iw_text_copy(".");
    path[n] = 0;
    slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    return iw_text_copy(path);
}

/* A path below the working folder is shorter without it. */
static char *shortened(char *path)
{
    char here[PATH_MAX];
    size_t n;

    if (!getcwd(here, sizeof(here)))
        return path;
    n = strlen(here);
    if (n > 1 && !strncmp(path, here, n) && path[n] == '/')
        memmove(path, path + n + 1, strlen(path + n + 1) + 1);
    return path;
}

/* Where lib/, cases/ and targets/ are: beside an installed program, else in the source tree. */
static char *find_root(void)
{
    char *own = iw_own_folder();
    char *installed = iw_text_format("%s/../share/iwarp/conformance", own);
    char *real = realpath(installed, NULL);

    free(own);
    free(installed);
    return real ? real : shortened(iw_text_copy(IW_CONFORMANCE_DIR));
}

char *iw_library(void)
{
    char *root = find_root();
    char *library = iw_text_format("%s/lib", root);

    free(root);
    return library;
}

static char *find_agent(const struct iw_command *c)
{
    const char *said = c->agent ? c->agent : getenv("IWARP_AGENT");
    char *own, *path;

    if (said && *said)
        return iw_text_copy(said);
    own = iw_own_folder();
    path = iw_text_format("%s/iwarp-agent", own);
    free(own);
    return path;
}

int iw_folder_create(const char *path)
{
    char *copy = iw_text_copy(path);
    int status = 0;

    for (char *s = copy + 1; *s && !status; s++) {
        if (*s != '/')
            continue;
        *s = 0;
        status = mkdir(copy, 0755) && errno != EEXIST ? -1 : 0;
        *s = '/';
    }
    if (!status && mkdir(copy, 0755)) {
        struct stat at;
        int number = errno;

        if (number != EEXIST || stat(copy, &at) || !S_ISDIR(at.st_mode)) {
            errno = number == EEXIST ? ENOTDIR : number;
            status = -1;
        }
    }
    free(copy);
    return status;
}

char *iw_folder_new(const char *parent, const char *name)
{
    char *safe = iw_text_file_name(name);
    char stamp[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    char *path = NULL;

    if (gmtime_r(&now, &utc))
        strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
    for (int i = 1; i <= RESULTS_A_SECOND; i++) {
        path = i == 1 ? iw_text_format("%s/%s-%s", parent, stamp, safe)
                      : iw_text_format("%s/%s-%s-%d", parent, stamp, safe, i);
        if (!mkdir(path, 0755))
            break;
        free(path);
        path = NULL;
        if (errno != EEXIST)
            break;
    }
    free(safe);
    return path;
}

char *iw_results_create(const struct iw_command *c, const char *name)
{
    static const char parent[] = "iwarp-conform-results";
    const char *wanted = c->results ? c->results : parent;
    char *path;

    if (iw_folder_create(wanted)) {
        iw_complain("cannot make the folder %s: %s", wanted, strerror(errno));
        return NULL;
    }
    if (c->results)
        return iw_text_copy(c->results);
    path = iw_folder_new(parent, name);
    if (!path) {
        iw_complain("cannot make a folder in %s: %s", parent, strerror(errno));
        return NULL;
    }
    /* A convenience: without the link nothing is lost. */
    if (!unlink("iwarp-conform-results/latest") || errno == ENOENT)
        (void)!symlink(path + sizeof(parent), "iwarp-conform-results/latest");
    return path;
}

FILE *iw_open_output(const char *path)
{
    FILE *f = fopen(path, "we");

    if (!f)
        iw_complain("cannot write %s: %s", path, strerror(errno));
    return f;
}

bool iw_close_output(FILE *f, const char *path)
{
    bool failed = ferror(f);

    if (!fclose(f) && !failed)
        return true;
    iw_complain("cannot write %s: %s", path, errno ? strerror(errno) : "unknown error");
    return false;
}

unsigned iw_cpus(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
    return 1;
}

/* ---- set-up ---- */

static int read_target(struct iw_setup *s, const struct iw_command *c)
{
    char *agent = find_agent(c);
    char error[1024];
    int status = 0;

    s->target = iw_target_parse(c->target ? c->target : "embedded", agent, s->targets, error,
                                sizeof(error));
    if (!s->target) {
        iw_complain("%s", error);
        status = IW_EXIT_USAGE;
    } else if (s->target->embedded && access(agent, X_OK)) {
        iw_complain("cannot start the embedded target %s: %s", agent, strerror(errno));
        status = IW_EXIT_TESTER;
    } else {
        status = iw_inside(s->target, c);
    }
    free(agent);
    return status;
}

int iw_setup(struct iw_setup *s, const struct iw_command *c, bool target)
{
    char *root = find_root();
    char error[1024];
    int status;

    *s = (struct iw_setup){0};
    s->library = iw_text_format("%s/lib", root);
    s->targets = iw_text_format("%s/targets", root);
    s->pcaps = iw_text_format("%s/../pcaps", root);
    s->report = iw_text_format("%s/report", root);
    /* What is known of other people's cases lies beside them. */
    s->proof =
        c->cases ? iw_text_format("%s/../proof", c->cases) : iw_text_format("%s/proof", root);
    s->cases = c->replay.capture ? iw_text_format("%s/replay_case.lua", s->library)
               : c->cases        ? iw_text_copy(c->cases)
                                 : iw_text_format("%s/cases", root);
    free(root);
    s->options.library = s->library;
    s->options.pcaps = c->replay.capture ? c->replay_folder : s->pcaps;
    s->options.replay = c->replay.capture ? &c->replay : NULL;
    s->options.time_scale = c->time_scale;
    status = target ? read_target(s, c) : 0;
    if (status)
        return status;
    if (iw_suite_load(&s->suite, s->cases, &s->options, error, sizeof(error))) {
        iw_complain("%s", error);
        return IW_EXIT_USAGE;
    }
    if (!s->suite.n_files) {
        iw_complain("no case files in %s", s->cases);
        return IW_EXIT_USAGE;
    }
    if (iw_suite_select(&s->suite, c->select, c->n_select, &s->selected, &s->n_selected, error,
                        sizeof(error))) {
        iw_setup_broken(s); /* one of them may have the case */
        iw_complain("%s", error);
        return IW_EXIT_USAGE;
    }
    return 0;
}

void iw_setup_free(struct iw_setup *s)
{
    iw_target_free(s->target);
    free(s->selected);
    iw_suite_free(&s->suite);
    free(s->library);
    free(s->targets);
    free(s->pcaps);
    free(s->report);
    free(s->proof);
    free(s->cases);
    *s = (struct iw_setup){0};
}

int iw_setup_broken(const struct iw_setup *s)
{
    for (size_t i = 0; i < s->suite.n_files; i++)
        if (s->suite.files[i].error)
            iw_complain("%s", s->suite.files[i].error);
    return s->suite.n_broken ? IW_EXIT_TESTER : 0;
}
