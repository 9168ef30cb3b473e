/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_RANDOM_MEMORY_H
#define IW_TESTS_RANDOM_MEMORY_H

/* Random numbers that can be replayed, and memory with a shadow in which random lists of pieces are
 * reserved. Include after pair.h, from one test program. */

enum {
    MEMORY = 3 << 20,
    BLOCK = 64, /* the unit of reservation, so that neighbours never touch; also the guards */
    PIECES = 32
};

static uint64_t random_state;

static inline void random_begin(uint64_t seed)
{
    random_state = seed * 0x9e3779b97f4a7c15u + 1;
}

static inline uint64_t any(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Returns a random number, 0 .. n-1. */
static inline size_t below(size_t n)
{
    return (size_t)((any() >> 11) % n);
}

static inline bool chance(unsigned percent)
{
    return below(100) < percent;
}

/* Returns a number from the environment. */
static inline uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL || *text == '\0' ? otherwise : strtoull(text, NULL, 0);
}

struct range {
    size_t offset, length;
};

struct list {
    struct range at[PIECES];
    size_t count;
};

struct memory {
    uint8_t *octets, *shadow; /* MEMORY of them, with a BLOCK of guard around */
    uint8_t busy[MEMORY / BLOCK + 2];
};

static inline void memory_open(struct memory *m, int value)
{
    m->octets = malloc(MEMORY + 2 * BLOCK);
    m->shadow = malloc(MEMORY + 2 * BLOCK);
    assert_true(m->octets != NULL && m->shadow != NULL);
    memset(m->octets, value, MEMORY + 2 * BLOCK);
    memset(m->shadow, value, MEMORY + 2 * BLOCK);
    m->octets += BLOCK;
    m->shadow += BLOCK;
}

static inline void memory_close(struct memory *m)
{
    assert_memory_equal(m->octets - BLOCK, m->shadow - BLOCK, MEMORY + 2 * BLOCK);
    free(m->octets - BLOCK);
    free(m->shadow - BLOCK);
}

static inline bool reserve(struct memory *m, size_t length, struct range *out)
{
    for (unsigned try = 0; try < 6; try++) {
        size_t offset = below(MEMORY - length + 1);
        size_t first = offset / BLOCK, last = (offset + length) / BLOCK, k = first;
        while (k <= last && !m->busy[k])
            k++;
        if (k <= last)
            continue;
        if (length > 0)
            memset(m->busy + first, 1, last - first + 1);
        *out = (struct range){offset, length};
        return true;
    }
    return false;
}

static inline void release(struct memory *m, struct list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct range *r = &l->at[i];
        if (r->length > 0)
            memset(m->busy + r->offset / BLOCK, 0,
                   (r->offset + r->length) / BLOCK - r->offset / BLOCK + 1);
    }
    l->count = 0;
}

/* Cuts `length` octets into up to `most` pieces here and there, empty ones among them. */
static inline bool reserve_list(struct memory *m, size_t length, size_t most, struct list *out)
{
    size_t pieces = chance(50) ? 1 : 1 + below(most);
    out->count = 0;
    while (out->count < pieces) {
        size_t take = out->count + 1 == pieces ? length : below(length + 1);
        if (!reserve(m, take, &out->at[out->count])) {
            release(m, out);
            return false;
        }
        out->count++;
        length -= take;
    }
    return true;
}

static inline void fill(struct memory *m, const struct list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        uint8_t *to = m->octets + l->at[i].offset;
        uint64_t x = any();
        for (size_t k = 0; k < l->at[i].length; k++) {
            x = x * 0xd1342543de82ef95u + 1;
            to[k] = (uint8_t)(x >> 40);
        }
        memcpy(m->shadow + l->at[i].offset, to, l->at[i].length);
    }
}

static inline void gather(const uint8_t *memory, const struct list *l, uint8_t *out)
{
    for (size_t i = 0; i < l->count; i++) {
        memcpy(out, memory + l->at[i].offset, l->at[i].length);
        out += l->at[i].length;
    }
}

static inline size_t total(const struct list *l)
{
    size_t sum = 0;
    for (size_t i = 0; i < l->count; i++)
        sum += l->at[i].length;
    return sum;
}

/* Takes the present octets for those that must stay. */
static inline void accept_target(struct memory *m, const struct list *l)
{
    for (size_t i = 0; i < l->count; i++)
        memcpy(m->shadow + l->at[i].offset, m->octets + l->at[i].offset, l->at[i].length);
}

#endif
