/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/nearest.h"

static bool number(const json_t *value, uint64_t most, uint64_t *out)
{
    if (json_is_integer(value)) {
        json_int_t n = json_integer_value(value);
        if (n < 0)
            return false;
        *out = (uint64_t)n;
        return *out <= most;
    }
    const char *text = json_string_value(value);
    if (text == NULL || strncmp(text, "0x", 2) != 0 || !isxdigit((unsigned char)text[2]) ||
        strlen(text) > sizeof "0x0123456789abcdef" - 1)
        return false;
    char *end;
    errno = 0;
    *out = strtoull(text + 2, &end, 16);
    return errno == 0 && *end == '\0' && *out <= most;
}

static int nibble(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool octets(const json_t *value, uint64_t most, struct agent_octets *out)
{
    const char *text = json_string_value(value);
    size_t digits = json_string_length(value);
    if (text == NULL || digits % 2 != 0 || digits / 2 > most)
        return false;
    out->length = digits / 2;
    out->data = malloc(out->length + 1);
    if (out->data == NULL)
        return false;
    for (size_t i = 0; i < out->length; i++) {
        int high = nibble(text[2 * i]), low = nibble(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out->data[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

void agent_octets_free(struct agent_octets *o)
{
    free(o->data);
    o->data = NULL;
    o->length = 0;
}

static bool take(const json_t *value, const struct agent_field *f, char *error)
{
    bool good = false;
    const char *expected = "";
    char range[64];
    switch (f->type) {
    case AGENT_NUMBER:
        good = number(value, f->most, f->out);
        snprintf(range, sizeof range, "a number, 0..%" PRIu64, f->most);
        expected = range;
        break;
    case AGENT_OFFSET:
        good = json_is_integer(value);
        *(int64_t *)f->out = json_integer_value(value);
        expected = "a whole number";
        break;
    case AGENT_BOOL:
        good = json_is_boolean(value);
        *(bool *)f->out = json_is_true(value);
        expected = "true or false";
        break;
    case AGENT_STRING:
        good = json_is_string(value);
        *(const char **)f->out = json_string_value(value);
        expected = "a string";
        break;
    case AGENT_OCTETS:
        good = octets(value, f->most, f->out);
        snprintf(range, sizeof range, "hex digits of at most %" PRIu64 " octets", f->most);
        expected = range;
        break;
    case AGENT_ARRAY:
        good = json_is_array(value) && json_array_size(value) <= f->most;
        *(const json_t **)f->out = value;
        snprintf(range, sizeof range, "an array of at most %" PRIu64, f->most);
        expected = range;
        break;
    case AGENT_OBJECT:
        good = json_is_object(value);
        *(const json_t **)f->out = value;
        expected = "an object";
        break;
    }
    if (!good)
        snprintf(error, AGENT_ERROR, "field %s: expected %s", f->name, expected);
    else if (f->given != NULL)
        *f->given = true;
    return good;
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
        if (i == count) {
            struct iw_nearest n;
            iw_nearest_begin(&n, key);
            for (size_t k = 0; k < count; k++)
                iw_nearest_offer(&n, fields[k].name);
            snprintf(error, AGENT_ERROR, "field %.40s: not known here%s%s%s", key,
                     n.best ? " (did you mean " : "", n.best ? n.best : "", n.best ? "?)" : "");
            return false;
        }
        if (!take(value, &fields[i], error))
            return false;
    }
    for (size_t i = 0; i < count; i++)
        if (fields[i].required && json_object_get(object, fields[i].name) == NULL) {
            snprintf(error, AGENT_ERROR, "field %s: missing", fields[i].name);
            return false;
        }
    return true;
}

json_t *agent_hex(const uint8_t *data, size_t length)
{
    char *text = malloc(2 * length + 1);
    if (text == NULL)
        return NULL;
    for (size_t i = 0; i < length; i++) {
        text[2 * i] = "0123456789abcdef"[data[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[data[i] & 15];
    }
    json_t *hex = json_stringn(text, 2 * length);
    free(text);
    return hex;
}

json_t *agent_u64(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    return json_string(text);
}
