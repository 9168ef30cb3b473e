/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform compare`: runs of several devices, firmwares, kernels or days side by side. */
#include <stdlib.h>

#include "base/places.h"
#include "cmd_compare.h"
#include "compare/compare.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"

static void write_json(FILE *out, const json_t *comparison)
{
    json_dumpf(comparison, out, JSON_INDENT(1));
    putc('\n', out);
}

/* Returns whether the file, if it is wanted, was written. */
static bool write_file(const char *path, const json_t *comparison,
                       void (*write)(FILE *out, const json_t *comparison))
{
    FILE *f = path != NULL ? iw_open_output(path) : NULL;
    if (f == NULL)
        return path == NULL;
    write(f, comparison);
    return iw_close_output(f, path);
}

/* Returns an exit status. */
static int write_page(const char *path, const json_t *comparison)
{
    FILE *f = path != NULL ? iw_open_output(path) : NULL;
    if (f == NULL)
        return path == NULL ? IW_EXIT_GOOD : IW_EXIT_OUTPUT;
    char *root = iw_conformance_folder(), *folder = iw_text_format("%s/report", root);
    char error[1024];
    bool good = iw_compare_write_html(f, comparison, folder, error, sizeof(error));
    if (!good)
        iw_complain("%s", error);
    free(folder);
    free(root);
    if (!iw_close_output(f, path))
        return IW_EXIT_OUTPUT;
    return good ? IW_EXIT_GOOD : IW_EXIT_TESTER; /* its own frame cannot be read */
}

int iw_command_compare(const struct iw_command *c)
{
    struct iw_run_file *runs = iw_got(calloc(c->n_operands, sizeof(*runs)));
    size_t n = 0;
    bool good = true;
    while (good && n < c->n_operands) {
        good = iw_run_file_read(&runs[n], c->operands[n]);
        n++;
    }
    int status = IW_EXIT_USAGE;
    if (good) {
        json_t *comparison = iw_compare(runs, n, IW_VERSION);
        bool written = write_file(c->json, comparison, write_json);
        written = write_file(c->csv_file, comparison, iw_compare_write_csv) && written;
        status = write_page(c->html, comparison);
        iw_compare_print(stdout, comparison);
        status = written ? status : IW_EXIT_OUTPUT;
        json_decref(comparison);
    }
    while (n > 0)
        iw_run_file_free(&runs[--n]);
    free(runs);
    return status;
}
