/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs iwarp-lint on a capture of the fuzzer. Its options depend on the input's length; its JSON
 * output must be valid JSON. */
#include "lint.h"

#include "oracle/memory_file.h"

#include <stdlib.h>
#include <string.h>

static void check_lines(char *text)
{
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        json_t *object = json_loads(line, 0, NULL);
        IW_FUZZ_CHECK(object != NULL, "lint: a line that is no JSON: %s", line);
        json_decref(object);
    }
}

static void run(const uint8_t *octets, size_t length)
{
    struct iw_lint_options options = {.path = iw_fuzz_file(0),
                                      .connection = -1,
                                      .owner = -1,
                                      .format = (enum iw_lint_format)(length % 3),
                                      .summary = length % 3 != IW_LINT_SARIF && length % 2 != 0,
                                      .messages = length % 3 != IW_LINT_SARIF,
                                      .connections = 1 + length % 16,
                                      .mss = length % 5 == 0 ? 1460 : 0,
                                      .ports = {7471},
                                      .n_ports = length % 7 == 0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    IW_FUZZ_CHECK(out != NULL, "no memory");
    iw_fuzz_file_set(0, octets, length);
    iw_fuzz_quiet(true);
    int status =
        iw_lint_captures(&options, (char *const[]){(char *)(uintptr_t)iw_fuzz_file(0)}, 1, out);
    iw_fuzz_quiet(false);
    fclose(out);
    IW_FUZZ_CHECK(status == IW_LINT_CLEAN || status == IW_LINT_FINDINGS ||
                      status == IW_LINT_UNREADABLE,
                  "lint: exit status %d", status);
    if (options.format == IW_LINT_JSON)
        check_lines(text);
    if (options.format == IW_LINT_SARIF && status != IW_LINT_UNREADABLE) {
        json_t *whole = json_loads(text, 0, NULL);
        IW_FUZZ_CHECK(whole != NULL, "lint: what it writes is no JSON");
        json_decref(whole);
    }
    free(text);
}

const struct iw_fuzz_harness iw_fuzz_harness = {.name = "lint", .most = 1 << 16, .run = run};
