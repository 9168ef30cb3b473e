/* SPDX-License-Identifier: BSD-3-Clause */
/* Each kind of report that a program's last words may be, each kind of frame, and what is neither.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "target/crash.h"

static void expect(const char *log, const char *text)
{
    struct iw_crash c;
    char said[IW_CRASH_TEXT];
    assert_true(iw_crash_find(log, &c));
    iw_crash_text(&c, said);
    assert_string_equal(said, text);
}

/* Each word of a report, the first and the last of each list. */
static void each_kind_of_report_is_known(void **state)
{
    static const char *const rows[][2] = {
        {"==1==ERROR: AddressSanitizer: x on y", "AddressSanitizer: x"},
        {"==1==ERROR: LeakSanitizer: detected memory leaks", "LeakSanitizer: leak"},
        {"==1==WARNING: MemorySanitizer: use-of-uninitialized-value",
         "MemorySanitizer: use-of-uninitialized-value"},
        {"WARNING: ThreadSanitizer: data race (pid=1)", "ThreadSanitizer: data race"},
        {"==1==ERROR: AddressSanitizer: attempting free on address", "AddressSanitizer: free"},
        {"==1== Invalid read of size 1", "valgrind: Invalid read"},
        {"==1== Invalid write of size 1", "valgrind: Invalid write"},
        {"==1== Invalid free() / delete", "valgrind: Invalid free()"},
        {"==1== Mismatched free() / delete", "valgrind: Mismatched free()"},
        {"==1== Conditional jump or move depends on uninitialised value(s)",
         "valgrind: Conditional jump or move depends on uninitialised value"},
        {"==1== Use of uninitialised value of size 8", "valgrind: Use of uninitialised value"},
        {"==1== Source and destination overlap in memcpy",
         "valgrind: Source and destination overlap"},
        {"==1== Jump to the invalid address stated on the next line",
         "valgrind: Jump to the invalid address"},
        {"==1== Process terminating with default action of signal 11 (SIGSEGV)",
         "valgrind: Process terminating with default action of signal"},
        {"*** stack smashing detected ***: terminated", "C library: stack smashing detected"},
        {"*** buffer overflow detected ***: terminated", "C library: buffer overflow detected"},
        {"double free or corruption (!prev)", "C library: double free or corruption (!prev)"},
        {"free(): double free detected in tcache 2", "C library: double free detected in tcache 2"},
        {"free(): invalid pointer", "C library: free(): invalid pointer"},
        {"malloc(): corrupted top size", "C library: malloc(): corrupted top size"},
        {"realloc(): invalid next size", "C library: realloc(): invalid next size"},
        {"corrupted size vs. prev_size", "C library: corrupted size vs. prev_size"},
        {"munmap_chunk(): invalid pointer", "C library: munmap_chunk(): invalid pointer"},
        {"BUG: KASAN: use-after-free", "KASAN: use-after-free"},
        {"BUG: KASAN: use-after-free in f", "KASAN: use-after-free in f"},
        {"/a/b.c:1:2: runtime error: division by zero",
         "UndefinedBehaviorSanitizer: division by zero (b.c:1)"},
        {"b.c:1: runtime error: division by zero",
         "UndefinedBehaviorSanitizer: division by zero (b.c:1)"},
        {"b.c: runtime error: division by zero",
         "UndefinedBehaviorSanitizer: division by zero (b.c)"},
        {"b.c:1:2: runtime error: index 3 out of bounds for type 'int [2]'",
         "UndefinedBehaviorSanitizer: index out of bounds (b.c:1)"},
        {"b.c:1:2: runtime error: shift exponent 32 is too large, 7",
         "UndefinedBehaviorSanitizer: shift exponent is too large (b.c:1)"},
        {"p: a/b.c:3: f: Assertion `x > 1' failed.", "assertion: x > 1 in f (b.c:3)"},
        {"b.c:3: f: Assertion `x' failed.", "assertion: x in f (b.c:3)"},
        {"f: Assertion `x' failed.", "assertion: x in f"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        expect(rows[i][0], rows[i][1]);
        assert_true(iw_crash_begins(rows[i][0]));
    }
}

static void what_only_looks_like_a_report_is_none(void **state)
{
    static const char *const lines[] = {
        "AddressSanitizer: x",
        "==1==ERROR: AddressSanitizer x",
        "==1==ERROR: Sanitizer: x",
        "= 1== Invalid read of size 1",
        "==1 == Invalid read of size 1",
        "==1==Invalid read of size 1",
        "==1== Invalid",
        "KASAN: use-after-free",
        "b.c:1:2: runtime error",
        "Assertion `x' failed.",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        if (iw_crash_begins(lines[i]))
            fail_msg("%s", lines[i]);
}

#define FAULT "==1==ERROR: AddressSanitizer: x on y\n"

/* Frames of sanitizers and of the C library are not the program's; others are. */
static void frames_that_are_not_the_programs_are_passed_by(void **state)
{
    static const char *const own[] = {
        "__interceptor_strcpy a.c:1",
        "__asan_memcpy a.c:1",
        "__sanitizer_x a.c:1",
        "__ubsan_handle a.c:1",
        "__lsan_x a.c:1",
        "__msan_x a.c:1",
        "__tsan_x a.c:1",
        "__GI_raise a.c:1",
        "__assert_fail a.c:1",
        "operator a.c:1",
        "memcpy a.c:1",
        "strlen a.c:1",
        "free a.c:1",
        "abort a.c:1",
        "?? a.c:1",
        "void a.c:1",
        "f /x/libsanitizer/a.c:1",
        "f /x/sanitizer_common/a.c:1",
        "f compiler-rt/a.c:1",
        "f ../sysdeps/raise.c:1",
        "f (/lib/libc.so.6+0x1)",
        "f (/lib/libc-2.31.so+0x1)",
        "f vg_replace_malloc.c:1",
        "f ../csu/libc-start.c:1",
        "f libasan.c:1",
        "f libubsan",
    };
    static const char *const others[] = {"memcpy_all a.c:1", "my_free a.c:1", "fre a.c:1",
                                         "asan a.c:1",       "f a/libc.c:1",  "f csu/a.c:1"};
    char log[512], said[IW_CRASH_TEXT];
    struct iw_crash c;
    (void)state;
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
        snprintf(log, sizeof(log), FAULT "    #0 0x1 in %s\n    #1 0x1 in mine b.c:2\n", own[i]);
        expect(log, "AddressSanitizer: x in mine (b.c:2)");
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        snprintf(log, sizeof(log), FAULT "    #0 0x1 in %s\n    #1 0x1 in mine b.c:2\n", others[i]);
        assert_true(iw_crash_find(log, &c));
        iw_crash_text(&c, said);
        assert_null(strstr(said, "mine"));
        assert_string_equal(c.callers, "mine");
    }
}

/* How frames are written: with an address or not, by valgrind; and where their function is. */
static void frames_are_read(void **state)
{
    static const char *const rows[][2] = {
        {"    #0 0x1 in f a.c:12:3\n", "AddressSanitizer: x in f (a.c:12)"},
        {"\t#12 0x1 in f /a/b/a.c:12\n", "AddressSanitizer: x in f (a.c:12)"},
        {"    #0 f a.c:12 (program+0x1)\n", "AddressSanitizer: x in f (a.c:12)"},
        {"    #0 0x1 in f (program+0x1)\n", "AddressSanitizer: x in f"},
        {"    #0 0x1 in f\n", "AddressSanitizer: x in f"},
        {"    #0 0x1 in f a.c\n", "AddressSanitizer: x in f"},
        {"    #0 0x1 in f a.c:\n", "AddressSanitizer: x in f"},
        {"    #0 0x1 in f a.c:x\n", "AddressSanitizer: x in f"},
        {"    #0 0x1 in f a.c:1x\n", "AddressSanitizer: x in f (a.c:1)"},
        {"==1==    at 0x4: f (a.c:12)\n", "AddressSanitizer: x in f (a.c:12)"},
        {"==1==    by 0x4: f (in /bin/p)\n", "AddressSanitizer: x in f"},
        /* No frames. */
        {"    #0 0x1\n", "AddressSanitizer: x"},
        {"    # 0x1 in f a.c:12\n", "AddressSanitizer: x"},
        {"    0x1 in f a.c:12\n", "AddressSanitizer: x"},
        {"==1==    to 0x4: f (a.c:12)\n", "AddressSanitizer: x"},
        {"==1==    at 0x4 f (a.c:12)\n", "AddressSanitizer: x"},
        {"==1 at 0x4: f (a.c:12)\n", "AddressSanitizer: x"},
        {"", "AddressSanitizer: x"},
    };
    char log[256];
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(log, sizeof(log), FAULT "%s", rows[i][0]);
        expect(log, rows[i][1]);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_report_is_known),
        cmocka_unit_test(what_only_looks_like_a_report_is_none),
        cmocka_unit_test(frames_that_are_not_the_programs_are_passed_by),
        cmocka_unit_test(frames_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
