/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/text.h"
#include "run/run_record.h"

bool iw_run_file_read(struct iw_run_file *f, const char *name)
{
    struct stat at;
    bool folder = stat(name, &at) == 0 && S_ISDIR(at.st_mode);
    char *path = iw_text_format("%s%s", name, folder ? "/run.json" : "");
    json_error_t error;
    size_t i;
    json_t *one;
    *f = (struct iw_run_file){.path = name, .by_id = iw_got(json_object())};
    f->run = json_load_file(path, 0, &error);
    f->cases = json_object_get(f->run, "cases");
    bool good = json_is_array(f->cases) &&
                json_integer_value(json_object_get(f->run, "schema")) == IW_REPORT_SCHEMA;
    json_array_foreach(f->cases, i, one)
    {
        good = good && json_is_object(one);
        json_object_set(f->by_id, iw_json_member(one, "id"), one);
    }
    if (f->run == NULL && access(path, R_OK))
        iw_complain("cannot read %s: %s", path, strerror(errno));
    else if (f->run == NULL)
        iw_complain("%s:%d: %s", path, error.line > 0 ? error.line : 0, error.text);
    else if (!good)
        iw_complain("%s: expected the JSON report of a run", path);
    free(path);
    return good;
}

void iw_run_file_free(struct iw_run_file *f)
{
    json_decref(f->by_id);
    json_decref(f->run);
}

const json_t *iw_run_file_case(const struct iw_run_file *f, const char *id)
{
    return json_object_get(f->by_id, id);
}

const char *iw_json_member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}
