/* SPDX-License-Identifier: BSD-3-Clause */
/* Saves a hunt on disk for the one that resumes it. In the folder of results: corpus/DIGEST (the
 * sequences kept), started (a ring of those under way), findings.jsonl, and progress.json. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/files.h"
#include "host/json_values.h"
#include "host/text.h"
#include "hunt.h"

/* Between the cause and the end of the kernel a fast hunt starts a hundred more sequences. */
enum { RECORDS = 512, HEAD = 12, RECORD = HEAD + 512 /* settings and steps */ + IW_HUNT_OCTETS };
_Static_assert(RECORD - HEAD - IW_HUNT_OCTETS > 4 + IW_FUZZ_STEP * IW_HUNT_STEPS, "all of it");
_Static_assert((int)RECORDS <= (int)IW_HUNT_RECENT, "what is loaded has room");

static bool lasts(const struct iw_hunt *h)
{
    return h->o->resume && h->dir != NULL;
}

/* Opens a file in the folder of results. */
static FILE *open_in(const char *dir, const char *name, const char *mode)
{
    char *path = iw_text_format("%s/%s", dir, name);
    FILE *f = fopen(path, mode);

    free(path);
    return f;
}

/* ---- sequences ---- */

void iw_hunt_write_inputs(FILE *f, struct iw_hunt_input *const *inputs, size_t n)
{
    uint8_t *octets = iw_got(malloc(IW_MUTATE_INPUT_MAX));

    for (size_t i = 0; i < n; i++) {
        uint32_t length = (uint32_t)iw_hunt_input_write(inputs[i], octets, IW_MUTATE_INPUT_MAX);

        fwrite(&length, sizeof(length), 1, f);
        fwrite(octets, 1, length, f);
    }
    free(octets);
}

size_t iw_hunt_read_inputs(FILE *f, struct iw_hunt_input **inputs, size_t room)
{
    uint8_t *octets = iw_got(malloc(IW_MUTATE_INPUT_MAX));
    size_t n = 0;
    uint32_t length;
    while (n < room && fread(&length, sizeof(length), 1, f) == 1 && length <= IW_MUTATE_INPUT_MAX &&
           fread(octets, 1, length, f) == length)
        inputs[n++] = iw_hunt_input_read(octets, length);
    free(octets);
    return n;
}

void iw_hunt_save_kept(struct iw_hunt *h, size_t i)
{
    if (!lasts(h))
        return;
    char name[32];
    snprintf(name, sizeof(name), "corpus/%016" PRIx64,
             iw_hunt_input_digest(IW_HUNT_DIGEST, h->corpus[i].input));
    FILE *f = open_in(h->dir, name, "we");
    if (f != NULL) {
        iw_hunt_write_inputs(f, &h->corpus[i].input, 1);
        fclose(f);
    }
}

void iw_hunt_save_started(struct iw_hunt *h, const struct iw_hunt_input *in)
{
    uint64_t number = h->started + 1;

    if (h->lasting < 0)
        return;
    static uint8_t record[RECORD];
    uint32_t length = (uint32_t)iw_hunt_input_write(in, record + HEAD, RECORD - HEAD);
    memcpy(record, &number, sizeof(number));
    memcpy(record + sizeof(number), &length, sizeof(length));
    if (pwrite(h->lasting, record, HEAD + length, (off_t)(h->started % RECORDS) * RECORD) < 0)
        iw_complain("cannot write %s/started: %s", h->dir, strerror(errno));
}

/* Reads the ring, oldest first. */
size_t iw_hunt_load_started(const char *dir, struct iw_hunt_input **inputs)
{
    FILE *f = open_in(dir, "started", "re");
    uint64_t numbers[RECORDS];
    size_t n = 0;
    for (size_t i = 0; f != NULL && i < RECORDS; i++) {
        if (fseek(f, (long)(i * RECORD), SEEK_SET))
            break;
        static uint8_t record[RECORD];
        size_t got = fread(record, 1, RECORD, f);
        if (got < HEAD)
            break;
        uint64_t number;
        memcpy(&number, record, sizeof(number));
        uint32_t length;
        memcpy(&length, record + sizeof(number), sizeof(length));
        if (!number || length > got - HEAD)
            continue;
        size_t at = n;
        for (; at > 0 && numbers[at - 1] > number; at--) {
            numbers[at] = numbers[at - 1];
            inputs[at] = inputs[at - 1];
        }
        numbers[at] = number;
        inputs[at] = iw_hunt_input_read(record + HEAD, length);
        n++;
    }
    if (f != NULL)
        fclose(f);
    return n;
}

/* ---- findings ---- */

void iw_hunt_save_finding(struct iw_hunt *h, const struct iw_hunt_finding *f)
{
    if (h->dir == NULL)
        return;
    if (h->board != NULL)
        iw_hunt_board_lock(h->board);
    FILE *out = open_in(h->dir, "findings.jsonl", "ae");
    bool good = out != NULL && iw_json_line(iw_hunt_finding_json(f), out);
    if (out != NULL)
        good = !fclose(out) && good;
    if (!good)
        iw_complain("cannot write %s/findings.jsonl: %s", h->dir, strerror(errno));
    if (h->board != NULL) {
        if (good)
            iw_hunt_board_line(h->board);
        iw_hunt_board_unlock(h->board);
    }
}

/* Removes what could not be shown, once the same can be: that is what it was. */
static void replace_unexplained(struct iw_hunt *h, const struct iw_hunt_finding *f)
{
    char key[IW_HUNT_KEY];

    iw_hunt_key(&f->event, key, sizeof(key));
    for (struct iw_hunt_finding **p = &h->findings; f->row == NULL && *p != NULL;) {
        struct iw_hunt_finding *other = *p;
        char its[IW_HUNT_KEY];

        iw_hunt_key(&other->event, its, sizeof(its));
        if (other->row == NULL || strcmp(its, key) != 0) {
            p = &other->next;
            continue;
        }
        *p = other->next;
        iw_hunt_finding_free(other);
    }
}

static char *text_of(const json_t *o, const char *name)
{
    return iw_text_copy(json_string_value(json_object_get(o, name)));
}

static json_int_t number_of(const json_t *o, const char *name)
{
    return json_integer_value(json_object_get(o, name));
}

struct iw_hunt_event iw_hunt_event_read(const json_t *o)
{
    const char *kind = json_string_value(json_object_get(o, "kind"));
    const char *check = json_string_value(json_object_get(o, "check"));
    const char *text = json_string_value(json_object_get(o, "text"));
    const char *cause = json_string_value(json_object_get(o, "cause"));
    struct iw_hunt_event e = {.check = check != NULL ? iw_check_find(check) : IW_CHECK_NONE};

    for (int k = IW_HUNT_NOTHING; kind != NULL && k < IW_HUNT_KINDS; k++)
        if (strcmp(kind, iw_hunt_kind_name((enum iw_hunt_kind)k)) == 0)
            e.kind = (enum iw_hunt_kind)k;
    snprintf(e.text, sizeof(e.text), "%s", text != NULL ? text : "");
    snprintf(e.cause, sizeof(e.cause), "%s", cause != NULL ? cause : "");
    return e;
}

void iw_hunt_finding_free(struct iw_hunt_finding *f)
{
    iw_hunt_inputs_free(f->inputs, f->n_inputs);
    free(f->inputs);
    free(f->requested);
    free(f->key);
    free(f->file);
    free(f->pcap);
    free(f->row);
    free(f->verdict);
    free(f->suppressed);
    free(f);
}

void iw_hunt_finding_add(struct iw_hunt *h, struct iw_hunt_finding *f)
{
    struct iw_hunt_finding **last = &h->findings;

    while (*last != NULL)
        last = &(*last)->next;
    *last = f;
}

static void take_finding(struct iw_hunt *h, const json_t *o)
{
    const json_t *pattern = json_object_get(o, "pattern");

    if (!json_is_string(json_object_get(o, "key")) || !json_is_string(json_object_get(o, "kind")))
        return;
    struct iw_hunt_finding *f = iw_got(calloc(1, sizeof(*f)));
    f->event = iw_hunt_event_read(o);
    f->key = text_of(o, "key");
    f->number = (uint64_t)number_of(o, "sequence");
    f->seconds = json_real_value(json_object_get(o, "seconds"));
    f->times = (uint64_t)number_of(o, "times");
    f->told_inputs = (size_t)number_of(o, "connections");
    f->told_steps = (size_t)number_of(o, "steps");
    if (json_array_size(pattern) <= IW_HUNT_PATTERN)
        f->n_pattern = json_array_size(pattern);
    for (size_t i = 0; i < f->n_pattern; i++)
        f->pattern[i] = (uint16_t)json_integer_value(json_array_get(pattern, i));
    f->file = text_of(o, "case");
    f->pcap = text_of(o, "pcap");
    f->row = text_of(o, "row");
    f->verdict = text_of(o, "verdict");
    f->suppressed = text_of(o, "known");
    f->before = true;
    if (h->board != NULL) {
        if (f->row == NULL)
            iw_hunt_board_settle(h->board, f->key);
        replace_unexplained(h, f);
    }
    iw_hunt_finding_add(h, f);
    if (h->board != NULL && !h->member && h->examining == NULL)
        iw_hunt_tell(h, f);
}

void iw_hunt_forget_findings(const struct iw_hunt *h)
{
    char *path = iw_text_format("%s/findings.jsonl", h->dir);

    unlink(path);
    free(path);
}

void iw_hunt_load_findings(struct iw_hunt *h)
{
    FILE *f = open_in(h->dir, "findings.jsonl", "re");
    char *line = NULL;
    size_t room = 0;
    unsigned n = h->lines; /* these are in the list, or were */

    while (f != NULL && getline(&line, &room, f) >= 0 && line[strlen(line) - 1] == '\n') {
        json_t *o = json_loads(line, 0, NULL);

        if (n) {
            n--;
        } else {
            h->lines++;
            if (o != NULL)
                take_finding(h, o);
        }
        json_decref(o);
    }
    free(line);
    if (f != NULL)
        fclose(f);
}

/* ---- all of it ---- */

void iw_hunt_save_progress(struct iw_hunt *h)
{
    if (!lasts(h))
        return;
    char *path = iw_text_format("%s/progress.json", h->dir);
    struct iw_hunt_counts c = iw_hunt_counts(h);
    json_t *places = h->coverage != NULL ? json_integer((json_int_t)c.places) : NULL;
    json_t *o = iw_got(json_pack("{s:I, s:I, s:I, s:I, s:I, s:o*}", "sequences",
                                 (json_int_t)h->over, "states", (json_int_t)c.states, "edges",
                                 (json_int_t)c.edges, "kept", (json_int_t)c.kept, "starts",
                                 (json_int_t)h->world.starts, "places", places));
    json_dump_file(o, path, JSON_COMPACT);
    json_decref(o);
    free(path);
}

/* Loads the earlier corpus as seeds. */
static void load_corpus(struct iw_hunt *h, const char *folder)
{
    DIR *d = opendir(folder);
    const struct dirent *entry;
    while (d != NULL && ((entry = readdir(d)) != NULL)) {
        FILE *f = *entry->d_name == '.' ? NULL : open_in(folder, entry->d_name, "re");
        struct iw_hunt_input *in;
        if (f != NULL && iw_hunt_read_inputs(f, &in, 1) == 1)
            iw_hunt_seeds_add(&h->seeds, in);
        if (f != NULL)
            fclose(f);
    }
    if (d != NULL)
        closedir(d);
}

bool iw_hunt_resume(struct iw_hunt *h)
{
    char *corpus = iw_text_format("%s/corpus", h->dir);
    char *started = iw_text_format("%s/started", h->dir);
    bool good = !iw_folder_create(corpus);

    if (good) {
        load_corpus(h, corpus);
        iw_hunt_load_findings(h);
        h->lasting = open(started, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        good = h->lasting >= 0;
    }
    if (!good)
        iw_complain("cannot write %s: %s", started, strerror(errno));
    free(corpus);
    free(started);
    return good;
}
