/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the sniff: what it plays, and what it notices of a sniff that errs. */
#include "spy.h"

#include <sys/socket.h>

#include "iwarp/mpa.h"

static struct {
    bool lies;
    enum iw_mpa_sniffed says;
    bool takes; /* octets that should only be looked at */
    unsigned looks;
} fake;

enum iw_mpa_sniffed __real_iw_mpa_sniff(const uint8_t *octets, size_t length);
enum iw_mpa_sniffed __wrap_iw_mpa_sniff(const uint8_t *octets, size_t length);
ssize_t __real_recv(int fd, void *octets, size_t length, int flags);
ssize_t __wrap_recv(int fd, void *octets, size_t length, int flags);

enum iw_mpa_sniffed __wrap_iw_mpa_sniff(const uint8_t *octets, size_t length)
{
    fake.looks++;
    return fake.lies ? fake.says : __real_iw_mpa_sniff(octets, length);
}

ssize_t __wrap_recv(int fd, void *octets, size_t length, int flags)
{
    return __real_recv(fd, octets, length, fake.takes ? flags & ~MSG_PEEK : flags);
}

static int set_up(void **state)
{
    static bool started;
    (void)state;
    fake = (__typeof__(fake)){0};
    if (!started)
        iw_fuzz_harness.start();
    started = true;
    return 0;
}

static void right_ones_are_content(void **state)
{
    (void)state;
    static const char *const inputs[] = {
        "",                             /* silence */
        "04",                           /* the end */
        "00 94",                        /* a Request */
        "00 83 81 85 90",               /* in pieces */
        "03 94",                        /* no room, which does not matter */
        "02 03 47 45 54",               /* GET, at the third offer */
        "04 8f 01 65",                  /* the key but for its last octet, then the end */
        "00 8f 01 58 05 6d 6f 72 65 21" /* another last octet, and more */
    };
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
        assert_string_equal(spy_runs(&iw_fuzz_harness, inputs[i]), "");
    assert_true(fake.looks > 0);
}

static void plain_taken_for_mpa(void **state)
{
    (void)state;
    fake.lies = true;
    fake.says = IW_MPA_SNIFFED_MPA;
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00 03 47 45 54"),
                        "sniff: 1 connections of MPA by 3 octets");
}

static void mpa_taken_for_plain(void **state)
{
    (void)state;
    fake.lies = true;
    fake.says = IW_MPA_SNIFFED_OTHER;
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00 94"),
                        "sniff: 0 connections of MPA by 20 octets");
}

static void too_early(void **state)
{
    (void)state;
    fake.lies = true;
    fake.says = IW_MPA_SNIFFED_OTHER;
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00 83"),
                        "sniff: 1 plain connections by 3 octets");
}

static void octets_that_are_lost(void **state)
{
    (void)state;
    fake.takes = true;
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00 03 47 45 54"),
                        "sniff: 0 octets of 3 are left");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(right_ones_are_content, set_up),
        cmocka_unit_test_setup(plain_taken_for_mpa, set_up),
        cmocka_unit_test_setup(mpa_taken_for_plain, set_up),
        cmocka_unit_test_setup(too_early, set_up),
        cmocka_unit_test_setup(octets_that_are_lost, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
