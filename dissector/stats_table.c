/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats_tap.h"

static struct iwd_table *tables[4];
static unsigned n_tables;

static stat_tap_table *table_of(const stat_tap_table_ui *ui)
{
    return ui->tables != NULL && ui->tables->len ? g_array_index(ui->tables, stat_tap_table *, 0)
                                                 : NULL;
}

static struct iwd_table *owner_of(const stat_tap_table *table)
{
    for (unsigned k = 0; k < n_tables; k++)
        if (table_of(&tables[k]->ui) == table)
            return tables[k];
    return NULL;
}

/* A window may still use the existing rows: keep them for reuse. */
static void reset(stat_tap_table *table)
{
    struct iwd_table *t = owner_of(table);

    table->num_elements = 0;
    if (t == NULL)
        return;
    g_hash_table_remove_all(t->rows);
    if (t->reset != NULL)
        t->reset();
}

static void init(stat_tap_table_ui *ui)
{
    stat_tap_table *table = table_of(ui);

    if (table != NULL) {
        reset(table);
        return;
    }
    table = stat_tap_init_table(ui->title, (int)ui->nfields, 0, NULL);
    stat_tap_add_table(ui, table);
    owner_of(table)->room = 0;
    owner_of(table)->rows = g_hash_table_new(NULL, NULL);
    reset(table);
}

static void free_text(stat_tap_table_item_type *cell)
{
    if (cell->type == TABLE_ITEM_STRING)
        g_free((char *)(uintptr_t)cell->value.string_value);
}

static void free_item(stat_tap_table *table, guint row, guint column,
                      stat_tap_table_item_type *cell)
{
    struct iwd_table *t = owner_of(table);

    if (t != NULL && row == 0 && column == 0)
        table->num_elements = t->room; /* all are freed */
    free_text(cell);
    cell->type = TABLE_ITEM_NONE;
}

void iwd_register_table(struct iwd_table *t)
{
    static tap_param filter[] = {{PARAM_FILTER, "filter", "Filter", NULL, TRUE}};

    t->ui.group = REGISTER_PACKET_STAT_GROUP_UNSORTED;
    t->ui.tap_name = "iwarp";
    t->ui.stat_tap_init_cb = init;
    t->ui.stat_tap_reset_table_cb = reset;
    t->ui.stat_tap_free_table_item_cb = free_item;
    t->ui.params = filter;
    t->ui.nparams = 1;
    tables[n_tables++] = t;
    register_stat_tap_table_ui(&t->ui);
}

/* Adds a row of zeros and empty strings. */
static stat_tap_table_item_type *add_row(struct iwd_table *t)
{
    stat_tap_table *table = table_of(&t->ui);
    guint row = table->num_elements;

    if (row < t->room) {
        table->num_elements++;
    } else {
        stat_tap_table_item_type *cells = g_new0(stat_tap_table_item_type, t->ui.nfields);

        stat_tap_init_table_row(table, row, (guint)t->ui.nfields, cells);
        g_free(cells);
        t->room++;
    }
    stat_tap_table_item_type *cells = stat_tap_get_field_data(table, row, 0);
    for (guint k = 0; k < t->ui.nfields; k++) {
        free_text(&cells[k]);
        cells[k] = (stat_tap_table_item_type){.type = t->ui.fields[k].type};
        if (cells[k].type == TABLE_ITEM_STRING)
            cells[k].value.string_value = g_strdup("");
    }
    return cells;
}

stat_tap_table_item_type *iwd_table_row(struct iwd_table *t, gconstpointer key, bool *fresh)
{
    stat_tap_table_item_type *cells = g_hash_table_lookup(t->rows, key);

    *fresh = cells == NULL;
    if (*fresh) {
        cells = add_row(t);
        g_hash_table_insert(t->rows, (gpointer)(uintptr_t)key, cells);
    }
    return cells;
}

void iwd_table_text(stat_tap_table_item_type *cell, const char *text)
{
    free_text(cell);
    cell->value.string_value = g_strdup(text);
}

void iwd_table_number(stat_tap_table_item_type *cell, int width, int decimals, double number)
{
    cell->user_data.float_value = number;
    char text[64];
    g_snprintf(text, sizeof(text), "%*.*f", width, decimals, number);
    iwd_table_text(cell, text);
}
