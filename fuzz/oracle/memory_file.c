/* SPDX-License-Identifier: BSD-3-Clause */
#include "memory_file.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    int fd; /* plus one */
    char name[32];
} files[IW_FUZZ_FILES];

const char *iw_fuzz_file(unsigned which)
{
    if (files[which].fd == 0) {
        int fd = memfd_create("fuzz", MFD_CLOEXEC);
        IW_FUZZ_CHECK(fd >= 0, "no file in memory");
        files[which].fd = fd + 1;
        snprintf(files[which].name, sizeof(files[which].name), "/proc/self/fd/%d", fd);
    }
    return files[which].name;
}

void iw_fuzz_file_set(unsigned which, const uint8_t *octets, size_t length)
{
    (void)iw_fuzz_file(which);
    int fd = files[which].fd - 1;
    IW_FUZZ_CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, octets, length, 0) == (ssize_t)length,
                  "a file in memory cannot be written");
}

void iw_fuzz_quiet(bool quiet)
{
    static FILE *null, *real;
    if (null == NULL) {
        null = fopen("/dev/null", "we");
        real = stderr;
        IW_FUZZ_CHECK(null != NULL, "no /dev/null");
    }
    stderr = quiet ? null : real;
}
