/* SPDX-License-Identifier: BSD-3-Clause */
/* What a peer's log says of faults, told apart by cause. */
#include "live_support.h"

#include <stdio.h>

#include "reports.h"

#define OVERFLOW_AT(line)                                                                          \
    "==12==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60 at pc 0x1\n"              \
    "    #0 0x1 in memcpy ../libsanitizer/x.inc:827\n"                                             \
    "    #1 0x2 in parse /src/peer/parse.c:" line "\n"                                             \
    "    #2 0x3 in main /src/peer/main.c:1\n\n"
#define LEAK                                                                                       \
    "==12==ERROR: LeakSanitizer: detected memory leaks\n\n"                                        \
    "Direct leak of 8 byte(s) in 1 object(s) allocated from:\n"                                    \
    "    #0 0x1 in __interceptor_malloc ../libsanitizer/x.cpp:145\n"                               \
    "    #1 0x2 in begin /src/peer/message.c:9\n"
#define ASSERTION "peer: /src/peer/check.c:60: check: Assertion `n < 3' failed.\n"
#define ABORT                                                                                      \
    "==12==ERROR: AddressSanitizer: ABRT on unknown address 0x1 (pc 0x2)\n"                        \
    "    #0 0x1 in raise (libc.so.6+0x1)\n"                                                        \
    "    #1 0x2 in spin /src/peer/loop.c:7\n"

static char *path;

static void append(const char *text)
{
    FILE *f = fopen(path, "ae");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int begin(void **state)
{
    (void)state;
    path = support_file(support_folder(), "log", "listening\n");
    return 0;
}

static int end(void **state)
{
    free(path);
    return support_clean(state);
}

static void is(const struct iw_hunt_reports *r, size_t i, const char *cause, const char *text)
{
    assert_true(i < r->n);
    assert_string_equal(r->list[i].cause, cause);
    assert_string_equal(r->list[i].text, text);
}

static void all_of_a_log(void **state)
{
    struct iw_hunt_reports r;

    (void)state;
    append(OVERFLOW_AT("9"));
    iw_hunt_reports_begin(&r, path); /* that is not of this life */
    append("served\n" OVERFLOW_AT("12") "served\n" LEAK);
    iw_hunt_reports_read(&r, path);
    assert_int_equal(r.n, 2);
    is(&r, 0, "AddressSanitizer: heap-buffer-overflow in parse",
       "AddressSanitizer: heap-buffer-overflow in parse (parse.c:12)");
    is(&r, 1, "LeakSanitizer: leak in begin", "LeakSanitizer: leak in begin (message.c:9)");
    assert_int_equal(r.last, 1);
    iw_hunt_reports_read(&r, path);
    assert_int_equal(r.n, 2);
    append(OVERFLOW_AT("14")); /* the same cause at another line */
    iw_hunt_reports_read(&r, path);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.last, 0);
    assert_non_null(iw_hunt_reports_find(&r, "AddressSanitizer: heap-buffer-overflow in parse"));
    assert_null(iw_hunt_reports_find(&r, "AddressSanitizer: heap-buffer-overflow in main"));
}

/* A program that aborts because of what it has reported reports that once more. */
static void an_abort(void **state)
{
    struct iw_hunt_reports r;

    (void)state;
    iw_hunt_reports_begin(&r, path);
    append(ABORT);
    iw_hunt_reports_read(&r, path);
    assert_int_equal(r.n, 1);
    is(&r, 0, "AddressSanitizer: ABRT in spin", "AddressSanitizer: ABRT in spin (loop.c:7)");
    iw_hunt_reports_begin(&r, path);
    append(ASSERTION ABORT);
    iw_hunt_reports_read(&r, path);
    assert_int_equal(r.n, 1);
    is(&r, 0, "assertion: n < 3 in check", "assertion: n < 3 in check (check.c:60)");
}

static void no_more_than_there_is_room_for(void **state)
{
    struct iw_hunt_reports r;
    char line[128];

    (void)state;
    iw_hunt_reports_begin(&r, path);
    for (int i = 0; i <= IW_HUNT_REPORTS; i++) {
        snprintf(line, sizeof(line), "a.c:%d:1: runtime error: odd \xff\n", i + 1);
        append(line);
    }
    iw_hunt_reports_read(&r, path);
    assert_int_equal(r.n, IW_HUNT_REPORTS);
    is(&r, 7, "UndefinedBehaviorSanitizer: odd \xef\xbf\xbd (a.c:8)",
       "UndefinedBehaviorSanitizer: odd \xef\xbf\xbd (a.c:8)");
}

/* Octets that are no text become three each; what is too long ends before one of them. */
static void a_long_cause_is_cut_between_characters(void **state)
{
    static const char before[] = "UndefinedBehaviorSanitizer: ";
    struct iw_hunt_reports r;
    char line[128] = "a.c:1:1: runtime error: ";
    size_t length = strlen(line), n = strlen(before);

    (void)state;
    memset(line + length, 0xff, 90);
    strcpy(line + length + 90, "\n");
    iw_hunt_reports_begin(&r, path);
    append(line);
    iw_hunt_reports_read(&r, path);
    assert_int_equal(r.n, 1);
    assert_memory_equal(r.list[0].cause, before, n);
    size_t room = IW_HUNT_CAUSE - 1 - n;
    assert_int_not_equal(room % 3, 0); /* or there is nothing to see here */
    assert_int_equal(strlen(r.list[0].cause), n + room - room % 3);
    for (size_t i = 0; i < room / 3; i++)
        assert_memory_equal(r.list[0].cause + n + 3 * i, "\xef\xbf\xbd", 3);
}

static void no_log(void **state)
{
    struct iw_hunt_reports r;

    (void)state;
    iw_hunt_reports_begin(&r, NULL);
    iw_hunt_reports_read(&r, NULL);
    assert_int_equal(r.n, 0);
    iw_hunt_reports_begin(&r, "/nowhere/log");
    iw_hunt_reports_read(&r, "/nowhere/log");
    assert_int_equal(r.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_of_a_log, begin, end),
        cmocka_unit_test_setup_teardown(an_abort, begin, end),
        cmocka_unit_test_setup_teardown(no_more_than_there_is_room_for, begin, end),
        cmocka_unit_test_setup_teardown(a_long_cause_is_cut_between_characters, begin, end),
        cmocka_unit_test_setup_teardown(no_log, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
