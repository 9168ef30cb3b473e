/* SPDX-License-Identifier: BSD-3-Clause */
#include "result.h"

#include <stdlib.h>
#include <string.h>

#include "host/text.h"

void iw_result_free(struct iw_result *r)
{
    free(r->id);
    free(r->reason);
    free(r->expected);
    free(r->actual);
    free(r->pcap);
    free(r->where);
    free(r->observed);
    free(r->notes);
    free(r->exchange);
    *r = (struct iw_result){0};
}

json_t *iw_json_text(const char *text)
{
    char *clean = iw_text_clean(text);
    json_t *string = clean != NULL ? iw_got(json_string(clean)) : json_null();
    free(clean);
    return string;
}
static json_t *lines(const char *text)
{
    json_t *list = iw_got(json_array());
    char *copy = iw_text_copy(text), *rest = copy, *line;
    while ((line = strsep(&rest, "\n")) != NULL)
        json_array_append_new(list, iw_json_text(line));
    free(copy);
    return list;
}
static void add(json_t *object, const char *name, const char *text)
{
    if (text != NULL)
        json_object_set_new(object, name, iw_json_text(text));
}

json_t *iw_result_to_json(const struct iw_result *r)
{
    json_t *object = iw_got(json_object());
    add(object, "verdict", iw_verdict_name(r->verdict));
    add(object, "rule", r->rule != NULL ? r->rule->id : NULL);
    json_object_set_new(object, "seconds",
                        json_real((double)(long long)(r->seconds * 1e6 + 0.5) / 1e6));
    if (r->heard)
        json_object_set_new(object, "heard", json_true());
    add(object, "reason", r->reason);
    add(object, "expected", r->expected);
    add(object, "actual", r->actual);
    add(object, "observed", r->observed);
    if (r->notes != NULL)
        json_object_set_new(object, "notes", lines(r->notes));
    add(object, "where", r->where);
    add(object, "pcap", r->pcap);
    if (r->exchange != NULL)
        json_object_set_new(object, "exchange", iw_got(json_loads(r->exchange, 0, NULL)));
    return object;
}
static char *text_of(const json_t *object, const char *name)
{
    return iw_text_copy(json_string_value(json_object_get(object, name)));
}

static char *joined(const json_t *list)
{
    char *text = NULL;
    size_t i;
    json_t *line;
    json_array_foreach(list, i, line)
    {
        const char *value = json_string_value(line);
        char *more = iw_text_format("%s%s%s", i > 0 ? text : "", i > 0 ? "\n" : "",
                                    value != NULL ? value : "");
        free(text);
        text = more;
    }
    return text;
}
bool iw_result_from_json(const json_t *object, struct iw_result *out)
{
    enum iw_verdict verdict;
    const char *rule = json_string_value(json_object_get(object, "rule"));
    const json_t *exchange = json_object_get(object, "exchange");
    if (!iw_verdict_find(json_string_value(json_object_get(object, "verdict")), &verdict))
        return false;
    *out = (struct iw_result){
        .verdict = verdict,
        .rule = rule != NULL ? iw_rule_find(rule) : NULL,
        .seconds = json_number_value(json_object_get(object, "seconds")),
        .heard = json_is_true(json_object_get(object, "heard")),
        .reason = text_of(object, "reason"),
        .expected = text_of(object, "expected"),
        .actual = text_of(object, "actual"),
        .observed = text_of(object, "observed"),
        .notes = joined(json_object_get(object, "notes")),
        .where = text_of(object, "where"),
        .pcap = text_of(object, "pcap"),
        .exchange = exchange != NULL ? iw_got(json_dumps(exchange, JSON_COMPACT)) : NULL,
    };
    return true;
}
