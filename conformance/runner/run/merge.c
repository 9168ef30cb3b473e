/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/saved_run.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/json_values.h"
#include "host/number.h"
#include "host/text.h"

/* ---- reading ---- */

/* A member of the report, which may be one of a member. */
static const char *said(const struct iw_merged_run *run, const char *outer, const char *name)
{
    return iw_json_get_text(outer != NULL ? json_object_get(run->report, outer) : run->report,
                            name);
}

static const json_t *cases_of(const struct iw_merged_run *run)
{
    return json_object_get(run->report, "cases");
}

/* Returns whether this is one, not a file that could not be read, which is in all runs. */
static bool is_case(const json_t *one)
{
    return json_object_get(one, "line") != NULL;
}

static bool is_over(const struct iw_merged_run *run)
{
    const json_t *suite = json_object_get(run->report, "suite");
    return json_integer_value(json_object_get(run->report, "exit")) <= IW_EXIT_SIGNALLED &&
           json_integer_value(json_object_get(suite, "cases")) ==
               (json_int_t)json_array_size(cases_of(run));
}

static int read_run(struct iw_merged_run *run, char *dir)
{
    char error[1024];
    int status = 0;
    run->dir = dir;
    run->report = iw_saved_run_read(dir, error, sizeof(error));
    if (run->report == NULL)
        return iw_complain_exit(IW_EXIT_USAGE, "%s", error);
    if (!is_over(run))
        return iw_complain_exit(IW_EXIT_USAGE,
                                "%s: this run is not over; to go on: iwarp-conform run --resume %s",
                                dir, dir);
    run->journal = iw_journal_read(dir, &run->head, &status);
    return run->journal != NULL ? 0 : status;
}

/* ---- what has to be alike ---- */

/* Complains unless a member of the two reports is the same. */
static bool agree(const struct iw_merged_run *a, const struct iw_merged_run *b, const char *outer,
                  const char *name, const char *what)
{
    const char *left = said(a, outer, name), *right = said(b, outer, name);
    if (strcmp(left, right) == 0)
        return true;
    iw_complain("%s: its %s is %s, that of %s is %s", b->dir, what, right, a->dir, left);
    return false;
}

static bool belongs(const struct iw_merged_run *a, const struct iw_merged_run *b)
{
    if (!agree(a, b, "suite", "version", "suite") || !agree(a, b, "tool", "version", "version") ||
        !agree(a, b, "target", "name", "target") ||
        !agree(a, b, "target", "class", "class of target"))
        return false;
    if (a->head.repeat != b->head.repeat || a->head.no_quirks != b->head.no_quirks)
        iw_complain("%s: its --repeat or --no-quirks is not that of %s", b->dir, a->dir);
    else if (!iw_text_same(a->head.cases, b->head.cases))
        iw_complain("%s: its --cases is not that of %s", b->dir, a->dir);
    else
        return true;
    return false;
}

/* The shard of a run, "2/3" as 2 and 3. */
static bool shard_of(const struct iw_merged_run *run, uint64_t *shard, uint64_t *shards)
{
    char *first = iw_text_copy(run->head.shard), *slash = first != NULL ? strchr(first, '/') : NULL;
    if (slash != NULL)
        *slash++ = 0;
    bool good = slash != NULL && iw_number(slash, 1, UINT32_MAX, shards) &&
                iw_number(first, 1, *shards, shard);
    free(first);
    return good;
}

/* The run that is this shard; NULL: none is. */
static const struct iw_merged_run *shard_named(const struct iw_merge *m, const char *name)
{
    for (size_t i = 0; i < m->count; i++)
        if (iw_text_same(m->runs[i].head.shard, name))
            return &m->runs[i];
    return NULL;
}

/* Returns whether all shards are there that the run belongs to, as they were divided. */
static bool complete(const struct iw_merge *m, const struct iw_merged_run *run)
{
    uint64_t shard = 0, shards = 0;
    size_t cases = 0;
    if (run->head.shard == NULL)
        return true;
    if (!shard_of(run, &shard, &shards)) {
        iw_complain("%s: its shard is '%s'", run->dir, run->head.shard);
        return false;
    }
    for (uint64_t k = 1; k <= shards; k++) {
        char *name = iw_text_format("%llu/%llu", (unsigned long long)k, (unsigned long long)shards);
        const struct iw_merged_run *other = shard_named(m, name);
        if (other == NULL)
            iw_complain("shard %s is missing, but %s is shard %s", name, run->dir, run->head.shard);
        free(name);
        if (other == NULL)
            return false;
        cases += other->head.n_select;
    }
    if (cases != run->head.chosen)
        iw_complain("%s: its shard is of %zu cases, but the shards have %zu: they were not divided "
                    "alike",
                    run->dir, run->head.chosen, cases);
    return cases == run->head.chosen;
}

/* Complains of a case that two runs have. */
static bool apart(const struct iw_merge *m)
{
    json_t *owners = iw_got(json_object());
    bool good = true;
    for (size_t i = 0; i < m->count && good; i++) {
        const json_t *one;
        size_t k;
        json_array_foreach(cases_of(&m->runs[i]), k, one)
        {
            const char *id = iw_json_get_text(one, "id");
            const json_t *owner = json_object_get(owners, id);
            if (!is_case(one) || !good)
                continue;
            good = owner == NULL;
            if (!good)
                iw_complain("the case %s is in %s and in %s", id, json_string_value(owner),
                            m->runs[i].dir);
            json_object_set_new(owners, id, iw_json_text(m->runs[i].dir));
        }
    }
    json_decref(owners);
    return good;
}

/* Takes the target's version: a run that has not reached it does not know. Returns false, and says
 * so, if it is not that of the other runs. */
static bool take_version(struct iw_merge *m, const struct iw_merged_run *run)
{
    const char *version = said(run, "target", "version");
    if (*version && m->version != NULL && strcmp(version, m->version) != 0) {
        iw_complain("%s: its target's version is %s, that of others is %s", run->dir, version,
                    m->version);
        return false;
    }
    m->version = *version ? version : m->version;
    return true;
}

/* ---- what they say together ---- */

static bool knows(const struct iw_facts *facts, const char *name, const char *text)
{
    for (size_t i = 0; i < facts->count; i++)
        if (strcmp(facts->list[i].name, name) == 0 && strcmp(facts->list[i].text, text) == 0)
            return true;
    return false;
}

static void add_up(struct iw_merge *m, const struct iw_merged_run *run)
{
    struct tm utc = {0};
    const json_t *fact;
    size_t i;
    m->seconds += json_number_value(json_object_get(run->report, "seconds"));
    m->failed |= json_integer_value(json_object_get(run->report, "exit")) == IW_EXIT_TESTER;
    if (strptime(said(run, NULL, "started"), "%Y-%m-%dT%H:%M:%SZ", &utc) != NULL) {
        time_t started = timegm(&utc);
        if (run == m->runs || started < m->started)
            m->started = started;
    }
    json_array_foreach(json_object_get(run->report, "facts"), i, fact)
    {
        const char *name = iw_json_get_text(fact, "name"), *text = iw_json_get_text(fact, "text");
        if (!knows(&m->facts, name, text))
            iw_facts_add(&m->facts, name, text, iw_json_get_text(fact, "advice"));
    }
}

int iw_merge_read(struct iw_merge *m, char *const *dirs, size_t n_dirs)
{
    m->runs = iw_got(calloc(n_dirs, sizeof(*m->runs)));
    for (size_t i = 0; i < n_dirs; i++) {
        int status = read_run(&m->runs[m->count++], dirs[i]);
        if (status)
            return status;
        if (!belongs(&m->runs[0], &m->runs[i]) || !take_version(m, &m->runs[i]))
            return IW_EXIT_USAGE;
    }
    if (!apart(m))
        return IW_EXIT_USAGE;
    m->target = said(&m->runs[0], "target", "name");
    m->class = said(&m->runs[0], "target", "class");
    m->embedded = m->runs[0].head.target == NULL || strncmp(m->target, "embedded", 8) == 0;
    for (size_t i = 0; i < m->count; i++) {
        if (!complete(m, &m->runs[i]))
            return IW_EXIT_USAGE;
        add_up(m, &m->runs[i]);
    }
    return 0;
}

bool iw_merge_has(const struct iw_merge *m, const char *dir)
{
    struct stat at, other;
    if (dir == NULL || stat(dir, &at) != 0)
        return false;
    for (size_t i = 0; i < m->count; i++)
        if (stat(m->runs[i].dir, &other) == 0 && at.st_dev == other.st_dev &&
            at.st_ino == other.st_ino)
            return true;
    return false;
}

/* The ids of all cases, as the members of a new object. */
static json_t *all_ids(const struct iw_merge *m)
{
    json_t *ids = iw_got(json_object());
    for (size_t i = 0; i < m->count; i++) {
        const json_t *one;
        size_t k;
        json_array_foreach(cases_of(&m->runs[i]), k, one)
        {
            if (is_case(one))
                json_object_set_new(ids, iw_json_get_text(one, "id"), json_true());
        }
    }
    return ids;
}

int iw_merge_find(const struct iw_merge *m, const struct iw_suite *suite,
                  const struct iw_case ***cases, size_t *count)
{
    const char *digest = said(&m->runs[0], "suite", "version");
    if (strcmp(suite->digest, digest) != 0)
        return iw_complain_exit(IW_EXIT_USAGE,
                                "%s: it has run suite %s, this is %s: merge with the cases of the "
                                "runs (--cases)",
                                m->runs[0].dir, digest, suite->digest);
    json_t *ids = all_ids(m);
    size_t wanted = json_object_size(ids);
    free(*cases);
    *cases = iw_got(calloc(suite->n_cases + 1, sizeof(const struct iw_case *)));
    *count = 0;
    for (size_t i = 0; i < suite->n_cases; i++)
        if (json_object_get(ids, suite->cases[i]->id) != NULL)
            (*cases)[(*count)++] = suite->cases[i];
    json_decref(ids);
    return *count == wanted
               ? 0
               : iw_complain_exit(IW_EXIT_USAGE, "%s: expected cases of the suite only",
                                  m->runs[0].dir);
}

/* ---- results ---- */

struct moving {
    const struct iw_journal_reader *reader;
    const char *from, *to; /* folders */
    size_t number;         /* of the run, from 1 */
};

static bool copy_file(const char *from, const char *to)
{
    char block[1 << 16];
    FILE *in = fopen(from, "re"), *out = in != NULL ? iw_open_output(to) : NULL;
    bool good = out != NULL;
    for (size_t n = 1; good && n > 0;) {
        n = fread(block, 1, sizeof(block), in);
        good = fwrite(block, 1, n, out) == n && !ferror(in);
    }
    if (out != NULL)
        good = iw_close_output(out, to) && good;
    if (in != NULL)
        fclose(in);
    return good;
}

/* Brings a file of a run to the folder of the results, as `prefix` and its name. It lies in the
 * run's folder, wherever that is now, or where the run has put it. */
static void bring(const struct moving *m, char **path, const char *prefix)
{
    if (*path == NULL)
        return;
    char *copy = iw_text_copy(*path), *name = basename(copy);
    char *beside = iw_text_format("%s/%s", m->from, name);
    char *to = iw_text_format("%s/%s%s", m->to, prefix, name);
    const char *from = access(beside, F_OK) == 0 ? beside : *path;
    unlink(to); /* of results that were here before */
    bool there = link(from, to) == 0 || (access(from, R_OK) == 0 && copy_file(from, to));
    free(*path);
    *path = there ? iw_text_copy(to) : NULL;
    free(to);
    free(beside);
    free(copy);
}

static void bring_files(const struct moving *m, struct iw_result *result)
{
    char *prefix = iw_text_format("run-%zu-", m->number); /* all have a target-0.log */
    bring(m, &result->pcap, "");
    bring(m, &result->log, prefix);
    free(prefix);
}

static void take(void *context, struct iw_entry *entry, unsigned round, struct iw_result *result)
{
    const struct moving *m = context;
    bring_files(m, result);
    m->reader->take(m->reader->context, entry, round, result);
}

static void charge(void *context, struct iw_entry *entry, struct iw_result *result)
{
    const struct moving *m = context;
    bring_files(m, result);
    m->reader->charge(m->reader->context, entry, result);
}

int iw_merge_replay(const struct iw_merge *m, struct iw_record *record, const char *dir,
                    const struct iw_journal_reader *reader)
{
    int status = 0;
    for (size_t i = 0; i < m->count && status == 0; i++) {
        struct moving moving = {
            .reader = reader, .from = m->runs[i].dir, .to = dir, .number = i + 1};
        const struct iw_journal_reader own = {.context = &moving, .take = take, .charge = charge};
        status = iw_journal_replay(m->runs[i].journal, record, &own);
    }
    for (size_t i = 0; i < record->count && status == 0; i++)
        if (!record->entries[i].done)
            status =
                iw_complain_exit(IW_EXIT_USAGE, "the case %s is in a report, but in no journal",
                                 record->entries[i].c->id);
    return status;
}

void iw_merge_device(const struct iw_merge *m, struct iw_device *device)
{
    for (size_t i = 0; i < m->count; i++)
        iw_device_add_json(device, json_object_get(m->runs[i].report, "device"));
}

void iw_merge_free(struct iw_merge *m)
{
    for (size_t i = 0; i < m->count; i++) {
        iw_journal_close(m->runs[i].journal);
        json_decref(m->runs[i].report);
    }
    free(m->runs);
    iw_facts_free(&m->facts);
}
