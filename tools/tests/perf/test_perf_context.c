/* SPDX-License-Identifier: BSD-3-Clause */
/* Where and when a run of iwarp-perf was made, on a host of the test's. */
#include "perf.h"

#include <sys/utsname.h>
#include <time.h>

#include "../caught.h"

/* ---- the host ---- */

static const char *cpuinfo, *words; /* NULL: there is no such file */
static size_t words_length;
static time_t now;
static bool nameless, timeless;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
    if (strcmp(path, "/proc/cpuinfo") == 0)
        return cpuinfo == NULL ? NULL : fmemopen((void *)(uintptr_t)cpuinfo, strlen(cpuinfo), mode);
    if (strcmp(path, "/proc/self/cmdline") == 0)
        return words == NULL ? NULL : fmemopen((void *)(uintptr_t)words, words_length, mode);
    return __real_fopen(path, mode);
}

int __wrap_uname(struct utsname *name);
int __wrap_uname(struct utsname *name)
{
    memset(name, 0, sizeof(*name));
    strcpy(name->sysname, "Linux");
    strcpy(name->nodename, "bench7");
    strcpy(name->release, "6.1.0-9");
    strcpy(name->version, "unused");
    strcpy(name->machine, "riscv64");
    return nameless ? -1 : 0;
}

time_t __wrap_time(time_t *out);
time_t __wrap_time(time_t *out)
{
    (void)out;
    return now;
}

struct tm *__real_gmtime_r(const time_t *at, struct tm *out);
struct tm *__wrap_gmtime_r(const time_t *at, struct tm *out);
struct tm *__wrap_gmtime_r(const time_t *at, struct tm *out)
{
    return timeless ? NULL : __real_gmtime_r(at, out);
}

unsigned __wrap_iw_cpus(void);
unsigned __wrap_iw_cpus(void)
{
    return 23;
}

static struct perf_context context;

static void look(void)
{
    memset(&context, 'x', sizeof(context));
    perf_context_read(&context);
}

static int begin(void **state)
{
    (void)state;
    cpuinfo = words = NULL;
    words_length = 0;
    now = 1700000000;
    nameless = timeless = false;
    return 0;
}

/* ---- tests ---- */

static void test_host_and_time(void **state)
{
    (void)state;
    look();
    assert_string_equal(context.host, "bench7");
    assert_string_equal(context.kernel, "Linux 6.1.0-9, riscv64");
    assert_string_equal(context.cpu, "riscv64"); /* Linux does not name it */
    assert_string_equal(context.began, "2023-11-14T22:13:20Z");
    assert_string_equal(context.command, "");
    assert_int_equal(context.cpus, 23);
    nameless = timeless = true;
    look();
    assert_string_equal(context.host, "");
    assert_string_equal(context.kernel, "");
    assert_string_equal(context.cpu, "");
    assert_string_equal(context.began, "");
}

static void test_processors(void **state)
{
    char text[300];
    (void)state;
    cpuinfo =
        "processor\t: 0\nmodel\t\t: 6\nmodel name\t: Fast CPU: @ 3 GHz\nmodel name\t: Other\n";
    look();
    assert_string_equal(context.cpu, "Fast CPU: @ 3 GHz");
    cpuinfo = "model name Slow\nhart isa\t: rv64\n"; /* no name, and none of a model */
    look();
    assert_string_equal(context.cpu, "riscv64");
    cpuinfo = "model name : Last";
    look();
    assert_string_equal(context.cpu, "Last");
    /* One that is too long is cut. */
    memset(text, 'c', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memcpy(text, "model name\t: ", 13);
    cpuinfo = text;
    look();
    assert_int_equal(strlen(context.cpu), sizeof(context.cpu) - 1);
    assert_int_equal(strspn(context.cpu, "c"), sizeof(context.cpu) - 1);
}

static void test_command_lines(void **state)
{
    static const char some[] = "iwarp-perf\0local\0--json\0a b\0it's";
    static char many[5000];
    (void)state;
    words = some;
    words_length = sizeof(some);
    look();
    assert_string_equal(context.command, "iwarp-perf local --json 'a b' 'it'\\''s'");
    words = "one";
    words_length = 4;
    look();
    assert_string_equal(context.command, "one");
    /* One that is too long is cut, wherever that is. */
    memset(many, 'w', sizeof(many));
    words = many;
    for (size_t length = 1022; length <= 1026; length++) {
        many[length] = '\0';
        words_length = length + 1;
        look();
        assert_int_equal(strlen(context.command), length < 1023 ? length : 1023);
        many[length] = 'w';
    }
    for (size_t i = 2; i < sizeof(many); i += 3)
        many[i] = '\0';
    words_length = sizeof(many);
    look();
    assert_int_equal(strlen(context.command), 1023);
    assert_memory_equal(context.command, "ww ww ww ww", 11);
    assert_memory_equal(context.command + 1012, "w ww ww ww ", 11);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, catch_no_more)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_host_and_time),
        TEST(test_processors),
        TEST(test_command_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
