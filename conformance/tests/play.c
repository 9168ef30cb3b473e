/* SPDX-License-Identifier: BSD-3-Clause */
#include "play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

char play_file[256];
const struct iw_run_options play_options = {.library = IW_SOURCE_DIR "/conformance/lib"};

void play_write(const char *text)
{
    FILE *f;

    if (!*play_file) {
        int fd;

        snprintf(play_file, sizeof(play_file), "%s/iw-case-XXXXXX.lua", P_tmpdir);
        fd = mkstemps(play_file, 4);
        assert_true(fd >= 0);
        close(fd);
    }
    f = fopen(play_file, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

const char *play_load_error(const char *text, const struct iw_run_options *options)
{
    static char error[1024];
    struct iw_case *cases;
    size_t n;

    play_write(text);
    assert_int_equal(iw_case_load(play_file, options, &cases, &n, error, sizeof(error)), -1);
    assert_null(strchr(error, '\n'));
    n = strlen(play_file);
    return strncmp(error, play_file, n) ? error : error + n;
}

struct iw_result play_case(const char *text, struct iw_target *target,
                           const struct iw_run_options *options)
{
    struct iw_result result;
    struct iw_case *cases;
    char error[1024] = "";
    size_t n;

    play_write(text);
    iw_case_load(play_file, options, &cases, &n, error, sizeof(error));
    assert_string_equal(error, "");
    assert_int_equal(iw_script_run_case(&cases[0], target, options, &result), 0);
    iw_case_free_all(cases, n);
    return result;
}

struct iw_result play_body(const char *body, struct iw_target *target,
                           const struct iw_run_options *options)
{
    char text[8192];

    assert_true((size_t)snprintf(text, sizeof(text),
                                 "return case { id = \"test\", purpose = \"a test\",\n"
                                 "rules = { \"MPA-8-02\" }, role = \"responder\", run = function(t)"
                                 "\n%s\nend }\n",
                                 body) < sizeof(text));
    return play_case(text, target, options);
}

void play_remove(void)
{
    if (*play_file)
        unlink(play_file);
    *play_file = 0;
}
