/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of the file that is open. */
#include "iwarp_dissector.h"

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
    size = (size + 7) & ~(size_t)7;
    if (arena.left < size) {
        arena.at = wmem_alloc0(wmem_file_scope(), BLOCK);
        arena.left = BLOCK;
    }
    uint8_t *taken = arena.at;
    arena.at += size;
    arena.left -= size;
    return taken;
}

/* ---- what comes and goes ---- */

/* wmem cannot reuse freed memory among blocks that stay, so these come from malloc. */
static GHashTable *loans;

void *iwd_borrow(size_t size)
{
    void *loan = g_malloc(size);

    g_hash_table_add(loans, loan);
    return loan;
}

void iwd_return(void *borrowed)
{
    g_hash_table_remove(loans, borrowed);
}

void *iwd_reborrow(void *borrowed, size_t size)
{
    g_hash_table_steal(loans, borrowed);
    void *loan = g_realloc(borrowed, size);
    g_hash_table_add(loans, loan);
    return loan;
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

/* The file is closed. */
static void forget_all(void)
{
    g_hash_table_remove_all(loans);
    lent = 0;
    arena.at = NULL;
    arena.left = 0;
    iwd_forget_messages();
}

static void end(void)
{
    g_hash_table_destroy(loans);
}

void iwd_register_memory(void)
{
    loans = g_hash_table_new_full(NULL, NULL, g_free, NULL);
    register_cleanup_routine(forget_all);
    register_shutdown_routine(end);
}
