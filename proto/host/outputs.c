/* SPDX-License-Identifier: BSD-3-Clause */
#include "outputs.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "complain.h"
#include "text.h"

/* Returns the path of a file that is not there yet, with its folder's real path. The caller frees
 * it. */
static char *real_path(const char *path)
{
    char *folder = iw_text_copy(path), *file = iw_text_copy(path);
    char *real = realpath(dirname(folder), NULL);
    char *full = real != NULL ? iw_text_format("%s/%s", real, basename(file)) : iw_text_copy(path);
    free(real);
    free(file);
    free(folder);
    return full;
}

static bool same_file(const char *a, const char *b)
{
    struct stat at, bt;
    bool is = stat(a, &at) == 0, other = stat(b, &bt) == 0;
    if (is && other)
        return S_ISREG(at.st_mode) && at.st_dev == bt.st_dev && at.st_ino == bt.st_ino;
    if (is || other)
        return false;
    char *real = real_path(a), *second = real_path(b);
    bool same = strcmp(real, second) == 0;
    free(second);
    free(real);
    return same;
}

bool iw_host_writable(const char *path)
{
    char *copy = iw_text_copy(path), *folder = iw_text_format("%s/.", dirname(copy));
    bool there = access(path, F_OK) == 0;
    bool good = access(there ? path : folder, W_OK) == 0;
    if (!good)
        iw_complain("cannot write %s: %s", path, strerror(errno));
    free(folder);
    free(copy);
    return good;
}

int iw_host_check_outputs(const struct iw_host_output *outputs, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (outputs[i].path != NULL && outputs[k].path != NULL &&
                same_file(outputs[i].path, outputs[k].path))
                return iw_complain_exit(IW_EXIT_USAGE, "--%s %s: is the file of --%s",
                                        outputs[i].option, outputs[i].path, outputs[k].option);
    return -1;
}
