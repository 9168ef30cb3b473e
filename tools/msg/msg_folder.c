/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg_folder.h"
#include "msg_exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A path below the folder, without ".." and without links out of it. */
static bool is_below(const char *path)
{
    if (path[0] == '/' || path[0] == '\0')
        return false;
    for (const char *part = path; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return false;
    }
    return true;
}

/* Opens each part of the path by itself: a link is not followed. */
static int open_below(int folder, const char *path)
{
    char copy[MSG_PATH];
    int at = dup(folder);
    snprintf(copy, sizeof(copy), "%s", path);
    char *part = copy;
    while (at >= 0) {
        char *slash = strchr(part, '/');
        if (slash != NULL)
            *slash = '\0';
        const int next = part[0] == '\0' ? dup(at)
                                         : openat(at, part,
                                                  O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
                                                      (slash ? O_DIRECTORY : 0));
        const int why = errno;
        close(at);
        errno = why;
        if (slash == NULL)
            return next;
        at = next;
        part = slash + 1;
    }
    return -1;
}

int msg_folder_open(int folder, const char *path, uint64_t *length, const char **why)
{
    struct stat st;
    *why = folder < 0 ? "no files are served" : "not below the folder";
    if (folder < 0 || !is_below(path))
        return -1;
    const int file = open_below(folder, path);
    *why = "not a file";
    if (file < 0 || fstat(file, &st) != 0)
        *why = strerror(errno);
    else if (S_ISREG(st.st_mode)) {
        *length = (uint64_t)st.st_size;
        return file;
    }
    if (file >= 0)
        close(file);
    return -1;
}

bool msg_folder_read(int file, uint8_t *octets, size_t length)
{
    while (length > 0) {
        const ssize_t got = read(file, octets, length);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        octets += got > 0 ? got : 0;
        length -= got > 0 ? (size_t)got : 0;
    }
    return true;
}
