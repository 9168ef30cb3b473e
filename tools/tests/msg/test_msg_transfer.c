/* SPDX-License-Identifier: BSD-3-Clause */
/* Files on their way to others: parts of a MiB, four of a file at a time, 64 files at most. */
#include "message_stage.h"
#include "msg_exchange.h"
#include "msg_transfer.h"

#include <errno.h>

#include "../caught.h"

enum { MIB = 1 << 20, FLAGS = IW_MESSAGES_GIVE | IW_MESSAGES_NOWAIT | IW_MESSAGES_NOTIFY };

static struct msg_transfers transfers;

static int begin(void **state)
{
    struct iw_messages_config config = {0};
    stage_begin(state);
    transfers = (struct msg_transfers){0};
    assert_int_equal(iw_messages_open(&config, &transfers.m, NULL, 0), 0);
    assert_int_equal(iw_messages_service(transfers.m, 7, &transfers.s), 0);
    return 0;
}

static int end(void **state)
{
    msg_transfer_end_all(&transfers);
    iw_messages_close(transfers.m);
    return stage_end(state);
}

/* A file of so many octets: each has the number of its MiB. */
static int make(size_t length)
{
    char path[] = "transfer.XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    static uint8_t octets[MIB];
    for (size_t at = 0; at < length; at += MIB) {
        const size_t part = length - at < MIB ? length - at : MIB;
        memset(octets, (int)(at / MIB) + 1, part);
        assert_int_equal(write(fd, octets, part), part);
    }
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static const char *reported(enum iw_messages_kind kind, uint64_t tag, uint32_t *to)
{
    const struct iw_message report = {.kind = kind, .number = 9, .tag = tag};
    return msg_transfer_reported(&transfers, &report, to);
}

static void expect_part(unsigned i, uint32_t to, uint64_t tag, uint8_t octet, size_t length)
{
    assert_true(i < stage.sent_count);
    const struct stage_sent *s = &stage.sent[i];
    assert_int_equal(s->to, to);
    assert_int_equal(s->tag, tag);
    assert_int_equal(s->flags, FLAGS);
    assert_int_equal(s->length, length);
    assert_int_equal(s->octets[0], octet);
    assert_int_equal(s->octets[length - 1], octet);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void short_ones(void **state)
{
    (void)state;
    const int nothing = make(0), one = make(1);
    assert_null(msg_transfer_begin(&transfers, 5, nothing, 0));
    assert_int_equal(stage.sent_count, 0);
    assert_false(is_open(nothing)); /* it is over */
    assert_null(msg_transfer_begin(&transfers, 6, one, 1));
    expect_part(0, 6, 2, 1, 1);
    assert_true(is_open(one));
    uint32_t to = 0;
    assert_null(reported(IW_MESSAGES_DELIVERED, 2, &to));
    assert_int_equal(to, 6);
    assert_false(is_open(one));
    assert_int_equal(stage.sent_count, 1);
}

/* Six parts and a bit: four at once, and one for each that was taken. */
static void a_long_one(void **state)
{
    (void)state;
    uint32_t to = 0;
    const int file = make(6 * MIB + 3);
    assert_null(msg_transfer_begin(&transfers, 5, file, 6 * MIB + 3));
    assert_int_equal(stage.sent_count, 4);
    for (unsigned i = 0; i < 4; i++)
        expect_part(i, 5, 1, (uint8_t)(i + 1), MIB);
    for (unsigned i = 4; i < 7; i++) {
        assert_null(reported(IW_MESSAGES_DELIVERED, 1, &to));
        assert_int_equal(to, 5);
        assert_int_equal(stage.sent_count, i + 1);
        expect_part(i, 5, 1, (uint8_t)(i + 1), i == 6 ? 3 : MIB);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_null(reported(IW_MESSAGES_DELIVERED, 1, &to));
        assert_true(is_open(file));
    }
    assert_null(reported(IW_MESSAGES_DELIVERED, 1, &to));
    assert_false(is_open(file));
    assert_int_equal(stage.sent_count, 7);
    to = 77;
    assert_null(reported(IW_MESSAGES_DELIVERED, 1, &to)); /* of nothing any more */
    assert_int_equal(to, 77);
}

/* Exactly a MiB is one part. */
static void a_whole_part(void **state)
{
    (void)state;
    assert_null(msg_transfer_begin(&transfers, 5, make(MIB), MIB));
    assert_int_equal(stage.sent_count, 1);
    expect_part(0, 5, 1, 1, MIB);
}

static void two_at_once(void **state)
{
    (void)state;
    uint32_t to = 0;
    const int a = make(5 * MIB), b = make(5 * MIB);
    assert_null(msg_transfer_begin(&transfers, 5, a, 5 * MIB));
    assert_null(msg_transfer_begin(&transfers, 6, b, 5 * MIB));
    assert_int_equal(stage.sent_count, 8);
    assert_null(reported(IW_MESSAGES_DELIVERED, 2, &to));
    assert_int_equal(to, 6);
    expect_part(8, 6, 2, 5, MIB);
    to = 0;
    assert_null(reported(IW_MESSAGES_UNDELIVERED, 1, &to)); /* its reader is gone */
    assert_int_equal(to, 0);
    assert_false(is_open(a));
    assert_true(is_open(b));
    assert_null(reported(IW_MESSAGES_DELIVERED, 1, &to)); /* others of its parts */
    assert_int_equal(stage.sent_count, 9);
    assert_null(reported(IW_MESSAGES_DELIVERED, 0, &to)); /* what is no part of a file */
    assert_int_equal(to, 0);
    msg_transfer_end_all(&transfers);
    assert_false(is_open(b));
}

static void the_most_files(void **state)
{
    (void)state;
    int files[65];
    for (unsigned i = 0; i < 65; i++)
        files[i] = make(1);
    for (unsigned i = 0; i < 64; i++)
        assert_null(msg_transfer_begin(&transfers, 5, files[i], 1));
    const char *why = msg_transfer_begin(&transfers, 5, files[64], 1);
    assert_non_null(why);
    assert_string_equal(why, "too many files are read at once");
    assert_false(is_open(files[64]));
    assert_int_equal(stage.sent_count, 64);
    expect_part(63, 5, 64, 1, 1);
    uint32_t to = 0;
    assert_null(reported(IW_MESSAGES_DELIVERED, 64, &to)); /* the last one: there is room again */
    assert_null(msg_transfer_begin(&transfers, 6, make(1), 1));
    expect_part(64, 6, 65, 1, 1);
    msg_transfer_end_all(&transfers);
    for (unsigned i = 0; i < 64; i++)
        assert_false(is_open(files[i]));
}

static void no_memory(void **state)
{
    (void)state;
    uint32_t to = 0;
    const int file = make(2 * MIB), other = make(1);
    stage.gets_left = 1;
    assert_null(msg_transfer_begin(&transfers, 5, file, 2 * MIB)); /* the first part comes back */
    assert_int_equal(stage.sent_count, 1);
    const char *why = msg_transfer_begin(&transfers, 6, other, 1);
    assert_non_null(why);
    assert_string_equal(why, "no memory");
    assert_false(is_open(other));
    stage.gets_left = 1;
    assert_null(reported(IW_MESSAGES_DELIVERED, 1, &to));
    expect_part(1, 5, 1, 2, MIB);
    const int third = make(3 * MIB);
    stage.gets_left = 1;
    assert_null(msg_transfer_begin(&transfers, 6, third, 3 * MIB));
    why = reported(IW_MESSAGES_DELIVERED, 3, &to);
    assert_non_null(why);
    assert_string_equal(why, "no memory");
    assert_int_equal(to, 6);
    assert_false(is_open(third));
}

static void one_that_became_shorter(void **state)
{
    (void)state;
    const int file = make(10);
    const char *why = msg_transfer_begin(&transfers, 5, file, 11);
    assert_non_null(why);
    assert_string_equal(why, "cannot be read, or has become shorter");
    assert_false(is_open(file));
    assert_int_equal(stage.sent_count, 0);
    assert_int_equal(stage.gets, 1);
    assert_int_equal(stage.buffers, 0);
}

static void a_full_queue(void **state)
{
    (void)state;
    const int file = make(2 * MIB);
    stage.sends_left = 1;
    stage.send_errno = EAGAIN;
    const char *why = msg_transfer_begin(&transfers, 5, file, 2 * MIB);
    assert_non_null(why);
    assert_string_equal(why, "too much is sent at once");
    assert_false(is_open(file));
    assert_int_equal(stage.sent_count, 1);
    assert_int_equal(stage.buffers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(short_ones, begin, end),
        cmocka_unit_test_setup_teardown(a_long_one, begin, end),
        cmocka_unit_test_setup_teardown(a_whole_part, begin, end),
        cmocka_unit_test_setup_teardown(two_at_once, begin, end),
        cmocka_unit_test_setup_teardown(the_most_files, begin, end),
        cmocka_unit_test_setup_teardown(no_memory, begin, end),
        cmocka_unit_test_setup_teardown(one_that_became_shorter, begin, end),
        cmocka_unit_test_setup_teardown(a_full_queue, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
