/* SPDX-License-Identifier: BSD-3-Clause */
#include "reports.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
        if (!strcmp(r->list[i].cause, cause))
            return &r->list[i];
    return NULL;
}

/* Kind and function tell one cause from another; where there is no function, the place does. */
static void take(struct iw_hunt_reports *r, const struct iw_crash *crash)
{
    struct iw_hunt_report report;
    struct iw_crash without = *crash;

    if (*without.function)
        *without.place = 0;
    iw_crash_text(crash, report.text);
    char text[IW_CRASH_TEXT];
    iw_crash_text(&without, text);
    snprintf(report.cause, sizeof(report.cause), "%.*s", (int)sizeof(report.cause) - 1, text);
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
