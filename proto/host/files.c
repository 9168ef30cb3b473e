/* SPDX-License-Identifier: BSD-3-Clause */
#include "files.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "complain.h"
#include "text.h"
#include "text_tools.h"

enum { RESULTS_A_SECOND = 1000 };

char *iw_own_folder(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n < 0)
        return iw_text_copy(".");
    path[n] = 0;
    *strrchr(path, '/') = 0;
    return iw_text_copy(path);
}

int iw_folder_create(const char *path)
{
    int status = mkdir(path, 0755);
    if (status && errno == ENOENT) {
        char *above = iw_text_copy(path);
        char *slash = strrchr(above, '/');
        if (slash != NULL) {
            *slash = 0;
            status = iw_folder_create(above);
            if (!status)
                status = mkdir(path, 0755);
        }
        free(above);
    }
    if (status && errno == EEXIST) {
        struct stat at;
        status = stat(path, &at) || !S_ISDIR(at.st_mode) ? -1 : 0;
        errno = ENOTDIR;
    }
    return status;
}

char *iw_folder_new(const char *parent, const char *name)
{
    char stamp[32];
    iw_text_time(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", time(NULL));
    char *safe = iw_text_file_name(name);
    char *path = NULL;
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

/* Returns an absolute path without "." and "..": each part after a '/'; "" for the root. */
static char *normal(const char *path)
{
    char *out = iw_got(malloc(strlen(path) + 2)), *end = out;
    *out = 0;
    while (*(path += strspn(path, "/"))) {
        size_t length = strcspn(path, "/");
        if (length == 2 && memcmp(path, "..", 2) == 0) {
            char *slash = strrchr(out, '/');
            end = slash != NULL ? slash : out;
        } else if (length != 1 || *path != '.') {
            *end++ = '/';
            memcpy(end, path, length);
            end += length;
        }
        *end = 0;
        path += length;
    }
    return out;
}

static bool ends_part(char c)
{
    return c == 0 || c == '/';
}

char *iw_path_relative(const char *path)
{
    char *here = getcwd(NULL, 0);
    if (here == NULL)
        return iw_text_copy(path);
    char *joined = *path == '/' ? iw_text_copy(path) : iw_text_format("%s/%s", here, path);
    char *from = normal(here), *to = normal(joined);
    size_t same = 0, i = 0; /* octets of the folders that both are in */
    while (from[i] != 0 && from[i] == to[i])
        if (ends_part(from[++i]) && ends_part(to[i]))
            same = i;
    size_t up = 0;
    for (const char *at = from + same; *at; at++)
        up += *at == '/';
    const char *rest = to + same + (to[same] == '/');
    char *relative = iw_got(calloc(3 * up + strlen(to) + 2, 1));
    for (size_t k = 0; k < up; k++)
        memcpy(relative + 3 * k, "../", 3);
    memcpy(relative + 3 * up, rest, strlen(rest) + 1);
    if (*relative == 0)
        *relative = '.';
    free(to);
    free(from);
    free(joined);
    free(here);
    return relative;
}

ssize_t iw_file_read_at_most(const char *path, void *into, size_t most)
{
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return IW_FILE_UNOPENED;
    setbuf(f, NULL);
    const size_t length = fread(into, 1, most, f);
    const bool failed = ferror(f) != 0;
    const int why = errno;
    fclose(f);
    errno = why;
    return failed ? IW_FILE_UNREAD : (ssize_t)length;
}

FILE *iw_open_output(const char *path)
{
    FILE *f = fopen(path, "we");

    if (f == NULL)
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
    bool known = sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0;
    return known ? (unsigned)CPU_COUNT(&set) : 1;
}

uint64_t iw_descriptors_raise(uint64_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return UINT64_MAX;
    if (limit.rlim_cur < wanted && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        if (setrlimit(RLIMIT_NOFILE, &limit))
            return UINT64_MAX;
    }
    return limit.rlim_cur;
}
