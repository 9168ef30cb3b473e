/* SPDX-License-Identifier: BSD-3-Clause */
/* The fuzzer's end of the map; the peer's is peer/live_peer_coverage.c. */
#include "live_coverage.h"
#include "host/complain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/text.h"
#include "hunt.h"

struct iw_hunt_coverage {
    char *path;
    bool own;
    uint8_t *map;
    uint8_t reached[IW_HUNT_COVERAGE_PLACES];
    size_t places;
};

/* Makes sure that the file has its full size: reading past the end of a truncated mapping would
 * raise SIGBUS. Returns false if that fails. */
static bool whole(int fd)
{
    struct stat file;
    return !fstat(fd, &file) &&
           (!S_ISREG(file.st_mode) || file.st_size >= IW_HUNT_COVERAGE_PLACES ||
            !ftruncate(fd, IW_HUNT_COVERAGE_PLACES));
}

struct iw_hunt_coverage *iw_hunt_coverage_open(const char *path, const char *dir)
{
    struct iw_hunt_coverage *c = iw_got(calloc(1, sizeof(*c)));

    c->own = path == NULL;
    c->path = path != NULL ? iw_text_copy(path) : iw_text_format("%s/coverage.map", dir);
    int fd = open(c->path, O_RDWR | O_CLOEXEC | (c->own ? O_CREAT | O_TRUNC : 0), 0600);
    void *memory = MAP_FAILED;
    if (fd >= 0 && whole(fd))
        memory = mmap(NULL, IW_HUNT_COVERAGE_PLACES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int saved = errno;
    if (fd >= 0)
        close(fd);
    if (memory == MAP_FAILED || setenv(IW_HUNT_COVERAGE_FILE, c->path, 1)) {
        iw_complain("--coverage: %s: %s", c->path, strerror(saved));
        free(c->path);
        free(c);
        return NULL;
    }
    c->map = memory;
    return c;
}

void iw_hunt_coverage_close(struct iw_hunt_coverage *c)
{
    if (c == NULL)
        return;
    munmap(c->map, IW_HUNT_COVERAGE_PLACES);
    if (c->own)
        unlink(c->path);
    free(c->path);
    free(c);
}

unsigned iw_hunt_coverage_fresh(struct iw_hunt_coverage *c)
{
    unsigned fresh = 0;

    for (size_t i = 0; i < IW_HUNT_COVERAGE_PLACES; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, c->map + i, sizeof(word));
        if (!word)
            continue;
        for (size_t k = i; k < i + sizeof(word); k++)
            if (c->map[k] && !c->reached[k]) {
                c->reached[k] = 1;
                fresh++;
            }
    }
    c->places += fresh;
    /* Clear the map, so that the next look is quick: known places need no second report. */
    if (fresh)
        memset(c->map, 0, IW_HUNT_COVERAGE_PLACES);
    return fresh;
}

size_t iw_hunt_coverage_places(const struct iw_hunt_coverage *c)
{
    return c->places;
}
