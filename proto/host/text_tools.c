/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/text_tools.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"

void iw_text_join(char **text, const char *between, const char *more)
{
    char *longer =
        *text == NULL ? iw_text_copy(more) : iw_text_format("%s%s%s", *text, between, more);
    free(*text);
    *text = longer;
}
void iw_text_join_word(char **text, const char *word)
{
    char *quoted = iw_text_shell(word);
    iw_text_join(text, " ", quoted);
    free(quoted);
}

void iw_text_put(FILE *out, const char *text, const char *const *pairs)
{
    char *clean = iw_text_clean(text);
    for (const char *s = clean; s != NULL && *s != 0; s++) {
        const char *const *pair = pairs;
        while (*pair != NULL && **pair != *s)
            pair += 2;
        if (*pair != NULL)
            fputs(pair[1], out);
        else
            putc(*s, out);
    }
    free(clean);
}
void iw_text_put_hex(FILE *out, const uint8_t *octets, size_t length)
{
    for (size_t i = 0; i < length; i++)
        fprintf(out, "%02x", octets[i]);
}
void iw_text_time(char *text, size_t room, const char *format, time_t when)
{
    struct tm utc;
    if (gmtime_r(&when, &utc) == NULL || strftime(text, room, format, &utc) == 0)
        *text = 0;
}

void iw_texts_add(char ***list, char *text)
{
    size_t n = 0;
    while (*list != NULL && (*list)[n] != NULL)
        n++;
    *list = iw_got(realloc(*list, (n + 2) * sizeof(char *)));
    (*list)[n] = text;
    (*list)[n + 1] = NULL;
}
void iw_texts_free(char **list)
{
    for (char **one = list; one != NULL && *one != NULL; one++)
        free(*one);
    free(list);
}

char *iw_text_read_file(const char *path)
{
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return NULL;
    char *text = NULL;
    size_t room = 0;
    if (getdelim(&text, &room, 0, f) < 0) {
        free(text);
        text = ferror(f) ? NULL : iw_text_copy("");
    }
    fclose(f);
    return text;
}

int iw_text_read_lines(const char *path, iw_take_line_fn *take, void *context, char *error,
                       size_t room)
{
    FILE *f = fopen(path, "re");
    const char *wrong = NULL;
    char *line = NULL;
    size_t size = 0;
    int number = 0;
    while (f != NULL && wrong == NULL && getline(&line, &size, f) >= 0) {
        line[strcspn(line, "\n")] = 0;
        wrong = take(context, line, ++number);
    }
    bool readable = f != NULL && !ferror(f);
    if (wrong != NULL)
        snprintf(error, room, "%s:%d: %s", path, number, wrong);
    else if (!readable)
        snprintf(error, room, "cannot read %s: %s", path, strerror(errno));
    free(line);
    if (f != NULL)
        fclose(f);
    return wrong == NULL && readable ? 0 : -1;
}
