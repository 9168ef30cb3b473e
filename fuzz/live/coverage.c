/* SPDX-License-Identifier: BSD-3-Clause */
/* The fuzzer's end of the map; the peer's is coverage_peer.c. */
#include "coverage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hunt.h"
#include "text.h"

struct iw_hunt_coverage {
    char *path;
    uint8_t *map;
    uint8_t reached[IW_HUNT_COVERAGE_PLACES];
    size_t places;
};

struct iw_hunt_coverage *iw_hunt_coverage_open(const char *dir)
{
    struct iw_hunt_coverage *c = iw_got(calloc(1, sizeof(*c)));
    int fd;
    void *memory = MAP_FAILED;

    c->path = iw_text_format("%s/coverage.map", dir);
    fd = open(c->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0 && !ftruncate(fd, IW_HUNT_COVERAGE_PLACES))
        memory = mmap(NULL, IW_HUNT_COVERAGE_PLACES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (memory == MAP_FAILED || setenv(IW_HUNT_COVERAGE_FILE, c->path, 1)) {
        free(c->path);
        free(c);
        return NULL;
    }
    c->map = memory;
    return c;
}

void iw_hunt_coverage_close(struct iw_hunt_coverage *c)
{
    if (!c)
        return;
    munmap(c->map, IW_HUNT_COVERAGE_PLACES);
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
    /* So that the next look is quick: what was reached need not be told again. */
    if (fresh)
        memset(c->map, 0, IW_HUNT_COVERAGE_PLACES);
    return fresh;
}

size_t iw_hunt_coverage_places(const struct iw_hunt_coverage *c)
{
    return c->places;
}
