/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(char *error, size_t room, const char *path, const char *why)
{
    snprintf(error, room, "%s: %s", path, why);
    return -1;
}

int run_find_program(const char *name, char *path, size_t path_room, char *error, size_t room)
{
    const char *places = strchr(name, '/') != NULL ? "" : getenv("PATH");
    if (strchr(name, '/') != NULL) {
        snprintf(path, path_room, "%s", name);
        return access(path, X_OK) == 0 ? 0 : refuse(error, room, name, strerror(errno));
    }
    if (places == NULL)
        places = "/usr/local/bin:/usr/bin:/bin";
    while (*places != '\0') {
        size_t length = strcspn(places, ":");
        int made = snprintf(path, path_room, "%.*s/%s", (int)length, places, name);
        if (made > 0 && (size_t)made < path_room && access(path, X_OK) == 0)
            return 0;
        places += length + (places[length] == ':');
    }
    return refuse(error, room, name, "no such program in PATH");
}

/* Reads the program headers. Returns 1 if one asks for a dynamic loader, 0 if none does, -1 if the
 * file is cut short. */
static int asks_for_loader(int fd, const ElfW(Ehdr) * header)
{
    for (unsigned i = 0; i < header->e_phnum; i++) {
        ElfW(Phdr) segment;
        off_t at = (off_t)(header->e_phoff + (size_t)i * header->e_phentsize);
        if (pread(fd, &segment, sizeof(segment), at) != (ssize_t)sizeof(segment))
            return -1;
        if (segment.p_type == PT_INTERP)
            return 1;
    }
    return 0;
}

static int check_elf(int fd, const char *path, char *error, size_t room)
{
    ElfW(Ehdr) header;
    ssize_t got = pread(fd, &header, sizeof(header), 0);
    if (got >= 2 && memcmp(&header, "#!", 2) == 0)
        return 0;
    if (got < (ssize_t)sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return refuse(error, room, path, "neither an ELF program nor a script");
    if (header.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
        return refuse(error, room, path, "is for another word size than this library");
    switch (asks_for_loader(fd, &header)) {
    case 1:
        return 0;
    case 0:
        return refuse(error, room, path,
                      "is linked statically (as Go programs often are), so no library can be "
                      "preloaded into it");
    default:
        return refuse(error, room, path, "is cut short");
    }
}

int run_check_program(const char *path, char *error, size_t room)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return refuse(error, room, path, strerror(errno));
    int result = 0;
    if (fstat(fd, &status) != 0)
        result = refuse(error, room, path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        result = refuse(error, room, path, "is not a regular file");
    else if ((status.st_mode & (S_ISUID | S_ISGID)) != 0 && geteuid() != 0)
        result = refuse(error, room, path,
                        "is set-uid or set-gid, so the loader ignores a preloaded library");
    else
        result = check_elf(fd, path, error, room);
    close(fd);
    return result;
}
