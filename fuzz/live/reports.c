/* SPDX-License-Identifier: BSD-3-Clause */
#include "reports.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/text.h"

enum { LINE = 1024 };

void iw_hunt_reports_begin(struct iw_hunt_reports *r, const char *log)
{
    struct stat at;

    r->n = r->last = 0;
    r->at = log != NULL && !stat(log, &at) ? (long)at.st_size : 0;
}

const struct iw_hunt_report *iw_hunt_reports_find(const struct iw_hunt_reports *r,
                                                  const char *cause)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->list[i].cause, cause) == 0)
            return &r->list[i];
    return NULL;
}

/* Copies a text as valid UTF-8, cut off if it is too long. */
static void put(char *to, size_t room, const char *text)
{
    char *clean = iw_text_clean(text);
    size_t n = strlen(clean);

    if (n >= room)
        for (n = room - 1; (clean[n] & 0xc0) == 0x80;)
            n--; /* no character in two */
    memcpy(to, clean, n);
    to[n] = 0;
    free(clean);
}

static void take(struct iw_hunt_reports *r, const struct iw_crash *crash)
{
    struct iw_hunt_report report;
    char text[IW_CRASH_TEXT], cause[IW_CRASH_TEXT];

    if (strcmp(crash->kind, "ABRT") == 0 && r->n)
        return; /* what was reported before has led to it */
    iw_crash_text(crash, text);
    put(report.text, sizeof(report.text), text);
    iw_crash_cause(text, cause);
    put(report.cause, sizeof(report.cause), cause);
    const struct iw_hunt_report *known = iw_hunt_reports_find(r, report.cause);
    if (known == NULL && r->n < IW_HUNT_REPORTS) {
        r->last = r->n;
        r->list[r->n++] = report;
    } else if (known != NULL) {
        r->last = (size_t)(known - r->list);
    }
}

void iw_hunt_reports_read(struct iw_hunt_reports *r, const char *log)
{
    FILE *f = log != NULL ? fopen(log, "re") : NULL;
    struct iw_crash_reader reader = {.begun = false};
    struct iw_crash done;
    char line[LINE];

    if (f == NULL)
        return;
    if (!fseek(f, r->at, SEEK_SET)) {
        while (fgets(line, sizeof(line), f) != NULL)
            if (iw_crash_line(&reader, line, &done))
                take(r, &done);
        if (iw_crash_end(&reader, &done))
            take(r, &done);
        r->at = ftell(f);
    }
    fclose(f);
}
