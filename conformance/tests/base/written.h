/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TEST_WRITTEN_H
#define IW_TEST_WRITTEN_H

#include <jansson.h>
#include <stdlib.h>

#include "base/result.h"

/* Compares the JSON of a result with its text. */
static inline void assert_written(const struct iw_result *r, const char *expected)
{
    json_t *object = iw_result_to_json(r);
    char *written = json_dumps(object, JSON_COMPACT);

    assert_string_equal(written, expected);
    free(written);
    json_decref(object);
}

#endif
