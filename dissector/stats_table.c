/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats_tap.h"

static struct iwd_table *tables[4];
static unsigned n_tables;

static stat_tap_table *table_of(const stat_tap_table_ui *ui)
{
    return ui->tables && ui->tables->len ? g_array_index(ui->tables, stat_tap_table *, 0) : NULL;
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
    if (t)
        t->reset();
}

static void init(stat_tap_table_ui *ui)
{
    stat_tap_table *table = table_of(ui);

    if (table) {
        reset(table);
        return;
    }
    table = stat_tap_init_table(ui->title, (int)ui->nfields, 0, NULL);
    stat_tap_add_table(ui, table);
    owner_of(table)->room = 0;
    reset(table);
}

static void free_item(stat_tap_table *table, guint row, guint column,
                      stat_tap_table_item_type *item)
{
    struct iwd_table *t = owner_of(table);

    if (t && row == 0 && column == 0)
        table->num_elements = t->room; /* all are freed */
    if (item->type == TABLE_ITEM_STRING)
        g_free((char *)(uintptr_t)item->value.string_value);
    item->type = TABLE_ITEM_NONE;
}

void iwd_register_table(struct iwd_table *t)
{
    static tap_param filter[] = {{PARAM_FILTER, "filter", "Filter", NULL, TRUE}};

    t->ui.tap_name = "iwarp";
    t->ui.stat_tap_init_cb = init;
    t->ui.stat_tap_reset_table_cb = reset;
    t->ui.stat_tap_free_table_item_cb = free_item;
    t->ui.params = filter;
    t->ui.nparams = 1;
    tables[n_tables++] = t;
    register_stat_tap_table_ui(&t->ui);
}

guint iwd_table_add(struct iwd_table *t)
{
    stat_tap_table *table = table_of(&t->ui);
    guint row = table->num_elements;
    stat_tap_table_item_type *items;

    if (row < t->room) {
        table->num_elements++;
    } else {
        items = g_new0(stat_tap_table_item_type, t->ui.nfields);
        stat_tap_init_table_row(table, row, (guint)t->ui.nfields, items);
        g_free(items);
        t->room++;
    }
    for (guint k = 0; k < t->ui.nfields; k++) {
        stat_tap_table_item_type *item = iwd_table_at(t, row, k);

        if (item->type == TABLE_ITEM_STRING)
            g_free((char *)(uintptr_t)item->value.string_value);
        memset(item, 0, sizeof *item);
        item->type = t->ui.fields[k].type;
        if (item->type == TABLE_ITEM_STRING)
            item->value.string_value = g_strdup("");
    }
    return row;
}

stat_tap_table_item_type *iwd_table_at(const struct iwd_table *t, guint row, guint column)
{
    return stat_tap_get_field_data(table_of(&t->ui), row, column);
}

void iwd_table_text(const struct iwd_table *t, guint row, guint column, const char *text)
{
    stat_tap_table_item_type *item = iwd_table_at(t, row, column);

    g_free((char *)(uintptr_t)item->value.string_value);
    item->value.string_value = g_strdup(text);
}

void iwd_table_number(const struct iwd_table *t, guint row, guint column, int width, int decimals,
                      double number)
{
    char text[64];

    iwd_table_at(t, row, column)->user_data.float_value = number;
    g_snprintf(text, sizeof text, "%*.*f", width, decimals, number);
    iwd_table_text(t, row, column, text);
}
