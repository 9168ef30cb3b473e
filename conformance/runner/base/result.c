/* SPDX-License-Identifier: BSD-3-Clause */
#include "result.h"

#include <stdlib.h>
#include <string.h>

#include "host/text.h"

void iw_deviation_free(struct iw_deviation *d)
{
    free(d->how);
    free(d->fault);
    free(d->came);
    free(d->text);
    free(d->expected);
    free(d->actual);
}

struct iw_deviation iw_deviation_copy(const struct iw_deviation *d)
{
    struct iw_deviation copy = *d;
    copy.how = iw_text_copy(d->how);
    copy.fault = iw_text_copy(d->fault);
    copy.came = iw_text_copy(d->came);
    copy.text = iw_text_copy(d->text);
    copy.expected = iw_text_copy(d->expected);
    copy.actual = iw_text_copy(d->actual);
    return copy;
}

void iw_result_drop_breaches(struct iw_result *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->n_deviations; i++) {
        if (r->deviations[i].rule == NULL)
            r->deviations[kept++] = r->deviations[i];
        else
            iw_deviation_free(&r->deviations[i]);
    }
    r->n_deviations = kept;
}

void iw_result_add_deviation(struct iw_result *r, const struct iw_deviation *deviation)
{
    r->deviations = iw_got(realloc(r->deviations, (r->n_deviations + 1) * sizeof(*r->deviations)));
    r->deviations[r->n_deviations++] = *deviation;
}

void iw_result_free(struct iw_result *r)
{
    for (size_t i = 0; i < r->n_deviations; i++)
        iw_deviation_free(&r->deviations[i]);
    free(r->deviations);
    free(r->id);
    free(r->reason);
    free(r->expected);
    free(r->actual);
    free(r->pcap);
    free(r->log);
    free(r->where);
    free(r->observed);
    free(r->notes);
    free(r->blocked);
    json_decref(r->exchange);
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

static json_t *deviation_json(const struct iw_deviation *d)
{
    json_t *object = iw_got(json_pack(
        "{s:s, s:o, s:o, s:b, s:i, s:b, s:I, s:I}", "verdict", iw_verdict_name(d->verdict), "rule",
        iw_json_text(d->rule != NULL ? d->rule->id : NULL), "how", iw_json_text(d->how), "wire",
        (int)d->wire, "connection", d->connection, "from_target", (int)d->from_target, "position",
        (json_int_t)d->position, "frame", (json_int_t)d->frame));
    add(object, "fault", d->fault);
    add(object, "came", d->came);
    add(object, "text", d->text);
    add(object, "expected", d->expected);
    add(object, "actual", d->actual);
    return object;
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
    add(object, "blocked", r->blocked);
    if (r->blocked_by > 0)
        json_object_set_new(object, "blocked_by", json_integer((json_int_t)r->blocked_by));
    add(object, "where", r->where);
    add(object, "pcap", r->pcap);
    add(object, "log", r->log);
    if (r->frames)
        json_object_set_new(object, "frames", json_integer((json_int_t)r->frames));
    if (r->exchange != NULL)
        json_object_set(object, "exchange", r->exchange);
    if (r->n_deviations) {
        json_t *list = iw_got(json_array());
        for (size_t i = 0; i < r->n_deviations; i++)
            json_array_append_new(list, deviation_json(&r->deviations[i]));
        json_object_set_new(object, "deviations", list);
    }
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

/* What is no deviation is left out. */
static void take_deviations(const json_t *list, struct iw_result *out)
{
    if (json_array_size(list) == 0)
        return;
    out->deviations = iw_got(calloc(json_array_size(list), sizeof(*out->deviations)));
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one)
    {
        const json_t *named = json_object_get(one, "rule");
        const char *rule = json_string_value(named);
        struct iw_deviation d = {
            .rule = rule != NULL ? iw_rule_find(rule) : NULL,
            .wire = json_is_true(json_object_get(one, "wire")),
            .connection = (int)json_integer_value(json_object_get(one, "connection")),
            .from_target = json_is_true(json_object_get(one, "from_target")),
            .position = (uint64_t)json_integer_value(json_object_get(one, "position")),
            .frame = (uint64_t)json_integer_value(json_object_get(one, "frame")),
        };
        const char *how = json_string_value(json_object_get(one, "how"));
        const char *verdict = json_string_value(json_object_get(one, "verdict"));
        if ((d.rule == NULL && !json_is_null(named)) || how == NULL ||
            !iw_verdict_find(verdict, &d.verdict))
            continue;
        d.how = iw_text_copy(how);
        d.fault = text_of(one, "fault");
        d.came = text_of(one, "came");
        d.text = text_of(one, "text");
        d.expected = text_of(one, "expected");
        d.actual = text_of(one, "actual");
        out->deviations[out->n_deviations++] = d;
    }
}

bool iw_result_from_json(const json_t *object, struct iw_result *out)
{
    enum iw_verdict verdict;
    const char *rule = json_string_value(json_object_get(object, "rule"));
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
        .blocked = text_of(object, "blocked"),
        .where = text_of(object, "where"),
        .pcap = text_of(object, "pcap"),
        .log = text_of(object, "log"),
        .exchange = json_incref(json_object_get(object, "exchange")),
        .frames = (uint64_t)json_integer_value(json_object_get(object, "frames")),
    };
    take_deviations(json_object_get(object, "deviations"), out);
    return true;
}
