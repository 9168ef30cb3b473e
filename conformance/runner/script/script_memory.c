/* SPDX-License-Identifier: BSD-3-Clause */
#include "script_memory.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>

#include "host/text.h"

/* Sizes are multiples of UNIT up to FINE, then a quarter of a power of two apart up to COARSE. */
enum {
    UNIT = 16,
    FINE_BITS = 10,
    COARSE_BITS = 20,
    FINE = 1 << FINE_BITS,
    COARSE = 1 << COARSE_BITS,
    CLASSES = FINE / UNIT + 4 * (COARSE_BITS - FINE_BITS),
    KINDS = 8
};
/* Twice what a state takes by default. As much stays with the process as one state's image. */
static const size_t stretch_size = (size_t)128 << 20, resident_size = (size_t)8 << 20;

struct vacant {
    struct vacant *next;
};

/* At the beginning of the stretch, so that it is part of a copy. */
struct stretch {
    size_t top; /* octets from the beginning that were ever used */
    struct vacant *vacant[CLASSES];
};

/* A block that is not in the stretch, after this header. */
struct outside {
    struct outside *next, *previous;
    alignas(UNIT) char block[];
};

static struct stretch *stretch;
static bool taken;
static struct outside outside = {.next = &outside, .previous = &outside};

static bool reserve(void)
{
    if (stretch != NULL)
        return true;
    void *at = mmap(NULL, stretch_size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED)
        stretch = at;
    return stretch != NULL;
}

static bool refused(void)
{
    const char *heap = getenv("IW_SCRIPT_HEAP");
    return heap != NULL && strcmp(heap, "malloc") == 0;
}

bool iw_script_stretch_take(unsigned kind)
{
    if (refused() || taken || !reserve())
        return false;
    taken = true;
    *stretch =
        (struct stretch){.top = (sizeof(*stretch) + UNIT - 1) / UNIT * UNIT + kind % KINDS * UNIT};
    return true;
}

void iw_script_stretch_give(void)
{
    while (outside.next != &outside) {
        struct outside *o = outside.next;
        outside.next = o->next;
        free(o);
    }
    outside.previous = &outside;
    if (stretch->top > resident_size)
        madvise((char *)stretch + resident_size, stretch->top - resident_size, MADV_DONTNEED);
    taken = false;
}

/* The class of a size, which is not 0; *whole is the size of its blocks. */
static unsigned class_of(size_t size, size_t *whole)
{
    size_t last = size - 1;
    if (size <= FINE) {
        *whole = (last / UNIT + 1) * UNIT;
        return (unsigned)(last / UNIT);
    }
    unsigned bits = FINE_BITS;
    while (last >> bits > 1)
        bits++;
    size_t quarters = last >> (bits - 2); /* 4 to 7 */
    *whole = (quarters + 1) << (bits - 2);
    return (unsigned)(FINE / UNIT + 4 * (bits - FINE_BITS) + (quarters - 4));
}

static bool in_stretch(const void *block)
{
    return (uintptr_t)block - (uintptr_t)stretch < stretch_size;
}

/* Puts an outside block into the list; returns it, NULL for NULL. */
static void *link_outside(struct outside *o)
{
    if (o == NULL)
        return NULL;
    o->next = outside.next;
    o->previous = &outside;
    o->next->previous = o;
    outside.next = o;
    return o->block;
}

static struct outside *unlink_outside(void *block)
{
    struct outside *o = (struct outside *)((char *)block - offsetof(struct outside, block));
    o->next->previous = o->previous;
    o->previous->next = o->next;
    return o;
}

static void *make(size_t size)
{
    if (size <= COARSE) {
        size_t whole;
        struct vacant **vacant = &stretch->vacant[class_of(size, &whole)];
        struct vacant *block = *vacant;
        if (block != NULL) {
            *vacant = block->next;
            return block;
        }
        if (stretch_size - stretch->top >= whole) {
            void *new = (char *)stretch + stretch->top;
            stretch->top += whole;
            return new;
        }
    }
    return link_outside(malloc(sizeof(struct outside) + size));
}

static void discard(void *block, size_t old)
{
    if (block == NULL)
        return;
    if (!in_stretch(block)) {
        free(unlink_outside(block));
        return;
    }
    size_t whole;
    struct vacant **vacant = &stretch->vacant[class_of(old, &whole)];
    struct vacant *new = block;
    new->next = *vacant;
    *vacant = new;
}

/* A block outside stays there: what has grown so much is about to grow more. */
static void *grow_outside(void *block, size_t size)
{
    struct outside *o = unlink_outside(block);
    struct outside *more = realloc(o, sizeof(struct outside) + size);
    void *new = link_outside(more != NULL ? more : o);
    return more != NULL ? new : NULL;
}

void *iw_script_stretch_allocate(void *block, size_t old, size_t size)
{
    if (!size) {
        discard(block, old);
        return NULL;
    }
    if (block != NULL && !in_stretch(block))
        return grow_outside(block, size);
    size_t whole;
    if (block != NULL && size <= COARSE && class_of(old, &whole) == class_of(size, &whole))
        return block;
    void *new = make(size);
    if (block == NULL)
        return new;
    if (new == NULL)
        return size < old ? block : NULL; /* Lua takes it that no block fails to shrink */
    memcpy(new, block, old < size ? old : size);
    discard(block, old);
    return new;
}

void *iw_script_stretch_copy(size_t *length)
{
    if (outside.next != &outside)
        return NULL;
    *length = stretch->top;
    return memcpy(iw_got(malloc(*length)), stretch, *length);
}

bool iw_script_stretch_restore(const void *copy, size_t length)
{
    if (taken)
        return false;
    taken = true;
    memcpy(stretch, copy, length);
    return true;
}
