/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that iwarp-msg serve sends: those below its folder, by no link and no way round. */
#include "msg_folder.h"

#include <errno.h>
#include <sys/stat.h>

#include "../caught.h"

/* ---- a double of read ---- */

static size_t piece;    /* octets of one call, 0: all */
static int interrupted; /* calls that a signal ends */
static int broken;      /* calls fail */

ssize_t __real_read(int fd, void *octets, size_t length);
ssize_t __wrap_read(int fd, void *octets, size_t length);

ssize_t __wrap_read(int fd, void *octets, size_t length)
{
    if (broken || interrupted-- > 0) {
        errno = broken ? EIO : EINTR;
        return -1;
    }
    return __real_read(fd, octets, piece > 0 && piece < length ? piece : length);
}

/* ---- a folder ---- */

static char top[] = "folder.XXXXXX";
static int folder;

static void write_file(int at, const char *name, const char *text)
{
    const int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static int begin(void **state)
{
    (void)state;
    strcpy(top, "folder.XXXXXX");
    assert_non_null(mkdtemp(top));
    const int outside = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(outside, "served", 0700), 0);
    write_file(outside, "secret", "not for you");
    folder = openat(outside, "served", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder >= 0);
    close(outside);
    assert_int_equal(mkdirat(folder, "below", 0700), 0);
    assert_int_equal(mkdirat(folder, "..b", 0700), 0);
    write_file(folder, "a", "twelve chars");
    write_file(folder, "empty", "");
    write_file(folder, "...", "three dots");
    write_file(folder, ".d", "hidden");
    write_file(folder, "d.", "dee");
    write_file(folder, "below/b", "bee");
    write_file(folder, "..b/c", "sea");
    assert_int_equal(symlinkat("../secret", folder, "link"), 0);
    assert_int_equal(symlinkat("below", folder, "way"), 0);
    assert_int_equal(mkfifoat(folder, "pipe", 0600), 0);
    piece = 0;
    interrupted = broken = 0;
    return 0;
}

static int end(void **state)
{
    char command[100];
    close(folder);
    snprintf(command, sizeof(command), "rm -rf %s", top);
    assert_int_equal(system(command), 0);
    return catch_no_more(state);
}

/* ---- opening ---- */

static void expect_file(const char *path, const char *text)
{
    uint64_t length = 99;
    uint8_t octets[100];
    const char *why;
    const int file = msg_folder_open(folder, path, &length, &why);
    assert_true(file >= 0);
    assert_int_equal(length, strlen(text));
    assert_true(msg_folder_read(file, octets, length));
    assert_memory_equal(octets, text, length);
    assert_true(fcntl(file, F_GETFD) & FD_CLOEXEC);
    close(file);
}

static void expect_none(int at, const char *path, const char *reason)
{
    uint64_t length = 99;
    const char *why = NULL;
    assert_int_equal(msg_folder_open(at, path, &length, &why), -1);
    assert_string_equal(why, reason);
    assert_int_equal(length, 99);
}

static void what_is_below(void **state)
{
    (void)state;
    const unsigned before = descriptors();
    expect_file("a", "twelve chars");
    expect_file("empty", "");
    expect_file("...", "three dots");
    expect_file(".d", "hidden");
    expect_file("d.", "dee");
    expect_file("below/b", "bee");
    expect_file("below//b", "bee");
    expect_file("./below/./b", "bee");
    expect_file("..b/c", "sea");
    assert_int_equal(descriptors(), before);
}

static void what_is_not(void **state)
{
    (void)state;
    const unsigned before = descriptors();
    static const char *const out[] = {"",           "/",          "/etc/passwd",        "..",
                                      "../secret",  "below/../a", "below/../../secret", "below/..",
                                      "./../secret"};
    for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++)
        expect_none(folder, out[i], "not below the folder");
    expect_none(-1, "a", "no files are served");
    expect_none(-1, "..", "no files are served");
    expect_none(folder, "absent", "No such file or directory");
    expect_none(folder, "below/absent", "No such file or directory");
    expect_none(folder, "absent/a", "No such file or directory");
    expect_none(folder, "a/b", "Not a directory");
    expect_none(folder, "below", "not a file");
    expect_none(folder, "below/", "not a file");
    expect_none(folder, "pipe", "not a file"); /* and nobody waits for its writer */
    expect_none(folder, "link", "Too many levels of symbolic links");
    expect_none(folder, "way/b", "Not a directory");
    assert_int_equal(descriptors(), before);
}

/* ---- reading ---- */

static void all_of_it(void **state)
{
    (void)state;
    uint8_t octets[13] = {0};
    uint64_t length;
    const char *why;
    for (piece = 0; piece < 13; piece++) {
        const int file = msg_folder_open(folder, "a", &length, &why);
        interrupted = 2;
        memset(octets, 0, sizeof(octets));
        assert_true(msg_folder_read(file, octets, 12));
        assert_string_equal((char *)octets, "twelve chars");
        assert_true(msg_folder_read(file, octets, 0));
        assert_false(msg_folder_read(file, octets, 1)); /* the file is shorter */
        close(file);
    }
    const int file = msg_folder_open(folder, "a", &length, &why);
    assert_false(msg_folder_read(file, octets, 13));
    broken = 1;
    assert_false(msg_folder_read(file, octets, 1));
    assert_true(msg_folder_read(file, octets, 0));
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_below, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not, begin, end),
        cmocka_unit_test_setup_teardown(all_of_it, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
