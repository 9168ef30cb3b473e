/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of the file that is open. */
#include "iwarp_dissector.h"

#include <stdalign.h>

/* ---- what stays ---- */

/* Some structs exist once per FPDU, and none is freed before the file is closed: allocate them in
 * blocks, without overhead for each. */
enum { BLOCK = 64 * 1024 };

static struct {
    uint8_t *at;
    size_t left;
} arena;

void *iwd_take(size_t size)
{
    uint8_t *taken;

    size = (size + 7) & ~(size_t)7;
    if (arena.left < size) {
        arena.at = wmem_alloc0(wmem_file_scope(), BLOCK);
        arena.left = BLOCK;
    }
    taken = arena.at;
    arena.at += size;
    arena.left -= size;
    return taken;
}

/* ---- what comes and goes ---- */

/* wmem cannot reuse freed memory among blocks that stay, so these come from malloc. */
struct loan {
    alignas(max_align_t) struct loan *next;
    struct loan *previous;
};

static struct loan loans = {&loans, &loans};

void *iwd_borrow(size_t size)
{
    struct loan *loan = g_malloc(sizeof *loan + size);

    loan->next = loans.next;
    loan->previous = &loans;
    loans.next->previous = loan;
    loans.next = loan;
    return loan + 1;
}

void iwd_return(void *borrowed)
{
    struct loan *loan = (struct loan *)borrowed - 1;

    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): those that are freed are in no list */
    loan->previous->next = loan->next;
    loan->next->previous = loan->previous;
    g_free(loan);
}

void *iwd_reborrow(void *borrowed, size_t size)
{
    struct loan *loan = g_realloc((struct loan *)borrowed - 1, sizeof *loan + size);

    loan->previous->next = loan;
    loan->next->previous = loan;
    return loan + 1;
}

/* The limit for the observers of all connections together. */
enum { LENT = 256 * 1024 * 1024 };

static size_t lent;

void *iwd_lend(void *context _U_, size_t size)
{
    if (lent + size > LENT)
        return NULL;
    lent += size;
    return iwd_borrow(size);
}

void iwd_give_back(void *context _U_, void *block, size_t size)
{
    lent -= size;
    iwd_return(block);
}

void iwd_forget_all(void)
{
    while (loans.next != &loans)
        iwd_return(loans.next + 1);
    lent = 0;
    arena.at = NULL;
    arena.left = 0;
    iwd_forget_messages();
    iwd_forget_end();
}
