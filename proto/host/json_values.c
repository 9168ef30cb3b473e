/* SPDX-License-Identifier: BSD-3-Clause */
#include "json_values.h"

#include <inttypes.h>
#include <stdlib.h>

#include "host/text.h"

json_t *iw_json_hex(const uint8_t *octets, size_t length)
{
    char *text = malloc(2 * length + 1);
    if (text == NULL)
        return NULL;
    iw_text_hex(text, octets, length);
    json_t *hex = json_stringn(text, 2 * length);
    free(text);
    return hex;
}

json_t *iw_json_wide(uint64_t value)
{
    return json_sprintf("0x%" PRIx64, value);
}

const char *iw_json_get_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

bool iw_json_line(json_t *value, FILE *to)
{
    const bool good = value != NULL &&
                      json_dumpf(value, to, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0 &&
                      putc('\n', to) != EOF;
    json_decref(value);
    return good;
}
