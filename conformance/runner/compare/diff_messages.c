/* SPDX-License-Identifier: BSD-3-Clause */
#include "diff_messages.h"

#include <stdlib.h>
#include <string.h>

#include "align.h"
#include "host/json_values.h"
#include "host/text.h"
#include "run_file.h"

enum { SHOWN = 8 }; /* octets of a field */

/* One entry of "fields": "OFFSET+LENGTH NAME". */
struct field {
    size_t at, length;
    const char *name;
    size_t name_length;
};

/* Takes the next field from *rest. Returns false at the end, or if there is none. */
static bool next_field(const char **rest, struct field *f)
{
    char *end;
    f->at = strtoul(*rest, &end, 10);
    if (*end != '+')
        return false;
    f->length = strtoul(end + 1, &end, 10);
    if (*end != ' ')
        return false;
    f->name = end + 1;
    f->name_length = strcspn(f->name, "|");
    *rest = f->name + f->name_length;
    *rest += **rest == '|';
    return true;
}

/* Finds the field of this name, the `nth` of them: Markers part fields. */
static bool find_field(const json_t *message, const struct field *wanted, size_t nth,
                       struct field *f)
{
    const char *rest = iw_json_get_text(message, "fields");
    while (next_field(&rest, f))
        if (f->name_length == wanted->name_length &&
            strncmp(f->name, wanted->name, f->name_length) == 0 && nth-- == 0)
            return true;
    return false;
}

static bool named(const struct field *f, const char *name)
{
    return f->name_length == strlen(name) && strncmp(f->name, name, f->name_length) == 0;
}

/* Numbers that people count in. */
static bool counts(const struct field *f)
{
    static const char *const names[] = {"ULPDU_Length", "PD_Length", "Rev",  "QN",
                                        "MSN",          "MO",        "Size", "Segment length"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (named(f, names[i]))
            return true;
    return false;
}

/* Returns the hexadecimal digits of a field, and their number: fewer if the octets end before. */
static const char *digits(const json_t *message, const struct field *f, size_t *length)
{
    const char *octets = iw_json_get_text(message, "octets");
    size_t all = strlen(octets) / 2, at = f->at < all ? f->at : all;
    *length = 2 * (f->length < all - at ? f->length : all - at);
    return octets + 2 * at;
}

/* Returns the value of a field as it is shown; "-" if the message has none. The caller frees it. */
static char *value(const json_t *message, const struct field *f)
{
    size_t length = 0;
    const char *text = f != NULL ? digits(message, f, &length) : "";
    if (length == 0)
        return iw_text_copy("-");
    if (counts(f) && length <= 2 * SHOWN) {
        char number[2 * SHOWN + 1];
        snprintf(number, sizeof(number), "%.*s", (int)length, text);
        return iw_text_format("%llu", strtoull(number, NULL, 16));
    }
    return length <= 2 * SHOWN
               ? iw_text_format("0x%.*s", (int)length, text)
               : iw_text_format("0x%.*s... (%zu octets)", 2 * SHOWN, text, length / 2);
}

static bool same_value(const json_t *a, const struct field *f, const json_t *b,
                       const struct field *g)
{
    size_t n, m;
    const char *ours = digits(a, f, &n), *theirs = digits(b, g, &m);
    return n == m && strncmp(ours, theirs, n) == 0;
}

/* Prints the fields of `a` that `b` has with another value, or (`missing`) has not. `sides`: which
 * of them is A. The CRC differs because others do: it is left out unless it does so alone. Returns
 * their number. */
static size_t fields(FILE *out, const json_t *a, const json_t *b, bool missing, bool swapped,
                     bool crc)
{
    const char *all = iw_json_get_text(a, "fields"), *rest = all;
    struct field f, g, before;
    size_t n = 0;
    while (next_field(&rest, &f)) {
        size_t nth = 0;
        for (const char *earlier = all; next_field(&earlier, &before) && before.name < f.name;)
            nth += before.name_length == f.name_length &&
                   strncmp(before.name, f.name, f.name_length) == 0;
        bool there = find_field(b, &f, nth, &g);
        if (there == missing || (there && same_value(a, &f, b, &g)) || named(&f, "CRC") != crc)
            continue;
        n++;
        if (out == NULL)
            continue;
        char *ours = value(a, &f), *theirs = value(b, there ? &g : NULL);
        fprintf(out, "        %-26.*s %s | %s\n", (int)f.name_length, f.name,
                swapped ? theirs : ours, swapped ? ours : theirs);
        free(ours);
        free(theirs);
    }
    return n;
}

static size_t all_fields(FILE *out, const json_t *a, const json_t *b, bool crc)
{
    size_t n = fields(out, a, b, false, false, crc);
    n += fields(out, a, b, true, false, crc);
    return n + fields(out, b, a, true, true, crc);
}

static void head(FILE *out, const char *mark, const json_t *message)
{
    fprintf(out, "    %s %lld %-7s %s\n", mark,
            (long long)json_integer_value(json_object_get(message, "conn")),
            iw_json_get_text(message, "from"), iw_json_get_text(message, "text"));
}

/* The octets where there is no decoded field. */
static void octets(FILE *out, const json_t *a, const json_t *b)
{
    const char *ours = iw_json_get_text(a, "octets"), *theirs = iw_json_get_text(b, "octets");
    const struct field f = {.length = strlen(ours) / 2}, g = {.length = strlen(theirs) / 2};
    char *first = value(a, &f), *second = value(b, &g);
    fprintf(out, "        %-26s %s | %s\n", "octets", first, second);
    free(first);
    free(second);
}

/* Whether a difference between these says something of the target: what it has said, or what the
 * case remarks on. */
static bool telling(const json_t *message)
{
    return strcmp(iw_json_get_text(message, "from"), "target") == 0 ||
           json_array_size(json_object_get(message, "remarks")) > 0;
}

static void pair(FILE *out, const struct iw_message_pair *p)
{
    if (p->b == NULL) {
        head(out, "A only ", p->a);
    } else if (p->a == NULL) {
        head(out, "B only ", p->b);
    } else if ((telling(p->a) || telling(p->b)) &&
               (strcmp(iw_json_get_text(p->a, "octets"), iw_json_get_text(p->b, "octets")) != 0 ||
                strcmp(iw_json_get_text(p->a, "text"), iw_json_get_text(p->b, "text")) != 0)) {
        head(out, "A      ", p->a);
        head(out, "B      ", p->b);
        if (all_fields(out, p->a, p->b, false) == 0 && all_fields(out, p->a, p->b, true) == 0 &&
            strcmp(iw_json_get_text(p->a, "octets"), iw_json_get_text(p->b, "octets")) != 0)
            octets(out, p->a, p->b);
    }
}

void iw_diff_messages(FILE *out, const json_t *a, const json_t *b)
{
    size_t count;
    struct iw_message_pair *pairs =
        iw_align(json_object_get(a, "exchange"), json_object_get(b, "exchange"), &count);
    for (size_t i = 0; i < count; i++)
        pair(out, &pairs[i]);
    free(pairs);
}
