/* SPDX-License-Identifier: BSD-3-Clause */
#include "journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"

struct iw_journal {
    char *path;
    FILE *file;
    json_t *head;        /* of a run that goes on, else NULL */
    json_t *results;     /* likewise */
    const char **select; /* likewise; of the head */
    bool surveyed;       /* likewise */
    bool failed;
};

static bool add_line(struct iw_journal *j, json_t *object)
{
    bool good = !json_dumpf(object, j->file, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putc('\n', j->file);
    good = !fflush(j->file) && !ferror(j->file) && good;
    json_decref(object);
    if (!good && !j->failed) {
        iw_complain("cannot write %s: %s", j->path, strerror(errno));
        j->failed = true;
    }
    return good;
}

struct iw_journal *iw_journal_create(const char *dir, const struct iw_journal_head *head,
                                     const struct iw_record *record)
{
    struct iw_journal *j = iw_got(calloc(1, sizeof(*j)));
    json_t *select = iw_got(json_array());
    for (size_t i = 0; i < head->n_select; i++)
        json_array_append_new(select, iw_json_text(head->select[i]));
    json_t *line = iw_got(json_pack(
        "{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:f, s:i, s:b, s:b, s:o, s:s*, s:o*, s:s*}", "schema",
        (int)IW_REPORT_SCHEMA, "suite", record->suite, "target", iw_json_text(head->target),
        "cases", iw_json_text(head->cases), "agent", iw_json_text(head->agent), "pcap-dir",
        iw_json_text(head->pcap_dir), "select", select, "time-scale", head->time_scale, "repeat",
        (int)head->repeat, "no-quirks", (int)head->no_quirks, "keep-all", (int)head->keep_all,
        "operator", iw_json_text(head->run_by), "shard", head->shard, "chosen",
        head->shard != NULL ? json_integer((json_int_t)head->chosen) : NULL, "order", head->order));
    j->path = iw_text_format("%s/journal.jsonl", dir);
    j->file = iw_open_output(j->path);
    if (j->file == NULL)
        json_decref(line);
    else if (add_line(j, line))
        return j;
    iw_journal_close(j);
    return NULL;
}

static const char *member(const struct iw_journal *j, const char *name)
{
    return json_string_value(json_object_get(j->head, name));
}

static void take_head(struct iw_journal *j, struct iw_journal_head *head)
{
    json_t *list = json_object_get(j->head, "select"), *pattern;
    size_t i;
    j->select = iw_got(calloc(json_array_size(list), sizeof(*j->select)));
    *head = (struct iw_journal_head){
        .target = member(j, "target"),
        .cases = member(j, "cases"),
        .agent = member(j, "agent"),
        .pcap_dir = member(j, "pcap-dir"),
        .run_by = member(j, "operator"),
        .select = j->select,
        .time_scale = json_number_value(json_object_get(j->head, "time-scale")),
        .repeat = (unsigned)json_integer_value(json_object_get(j->head, "repeat")),
        .no_quirks = json_is_true(json_object_get(j->head, "no-quirks")),
        .shard = member(j, "shard"),
        .chosen = (size_t)json_integer_value(json_object_get(j->head, "chosen")),
        .order = member(j, "order"),
        .keep_all = json_is_true(json_object_get(j->head, "keep-all")),
    };
    json_array_foreach(list, i, pattern) if (json_is_string(pattern)) j->select[head->n_select++] =
        json_string_value(pattern);
}

/* Cuts off what follows the last whole line, and writes on there. */
static bool cut(FILE *file, off_t whole)
{
    return !ftruncate(fileno(file), whole) && !fseeko(file, whole, SEEK_SET);
}

/* Reads what is there; `on`: to write on after the last line that is whole. */
static bool read_lines(struct iw_journal *j, bool on)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t got;
    off_t whole = 0;
    j->results = iw_got(json_array());
    while ((got = getline(&line, &size, j->file)) > 0 && line[got - 1] == '\n') {
        json_t *object = json_loadb(line, (size_t)got, 0, NULL);

        if (!json_is_object(object)) { /* what was cut off has no end */
            json_decref(object);
            free(line);
            return false;
        }
        if (j->head == NULL)
            j->head = object;
        else if (json_object_get(object, "begun") != NULL)
            json_decref(object);
        else if (json_object_get(object, "surveyed") != NULL) {
            j->surveyed = true;
            json_decref(object);
        } else
            json_array_append_new(j->results, object);
        whole += got;
    }
    free(line);
    return j->head != NULL &&
           json_integer_value(json_object_get(j->head, "schema")) == IW_REPORT_SCHEMA &&
           (!on || cut(j->file, whole));
}

static struct iw_journal *open_journal(const char *dir, bool on, struct iw_journal_head *head,
                                       int *status)
{
    struct iw_journal *j = iw_got(calloc(1, sizeof(*j)));
    j->path = iw_text_format("%s/journal.jsonl", dir);
    j->file = fopen(j->path, on ? "r+e" : "re");
    *status = IW_EXIT_USAGE;
    if (j->file == NULL)
        iw_complain("cannot read %s: %s", j->path, strerror(errno));
    else if (!read_lines(j, on))
        iw_complain("%s: expected the journal of a run", j->path);
    else {
        take_head(j, head);
        return j;
    }
    iw_journal_close(j);
    return NULL;
}

struct iw_journal *iw_journal_resume(const char *dir, struct iw_journal_head *head, int *status)
{
    return open_journal(dir, true, head, status);
}

struct iw_journal *iw_journal_read(const char *dir, struct iw_journal_head *head, int *status)
{
    return open_journal(dir, false, head, status);
}

static bool is_round(const json_t *round, unsigned repeat)
{
    return round == NULL || (json_is_integer(round) && json_integer_value(round) >= 0 &&
                             json_integer_value(round) < (json_int_t)repeat);
}

/* A line {"charge":ID,"result":{...}}. Returns whether it is good. */
static bool replay_charge(const json_t *object, const struct iw_record *record,
                          const struct iw_journal_reader *reader)
{
    const char *id = json_string_value(json_object_get(object, "charge"));
    struct iw_entry *entry = id != NULL ? iw_record_entry(record, id) : NULL;
    struct iw_result result;
    if (entry == NULL || entry->handed == 0 ||
        !iw_result_from_json(json_object_get(object, "result"), &result))
        return false;
    if (reader->charge != NULL)
        reader->charge(reader->context, entry, &result);
    else
        iw_result_free(&result);
    return true;
}

/* The line of a case that ended. Returns whether it is good. */
static bool replay_result(const json_t *object, const struct iw_record *record,
                          const struct iw_journal_reader *reader)
{
    const char *id = json_string_value(json_object_get(object, "id"));
    const json_t *round = json_object_get(object, "round"); /* missing: as they came */
    struct iw_entry *entry = id != NULL ? iw_record_entry(record, id) : NULL;
    struct iw_result result;
    if (entry == NULL || entry->handed >= record->repeat || !is_round(round, record->repeat) ||
        !iw_result_from_json(object, &result))
        return false;
    result.id = iw_text_copy(id);
    result.role = entry->c->role;
    reader->take(reader->context, entry,
                 round != NULL ? (unsigned)json_integer_value(round) : entry->handed, &result);
    return true;
}

int iw_journal_replay(struct iw_journal *j, struct iw_record *record,
                      const struct iw_journal_reader *reader)
{
    const char *suite = member(j, "suite");
    json_t *object;
    size_t i;
    if (suite == NULL || strcmp(suite, record->suite) != 0) {
        iw_complain("%s: the cases have changed since that run; begin a new one", j->path);
        return IW_EXIT_USAGE;
    }
    json_array_foreach(j->results, i, object)
    {
        bool good = json_object_get(object, "charge") != NULL
                        ? replay_charge(object, record, reader)
                        : replay_result(object, record, reader);
        if (!good) {
            iw_complain("%s:%zu: expected the result of a case", j->path, i + 2);
            return IW_EXIT_USAGE;
        }
    }
    return 0;
}

bool iw_journal_begin(struct iw_journal *j, const struct iw_case *c)
{
    return add_line(j, iw_got(json_pack("{s:s, s:f}", "begun", c->id, "deadline", c->deadline)));
}

bool iw_journal_survey(struct iw_journal *j)
{
    return add_line(j, iw_got(json_pack("{s:b}", "surveyed", 1)));
}

bool iw_journal_surveyed(const struct iw_journal *j)
{
    return j->surveyed;
}

bool iw_journal_add(struct iw_journal *j, const struct iw_result *result, unsigned round)
{
    json_t *object = iw_result_to_json(result);
    json_object_set_new(object, "id", iw_json_text(result->id));
    json_object_set_new(object, "round", iw_got(json_integer(round)));
    return add_line(j, object);
}

bool iw_journal_charge(struct iw_journal *j, const char *id, const struct iw_result *charge)
{
    return add_line(j, iw_got(json_pack("{s:o, s:o}", "charge", iw_json_text(id), "result",
                                        iw_result_to_json(charge))));
}

void iw_journal_close(struct iw_journal *j)
{
    if (j == NULL)
        return;
    if (j->file != NULL)
        fclose(j->file);
    json_decref(j->head);
    json_decref(j->results);
    free(j->select);
    free(j->path);
    free(j);
}

char *iw_journal_begun(const char *path, double *seconds)
{
    FILE *f = fopen(path, "re");
    char *line = NULL, *id = NULL;
    size_t size = 0;
    ssize_t got;
    while (f != NULL && (got = getline(&line, &size, f)) > 0 && line[got - 1] == '\n') {
        json_t *object = json_loadb(line, (size_t)got, 0, NULL);

        if (json_object_get(object, "charge") == NULL) { /* that of an earlier case */
            free(id);
            id = iw_text_copy(json_string_value(json_object_get(object, "begun")));
            *seconds = json_number_value(json_object_get(object, "deadline"));
        }
        json_decref(object);
    }
    free(line);
    if (f != NULL)
        fclose(f);
    return id;
}

bool iw_journal_append(const char *path, const char *id, const char *reason)
{
    struct iw_journal j = {.path = iw_text_copy(path), .file = fopen(path, "r+e")};
    bool good = false;
    if (j.file == NULL)
        iw_complain("cannot write %s: %s", path, strerror(errno));
    else if (!read_lines(&j, true))
        iw_complain("%s: expected the journal of a run", path);
    else
        good =
            add_line(&j, iw_got(json_pack("{s:s, s:f, s:s, s:b, s:s}", "verdict", "FAIL", "seconds",
                                          0.0, "reason", reason, "heard", 1, "id", id)));
    if (j.file != NULL && fclose(j.file))
        good = false;
    json_decref(j.head);
    json_decref(j.results);
    free(j.path);
    return good;
}
