/* SPDX-License-Identifier: BSD-3-Clause */
/* The report as a page: a frame that shows data, and the data. What peers sent is only ever data:
 * the frame puts it into text nodes, and no octet of it can end the element that it stands in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "result_json.h"
#include "suite.h"
#include "text.h"

static const char place[] = "@DATA@";

enum { FILE_MOST = 1 << 20 };

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "re");
    char *text;
    size_t n;

    if (!f)
        return NULL;
    text = iw_got(malloc(FILE_MOST + 1));
    n = fread(text, 1, FILE_MOST, f);
    text[n] = 0;
    fclose(f);
    return text;
}

static json_t *rules(void)
{
    static const char *const testable[] = {
        [IW_TESTABLE_NO] = "no",
        [IW_TESTABLE_API] = "api",
        [IW_TESTABLE_WIRE_PASSIVE] = "wire-passive",
        [IW_TESTABLE_WIRE_ACTIVE] = "wire-active",
    };
    json_t *all = iw_got(json_object());

    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        const struct iw_rule *r = iw_rule_at(i);

        json_object_set_new(
            all, r->id,
            iw_got(json_pack("{s:i, s:s, s:s, s:b, s:s, s:s, s:s, s:s}", "rfc", (int)r->rfc,
                             "section", r->section, "level", iw_level_name(r->level), "implied",
                             (int)r->implied, "testable", testable[r->testable], "text", r->text,
                             "how", r->how, "expected", r->expected)));
    }
    return all;
}

static json_t *needs(const struct iw_case *c)
{
    json_t *list = iw_got(json_array());

    for (size_t i = 0; i < c->n_needs; i++) {
        char *need = iw_text_format("%s=%s", c->needs[i].name, c->needs[i].value);

        json_array_append_new(list, iw_json_text(need));
        free(need);
    }
    return list;
}

static json_t *cases(const struct iw_record *record, json_t *files)
{
    json_t *all = iw_got(json_object());

    for (size_t i = 0; i < record->count; i++) {
        const struct iw_case *c = record->entries[i].c;
        char *script;

        if (!c)
            continue;
        json_object_set_new(all, c->id,
                            iw_got(json_pack("{s:o, s:o}", "purpose", iw_json_text(c->purpose),
                                             "needs", needs(c))));
        if (json_object_get(files, c->file) || !(script = read_text(c->file)))
            continue;
        json_object_set_new(files, c->file, iw_json_text(script));
        free(script);
    }
    return all;
}

/* "</script>" and "<!--" end or bend the element that holds the data: no '<' gets there. */
static int put(const char *text, size_t length, void *out)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] == '<')
            fputs("\\u003c", out);
        else
            putc(text[i], out);
    return 0;
}

bool iw_html_write(FILE *out, const struct iw_record *record, const char *folder, char *error,
                   size_t room)
{
    char *path = iw_text_format("%s/report.html", folder);
    char *frame = read_text(path);
    char *at = frame ? strstr(frame, place) : NULL;
    json_t *files, *known, *all;

    if (!at) {
        snprintf(error, room, "%s: %s", path,
                 frame ? "has no place for the data" : strerror(errno));
        free(path);
        free(frame);
        return false;
    }
    files = iw_got(json_object());
    known = cases(record, files);
    all = iw_got(json_pack("{s:o, s:o, s:o, s:o, s:s, s:o}", "report", iw_record_to_json(record),
                           "rules", rules(), "cases", known, "files", files, "again",
                           record->again ? record->again : "", "page", iw_json_text(record->html)));
    fwrite(frame, 1, (size_t)(at - frame), out);
    json_dump_callback(all, put, out, JSON_COMPACT | JSON_REAL_PRECISION(9));
    fputs(at + sizeof(place) - 1, out);
    json_decref(all);
    free(path);
    free(frame);
    return true;
}
