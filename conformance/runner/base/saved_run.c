/* SPDX-License-Identifier: BSD-3-Clause */
#include "saved_run.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/text.h"

static bool is_report(const json_t *run)
{
    const json_t *cases = json_object_get(run, "cases"), *one;
    size_t i;
    bool good = json_is_array(cases) &&
                json_integer_value(json_object_get(run, "schema")) == IW_REPORT_SCHEMA;
    json_array_foreach(cases, i, one) good = good && json_is_object(one);
    return good;
}

json_t *iw_saved_run_read(const char *path, char *error, size_t room)
{
    struct stat at;
    json_error_t where;
    bool folder = stat(path, &at) == 0 && S_ISDIR(at.st_mode);
    char *file = iw_text_format("%s%s", path, folder ? "/run.json" : "");
    FILE *f = fopen(file, "re");
    json_t *run = f != NULL ? json_loadf(f, 0, &where) : NULL;
    if (f == NULL)
        snprintf(error, room, "cannot read %s: %s", file, strerror(errno));
    else if (run == NULL)
        snprintf(error, room, "%s:%d: %s", file, where.line > 0 ? where.line : 0, where.text);
    else if (!is_report(run)) {
        snprintf(error, room, "%s: expected the JSON report of a run", file);
        json_decref(run);
        run = NULL;
    }
    if (f != NULL)
        fclose(f);
    free(file);
    return run;
}
