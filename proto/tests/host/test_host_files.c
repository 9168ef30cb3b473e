/* SPDX-License-Identifier: BSD-3-Clause */
/* Folders and files that a program writes. */
#include "host/complain.h"
#include "host/files.h"
#include "scratch.h"
#include "spoken.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void assert_folder(const char *path)
{
    struct stat at;
    assert_int_equal(stat(path, &at), 0);
    assert_int_equal(at.st_mode, S_IFDIR | 0755);
}

static void the_programs_own_folder(void **state)
{
    char expected[PATH_MAX];
    (void)state;
    assert_non_null(realpath(IW_BINARY_DIR "/bin/tests", expected));
    char *own = iw_own_folder();
    assert_string_equal(own, expected);
    free(own);
}

static void a_folder_and_those_above_it(void **state)
{
    const char *a = scratch_path("a"), *b = scratch_path("a/b"), *c = scratch_path("a/b/c");
    (void)state;
    mode_t mask = umask(022);
    for (int i = 0; i < 2; i++) { /* one that is there is as good */
        assert_int_equal(iw_folder_create(c), 0);
        assert_folder(a);
        assert_folder(b);
        assert_folder(c);
    }
    umask(mask);
    assert_int_equal(iw_folder_create(scratch_path("a/d/")), 0);
    assert_int_equal(rmdir(scratch_path("a/d/")), 0);
    assert_int_equal(rmdir(c), 0);
    assert_int_equal(rmdir(b), 0);
    assert_int_equal(rmdir(a), 0);
}

static void what_is_in_the_way_of_a_folder(void **state)
{
    const char *file = scratch_file("file", "x", 1), *below = scratch_path("file/x");
    (void)state;
    errno = 0;
    assert_int_equal(iw_folder_create(file), -1);
    assert_int_equal(errno, ENOTDIR);
    errno = 0;
    assert_int_equal(iw_folder_create(below), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(iw_folder_create(""), -1);
    assert_int_equal(errno, ENOENT);
    const char *nowhere = scratch_path("nowhere");
    assert_int_equal(symlink("/nonexistent/x", nowhere), 0);
    assert_int_equal(iw_folder_create(nowhere), -1);
    assert_int_equal(errno, ENOTDIR);
}

/* Returns true if `text` is a time as in 20261125T084412Z. */
static bool is_stamp(const char *text)
{
    for (int i = 0; i < 16; i++)
        if (i == 8 ? text[i] != 'T' : i == 15 ? text[i] != 'Z' : text[i] < '0' || text[i] > '9')
            return false;
    return true;
}

static void new_folders_have_names_of_their_own(void **state)
{
    const char *parent = scratch_path("results");
    size_t length = strlen(parent);
    char *made[4];
    (void)state;
    assert_int_equal(iw_folder_create(parent), 0);
    mode_t mask = umask(022);
    /* Of four at most three seconds differ, unless each call takes one. */
    for (size_t i = 0; i < 4; i++) {
        made[i] = iw_folder_new(parent, "tcp:h:7");
        assert_non_null(made[i]);
        assert_folder(made[i]);
        assert_memory_equal(made[i], parent, length);
        assert_int_equal(made[i][length], '/');
        assert_true(is_stamp(made[i] + length + 1));
        const char *name = made[i] + length + 17;
        assert_memory_equal(name, "-tcp-h-7", 8);
        if (i == 0)
            assert_int_equal(name[8], '\0');
        else if (memcmp(made[i], made[i - 1], length + 17) == 0)
            assert_int_equal(name[8], '-');
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(made[k], made[i]);
    }
    umask(mask);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(rmdir(made[i]), 0);
        free(made[i]);
    }
    assert_int_equal(rmdir(parent), 0);
    errno = 0;
    assert_null(iw_folder_new(parent, "x")); /* its parent is gone */
    assert_int_equal(errno, ENOENT);
}

static void descriptors_are_raised(void **state)
{
    struct rlimit before, now;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(before.rlim_max >= 100);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){60, before.rlim_max}), 0);
    assert_int_equal(iw_descriptors_raise(50), 60);
    assert_int_equal(iw_descriptors_raise(100), 100);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    assert_int_equal(now.rlim_cur, 100);
    assert_int_equal(now.rlim_max, before.rlim_max);
    assert_int_equal(iw_descriptors_raise(UINT64_MAX), before.rlim_max);
    assert_int_equal(iw_descriptors_raise(UINT64_MAX), before.rlim_max);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void the_first_octets_of_a_file(void **state)
{
    char octets[8] = "........";
    const char *path = scratch_path("small");
    (void)state;
    FILE *f = iw_open_output(path);
    assert_non_null(f);
    assert_int_equal(fwrite("ab\0de", 1, 5, f), 5);
    assert_true(iw_close_output(f, path));
    assert_int_equal(iw_file_read_at_most(path, octets, 8), 5);
    assert_memory_equal(octets, "ab\0de...", 8);
    assert_int_equal(iw_file_read_at_most(path, octets, 5), 5);
    memset(octets, '.', sizeof(octets));
    assert_int_equal(iw_file_read_at_most(path, octets, 4), 4);
    assert_memory_equal(octets, "ab\0d....", 8);
    assert_int_equal(iw_file_read_at_most("/dev/null", octets, 8), 0);
    errno = 0;
    assert_int_equal(iw_file_read_at_most("/nonexistent/x", octets, 8), IW_FILE_UNOPENED);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(iw_file_read_at_most("/", octets, 8), IW_FILE_UNREAD);
    assert_int_equal(errno, EISDIR);
}

static void files_are_written(void **state)
{
    const char *path = scratch_path("out");
    size_t length;
    (void)state;
    begin_listening();
    FILE *f = iw_open_output(path);
    assert_non_null(f);
    assert_int_equal(fcntl(fileno(f), F_GETFD), FD_CLOEXEC);
    assert_int_equal(fputs("text", f), 1);
    assert_true(iw_close_output(f, path));
    assert_string_equal(heard(), "");
    char *text = scratch_read(path, &length);
    assert_string_equal(text, "text");
    free(text);
}

static void what_cannot_be_written_is_said(void **state)
{
    (void)state;
    iw_complain_as("prog");
    begin_listening();
    assert_null(iw_open_output("/nonexistent/x"));
    assert_string_equal(heard(), "prog: cannot write /nonexistent/x: No such file or directory\n");
    /* The disk is full: as the file is closed, and before that. */
    begin_listening();
    FILE *f = fopen("/dev/full", "w");
    assert_non_null(f);
    fputc('x', f);
    assert_false(iw_close_output(f, "full"));
    assert_string_equal(heard(), "prog: cannot write full: No space left on device\n");
    begin_listening();
    f = fopen("/dev/full", "w");
    assert_non_null(f);
    fputc('x', f);
    assert_int_equal(fflush(f), EOF);
    errno = 0;
    assert_false(iw_close_output(f, "full"));
    assert_string_equal(heard(), "prog: cannot write full: unknown error\n");
}

static void paths_from_the_folder_of_work(void **state)
{
    static const char *const paths[][2] = {
        {"a", "a"},
        {"./a//b/./c", "a/b/c"},
        {"a/../b", "b"},
        {"/usr/lib/a", "a"},
        {"/usr/a", "../a"},
        {"/usr/libx", "../libx"},
        {"/", "../../"},
        {"..", "../"},
        {"/usr/lib", "."},
        {"", "."},
        {"../lib/a", "a"},
        {"/etc/a", "../../etc/a"},
        {"../../../a", "../../a"},
    };
    char *here = getcwd(NULL, 0);
    (void)state;
    assert_int_equal(chdir("/usr/lib"), 0);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        char *relative = iw_path_relative(paths[i][0]);
        assert_string_equal(relative, paths[i][1]);
        free(relative);
    }
    assert_int_equal(chdir("/"), 0);
    char *relative = iw_path_relative("/a/b");
    assert_string_equal(relative, "a/b");
    free(relative);
    assert_int_equal(chdir(here), 0);
    free(here);
}

static void cpus_that_may_be_used(void **state)
{
    cpu_set_t all, one;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    assert_int_equal(iw_cpus(), CPU_COUNT(&all));
    size_t first = 0;
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(iw_cpus(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_programs_own_folder),
        cmocka_unit_test(a_folder_and_those_above_it),
        cmocka_unit_test(what_is_in_the_way_of_a_folder),
        cmocka_unit_test(new_folders_have_names_of_their_own),
        cmocka_unit_test(the_first_octets_of_a_file),
        cmocka_unit_test(descriptors_are_raised),
        cmocka_unit_test(files_are_written),
        cmocka_unit_test(what_cannot_be_written_is_said),
        cmocka_unit_test(paths_from_the_folder_of_work),
        cmocka_unit_test(cpus_that_may_be_used),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
