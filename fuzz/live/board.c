/* SPDX-License-Identifier: BSD-3-Clause */
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/text.h"

enum { KEY = 704, LOCK = 3 /* descriptor of a child */ };

struct claim {
    char key[KEY];
    atomic_ullong times;
    unsigned looks;
    bool busy, settled;
};

struct posted {
    unsigned by;
    uint32_t length;
    struct iw_hunt_row row;
    uint8_t octets[IW_HUNT_POSTED_SIZE];
};

/* What is atomic is read without the lock. */
struct shared {
    atomic_bool ended;
    atomic_uint lines, n_posted;
    atomic_uint n_claims;
    unsigned number;
    struct iw_hunt_share shares[IW_HUNT_TARGETS];
    struct iw_hunt_examining examining[IW_HUNT_TARGETS][IW_HUNT_EXAMINERS];
    struct claim claims[IW_HUNT_CLAIMS];
    struct posted posted[IW_HUNT_POSTED];
};

struct iw_hunt_board {
    struct shared *shared;
    int lock; /* a record lock on it, which ends with the process that holds it */
};

struct iw_hunt_board *iw_hunt_board_new(void)
{
    int lock = memfd_create("iwarp-fuzz", MFD_CLOEXEC);
    void *shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (lock < 0 || shared == MAP_FAILED) {
        int number = errno;

        if (lock >= 0)
            close(lock);
        if (shared != MAP_FAILED)
            munmap(shared, sizeof(struct shared));
        errno = number;
        return NULL;
    }
    struct iw_hunt_board *b = iw_got(calloc(1, sizeof(*b)));
    *b = (struct iw_hunt_board){.shared = shared, .lock = lock};
    return b;
}

void iw_hunt_board_free(struct iw_hunt_board *b)
{
    if (b == NULL)
        return;
    close(b->lock);
    munmap(b->shared, sizeof(*b->shared));
    free(b);
}

void iw_hunt_board_inherit(struct iw_hunt_board *b)
{
    if (b->lock != LOCK) {
        dup3(b->lock, LOCK, O_CLOEXEC);
        b->lock = LOCK;
    }
    if (syscall(SYS_close_range, LOCK + 1u, ~0u, 0u))
        for (int fd = LOCK + 1; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
            close(fd);
}

static void lock_as(struct iw_hunt_board *b, short kind)
{
    struct flock whole = {.l_type = kind, .l_whence = SEEK_SET};

    (void)TEMP_FAILURE_RETRY(fcntl(b->lock, F_SETLKW, &whole));
}

void iw_hunt_board_lock(struct iw_hunt_board *b)
{
    lock_as(b, F_WRLCK);
}

void iw_hunt_board_unlock(struct iw_hunt_board *b)
{
    lock_as(b, F_UNLCK);
}

/* ---- causes ---- */

static struct claim *find(struct iw_hunt_board *b, const char *key)
{
    for (unsigned i = 0; i < b->shared->n_claims; i++)
        if (strncmp(b->shared->claims[i].key, key, KEY - 1) == 0)
            return &b->shared->claims[i];
    return NULL;
}

/* Returns the claim with this key, a new one if there is none and room for it. */
static struct claim *find_or_add(struct iw_hunt_board *b, const char *key)
{
    struct claim *c = find(b, key);

    if (c == NULL && b->shared->n_claims < IW_HUNT_CLAIMS) {
        c = &b->shared->claims[b->shared->n_claims];
        snprintf(c->key, sizeof(c->key), "%s", key);
        b->shared->n_claims++;
    }
    return c;
}

bool iw_hunt_board_claim(struct iw_hunt_board *b, const char *key, unsigned often)
{
    iw_hunt_board_lock(b);
    struct claim *c = find_or_add(b, key);
    bool mine = c != NULL && !c->busy && !c->settled && c->looks < often;
    if (c != NULL)
        c->times++;
    if (mine) {
        c->busy = true;
        c->looks++;
    }
    iw_hunt_board_unlock(b);
    return mine;
}

void iw_hunt_board_release(struct iw_hunt_board *b, const char *key, bool settled)
{
    iw_hunt_board_lock(b);
    struct claim *c = find(b, key);
    if (c != NULL) {
        c->busy = false;
        c->settled = c->settled || settled;
    }
    iw_hunt_board_unlock(b);
}

void iw_hunt_board_settle(struct iw_hunt_board *b, const char *key)
{
    iw_hunt_board_lock(b);
    struct claim *c = find_or_add(b, key);
    if (c != NULL)
        c->settled = true;
    iw_hunt_board_unlock(b);
}

void iw_hunt_board_count(struct iw_hunt_board *b, const char *key)
{
    struct claim *c = find(b, key);

    if (c != NULL)
        c->times++;
}

uint64_t iw_hunt_board_times(struct iw_hunt_board *b, const char *key)
{
    const struct claim *c = find(b, key);

    return c != NULL ? c->times : 0;
}

unsigned iw_hunt_board_number(struct iw_hunt_board *b)
{
    iw_hunt_board_lock(b);
    unsigned number = ++b->shared->number;
    iw_hunt_board_unlock(b);
    return number;
}

void iw_hunt_board_line(struct iw_hunt_board *b)
{
    b->shared->lines++;
}

unsigned iw_hunt_board_lines(const struct iw_hunt_board *b)
{
    return b->shared->lines;
}

/* ---- sequences ---- */

void iw_hunt_board_post(struct iw_hunt_board *b, unsigned by, const struct iw_hunt_input *input,
                        const struct iw_hunt_row *row)
{
    struct shared *s = b->shared;

    iw_hunt_board_lock(b);
    unsigned n = s->n_posted;
    if (n < IW_HUNT_POSTED) {
        struct posted *p = &s->posted[n];

        p->by = by;
        p->row = *row;
        p->length = (uint32_t)iw_hunt_input_write(input, p->octets, sizeof(p->octets));
        s->n_posted = n + 1;
    }
    iw_hunt_board_unlock(b);
}

struct iw_hunt_input *iw_hunt_board_take(struct iw_hunt_board *b, unsigned by, unsigned *at,
                                         struct iw_hunt_row *row)
{
    while (*at < b->shared->n_posted) {
        const struct posted *p = &b->shared->posted[(*at)++];

        if (p->by == by)
            continue;
        *row = p->row;
        return iw_hunt_input_read(p->octets, p->length);
    }
    return NULL;
}

/* ---- counts ---- */

struct iw_hunt_share *iw_hunt_board_share(struct iw_hunt_board *b, unsigned hunter)
{
    return &b->shared->shares[hunter];
}

struct iw_hunt_share iw_hunt_board_sum(const struct iw_hunt_board *b)
{
    struct iw_hunt_share sum = {.over = 0};

    for (unsigned i = 0; i < IW_HUNT_TARGETS; i++) {
        sum.over += b->shared->shares[i].over;
        sum.started += b->shared->shares[i].started;
        sum.starts += b->shared->shares[i].starts;
    }
    return sum;
}

struct iw_hunt_examining *iw_hunt_board_examining(struct iw_hunt_board *b, unsigned hunter,
                                                  unsigned examiner)
{
    return &b->shared->examining[hunter][examiner];
}

void iw_hunt_board_end(struct iw_hunt_board *b)
{
    b->shared->ended = true;
}

bool iw_hunt_board_ended(const struct iw_hunt_board *b)
{
    return b->shared->ended;
}
