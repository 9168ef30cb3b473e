/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparisons as text: for the terminal, as a table, and as the data of a page. */
#include <stdlib.h>
#include <string.h>

#include "base/device.h"
#include "compare.h"
#include "host/csv.h"
#include "host/json_values.h"
#include "host/text.h"
#include "report/page.h"

static long long number(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static const char *label(const json_t *run)
{
    return iw_json_get_text(run, "label");
}

/* ---- the terminal ---- */

static void print_run(FILE *out, const json_t *run)
{
    const json_t *target = json_object_get(run, "target"), *rules = json_object_get(run, "rules");
    struct iw_device device = {{NULL}};
    iw_device_add_json(&device, json_object_get(run, "device"));
    char *known = iw_device_text(&device);
    const char *const parts[] = {iw_json_get_text(target, "name"),
                                 iw_json_get_text(target, "version"), known != NULL ? known : "",
                                 iw_json_get_text(run, "started")};
    const char *between = ": ";
    fprintf(out, "%s  %s", label(run), iw_json_get_text(run, "path"));
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (*parts[i] == '\0')
            continue;
        fprintf(out, "%s%s", between, parts[i]);
        between = ", ";
    }
    fprintf(out, ": %lld broken, %lld hold, %lld not decided\n", number(rules, "broken"),
            number(rules, "holds"), number(rules, "not decided"));
    free(known);
    iw_device_free(&device);
}

/* "broken 4", "holds" ... */
static void print_cell(FILE *out, const json_t *cell)
{
    const char *state = iw_json_get_text(cell, "state");
    char text[48];
    if (number(cell, "cases") > 0)
        snprintf(text, sizeof(text), "%s %lld", state, number(cell, "cases"));
    else
        snprintf(text, sizeof(text), "%s", state);
    fprintf(out, "  %-12s", text);
}

static void print_row(FILE *out, const json_t *row)
{
    const char *rule = iw_json_get_text(row, "rule");
    const json_t *cell;
    size_t i;
    fprintf(out, "%-12s", *rule != '\0' ? rule : "-");
    json_array_foreach(json_object_get(row, "cells"), i, cell) print_cell(out, cell);
    fprintf(out, "  %s\n", iw_json_get_text(row, "text"));
}

static void print_list(FILE *out, const json_t *change, const char *member, const char *what)
{
    const json_t *list = json_object_get(change, member), *one;
    size_t i;
    if (json_array_size(list) == 0)
        return;
    fprintf(out, "  %-10s", what);
    json_array_foreach(list, i, one)
        fprintf(out, "%s %s", i > 0 ? "," : "", json_string_value(one));
    putc('\n', out);
}

static void print_change(FILE *out, const json_t *change)
{
    const json_t *list = json_object_get(change, "cases"), *one;
    size_t i, alone = 0;
    json_array_foreach(list, i, one) alone +=
        json_is_null(json_object_get(one, "from")) || json_is_null(json_object_get(one, "to"));
    size_t other = json_array_size(list) - alone;
    fprintf(out, "%s to %s: %zu case%s with another verdict", iw_json_get_text(change, "from"),
            iw_json_get_text(change, "to"), other, other == 1 ? "" : "s");
    if (alone > 0)
        fprintf(out, ", %zu that one of them has not played", alone);
    putc('\n', out);
    print_list(out, change, "broken", "broken");
    print_list(out, change, "mended", "mended");
    print_list(out, change, "not_seen", "not seen");
    print_list(out, change, "otherwise", "otherwise");
}

void iw_compare_print(FILE *out, const json_t *comparison)
{
    const json_t *one, *rows = json_object_get(comparison, "findings");
    size_t i, same = 0;
    json_array_foreach(json_object_get(comparison, "runs"), i, one) print_run(out, one);
    if (json_array_size(rows) > 0) {
        fprintf(out, "\n%-12s", "rule");
        json_array_foreach(json_object_get(comparison, "runs"), i, one)
            fprintf(out, "  %-12s", label(one));
        fprintf(out, "  text\n");
    }
    json_array_foreach(rows, i, one)
    {
        print_row(out, one);
        same += json_is_true(json_object_get(one, "same"));
    }
    size_t other = json_array_size(rows) - same;
    fprintf(out, "\n%zu finding%s, %zu %s the same in all runs\n", other,
            other == 1 ? " differs" : "s differ", same, same == 1 ? "is" : "are");
    json_array_foreach(json_object_get(comparison, "changes"), i, one) print_change(out, one);
}

/* ---- the table ---- */

static void put_what(FILE *out, const json_t *cell)
{
    const json_t *one;
    size_t i;
    char *text = NULL;
    json_array_foreach(json_object_get(cell, "findings"), i, one)
    {
        char *more = iw_text_format("%s%s%s", text != NULL ? text : "", text != NULL ? "; " : "",
                                    iw_json_get_text(one, "text"));
        free(text);
        text = more;
    }
    iw_csv_field(out, text);
    free(text);
}

void iw_compare_write_csv(FILE *out, const json_t *comparison)
{
    const json_t *one, *cell;
    size_t i, k;
    fputs("rule,rfc,section,level,same,text", out);
    json_array_foreach(json_object_get(comparison, "runs"), i, one)
    {
        char *name = iw_text_format("%s: %s", label(one), iw_json_get_text(one, "path"));
        putc(',', out);
        iw_csv_field(out, name);
        fprintf(out, ",%s cases,%s what", label(one), label(one));
        free(name);
    }
    putc('\n', out);
    json_array_foreach(json_object_get(comparison, "findings"), i, one)
    {
        fprintf(out, "%s,", iw_json_get_text(one, "rule"));
        if (number(one, "rfc") > 0)
            fprintf(out, "%lld", number(one, "rfc"));
        fprintf(out, ",%s,%s,%s,", iw_json_get_text(one, "section"), iw_json_get_text(one, "level"),
                json_is_true(json_object_get(one, "same")) ? "yes" : "no");
        iw_csv_field(out, iw_json_get_text(one, "text"));
        json_array_foreach(json_object_get(one, "cells"), k, cell)
        {
            fprintf(out, ",%s,%lld,", iw_json_get_text(cell, "state"), number(cell, "cases"));
            put_what(out, cell);
        }
        putc('\n', out);
    }
}

/* ---- the page ---- */

bool iw_compare_write_html(FILE *out, const json_t *comparison, const char *folder, char *error,
                           size_t room)
{
    return iw_page_write(out, folder, "compare.html", comparison, error, room);
}
