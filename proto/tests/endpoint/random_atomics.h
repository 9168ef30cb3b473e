/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_RANDOM_ATOMICS_H
#define IW_TESTS_RANDOM_ATOMICS_H

/* Random atomics on one number in a struct memory, and a model of it. Include after
 * random_memory.h, from one test program. */

enum { CELL = 8, CELL_STATES = 128 };

/* One connection changes it, in its order; the last of its atomics may not have been done. */
struct cell {
    uint64_t states[CELL_STATES]; /* its value now, or later */
    size_t count;
};

static inline void cell_open(struct cell *c, struct memory *m)
{
    c->states[0] = any();
    c->count = 1;
    m->busy[0] = 1;
    memcpy(m->octets + CELL, &c->states[0], sizeof(c->states[0]));
}

/* Makes operands that match, and carry, now and then. */
static inline void cell_ask(struct iw_work *work)
{
    work->add_swap = any();
    work->add_swap_mask = chance(30) ? 0 : any();
    work->compare = any();
    /* NOLINTNEXTLINE(misc-redundant-expression): each call gives another number */
    work->compare_mask = any() & any() & any() & any();
}

/* RFC 7306 §5.1, in the words of its pseudocode. */
static inline uint64_t cell_after(const struct iw_work *work, uint64_t old)
{
    uint64_t carry = 0, value = 0;
    if (work->opcode == IW_WORK_CMP_SWAP)
        return ((work->compare ^ old) & work->compare_mask) != 0
                   ? old
                   : (old & ~work->add_swap_mask) | (work->add_swap & work->add_swap_mask);
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t sum = carry + (old >> bit & 1) + (work->add_swap >> bit & 1);
        value |= (sum & 1) << bit;
        carry = (work->add_swap_mask >> bit & 1) != 0 ? 0 : sum >> 1;
    }
    return value;
}

static inline void cell_done(struct cell *c, const struct iw_work *work, uint64_t original)
{
    assert_int_equal(c->count, 1);
    assert_true(original == c->states[0]);
    c->states[0] = cell_after(work, original);
}

static inline void cell_unsure(struct cell *c, const struct iw_work *work)
{
    assert_true(c->count < CELL_STATES);
    c->states[c->count] = cell_after(work, c->states[c->count - 1]);
    c->count++;
}

static inline void cell_close(const struct cell *c, struct memory *m)
{
    uint64_t value;
    size_t i = 0;
    memcpy(&value, m->octets + CELL, sizeof(value));
    while (i < c->count && c->states[i] != value)
        i++;
    assert_true(i < c->count);
    memcpy(m->shadow + CELL, &value, sizeof(value));
}

#endif
