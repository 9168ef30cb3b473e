/* SPDX-License-Identifier: BSD-3-Clause */
/* Two options that name one file. */
#include "host/complain.h"
#include "host/outputs.h"
#include "scratch.h"
#include "spoken.h"

#include <sys/stat.h>

/* Asserts what is said of --json A --html B; NULL: nothing, they are two files. */
static void assert_said(const char *a, const char *b, const char *said)
{
    const struct iw_host_output outputs[] = {{"json", a}, {"csv", NULL}, {"html", b}};
    begin_listening();
    int status = iw_host_check_outputs(outputs, 3);
    const char *line = heard();
    if (said == NULL)
        assert_string_equal(line, "");
    else
        assert_string_equal(line, said);
    assert_int_equal(status, said == NULL ? -1 : 64);
}

static void one_file_is_refused(void **state)
{
    char said[1000];
    (void)state;
    iw_complain_as("prog");
    assert_said("x", "x", "prog: --html x: is the file of --json\n");
    assert_said("x", "./x", "prog: --html ./x: is the file of --json\n");
    assert_said("-", "-", "prog: --html -: is the file of --json\n");
    assert_said("/nonexistent/x", "/nonexistent/x",
                "prog: --html /nonexistent/x: is the file of --json\n");
    const char *file = scratch_file("file", "x", 1), *twin = scratch_path("twin");
    const char *link_path = scratch_path("link");
    assert_int_equal(link(file, twin), 0);
    assert_int_equal(symlink("file", link_path), 0);
    snprintf(said, sizeof(said), "prog: --html %s: is the file of --json\n", twin);
    assert_said(file, twin, said);
    snprintf(said, sizeof(said), "prog: --html %s: is the file of --json\n", link_path);
    assert_said(file, link_path, said);
    /* Neither is there yet, and a link leads to the folder. */
    const char *folder = scratch_path("folder"), *other = scratch_path("other/new");
    assert_int_equal(mkdir(folder, 0755), 0);
    assert_int_equal(symlink("folder", scratch_path("other")), 0);
    snprintf(said, sizeof(said), "prog: --html %s: is the file of --json\n", other);
    assert_said(scratch_path("folder/new"), other, said);
    assert_int_equal(rmdir(folder), 0);
}

static void two_files_are_taken(void **state)
{
    (void)state;
    assert_said("x", "y", NULL);
    assert_said("x", NULL, NULL);
    assert_said(NULL, NULL, NULL);
    assert_said("/nonexistent/x", "/nonexistent/y", NULL);
    assert_said("/dev/null", "/dev/null", NULL);
    assert_said(scratch_file("here", "x", 1), scratch_path("not-here"), NULL);
    assert_said(scratch_path("not-here"), scratch_path("here"), NULL);
    assert_said(scratch_path("here"), scratch_file("there", "x", 1), NULL);
}

static void what_can_be_written(void **state)
{
    (void)state;
    iw_complain_as("prog");
    begin_listening();
    bool good = iw_host_writable(scratch_path("new-one")) && iw_host_writable("new-one") &&
                iw_host_writable(scratch_file("old", "x", 1)) && iw_host_writable("/dev/full");
    const char *line = heard();
    assert_true(good);
    assert_string_equal(line, "");
    assert_int_equal(access(scratch_path("new-one"), F_OK), -1);
    begin_listening();
    good = iw_host_writable("/nonexistent/x");
    line = heard();
    assert_false(good);
    assert_string_equal(line, "prog: cannot write /nonexistent/x: No such file or directory\n");
    begin_listening();
    good = iw_host_writable(scratch_path("old/x"));
    line = heard();
    assert_false(good);
    assert_non_null(strstr(line, "/old/x: Not a directory\n"));
}

static void no_outputs_are_good(void **state)
{
    (void)state;
    assert_int_equal(iw_host_check_outputs(NULL, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_file_is_refused),
        cmocka_unit_test(two_files_are_taken),
        cmocka_unit_test(what_can_be_written),
        cmocka_unit_test(no_outputs_are_good),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
