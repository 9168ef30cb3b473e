/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/number.h"
#include "host/options.h"
#include "iwarp/nearest.h"

bool agent_fail(char *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, AGENT_ERROR, format, arguments);
    va_end(arguments);
    return false;
}

static bool number(const json_t *value, const struct agent_field *f)
{
    uint64_t n;
    const char *text = json_string_value(value);
    if (json_is_integer(value)) {
        if (json_integer_value(value) < 0)
            return false;
        n = (uint64_t)json_integer_value(value);
    } else if (text == NULL || strncmp(text, "0x", 2) != 0 ||
               strlen(text) > sizeof "0x0123456789abcdef" - 1 ||
               !iw_number(text, 0, UINT64_MAX, &n)) {
        return false;
    }
    iw_number_store(f->out, f->size, n);
    return n <= f->most;
}

static bool octets(const json_t *value, uint64_t most, struct agent_octets *out)
{
    char error[AGENT_ERROR];
    if (!json_is_string(value))
        return false;
    out->data = malloc(json_string_length(value) / 2 + 1);
    return out->data != NULL && !iw_option_hex(json_string_value(value), out->data, (size_t)most,
                                               &out->length, error, sizeof(error));
}

void agent_octets_free(struct agent_octets *o)
{
    free(o->data);
    *o = (struct agent_octets){NULL, 0};
}

static bool take(const json_t *value, const struct agent_field *f, char *error)
{
    switch (f->type) {
    case AGENT_NUMBER:
        return number(value, f) ||
               agent_fail(error, "field %s: expected a number, 0..%" PRIu64, f->name, f->most);
    case AGENT_OCTETS:
        return octets(value, f->most, f->out) ||
               agent_fail(error, "field %s: expected hex digits of at most %" PRIu64 " octets",
                          f->name, f->most);
    case AGENT_ARRAY:
        *(const json_t **)f->out = value;
        return (json_is_array(value) && json_array_size(value) <= f->most) ||
               agent_fail(error, "field %s: expected an array of at most %" PRIu64, f->name,
                          f->most);
    case AGENT_OFFSET:
        *(int64_t *)f->out = json_integer_value(value);
        return json_is_integer(value) ||
               agent_fail(error, "field %s: expected a whole number", f->name);
    case AGENT_BOOL:
        *(bool *)f->out = json_is_true(value);
        return json_is_boolean(value) ||
               agent_fail(error, "field %s: expected true or false", f->name);
    case AGENT_STRING:
        *(const char **)f->out = json_string_value(value);
        return json_is_string(value) || agent_fail(error, "field %s: expected a string", f->name);
    case AGENT_OBJECT:
        *(const json_t **)f->out = value;
        return json_is_object(value) || agent_fail(error, "field %s: expected an object", f->name);
    }
    return false;
}

static bool unknown(const char *key, const struct agent_field *fields, size_t count, char *error)
{
    struct iw_nearest n;
    iw_nearest_begin(&n, key);
    for (size_t i = 0; i < count; i++)
        iw_nearest_offer(&n, fields[i].name);
    return agent_fail(error, "field %.40s: not known here%s%s%s", key,
                      n.best != NULL ? " (did you mean " : "", n.best != NULL ? n.best : "",
                      n.best != NULL ? "?)" : "");
}

bool agent_take(const json_t *object, const struct agent_field *fields, size_t count, char *error)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        size_t i = 0;
        if (strcmp(key, "id") == 0 || strcmp(key, "do") == 0)
            continue;
        while (i < count && strcmp(fields[i].name, key) != 0)
            i++;
        if (i == count)
            return unknown(key, fields, count, error);
        if (!take(value, &fields[i], error))
            return false;
    }
    for (size_t i = 0; i < count; i++)
        if (fields[i].required && json_object_get(object, fields[i].name) == NULL)
            return agent_fail(error, "field %s: missing", fields[i].name);
    return true;
}

int agent_index(const char *field, const char *const *list, size_t count, const char *word,
                char *error)
{
    for (size_t i = 0; word != NULL && i < count; i++)
        if (strcmp(word, list[i]) == 0)
            return (int)i;
    int length = snprintf(error, AGENT_ERROR, "field %s: expected ", field);
    for (size_t i = 0; i < count; i++)
        length += snprintf(error + length, AGENT_ERROR - (size_t)length, "%s%s", list[i],
                           i + 2 < count   ? ", "
                           : i + 1 < count ? " or "
                                           : "");
    return -1;
}

json_t *agent_strings(const char *const *list, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_string(list[i]));
    return array;
}
