/* SPDX-License-Identifier: BSD-3-Clause */
/* What the judge of a process writes about octets that its tap is given. */
#include "judge/judge.h"

#include <dirent.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "iwarp/capture.h"
#include "scratch.h"

enum { LARGE = 1 << 20 };

/* CRCs off, revision 1. */
static const char request[] = "MPA ID Req Frame\x00\x01\x00\x00";
static const char reply[] = "MPA ID Rep Frame\x00\x01\x00\x00";
/* A Send of one octet, MSN 1, and one of two octets that says MSN 3. CRC fields of zeros. */
static const uint8_t send_1[] = {0, 19, 0x41, 0x43, 0, 0, 0,   0, 0, 0, 0, 0, 0, 0,
                                 0, 1,  0,    0,    0, 0, 'x', 0, 0, 0, 0, 0, 0, 0};
static const uint8_t send_3[] = {0, 20, 0x41, 0x43, 0, 0, 0,   0,   0, 0, 0, 0, 0, 0,
                                 0, 3,  0,    0,    0, 0, 'y', 'z', 0, 0, 0, 0, 0, 0};

static const char *folder;
static unsigned number; /* of the judge: each has files of its own */

static struct sockaddr_storage address(const char *text, uint16_t port)
{
    struct sockaddr_storage s = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&s;
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    v4->sin_addr.s_addr = htonl(0xc0000200u | (uint32_t)(text[0] - '0'));
    return s;
}

static void *open_connection(const struct iw_tap *tap, bool active)
{
    const struct sockaddr_storage ours = address("1", 4000), theirs = address("2", 5000);
    return tap->opened(tap->context, &ours, &theirs, active);
}

static void give(const struct iw_tap *tap, void *c, bool sent, const void *octets, size_t length)
{
    /* In two pieces, and more in the second than counts. */
    uint8_t copy[128];
    assert_true(length + 4 <= sizeof(copy));
    memcpy(copy, octets, length);
    memset(copy + length, 0xee, 4);
    const struct iw_iov pieces[] = {{copy, 3}, {copy + 3, length + 1}};
    tap->octets(c, sent, pieces, 2, length);
}

static void begin_mpa(const struct iw_tap *tap, void *c, bool active)
{
    give(tap, c, active, request, sizeof(request) - 1);
    give(tap, c, !active, reply, sizeof(reply) - 1);
}

static char *path_of(const char *ending)
{
    char name[100];
    snprintf(name, sizeof(name), "%ld-%u.%s", (long)getpid(), number, ending);
    return strdup(scratch_path(name));
}

/* What this judge has written. */
static char *written(void)
{
    size_t length;
    char *path = path_of("jsonl"), *text = scratch_read(path, &length);
    free(path);
    return text;
}

/* The lines of that: `count` of them. */
static json_t *lines(size_t count)
{
    char *text = written(), *next = text;
    json_t *all = json_array();
    for (char *line = strsep(&next, "\n"); next != NULL; line = strsep(&next, "\n"))
        assert_int_equal(json_array_append_new(all, json_loads(line, 0, NULL)), 0);
    assert_int_equal(json_array_size(all), count);
    free(text);
    return all;
}

static const char *text_at(const json_t *all, size_t line, const char *key)
{
    const char *text = json_string_value(json_object_get(json_array_get(all, line), key));
    return text != NULL ? text : "";
}

static json_int_t number_at(const json_t *all, size_t line, const char *key)
{
    return json_integer_value(json_object_get(json_array_get(all, line), key));
}

static struct iw_judge *judge(uint64_t capture)
{
    struct iw_judge *j = iw_judge_create(folder, capture);
    assert_non_null(j);
    return j;
}

static void drop(struct iw_judge *j)
{
    iw_judge_finish(j);
    free(j);
    free(path_of("jsonl")); /* scratch_remove() takes it */
    free(path_of("pcapng"));
    number++;
}

static void a_clean_connection(void **state)
{
    struct iw_judge *j = judge(0);
    const struct iw_tap *tap = iw_judge_tap(j);
    void *c = open_connection(tap, true);
    (void)state;
    begin_mpa(tap, c, true);
    give(tap, c, true, send_1, sizeof(send_1));
    give(tap, c, false, send_1, sizeof(send_1));
    tap->ended(c, true, false);
    tap->ended(c, false, false);
    tap->closed(c);
    json_t *all = lines(4);
    assert_string_equal(text_at(all, 0, "type"), "process");
    assert_int_equal(number_at(all, 0, "pid"), getpid());
    assert_string_equal(text_at(all, 1, "type"), "connection");
    assert_string_equal(text_at(all, 1, "local"), "192.0.2.1:4000");
    assert_string_equal(text_at(all, 1, "remote"), "192.0.2.2:5000");
    assert_string_equal(text_at(all, 2, "type"), "agreed");
    assert_string_equal(text_at(all, 3, "type"), "closed");
    char *us = json_dumps(json_object_get(json_array_get(all, 3), "us"), JSON_SORT_KEYS);
    assert_string_equal(us, "{\"messages\": 1, \"octets\": 48}");
    free(us);
    json_decref(all);
    drop(j);
}

/* The peer, and then the process itself, counts wrongly. */
static void who_broke_it(bool ours)
{
    struct iw_judge *j = judge(LARGE);
    const struct iw_tap *tap = iw_judge_tap(j);
    void *c = open_connection(tap, false);
    begin_mpa(tap, c, false);
    if (ours) /* a responder waits for the first FPDU of the Initiator */
        give(tap, c, false, send_1, sizeof(send_1));
    give(tap, c, ours, send_3, sizeof(send_3));
    json_t *all = lines(4);
    assert_string_equal(text_at(all, 3, "type"), "finding");
    assert_string_equal(text_at(all, 3, "check"), "ddp-msn");
    assert_string_equal(text_at(all, 3, "by"), ours ? "us" : "peer");
    assert_string_equal(text_at(all, 3, "side"), ours ? "responder" : "initiator");
    assert_string_equal(text_at(all, 3, "from"), ours ? "192.0.2.1:4000" : "192.0.2.2:5000");
    assert_int_equal(number_at(all, 3, "octet"), 20 + 12);
    assert_int_equal(number_at(all, 3, "connection"), 0);
    assert_true(number_at(all, 3, "frame") > 0);
    json_decref(all);
    tap->closed(c);
    drop(j);
}

static void the_peer_breaks_a_rule(void **state)
{
    (void)state;
    who_broke_it(false);
}

static void the_process_breaks_a_rule(void **state)
{
    (void)state;
    who_broke_it(true);
}

static int count_frames(const char *path, uint64_t *octets)
{
    char error[IW_CAPTURE_ERROR];
    struct iw_capture *in = iw_capture_open(path, error);
    struct iw_frame frame;
    int count = 0;
    *octets = 0;
    assert_non_null(in);
    for (; iw_capture_next(in, &frame, error) == 1; count++)
        *octets += frame.length;
    iw_capture_close(in);
    return count;
}

static void the_capture_has_all_octets(void **state)
{
    struct iw_judge *j = judge(LARGE);
    const struct iw_tap *tap = iw_judge_tap(j);
    void *c = open_connection(tap, true);
    char *path = path_of("pcapng");
    uint64_t octets;
    (void)state;
    begin_mpa(tap, c, true);
    give(tap, c, true, send_1, sizeof(send_1));
    iw_judge_settle(j); /* what a child of fork would write once more is in the file */
    const int before = count_frames(path, &octets);
    assert_true(before >= 3 + 2 * 3);
    tap->ended(c, true, false);
    tap->ended(c, false, true);
    tap->closed(c);
    iw_judge_finish(j);
    assert_true(count_frames(path, &octets) >= before + 2);
    json_t *all = lines(5);
    assert_string_equal(text_at(all, 4, "type"), "end");
    assert_true(json_is_true(json_object_get(json_array_get(all, 4), "capture_whole")));
    json_decref(all);
    free(path);
    drop(j);
}

static void a_capture_is_bounded(void **state)
{
    struct iw_judge *j = judge(1200);
    const struct iw_tap *tap = iw_judge_tap(j);
    void *c = open_connection(tap, true), *late;
    char *path = path_of("pcapng");
    uint64_t octets;
    (void)state;
    begin_mpa(tap, c, true);
    for (int i = 0; i < 100; i++)
        give(tap, c, true, send_1, sizeof(send_1)); /* from the second on a finding each: MSN 1 */
    late = open_connection(tap, true);
    assert_non_null(late);
    tap->closed(late);
    tap->closed(c);
    iw_judge_finish(j);
    assert_true(count_frames(path, &octets) > 0);
    assert_true(octets <= 1200);
    free(path);
    char *text = written();
    assert_non_null(strstr(text, "\"capture_whole\":false"));
    free(text);
    drop(j);
}

static void findings_are_bounded(void **state)
{
    struct iw_judge *j = judge(0);
    const struct iw_tap *tap = iw_judge_tap(j);
    void *c = open_connection(tap, true);
    (void)state;
    begin_mpa(tap, c, true);
    give(tap, c, true, send_1, sizeof(send_1));
    for (unsigned msn = 1; msn <= IW_JUDGE_FINDINGS + 5; msn++) {
        uint8_t reserved[sizeof(send_1)];
        memcpy(reserved, send_1, sizeof(send_1));
        reserved[7] = 1;
        reserved[14] = (uint8_t)(msn >> 8);
        reserved[15] = (uint8_t)msn;
        give(tap, c, false, reserved, sizeof(reserved));
    }
    tap->closed(c);
    iw_judge_finish(j);
    char *text = written();
    unsigned found = 0;
    for (const char *at = text; (at = strstr(at, "\"finding\"")) != NULL; at++)
        found++;
    assert_int_equal(found, IW_JUDGE_FINDINGS);
    assert_non_null(strstr(text, "\"unwritten\":5"));
    free(text);
    drop(j);
}

static void a_judge_that_is_over_sees_nothing(void **state)
{
    struct iw_judge *j = judge(0);
    const struct iw_tap *tap = iw_judge_tap(j);
    void *c = open_connection(tap, true);
    (void)state;
    begin_mpa(tap, c, true);
    iw_judge_finish(j);
    assert_null(open_connection(tap, true));
    give(tap, c, false, send_3, sizeof(send_3));
    tap->ended(c, false, false);
    tap->closed(c);
    json_t *all = lines(5); /* process, connection, agreed, closed, end */
    assert_string_equal(text_at(all, 4, "type"), "end");
    json_decref(all);
    drop(j);
}

static void a_folder_that_is_not_there(void **state)
{
    (void)state;
    assert_null(iw_judge_create(scratch_path("nowhere"), 0));
}

static int make_folder(void **state)
{
    char *text;
    if (scratch_make(state) != 0)
        return -1;
    text = strdup(scratch_path("here"));
    *strrchr(text, '/') = '\0';
    folder = text;
    return 0;
}

static int remove_folder(void **state)
{
    free((char *)(uintptr_t)folder);
    return scratch_remove(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_connection),
        cmocka_unit_test(the_peer_breaks_a_rule),
        cmocka_unit_test(the_process_breaks_a_rule),
        cmocka_unit_test(the_capture_has_all_octets),
        cmocka_unit_test(a_capture_is_bounded),
        cmocka_unit_test(findings_are_bounded),
        cmocka_unit_test(a_judge_that_is_over_sees_nothing),
        cmocka_unit_test(a_folder_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
