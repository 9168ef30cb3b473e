/* SPDX-License-Identifier: BSD-3-Clause */
/* The report as a page: the data that it shows. */
#include <stdlib.h>

#include "host/text.h"
#include "host/text_tools.h"
#include "page.h"
#include "report_html.h"
#include "report_json.h"
#include "suite/proof.h"

static json_t *rules(const struct iw_record *record)
{
    json_t *all = iw_got(json_object());
    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        const struct iw_rule *r = iw_rule_at(i);
        const char *reason = NULL, *standing = NULL;

        if (record->whole != NULL && record->proof != NULL)
            standing =
                iw_standing_name(iw_proof_standing(record->proof, record->whole, r, &reason));
        json_object_set_new(
            all, r->id,
            iw_got(json_pack("{s:i, s:s, s:s, s:b, s:s, s:s, s:s, s:s, s:s?, s:s?}", "rfc",
                             (int)r->rfc, "section", r->section, "level", iw_level_name(r->level),
                             "implied", (int)r->implied, "testable", iw_testable_name(r->testable),
                             "text", r->text, "how", r->how, "expected", r->expected, "standing",
                             standing, "reason", reason)));
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
        if (c == NULL)
            continue;
        json_object_set_new(all, c->id,
                            iw_got(json_pack("{s:o, s:o}", "purpose", iw_json_text(c->purpose),
                                             "needs", needs(c))));
        char *script = json_object_get(files, c->file) != NULL ? NULL : iw_text_read_file(c->file);
        if (script != NULL)
            json_object_set_new(files, c->file, iw_json_text(script));
        free(script);
    }
    return all;
}

/* What the fields of a message are called takes more room than its octets, and most messages are
 * laid out like others: a browser reads each layout once. */
static json_t *layouts(json_t *report)
{
    json_t *list = iw_got(json_array()), *known = iw_got(json_object());
    json_t *c, *line;
    size_t i, k;
    json_array_foreach(json_object_get(report, "cases"), i, c)
    {
        json_t *exchange = json_copy(json_object_get(c, "exchange"));
        json_array_foreach(exchange, k, line)
        {
            json_t *fields = json_object_get(line, "fields");
            const char *text = json_string_value(fields);
            if (text == NULL)
                continue;
            if (json_object_get(known, text) == NULL) {
                json_object_set_new(known, text, json_integer((json_int_t)json_array_size(list)));
                json_array_append(list, fields);
            }
            line = iw_got(json_copy(line)); /* the record's stays as it is */
            json_object_set(line, "layout", json_object_get(known, text));
            json_object_del(line, "fields");
            json_array_set_new(exchange, k, line);
        }
        if (exchange != NULL)
            json_object_set_new(c, "exchange", exchange);
    }
    json_decref(known);
    return list;
}

static json_t *page_data(const struct iw_record *record)
{
    json_t *files = iw_got(json_object()), *report = iw_record_to_json(record);
    json_t *known = cases(record, files), *fields = layouts(report);
    return iw_got(json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "report", report, "layouts",
                            fields, "rules", rules(record), "cases", known, "files", files, "again",
                            record->again != NULL ? record->again : "", "page",
                            iw_json_text(record->html)));
}

bool iw_html_write(FILE *out, const struct iw_record *record, const char *folder, char *error,
                   size_t room)
{
    json_t *data = page_data(record);
    bool good = iw_page_write(out, folder, "report.html", data, error, room);
    json_decref(data);
    return good;
}
