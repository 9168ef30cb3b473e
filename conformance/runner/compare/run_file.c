/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_file.h"

#include "base/saved_run.h"
#include "host/complain.h"
#include "host/json_values.h"
#include "host/text.h"

bool iw_run_file_read(struct iw_run_file *f, const char *path)
{
    char error[1024];
    size_t i;
    json_t *one;
    *f = (struct iw_run_file){.path = path, .by_id = iw_got(json_object())};
    f->run = iw_saved_run_read(path, error, sizeof(error));
    if (f->run == NULL)
        iw_complain("%s", error);
    f->cases = json_object_get(f->run, "cases");
    json_array_foreach(f->cases, i, one)
        json_object_set(f->by_id, iw_json_get_text(one, "id"), one);
    return f->run != NULL;
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
