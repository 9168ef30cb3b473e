/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "host/text_tools.h"
#include "target/target_can.h"

/* Of a second part, what the peer does in the other role, only remarks are kept. */
void iw_probed_take(struct iw_probed *f, const char *notes)
{
    bool second = f->lists[IW_FOUND_LINES] != NULL;
    static const char *const names[IW_FOUND_LISTS] = {"file: ", "can: ", "cannot: "};
    char *copy = iw_text_copy(notes), *rest = copy, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        for (size_t i = 0; i < IW_FOUND_LISTS; i++) {
            size_t n = strlen(names[i]);
            if (strncmp(line, names[i], n) == 0 &&
                (!second || (i == IW_FOUND_LINES && line[n] == '-')))
                iw_texts_add(&f->lists[i], iw_text_copy(line + n));
        }
    }
    free(copy);
}

static void put_quoted(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if (iscntrl((unsigned char)*text))
            fprintf(out, "\\%03u", (unsigned)(unsigned char)*text);
        else
            putc(*text, out);
    }
    putc('"', out);
}

static void put_text(FILE *out, const char *name, const char *text)
{
    if (text == NULL)
        return;
    fprintf(out, "  %s = ", name);
    put_quoted(out, text);
    fputs(",\n", out);
}

static void put_word(FILE *out, const char *list, const char *word, bool *begun)
{
    fprintf(out, *begun ? ", " : "  %s = { ", list);
    put_quoted(out, word);
    *begun = true;
}

/* A list: what the user said first, then what was found and not said. */
static void put_list(FILE *out, const char *name, const struct iw_target_spec *spec, bool can,
                     char *const *found)
{
    bool begun = false;
    for (char **one = spec->can; one != NULL && *one != NULL; one++)
        if ((**one != '!') == can)
            put_word(out, name, *one + !can, &begun);
    for (; found != NULL && *found != NULL; found++)
        if (!iw_target_said(spec, *found))
            put_word(out, name, *found, &begun);
    if (begun)
        fputs(" },\n", out);
}

/* What the user has said stands, and what was seen is a remark beside it. */
static bool stands(const struct iw_target_spec *spec, const char *line)
{
    static const char *const fields[] = {"crc", "markers", "revision"};

    if (strncmp(line, "class = ", 8) == 0)
        return spec->class == IW_TARGET_RPING;
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        if (strncmp(line, fields[i], strlen(fields[i])) == 0 && line[strlen(fields[i])] == ' ')
            return iw_target_said(spec, fields[i]);
    return false;
}

void iw_probed_write(FILE *out, const struct iw_target_spec *spec, const struct iw_probed *f,
                     time_t now)
{
    char date[32];
    iw_text_time(date, sizeof(date), "%Y-%m-%d %H:%M UTC", now);
    fprintf(out,
            "-- What iwarp-conform probe found out about this peer (%s). Above each value: what "
            "was seen.\n\nreturn {\n",
            date);
    put_text(out, "address", spec->host);
    if (spec->port)
        fprintf(out, "  port = %u,\n", spec->port);
    put_text(out, "start", spec->start);
    put_text(out, "ready", spec->ready);
    if (f->ends)
        fputs("  -- its program ended after a connection, twice, and was started again\n", out);
    put_text(out, "ends", spec->ends_connection ? "connection" : NULL);
    if (spec->longest_timer > 0)
        fprintf(out, "  longest_timer = %g,\n", spec->longest_timer);
    put_text(out, "connect", spec->connect);
    put_text(out, "ask", spec->ask);
    if (spec->connect_within > 0)
        fprintf(out, "  connect_within = %g,\n", spec->connect_within);
    put_text(out, "station", spec->station_host);
    if (spec->class == IW_TARGET_RPING)
        put_text(out, "class", iw_target_class_name(spec->class));
    for (char **line = f->lists[IW_FOUND_LINES]; line != NULL && *line != NULL; line++)
        fprintf(out, "  %s%s\n", stands(spec, *line) ? "-- seen: " : "", *line);
    put_list(out, "can", spec, true, f->lists[IW_FOUND_CAN]);
    put_list(out, "cannot", spec, false, f->lists[IW_FOUND_CANNOT]);
    fputs("}\n", out);
}

void iw_probed_free(struct iw_probed *f)
{
    for (size_t i = 0; i < IW_FOUND_LISTS; i++)
        iw_texts_free(f->lists[i]);
}
