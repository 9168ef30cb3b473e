/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_findings.h"

#include "host/complain.h"
#include "host/json_values.h"
#include "host/text.h"
#include "iwarp/capture.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

json_int_t run_line_number(const json_t *line, const char *key)
{
    return json_integer_value(json_object_get(line, key));
}

bool run_line_is(const json_t *line, const char *type)
{
    return strcmp(iw_json_get_text(line, "type"), type) == 0;
}

static void count_finding(struct run_findings *f, const json_t *line)
{
    const char *level = iw_json_get_text(line, "level");
    if (strcmp(iw_json_get_text(line, "by"), "peer") != 0) {
        f->ours++;
        return;
    }
    f->peer++;
    if (strncmp(level, "MUST", 4) == 0 && !json_is_true(json_object_get(line, "implied")))
        f->peer_must++;
}

static void take_line(struct run_findings *f, struct run_process *p, json_t *line)
{
    if (run_line_is(line, "process")) {
        p->pid = (long)run_line_number(line, "pid");
        p->program = iw_json_get_text(line, "program");
        p->capture = json_string_value(json_object_get(line, "capture"));
    } else if (run_line_is(line, "connection")) {
        f->connections++;
    } else if (run_line_is(line, "finding")) {
        count_finding(f, line);
    } else if (run_line_is(line, "end")) {
        p->ended = true;
        f->unwritten += (uint64_t)run_line_number(line, "unwritten");
        f->cut |= !json_is_true(json_object_get(line, "capture_whole"));
    }
    json_array_append_new(p->lines, line);
}

static bool read_process(struct run_findings *f, struct run_process *p, const char *path)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t length;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        iw_complain("cannot read %s: %s", path, strerror(errno));
        return false;
    }
    *p = (struct run_process){.lines = iw_got(json_array()), .program = ""};
    while ((length = getline(&text, &room, file)) > 0) {
        json_t *line = text[length - 1] == '\n' ? json_loads(text, 0, NULL) : NULL;
        if (json_is_object(line))
            take_line(f, p, line);
        else
            json_decref(line);
    }
    free(text);
    fclose(file);
    return true;
}

/* Processes in the order in which they began. */
static int earlier(const struct dirent **a, const struct dirent **b)
{
    long x = strtol((*a)->d_name, NULL, 10), y = strtol((*b)->d_name, NULL, 10);
    return x != y ? (x > y) - (x < y) : strcmp((*a)->d_name, (*b)->d_name);
}

static int has_lines(const struct dirent *d)
{
    const char *end = strrchr(d->d_name, '.');
    return end != NULL && strcmp(end, ".jsonl") == 0;
}

bool run_findings_read(struct run_findings *f, const char *folder)
{
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, has_lines, earlier);
    bool good = n >= 0;
    *f = (struct run_findings){0};
    if (!good)
        iw_complain("cannot read %s: %s", folder, strerror(errno));
    else if (n > 0)
        f->processes = iw_got(calloc((size_t)n, sizeof(*f->processes)));
    for (int i = 0; i < n; i++) {
        char *path = iw_text_format("%s/%s", folder, entries[i]->d_name);
        good = good && read_process(f, &f->processes[f->n_processes], path);
        f->n_processes += good;
        free(path);
        free(entries[i]);
    }
    free(entries);
    return good;
}

void run_findings_free(struct run_findings *f)
{
    for (size_t i = 0; i < f->n_processes; i++)
        json_decref(f->processes[i].lines);
    free(f->processes);
    *f = (struct run_findings){0};
}

/* ---- the capture ---- */

struct note {
    uint64_t frame;
    size_t number;
    const char *text;
};

static int before(const void *a, const void *b)
{
    const struct note *x = a, *y = b;
    return x->frame != y->frame ? (x->frame > y->frame) - (x->frame < y->frame)
                                : (x->number > y->number) - (x->number < y->number);
}

/* Returns the findings of a process that are in its capture, by frame. The caller frees them. */
static struct note *notes_of(const struct run_process *p, size_t *count)
{
    struct note *notes = iw_got(calloc(json_array_size(p->lines) + 1, sizeof(*notes)));
    size_t i, n = 0;
    const json_t *line;
    json_array_foreach(p->lines, i, line)
    {
        json_int_t frame = run_line_number(line, "frame");
        if (run_line_is(line, "finding") && frame > 0)
            notes[n++] = (struct note){(uint64_t)frame, i, iw_json_get_text(line, "line")};
    }
    qsort(notes, n, sizeof(*notes), before);
    *count = n;
    return notes;
}

enum { COMMENTS = 64 }; /* on one frame */

/* Copies the frames of a process. Returns the number of them. One that was killed may have written
 * its last frame in part. */
static uint64_t copy_frames(const struct run_process *p, struct iw_pcapng *out)
{
    char error[IW_CAPTURE_ERROR];
    struct iw_frame frame;
    uint64_t count = 0;
    size_t n_notes, next = 0;
    struct note *notes = notes_of(p, &n_notes);
    struct iw_capture *in = iw_capture_open(p->capture, error);
    while (in != NULL && iw_capture_next(in, &frame, error) == 1) {
        const char *comments[COMMENTS];
        size_t n = 0;
        for (; next < n_notes && notes[next].frame <= frame.number; next++)
            if (n < COMMENTS)
                comments[n++] = notes[next].text;
        count++;
        if (!iw_pcapng_copy(out, &frame, comments, n))
            break;
    }
    iw_capture_close(in);
    free(notes);
    return count;
}

/* The section's comment. */
static const char cut_short[] = "Not everything is here: the capture has as many octets as it may "
                                "(--capture-size).";

bool run_findings_capture(struct run_findings *f, const char *path)
{
    char error[IW_CAPTURE_ERROR];
    struct iw_pcapng *out =
        iw_pcapng_create(path, IW_LINK_OTHER, "iwarp-run", f->cut ? cut_short : NULL, error);
    uint64_t frames = 0;
    if (out == NULL) {
        iw_complain("%s", error);
        return false;
    }
    for (size_t i = 0; i < f->n_processes; i++) {
        f->processes[i].first_frame = frames;
        if (f->processes[i].capture != NULL)
            frames += copy_frames(&f->processes[i], out);
    }
    if (iw_pcapng_close(out, error))
        return true;
    iw_complain("%s", error);
    return false;
}
