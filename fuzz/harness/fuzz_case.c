/* SPDX-License-Identifier: BSD-3-Clause */
/* The loader of case files: the input is one. It must return cases, or one line that says why not.
 */

#include "oracle/memory_file.h"
#include "script/script_case.h"

#include <stdlib.h>
#include <string.h>

static void run(const uint8_t *octets, size_t length)
{
    struct iw_run_options options = {.library = IW_CONFORMANCE_DIR "/lib",
                                     .patience = 0.05,
                                     .deadline = 0.2,
                                     .time_scale = 1,
                                     .memory = 16u << 20};
    struct iw_case *cases = NULL;
    size_t count = 0;
    char error[1024] = "";

    (void)setenv("IW_SCRIPT_HEAP", "malloc", 1); /* whose blocks sanitizers watch */
    iw_fuzz_file_set(0, octets, length);
    if (iw_case_load(iw_fuzz_file(0), &options, &cases, &count, error, sizeof(error)) != 0) {
        IW_FUZZ_CHECK(error[0] != '\0' && strchr(error, '\n') == NULL,
                      "case: no line says what is wrong");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        IW_FUZZ_CHECK(cases[i].id != NULL && cases[i].id[0] != '\0' && cases[i].purpose != NULL,
                      "case: one without a name");
        for (size_t k = 0; k < cases[i].n_rules; k++)
            IW_FUZZ_CHECK(cases[i].rules[k] != NULL, "case: a rule that there is not");
    }
    iw_case_free_all(cases, count);
}

const struct iw_fuzz_harness iw_fuzz_harness = {.name = "case", .most = 1 << 15, .run = run};
