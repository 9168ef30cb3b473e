/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the sniff: what it plays, and what it notices of a sniff that errs. */
#include "spy.h"

#include <errno.h>
#include <sys/socket.h>

#include "iwarp/mpa.h"
#include "transport/transport_internal.h"

static struct {
    bool lies;
    enum iw_mpa_sniffed says;
    bool takes;          /* octets that should only be looked at */
    bool bends;          /* the first octet that the program reads */
    int end;             /* errno that the program's reads end with; -1: as if the peer had ended */
    bool stands, counts; /* no step; one more connection that is undecided */
    unsigned looks, ticks;
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

int __real_iw_reactor_step(struct iw_reactor *r, int timeout_ms);
int __wrap_iw_reactor_step(struct iw_reactor *r, int timeout_ms);
void __real_iw_sniff_tick(struct iw_reactor *r, uint64_t now);
void __wrap_iw_sniff_tick(struct iw_reactor *r, uint64_t now);

ssize_t __wrap_recv(int fd, void *octets, size_t length, int flags)
{
    const bool of_program = flags == MSG_DONTWAIT;
    ssize_t n = __real_recv(fd, octets, length, fake.takes ? flags & ~MSG_PEEK : flags);
    if (of_program && n > 0 && fake.bends)
        *(uint8_t *)octets ^= 1;
    if (of_program && n <= 0 && fake.end != 0) {
        n = fake.end < 0 ? 0 : -1;
        errno = fake.end;
    }
    return n;
}

int __wrap_iw_reactor_step(struct iw_reactor *r, int timeout_ms)
{
    assert_int_equal(timeout_ms, 0);
    return fake.stands ? -1 : __real_iw_reactor_step(r, timeout_ms);
}

/* Those of the harness come at a time that no clock shows. */
void __wrap_iw_sniff_tick(struct iw_reactor *r, uint64_t now)
{
    fake.ticks += now == UINT64_MAX - 1;
    __real_iw_sniff_tick(r, now);
    r->sniffed += fake.counts && fake.ticks == 5;
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

static void octets_that_are_others(void **state)
{
    (void)state;
    fake.bends = true;
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00 03 47 45 54"),
                        "sniff: 3 octets of 3 are left");
}

/* The end of a stream is that of the client, or none yet. */
static void ends_of_the_program(void **state)
{
    static const struct {
        const char *hex;
        int end;
        bool right;
    } list[] = {{"00 03 47 45 54", 0, true},      {"00 03 47 45 54", EAGAIN, true},
                {"00 03 47 45 54", EIO, false},   {"00 03 47 45 54", -1, false},
                {"04 03 47 45 54", 0, true},      {"04 03 47 45 54", -1, true},
                {"04 03 47 45 54", EAGAIN, false}};
    (void)state;
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        fake.end = list[i].end;
        assert_string_equal(spy_runs(&iw_fuzz_harness, list[i].hex),
                            list[i].right ? "" : "sniff: another end");
    }
}

static void a_reactor_that_stands(void **state)
{
    (void)state;
    fake.stands = true;
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00 94"), "sniff: a step fails");
}

static void connections_that_stay(void **state)
{
    (void)state;
    fake.counts = true;
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00 03 47 45 54"),
                        "sniff: 1 connections stay undecided");
    assert_int_equal(fake.ticks, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(right_ones_are_content, set_up),
        cmocka_unit_test_setup(plain_taken_for_mpa, set_up),
        cmocka_unit_test_setup(mpa_taken_for_plain, set_up),
        cmocka_unit_test_setup(too_early, set_up),
        cmocka_unit_test_setup(octets_that_are_lost, set_up),
        cmocka_unit_test_setup(octets_that_are_others, set_up),
        cmocka_unit_test_setup(ends_of_the_program, set_up),
        cmocka_unit_test_setup(a_reactor_that_stands, set_up),
        cmocka_unit_test_setup(connections_that_stay, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
