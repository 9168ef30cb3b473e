/* SPDX-License-Identifier: BSD-3-Clause */
#include "option_rows.h"

#include <stdint.h>
#include <string.h>

const struct iw_option iw_option_standard[IW_OPTION_STANDARD] = {
    {"help", 'h', NULL, "print this", 0, IW_OPTION_CALLS(NULL)},
    {"version", 'V', NULL, "print the version", 0, IW_OPTION_CALLS(NULL)},
};

const struct iw_option *iw_option_row(const struct iw_command_line *line, size_t index,
                                      void **context)
{
    for (size_t i = 0; i < line->n_tables; i++) {
        const struct iw_option_table *t = &line->tables[i];

        if (index < t->count) {
            if (context != NULL)
                *context = t->context;
            return &t->options[index];
        }
        index -= t->count;
    }
    return index < IW_OPTION_STANDARD ? &iw_option_standard[index] : NULL;
}

bool iw_option_belongs(const struct iw_command_line *line, const struct iw_option *o)
{
    return !o->commands || !line->command || (o->commands & line->command);
}

bool iw_option_is_meant(const struct iw_command_line *line, const struct iw_option *o)
{
    if (iw_option_belongs(line, o))
        return true;
    const struct iw_option *other;
    for (size_t i = 0; (other = iw_option_row(line, i, NULL)); i++)
        if (other != o && strcmp(other->name, o->name) == 0 && iw_option_belongs(line, other))
            return false;
    return true;
}

size_t iw_option_of_letter(const struct iw_command_line *line, int letter)
{
    size_t found = SIZE_MAX;
    const struct iw_option *o;
    for (size_t i = 0; (o = iw_option_row(line, i, NULL)) != NULL; i++) {
        if (o->letter != letter || !iw_option_is_meant(line, o))
            continue;
        if (iw_option_belongs(line, o))
            return i;
        if (found == SIZE_MAX)
            found = i;
    }
    return found;
}

bool iw_option_has_optional(const struct iw_option *o)
{
    return o->argument != NULL && o->argument[0] == '[';
}
