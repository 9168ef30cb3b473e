/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_files.h"

#include <stdlib.h>

#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "report_csv.h"
#include "report_html.h"
#include "report_json.h"
#include "report_junit.h"

bool iw_report_files_open(struct iw_report_files *f, const char *dir)
{
    f->summary = iw_text_format("%s/run.json", dir);
    if (f->paths[IW_REPORT_HTML] == NULL)
        f->paths[IW_REPORT_HTML] = f->page = iw_text_format("%s/report.html", dir);
    for (size_t i = 0; i < IW_REPORTS; i++)
        if (f->paths[i] != NULL && (f->files[i] = iw_open_output(f->paths[i])) == NULL)
            return false;
    return true;
}

static bool write_page(const struct iw_report_files *f, FILE *out, const struct iw_record *record)
{
    char error[1024];
    bool good = iw_html_write(out, record, f->frame, error, sizeof(error));
    if (!good)
        iw_complain("%s", error);
    return good;
}

/* Writes and closes one of the files. */
static bool write_report(struct iw_report_files *f, int kind, const struct iw_record *record)
{
    static void (*const writers[IW_REPORTS])(FILE * out, const struct iw_record *record) = {
        [IW_REPORT_JUNIT] = iw_junit_write,
        [IW_REPORT_JSON] = iw_json_write,
        [IW_REPORT_CSV] = iw_csv_write};
    FILE *out = f->files[kind];
    bool good = true;
    if (out == NULL)
        return true;
    if (kind == IW_REPORT_HTML)
        good = write_page(f, out, record);
    else
        writers[kind](out, record);
    f->files[kind] = NULL;
    return iw_close_output(out, f->paths[kind]) && good;
}

bool iw_report_files_write(struct iw_report_files *f, const struct iw_record *record)
{
    FILE *summary = iw_open_output(f->summary);
    if (summary != NULL)
        iw_json_write(summary, record);
    bool good = summary != NULL && iw_close_output(summary, f->summary);
    for (int i = 0; i < IW_REPORTS; i++)
        good = write_report(f, i, record) && good;
    return good;
}

void iw_report_files_close(struct iw_report_files *f)
{
    for (size_t i = 0; i < IW_REPORTS; i++)
        if (f->files[i] != NULL)
            fclose(f->files[i]);
    free(f->summary);
    free(f->page);
}
