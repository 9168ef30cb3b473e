/* SPDX-License-Identifier: BSD-3-Clause */
/* What is read from a program's last words. The texts are those of real reports, shortened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "target/crash.h"

static void expect(const char *log, const char *text)
{
    struct iw_crash c;
    char said[IW_CRASH_TEXT];
    assert_true(iw_crash_find(log, &c));
    iw_crash_text(&c, said);
    assert_string_equal(said, text);
}

static void test_address_sanitizer(void **state)
{
    (void)state;
    expect("listening on 127.0.0.1:13749\n"
           "=================================================================\n"
           "==26966==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x606000005520 at pc "
           "0x55ea91dd0d8c bp 0x7ffeaa92ebc0 sp 0x7ffeaa92ebb8\n"
           "WRITE of size 4 at 0x606000005520 thread T0\n"
           "    #0 0x7f749ee48060 in __interceptor_memcpy "
           "../../../../src/libsanitizer/sanitizer_common/"
           "sanitizer_common_interceptors.inc:827\n"
           "    #1 0x55ea91dd0d8b in note_gap /folder/untagged.c:39\n"
           "    #2 0x55ea91dd0d8b in take /folder/untagged.c:223:12\n",
           "AddressSanitizer: heap-buffer-overflow in note_gap (untagged.c:39)");
    expect(
        "==7==ERROR: AddressSanitizer: attempting double-free on 0x60c000000040 in thread T0:\n"
        "    #0 0x7f1 in __interceptor_free ../../src/libsanitizer/asan/asan_malloc_linux.cpp:52\n"
        "    #1 0x55e in complete /folder/untagged.c:150:5\n",
        "AddressSanitizer: double-free in complete (untagged.c:150)");
    expect("==7==ERROR: AddressSanitizer: negative-size-param: (size=-4)\n",
           "AddressSanitizer: negative-size-param");
    expect("==7==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000000 (pc 0x1 bp 0x2)\n"
           "    #0 0x55e in place (/folder/program+0x1234)\n",
           "AddressSanitizer: SEGV in place");
}

static void test_other_sanitizers(void **state)
{
    (void)state;
    expect("==4355==ERROR: LeakSanitizer: detected memory leaks\n\n"
           "Direct leak of 10 byte(s) in 1 object(s) allocated from:\n"
           "    #0 0x7f71b36b89cf in __interceptor_malloc "
           "../../../../src/libsanitizer/asan/asan_malloc_linux.cpp:69\n"
           "    #1 0x56349efb1166 in lose /folder/lk.c:2\n"
           "SUMMARY: AddressSanitizer: 10 byte(s) leaked in 1 allocation(s).\n",
           "LeakSanitizer: leak in lose (lk.c:2)");
    expect("WARNING: ThreadSanitizer: data race (pid=4319)\n"
           "  Read of size 4 at 0x5651671b2054 by main thread:\n"
           "    #0 main /folder/race.c:4 (race+0x1241)\n\n"
           "  Previous write of size 4 at 0x5651671b2054 by thread T1:\n"
           "    #0 racer /folder/race.c:3 (race+0x11e8)\n",
           "ThreadSanitizer: data race in main (race.c:4)");
    expect("==4511==WARNING: MemorySanitizer: use-of-uninitialized-value\n"
           "    #0 0x558f2b447451 in look /folder/ms.c:2:29\n",
           "MemorySanitizer: use-of-uninitialized-value in look (ms.c:2)");
}

static void test_undefined_behaviour(void **state)
{
    (void)state;
    expect(
        "../fuzz/read.c:141:14: runtime error: load of misaligned address 0x625000000103 for type "
        "'uint64_t', which requires 8 byte alignment\n0x625000000103: note: pointer points here\n"
        "    #0 0x560e515ebc5a in apply_atomic /folder/read.c:141\n",
        "UndefinedBehaviorSanitizer: load of misaligned address in apply_atomic (read.c:141)");
    expect("read.c:49:30: runtime error: index 16 out of bounds for type 'iovec [16]'\n",
           "UndefinedBehaviorSanitizer: index out of bounds (read.c:49)");
    expect(
        "a.c:3:5: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented\n",
        "UndefinedBehaviorSanitizer: signed integer overflow (a.c:3)");
    expect("a.c:3: runtime error: division by zero\n",
           "UndefinedBehaviorSanitizer: division by zero (a.c:3)");
}

static void test_valgrind(void **state)
{
    (void)state;
    expect("==4433== Invalid write of size 1\n"
           "==4433==    at 0x109159: memcpy (vg_replace_strmem.c:1046)\n"
           "==4433==    by 0x109180: spoil (vg.c:2)\n",
           "valgrind: Invalid write in spoil (vg.c:2)");
    expect("==4433== Conditional jump or move depends on uninitialised value(s)\n"
           "==4433==    at 0x109159: look (vg.c:9)\n",
           "valgrind: Conditional jump or move depends on uninitialised value in look (vg.c:9)");
}

static void test_kernel(void **state)
{
    (void)state;
    expect("[   12.3] BUG: KASAN: slab-out-of-bounds in siw_proc_send+0x1a/0x200 [siw]\n",
           "KASAN: slab-out-of-bounds in siw_proc_send");
}

static void test_assertion_and_library(void **state)
{
    (void)state;
    expect("peer: ../folder/startup.c:41: check_revision: Assertion `revision <= 2' failed.\n",
           "assertion: revision <= 2 in check_revision (startup.c:41)");
    expect("*** stack smashing detected ***: terminated\n", "C library: stack smashing detected");
    expect("double free or corruption (out)\n", "C library: double free or corruption (out)");
}

static void test_none(void **state)
{
    struct iw_crash c;
    (void)state;
    assert_false(iw_crash_find("", &c));
    assert_false(iw_crash_find("listening on 127.0.0.1:1\n#0 0x1 in main a.c:1\n", &c));
    assert_false(iw_crash_find("SUMMARY: AddressSanitizer: heap-buffer-overflow a.c:1 in f", &c));
    assert_false(iw_crash_find("==1==WARNING: AddressSanitizer failed to allocate 0x10 bytes", &c));
    assert_false(iw_crash_find("== x == Invalid read of size 1\n", &c));
}

/* A log may hold several; frames after the first of the program's own are another function's. */
static void test_several(void **state)
{
    struct iw_crash_reader r = {.begun = false};
    struct iw_crash c;
    char said[IW_CRASH_TEXT];
    (void)state;
    assert_false(iw_crash_line(&r, "a.c:1:2: runtime error: division by zero\n", &c));
    assert_false(iw_crash_line(&r, "    #0 0x1 in one a.c:1:2\n", &c));
    assert_false(iw_crash_line(&r, "    #1 0x1 in main a.c:9:2\n", &c));
    assert_true(iw_crash_line(&r, "b.c:1:2: runtime error: division by zero\n", &c));
    iw_crash_text(&c, said);
    assert_string_equal(said, "UndefinedBehaviorSanitizer: division by zero in one (a.c:1)");
    assert_true(iw_crash_end(&r, &c));
    iw_crash_text(&c, said);
    assert_string_equal(said, "UndefinedBehaviorSanitizer: division by zero (b.c:1)");
    assert_false(iw_crash_end(&r, &c));
    assert_true(iw_crash_begins("b.c:1:2: runtime error: x"));
    assert_false(iw_crash_begins("    #0 0x1 in one a.c:1:2\n"));
}

/* Of the stack of the fault alone, and of the program's own functions. */
static void test_callers(void **state)
{
    struct iw_crash c;
    char said[IW_CRASH_TEXT];
    (void)state;
    assert_true(iw_crash_find("==1==ERROR: AddressSanitizer: ABRT on unknown address 0x1 (pc 0x2)\n"
                              "    #0 0x1 in __GI_raise ../sysdeps/raise.c:51\n"
                              "    #1 0x1 in leaf /src/leaf.c:7:3\n"
                              "    #2 0x2 in loop /src/loop.c:8\n"
                              "    #3 0x3 in memcpy (/lib/libc.so.6+0x1)\n"
                              "    #4 0x3 in serve /src/loop.c:9\n"
                              "    #5 0x3 in turn /src/loop.c:10\n"
                              "    #6 0x3 in main /src/main.c:11\n"
                              "\n"
                              "allocated by:\n"
                              "    #0 0x3 in other /src/main.c:11\n",
                              &c));
    iw_crash_text(&c, said);
    assert_string_equal(said, "AddressSanitizer: ABRT in leaf (leaf.c:7)");
    assert_string_equal(c.callers, "loop, serve, turn");
    assert_true(iw_crash_find("==1==ERROR: LeakSanitizer: detected memory leaks\n"
                              "    #0 0x1 in keep a.c:7\n"
                              "SUMMARY: x\n"
                              "    #1 0x1 in main a.c:9\n",
                              &c));
    assert_string_equal(c.callers, "");
}

/* Nothing in a log is trusted. */
static void test_long_lines(void **state)
{
    static char log[8192] = "==1==ERROR: AddressSanitizer: ";
    struct iw_crash c;
    char said[IW_CRASH_TEXT];
    (void)state;
    memset(log + strlen(log), 'x', sizeof(log) - strlen(log) - 1);
    assert_true(iw_crash_find(log, &c));
    iw_crash_text(&c, said);
    assert_int_equal(strlen(c.kind), sizeof(c.kind) - 1);
}

static void kind_and_function_distinguish_causes(void **state)
{
    static const struct {
        const char *text, *cause;
    } rows[] = {
        {"AddressSanitizer: heap-buffer-overflow in parse (a.c:12)",
         "AddressSanitizer: heap-buffer-overflow in parse"},
        {"AddressSanitizer: SEGV in parse", "AddressSanitizer: SEGV in parse"},
        {"UndefinedBehaviorSanitizer: shift exponent is odd (a.c:9)",
         "UndefinedBehaviorSanitizer: shift exponent is odd (a.c:9)"},
        {"assertion: f (x) failed in parse (a.c:9)", "assertion: f (x) failed in parse"},
        {"valgrind: a call (of nothing)", "valgrind: a call (of nothing)"},
        {"in parse (a.c:9)", "in parse (a.c:9)"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char cause[IW_CRASH_TEXT];
        iw_crash_cause(rows[i].text, cause);
        assert_string_equal(cause, rows[i].cause);
    }
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
        cmocka_unit_test(test_address_sanitizer),
        cmocka_unit_test(test_other_sanitizers),
        cmocka_unit_test(test_undefined_behaviour),
        cmocka_unit_test(test_valgrind),
        cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_assertion_and_library),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_callers),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(kind_and_function_distinguish_causes),
        cmocka_unit_test(each_kind_of_report_is_known),
        cmocka_unit_test(what_only_looks_like_a_report_is_none),
        cmocka_unit_test(frames_that_are_not_the_programs_are_passed_by),
        cmocka_unit_test(frames_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
